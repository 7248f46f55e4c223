/* SPDX-License-Identifier: BSD-3-Clause
 * cut DIR NODE SCHEDULES: on one of two nodes, rounds in which a schedule runs over both until a rank is killed, the link
 * between them goes down, or a whole node ends. DIR, which both nodes see, has a directory for each round, 0, 1, ..., with
 * a file "plan":
 *
 *   KIND VICTIM WHEN AFTER RANKS COUNT HEAP SHM SPLIT PROGRESS SCHEDULE NBUFFERS
 *
 * kind: rank, link or node; the victim's rank, or its node; how long after all have joined (up) or run (runs), us; ranks of a
 * node; a count; then whether memory comes from the heap, whether ranks of a node use shared memory, and whether the group is
 * a part in which the ranks are in the opposite order; who makes progress; a file of SCHEDULES. What happens is written there:
 * "event" right before it does, "report.RANK" when a rank's call has failed (where it was, the status, the text), and
 * "left.NODE" at the end, which says what it should not have to. The times of these files are those of one clock. */
#include "tests/rt/count.h"
#include "tests/rt/team.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 16, JOINS = 40 /* s */, HEARS = 5, OTHERS = 6, FREES = 6 };

struct plan {
	char kind[8], when[8], progress[8], schedule[64];
	int victim, ranks, heap, shm, split, nbuffers;
	unsigned after;
	size_t count;
};

/* Of a rank. */
struct rank {
	const struct plan *p;
	int rank, size;
	unsigned seq;
	const char *phase;
	MPIX_Sched_ctx ctx;
	MPIX_Sched_group group;
	MPIX_Sched sched;
	MPIX_Sched_request req;
};

static const char *schedules;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- files ---- */

/* A file that is there with all that it has, or not at all. */
static int put_file(const char *name, const void *data, size_t n)
{
	char new[64];
	int fd, bad;

	snprintf(new, sizeof new, ".%s", name);
	fd = open(new, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	bad = fd < 0 || write(fd, data, n) != (ssize_t)n;
	if (fd >= 0)
		close(fd);
	return bad || rename(new, name);
}

__attribute__((format(printf, 2, 3))) static int note(const char *name, const char *fmt, ...)
{
	char text[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	return put_file(name, text, strlen(text));
}

static bool wait_for(const char *name, double until)
{
	while (access(name, F_OK)) {
		if (now() > until)
			return false;
		usleep(5000);
	}
	return true;
}

/* Whether files of so many ranks are there, but not of one. */
static bool wait_for_all(const char *what, int first, int n, int but, double until)
{
	char name[64];

	for (int r = first; r < first + n; r++) {
		snprintf(name, sizeof name, "%s.%d", what, r);
		if (r != but && !wait_for(name, until))
			return false;
	}
	return true;
}

/* ---- a rank ---- */

static int exchange(const void *in, void *out, size_t size, void *arg)
{
	struct rank *m = arg;
	const double until = now() + JOINS;
	char name[64];

	m->seq++;
	snprintf(name, sizeof name, "record.%u.%d", m->seq, m->rank);
	if (put_file(name, in, size))
		return 1;
	for (int r = 0; r < m->size; r++) {
		int fd;
		ssize_t n;

		snprintf(name, sizeof name, "record.%u.%d", m->seq, r);
		if (!wait_for(name, until))
			return 1;
		fd = open(name, O_RDONLY);
		n = fd < 0 ? -1 : read(fd, (char *)out + (size_t)r * size, size);
		if (fd >= 0)
			close(fd);
		if (n != (ssize_t)size)
			return 1;
	}
	return 0;
}

/* It has come so far. */
static void reach(struct rank *m, const char *what, const char *phase)
{
	char name[64];

	snprintf(name, sizeof name, "%s.%d", what, m->rank);
	note(name, "\n");
	m->phase = phase;
}

static int use(struct rank *m)
{
	const struct plan *p = m->p;
	const size_t bytes = p->count * (size_t)m->size * sizeof(int32_t);
	void *buffers[3] = { NULL };
	char path[512];
	int rc = MPIX_Sched_ctx_create(&m->ctx);

	m->phase = "joining";
	rc = rc ? rc : MPIX_Sched_group_create(m->ctx, m->rank, m->size, exchange, m, &m->group);
	if (!rc)
		reach(m, "up", p->split ? "splitting" : "binding");
	if (!rc && p->split) {
		MPIX_Sched_group sub;

		rc = MPIX_Sched_group_split(m->group, 0, -m->rank, &sub);
		if (rc)
			return rc;
		rc = MPIX_Sched_group_free(&m->group);
		m->group = sub;
		m->phase = "binding";
	}
	snprintf(path, sizeof path, "%s/%s", schedules, p->schedule);
	rc = rc ? rc : MPIX_Sched_load(m->ctx, path, &m->sched);
	for (int i = 0; i < 2 && i < p->nbuffers && !rc; i++)
		rc = p->heap ? MPIX_Sched_alloc(m->ctx, bytes, &buffers[i]) : !(buffers[i] = calloc(1, bytes));
	if (rc)
		return rc;
	struct MPIX_Sched_bind b = { .struct_size = sizeof b,
				     .buffers = buffers,
				     .nbuffers = (size_t)p->nbuffers,
				     .count = p->count,
				     .basic = MPIX_SCHED_INT32,
				     .builtin = MPIX_SCHED_SUM };

	rc = MPIX_Sched_init(m->sched, m->group, &b, &m->req);
	if (!rc)
		reach(m, "runs", "running");
	while (!rc) {
		rc = MPIX_Sched_start(m->req);
		rc = rc ? rc : MPIX_Sched_wait(m->req);
	}
	return rc;
}

/* What it takes, it gives back, whatever has failed. */
static void live(struct rank *m)
{
	const struct plan *p = m->p;
	const bool all = !strcmp(p->kind, "link"), node = !strcmp(p->kind, "node");
	char name[64], text[2048] = "";
	int rc;

	setenv("GOAL_BACKEND", "verbs", 1);
	setenv("GOAL_SHM", p->shm ? "1" : "0", 1);
	setenv("GOAL_PROGRESS", p->progress, 1);
	rc = use(m);
	MPIX_Sched_error_detail(m->ctx, text, sizeof text);
	snprintf(name, sizeof name, "report.%d", m->rank);
	note(name, "%s %d %s\n", m->phase, rc, text);
	/* Its own exit must not be taken for what has happened. */
	if (node)
		wait_for_all("report", p->victim ? 0 : p->ranks, p->ranks, -1, now() + OTHERS);
	else
		wait_for_all("report", 0, m->size, all ? -1 : p->victim, now() + OTHERS);
	if (MPIX_Sched_free(&m->req) || MPIX_Sched_unload(&m->sched) || MPIX_Sched_group_free(&m->group) ||
	    MPIX_Sched_ctx_free(&m->ctx))
		_exit(1);
}

/* ---- a node ---- */

/* At the emulator: a virtual card that the system sets down keeps packets, and with them queue pairs that are to go. */
static int set_link(bool up)
{
	const char *order = up ? "set_link net0 on\n" : "set_link net0 off\n", *monitor = getenv("GUEST_MONITOR");
	int fd = monitor ? open(monitor, O_WRONLY) : -1;
	int bad = fd < 0 || write(fd, order, strlen(order)) != (ssize_t)strlen(order);

	if (fd >= 0)
		close(fd);
	return bad;
}

/* Up again, and the device has seen it. */
static bool mend_link(void)
{
	const double until = now() + 10;
	int state = 0;

	if (set_link(true))
		return false;
	while (state != 4 && now() < until) {
		FILE *f = fopen("/sys/class/infiniband/rxe0/ports/1/state", "r");

		if (f && fscanf(f, "%d", &state) != 1)
			state = 0;
		if (f)
			fclose(f);
		usleep(20000);
	}
	return state == 4; /* "4: ACTIVE" */
}

static void act(const struct plan *p, int node, const pid_t *pids)
{
	note("event", "\n");
	if (!strcmp(p->kind, "rank")) {
		kill(pids[p->victim - node * p->ranks], SIGKILL);
	} else if (!strcmp(p->kind, "link")) {
		if (set_link(false))
			note("wrong", "the link cannot be pulled\n");
	} else {
		char status[64];
		int fd = open("/proc/sysrq-trigger", O_WRONLY);

		/* For the guest's harness: that is as it should be. */
		snprintf(status, sizeof status, "echo 0 >../.run/status.%d", node);
		if (fd < 0 || system(status) || write(fd, "c", 1) < 0)
			note("wrong", "the node does not end\n");
	}
}

/* Reaps all, by force in the end; what is wrong with them. */
static size_t reap(const struct plan *p, int node, pid_t *pids, char *out, size_t room)
{
	const double until = now() + HEARS + OTHERS + FREES;
	const int victim = strcmp(p->kind, "rank") ? -1 : p->victim;
	size_t n = 0;

	for (int left = p->ranks; left;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		for (int i = 0; i < p->ranks && pid > 0; i++) {
			if (pids[i] != pid)
				continue;
			pids[i] = 0;
			left--;
			if (status && node * p->ranks + i != victim)
				n += (size_t)snprintf(out + n, room - n, "rank %d ended with %x; ", node * p->ranks + i, (unsigned)status);
		}
		if (pid <= 0)
			usleep(5000);
		for (int i = 0; i < p->ranks && now() > until; i++)
			if (pids[i]) {
				n += (size_t)snprintf(out + n, room - n, "rank %d hangs; ", node * p->ranks + i);
				kill(pids[i], SIGKILL);
				waitpid(pids[i], &status, 0);
				pids[i] = 0;
				left--;
			}
	}
	return n;
}

/* What is left of a round; the kernel may take a moment. */
static void leftovers(char *out, size_t room)
{
	const double until = now() + 2;
	int pairs, regions, files;

	do {
		pairs = count_printed("rdma resource show qp | grep -c 'type RC'");
		regions = count_printed("rdma resource show mr | wc -l");
		files = team_shm();
	} while ((pairs || regions || files) && now() < until);
	if (pairs || regions || files)
		snprintf(out, room, "%d queue pairs, %d memory regions, %d files in /dev/shm are left; ", pairs, regions, files);
}

static void one_round(const struct plan *p, int node)
{
	const int first = node * p->ranks, size = 2 * p->ranks;
	const bool mine = (strcmp(p->kind, "rank") ? p->victim : p->victim / p->ranks) == node;
	char name[64], text[2048] = "";
	pid_t pids[MOST];
	size_t n = 0;

	for (int i = 0; i < p->ranks; i++)
		if ((pids[i] = fork()) == 0) {
			struct rank m = { .p = p, .rank = first + i, .size = size };

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			live(&m);
			_exit(0);
		}
	if (mine && wait_for_all(p->when, 0, size, -1, now() + JOINS)) {
		usleep(p->after);
		act(p, node, pids);
	}
	if (!wait_for("event", now() + JOINS + 5))
		n = (size_t)snprintf(text, sizeof text, "nothing has happened; ");
	n += reap(p, node, pids, text + n, sizeof text - n);
	if (mine && !strcmp(p->kind, "link") && !mend_link())
		n += (size_t)snprintf(text + n, sizeof text - n, "the link does not come up; ");
	leftovers(text + n, sizeof text - n);
	snprintf(name, sizeof name, "left.%d", node);
	note(name, "%s\n", text);
	snprintf(name, sizeof name, "left.%d", !node);
	if (strcmp(p->kind, "node"))
		wait_for(name, now() + JOINS);
}

static bool next_plan(const char *dir, int i, struct plan *p)
{
	char at[512];
	FILE *f;
	bool good;

	snprintf(at, sizeof at, "%s/%d", dir, i);
	if (chdir(at))
		return false;
	f = fopen("plan", "r");
	good = f && fscanf(f, "%7s %d %7s %u %d %zu %d %d %d %7s %63s %d", p->kind, &p->victim, p->when, &p->after, &p->ranks,
			   &p->count, &p->heap, &p->shm, &p->split, p->progress, p->schedule, &p->nbuffers) == 12 && p->ranks > 0 && p->ranks <= MOST;
	if (f)
		fclose(f);
	return good;
}

int main(int argc, char **argv)
{
	struct plan p;

	if (argc != 4)
		return 2;
	schedules = argv[3];
	for (int i = 0; next_plan(argv[1], i, &p); i++)
		one_round(&p, atoi(argv[2]));
	return 0;
}
