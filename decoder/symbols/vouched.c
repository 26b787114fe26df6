/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/vouched.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/directories.h"
#include "lib/regular_file.h"

enum {
	BUILD_ID_LEAST = 3, /* hex digits: two name a folder */
};

int vouched_init(struct vouched *v, const char *path, struct bt_error *err)
{
	struct stat st;

	*v = (struct vouched){.path = path};
	if (stat(path, &st))
		return bt_fail(err, errno == EACCES ? BT_E_PERMISSION : BT_E_MISUSE, errno,
			       "--symbols %.300s", path);
	v->is_folder = S_ISDIR(st.st_mode);
	if (!v->is_folder && !S_ISREG(st.st_mode))
		return bt_fail(err, BT_E_MISUSE, 0,
			       "--symbols %.300s: it is neither a file nor a folder", path);
	return 0;
}

struct offer {
	bool (*take)(void *arg, int fd, const char *path);
	void *arg;
};

static bool offer_file(const struct offer *o, const char *path)
{
	struct stat st;
	int fd = regular_file_open(AT_FDCWD, path, &st);

	if (fd < 0)
		return false;
	if (o->take(o->arg, fd, path))
		return true;
	close(fd);
	return false;
}

/* The same, and its debug file. */
static bool offer_both(const struct offer *o, const char *folder, const char *name)
{
	char path[BT_PATH_MAX];
	int len = snprintf(path, sizeof path, "%s/%s", folder, name);

	if (len < 0 || (size_t)len + sizeof ".debug" > sizeof path)
		return false;
	if (offer_file(o, path))
		return true;
	memcpy(path + len, ".debug", sizeof ".debug");
	return offer_file(o, path);
}

static bool offer_by_build_id(const struct offer *o, const char *folder, const char *build_id)
{
	char name[2 * 64 + 16];

	if (strlen(build_id) < BUILD_ID_LEAST)
		return false;
	snprintf(name, sizeof name, ".build-id/%.2s/%s", build_id, build_id + 2);
	return offer_both(o, folder, name);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool has_name_of(const char *file, const char *module)
{
	size_t len = strlen(base_name(module));

	file = base_name(file);
	return !strncmp(file, base_name(module), len) &&
	       (!file[len] || !strcmp(file + len, ".debug"));
}

struct wanted_file {
	const struct offer *offer;
	const char *build_id;
};

static bool take_by_build_id(void *arg, int fd, const char *path)
{
	const struct wanted_file *w = arg;
	char hex[2 * 64 + 1];

	vouched_build_id(fd, hex);
	return *hex && !strcmp(hex, w->build_id) && w->offer->take(w->offer->arg, fd, path);
}

bool vouched_offer(const struct vouched *v, const char *module, const char *build_id,
		   bool (*take)(void *arg, int fd, const char *path), void *arg)
{
	const struct offer o = {take, arg};
	struct wanted_file w = {&o, build_id};

	if (!v->path)
		return false;
	if (!v->is_folder && has_name_of(v->path, module))
		return offer_file(&o, v->path);
	if (!v->is_folder)
		return offer_file(&(struct offer){take_by_build_id, &w}, v->path);
	if (offer_by_build_id(&o, v->path, build_id))
		return true;
	for (const char *end = module; end; end = strchr(end, '/')) {
		end += *end == '/';
		if (*end && offer_both(&o, v->path, end))
			return true;
	}
	return false;
}

bool vouched_has_code(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Elf_Scn *scn = NULL;
	bool has_sections = false, found = false;
	GElf_Shdr sh;

	while (elf && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_EXECINSTR) {
			has_sections = true;
			found |= sh.sh_type == SHT_PROGBITS;
		}
	elf_end(elf);
	return found || !has_sections;
}

void vouched_build_id(int fd, char hex[2 * 64 + 1])
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	const void *id = NULL;
	ssize_t n = elf && elf_kind(elf) == ELF_K_ELF ? dwelf_elf_gnu_build_id(elf, &id) : 0;

	*hex = '\0';
	for (ssize_t i = 0; i < n && i < 64; i++)
		snprintf(hex + 2 * i, 3, "%02x", ((const uint8_t *)id)[i]);
	elf_end(elf);
}
