/* SPDX-License-Identifier: MIT */
#include "collector/replay/told_output.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "collector/tracee/tracee.h"

enum { PIECE = 4096 };

/* n bytes were expected at addr, of which the first `there` can be read. False: they are the same.
 * A range that goes on behind the n bytes is cut there. */
static bool find_difference(const uint8_t *expected, const uint8_t *came, size_t n, size_t there,
			    uint64_t addr, struct memory_difference *out)
{
	size_t start = 0, end;

	while (start < there && expected[start] == came[start])
		start++;
	if (start == n)
		return false;
	end = start;
	while (start < there && end < there && expected[end] != came[end])
		end++;
	if (start == there)
		end = n;
	*out = (struct memory_difference){
		.start = addr + start, .end = addr + end, .readable = start < there};
	out->count = end - start < DIVERGENCE_BYTES ? end - start : DIVERGENCE_BYTES;
	memcpy(out->expected, expected + start, out->count);
	if (out->readable)
		memcpy(out->came, came + start, out->count);
	return true;
}

uint64_t output_length(const struct log_item *item)
{
	uint64_t n = 0;

	for (size_t i = 0; i < item->count; i++)
		if (item->effects[i].kind == BT_RECORD_LOG_OUTPUT)
			n += item->effects[i].u.output.bytes.len;
	return n;
}

bool output_is_there(const struct log_reader *l, const struct log_effect *e, pid_t tid,
		     struct memory_difference *first)
{
	struct slice bytes = log_effect_bytes(l, e);
	uint64_t addr = e->u.output.addr;
	uint8_t there[PIECE];

	for (size_t done = 0, n; addr && done < bytes.len; done += n) {
		n = bytes.len - done < sizeof there ? bytes.len - done : sizeof there;
		if (find_difference(bytes.at + done, there, n,
				    tracee_read(tid, addr + done, there, n), addr + done, first))
			return false;
	}
	return true;
}

void output_repeat(unsigned stream, struct slice bytes, int *cause)
{
	int to = stream == 2 ? STDERR_FILENO : STDOUT_FILENO;

	for (size_t done = 0; done < bytes.len;) {
		ssize_t n = write(to, bytes.at + done, bytes.len - done);

		if (n < 0 && errno == EAGAIN) /* somebody has made it one that does not wait */
			poll(&(struct pollfd){.fd = to, .events = POLLOUT}, 1, -1);
		else if (n < 0 && errno != EINTR && to == STDOUT_FILENO && !*cause)
			*cause = errno;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
		done += n > 0 ? (size_t)n : 0;
	}
}
