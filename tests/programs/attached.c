/* SPDX-License-Identifier: MIT */
/* attached once|twice: System V shared memory, attached so often at a time. */
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

enum { SIZE = 20000, AT = 5000, PAGES = 20480 };

int main(int argc, char **argv)
{
	int id = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600), twice = argc > 1 && !strcmp(argv[1], "twice");
	char *first = shmat(id, NULL, 0), *second = twice ? shmat(id, NULL, 0) : NULL;

	shmctl(id, IPC_RMID, NULL);
	if (first == (void *)-1 || second == (void *)-1)
		return 77;
	strcpy(first + AT, "written");
	if (second)
		puts(second + AT);
	/* Where it was there may be other memory, which is zero. */
	if (shmdt(first) || mmap(first, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != first)
		return 2;
	printf("%d\n", first[AT]);
	return 0;
}
