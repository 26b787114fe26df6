/* SPDX-License-Identifier: MIT */
/* The table decoder against Zydis: every opcode of every map with many prefixes and operands, and all code of some large programs. */
#include "tests/unit/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/error.h"
#include "tests/unit/x86_oracle.h"

#define SEED 20240607u

enum {
	CODE = 32,   /* bytes of a generated instruction and what follows it */
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
		"  %s: len %u class %u traits %#x reads %#x writes %#x regs %#x map %u opcode %02x rex %02x 66 %u f2f3 %02x opcode_at %u modrm_at %u disp %u+%u "
		"imm %u+%u displacement %lld\n",
		who, x->len, x->class, x->traits, x->flags_read, x->flags_written, x->regs, x->map, x->opcode, x->rex, x->prefix_66, x->prefix_f2_f3,
		x->opcode_at, x->modrm_at, x->disp_at, x->disp_size, x->imm_at, x->imm_size, (long long)x->displacement);
}

static void mismatch(struct tally *t, const uint8_t *bytes, size_t n, const char *why, const struct x86_insn *ours, const struct x86_insn *theirs)
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

/* MPX has instructions with a general register and nops side by side. */
static bool ours_differ_in_registers(const struct x86_insn *ours, const struct x86_insn *theirs)
{
	if (ours->map == X86_MAP_0F && (ours->opcode == 0x1a || ours->opcode == 0x1b))
		return theirs->regs & ~ours->regs;
	return ours->regs != theirs->regs;
}

/* The name of the first field that differs, NULL when none does. */
static const char *difference(const struct x86_insn *a, const struct x86_insn *b)
{
#define SAME(field) \
	if (a->field != b->field) \
		return #field;
	SAME(len)
	SAME(class)
	SAME(traits)
	SAME(flags_read)
	SAME(flags_written)
	SAME(map)
	SAME(opcode)
	SAME(rex)
	SAME(prefix_66)
	SAME(prefix_f2_f3)
	SAME(opcode_at)
	SAME(modrm_at)
	SAME(disp_at)
	SAME(disp_size)
	SAME(imm_at)
	SAME(imm_size)
	SAME(displacement)
#undef SAME
	if (ours_differ_in_registers(a, b))
		return "regs";
	return NULL;
}

/* Compares; returns the instruction's length, 0 when Zydis knows none. What Zydis calls invalid may run outside, or be taken for a valid
 * form of the same opcode. */
static unsigned compare(struct tally *t, const uint8_t *bytes, size_t n, bool *ours_valid)
{
	struct x86_insn ours, theirs;
	int rc = x86_decode(bytes, n, &ours), oracle_rc = x86_oracle(bytes, n, &theirs);
	const char *why;

	t->compared++;
	*ours_valid = !rc;
	if (oracle_rc) {
		*ours_valid = !rc && !(ours.traits & X86_OUTSIDE);
		if (rc && rc != oracle_rc)
			mismatch(t, bytes, n, "another error", &ours, &theirs);
		return 0;
	}
	why = rc ? "not decoded" : difference(&ours, &theirs);
	if (why)
		mismatch(t, bytes, n, why, &ours, &theirs);
	return theirs.len;
}

static uint8_t random_byte(struct tally *t)
{
	return (uint8_t)(unit_random(&t->random) >> 32);
}

static void check_key(struct tally *t, const struct key *k, const uint8_t *bytes)
{
	size_t key = ((((k->encoding * 8u + k->map) * 4 + k->pp) * 256 + k->opcode) * 8 + k->reg) * 2 + k->mod3;
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

static void legacy_opcode(struct tally *t, const struct prefix_set *p, unsigned map, unsigned opcode, unsigned modrm)
{
	static const uint8_t escapes[4][2] = {{0}, {0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}};
	static const uint8_t lengths[4] = {0, 1, 2, 2};
	struct key key = {LEGACY, map, p->pp, opcode, modrm >> 3 & 7, modrm >= 0xc0};
	uint8_t bytes[CODE];
	size_t at = p->n;

	if (map == X86_MAP_0F && (opcode == 0x1a || opcode == 0x1b)) /* MPX: there are four registers; and nops where there is no MPX */
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
	static const uint8_t bytes[] = {0x0f, 0x26, 0x2e, 0x36, 0x3e, 0x62, 0x64, 0x65, 0x66, 0x67, 0xc4, 0xc5, 0xf0, 0xf2, 0xf3};

	if (map == X86_MAP_0F)
		return opcode == 0x38 || opcode == 0x3a;
	return map == X86_MAP_1 && ((opcode & 0xf0) == 0x40 || memchr(bytes, (int)opcode, sizeof bytes));
}

static void legacy_opcodes(struct tally *t)
{
	for (size_t p = 0; p < sizeof prefix_sets / sizeof prefix_sets[0]; p++)
		for (unsigned map = 0; map < 4; map++)
			for (unsigned opcode = 0; opcode < 256; opcode++)
				for (unsigned modrm = 0; modrm < 256 && !is_escape(map, opcode); modrm++)
					legacy_opcode(t, &prefix_sets[p], map, opcode, modrm);
}

/* Half of them mostly well-formed: a random vvvv, mask, L is wrong for many opcodes. */
static void vector_opcode(struct tally *t, enum encoding encoding, unsigned map, unsigned pp, unsigned opcode, unsigned modrm, unsigned variant)
{
	struct key key = {encoding, map, pp, opcode, 0, 0};
	uint8_t bytes[CODE], r = random_byte(t), rxb = variant & 1 ? 0xe0 : r & 0xe0, vvvv = variant & 2 ? 0x78 : random_byte(t) & 0x78;
	size_t at = 0;

	if (encoding == EVEX) {
		bytes[at++] = 0x62;
		bytes[at++] = (uint8_t)(rxb | 0x10 | map);
		bytes[at++] = (uint8_t)((r & 1 ? 0x80 : 0) | vvvv | 4 | pp);
		bytes[at++] = variant & 4 ? (uint8_t)((r & 6) << 4 | 8 | (r >> 3 & 1)) : random_byte(t);
	} else if (map == 1 && variant % 4 == 3) {
		bytes[at++] = 0xc5;
		bytes[at++] = (uint8_t)((r & 0x80) | vvvv | (r & 4) | pp);
	} else {
		bytes[at++] = 0xc4;
		bytes[at++] = (uint8_t)(rxb | map);
		bytes[at++] = (uint8_t)((r & 1 ? 0x80 : 0) | vvvv | (r & 4) | pp);
	}
	bytes[at++] = (uint8_t)opcode;
	bytes[at++] = (uint8_t)modrm;
	fill(t, bytes, at);
	check_key(t, &key, bytes);
}

static void vector_opcodes(struct tally *t, enum encoding encoding)
{
	for (unsigned map = 0; map < 8; map++)
		for (unsigned pp = 0; pp < 4; pp++)
			for (unsigned opcode = 0; opcode < 256; opcode++)
				for (unsigned i = 0; i < 2 * 256; i++)
					vector_opcode(t, encoding, map, pp, opcode, i % 256, i < 256 ? 7 : random_byte(t));
}

static void neighbours_only(struct tally *t)
{
	for (size_t key = 0; key < KEYS; key++) {
		size_t pp_opcode = key / 16 % 1024;

		if (!t->ours[key] || t->theirs[key])
			continue;
		fprintf(stderr, "decoded inside, but invalid to Zydis in every form: encoding %zu map %zu pp %zu opcode %02zx /%zu mod3 %zu\n", key / 16 / 1024 / 8,
			key / 16 / 1024 % 8, pp_opcode / 256, pp_opcode % 256, key / 2 % 8, key % 2);
		t->mismatches++;
	}
}

static struct tally tally_new(void)
{
	struct tally t = {.random = SEED, .ours = test_calloc(KEYS, 1), .theirs = test_calloc(KEYS, 1)};

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_legacy_opcode),
		cmocka_unit_test(every_vex_opcode),
		cmocka_unit_test(every_evex_opcode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
