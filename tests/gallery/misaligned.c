// SPDX-License-Identifier: MIT
// Four floats at a time, from where the header ends.
#include <emmintrin.h>
#include <stdio.h>
#include <stdlib.h>

struct wave {
	unsigned char *file;
	size_t header;
	size_t count;
};

static float wave_sum(const struct wave *wave)
{
	const float *samples = (const float *)(wave->file + wave->header);
	__m128 sum = _mm_setzero_ps();
	float four[4];

	for (size_t i = 0; i + 4 <= wave->count; i += 4)
		sum = _mm_add_ps(sum, _mm_load_ps(samples + i)); // HERE
	_mm_storeu_ps(four, sum);
	return four[0] + four[1] + four[2] + four[3];
}

static struct wave wave_open(size_t header)
{
	struct wave wave = { calloc(1, 4096), header, 64 };

	return wave;
}

int main(void)
{
	struct wave good = wave_open(48), odd = wave_open(44);

	printf("%f\n", (double)wave_sum(&good));
	printf("%f\n", (double)wave_sum(&odd));
	return 0;
}
