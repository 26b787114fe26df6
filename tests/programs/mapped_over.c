/* SPDX-License-Identifier: MIT */
/* Maps a file, argv[1], and parts of it again over that, in ways in which the same bytes lie there
 * again or do not. It writes what it finds. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 16 };

static int file;

static uint8_t *map(uint8_t *at, int pages, int prot, int flags, int offset)
{
	return mmap(at, (size_t)pages * PAGE, prot, MAP_PRIVATE | flags, file,
		    (off_t)offset * PAGE);
}

static void say(const char *what, const uint8_t *bytes, size_t n)
{
	uint64_t sum = 0, word;

	/* One word of 97: each instruction may be a step. */
	for (size_t i = 0; i + sizeof word <= n; i += 97 * sizeof word) {
		memcpy(&word, bytes + i, sizeof word);
		sum = sum * 31 + word;
	}
	printf("%s: %016llx\n", what, (unsigned long long)sum);
}

int main(int argc, char **argv)
{
	uint8_t *maps;

	if (argc < 2)
		return 2;
	file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < PAGES; i++) {
		char page[PAGE];

		memset(page, i % 5 ? 'a' + i : 0, sizeof page);
		if (i == PAGES - 1)
			write(file, page, PAGE / 2);
		else
			write(file, page, PAGE);
	}
	maps = map(NULL, PAGES + 2, PROT_READ, 0, 0);
	say("as a whole", maps, PAGES * PAGE);
	map(maps + PAGE, 3, PROT_READ | PROT_EXEC, MAP_FIXED, 1);
	say("the same", maps, PAGES * PAGE);
	map(maps + 4 * PAGE, 3, PROT_READ | PROT_WRITE, MAP_FIXED, 4);
	say("the same, to be written to", maps, PAGES * PAGE);
	memset(maps + 4 * PAGE + 100, 'x', 2 * PAGE);
	say("written to", maps, PAGES * PAGE);
	map(maps + 4 * PAGE, 3, PROT_READ, MAP_FIXED, 4);
	say("not any more", maps, PAGES * PAGE);
	map(maps + 7 * PAGE, 3, PROT_READ, MAP_FIXED, 2);
	say("of elsewhere", maps, PAGES * PAGE);
	map(maps + 10 * PAGE, 1, PROT_READ, MAP_FIXED, 5); /* zero, over zero */
	mmap(maps + 11 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
	say("zero", maps, PAGES * PAGE);
	map(maps + (PAGES - 1) * PAGE, 3, PROT_READ, MAP_FIXED, PAGES - 1); /* past its end */
	say("the end", maps, PAGES * PAGE);
	munmap(maps + PAGE, PAGE);
	map(maps, 4, PROT_READ | PROT_WRITE, MAP_FIXED, 0); /* in part over nothing */
	memset(maps + PAGE, 'y', 10);
	say("over a hole", maps, PAGES * PAGE);
	return 0;
}
