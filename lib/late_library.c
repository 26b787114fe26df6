/* SPDX-License-Identifier: MIT */
#include "lib/late_library.h"

#include <dlfcn.h>
#include <string.h>

int late_library_load(const char *soname, const struct late_symbol *symbols, size_t count,
		      void *functions, struct bt_error *err)
{
	void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL), *found;

	if (!library)
		return bt_fail(err, BT_E_UNSUPPORTED, 0,
			       "a library that this needs cannot be loaded: %s", dlerror());
	for (size_t i = 0; i < count; i++) {
		found = dlsym(library, symbols[i].name);
		if (!found)
			return bt_fail(
				err, BT_E_UNSUPPORTED, 0,
				"%s has no %s: it is not the version that btrec was built for",
				soname, symbols[i].name);
		memcpy((char *)functions + symbols[i].at, &found, sizeof found);
	}
	return 0;
}
