/* SPDX-License-Identifier: MIT */
/* The calls that pass do no harm, with any arguments that pass. So the address of the call does not
 * matter. It would prove nothing: code that has got out of the cache can jump to one of our system
 * call instructions.
 *
 * A process is killed, not sent SIGSYS: there is no such call in a replay, and nothing of the
 * trace's is to run behind one.
 *
 * With ptrace(2) the tracer's stop at a call's entry comes before the filter (Linux 4.8); a call
 * that it cancels has the number -1 here. */
#include "collector/replay/host_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "lib/array_size.h"

enum {
	EXIT_32 = 1, /* of the table for 32-bit code (asm/unistd_32.h) */
	EXIT_GROUP_32 = 252,
	ANONYMOUS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED | MAP_FIXED_NOREPLACE |
		    MAP_GROWSDOWN,
	OF_FILE = MAP_SHARED | MAP_NORESERVE | MAP_FIXED | MAP_FIXED_NOREPLACE,
};

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define AND(bits)   BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (uint32_t)(bits))
/* Steps over `otherwise` instructions unless what was loaded is this. */
#define IF_IS(value, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, otherwise)
/* The same unless it has one of these bits. */
#define IF_HAS(bits, otherwise) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(bits), 0, otherwise)
#define PASS                    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL                    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* The lower halves of arguments are loaded where the kernel takes an int (flags of madvise and
 * memfd_create); of mmap's flags it looks at no more. */
const struct sock_filter host_filter[] = {
	LOAD(nr),
	IF_IS(-1, 1),
	PASS,
	LOAD(arch),
	IF_IS(AUDIT_ARCH_I386, 6), /* int 0x80 */
	LOAD(nr),
	IF_IS(EXIT_32, 1),
	PASS,
	IF_IS(EXIT_GROUP_32, 1),
	PASS,
	KILL,
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
	KILL,
	LOAD(nr),
	IF_IS(SYS_munmap, 1),
	PASS,
	IF_IS(SYS_mprotect, 1),
	PASS,
	IF_IS(SYS_mremap, 1),
	PASS,
	IF_IS(SYS_close, 1),
	PASS,
	IF_IS(SYS_exit, 1),
	PASS,
	IF_IS(SYS_exit_group, 1),
	PASS,
	IF_IS(SYS_madvise, 4),
	LOAD(args[2]),
	IF_IS(MADV_DONTDUMP, 1),
	PASS,
	KILL,

	IF_IS(SYS_memfd_create, 4),
	LOAD(args[1]),
	IF_IS(MFD_CLOEXEC | MFD_ALLOW_SEALING, 1),
	PASS,
	KILL,

	IF_IS(SYS_mmap, 12),
	LOAD(args[3]),
	IF_HAS(MAP_ANONYMOUS, 3),
	IF_HAS(~ANONYMOUS, 1),
	KILL,
	PASS,
	IF_HAS(~OF_FILE, 1),
	KILL,
	LOAD(args[2]),
	AND(PROT_WRITE | PROT_EXEC),
	IF_IS(PROT_WRITE | PROT_EXEC, 1),
	KILL,
	PASS,

	KILL,
};

const size_t host_filter_length = ARRAY_SIZE(host_filter);
