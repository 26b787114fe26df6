// SPDX-License-Identifier: MIT
// A program without debug information: functions have names, and no lines.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	char *key, *value;
};

char *entry_value(struct entry *entries, int count, const char *key);
void entries_print(struct entry *entries, int count);

char *entry_value(struct entry *entries, int count, const char *key)
{
	for (int i = 0; i < count; i++)
		if (entries[i].key && strcmp(entries[i].key, key) == 0)
			return entries[i].value;
	return NULL;
}

void entries_print(struct entry *entries, int count)
{
	char *colour = entry_value(entries, count, "color");

	for (int i = 0; i < 4; i++)
		putchar(colour[i]);
	putchar('\n');
}

int main(void)
{
	struct entry entries[] = { { "size", "10" }, { "colour", "blue" } };

	entries_print(entries, 2);
	return 0;
}
