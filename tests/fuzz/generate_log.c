/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/generate_log.h"

#include <string.h>

#include "format/log_calls.h"
#include "format/log_processor.h"
#include "format/log_values.h"
#include "lib/content_hash.h"
#include "tests/fuzz/trace_bytes.h"

enum {
	MANY = 5000,    /* calls: more than the reader's queue holds */
	EXTENDED = 832, /* bytes of XSAVE's form with the states of AVX */
};

static const char copied[] = "the bytes of a file that the program mapped";

static void add_processor(struct buf *out)
{
	const struct processor_offer offer = {
		.xcr0 = 7,
		.count = 2,
		.leaves = {{.leaf = 0xd, .eax = 7, .ebx = EXTENDED, .ecx = EXTENDED},
			   {.leaf = 0xd, .subleaf = 2, .eax = 256, .ebx = 576}},
	};
	struct bt_record_log_processor processor = {.xcr0 = offer.xcr0};
	struct buf leaves = {0};

	log_processor_encode(&leaves, &offer);
	processor.leaves = slice_of(leaves.data, leaves.len);
	bt_record_encode(out, BT_RECORD_LOG_PROCESSOR, &processor);
	buf_release(&leaves);
}

static void add_beginning(struct buf *out)
{
	const struct bt_record_log_shape shape = {
		.what = BT_SHAPE_MAP, .start = 0x400000, .end = 0x402000, .prot = 5};
	const struct bt_record_log begins = {.version = BT_LOG_VERSION, .task = 1};
	uint8_t extended[EXTENDED] = {[512] = 7};
	const struct bt_record_log_state state = {.task = 1,
						  .regs = {.rip = 0x401000, .rsp = 0x7ffc00001000},
						  .extended = slice_of(extended, sizeof extended)};

	add_processor(out);
	bt_record_encode(out, BT_RECORD_LOG_SHAPE, &shape);
	bt_record_encode(out, BT_RECORD_LOG_STATE, &state);
	bt_record_encode(out, BT_RECORD_LOG, &begins);
}

/* So many calls and instructions, from the given tick on, each with other counts; cut: without so
 * many of their last bytes. */
static void add_calls(struct buf *out, uint64_t tick, unsigned n, size_t cut)
{
	static const enum bt_logged_form forms[] = {BT_LOGGED_RDTSCP, BT_LOGGED_RDTSC,
						    BT_LOGGED_CPUID, BT_LOGGED_XGETBV};
	enum { FORMS = sizeof forms / sizeof forms[0] };
	struct log_calls_codec codec = {.tick = tick};
	struct bt_record_log_calls record = {.task = 1, .tick = tick};
	struct buf calls = {0};

	for (unsigned i = 0; i < n; i++) {
		const struct bt_logged_call call = {
			.tick = tick + i / 2,
			.nr = i % 3,
			.result = i % 5 ? i : (uint64_t)-4,
			.again = i % 7 == 6,
			.told = i % 2,
			.arg_count = i % 7,
			.args = {i, 0x7ffc00001000, 3},
			.data_count = i % 3,
			.data = {{0x7ffc00001000, bt_str("data")}, {0x7ffc00002000, bt_str("")}},
		};

		const struct bt_logged_call clock = {.tick = call.tick,
						     .form = forms[i / 4 % FORMS],
						     .result = ~(uint64_t)i << 20,
						     .ecx = i};

		log_calls_encode(&codec, &calls, i % 4 == 3 ? &clock : &call);
	}
	record.calls = slice_of(calls.data, calls.len - cut);
	bt_record_encode(out, BT_RECORD_LOG_CALLS, &record);
	buf_release(&calls);
}

static void add_output(struct buf *out, const char *text)
{
	const struct bt_record_log_output output = {
		.stream = 1, .bytes = bt_str(text), .addr = 0x7ffc00001000};

	bt_record_encode(out, BT_RECORD_LOG_OUTPUT, &output);
}

static void add_unmap(struct buf *out)
{
	const struct bt_record_log_shape shape = {
		.what = BT_SHAPE_UNMAP, .start = 0x7f0000001000, .end = 0x7f0000002000};

	bt_record_encode(out, BT_RECORD_LOG_SHAPE, &shape);
}

static void add_signal(struct buf *out)
{
	const uint8_t info[128] = {11, [8] = 1};
	const struct bt_record_log_signal sig = {.seq = 8,
						 .task = 1,
						 .point = {.tick = 5, .rip = 0x401010},
						 .signo = 11,
						 .sync = 1,
						 .info = slice_of(info, sizeof info)};
	const struct bt_record_log_handler handler = {.seq = 9, .task = 1, .point = sig.point};

	bt_record_encode(out, BT_RECORD_LOG_SIGNAL, &sig);
	bt_record_encode(out, BT_RECORD_LOG_HANDLER, &handler);
}

static void add_end(struct buf *out)
{
	const struct bt_record_log_exit end_of_task = {
		.seq = 12, .task = 1, .point = {.tick = 9000}, .status = 3};
	const struct bt_record_log_end end = {bt_str("the program ended")};

	bt_record_encode(out, BT_RECORD_LOG_EXIT, &end_of_task);
	bt_record_encode(out, BT_RECORD_LOG_END, &end);
}

static void add_every_kind(struct buf *out)
{
	const struct bt_record_log_data data = {.addr = 0x7ffc00001000, .bytes = bt_str("data")};
	const struct bt_record_log_object object = {.addr = 0x401000, .bytes = bt_str("object")};
	const struct bt_record_log_again again = {.addr = 0x402000};
	const struct bt_record_log_unseen unseen = {.stream = 2, .count = 100};
	const struct bt_record_log_stack_limit limit = {.size = 1 << 20};
	const struct bt_record_log_call call = {.seq = 3, .task = 1, .point = {.tick = 2}};
	const struct bt_record_log_instruction own = {.task = 1, .point = {.tick = 3}};

	bt_record_encode(out, BT_RECORD_LOG_DATA, &data);
	add_output(out, "a line\n");
	bt_record_encode(out, BT_RECORD_LOG_UNSEEN, &unseen);
	bt_record_encode(out, BT_RECORD_LOG_STACK_LIMIT, &limit);
	bt_record_encode(out, BT_RECORD_LOG_CALL, &call);
	bt_record_encode(out, BT_RECORD_LOG_OBJECT, &object);
	bt_record_encode(out, BT_RECORD_LOG_AGAIN, &again);
	bt_record_encode(out, BT_RECORD_LOG_INSTRUCTION, &own);
	add_calls(out, 4, 8, 0);
	add_output(out, "a line\n");
	add_calls(out, 10, 2, 0);
	add_unmap(out);
	add_calls(out, 12, 3, 0);
	add_signal(out);
}

/* Effects that have no bytes, where no other has any. */
static void add_empty(struct buf *out)
{
	const struct bt_record_log_data data = {.addr = 0x7ffc00001000};
	const struct bt_record_log_call call = {.seq = 3, .task = 1, .point = {.tick = 2}};

	bt_record_encode(out, BT_RECORD_LOG_DATA, &data);
	bt_record_encode(out, BT_RECORD_LOG_CALL, &call);
	add_output(out, "");
	add_calls(out, 4, 1, 0);
}

static void add_zeros(struct buf *out)
{
	struct bt_record zero;

	memset(&zero, 0, sizeof zero);
#define R(number, NAME, name, text) bt_record_encode(out, BT_RECORD_##NAME, &zero.u.name);
	BT_RECORDS(R)
#undef R
}

static void add_copies(struct buf *out)
{
	struct bt_record_log_piece piece = {.addr = 0x500000, .file = 1, .offset = 4, .size = 5};

	piece.hash = content_hash(copied + piece.offset, piece.size).first;
	bt_record_encode(out, BT_RECORD_LOG_PIECE, &piece);
	piece.offset = piece.size = 0;
	piece.hash = content_hash(copied, 0).first;
	bt_record_encode(out, BT_RECORD_LOG_PIECE, &piece);
	add_calls(out, 20, 1, 0);
	piece.file = 2;
	bt_record_encode(out, BT_RECORD_LOG_PIECE, &piece);
}

void log_input(struct buf *out, unsigned kind)
{
	const struct trace_file copy = {
		.kind = BT_FILE_MAPPED, .number = 1, .bytes = slice_of(copied, sizeof copied)};
	struct trace_file log = {.kind = BT_FILE_LOG, .number = 1};
	struct buf records = {0};

	if (kind != LOG_INPUT_EMPTY)
		add_beginning(&records);
	switch ((enum log_input_kind)kind) {
	case LOG_INPUT_EVERY_KIND:
		add_every_kind(&records);
		break;
	case LOG_INPUT_EMPTY:
		add_empty(&records);
		break;
	case LOG_INPUT_MANY_CALLS:
		add_calls(&records, 1, MANY, 0);
		break;
	case LOG_INPUT_ZEROS:
		add_zeros(&records);
		break;
	case LOG_INPUT_COPIES:
		add_copies(&records);
		break;
	case LOG_INPUT_CUT:
		add_calls(&records, 1, 5, 2);
		break;
	}
	add_end(&records);
	log.bytes = slice_of(records.data, records.len);
	trace_bytes_add(out, &log);
	trace_bytes_add(out, &copy);
	buf_release(&records);
}
