// SPDX-License-Identifier: MIT
// A setting that is not in the file; its length is asked all the same.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct setting {
	const char *key, *value;
};

static const struct setting settings[] = { { "user", "ada" }, { "host", "example.org" }, { NULL, NULL } };

static const char *setting_get(const char *key)
{
	for (const struct setting *setting = settings; setting->key; setting++)
		if (strcmp(setting->key, key) == 0)
			return setting->value;
	return NULL;
}

static char *url_make(const char *host, const char *path)
{
	size_t size = strlen(host) + strlen(path) + sizeof "https://"; // HERE
	char *url = malloc(size);

	if (url)
		snprintf(url, size, "https://%s%s", host, path);
	return url;
}

int main(void)
{
	char *home = url_make(setting_get("host"), "/index");
	char *proxy;

	puts(home);
	proxy = url_make(setting_get("proxy"), "/");
	puts(proxy);
	free(home);
	free(proxy);
	return 0;
}
