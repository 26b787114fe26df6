/* SPDX-License-Identifier: MIT */
/* The meanings of values in the records of a log (doc/FORMAT.md, "The log"). A log holds what is
 * needed to run the tasks of a unit again: effects, each list of them closed by the event that had
 * them. Used by the session that records one and by the session that replays it. */
#ifndef BT_LOG_VALUES_H
#define BT_LOG_VALUES_H

enum {
	BT_LOG_VERSION = 5,
	BT_LOG_SAVED_PARTS = 3,    /* from this version on xsave and its like are LOG_INSTRUCTION */
	BT_LOG_OBJECTS = 64 << 20, /* bytes of all LOG_OBJECT of a log, at most */
	BT_LOG_OBJECTS_MANY = 4 << 20, /* their count, at most */
	BT_LOG_PIECE = 1 << 20,        /* bytes of a LOG_PIECE, at most */
};

enum bt_log_shape {
	BT_SHAPE_MAP,     /* fresh pages, all zero, in the place of whatever was there */
	BT_SHAPE_UNMAP,   /* nothing is there any more */
	BT_SHAPE_PROTECT, /* pages that are there may be used in another way */
	BT_SHAPE_MOVE,    /* the pages that were at `from` */
	BT_SHAPE_KINDS
};

#endif
