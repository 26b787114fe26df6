/* SPDX-License-Identifier: MIT */
#include "collector/engine/record_copy.h"

#include <immintrin.h>

enum {
	VECTOR = 4, /* records in one */
};

/* In each of its callers, with the instructions that they may use. The copy is made through registers: each record is read once. */
static inline __attribute__((always_inline)) struct record_sums copy(struct branch_log_record *to, const struct branch_log_record *from, size_t n)
{
	const volatile struct branch_log_record *shared = from;
	struct record_sums sums = {0};
	uint64_t bad = 0;

	for (size_t i = 0; i < n; i++) {
		struct branch_log_record r = {.bits = branch_log_bits(shared[i].bits), .to = shared[i].to};

		to[i] = r;
		sums.ticks += (uint64_t)__builtin_clzll(r.bits | 1) ^ 63;
		sums.arrivals += r.kind <= BRANCH_LOG_LOOP; /* and INDIRECT */
		bad |= (uint64_t)branch_log_bits_are_wrong(r.bits) | (r.kind > BRANCH_LOG_MISS);
	}
	sums.bad = bad;
	return sums;
}

struct record_sums record_copy_by_bsr(struct branch_log_record *to, const struct branch_log_record *from, size_t n) { return copy(to, from, n); }

/* BSR takes four cycles where LZCNT takes one (AMD). */
__attribute__((target("lzcnt"))) struct record_sums record_copy_by_lzcnt(struct branch_log_record *to, const struct branch_log_record *from, size_t n)
{
	return copy(to, from, n);
}

/* Of a record the even lane holds the bits, the odd one what comes with them. */
__attribute__((target("avx512f,avx512cd"))) struct record_sums record_copy_by_vector(struct branch_log_record *to, const struct branch_log_record *from, size_t n)
{
	const __mmask8 even = 0x55, odd = 0xaa;
	const __m512i kind_end = _mm512_set1_epi64((int64_t)(BRANCH_LOG_MISS + 1ull) << 32), one = _mm512_set1_epi64(1);
	const __m512i arrivals_end = _mm512_set1_epi64((int64_t)(BRANCH_LOG_LOOP + 1ull) << 32);
	const __m512i none = _mm512_setzero_si512(), complement = _mm512_maskz_set1_epi64(even, -1);
	__m512i zeros = _mm512_setzero_si512(), arrivals = _mm512_setzero_si512();
	size_t vectors = n / VECTOR;
	struct record_sums sums;
	unsigned bad = 0;

	for (size_t i = 0; i < vectors; i++) {
		__m512i v = _mm512_xor_si512(_mm512_loadu_si512(from + i * VECTOR), complement);

		_mm512_storeu_si512(to + i * VECTOR, v);
		zeros = _mm512_add_epi64(zeros, _mm512_lzcnt_epi64(v));
		arrivals = _mm512_mask_add_epi64(arrivals, _mm512_cmplt_epu64_mask(v, arrivals_end), arrivals, one);
		bad |= _mm512_mask_cmple_epi64_mask(even, v, none) | _mm512_mask_cmpge_epu64_mask(odd, v, kind_end);
	}
	sums = copy(to + vectors * VECTOR, from + vectors * VECTOR, n % VECTOR);
	sums.ticks += 63 * (uint64_t)(vectors * VECTOR) - (uint64_t)_mm512_mask_reduce_add_epi64(even, zeros);
	sums.arrivals += (uint64_t)_mm512_mask_reduce_add_epi64(odd, arrivals);
	sums.bad |= bad != 0;
	return sums;
}

record_copy_fn *record_copy_best(const struct processor *p)
{
	if (p->vector_lzcnt)
		return record_copy_by_vector;
	return p->lzcnt ? record_copy_by_lzcnt : record_copy_by_bsr;
}
