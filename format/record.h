/* SPDX-License-Identifier: MIT */
/* Records: the structs, and encode, decode and print made from records.def. A decoded record
 * borrows its str and blob fields from the bytes it was decoded from. Record kinds and their fields
 * never change their meaning (doc/FORMAT.md). The writer, the cursors and all that read records use
 * it. Pure; any bytes can be decoded. */
#ifndef BT_RECORD_H
#define BT_RECORD_H

#include <stdio.h>

#include "format/records.def"
#include "lib/buf.h"
#include "lib/error.h"
#include "lib/event.h"
#include "lib/point.h"
#include "lib/regs.h"
#include "lib/slice.h"

/* The code of a signal if the source does not tell it; no kernel uses this number. */
#define BT_SIGNAL_CODE_UNTOLD 0x80000000u

/* The meaning of the words of a BRANCH_WORDS record. */
enum bt_branch_words {
	BT_WORDS_FLAGS,    /* perf's flags word of a branch entry, without the bits that the entry
			      holds (FORMAT.md, section 7) */
	BT_WORDS_COUNTERS, /* the entry's counters */
};

enum bt_record_kind {
#define R(number, NAME, name, text) BT_RECORD_##NAME = number,
	BT_RECORDS(R)
#undef R
};

typedef uint8_t bt_field_u8;
typedef uint16_t bt_field_u16;
typedef uint32_t bt_field_u32;
typedef uint64_t bt_field_u64;
typedef struct slice bt_field_str;
typedef struct slice bt_field_blob;
typedef struct bt_point bt_field_point;
typedef struct bt_regs bt_field_regs;

#define F(type, field) bt_field_##type field;
#define R(number, NAME, name, text) \
	struct bt_record_##name {   \
		BT_FIELDS_##name(F) \
	};
BT_RECORDS(R)
#undef R
#undef F

struct bt_record {
	uint16_t kind; /* enum bt_record_kind, or a number this version does not know (no member of
			  u valid) */
	union {
#define R(number, NAME, name, text) struct bt_record_##name name;
		BT_RECORDS(R)
#undef R
	} u;
};

/* Appends kind, length and body. body points at the struct bt_record_<name> of that kind. */
void bt_record_encode(struct buf *out, enum bt_record_kind kind, const void *body);

/* Takes one record off the front of in. Returns 1; 0 at the end; -BT_E_CORRUPT when the bytes are
 * no record (in is then used up). A kind this version does not know gives 1 with the number in
 * kind. */
int bt_record_decode(struct slice *in, struct bt_record *rec);

/* "MAP", or NULL for an unknown kind. */
const char *bt_record_name(uint16_t kind);

/* The task that a record is about; 0: it names none. */
uint32_t bt_record_task(const struct bt_record *rec);

/* The point at which a record's event was, in rec; NULL: it tells none. */
const struct bt_point *bt_record_point(const struct bt_record *rec);

/* One line "NAME field=value ..." with strings escaped, for `btrec dump` and for people. */
void bt_record_print(FILE *to, const struct bt_record *rec);

/* A slice for a C string. */
struct slice bt_str(const char *s);

/* Prints bytes as a quoted string in which no byte can act on a terminal. */
void bt_print_escaped(FILE *to, struct slice s);

#endif
