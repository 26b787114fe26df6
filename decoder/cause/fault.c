/* SPDX-License-Identifier: MIT */
/* The kind of a snapshot selects its explainer: a signal that an instruction raised has a row in
 * the table of explainers; a sent signal, a signal without a known cause, and a snapshot without a
 * signal have a function each. Each explainer adds its text with fault_say() and fills struct
 * fault: the instruction, values, the relevant place.
 *
 * Memory accesses are explained in fault_access.c, stacks in fault_stack.c, aborts in
 * fault_abort.c. If the cause was not told, fault_untold.c first tries to infer it. */
#include "decoder/cause/fault.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "decoder/cause/fault_private.h"
#include "decoder/cause/focus.h"
#include "decoder/model/signals.h"
#include "decoder/symbols/text.h"
#include "lib/array_size.h"
#include "lib/page.h"
#include "syscalls/syscall_names.h"

enum {
	USER32_CS = 0x23, /* the kernel's asm/segment.h */
};

void fault_say(struct fault_context *c, const char *fmt, ...)
{
	size_t n = strlen(c->f->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->f->text + n, sizeof c->f->text - n, fmt, ap);
	va_end(ap);
}

/* Cuts longer text, between characters. */
void fault_brief(struct fault_context *c, const char *fmt, ...)
{
	static const char more[] = "...";
	char text[FAULT_TEXT_MAX];
	size_t n = FAULT_BRIEF_MAX - sizeof more;
	va_list ap;

	if (*c->f->brief)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (strlen(text) > n) {
		while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
		memcpy(text + n, more, sizeof more);
	}
	memcpy(c->f->brief, text, strlen(text) + 1);
}

void fault_say_place(struct fault_context *c, const char *before, uint64_t addr, bool is_return)
{
	struct location loc;
	char name[160];

	symbols_lookup(c->s, c->f->space, c->f->epoch, addr, is_return, &loc);
	fault_say(c, "%s", before);
	text_brief_name(name, sizeof name, loc.function);
	if (*loc.function)
		fault_say(c, loc.offset ? "%s+0x%" PRIx64 : "%s", name, loc.offset);
	else if (loc.in_file)
		fault_say(c, "%.200s+0x%" PRIx64, text_basename(loc.module), loc.vaddr);
	else
		fault_say(c, "0x%" PRIx64, addr);
	if (*loc.file)
		fault_say(c, " (%.200s:%d)", text_basename(loc.file), loc.line);
}

const struct space_map *fault_map(const struct fault_context *c, uint64_t addr)
{
	return trace_index_map_at(c->m->index, c->f->space, c->f->epoch, addr);
}

bool fault_read(const struct fault_context *c, uint64_t addr, unsigned n, uint64_t *value)
{
	uint8_t bytes[8] = {0};

	if (n > sizeof bytes)
		return false;
	if (model_memory(c->m, c->snap, addr, bytes, n) < n) {
		const struct space_map *map = fault_map(c, addr);

		/* read-only memory is as the file has it */
		if (!map || map->prot & BT_PROT_WRITE ||
		    symbols_code(c->s, c->f->space, c->f->epoch, addr, bytes, n) < n)
			return false;
	}
	*value = 0;
	for (unsigned i = n; i-- > 0;)
		*value = *value << 8 | bytes[i];
	return true;
}

bool fault_insn_is(const struct fault_context *c, const char *mnemonic)
{
	size_t n = strlen(mnemonic);

	return c->f->has_insn && !strncmp(c->f->insn_text, mnemonic, n) &&
	       !isalnum((unsigned char)c->f->insn_text[n]);
}

/* The names of the 16 registers and their parts. */
static const struct {
	const char *name[5]; /* 64, 32, 16, 8 bits, and bits 8 to 15 */
} parts[] = {
	{{"r15", "r15d", "r15w", "r15b"}},  {{"r14", "r14d", "r14w", "r14b"}},
	{{"r13", "r13d", "r13w", "r13b"}},  {{"r12", "r12d", "r12w", "r12b"}},
	{{"rbp", "ebp", "bp", "bpl"}},      {{"rbx", "ebx", "bx", "bl", "bh"}},
	{{"r11", "r11d", "r11w", "r11b"}},  {{"r10", "r10d", "r10w", "r10b"}},
	{{"r9", "r9d", "r9w", "r9b"}},      {{"r8", "r8d", "r8w", "r8b"}},
	{{"rax", "eax", "ax", "al", "ah"}}, {{"rcx", "ecx", "cx", "cl", "ch"}},
	{{"rdx", "edx", "dx", "dl", "dh"}}, {{"rsi", "esi", "si", "sil"}},
	{{"rdi", "edi", "di", "dil"}},      {{"rsp", "esp", "sp", "spl"}},
};

static bool find_register(const char *word, size_t len, struct register_part *part)
{
	static const uint8_t sizes[] = {8, 4, 2, 1, 1};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (unsigned j = 0; j < 5; j++) {
			const char *name = parts[i].name[j];

			if (!name || strlen(name) != len || memcmp(name, word, len))
				continue;
			*part = (struct register_part){.size = sizes[j], .shift = j == 4 ? 8 : 0};
			while (strcmp(bt_reg_info[part->number].name, parts[i].name[0]))
				part->number++;
			return true;
		}
	return false;
}

bool fault_first_register(const char *text, struct register_part *part, size_t *end)
{
	for (size_t i = 0, len; text[i]; i += len ? len : 1) {
		for (len = 0; isalnum((unsigned char)text[i + len]);)
			len++;
		if (len && find_register(text + i, len, part)) {
			*end = i + len;
			return true;
		}
	}
	return false;
}

static void add_value(struct fault *f, const char *name, bool is_address, uint64_t value)
{
	struct fault_value *v = &f->values[f->value_count];

	for (size_t i = 0; i < f->value_count; i++)
		if (!strcmp(f->values[i].name, name))
			return;
	if (f->value_count == FAULT_VALUES_MAX)
		return;
	snprintf(v->name, sizeof v->name, "%s", name);
	v->is_address = is_address;
	v->value = value;
	f->value_count++;
}

static bool is_rip(uint8_t reg)
{
	return reg != DISASM_NO_REG && !strcmp(bt_reg_info[reg].name, "rip");
}

static void take_memory_operand(struct fault_context *c, const struct disasm_memory *m)
{
	struct fault *f = c->f;
	char name[64];
	uint64_t addr, held;

	/* After the wild branch rsp has changed; and the value that a call would have pushed tells
	 * nothing. */
	if (m->implicit && (f->pc_is_wild || m->access == DISASM_WRITE))
		return;
	if (!disasm_address(&f->insn, m, c->regs, &addr))
		return;
	if (is_rip(m->base))
		snprintf(name, sizeof name, "[0x%" PRIx64 "]", addr);
	else
		disasm_memory_text(m, name, sizeof name);
	add_value(f, name, true, addr);
	if (m->access && m->size <= sizeof held && fault_read(c, addr, m->size, &held)) {
		f->values[f->value_count - 1].held = held;
		f->values[f->value_count - 1].is_held = true;
	}
}

/* The registers the instruction names, and where its memory operands lie. */
static void take_values(struct fault_context *c)
{
	struct fault *f = c->f;
	struct register_part part;
	const char *rest = strchr(f->insn_text, ' ');
	size_t end;

	for (; rest && fault_first_register(rest, &part, &end); rest += end)
		add_value(f, bt_reg_info[part.number].name, false,
			  bt_regs_get(c->regs, part.number));
	for (size_t i = 0; i < f->insn.memory_count; i++)
		take_memory_operand(c, &f->insn.memory[i]);
}

static bool decode_at(struct fault_context *c, uint64_t addr)
{
	struct fault *f = c->f;
	size_t n = symbols_code(c->s, f->space, f->epoch, addr, f->code, sizeof f->code);
	struct text_names names = {.s = c->s, .space = f->space, .epoch = f->epoch};
	const struct disasm_style style = {
		.syntax = DISASM_INTEL, .name = text_address_name, .arg = &names};
	int rc = disasm_decode(&f->insn, f->code, n, addr);

	f->where = addr;
	f->code_len = (uint8_t)n;
	f->code_is_cut = n && rc == -BT_E_TRUNCATED;
	f->has_insn = !rc;
	if (f->has_insn) {
		disasm_text(&f->insn, NULL, f->insn_text, sizeof f->insn_text);
		disasm_text(&f->insn, f->insn.has_target ? &style : NULL, f->insn_named,
			    sizeof f->insn_named);
	}
	return f->has_insn;
}

const struct history_entry *fault_arrival(const struct fault_context *c)
{
	const struct history_entry *last = c->h && c->end ? &c->h->entries[c->end - 1] : NULL;

	return last && last->to == c->f->pc && last->kind <= BT_BRANCH_ICALL ? last : NULL;
}

bool fault_is_executable(const struct fault_context *c, uint64_t addr)
{
	const struct space_map *map = fault_map(c, addr);

	return map && map->prot & BT_PROT_EXEC;
}

/* Finds the relevant instruction: the one at pc, or the branch that went to a pc without code. */
static void find_insn(struct fault_context *c)
{
	struct fault *f = c->f;
	const struct history_entry *last = fault_arrival(c);

	f->where = symbols_signal_from(c->s, c->snap, f->epoch, f->pc);
	f->has_trapped = f->where != f->pc;
	f->pc_is_wild = !fault_is_executable(c, f->where);
	f->is_32_bit = !f->pc_is_wild && c->regs && c->regs->cs == USER32_CS;
	if ((f->pc_is_wild && !last) || f->is_32_bit)
		return;
	if (decode_at(c, f->pc_is_wild ? last->from : f->where) && c->regs)
		take_values(c);
}

static const struct model_task *task_of(const struct fault_context *c)
{
	return model_task(c->m, c->snap->rec->task);
}

static bool is_sent(const struct bt_record_signal *g) { return (int32_t)g->code <= 0; }

/* For other codes the field has another meaning: for a POSIX timer its number. */
static bool has_sender(const struct bt_record_signal *g)
{
	static const int32_t codes[] = {
		0, -1, -3, -6}; /* SI_USER, SI_QUEUE, SI_MESGQ, SI_TKILL: sigaction(2) */

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i] == (int32_t)g->code)
			return true;
	return false;
}

/* The kernel sends these to the caller of a system call, and names the caller as sender; in a PID
 * namespace by another number, and then the sender has no name. */
static bool is_of_a_call(const struct bt_record_signal *g, const struct model_task *task)
{
	static const uint32_t signals[] = {SIG_PIPE, SIG_XFSZ};
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		found = found || g->signo == signals[i];
	return found && !g->code && (!task || g->sender == task->pid || !g->sender_name.len);
}

/* The signal's meaning; real-time signals have none. */
static void say_meaning(struct fault_context *c)
{
	const char *text = signal_text(c->signal->signo);

	if (*text)
		fault_say(c, ": %s", text);
}

/* The fault that the task's newest handler of one got, when the signal or the exit comes from that
 * handler: it stands in it still, or where that has returned to, with the same signal again. Crash
 * handlers do so to end the program. */
static const struct model_snapshot *handled_before(const struct fault_context *c)
{
	uint64_t seq = c->signal ? c->signal->seq : c->snap->rec->seq;
	const struct bt_record_signal *fault = NULL;

	for (size_t i = 0; i < c->m->events.count && c->m->events.at[i]->seq < seq; i++) {
		const struct bt_record *rec = &c->m->events.at[i]->rec;

		if (rec->kind == BT_RECORD_SIGNAL && rec->u.signal.task == c->snap->rec->task &&
		    rec->u.signal.sync)
			fault = &rec->u.signal;
	}
	for (size_t i = 0; fault && i < c->m->snapshot_count; i++) {
		const struct model_snapshot *s = &c->m->snapshots[i];
		bool is_in_handler = c->snap->rec->depth > s->rec->depth;
		bool is_back = c->signal && fault->signo == c->signal->signo &&
			       c->snap->rec->point.rip == s->rec->point.rip;

		if (s->signal == fault && s->rec->kind == BT_SNAPSHOT_FAULT &&
		    s->rec->space == c->snap->rec->space)
			return is_in_handler || is_back ? s : NULL;
	}
	return NULL;
}

static void explain_fault(struct fault_context *c);

static void say_handled_before(struct fault_context *c)
{
	const struct model_snapshot *snap = handled_before(c);
	struct fault f = {0};
	struct fault_context before = {.f = &f, .m = c->m, .s = c->s, .snap = snap, .h = c->h};
	char name[SIGNAL_NAME_MAX];

	if (!snap)
		return;
	before.thread = focus_thread(snap, snap->rec->task);
	before.end = c->h ? history_index(c->h, snap->rec->position) : 0;
	explain_fault(&before);
	if (!f.pc_is_wild && !f.has_trapped) /* else it says so already */
		fault_say_place(&before, ", at ", f.where, f.where_is_return);
	fault_say(c, "; the %s before it, which a handler got: %s",
		  signal_name(snap->signal->signo, name), f.text);
	c->f->before = snap;
	fault_brief(c, "%s", f.brief);
}

static void brief_sender(struct fault_context *c, const struct model_task *task)
{
	const struct bt_record_signal *g = c->signal;

	if (!has_sender(g) || (task && g->sender == task->pid))
		return;
	if (!g->sender)
		fault_brief(c, "sent from outside");
	else if (g->sender_name.len)
		fault_brief(c, "sent by %.*s (pid %u)",
			    (int)(g->sender_name.len < 80 ? g->sender_name.len : 80),
			    (const char *)g->sender_name.at, g->sender);
	else
		fault_brief(c, "sent by process %u", g->sender);
	c->f->brief_is_sender = true;
}

static void explain_sent(struct fault_context *c)
{
	const struct bt_record_signal *g = c->signal;
	const struct model_task *task = task_of(c);
	char name[SIGNAL_NAME_MAX];

	signal_name(g->signo, name);
	if (is_of_a_call(g, task)) {
		fault_say(c, "%s", name);
		say_meaning(c);
		return;
	}
	brief_sender(c, task);
	if (!has_sender(g)) {
		const char *how = signal_code_text(g->signo, g->code);

		fault_say(c, "%s%s%s", name, *how ? ", " : "", how);
		say_meaning(c);
		return;
	}
	if (task && g->sender == task->pid) {
		if (g->signo == SIG_ABRT)
			fault_explain_abort(c, "SIGABRT, raised by the program itself");
		else
			fault_say(c, "%s, raised by the program itself", name);
		say_handled_before(c);
		return;
	}
	if (!g->sender) {
		fault_say(c, "%s, sent by the kernel or from outside the container", name);
		say_meaning(c);
		return;
	}
	fault_set_kind(c, "sent");
	fault_say(c, "%s, sent by process %u (", name, g->sender);
	if (g->sender_name.len)
		fault_say(c, "%.*s, ", (int)(g->sender_name.len < 80 ? g->sender_name.len : 80),
			  (const char *)g->sender_name.at);
	fault_say(c, "user %u)", g->uid);
	for (size_t i = 0; i < c->m->task_count; i++)
		if (c->m->tasks[i].pid == g->sender) {
			fault_say(c, ", task %u of this trace", c->m->tasks[i].task);
			break;
		}
}

static uint64_t low_part(uint64_t value, unsigned size)
{
	return size < 8 ? value & ((UINT64_C(1) << 8 * size) - 1) : value;
}

/* The divisor: the only operand of div and idiv. */
static bool divisor_of(const struct fault_context *c, char name[64], uint64_t *value,
		       unsigned *size)
{
	const struct disasm *d = &c->f->insn;
	struct register_part part;
	uint64_t addr;
	size_t end;

	if (d->memory_count) {
		*size = d->memory[0].size;
		disasm_memory_text(&d->memory[0], name, 64);
		return disasm_address(d, &d->memory[0], c->regs, &addr) &&
		       fault_read(c, addr, *size, value);
	}
	if (!fault_first_register(c->f->insn_text + 3, &part, &end))
		return false;
	*size = part.size;
	*value = bt_regs_get(c->regs, part.number) >> part.shift;
	*value = low_part(*value, part.size);
	snprintf(name, 64, "%s", strrchr(c->f->insn_text, ' ') + 1);
	return true;
}

/* div: if the upper half of the dividend is less than the divisor. idiv: if it is the sign of the
 * lower half, as compilers make it. */
bool fault_division_fits(const struct fault_context *c)
{
	uint64_t divisor, low, high, most;
	unsigned size;
	char name[64];

	if (!divisor_of(c, name, &divisor, &size) || !divisor)
		return false;
	low = low_part(c->regs->rax, size);
	high = size == 1 ? low_part(c->regs->rax >> 8, 1) : low_part(c->regs->rdx, size);
	if (fault_insn_is(c, "div"))
		return high < divisor;
	most = low_part(UINT64_MAX, size) >> 1;
	return high == (low > most ? low_part(UINT64_MAX, size) : 0) &&
	       !(low == most + 1 && divisor == low_part(UINT64_MAX, size));
}

static int64_t sign_extended(uint64_t value, unsigned size)
{
	unsigned unused = 64 - 8 * size;

	return (int64_t)(value << unused) >> unused;
}

static void explain_division(struct fault_context *c)
{
	bool is_signed = fault_insn_is(c, "idiv");
	uint64_t value;
	unsigned size;
	char name[64];
	bool known = c->regs && (is_signed || fault_insn_is(c, "div")) &&
		     divisor_of(c, name, &value, &size);

	/* Whether the divisor is known depends on where the compiler put it. */
	fault_set_kind(c, "division by zero, or overflow");
	fault_brief(c, "%s",
		    !known  ? "division by zero or overflow"
		    : value ? "division overflow"
			    : "division by zero");
	if (!known) {
		fault_say(c, "integer division by zero, or overflow of its quotient");
	} else if (!value) {
		fault_say(c, "integer division by zero: the divisor %s is 0", name);
	} else if (is_signed)
		fault_say(c,
			  "integer division overflow: divided by %s = %" PRId64
			  ", the quotient does not fit into %u bits",
			  name, sign_extended(value, size), 8 * size);
	else
		fault_say(c,
			  "integer division overflow: divided by %s = %" PRIu64
			  ", the quotient does not fit into %u bits",
			  name, value, 8 * size);
}

static void explain_fpe(struct fault_context *c)
{
	if (c->signal->code == 1)
		explain_division(c);
	else {
		fault_set_kind(c, "%s", signal_code_text(c->signal->signo, c->signal->code));
		fault_say(c, "%s", signal_code_text(c->signal->signo, c->signal->code));
		fault_brief(c, "%s", signal_code_text(c->signal->signo, c->signal->code));
	}
}

static void explain_ill(struct fault_context *c)
{
	uint8_t bytes[8];
	size_t n = symbols_code(c->s, c->f->space, c->f->epoch, c->f->pc, bytes, sizeof bytes);

	fault_brief(c, "illegal instruction%s", fault_insn_is(c, "ud2") ? " ud2" : "");
	fault_set_kind(c, fault_insn_is(c, "ud2") ? "trap" : "illegal instruction");
	if (fault_insn_is(c, "ud2")) {
		fault_say(c, "illegal instruction ud2: compilers put it where code must not be "
			     "reached, and for __builtin_trap");
		return;
	}
	if (c->f->has_insn) {
		fault_say(c, "illegal instruction: this processor or kernel does not allow \"%s\"",
			  c->f->insn_text);
		n = c->f->insn.len;
		memcpy(bytes, c->f->insn.bytes, n < sizeof bytes ? n : sizeof bytes);
	} else {
		fault_say(c, "illegal instruction");
	}
	fault_say(c, n ? ", bytes" : ", its bytes are not in the trace");
	for (size_t i = 0; i < n && i < sizeof bytes; i++)
		fault_say(c, " %02x", bytes[i]);
}

static void explain_trap(struct fault_context *c)
{
	fault_brief(c, "%s",
		    c->f->has_trapped ? "breakpoint instruction" : signal_text(c->signal->signo));
	fault_set_kind(c, c->f->has_trapped ? "breakpoint" : "");
	if (c->f->has_trapped)
		fault_say_place(c, "breakpoint instruction int3 at ", c->f->where, false);
	else
		fault_say(c, "%s", signal_text(c->signal->signo));
}

static void explain_sys(struct fault_context *c)
{
	const char *(*name_of)(uint64_t, char *) =
		c->regs && c->regs->cs == USER32_CS ? syscall_name_32 : syscall_name;
	char name[SYSCALL_NAME_MAX];
	/* The kernel rolls the call back before it sends the signal: rax is its number again. */
	uint64_t nr = !c->regs                    ? UINT64_MAX
		      : c->regs->rax < SYS_NR_MAX ? c->regs->rax
						  : c->regs->orig_rax;

	if (c->signal->code == 1)
		fault_brief(c, "%s refused by a seccomp filter", name_of(nr, name));
	fault_set_kind(c, "%s refused", name_of(nr, name));
	if (c->signal->code == 1)
		fault_say(c, "%s refused by a seccomp filter", name_of(nr, name));
	else
		fault_say(c, "%s: %s", name_of(nr, name),
			  signal_code_text(c->signal->signo, c->signal->code));
}

static const struct {
	uint32_t signo;
	void (*explain)(struct fault_context *c);
} explainers[] = {
	{SIG_SEGV, fault_explain_access}, {SIG_BUS, fault_explain_access}, {SIG_FPE, explain_fpe},
	{SIG_ILL, explain_ill},           {SIG_TRAP, explain_trap},        {SIG_SYS, explain_sys},
};

/* The cause is unknown, and the instruction raises no such signal. */
static void explain_untold(struct fault_context *c)
{
	char name[SIGNAL_NAME_MAX];

	if (c->signal->signo == SIG_ABRT)
		fault_explain_abort(c, "SIGABRT");
	else
		fault_say(c, "%s", signal_name(c->signal->signo, name));
	if (c->f->where == c->f->pc)
		fault_say(c, ": neither a code nor the instruction tells why");
}

static void explain_signal(struct fault_context *c)
{
	char name[SIGNAL_NAME_MAX];

	if (c->signal->code == BT_SIGNAL_CODE_UNTOLD && fault_infer(c))
		c->signal = &c->inferred;
	c->f->address = c->signal->addr;
	if (c->signal->code == BT_SIGNAL_CODE_UNTOLD) {
		explain_untold(c);
		return;
	}
	if (is_sent(c->signal)) {
		explain_sent(c);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(explainers); i++)
		if (explainers[i].signo == c->signal->signo) {
			explainers[i].explain(c);
			return;
		}
	fault_say(c, "%s", signal_name(c->signal->signo, name));
	say_meaning(c);
}

static void explain_other(struct fault_context *c)
{
	const struct bt_record_snapshot *r = c->snap->rec;
	const struct model_task *task = task_of(c);
	char name[SIGNAL_NAME_MAX];

	if (r->kind == BT_SNAPSHOT_FUNCTION) {
		fault_explain_sign(c);
	} else if (r->kind == BT_SNAPSHOT_MESSAGE) {
		fault_explain_message(c);
	} else if (r->kind == BT_SNAPSHOT_REQUEST) {
		fault_say(c, "a snapshot was asked for");
		if (r->label.len)
			fault_say(c, ": %.*s", (int)(r->label.len > 200 ? 200 : r->label.len),
				  (const char *)r->label.at);
	} else if ((r->kind == BT_SNAPSHOT_EXIT || r->kind == BT_SNAPSHOT_FAILURE) && task &&
		   task->exit && task->exit->kind == BT_EXIT_STATUS) {
		fault_say(c, "exit with status %u", task->exit->status);
		say_handled_before(c);
		if (task->exit->status && !c->is_plain && !c->f->before)
			fault_say_failed_child(c);
		if (task->exit->status && !c->is_plain && !c->f->before && !c->f->child_told)
			fault_say_message_before(c);
	} else if (task && task->exit && task->exit->kind == BT_EXIT_SIGNAL) {
		fault_say(c, "killed by %s", signal_name(task->exit->status, name));
	} else {
		fault_say(c, "a snapshot, no signal");
	}
}

/* A failure of another process than the first, which has ended well: it may have been expected, as
 * tests of what must end badly do. */
static void say_good_end(struct fault_context *c)
{
	const struct model_task *task = task_of(c);
	enum bt_exit_kind kind;
	uint32_t status;
	bool core, is_first = false;

	for (size_t i = 0; task && i < c->m->task_count; i++)
		is_first |=
			c->m->tasks[i].how == BT_TASK_INITIAL && c->m->tasks[i].pid == task->pid;
	if (!task || is_first || c->snap->rec->kind == BT_SNAPSHOT_REQUEST ||
	    !focus_exit(c->m, &kind, &status, &core) || kind != BT_EXIT_STATUS || status)
		return;
	fault_say(c, "; the first process exited with status 0 all the same");
}

bool fault_is_from_outside(const struct model *m, const struct model_snapshot *snap)
{
	const struct bt_record_signal *g = snap->signal;
	const struct model_task *task = model_task(m, snap->rec->task);

	if (!g)
		return snap->rec->kind == BT_SNAPSHOT_REQUEST;
	return !g->sync && g->code != BT_SIGNAL_CODE_UNTOLD && !is_of_a_call(g, task) &&
	       !(has_sender(g) && task && g->sender == task->pid);
}

/* All of c but f, signal and regs is filled. */
static void explain_fault(struct fault_context *c)
{
	c->signal = c->snap->signal;
	c->regs = c->thread ? &c->thread->regs : NULL;
	*c->f = (struct fault){
		.pc = c->thread ? c->thread->regs.rip : c->snap->rec->point.rip,
		.space = c->snap->rec->space,
		.epoch = c->thread ? c->thread->epoch : c->snap->rec->epoch,
	};
	find_insn(c);
	if (c->signal)
		explain_signal(c);
	else
		explain_other(c);
	if (fault_is_from_outside(c->m, c->snap))
		fault_explain_hang(c);
	fault_set_words_kind(c);
	fault_find_caller(c);
	if (fault_is_from_outside(c->m, c->snap))
		fault_take_waiting_place(c);
}

void fault_explain_plainly(struct fault_context *c)
{
	c->is_plain = true;
	explain_fault(c);
}

void fault_explain(struct fault *f, const struct model *m, struct symbols *s,
		   const struct model_snapshot *snap, const struct bt_record_thread *thread,
		   const struct history *h, size_t end)
{
	struct fault_context c = {
		.f = f, .m = m, .s = s, .snap = snap, .thread = thread, .h = h, .end = end};

	explain_fault(&c);
	fault_say_passed_on(&c);
	say_good_end(&c);
}

int fault_explain_snapshot(struct fault *f, const struct model *m, struct symbols *s,
			   const struct model_snapshot *snap, struct bt_error *err)
{
	struct history h;
	int rc = history_load(&h, m, snap->rec->task, err);

	if (rc)
		return rc;
	fault_explain(f, m, s, snap, focus_thread(snap, snap->rec->task), &h,
		      history_index(&h, snap->rec->position));
	history_release(&h);
	return 0;
}
