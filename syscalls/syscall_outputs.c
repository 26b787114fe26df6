/* SPDX-License-Identifier: MIT */
#include "syscalls/syscall_outputs.h"

#include <errno.h>
#include <string.h>

#include "lib/array_size.h"
#include "lib/page.h"
#include "syscalls/output_ranges.h"
#include "syscalls/sized_requests.h"
#include "syscalls/syscall_names.h"

enum {
	OUTPUTS_MAX = 4,     /* of a row, and what else it says of arguments */
	ADDRESS_MAX = 128,   /* struct sockaddr_storage */
	MESSAGE_SIZE = 64,   /* struct mmsghdr: struct msghdr, and the length */
	MESSAGE_LENGTH = 56, /* offset of the length in it */
	HANDLE_MAX = 128,    /* MAX_HANDLE_SZ */
	SOL_SOCKET_LEVEL = 1,
	OPTION_FILTER = 26,        /* SO_GET_FILTER: counts instructions of 8 bytes */
	LEVEL_IP = 0,              /* IPPROTO_IP */
	OPTION_BRIDGE = 129,       /* EBT_SO_GET_ENTRIES, linux/netfilter_bridge/ebtables.h */
	OPTION_BRIDGE_FIRST = 131, /* EBT_SO_GET_INIT_ENTRIES */
	LEVEL_TCP = 6,             /* IPPROTO_TCP */
	OPTION_ZEROCOPY = 35,      /* TCP_ZEROCOPY_RECEIVE */
	OPTION_KEYS = 41,          /* TCP_AO_GET_KEYS, linux/tcp.h since Linux 6.7 */
	LEVEL_IPV6 = 41,           /* IPPROTO_IPV6 */
	LEVEL_MPTCP = 284,         /* SOL_MPTCP */
	OPTION_MPTCP_FULL = 4,     /* MPTCP_FULL_INFO, linux/mptcp.h since Linux 6.5 */
	WAITED_MAX = 128,          /* FUTEX_WAITV_MAX, linux/futex.h */
	FUTEX_NODE = 4,            /* FUTEX2_NUMA */
	FUTEX_SIZE = 4,            /* bytes: the kernel has no others */
	FUTEX_OPERATION = 0x7f,    /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
	CLONE_FLAG_PIDFD = 0x1000, /* linux/sched.h */
	CLONE_FLAG_PARENT_TID = 0x100000,
	CLONE_FLAG_CHILD_TID = 0x1000000,
	BLOCK_KEY = 8,      /* aio_key, of struct iocb */
	COMMAND_MAX = 4096, /* bytes of the old SCSI command: PAGE_SIZE, sg_scsi_ioctl() */
	COMMAND_SENSE = 16, /* OMAX_SB_LEN, scsi/scsi_ioctl.c */
	COMMAND_FLAGS_ELSEWHERE = 1 | 4, /* SG_FLAG_DIRECT_IO, SG_FLAG_MMAP_IO: scsi/sg.h */
	FORMAT_OVERLAY = 3,              /* V4L2_BUF_TYPE_VIDEO_OVERLAY, linux/videodev2.h */
	FORMAT_OUTPUT_OVERLAY = 8,
	BUS_MESSAGES_MAX = 42, /* I2C_RDWR_IOCTL_MAX_MSGS, linux/i2c-dev.h */
	BUS_READS = 1,         /* I2C_M_RD, linux/i2c.h */
};

enum output_size {
	SIZE_NOTHING,
	SIZE_FIXED,
	SIZE_BY_ARG,
	SIZE_RESULT,
	SIZE_LENGTH,
	SIZE_IOVECS,
	SIZE_BY_NUMBER,
	SIZE_POINTED,
	SIZE_BEHIND,
	SIZE_OPERATION,
	SIZE_FUNCTION,
	SIZE_UNKNOWN,
	/* No outputs, but other facts about the arguments. */
	ARGUMENT_INPUT,
	ARGUMENT_MOVED,
	ARGUMENT_INTO,
	ARGUMENT_PAGES,
	ARGUMENT_TIMEOUT,
};

struct output {
	uint8_t size, when; /* enum output_size, syscall_when */
	uint8_t argument, by;
	uint8_t place, count,
		width; /* of SIZE_POINTED and SIZE_BEHIND: offsets, bytes of the count */
	uint32_t unit;
	bool has_more; /* of SIZE_RESULT: an entry of a folder behind it */
	void (*add)(const struct syscall_evaluation *e);
};

struct output_row {
	struct syscall_facts facts;
	struct output outputs[OUTPUTS_MAX];
	bool is_there;
};

struct operation_row {
	uint16_t nr;
	uint32_t operation;
	struct output outputs[OUTPUTS_MAX];
};

enum {
#define BT_STRUCT(id, bytes, structure, header) SIZE_OF_##id = (bytes),
#include "syscalls/syscall_structs.def"
#undef BT_STRUCT
};

/* A bit for each descriptor, in words (core_sys_select(), fs/select.c). */
static void descriptor_sets(const struct syscall_evaluation *e)
{
	int n = (int)e->args[0];

	for (int i = 1; n > 0 && i < 4; i++)
		output_add_fixed(e, e->args[i], ((uint64_t)n + 63) / 64 * 8, WHEN_DONE);
}

/* A byte for each page; written piece by piece before it fails. */
static void resident_pages(const struct syscall_evaluation *e)
{
	uint64_t length = e->args[1];

	output_add_fixed(e, e->args[2], length / BT_PAGE + (length % BT_PAGE != 0), WHEN_EVER);
}

/* A message header: the parts of it that are written, and the memory that it points to. With
 * message < 0 it is the only one and the result its length; else the result counts messages, and
 * each has its length behind its header. Ancillary data is also written where no message comes: a
 * stream of AF_UNIX with SO_PASSCRED puts credentials there, and then fails with EAGAIN
 * (unix_stream_read_generic(), net/unix/af_unix.c, seen with Linux 6.18). */
static void add_message(const struct syscall_evaluation *e, uint64_t at, int message)
{
	uint64_t m[7]; /* name, its length; vectors, their number; control, its length; flags */
	struct syscall_range part = {.bound = BOUND_NONE, .unit = UNIT_LENGTH},
			     cut = {.bound = BOUND_LENGTH, .unit = 1};
	uint32_t name;

	if (!output_read(e, at, m, sizeof m))
		return;
	if (message >= 0) {
		part.bound = BOUND_MESSAGE;
		part.value = (uint64_t)message;
		cut.bound = BOUND_MESSAGE_LENGTH;
		cut.unit = (uint32_t)message;
	}
	part.start = at + 8; /* msg_namelen */
	part.length = 4;
	output_add(e, part);
	part.start = at + 40; /* msg_controllen, msg_flags */
	part.length = 8;
	output_add(e, part);
	part.start = at + 48;
	part.length = 4;
	output_add(e, part);
	name = (uint32_t)m[1] < ADDRESS_MAX ? (uint32_t)m[1] : ADDRESS_MAX;
	cut.start = m[0];
	cut.length = name;
	cut.value = at + 8;
	output_add(e, cut);
	cut.start = m[4];
	cut.length = m[5] < UINT32_MAX ? m[5] : UINT32_MAX;
	cut.value = at + 40;
	cut.when = WHEN_EVER;
	output_add(e, cut);
	if (message < 0) {
		cut = (struct syscall_range){.bound = BOUND_VECTOR};
	} else {
		part.start = at + MESSAGE_LENGTH;
		output_add(e, part);
		cut = part;
		cut.unit = 0;
	}
	output_add_vectors(e, m[2], m[3], cut);
}

static void one_message(const struct syscall_evaluation *e) { add_message(e, e->args[1], -1); }

static uint64_t message_count(const struct syscall_evaluation *e)
{
	uint32_t n = (uint32_t)e->args[2];

	return n < OUTPUT_VECTORS_MAX ? n : OUTPUT_VECTORS_MAX;
}

/* With no room left the rest would only be read in vain. */
static void many_messages(const struct syscall_evaluation *e)
{
	for (uint64_t i = 0; i < message_count(e) && e->out->known; i++)
		add_message(e, e->args[1] + i * MESSAGE_SIZE, (int)i);
}

static void sent_messages(const struct syscall_evaluation *e)
{
	for (uint64_t i = 0; i < message_count(e) && e->out->known; i++)
		output_add(e, (struct syscall_range){.start = e->args[1] + i * MESSAGE_SIZE +
							      MESSAGE_LENGTH,
						     .length = 4,
						     .bound = BOUND_MESSAGE,
						     .value = i});
}

/* Options whose structures have addresses (TCP_ZEROCOPY_RECEIVE, MPTCP_FULL_INFO,
 * EBT_SO_GET_ENTRIES and EBT_SO_GET_INIT_ENTRIES), or of which the kernel writes several
 * (TCP_AO_GET_KEYS). Linux 6.18: net/ipv4/tcp.c and tcp_ao.c, net/mptcp/sockopt.c,
 * net/bridge/netfilter/ebtables.c. */
static bool is_written_elsewhere(int level, int option)
{
	return (level == LEVEL_TCP && (option == OPTION_ZEROCOPY || option == OPTION_KEYS)) ||
	       (level == LEVEL_MPTCP && option == OPTION_MPTCP_FULL) ||
	       (level == LEVEL_IP && (option == OPTION_BRIDGE || option == OPTION_BRIDGE_FIRST));
}

/* The sources that a group's messages may have: as many as the structure says that there is room
 * for, whatever the length says (net/ipv4/ip_sockglue.c and net/ipv6/ipv6_sockglue.c, Linux 6.18).
 */
static void add_sources(const struct syscall_evaluation *e, int level, int option)
{
	static const struct {
		int level, option;
		uint32_t count_at, head, each;
	} rows[] = {{LEVEL_IP, 41, 12, 16, 4},     /* IP_MSFILTER, struct ip_msfilter */
		    {LEVEL_IP, 48, 140, 144, 128}, /* MCAST_MSFILTER, struct group_filter */
		    {LEVEL_IPV6, 48, 140, 144, 128}};
	uint64_t at = e->args[3];
	uint32_t count;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].level == level && rows[i].option == option && at &&
		    output_read(e, at + rows[i].count_at, &count, sizeof count))
			output_add(e, (struct syscall_range){
					      .start = at,
					      .length = rows[i].head +
							output_units(count, rows[i].each),
					      .bound = BOUND_LENGTH,
					      .unit = 1,
					      .value = e->args[4]});
}

/* Its length may be written by a call that fails. */
static void socket_option(const struct syscall_evaluation *e)
{
	const int level = (int)e->args[1], option = (int)e->args[2];
	bool is_filter = level == SOL_SOCKET_LEVEL && option == OPTION_FILTER;

	if (is_written_elsewhere(level, option))
		output_set_unknown(e);
	output_add_length(e, e->args[3], e->args[4], is_filter ? 8 : 1);
	add_sources(e, level, option);
}

/* Behind a futex with FUTEX2_NUMA stands its node. Where the program leaves that to the kernel
 * (FUTEX_NO_NODE), the kernel writes it, whatever comes of the call (get_futex_key(),
 * kernel/futex/core.c, Linux 6.16). */
static void add_node(const struct syscall_evaluation *e, uint64_t futex, uint64_t flags)
{
	if (futex && flags & FUTEX_NODE)
		output_add_fixed(e, futex + FUTEX_SIZE, SIZE_OF_INT, WHEN_EVER);
}

static void futex_node(const struct syscall_evaluation *e) { add_node(e, e->args[0], e->args[3]); }

/* The first n of an array of struct futex_waitv. */
static void add_waited_nodes(const struct syscall_evaluation *e, uint64_t n)
{
	struct {
		uint64_t value, futex;
		uint32_t flags, reserved;
	} waited;

	for (uint64_t i = 0; i < n && n <= WAITED_MAX; i++)
		if (output_read(e, e->args[0] + i * sizeof waited, &waited, sizeof waited))
			add_node(e, waited.futex, waited.flags);
}

static void waited_nodes(const struct syscall_evaluation *e)
{
	add_waited_nodes(e, (uint32_t)e->args[1]);
}

/* From which futex, to which. */
static void requeued_nodes(const struct syscall_evaluation *e) { add_waited_nodes(e, 2); }

/* The ids are written before the last thing that can fail. The child's is in its own memory, which
 * may be the caller's. */
static void add_clone_ids(const struct syscall_evaluation *e, uint64_t flags, uint64_t pidfd,
			  uint64_t parent_tid, uint64_t child_tid)
{
	if (flags & CLONE_FLAG_PIDFD)
		output_add_fixed(e, pidfd, SIZE_OF_INT, WHEN_EVER);
	if (flags & CLONE_FLAG_PARENT_TID)
		output_add_fixed(e, parent_tid, SIZE_OF_INT, WHEN_EVER);
	if (flags & CLONE_FLAG_CHILD_TID)
		output_add_fixed(e, child_tid, SIZE_OF_INT, WHEN_EVER);
}

static void clone_ids(const struct syscall_evaluation *e)
{
	add_clone_ids(e, e->args[0], e->args[2], e->args[2], e->args[3]);
}

static void clone3_ids(const struct syscall_evaluation *e)
{
	uint64_t in[4]; /* struct clone_args: flags, pidfd, child_tid, parent_tid */

	if (output_read(e, e->args[0], in, sizeof in))
		add_clone_ids(e, in[0], in[1], in[3], in[2]);
}

/* A message of a queue: its type, and as many bytes as the result says. */
static void queued_message(const struct syscall_evaluation *e)
{
	uint64_t n = e->args[2] < OUTPUT_MOVED_MAX ? e->args[2] : OUTPUT_MOVED_MAX;

	output_add(e, (struct syscall_range){.start = e->args[1],
					     .length = n + 8,
					     .bound = BOUND_RESULT,
					     .unit = 1,
					     .value = 8});
}

/* A key in each block, up to the first that cannot be had (io_submit_one(), fs/aio.c). */
static void submitted_blocks(const struct syscall_evaluation *e)
{
	uint64_t blocks[64], n = e->args[1];

	for (uint64_t done = 0, now; done < n && e->out->known; done += now) {
		now = n - done < ARRAY_SIZE(blocks) ? n - done : ARRAY_SIZE(blocks);
		if (!output_read(e, e->args[2] + done * 8, blocks, now * 8)) {
			output_set_unknown(e);
			return;
		}
		for (uint64_t i = 0; i < now; i++) {
			if (!blocks[i])
				return;
			output_add_fixed(e, blocks[i] + BLOCK_KEY, SIZE_OF_INT, WHEN_EVER);
		}
	}
}

/* struct xattr_args: an address, a length. */
static void attribute_value(const struct syscall_evaluation *e)
{
	uint64_t in[2];

	if (output_read(e, e->args[4], in, sizeof in))
		output_add(e, (struct syscall_range){.start = in[0],
						     .length = (uint32_t)in[1],
						     .bound = BOUND_RESULT,
						     .unit = 1});
}

/* A bit for each node, in words (copy_nodes_to_user(), mm/mempolicy.c). */
static void memory_nodes(const struct syscall_evaluation *e)
{
	uint64_t n = e->args[2];

	output_add_fixed(e, e->args[1], n / 64 * 8 + 8, WHEN_DONE);
}

/* struct file_handle: its length is written also if it is too small. */
static void file_handle(const struct syscall_evaluation *e)
{
	uint32_t n;

	if (output_read(e, e->args[2], &n, sizeof n))
		output_add_fixed(e, e->args[2], 8 + (n < HANDLE_MAX ? n : HANDLE_MAX), WHEN_EVER);
}

/* struct iovec, of which the length is written, too. */
static void register_set(const struct syscall_evaluation *e)
{
	uint64_t v[2];

	if (!output_read(e, e->args[3], v, sizeof v))
		return;
	output_add_length_word(e, e->args[3] + 8, 8, WHEN_DONE);
	output_add(e, (struct syscall_range){.start = v[0],
					     .length = v[1],
					     .bound = BOUND_LENGTH,
					     .unit = 1,
					     .value = e->args[3] + 8});
}

/* struct ifconf: a length, which is written, and an address. */
static void interface_list(const struct syscall_evaluation *e)
{
	uint64_t in[2];

	output_add_length_word(e, e->args[2], SIZE_OF_INT, WHEN_EVER);
	if (output_read(e, e->args[2], in, sizeof in) && (int32_t)in[0] > 0)
		output_add(e, (struct syscall_range){.start = in[1],
						     .length = (uint32_t)in[0],
						     .bound = BOUND_LENGTH,
						     .unit = 1,
						     .value = e->args[2]});
}

/* FIBMAP of a file; SCSI_IOCTL_SEND_COMMAND of a device: two lengths, and in the command's place
 * the answer, or what was wrong. */
static void block_or_command(const struct syscall_evaluation *e)
{
	uint32_t in[2];

	output_add_fixed(e, e->args[2], SIZE_OF_INT, WHEN_EVER);
	if (output_read(e, e->args[2], in, sizeof in) && in[0] <= COMMAND_MAX &&
	    in[1] <= COMMAND_MAX)
		output_add_fixed(e, e->args[2] + sizeof in,
				 in[1] > COMMAND_SENSE ? in[1] : COMMAND_SENSE, WHEN_EVER);
}

/* struct sg_io_hdr. Its version 4 is another structure; with flags the answer may come later, or to
 * a mapping. */
static void device_command(const struct syscall_evaluation *e)
{
	struct {
		int32_t interface, direction;
		uint8_t command_length, sense_length;
		uint16_t vectors;
		uint32_t length;
		uint64_t data, command, sense;
		uint32_t timeout, flags;
	} in;

	if (!output_read(e, e->args[2], &in, sizeof in) || in.interface != 'S' ||
	    in.flags & COMMAND_FLAGS_ELSEWHERE) {
		output_set_unknown(e);
		return;
	}
	output_add_fixed(e, e->args[2], SIZE_OF_SCSI_COMMAND, WHEN_EVER);
	output_add_fixed(e, in.sense, in.sense_length, WHEN_EVER);
	if (in.vectors)
		output_add_vectors(e, in.data, in.vectors,
				   (struct syscall_range){.when = WHEN_EVER});
	else
		output_add_fixed(e, in.data, in.length, WHEN_EVER);
}

/* struct i2c_rdwr_ioctl_data: an address, a number; of each message a flag, a length, an address.
 */
static void bus_messages(const struct syscall_evaluation *e)
{
	struct {
		uint64_t messages;
		uint32_t count;
	} in;
	struct {
		uint16_t address, flags, length;
		uint64_t bytes;
	} message;

	if (!output_read(e, e->args[2], &in, sizeof in) || in.count > BUS_MESSAGES_MAX)
		return;
	for (uint64_t i = 0; i < in.count; i++)
		if (output_read(e, in.messages + i * sizeof message, &message, sizeof message) &&
		    message.flags & BUS_READS)
			output_add_fixed(e, message.bytes, message.length, WHEN_EVER);
}

static void add_by_number(const struct syscall_evaluation *e)
{
	uint32_t request = (uint32_t)e->args[1];

	if (sized_request_writes(request))
		output_add_fixed(e, e->args[2], sized_request_bytes(request), WHEN_EVER);
}

/* struct v4l2_format: overlays have a list of clips elsewhere. */
static void video_format(const struct syscall_evaluation *e)
{
	uint32_t type;

	if (!output_read(e, e->args[2], &type, sizeof type) || type == FORMAT_OVERLAY ||
	    type == FORMAT_OUTPUT_OVERLAY)
		output_set_unknown(e);
	add_by_number(e);
}

static void ioctl_request(const struct syscall_evaluation *e);

#define CHANGES(what) SYSCALL_CHANGES_##what
#define AGAIN(what)   SYSCALL_AGAIN_##what
#define NOTHING                      \
	{                            \
		.size = SIZE_NOTHING \
	}
#define FIXED(arg, structure)                                                      \
	{                                                                          \
		.size = SIZE_FIXED, .argument = (arg), .unit = SIZE_OF_##structure \
	}
#define EVER(arg, structure)                                                        \
	{                                                                           \
		.size = SIZE_FIXED, .argument = (arg), .unit = SIZE_OF_##structure, \
		.when = WHEN_EVER                                                   \
	}
#define INTERRUPTED(arg, structure)                                                 \
	{                                                                           \
		.size = SIZE_FIXED, .argument = (arg), .unit = SIZE_OF_##structure, \
		.when = WHEN_INTERRUPTED                                            \
	}
#define BY_ARG(arg, count, bytes)                                                      \
	{                                                                              \
		.size = SIZE_BY_ARG, .argument = (arg), .by = (count), .unit = (bytes) \
	}
#define EVER_BY_ARG(arg, count, bytes)                                                  \
	{                                                                               \
		.size = SIZE_BY_ARG, .argument = (arg), .by = (count), .unit = (bytes), \
		.when = WHEN_EVER                                                       \
	}
#define RESULT(arg, count, bytes)                                                      \
	{                                                                              \
		.size = SIZE_RESULT, .argument = (arg), .by = (count), .unit = (bytes) \
	}
#define ENTRIES(arg, count)                                                         \
	{                                                                           \
		.size = SIZE_RESULT, .argument = (arg), .by = (count), .unit = (1), \
		.has_more = true                                                    \
	}
#define LENGTH(arg, at)                                            \
	{                                                          \
		.size = SIZE_LENGTH, .argument = (arg), .by = (at) \
	}
#define IOVECS(arg, count)                                            \
	{                                                             \
		.size = SIZE_IOVECS, .argument = (arg), .by = (count) \
	}
#define BY_NUMBER                      \
	{                              \
		.size = SIZE_BY_NUMBER \
	}
#define POINTED(arg, pointer, at, bytes, each)                                              \
	{                                                                                   \
		.size = SIZE_POINTED, .argument = (arg), .place = (pointer), .count = (at), \
		.width = (bytes), .unit = (each)                                            \
	}
#define BEHIND(arg, header, at, bytes, each)                                              \
	{                                                                                 \
		.size = SIZE_BEHIND, .argument = (arg), .place = (header), .count = (at), \
		.width = (bytes), .unit = (each)                                          \
	}
#define OPERATION(arg, shift)                                                        \
	{                                                                            \
		.size = SIZE_OPERATION, .argument = (arg), .unit = OPERATION_##shift \
	}
#define FUNCTION(name)                               \
	{                                            \
		.size = SIZE_FUNCTION, .add = (name) \
	}
#define UNKNOWN                      \
	{                            \
		.size = SIZE_UNKNOWN \
	}

#define INPUT(arg, count)                                                \
	{                                                                \
		.size = ARGUMENT_INPUT, .argument = (arg), .by = (count) \
	}
#define MOVED(count)                                  \
	{                                             \
		.size = ARGUMENT_MOVED, .by = (count) \
	}
#define INTO(arg)                                        \
	{                                                \
		.size = ARGUMENT_INTO, .argument = (arg) \
	}
#define PAGES(arg, length)                                                \
	{                                                                 \
		.size = ARGUMENT_PAGES, .argument = (arg), .by = (length) \
	}
#define TIMEOUT(arg, form, error)                                                          \
	{                                                                                  \
		.size = ARGUMENT_TIMEOUT, .argument = (arg), .by = SYSCALL_TIMEOUT_##form, \
		.unit = (error)                                                            \
	}
#define SOCKET_TIMEOUT(direction)                                                           \
	{                                                                                   \
		.size = ARGUMENT_TIMEOUT, .by = SYSCALL_TIMEOUT_##direction, .unit = EAGAIN \
	}

/* How the operation lies in its argument. */
enum {
	OPERATION_0,
	OPERATION_8,
	OPERATION_FUTEX,
};

static const struct output_row rows[] = {
#define BT_WRITES(id, changed, restart, other_memory, ...)                         \
	[SYSCALL_NR_##id] = {.facts = {.changes = (changed),                       \
				       .again = (restart),                         \
				       .scratch = SYSCALL_SCRATCH_##other_memory}, \
			     .outputs = {__VA_ARGS__},                             \
			     .is_there = true},
#include "syscalls/syscall_writes.def"
#undef BT_WRITES
};

static const struct operation_row operations[] = {
#define BT_OPERATION(call, number, id, ...) \
	{.nr = SYSCALL_NR_##call, .operation = (number), .outputs = {__VA_ARGS__}},
#include "syscalls/syscall_operations.def"
#undef BT_OPERATION
#define BT_IOCTL(number, id, ...) \
	{.nr = SYSCALL_NR_ioctl, .operation = (number), .outputs = {__VA_ARGS__}},
#include "syscalls/ioctl_writes.def"
#undef BT_IOCTL
};

static const struct operation_row *find_operation(uint64_t nr, uint32_t operation)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		if (operations[i].nr == nr && operations[i].operation == operation)
			return &operations[i];
	return NULL;
}

static void add_outputs(const struct syscall_evaluation *e, const struct output *outputs);

static void add_operation(const struct syscall_evaluation *e, const struct output *o)
{
	uint32_t operation = (uint32_t)e->args[o->argument];
	const struct operation_row *row;

	if (o->unit == OPERATION_8)
		operation >>= 8;
	if (o->unit == OPERATION_FUTEX)
		operation &= FUTEX_OPERATION;
	row = find_operation(e->nr, operation);
	if (row)
		add_outputs(e, row->outputs);
	else
		output_set_unknown(e);
}

/* Without a row, and where nobody has looked whether they are the truth, the direction and size in
 * the number are a guess. Both a size of 0 and no direction are also what old numbers without
 * either look like. */
static void ioctl_request(const struct syscall_evaluation *e)
{
	uint32_t request = (uint32_t)e->args[1];
	const struct operation_row *row = find_operation(e->nr, request);

	if (row) {
		add_outputs(e, row->outputs);
		return;
	}
	if (sized_request_is_true(request)) {
		add_by_number(e);
		return;
	}
	if (!sized_request_has_size(request)) {
		output_set_unknown(e);
		return;
	}
	e->out->known = SYSCALL_RANGES_GUESSED;
	add_by_number(e);
}

/* A structure that says where, or how much, or both. */
static void add_counted(const struct syscall_evaluation *e, const struct output *o)
{
	uint64_t base = e->args[o->argument], at = base + o->place, count = !o->width;

	if (o->size == SIZE_POINTED && !output_read(e, base + o->place, &at, sizeof at))
		return;
	if (!o->width || output_read(e, base + o->count, &count, o->width))
		output_add(e, (struct syscall_range){.start = at,
						     .length = output_units(count, o->unit),
						     .when = WHEN_EVER});
}

static void add_output(const struct syscall_evaluation *e, const struct output *o)
{
	uint64_t at = e->args[o->argument], count = e->args[o->by];
	struct syscall_range r = {.start = at, .when = o->when, .unit = o->unit};

	switch (o->size) {
	case SIZE_FIXED:
		output_add_fixed(e, at, o->unit, o->when);
		break;
	case SIZE_BY_ARG:
		r.length = output_units(count, o->unit);
		output_add(e, r);
		break;
	case SIZE_RESULT:
		r.length = output_units(count, o->unit);
		r.bound = BOUND_RESULT;
		r.value = o->has_more ? SYSCALL_ENTRY_MOST : 0;
		output_add(e, r);
		break;
	case SIZE_LENGTH:
		output_add_length(e, at, count, 1);
		break;
	case SIZE_IOVECS:
		output_add_vectors(e, at, count, (struct syscall_range){.bound = BOUND_VECTOR});
		break;
	case SIZE_BY_NUMBER:
		add_by_number(e);
		break;
	case SIZE_POINTED:
	case SIZE_BEHIND:
		add_counted(e, o);
		break;
	case SIZE_OPERATION:
		add_operation(e, o);
		break;
	case SIZE_FUNCTION:
		o->add(e);
		break;
	case SIZE_UNKNOWN:
		output_set_unknown(e);
		break;
	default:
		break;
	}
}

static void add_outputs(const struct syscall_evaluation *e, const struct output *outputs)
{
	for (size_t i = 0; i < OUTPUTS_MAX; i++)
		add_output(e, &outputs[i]);
}

void syscall_outputs(const struct syscall_evaluation *e)
{
	if (e->nr < ARRAY_SIZE(rows) && rows[e->nr].is_there)
		add_outputs(e, rows[e->nr].outputs);
	else
		output_set_unknown(e);
}

const struct syscall_facts *syscall_facts(uint64_t nr)
{
	return nr < ARRAY_SIZE(rows) && rows[nr].is_there ? &rows[nr].facts : NULL;
}

int syscall_plain_outputs(uint64_t nr, struct syscall_plain_output out[SYSCALL_PLAIN_OUTPUTS])
{
	int count = 0;

	if (nr >= ARRAY_SIZE(rows) || !rows[nr].is_there)
		return -1;
	for (size_t i = 0; i < OUTPUTS_MAX; i++) {
		const struct output *o = &rows[nr].outputs[i];

		if (o->size == SIZE_NOTHING || o->size > SIZE_UNKNOWN)
			continue;
		if ((o->size != SIZE_FIXED && o->size != SIZE_BY_ARG && o->size != SIZE_RESULT) ||
		    o->when == WHEN_INTERRUPTED || count == SYSCALL_PLAIN_OUTPUTS)
			return -1;
		out[count++] = (struct syscall_plain_output){.argument = o->argument,
							     .is_counted = o->size != SIZE_FIXED,
							     .is_cut = o->size == SIZE_RESULT,
							     .is_ever = o->when == WHEN_EVER,
							     .has_more = o->has_more,
							     .by = o->by,
							     .unit = o->unit};
	}
	return count;
}

static const struct output *find_output(uint64_t nr, enum output_size size)
{
	for (size_t i = 0; nr < ARRAY_SIZE(rows) && i < OUTPUTS_MAX; i++)
		if (rows[nr].outputs[i].size == size)
			return &rows[nr].outputs[i];
	return NULL;
}

bool syscall_moved_bytes(uint64_t nr, struct syscall_moved *out)
{
	const struct output *o = find_output(nr, ARGUMENT_INPUT);

	if (!o)
		o = find_output(nr, SIZE_RESULT);
	if (o && (o->size == ARGUMENT_INPUT || o->unit == 1)) {
		*out = (struct syscall_moved){o->argument, o->by, true};
		return true;
	}
	o = find_output(nr, ARGUMENT_MOVED);
	if (o)
		*out = (struct syscall_moved){0, o->by, false};
	return o;
}

bool syscall_written_fd(uint64_t nr, unsigned *argument)
{
	const struct output *o = find_output(nr, ARGUMENT_INTO);

	if (o)
		*argument = o->argument;
	return o;
}

bool syscall_changed_pages(uint64_t nr, unsigned *start, unsigned *length)
{
	const struct output *o = find_output(nr, ARGUMENT_PAGES);

	if (!o)
		return false;
	*start = o->argument;
	*length = o->by;
	return true;
}

bool syscall_longest_wait(uint64_t nr, struct syscall_wait *out)
{
	const struct output *o = find_output(nr, ARGUMENT_TIMEOUT);

	if (o)
		*out = (struct syscall_wait){o->by, o->argument, -(int64_t)o->unit};
	return o;
}
