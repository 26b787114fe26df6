// SPDX-License-Identifier: MIT
// A size that became negative; the wrapper of malloc gives up.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *xmalloc(size_t size)
{
	void *memory = malloc(size);

	if (!memory) {
		fprintf(stderr, "fatal: out of memory (%zu bytes)\n", size);
		abort();
	}
	return memory;
}

struct image {
	int width, height;
	unsigned char *pixels;
};

static struct image *image_new(int width, int height)
{
	struct image *image = xmalloc(sizeof *image);

	image->width = width;
	image->height = height;
	image->pixels = xmalloc((size_t)(width * height * 4)); // HERE
	return image;
}

int main(void)
{
	const int sizes[][2] = { { 640, 480 }, { 4096, 4096 }, { 300, -20000 } };

	for (int i = 0; i < 3; i++) {
		struct image *image = image_new(sizes[i][0], sizes[i][1]);

		free(image->pixels);
		free(image);
	}
	return 0;
}
