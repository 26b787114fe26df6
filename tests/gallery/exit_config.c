// SPDX-License-Identifier: MIT
// No configuration, no service.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config {
	char listen[64];
	int workers;
};

static void config_load(struct config *config, const char *path)
{
	FILE *file = fopen(path, "r"); // HERE
	char line[128];

	if (!file) {
		fprintf(stderr, "service: cannot read the configuration: %s\n", strerror(errno));
		exit(1); // HERE
	}
	while (fgets(line, sizeof line, file))
		sscanf(line, "listen %63s", config->listen);
	fclose(file);
}

int main(void)
{
	struct config config = { "localhost", 1 };

	config_load(&config, "/etc/passwd");
	config_load(&config, "/etc/service-of-mine/main.conf");
	printf("%s\n", config.listen);
	return 0;
}
