/* SPDX-License-Identifier: MIT */
#include "collector/processor.h"

#include <cpuid.h>
#include <string.h>

/* Each is asked for once, and nothing of the compiler's that asks for all of them when a program starts: under a hypervisor CPUID traps,
 * and takes as long as tens of system calls (Intel SDM volume 3, "Instructions That Cause VM Exits Unconditionally"). */
enum {
	LEAF_VENDOR = 0,
	LEAF_FAMILY = 1,
	LEAF_FEATURES = 7,
	FAMILY_ZEN3 = 0x19,
	XCR0_AVX512 = 0xe6, /* the states that a system must have enabled: XMM, YMM, opmask, both parts of ZMM (volume 1, 15.2) */
};
#define LEAF_EXTENDED 0x80000000u
#define LEAF_EXTENDED_FEATURES 0x80000001u

struct leaf {
	unsigned eax, ebx, ecx, edx;
};

static struct leaf ask(unsigned number)
{
	struct leaf l;

	__cpuid_count(number, 0, l.eax, l.ebx, l.ecx, l.edx);
	return l;
}

/* AMD's, and those of its licensee, have it in microcode, some hundred cycles of it, before Zen 3 (Software Optimization Guide for AMD
 * Family 17h Processors; the Guide for Family 19h has it at three cycles). */
static bool has_fast_pext(const struct leaf *vendor, const struct leaf *family)
{
	char name[12];

	memcpy(name, &vendor->ebx, 4);
	memcpy(name + 4, &vendor->edx, 4);
	memcpy(name + 8, &vendor->ecx, 4);
	if (!memcmp(name, "GenuineIntel", sizeof name))
		return true;
	return !memcmp(name, "AuthenticAMD", sizeof name) && (family->eax >> 8 & 15) + (family->eax >> 20 & 255) >= FAMILY_ZEN3;
}

static bool has_avx512_states(const struct leaf *family)
{
	unsigned low, high;

	if (!(family->ecx & bit_OSXSAVE))
		return false;
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (low & XCR0_AVX512) == XCR0_AVX512;
}

struct processor processor_probe(void)
{
	struct leaf vendor = ask(LEAF_VENDOR), family = ask(LEAF_FAMILY), features = {0}, extended = {0};
	struct processor p;

	if (vendor.eax >= LEAF_FEATURES)
		features = ask(LEAF_FEATURES);
	if (ask(LEAF_EXTENDED).eax >= LEAF_EXTENDED_FEATURES)
		extended = ask(LEAF_EXTENDED_FEATURES);
	p.rorx = features.ebx & bit_BMI2;
	p.fast_pext = p.rorx && has_fast_pext(&vendor, &family);
	p.lzcnt = extended.ecx & bit_LZCNT; /* of Intel's, too */
	p.vector_lzcnt = features.ebx & bit_AVX512F && features.ebx & bit_AVX512CD && has_avx512_states(&family);
	return p;
}
