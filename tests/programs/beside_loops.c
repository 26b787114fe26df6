/* Short loops around operands beside the code: counters in static memory, constants, with all that may come in between. Prints what each leaves in
 * registers and memory. With a number: again and again, until so many alarms came; "same" when each round comes out as the first. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { REGISTERS = 18, LOOPS_MOST = 32, PAGE = 4096 };

struct left {
	uint64_t registers[REGISTERS]; /* rax to r15 but rsp, flags and xmm0: in the order of LOOP() */
	uint64_t x, y, env[4];
	double sum;
};

uint64_t x, y, left[REGISTERS], saved_rsp;
double sum, step = 0.25, most = 20;
uint32_t divisor;
const uint8_t *bytes;
static struct left first[LOOPS_MOST], now;
static volatile int alarms;
static uint8_t env[28] __asm__("env");

/* name(): the body begins with known registers, and what it leaves comes to left. */
#define LOOP(name, body) \
	void name(void); \
	__asm__(".text\n" #name ":\n\t" \
		"push rbx; push rbp; push r12; push r13; push r14; push r15; mov [rip+saved_rsp], rsp\n\t" \
		"mov eax, 0x61; mov ecx, 0x62; mov edx, 0x63; mov ebx, 0x64; mov ebp, 0x65; mov esi, 0x66; mov edi, 0x67; mov r8d, 0x68\n\t" \
		"mov r9d, 0x69; mov r10d, 0x6a; mov r11d, 0x6b; mov r12d, 0x6c; mov r13d, 0x6d; mov r14d, 0x6e; mov r15d, 0x6f; pxor xmm0, xmm0\n\t" \
		"cmp eax, ecx\n" body "\n\t" \
		"mov [rip+left], rax; pushfq; pop qword ptr [rip+left+8]; mov [rip+left+16], rcx; mov [rip+left+24], rdx; mov [rip+left+32], rbx\n\t" \
		"mov [rip+left+40], rbp; mov [rip+left+48], rsi; mov [rip+left+56], rdi; mov [rip+left+64], r8; mov [rip+left+72], r9; mov [rip+left+80], r10\n\t" \
		"mov [rip+left+88], r11; mov [rip+left+96], r12; mov [rip+left+104], r13; mov [rip+left+112], r14; mov [rip+left+120], r15\n\t" \
		"movq [rip+left+128], xmm0; mov rsp, [rip+saved_rsp]; pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx; ret")

__asm__(".intel_syntax noprefix");
LOOP(in_memory, "1: inc qword ptr [rip+x]; cmp [rip+x], rbx; jb 1b");
LOOP(as_compiled, "1: mov rdx, [rip+x]; add rdx, 1; mov [rip+x], rdx; mov rdx, [rip+x]; cmp rdx, rax; jb 1b");
LOOP(of_a_byte, "1: inc byte ptr [rip+x]; jnz 1b");
LOOP(locked, "1: lock inc dword ptr [rip+x]; cmp [rip+x], ecx; jne 1b");
LOOP(two, "1: inc word ptr [rip+x]; dec dword ptr [rip+y]; dec ecx; jnz 1b");
/* CF is alive all the way: a safe point has to keep it. */
LOOP(with_carry, "stc\n1: adc [rip+x], rsi; lea rsi, [rsi+rsi*2]; dec r9; jnz 1b");
LOOP(no_register_left, "1: add rax, [rip+x]; add rdx, rax; add rbx, rdx; add rsi, rbx; add rdi, rsi; add rbp, rdi; inc qword ptr [rip+x]; cmp [rip+x], rcx; jb 1b");
LOOP(only_rbp_left, "1: add rax, [rip+x]; add rdx, rax; add rbx, rdx; add rsi, rbx; add rdi, rsi; inc qword ptr [rip+x]; cmp [rip+x], rcx; jb 1b");
LOOP(the_stolen_one, "1: add r11, [rip+x]; inc qword ptr [rip+x]; xor [rip+y], r11; cmp [rip+x], r10; jb 1b");
LOOP(floating, "1: addsd xmm0, [rip+step]; movsd [rip+sum], xmm0; ucomisd xmm0, [rip+most]; jb 1b");
LOOP(x87, "1: fld1; fadd qword ptr [rip+sum]; fstp qword ptr [rip+sum]; fnstenv [rip+env]; dec r8; jnz 1b\n\tfninit");
LOOP(on_the_stack, "push 0\n1: inc qword ptr [rsp]; push qword ptr [rip+x]; pop qword ptr [rip+y]; mov rdx, [rsp]; cmp rdx, rdi; jne 1b");
LOOP(address_too, "1: lea rdx, [rip+x]; add qword ptr [rdx], 3; add dx, [rip+x]; cmp [rip+x], rbx; jb 1b");
LOOP(strings, "lea rdi, [rip+y]\n1: mov al, [rip+x]; stosb; dec rdi; inc byte ptr [rip+x]; cmp byte ptr [rip+x], 200; jne 1b");
LOOP(inner, "2: mov qword ptr [rip+x], 0\n1: inc qword ptr [rip+x]; cmp qword ptr [rip+x], 3; jb 1b\n\tinc qword ptr [rip+y]; cmp [rip+y], rbx; jb 2b");
LOOP(once, "3: mov [rip+x], rax; 1: dec qword ptr [rip+x]; js 1b\n\tdec rax; jnz 3b");
LOOP(with_exit, "1: inc qword ptr [rip+x]; cmp [rip+x], rax; je 2f; cmp [rip+x], rbx; jb 1b\n2:");
LOOP(carries_on, "1: inc qword ptr [rip+x]; cmp [rip+x], rax; jb 1b\n\tinc qword ptr [rip+y]; call 2f; jmp 3f\n2: add rax, [rip+y]; ret\n3:");
/* Faults in the midst of it, and goes on. */
LOOP(divides, "1: mov eax, 1000000; xor edx, edx; dec dword ptr [rip+divisor]; div dword ptr [rip+divisor]; add [rip+x], rax; dec r8; jnz 1b");
LOOP(reads_on, "mov rsi, [rip+bytes]\n1: inc qword ptr [rip+x]; mov dl, [rsi]; inc rsi; cmp [rip+x], r15; jb 1b");
__asm__(".att_syntax");

static const struct loop {
	const char *name;
	void (*run)(void);
} loops[] = {
	{"in memory", in_memory}, {"as compiled", as_compiled}, {"of a byte", of_a_byte}, {"locked", locked}, {"two", two}, {"with carry", with_carry},
	{"no register left", no_register_left}, {"only rbp left", only_rbp_left}, {"the stolen one", the_stolen_one}, {"floating", floating}, {"x87", x87},
	{"on the stack", on_the_stack}, {"address too", address_too}, {"strings", strings}, {"inner", inner}, {"once", once}, {"with exit", with_exit},
	{"carries on", carries_on}, {"divides", divides}, {"reads on", reads_on},
};

enum { LOOPS = sizeof loops / sizeof loops[0] };

static bool tells;
static char line[1024];
static size_t length;

static void add_text(const char *text)
{
	while (*text)
		line[length++] = *text++;
}

/* Few instructions, for those that step them. */
static void add_number(uint64_t n)
{
	int digits = 1;

	while (digits < 16 && n >> 4 * digits)
		digits++;
	line[length++] = ' ';
	while (digits--)
		line[length++] = "0123456789abcdef"[n >> 4 * digits & 15];
}

static void end_line(void)
{
	line[length++] = '\n';
	(void)!write(1, line, length);
	length = 0;
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	static const int numbers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RBP, REG_RSI, REG_RDI, REG_R8, REG_R11, REG_R15};

	(void)info;
	if (tells) {
		add_text(signo == SIGFPE ? "division:" : "memory:");
		for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
			if (numbers[i] != REG_RSI || signo == SIGFPE) /* where memory was to be had */
				add_number((uint64_t)r[numbers[i]]);
		end_line();
	}
	if (signo == SIGFPE)
		divisor = 40;
	else
		r[REG_RSI] = (greg_t)(uintptr_t)bytes;
}

static void on_alarm(int signo)
{
	(void)signo;
	alarms++;
}

static void run(const struct loop *l)
{
	memset(left, 0, sizeof left);
	x = y = 0;
	sum = 0;
	divisor = 50;
	memset(env, 0, sizeof env);
	l->run();
	memset(&now, 0, sizeof now);
	memcpy(now.registers, left, sizeof left);
	now.registers[1] &= 0x8d5; /* the arithmetic flags */
	now.x = x;
	now.y = y;
	now.sum = sum;
	memcpy(now.env, env, 2);
	if (l->run == divides)
		now.registers[1] = 0; /* what DIV leaves in flags is not defined */
	if (l->run == address_too || l->run == strings || l->run == reads_on)
		now.registers[3] = now.registers[6] = now.registers[7] = 0; /* addresses */
}

static void print_all(void)
{
	uint64_t words[sizeof now / sizeof(uint64_t)];

	tells = true;
	for (int i = 0; i < LOOPS; i++) {
		run(&loops[i]);
		add_text(loops[i].name);
		memcpy(words, &now, sizeof now);
		for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
			add_number(words[k]);
		end_line();
	}
}

static int repeat(int most_alarms)
{
	for (int i = 0; i < LOOPS; i++) {
		run(&loops[i]);
		first[i] = now;
	}
	while (alarms < most_alarms)
		for (int i = 0; i < LOOPS; i++) {
			run(&loops[i]);
			if (memcmp(&now, &first[i], sizeof now)) {
				printf("%s differs\n", loops[i].name);
				return 1;
			}
		}
	puts("same");
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, alarm = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(pages + PAGE, PAGE);
	memset(pages, 7, PAGE);
	bytes = pages + PAGE - 40;
	sigaction(SIGFPE, &fault, NULL);
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGALRM, &alarm, NULL);
	if (argc > 1)
		return repeat(atoi(argv[1]));
	print_all();
	return 0;
}
