// SPDX-License-Identifier: MIT
// An alarm comes while there is no current job.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct job {
	const char *name;
	unsigned long ticks;
};

static struct job *volatile current;

static void on_alarm(int signo)
{
	struct job *job = current;

	(void)signo;
	job->ticks++; // HERE
}

static void job_run(struct job *job, int rounds)
{
	current = job;
	for (int i = 0; i < rounds; i++)
		raise(SIGALRM);
	current = NULL;
}

static unsigned long work(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++)
		sum += i;
	raise(SIGALRM);
	return sum;
}

int main(void)
{
	struct job job = { "index", 0 };

	signal(SIGALRM, on_alarm);
	job_run(&job, 3);
	printf("%lu\n", work(100));
	return 0;
}
