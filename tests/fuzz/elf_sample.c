/* SPDX-License-Identifier: MIT */
/* The program of the ELF files that fuzz_elf.c begins with: a little of each kind of debug
 * information. It needs no library. */
typedef unsigned long word;
enum colour { RED, GREEN = 1000 };
union number {
	int i;
	double d;
	char bytes[8];
};
struct node {
	struct node *next;
	const char *name;
	union number value[3];
	unsigned flag : 1, count : 12;
	enum colour colour;
	struct {
		short inner;
	};
	int (*visit)(struct node *, int);
};

static struct node first = {.name = "first", .colour = GREEN};
static int table[4][5];
_Thread_local int of_thread;

static inline __attribute__((always_inline)) int weigh(struct node *n, int by)
{
	int weight = n->value[0].i * by;

	for (int i = 0; i < by; i++) {
		int row = table[i & 3][i % 5];

		weight += row * i;
	}
	return weight;
}

static __attribute__((noinline)) int visit(struct node *n, int depth)
{
	char text[24] = "abc";
	int sum = weigh(n, depth) + weigh(&first, depth + 1);

	text[depth & 7] = (char)sum;
	if (depth > 1)
		sum += n->visit(n, depth - 1) + text[0];
	else if (n->next)
		sum += visit(n->next, depth - 1);
	return sum + (int)(first.value[1].d * depth);
}

static __attribute__((noinline)) double many(int a, word b, double c, float d, long long e,
					     const char *f, struct node g, int h)
{
	volatile int array[a & 15];

	array[0] = h;
	return c * d + (double)(b + (word)e) + f[0] + g.count + array[0];
}

int entry(int argc, char **argv)
{
	struct node here = first;

	here.next = &first;
	here.visit = visit;
	for (int i = 0; i < argc; i++) {
		int length = 0;

		while (argv[i][length])
			length++;
		here.count += (unsigned)length;
		first.value[0].i += (int)many(i, here.count, 1.5, 2.5f, length, argv[i], here, i);
	}
	return visit(&here, argc);
}
