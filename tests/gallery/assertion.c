// SPDX-License-Identifier: MIT
// A ring buffer that is written once too often.
#include <assert.h>
#include <stdio.h>

struct ring {
	int items[4];
	unsigned head, count;
};

static void ring_push(struct ring *ring, int item)
{
	assert(ring->count < 4); // HERE
	ring->items[(ring->head + ring->count) % 4] = item;
	ring->count++;
}

static int ring_pop(struct ring *ring)
{
	int item = ring->items[ring->head];

	ring->head = (ring->head + 1) % 4;
	ring->count--;
	return item;
}

static void produce(struct ring *ring, int count)
{
	for (int i = 0; i < count; i++)
		ring_push(ring, i);
}

int main(void)
{
	struct ring ring = { .count = 0 };

	produce(&ring, 3);
	printf("%d\n", ring_pop(&ring));
	produce(&ring, 3);
	return 0;
}
