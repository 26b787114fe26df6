/* SPDX-License-Identifier: MIT */
/* The libraries are those that the dynamic linker lists, as ldd(1) asks it: it loads them and runs
 * nothing of the program. It is asked only for names that the program does not have. */
#include "commands/from_names.h"

#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/record/start_location.h"
#include "commands/helper.h"
#include "lib/name_pattern.h"

enum {
	SHOWN = 8, /* candidates */
	NAME_SHOWN = 40,
	PATIENCE_MS = 10000,
	LIST_MAX = 1 << 16,
};

/* The functions of one file that a pattern names, by their demangled names. */
struct candidates {
	char *names[SHOWN];
	size_t count; /* of all but the same */
};

static bool add_candidate(void *arg, const char *name, uint64_t value)
{
	struct candidates *c = arg;

	(void)value;
	for (size_t i = 0; i < c->count && i < SHOWN; i++)
		if (!strcmp(c->names[i], name))
			return true;
	if (c->count < SHOWN && !(c->names[c->count] = strdup(name)))
		return false;
	c->count++;
	return true;
}

static void candidates_release(struct candidates *c)
{
	for (size_t i = 0; i < c->count && i < SHOWN; i++)
		free(c->names[i]);
}

static int refuse_many(const struct candidates *c, const char *from, struct bt_error *err)
{
	char text[SHOWN * (NAME_SHOWN + 5) + 1] = "";
	size_t n = 0;

	for (size_t i = 0; i < c->count && i < SHOWN; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s%s", i ? ", " : "",
				      NAME_SHOWN, c->names[i],
				      strlen(c->names[i]) > NAME_SHOWN ? "..." : "");
	if (c->count > SHOWN)
		snprintf(text + n, sizeof text - n, " ...");
	return bt_fail(err, BT_E_MISUSE, 0, "--from: %.100s names more than one function: %s", from,
		       text);
}

/* Whether the file has the start location; *is_file: it is one in which there may be functions. */
static int find_in(const char *path, const char *from, bool *found, bool *is_file,
		   struct bt_error *err)
{
	struct candidates c = {.count = 0};
	enum start_location_kind kind = start_location_in_file(path, from, add_candidate, &c);
	int rc = 0;

	*is_file = kind != START_LOCATION_NO_FILE;
	*found = kind == START_LOCATION_EXACT || c.count;
	if (c.count > 1)
		rc = refuse_many(&c, from, err);
	candidates_release(&c);
	return rc;
}

/* The program's dynamic linker; false: it has none. */
static bool find_linker(const char *program, char path[PATH_MAX])
{
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	size_t count = 0;
	bool found = false;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_getphdrnum(elf, &count))
		count = 0;
	for (size_t i = 0; i < count && !found; i++) {
		GElf_Phdr p;

		found = gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_INTERP && p.p_filesz &&
			p.p_filesz < PATH_MAX &&
			pread(fd, path, p.p_filesz, (off_t)p.p_offset) == (ssize_t)p.p_filesz;
		if (found)
			path[p.p_filesz] = '\0';
	}
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return found;
}

/* Of "\tlibfoo.so => /lib/libfoo.so (0x1234)" and "\t/lib64/ld-linux.so (0x1234)" the path. */
static const char *library_of(char *line)
{
	char *path = strchr(line, '/'), *end = path ? strstr(path, " (") : NULL;

	if (end)
		*end = '\0';
	return end ? path : NULL;
}

static int find_in_libraries(const char *program, const char *from, bool *known,
			     struct bt_error *err)
{
	char linker[PATH_MAX], *list, *rest = NULL;
	const char *argv[] = {linker, "--list", program, NULL};
	int rc = 0;

	if (!find_linker(program, linker))
		return 0; /* it is static */
	list = malloc(LIST_MAX);
	if (!list)
		return bt_no_memory(err, NULL);
	*known = !helper_ask(argv, PATIENCE_MS, list, LIST_MAX);
	for (char *line = strtok_r(list, "\n", &rest); line && !rc && !*known;
	     line = strtok_r(NULL, "\n", &rest)) {
		const char *path = library_of(line);
		bool is_file;

		if (path)
			rc = find_in(path, from, known, &is_file, err);
	}
	free(list);
	return rc;
}

static int find_line(const char *program, const char *from, char address[FROM_ADDRESS_MAX],
		     struct bt_error *err)
{
	char path[PATH_MAX];
	const char *argv[] = {path, "--address-of", from, "--", program, NULL};

	if (!helper_btview(path))
		return bt_fail(err, BT_E_NOT_FOUND, 0,
			       "--from: %.300s: btview, which finds lines, is not beside btrec",
			       from);
	if (helper_ask(argv, PATIENCE_MS, address, FROM_ADDRESS_MAX))
		address[strcspn(address, "\n")] = '\0';
	else
		address[0] = '\0';
	return *address ? 0
			: bt_fail(err, BT_E_MISUSE, 0,
				  "--from: %.300s has no code of %.300s (is it compiled with -g?)",
				  program, from);
}

int from_names_find(const char *program, const char *from, char address[FROM_ADDRESS_MAX],
		    bool *known, struct bt_error *err)
{
	bool is_file = true;
	size_t len;
	int line, rc;

	*address = '\0';
	*known = true;
	if (source_position_parse(from, &len, &line))
		return find_line(program, from, address, err);
	if (*from >= '0' && *from <= '9')
		return 0;
	rc = find_in(program, from, known, &is_file, err);
	if (!rc && !*known && is_file)
		rc = find_in_libraries(program, from, known, err);
	*known |= !is_file;
	return rc;
}
