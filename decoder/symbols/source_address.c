/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/source_address.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "lib/name_pattern.h"

static const Dwfl_Callbacks callbacks = {
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* The lowest address of the line in one compilation unit. */
static bool find_in_unit(Dwarf_Die *unit, const char *place, uint64_t *addr)
{
	Dwarf_Lines *lines;
	size_t count;
	bool found = false;

	if (dwarf_getsrclines(unit, &lines, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		const char *file = dwarf_linesrc(line, NULL, NULL);
		Dwarf_Addr at;
		bool begins = false;
		int number;

		if (!file || dwarf_lineno(line, &number) || dwarf_lineaddr(line, &at) ||
		    dwarf_linebeginstatement(line, &begins) || !begins || !at ||
		    !source_position_matches(place, file, number))
			continue;
		*addr = found && *addr < at ? *addr : at;
		found = true;
	}
	return found;
}

static bool find_in_dwarf(Dwarf *dwarf, const char *place, uint64_t *addr)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;

	while (!dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL))
		if (find_in_unit(&unit, place, addr))
			return true;
	return false;
}

int source_address_find(const char *program, const char *place, uint64_t *addr,
			struct bt_error *err)
{
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = dwfl ? dwfl_report_offline(dwfl, "", program, -1) : NULL;
	Dwarf_Addr bias;
	Dwarf *dwarf;
	int rc = 1;

	if (!module)
		rc = bt_fail(err, BT_E_NOT_FOUND, 0, "cannot read %.300s", program);
	else if ((dwarf = dwfl_module_getdwarf(module, &bias)) && find_in_dwarf(dwarf, place, addr))
		rc = 0;
	dwfl_end(dwfl);
	return rc;
}
