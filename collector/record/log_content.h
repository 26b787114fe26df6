/* SPDX-License-Identifier: MIT */
/* Logs the contents of pages that the program has not written, each content once. Pages of a file
 * that the trace has a copy of (file_store.h) are pieces of the copy. Others are objects of the log
 * (log_objects.h), or plain data. Used by the replay log. */
#ifndef BT_LOG_CONTENT_H
#define BT_LOG_CONTENT_H

#include "collector/record/file_store.h"
#include "collector/record/log_objects.h"
#include "collector/record/log_sink.h"
#include "collector/record/mapped_pages.h"
#include "format/trace_writer.h"

struct log_content {
	struct log_sink sink;
	struct trace_writer *writer;
	struct log_objects objects;     /* the objects in the log */
	struct replaced_pages replaced; /* pages that give way to a file that the call maps */
	struct file_store store;
	struct linked_copy {
		char name[FILE_STORE_NAME];
		uint64_t dev, ino; /* of the file */
		uint64_t copy_ino; /* of the copy */
	} * copies;                /* the trace's copies, by number */
	uint64_t copied;           /* bytes of them */
	size_t copy_count, copy_cap;
	uint8_t *bytes; /* room for a piece of memory, and of a copy */
};

/* Nothing is there yet. cache: the user's cache directory, NULL: files are not copied. */
void log_content_init(struct log_content *c, struct trace_writer *w, struct log_sink sink,
		      const char *cache);
void log_content_release(struct log_content *c);

/* At the entry of a call of the stopped tid, which may map a file over pages that hold the same. */
void log_content_enter(struct log_content *c, pid_t tid, const struct tracee_syscall *call);

/* Behind it: whether [start, end) holds what it did at the entry. */
bool log_content_is_same(const struct log_content *c, pid_t tid, uint64_t start, uint64_t end);

/* A file that is mapped. */
struct log_file {
	const char *path;     /* as btrec can open it; NULL: there is none */
	uint64_t ino, offset; /* another inode at that path is none of it */
	bool is_old; /* the program may have written to the pages: holes of the file are none there
		      */
};

/* Writes what the pages of [start, end) hold that are not zero: of that file, where it has them. */
void log_content_put(struct log_content *c, pid_t tid, uint64_t start, uint64_t end,
		     const struct log_file *file);

#endif
