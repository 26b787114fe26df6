// SPDX-License-Identifier: MIT
// A local array that is larger than the stack.
#include <stdio.h>
#include <string.h>

struct picture {
	int width, height;
};

static long brightness(const struct picture *picture)
{
	unsigned char pixels[4096][4096]; // HERE
	long sum = 0;

	memset(pixels, 1, sizeof pixels); // HERE
	for (int y = 0; y < picture->height; y++)
		for (int x = 0; x < picture->width; x++)
			sum += pixels[y][x];
	return sum;
} // HERE

int main(void)
{
	struct picture picture = { 64, 48 };

	printf("%ld\n", brightness(&picture));
	return 0;
}
