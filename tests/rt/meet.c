/* SPDX-License-Identifier: BSD-3-Clause
 * meet WAY SCHEDULE [DIR RANK SIZE]: one program, whichever way its ranks meet:
 *   world   as the launcher offers it: goalrun, PMIx, or nobody
 *   tcp     a star of connections on the loopback; rank 0 writes its port to DIR/port
 *   pipes   a star of the named pipes DIR/up.RANK and DIR/down.RANK
 *   mpi     an MPI communicator, when built with MPI
 *   both    mpi, and then world
 *   again   world, again and again, until a signal ends the last rank
 * Broadcasts over all ranks and over the even and the odd ones; prints a line per rank. */
#ifdef WITH_MPI
#include <mpix_sched_mpi.h>
#else
#include <mpix_sched.h>
#endif

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST 16
#define COUNT 5000

static MPIX_Sched_ctx ctx;

static void must(int rc, const char *what)
{
	char text[256];

	if (!rc)
		return;
	MPIX_Sched_error_detail(ctx, text, sizeof text);
	fprintf(stderr, "%s: %s\n", what, ctx ? text : MPIX_Sched_error_string(rc));
	exit(3);
}

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(4);
}

/* ---- a star ---- */

struct star {
	int rank, size;
	int from[MOST], to[MOST]; /* rank 0: by rank; others: [0] */
};

static int move(int fd, char *p, size_t n, bool in)
{
	while (n) {
		ssize_t k = in ? read(fd, p, n) : write(fd, p, n);

		if (k <= 0)
			return 1;
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

static int star_allgather(const void *in, void *out, size_t size, void *arg)
{
	const struct star *s = arg;
	char *all = out, *mine = (char *)(uintptr_t)in;
	int bad = 0;

	if (s->rank)
		return move(s->to[0], mine, size, false) || move(s->from[0], all, size * (size_t)s->size, true);
	memcpy(all, in, size);
	for (int r = 1; r < s->size && !bad; r++)
		bad = move(s->from[r], all + (size_t)r * size, size, true);
	for (int r = 1; r < s->size && !bad; r++)
		bad = move(s->to[r], all, size * (size_t)s->size, false);
	return bad;
}

static void tcp_host(struct star *s, const char *dir)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	int listener = socket(AF_INET, SOCK_STREAM, 0), rank;
	char path[512], hidden[512];
	FILE *f;

	need(listener >= 0 && !bind(listener, (struct sockaddr *)&a, sizeof a) && !listen(listener, MOST) &&
		     !getsockname(listener, (struct sockaddr *)&a, &len),
	     "listen");
	snprintf(path, sizeof path, "%s/port", dir);
	snprintf(hidden, sizeof hidden, "%s/port.new", dir);
	f = fopen(hidden, "w");
	need(f && fprintf(f, "%d", ntohs(a.sin_port)) > 0 && !fclose(f) && !rename(hidden, path), path);
	for (int i = 1; i < s->size; i++) {
		int sock = accept(listener, NULL, NULL);

		need(sock >= 0 && !move(sock, (char *)&rank, sizeof rank, true) && rank > 0 && rank < s->size, "accept");
		s->from[rank] = s->to[rank] = sock;
	}
	close(listener);
}

static void tcp_join(struct star *s, const char *dir)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int sock = socket(AF_INET, SOCK_STREAM, 0), port = 0;
	char path[512];
	FILE *f = NULL;

	snprintf(path, sizeof path, "%s/port", dir);
	for (int i = 0; i < 1000 && !(f = fopen(path, "r")); i++)
		usleep(20000);
	need(f && fscanf(f, "%d", &port) == 1, path);
	fclose(f);
	a.sin_port = htons((uint16_t)port);
	need(sock >= 0 && !connect(sock, (struct sockaddr *)&a, sizeof a) &&
		     !move(sock, (char *)&s->rank, sizeof s->rank, false),
	     "connect");
	s->from[0] = s->to[0] = sock;
}

static void pipes(struct star *s, const char *dir)
{
	char up[512], down[512];

	for (int r = s->rank ? s->rank : 1; r < (s->rank ? s->rank + 1 : s->size); r++) {
		int at = s->rank ? 0 : r;

		snprintf(up, sizeof up, "%s/up.%d", dir, r);
		snprintf(down, sizeof down, "%s/down.%d", dir, r);
		if (s->rank) {
			s->to[at] = open(up, O_WRONLY);
			s->from[at] = open(down, O_RDONLY);
		} else {
			s->from[at] = open(up, O_RDONLY);
			s->to[at] = open(down, O_WRONLY);
		}
		need(s->from[at] >= 0 && s->to[at] >= 0, up);
	}
}

/* ---- MPI ---- */

#ifdef WITH_MPI
/* Calls that MPIX_Sched_group_from_comm refuses, on each rank alone. */
static void refused(void)
{
	MPI_Comm local, inter;
	MPIX_Sched_group group;
	int rank;

	need(MPIX_Sched_group_from_comm(ctx, MPI_COMM_NULL, &group) == MPIX_SCHED_ERR_ARG, "a null communicator");
	need(MPIX_Sched_group_from_comm(ctx, MPI_COMM_SELF, NULL) == MPIX_SCHED_ERR_ARG, "no group");
	need(MPIX_Sched_group_from_comm(NULL, MPI_COMM_SELF, &group) == MPIX_SCHED_ERR_ARG, "no context");
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &local);
	MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, !(rank % 2), 0, &inter);
	need(MPIX_Sched_group_from_comm(ctx, inter, &group) == MPIX_SCHED_ERR_ARG, "an intercommunicator");
	MPI_Comm_free(&inter);
	MPI_Comm_free(&local);
}

/* The communicator has the ranks of MPI_COMM_WORLD in the opposite order, and is freed before the group is used. */
static void by_mpi(MPIX_Sched_group *group)
{
	MPI_Comm comm;
	int rank, size, place;

	need(!MPI_Init(NULL, NULL), "MPI_Init");
	refused();
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
	must(MPIX_Sched_group_from_comm(ctx, comm, group), "from_comm");
	MPI_Comm_free(&comm);
	must(MPIX_Sched_group_rank(*group, &place, &size), "rank");
	need(place == size - 1 - rank, "the communicator's ranks");
}
#else
static void by_mpi(MPIX_Sched_group *group)
{
	(void)group;
	fprintf(stderr, "built without MPI\n");
	exit(2);
}
#endif

/* ---- what the program is for ---- */

static MPIX_Sched_request bind_to(const char *schedule, MPIX_Sched_group g, double *data)
{
	void *buffers[] = { data };
	struct MPIX_Sched_bind b = { .struct_size = sizeof b,
				     .buffers = buffers,
				     .nbuffers = 1,
				     .count = COUNT,
				     .basic = MPIX_SCHED_DOUBLE };
	MPIX_Sched_request req;
	MPIX_Sched s;

	must(MPIX_Sched_load(ctx, schedule, &s), "load");
	must(MPIX_Sched_init(s, g, &b, &req), "init");
	must(MPIX_Sched_unload(&s), "unload");
	return req;
}

static void work(const char *schedule, MPIX_Sched_group group)
{
	static double data[2][COUNT];
	MPIX_Sched_group half;
	MPIX_Sched_request reqs[2];
	int rank, size, place;

	must(MPIX_Sched_group_rank(group, &rank, &size), "rank");
	must(MPIX_Sched_group_split(group, rank % 2, 0, &half), "split");
	must(MPIX_Sched_group_rank(half, &place, &(int){ 0 }), "rank");
	reqs[0] = bind_to(schedule, group, data[0]);
	reqs[1] = bind_to(schedule, half, data[1]);
	must(MPIX_Sched_group_free(&half), "free");
	for (int e = 0; e < 50; e++) {
		data[0][COUNT - 1] = rank ? -1 : e;
		data[1][COUNT - 1] = place ? -1 : e + 1000 * rank;
		must(MPIX_Sched_startall(2, reqs), "start");
		must(MPIX_Sched_waitall(2, reqs), "wait");
		if (data[0][COUNT - 1] != e || data[1][COUNT - 1] != e + 1000 * (rank % 2)) {
			fprintf(stderr, "rank %d: wrong data\n", rank);
			exit(5);
		}
	}
	for (int k = 0; k < 2; k++)
		must(MPIX_Sched_free(&reqs[k]), "free");
	must(MPIX_Sched_group_free(&group), "group");
	printf("rank %d of %d\n", rank, size);
}

static void again(void)
{
	MPIX_Sched_group group;
	int rank, size;

	for (unsigned i = 0;; i++) {
		must(MPIX_Sched_group_world(ctx, &group), "world");
		must(MPIX_Sched_group_rank(group, &rank, &size), "rank");
		if (i == 0 && rank == size - 1)
			ualarm(20000 + (useconds_t)getpid() % 16 * 1000, 0);
		must(MPIX_Sched_group_free(&group), "free");
	}
}

int main(int argc, char **argv)
{
	struct star star = { 0 };
	MPIX_Sched_group group;
	const char *way, *schedule;

	alarm(60); /* nobody waits for ever */
	if (argc != 3 && argc != 6)
		return 2;
	way = argv[1];
	schedule = argv[2];
	if (argc == 6) {
		star.rank = atoi(argv[4]);
		star.size = atoi(argv[5]);
		if (star.size > MOST)
			return 2;
		if (!strcmp(way, "pipes"))
			pipes(&star, argv[3]);
		else if (star.rank)
			tcp_join(&star, argv[3]);
		else
			tcp_host(&star, argv[3]);
	}
	must(MPIX_Sched_ctx_create(&ctx), "ctx");
	if (!strcmp(way, "again"))
		again();
	if (!strcmp(way, "world"))
		must(MPIX_Sched_group_world(ctx, &group), "world");
	else if (argc == 6)
		must(MPIX_Sched_group_create(ctx, star.rank, star.size, star_allgather, &star, &group), "create");
	else
		by_mpi(&group);
	work(schedule, group);
	if (!strcmp(way, "both")) {
		must(MPIX_Sched_group_world(ctx, &group), "world");
		work(schedule, group);
	}
	must(MPIX_Sched_ctx_free(&ctx), "ctx");
#ifdef WITH_MPI
	int initialised;

	MPI_Initialized(&initialised);
	if (initialised)
		MPI_Finalize();
#endif
	return 0;
}
