/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/debug_type.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/array_size.h"

enum {
	CHAIN_MAX = 32,   /* of typedefs and qualifiers */
	NESTED_MAX = 16,  /* of structures and arrays in one another */
	VISITS_MAX = 4096 /* of entries in one question */
};

static bool is_qualifier(int tag)
{
	static const int tags[] = {DW_TAG_typedef,       DW_TAG_const_type,  DW_TAG_volatile_type,
				   DW_TAG_restrict_type, DW_TAG_atomic_type, DW_TAG_immutable_type};

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		if (tag == tags[i])
			return true;
	return false;
}

bool debug_type_of(Dwarf_Die *entry, Dwarf_Die *type)
{
	Dwarf_Die at = *entry, next;
	Dwarf_Attribute attr;

	for (unsigned i = 0; i < CHAIN_MAX; i++) {
		if (!dwarf_attr_integrate(&at, DW_AT_type, &attr) ||
		    !dwarf_formref_die(&attr, &next))
			return false;
		at = next;
		if (!is_qualifier(dwarf_tag(&at))) {
			*type = at;
			return true;
		}
	}
	return false;
}

bool debug_number(Dwarf_Die *entry, unsigned name, uint64_t *value)
{
	Dwarf_Attribute attr;
	Dwarf_Word word;

	if (!dwarf_attr_integrate(entry, name, &attr) || dwarf_formudata(&attr, &word))
		return false;
	*value = word;
	return true;
}

bool debug_is_block(int tag)
{
	static const int blocks[] = {DW_TAG_lexical_block, DW_TAG_try_block, DW_TAG_catch_block,
				     DW_TAG_with_stmt};

	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		if (tag == blocks[i])
			return true;
	return false;
}

bool debug_is_structure(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

bool debug_is_character(Dwarf_Die *type)
{
	uint64_t encoding, size;

	return dwarf_tag(type) == DW_TAG_base_type && debug_type_size(type, &size) && size == 1 &&
	       debug_number(type, DW_AT_encoding, &encoding) &&
	       (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char);
}

bool debug_next_child(Dwarf_Die *parent, Dwarf_Die *die)
{
	Dwarf_Off before;
	Dwarf_Die next;

	if (!die->addr)
		return !dwarf_child(parent, die);
	before = dwarf_dieoffset(die);
	if (dwarf_siblingof(die, &next) || dwarf_dieoffset(&next) <= before)
		return false;
	*die = next;
	return true;
}

/* A bound that is a constant. Forms without a sign hold none. */
static bool constant_bound(Dwarf_Die *dimension, unsigned name, int64_t *bound)
{
	Dwarf_Attribute attr;
	Dwarf_Sword with_sign;
	Dwarf_Word without;

	if (!dwarf_attr_integrate(dimension, name, &attr))
		return false;
	if (dwarf_whatform(&attr) == DW_FORM_sdata ||
	    dwarf_whatform(&attr) == DW_FORM_implicit_const) {
		if (dwarf_formsdata(&attr, &with_sign))
			return false;
		*bound = with_sign;
		return true;
	}
	if (dwarf_formudata(&attr, &without))
		return false;
	*bound = (int64_t)without;
	return true;
}

static int64_t default_lower_bound(Dwarf_Die *dimension)
{
	Dwarf_Sword bound;
	Dwarf_Die unit;

	return dwarf_diecu(dimension, &unit, NULL, NULL) &&
			       !dwarf_default_lower_bound(dwarf_srclang(&unit), &bound)
		       ? bound
		       : 0;
}

static bool dimension_count(Dwarf_Die *dimension, uint64_t *count)
{
	int64_t lower, upper;

	if (debug_number(dimension, DW_AT_count, count))
		return true;
	if (!constant_bound(dimension, DW_AT_upper_bound, &upper))
		return false;
	if (!constant_bound(dimension, DW_AT_lower_bound, &lower)) {
		if (dwarf_hasattr(dimension, DW_AT_lower_bound))
			return false;
		lower = default_lower_bound(dimension);
	}
	/* An upper bound of -1 is that of an array without elements. */
	if (upper == UINT32_MAX || upper < lower)
		*count = 0;
	else
		*count = (uint64_t)upper - (uint64_t)lower + 1;
	return true;
}

size_t debug_array_counts(Dwarf_Die *array, uint64_t *counts, size_t max)
{
	Dwarf_Die die = {0};
	size_t n = 0;

	for (unsigned i = 0; i < DEBUG_MEMBERS_MAX && debug_next_child(array, &die); i++) {
		if (dwarf_tag(&die) != DW_TAG_subrange_type)
			continue;
		if (n == max || !dimension_count(&die, &counts[n++]))
			return 0;
	}
	/* Fortran's first index runs first; arrays that a descriptor tells of lie elsewhere. */
	if ((n > 1 && dwarf_hasattr(array, DW_AT_ordering)) ||
	    dwarf_hasattr(array, DW_AT_data_location))
		return 0;
	return n;
}

/* Of all dimensions together. */
static bool element_count(Dwarf_Die *array, uint64_t *count)
{
	uint64_t counts[NESTED_MAX];
	size_t n = debug_array_counts(array, counts, NESTED_MAX);

	*count = 1;
	for (size_t i = 0; i < n; i++)
		if (__builtin_mul_overflow(*count, counts[i], count))
			return false;
	return n != 0;
}

bool debug_type_size(Dwarf_Die *type, uint64_t *size)
{
	Dwarf_Die at = *type, element;
	uint64_t times = 1, count;

	for (unsigned i = 0; i < NESTED_MAX; i++) {
		int tag = dwarf_tag(&at);

		if (debug_number(&at, DW_AT_byte_size, size))
			return !__builtin_mul_overflow(*size, times, size);
		*size = 8 * times;
		if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
		    tag == DW_TAG_rvalue_reference_type)
			return true;
		if (tag != DW_TAG_array_type || !element_count(&at, &count) ||
		    __builtin_mul_overflow(times, count, &times) || !debug_type_of(&at, &element))
			return false;
		at = element;
	}
	return false;
}

bool debug_member_offset(Dwarf_Die *member, uint64_t *offset)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t count;

	*offset = 0;
	if (dwarf_hasattr(member, DW_AT_external) || dwarf_hasattr(member, DW_AT_declaration))
		return false; /* of the class, not of the object */
	if (debug_number(member, DW_AT_data_member_location, offset) ||
	    !dwarf_attr(member, DW_AT_data_member_location, &attr))
		return true;
	if (dwarf_getlocation(&attr, &ops, &count) || count != 1 || ops->atom != DW_OP_plus_uconst)
		return false;
	*offset = ops->number;
	return true;
}

bool debug_first_bit(Dwarf_Die *member, uint64_t bits, uint64_t *bit)
{
	uint64_t offset, size, from_end;

	if (!bits || bits > 64)
		return false;
	if (debug_number(member, DW_AT_data_bit_offset, bit))
		return true;
	/* DWARF 2 counts from the other end of a storage unit. */
	if (!debug_member_offset(member, &offset) ||
	    !debug_number(member, DW_AT_bit_offset, &from_end) ||
	    !debug_number(member, DW_AT_byte_size, &size) || size > 8 || from_end > 8 * size ||
	    bits > 8 * size - from_end)
		return false;
	*bit = 8 * (offset + size) - from_end - bits;
	return true;
}

static bool find_member(Dwarf_Die *structure, const char *name, Dwarf_Die *type, uint64_t *offset,
			unsigned depth, unsigned *visits)
{
	Dwarf_Die die = {0}, part;
	uint64_t at, inner;

	while (depth < NESTED_MAX && debug_next_child(structure, &die) && ++*visits < VISITS_MAX) {
		int tag = dwarf_tag(&die);
		const char *here = dwarf_diename(&die);

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    !debug_member_offset(&die, &at) || !debug_type_of(&die, &part))
			continue;
		if (here && !strcmp(here, name)) {
			*type = part;
			*offset = at;
			return true;
		}
		if (!here && debug_is_structure(&part) &&
		    find_member(&part, name, type, &inner, depth + 1, visits)) {
			*offset = at + inner;
			return true;
		}
	}
	return false;
}

bool debug_member(Dwarf_Die *structure, const char *name, Dwarf_Die *type, uint64_t *offset)
{
	unsigned visits = 0;

	return find_member(structure, name, type, offset, 0, &visits);
}

/* The member that has the byte at `offset`: that which begins last. Of a union none is: each might
 * have been meant. */
static bool member_with(Dwarf_Die *structure, uint64_t offset, Dwarf_Die *member, Dwarf_Die *type,
			uint64_t *start)
{
	Dwarf_Die die = {0}, part;
	uint64_t at, size, bits, bit;
	bool found = false;

	if (dwarf_tag(structure) == DW_TAG_union_type)
		return false;
	for (unsigned i = 0; i < DEBUG_MEMBERS_MAX && debug_next_child(structure, &die); i++) {
		int tag = dwarf_tag(&die);

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    !debug_member_offset(&die, &at) || !debug_type_of(&die, &part) ||
		    !debug_type_size(&part, &size))
			continue;
		if (debug_number(&die, DW_AT_bit_size, &bits)) {
			if (!debug_first_bit(&die, bits, &bit) ||
			    (offset >= bit / 8 && offset < (bit + bits + 7) / 8))
				return false; /* several share their bytes */
			continue;
		}
		if (offset < at || offset - at >= size)
			continue;
		if (found && at < *start)
			continue;
		found = true;
		*member = die;
		*type = part;
		*start = at;
	}
	return found;
}

/* Of an array of one dimension the element that has the byte at *offset, if it is one that would be
 * accessed as a whole, or has parts itself: its type, and what *offset is in it. */
static bool element_with(Dwarf_Die *array, uint64_t *offset, uint64_t size, uint64_t *number,
			 Dwarf_Die *type)
{
	uint64_t count, each;

	if (dwarf_tag(array) != DW_TAG_array_type || debug_array_counts(array, &count, 1) != 1 ||
	    !debug_type_of(array, type) || !debug_type_size(type, &each) || !each ||
	    (size && each != size && !debug_is_structure(type)) || *offset / each >= count)
		return false;
	*number = *offset / each;
	*offset %= each;
	return true;
}

/* Whether a structure is a pointer that owns what it points to, which is read and written as a
 * pointer would be: the pointer comes first (libstdc++ and libc++, unique_ptr.h and shared_ptr.h).
 */
static bool is_owning_pointer(Dwarf_Die *structure)
{
	static const char *const names[] = {"unique_ptr<", "shared_ptr<"};
	const char *name = dwarf_diename(structure);

	for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

bool debug_member_at(Dwarf_Die *structure, uint64_t offset, uint64_t size, char *text, size_t cap,
		     Dwarf_Die *type)
{
	Dwarf_Die at = *structure, member, part;
	uint64_t start = 0, whole, number;
	bool owns = false; /* the rest of the way has no name of the program's */
	size_t len = 0;

	*text = 0;
	for (unsigned i = 0; i < NESTED_MAX; i++) {
		const char *name;

		if (i && !offset && size && !is_owning_pointer(&at) &&
		    debug_type_size(&at, &whole) && whole == size)
			break;
		if (element_with(&at, &offset, size, &number, &part)) {
			len += (size_t)snprintf(text + len, cap - len, "[%" PRIu64 "]", number);
			if (len >= cap)
				return false;
			at = part;
			continue;
		}
		if (!debug_is_structure(&at))
			break;
		owns = owns || (!offset && (!size || size == 8) && is_owning_pointer(&at));
		if (!member_with(&at, offset, &member, &part, &start))
			return false;
		name = dwarf_tag(&member) == DW_TAG_member && !owns ? dwarf_diename(&member) : NULL;
		if (name) {
			len += (size_t)snprintf(text + len, cap - len, "%s%s", len ? "." : "",
						name);
			if (len >= cap)
				return false;
		}
		offset -= start;
		at = part;
	}
	*type = at;
	return !offset && (*text || owns);
}
