/* SPDX-License-Identifier: MIT */
/* The log of a trace in memory, event by event, as a replay reads it before it has run an
 * instruction. Whatever its bytes are: the reader comes to an end and says why, each event is of a
 * kind that a replay knows, and the bytes of each effect are there. The input: files as
 * trace_bytes.h has them, bare records among them; the events of the trace are added. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "collector/replay/extended_state.h"
#include "collector/replay/host.h"
#include "collector/replay/log_reader.h"
#include "lib/content_hash.h"
#include "tests/fuzz/trace_bytes.h"

enum {
	MOST = 64 << 20, /* bytes of memory that the program may have */
	LITTLE = 4 << 10,
	EXTENDED = 832, /* bytes of XSAVE's form here */
};

/* A processor with the states of AVX (Intel SDM volume 1, 13.5.3). */
static const struct processor_offer here = {
	.xcr0 = 7,
	.count = 2,
	.leaves = {{.leaf = 0xd, .eax = 7, .ebx = EXTENDED, .ecx = EXTENDED},
		   {.leaf = 0xd, .subleaf = 2, .eax = 256, .ebx = 576}},
};

/* A sanitizer sees it where they are not all there. */
static void look_at_bytes(struct slice bytes)
{
	MUST(bytes.at || !bytes.len);
	if (bytes.len)
		(void)content_hash(bytes.at, bytes.len);
}

static void look_at_state(const struct log_reader *l, struct slice bytes)
{
	uint8_t *extended = malloc(TRACEE_EXTENDED);

	MUST(extended);
	if (extended_state_convert(&l->processor, &here, bytes, extended, EXTENDED))
		look_at_bytes(slice_of(extended, EXTENDED));
	free(extended);
}

static void look_at_effect(const struct log_reader *l, const struct log_effect *e)
{
	struct slice bytes = log_effect_bytes(l, e);
	struct bt_logged_change change = {0};

	look_at_bytes(bytes);
	switch (e->kind) {
	case BT_RECORD_LOG_SHAPE:
		MUST(!host_change(&e->u.shape, &change) || change.nr);
		break;
	case BT_RECORD_LOG_STATE:
		look_at_state(l, bytes);
		break;
	case BT_RECORD_LOG_DATA:
	case BT_RECORD_LOG_OUTPUT:
	case BT_RECORD_LOG_UNSEEN:
	case BT_RECORD_LOG_STACK_LIMIT:
		break;
	default:
		MUST(!"an effect");
	}
}

static void look_at_event(const struct log_reader *l)
{
	const struct bt_record *event = &l->now.event;
	char name[LOG_EVENT_NAME];

	switch (event->kind) {
	case BT_RECORD_LOG:
	case BT_RECORD_LOG_CALL:
	case BT_RECORD_LOG_SIGNAL:
	case BT_RECORD_LOG_HANDLER:
	case BT_RECORD_LOG_EXIT:
	case BT_RECORD_LOG_INSTRUCTION:
		break;
	default:
		MUST(!"an event");
	}
	MUST(*log_event_name(event, log_reader_is_compat(l), name));
	MUST(log_event_point(event));
	if (log_event_regs(event) && !log_event_is_nothing(event))
		(void)log_event_needs_stop(event);
	(void)log_event_dispatched_from(event);
}

/* Passes over some of the calls that are the present event and those behind it. */
static void look_at_calls(struct log_reader *l)
{
	const struct bt_logged_call *calls;
	size_t n = log_reader_calls(l, &calls);

	MUST(n);
	MUST((log_reader_form(l) == BT_LOGGED_CALL) == (l->now.event.kind == BT_RECORD_LOG_CALL));
	for (size_t i = 0; i < n; i++) {
		const struct bt_record_log_shape *shape = log_reader_shape(l, i);

		MUST(!shape || shape->end);
		MUST(calls[i].arg_count <= BT_SYSCALL_ARGS &&
		     calls[i].data_count <= BT_LOGGED_DATA);
		for (unsigned k = 0; k < calls[i].data_count; k++)
			look_at_bytes(calls[i].data[k].bytes);
		look_at_bytes(calls[i].output.bytes);
		MUST(calls[i].form < BT_LOGGED_FORMS &&
		     (calls[i].form == BT_LOGGED_CALL ||
		      (!calls[i].nr && !calls[i].arg_count && !calls[i].data_count)));
	}
	if (n > 1)
		log_reader_pass(l, 1 + l->passed % n);
}

static void read_log(const struct trace *t, uint64_t memory)
{
	struct log_reader l;
	struct bt_error err;

	if (log_reader_open(&l, t, memory, &err)) {
		MUST(err.code == BT_E_UNSUPPORTED && *err.text);
		return;
	}
	while (log_reader_next(&l)) {
		look_at_event(&l);
		for (size_t i = 0; i < l.now.count; i++)
			look_at_effect(&l, &l.now.effects[i]);
		if (l.of_calls)
			look_at_calls(&l);
	}
	MUST(l.now.over && memchr(l.now.reason, 0, sizeof l.now.reason));
	MUST(!log_reader_next(&l));
	log_reader_close(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_file files[TRACE_BYTES_FILES] = {{.number = 0}};
	struct buf wrapped[TRACE_BYTES_FILES], whole = {0}, events = {0};
	const struct bt_record_header header = {.argv = slice_of("app\0", 4),
						.program = bt_str("/bin/app"),
						.backend = bt_str("engine"),
						.page_size = 4096};
	struct trace *t;
	size_t n;

	bt_record_encode(&events, BT_RECORD_HEADER, &header);
	trace_bytes_add(&whole, &(struct trace_file){.kind = BT_FILE_EVENTS,
						     .bytes = slice_of(events.data, events.len)});
	buf_put(&whole, data, size);
	n = trace_bytes_wrap(whole.data, whole.len, files, wrapped);
	if (!trace_open_memory(&t, files, n, NULL)) {
		read_log(t, size % 8 ? MOST : LITTLE);
		trace_close(t);
	}
	trace_bytes_release(wrapped, n);
	buf_release(&events);
	buf_release(&whole);
	return 0;
}
