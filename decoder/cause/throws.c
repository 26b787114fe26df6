/* SPDX-License-Identifier: MIT */
/* __cxa_throw(object, type_info, destructor): rdi and rsi at its entry. A type_info is a pointer to
 * its virtual table, one to the type's mangled name and, of a class with one base, one to the
 * base's type_info (Itanium C++ ABI, 2.9.5). std::runtime_error and std::logic_error hold a pointer
 * to their text behind that to their virtual table, in libstdc++ and libc++; a class derived from
 * them may have a what() of its own, which tells another one. It is the third function of the
 * table, behind two destructors (2.5).
 *
 * The object lies behind its _Unwind_Exception, whose last word is private_2 (Level I, 1.2). The
 * first phase of unwinding leaves there which frame handles the exception: the stack pointer in it
 * (libgcc's unwind.inc, uw_identify_context(); LLVM's UnwindLevel1.c). libstdc++ throws it again
 * before it ends the program, and handles it, to say its text (vterminate.cc). Memory that was
 * given back may hold an old one. */
#include "decoder/cause/throws.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/cause/focus.h"
#include "decoder/values/known_memory.h"
#include "lib/array_size.h"
#include "lib/demangle.h"

enum {
	BASES_MAX = 16,
	FRAMES_MAX = 64,
	LOOKED_AT = 32, /* throws, for one that is on its way */
	NAME_MAX_BYTES = 256,
	TABLE_START = 16, /* of a virtual table: offset and type_info come first */
	WHAT_AT = 16,     /* in it */
};

static const char type_info_of[] = "typeinfo for ";

static bool is_throw(const struct model_snapshot *s)
{
	return s->rec->kind == BT_SNAPSHOT_FUNCTION && slice_is(s->rec->label, "__cxa_throw");
}

static uint32_t process_of(const struct model *m, uint32_t task)
{
	const struct model_task *t = model_task(m, task);

	return t ? t->pid : 0;
}

size_t throws_until(const struct model *m, const struct model_snapshot *snap,
		    const struct model_snapshot **out, size_t max, size_t *all)
{
	uint32_t pid = process_of(m, snap->rec->task);
	size_t n = 0;

	*all = 0;
	for (const struct model_snapshot *s = snap + 1; s-- > m->snapshots;) {
		if (!is_throw(s) || process_of(m, s->rec->task) != pid)
			continue;
		if (n < max)
			out[n++] = s;
		++*all;
	}
	return n;
}

static bool read_word(const struct known_memory *k, uint64_t addr, uint64_t *word)
{
	return known_memory_read(k, addr, word, sizeof *word) == sizeof *word;
}

/* The symbol at an address, if it begins there and its name begins so. */
static const char *symbol_at(const struct known_memory *k, uint64_t addr, const char *begin)
{
	struct location loc;

	symbols_lookup(k->s, k->space, k->epoch, addr, false, &loc);
	return !loc.offset && !strncmp(loc.function, begin, strlen(begin)) ? loc.function : NULL;
}

/* The type's name by the symbol of its type_info, else by the mangled name that this points to. */
static bool type_name(const struct known_memory *k, uint64_t info, char *out, size_t cap)
{
	const char *symbol = symbol_at(k, info, type_info_of);
	char mangled[NAME_MAX_BYTES + 8] = "_ZTI", *name = mangled + 4, *plain;
	uint64_t at;
	size_t n;

	if (symbol) {
		snprintf(out, cap, "%s", symbol + strlen(type_info_of));
		return true;
	}
	if (!read_word(k, info + 8, &at))
		return false;
	n = known_memory_read(k, at, name, NAME_MAX_BYTES);
	if (strnlen(name, n) == n)
		return false;
	if (*name == '*') /* it is to be compared by its address */
		memmove(name, name + 1, strlen(name));
	plain = demangle(mangled);
	if (plain && !strncmp(plain, type_info_of, strlen(type_info_of)))
		snprintf(out, cap, "%s", plain + strlen(type_info_of));
	free(plain);
	return plain != NULL;
}

/* Whether what() of the object is that of a type that holds a text. */
static bool tells_text(const struct known_memory *k, uint64_t object)
{
	static const char *const functions[] = {"std::runtime_error::what()",
						"std::logic_error::what()"};
	uint64_t table, function;
	struct location loc;

	if (!read_word(k, object, &table) || !read_word(k, table + WHAT_AT, &function))
		return false;
	symbols_lookup(k->s, k->space, k->epoch, function, false, &loc);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (!loc.offset && !strncmp(loc.function, functions[i], strlen(functions[i])))
			return true;
	return false;
}

/* Whether the object's type is one of those that hold a text and tell it, or derived from one by
 * single inheritance. */
static bool holds_text(const struct known_memory *k, uint64_t info, uint64_t object)
{
	static const char *const holders[] = {"std::runtime_error", "std::logic_error"};
	static const char *const derived[] = {"std::out_of_range",    "std::invalid_argument",
					      "std::length_error",    "std::domain_error",
					      "std::range_error",     "std::overflow_error",
					      "std::underflow_error", "std::system_error"};
	static const char single[] = "vtable for __cxxabiv1::__si_class_type_info";
	char name[THROWN_TYPE_MAX];
	uint64_t table;

	for (unsigned depth = 0; depth < BASES_MAX && type_name(k, info, name, sizeof name);
	     depth++) {
		for (size_t i = 0; i < ARRAY_SIZE(holders); i++)
			if (!strcmp(name, holders[i]))
				return !depth || tells_text(k, object);
		/* The library's type_infos are not kept with the moment; its types are known. */
		for (size_t i = 0; i < ARRAY_SIZE(derived); i++)
			if (!strcmp(name, derived[i]))
				return !depth || tells_text(k, object);
		if (!read_word(k, info, &table) || !symbol_at(k, table - TABLE_START, single) ||
		    !read_word(k, info + 16, &info))
			return false;
	}
	return false;
}

/* A string up to its NUL, in quotes; cut where it is long, or not kept further. */
static void read_text(const struct known_memory *k, uint64_t addr, char out[THROWN_WHAT_MAX])
{
	char bytes[THROWN_WHAT_MAX - 8];
	size_t got = known_memory_read(k, addr, bytes, sizeof bytes), n = strnlen(bytes, got);

	if (got)
		snprintf(out, THROWN_WHAT_MAX, "\"%.*s\"%s", (int)n, bytes, n == got ? "..." : "");
}

static void read_what(struct thrown *t, const struct known_memory *k, uint64_t object,
		      uint64_t info)
{
	uint64_t word = 0;
	int32_t number;

	if (!strcmp(t->type, "int") && known_memory_read(k, object, &number, sizeof number) == 4)
		snprintf(t->what, sizeof t->what, "%" PRId32, number);
	else if ((!strcmp(t->type, "char const*") || !strcmp(t->type, "char*")) &&
		 read_word(k, object, &word))
		read_text(k, word, t->what);
	else if (holds_text(k, info, object) && read_word(k, object + 8, &word))
		read_text(k, word, t->what);
}

void thrown_read(struct thrown *t, struct symbols *s, const struct model_snapshot *snap)
{
	const struct bt_record_thread *thread = focus_thread(snap, snap->rec->task);
	struct known_memory k = {.s = s, .snap = snap, .space = snap->rec->space};

	*t = (struct thrown){.snap = snap};
	if (!thread)
		return;
	k.epoch = t->epoch = thread->epoch;
	t->has_place = read_word(&k, thread->regs.rsp, &t->addr);
	if (type_name(&k, thread->regs.rsi, t->type, sizeof t->type))
		read_what(t, &k, thread->regs.rdi, thread->regs.rsi);
}

const struct model_snapshot *throw_in_stack(const struct model *m, struct symbols *s,
					    const struct model_snapshot *snap,
					    const struct bt_record_thread *thread)
{
	struct stack_frame frames[FRAMES_MAX];
	const struct bt_record_thread *then = NULL;
	const struct model_snapshot *thrown = snap + 1;
	bool complete;
	size_t n;

	while (thrown-- > m->snapshots && !(is_throw(thrown) && thrown->rec->task == thread->task))
		;
	if (thrown < m->snapshots || !(then = focus_thread(thrown, thread->task)))
		return NULL;
	if (thrown == snap)
		return thrown;
	n = symbols_unwind(s, snap, thread, frames, FRAMES_MAX, &complete);
	for (size_t i = 0; i < n; i++) {
		struct location loc;

		if (frames[i].is_guess || frames[i].cfa != then->regs.rsp + 8)
			continue;
		symbols_lookup(s, snap->rec->space, thread->epoch, frames[i].pc,
			       frames[i].is_return, &loc);
		if (!strcmp(loc.function, "__cxa_throw"))
			return thrown;
	}
	return NULL;
}

/* Whether the exception's header names one of the frames. */
static bool is_handled(const struct known_memory *k, uint64_t object,
		       const struct stack_frame *frames, size_t count)
{
	uint64_t sp;

	if (!read_word(k, object - 8, &sp) || !sp) /* 0: a frame whose place is not known, too */
		return false;
	for (size_t i = 0; i < count && !frames[i].is_guess; i++)
		if (frames[i].cfa == sp)
			return true;
	return false;
}

const struct model_snapshot *throw_handled(const struct model *m, struct symbols *s,
					   const struct model_snapshot *snap,
					   const struct bt_record_thread *thread,
					   const struct stack_frame *frames, size_t count)
{
	const struct model_snapshot *throws[LOOKED_AT], *found;
	struct known_memory k = {
		.s = s, .snap = snap, .space = snap->rec->space, .epoch = thread->epoch};
	uint64_t objects[LOOKED_AT];
	size_t all, n = throws_until(m, snap, throws, LOOKED_AT, &all);

	found = throw_in_stack(m, s, snap, thread);
	if (found)
		return found;
	for (size_t i = 0; i < n; i++) {
		const struct bt_record_thread *then = focus_thread(throws[i], thread->task);
		bool is_other = !then || throws[i]->rec->task != thread->task;

		objects[i] = then ? then->regs.rdi : 0;
		/* The newest exception at an address has taken the place of those before. */
		for (size_t j = 0; j < i; j++)
			is_other |= objects[j] == objects[i];
		if (is_other || !is_handled(&k, objects[i], frames, count))
			continue;
		if (found)
			return NULL;
		found = throws[i];
	}
	return found;
}

const char *thrown_text(const struct thrown *t, char *out, size_t cap)
{
	snprintf(out, cap, "%s%s%s", *t->type ? t->type : "an exception of an unknown type",
		 !*t->what         ? ""
		 : *t->what == '"' ? ": "
				   : " ",
		 t->what);
	return out;
}
