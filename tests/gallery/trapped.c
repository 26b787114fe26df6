// SPDX-License-Identifier: MIT
// A case that "cannot happen" ends in a trap.
#include <stdio.h>

enum shape { SHAPE_CIRCLE, SHAPE_SQUARE, SHAPE_STAR };

static double shape_area(enum shape shape, double size)
{
	switch (shape) {
	case SHAPE_CIRCLE:
		return 3.14 * size * size;
	case SHAPE_SQUARE:
		return size * size;
	default:
		__builtin_trap(); // HERE
	}
}

int main(void)
{
	for (int shape = SHAPE_CIRCLE; shape <= SHAPE_STAR; shape++)
		printf("%f\n", shape_area((enum shape)shape, 2));
	return 0;
}
