/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/debug_name.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/symbols/debug_type.h"
#include "lib/array_size.h"
#include "lib/demangle.h"

enum {
	NESTED_MAX = 8,  /* of classes in functions in classes */
	SCOPES_MAX = 32, /* of one name */
	TYPE_STEPS_MAX = 16,
	/* dwarfstd.org/languages.html; the dwarf.h of elfutils 0.188 has them not yet */
	LANG_C_PLUS_PLUS_17 = 0x2a,
	LANG_C_PLUS_PLUS_20 = 0x2b,
};

const char *readable_name(struct intern *strings, const char *name)
{
	char *plain = demangle(name);
	const char *kept = intern_str(strings, plain ? plain : name);

	free(plain);
	return kept;
}

/* Where a function or class is declared: an entry of its code, or of its definition, only refers to
 * that. */
static Dwarf_Die declaration_of(Dwarf_Die *die)
{
	static const unsigned references[] = {DW_AT_abstract_origin, DW_AT_specification};
	Dwarf_Die at = *die, next;
	Dwarf_Attribute attr;

	/* LTO has one more. */
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(references); i++)
		if (dwarf_attr(&at, references[i / 2], &attr) && dwarf_formref_die(&attr, &next))
			at = next;
	return at;
}

static void put_scopes(FILE *to, struct unit_set *units, Dwarf_Die *die, unsigned depth);

/* Whether what a scope stands in is told by its declaration: that of a function, or of a class that
 * is defined elsewhere. */
static bool is_declared_elsewhere(Dwarf_Die *scope)
{
	return dwarf_tag(scope) == DW_TAG_subprogram || dwarf_hasattr(scope, DW_AT_specification);
}

/* The class of a lambda has no name, and an operator(). Demanglers number those of a function, as
 * in {lambda()#1}, which DWARF does not. */
static const char *unnamed_class(Dwarf_Die *class)
{
	Dwarf_Die die = {0};

	for (unsigned i = 0; i < DEBUG_MEMBERS_MAX && debug_next_child(class, &die); i++) {
		const char *name = dwarf_diename(&die);

		if (name && !strcmp(name, "operator()"))
			return "{lambda}";
	}
	return "{unnamed}";
}

static void put_scope(FILE *to, struct unit_set *units, Dwarf_Die *die, unsigned depth)
{
	const char *name = dwarf_diename(die);

	if (is_declared_elsewhere(die))
		put_scopes(to, units, die, depth + 1);
	fprintf(to, "%s::",
		name                                 ? name
		: dwarf_tag(die) == DW_TAG_namespace ? "(anonymous namespace)"
						     : unnamed_class(die));
}

/* Writes the scopes before the name of a function: namespaces, classes, and the function that such
 * a class is in. */
static void put_scopes(FILE *to, struct unit_set *units, Dwarf_Die *die, unsigned depth)
{
	Dwarf_Die at = declaration_of(die), scopes[SCOPES_MAX];
	struct debug_unit *u = depth < NESTED_MAX ? unit_of(units, &at) : NULL;
	const struct unit_scope *scope = u ? unit_scope_of(u, &at) : NULL;
	size_t n = 0;

	for (; scope && n < SCOPES_MAX; scope = unit_outer_scope(u, scope)) {
		scopes[n] = scope->die;
		if (!n && dwarf_tag(&scopes[n]) == DW_TAG_subprogram)
			break; /* of a function in another one, GNU C */
		if (is_declared_elsewhere(&scopes[n++]))
			break;
	}
	while (n)
		put_scope(to, units, &scopes[--n], depth);
}

/* DWARF calls them otherwise than demanglers. */
static const char *base_name(const char *name)
{
	static const struct {
		const char *dwarf, *plain;
	} names[] = {
		{"long int", "long"},           {"long unsigned int", "unsigned long"},
		{"short int", "short"},         {"short unsigned int", "unsigned short"},
		{"long long int", "long long"}, {"long long unsigned int", "unsigned long long"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i].dwarf))
			return names[i].plain;
	return name;
}

static bool next_type(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, type);
}

/* The type without const and volatile. */
static bool unqualified_type(Dwarf_Die *entry, Dwarf_Die *type)
{
	if (!next_type(entry, type))
		return false;
	for (unsigned i = 0; i < TYPE_STEPS_MAX; i++)
		if ((dwarf_tag(type) != DW_TAG_const_type &&
		     dwarf_tag(type) != DW_TAG_volatile_type) ||
		    !next_type(type, type))
			break;
	return true;
}

/* The suffix that this form of a type adds to the type's name; NULL: the tag is no form of a type.
 */
static const char *suffix_of(int tag)
{
	switch (tag) {
	case DW_TAG_pointer_type:
		return "*";
	case DW_TAG_reference_type:
		return "&";
	case DW_TAG_rvalue_reference_type:
		return "&&";
	case DW_TAG_const_type:
		return " const";
	case DW_TAG_volatile_type:
		return " volatile";
	case DW_TAG_typedef:
		return "";
	default:
		return NULL;
	}
}

/* Puts the type of a parameter as its function's name has it: without whether it itself is
 * constant. "...": it is one that is not called by a name, as of functions. */
static void put_parameter(FILE *to, struct unit_set *units, Dwarf_Die *entry)
{
	const char *suffixes[TYPE_STEPS_MAX], *name;
	Dwarf_Die type;
	bool found = unqualified_type(entry, &type);
	size_t n = 0;

	for (; found && suffix_of(dwarf_tag(&type)) && n < TYPE_STEPS_MAX;
	     found = next_type(&type, &type))
		suffixes[n++] = suffix_of(dwarf_tag(&type));
	name = found ? dwarf_diename(&type) : "void";
	if (!name || dwarf_tag(&type) == DW_TAG_subroutine_type) {
		fputs("...", to);
		return;
	}
	if (found)
		put_scopes(to, units, &type, 0);
	fputs(base_name(name), to);
	while (n)
		fputs(suffixes[--n], to);
}

/* Whether a member function may not change its object. */
static bool points_to_constant(Dwarf_Die *entry)
{
	Dwarf_Die type;

	return unqualified_type(entry, &type) && dwarf_tag(&type) == DW_TAG_pointer_type &&
	       next_type(&type, &type) && dwarf_tag(&type) == DW_TAG_const_type;
}

static bool has_flag(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	bool set = false;

	return dwarf_attr_integrate(die, name, &attr) && !dwarf_formflag(&attr, &set) && set;
}

static void put_parameters(FILE *to, struct unit_set *units, Dwarf_Die *function)
{
	bool is_constant = false;
	Dwarf_Die die = {0};
	unsigned shown = 0;

	fputc('(', to);
	for (unsigned i = 0; i < DEBUG_MEMBERS_MAX && debug_next_child(function, &die); i++) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_formal_parameter && has_flag(&die, DW_AT_artificial)) {
			is_constant = is_constant || points_to_constant(&die);
		} else if (tag == DW_TAG_formal_parameter || tag == DW_TAG_unspecified_parameters) {
			fputs(shown++ ? ", " : "", to);
			if (tag == DW_TAG_formal_parameter)
				put_parameter(to, units, &die);
			else
				fputs("...", to);
		}
	}
	fputs(is_constant ? ") const" : ")", to);
}

/* Whether the symbol of a function would tell its parameters: not that of an extern "C" one. Of a
 * function of C++ that other files see compilers tell the linkage name. */
static bool has_parameters_in_name(Dwarf_Die *die)
{
	static const int languages[] = {DW_LANG_C_plus_plus,    DW_LANG_C_plus_plus_03,
					DW_LANG_C_plus_plus_11, DW_LANG_C_plus_plus_14,
					LANG_C_PLUS_PLUS_17,    LANG_C_PLUS_PLUS_20};
	Dwarf_Die unit;
	int language = dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;

	for (size_t i = 0; i < ARRAY_SIZE(languages); i++)
		if (language == languages[i])
			return !has_flag(die, DW_AT_external);
	return false;
}

/* Compilers write linkage names only of functions that other files see, and with little debug
 * information of none. */
static const char *composed_name(struct intern *strings, struct unit_set *units, Dwarf_Die *die,
				 bool is_function)
{
	const char *name = dwarf_diename(die), *kept;
	Dwarf_Die origin = *die, next;
	Dwarf_Attribute attr;
	char *text = NULL;
	size_t len;
	FILE *to = name ? open_memstream(&text, &len) : NULL;

	if (!to)
		return intern_str(strings, name);
	put_scopes(to, units, die, 0);
	fputs(name, to);
	/* The entry of an inlined copy may lack parameters: its abstract origin has them. */
	for (unsigned i = 0; i < NESTED_MAX && dwarf_attr(&origin, DW_AT_abstract_origin, &attr) &&
			     dwarf_formref_die(&attr, &next);
	     i++)
		origin = next;
	if (is_function && has_parameters_in_name(die))
		put_parameters(to, units, &origin);
	kept = intern_str(strings, fclose(to) ? name : text);
	free(text);
	return kept;
}

static const char *linkage_name(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

static const char *name_of(struct intern *strings, struct unit_set *units, Dwarf_Die *die,
			   bool is_function)
{
	const char *name = linkage_name(die, DW_AT_linkage_name);

	if (!name)
		name = linkage_name(die, DW_AT_MIPS_linkage_name);
	return name ? readable_name(strings, name)
		    : composed_name(strings, units, die, is_function);
}

const char *debug_function_name(struct intern *strings, struct unit_set *units, Dwarf_Die *die)
{
	return name_of(strings, units, die, true);
}

const char *debug_variable_name(struct intern *strings, struct unit_set *units, Dwarf_Die *die)
{
	return name_of(strings, units, die, false);
}
