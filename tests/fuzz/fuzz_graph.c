/* SPDX-License-Identifier: MIT */
/* A graph of branches. What is read of it makes a graph of the same entries. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "lib/branch_graph.h"

enum {
	MOST = 4096, /* entries: how many there are the graph does not say */
};

static void encode_again(const struct bt_branch *entries, size_t n)
{
	struct branch_graph g = {0};
	struct branch_graph_reader r;
	struct bt_branch b;
	struct buf out = {0};

	for (size_t i = 0; i < n; i++)
		branch_graph_add(&g, &entries[i]);
	MUST(branch_graph_encode(&g, &out) && out.len <= branch_graph_size(&g));
	MUST(!branch_graph_reader_init(&r, slice_of(out.data, out.len)));
	for (size_t i = 0; i < n; i++)
		MUST(branch_graph_reader_next(&r, &b) == 1 && !memcmp(&b, &entries[i], sizeof b));
	branch_graph_reader_release(&r);
	branch_graph_release(&g);
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bt_branch entries[MOST];
	struct branch_graph_reader r;
	int rc = branch_graph_reader_init(&r, slice_of(data, size));
	size_t n = 0;

	MUST(rc == 0 || rc == -BT_E_CORRUPT);
	while (rc == 0 && n < MOST && branch_graph_reader_next(&r, &entries[n]) == 1)
		n++;
	branch_graph_reader_release(&r);
	encode_again(entries, n);
	return 0;
}
