// SPDX-License-Identifier: MIT
// Loads a filter and applies it to an image.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef void filter(int *pixels, size_t count, const void *options);

static filter *filter_load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void *symbol = library ? dlsym(library, "filter_apply") : NULL;

	if (!symbol) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return (filter *)symbol;
}

int main(int argc, char **argv)
{
	int pixels[16] = { 0 };
	filter *apply = filter_load(argc > 1 ? argv[1] : "./plugin.so");

	apply(pixels, 16, NULL);
	printf("%d\n", pixels[0]);
	return 0;
}
