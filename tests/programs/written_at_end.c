// SPDX-License-Identifier: MIT
/* written_at_end NAME: what the kernel writes when a task ends, on a page of code that others run. Each case counts what comes out wrong.
 * tests/e2e/engine_written.py */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "written.inc"

enum {
	ROUNDS = 4,
	STACK = 65536,
	LOOP = 20000, /* calls in a row */
	DISTANCE = 64 /* of a futex from its entry in the list */
};

/* How a task ends. */
enum end {
	BY_EXIT,
	BY_EXIT_GROUP,
	BY_KILL,
	BY_EXECVE,
};

struct task {
	enum end end;
	int *registers; /* it tells the kernel itself where its id is; NULL: it does not */
	struct robust_list *locks; /* NULL: nothing */
	volatile int ready, go;
};

static void lock(struct robust_list_head *head, struct robust_list *entry)
{
	*head = (struct robust_list_head){.list = {entry}, .futex_offset = DISTANCE};
	entry->next = &head->list;
	syscall(SYS_set_robust_list, head, sizeof *head);
	*(int *)((char *)entry + DISTANCE) = (int)syscall(SYS_gettid) | (int)FUTEX_WAITERS;
}

static int run(void *argument)
{
	struct task *t = argument;
	struct robust_list_head head;
	char *args[] = {"/proc/self/exe", NULL};

	if (t->registers)
		syscall(SYS_set_tid_address, t->registers);
	if (t->locks)
		lock(&head, t->locks);
	t->ready = 1;
	while (!t->go)
		syscall(SYS_sched_yield);
	if (t->end == BY_KILL)
		syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
	if (t->end == BY_EXECVE)
		syscall(SYS_execve, args[0], args, NULL);
	syscall(t->end == BY_EXIT ? SYS_exit : SYS_exit_group, 0);
	return 0;
}

static void wait_for_end(int tid, bool thread)
{
	if (!thread)
		waitpid(tid, NULL, 0);
	while (thread && syscall(SYS_tgkill, getpid(), tid, 0) == 0)
		usleep(100);
}

/* The page runs while the task lives, and it is watched, when that ends. */
static void live(unsigned char *page, struct task *t, int *id, bool thread)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | (thread ? CLONE_THREAD | CLONE_SIGHAND | CLONE_SYSVSEM : SIGCHLD);
	char *stack = malloc(STACK);
	int tid = clone(run, stack + STACK, flags | (id ? CLONE_CHILD_CLEARTID : 0), t, NULL, NULL, id);

	if (tid < 0)
		exit(3);
	while (!t->ready)
		usleep(100);
	for (int i = 0; i < LOOP; i++)
		if (call(page, i) != i - 1)
			exit(4);
	t->go = 1;
	wait_for_end(tid, thread);
	free(stack);
}

static long cleared(enum end end, bool itself, bool thread)
{
	unsigned char *page = warm(1);
	int *id = (int *)(page + PAGE / 2);
	long bad = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct task t = {.end = end, .registers = itself ? id : NULL};

		*id = 77;
		live(page, &t, itself ? NULL : id, thread);
		bad += *id != 0;
	}
	return bad;
}

static long left_locked(enum end end, bool thread)
{
	unsigned char *page = warm(1);
	struct robust_list *entry = (struct robust_list *)(page + PAGE / 2);
	const int *word = (const int *)(page + PAGE / 2 + DISTANCE);
	long bad = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct task t = {.end = end, .locks = entry};

		live(page, &t, NULL, thread);
		bad += !(*word & (int)FUTEX_OWNER_DIED);
	}
	return bad;
}

static long id_of_a_thread(void) { return cleared(BY_EXIT, false, true); }
static long id_at_exit_group(void) { return cleared(BY_EXIT_GROUP, false, false); }
static long id_at_kill(void) { return cleared(BY_KILL, false, false); }
static long id_at_execve(void) { return cleared(BY_EXECVE, false, false); }
static long id_by_itself(void) { return cleared(BY_EXIT_GROUP, true, false); }
static long lock_of_a_thread(void) { return left_locked(BY_EXIT, true); }
static long lock_at_kill(void) { return left_locked(BY_KILL, false); }
static long lock_at_execve(void) { return left_locked(BY_EXECVE, false); }

/* --from */
__attribute__((noinline)) void from_here(void)
{
	__asm__ volatile("");
}

static _Thread_local unsigned char local[SIZE];
static unsigned char *volatile published;
static volatile int released;

static void *with_local_code(void *argument)
{
	encode(local, -1);
	published = local;
	while (!released)
		usleep(1000);
	return argument;
}

/* Beside its thread-local variables the library keeps what the kernel is to write at the end. */
static long beside_local_code(void)
{
	unsigned char *stack = pages(STACK / PAGE);
	pthread_attr_t attributes;
	pthread_t thread;
	long bad = 0;

	if (pthread_attr_init(&attributes) || pthread_attr_setstack(&attributes, stack, STACK) ||
	    pthread_create(&thread, &attributes, with_local_code, NULL))
		exit(3);
	while (!published)
		usleep(1000);
	from_here();
	for (int i = 0; i < LOOP; i++)
		bad += call(published, i) != i - 1;
	released = 1;
	return bad + (pthread_join(thread, NULL) != 0);
}

static const struct row rows[] = {
	{"id-of-a-thread", id_of_a_thread}, {"id-at-exit-group", id_at_exit_group}, {"id-at-kill", id_at_kill},
	{"id-at-execve", id_at_execve}, {"id-by-itself", id_by_itself}, {"lock-of-a-thread", lock_of_a_thread},
	{"lock-at-kill", lock_at_kill}, {"lock-at-execve", lock_at_execve}, {"beside-local-code", beside_local_code},
};

int main(int argc, char **argv)
{
	if (argc == 0 || !strcmp(argv[0], "/proc/self/exe")) /* another program */
		return 0;
	return run_case(argc, argv, rows, sizeof rows / sizeof rows[0]);
}
