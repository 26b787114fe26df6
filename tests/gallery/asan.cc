// SPDX-License-Identifier: MIT
// One read too far, under AddressSanitizer.
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Samples {
	int *values;
	int count;
};

static Samples samples_make(int count)
{
	Samples samples = {static_cast<int *>(std::malloc(sizeof(int) * count)), count};
	for (int i = 0; i < count; i++)
		samples.values[i] = i;
	return samples;
}

static long differences(const Samples &samples)
{
	long sum = 0;
	for (int i = 0; i < samples.count; i++)
		sum += samples.values[i + 1] - samples.values[i]; // HERE
	return sum;
}

int main()
{
	Samples samples = samples_make(10);
	std::printf("%ld\n", differences(samples));
	std::free(samples.values);
	return 0;
}
