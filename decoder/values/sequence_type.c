/* SPDX-License-Identifier: MIT */
#include "decoder/values/sequence_type.h"

#include <ctype.h>
#include <dwarf.h>
#include <string.h>

#include "decoder/symbols/debug_type.h"
#include "lib/array_size.h"

enum {
	PATH_PARTS_MAX = 8,
};

/* The string and sequence types of languages' libraries, by the members that they have; "a.b": b of
 * a. */
static const struct sequence {
	const char *name;        /* prefix of the type's name */
	const char *data;        /* member that points to the first element */
	const char *count, *end; /* one of them: member with the number of elements, or with a
				    pointer behind the last */
	bool is_text;
	const char *element; /* template parameter that is the element's type; NULL: the type that
				data points to */
} sequences[] = {
	{"basic_string<char,", "_M_dataplus._M_p", "_M_string_length", NULL, true, NULL},
	{"basic_string_view<char,", "_M_str", "_M_len", NULL, true, NULL},
	{"vector<", "_M_impl._M_start", NULL, "_M_impl._M_finish", false, NULL},
	{"&str", "data_ptr", "length", NULL, true, NULL},
	{"&mut str", "data_ptr", "length", NULL, true, NULL},
	{"&[", "data_ptr", "length", NULL, false, NULL},
	{"&mut [", "data_ptr", "length", NULL, false, NULL},
	{"String", "vec.buf.inner.ptr.pointer.pointer", "vec.len", NULL, true, NULL},
	{"String", "vec.buf.ptr.pointer.pointer", "vec.len", NULL, true, NULL},
	{"String", "vec.buf.ptr.pointer", "vec.len", NULL, true, NULL},
	{"Vec<", "buf.inner.ptr.pointer.pointer", "len", NULL, false, "T"},
	{"Vec<", "buf.ptr.pointer.pointer", "len", NULL, false, "T"},
	{"Vec<", "buf.ptr.pointer", "len", NULL, false, "T"},
	{"string", "str", "len", NULL, true, NULL}, /* Go */
	{"[]", "array", "len", NULL, false, NULL},  /* Go */
};

/* Follows a path of members. */
static bool find_path(Dwarf_Die *structure, const char *path, Dwarf_Die *type, uint64_t *offset)
{
	Dwarf_Die at = *structure;

	*offset = 0;
	for (unsigned i = 0; i < PATH_PARTS_MAX && *path; i++) {
		size_t n = strcspn(path, ".");
		char name[32];
		uint64_t here;

		if (n >= sizeof name || !debug_is_structure(&at))
			return false;
		memcpy(name, path, n);
		name[n] = 0;
		if (!debug_member(&at, name, type, &here))
			return false;
		*offset += here;
		at = *type;
		path += n + (path[n] == '.');
	}
	return true;
}

static bool type_parameter(Dwarf_Die *structure, const char *name, Dwarf_Die *type)
{
	Dwarf_Die die = {0};

	for (unsigned i = 0; i < DEBUG_MEMBERS_MAX && debug_next_child(structure, &die); i++) {
		const char *here = dwarf_tag(&die) == DW_TAG_template_type_parameter
					   ? dwarf_diename(&die)
					   : NULL;

		if (here && !strcmp(here, name))
			return debug_type_of(&die, type);
	}
	return false;
}

static bool is_sequence(const struct sequence *s, Dwarf_Die *type, const char *name,
			struct sequence_type *f)
{
	size_t n = strlen(s->name);
	bool whole = isalnum((unsigned char)s->name[n - 1]);
	Dwarf_Die pointer, other;

	if (strncmp(name, s->name, n) || (whole && name[n]) ||
	    !find_path(type, s->data, &pointer, &f->data) ||
	    dwarf_tag(&pointer) != DW_TAG_pointer_type ||
	    !find_path(type, s->count ? s->count : s->end, &other, &f->behind))
		return false;
	if (s->element ? !type_parameter(type, s->element, &f->element)
		       : !debug_type_of(&pointer, &f->element))
		return false;
	return debug_type_size(&f->element, &f->size);
}

bool sequence_type_find(struct sequence_type *f, Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	*f = (struct sequence_type){.size = 0};
	for (size_t i = 0; name && i < ARRAY_SIZE(sequences); i++) {
		if (!is_sequence(&sequences[i], type, name, f))
			continue;
		f->has_end = !sequences[i].count;
		f->is_text = sequences[i].is_text;
		return true;
	}
	return false;
}
