// SPDX-License-Identifier: MIT
// sprintf of a name that is too long, in a program that was built with _FORTIFY_SOURCE.
#include <stdio.h>
#include <string.h>

struct label {
	char text[16];
	int width;
};

static void label_set(struct label *label, const char *name, int number)
{
	sprintf(label->text, "%s-%d", name, number); // HERE
	label->width = (int)strlen(label->text);
}

int main(int argc, char **argv)
{
	struct label label;

	(void)argv;
	label_set(&label, "short", argc);
	puts(label.text);
	label_set(&label, "a name that is much too long", argc);
	puts(label.text);
	return 0;
}
