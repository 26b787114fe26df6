/* SPDX-License-Identifier: MIT */
#include "syscalls/syscall_numbers.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "lib/array_size.h"

/* The second by asm/unistd_32.h. */
static const struct {
	uint16_t nr, compat;
} numbers[] = {
	{SYS_exit, 1},           {SYS_write, 4},
	{SYS_close, 6},          {SYS_execve, 11},
	{SYS_ptrace, 26},        {SYS_brk, 45},
	{SYS_rt_sigaction, 48},  {SYS_rt_sigaction, 67},
	{SYS_mmap, 90},          {SYS_munmap, 91},
	{SYS_rt_sigreturn, 119}, {SYS_clone, 120},
	{SYS_mprotect, 125},     {SYS_mremap, 163},
	{SYS_prctl, 172},        {SYS_rt_sigreturn, 173},
	{SYS_rt_sigaction, 174}, {SYS_mmap, 192},
	{SYS_madvise, 219},      {SYS_io_setup, 245},
	{SYS_exit_group, 252},   {SYS_remap_file_pages, 257},
	{SYS_mbind, 274},        {SYS_execveat, 358},
	{SYS_userfaultfd, 374},  {SYS_pkey_mprotect, 380},
	{SYS_rseq, 386},         {SYS_shmat, 397},
	{SYS_shmdt, 398},        {SYS_io_uring_setup, 425},
	{SYS_clone3, 435},       {SYS_memfd_secret, 447},
};

bool syscall_number_is(uint64_t nr, bool compat, long wanted)
{
	if (!compat)
		return nr == (uint64_t)wanted;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].nr == wanted && numbers[i].compat == nr)
			return true;
	return false;
}
