/* SPDX-License-Identifier: MIT */
#include "collector/history/record_copy.h"

#include <immintrin.h>

enum {
	VECTOR = 4, /* records in one */
	PAIR = 2,   /* in one of AVX2's */
};
#define KIND_END     ((int64_t)(BRANCH_LOG_MISS + 1ull) << 32)
#define ARRIVALS_END ((int64_t)(BRANCH_LOG_LOOP + 1ull) << 32)

/* Most records are never looked at again: past the processor's caches, `past`, they take no room
 * there from the program. The last ones are, at once. */
static inline __attribute__((always_inline)) void put_record(struct branch_log_record *to,
							     struct branch_log_record r, bool past)
{
	if (past)
		_mm_stream_si128((void *)to, _mm_set_epi64x((int64_t)r.to, (int64_t)r.bits));
	else
		*to = r;
}

static bool can_pass(const struct branch_log_record *to) { return !((uintptr_t)to % sizeof *to); }

/* In each of its callers, with the instructions that they may use. The copy is made through
 * registers: each record is read once. */
static inline __attribute__((always_inline)) struct record_sums copy_records(
	struct branch_log_record *to, const struct branch_log_record *from, size_t n, bool past)
{
	const volatile struct branch_log_record *shared = from;
	struct record_sums sums = {0};
	uint64_t bad = 0;

	for (size_t i = 0; i < n; i++) {
		struct branch_log_record r = {.bits = branch_log_bits(shared[i].bits),
					      .to = shared[i].to};

		put_record(&to[i], r, past);
		sums.ticks += (uint64_t)__builtin_clzll(r.bits | 1) ^ 63;
		sums.arrivals += r.kind <= BRANCH_LOG_LOOP; /* and INDIRECT */
		bad |= (uint64_t)branch_log_bits_are_wrong(r.bits) | (r.kind > BRANCH_LOG_MISS);
	}
	sums.bad = bad;
	return sums;
}

static struct record_sums add_sums(struct record_sums a, struct record_sums b)
{
	return (struct record_sums){a.ticks + b.ticks, a.arrivals + b.arrivals, a.bad || b.bad};
}

static inline __attribute__((always_inline)) struct record_sums copy_past(
	struct branch_log_record *to, const struct branch_log_record *from, size_t n)
{
	size_t most = n > VECTOR && can_pass(to) ? n - VECTOR : 0;

	return add_sums(copy_records(to, from, most, true),
			copy_records(to + most, from + most, n - most, false));
}

struct record_sums record_copy_by_bsr(struct branch_log_record *to,
				      const struct branch_log_record *from, size_t n)
{
	return copy_past(to, from, n);
}

/* BSR takes four cycles where LZCNT takes one (AMD). */
__attribute__((target("lzcnt"))) struct record_sums record_copy_by_lzcnt(
	struct branch_log_record *to, const struct branch_log_record *from, size_t n)
{
	return copy_past(to, from, n);
}

/* Of a record the even lane holds the bits, the odd one what comes with them. As signed numbers
 * bits that are wrong and kinds that are none are those below 0, and those that the addition brings
 * there. */
__attribute__((target("avx2,lzcnt"))) struct record_sums record_copy_by_pairs(
	struct branch_log_record *to, const struct branch_log_record *from, size_t n)
{
	const __m256i complement = _mm256_set_epi64x(0, -1, 0, -1), none = _mm256_setzero_si256();
	const __m256i kind_end =
		_mm256_set_epi64x(INT64_MAX - KIND_END + 1, -1, INT64_MAX - KIND_END + 1, -1);
	const __m256i arrivals_end = _mm256_set_epi64x(ARRIVALS_END, 0, ARRIVALS_END, 0);
	__m256i arrivals = none, bad = none;
	size_t first = (uintptr_t)to / sizeof *to % PAIR,
	       end = n > first + VECTOR && can_pass(to) ? first + (n - first - 1) / VECTOR * VECTOR
							: first;
	uint64_t zeros = 0, lanes[VECTOR];
	struct record_sums sums = {0};

	if (end == first)
		return copy_records(to, from, n, false);
	for (size_t i = first; i < end; i += PAIR) {
		__m256i v =
			_mm256_xor_si256(_mm256_loadu_si256((const void *)(from + i)), complement);

		_mm256_stream_si256((void *)(to + i), v);
		zeros += _lzcnt_u64((uint64_t)_mm256_extract_epi64(v, 0)) +
			 _lzcnt_u64((uint64_t)_mm256_extract_epi64(v, 2));
		arrivals = _mm256_sub_epi64(
			arrivals, _mm256_andnot_si256(_mm256_cmpgt_epi64(none, v),
						      _mm256_cmpgt_epi64(arrivals_end, v)));
		bad = _mm256_or_si256(bad, _mm256_or_si256(v, _mm256_add_epi64(v, kind_end)));
	}
	_mm256_storeu_si256((void *)lanes, arrivals);
	sums.ticks = 63 * (uint64_t)(end - first) - zeros;
	sums.arrivals = lanes[1] + lanes[3];
	sums.bad = _mm256_movemask_pd(_mm256_castsi256_pd(bad)) != 0;
	return add_sums(sums, add_sums(copy_records(to, from, first, false),
				       copy_records(to + end, from + end, n - end, false)));
}

/* The same lanes. */
__attribute__((target("avx512f,avx512cd"))) struct record_sums record_copy_by_vector(
	struct branch_log_record *to, const struct branch_log_record *from, size_t n)
{
	const __mmask8 even = 0x55, odd = 0xaa;
	const __m512i kind_end = _mm512_set1_epi64(KIND_END), one = _mm512_set1_epi64(1);
	const __m512i arrivals_end = _mm512_set1_epi64(ARRIVALS_END);
	const __m512i none = _mm512_setzero_si512(), complement = _mm512_maskz_set1_epi64(even, -1);
	__m512i zeros = _mm512_setzero_si512(), arrivals = _mm512_setzero_si512();
	size_t first = -((uintptr_t)to / sizeof *to) % VECTOR,
	       end = n > first && can_pass(to) ? first + (n - first - 1) / VECTOR * VECTOR : first;
	struct record_sums sums = {0};
	unsigned bad = 0;

	if (end == first)
		return copy_records(to, from, n, false);
	for (size_t i = first; i < end; i += VECTOR) {
		__m512i v = _mm512_xor_si512(_mm512_loadu_si512(from + i), complement);

		_mm512_stream_si512((void *)(to + i), v);
		zeros = _mm512_add_epi64(zeros, _mm512_lzcnt_epi64(v));
		arrivals = _mm512_mask_add_epi64(arrivals, _mm512_cmplt_epu64_mask(v, arrivals_end),
						 arrivals, one);
		bad |= _mm512_mask_cmple_epi64_mask(even, v, none) |
		       _mm512_mask_cmpge_epu64_mask(odd, v, kind_end);
	}
	sums.ticks =
		63 * (uint64_t)(end - first) - (uint64_t)_mm512_mask_reduce_add_epi64(even, zeros);
	sums.arrivals = (uint64_t)_mm512_mask_reduce_add_epi64(odd, arrivals);
	sums.bad = bad != 0;
	return add_sums(sums, add_sums(copy_records(to, from, first, false),
				       copy_records(to + end, from + end, n - end, false)));
}

record_copy_fn *record_copy_best(const struct processor *p)
{
	if (p->vector_lzcnt)
		return record_copy_by_vector;
	if (p->avx2 && p->lzcnt)
		return record_copy_by_pairs;
	return p->lzcnt ? record_copy_by_lzcnt : record_copy_by_bsr;
}
