/* SPDX-License-Identifier: MIT */
#include "tui/terminfo.h"

#include <curses.h>
#include <term.h>
#include <unistd.h>

bool terminfo_usable(void)
{
	int status;
	bool usable;

	if (setupterm(NULL, STDOUT_FILENO, &status) == ERR)
		return false;
	usable = cursor_address != NULL;
	del_curterm(cur_term);
	return usable;
}
