/* SPDX-License-Identifier: MIT */
/* The control socket of a running recorder: `btrec snap PID` asks it for a snapshot. A connection
 * carries one request and one answer, each a line. The request is "snap PID"; PID 0 means every
 * process. The answer is "ok KEPT DUE", "stopped TEXT" or "error TEXT". DUE counts processes that
 * did not stop within two seconds; their snapshots are kept when they stop. Only the same user and
 * root are served. The server is btrec run, at each tick; the client is btrec snap. Lines from the
 * socket are not trusted. */
#ifndef BT_CONTROL_H
#define BT_CONTROL_H

#include "collector/record/recording.h"

/* Zeroed to begin with. */
struct control {
	bool begun; /* it listens, or cannot */
	int fd;     /* then: listening, or -1 */
	char path[108];
	/* Of the newest request, while some process of it has yet to stop: */
	bool waiting;
	int client;
	uint64_t deadline; /* of the recording's clock */
};

/* Serves a waiting client. The first call begins to listen: most programs end before it, and nobody
 * can have learned of the recording earlier. Recorded tasks stand still during a call; a silent
 * client has a tenth of a second. The answer follows when the snapshots are kept, at this call or a
 * later one; other clients wait until then. If it cannot listen, a note in the trace says why. */
void control_serve(struct control *c, struct recording *r, struct supervisor *sup);

/* Answers waiting clients and stops listening, at the end of the recording. */
void control_close(struct control *c, const struct recording *r);

/* The client: asks the recorder of process pid (a recorded process, or a recorder itself) for a
 * snapshot, and waits until it is kept. Waits a second for a recorder that has just begun and does
 * not listen yet. Returns the number of snapshots, with that of processes that have not stopped yet
 * in *due, or -BT_E_GONE (no such process, it is not recorded, or ended before it could be kept),
 * -BT_E_PERMISSION, -BT_E_IO. */
int control_request_snapshot(int pid, int *due, struct bt_error *err) BT_MUST_USE;

#endif
