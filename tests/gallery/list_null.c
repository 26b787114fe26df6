// SPDX-License-Identifier: MIT
// An inventory whose items may have no supplier; the report forgets that.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct supplier {
	char name[32];
	int days;
};

struct item {
	struct item *next;
	char name[32];
	int stock;
	struct supplier *supplier;
};

static struct item *item_add(struct item *list, const char *name, int stock, struct supplier *supplier)
{
	struct item *item = malloc(sizeof *item);

	if (!item)
		exit(1);
	item->next = list;
	snprintf(item->name, sizeof item->name, "%s", name);
	item->stock = stock;
	item->supplier = supplier;
	return item;
}

static int days_to_refill(const struct item *item)
{
	return item->supplier->days; // HERE
}

static int longest_wait(const struct item *list)
{
	int longest = 0;

	for (const struct item *item = list; item; item = item->next)
		if (item->stock == 0) {
			int days = days_to_refill(item);

			if (days > longest)
				longest = days;
		}
	return longest;
}

int main(void)
{
	struct supplier acme = { "Acme", 5 };
	struct item *list = NULL;

	list = item_add(list, "anvil", 0, &acme);
	list = item_add(list, "feather", 0, NULL);
	list = item_add(list, "rope", 12, &acme);
	printf("longest wait: %d days\n", longest_wait(list));
	return 0;
}
