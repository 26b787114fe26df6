/* SPDX-License-Identifier: MIT */
/* A kernel and a processor with performance counters, for machines that have none: the program runs
 * under the stepper, whose branches are what the processor "records"; the table of calls (perf_ops)
 * answers as Linux does, errors included. Not a mock of our code: it knows nothing of the sources.
 *   kernel.c   perf_ops: descriptors, rules of perf_event_open, files, rings
 *   runner.c   the runner below the pmu backend: steps, tells the devices of branches and switches
 *   lbr.c      a device: the last branch record, bpf_get_branch_snapshot(), the BPF programs' map,
 * samples bts.c      two devices: the branch trace store, and the event that writes a task's
 * switches pt.c       a device: Intel PT; pt_writer: its packets options.c  what machine it is:
 * BTREC_SIMULATED="depth=16,vendor=amd,..." counter.c  a device: counters that are opened and not
 * read doctor.c   what btrec doctor asks of it main.c     btrec run and btrec doctor over all that
 * Further devices are further rows of sim_devices. */
#ifndef BT_SIMULATED_H
#define BT_SIMULATED_H

#include "collector/backend/backend.h"
#include "collector/backend/pmu/lbr_bpf.h"
#include "collector/backend/pmu/perf_ops.h"
#include "collector/doctor/machine.h"

enum {
	SIM_FDS = 1024,
	SIM_FD_BASE = 100000, /* no descriptor of this process */
	SIM_DEVICES = 8,
};

/* The machine: one number each, by name (options.def). */
struct sim_options {
#define SIM_OPTION(name, value, text) uint64_t name;
#include "tests/simulated/options.def"
#undef SIM_OPTION
};

struct sim;
struct sim_event;

/* One thread, as kernel and processor see it. */
struct sim_task {
	struct sim_task *next;
	pid_t tid;
	bool on_cpu;
	uint64_t rip;              /* where user code will go on, as far as known */
	bool calls;                /* of one that is switched away from: by a system call */
	uint64_t time;             /* on the CPU so far, in steps */
	uint64_t began;            /* time when it was switched to */
	bool idle;                 /* its events have got no counter this time */
	uint64_t switches;         /* times that it was switched to */
	struct branch_ring ring;   /* what the stepper entered, instead of into the task's own */
	uint64_t seen;             /* entries of it that the devices know of */
	void *device[SIM_DEVICES]; /* each device's own; malloc */
};

struct sim_event {
	bool used;
	struct perf_event_attr attr;
	pid_t tid;
	int cpu;
	int group; /* descriptor of its leader, or -1 */
	bool enabled;
	unsigned device; /* whose */
	uint64_t count, time_enabled, time_running;
	/* The ring, once mapped: page 0 and data. */
	uint8_t *ring;
	size_t ring_size;         /* with page 0 */
	bool overwrite;           /* mapped read-only */
	uint64_t lost;            /* records that found no room, not told yet */
	struct sim_event *output; /* whose ring it writes into instead of its own
				     (PERF_EVENT_IOC_SET_OUTPUT) */
	uint8_t *aux;
	size_t aux_size;
	void *own; /* the device's; malloc */
};

/* A kind of events and what the processor does for it. All operations but claims may be NULL. */
struct sim_device {
	const char *name;
	/* Whether events with these attributes are its own: 1; or -errno: they would be, and cannot
	 * be opened; 0: somebody else's. */
	int (*claims)(struct sim *s, const struct perf_event_attr *attr, pid_t tid);
	void (*opened)(struct sim *s, struct sim_event *e);
	void (*closed)(struct sim *s, struct sim_event *e);
	/* What the device has of the task (in its place of device[]) is about to be freed. */
	void (*task_gone)(struct sim_task *t);
	/* The task executed a branch. */
	void (*branch)(struct sim *s, struct sim_task *t, const struct bt_branch *b);
	/* It is about to be switched away from; has been switched to. */
	void (*switch_out)(struct sim *s, struct sim_task *t);
	void (*switch_in)(struct sim *s, struct sim_task *t);
	/* A signal was raised by an instruction of it, and not delivered yet. */
	void (*signal)(struct sim *s, struct sim_task *t, const siginfo_t *info);
	/* A file of sysfs or proc that it adds: the text, or NULL. */
	const char *(*file)(struct sim *s, const char *path);
};

extern const struct sim_device *const sim_devices[]; /* a NULL ends them */
extern const struct sim_device sim_lbr, sim_bts, sim_counter, sim_pt, sim_switches;

struct sim {
	struct sim_options o;
	struct sim_task *tasks;
	struct sim_event events[SIM_FDS];
	char text[PERF_FILE_MAX]; /* of a file */
	void *own[SIM_DEVICES];   /* each device's, for the machine */
};

/* ---- kernel.c ---- */

extern const struct perf_ops sim_perf_ops;

struct sim_task *sim_task(struct sim *s, pid_t tid); /* made when it is new */
void sim_task_gone(struct sim *s, pid_t tid);
void sim_task_renamed(struct sim *s, struct sim_task *t,
		      pid_t tid); /* an execve of a thread that does not lead */
unsigned sim_device_number(const struct sim_device *d);

/* Writes a record into the event's ring as the kernel does: forward; or backward (write_backward);
 * over old ones where it is mapped read-only; else with a record of what was lost before. False: no
 * room. */
bool sim_ring_write(struct sim_event *e, const void *record, size_t size);

/* The first event of a task that a device has, or NULL. */
struct sim_event *sim_event_of(struct sim *s, const struct sim_device *d, pid_t tid);

/* Whether this one of so many is meant; n 0: none is. */
bool sim_every(uint64_t n, uint64_t count);

/* Whether the record of branches (the LBR's, and the branch event's of period 1) is excluded by
 * others. */
bool sim_lbr_is_excluded(const struct sim *s);

/* What all devices are told. */
void sim_branch(struct sim *s, struct sim_task *t, const struct bt_branch *b);
void sim_switch_in(struct sim *s, struct sim_task *t);
void sim_switch_out(struct sim *s, struct sim_task *t);
void sim_signal(struct sim *s, struct sim_task *t, const siginfo_t *info);

void sim_release(struct sim *s);

/* ---- lbr.c: the BPF programs, for perf_ops ---- */

int sim_snap_open(void *arg, void **snap, struct snap_info *info, struct bt_error *err);
int sim_snap_watch(void *arg, void *snap, pid_t tid);
void sim_snap_forget(void *arg, void *snap, pid_t tid);
int sim_snap_read(void *arg, void *snap, pid_t tid, struct snap_read *out);
void sim_snap_close(void *arg, void *snap);

/* ---- runner.c ---- */

/* A runner's operations carry no argument of their own: the machine is found through the kernel's
 * table (pmu.kernel->arg). */
extern const struct backend_ops sim_runner_ops;

/* ---- doctor.c ---- */

/* kernel: sim_perf_ops over the machine. */
struct machine sim_machine(struct perf_kernel *kernel);

/* What comes of TRY_PERF, TRY_BPF and TRY_SNAPSHOT. */
int sim_try(struct sim *s, enum machine_attempt what);

/* ---- options.c ---- */

/* Reads "name=value,...". Returns 0 or -BT_E_MISUSE. */
int sim_options_parse(struct sim_options *o, const char *text, struct bt_error *err) BT_MUST_USE;

#endif
