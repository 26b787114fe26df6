/* SPDX-License-Identifier: MIT */
/* The BPF programs (snapshot.bpf.c) are compiled when btrec is built and lie in this program as
 * bytes. libbpf loads them: first those that use the kernel's own counts of valid entries, and
 * where the kernel refuses these, those without.
 *
 * Kernel and recorder share one table of LBR_TASKS slots, mapped here for reading. A watched task
 * has a slot; a map of the kernel's tells the programs which. At each switch away from the task
 * they write a window into its slot, over the oldest of LBR_WINDOWS; what the record held at a
 * fault has a place of its own. A read gives the windows that came since the one before, and how
 * many were overwritten meanwhile.
 *
 * A slot keeps what the task before left in it. Reading begins behind that.
 *
 * Built without BPF, every call says so. */
#include "collector/backend/pmu/lbr_bpf.h"

#include <errno.h>

#include "config.h"

#ifdef HAVE_BPF

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/array_size.h"
#include "lib/late_library.h"
#include "lib/page.h"

/* clang-format off */
#define LIBBPF_FUNCTIONS(F) \
	F(bpf_link__destroy) F(bpf_map__fd) F(bpf_map__set_initial_value) F(bpf_map__value_size) \
	F(bpf_map_delete_elem) F(bpf_map_update_elem) F(bpf_object__close) \
	F(bpf_object__find_map_by_name) F(bpf_object__find_program_by_name) F(bpf_object__load) \
	F(bpf_object__open_mem) F(bpf_prog_test_run_opts) F(bpf_program__attach_raw_tracepoint) \
	F(bpf_program__fd) F(bpf_program__set_autoload) F(libbpf_set_print)
/* clang-format on */
#define LIBBPF_SYMBOL(name) LATE_SYMBOL(struct libbpf, name)

struct libbpf {
	LIBBPF_FUNCTIONS(LATE_FUNCTION)
};

static const struct late_symbol libbpf_symbols[] = {LIBBPF_FUNCTIONS(LIBBPF_SYMBOL)};

/* The compiled programs: snapshot.bpf.c. make runs at the top of the build. */
__asm__(".pushsection .rodata\n"
	".balign 8\n"
	".globl lbr_bpf_image, lbr_bpf_image_end\n"
	".hidden lbr_bpf_image, lbr_bpf_image_end\n"
	"lbr_bpf_image: .incbin \"collector/backend/pmu/snapshot.bpf.o\"\n"
	"lbr_bpf_image_end: .byte 0\n"
	".popsection\n");

extern const char lbr_bpf_image[], lbr_bpf_image_end[];

struct lbr_bpf {
	struct libbpf bpf;
	struct bpf_object *object;
	struct bpf_link *links[2];
	int slots;
	struct lbr_task *tasks;
	size_t mapped;
	uint64_t read[LBR_TASKS]; /* of each slot: windows that were taken, or left behind by the
				     task before */
	uint64_t forgotten[LBR_TASKS]; /* the fault that the task before left behind */
	pid_t tid[LBR_TASKS];          /* 0: free */
};

/* Programs by name: with the kernel's own counts, and without. */
static const char *const variants[2][2] = {{"generate_counted", "switch_counted"},
					   {"generate_plain", "switch_plain"}};

static int discard_message(enum libbpf_print_level level, const char *format, va_list ap)
{
	(void)level;
	(void)format;
	(void)ap;
	return 0;
}

static bool set_namespace(const struct libbpf *bpf, struct bpf_object *o)
{
	struct bpf_map *m = bpf->bpf_object__find_map_by_name(o, ".rodata");
	uint64_t where[2]; /* pidns_dev, pidns_ino: the only ones there */
	struct stat st;

	if (!m || stat("/proc/self/ns/pid", &st))
		return false;
	where[0] = st.st_dev;
	where[1] = st.st_ino;
	return !bpf->bpf_map__set_initial_value(m, where, sizeof where);
}

static struct bpf_object *load_programs(const struct libbpf *bpf, int variant, int *error)
{
	struct bpf_object *o = bpf->bpf_object__open_mem(
		lbr_bpf_image, (size_t)(lbr_bpf_image_end - lbr_bpf_image), NULL);
	const char *other[2] = {variants[!variant][0], variants[!variant][1]};

	if (!o) {
		*error = errno;
		return NULL;
	}
	for (int i = 0; i < 2; i++)
		bpf->bpf_program__set_autoload(bpf->bpf_object__find_program_by_name(o, other[i]),
					       false);
	*error = set_namespace(bpf, o) ? -bpf->bpf_object__load(o) : EINVAL;
	if (!*error)
		return o;
	bpf->bpf_object__close(o);
	return NULL;
}

static int try_helper(const struct libbpf *bpf, struct bpf_object *o, long *helper)
{
	struct bpf_map *m = bpf->bpf_object__find_map_by_name(o, ".bss");
	int prog = bpf->bpf_program__fd(bpf->bpf_object__find_program_by_name(o, "try_helper"));
	LIBBPF_OPTS(bpf_test_run_opts, run);
	long long *at;
	size_t size;
	int rc = bpf->bpf_prog_test_run_opts(prog, &run);

	if (rc)
		return rc;
	at = mmap(NULL, bpf->bpf_map__value_size(m), PROT_READ, MAP_SHARED, bpf->bpf_map__fd(m), 0);
	if (at == MAP_FAILED)
		return -errno;
	size = bpf->bpf_map__value_size(m);
	*helper = (long)at[0];
	munmap(at, size);
	return 0;
}

static int attach_programs(struct lbr_bpf *l, int variant)
{
	static const char *const points[2] = {"signal_generate", "sched_switch"};

	for (int i = 0; i < 2; i++) {
		const struct bpf_program *p =
			l->bpf.bpf_object__find_program_by_name(l->object, variants[variant][i]);

		l->links[i] = l->bpf.bpf_program__attach_raw_tracepoint(p, points[i]);
		if (!l->links[i])
			return -errno;
	}
	return 0;
}

static int map_tasks(struct lbr_bpf *l)
{
	struct bpf_map *m = l->bpf.bpf_object__find_map_by_name(l->object, "tasks");
	void *at;

	l->slots = l->bpf.bpf_map__fd(l->bpf.bpf_object__find_map_by_name(l->object, "slots"));
	l->mapped = page_up(sizeof(struct lbr_task) * LBR_TASKS);
	at = mmap(NULL, l->mapped, PROT_READ, MAP_SHARED, l->bpf.bpf_map__fd(m), 0);
	if (at == MAP_FAILED)
		return -errno;
	l->tasks = at;
	return 0;
}

static int why_not(int error, struct bt_error *err)
{
	switch (error) {
	case EPERM:
	case EACCES:
		return bt_fail(err, BT_E_PERMISSION, 0,
			       "BPF programs need the capabilities BPF and PERFMON (Linux 5.8), or "
			       "SYS_ADMIN");
	case EINVAL:
	case ENOENT:
		return bt_fail(err, BT_E_UNSUPPORTED, error,
			       "this kernel does not load the BPF programs: "
			       "bpf_get_branch_snapshot() came with Linux 5.16");
	case ENOMEM:
	case E2BIG:
		return bt_fail(err, BT_E_NO_MEMORY, error, "no memory for the BPF programs' maps");
	default:
		return bt_fail(err, BT_E_UNSUPPORTED, error, "the BPF programs cannot be loaded");
	}
}

int lbr_bpf_open(void *arg, void **snap, struct snap_info *info, struct bt_error *err)
{
	struct lbr_bpf *l = calloc(1, sizeof *l);
	int error = ENOMEM, variant = 0, rc;
	struct rlimit memlock;

	(void)arg;
	*snap = NULL;
	if (!l)
		return why_not(error, err);
	rc = late_library_load(BPF_SONAME, libbpf_symbols, ARRAY_SIZE(libbpf_symbols), &l->bpf,
			       err);
	if (rc) {
		free(l);
		return rc;
	}
	l->bpf.libbpf_set_print(discard_message);
	/* libbpf raises it where a try of its own fails, and the program would inherit that
	 * (libbpf_set_memlock_rlim() is missing in Debian 12). */
	getrlimit(RLIMIT_MEMLOCK, &memlock);
	l->object = load_programs(&l->bpf, variant, &error);
	if (!l->object && error != EPERM)
		l->object = load_programs(&l->bpf, ++variant, &error);
	setrlimit(RLIMIT_MEMLOCK, &memlock);
	if (l->object)
		error = -try_helper(&l->bpf, l->object, &info->helper);
	if (!error)
		error = -map_tasks(l);
	if (!error)
		error = -attach_programs(l, variant);
	if (!error) {
		info->counted = variant == 0;
		*snap = l;
		return 0;
	}
	lbr_bpf_close(arg, l);
	return why_not(error, err);
}

static int slot_of(const struct lbr_bpf *l, pid_t tid)
{
	for (int i = 0; i < LBR_TASKS; i++)
		if (l->tid[i] == tid)
			return i;
	return -1;
}

int lbr_bpf_watch(void *arg, void *snap, pid_t tid)
{
	struct lbr_bpf *l = snap;
	int slot = slot_of(l, 0), rc;
	uint32_t key = (uint32_t)tid, value = (uint32_t)slot;

	(void)arg;
	if (slot < 0)
		return -ENOSPC;
	l->read[slot] = l->tasks[slot].kept;
	l->forgotten[slot] = l->tasks[slot].fault.number;
	rc = l->bpf.bpf_map_update_elem(l->slots, &key, &value, BPF_ANY);
	if (!rc)
		l->tid[slot] = tid;
	return rc;
}

void lbr_bpf_forget(void *arg, void *snap, pid_t tid)
{
	struct lbr_bpf *l = snap;
	int slot = slot_of(l, tid);
	uint32_t key = (uint32_t)tid;

	(void)arg;
	if (slot < 0)
		return;
	l->bpf.bpf_map_delete_elem(l->slots, &key);
	l->tid[slot] = 0;
}

int lbr_bpf_read(void *arg, void *snap, pid_t tid, struct snap_read *out)
{
	struct lbr_bpf *l = snap;
	int slot = slot_of(l, tid);

	(void)arg;
	if (slot < 0)
		return -ESRCH;
	lbr_task_read(&l->tasks[slot], &l->read[slot], out);
	if (out->fault && out->fault->number == l->forgotten[slot])
		out->fault = NULL;
	return 0;
}

void lbr_bpf_close(void *arg, void *snap)
{
	struct lbr_bpf *l = snap;

	(void)arg;
	if (!l)
		return;
	for (int i = 0; i < 2; i++)
		l->bpf.bpf_link__destroy(l->links[i]);
	if (l->tasks)
		munmap(l->tasks, l->mapped);
	l->bpf.bpf_object__close(l->object);
	free(l);
}

#else

int lbr_bpf_open(void *arg, void **snap, struct snap_info *info, struct bt_error *err)
{
	(void)arg;
	*snap = NULL;
	*info = (struct snap_info){.helper = -ENOENT};
	return bt_fail(err, BT_E_UNSUPPORTED, 0,
		       "this btrec was built without BPF: configure found no libbpf, or no clang "
		       "for -target bpf");
}

int lbr_bpf_watch(void *arg, void *snap, pid_t tid)
{
	(void)arg;
	(void)snap;
	(void)tid;
	return -ENOSYS;
}

void lbr_bpf_forget(void *arg, void *snap, pid_t tid)
{
	(void)arg;
	(void)snap;
	(void)tid;
}

int lbr_bpf_read(void *arg, void *snap, pid_t tid, struct snap_read *out)
{
	(void)arg;
	(void)snap;
	(void)tid;
	(void)out;
	return -ENOSYS;
}

void lbr_bpf_close(void *arg, void *snap)
{
	(void)arg;
	(void)snap;
}

#endif

void lbr_task_read(const struct lbr_task *t, uint64_t *read, struct snap_read *out)
{
	uint64_t first = *read;

	if (t->kept - first > LBR_WINDOWS - 1)
		first = t->kept - (LBR_WINDOWS - 1);
	out->lost = first - *read;
	out->count = 0;
	for (uint64_t n = first; n < t->kept; n++)
		out->windows[out->count++] = &t->windows[n & (LBR_WINDOWS - 1)];
	out->fault = t->fault.number ? &t->fault : NULL;
	*read = t->kept;
}
