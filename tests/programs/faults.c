// SPDX-License-Identifier: MIT
/* Every way one thread of one program dies by its own doing: faults NAME. The mark @NAME is on the line that does it.
 * faults.c alone decides nothing: what is expected of each is in tests/e2e/crashes.py. */
#include <assert.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#ifdef __clang__
#undef NOINLINE
#define NOINLINE __attribute__((noinline))
#endif

struct node {
	long key;
	struct node *next;
	long value;
};

enum {
	HANDLED_FAULTS = 3000
};

/* Volatile: the compiler must not see that these lead nowhere. */
static struct node *volatile no_node;
static long *volatile wild = (long *)0x123456789000;
static long *volatile non_canonical = (long *)0x8000000000001234;
static void (*volatile call_target)(void);
static volatile long zero, minus_one = -1, sink;

NOINLINE static void store(struct node *node)
{
	node->value = 7; /* @null-write */
}

NOINLINE static long load(struct node *node)
{
	return node->value; /* @null-read */
}

static void null_write(void)
{
	store(no_node);
}

static void null_read(void)
{
	sink = load(no_node);
}

static void wild_write(void)
{
	*wild = 1; /* @wild-write */
}

static void wild_read(void)
{
	sink = *wild; /* @wild-read */
}

static void non_canonical_read(void)
{
	sink = *non_canonical; /* @non-canonical-read */
}

static void write_to_constant(void)
{
	*(volatile char *)(uintptr_t)"constant" = 'C'; /* @write-to-constant */
}

NOINLINE static void call_it(void)
{
	call_target(); /* @call */
	sink = 1;
}

static void call_null(void)
{
	call_target = NULL;
	call_it();
}

static void call_unmapped(void)
{
	call_target = (void (*)(void))0x123456789000;
	call_it();
}

static void call_non_canonical(void)
{
	call_target = (void (*)(void))0x8000000000001234;
	call_it();
}

static long not_code[4] = {0x90};

static void call_data(void)
{
	call_target = (void (*)(void))(uintptr_t)not_code;
	call_it();
}

/* What an overflowing buffer does to the return address, without depending on the compiler's frame layout. */
NOINLINE static void smash(uintptr_t with)
{
	uintptr_t *frame = __builtin_frame_address(0);

	*(volatile uintptr_t *)(frame + 1) = with;
	sink = 2;
}

static void ret_unmapped(void)
{
	smash(0x123456789000);
	sink = 3;
}

static void ret_non_canonical(void)
{
	smash(0x4141414141414141);
	sink = 3;
}

extern const char behind_call[];

/* Has a call in it, to whose return address another function's is changed. */
__attribute__((used)) NOINLINE static void never_entered(void)
{
	__asm__ volatile("call 1f\nbehind_call: nop\n1: addq $8, %%rsp" ::: "memory");
}

NOINLINE static void smash_and_store(struct node *node)
{
	uintptr_t *frame = __builtin_frame_address(0);

	*(volatile uintptr_t *)(frame + 1) = (uintptr_t)behind_call;
	node->value = 8; /* @smashed-return */
}

static void smashed_return(void)
{
	smash_and_store(no_node);
	sink = 4;
}

NOINLINE static long descend(long depth)
{
	volatile char room[1024];

	room[0] = (char)depth; /* @stack-overflow */
	return zero ? room[0] : descend(depth + 1) + room[0];
}

static void stack_overflow(void)
{
	sink = descend(0);
}

static void say_and_leave(int signo)
{
	static const char words[] = "stack exhausted\n";

	(void)signo;
	_exit(write(1, words, sizeof(words) - 1) > 0 ? 3 : 4);
}

static void handle_elsewhere(void (*handler)(int))
{
	static char elsewhere[64 * 1024];
	stack_t stack = {.ss_sp = elsewhere, .ss_size = sizeof(elsewhere)};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
}

static void stack_overflow_handled(void)
{
	handle_elsewhere(say_and_leave);
	sink = descend(0);
}

static void give_up(int signo)
{
	(void)signo;
	abort(); /* @abort-in-handler */
}

static void abort_in_handler(void)
{
	handle_elsewhere(give_up);
	store(no_node);
}

static void call_abort(void)
{
	fprintf(stderr, "giving up\n");
	abort(); /* @abort */
}

/* It comes when the handler has returned, to the same place. */
static void raise_with_default(int signo)
{
	signal(signo, SIG_DFL);
	raise(signo);
}

static void raise_again(void)
{
	handle_elsewhere(raise_with_default);
	store(no_node);
}

static void kill_by_abort(void)
{
	kill(getpid(), SIGABRT); /* @kill-by-abort */
}

static void fail_assert(void)
{
	assert(zero == 1); /* @assert */
}

static void divide(void)
{
	sink = 1000 / zero; /* @divide-by-zero */
}

static void divide_overflow(void)
{
	sink = LONG_MIN;
	sink = sink / minus_one; /* @divide-overflow */
}

static void illegal(void)
{
	__asm__ volatile("ud2"); /* @illegal */
}

static void privileged(void)
{
	__asm__ volatile("hlt"); /* @privileged */
}

static void breakpoint(void)
{
	__asm__ volatile("int3"); /* @breakpoint */
	sink = 4;
}

/* The last instruction of a function, behind which the next one begins. */
void trap_at_end(void);
__asm__(".pushsection .text\n"
	".type trap_at_end, @function\ntrap_at_end:\n\t.cfi_startproc\n\tpush %rbx\n\t.cfi_adjust_cfa_offset 8\n\tint3\n\t.cfi_endproc\n"
	".size trap_at_end, . - trap_at_end\n"
	".type behind_trap, @function\nbehind_trap:\n\t.cfi_startproc\n\tret\n\t.cfi_endproc\n"
	".size behind_trap, . - behind_trap\n"
	".popsection");

static void breakpoint_at_end(void)
{
	trap_at_end();
}

static void bus_error(void)
{
	FILE *file = tmpfile();
	long *beyond = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);

	sink = beyond[512]; /* @bus-error */
}

static void misaligned(void)
{
	static char bytes[32] __attribute__((aligned(16)));

	__asm__ volatile("movaps %%xmm0, %0" : "=m"(bytes[1])); /* @misaligned */
}

static void write_in_handler(int signo)
{
	(void)signo;
	*wild = 2; /* @fault-in-handler */
}

static void fault_in_handler(void)
{
	signal(SIGUSR1, write_in_handler);
	raise(SIGUSR1);
}

/* The second fault comes while SIGSEGV is blocked by its own handler. */
static void fault_in_fault_handler(void)
{
	signal(SIGSEGV, write_in_handler);
	store(no_node);
}

static sigjmp_buf again;

static void jump_back(int signo)
{
	(void)signo;
	siglongjmp(again, 1);
}

static void handled_faults(void)
{
	struct sigaction action = {.sa_handler = jump_back, .sa_flags = SA_NODEFER};
	static volatile int count;

	sigaction(SIGSEGV, &action, NULL);
	for (count = 0; count < HANDLED_FAULTS; count++)
		if (!sigsetjmp(again, 0))
			store(no_node);
	printf("%d faults handled\n", count);
}

static void handled_then_fatal(void)
{
	signal(SIGSEGV, jump_back);
	if (!sigsetjmp(again, 1))
		store(no_node);
	signal(SIGSEGV, SIG_DFL);
	sink = load(no_node);
}

/* What the processor's own checks raise besides. */
static void float_divide(void)
{
	unsigned csr = 0x1d80; /* every exception masked but division by zero (bit 9) */
	volatile double d = 0;

	__asm__ volatile("ldmxcsr %0" : : "m"(csr));
	d = 1 / d; /* @float-divide */
	sink = d > 0;
}

static void alignment_check(void)
{
	static char bytes[16] __attribute__((aligned(8)));

	__asm__ volatile("pushfq\n\torl $0x40000, (%%rsp)\n\tpopfq\n\tmovl $1, 1(%0)" ::"r"(bytes) : "memory", "cc"); /* @alignment-check */
}

static void software_interrupt(void)
{
	__asm__ volatile("int $0x21"); /* @software-interrupt */
}

static void forbidden_page(void)
{
	char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	page[8] = 1; /* @forbidden-page */
}

static void unmapped_page(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(page, 4096);
	page[8] = 1; /* @unmapped-page */
}

static void no_stack(void)
{
	__asm__ volatile("mov $0x1000, %%esp\n\tpush %%rax" ::: "memory"); /* @no-stack */
}

/* With a tab in the line, as sources have them. */
static void no_stack_to_call(void)
{
	__asm__ volatile("mov $0x1000, %%esp\n\tcall %P0" ::"i"(call_it) : "memory");	/* @no-stack-to-call */
}

/* There is a handler, and no room for its frame. */
static void no_stack_for_handler(void)
{
	signal(SIGSEGV, jump_back);
	__asm__ volatile("mov $0x1000, %%esp\n\tpush %%rax" ::: "memory"); /* @no-stack-for-handler */
}

/* An instruction of which the first half is mapped. */
static void torn_instruction(void)
{
	unsigned char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(pages + 4096, 4096);
	memcpy(pages + 4090, "\x90\x90\x90\x48\xb8\x11", 6); /* nop * 3; movabs, cut off */
	call_target = (void (*)(void))(uintptr_t)(pages + 4090);
	call_it();
}

/* The page behind a system call is not there: what returns from the kernel faults. */
static void torn_after_syscall(void)
{
	unsigned char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(pages + 4096, 4096);
	memcpy(pages + 4089, "\xb8\x27\x00\x00\x00\x0f\x05", 7); /* mov $39, %eax; syscall */
	call_target = (void (*)(void))(uintptr_t)(pages + 4089);
	call_it();
}

/* A string instruction that faults in its middle. */
static void string_fault(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *to = pages;
	size_t n = 8192;

	munmap(pages + 4096, 4096);
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(1) : "memory"); /* @string-fault */
}

static void double_free(void)
{
	char *volatile p = malloc(24);

	free(p);
	free(p); /* @double-free */ /* NOLINT */
}

__attribute__((noinline)) static void library_read(void)
{
	size_t (*volatile length)(const char *) = strlen;

	sink = (long)length((const char *)(uintptr_t)zero); /* @library-read */
}

static void free_wild(void)
{
	char *volatile p = (char *)0x123456789000;

	free(p); /* NOLINT */
}

static void free_inner(void)
{
	char bytes[64];
	char *volatile p = bytes + 16;

	memset(bytes, 0, sizeof bytes);
	free(p); /* @free-inner */ /* NOLINT */
	sink = bytes[0];
}

/* The stack ends in malloc more often than not. */
__attribute__((noinline)) static long descend_allocating(long n)
{
	long *volatile block = malloc(sizeof *block);

	if (block)
		*block = n;
	return descend_allocating(n + 1) + n;
}

static void allocate_deep(void) { sink = descend_allocating(zero); }

enum { LARGE = 64 << 20 }; /* no stack of a thread is as large */

__attribute__((noinline)) static void use_large_frame(void)
{
	volatile char bytes[LARGE];

	bytes[LARGE / 2 + zero] = 1; /* @large-frame */
}

static void *run_large_frame(void *arg)
{
	use_large_frame();
	return arg;
}

static void large_frame(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, run_large_frame, NULL))
		pthread_join(thread, NULL);
}

static void close_range_all(void)
{
	syscall(SYS_close_range, 0, ~0u, 0);
	*wild = 1; /* @close-range-all */
}

static void forbid_getppid(unsigned int action)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = filter};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		exit(77);
	getppid(); /* @seccomp */
}

static void seccomp_trap(void)
{
	forbid_getppid(SECCOMP_RET_TRAP);
}

static void seccomp_kill(void)
{
	forbid_getppid(SECCOMP_RET_KILL_PROCESS);
}

static void raise_quit(void)
{
	raise(SIGQUIT);
}

static void exit_3(void)
{
	exit(3);
}

static const struct {
	const char *name;
	void (*run)(void);
} table[] = {
	{"null-write", null_write},
	{"null-read", null_read},
	{"wild-write", wild_write},
	{"wild-read", wild_read},
	{"non-canonical-read", non_canonical_read},
	{"write-to-constant", write_to_constant},
	{"call-null", call_null},
	{"call-unmapped", call_unmapped},
	{"call-non-canonical", call_non_canonical},
	{"call-data", call_data},
	{"ret-unmapped", ret_unmapped},
	{"ret-non-canonical", ret_non_canonical},
	{"smashed-return", smashed_return},
	{"stack-overflow", stack_overflow},
	{"stack-overflow-handled", stack_overflow_handled},
	{"abort", call_abort},
	{"abort-in-handler", abort_in_handler},
	{"raise-again", raise_again},
	{"kill-by-abort", kill_by_abort},
	{"assert", fail_assert},
	{"divide-by-zero", divide},
	{"divide-overflow", divide_overflow},
	{"illegal", illegal},
	{"privileged", privileged},
	{"breakpoint", breakpoint},
	{"breakpoint-at-end", breakpoint_at_end},
	{"bus-error", bus_error},
	{"misaligned", misaligned},
	{"fault-in-handler", fault_in_handler},
	{"fault-in-fault-handler", fault_in_fault_handler},
	{"handled-faults", handled_faults},
	{"handled-then-fatal", handled_then_fatal},
	{"float-divide", float_divide},
	{"alignment-check", alignment_check},
	{"software-interrupt", software_interrupt},
	{"forbidden-page", forbidden_page},
	{"unmapped-page", unmapped_page},
	{"no-stack", no_stack},
	{"no-stack-to-call", no_stack_to_call},
	{"no-stack-for-handler", no_stack_for_handler},
	{"torn-instruction", torn_instruction},
	{"torn-after-syscall", torn_after_syscall},
	{"string-fault", string_fault},
	{"double-free", double_free},
	{"library-read", library_read},
	{"free-wild", free_wild},
	{"free-inner", free_inner},
	{"allocate-deep", allocate_deep},
	{"large-frame", large_frame},
	{"close-range-all", close_range_all},
	{"seccomp-trap", seccomp_trap},
	{"seccomp-kill", seccomp_kill},
	{"raise-quit", raise_quit},
	{"exit-3", exit_3},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (argc == 2 && !strcmp(argv[1], table[i].name)) {
			table[i].run();
			return 0;
		}
	fprintf(stderr, "faults: no such fault\n");
	return 2;
}
