// SPDX-License-Identifier: MIT
// The depth of a tree of folders in which a link leads back up.
#include <stdio.h>
#include <stdlib.h>

struct folder {
	const char *name;
	struct folder *children[4];
	int count;
};

static struct folder *folder_add(struct folder *parent, struct folder *child)
{
	parent->children[parent->count++] = child;
	return child;
}

static struct folder *folder_new(const char *name)
{
	struct folder *folder = calloc(1, sizeof *folder);

	folder->name = name;
	return folder;
}

static int folder_depth(const struct folder *folder) // HERE
{
	char path[512];
	int deepest = 0;

	snprintf(path, sizeof path, "%s/", folder->name);
	for (int i = 0; i < folder->count; i++) {
		int depth = folder_depth(folder->children[i]); // HERE

		if (depth > deepest)
			deepest = depth;
	}
	return deepest + 1;
}

int main(void)
{
	struct folder *root = folder_new("root");
	struct folder *home = folder_add(root, folder_new("home"));

	folder_add(home, folder_new("ada"));
	folder_add(home, root);
	printf("%d deep\n", folder_depth(root));
	return 0;
}
