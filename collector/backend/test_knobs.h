/* SPDX-License-Identifier: MIT */
/* Knobs of the tests: hidden options of `btrec run`, which sets them. Engine and supervisor read
 * them. All zero is what users get. */
#ifndef BT_TEST_KNOBS_H
#define BT_TEST_KNOBS_H

#include <stdbool.h>

struct test_knobs {
	unsigned alarm_each;  /* SIGALRM at each such instruction of code of the backend's own
				 making; 0: never */
	unsigned kill_at;     /* SIGKILL behind so many such instructions; 0: never */
	bool predict_eagerly; /* indirect branches are predicted from few visits, and so often
				 wrongly */
	bool plain_processor; /* code is made as for a processor that lacks optional instructions,
				 or on which others are fast */
	bool whole_maps;      /* all mappings are read at each call that changes some */
	bool switch_history;  /* branches are recorded every other time that user code is resumed */
};

#endif
