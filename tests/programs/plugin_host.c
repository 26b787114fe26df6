// SPDX-License-Identifier: MIT
/* plugin_host FILE: loads a library and calls into it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
	void (*add)(long);

	if (!library) {
		fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage");
		return 2;
	}
	add = (void (*)(long))dlsym(library, "ledger_add");
	add(12);
	return 0;
}
