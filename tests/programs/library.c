// SPDX-License-Identifier: MIT
/* A shared library with a bug: built as libledger.so and linked, or loaded by plugin_host. */
struct ledger {
	long count;
	long entries[4];
	long *last;
};

static struct ledger books;

__attribute__((noinline)) static void ledger_note(struct ledger *l, long amount)
{
	*l->last = amount; /* @library */
}

void ledger_add(long amount);

void ledger_add(long amount)
{
	books.entries[books.count++ & 3] = amount;
	ledger_note(&books, amount);
}
