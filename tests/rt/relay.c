/* SPDX-License-Identifier: BSD-3-Clause
 * relay RANKS COUNT BINARY [NAME]: a chain of command queues, which the environment's engine carries out. Ranks in the
 * middle start and then make no call until the last rank has all the data. Each start takes other private
 * memory, and a second request is under way at the same time. Rank r binds in the network namespace NAME.r. Prints a
 * line. */
#include "tests/rt/team.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { EPOCHS = 20, REQUESTS = 2 };

static struct shared {
	_Atomic int done; /* the last epoch that the last rank has all of */
} *shared;

static size_t count;
static const char *path, *net;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Elsewhere, for as long as it takes; false when that is too long. */
static bool away(int epoch)
{
	const double end = now() + 50;

	while (atomic_load(&shared->done) < epoch && now() < end)
		usleep(500);
	return atomic_load(&shared->done) >= epoch;
}

static int64_t value(int epoch, int which, size_t i)
{
	return ((int64_t)epoch * REQUESTS + which) * 100000 + (int64_t)i;
}

/* The group has met by then: what is left goes through the engine. */
static int move(int r)
{
	char name[256];
	int fd, rc;

	snprintf(name, sizeof name, "/run/netns/%s.%d", net, r);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	rc = fd < 0 ? -1 : setns(fd, CLONE_NEWNET);
	close(fd);
	return rc;
}

static int rank(struct member *m)
{
	int64_t *data[REQUESTS][2];
	MPIX_Sched_request req[REQUESTS];
	MPIX_Sched s;

	NEED(!net || !move(m->rank));
	CALL(MPIX_Sched_load(m->ctx, path, &s));
	for (int k = 0; k < REQUESTS; k++) {
		struct MPIX_Sched_bind bind = {
			.struct_size = sizeof bind, .nbuffers = 1, .count = count, .basic = MPIX_SCHED_INT64
		};

		for (int b = 0; b < 2; b++)
			NEED(data[k][b] = calloc(count, sizeof **data[k]));
		bind.buffers = (void *[]){ data[k][1] };
		CALL(MPIX_Sched_init(s, m->group, &bind, &req[k]));
	}
	for (int epoch = 1; epoch <= EPOCHS; epoch++) {
		for (int k = 0; k < REQUESTS; k++) {
			int64_t *at = data[k][epoch % 2];

			for (size_t i = 0; i < count; i++)
				at[i] = m->rank ? -1 : value(epoch, k, i);
			if (epoch > 1)
				CALL(MPIX_Sched_rebind(req[k], (void *[]){ at }, 1));
		}
		for (int k = 0; k < REQUESTS; k++)
			CALL(MPIX_Sched_start(req[m->rank % 2 ? k : REQUESTS - 1 - k]));
		if (m->rank && m->rank < m->size - 1)
			NEED(away(epoch));
		for (int k = 0; k < REQUESTS; k++)
			CALL(MPIX_Sched_wait(req[k]));
		for (int k = 0; k < REQUESTS; k++)
			for (size_t i = 0; i < count; i++)
				NEED(data[k][epoch % 2][i] == value(epoch, k, i));
if (m->rank == m->size - 1)
			atomic_store(&shared->done, epoch);
	}
	for (int k = 0; k < REQUESTS; k++) {
		CALL(MPIX_Sched_free(&req[k]));
		free(data[k][0]);
		free(data[k][1]);
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

int main(int argc, char **argv)
{
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc < 4 || argc > 5 || shared == MAP_FAILED)
		return 2;
	count = (size_t)atol(argv[2]);
	path = argv[3];
	net = argc > 4 ? argv[4] : NULL;
	if (team_run(atoi(argv[1]), false, rank, NULL)) {
		printf("FAIL relay %s ranks\n", argv[1]);
		return 1;
	}
	printf("ok relay %s ranks: %d starts, of which those in the middle see nothing\n", argv[1], EPOCHS);
	return 0;
}
