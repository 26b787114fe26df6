/* SPDX-License-Identifier: MIT */
/* The table decoder against Zydis: every opcode of every map with many prefixes and operands, and
 * all code of some large programs. */
#include "tests/unit/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/array_size.h"
#include "lib/error.h"
#include "tests/unit/x86_oracle.h"

#define SEED 20240607u

enum {
	CODE = 32,      /* bytes of a generated instruction and what follows it */
	MAX_SHOWN = 40, /* mismatches printed */
};

enum encoding { LEGACY, VEX, EVEX, ENCODINGS };

/* What a generated instruction is, whether or not it is one. */
struct key {
	unsigned encoding, map, pp, opcode, reg, mod3;
};

#define KEYS (ENCODINGS * 8 * 4 * 256 * 8 * 2)

struct tally {
	size_t compared, mismatches;
	uint64_t random;
	const char *name, *why; /* of the mismatch shown last: one of a kind is enough */
	uint8_t *ours, *theirs; /* per key: some instruction of it was valid */
};

static void show(const char *who, const struct x86_insn *x)
{
	fprintf(stderr,
		"  %s: len %u class %u traits %#x reads %#x writes %#x regs %#x map %u opcode %02x "
		"rex %02x ",
		who, x->len, x->class, x->traits, x->flags_read, x->flags_written, x->regs, x->map,
		x->opcode, x->rex);
	fprintf(stderr,
		"66 %u f2f3 %02x opcode_at %u modrm_at %u disp %u+%u imm %u+%u displacement %lld\n",
		x->prefix_66, x->prefix_f2_f3, x->opcode_at, x->modrm_at, x->disp_at, x->disp_size,
		x->imm_at, x->imm_size, (long long)x->displacement);
}

static void mismatch(struct tally *t, const uint8_t *bytes, size_t n, const char *why,
		     const struct x86_insn *ours, const struct x86_insn *theirs)
{
	const char *name = x86_oracle_name(bytes, n);

	if ((name == t->name && why == t->why) || t->mismatches++ >= MAX_SHOWN)
		return;
	t->name = name;
	t->why = why;
	fprintf(stderr, "%s: %s:", name, why);
	for (size_t i = 0; i < n && i < BT_INSN_MAX; i++)
		fprintf(stderr, " %02x", bytes[i]);
	fprintf(stderr, "\n");
	show("decoder", ours);
	show("Zydis  ", theirs);
}

/* Compares; returns the instruction's length, 0 when Zydis knows none. What Zydis calls invalid may
 * run outside, or be taken for a valid form of the same opcode. */
static unsigned compare(struct tally *t, const uint8_t *bytes, size_t n, bool *ours_valid)
{
	struct x86_insn ours, theirs;
	int rc = x86_decode(bytes, n, &ours), oracle_rc = x86_oracle(bytes, n, &theirs);
	const char *why;

	t->compared++;
	*ours_valid = !rc;
	if (oracle_rc) {
		*ours_valid = !rc && !(ours.traits & X86_OUTSIDE);
		if (rc && rc != oracle_rc && n >= BT_INSN_MAX)
			mismatch(t, bytes, n, "another error", &ours, &theirs);
		return 0;
	}
	why = rc ? "not decoded" : x86_oracle_difference(&ours, &theirs);
	if (why)
		mismatch(t, bytes, n, why, &ours, &theirs);
	return theirs.len;
}

static uint8_t random_byte(struct tally *t) { return (uint8_t)(unit_random(&t->random) >> 32); }

static void check_key(struct tally *t, const struct key *k, const uint8_t *bytes)
{
	size_t key =
		((((k->encoding * 8u + k->map) * 4 + k->pp) * 256 + k->opcode) * 8 + k->reg) * 2 +
		k->mod3;
	bool ours_valid;

	if (compare(t, bytes, CODE, &ours_valid))
		t->theirs[key] = 1;
	t->ours[key] |= ours_valid;
}

static void fill(struct tally *t, uint8_t *bytes, size_t from)
{
	while (from < CODE)
		bytes[from++] = random_byte(t);
}

/* Prefixes before an opcode; the last column is what they select. */
static const struct prefix_set {
	uint8_t bytes[6], n, pp;
} prefix_sets[] = {
	{{0}, 0, 0},
	{{0x48}, 1, 0},
	{{0x40}, 1, 0},
	{{0x41}, 1, 0},
	{{0x4f}, 1, 0},
	{{0x66}, 1, 1},
	{{0x66, 0x48}, 2, 1},
	{{0x66, 0x45}, 2, 1},
	{{0xf3}, 1, 2},
	{{0xf3, 0x4c}, 2, 2},
	{{0xf3, 0x41}, 2, 2},
	{{0x66, 0xf3}, 2, 2},
	{{0xf2, 0xf3, 0x66}, 3, 2},
	{{0xf2}, 1, 3},
	{{0xf2, 0x49}, 2, 3},
	{{0xf2, 0x66, 0x44}, 3, 3},
	{{0xf3, 0xf2}, 2, 3},
	{{0x67}, 1, 0},
	{{0x67, 0x66, 0x4a}, 3, 1},
	{{0x64}, 1, 0},
	{{0x64, 0x48}, 2, 0},
	{{0x65}, 1, 0},
	{{0x65, 0x66, 0x42}, 3, 1},
	{{0x48, 0x66}, 2, 1},
	{{0x4f, 0x2e}, 2, 0},
	{{0x41, 0x48}, 2, 0},
	{{0x3e}, 1, 0},
	{{0xf0}, 1, 0},
	{{0xf0, 0x48}, 2, 0},
};

static void legacy_opcode(struct tally *t, const struct prefix_set *p, unsigned map,
			  unsigned opcode, unsigned modrm)
{
	static const uint8_t escapes[4][2] = {{0}, {0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}};
	static const uint8_t lengths[4] = {0, 1, 2, 2};
	struct key key = {LEGACY, map, p->pp, opcode, modrm >> 3 & 7, modrm >= 0xc0};
	uint8_t bytes[CODE];
	size_t at = p->n;

	if (map == X86_MAP_0F &&
	    (opcode == 0x1a ||
	     opcode == 0x1b)) /* MPX: there are four registers; and nops where there is no MPX */
		key.reg = key.mod3 = 0;
	memcpy(bytes, p->bytes, p->n);
	memcpy(bytes + at, escapes[map], lengths[map]);
	at += lengths[map];
	bytes[at++] = (uint8_t)opcode;
	bytes[at++] = (uint8_t)modrm;
	fill(t, bytes, at);
	check_key(t, &key, bytes);
}

/* Bytes that are something else than an opcode of their map. */
static bool is_escape(unsigned map, unsigned opcode)
{
	static const uint8_t bytes[] = {0x0f, 0x26, 0x2e, 0x36, 0x3e, 0x62, 0x64, 0x65,
					0x66, 0x67, 0xc4, 0xc5, 0xf0, 0xf2, 0xf3};

	if (map == X86_MAP_0F)
		return opcode == 0x38 || opcode == 0x3a;
	return map == X86_MAP_1 &&
	       ((opcode & 0xf0) == 0x40 || memchr(bytes, (int)opcode, sizeof bytes));
}

static void legacy_opcodes(struct tally *t)
{
	for (size_t p = 0; p < ARRAY_SIZE(prefix_sets); p++)
		for (unsigned map = 0; map < 4; map++)
			for (unsigned opcode = 0; opcode < 256; opcode++)
				for (unsigned modrm = 0; modrm < 256 && !is_escape(map, opcode);
				     modrm++)
					legacy_opcode(t, &prefix_sets[p], map, opcode, modrm);
}

/* Half of them mostly well-formed: a random vvvv, mask, L is wrong for many opcodes. */
static void vector_opcode(struct tally *t, const struct key *key, unsigned modrm, unsigned variant)
{
	unsigned map = key->map, pp = key->pp;
	uint8_t bytes[CODE], r = random_byte(t), rxb = variant & 1 ? 0xe0 : r & 0xe0,
			     vvvv = variant & 2 ? 0x78 : random_byte(t) & 0x78;
	size_t at = 0;

	if (key->encoding == EVEX) {
		bytes[at++] = 0x62;
		bytes[at++] = (uint8_t)(rxb | 0x10 | map);
		bytes[at++] = (uint8_t)((r & 1 ? 0x80 : 0) | vvvv | 4 | pp);
		bytes[at++] =
			variant & 4 ? (uint8_t)((r & 6) << 4 | 8 | (r >> 3 & 1)) : random_byte(t);
	} else if (map == 1 && variant % 4 == 3) {
		bytes[at++] = 0xc5;
		bytes[at++] = (uint8_t)((r & 0x80) | vvvv | (r & 4) | pp);
	} else {
		bytes[at++] = 0xc4;
		bytes[at++] = (uint8_t)(rxb | map);
		bytes[at++] = (uint8_t)((r & 1 ? 0x80 : 0) | vvvv | (r & 4) | pp);
	}
	bytes[at++] = (uint8_t)key->opcode;
	bytes[at++] = (uint8_t)modrm;
	fill(t, bytes, at);
	check_key(t, key, bytes);
}

static void vector_opcodes(struct tally *t, enum encoding encoding)
{
	for (unsigned map = 0; map < 8; map++)
		for (unsigned pp = 0; pp < 4; pp++)
			for (unsigned opcode = 0; opcode < 256; opcode++) {
				struct key key = {encoding, map, pp, opcode, 0, 0};

				for (unsigned i = 0; i < 2 * 256; i++)
					vector_opcode(t, &key, i % 256,
						      i < 256 ? 7 : random_byte(t));
			}
}

static void neighbours_only(struct tally *t)
{
	for (size_t key = 0; key < KEYS; key++) {
		size_t opcode = key / 16 % 256, pp = key / 16 / 256 % 4, map = key / 16 / 1024;

		if (!t->ours[key] || t->theirs[key])
			continue;
		fprintf(stderr,
			"runs inside, invalid to Zydis in every form: encoding %zu map %zu pp %zu "
			"opcode %02zx /%zu mod3 %zu\n",
			map / 8, map % 8, pp, opcode, key / 2 % 8, key % 2);
		t->mismatches++;
	}
}

/* A linear sweep: what lies between the functions is compared, too. */
static void compare_code(struct tally *t, const uint8_t *code, size_t n)
{
	size_t at = 0;
	bool ours_valid;

	while (at < n) {
		unsigned len = compare(t, code + at, n - at, &ours_valid);

		at += len ? len : 1;
	}
}

static struct tally tally_new(void)
{
	struct tally t = {
		.random = SEED, .ours = test_calloc(KEYS, 1), .theirs = test_calloc(KEYS, 1)};

	return t;
}

static void tally_end(struct tally *t, const char *what)
{
	size_t mismatches = t->mismatches;

	printf("# %s: %zu compared, seed %u\n", what, t->compared, SEED);
	test_free(t->ours);
	test_free(t->theirs);
	if (mismatches)
		fail_msg("%zu mismatches", mismatches);
}

static void every_legacy_opcode(void **state)
{
	struct tally t = tally_new();

	(void)state;
	legacy_opcodes(&t);
	neighbours_only(&t);
	tally_end(&t, "legacy opcodes");
}

static void every_vex_opcode(void **state)
{
	struct tally t = tally_new();

	(void)state;
	vector_opcodes(&t, VEX);
	neighbours_only(&t);
	tally_end(&t, "VEX");
}

static void every_evex_opcode(void **state)
{
	struct tally t = tally_new();

	(void)state;
	vector_opcodes(&t, EVEX);
	neighbours_only(&t);
	tally_end(&t, "EVEX");
}

static int compare_object(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X && p->p_flags & PF_R)
			compare_code(context, (const uint8_t *)(info->dlpi_addr + p->p_vaddr),
				     p->p_filesz);
	}
	return 0;
}

/* The test itself, ld.so, libc, the vdso, what else it is linked with. */
static void all_code_of_this_process(void **state)
{
	struct tally t = tally_new();

	(void)state;
	dl_iterate_phdr(compare_object, &t);
	assert_true(t.compared > 100000);
	tally_end(&t, "code of this process");
}

static void compare_file(struct tally *t, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	const uint8_t *bytes;
	const Elf64_Ehdr *header;

	if (fd < 0)
		return;
	assert_int_equal(fstat(fd, &st), 0);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_true(bytes != MAP_FAILED);
	header = (const Elf64_Ehdr *)bytes;
	for (unsigned i = 0; !memcmp(bytes, ELFMAG, SELFMAG) && i < header->e_phnum; i++) {
		const Elf64_Phdr *p = (const Elf64_Phdr *)(bytes + header->e_phoff) + i;

		if (p->p_type == PT_LOAD && p->p_flags & PF_X)
			compare_code(t, bytes + p->p_offset, p->p_filesz);
	}
	munmap((void *)(uintptr_t)bytes, (size_t)st.st_size);
	printf("# %s\n", path);
}

/* Hand-written code of all vector extensions is in libcrypto. */
static void all_code_of_large_programs(void **state)
{
	static const char *const paths[] = {
		"/usr/bin/bash",
		"/usr/bin/python3",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.1.1",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib64/libcrypto.so.3",
		"/usr/lib/x86_64-linux-gnu/libm.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	};
	struct tally t = tally_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		compare_file(&t, paths[i]);
	tally_end(&t, "code of large programs");
}

/* What the manuals say, without Zydis. */
struct row {
	const char *text;
	uint8_t bytes[BT_INSN_MAX];
	uint8_t len, class, traits;
	uint8_t reads, writes;
	uint16_t regs;
};

#define B(...)                      {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})
#define INSIDE(reads, writes, regs) BT_INSN_PLAIN, 0, reads, writes, regs
#define RUNS_OUTSIDE(class)         BT_INSN_##class, X86_OUTSIDE, X86_ARITHMETIC, 0, 0xffff
#define R(name)                     X86_BIT(X86_##name)
#define ALL                         X86_ARITHMETIC

static const struct row rows[] = {
	{"add rax,rcx", B(0x48, 0x01, 0xc8), INSIDE(0, ALL, R(RAX) | R(RCX))},
	{"adc ah,bl", B(0x10, 0xdc), INSIDE(X86_CF, ALL, R(RAX) | R(RBX))},
	{"mov spl,dh needs no REX: mov ah,dh", B(0x88, 0xf4), INSIDE(0, 0, R(RAX) | R(RDX))},
	{"mov spl,sil", B(0x40, 0x88, 0xf4), INSIDE(0, 0, R(RSP) | R(RSI))},
	{"inc keeps CF", B(0xff, 0xc0), INSIDE(0, ALL & ~X86_CF, R(RAX))},
	{"shl eax,0 writes no flags", B(0xc1, 0xe0, 0x20), INSIDE(0, 0, R(RAX))},
	{"shl rax,32 does", B(0x48, 0xc1, 0xe0, 0x20), INSIDE(0, ALL, R(RAX))},
	{"shl eax,cl may not", B(0xd3, 0xe0), INSIDE(0, 0, R(RAX) | R(RCX))},
	{"rcl eax,1", B(0xd1, 0xd0), INSIDE(X86_CF, 0, R(RAX))},
	{"shld edx,eax,cl", B(0x0f, 0xa5, 0xc2), INSIDE(0, 0, R(RDX) | R(RAX) | R(RCX))},
	{"mul ecx", B(0xf7, 0xe1), INSIDE(0, X86_CF | X86_OF, R(RAX) | R(RDX) | R(RCX))},
	{"div cl", B(0xf6, 0xf1), INSIDE(0, 0, R(RAX) | R(RCX))},
	{"bt keeps ZF", B(0x0f, 0xa3, 0xc8), INSIDE(0, X86_CF, R(RAX) | R(RCX))},
	{"cmpxchg16b [rdi]", B(0xf0, 0x48, 0x0f, 0xc7, 0x0f),
	 INSIDE(0, X86_ZF, R(RAX) | R(RBX) | R(RCX) | R(RDX) | R(RDI))},
	{"lea rax,[r12+r13*4]", B(0x4b, 0x8d, 0x04, 0xac), INSIDE(0, 0, R(RAX) | R(R12) | R(R13))},
	{"push rbx", B(0x53), INSIDE(0, 0, R(RBX) | R(RSP))},
	{"leave", B(0xc9), INSIDE(0, 0, R(RBP) | R(RSP))},
	{"enter 16,0", B(0xc8, 16, 0, 0), INSIDE(0, 0, R(RBP) | R(RSP))},
	{"enter 16,32, whose level is 0", B(0xc8, 16, 0, 32), INSIDE(0, 0, R(RBP) | R(RSP))},
	{"nop", B(0x90), INSIDE(0, 0, 0)},
	{"pause", B(0xf3, 0x90), INSIDE(0, 0, 0)},
	{"xchg r8,rax", B(0x49, 0x90), INSIDE(0, 0, R(RAX) | R(R8))},
	{"nop [rax+rax+0]", B(0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0), INSIDE(0, 0, R(RAX))},
	{"gs nop", B(0x65, 0x90), INSIDE(0, 0, 0)},
	{"endbr64", B(0xf3, 0x0f, 0x1e, 0xfa), INSIDE(0, 0, 0)},
	{"cpuid", B(0x0f, 0xa2), INSIDE(0, 0, R(RAX) | R(RBX) | R(RCX) | R(RDX))},
	{"rdtscp", B(0x0f, 0x01, 0xf9), INSIDE(0, 0, R(RAX) | R(RCX) | R(RDX))},
	{"xtest", B(0x0f, 0x01, 0xd6), INSIDE(0, ALL, 0)},
	{"lock inc [rax]", B(0xf0, 0xff, 0), INSIDE(0, ALL & ~X86_CF, R(RAX))},
	{"xgetbv", B(0x0f, 0x01, 0xd0), INSIDE(0, 0, R(RAX) | R(RCX) | R(RDX))},
	{"rdrand r10", B(0x49, 0x0f, 0xc7, 0xf2), INSIDE(0, ALL, R(R10))},
	{"xsave [rsp]", B(0x0f, 0xae, 0x24, 0x24), INSIDE(0, 0, R(RSP) | R(RAX) | R(RDX))},
	{"wrfsbase rdi", B(0xf3, 0x48, 0x0f, 0xae, 0xd7), INSIDE(0, 0, R(RDI))},
	{"pushf", B(0x9c), INSIDE(ALL, 0, R(RSP))},
	{"lahf", B(0x9f), INSIDE(ALL & ~X86_OF, 0, R(RAX))},
	{"seta al", B(0x0f, 0x97, 0xc0), INSIDE(X86_CF | X86_ZF, 0, R(RAX))},
	{"cmovle eax,edx", B(0x0f, 0x4e, 0xc2),
	 INSIDE(X86_ZF | X86_SF | X86_OF, 0, R(RAX) | R(RDX))},
	{"adox eax,edx", B(0xf3, 0x0f, 0x38, 0xf6, 0xc2), INSIDE(X86_OF, X86_OF, R(RAX) | R(RDX))},
	{"fcmovu", B(0xda, 0xd9), INSIDE(X86_PF, 0, 0)},
	{"fnstsw ax", B(0xdf, 0xe0), INSIDE(0, 0, R(RAX))},
	{"maskmovq", B(0x0f, 0xf7, 0xc1), INSIDE(0, 0, R(RDI))},
	{"cvttsd2si r9,xmm1", B(0xf2, 0x4c, 0x0f, 0x2c, 0xc9), INSIDE(0, 0, R(R9))},
	{"blsr eax,ecx", B(0xc4, 0xe2, 0x78, 0xf3, 0xc9), INSIDE(0, ALL, R(RAX) | R(RCX))},
	{"mulx r8,r9,r10", B(0xc4, 0x42, 0xb3, 0xf6, 0xc2),
	 INSIDE(0, 0, R(R8) | R(R9) | R(R10) | R(RDX))},
	{"vpgatherdd ymm1,[rdx+ymm2],ymm3: no rdx of the index",
	 B(0xc4, 0xe2, 0x65, 0x90, 0x0c, 0x13), BT_INSN_PLAIN, X86_GATHERED, 0, 0, R(RBX)},
	{"vmovdqu64 zmm16,[r8+64]", B(0x62, 0xc1, 0xfe, 0x48, 0x6f, 0x40, 0x01),
	 INSIDE(0, 0, R(R8))},
	{"kortestw", B(0xc5, 0xf8, 0x98, 0xc9), INSIDE(0, ALL, 0)},
	{"mov rax,fs:[0x28]", B(0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0), BT_INSN_PLAIN,
	 X86_SEGMENT, 0, 0, R(RAX)},
	{"movsb", B(0xa4), INSIDE(0, 0, R(RSI) | R(RDI))},
	{"rep movsb", B(0xf3, 0xa4), BT_INSN_PLAIN, X86_REPEATED, 0, 0, R(RSI) | R(RDI) | R(RCX)},
	{"cmpsb", B(0xa6), INSIDE(0, ALL, R(RSI) | R(RDI))},
	{"repe cmpsb with rcx 0 writes none", B(0xf3, 0xa6), BT_INSN_PLAIN, X86_REPEATED, 0, 0,
	 R(RSI) | R(RDI) | R(RCX)},
	{"lea rax,[rip+1]", B(0x48, 0x8d, 0x05, 1, 0, 0, 0), BT_INSN_PLAIN, X86_RIP_RELATIVE, 0, 0,
	 R(RAX)},
	{"jne", B(0x75, 1), BT_INSN_JCC, 0, X86_ZF, 0, 0},
	{"hinted jne near", B(0x3e, 0x0f, 0x85, 1, 0, 0, 0), BT_INSN_JCC, 0, X86_ZF, 0, 0},
	{"loopne", B(0xe0, 0xfe), BT_INSN_LOOP, 0, X86_ZF, 0, R(RCX)},
	{"jecxz", B(0x67, 0xe3, 1), BT_INSN_JRCXZ, X86_ADDRESS32, 0, 0, R(RCX)},
	{"call", B(0xe8, 0, 0, 0, 0), BT_INSN_CALL, 0, 0, 0, R(RSP)},
	{"bnd call", B(0xf2, 0xe8, 0, 0, 0, 0), BT_INSN_CALL, 0, 0, 0, R(RSP)},
	{"notrack jmp [rax*8+0]", B(0x3e, 0xff, 0x24, 0xc5, 0, 0, 0, 0), BT_INSN_IJMP, 0, 0, 0,
	 R(RAX)},
	{"call [rip]", B(0xff, 0x15, 0, 0, 0, 0), BT_INSN_ICALL, X86_RIP_RELATIVE, 0, 0, R(RSP)},
	{"rep ret", B(0xf3, 0xc3), BT_INSN_RET, 0, 0, 0, R(RSP)},
	{"gs jmp", B(0x65, 0xeb, 0), BT_INSN_JMP, 0, 0, 0, 0},
	{"jmp gs:[rax]", B(0x65, 0xff, 0x20), RUNS_OUTSIDE(IJMP)},
	{"mov rax,gs:[0]", B(0x65, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0), RUNS_OUTSIDE(PLAIN)},
	{"rep movsb from gs", B(0xf3, 0x65, 0xa4), BT_INSN_PLAIN, X86_OUTSIDE | X86_REPEATED, ALL,
	 0, 0xffff},
	{"jne with 66", B(0x66, 0x75, 1), RUNS_OUTSIDE(JCC)},
	{"ret with 66", B(0x66, 0xc3), RUNS_OUTSIDE(RET)},
	{"call with REX and 66", B(0x66, 0x41, 0xe8, 0, 0, 0, 0), RUNS_OUTSIDE(CALL)},
	{"data16 data16 rex.W call", B(0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0), BT_INSN_CALL, 0, 0, 0,
	 R(RSP)},
	{"data16 rex.W call [rip]", B(0x66, 0x48, 0xff, 0x15, 0, 0, 0, 0), BT_INSN_ICALL,
	 X86_RIP_RELATIVE, 0, 0, R(RSP)},
	{"syscall", B(0x0f, 0x05), RUNS_OUTSIDE(SYSCALL)},
	{"sysenter", B(0x0f, 0x34), RUNS_OUTSIDE(SYSCALL)},
	{"int 0x80", B(0xcd, 0x80), RUNS_OUTSIDE(SYSCALL)},
	{"int 3", B(0xcd, 3), RUNS_OUTSIDE(PLAIN)},
	{"int3", B(0xcc), RUNS_OUTSIDE(PLAIN)},
	{"int1", B(0xf1), RUNS_OUTSIDE(PLAIN)},
	{"ud2", B(0x0f, 0x0b), RUNS_OUTSIDE(PLAIN)},
	{"hlt", B(0xf4), RUNS_OUTSIDE(PLAIN)},
	{"in al,dx", B(0xec), RUNS_OUTSIDE(PLAIN)},
	{"iretq", B(0x48, 0xcf), RUNS_OUTSIDE(IRET)},
	{"retf", B(0xcb), RUNS_OUTSIDE(RET)},
	{"jmp far [rax]", B(0xff, 0x28), RUNS_OUTSIDE(IJMP)},
	{"call far [rax]", B(0xff, 0x18), RUNS_OUTSIDE(ICALL)},
	{"popf", B(0x9d), RUNS_OUTSIDE(PLAIN)},
	{"enter 16,1", B(0xc8, 16, 0, 1), RUNS_OUTSIDE(PLAIN)},
	{"enter 16,31 with 66", B(0x66, 0xc8, 16, 0, 31), RUNS_OUTSIDE(PLAIN)},
	{"cli", B(0xfa), RUNS_OUTSIDE(PLAIN)},
	{"mov ss,eax", B(0x8e, 0xd0), RUNS_OUTSIDE(PLAIN)},
	{"mov eax,ss", B(0x8c, 0xd0), INSIDE(0, 0, R(RAX))},
	{"pop gs", B(0x0f, 0xa9), RUNS_OUTSIDE(PLAIN)},
	{"lgs rax,[rax]", B(0x0f, 0xb5, 0), RUNS_OUTSIDE(PLAIN)},
	{"rdgsbase rax", B(0xf3, 0x48, 0x0f, 0xae, 0xc8), RUNS_OUTSIDE(PLAIN)},
	{"wrgsbase rax", B(0xf3, 0x48, 0x0f, 0xae, 0xd8), RUNS_OUTSIDE(PLAIN)},
	{"swapgs", B(0x0f, 0x01, 0xf8), RUNS_OUTSIDE(PLAIN)},
	{"xbegin", B(0xc7, 0xf8, 0, 0, 0, 0), RUNS_OUTSIDE(PLAIN)},
	{"lock ret", B(0xf0, 0xc3), RUNS_OUTSIDE(RET)},
	{"loopne with f3", B(0xf3, 0xe0, 1), RUNS_OUTSIDE(LOOP)},
	{"loop with f3", B(0xf3, 0xe2, 1), BT_INSN_LOOP, 0, 0, 0, R(RCX)},
	{"lock jne", B(0xf0, 0x75, 1), RUNS_OUTSIDE(JCC)},
	{"lock lea rax,[rip]", B(0xf0, 0x48, 0x8d, 0x05, 0, 0, 0, 0), BT_INSN_PLAIN,
	 X86_OUTSIDE | X86_RIP_RELATIVE, ALL, 0, 0xffff},
	{"lock xor eax,eax", B(0xf0, 0x31, 0xc0), RUNS_OUTSIDE(PLAIN)},
	{"lock cmp [rax],eax", B(0xf0, 0x39, 0), RUNS_OUTSIDE(PLAIN)},
	{"lock add eax,[rax]", B(0xf0, 0x03, 0), RUNS_OUTSIDE(PLAIN)},
	{"lock bt [rax],eax", B(0xf0, 0x0f, 0xa3, 0), RUNS_OUTSIDE(PLAIN)},
	{"lock cpuid", B(0xf0, 0x0f, 0xa2), RUNS_OUTSIDE(PLAIN)},
	{"vmcall", B(0x0f, 0x01, 0xc1), RUNS_OUTSIDE(PLAIN)},
	{"enclu", B(0x0f, 0x01, 0xd7), RUNS_OUTSIDE(PLAIN)},
	{"lea rax,[eip+0]", B(0x67, 0x48, 0x8d, 0x05, 0, 0, 0, 0), BT_INSN_PLAIN,
	 X86_OUTSIDE | X86_RIP_RELATIVE | X86_ADDRESS32, ALL, 0, 0xffff},
};

static void known_instructions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		struct x86_insn x;
		int rc = x86_decode(r->bytes, r->len, &x);

		if (rc || x.len != r->len || x.class != r->class || x.traits != r->traits ||
		    x.flags_read != r->reads || x.flags_written != r->writes || x.regs != r->regs) {
			show(r->text, &x);
			fail_msg("%s: rc %d", r->text, rc);
		}
	}
}

/* Not a byte behind the end is looked at: the copies are as long as what is given. */
static void cut_instructions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (uint8_t n = 0; n < rows[i].len; n++) {
			uint8_t *copy = test_malloc(n + !n);
			struct x86_insn x;
			int rc;

			memcpy(copy, rows[i].bytes, n);
			memset(&x, 0xff, sizeof x);
			rc = x86_decode(copy, n, &x);
			if (rc != -BT_E_TRUNCATED || x.len || x.regs)
				fail_msg("%s cut to %u: rc %d, length %u", rows[i].text, n, rc,
					 x.len);
			test_free(copy);
		}
}

static void what_is_none(void **state)
{
	static const uint8_t push_es[CODE] = {0x06}, vex_with_66[CODE] = {0x66, 0xc5, 0xf8, 0x77};
	static const uint8_t too_long[CODE] = {[0 ... 12] = 0x66, 0x05};
	uint8_t prefixes[CODE];
	struct x86_insn x;

	(void)state;
	memset(prefixes, 0x66, sizeof prefixes);
	assert_int_equal(x86_decode(push_es, CODE, &x), -BT_E_CORRUPT);
	assert_int_equal(x86_decode(vex_with_66, CODE, &x), -BT_E_CORRUPT);
	assert_int_equal(x86_decode(too_long, CODE, &x), -BT_E_CORRUPT);
	assert_int_equal(x86_decode(too_long, 15, &x), -BT_E_CORRUPT);
	assert_int_equal(x86_decode(too_long, 14, &x), -BT_E_TRUNCATED);
	assert_int_equal(x86_decode(prefixes, CODE, &x), -BT_E_CORRUPT);
	assert_int_equal(x86_decode(prefixes, 15, &x), -BT_E_CORRUPT);
	assert_int_equal(x86_decode(prefixes, 14, &x), -BT_E_TRUNCATED);
	assert_int_equal(x.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_instructions),
		cmocka_unit_test(cut_instructions),
		cmocka_unit_test(what_is_none),
		cmocka_unit_test(every_legacy_opcode),
		cmocka_unit_test(every_vex_opcode),
		cmocka_unit_test(every_evex_opcode),
		cmocka_unit_test(all_code_of_this_process),
		cmocka_unit_test(all_code_of_large_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
