// SPDX-License-Identifier: MIT
// A table of commands with one that was never filled in.
#include <stdio.h>
#include <string.h>

struct command {
	const char *name;
	int (*run)(const char *argument);
};

static int say(const char *argument)
{
	return printf("%s\n", argument);
}

static const struct command commands[] = { { "say", say }, { "sing", NULL }, { NULL, NULL } };

static int dispatch(const char *name, const char *argument)
{
	for (const struct command *command = commands; command->name; command++)
		if (strcmp(command->name, name) == 0)
			return command->run(argument) > 0; // HERE
	return 0;
}

int main(void)
{
	int done = dispatch("say", "hello");

	done += dispatch("sing", "la la");
	printf("%d\n", done);
	return 0;
}
