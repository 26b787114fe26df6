// SPDX-License-Identifier: MIT
// A hash table that is full, and a name that is not in it.
#include <stdio.h>
#include <string.h>

enum { SLOTS = 8 };

struct table {
	const char *names[SLOTS];
	int used;
};

static unsigned hash(const char *name)
{
	unsigned sum = 0;

	while (*name)
		sum = sum * 31 + (unsigned char)*name++;
	return sum;
}

static int table_find(const struct table *table, const char *name)
{
	unsigned slot = hash(name) % SLOTS;

	while (table->names[slot]) { // HERE
		if (strcmp(table->names[slot], name) == 0) // HERE
			return (int)slot;
		slot = (slot + 1) % SLOTS; // HERE
	}
	return -1;
}

static void table_add(struct table *table, const char *name)
{
	unsigned slot = hash(name) % SLOTS;

	while (table->names[slot])
		slot = (slot + 1) % SLOTS;
	table->names[slot] = name;
	table->used++;
}

int main(void)
{
	const char *const days[] = { "mon", "tue", "wed", "thu", "fri", "sat", "sun", "holiday" };
	struct table table = { .used = 0 };

	for (int i = 0; i < SLOTS; i++)
		table_add(&table, days[i]);
	printf("%d\n", table_find(&table, "birthday"));
	return 0;
}
