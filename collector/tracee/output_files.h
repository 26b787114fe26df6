/* SPDX-License-Identifier: MIT */
/* The files that a program was given as descriptors 1 and 2, and which of its descriptors lead to
 * what its user sees of them. A file that keeps or shows what is written to it (a regular file, a
 * pipe, a terminal, a socket) is one output however often it is opened: the user finds all in one
 * place. Of a device that does neither, as /dev/null, only what goes through the open file
 * description that the program was given, or copies of it, is its output (kcmp(2), where the kernel
 * has it). Used by the log of a recording, and by the engine, which makes writes without a stop. */
#ifndef BT_OUTPUT_FILES_H
#define BT_OUTPUT_FILES_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { OUTPUT_FILES = 3 }; /* by descriptor; the first is not used */

struct output_file {
	struct stat st; /* st_mode 0: there is none */
	int held;       /* our copy of the descriptor, where other opens of the file are no output;
			   -1: they are, or it cannot be had */
};

/* Fills in files, zeroed before: what the thread has as descriptors 1 and 2 now. */
void output_files_open(struct output_file files[OUTPUT_FILES], pid_t tid);
void output_files_close(struct output_file files[OUTPUT_FILES]);

/* Which output the thread's descriptor fd is, whose file is that one: 1, 2; 0: none. Of two that
 * are the same the one with its number. */
int output_files_find(const struct output_file files[OUTPUT_FILES], pid_t tid, int fd, dev_t dev,
		      ino_t ino);

#endif
