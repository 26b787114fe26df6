/* SPDX-License-Identifier: MIT */
/* perf_ops as Linux answers (kernel/events/core.c, arch/x86/events): which error, in which order.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/simulated/simulated.h"

enum {
	CAP_PERFMON_BIT = 38,
};

const struct sim_device *const sim_devices[] = {
	/* The order in which they hear of a switch: records of it are written before the other
	 * events stop. Of a branch: it is recorded before what the LBR's options make of it
	 * (preempt). */
	&sim_switches, &sim_bts, &sim_pt, &sim_lbr, &sim_counter, NULL,
};

/* ---- Tasks and what they do ---- */

unsigned sim_device_number(const struct sim_device *d)
{
	unsigned i = 0;

	while (sim_devices[i] != d)
		i++;
	return i;
}

struct sim_task *sim_task(struct sim *s, pid_t tid)
{
	struct sim_task *t = s->tasks;

	while (t && t->tid != tid)
		t = t->next;
	if (t)
		return t;
	t = calloc(1, sizeof *t);
	if (!t)
		abort();
	t->tid = tid;
	t->next = s->tasks;
	s->tasks = t;
	return t;
}

static void free_task(struct sim_task *t)
{
	for (unsigned i = 0; i < SIM_DEVICES; i++)
		if (t->device[i] && sim_devices[i]->task_gone)
			sim_devices[i]->task_gone(t);
	for (unsigned i = 0; i < SIM_DEVICES; i++)
		free(t->device[i]);
	branch_ring_release(&t->ring);
	free(t);
}

void sim_task_gone(struct sim *s, pid_t tid)
{
	for (struct sim_task **at = &s->tasks; *at; at = &(*at)->next)
		if ((*at)->tid == tid) {
			struct sim_task *t = *at;

			*at = t->next;
			free_task(t);
			return;
		}
}

void sim_task_renamed(struct sim *s, struct sim_task *t, pid_t tid)
{
	for (unsigned i = 0; i < SIM_FDS; i++)
		if (s->events[i].used && s->events[i].tid == t->tid)
			s->events[i].tid = tid;
	t->tid = tid;
}

struct sim_event *sim_event_of(struct sim *s, const struct sim_device *d, pid_t tid)
{
	for (unsigned i = 0; i < SIM_FDS; i++)
		if (s->events[i].used && s->events[i].tid == tid &&
		    sim_devices[s->events[i].device] == d)
			return &s->events[i];
	return NULL;
}

bool sim_every(uint64_t n, uint64_t count) { return n && count % n == 0; }

/* x86_add_exclusive. */
bool sim_lbr_is_excluded(const struct sim *s)
{
	return s->o.bts_used || (s->o.pt_used && !s->o.coexist);
}

void sim_branch(struct sim *s, struct sim_task *t, const struct bt_branch *b)
{
	t->rip = b->to;
	for (unsigned i = 0; sim_devices[i]; i++)
		if (sim_devices[i]->branch)
			sim_devices[i]->branch(s, t, b);
}

void sim_switch_in(struct sim *s, struct sim_task *t)
{
	if (t->on_cpu)
		return;
	t->on_cpu = true;
	t->switches++;
	t->began = t->time;
	t->idle = sim_every(s->o.idle, t->switches);
	for (unsigned i = 0; sim_devices[i]; i++)
		if (sim_devices[i]->switch_in)
			sim_devices[i]->switch_in(s, t);
}

/* Of two PMUs, one has the task. */
static void add_time(struct sim_event *e, const struct sim_task *t)
{
	e->time_enabled += t->time - t->began;
	if (!t->idle && e->attr.config >> 32 != 5)
		e->time_running += t->time - t->began;
}

void sim_switch_out(struct sim *s, struct sim_task *t)
{
	if (!t->on_cpu)
		return;
	for (unsigned i = 0; sim_devices[i]; i++)
		if (sim_devices[i]->switch_out)
			sim_devices[i]->switch_out(s, t);
	for (unsigned i = 0; i < SIM_FDS; i++)
		if (s->events[i].used && s->events[i].tid == t->tid)
			add_time(&s->events[i], t);
	t->on_cpu = false;
}

void sim_signal(struct sim *s, struct sim_task *t, const siginfo_t *info)
{
	for (unsigned i = 0; sim_devices[i]; i++)
		if (sim_devices[i]->signal)
			sim_devices[i]->signal(s, t, info);
}

/* ---- Rings ---- */

static void put(uint8_t *data, size_t size, uint64_t at, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		data[(at + i) & (size - 1)] = ((const uint8_t *)bytes)[i];
}

/* __perf_output_begin: CIRC_SPACE leaves a byte free; what found no room is counted, and told
 * before the next record that does. */
static bool write_forward(struct sim_event *e, struct perf_event_mmap_page *page, size_t room,
			  const void *record, size_t size)
{
	struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} lost = {.header = {.type = PERF_RECORD_LOST, .size = sizeof lost}, .lost = e->lost};
	uint8_t *data = e->ring + e->ring_size - room;
	size_t before = e->lost ? sizeof lost : 0;
	uint64_t head = page->data_head;

	if (!e->overwrite && head + before + size - page->data_tail > room - 1) {
		e->lost++;
		return false;
	}
	put(data, room, head, &lost, before);
	put(data, room, head + before, record, size);
	page->data_head = head + before + size;
	e->lost = 0;
	return true;
}

bool sim_ring_write(struct sim_event *e, const void *record, size_t size)
{
	struct perf_event_mmap_page *page;
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE), room;

	if (e->output)
		e = e->output;
	if (!e->ring)
		return false;
	page = (struct perf_event_mmap_page *)e->ring;
	room = e->ring_size - page_size;
	if (!e->attr.write_backward)
		return write_forward(e, page, room, record, size);
	page->data_head -= size;
	put(e->ring + page_size, room, page->data_head, record, size);
	return true;
}

/* ---- The calls ---- */

static bool capable(const struct sim *s)
{
	return (s->o.kernel >= 508 && s->o.capabilities >> CAP_PERFMON_BIT & 1) ||
	       s->o.capabilities >> CAP_SYS_ADMIN & 1;
}

/* The rules that hold for every event, before it is known whose it is (perf_copy_attr, SYSCALL
 * perf_event_open). */
static int check_attr(const struct sim *s, const struct perf_event_attr *a)
{
	/* Bits of branch_sample_type by version: 18 in 4.0, 17 HW_INDEX 5.7, 18 PRIV_SAVE 6.1, 19
	 * COUNTERS 6.8. */
	unsigned known = s->o.kernel >= 608   ? 20
			 : s->o.kernel >= 601 ? 19
			 : s->o.kernel >= 507 ? 18
					      : 17;
	uint64_t branch = a->branch_sample_type;

	if (a->sample_type & PERF_SAMPLE_BRANCH_STACK) {
		if (branch >> known ||
		    !(branch & ~(uint64_t)(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL |
					   PERF_SAMPLE_BRANCH_HV)))
			return -EINVAL;
		if (branch & PERF_SAMPLE_BRANCH_KERNEL && s->o.paranoid > 1 && !capable(s))
			return -EACCES;
	}
	if (a->write_backward && s->o.kernel < 407)
		return -EINVAL;
	/* security_perf_event_open() and its kin of Debian and Android: above 2, nobody else. */
	if (s->o.paranoid > 2 && !capable(s))
		return -EACCES;
	if (!a->exclude_kernel && s->o.paranoid > 1 && !capable(s))
		return -EACCES;
	return 0;
}

static int sim_open(void *arg, const struct perf_event_attr *attr, pid_t tid, int cpu, int group,
		    unsigned long flags)
{
	struct sim *s = arg;
	int rc;

	(void)flags;
	if (s->o.nosys)
		return -ENOSYS;
	if (s->o.seccomp > 1)
		abort();
	if (s->o.seccomp)
		return -EPERM;
	rc = check_attr(s, attr);
	if (rc)
		return rc;
	for (unsigned d = 0; sim_devices[d]; d++) {
		rc = sim_devices[d]->claims(s, attr, tid);
		if (rc < 0)
			return rc;
		for (int fd = 0; rc && fd < SIM_FDS; fd++) {
			struct sim_event *e = &s->events[fd];

			if (e->used)
				continue;
			*e = (struct sim_event){.used = true,
						.attr = *attr,
						.tid = tid,
						.cpu = cpu,
						.group = group,
						.enabled = !attr->disabled,
						.device = d};
			if (sim_devices[d]->opened)
				sim_devices[d]->opened(s, e);
			return SIM_FD_BASE + fd;
		}
		if (rc)
			return -EMFILE;
	}
	return -ENOENT;
}

static struct sim_event *event_at(struct sim *s, int fd)
{
	if (fd < SIM_FD_BASE || fd >= SIM_FD_BASE + SIM_FDS || !s->events[fd - SIM_FD_BASE].used)
		abort(); /* ours is the only caller: a bug */
	return &s->events[fd - SIM_FD_BASE];
}

/* A context of a task: hardware's, or software's for what is in no group of hardware's (SYSCALL
 * perf_event_open). */
static bool is_of_software(const struct sim *s, const struct sim_event *e)
{
	return (e->group < 0 ? e : &s->events[e->group - SIM_FD_BASE])->attr.type ==
	       PERF_TYPE_SOFTWARE;
}

/* perf_event_set_output: the ring must be there, of the same task (before Linux 6.3: in the same
 * context of it), with the same clock and direction. */
static int set_output(const struct sim *s, struct sim_event *e, struct sim_event *into)
{
	if (s->o.kernel < 603 && is_of_software(s, e) != is_of_software(s, into))
		return -EINVAL;
	if (e == into || !into->ring || e->tid != into->tid ||
	    e->attr.use_clockid != into->attr.use_clockid ||
	    (e->attr.use_clockid && e->attr.clockid != into->attr.clockid) ||
	    e->attr.write_backward != into->attr.write_backward || e->ring)
		return -EINVAL;
	e->output = into;
	return 0;
}

static int sim_ioctl(void *arg, int fd, unsigned long request, unsigned long value)
{
	struct sim_event *e = event_at(arg, fd);

	if (request == PERF_EVENT_IOC_SET_OUTPUT)
		return set_output(arg, e, event_at(arg, (int)value));
	if (request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE) {
		e->enabled = request == PERF_EVENT_IOC_ENABLE;
		return 0;
	}
	return -ENOTTY;
}

static void *sim_map(void *arg, int fd, size_t length, int prot, uint64_t offset, int *error)
{
	struct sim *s = arg;
	struct sim_event *e = event_at(s, fd);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), data = offset ? length : length - page;
	void *at;

	if (length % page || data & (data - 1) ||
	    (e->attr.write_backward && prot & PROT_WRITE && !offset)) {
		*error = EINVAL;
		return NULL;
	}
	/* A table of few sizes: the AUX area is a power of two of pages, where the page says it is.
	 */
	if (offset && (!e->ring || ((struct perf_event_mmap_page *)e->ring)->aux_offset != offset ||
		       ((struct perf_event_mmap_page *)e->ring)->aux_size != length)) {
		*error = EINVAL;
		return NULL;
	}
	if (length > s->o.mlock + s->o.memlock && !(s->o.capabilities >> CAP_IPC_LOCK & 1)) {
		*error = EPERM;
		return NULL;
	}
	at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED) {
		*error = errno;
		return NULL;
	}
	if (offset) {
		e->aux = at;
		e->aux_size = length;
	} else {
		e->ring = at;
		e->ring_size = length;
		e->overwrite = !(prot & PROT_WRITE);
	}
	return at;
}

static void sim_unmap(void *arg, void *at, size_t length)
{
	struct sim *s = arg;

	for (unsigned i = 0; i < SIM_FDS; i++) {
		if (s->events[i].ring == at)
			s->events[i].ring = NULL;
		if (s->events[i].aux == at)
			s->events[i].aux = NULL;
	}
	munmap(at, length);
}

static ssize_t sim_read(void *arg, int fd, void *out, size_t n)
{
	const struct sim_event *e = event_at(arg, fd);
	uint64_t v[3] = {e->count};
	size_t len = 1;

	if (e->attr.read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		v[len++] = e->time_enabled;
	if (e->attr.read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		v[len++] = e->time_running;
	if (n < len * sizeof v[0])
		return -ENOSPC;
	memcpy(out, v, len * sizeof v[0]);
	return (ssize_t)(len * sizeof v[0]);
}

static void sim_close(void *arg, int fd)
{
	struct sim *s = arg;
	struct sim_event *e = event_at(s, fd);

	if (sim_devices[e->device]->closed)
		sim_devices[e->device]->closed(s, e);
	free(e->own);
	*e = (struct sim_event){.used = false};
}

/* Files of the machine itself. */
static const char *own_file(struct sim *s, const char *path)
{
	static const char *const pmus[] = {"cpu", "cpu_core", "cpu_atom"};

	for (unsigned i = 0; i < 3; i++) {
		snprintf(s->text, sizeof s->text, "/sys/bus/event_source/devices/%s/type", pmus[i]);
		if (strcmp(s->text, path) != 0)
			continue;
		if (!s->o.pmu || (i > 0) != s->o.hybrid)
			return NULL;
		snprintf(s->text, sizeof s->text, "%u\n", i ? 3 + i : 4);
		return s->text;
	}
	if (!strcmp(path, "/proc/sys/kernel/perf_event_paranoid")) {
		snprintf(s->text, sizeof s->text, "%d\n", (int)s->o.paranoid);
		return s->text;
	}
	if (!strcmp(path, "/proc/cpuinfo")) {
		snprintf(s->text, sizeof s->text,
			 "processor\t: 0\nvendor_id\t: %s\ncpu family\t: 6\nmodel\t\t: %u\nmodel "
			 "name\t: Simulated model 9\nstepping\t: 3\n"
			 "flags\t\t: fpu%s dtes64 ibts%s\nbugs\t\t: none\n\n",
			 s->o.amd ? "AuthenticAMD" : "GenuineIntel", (unsigned)s->o.model,
			 s->o.bts && s->o.pmu && !s->o.amd ? " bts" : "",
			 s->o.arch ? " arch_lbr" : "");
		return s->text;
	}
	return NULL;
}

static ssize_t sim_file(void *arg, const char *path, char *out, size_t size)
{
	struct sim *s = arg;
	const char *text = own_file(s, path);

	for (unsigned i = 0; !text && sim_devices[i]; i++)
		if (sim_devices[i]->file)
			text = sim_devices[i]->file(s, path);
	if (!text)
		return -ENOENT;
	return snprintf(out, size, "%s", text);
}

static uint64_t sim_capabilities(void *arg) { return ((struct sim *)arg)->o.capabilities; }

static uint64_t sim_memlock(void *arg) { return ((struct sim *)arg)->o.memlock; }

const struct perf_ops sim_perf_ops = {
	.open = sim_open,
	.ioctl = sim_ioctl,
	.map = sim_map,
	.unmap = sim_unmap,
	.read = sim_read,
	.close = sim_close,
	.file = sim_file,
	.capabilities = sim_capabilities,
	.memlock = sim_memlock,
	.snap_open = sim_snap_open,
	.snap_watch = sim_snap_watch,
	.snap_forget = sim_snap_forget,
	.snap_read = sim_snap_read,
	.snap_close = sim_snap_close,
};

void sim_release(struct sim *s)
{
	while (s->tasks)
		sim_task_gone(s, s->tasks->tid);
	for (unsigned i = 0; i < SIM_DEVICES; i++)
		free(s->own[i]);
}
