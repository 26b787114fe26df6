// SPDX-License-Identifier: MIT
/* answered_elsewhere [thread|child] [page|call] [DEED]: calls time(), of the vsyscall page or by a system call, under a filter whose
 * notifications another thread or a child answers; twice. Before it answers, while the call waits, it
 * crashes;
 * snap: asks for a snapshot (btrec.h): the call may be made again for that, and another answer be asked for;
 * code: writes functions, and calls them.
 * 77: there are no notifications, or no such page. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/btrec.h"

enum { CALLS = 2 };

static const char *deed = "";

static int write_and_call(void)
{
	static unsigned char function[6] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov $0, %eax; ret */
	static unsigned char *page;

	if (!page)
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 20; i++) {
		function[1] = (unsigned char)i;
		memcpy(page + i, function, sizeof function);
		for (int k = 0; k < 10; k++)
			if (((int (*)(void))(page + i))() != i)
				return 1;
	}
	return 0;
}

static int do_before(void)
{
	if (!strcmp(deed, "crashes"))
		*(volatile int *)8 = 1;
	if (!strcmp(deed, "snap"))
		prctl(BTREC_PRCTL, "waits");
	return !strcmp(deed, "code") && write_and_call();
}

static int answer(int listener)
{
	for (int i = 0; i < CALLS;) {
		struct seccomp_notif asked;
		struct seccomp_notif_resp answered = {.val = 1234 + i};

		memset(&asked, 0, sizeof asked);
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) || do_before())
			return 1;
		answered.id = asked.id;
		if (!ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answered))
			i++;
		else if (errno != ENOENT || strcmp(deed, "snap"))
			return 1;
		else
			deed = "";
	}
	return 0;
}

static void *answer_beside(void *arg)
{
	if (answer(*(int *)arg))
		_exit(1);
	return NULL;
}

static long call_time(long *at) { return syscall(SYS_time, at); }

static int has_page(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int has = 0;

	while (maps && fgets(line, sizeof line, maps))
		has |= strstr(line, "[vsyscall]") != NULL;
	if (maps)
		fclose(maps);
	return has;
}

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_time, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, filter};
	long (*page_time)(long *) = (long (*)(long *))0xffffffffff600400;
	int beside = argc > 1 && !strcmp(argv[1], "thread"), status = 0;
	int listener;
	pthread_t thread;
	pid_t child = 0;

	deed = argc > 3 ? argv[3] : "";
	if (argc > 2 && !strcmp(argv[2], "call"))
		page_time = call_time;
	else if (!has_page())
		return 77;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 77;
	listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (listener < 0)
		return 77;
	if (beside)
		beside = !pthread_create(&thread, NULL, answer_beside, &listener);
	else if (!(child = fork()))
		_exit(answer(listener));
	for (int i = 0; i < CALLS; i++)
		printf("%ld\n", page_time(NULL));
	return beside ? pthread_join(thread, NULL) : waitpid(child, &status, 0) != child || status;
}
