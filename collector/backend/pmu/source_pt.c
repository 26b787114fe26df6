/* SPDX-License-Identifier: MIT */
/* Intel PT: the processor writes into a ring of AUX area that each task has of its own, over and
 * over (mapped read-only). Stops cost next to nothing: the ring is decoded when its branches are
 * wanted, or before the code that ran goes away.
 *
 * At each stop read_records() reads from the ring of records whether something was not traced. When
 * branches are wanted, read_ring() decodes what is new. Decoding can only begin at a
 * synchronization point, which may lie before the new bytes: then bytes are decoded again, and
 * items that were entered the last time are passed over (decode_new()). A count and a sum of these
 * items (struct pt_told) say whether they came out the same; if not, a gap stands before the new
 * ones.
 *
 * Whether the processor has gone round the ring is seen from the last bytes that were read before:
 * they are kept, and compared (went_round()). */
#include "collector/backend/pmu/source_pt.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "collector/backend/pmu/perf_cpu.h"
#include "collector/backend/pmu/pt_code.h"
#include "collector/backend/pmu/ring.h"
#include "hardware_decoders/pt_flow.h"
#include "lib/array_size.h"

#define PT_FOLDER "/sys/bus/event_source/devices/intel_pt"

enum {
	AUX_WANTED =
		256 << 10, /* bytes a task: about a million branches, and decoded in some seconds */
	AUX_LEAST = 16 << 10,
	TAIL = 4096, /* of what was read, kept to see whether it was overwritten: a PSB with its
			time is in it */
	REACH = 16 << 10, /* bytes back in which a synchronization point is looked for */
};

/* Bits of attr.config, from the files in format/. */
struct pt_setup {
	long type;
	uint64_t config;
	struct perf_cpu cpu;
};

/* Items: how many, a sum of what they say, and how many instructions it took. cut: there were too
 * many of these, and what comes behind them may come out otherwise with more bytes. */
struct pt_told {
	uint64_t count, sum, spent;
	bool cut;
};

struct pt_task {
	int fd;
	struct perf_ring ring;
	bool partial; /* since the last look something was not traced, or may not have been */
	bool full; /* records had no room when they were read last: the next one says so once more
		    */
	uint64_t seen; /* offset in the AUX area up to which it was read */
	uint64_t idle;
	uint8_t tail[TAIL];  /* the bytes before that */
	size_t back;         /* bytes from the last synchronization point to it; 0: none is known */
	struct pt_told told; /* items that were told from there on */
	struct pt_code *code;
	struct flow_join join;
	struct pt_setup setup;
};

/* The lowest bit of a field of attr.config: "config:10" or "config:24-27"; -1: there is no such
 * field. */
static int field_bit(const struct perf_kernel *k, const char *name)
{
	char path[128], text[64];
	int bit;

	snprintf(path, sizeof path, PT_FOLDER "/format/%s", name);
	if (k->ops->file(k->arg, path, text, sizeof text) <= 0 ||
	    sscanf(text, "config:%d", &bit) != 1 || bit < 0 || bit > 63)
		return -1;
	return bit;
}

/* Times in the stream, and a synchronization point every 2 KiB, where the processor lets one choose
 * (0 of psb_period, which is also what stands there unless told). The kernel switches branches on
 * itself. */
static int read_setup(struct pt_setup *s, const struct perf_kernel *k, struct bt_error *err)
{
	int tsc = field_bit(k, "tsc");

	s->type = perf_pmu_type(k, "intel_pt");
	perf_cpu_read(&s->cpu, k);
	if (s->type < 0)
		return bt_fail(err, BT_E_NO_HARDWARE, 0,
			       "there is no Intel PT here (only bare machines with Intel "
			       "processors have it)");
	s->config = tsc < 0 ? 0 : 1ull << tsc;
	return 0;
}

static void close_task(const struct perf_kernel *k, struct pt_task *t)
{
	perf_ring_unmap(&t->ring, k);
	if (t->fd >= 0)
		k->ops->close(k->arg, t->fd);
}

static int open_task(const struct perf_kernel *k, pid_t tid, struct pt_task *t,
		     struct bt_error *err)
{
	struct perf_event_attr attr = {.size = sizeof attr,
				       .read_format = PERF_IDLE_FORMAT,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	int rc = read_setup(&t->setup, k, err);

	t->fd = -1;
	t->ring = (struct perf_ring){.page = NULL};
	if (rc < 0)
		return rc;
	attr.type = (uint32_t)t->setup.type;
	attr.config = t->setup.config;
	t->fd = k->ops->open(k->arg, &attr, tid, -1, -1, 0);
	if (t->fd < 0)
		return perf_refused(k, t->fd, "Intel PT", PERF_BUSY_PT, err);
	rc = perf_ring_map_aux(&t->ring, k, t->fd, AUX_WANTED, AUX_LEAST);
	if (rc < 0) {
		close_task(k, t);
		return perf_ring_refused(rc, AUX_LEAST, err);
	}
	return 0;
}

static int pt_probe(struct pmu *p, struct bt_error *err)
{
	struct pt_task *t = calloc(1, sizeof *t);
	int rc;

	if (!t)
		return bt_no_memory(err, NULL);
	rc = pt_flow_available(err);
	if (!rc)
		rc = open_task(p->kernel, 0, t, err);
	if (!rc) {
		snprintf(p->how, sizeof p->how,
			 "every branch of user code, the last %u KiB of Intel PT of each thread",
			 (unsigned)(t->ring.aux_size >> 10));
		if (t->ring.aux_size < AUX_WANTED)
			snprintf(p->lacking, sizeof p->lacking,
				 "more would need kernel.perf_event_mlock_kb or ulimit -l raised");
		close_task(p->kernel, t);
	}
	free(t);
	return rc;
}

static int pt_attach(struct pmu *p, struct task *task, void **state, struct bt_error *err)
{
	struct pt_task *t = calloc(1, sizeof *t);
	int rc;

	if (!t)
		return bt_no_memory(err, NULL);
	rc = open_task(p->kernel, task->host_tid, t, err);
	if (rc < 0) {
		free(t);
		return rc;
	}
	t->code = calloc(1, sizeof *t->code);
	if (!t->code) {
		close_task(p->kernel, t);
		free(t);
		return bt_no_memory(err, NULL);
	}
	*state = t;
	return 0;
}

static void pt_detach(struct pmu *p, struct task *task, void *state)
{
	struct pt_task *t = state;

	(void)task;
	close_task(p->kernel, t);
	free(t->code);
	free(t);
}

/* --- the ring --- */

/* Bytes of a ring from an offset on, around its end. */
static void copy_ring(const uint8_t *ring, uint64_t size, uint64_t from, void *out, size_t n)
{
	size_t at = (size_t)(from % size), first = (size_t)size - at < n ? (size_t)size - at : n;

	memcpy(out, ring + at, first);
	memcpy((uint8_t *)out + first, ring, n - first);
}

static void copy_out(const struct perf_ring *r, uint64_t from, uint8_t *out, size_t n)
{
	copy_ring(r->aux, r->aux_size, from, out, n);
}

/* QUIRK(pt-partial): only the ring of records says that something was not traced. There is a record
 * of 32 bytes for every switch away from the task: for an AUX area that is overwritten
 * pt_event_stop() in arch/x86/events/intel/pt.c tells its whole size, and perf_aux_output_end() in
 * kernel/events/ring_buffer.c drops none that tells of bytes. So they are read at every stop. Only
 * switches between two stops are left: where the task is preempted, or sleeps more than once in one
 * call. */
static void read_records(struct pt_task *t)
{
	const struct perf_ring *r = &t->ring;
	struct {
		struct perf_event_header header;
		uint64_t offset, size, flags;
	} record;
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE),
		 tail = r->page->data_tail;
	bool known = t->full;

	if (head == tail)
		return;
	t->full = head - tail >
		  r->size - 1 - sizeof record; /* the kernel leaves a byte free (CIRC_SPACE) */
	t->partial |= t->full;
	while (head - tail >= sizeof record.header) {
		copy_ring(r->data, r->size, tail, &record.header, sizeof record.header);
		if (record.header.size < sizeof record.header || record.header.size > head - tail) {
			t->partial = true;
			break;
		}
		if (record.header.type == PERF_RECORD_AUX && record.header.size >= sizeof record) {
			copy_ring(r->data, r->size, tail, &record, sizeof record);
			t->partial |=
				(record.flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL |
						 PERF_AUX_FLAG_COLLISION)) != 0;
		}
		t->partial |= record.header.type == PERF_RECORD_LOST && !known;
		known = false;
		tail += record.header.size;
	}
	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
}

static size_t tail_size(const struct perf_ring *r)
{
	return r->aux_size / 4 < TAIL ? (size_t)r->aux_size / 4 : TAIL;
}

/* Whether the processor has gone round the ring since the last time: the bytes before the place
 * that was reached then have changed. */
static bool went_round(const struct pt_task *t)
{
	uint8_t now[TAIL];
	size_t n = tail_size(&t->ring);

	copy_out(&t->ring, t->seen + t->ring.aux_size - n, now, n);
	return memcmp(now, t->tail, n) != 0;
}

/* --- decoding --- */

static void tell_item(struct pt_told *told, const struct flow_item *item)
{
	const uint64_t words[] = {item->kind, item->branch.kind, item->branch.flags,
				  item->branch.from, item->branch.to};

	told->count++;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		told->sum = (told->sum ^ words[i]) * 0x100000001b3; /* FNV-1a */
}

static void enter_item(struct task *task, struct pt_task *t, const struct flow_item *item)
{
	struct bt_branch b;

	if (!flow_join(&t->join, item, &b))
		return;
	if (b.kind == BT_BRANCH_GAP) {
		pmu_gap(task, (enum bt_gap_reason)b.to);
	} else {
		task_epoch(task);
		task_branch(task, &b, false);
	}
}

/* Decodes bytes. The first items, as many as *told says, are known already; the others are entered
 * if they are wanted, and *told is all of them then. False: the first ones are no longer what they
 * were, or there is no memory (a gap); nothing was entered. */
static bool decode_trace(struct task *task, struct pt_task *t, struct slice bytes,
			 enum bt_gap_reason head, bool enter, struct pt_told *told)
{
	struct pt_flow_config c = {.bytes = bytes,
				   .intel = t->setup.cpu.intel,
				   .family = (uint16_t)t->setup.cpu.family,
				   .model = (uint8_t)t->setup.cpu.model,
				   .stepping = (uint8_t)t->setup.cpu.stepping,
				   .head = head,
				   .known = told->spent,
				   .code = pt_code_read,
				   .arg = t->code};
	const struct pt_told known = *told;
	struct flow_item item;
	struct pt_flow *flow;
	struct bt_error err;

	*told = (struct pt_told){0};
	if (pt_flow_new(&flow, &c, &err)) {
		t->join.left = false;
		pmu_gap(task, BT_GAP_LOST);
		return false;
	}
	t->code->item = 0;
	t->code->again = known.count > 0;
	while (pt_flow_next(flow, &item) == 1) {
		if (item.kind == FLOW_SYNC)
			continue;
		if (enter && told->count >= known.count)
			enter_item(task, t, &item);
		tell_item(told, &item);
		t->code->item = told->count;
		t->code->again = told->count < known.count;
		if (told->count == known.count && told->sum != known.sum)
			break;
	}
	told->spent = pt_flow_spent(flow);
	told->cut = pt_flow_ran_out(flow);
	pt_flow_free(flow);
	return told->count > known.count || (told->count == known.count && told->sum == known.sum);
}

/* --- a look --- */

/* Forgets what was told: the next look decodes what is new then. */
static void forget_trace(struct pt_task *t)
{
	t->back = 0;
	t->told = (struct pt_told){0};
	pt_code_clear(t->code);
}

/* Decodes the ring from an offset on, at first what was told already. */
static bool decode_ring(struct task *task, struct pt_task *t, uint64_t from, size_t n,
			enum bt_gap_reason head)
{
	uint8_t *bytes = malloc(n);
	bool same;

	if (!bytes) {
		t->join.left = false;
		pmu_gap(task, BT_GAP_LOST);
		return false;
	}
	copy_out(&t->ring, from, bytes, n);
	same = decode_trace(task, t, slice_of(bytes, n), head, true, &t->told);
	free(bytes);
	return same;
}

/* QUIRK(pt-sync): synchronization points come by the number of bytes, not at every stop: Intel SDM
 * volume 3, RTIT_STATUS.PacketByteCnt, which the kernel clears once (pt_config() in
 * arch/x86/events/intel/pt.c). So decoding begins with the last one, and passes over what it told
 * before. */
static void decode_new(struct task *task, struct pt_task *t, size_t n)
{
	uint64_t size = t->ring.aux_size;

	if (t->back && t->back + n <= size &&
	    decode_ring(task, t, t->seen + size - t->back, t->back + n, BT_GAP_UNDECODED)) {
		t->back += n;
		return;
	}
	forget_trace(t);
	(void)decode_ring(task, t, t->seen, n, BT_GAP_UNDECODED);
}

/* From where to decode the next time: a synchronization point in the n bytes up to head, if there
 * is one. */
static void find_back(struct task *task, struct pt_task *t, uint64_t head, size_t n)
{
	uint64_t size = t->ring.aux_size;
	size_t some = n < REACH ? n : REACH, at;
	uint8_t *bytes;

	some = some < size ? some : size;
	bytes = malloc(some);
	if (!bytes) {
		forget_trace(t);
		return;
	}
	copy_out(&t->ring, head + size - some, bytes, some);
	at = pt_flow_last_sync(slice_of(bytes, some));
	if (at == some) {
		if (t->back > REACH || t->told.cut)
			forget_trace(t);
		free(bytes);
		return;
	}
	forget_trace(t);
	if (decode_trace(task, t, slice_of(bytes + at, some - at), BT_GAP_UNDECODED, false,
			 &t->told) &&
	    !t->told.cut)
		t->back = some - at;
	free(bytes);
}

/* aux_head is an offset in the ring here, and does not count rounds (pt_update_head() in
 * arch/x86/events/intel/pt.c). */
static void read_ring(struct pmu *p, struct task *task, struct pt_task *t)
{
	uint64_t size = t->ring.aux_size,
		 head = __atomic_load_n(&t->ring.page->aux_head, __ATOMIC_ACQUIRE) % size;
	bool all = went_round(t),
	     missing = perf_was_idle(p->kernel, &t->fd, 1, &t->idle) || t->partial;
	size_t n = (size_t)(all ? size : (head + size - t->seen) % size),
	       old = missing && !all ? t->back : 0;

	t->code->task = task;
	t->code->look++;
	/* QUIRK(event-idle): branches may be missing anywhere in what is new. */
	if (all || missing) {
		t->join.left = false;
		pmu_gap(task, all && !missing ? BT_GAP_OVERWRITTEN : BT_GAP_LOST);
		forget_trace(t);
	}
	if (all && !missing)
		(void)decode_ring(task, t, head, n, BT_GAP_OVERWRITTEN);
	else if (n && !missing)
		decode_new(task, t, n);
	if (n || missing)
		find_back(task, t, head, old + n);
	t->partial = false;
	t->seen = head;
	copy_out(&t->ring, head + size - tail_size(&t->ring), t->tail, tail_size(&t->ring));
}

/* Calls behind whose entry the code that ran may be gone. */
static bool takes_code_away(const struct task *task)
{
	switch (task->syscall.nr) {
	case SYS_execve:
	case SYS_execveat:
	case SYS_munmap:
	case SYS_mremap:
	case SYS_mprotect:
		return true;
	default:
		return false;
	}
}

static void pt_capture(struct pmu *p, struct task *task, void *state, enum capture_why why,
		       const siginfo_t *info)
{
	struct pt_task *t = state;

	(void)info;
	read_records(t);
	if (why == CAPTURE_STOP && !takes_code_away(task))
		return;
	/* The event is off now, so head and ring are the kernel's last word. */
	(void)p->kernel->ops->ioctl(p->kernel->arg, t->fd, PERF_EVENT_IOC_DISABLE, 0);
	read_ring(p, task, t);
	(void)p->kernel->ops->ioctl(p->kernel->arg, t->fd, PERF_EVENT_IOC_ENABLE, 0);
}

const struct branch_source_ops pt_source = {
	.name = "pt",
	.text = "Intel PT: every branch of user code",
	.whole = true,
	.probe = pt_probe,
	.attach = pt_attach,
	.detach = pt_detach,
	.capture = pt_capture,
};
