/* SPDX-License-Identifier: MIT */
/* libdw decodes an expression to operations; a stack machine runs them (run_machine()). Its result
 * is an address, a register, a value, or pieces of an object with a place each (put_pieces()). */
#include "decoder/values/object_place.h"

#include <dwarf.h>
#include <string.h>

#include "lib/array_size.h"
#include "lib/extended_state.h"

enum {
	STACK_MAX = 64,
	STEPS_MAX = 1000,
	NESTED_MAX = 4, /* expressions within expressions: a frame's base */
	LOCATIONS_MAX = 1,
	DWARF_XMM0 = 17,
};

const char *const object_state_texts[OBJECT_STATES] = {
	[OBJECT_KNOWN] = "",
	[OBJECT_OPTIMIZED_OUT] = "<optimized out>",
	[OBJECT_NOT_KEPT] = "<not kept>",
	[OBJECT_NOT_SAVED] = "<not saved>",
	[OBJECT_NOT_MAPPED] = "<no such memory>",
	[OBJECT_NOT_SET] = "<not set yet>",
	[OBJECT_NOT_DECODED] = "<not decoded>",
};

enum location_kind {
	LOCATION_NOWHERE, /* optimized out */
	LOCATION_ADDRESS,
	LOCATION_REGISTER,
	LOCATION_VALUE,
	LOCATION_BYTES,
};

/* A simple location description. */
struct simple_location {
	enum location_kind kind;
	uint64_t number; /* address, register or value */
	Dwarf_Block block;
};

struct location_machine {
	const struct frame_place *f;
	Dwarf_Attribute *attr;
	Dwarf_Op *ops;
	size_t count, at;
	uint64_t stack[STACK_MAX];
	size_t depth;
	bool typed; /* a value was converted to a type whose arithmetic is not that of addresses */
	unsigned steps, nested;
	struct simple_location place; /* of the piece that is being told */
	enum object_state failure;    /* why it ended */
};

static bool machine_fail(struct location_machine *m, enum object_state why)
{
	m->failure = why;
	return false;
}

static bool machine_push(struct location_machine *m, uint64_t value)
{
	if (m->depth == STACK_MAX)
		return machine_fail(m, OBJECT_NOT_DECODED);
	m->stack[m->depth++] = value;
	return true;
}

static bool machine_pop(struct location_machine *m, uint64_t *value)
{
	if (!m->depth)
		return machine_fail(m, OBJECT_NOT_DECODED);
	*value = m->stack[--m->depth];
	return true;
}

static bool read_register(struct location_machine *m, uint64_t reg, uint64_t *value)
{
	const struct frame_registers *r = m->f->registers;

	if (reg >= FRAME_REGISTERS)
		return machine_fail(m, OBJECT_NOT_DECODED); /* those of vectors are in no address */
	if (!(r->known & 1u << reg))
		return machine_fail(m, OBJECT_NOT_SAVED);
	*value = r->value[reg];
	return true;
}

/* xmm0 to xmm15, and ymm0 to ymm15 by the same numbers (System V ABI, AMD64 supplement, 3.6.2).
 * Returns how many bytes of it are known; 0: see failure. */
static size_t read_vector(struct location_machine *m, uint64_t reg,
			  uint8_t out[EXTENDED_VECTOR_SIZE])
{
	if (reg < DWARF_XMM0 || reg >= DWARF_XMM0 + EXTENDED_VECTORS)
		m->failure = OBJECT_NOT_DECODED;
	else if (!m->f->extended)
		m->failure = OBJECT_NOT_SAVED;
	else if (!m->f->extended->len)
		m->failure = OBJECT_NOT_KEPT;
	else
		return extended_state_vector(*m->f->extended, (unsigned)(reg - DWARF_XMM0), out);
	return 0;
}

static enum object_state read_memory(const struct known_memory *k, uint64_t addr, void *out,
				     size_t n)
{
	if (known_memory_read(k, addr, out, n) == n)
		return OBJECT_KNOWN;
	return known_memory_is_mapped(k, addr) ? OBJECT_NOT_KEPT : OBJECT_NOT_MAPPED;
}

static bool machine_dereference(struct location_machine *m, size_t size)
{
	uint64_t addr, value = 0;
	enum object_state state;

	if (!size || size > sizeof value)
		return machine_fail(m, OBJECT_NOT_DECODED);
	if (!machine_pop(m, &addr))
		return false;
	state = read_memory(m->f->memory, addr, &value, size);
	return state == OBJECT_KNOWN ? machine_push(m, value) : machine_fail(m, state);
}

static bool push_register_plus(struct location_machine *m, uint64_t reg, uint64_t offset)
{
	uint64_t value;

	return read_register(m, reg, &value) && machine_push(m, value + offset);
}

static bool evaluate_location(const struct frame_place *f, Dwarf_Attribute *attr, Dwarf_Op *ops,
			      size_t count, unsigned nested, uint64_t *value,
			      enum object_state *why);

/* Go writes expressions as blocks, as before DWARF 4, and libdw does not take them. A short one has
 * the same bytes in the form that it takes. */
static void take_block(Dwarf_Attribute *attr)
{
	Dwarf_Block block;

	if (dwarf_whatform(attr) == DW_FORM_block1 && !dwarf_formblock(attr, &block) &&
	    block.length < 128)
		attr->form = DW_FORM_exprloc;
}

static bool frame_base(struct location_machine *m, uint64_t *base)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t count;

	if (!m->f->function || !dwarf_attr_integrate(m->f->function, DW_AT_frame_base, &attr))
		return machine_fail(m, OBJECT_NOT_DECODED);
	take_block(&attr);
	if (dwarf_getlocation_addr(&attr, m->f->pc, &ops, &count, LOCATIONS_MAX) != 1)
		return machine_fail(m, OBJECT_NOT_DECODED);
	return evaluate_location(m->f, &attr, ops, count, m->nested + 1, base, &m->failure);
}

static bool do_unary(struct location_machine *m, unsigned op)
{
	uint64_t a;

	if (!machine_pop(m, &a))
		return false;
	switch (op) {
	case DW_OP_abs:
		return machine_push(m, (int64_t)a < 0 ? 0 - a : a);
	case DW_OP_neg:
		return machine_push(m, 0 - a);
	default:
		return machine_push(m, ~a);
	}
}

/* a OP b. False: there is no such operation, or it has no result. */
static bool compute_operation(unsigned op, uint64_t a, uint64_t b, uint64_t *r)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case DW_OP_and:
		*r = a & b;
		return true;
	case DW_OP_or:
		*r = a | b;
		return true;
	case DW_OP_xor:
		*r = a ^ b;
		return true;
	case DW_OP_plus:
		*r = a + b;
		return true;
	case DW_OP_minus:
		*r = a - b;
		return true;
	case DW_OP_mul:
		*r = a * b;
		return true;
	case DW_OP_div:
		if (!y || (y == -1 && x == INT64_MIN))
			return false;
		*r = (uint64_t)(x / y);
		return true;
	case DW_OP_mod:
		if (!b)
			return false;
		*r = a % b;
		return true;
	case DW_OP_shl:
		*r = b < 64 ? a << b : 0;
		return true;
	case DW_OP_shr:
		*r = b < 64 ? a >> b : 0;
		return true;
	case DW_OP_shra:
		b = b < 63 ? b : 63;
		*r = a >> b | (x < 0 ? ~(UINT64_MAX >> b) : 0);
		return true;
	case DW_OP_eq:
		*r = x == y;
		return true;
	case DW_OP_ne:
		*r = x != y;
		return true;
	case DW_OP_lt:
		*r = x < y;
		return true;
	case DW_OP_le:
		*r = x <= y;
		return true;
	case DW_OP_gt:
		*r = x > y;
		return true;
	case DW_OP_ge:
		*r = x >= y;
		return true;
	default:
		return false;
	}
}

/* Operations whose results are the same in all types: the rest is not done in other types. */
static bool needs_no_type(unsigned op)
{
	return op == DW_OP_and || op == DW_OP_or || op == DW_OP_xor || op == DW_OP_eq ||
	       op == DW_OP_ne;
}

static bool do_binary(struct location_machine *m, unsigned op)
{
	uint64_t a, b, r;

	if (m->typed && !needs_no_type(op))
		return machine_fail(m, OBJECT_NOT_DECODED);
	if (!machine_pop(m, &b) || !machine_pop(m, &a))
		return false;
	return compute_operation(op, a, b, &r) ? machine_push(m, r)
					       : machine_fail(m, OBJECT_NOT_DECODED);
}

static bool machine_pick(struct location_machine *m, uint64_t from_top)
{
	if (from_top >= m->depth)
		return machine_fail(m, OBJECT_NOT_DECODED);
	return machine_push(m, m->stack[m->depth - 1 - from_top]);
}

static bool machine_rotate(struct location_machine *m, size_t n)
{
	uint64_t top;

	if (m->depth < n)
		return machine_fail(m, OBJECT_NOT_DECODED);
	top = m->stack[m->depth - 1];
	memmove(&m->stack[m->depth - n + 1], &m->stack[m->depth - n], (n - 1) * sizeof top);
	m->stack[m->depth - n] = top;
	return true;
}

/* To the operation at a distance from the end of a jump. */
static bool machine_jump(struct location_machine *m, const Dwarf_Op *op)
{
	enum { JUMP_SIZE = 3 };
	Dwarf_Word to = op->offset + JUMP_SIZE + (Dwarf_Word)(int64_t)(int16_t)op->number;

	for (size_t i = 0; i < m->count; i++)
		if (m->ops[i].offset == to) {
			m->at = i;
			return true;
		}
	m->at = m->count;
	return true;
}

static bool machine_branch(struct location_machine *m, const Dwarf_Op *op)
{
	uint64_t condition;

	return machine_pop(m, &condition) && (!condition || machine_jump(m, op));
}

/* To a base type of integers: of its size, with its sign. 0: the generic type. */
static bool machine_convert(struct location_machine *m, const Dwarf_Op *op)
{
	Dwarf_Die type;
	Dwarf_Word size, encoding;
	Dwarf_Attribute attr;
	uint64_t value;
	unsigned unused;

	if (!op->number)
		return true;
	if (!m->attr || dwarf_getlocation_die(m->attr, op, &type) ||
	    dwarf_formudata(dwarf_attr(&type, DW_AT_byte_size, &attr), &size) ||
	    dwarf_formudata(dwarf_attr(&type, DW_AT_encoding, &attr), &encoding) || !size ||
	    size > 8 || encoding == DW_ATE_float)
		return machine_fail(m, OBJECT_NOT_DECODED);
	if (!machine_pop(m, &value))
		return false;
	m->typed |= size < 8 || (encoding != DW_ATE_signed && encoding != DW_ATE_address);
	unused = 64 - 8 * (unsigned)size;
	value <<= unused;
	return machine_push(m, encoding == DW_ATE_signed || encoding == DW_ATE_signed_char
				       ? (uint64_t)((int64_t)value >> unused)
				       : value >> unused);
}

/* Pushes a register's value at the function's entry. */
static bool entry_value(struct location_machine *m, const Dwarf_Op *op)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t count;
	uint64_t value;

	if (!m->f->at_entry || !m->attr || dwarf_getlocation_attr(m->attr, op, &attr) ||
	    dwarf_getlocation(&attr, &ops, &count) || count != 1 || ops->atom < DW_OP_reg0 ||
	    ops->atom > DW_OP_reg31 || !m->f->at_entry(m->f->arg, ops->atom - DW_OP_reg0, &value))
		return machine_fail(m, OBJECT_OPTIMIZED_OUT);
	return machine_push(m, value);
}

static bool indexed_address(struct location_machine *m, const Dwarf_Op *op, bool is_address)
{
	Dwarf_Attribute attr;
	Dwarf_Addr addr;
	Dwarf_Word word;

	if (!m->attr || dwarf_getlocation_attr(m->attr, op, &attr))
		return machine_fail(m, OBJECT_NOT_DECODED);
	if (is_address)
		return dwarf_formaddr(&attr, &addr) ? machine_fail(m, OBJECT_NOT_DECODED)
						    : machine_push(m, addr + m->f->bias);
	return dwarf_formudata(&attr, &word) ? machine_fail(m, OBJECT_NOT_DECODED)
					     : machine_push(m, word);
}

static bool push_base_plus(struct location_machine *m, uint64_t offset)
{
	uint64_t base;

	if (m->nested >= NESTED_MAX)
		return machine_fail(m, OBJECT_NOT_DECODED);
	return frame_base(m, &base) && machine_push(m, base + offset);
}

static bool push_cfa(struct location_machine *m)
{
	return m->f->cfa ? machine_push(m, m->f->cfa) : machine_fail(m, OBJECT_NOT_KEPT);
}

static bool machine_drop(struct location_machine *m)
{
	uint64_t top;

	return machine_pop(m, &top);
}

static bool plus_constant(struct location_machine *m, uint64_t constant)
{
	uint64_t top;

	return machine_pop(m, &top) && machine_push(m, top + constant);
}

/* Operations that work on the stack. */
static bool do_stack_op(struct location_machine *m, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_nop:
		return true;
	case DW_OP_addr:
		return machine_push(m, op->number + m->f->bias);
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		return indexed_address(m, op, true);
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		return indexed_address(m, op, false);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return machine_push(m, op->number);
	case DW_OP_bregx:
		return push_register_plus(m, op->number, op->number2);
	case DW_OP_fbreg:
		return push_base_plus(m, op->number);
	case DW_OP_call_frame_cfa:
		return push_cfa(m);
	case DW_OP_dup:
		return machine_pick(m, 0);
	case DW_OP_over:
		return machine_pick(m, 1);
	case DW_OP_pick:
		return machine_pick(m, op->number);
	case DW_OP_drop:
		return machine_drop(m);
	case DW_OP_swap:
		return machine_rotate(m, 2);
	case DW_OP_rot:
		return machine_rotate(m, 3);
	case DW_OP_deref:
		return machine_dereference(m, 8);
	case DW_OP_deref_size:
		return machine_dereference(m, op->number);
	case DW_OP_plus_uconst:
		return plus_constant(m, op->number);
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
		return do_unary(m, op->atom);
	case DW_OP_skip:
		return machine_jump(m, op);
	case DW_OP_bra:
		return machine_branch(m, op);
	case DW_OP_convert:
	case DW_OP_GNU_convert:
		return machine_convert(m, op);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return entry_value(m, op);
	default:
		return do_binary(m, op->atom);
	}
}

/* Operations that tell a place. */
static bool do_place_op(struct location_machine *m, const Dwarf_Op *op)
{
	uint64_t value;

	m->place = (struct simple_location){.kind = LOCATION_REGISTER, .number = op->number};
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		m->place.number = op->atom - DW_OP_reg0;
		return true;
	}
	switch (op->atom) {
	case DW_OP_regx:
		return true;
	case DW_OP_stack_value:
		if (!machine_pop(m, &value))
			return false;
		m->place = (struct simple_location){.kind = LOCATION_VALUE, .number = value};
		return true;
	case DW_OP_implicit_value:
		m->place.kind = LOCATION_BYTES;
		return dwarf_getlocation_implicit_value(m->attr, op, &m->place.block)
			       ? machine_fail(m, OBJECT_NOT_DECODED)
			       : true;
	default: /* implicit pointers: the object has no address */
		return machine_fail(m, OBJECT_OPTIMIZED_OUT);
	}
}

static bool tells_place(unsigned atom)
{
	static const unsigned others[] = {DW_OP_regx, DW_OP_stack_value, DW_OP_implicit_value,
					  DW_OP_implicit_pointer, DW_OP_GNU_implicit_pointer};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (atom == others[i])
			return true;
	return atom >= DW_OP_reg0 && atom <= DW_OP_reg31;
}

static bool ends_piece(unsigned atom) { return atom == DW_OP_piece || atom == DW_OP_bit_piece; }

static bool do_op(struct location_machine *m, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return machine_push(m, op->atom - DW_OP_lit0);
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register_plus(m, op->atom - DW_OP_breg0, op->number);
	return tells_place(op->atom) ? do_place_op(m, op) : do_stack_op(m, op);
}

/* Runs up to the end of a piece, which it leaves for the caller, or of the expression. A failure of
 * one piece leaves the others. */
static bool run_machine(struct location_machine *m)
{
	bool fine = true, any = false;

	m->place = (struct simple_location){.kind = LOCATION_NOWHERE};
	m->failure = OBJECT_OPTIMIZED_OUT;
	m->depth = 0;
	while (m->at < m->count && !ends_piece(m->ops[m->at].atom)) {
		const Dwarf_Op *op = &m->ops[m->at++];

		any = true;
		if (++m->steps > STEPS_MAX)
			return machine_fail(m, OBJECT_NOT_DECODED);
		fine = fine && do_op(m, op);
	}
	if (fine && any && m->place.kind == LOCATION_NOWHERE && m->depth)
		m->place = (struct simple_location){.kind = LOCATION_ADDRESS,
						    .number = m->stack[m->depth - 1]};
	return fine;
}

/* An expression as a value: an address is one, and of a register what it holds. */
static bool evaluate_location(const struct frame_place *f, Dwarf_Attribute *attr, Dwarf_Op *ops,
			      size_t count, unsigned nested, uint64_t *value,
			      enum object_state *why)
{
	struct location_machine m = {
		.f = f, .attr = attr, .ops = ops, .count = count, .nested = nested};
	bool fine = run_machine(&m);

	if (fine && m.place.kind == LOCATION_REGISTER)
		fine = read_register(&m, m.place.number, value);
	else if (fine && (m.place.kind == LOCATION_ADDRESS || m.place.kind == LOCATION_VALUE))
		*value = m.place.number;
	else
		fine = false;
	if (!fine)
		*why = m.failure;
	return fine;
}

enum object_state object_expression(const struct frame_place *f, Dwarf_Attribute *attr,
				    uint64_t *value)
{
	enum object_state why = OBJECT_NOT_DECODED;
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_getlocation(attr, &ops, &count))
		return why;
	return evaluate_location(f, attr, ops, count, 0, value, &why) ? OBJECT_KNOWN : why;
}

enum object_state object_operations(const struct frame_place *f, Dwarf_Op *ops, size_t count,
				    uint64_t *value)
{
	enum object_state why = OBJECT_NOT_DECODED;

	for (size_t i = 0; i < count; i++)
		if (ops[i].atom == DW_OP_call_frame_cfa || ops[i].atom == DW_OP_fbreg ||
		    tells_place(ops[i].atom))
			return why;
	return evaluate_location(f, NULL, ops, count, NESTED_MAX, value, &why) ? OBJECT_KNOWN : why;
}

static void put_bytes(struct object *o, uint64_t at, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n && at + i < OBJECT_BYTES_MAX; i++) {
		o->bytes[at + i] = ((const uint8_t *)bytes)[i];
		o->known |= UINT64_C(1) << (at + i);
	}
}

/* Puts what a register holds; of one of vectors no more than is known. */
static void put_register(struct object *o, struct location_machine *m, uint64_t at, uint64_t size)
{
	uint8_t vector[EXTENDED_VECTOR_SIZE] = {0};
	uint64_t value;
	size_t known;

	if (m->place.number >= FRAME_REGISTERS) {
		known = read_vector(m, m->place.number, vector);
		put_bytes(o, at, vector, size < known ? size : known);
		if (known < size) /* else `why` is of other pieces */
			o->why = known ? OBJECT_NOT_KEPT : m->failure;
	} else if (read_register(m, m->place.number, &value)) {
		put_bytes(o, at, &value, size < sizeof value ? size : sizeof value);
	} else {
		o->why = m->failure;
	}
}

/* Puts what is at a place into the object's bytes from `at` on: `size` of them. */
static void put_piece(struct object *o, struct location_machine *m, uint64_t at, uint64_t size)
{
	uint8_t bytes[OBJECT_BYTES_MAX];
	enum object_state state;

	if (size > OBJECT_BYTES_MAX)
		size = OBJECT_BYTES_MAX;
	switch (m->place.kind) {
	case LOCATION_ADDRESS:
		state = read_memory(m->f->memory, m->place.number, bytes, size);
		if (state == OBJECT_KNOWN)
			put_bytes(o, at, bytes, size);
		else
			o->why = state;
		break;
	case LOCATION_REGISTER:
		put_register(o, m, at, size);
		break;
	case LOCATION_VALUE:
		put_bytes(o, at, &m->place.number,
			  size < sizeof m->place.number ? size : sizeof m->place.number);
		break;
	case LOCATION_BYTES:
		put_bytes(o, at, m->place.block.data,
			  size < m->place.block.length ? size : m->place.block.length);
		break;
	case LOCATION_NOWHERE:
		break;
	}
}

/* Pieces of whole bytes; of bits none is evaluated. */
static void put_pieces(struct object *o, struct location_machine *m, bool fine)
{
	uint64_t at = 0;

	for (;;) {
		const Dwarf_Op *end = &m->ops[m->at++];
		bool whole = end->atom == DW_OP_piece ||
			     (!(end->number % 8) && !end->number2 && end->number);
		uint64_t size = end->atom == DW_OP_piece ? end->number : end->number / 8;

		if (!whole) {
			o->why = OBJECT_NOT_DECODED;
			return;
		}
		if (fine)
			put_piece(o, m, at, size);
		else
			o->why = m->failure;
		if (size > OBJECT_BYTES_MAX || (at += size) >= OBJECT_BYTES_MAX ||
		    m->at == m->count || ++m->steps > STEPS_MAX)
			return;
		fine = run_machine(m);
		if (m->at == m->count)
			return; /* a place without its piece */
	}
}

static void locate_by(struct object *o, struct location_machine *m)
{
	bool fine = run_machine(m);

	if (m->at < m->count) {
		put_pieces(o, m, fine);
	} else if (!fine) {
		o->why = m->failure;
	} else if (m->place.kind == LOCATION_ADDRESS) {
		*o = object_at(m->place.number);
	} else {
		if (m->place.kind == LOCATION_REGISTER)
			o->reg = (unsigned)(m->place.number < FRAME_REGISTERS ? m->place.number + 1
									      : 0);
		put_piece(o, m, 0, OBJECT_BYTES_MAX);
	}
}

static void locate_constant(struct object *o, Dwarf_Attribute *attr)
{
	Dwarf_Block block;
	Dwarf_Word value; /* of forms without a sign the higher bits are 0, as compilers mean it */
	const char *string;

	if (!dwarf_formblock(attr, &block)) {
		put_bytes(o, 0, block.data, block.length);
	} else if (!dwarf_formudata(attr, &value)) {
		put_bytes(o, 0, &value, sizeof value);
	} else if ((string = dwarf_formstring(attr))) {
		put_bytes(o, 0, string, strnlen(string, OBJECT_BYTES_MAX - 1) + 1);
	}
}

void object_locate(struct object *o, const struct frame_place *f, Dwarf_Die *variable)
{
	struct location_machine m = {.f = f, .attr = &(Dwarf_Attribute){0}};

	*o = (struct object){.why = OBJECT_OPTIMIZED_OUT};
	if (dwarf_attr_integrate(variable, DW_AT_location, m.attr)) {
		int found;

		take_block(m.attr);
		found = dwarf_getlocation_addr(m.attr, f->pc, &m.ops, &m.count, LOCATIONS_MAX);
		if (found == 1 && m.count)
			locate_by(o, &m);
		else if (found < 0)
			o->why = OBJECT_NOT_DECODED;
	} else if (dwarf_attr_integrate(variable, DW_AT_const_value, m.attr)) {
		locate_constant(o, m.attr);
	}
}

struct object object_at(uint64_t addr)
{
	return (struct object){.in_memory = true, .addr = addr, .why = OBJECT_NOT_KEPT};
}

enum object_state object_read(const struct object *o, const struct known_memory *k, uint64_t offset,
			      void *out, size_t n)
{
	if (o->in_memory)
		return read_memory(k, o->addr + offset, out, n);
	if (n > OBJECT_BYTES_MAX || offset > OBJECT_BYTES_MAX - n)
		return o->why == OBJECT_KNOWN ? OBJECT_NOT_DECODED : o->why;
	for (size_t i = 0; i < n; i++)
		if (!(o->known >> (offset + i) & 1))
			return o->why;
	memcpy(out, o->bytes + offset, n);
	return OBJECT_KNOWN;
}
