// SPDX-License-Identifier: MIT
// strtok of a literal.
#include <stdio.h>
#include <string.h>

struct rule {
	const char *name;
	char *words;
};

static int count_words(char *words)
{
	int count = 0;

	for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) // HERE
		count++;
	return count;
}

static int rule_weight(const struct rule *rule)
{
	return (int)strlen(rule->name) * count_words(rule->words);
}

int main(void)
{
	char own[] = "one two three";
	struct rule rules[] = { { "mine", own }, { "default", "allow all" } };

	for (int i = 0; i < 2; i++)
		printf("%s %d\n", rules[i].name, rule_weight(&rules[i]));
	return 0;
}
