/* SPDX-License-Identifier: MIT */
/* Small ELF files for the fuzz target elf; corpus_elf.sh makes whole programs. Used by
 * generate_corpus. */
#ifndef BT_GENERATE_ELF_H
#define BT_GENERATE_ELF_H

#include <stdbool.h>

#include "lib/buf.h"

/* A program of which nothing but its segment can be read. claims: its header says that there are
 * sections, behind the end of the file. Release it. */
struct buf elf_without_sections(bool claims);

#endif
