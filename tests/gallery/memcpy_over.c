// SPDX-License-Identifier: MIT
// A packet says how long it is, and is believed.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct packet {
	uint32_t length;
	uint32_t kind;
	unsigned char body[];
};

struct queue {
	unsigned char *store;
	size_t used, room;
};

static void queue_append(struct queue *queue, const struct packet *packet)
{
	memcpy(queue->store + queue->used, packet->body, packet->length); // HERE
	queue->used += packet->length;
}

static struct packet *packet_read(uint32_t length)
{
	struct packet *packet = calloc(1, sizeof *packet + 4096);

	packet->kind = 1;
	packet->length = length; // as it came from the wire
	return packet;
}

static void receive(struct queue *queue, const uint32_t *lengths, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct packet *packet = packet_read(lengths[i]);

		queue_append(queue, packet);
		free(packet);
	}
}

int main(void)
{
	const uint32_t lengths[] = { 100, 4096, 0x40000000 };
	struct queue queue = { malloc(1 << 16), 0, 1 << 16 };

	receive(&queue, lengths, 3);
	printf("%zu bytes\n", queue.used);
	free(queue.store);
	return 0;
}
