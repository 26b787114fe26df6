/* SPDX-License-Identifier: MIT */
/* far_calls [overflow]: overwrites its stack, more than two million branches behind the calls on it; overflow: uses it up,
 * with as many branches behind most of its calls. */
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

__attribute__((noinline)) static int descend(int n)
{
	volatile char room[480];
	int below;

	for (volatile int i = 0; i < 200; i++)
		room[i] = (char)n;
	below = descend(n + 1);
	done += room[3];
	return below + 1;
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return descend(0);
	parse();
	done++;
	return 0;
}
