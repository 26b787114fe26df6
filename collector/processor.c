/* SPDX-License-Identifier: MIT */
#include "collector/processor.h"

#include <cpuid.h>
#include <string.h>

enum {
	LEAF_VENDOR = 0,
	LEAF_FAMILY = 1,
	LEAF_FEATURES = 7,
	BMI2 = 1 << 8, /* of LEAF_FEATURES, ebx */
	LZCNT = 1 << 5, /* of LEAF_EXTENDED, ecx; of Intel's, too */
	FAMILY_ZEN3 = 0x19,
};
#define LEAF_EXTENDED 0x80000001u

static bool has_bmi2(void)
{
	unsigned eax, ebx, ecx, edx;

	return __get_cpuid_count(LEAF_FEATURES, 0, &eax, &ebx, &ecx, &edx) && ebx & BMI2;
}

/* AMD's, and those of its licensee, have it in microcode, some hundred cycles of it, before Zen 3 (Software Optimization Guide for AMD
 * Family 17h Processors; the Guide for Family 19h has it at three cycles). */
static bool has_fast_pext(void)
{
	unsigned eax, ebx, ecx, edx, vendor[3];

	if (!has_bmi2() || !__get_cpuid(LEAF_VENDOR, &eax, &vendor[0], &vendor[2], &vendor[1]) || !__get_cpuid(LEAF_FAMILY, &eax, &ebx, &ecx, &edx))
		return false;
	if (!memcmp(vendor, "GenuineIntel", sizeof vendor))
		return true;
	return !memcmp(vendor, "AuthenticAMD", sizeof vendor) && (eax >> 8 & 15) + (eax >> 20 & 255) >= FAMILY_ZEN3;
}

static bool has_lzcnt(void)
{
	unsigned eax, ebx, ecx, edx;

	return __get_cpuid(LEAF_EXTENDED, &eax, &ebx, &ecx, &edx) && ecx & LZCNT;
}

static bool has_vector_lzcnt(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd");
}

struct processor processor_probe(void)
{
	return (struct processor){.fast_pext = has_fast_pext(), .rorx = has_bmi2(), .lzcnt = has_lzcnt(), .vector_lzcnt = has_vector_lzcnt()};
}
