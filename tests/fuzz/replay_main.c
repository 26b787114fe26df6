/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target without libFuzzer: replay [-m MUTATIONS] FILE-OR-DIRECTORY...
 * Every file is an input; with -m each is also tried with so many changes of it, the same ones
 * every time. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct run {
	unsigned long mutations, inputs;
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 17;
}

/* Exactly size bytes on the heap, so that a sanitizer sees one byte too many. */
static void run_exact(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	MUST(copy);
	if (size)
		memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void run_mutation(uint8_t *data, size_t size, uint64_t seed)
{
	size_t cut = size;

	for (uint64_t n = 1 + next_random(&seed) % 4; n-- > 0 && size;) {
		size_t at = next_random(&seed) % size;

		switch (next_random(&seed) % 4) {
		case 0:
			data[at] ^= (uint8_t)(1u << next_random(&seed) % 8);
			break;
		case 1:
			data[at] = (uint8_t)next_random(&seed);
			break;
		case 2:
			memset(data + at, next_random(&seed) & 1 ? 0xff : 0,
			       size - at < 8 ? size - at : 8);
			break;
		default:
			cut = at;
		}
	}
	run_exact(data, cut);
}

static int run_file(struct run *r, const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *data, *changed;
	size_t size;

	if (!f || fstat(fileno(f), &st)) {
		perror(path);
		return 1;
	}
	size = (size_t)st.st_size;
	data = malloc(size + 1);
	changed = malloc(size + 1);
	MUST(data && changed && fread(data, 1, size, f) == size);
	fclose(f);
	r->inputs++;
	run_exact(data, size);
	for (unsigned long i = 0; i < r->mutations; i++) {
		memcpy(changed, data, size);
		if (LLVMFuzzerCustomMutator)
			run_exact(changed,
				  LLVMFuzzerCustomMutator(changed, size, size, (unsigned)i));
		else
			run_mutation(changed, size, i * 7919 + size);
	}
	free(data);
	free(changed);
	return 0;
}

static int run_path(struct run *r, const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int failed = 0;

	if (!d)
		return run_file(r, path);
	while ((e = readdir(d))) {
		char file[4096];

		if (*e->d_name == '.')
			continue;
		snprintf(file, sizeof file, "%s/%s", path, e->d_name);
		failed |= run_file(r, file);
	}
	closedir(d);
	return failed;
}

int main(int argc, char **argv)
{
	struct run r = {0};
	int failed = 0, opt;

	while ((opt = getopt(argc, argv, "m:")) != -1) {
		if (opt != 'm')
			return 2;
		r.mutations = strtoul(optarg, NULL, 10);
	}
	for (; optind < argc; optind++)
		failed |= run_path(&r, argv[optind]);
	printf("%lu inputs, %lu changes of each\n", r.inputs, r.mutations);
	return failed || !r.inputs;
}
