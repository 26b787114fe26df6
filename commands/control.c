/* SPDX-License-Identifier: MIT */
/* The recorder's half: control_serve() is called at each tick of the recorder and never waits long.
 * It makes the socket at its first call, in a directory that is the user's alone, and removes
 * sockets of recorders that were killed. The socket is bound under another name and renamed once it
 * listens, so that it is not taken for a dead one. One client is served at a time. It is answered
 * when the snapshots of all processes in its request are kept, or when its time is over.
 *
 * The client's half: control_request_snapshot() reads the process's tracer from /proc, connects to
 * that recorder's socket (or to that of its child, for the front of btrec run), and checks that the
 * recorder's user listens there. It waits for a recorder that does not listen yet. */
#include "commands/control.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/directories.h"

enum {
	BIND_TRIES = 5,
	SNAP_PATIENCE_NS = 2000000000, /* a client's patience with processes that do not stop */
	ANSWER_PATIENCE_S = 10,        /* its patience for any answer */
};

static void directory_of(char dir[108], const char *socket_path)
{
	snprintf(dir, 108, "%s", socket_path);
	*strrchr(dir, '/') = '\0';
}

/* The directory of the socket, private to its user. */
static bool make_private_directory(const char *socket_path)
{
	char dir[108];
	struct stat st;

	directory_of(dir, socket_path);
	if (mkdir(dir, 0700) && errno != EEXIST)
		return false;
	/* All can write to /tmp: a directory that another user made is not used. */
	return !lstat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 022);
}

static struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	return a;
}

/* Whether no process listens: the recorder was killed. Its pid does not tell: another pid namespace
 * may share the directory. */
static bool is_dead(const char *path)
{
	struct sockaddr_un a = address_of(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool dead =
		fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) && errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return dead;
}

/* Removes the sockets that killed recorders left. */
static void remove_old_sockets(const char *socket_path)
{
	char dir[108], path[108 + 16];
	struct dirent *e;
	DIR *d;

	directory_of(dir, socket_path);
	d = opendir(dir);
	while (d && (e = readdir(d))) {
		int pid = atoi(e->d_name);

		snprintf(path, sizeof path, "%s/%d", dir, pid);
		if (pid > 0 && strlen(path) < 108 && is_dead(path))
			unlink(path);
	}
	if (d)
		closedir(d);
}

/* Binds and listens. Until it listens, its name is not taken for a dead recorder's. The directory
 * may vanish at any moment: cleaners of /tmp remove empty ones. */
static bool make_socket(const struct control *c)
{
	struct sockaddr_un a;
	char early[108], dir[108];

	directory_of(dir, c->path);
	if (snprintf(early, sizeof early, "%s/.%d", dir, (int)getpid()) >= (int)sizeof early)
		return false;
	a = address_of(early);
	unlink(early);
	for (int i = 0; i < BIND_TRIES; i++) {
		if (!bind(c->fd, (struct sockaddr *)&a, sizeof a)) {
			int cause;

			if (!listen(c->fd, 8) && !rename(early, c->path))
				return true;
			cause = errno;
			unlink(early);
			errno = cause;
			return false;
		}
		if (errno != ENOENT || !make_private_directory(c->path))
			return false;
	}
	return false;
}

static void stop_listening(struct control *c)
{
	if (c->fd < 0)
		return;
	close(c->fd);
	unlink(c->path); /* the directory stays, for the next recorder */
	c->fd = -1;
}

/* A failure leaves the recording without a control socket: fd is -1 and err says why. */
static int begin_listening(struct control *c, struct bt_error *err)
{
	c->begun = true;
	directory_control_socket(c->path, geteuid(), getpid());
	c->fd = -1;
	if (!make_private_directory(c->path))
		return bt_fail(err, BT_E_IO, errno,
			       "no control socket: cannot use the directory of %s", c->path);
	remove_old_sockets(c->path);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0 || !make_socket(c)) {
		int cause = errno;

		stop_listening(c);
		return bt_fail(err, BT_E_IO, cause, "no control socket at %s", c->path);
	}
	return 0;
}

static const char ended[] = "error it ended before anything could be kept\n";

static void answer_client(int fd, const char *text)
{
	(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
	close(fd);
}

static void answer_stopped(int fd, const struct recording *r)
{
	char text[96];

	snprintf(text, sizeof text, "stopped %.64s\n", strerror(trace_writer_stopped(r->writer)));
	answer_client(fd, text);
}

/* Tells the client of the newest request how many snapshots are kept, and how many processes have
 * yet to stop. */
static void conclude_request(struct control *c, const struct recording *r, unsigned due)
{
	char text[64];

	c->waiting = false;
	snprintf(text, sizeof text, "ok %u %u\n", r->request_kept, due);
	if (trace_writer_stopped(r->writer))
		answer_stopped(c->client, r);
	else
		answer_client(c->client, r->request_kept || due ? text : ended);
}

static void look_after_client(struct control *c, const struct recording *r,
			      const struct supervisor *sup)
{
	unsigned due = recording_due(r, sup);

	if (!due || bt_clock_now(r->clock) >= c->deadline)
		conclude_request(c, r, due);
}

/* Reads the request of a client, and answers it or leaves it waiting. */
static void serve_client(struct control *c, struct recording *r, struct supervisor *sup, int fd)
{
	struct timeval patience = {.tv_usec = 100000};
	struct ucred peer = {0};
	socklen_t len = sizeof peer;
	char line[64] = "";
	int pid;
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
	    (peer.uid && peer.uid != geteuid())) {
		close(fd);
		return;
	}
	do
		n = read(fd, line, sizeof line - 1);
	while (n < 0 && errno == EINTR);
	if (trace_writer_stopped(r->writer)) {
		answer_stopped(fd, r);
		return;
	}
	if (n <= 0 || sscanf(line, "snap %d", &pid) != 1) {
		answer_client(fd, "error unknown request\n");
		return;
	}
	if (!recording_request(r, sup, pid)) {
		answer_client(fd, "error no recorded process with that pid has begun\n");
		return;
	}
	c->client = fd;
	c->waiting = true;
	c->deadline = bt_clock_now(r->clock) + SNAP_PATIENCE_NS;
	look_after_client(c, r, sup);
}

void control_serve(struct control *c, struct recording *r, struct supervisor *sup)
{
	struct bt_error err;
	int fd;

	if (!c->begun && begin_listening(c, &err))
		supervisor_note(sup, NULL, "%s", err.text);
	if (c->waiting)
		look_after_client(c, r, sup);
	fd = c->fd < 0 || c->waiting ? -1 : accept4(c->fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		serve_client(c, r, sup, fd);
}

void control_close(struct control *c, const struct recording *r)
{
	int fd;

	if (!c->begun)
		return;
	if (c->waiting)
		conclude_request(c, r, 0);
	while (c->fd >= 0 && (fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		answer_client(fd, ended);
	stop_listening(c);
}

/* The process that traces pid, 0 when none does, -1 when there is no such process. */
static int tracer_of(int pid)
{
	char path[32], line[128];
	int tracer = -1;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	if (f)
		fclose(f);
	return tracer;
}

static unsigned owner_of(int pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d", pid);
	return stat(path, &st) ? geteuid() : st.st_uid;
}

/* Whether that user listens there. If the directory of the sockets was missing, any user may have
 * made it. */
static bool is_listener(int fd, unsigned uid)
{
	struct ucred peer = {0};
	socklen_t len = sizeof peer;

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) && peer.uid == uid)
		return true;
	errno = ECONNREFUSED;
	return false;
}

/* The recorder below a front process of `btrec run`: its child with a control socket. */
static int connect_to(int recorder)
{
	unsigned owner = owner_of(recorder);
	struct sockaddr_un a;
	char path[108];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	directory_control_socket(path, owner, recorder);
	a = address_of(path);
	if (fd >= 0 && (connect(fd, (struct sockaddr *)&a, sizeof a) || !is_listener(fd, owner))) {
		int cause = errno;

		close(fd);
		errno = cause;
		fd = -1;
	}
	return fd;
}

static int first_child(int pid)
{
	char path[64];
	int child = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &child) != 1)
		child = 0;
	if (f)
		fclose(f);
	return child;
}

/* Whether the process runs the program that we run, by its name. */
static bool is_btrec(int pid)
{
	char path[2][32] = {"/proc/self/comm"}, name[2][32] = {"", ""};

	snprintf(path[1], sizeof path[1], "/proc/%d/comm", pid);
	for (int i = 0; i < 2; i++) {
		FILE *f = fopen(path[i], "re");

		if (f && !fgets(name[i], sizeof name[i], f))
			name[i][0] = '\0';
		if (f)
			fclose(f);
	}
	return name[0][0] && !strcmp(name[0], name[1]);
}

/* The recorder `pid`, or the one below that process of `btrec run`; errno where there is none. One
 * that has just begun does not listen yet. */
static int find_recorder(int pid)
{
	enum {
		TRIES = 100, /* a second */
	};
	static const struct timespec pause = {.tv_nsec = 10000000};
	int fd = -1;

	for (int i = 0; fd < 0 && i < TRIES; i++) {
		if (i)
			nanosleep(&pause, NULL);
		fd = connect_to(pid);
		if (fd < 0 && first_child(pid))
			fd = connect_to(first_child(pid));
		if (fd < 0 && (errno == EACCES || errno == EPERM || !is_btrec(pid)))
			break;
	}
	return fd;
}

int control_request_snapshot(int pid, int *due, struct bt_error *err)
{
	int tracer = tracer_of(pid), wanted = pid, fd, n;
	const struct timeval patience = {.tv_sec = ANSWER_PATIENCE_S};
	char request[32], answer[128] = "";
	size_t got = 0;
	ssize_t k;
	bool in_time;

	if (tracer < 0)
		return bt_fail(err, BT_E_GONE, 0, "no process %d", pid);
	if (!tracer) { /* a recorder, or the process of `btrec run` above it: all that it records */
		wanted = 0;
		tracer = pid;
	}
	fd = find_recorder(tracer);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return bt_fail(err, BT_E_PERMISSION, 0, "process %d is recorded by another user",
			       pid);
	if (fd < 0 && is_btrec(tracer))
		return bt_fail(err, BT_E_GONE, 0,
			       "process %d: its btrec cannot be asked, it has no control socket (a "
			       "note in its trace says why)",
			       pid);
	if (fd < 0)
		return bt_fail(err, BT_E_GONE, 0, "process %d is not recorded by btrec", pid);
	snprintf(request, sizeof request, "snap %d\n", wanted);
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0) {
		close(fd);
		return bt_fail(err, BT_E_IO, errno, "cannot talk to the recorder of process %d",
			       pid);
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	while (got < sizeof answer - 1 && (k = read(fd, answer + got, sizeof answer - 1 - got)) > 0)
		got += (size_t)k;
	in_time = got || k == 0;
	close(fd);
	if (!in_time)
		return bt_fail(err, BT_E_IO, 0,
			       "process %d: its btrec has not answered in %d s: it is stopped, or "
			       "has too much to do",
			       pid, ANSWER_PATIENCE_S);
	answer[strcspn(answer, "\n")] = '\0';
	*due = 0;
	if (sscanf(answer, "ok %d %d", &n, due) >= 1)
		return n;
	if (!strncmp(answer, "stopped ", 8))
		return bt_fail(
			err, BT_E_IO, 0,
			"process %d: nothing is recorded any more, its trace cannot be written: %s",
			pid, answer + 8);
	return bt_fail(err, BT_E_GONE, 0, "process %d: %s", pid,
		       strncmp(answer, "error ", 6) ? "the recorder gave no answer" : answer + 6);
}
