/* SPDX-License-Identifier: MIT */
/* Overwrites its stack, more than two million branches behind the calls on it. */
static volatile int done;

__attribute__((noinline)) static void smash(long *where)
{
	for (volatile int i = 0; i < 2200000; i++)
		;
	for (int i = 0; i < 100; i++)
		where[i] = 0x4141414141414141;
}

__attribute__((noinline)) static void parse(void)
{
	long words[2];

	smash(words);
	done++;
}

int main(void)
{
	parse();
	done++;
	return 0;
}
