/* SPDX-License-Identifier: MIT */
/* A code cache: fragments of translated code by application address, the links between them, and
 * the memory in which they lie.
 *
 * Mostly that is a memory file, which the tracer writes and the tracees can only read and execute:
 * its writes are there at once. Spaces that a fork made of one another have one cache (users) as
 * long as the executable code in them is the same: all have the fragments that one has translated.
 * Tasks of one may be running in it while another's are stopped and code is made for them: then it
 * only grows, and displacements of jumps change, each with one store. Fragments are removed only
 * where there is one user.
 *
 * Where a tracee cannot have a memory file, the code is its own private memory, and changes reach
 * it with code_cache_sync().
 *
 * Used by the engine, the translator and the groups that are kept. One thread writes it. Where
 * displacements change while tasks run, each is one aligned store. */
#ifndef BT_CODE_CACHE_H
#define BT_CODE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/backend/engine/cache/fragment_kind.h"
#include "collector/backend/engine/cache/layout.h"
#include "collector/backend/engine/cache/predictions.h"
#include "collector/backend/engine/cache/state_map.h"
#include "collector/backend/engine/cache/tables.h"
#include "collector/history/address_lists.h"
#include "collector/history/page_lists.h"
#include "collector/history/segment.h"
#include "lib/error.h"
#include "lib/logged_call.h"
#include "lib/processor.h"

#define FRAGMENT_NONE ADDRESS_LISTS_NONE

/* The uses of registers that a cycle does not use, in the rounds of it that are a fragment
 * (fragment_rounds.c). */
enum lent {
	LENT_RCX,        /* rcx itself, free to use; or a register with the application's rcx */
	LENT_BASE,       /* an address near which operands lie that are beside their code */
	LENT_PREDICTION, /* 0 less an address near which predictions lie */
	LENT_COUNT,
};

/* A piece of cache code with one way in (two: the indirect entry checks the address first). */
struct fragment {
	uint64_t pc;
	uint32_t body;     /* offset in the code area */
	uint32_t indirect; /* 0: none */
	uint32_t fresh; /* way in from a conditional: shifts its bit in (where no history is kept:
			   fragment_ticks.c). 0: the body */
	uint32_t start, end; /* of everything it has */
	uint32_t segment;
	uint32_t state_map_at, state_map_len; /* its state map, among the cache's */
	uint32_t incoming;                    /* first exit linked to it, EXIT_NONE */
	uint32_t span_first,
		span_count; /* application code it was made of, or was looked at for it */
	uint32_t exit_first;
	uint64_t returns_to; /* behind the call that ends it, 0: none */
	uint64_t slot; /* address of the memory that holds its last branch's target, if it is fixed;
			  0: none */
	bool dead;
	bool unlinked; /* nothing leads to it, but its code may still be right: code_cache_unlink()
			*/
	bool superseded; /* it is not found any more: code_cache_supersede() */
	bool checked;    /* it has a safe point before its first conditional. Else: */
	uint8_t debt; /* with at most so many conditionals since the last one may it be entered */
	bool passes;  /* an exit that leads back waited for it: its own exits count as leading back,
			 too */
	uint8_t last_len;            /* of its last instruction */
	bool counting : 1;           /* before each branch it counts down to the task's stop point
					(fragment_count_down()), and stops there; and before its
					first one at a block (fragment_stop_at_block()) */
	bool head : 1;               /* of a loop, most likely: it needs its safe point */
	bool x87 : 1;                /* it has x87 instructions */
	uint16_t rounds, rounds_end; /* between these offsets from start are rounds of a cycle; end
					0: there are none. There */
	bool counts : 1;             /* ... r11 counts them; */
	uint8_t lent[LENT_COUNT]; /* ... these registers are lent, one more than their numbers; 0:
				     none. The application's are in the context */
};

/* Whether an offset of the code lies in rounds of the fragment. */
static inline bool fragment_in_rounds(const struct fragment *frag, uint32_t offset)
{
	return offset >= frag->start + frag->rounds && offset < frag->start + frag->rounds_end;
}

/* Whether r11 counts rounds there. */
static inline bool fragment_counts_rounds(const struct fragment *frag, uint32_t offset)
{
	return frag->counts && fragment_in_rounds(frag, offset);
}

/* The demand of the exits that wait for a fragment. Along links between fragments without a safe
 * point the debt grows with each conditional, up to code_cache_most_debt(): so a cycle either
 * passes a safe point, or has no conditional (then it writes records, or tests whether to stop). */
struct fragment_demand {
	uint8_t debt; /* the most conditionals there may have been since the last safe point or
			 record */
	bool back;    /* one leads back: it will come to this, sooner or later, and better have the
			 safe point there at once */
};

/* A range of application code. */
struct span {
	uint64_t start : 48, len : 16;
};
#define SPAN_START_MAX ((1ull << 48) - 1)
#define SPAN_LEN_MAX   ((1u << 16) - 1)

static inline uint64_t span_end(const struct span *s) { return s->start + s->len; }

enum exit_kind {
	EXIT_LINK,    /* goes on at target; it may be linked directly */
	EXIT_OUTSIDE, /* the instruction at target is not for the cache */
	EXIT_CHANGED, /* the code at target is no longer what the fragment was made from */
	EXIT_STOP,    /* a safe point that was asked to stop, or the records are full; goes on at
			 target */
};

#define EXIT_NONE ADDRESS_LISTS_NONE

/* An int3 in the code, and the jump that leads to it. */
struct cache_exit {
	uint32_t trap; /* offset of the int3 */
	uint32_t site; /* offset of the displacement that leads there; 0: none */
	uint64_t target;
	uint32_t linked; /* fragment that site leads to, FRAGMENT_NONE */
	uint32_t next;   /* exit linked to the same fragment */
	uint8_t kind;
	bool goes_on; /* behind the int3 the fragment does: after a record */
	bool fresh; /* of a conditional that is taken, whose bit is still to come (fragment_ticks.c:
		       no transfer lies between the last conditional and here) */
	bool conditional; /* of a conditional that is taken */
	bool dead;    /* its fragment is: it leads nowhere any more, but may still be stopped at */
	bool rcx : 1; /* the application's is in the context */
	bool counting : 1; /* its fragment does (fragment.counting): it leads to such ones only */
	struct fragment_demand demand;
};

struct code_cache {
	unsigned users; /* spaces */
	bool placed;    /* it lies in the tracee's region, or, after a fork, in the kernel's copy of
			   that */
	int file;       /* the memory file, -1: none, the code is private */
	uint8_t *shared; /* its mapping from SHARED_AT on, NULL */
	int mem;         /* else: /proc/TID/mem of the space, -1: not open */
	struct segment_table *segments;
	struct predictions predictions;
	uint64_t prediction_wait; /* a task's branches are not looked at for predictions before
				     there are so many more, 0: at first */
	uint8_t *code; /* the code area: the file's, or a mirror of it as far as it is used */
	size_t code_len, code_cap, filled; /* filled: of the file, memory that is real */
	struct fragment *fragments;
	uint32_t fragment_count;
	size_t fragment_cap;
	struct address_lists found;   /* fragments by pc */
	struct address_lists waiting; /* exits not linked yet, by target */
	uint8_t *state_map;           /* lists (state_map.h) */
	uint32_t state_map_len;
	size_t state_map_cap;
	struct page_lists index;
	uint32_t indexed; /* fragments before this are in the index: most caches go before anybody
			     asks it */
	struct span *spans;
	uint32_t span_count;
	size_t span_cap;
	struct cache_exit *exits; /* ordered by trap */
	uint32_t exit_count;
	size_t exit_cap;
	struct tables tables;
	uint32_t dead; /* fragments that are */
	bool full;     /* nothing more is made in it */
	bool busy;     /* tasks may be running in it: it only grows */
	bool counting; /* fragments that are made, and looked for, are now: whoever enters them
			  says it before */
	bool x87;      /* some fragment of it has, or had, x87 instructions */
	/* Changes that the tracee has not got yet, if nothing is shared. */
	size_t synced;     /* code before this is there, but for: */
	uint32_t *patches; /* offsets of displacements that have changed since */
	uint32_t patch_count, patch_cap;
	uint32_t own_syscall; /* offset of the routine with which system calls of ours are made
				 (tracee_inject()) */
	uint32_t miss;        /* offset of the routine that a free entry of table 1 leads to, and an
				 indirect entry that is another's */
	uint32_t miss_counting; /* the same for fragments that count: they lead there at once */
	uint32_t miss_rax;      /* from there on rax is in the context */
	uint32_t miss_kept;     /* from there on flags are in the context */
	uint32_t mask_site;     /* of the mask of table 2's hash in a routine */
	uint32_t miss_trap;     /* the stop for an address that is in no table */
	uint32_t safe_point,
		safe_point_record; /* of the routine that writes a safe point's record */
	uint32_t record_bits,      /* from there on its bits are in the record, */
		record_made;       /* and from there on it is one */
	uint32_t pause;            /* of the routine behind PAUSE */
	struct fragment_kind kind;
	bool fast_pext, rorx, fast_loop; /* the processor's (processor.h) */
	uint32_t call, called; /* of the routine that decides whether a system call is made in the
				  cache, and that notes it */
	uint32_t granted, granted_end; /* in the former: between them, on the way to the call, r11
					  is the application's, and the bits are in the context */
	uint32_t asking, asked; /* in the former: between them rsi is a register of ours, and the
				   application's in the context, as are the bits */
	uint32_t telling, told; /* in the latter: between them rsi is a register of ours, and the
				   application's in the context */
	uint32_t copying, copy_end, copied; /* likewise: between the first and the last rsi, rdx and
					       rdi are ours; faults before copy_end go on there */
	uint32_t failing, failing_end, failed; /* the same, if a call has failed */
	uint32_t noted, result_kept; /* in the latter: from there on the call is noted; with a log
					its result is in the context */
	uint32_t sizing, sized;      /* in the former, with a log: between them rdx is ours */
	uint32_t logging, logged;    /* in the latter: between them rsi, rdx and rdi are, */
	struct {
		uint32_t from, to; /* and a piece of memory is copied */
	} logs[BT_LOGGED_DATA];
	uint32_t answering, answered,
		answer_fails; /* in the former: between the first two rsi and rdx are ours; there a
				 task can go on at the third, as without an answer */
	uint32_t masking, masked, syscall_stops; /* in the former: a fault from masking up to masked
						    goes on at syscall_stops, the way to a stop */
	uint32_t cpuid; /* of the routine that answers CPUID, or leaves that to the processor; with
			   a log they are several, up to own_syscall */
	uint32_t own_results[BT_LOGGED_FORMS]; /* with a log: of those before instructions with a
					     result of their own */
	uint32_t name;                         /* of the routines' page: the region's name */
	uint32_t clears;                       /* times that everything has been forgotten */
};

/* An empty cache with its routines, for such a processor, of the kind that keeps history; apart,
 * logged: of fragment_kind. NULL without memory. The tracee's region is prepared by
 * code_cache_map(). */
struct code_cache *code_cache_new(const struct processor *processor, bool apart, bool logged);
/* A copy with one user. Where the code is private, it is for a fork's child: the kernel has copied
 * the region. NULL without memory. */
struct code_cache *code_cache_copy(const struct code_cache *c);

/* Another space uses it from now on, a fork's child, if that can be: false for a private one.
 * running: tasks may be running in it now. */
bool code_cache_share(struct code_cache *c, bool running);
/* A space does not use it any more; the last one frees it. NULL: does nothing. */
void code_cache_put(struct code_cache *c);

/* Maps the region, but for its window, in a stopped task of the space whose signals are blocked (by
 * system calls made in it) and fills it. Returns 0, -BT_E_GONE, or -BT_E_NO_MEMORY when the kernel
 * refuses. over: mappings that are there give way. no_file: other threads may use descriptors
 * meanwhile, or a filter of the program's may forbid the calls that a memory file takes. */
int code_cache_map(struct code_cache *c, pid_t tid, bool over, bool no_file);

/* Brings the tracee up to date. Returns 0 or -BT_E_GONE. */
int code_cache_sync(struct code_cache *c, pid_t tid);

/* Tells the tracee, whose code is shared and where tasks may be running, of entries that are gone:
 * it will be told again with the next sync. Returns 0 or -BT_E_GONE. */
int code_cache_push(struct code_cache *c, pid_t tid);

/* By this, which is not 0, fragments of now differ from those that were forgotten with
 * code_cache_clear() (translator.h). */
static inline uint8_t code_cache_mark(const struct code_cache *c)
{
	return (uint8_t)(1 + c->clears % UINT8_MAX);
}

/* The living fragment that begins at pc, or FRAGMENT_NONE: of those that are looked for
 * (code_cache.counting), or of those that count, or do not. */
uint32_t code_cache_find(const struct code_cache *c, uint64_t pc);
uint32_t code_cache_find_of(const struct code_cache *c, uint64_t pc, bool counting);

/* Of the exits that wait for a fragment at pc, one as they are made now. */
struct fragment_demand code_cache_demand(const struct code_cache *c, uint64_t pc);

/* The greatest debt that a fragment of this cache may have. */
static inline int code_cache_most_debt(const struct code_cache *c)
{
	return c->kind.ticks ? TICKS_DEBT : BITS_DEBT;
}

static inline bool fragment_meets(const struct fragment *frag, struct fragment_demand d)
{
	return frag->checked || d.debt <= frag->debt;
}

/* If exits wait for a fragment at pc because the one there does not meet their demand, it is not
 * found any more, so that another can be made. Links to it stay. Returns whether that was so. */
bool code_cache_supersede(struct code_cache *c, uint64_t pc);

/* Where it begins. */
static inline size_t fragment_align(const struct fragment *frag)
{
	return frag->head ? CODE_ALIGN_LOOP : CODE_ALIGN;
}

/* Room for a fragment of at most n bytes of code, which begins at a multiple of `align`
 * (fragment_align()): *offset, and *bytes to write it to. False when the cache is full. */
bool code_cache_room(struct code_cache *c, size_t n, size_t align, uint8_t **bytes,
		     uint32_t *offset);

/* Takes over a fragment that has been written to the room given (fragment->end - fragment->start
 * bytes), behind those that were written to it before. its state map, exits and spans are those of
 * the fragment and have been appended by the functions below. FRAGMENT_NONE without memory. */
uint32_t code_cache_add(struct code_cache *c, const struct fragment *fragment);

/* The same of several at once that lead to one another: when there is memory for so many, and so
 * many exits, spans and bytes of places, nothing that is added fails; fragments are appended, then
 * their exits are added; and then each is let in: exits that wait for it are linked to it, and it
 * is published. Before that no task comes to them. */
bool code_cache_reserve(struct code_cache *c, size_t fragments, size_t exits, size_t spans,
			size_t state_map);
uint32_t code_cache_append(struct code_cache *c, const struct fragment *fragment);
void code_cache_let_in(struct code_cache *c, uint32_t fragment);

/* Takes over n bytes of code written to the room given that belong to no fragment. */
void code_cache_add_routine(struct code_cache *c, size_t n);
bool code_cache_add_state_map(struct code_cache *c, const uint8_t *list, uint32_t len);
/* Of less than 64 KB, below the addresses of the kernel. */
bool code_cache_add_span(struct code_cache *c, uint64_t start, uint64_t end);
/* Links it at once where its target is known. */
bool code_cache_add_exit(struct code_cache *c, const struct cache_exit *x);
/* One whose jump leads to the fragment already. */
bool code_cache_add_linked_exit(struct code_cache *c, const struct cache_exit *x,
				uint32_t fragment);

/* The exit whose int3 is at offset, or NULL. */
const struct cache_exit *code_cache_exit_at(const struct code_cache *c, uint32_t trap);

/* Leads the exit's jump to the fragment. */
void code_cache_link(struct code_cache *c, uint32_t exit, uint32_t fragment);

/* Makes the fragment's indirect entry (it has one) known to table 1 and table 2. */
void code_cache_publish(struct code_cache *c, uint32_t fragment);

/* The list of a fragment's state map, fragment->state_map_len bytes; valid until one is added. */
const uint8_t *code_cache_state_map(const struct code_cache *c, const struct fragment *fragment);

/* The entry in force at an offset of the code area, which is written to *room, with *fragment; NULL
 * when there is none (routines, entries). */
const struct state_entry *code_cache_state_at(const struct code_cache *c, uint32_t offset,
					      const struct fragment **fragment,
					      struct state_entry *room);

/* Gives the branch this prediction; `to` 0: none. The cache has one user, and no task is in it.
 * Fragments that end in it are forgotten. False without memory; nothing has changed then. */
bool code_cache_predict(struct code_cache *c, const struct prediction *prediction);

/* Forgets every fragment made from code in [start, end), and the predictions that rest on it. The
 * cache has one user. Returns whether there was such a fragment. */
bool code_cache_drop(struct code_cache *c, uint64_t start, uint64_t end);

/* Forgets every fragment made from code of which stays() is not true for each piece, and the
 * predictions that rest on such code. The cache has one user. It costs a look at everything there
 * is. */
void code_cache_retain(struct code_cache *c, bool (*stays)(void *arg, uint64_t start, uint64_t end),
		       void *arg);

/* Fragments made from code in [start, end) are not to be entered until code_cache_relink():
 * somebody may be writing there. */
void code_cache_unlink(struct code_cache *c, uint64_t start, uint64_t end);

/* Those that have not been forgotten meanwhile may be entered again, unless blocked() says that
 * code it was made from may still change. */
void code_cache_relink(struct code_cache *c, uint64_t start, uint64_t end,
		       bool (*blocked)(void *arg, uint64_t start, uint64_t end), void *arg);

/* Forgets one fragment. */
void code_cache_drop_fragment(struct code_cache *c, uint32_t fragment);

/* Whether it has so much forgotten code, or so little room, that it had better begin anew, while it
 * can still be asked what of it has run. */
bool code_cache_is_stale(const struct code_cache *c);

/* Forgets everything: the cache is as new. Routines and segments stay. If others use the cache, or
 * tasks are in it, it only counts as full from now on. */
void code_cache_clear(struct code_cache *c);

#endif
