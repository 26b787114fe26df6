// SPDX-License-Identifier: MIT
// signatures BUG: each BUG fails in another way, or in another place in the same way. With MOVED all lines and addresses are other ones.
#ifdef MOVED
int moved(int n)
{
	return n * 7 + 1;
}
int (*volatile keeps_it)(int) = moved;

#endif
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#define ALONE __attribute__((noinline)) // where what becomes of it would be the compiler's choice
#define IN_THE_CALLER inline __attribute__((always_inline))

struct node {
	node *next;
	int value;
};
static node *volatile nothing;
static volatile int zero;

// 1, 2: inlined at -O2, a template and a namespace, by two ways.
namespace list
{
template <class T> static IN_THE_CALLER int sum(T *n)
{
	int sum = 0;
	for (; sum < 100000; n = n->next)
		sum += n->value;
	return sum;
}

int total(node *n) { return sum(n); }
}

struct shape {
	virtual ~shape() {}
	virtual int area(int) = 0;
};

struct square : shape {
	int area(int n) override { return list::total(nothing) + n; }
};

// 3: a lambda.
static int each(std::vector<int> &all, int less)
{
	int sum = 0;
	auto value = [&](int i) { return *(volatile int *)(long)(all[(size_t)i] - less); };
	for (int i = 0; i < (int)all.size(); i++)
		sum += value(i);
	return sum;
}

// 4: calls that end a function are jumps at -O2.
ALONE static void refuse(int n)
{
	if (n > 0)
		throw std::runtime_error("refused");
}
ALONE static void last(int n) { refuse(n + 1); }
ALONE void middle(int n) { last(n * 3); }
ALONE void first(int n) { middle(n * 2); }

// 5: recursion, of which any depth ends it.
static int up(int n, char *before);
ALONE static int down(int n, char *before)
{
	char room[300];
	memset(room, n, sizeof room);
	if (before)
		room[n & 63] += before[0];
	return up(n + 1, room) + room[n & 31];
}
ALONE static int up(int n, char *before)
{
	char room[100];
	memset(room, n, sizeof room);
	return down(n + 1, room) + room[n & 31] + before[0];
}

// 6, 7: two assertions of one function.
static void check(int n)
{
	assert(n != 6);
	assert(n < 7);
}

// 8
ALONE static void fill(char *to, int n) { memset(to, 'a', (size_t)n); }
ALONE static int overwrite(int n)
{
	char room[16];
	fill(room, n);
	return room[3];
}

// 9
static int divide(int a, int b) { return a / b; }

// 10
static void call(void (*f)(int), int n)
{
	f(n);
	puts("called");
}

// 11
static void give_back_twice(char *p)
{
	free(p + zero);
	free(p + zero);
}

// 12: recursion that has an end, and a fault there.
ALONE static int leaf(int n) { return n ? leaf(n - 1) + 1 : nothing->value; }

// 13: in libc, by a function of the program.
static size_t length_of(const char *s) { return strnlen(s, (size_t)zero + 9); }

// 14
static void write_constant(const char *text) { *(volatile char *)text = 'x'; }

// 15
ALONE static void give_up() { exit(zero + 3); }

int main(int, char **argv)
{
	std::vector<int> all{1, 2, 3};
	square s;
	shape *volatile any = &s;
	int bug = atoi(argv[1]);

	switch (bug) {
	case 1:
		return list::total(nothing);
	case 2:
		return any->area(bug);
	case 3:
		return each(all, 3);
	case 4:
		first(bug);
		break;
	case 5:
		return down(zero, nullptr);
	case 6:
	case 7:
		check(bug);
		break;
	case 8:
		return overwrite(400);
	case 9:
		return divide(bug, zero);
	case 10:
		call((void (*)(int))(long)zero, bug);
		break;
	case 11:
		give_back_twice((char *)malloc(10));
		break;
	case 12:
		return leaf(20 + zero);
	case 13:
		return (int)length_of((const char *)nothing);
	case 14:
		write_constant("constant");
		break;
	case 15:
		give_up();
	}
	return 0;
}
