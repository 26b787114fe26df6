// SPDX-License-Identifier: MIT
// A program with a handler of its own for crashes, which says little and ends with 1.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
	const char *user;
	struct session *parent;
};

static void on_crash(int signo)
{
	static const char text[] = "Oops, something went wrong.\n";

	(void)!write(2, text, sizeof text - 1);
	_exit(signo ? 1 : 0);
}

static const char *root_user(const struct session *session)
{
	while (strcmp(session->user, "root") != 0) // HERE
		session = session->parent;
	return session->user;
}

static void audit(const struct session *session)
{
	printf("%s acts for %s\n", session->user, root_user(session));
}

int main(void)
{
	struct session login = { "root", NULL }, shell = { "ada", &login }, lost = { "bob", NULL };

	signal(SIGSEGV, on_crash);
	audit(&shell);
	audit(&lost);
	return 0;
}
