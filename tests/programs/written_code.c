// SPDX-License-Identifier: MIT
/* written_code NAME: code in writable pages that run and are written by turns, by the program, in every way there is; mappings of it that change.
 * Each case counts what comes out wrong. tests/e2e/engine_written.py */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "written.inc"

/* ---- The program writes ---- */

static long data_beside_code(void)
{
	unsigned char *page = warm(1);
	volatile long *counter = (long *)(page + 1024);
	long bad = 0;

	for (int i = 0; i < 50 * TIMES; i++) {
		++*counter;
		bad += call(page, i) != i - 1;
	}
	return bad + (*counter != 50 * TIMES);
}

static long across_pages(void)
{
	unsigned char *page = warm(3), bytes[2 * PAGE];
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		for (int k = 0; k + SIZE <= 2 * PAGE; k += SIZE)
			encode(bytes + k, i + k);
		memcpy(page + PAGE / 2, bytes, sizeof bytes);
		bad += call(page + PAGE / 2, 0) != i || call(page + PAGE, 0) != i + PAGE / 2 || call(page + 2 * PAGE, 0) != i + PAGE + PAGE / 2;
		encode(page + PAGE - 5, -i); /* half here, half there */
		bad += call(page + PAGE - 5, 0) != -i;
	}
	return bad;
}

/* Each round of a loop writes the constant of the instruction behind the store:
 * 1: movb %cl, 2f+1(%rip); 2: movl $0, %eax (its constant's low byte); addq %rax, %rdx; decq %rcx; jnz 1b; movq %rdx, %rax; ret */
static long own_loop(void)
{
	static const unsigned char code[] = {0x31, 0xd2, 0x48, 0x89, 0xf9, 0x88, 0x0d, 0x01, 0x00, 0x00, 0x00, 0xb8, 0, 0, 0, 0,
					     0x48, 0x01, 0xc2, 0x48, 0xff, 0xc9,
					      0x75, 0xed, 0x48, 0x89, 0xd0, 0xc3};
	unsigned char *page = warm(1);
	long bad = 0;

	memcpy(page + 100, code, sizeof code);
	for (int n = 1; n < 200; n += 13)
		bad += call(page + 100, n) != (long)n * (n + 1) / 2;
	return bad;
}

/* rep movsb and rep stosb over code, and over its own next instructions' page. */
static long by_string_instructions(void)
{
	unsigned char *page = warm(2), bytes[PAGE];
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		void *to = page, *from = bytes;
		size_t n = sizeof bytes;

		memset(bytes, 0x90, sizeof bytes);
		encode(bytes + PAGE - SIZE, i);
		__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
		bad += call(page, 1) != i + 1;
		to = page + PAGE / 2;
		n = 64;
		__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0x90) : "memory");
		bad += call(page, 2) != i + 2;
	}
	return bad;
}

static long on_the_stack(void)
{
	unsigned char code[64] __attribute__((aligned(64)));
	uintptr_t page = (uintptr_t)code & ~(uintptr_t)(PAGE - 1);
	long bad = mprotect((void *)page, PAGE, RWX) != 0;

	for (int i = 0; i < TIMES; i++) {
		encode(code, i);
		bad += call(code, i) != 2L * i;
	}
	return bad;
}

struct handshake {
	unsigned char *page;
	atomic_int turn;
	long bad;
};

static void *write_by_turns(void *argument)
{
	struct handshake *h = argument;

	for (int i = 0; i < TIMES; i++) {
		while (atomic_load(&h->turn) != 2 * i)
			sched_yield();
		encode(h->page, i);
		atomic_store(&h->turn, 2 * i + 1);
	}
	return NULL;
}

static long by_a_thread(void)
{
	struct handshake h = {.page = warm(1)};
	pthread_t thread;

	if (pthread_create(&thread, NULL, write_by_turns, &h))
		exit(3);
	for (int i = 0; i < TIMES; i++) {
		while (atomic_load(&h.turn) != 2 * i + 1)
			sched_yield();
		h.bad += call(h.page, 7) != i + 7;
		atomic_store(&h.turn, 2 * i + 2);
	}
	pthread_join(thread, NULL);
	return h.bad;
}

/* ---- Mappings ---- */

/* A write to a page that the program itself has protected is the program's fault; to one that it has not, nobody's. */
static long own_protection(void)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	unsigned char *page = warm(1);
	long bad = 0;

	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < TIMES; i++) {
		encode(page, i);
		bad += call(page, 1) != i + 1 || faults != i;
		bad += mprotect(page, PAGE, PROT_READ | PROT_EXEC) != 0;
		bad += call(page, 2) != i + 2;
		encode(page, -i); /* faults */
		bad += faults != i + 1 || call(page, 3) != 3 - i;
	}
	return bad;
}

static long moved(void)
{
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		unsigned char *a = warm(2), *b = warm(2);

		encode(a, i);
		bad += call(a, 0) != i || call(b, 1) != 0;
		bad += mremap(a, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, b) != b;
		bad += call(b, 0) != i || call(b + PAGE, 1) != 0;
		encode(b, -i);
		bad += call(b, 0) != -i;
		munmap(b, 2 * PAGE);
	}
	return bad;
}

static long replaced(void)
{
	unsigned char *page = warm(1);
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		bad += mmap(page, PAGE, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page;
		bad += page[0] != 0;
		encode(page, i);
		bad += call(page, 0) != i;
		if (i % 2) {
			bad += munmap(page, PAGE) != 0 || mmap(page, PAGE, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page;
			encode(page, -i);
			bad += call(page, 0) != -i;
		}
		bad += madvise(page, PAGE, MADV_DONTNEED) != 0;
		bad += page[0] != 0;
		page[0] = 0xb8; /* mov $0, %eax; ret */
		page[5] = 0xc3;
		bad += call(page, 5) != 0;
	}
	return bad;
}

/* The same attributes before and after: only the contents differ. */
static long replaced_fixed(void)
{
	unsigned char *page = pages(1);
	long bad = 0;

	for (int i = 0; i < TIMES; i++) {
		unsigned char *other = pages(1);

		encode(other, i);
		bad += mprotect(other, PAGE, PROT_READ | PROT_EXEC) != 0;
		bad += mremap(other, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page) != page;
		bad += call(page, 1) != i + 1;
	}
	return bad;
}

/* ---- Processes ---- */

static long forked(void)
{
	unsigned char *page = warm(2);
	long bad = 0;

	for (int i = 0; i < 8; i++) {
		pid_t child;
		int status;

		encode(page, i);
		bad += call(page, 1) != i + 1;
		child = fork();
		if (!child) {
			long wrong = call(page, 2) != i + 2;

			for (int k = 0; k < 5; k++) {
				encode(page, 100 + k);
				wrong += call(page, 0) != 100 + k || call(page + PAGE, 1) != 0;
			}
			_exit((int)wrong);
		}
		encode(page + 64, -i);
		bad += call(page + 64, 0) != -i || call(page, 3) != i + 3;
		bad += waitpid(child, &status, 0) != child || status != 0;
	}
	return bad;
}

static void *keep_busy(void *argument)
{
	struct handshake *h = argument;

	for (int i = 0; !atomic_load(&h->turn); i++) {
		encode(h->page + PAGE, i);
		h->bad += call(h->page + PAGE, 0) != i;
		if (i % 16 == 0)
			sched_yield();
	}
	return NULL;
}

static long forked_with_threads(void)
{
	struct handshake h = {.page = warm(2)};
	pthread_t thread;
	long bad = 0;

	if (pthread_create(&thread, NULL, keep_busy, &h))
		exit(3);
	for (int i = 0; i < 8; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			long wrong = call(h.page, 1) != i;

			encode(h.page + PAGE, 5);
			wrong += call(h.page + PAGE, 0) != 5;
			encode(h.page, 6);
			wrong += call(h.page, 0) != 6;
			_exit((int)wrong);
		}
		bad += waitpid(child, &status, 0) != child || status != 0;
		encode(h.page, i);
		bad += call(h.page, 1) != i + 1;
	}
	atomic_store(&h.turn, 1);
	pthread_join(thread, NULL);
	return bad + h.bad;
}

/* ---- The end of all addresses ---- */

/* Ranges that reach to it, or wrap: the kernel refuses them. */
static long at_the_end(void)
{
	static const uintptr_t starts[] = {-(uintptr_t)PAGE, -(uintptr_t)9 * PAGE, (uintptr_t)1 << 63};
	unsigned char *page = warm(2);
	long bad = 0;

	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++) {
			void *at = (void *)starts[i];
			size_t n = k ? k * (size_t)PAGE : -starts[i];

			bad += !syscall(SYS_munmap, at, n) || !syscall(SYS_madvise, at, n, MADV_DONTNEED) || !syscall(SYS_mprotect, at, n, PROT_READ);
			bad += syscall(SYS_mremap, at, n, n, MREMAP_MAYMOVE) != -1;
			encode(page, i + k);
			bad += call(page, 1) != i + k + 1 || call(page + PAGE, 1) != 0;
		}
	return bad;
}

/* ---- Filters ---- */

/* From now on mprotect() kills. */
static long filtered(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof code[0], code};
	unsigned char *page = warm(2);
	long bad = 0;

	bad += prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
	for (int i = 0; i < TIMES; i++) {
		encode(page, i);
		bad += call(page, 1) != i + 1 || call(page + PAGE, 1) != 0;
	}
	return bad;
}

/* ---- The end ---- */

static long ends_protected(void)
{
	warm(20);
	return 0;
}

static long dies_protected(void)
{
	warm(20);
	abort();
}

/* ---- Memory that nothing has been written to ---- */

#define NOTHING ((unsigned char *)0x310000000000)

static unsigned char *fault_at;

static void leave_function(int signo, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signo;
	(void)info;
	fault_at = (unsigned char *)(uintptr_t)regs[REG_RIP];
	regs[REG_RIP] = *(greg_t *)(uintptr_t)regs[REG_RSP];
	regs[REG_RSP] += 8;
}

/* Megabytes of it behind a function that ends before: add %al,(%rax), again and again. */
static long before_nothing(void)
{
	static const unsigned char start[] = {0x48, 0x89, 0xf8}; /* mov %rdi,%rax */
	struct sigaction action = {.sa_sigaction = leave_function, .sa_flags = SA_SIGINFO};
	unsigned char *at = mmap(NOTHING, 16 << 20, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), byte, sum;
	long bad = at != NOTHING;

	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < TIMES && !bad; i++) {
		unsigned char *here = at + i * 64;

		memcpy(here, start, sizeof start);
		call(here, i);
		bad += fault_at != here + sizeof start;
		here[43] = 0xc3; /* ret, behind twenty of them */
		byte = sum = (unsigned char)i;
		for (int k = 0; k < 20; k++)
			sum += (unsigned char)(uintptr_t)&byte;
		call(here, (long)(uintptr_t)&byte);
		bad += byte != sum;
	}
	return bad;
}

/* ---- Code at the lowest addresses, and calls that name these ---- */

static unsigned char *low_page(uintptr_t at)
{
	unsigned char *page = mmap((void *)at, PAGE, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return page == (void *)at ? page : NULL; /* vm.mmap_min_addr */
}

/* Ranges begin below 64 KiB, where nothing is mapped, and reach to the code. */
static long from_below(void)
{
	enum { FIRST = 0x1000, AT = 0x100000 };
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	long bad = 0;

	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < TIMES; i++) {
		unsigned char *page = low_page(AT);
		int before = faults;

		if (!page)
			return -1;
		encode(page, i);
		bad += call(page, i) != 2L * i;
		madvise((void *)FIRST, AT + PAGE - FIRST, MADV_DONTNEED); /* fails, having done it */
		bad += page[0] != 0;
		encode(page, i + 1);
		bad += call(page, i) != 2L * i + 1;
		bad += munmap((void *)FIRST, AT + PAGE - FIRST) != 0;
		page = mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		encode(page, i + 2);
		bad += call(page, i) != 2L * i + 2 || faults != before + 1;
		munmap(page, PAGE);
	}
	return bad;
}

static long on_low_page(unsigned char *page)
{
	unsigned char code[SIZE], *other = pages(1);
	int ends[2], before;
	long bad = pipe(ends) != 0;

	encode(page, -1);
	for (int i = 0; i < TIMES; i++) {
		bad += call(page, 1) != (i ? i + 1 : 0);
		encode(code, i);
		bad += write(ends[1], code, SIZE) != SIZE || read(ends[0], page, SIZE) != SIZE || call(page, i) != 2L * i;
		bad += syscall(SYS_getrandom, page + SIZE, PAGE - SIZE, 0) != PAGE - SIZE || call(page, i) != 2L * i;
		encode(page, i + 1);
		bad += call(page, i) != 2L * i + 1;
	}
	before = faults;
	bad += mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0 || call(page, 1) != TIMES + 1 || faults != before + 1;
	encode(other, 100);
	bad += call(other, 1) != 101 || mremap(other, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page) != page || call(page, 1) != 101;
	return bad + (munmap(page, PAGE) != 0);
}

static long low_pages(void)
{
	static const uintptr_t at[] = {0x1000, 0x8000, 0xf000, 0x10000};
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	long bad = 0;

	sigaction(SIGSEGV, &action, NULL);
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++)
		for (int again = 0; again < 2; again++) {
			unsigned char *page = low_page(at[i]);

			bad += page ? on_low_page(page) : 0;
		}
	return bad;
}

/* ---- A mapping is protected from its beginning on, by a call that names its end ---- */

static long protected_downward(void)
{
	enum { N = 32 };
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	unsigned char *page = mmap(NULL, 2 * N * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long bad = 0;

	sigaction(SIGSEGV, &action, NULL);
	page = mmap(page + N * PAGE, N * PAGE, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN, -1, 0);
	for (int i = 0; i < TIMES; i++) {
		int before = faults;

		encode(page, i);
		bad += call(page, i) != 2L * i;
		bad += mprotect(page + (N - 1) * PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_GROWSDOWN) != 0;
		encode(page, i + 1);
		bad += faults != before || call(page, i) != 2L * i + 1 || faults != before + 1;
		bad += mprotect(page, N * PAGE, RWX) != 0 || call(page, i) != 2L * i + 1;
		bad += mprotect(page + (N - 1) * PAGE, PAGE, PROT_READ | PROT_EXEC | PROT_GROWSDOWN) != 0 || call(page, i) != 2L * i + 1;
		bad += faults != before + 1;
		encode(page, i + 2);
		bad += faults != before + 2 || call(page, i) != 2L * i + 2;
		bad += mprotect(page, N * PAGE, RWX) != 0;
	}
	return bad;
}

/* ---- The file of shared code gets shorter ---- */

static int shrunk;
static unsigned char *shrunk_code;
static greg_t shrunk_regs[4];

static void lengthen(int signo, siginfo_t *info, void *context)
{
	const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signo;
	fault_at = info->si_addr;
	shrunk_regs[0] = regs[REG_RIP] - (greg_t)(uintptr_t)shrunk_code;
	shrunk_regs[1] = regs[REG_RAX];
	shrunk_regs[2] = regs[REG_RCX];
	shrunk_regs[3] = regs[REG_RDX];
	if (ftruncate(shrunk, 2 * PAGE))
		_exit(3);
	memcpy(shrunk_code + PAGE - 3, "\x48\x89\xd0\x48\x01\xc8\xc3", 7); /* mov %rdx,%rax; add %rcx,%rax on the second page; ret */
}

static long shortened(void)
{
	struct sigaction action = {.sa_sigaction = lengthen, .sa_flags = SA_SIGINFO};
	long bad = 0, result;

	shrunk = memfd_create("code", 0);
	if (shrunk < 0 || ftruncate(shrunk, 2 * PAGE))
		return -1;
	shrunk_code = mmap(NULL, 2 * PAGE, RWX, MAP_SHARED, shrunk, 0);
	sigaction(SIGBUS, &action, NULL);
	lengthen(0, &(siginfo_t){0}, &(ucontext_t){0});
	for (int i = 0; i < TIMES; i++) {
		bool first = i & 1; /* page, or the second alone */

		fault_at = NULL;
		if (i >= TIMES / 2 && ftruncate(shrunk, first ? 0 : PAGE))
			return -1;
		__asm__ volatile("call *%1" : "=a"(result) : "r"(shrunk_code + PAGE - 3), "a"(0x77l), "d"(1000l), "c"(24l + i) : "memory", "cc", "r11");
		bad += result != 1024 + i;
		if (i < TIMES / 2)
			bad += fault_at != NULL;
		else
			bad += fault_at != shrunk_code + PAGE - (first ? 3 : 0) || shrunk_regs[0] != PAGE - (first ? 3 : 0) ||
			       shrunk_regs[1] != (first ? 0x77 : 1000) || shrunk_regs[2] != 24 + i || shrunk_regs[3] != 1000;
	}
	return bad;
}

/* ---- Instructions write over what follows them, through another mapping, where no operand says so ---- */

extern const char masked_legacy[], masked_vex[], masked_end[];

/* At 8 from the beginning: mov $1, %eax; ret. */
__asm__(".pushsection .text; masked_legacy: movq %rdi, %rdi; maskmovdqu %xmm1, %xmm0; nop; movl $1, %eax; ret; .fill 16, 1, 0x90\n"
	"masked_vex: movq %rdi, %rdi; vmaskmovdqu %xmm1, %xmm0; nop; movl $1, %eax; ret; .fill 16, 1, 0x90; masked_end: .popsection");

static long write_behind(const char *code, const char *end)
{
	int file = memfd_create("code", 0), result;
	unsigned char *data, *run, mask[16] = {[1] = 0x80};
	long bad = file < 0 || ftruncate(file, PAGE);

	data = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	run = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
	memcpy(data, code, (size_t)(end - code));
	for (int i = 0; i < TIMES; i++) {
		unsigned char bytes[16] = {[1] = (unsigned char)i};
		register unsigned char *at __asm__("rdi") = data + 8;

		__asm__ volatile("movdqu %1, %%xmm0; movdqu %2, %%xmm1; call *%3"
				 : "=a"(result) : "m"(bytes), "m"(mask), "r"(run), "r"(at) : "xmm0", "xmm1", "rcx", "rdx", "r11", "memory", "cc");
		bad += result != i;
	}
	return bad;
}

static long by_masked_store(void)
{
	long bad = write_behind(masked_legacy, masked_vex);

	return __builtin_cpu_supports("avx") ? bad + write_behind(masked_vex, masked_end) : bad;
}

static const struct row rows[] = {
	{"data-beside-code", data_beside_code}, {"across-pages", across_pages}, {"own-loop", own_loop},
	{"by-string-instructions", by_string_instructions}, {"on-the-stack", on_the_stack}, {"by-a-thread", by_a_thread},
	{"own-protection", own_protection}, {"moved", moved}, {"replaced", replaced}, {"replaced-fixed", replaced_fixed},
	{"forked", forked}, {"forked-with-threads", forked_with_threads}, {"at-the-end", at_the_end}, {"filtered", filtered},
	{"ends-protected", ends_protected}, {"dies-protected", dies_protected}, {"before-nothing", before_nothing},
	{"shortened", shortened}, {"by-masked-store", by_masked_store}, {"from-below", from_below}, {"low-pages", low_pages},
	{"protected-downward", protected_downward},
};

int main(int argc, char **argv) { return run_case(argc, argv, rows, sizeof rows / sizeof rows[0]); }
