/* SPDX-License-Identifier: MIT */
/* btrec info: the content of a trace and how it was made. Looks up no symbol. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "collector/replay/host.h"
#include "commands/btrec_commands.h"
#include "commands/log_digest.h"
#include "commands/trace_digest.h"
#include "commands/trace_shelf.h"
#include "decoder/model/model.h"
#include "decoder/model/signals.h"
#include "format/log_values.h"
#include "lib/array_size.h"
#include "lib/branch.h"
#include "lib/say.h"

static void print_label(const char *label) { printf("%-12s", label); }

static void print_text(const char *label, struct slice s)
{
	print_label(label);
	bt_print_escaped(stdout, s);
	putchar('\n');
}

static void print_argv(struct slice argv)
{
	print_label("command");
	while (argv.len) {
		struct slice one = {.at = argv.at};

		while (one.len < argv.len && one.at[one.len])
			one.len++;
		slice_take(&argv, one.len < argv.len ? one.len + 1 : one.len);
		bt_print_escaped(stdout, one);
		if (argv.len)
			putchar(' ');
	}
	putchar('\n');
}

static void print_started(uint64_t started)
{
	time_t seconds = (time_t)(started / 1000000000u);
	struct tm tm;
	char text[64];

	print_label("started");
	if (localtime_r(&seconds, &tm) && strftime(text, sizeof text, "%F %T %z", &tm))
		puts(text);
	else
		puts("unknown");
}

static void print_ticks(uint32_t classes)
{
	print_label("ticks");
	if (!classes)
		puts("unknown: nothing counted conditional branches");
	else
		printf("conditional branches:%s%s%s\n", classes & BT_TICK_JCC ? " Jcc" : "",
		       classes & BT_TICK_JRCXZ ? " JrCXZ" : "",
		       classes & BT_TICK_LOOP ? " LOOPcc" : "");
}

static void print_end(const struct model *m)
{
	char name[SIGNAL_NAME_MAX];

	print_label("end");
	if (!m->end)
		puts(model_unclosed(m));
	else if (m->end->kind == BT_EXIT_STATUS)
		printf("exited with %" PRIu32 "\n", m->end->status);
	else if (m->end->kind == BT_EXIT_SIGNAL)
		printf("killed by %s\n", signal_name(m->end->status, name));
	else
		puts("unknown");
	if (m->stopped) {
		print_label("stopped");
		fputs("recording stopped early: ", stdout);
		bt_print_escaped(stdout, m->stopped->text);
		putchar('\n');
	}
}

/* How many instructions ran outside the code cache, and a share of all that theirs is not above:
 * each tick was an instruction, too. */
static void print_stepped(const struct model *m)
{
	uint64_t stepped = 0, ticks = 0;

	for (size_t i = 0; i < m->task_count; i++) {
		const struct bt_record_exit *exit = m->tasks[i].exit;

		stepped += exit ? exit->stepped : 0;
		ticks += exit && exit->point.tick != BT_TICKS_UNKNOWN ? exit->point.tick : 0;
	}
	printf("%-12s%" PRIu64 " instructions outside the code cache", "stepped", stepped);
	if (stepped && ticks > stepped)
		printf(", less than %.4f %% of all",
		       100. * (double)stepped / (double)ticks + .00005);
	putchar('\n');
}

/* Whether names and source lines of the program travel with the trace. */
static void print_symbols(const struct trace *t)
{
	for (size_t i = 0; i < t->file_count; i++)
		if (t->files[i].kind == BT_FILE_SYMBOLS)
			printf("%-12s%" PRIu64 " bytes: names and source lines of the program\n",
			       "symbols", t->files[i].size);
}

/* Prints the size of each kind of the trace's files. */
static void print_files(const struct trace *t)
{
	static const char *const names[] = {
		[BT_FILE_EVENTS] = "events",   [BT_FILE_BRANCHES] = "branches",
		[BT_FILE_OBJECTS] = "objects", [BT_FILE_SYMBOLS] = "symbols",
		[BT_FILE_LOG] = "log",         [BT_FILE_MAPPED] = "mapped",
	};
	uint64_t sizes[ARRAY_SIZE(names)] = {0};
	const char *between = "";

	for (size_t i = 0; i < t->file_count; i++)
		if (t->files[i].kind < ARRAY_SIZE(sizes))
			sizes[t->files[i].kind] += t->files[i].size;
	print_label("by kind");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i] && sizes[i]) {
			printf("%s%s %" PRIu64, between, names[i], sizes[i]);
			between = ", ";
		}
	putchar('\n');
}

static void print_counts(const struct model *m, bool has_log)
{
	const struct bt_record_header *h = &m->trace->header;
	uint64_t branches = 0, stops = 0, calls = 0;
	bool memory = false;
	size_t processes = 0;

	for (size_t i = 0; i < m->task_count; i++) {
		branches += m->tasks[i].branch_count;
		processes += m->tasks[i].how != BT_TASK_THREAD;
	}
	for (size_t i = 0; i < m->events.count; i++) {
		stops += m->events.at[i]->rec.kind == BT_RECORD_SYSCALL_ENTER;
		calls += m->events.at[i]->rec.kind == BT_RECORD_CALLS
				 ? m->events.at[i]->rec.u.calls.count
				 : 0;
	}
	for (size_t i = 0; i < m->snapshot_count; i++)
		memory |= m->snapshots[i].memory_count > 0;
	printf("%-12s%zu (processes: %zu)\n", "threads", m->task_count, processes);
	printf("%-12s%zu\n%-12s%zu\n", "events", m->events.count, "snapshots", m->snapshot_count);
	printf("%-12s%" PRIu64 " kept", "branches", branches);
	if (h->ring)
		printf(", the last %" PRIu64 " of a thread, or some more", h->ring);
	putchar('\n');
	printf("%-12s%" PRIu64 " at stops", "calls", stops);
	if (calls)
		printf(", %" PRIu64 " without", calls);
	putchar('\n');
	if (h->backend.len == 6 && !memcmp(h->backend.at, "engine", 6))
		print_stepped(m);
	printf("%-12s%" PRIu64 " bytes\n", "size", trace_digest_size(m->trace->path));
	print_files(m->trace);
	print_symbols(m->trace);
	printf("%-12s%s\n", "privacy",
	       has_log ? "holds the program's memory, its input, environment, arguments and paths"
	       : memory
		       ? "holds memory of the program (stacks at its snapshots), its arguments and "
			 "paths"
		       : "holds the program's arguments and paths, no memory");
}

/* Of the log, what a replay reads. */
static void print_log(const struct log_digest *d)
{
	printf("%-12s%" PRIu64 " calls, %" PRIu64 " signals, %" PRIu64
	       " results of instructions; before packing: memory at the start %" PRIu64
	       " bytes, what calls wrote %" PRIu64 ", signals %" PRIu64 ", registers %" PRIu64 "\n",
	       "log", d->events[LOG_PART_CALLS], d->events[LOG_PART_SIGNALS],
	       d->events[LOG_PART_INSTRUCTIONS], d->bytes[LOG_PART_START],
	       d->bytes[LOG_PART_CALLS] + d->bytes[LOG_PART_INSTRUCTIONS],
	       d->bytes[LOG_PART_SIGNALS], d->registers);
}

/* Of a program that reserves more addresses than a replay may have by default. */
static void print_memory(const struct log_digest *d)
{
	const char *by;
	uint64_t usual = host_room(0, host_usual_memory(), &by);
	char had[24], here[24], enough[LOG_REMEDY_MAX];

	if (d->addresses && log_digest_memory(d) > usual)
		printf("%-12sthe program had up to %s of addresses, and a replay may have %s "
		       "here%s: %s\n",
		       "addresses", size_words(d->addresses, had), size_words(usual, here), by,
		       log_digest_memory_remedy(d, enough));
}

static void print_no_start(const struct model *m, const struct log_digest *d)
{
	if (!d->damage.code && !d->ended_early && m->trace->being_written) {
		puts("not possible yet: its log has no program, and is still being written");
		return;
	}
	printf("not possible: its log %s before the program began",
	       d->damage.code   ? log_damage_words(d->damage.code)
	       : d->ended_early ? "ended"
				: "was cut off");
	if (d->damage.code) {
		printf(": %s", d->damage.text);
	} else if (d->ended_early) {
		fputs(": ", stdout);
		bt_print_escaped(stdout, bt_str(d->reason));
	} else if (m->stopped) {
		fputs(": recording stopped: ", stdout);
		bt_print_escaped(stdout, m->stopped->text);
	}
	putchar('\n');
}

static void print_replayable(const struct model *m, const struct log_digest *d)
{
	struct processor_offer here = {0};
	char missing[240];

	print_label("replay");
	if (!d->events[LOG_PART_START]) {
		print_no_start(m, d);
		return;
	}
	if (d->version > BT_LOG_VERSION) {
		puts("not possible: its log is of a later version of btrec");
		return;
	}
	if (d->has_processor)
		processor_offer_read(&here);
	if (d->has_processor &&
	    processor_offer_missing(&d->processor, &here, missing, sizeof missing))
		printf("not on this processor, which lacks %s (btrec replay --force tries it)",
		       missing);
	else
		fputs("possible (btrec replay)", stdout);
	printf(": its log has %" PRIu64 " bytes", d->size);
	if (d->ended_early) {
		fputs(", and ends before the program: ", stdout);
		bt_print_escaped(stdout, bt_str(d->reason));
	} else if (d->damage.code) {
		printf(", and %s: up to there: %s", log_damage_words(d->damage.code),
		       d->damage.text);
	} else if (!d->ended) {
		fputs(m->trace->being_written ? ", and is still being written"
					      : ", and was cut off",
		      stdout);
	}
	putchar('\n');
	print_memory(d);
	if (d->unseen)
		printf("%-12s%" PRIu64 " bytes of the program's output, which went past its memory "
		       "(splice): a replay does not repeat them\n",
		       "unseen", d->unseen);
	print_log(d);
}

static void print_replay(const struct model *m, const struct log_digest *d, bool has_log)
{
	if (has_log)
		print_replayable(m, d);
	else
		printf("%-12s%s\n", "replay",
		       m->trace->header.parallel
			       ? "not possible: threads ran side by side"
			       : "not possible: it was not recorded with --replayable");
}

static void print_uuid(const uint8_t uuid[BT_UUID_SIZE])
{
	print_label("uuid");
	for (int i = 0; i < BT_UUID_SIZE; i++)
		printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	putchar('\n');
}

/* Returns what is wrong with the log, if it has one. */
static enum bt_error_code print_info(const struct model *m)
{
	const struct bt_record_header *h = &m->trace->header;
	char *path = realpath(m->trace->path, NULL); /* behind `latest` */
	struct log_digest log;
	bool has_log = log_digest_read(&log, m->trace);

	print_text("trace", bt_str(path ? path : m->trace->path));
	free(path);
	if (m->trace->pack >= 0)
		printf("%-12s%s\n", "pack", "all of the trace is in this file");
	print_uuid(m->trace->uuid);
	print_text("program", h->program);
	print_argv(h->argv);
	print_text("directory", h->cwd);
	print_started(h->started);
	print_end(m);
	print_label("backend");
	bt_print_escaped(stdout, h->backend);
	fputs(", branches from ", stdout);
	bt_print_escaped(stdout, h->source);
	fputs(", chosen: ", stdout);
	bt_print_escaped(stdout, h->reason);
	putchar('\n');
	print_ticks(h->tick_classes);
	if (h->from.len)
		print_text("from", h->from);
	print_text("cpu", h->cpu);
	print_text("kernel", h->kernel);
	print_text("btrec", h->version);
	printf("%-12s%" PRIu32 "\n", "recorder", h->recorder_pid);
	print_counts(m, has_log);
	if (h->parallel)
		printf("%-12s%s\n", "order",
		       "threads of a process ran side by side: their events are in the order of "
		       "their stops");
	print_replay(m, &log, has_log);
	for (size_t i = 0; i < m->events.count; i++)
		if (m->events.at[i]->rec.kind == BT_RECORD_NOTE)
			print_text("note", m->events.at[i]->rec.u.note.text);
		else if (m->events.at[i]->rec.kind == BT_RECORD_DETACH)
			print_text("detached", m->events.at[i]->rec.u.detach.reason);
	return has_log ? log.damage.code : BT_OK;
}

/* Lists the unreadable places. Returns whether any of them is damage. */
static bool print_damage(const struct model *m)
{
	bool damaged = false;

	for (size_t i = 0; i < m->damage_count; i++) {
		const struct model_damage *d = &m->damage[i];

		say("%s, byte %" PRIu64 ": %s", d->file, d->offset, model_damage_text(m, d));
		damaged |= !d->torn;
	}
	return damaged;
}

static const char usage[] = "Usage: btrec info [TRACE]\nTells what a trace holds and how it was "
			    "made; the latest by default.";

int btrec_info(int argc, char **argv)
{
	struct bt_error err;
	struct trace *t;
	struct model *m;
	enum bt_error_code damage;
	char path[4096];
	int at = btrec_parse_plain(argc, argv, usage, &err);

	if (!at)
		return 0;
	if (at < 0 || btrec_trace_argument(argc, argv, at, path, &err) ||
	    trace_open(&t, path, &err) || model_load(&m, t, &err))
		return btrec_complain(&err);
	damage = print_info(m);
	if (print_damage(m))
		damage = BT_E_CORRUPT;
	model_free(m);
	return bt_error_exit_status((int)damage);
}
