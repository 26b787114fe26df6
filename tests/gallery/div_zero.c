// SPDX-License-Identifier: MIT
// The mean of a group that nobody is in.
#include <stdio.h>

struct group {
	const char *name;
	int marks[8];
	int count;
};

static int group_sum(const struct group *group)
{
	int sum = 0;

	for (int i = 0; i < group->count; i++)
		sum += group->marks[i];
	return sum;
}

static int group_mean(const struct group *group)
{
	return group_sum(group) / group->count; // HERE
}

static void print_means(const struct group *groups, int count)
{
	for (int i = 0; i < count; i++)
		printf("%s: %d\n", groups[i].name, group_mean(&groups[i]));
}

int main(void)
{
	const struct group groups[] = { { "A", { 1, 3, 2 }, 3 }, { "B", { 0 }, 0 } };

	print_means(groups, 2);
	return 0;
}
