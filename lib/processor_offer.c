/* SPDX-License-Identifier: MIT */
#include "lib/processor_offer.h"

#include <cpuid.h>
#include <stdio.h>
#include <string.h>

#include "lib/array_size.h"

enum {
	LEAF_MAKER = 0,
	LEAF_FAMILY = 1,
	LEAF_FEATURES = 7,
	LEAF_STATES = 0xd,
	STATES = 32, /* in the subleaves of that one, from 2 on (Intel SDM volume 1, 13.2) */
	ANY = 0,
};
#define LEAF_EXTENDED          0x80000000u
#define LEAF_EXTENDED_FEATURES 0x80000001u
#define LEAF_SIZES             0x80000008u

/* ---- Asking ---- */

static struct processor_leaf ask_leaf(uint32_t leaf, uint32_t subleaf)
{
	struct processor_leaf l = {.leaf = leaf, .subleaf = subleaf, .subleaf_mask = UINT32_MAX};

	__cpuid_count(leaf, subleaf, l.eax, l.ebx, l.ecx, l.edx);
	return l;
}

static struct processor_leaf keep_leaf(struct processor_offer *o, struct processor_leaf l)
{
	if (o->count < PROCESSOR_OFFERED)
		o->leaves[o->count++] = l;
	return l;
}

static uint64_t enabled_states(void)
{
	uint32_t low, high;

	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (uint64_t)high << 32 | low;
}

void processor_offer_read(struct processor_offer *o)
{
	uint32_t last, last_extended;
	struct processor_leaf family;

	*o = (struct processor_offer){0};
	last = keep_leaf(o, ask_leaf(LEAF_MAKER, 0)).eax;
	last_extended = ask_leaf(LEAF_EXTENDED, 0).eax;
	family = ask_leaf(LEAF_FAMILY, 0);
	family.ebx = 0; /* the processor's number */
	keep_leaf(o, family);
	if (family.ecx & bit_OSXSAVE)
		o->xcr0 = enabled_states();
	if (last >= LEAF_FEATURES && keep_leaf(o, ask_leaf(LEAF_FEATURES, 0)).eax)
		keep_leaf(o, ask_leaf(LEAF_FEATURES, 1));
	if (last_extended >= LEAF_EXTENDED_FEATURES)
		keep_leaf(o, ask_leaf(LEAF_EXTENDED_FEATURES, 0));
	if (last_extended >= LEAF_SIZES)
		keep_leaf(o, ask_leaf(LEAF_SIZES, 0));
	for (uint32_t i = 0; last >= LEAF_STATES && i < STATES; i++)
		if (i < 2 || o->xcr0 >> i & 1)
			keep_leaf(o, ask_leaf(LEAF_STATES, i));
}

static const struct processor_leaf *find_leaf(const struct processor_offer *o, uint32_t leaf,
					      uint32_t subleaf)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->leaves[i].leaf == leaf && o->leaves[i].subleaf == subleaf)
			return &o->leaves[i];
	return NULL;
}

void processor_offer_maker(const struct processor_offer *o, char maker[PROCESSOR_MAKER])
{
	const struct processor_leaf *l = find_leaf(o, LEAF_MAKER, 0);

	memset(maker, 0, PROCESSOR_MAKER);
	if (!l)
		return;
	memcpy(maker, &l->ebx, 4);
	memcpy(maker + 4, &l->edx, 4);
	memcpy(maker + 8, &l->ecx, 4);
	for (char *c = maker; c < maker + PROCESSOR_MAKER - 1; c++)
		if (!((*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z')))
			*c = '?';
}

/* ---- Features ---- */

enum feature_register { EAX, EBX, ECX, EDX };

/* The states that instructions need (Intel SDM volume 1, chapter 13). */
#define AVX    0x6u
#define AVX512 0xe6u
#define AMX    0x60000u

/* Those that instructions of programs need, by the names in Linux'
 * arch/x86/include/asm/cpufeatures.h. Without what is on every 64-bit processor; without hints,
 * which do nothing where they are missing; without what only the kernel uses; and without what AMD
 * alone has and no compiler uses unless it is told to (sse4a, misalignsse, clzero, rdpru). */
static const struct feature {
	const char *name;
	uint32_t leaf, subleaf;
	enum feature_register where;
	uint8_t bit;
	uint32_t states;
} features[] = {
	{"pni", 1, 0, ECX, 0, ANY},
	{"pclmulqdq", 1, 0, ECX, 1, ANY},
	{"ssse3", 1, 0, ECX, 9, ANY},
	{"fma", 1, 0, ECX, 12, AVX},
	{"cx16", 1, 0, ECX, 13, ANY},
	{"sse4_1", 1, 0, ECX, 19, ANY},
	{"sse4_2", 1, 0, ECX, 20, ANY},
	{"movbe", 1, 0, ECX, 22, ANY},
	{"popcnt", 1, 0, ECX, 23, ANY},
	{"aes", 1, 0, ECX, 25, ANY},
	{"xsave", 1, 0, ECX, 27, ANY}, /* OSXSAVE: and the system lets it be used */
	{"avx", 1, 0, ECX, 28, AVX},
	{"f16c", 1, 0, ECX, 29, AVX},
	{"rdrand", 1, 0, ECX, 30, ANY},
	{"bmi1", 7, 0, EBX, 3, ANY},
	{"hle", 7, 0, EBX, 4, ANY},
	{"avx2", 7, 0, EBX, 5, AVX},
	{"bmi2", 7, 0, EBX, 8, ANY},
	{"rtm", 7, 0, EBX, 11, ANY},
	{"avx512f", 7, 0, EBX, 16, AVX512},
	{"avx512dq", 7, 0, EBX, 17, AVX512},
	{"rdseed", 7, 0, EBX, 18, ANY},
	{"adx", 7, 0, EBX, 19, ANY},
	{"avx512ifma", 7, 0, EBX, 21, AVX512},
	{"clflushopt", 7, 0, EBX, 23, ANY},
	{"clwb", 7, 0, EBX, 24, ANY},
	{"avx512pf", 7, 0, EBX, 26, AVX512},
	{"avx512er", 7, 0, EBX, 27, AVX512},
	{"avx512cd", 7, 0, EBX, 28, AVX512},
	{"sha_ni", 7, 0, EBX, 29, ANY},
	{"avx512bw", 7, 0, EBX, 30, AVX512},
	{"avx512vl", 7, 0, EBX, 31, AVX512},
	{"avx512vbmi", 7, 0, ECX, 1, AVX512},
	{"ospke", 7, 0, ECX, 4, ANY},
	{"waitpkg", 7, 0, ECX, 5, ANY},
	{"avx512_vbmi2", 7, 0, ECX, 6, AVX512},
	{"gfni", 7, 0, ECX, 8, ANY},
	{"vaes", 7, 0, ECX, 9, AVX},
	{"vpclmulqdq", 7, 0, ECX, 10, AVX},
	{"avx512_vnni", 7, 0, ECX, 11, AVX512},
	{"avx512_bitalg", 7, 0, ECX, 12, AVX512},
	{"avx512_vpopcntdq", 7, 0, ECX, 14, AVX512},
	{"rdpid", 7, 0, ECX, 22, ANY},
	{"movdiri", 7, 0, ECX, 27, ANY},
	{"movdir64b", 7, 0, ECX, 28, ANY},
	{"avx512_4vnniw", 7, 0, EDX, 2, AVX512},
	{"avx512_4fmaps", 7, 0, EDX, 3, AVX512},
	{"avx512_vp2intersect", 7, 0, EDX, 8, AVX512},
	{"serialize", 7, 0, EDX, 14, ANY},
	{"amx_bf16", 7, 0, EDX, 22, AMX},
	{"avx512_fp16", 7, 0, EDX, 23, AVX512},
	{"amx_tile", 7, 0, EDX, 24, AMX},
	{"amx_int8", 7, 0, EDX, 25, AMX},
	{"sha512", 7, 1, EAX, 0, AVX},
	{"sm3", 7, 1, EAX, 1, AVX},
	{"sm4", 7, 1, EAX, 2, AVX},
	{"avx_vnni", 7, 1, EAX, 4, AVX},
	{"avx512_bf16", 7, 1, EAX, 5, AVX512},
	{"cmpccxadd", 7, 1, EAX, 7, ANY},
	{"amx_fp16", 7, 1, EAX, 21, AMX},
	{"avx_ifma", 7, 1, EAX, 23, AVX},
	{"avx_vnni_int8", 7, 1, EDX, 4, AVX},
	{"avx_ne_convert", 7, 1, EDX, 5, AVX},
	{"amx_complex", 7, 1, EDX, 8, AMX},
	{"avx_vnni_int16", 7, 1, EDX, 10, AVX},
	{"xsaveopt", 0xd, 1, EAX, 0, ANY},
	{"xsavec", 0xd, 1, EAX, 1, ANY},
	{"xgetbv1", 0xd, 1, EAX, 2, ANY},
	{"lahf_lm", LEAF_EXTENDED_FEATURES, 0, ECX, 0, ANY},
	{"abm", LEAF_EXTENDED_FEATURES, 0, ECX, 5, ANY},
	{"xop", LEAF_EXTENDED_FEATURES, 0, ECX, 11, AVX},
	{"fma4", LEAF_EXTENDED_FEATURES, 0, ECX, 16, AVX},
	{"tbm", LEAF_EXTENDED_FEATURES, 0, ECX, 21, ANY},
	{"rdtscp", LEAF_EXTENDED_FEATURES, 0, EDX, 27, ANY},
	{"3dnowext", LEAF_EXTENDED_FEATURES, 0, EDX, 30, ANY},
	{"3dnow", LEAF_EXTENDED_FEATURES, 0, EDX, 31, ANY},
};

static bool has_feature(const struct processor_offer *o, const struct feature *f)
{
	const struct processor_leaf *l = find_leaf(o, f->leaf, f->subleaf);
	const uint32_t registers[] = {l ? l->eax : 0, l ? l->ebx : 0, l ? l->ecx : 0,
				      l ? l->edx : 0};

	return registers[f->where] >> f->bit & 1 && (o->xcr0 & f->states) == f->states;
}

size_t processor_offer_missing(const struct processor_offer *had, const struct processor_offer *now,
			       char *text, size_t size)
{
	size_t missing = 0, len = 0;

	*text = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		const struct feature *f = &features[i];

		if (!has_feature(had, f) || has_feature(now, f))
			continue;
		if (len + strlen(f->name) + 2 <= size)
			len += (size_t)snprintf(text + len, size - len, "%s%s", missing ? " " : "",
						f->name);
		missing++;
	}
	return missing;
}
