// SPDX-License-Identifier: MIT
/* answered_elsewhere: calls time() of the vsyscall page under a filter whose notifications a child answers. 77: there are none, or no such page. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int answer(int listener)
{
	struct seccomp_notif asked;
	struct seccomp_notif_resp answered = {.val = 1234};

	memset(&asked, 0, sizeof asked);
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked))
		return 1;
	answered.id = asked.id;
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answered) != 0;
}

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

int main(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_time, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, filter};
	long (*page_time)(long *) = (long (*)(long *))0xffffffffff600400;
	int listener, status;
	pid_t child;

	if (!has_page() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 77;
	listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (listener < 0)
		return 77;
	child = fork();
	if (!child)
		_exit(answer(listener));
	printf("%ld\n", page_time(NULL));
	if (waitpid(child, &status, 0) != child || status)
		return 1;
	return 0;
}
