// SPDX-License-Identifier: MIT
// The plugin: its filter believes that it gets options.
#include <stddef.h>

struct options {
	int strength;
	int reserved;
};

static int clamp(int value)
{
	return value < 0 ? 0 : value > 255 ? 255 : value;
}

static int brighten(int pixel, const struct options *options)
{
	return clamp(pixel + options->strength); // HERE
}

void filter_apply(int *pixels, size_t count, const struct options *options);

void filter_apply(int *pixels, size_t count, const struct options *options)
{
	for (size_t i = 0; i < count; i++)
		pixels[i] = brighten(pixels[i], options);
}
