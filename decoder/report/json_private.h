/* SPDX-License-Identifier: MIT */
/* Shared by the JSON of a report (json.c) and that by CPU (json_system.c) alone. A member is
 * written as soon as it is complete: the report is never in memory as a whole. */
#ifndef BT_JSON_PRIVATE_H
#define BT_JSON_PRIVATE_H

#include <jansson.h>

#include "decoder/model/verdict.h"
#include "decoder/report/json.h"

enum {
	JSON_CACHE_BITS = 13,
	/* All but ASCII is escaped: a terminal may act on other control characters and reorder
	 * text. */
	JSON_FLAGS = JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII,
};

struct location_text {
	uint64_t addr;
	uint32_t space, epoch;
	char *text; /* owned; NULL: free */
};

struct json_report {
	FILE *to;
	const struct model *m;
	struct symbols *s;
	const struct report_options *o;
	struct focus focus;
	size_t branches; /* written so far */
	struct verdict verdict;
	size_t reliable;             /* branches written that lie before the verdict's entry */
	bool failed;                 /* memory ran out */
	struct location_text *cache; /* 2^JSON_CACHE_BITS, by hash */
};

/* False without memory. Release it in any case. */
bool json_report_init(struct json_report *r, FILE *to, const struct model *m, struct symbols *s,
		      const struct report_options *o);
void json_report_release(struct json_report *r);

/* One member of an object, a line; takes the value over. */
void json_put_member(struct json_report *r, const char *name, json_t *value);

/* An entry of a history that is a branch, as an object. */
void json_put_branch(struct json_report *r, const struct history *h, const struct history_entry *e);

/* A string from outside; bytes that are no UTF-8 are escaped. */
json_t *json_text(const char *s);

json_t *json_trace(const struct json_report *r);
json_t *json_missing(const struct json_report *r);

/* ---- json_calls.c ---- */

/* The system calls that failed last before an end with failure; the last ones of the task. */
json_t *json_failed_calls(const struct json_report *r);
json_t *json_calls(const struct json_report *r);

/* The waits of the threads; null but of a moment from outside. */
json_t *json_waits(const struct json_report *r);

#endif
