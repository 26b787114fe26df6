/* SPDX-License-Identifier: MIT */
/* Says of each call through which memory is written later, or is hidden from others, whether the kernel knows it: all others have an error of their own, as the
 * arguments are wrong. Pages that the kernel may drop (MAP_DROPPABLE, Linux 6.11) are mapped, or not; the kernel's own
 * pages (vdso) are said to be there, or not. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(const char *name, long rc, int refused)
{
	printf("%s %s\n", name, rc < 0 && errno == refused ? "refused" : "there");
}

int main(void)
{
	int fd;

	say("io_setup", syscall(SYS_io_setup, 0, NULL), ENOSYS);
	say("io_uring_setup", syscall(SYS_io_uring_setup, 0, NULL), ENOSYS);
	say("userfaultfd", syscall(SYS_userfaultfd, -1), ENOSYS);
	fd = open("/dev/userfaultfd", O_RDWR);
	errno = ENOTTY;
	say("/dev/userfaultfd", fd < 0 ? -1 : ioctl(fd, 0xaa00, -1), ENOTTY); /* USERFAULTFD_IOC_NEW */
	say("memfd_secret", syscall(447, -1), ENOSYS); /* SYS_memfd_secret, Linux 5.14 */
	say("droppable", (long)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | 0x08, -1, 0), EINVAL);
	say("vdso", syscall(SYS_arch_prctl, 0x2003, 1UL << 28), EINVAL); /* ARCH_MAP_VDSO_64: else EEXIST */
	return 0;
}
