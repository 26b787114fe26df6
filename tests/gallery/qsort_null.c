// SPDX-License-Identifier: MIT
// Sorts people by their city; one has none.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct person {
	const char *name;
	char *city;
};

static int by_city(const void *left, const void *right)
{
	const struct person *a = left, *b = right;
	int order = strcmp(a->city, b->city); // HERE

	return order ? order : strcmp(a->name, b->name);
}

static size_t people_read(struct person *people, size_t room, const char *const *lines)
{
	size_t count = 0;

	for (; *lines && count < room; lines++, count++) {
		const char *comma = strchr(*lines, ',');

		people[count].name = *lines;
		people[count].city = comma ? strdup(comma + 1) : NULL;
	}
	return count;
}

int main(void)
{
	const char *const lines[] = { "Ada,London", "Grace,New York", "Alan", "Edsger,Rotterdam", NULL };
	struct person people[8];
	size_t count = people_read(people, 8, lines);

	qsort(people, count, sizeof *people, by_city);
	for (size_t i = 0; i < count; i++)
		printf("%s\n", people[i].name);
	return 0;
}
