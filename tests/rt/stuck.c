/* SPDX-License-Identifier: BSD-3-Clause
 * stuck SCHEDULE DIR world|threads wait|test|own [0]: a broadcast from rank 2, which starts the second epoch only when DIR/go exists.
 * The others create DIR/R and wait. With "own" SIGUSR1 is the program's. With 0 the root is rank 0, which waits in the third epoch, as
 * it may send one epoch ahead of a receiver. */
#include "tests/rt/team.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *schedule, *dir, *way;
static int root = 2, last = 1; /* last: epoch, from 0 on */
static volatile sig_atomic_t mine;

static void on_signal(int sig)
{
	(void)sig;
	mine = 1;
}

static int run(struct member *m)
{
	struct MPIX_Sched_param from = { "root", &(int64_t){ root }, 1 };
	double data[1000] = { 0 };
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = { .struct_size = sizeof b,
				     .buffers = buffers,
				     .nbuffers = 1,
				     .count = 1000,
				     .basic = MPIX_SCHED_DOUBLE,
				     .params = &from,
				     .nparams = 1 };
	MPIX_Sched_request req;
	MPIX_Sched s;
	char path[512];
	FILE *f;
	int flag = 0;

	CALL(MPIX_Sched_load(m->ctx, schedule, &s));
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	for (int e = 0; e <= last; e++) { /* the first one passes */
		snprintf(path, sizeof path, "%s/go", dir);
		if (m->rank == 2 && e == 1)
			for (int i = 0; access(path, F_OK) && i < 3000; i++)
				usleep(20000);
		data[999] = m->rank == root ? 7 : 0;
		CALL(MPIX_Sched_start(req));
		snprintf(path, sizeof path, "%s/%d", dir, m->rank);
		if (e == last && (f = fopen(path, "w")))
			fclose(f);
		while (!flag && !strcmp(way, "test")) {
			CALL(MPIX_Sched_test(req, &flag));
			usleep(100);
		}
		CALL(MPIX_Sched_wait(req));
		NEED(data[999] == 7);
		flag = 0;
	}
	NEED(strcmp(way, "own") != 0 || mine || m->rank == 2);
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

static int world(void)
{
	struct member me = { 0 }, *m = &me;
	int rc;

	CALL(MPIX_Sched_ctx_create(&m->ctx));
	CALL(MPIX_Sched_group_world(m->ctx, &m->group));
	CALL(MPIX_Sched_group_rank(m->group, &m->rank, &m->size));
	rc = run(m);
	CALL(MPIX_Sched_group_free(&m->group));
	CALL(MPIX_Sched_ctx_free(&m->ctx));
	return rc;
}

int main(int argc, char **argv)
{
	struct sigaction after;
	int rc;

	if (argc != 5 && argc != 6)
		return 2;
	if (argc == 6) {
		root = 0;
		last = 2;
	}
	schedule = argv[1];
	dir = argv[2];
	way = argv[4];
	if (!strcmp(way, "own"))
		signal(SIGUSR1, on_signal);
	rc = strcmp(argv[3], "world") ? team_run(4, true, run, NULL) : world();
	/* The last context has taken its handler away; in a job the signal is ignored from then on. */
	sigaction(SIGUSR1, NULL, &after);
	return rc || (strcmp(way, "own") ? after.sa_handler != SIG_DFL && after.sa_handler != SIG_IGN : after.sa_handler != on_signal);
}
