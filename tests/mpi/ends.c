/* SPDX-License-Identifier: BSD-3-Clause
 * How programs end, and what they may do to requests and communicators of persistent collectives: ends CASE
 *   kill      rank 1 is killed while others wait for it
 *   abort     rank 1 calls MPI_Abort
 *   exit      rank 1 exits without MPI_Finalize
 *   unfreed   requests are still allocated at MPI_Finalize
 *   active    ranks free requests that are active, and others complete them
 *   fork      the application forks, between init, start and wait
 *   order     ranks free two communicators in different orders, and use their requests afterwards
 * The first three must not end well; the others print a line. */
#include "persistent.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1000, STARTS = 4 };
static int rank, size;

/* An allreduce and a broadcast on a communicator */
struct pair {
	int in[N], out[N], data[N];
	MPI_Request requests[2];
};

static void hangs(int sig)
{
	static const char text[] = "ends: a rank hangs\n";

	(void)sig;
	if (write(2, text, sizeof(text) - 1) < 0)
		_exit(4);
	_exit(3);
}

static void make(struct pair *p, MPI_Comm comm)
{
	MPI_Allreduce_init(p->in, p->out, N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &p->requests[0]);
	MPI_Bcast_init(p->data, N, MPI_INT, 0, comm, MPI_INFO_NULL, &p->requests[1]);
}

static void start(struct pair *p, int s)
{
	for (int i = 0; i < N; i++) {
		p->in[i] = s + i + rank;
		p->data[i] = rank == 0 ? s * 1000 + i : -1;
	}
	MPI_Startall(2, p->requests);
}

static int right(const struct pair *p, int s)
{
	for (int i = 0; i < N; i++)
		if (p->out[i] != size * (s + i) + size * (size - 1) / 2 || p->data[i] != s * 1000 + i)
			return 0;
	return 1;
}

static int turn(struct pair *p, int s)
{
	start(p, s);
	MPI_Waitall(2, p->requests, MPI_STATUSES_IGNORE);
	return right(p, s);
}

static int turns(struct pair *p)
{
	for (int s = 0; s < STARTS; s++)
		if (!turn(p, s))
			return 0;
	return 1;
}

static void free_pair(struct pair *p)
{
	MPI_Request_free(&p->requests[0]);
	MPI_Request_free(&p->requests[1]);
}

static int die(struct pair *p, const char *how)
{
	make(p, MPI_COMM_WORLD);
	if (!turns(p))
		return 0;
	if (rank == 1) {
		usleep(100000); /* the others wait by now */
		if (strcmp(how, "kill") == 0)
			raise(SIGKILL);
		else if (strcmp(how, "abort") == 0)
			MPI_Abort(MPI_COMM_WORLD, 7);
		_exit(9);
	}
	start(p, STARTS);
	MPI_Waitall(2, p->requests, MPI_STATUSES_IGNORE);
	return 0;
}

static int unfreed(struct pair *p)
{
	static struct pair never;

	make(p, MPI_COMM_WORLD);
	make(&never, MPI_COMM_WORLD);
	return turns(p);
}

/* Even ranks free the requests that they have started. The others must get their data all the same. */
static int active(struct pair *p)
{
	for (int s = 0; s < STARTS; s++) {
		make(p, MPI_COMM_WORLD);
		start(p, s);
		if (rank % 2 == 0) {
			free_pair(p);
		} else {
			MPI_Waitall(2, p->requests, MPI_STATUSES_IGNORE);
			if (!right(p, s))
				return 0;
			free_pair(p);
		}
		MPI_Barrier(MPI_COMM_WORLD);
		usleep(20000); /* for what even ranks still receive in buffers that are filled again */
		MPI_Barrier(MPI_COMM_WORLD);
	}
	return 1;
}

static int child(void)
{
	pid_t pid = fork();
	int status = 1;

	if (pid == 0)
		_exit(0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return 0;
	return system("true") == 0;
}

static int forks(struct pair *p)
{
	int s, ok = 1;

	ok &= child();
	make(p, MPI_COMM_WORLD);
	for (s = 0; s < STARTS && ok; s++) {
		ok &= child();
		start(p, s);
		ok &= child();
		MPI_Waitall(2, p->requests, MPI_STATUSES_IGNORE);
		ok &= right(p, s);
	}
	free_pair(p);
	return ok;
}

static int order(struct pair *p)
{
	static struct pair other;
	MPI_Comm comms[2];
	int s, ok = 1;

	MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
	MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
	make(p, comms[0]);
	make(&other, comms[1]);
	ok &= turns(p) && turns(&other);
	MPI_Comm_free(&comms[rank % 2]);
	start(p, 7);
	start(&other, 8);
	MPI_Comm_free(&comms[1 - rank % 2]);
	MPI_Waitall(2, other.requests, MPI_STATUSES_IGNORE);
	MPI_Waitall(2, p->requests, MPI_STATUSES_IGNORE);
	ok &= right(p, 7) && right(&other, 8);
	for (s = 0; s < STARTS && ok; s++)
		ok &= turn(&other, s) && turn(p, s);
	free_pair(rank % 3 ? p : &other);
	free_pair(rank % 3 ? &other : p);
	return ok;
}

int main(int argc, char **argv)
{
	static struct pair pair;
	const char *how = argc > 1 ? argv[1] : "";
	int ok = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	signal(SIGALRM, hangs);
	alarm(60);
	if (strcmp(how, "unfreed") == 0)
		ok = unfreed(&pair);
	else if (strcmp(how, "active") == 0)
		ok = active(&pair);
	else if (strcmp(how, "fork") == 0)
		ok = forks(&pair);
	else if (strcmp(how, "order") == 0)
		ok = order(&pair);
	else
		ok = die(&pair, how);
	if (!ok) {
		fprintf(stderr, "ends: rank %d: %s is wrong\n", rank, how);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("ends: %s ends\n", how);
	MPI_Finalize();
	return 0;
}
