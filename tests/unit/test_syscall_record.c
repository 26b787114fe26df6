/* SPDX-License-Identifier: MIT */
/* System calls in the engine's cache: their table, their records, and their branches in the log. */
#include "tests/unit/unit.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "collector/backend/engine/cache/syscall_policy.h"
#include "collector/history/branch_log.h"
#include "format/syscall_codec.h"
#include "lib/array_size.h"
#include "lib/error.h"

/* ---- The table ---- */

static void calls_that_are_kept_track_of_stop(void **state)
{
	static const uint16_t stop[] = {
		SYS_pkey_mprotect,
		SYS_remap_file_pages,
		SYS_process_madvise,
		SYS_shmat,
		SYS_shmdt,
		SYS_rt_sigreturn,
		SYS_clone,
		SYS_fork,
		SYS_vfork,
		SYS_execve,
		SYS_exit,
		SYS_exit_group,
		SYS_kill,
		SYS_tgkill,
		SYS_prctl,
		SYS_seccomp,
		SYS_ptrace,
		SYS_setuid,
		SYS_setrlimit,
		SYS_getrlimit,
		SYS_personality,
		SYS_unshare,
		SYS_setns,
		SYS_dup2,
		SYS_dup3,
		SYS_close_range,
		SYS_openat2,
		SYS_creat,
		SYS_io_uring_setup,
		SYS_io_uring_enter,
		SYS_rseq,
		SYS_sigaltstack,
		SYS_modify_ldt,
		SYS_ioperm,
		SYS_set_tid_address,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stop); i++)
		if (!(syscall_policy(stop[i]) & POLICY_STOP))
			fail_msg("system call %u would not stop", stop[i]);
	assert_true(syscall_policy(POLICY_NUMBERS) & POLICY_STOP);
	assert_true(syscall_policy(UINT64_MAX) & POLICY_STOP);
	assert_true(syscall_policy(0x40000000 | SYS_getpid) & POLICY_STOP); /* x32 */
}

/* Nobody else of the unit would run meanwhile. */
static void calls_that_may_wait_say_so(void **state)
{
	static const uint16_t wait[] = {
		SYS_pause,           SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_nanosleep,
		SYS_clock_nanosleep, SYS_poll,          SYS_ppoll,           SYS_select,
		SYS_pselect6,        SYS_epoll_wait,    SYS_epoll_pwait,     SYS_wait4,
		SYS_waitid,          SYS_accept,        SYS_connect,         SYS_sendto,
		SYS_sendmsg,         SYS_recvfrom,      SYS_recvmsg,         SYS_flock,
		SYS_fsync,           SYS_fdatasync,     SYS_semop,           SYS_msgsnd,
		SYS_msgrcv,          SYS_sched_yield,   SYS_pipe2,           SYS_socket,
		SYS_rt_sigpending,   SYS_open,          SYS_openat,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wait); i++)
		if (!(syscall_policy(wait[i]) & POLICY_WAIT))
			fail_msg("system call %u would keep the turn", wait[i]);
}

/* ... and what servers with threads do for each connection does not. */
static void calls_that_return_at_once_keep_the_turn(void **state)
{
	static const uint16_t at_once[] = {
		SYS_epoll_ctl,   SYS_timerfd_settime, SYS_listen,     SYS_shutdown,
		SYS_getsockname, SYS_getpeername,     SYS_getsockopt, SYS_setsockopt,
		SYS_gettid,      SYS_clock_gettime,   SYS_getrandom,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(at_once); i++)
		if (syscall_policy(at_once[i]) & (POLICY_WAIT | POLICY_STOP | POLICY_DESCRIPTORS))
			fail_msg("system call %u would stop where others wait for the turn",
				 at_once[i]);
}

/* What they may change is looked at where they are made. */
static void calls_of_mappings_and_actions_are_looked_at(void **state)
{
	static const uint16_t maps[] = {SYS_mmap,   SYS_munmap, SYS_mprotect,
					SYS_mremap, SYS_brk,    SYS_madvise};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		assert_true(syscall_policy(maps[i]) & POLICY_MAPS);
	assert_true(syscall_policy(SYS_rt_sigaction) & POLICY_ACTION);
	assert_true(syscall_policy(SYS_rt_sigaction) & POLICY_WRITE);
}

static void what_a_call_needs_is_granted_as_one(void **state)
{
	(void)state;
	assert_false(POLICY_ALL & (POLICY_STOP | POLICY_FIRST | POLICY_ASKS));
	for (uint64_t nr = 0; nr < POLICY_NUMBERS; nr++) {
		uint16_t class = syscall_policy(nr);

		assert_true(class & (POLICY_CACHE | POLICY_STOP));
		assert_true(!(class & POLICY_STOP) || class == POLICY_STOP);
		assert_false(class & (POLICY_FIRST | POLICY_ASKS));
		if (class & (POLICY_CLOSE | POLICY_COPY | POLICY_ANY))
			assert_true(class & POLICY_DESCRIPTORS);
	}
}

static void operations_belong_to_calls(void **state)
{
	size_t with = 0, groups = 0;

	(void)state;
	for (uint64_t nr = 0; nr < POLICY_NUMBERS; nr++)
		with += !!(syscall_policy(nr) & POLICY_OPERATION);
	for (size_t i = 0; i < policy_operations_count; i++) {
		const struct policy_operation *o = &policy_operations[i];
		uint32_t futex = o->value & 0x7f;

		groups += !i || o[-1].nr != o->nr;
		assert_true(syscall_policy(o->nr) & POLICY_OPERATION);
		assert_true(o->need == 0 || o->need == POLICY_COPY || o->need == POLICY_WAIT ||
			    o->need == POLICY_ASKS || o->need == POLICY_FIRST);
		assert_true(o->nr != SYS_prlimit64 ||
			    (o->need == POLICY_ASKS && o->value != RLIMIT_AS &&
			     o->value != RLIMIT_DATA));
		assert_true(o->nr != SYS_arch_prctl ||
			    (o->need == POLICY_FIRST && o->value == ARCH_SET_FS));
		assert_true(o->nr != SYS_futex ||
			    (o->need == POLICY_WAIT) ==
				    (futex == FUTEX_WAIT || futex == FUTEX_WAIT_BITSET));
		assert_true(o->nr != SYS_fcntl ||
			    (o->need == POLICY_COPY) ==
				    (o->value == F_DUPFD || o->value == F_DUPFD_CLOEXEC));
		assert_true(o->nr != SYS_fcntl || o->value != F_SETLKW || o->need == POLICY_WAIT);
	}
	assert_int_equal(with, groups);
}

/* ---- Records ---- */

static void calls_roundtrip(void **state)
{
	struct bt_syscall calls[200], got;
	struct bt_syscall_codec encoder, decoder;
	uint64_t seed = 7, tick = 1000;
	struct buf b = {0};
	struct slice in;

	(void)state;
	for (size_t i = 0; i < 200; i++) {
		calls[i] = (struct bt_syscall){tick, unit_random(&seed) % 500,
					       i % 3 ? unit_random(&seed)
						     : (uint64_t) - (int64_t)(i % 40)};
		tick += unit_random(&seed) >> (i % 60 + 4);
	}
	calls[199].nr = UINT32_MAX;
	encoder.tick = decoder.tick = calls[0].tick;
	for (size_t i = 0; i < 200; i++)
		bt_syscall_encode(&encoder, &b, &calls[i]);
	in = slice_of(b.data, b.len);
	for (size_t i = 0; i < 200; i++) {
		assert_int_equal(bt_syscall_decode(&decoder, &in, &got), 1);
		assert_memory_equal(&got, &calls[i], sizeof got);
	}
	assert_int_equal(bt_syscall_decode(&decoder, &in, &got), 0);
	buf_release(&b);
}

static void unknown_ticks_stay_unknown(void **state)
{
	struct bt_syscall call = {BT_TICKS_UNKNOWN, 1, 5}, got;
	struct bt_syscall_codec codec = {BT_TICKS_UNKNOWN};
	struct buf b = {0};
	struct slice in;

	(void)state;
	bt_syscall_encode(&codec, &b, &call);
	bt_syscall_encode(&codec, &b, &call);
	in = slice_of(b.data, b.len);
	codec.tick = BT_TICKS_UNKNOWN;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(bt_syscall_decode(&codec, &in, &got), 1);
		assert_memory_equal(&got, &call, sizeof got);
	}
	buf_release(&b);
}

/* Cut anywhere, ticks that run over, numbers that are too long: no call, and nothing of one. */
static void what_is_no_call_is_damage(void **state)
{
	static const uint8_t over[] = {2, 39, 0},
			     longer[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					 0x80, 0x80, 0x80, 0x01, 39,   0};
	struct bt_syscall call = {300, 1000, (uint64_t)-9000}, got;
	struct bt_syscall_codec codec = {0};
	struct buf b = {0};
	struct slice in;

	(void)state;
	bt_syscall_encode(&codec, &b, &call);
	for (size_t len = 1; len < b.len; len++) {
		in = slice_of(b.data, len);
		codec.tick = 0;
		got.nr = 1;
		assert_int_equal(bt_syscall_decode(&codec, &in, &got), -BT_E_CORRUPT);
		assert_int_equal(got.nr, 0);
	}
	in = slice_of(over, sizeof over);
	codec.tick = UINT64_MAX - 1;
	assert_int_equal(bt_syscall_decode(&codec, &in, &got), -BT_E_CORRUPT);
	in = slice_of(longer, sizeof longer);
	codec.tick = 0;
	assert_int_equal(bt_syscall_decode(&codec, &in, &got), -BT_E_CORRUPT);
	buf_release(&b);
}

/* ---- Branches ---- */

enum {
	LOOP = 0x1000, /* plain, syscall at +4 */
	CALL = 0x1004,
	TEST = 0x1006, /* jcc at +6, back to LOOP */
	JCC = 0x100c,
	OUT = 0x100e, /* plain, ret at +1 */
};

static struct segment_table *table_with_calls(void)
{
	struct segment_table *t = segment_table_new();
	struct segment first = {
		.pc = LOOP, .from = CALL, .end = TEST, .to = TEST, .kind = BT_BRANCH_SYSCALL};
	struct segment again = {.pc = TEST,
				.from = JCC,
				.end = OUT,
				.to = LOOP,
				.kind = BT_BRANCH_JCC,
				.tick = true};
	struct segment out = {.pc = OUT, .from = OUT + 1, .end = OUT + 2, .kind = BT_BRANCH_RET};

	assert_non_null(t);
	assert_true(segment_add(t, &first) != SEGMENT_NONE &&
		    segment_add(t, &again) != SEGMENT_NONE && segment_add(t, &out) != SEGMENT_NONE);
	return t;
}

struct history {
	struct segment_table *table;
	struct branch_ring ring;
	struct branch_log *log;
};

static void history_init(struct history *h)
{
	struct ring_state start = {.space = 1, .epoch = 1};

	h->table = table_with_calls();
	branch_ring_init(&h->ring, 1000, &start);
	h->log = branch_log_new(1000, &start, &(struct processor){0});
	assert_non_null(h->log);
}

static void history_release(struct history *h)
{
	branch_log_free(h->log);
	branch_ring_release(&h->ring);
	segment_table_put(h->table);
}

static void expect_entry(const struct history *h, uint64_t number, unsigned kind, uint64_t from,
			 uint64_t to)
{
	const struct bt_branch *b = &h->ring.entries[number & (h->ring.cap - 1)];

	assert_true(number < h->ring.next);
	assert_int_equal(b->kind, kind);
	assert_int_equal(b->from, from);
	assert_int_equal(b->to, to);
}

/* Two rounds of a loop with a call, and the stretch ends before the third call. */
static void a_call_in_a_stretch_is_an_entry(void **state)
{
	struct history h;
	struct ring_state now;

	(void)state;
	history_init(&h);
	branch_log_begin(h.log, h.table, LOOP, 1, 1);
	branch_log_end(h.log, 4, CALL); /* taken, taken */
	now = branch_log_now(h.log);
	assert_int_equal(now.tick, 2);
	assert_int_equal(branch_log_tick(h.log), 2);
	assert_int_equal(now.transfers, 0);
	branch_log_settle(h.log, &h.ring);
	expect_entry(&h, 0, BT_BRANCH_SYSCALL, CALL, TEST);
	expect_entry(&h, 1, BT_BRANCH_JCC, JCC, LOOP);
	expect_entry(&h, 2, BT_BRANCH_SYSCALL, CALL, TEST);
	expect_entry(&h, 3, BT_BRANCH_JCC, JCC, LOOP);
	assert_int_equal(h.ring.now.tick, 2);
	history_release(&h);
}

/* Interrupted directly behind the call: that is a transfer since the last tick. */
static void a_stretch_may_end_behind_a_call(void **state)
{
	struct history h;
	struct ring_state now;

	(void)state;
	history_init(&h);
	branch_log_begin(h.log, h.table, LOOP, 1, 1);
	branch_log_end(h.log, 2, TEST);
	now = branch_log_now(h.log);
	assert_int_equal(now.tick, 1);
	assert_int_equal(now.transfers, 1);
	branch_log_settle(h.log, &h.ring);
	expect_entry(&h, 2, BT_BRANCH_SYSCALL, CALL, TEST);
	assert_int_equal(h.ring.now.transfers, 1);
	history_release(&h);
}

/* A stretch that begins at a call which is then made outside. */
static void a_stretch_may_end_where_it_began(void **state)
{
	struct history h;

	(void)state;
	history_init(&h);
	branch_log_begin(h.log, h.table, LOOP, 1, 1);
	branch_log_end(h.log, 1, CALL);
	assert_int_equal(branch_log_now(h.log).transfers, 0);
	branch_log_settle(h.log, &h.ring);
	assert_int_equal(h.ring.now.transfers, 0);
	assert_int_equal(h.ring.now.tick, 0);
	history_release(&h);
}

/* On through a call to an indirect branch. */
static void a_call_before_an_indirect_branch(void **state)
{
	struct history h;

	(void)state;
	history_init(&h);
	branch_log_begin(h.log, h.table, LOOP, 1, 1);
	branch_log_arrive(h.log, 3, BRANCH_LOG_INDIRECT, 0x5000);
	branch_log_settle(h.log, &h.ring);
	expect_entry(&h, 0, BT_BRANCH_SYSCALL, CALL, TEST);
	expect_entry(&h, 1, BT_BRANCH_JCC, JCC, OUT);
	expect_entry(&h, 2, BT_BRANCH_RET, OUT + 1, 0x5000);
	history_release(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_are_kept_track_of_stop),
		cmocka_unit_test(calls_that_may_wait_say_so),
		cmocka_unit_test(calls_that_return_at_once_keep_the_turn),
		cmocka_unit_test(calls_of_mappings_and_actions_are_looked_at),
		cmocka_unit_test(what_a_call_needs_is_granted_as_one),
		cmocka_unit_test(operations_belong_to_calls),
		cmocka_unit_test(calls_roundtrip),
		cmocka_unit_test(unknown_ticks_stay_unknown),
		cmocka_unit_test(what_is_no_call_is_damage),
		cmocka_unit_test(a_call_in_a_stretch_is_an_entry),
		cmocka_unit_test(a_stretch_may_end_behind_a_call),
		cmocka_unit_test(a_stretch_may_end_where_it_began),
		cmocka_unit_test(a_call_before_an_indirect_branch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
