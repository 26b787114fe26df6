// SPDX-License-Identifier: MIT
// A buffer on the heap is written over; malloc finds out later.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
	char **names;
	size_t count;
};

static char *padded(const char *name)
{
	char *copy = malloc(strlen(name) + 1);

	sprintf(copy, "%-40s", name);
	return copy;
}

static void list_add(struct list *list, const char *name)
{
	list->names = realloc(list->names, (list->count + 1) * 64); // HERE
	list->names[list->count++] = padded(name); // HERE
}

int main(void)
{
	struct list list = { NULL, 0 };

	for (int i = 0; i < 4; i++)
		list_add(&list, "Ada");
	printf("%zu\n", list.count);
	return 0;
}
