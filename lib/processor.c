/* SPDX-License-Identifier: MIT */
#include "lib/processor.h"

#include <cpuid.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

/* Each is asked for once, and nothing of the compiler's that asks for all of them when a program
 * starts: under a hypervisor CPUID traps, and takes as long as tens of system calls (Intel SDM
 * volume 3, "Instructions That Cause VM Exits Unconditionally"). glibc asks for some thirty, for
 * most of them again and again, in each program. */
enum {
	LEAF_VENDOR = 0,
	LEAF_FAMILY = 1,
	LEAF_DESCRIPTORS = 2,
	LEAF_CACHES = 4,
	LEAF_FEATURES = 7,
	LEAF_STATES = 0xd,
	LEAF_TRACE = 0x14,
	LEAF_KEY_LOCKER = 0x19,
	FAMILY_ZEN = 0x17,
	FAMILY_ZEN3 = 0x19,
	XCR0_AVX = 6, /* the states that a system must have enabled: XMM, YMM (volume 1, 14.3) */
	XCR0_AVX512 = 0xe6, /* those, opmask, both parts of ZMM (volume 1, 15.2) */
	CACHES_MOST = 8,
	AMD_OWN_CACHES = 3, /* a core's own: dies may differ in their third level (Ryzen 7950X3D) */
	CACHE_TYPE = 0x1f,  /* in eax; 0: no more caches */
	STATES_MOST = 10,
	XBEGIN_LEN = 6,
	XEND_LEN = 3,
	UMIP = 1 << 2,    /* of leaf 7, ecx */
	HYBRID = 1 << 15, /* of leaf 7, edx: cores of more than one kind (volume 2, CPUID) */
};
#define LEAF_EXTENDED          0x80000000u
#define LEAF_EXTENDED_FEATURES 0x80000001u
#define LEAF_NAME                                                                                \
	0x80000002u /* the first of three (volume 2, CPUID, "The Processor Brand String Method") \
		     */
#define LEAF_NAME_END       0x80000005u
#define LEAF_AMD_LEVEL1     0x80000005u
#define LEAF_POWER          0x80000007u
#define LEAF_SIZES          0x80000008u
#define LEAF_AMD_PROPERTIES 0x8000001du
#define LEAF_AMD_TOPOLOGY   0x80000026u
#define AMD_DIFFERENT                                                                          \
	0xc0000000u /* of that one, eax: asymmetric, or cores of more than one kind (AMD64 APM \
		       volume 3, CPUID Fn8000_0026) */
#define ANY_SUBLEAF UINT32_MAX

enum vendor { VENDOR_OTHER, VENDOR_INTEL, VENDOR_AMD };

static struct processor_leaf ask_leaf(uint32_t leaf, uint32_t subleaf)
{
	struct processor_leaf l = {.leaf = leaf};

	if (subleaf != ANY_SUBLEAF) {
		l.subleaf = subleaf;
		l.subleaf_mask = UINT32_MAX;
	}
	__cpuid_count(leaf, l.subleaf, l.eax, l.ebx, l.ecx, l.edx);
	return l;
}

/* Keeps a leaf if there is room. */
static struct processor_leaf learn_leaf(struct processor *p, uint32_t leaf, uint32_t subleaf)
{
	struct processor_leaf l = ask_leaf(leaf, subleaf);

	if (p->leaf_count < PROCESSOR_LEAVES)
		p->leaves[p->leaf_count++] = l;
	return l;
}

static enum vendor vendor_of(const struct processor_leaf *l)
{
	char name[12];

	memcpy(name, &l->ebx, 4);
	memcpy(name + 4, &l->edx, 4);
	memcpy(name + 8, &l->ecx, 4);
	if (!memcmp(name, "GenuineIntel", sizeof name))
		return VENDOR_INTEL;
	return memcmp(name, "AuthenticAMD", sizeof name) ? VENDOR_OTHER : VENDOR_AMD;
}

/* Before Zen 3, processors of AMD and its licensee have it in microcode of some hundred cycles
 * (Software Optimization Guide for AMD Family 17h Processors; the Guide for Family 19h has it at
 * three cycles). */
static bool has_fast_pext(enum vendor vendor, uint32_t family)
{
	return vendor == VENDOR_INTEL || (vendor == VENDOR_AMD && family >= FAMILY_ZEN3);
}

static uint32_t family_of(const struct processor_leaf *l)
{
	return (l->eax >> 8 & 15) + (l->eax >> 20 & 255);
}

static bool has_states(const struct processor_leaf *family, unsigned states)
{
	unsigned low, high;

	if (!(family->ecx & bit_OSXSAVE))
		return false;
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (low & states) == states;
}

/* The first caches, or down to the one that is none. */
static void learn_caches(struct processor *p, uint32_t leaf, uint32_t most)
{
	for (uint32_t i = 0; i < most && learn_leaf(p, leaf, i).eax & CACHE_TYPE; i++)
		;
}

/* The offsets and sizes of the states in XSAVE's area. */
static void learn_states(struct processor *p)
{
	uint32_t states = learn_leaf(p, LEAF_STATES, 0).eax;

	states |= learn_leaf(p, LEAF_STATES, 1).ecx;
	for (uint32_t i = 2; i < STATES_MOST; i++)
		if (states >> i & 1)
			learn_leaf(p, LEAF_STATES, i);
}

/* Leaves that programs read at their start, without those that differ between processors: processor
 * numbers (1, 0xb, 0x1f, 0x8000001e) and the caches of a die (0x80000006). */
static void learn_others(struct processor *p, enum vendor vendor, uint32_t last,
			 uint32_t last_extended)
{
	if (last >= LEAF_STATES)
		learn_states(p);
	if (last >= LEAF_TRACE)
		learn_leaf(p, LEAF_TRACE, 0);
	if (last >= LEAF_KEY_LOCKER)
		learn_leaf(p, LEAF_KEY_LOCKER, 0);
	if (last_extended >= LEAF_POWER)
		learn_leaf(p, LEAF_POWER, ANY_SUBLEAF);
	if (last_extended >= LEAF_SIZES)
		learn_leaf(p, LEAF_SIZES, ANY_SUBLEAF);
	if (vendor == VENDOR_INTEL && last >= LEAF_CACHES) {
		learn_leaf(p, LEAF_DESCRIPTORS, ANY_SUBLEAF);
		learn_caches(p, LEAF_CACHES, CACHES_MOST);
	} else if (vendor == VENDOR_AMD && last_extended >= LEAF_AMD_LEVEL1) {
		learn_leaf(p, LEAF_AMD_LEVEL1, ANY_SUBLEAF);
		if (last_extended >= LEAF_AMD_PROPERTIES)
			learn_caches(p, LEAF_AMD_PROPERTIES, AMD_OWN_CACHES);
	}
}

/* Whether its cores are of one kind, as far as can be known. */
static bool is_uniform(enum vendor vendor, const struct processor_leaf *features,
		       uint32_t last_extended)
{
	if (vendor == VENDOR_INTEL)
		return !(features->edx & HYBRID);
	return vendor == VENDOR_AMD && (last_extended < LEAF_AMD_TOPOLOGY ||
					!(ask_leaf(LEAF_AMD_TOPOLOGY, 0).eax & AMD_DIFFERENT));
}

struct processor processor_probe(void)
{
	struct processor p = {0};
	struct processor_leaf first = learn_leaf(&p, LEAF_VENDOR, ANY_SUBLEAF),
			      family = ask_leaf(LEAF_FAMILY, 0), features = {0}, extended = {0};
	uint32_t last_extended = learn_leaf(&p, LEAF_EXTENDED, ANY_SUBLEAF).eax;
	enum vendor vendor = vendor_of(&first);

	if (first.eax >= LEAF_FEATURES && (features = learn_leaf(&p, LEAF_FEATURES, 0)).eax)
		learn_leaf(&p, LEAF_FEATURES, 1);
	if (last_extended >= LEAF_EXTENDED_FEATURES)
		extended = learn_leaf(&p, LEAF_EXTENDED_FEATURES, ANY_SUBLEAF);
	p.rorx = features.ebx & bit_BMI2;
	p.fast_pext = p.rorx && has_fast_pext(vendor, family_of(&family));
	p.fast_loop = vendor == VENDOR_AMD &&
		      family_of(&family) >=
			      FAMILY_ZEN;   /* one operation (the same Guides); others' are many */
	p.lzcnt = extended.ecx & bit_LZCNT; /* of Intel's, too */
	p.avx2 = features.ebx & bit_AVX2 && has_states(&family, XCR0_AVX);
	p.vector_lzcnt = features.ebx & bit_AVX512F && features.ebx & bit_AVX512CD &&
			 has_states(&family, XCR0_AVX512);
	if (is_uniform(vendor, &features, last_extended))
		learn_others(&p, vendor, first.eax, last_extended);
	else
		p.leaf_count = 0;
	return p;
}

bool processor_has_umip(void)
{
	return ask_leaf(LEAF_VENDOR, ANY_SUBLEAF).eax >= LEAF_FEATURES &&
	       ask_leaf(LEAF_FEATURES, 0).ecx & UMIP;
}

/* xbegin was an illegal instruction: on behind it, and behind xend. */
static void skip_transaction(int signo, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)signo;
	(void)info;
	u->uc_mcontext.gregs[REG_RIP] += XBEGIN_LEN + XEND_LEN;
	u->uc_mcontext.gregs[REG_RDX] = 0;
}

bool processor_has_transactions(void)
{
	const struct sigaction skip = {.sa_sigaction = skip_transaction, .sa_flags = SA_SIGINFO};
	struct sigaction was;
	sigset_t mask, illegal;
	unsigned has = 1;

	sigemptyset(&illegal);
	sigaddset(&illegal, SIGILL);
	if (sigaction(SIGILL, &skip, &was))
		return false;
	sigprocmask(SIG_UNBLOCK, &illegal, &mask);
	__asm__ volatile("xbegin 1f; xend; 1:" : "+d"(has)::"rax", "memory");
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(SIGILL, &was, NULL);
	return has;
}

void processor_name(char name[PROCESSOR_NAME])
{
	bool known = ask_leaf(LEAF_EXTENDED, ANY_SUBLEAF).eax >= LEAF_NAME_END - 1;
	size_t skipped, n;

	memset(name, 0, PROCESSOR_NAME);
	for (uint32_t leaf = LEAF_NAME; known && leaf < LEAF_NAME_END; leaf++) {
		struct processor_leaf l = ask_leaf(leaf, ANY_SUBLEAF);
		const uint32_t part[4] = {l.eax, l.ebx, l.ecx, l.edx};

		memcpy(name + (leaf - LEAF_NAME) * sizeof part, part, sizeof part);
	}
	skipped = strspn(name, " "); /* Intel's older ones are set to the right */
	memmove(name, name + skipped, PROCESSOR_NAME - skipped);
	for (n = strlen(name); n && name[n - 1] == ' '; n--)
		name[n - 1] = '\0';
	if (!*name)
		strcpy(name, "unknown");
}
