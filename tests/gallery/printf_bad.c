// SPDX-License-Identifier: MIT
// A log line that takes a number for a string.
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum level { LEVEL_INFO, LEVEL_WARNING };

static void log_line(enum level level, const char *format, ...)
{
	va_list arguments;

	fputs(level == LEVEL_INFO ? "info: " : "warning: ", stdout);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

static void job_done(int id, int status)
{
	if (status == 0)
		log_line(LEVEL_INFO, "job %d is done", id);
	else
		log_line(LEVEL_WARNING, "job %d failed: %s", id, status); // HERE
}

int main(void)
{
	for (int id = 1; id < 4; id++)
		job_done(id, id == 3 ? 42 : 0);
	return 0;
}
