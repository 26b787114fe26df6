/* SPDX-License-Identifier: MIT */
/* A value is put by the tag of its type (putters). Structures that are strings or sequences in
 * their language's library are known by name and by the members that they must have (sequences). */
#include "decoder/values/value_text.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "decoder/symbols/debug_type.h"
#include "decoder/symbols/text.h"
#include "decoder/values/sequence_type.h"
#include "lib/array_size.h"

enum {
	DEPTH_MAX = 4,
	STEPS_MAX = 400,
	ELEMENTS_SHOWN = 8,
	MEMBERS_SHOWN = 12,
	STRING_SHOWN = 64,
	BYTES_SHOWN = 16,
	BYTES_LOOKED_AT = 4096, /* behind the end of a string */
	ENUMERATORS_MAX = 4096,
	DIMENSIONS_MAX = 4,
};

struct writer {
	char *text;
	size_t len;
	bool full;
	unsigned steps, depth;
	const struct known_memory *k;
};

/* A value within an object. */
struct value_part {
	const struct object *o;
	uint64_t offset;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *w, const char *fmt, ...)
{
	static const char more[] = "...";
	size_t room = VALUE_TEXT_MAX - sizeof more - w->len;
	va_list ap;
	int n;

	if (w->full)
		return;
	va_start(ap, fmt);
	n = vsnprintf(w->text + w->len, room, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < room) {
		w->len += (size_t)n;
		return;
	}
	w->full = true;
	w->len += room - 1;
	memcpy(w->text + w->len, more, sizeof more);
	w->len += sizeof more - 1;
}

static void put_value(struct writer *w, Dwarf_Die *type, struct value_part p);

static void put_state(struct writer *w, enum object_state state)
{
	put(w, "%s", object_state_texts[state]);
}

static bool read_part(struct writer *w, struct value_part p, void *out, size_t n)
{
	enum object_state state = object_read(p.o, w->k, p.offset, out, n);

	if (state != OBJECT_KNOWN)
		put_state(w, state);
	return state == OBJECT_KNOWN;
}

/* A number of `size` bytes. */
static bool read_number(struct writer *w, struct value_part p, uint64_t size, uint64_t *value)
{
	*value = 0;
	if (size && size <= sizeof *value)
		return read_part(w, p, value, size);
	put_state(w, OBJECT_NOT_DECODED);
	return false;
}

static int64_t with_sign(uint64_t value, uint64_t size)
{
	unsigned unused = 64 - 8 * (unsigned)size;

	return (int64_t)(value << unused) >> unused;
}

/* One character, as in a string of C. */
static void put_character(struct writer *w, unsigned char c, char quote)
{
	static const char named[] = "\a\b\t\n\v\f\r\033", letters[] = "abtnvfre";
	const char *at = c ? strchr(named, c) : NULL;

	if (at)
		put(w, "\\%c", letters[at - named]);
	else if (c == (unsigned char)quote || c == '\\')
		put(w, "\\%c", c);
	else if (c < ' ' || c == 0x7f)
		put(w, "\\%03o", c);
	else
		put(w, "%c", c); /* of UTF-8, too */
}

/* n bytes of a string, or those before its NUL; more: it goes on. */
static void put_string(struct writer *w, const uint8_t *bytes, size_t n, bool more)
{
	put(w, "\"");
	for (size_t i = 0; i < n; i++)
		put_character(w, bytes[i], '"');
	put(w, more ? "\"..." : "\"");
}

/* A string of which the length is told. */
static void put_counted_string(struct writer *w, uint64_t addr, uint64_t len)
{
	uint8_t bytes[STRING_SHOWN];
	size_t n = len < sizeof bytes ? (size_t)len : sizeof bytes,
	       got = known_memory_read(w->k, addr, bytes, n);

	if (got || !n)
		put_string(w, bytes, got, got < len);
	if (got < n)
		put_state(w, known_memory_is_mapped(w->k, addr + got) ? OBJECT_NOT_KEPT
								      : OBJECT_NOT_MAPPED);
}

/* The bytes of a character of UTF-8 (RFC 3629) that begins at s, of n; 0: it is none, n + 1: the n
 * bytes are its beginning. */
static size_t character_length(const uint8_t *s, size_t n)
{
	size_t len = *s < 0x80                 ? 1
		     : *s >= 0xc2 && *s < 0xe0 ? 2
		     : *s >= 0xe0 && *s < 0xf0 ? 3
		     : *s >= 0xf0 && *s < 0xf5 ? 4
					       : 0;

	for (size_t i = 1; i < len && i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return len > n ? n + 1 : len;
}

/* printable: no character of control but those of lines and terminals. Of more than is shown the
 * last character may be cut. */
static bool are_text(const uint8_t *s, size_t n, bool printable)
{
	for (size_t i = 0, len; i < n; i += len) {
		len = character_length(s + i, n - i);
		if (!len || (len > n - i && n <= STRING_SHOWN) ||
		    (printable && (s[i] < ' ' || s[i] == 0x7f) && !strchr("\t\n\r\033", s[i])))
			return false;
	}
	return true;
}

static void put_bytes(struct writer *w, const uint8_t *bytes, size_t n, bool more)
{
	put(w, "{");
	for (size_t i = 0; i < n; i++)
		put(w, i ? " %02x" : "%02x", bytes[i]);
	put(w, more ? " ...}" : "}");
}

/* Of unsigned characters, bytes where they are no text: how many there are is not known. */
static void put_string_at(struct writer *w, uint64_t addr, bool is_signed)
{
	uint8_t bytes[STRING_SHOWN + 1];
	size_t got = known_memory_read(w->k, addr, bytes, sizeof bytes),
	       n = strnlen((const char *)bytes, got);

	if (got && !is_signed && (!n || !are_text(bytes, n, true))) {
		put_bytes(w, bytes, got < BYTES_SHOWN / 2 ? got : BYTES_SHOWN / 2, true);
		return;
	}
	if (n < got || got == sizeof bytes) {
		put_string(w, bytes, n == sizeof bytes ? n - 1 : n, n == sizeof bytes);
		return;
	}
	if (got)
		put_string(w, bytes, got, true);
	put_state(w,
		  known_memory_is_mapped(w->k, addr + got) ? OBJECT_NOT_KEPT : OBJECT_NOT_MAPPED);
}

static void put_float(struct writer *w, struct value_part p, uint64_t size)
{
	union {
		float f;
		double d;
		long double l;
		uint8_t bytes[16];
	} u = {.bytes = {0}};

	if (size != sizeof u.f && size != sizeof u.d && size != 16)
		put_state(w, OBJECT_NOT_DECODED);
	else if (!read_part(w, p, u.bytes, size))
		return;
	else if (size == sizeof u.f)
		put(w, "%.9g", (double)u.f);
	else if (size == sizeof u.d)
		put(w, "%.17g", u.d);
	else
		put(w, "%.18Lg", u.l);
}

static void put_number(struct writer *w, uint64_t value, uint64_t size, uint64_t encoding)
{
	switch (encoding) {
	case DW_ATE_boolean:
		if (value > 1)
			put(w, "%" PRIu64, value);
		else
			put(w, value ? "true" : "false");
		break;
	case DW_ATE_signed:
		put(w, "%" PRId64, with_sign(value, size));
		break;
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		put(w, "%" PRId64,
		    encoding == DW_ATE_signed_char ? with_sign(value, size) : (int64_t)value);
		if (value < 0x7f) {
			put(w, " '");
			put_character(w, (unsigned char)value, '\'');
			put(w, "'");
		} else if (size == 1) {
			put(w, " '\\%03o'", (unsigned)value);
		}
		break;
	case DW_ATE_address:
		put(w, "0x%" PRIx64, value);
		break;
	case DW_ATE_unsigned:
	case 0: /* it has none */
		put(w, "%" PRIu64, value);
		break;
	default: /* decimal and packed numbers among them */
		put_state(w, OBJECT_NOT_DECODED);
	}
}

/* Of more than 8 bytes. */
static void put_long_number(struct writer *w, struct value_part p, bool is_signed)
{
	uint64_t halves[2];

	if (!read_part(w, p, halves, sizeof halves))
		return;
	if (is_signed && halves[1] == UINT64_MAX && halves[0] >> 63)
		put(w, "%" PRId64, (int64_t)halves[0]);
	else if (is_signed && halves[1] >> 63)
		put_state(w, OBJECT_NOT_DECODED);
	else if (halves[1])
		put(w, "0x%" PRIx64 "%016" PRIx64, halves[1], halves[0]);
	else
		put(w, "%" PRIu64, halves[0]);
}

/* Of the floating types of 16 bytes, which their encoding does not tell apart (binary128 is
 * another).
 */
static bool is_x87(Dwarf_Die *type)
{
	static const char *const names[] = {"long double", "real(kind=10)"};
	const char *name = dwarf_diename(type);

	for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static void put_base(struct writer *w, Dwarf_Die *type, struct value_part p)
{
	uint64_t size = 0, encoding = 0, value;

	debug_type_size(type, &size);
	debug_number(type, DW_AT_encoding, &encoding);
	if (encoding == DW_ATE_float && size == 16 && !is_x87(type))
		put_state(w, OBJECT_NOT_DECODED);
	else if (encoding == DW_ATE_float)
		put_float(w, p, size);
	else if (!size)
		put(w, "()"); /* Rust's unit */
	else if (size == 16 && (encoding == DW_ATE_signed || encoding == DW_ATE_unsigned))
		put_long_number(w, p, encoding == DW_ATE_signed);
	else if (encoding == DW_ATE_complex_float)
		put_state(w, OBJECT_NOT_DECODED);
	else if (read_number(w, p, size, &value))
		put_number(w, value, size, encoding);
}

static bool is_signed_character(Dwarf_Die *type)
{
	uint64_t encoding;

	return debug_number(type, DW_AT_encoding, &encoding) && encoding == DW_ATE_signed_char;
}

static uint64_t bits_of(uint64_t size)
{
	return size < 8 ? (UINT64_C(1) << 8 * size) - 1 : UINT64_MAX;
}

static bool has_sign(uint64_t encoding)
{
	return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
}

/* By the type that the enumeration is made of; without one, by what its values need. */
static bool enumeration_has_sign(Dwarf_Die *type)
{
	uint64_t encoding;
	Dwarf_Die die = {0}, base;

	if (debug_number(type, DW_AT_encoding, &encoding) ||
	    (debug_type_of(type, &base) && debug_number(&base, DW_AT_encoding, &encoding)))
		return has_sign(encoding);
	for (unsigned i = 0; i < ENUMERATORS_MAX && debug_next_child(type, &die); i++) {
		Dwarf_Attribute attr;
		Dwarf_Sword is;

		if (dwarf_tag(&die) == DW_TAG_enumerator &&
		    dwarf_attr(&die, DW_AT_const_value, &attr) &&
		    dwarf_whatform(&attr) == DW_FORM_sdata && !dwarf_formsdata(&attr, &is) &&
		    is < 0)
			return true;
	}
	return false;
}

/* The name of a value of `size` bytes, else the number. */
static void put_enumerator(struct writer *w, Dwarf_Die *type, uint64_t value, uint64_t size)
{
	Dwarf_Die die = {0};

	for (unsigned i = 0; i < ENUMERATORS_MAX && debug_next_child(type, &die); i++) {
		uint64_t is;

		if (dwarf_tag(&die) == DW_TAG_enumerator && dwarf_diename(&die) &&
		    debug_number(&die, DW_AT_const_value, &is) && (is & bits_of(size)) == value) {
			put(w, "%s", dwarf_diename(&die));
			return;
		}
	}
	if (enumeration_has_sign(type))
		put(w, "%" PRId64, with_sign(value, size));
	else
		put(w, "%" PRIu64, value);
}

static void put_enumeration(struct writer *w, Dwarf_Die *type, struct value_part p)
{
	uint64_t size = 0, value;

	debug_type_size(type, &size);
	if (read_number(w, p, size, &value))
		put_enumerator(w, type, value, size);
}

static void put_function_name(struct writer *w, uint64_t addr)
{
	struct text_names names = {w->k->s, w->k->space, w->k->epoch};
	char name[128];

	if (text_address_name(&names, addr, name, sizeof name))
		put(w, " <%s>", name);
}

static void put_pointer(struct writer *w, Dwarf_Die *type, struct value_part p)
{
	Dwarf_Die target;
	uint64_t addr;

	if (!read_number(w, p, sizeof addr, &addr))
		return;
	put(w, "0x%" PRIx64, addr);
	if (!addr || !debug_type_of(type, &target))
		return;
	if (dwarf_tag(&target) == DW_TAG_subroutine_type) {
		put_function_name(w, addr);
	} else if (debug_is_character(&target)) {
		put(w, " ");
		put_string_at(w, addr, is_signed_character(&target));
	}
}

static void put_reference(struct writer *w, Dwarf_Die *type, struct value_part p)
{
	struct object o;
	Dwarf_Die target;
	uint64_t addr;

	if (!read_number(w, p, sizeof addr, &addr))
		return;
	put(w, "@0x%" PRIx64, addr);
	if (!debug_type_of(type, &target))
		return;
	o = object_at(addr);
	put(w, ": ");
	put_value(w, &target, (struct value_part){&o, 0});
}

/* Elements of `size` bytes of a type, one behind the other, in one or more dimensions. */
struct elements {
	Dwarf_Die *type;
	uint64_t size;
	const uint64_t *counts; /* by dimension, the outermost first */
	size_t dimensions;
};

static void put_elements(struct writer *w, const struct elements *e, size_t dimension,
			 struct value_part first)
{
	uint64_t step = e->size;

	for (size_t i = dimension + 1; i < e->dimensions; i++)
		step *= e->counts[i]; /* a wrong count does no harm: bytes that are not there are
					 not read */
	put(w, "{");
	for (uint64_t i = 0; i < e->counts[dimension] && !w->full && w->steps < STEPS_MAX; i++) {
		struct value_part p = {first.o, first.offset + i * step};

		if (i == ELEMENTS_SHOWN) {
			put(w, "...");
			break;
		}
		put(w, i ? ", " : "");
		if (dimension + 1 < e->dimensions)
			put_elements(w, e, dimension + 1, p);
		else
			put_value(w, e->type, p);
	}
	put(w, "}");
}

/* Whether bytes of an object from `from` to `to` are known not to be all 0. */
static bool has_more(struct writer *w, struct value_part p, uint64_t from, uint64_t to)
{
	uint8_t bytes[64];
	uint64_t most = from + BYTES_LOOKED_AT;

	for (size_t n; from < to && from < most; from += n) {
		n = to - from < sizeof bytes ? (size_t)(to - from) : sizeof bytes;
		if (object_read(p.o, w->k, p.offset + from, bytes, n) != OBJECT_KNOWN)
			return false;
		for (size_t i = 0; i < n; i++)
			if (bytes[i])
				return true;
	}
	return false;
}

/* An array of characters is a string up to its NUL, where that is what it holds; else bytes. Those
 * of unsigned characters are strings only where nothing speaks against it. */
static void put_character_array(struct writer *w, struct value_part p, uint64_t count,
				bool is_signed)
{
	uint8_t bytes[STRING_SHOWN + 1];
	size_t n = count < sizeof bytes ? (size_t)count : sizeof bytes, len;
	bool more, is_string;

	if (!n) {
		put(w, "\"\"");
		return;
	}
	if (!read_part(w, p, bytes, n))
		return;
	len = strnlen((const char *)bytes, n);
	more = len < n && has_more(w, p, len + 1, count);
	is_string = are_text(bytes, len, more || !is_signed) && (len || (!more && is_signed));
	if (!is_string || (more && !is_signed)) {
		len = n < BYTES_SHOWN ? n : BYTES_SHOWN;
		put(w, "%" PRIu64 " bytes ", count);
		put_bytes(w, bytes, len, len < count);
		return;
	}
	put_string(w, bytes, len > STRING_SHOWN ? STRING_SHOWN : len, len > STRING_SHOWN);
	if (more)
		put(w, " and more behind its end");
}

static void put_array(struct writer *w, Dwarf_Die *type, struct value_part p)
{
	uint64_t counts[DIMENSIONS_MAX], size;
	size_t n = debug_array_counts(type, counts, DIMENSIONS_MAX);
	Dwarf_Die element;

	if (!n || !debug_type_of(type, &element) || !debug_type_size(&element, &size))
		put(w, "{...}");
	else if (n == 1 && debug_is_character(&element))
		put_character_array(w, p, counts[0], is_signed_character(&element));
	else
		put_elements(w, &(struct elements){&element, size, counts, n}, 0, p);
}

/* False: it is no sequence. */
static bool put_sequence(struct writer *w, Dwarf_Die *type, struct value_part p)
{
	struct sequence_type f;
	uint64_t data, count;
	struct object o;

	if (!sequence_type_find(&f, type))
		return false;
	if (!read_number(w, (struct value_part){p.o, p.offset + f.data}, 8, &data) ||
	    !read_number(w, (struct value_part){p.o, p.offset + f.behind}, 8, &count))
		return true;
	if (f.has_end)
		count = f.size && count >= data ? (count - data) / f.size : 0;
	if (f.is_text) {
		put_counted_string(w, data, count);
		return true;
	}
	o = object_at(data);
	put(w, "length %" PRIu64 " ", count);
	put_elements(w, &(struct elements){&f.element, f.size, &count, 1}, 0,
		     (struct value_part){&o, 0});
	return true;
}

static void put_bit_field(struct writer *w, Dwarf_Die *member, Dwarf_Die *type, struct value_part p,
			  uint64_t bits)
{
	uint64_t bit, value, encoding = 0, size = 0;

	if (bits > 32 || !debug_first_bit(member, bits, &bit)) {
		put_state(w, OBJECT_NOT_DECODED);
		return;
	}
	if (!read_number(w, (struct value_part){p.o, p.offset + bit / 8}, (bit % 8 + bits + 7) / 8,
			 &value))
		return;
	debug_type_size(type, &size);
	debug_number(type, DW_AT_encoding, &encoding);
	value = value >> bit % 8 & ((UINT64_C(1) << bits) - 1);
	if (dwarf_tag(type) == DW_TAG_enumeration_type) {
		if (enumeration_has_sign(type) && value >> (bits - 1) & 1)
			value |= UINT64_MAX << bits;
		put_enumerator(w, type, value & bits_of(size), size);
		return;
	}
	if (has_sign(encoding) && value >> (bits - 1) & 1)
		value |= UINT64_MAX << bits;
	put_number(w, value, 8, encoding);
}

static void put_member(struct writer *w, Dwarf_Die *member, struct value_part p, uint64_t offset)
{
	const char *name = dwarf_diename(member);
	uint64_t bits;
	Dwarf_Die type;

	if (!debug_type_of(member, &type))
		return;
	if (dwarf_tag(member) == DW_TAG_inheritance)
		put(w, "<%s> = ", dwarf_diename(&type) ? dwarf_diename(&type) : "?");
	else if (name)
		put(w, "%s = ", name);
	if (debug_number(member, DW_AT_bit_size, &bits))
		put_bit_field(w, member, &type, p, bits);
	else
		put_value(w, &type, (struct value_part){p.o, p.offset + offset});
}

/* Rust's enumerations: the variant that a discriminant tells, or the one without. */
static bool find_variant(struct writer *w, Dwarf_Die *variants, struct value_part p,
			 Dwarf_Die *variant, bool *failed)
{
	Dwarf_Die die = {0}, discr, type, fallback = {0};
	Dwarf_Attribute attr;
	uint64_t offset, size, value = 0, mask;

	*failed = false;
	if (dwarf_attr(variants, DW_AT_discr, &attr) && dwarf_formref_die(&attr, &discr)) {
		if (!debug_member_offset(&discr, &offset) || !debug_type_of(&discr, &type) ||
		    !debug_type_size(&type, &size) || size > 8)
			return false;
		if (!read_number(w, (struct value_part){p.o, p.offset + offset}, size, &value)) {
			*failed = true;
			return false;
		}
	} else {
		size = 8;
	}
	mask = size < 8 ? (UINT64_C(1) << 8 * size) - 1 : UINT64_MAX;
	for (unsigned i = 0; i < DEBUG_MEMBERS_MAX && debug_next_child(variants, &die); i++) {
		uint64_t is;

		if (dwarf_tag(&die) != DW_TAG_variant)
			continue;
		if (!debug_number(&die, DW_AT_discr_value, &is)) {
			fallback = die;
		} else if ((is & mask) == value) {
			*variant = die;
			return true;
		}
	}
	*variant = fallback;
	return fallback.addr != NULL;
}

static bool has_members(Dwarf_Die *type)
{
	Dwarf_Die die = {0};

	for (unsigned i = 0; i < MEMBERS_SHOWN && debug_next_child(type, &die); i++)
		if (dwarf_tag(&die) == DW_TAG_member)
			return true;
	return false;
}

static void put_variant(struct writer *w, Dwarf_Die *variants, struct value_part p)
{
	Dwarf_Die variant, member = {0}, type;
	uint64_t offset;
	bool failed;

	if (!find_variant(w, variants, p, &variant, &failed)) {
		if (!failed)
			put(w, "...");
		return;
	}
	while (debug_next_child(&variant, &member) && dwarf_tag(&member) != DW_TAG_member)
		;
	if (!member.addr || dwarf_tag(&member) != DW_TAG_member ||
	    !debug_member_offset(&member, &offset) || !debug_type_of(&member, &type)) {
		put(w, "...");
		return;
	}
	put(w, "%s", dwarf_diename(&member) ? dwarf_diename(&member) : "");
	if (has_members(&type))
		put_value(w, &type, (struct value_part){p.o, p.offset + offset});
}

static void put_members(struct writer *w, Dwarf_Die *type, struct value_part p)
{
	Dwarf_Die die = {0};
	unsigned shown = 0;
	uint64_t offset;

	put(w, "{");
	for (unsigned i = 0; i < DEBUG_MEMBERS_MAX && !w->full && debug_next_child(type, &die);
	     i++) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_inheritance && !debug_member_offset(&die, &offset)) {
			put(w, "%s<virtual base> = ", shown++ ? ", " : "");
			put_state(w, OBJECT_NOT_DECODED);
			continue;
		}
		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    !debug_member_offset(&die, &offset))
			continue;
		if (shown == MEMBERS_SHOWN || w->steps >= STEPS_MAX) {
			put(w, ", ...");
			break;
		}
		put(w, shown++ ? ", " : "");
		put_member(w, &die, p, offset);
	}
	put(w, "}");
}

static bool put_enum_of_rust(struct writer *w, Dwarf_Die *type, struct value_part p)
{
	Dwarf_Die die = {0};

	for (unsigned i = 0; i < MEMBERS_SHOWN && debug_next_child(type, &die); i++)
		if (dwarf_tag(&die) == DW_TAG_variant_part) {
			put_variant(w, &die, p);
			return true;
		}
	return false;
}

static void put_structure(struct writer *w, Dwarf_Die *type, struct value_part p)
{
	if (dwarf_hasattr(type, DW_AT_declaration))
		put(w, "<incomplete type>");
	else if (!put_sequence(w, type, p) && !put_enum_of_rust(w, type, p))
		put_members(w, type, p);
}

static void put_fortran_string(struct writer *w, Dwarf_Die *type, struct value_part p)
{
	uint64_t size;
	uint8_t bytes[STRING_SHOWN];

	if (!debug_type_size(type, &size) || !size)
		put_state(w, OBJECT_NOT_DECODED);
	else if (read_part(w, p, bytes, size < sizeof bytes ? size : sizeof bytes))
		put_string(w, bytes, size < sizeof bytes ? size : sizeof bytes,
			   size > sizeof bytes);
}

static const struct {
	int tag;
	void (*put)(struct writer *w, Dwarf_Die *type, struct value_part p);
	bool is_composed;
} putters[] = {
	{DW_TAG_base_type, put_base, false},
	{DW_TAG_enumeration_type, put_enumeration, false},
	{DW_TAG_pointer_type, put_pointer, false},
	{DW_TAG_reference_type, put_reference, false},
	{DW_TAG_rvalue_reference_type, put_reference, false},
	{DW_TAG_string_type, put_fortran_string, false},
	{DW_TAG_array_type, put_array, true},
	{DW_TAG_structure_type, put_structure, true},
	{DW_TAG_class_type, put_structure, true},
	{DW_TAG_union_type, put_structure, true},
};

static void put_value(struct writer *w, Dwarf_Die *type, struct value_part p)
{
	int tag = dwarf_tag(type);

	if (w->full)
		return;
	if (++w->steps > STEPS_MAX || w->depth == DEPTH_MAX) {
		put(w, "...");
		return;
	}
	w->depth++;
	for (size_t i = 0; i < ARRAY_SIZE(putters); i++)
		if (putters[i].tag == tag) {
			putters[i].put(w, type, p);
			w->depth--;
			return;
		}
	put_state(w, OBJECT_NOT_DECODED);
	w->depth--;
}

void value_text(char text[VALUE_TEXT_MAX], const struct known_memory *k, Dwarf_Die *type,
		const struct object *o)
{
	struct writer w = {.text = text, .k = k};

	*text = 0;
	if (!o->in_memory && !o->known)
		put_state(&w, o->why);
	else if (!type)
		put_state(&w, OBJECT_NOT_DECODED);
	else
		put_value(&w, type, (struct value_part){o, 0});
}

static bool is_text(Dwarf_Die *type)
{
	struct sequence_type f;
	Dwarf_Die element;

	if (dwarf_tag(type) == DW_TAG_array_type)
		return debug_type_of(type, &element) && debug_is_character(&element);
	return debug_is_structure(type) && sequence_type_find(&f, type) && f.is_text;
}

bool value_is_plain(Dwarf_Die *type)
{
	Dwarf_Die target;
	int tag = dwarf_tag(type);

	if ((tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type) &&
	    debug_type_of(type, &target)) {
		type = &target;
		tag = dwarf_tag(type);
	}
	for (size_t i = 0; i < ARRAY_SIZE(putters); i++)
		if (putters[i].tag == tag)
			return !putters[i].is_composed || is_text(type);
	return true;
}
