// SPDX-License-Identifier: MIT
// A file that is mapped and then cut by somebody else (here: by the program).
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct table {
	const unsigned char *bytes;
	size_t size;
};

static int table_open(struct table *table, const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
		return -1;
	table->size = size;
	table->bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	return table->bytes == MAP_FAILED ? -1 : fd;
}

static unsigned table_checksum(const struct table *table)
{
	unsigned sum = 0;

	for (size_t i = 0; i < table->size; i += 512)
		sum = sum * 31 + table->bytes[i]; // HERE
	return sum;
}

int main(void)
{
	struct table table;
	int fd = table_open(&table, "table.bin", 1 << 16);

	if (fd < 0)
		return 1;
	printf("%u\n", table_checksum(&table));
	if (ftruncate(fd, 4096) != 0)
		return 1;
	printf("%u\n", table_checksum(&table));
	return 0;
}
