// SPDX-License-Identifier: MIT
/* stops_itself leader|leaderless: stops itself, in its first thread or in another when the first has ended, and ends with 3 when it has been
 * continued. stops_itself euid: prints its effective user id. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int thread_state(pid_t tid)
{
	char path[64], text[512], *after = NULL;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
	f = fopen(path, "r");
	if (f && fgets(text, sizeof text, f))
		after = strrchr(text, ')');
	if (f)
		fclose(f);
	return after ? after[2] : 0;
}

static void stop(void)
{
	kill(getpid(), SIGSTOP);
	exit(3);
}

static void *stop_without_leader(void *unused)
{
	(void)unused;
	while (thread_state(getpid()) != 'Z')
		usleep(1000);
	stop();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 2 && !strcmp(argv[1], "euid"))
		return printf("%d\n", (int)geteuid()) < 0;
	if (argc == 2 && !strcmp(argv[1], "leader"))
		stop();
	if (argc != 2 || strcmp(argv[1], "leaderless") || pthread_create(&thread, NULL, stop_without_leader, NULL))
		return 2;
	pthread_exit(NULL);
}
