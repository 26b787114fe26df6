// SPDX-License-Identifier: MIT
// A program without symbols.
#include <stdio.h>
#include <stdlib.h>

struct cell {
	struct cell *right;
	int value;
};

static int row_sum(const struct cell *cell, int count)
{
	int sum = 0;

	for (int i = 0; i < count; i++) {
		sum += cell->value;
		cell = cell->right;
	}
	return sum;
}

int main(int argc, char **argv)
{
	struct cell last = { NULL, 3 }, first = { &last, 2 };

	(void)argv;
	printf("%d\n", row_sum(&first, argc + 2));
	return 0;
}
