/* SPDX-License-Identifier: BSD-3-Clause
 * offload: a broadcast on command queues, of which ranks take no part after they have started. Run by goalrun, with a
 * binary of one buffer whose root is rank 0.
 *
 *   offload stop BINARY FILE BYTES MEMORY LAST   ranks stop right after start, rank LAST last; the data arrives, and only
 *                                          then they go on
 *   offload busy BINARY FILE BYTES MEMORY RANK   that rank calls nothing until all others are done, time and again
 *   offload dead BINARY FILE BYTES MEMORY RANK   that rank kills itself between start and wait; or the interface, if it is
 *                                          the number of ranks. The others are told
 *   offload leave BINARY FILE BYTES MEMORY RANK  that rank does not take part in the last start, which the others are told
 *   offload turns BINARY FILE BYTES MEMORY MS   ranks free the request in turn; none takes longer than that for it
 *   offload twice BINARY FILE BYTES MEMORY N     N requests are active at once, and go to other buffers in between
 * MEMORY is heap or private; FILE is for the ranks to meet. */
#include "mpix_sched.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 40 /* for anything */
#define MOST 64
#define EPOCHS 20

struct shared {
	_Atomic uint32_t at[MOST]; /* how far each rank is */
	_Atomic int pid[MOST];
	_Atomic uintptr_t data[MOST];
};

static struct shared *all;
static MPIX_Sched_ctx ctx;
static int rank, size, number;
static size_t bytes;
static bool heap;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what)
{
	char detail[300] = "";

	MPIX_Sched_error_detail(ctx, detail, sizeof detail);
	printf("FAIL rank %d: %s: %s\n", rank, what, detail);
	exit(1);
}

#define CALL(x) ((x) ? fail(#x) : (void)0)

/* Until a rank is so far. */
static void await(int r, uint32_t step)
{
	const double until = now() + SECONDS;

	while (atomic_load(&all->at[r]) < step) {
		if (now() > until)
			fail("a rank does not come");
		sched_yield();
	}
}

static void step(uint32_t n)
{
	atomic_store(&all->at[rank], n);
}

static void meet(uint32_t n)
{
	step(n);
	for (int r = 0; r < size; r++)
		await(r, n);
}

static unsigned char byte_of(size_t i, unsigned epoch)
{
	return (unsigned char)(i * 31 + i / 251 + epoch * 7 + 1);
}

static void fill(unsigned char *p, unsigned epoch)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = rank ? (unsigned char)~byte_of(i, epoch) : byte_of(i, epoch);
}

static bool right(const unsigned char *p, unsigned epoch)
{
	for (size_t i = 0; i < bytes; i++)
		if (p[i] != byte_of(i, epoch))
			return false;
	return true;
}

static unsigned char *buffer(void)
{
	void *p = NULL;

	if (heap)
		CALL(MPIX_Sched_alloc(ctx, bytes, &p));
	else if (!(p = malloc(bytes)))
		fail("malloc");
	return p;
}

/* What is on the heap goes with the context. */
static void drop(unsigned char *p)
{
	if (!heap)
		free(p);
}

static void bind_to(MPIX_Sched s, MPIX_Sched_group g, unsigned char *p, MPIX_Sched_request *req)
{
	void *buffers[1] = { p };
	struct MPIX_Sched_bind b = { .struct_size = sizeof b,
				     .buffers = buffers,
				     .nbuffers = 1,
				     .count = bytes,
				     .basic = MPIX_SCHED_BYTE };

	CALL(MPIX_Sched_init(s, g, &b, req));
}

/* ---- stop ---- */

static bool is_stopped(int pid)
{
	char path[64], line[300] = "";
	const char *end;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	end = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return end && end[1] && end[2] == 'T';
}

static void all_stopped(int but)
{
	const double until = now() + SECONDS;

	for (int r = 0; r < size; r++)
		while (r != but && !is_stopped(atomic_load(&all->pid[r]))) {
			if (now() > until)
				fail("a rank does not stop");
			sched_yield();
		}
}

/* Looks at the ranks from outside, and then lets them go on. */
static int watch(void)
{
	unsigned char *p = malloc(bytes);
	const double until = now() + SECONDS;
	int wrong = 0;

	if (!p)
		return 1;
	all_stopped(-1);
	for (int r = 0; r < size; r++) {
		struct iovec here = { p, bytes }, there = { (void *)atomic_load(&all->data[r]), bytes };

		do {
			sched_yield();
			if (process_vm_readv(atomic_load(&all->pid[r]), &here, 1, &there, 1, 0) != (ssize_t)bytes)
				wrong = 1;
		} while (!wrong && !right(p, 1) && now() < until);
		wrong |= !right(p, 1) || !is_stopped(atomic_load(&all->pid[r]));
	}
	for (int r = 0; r < size; r++)
		kill(atomic_load(&all->pid[r]), SIGCONT);
	free(p);
	return wrong;
}

static void run_stop(MPIX_Sched_request req, unsigned char *p)
{
	int status = 0;
	pid_t watcher = 0;

	fill(p, 1);
	atomic_store(&all->data[rank], (uintptr_t)p);
	atomic_store(&all->pid[rank], getpid());
	meet(1);
	if (rank == 0 && (watcher = fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(watch());
	}
	if (rank == number) /* nothing moves before it starts */
		all_stopped(rank);
	CALL(MPIX_Sched_start(req));
	raise(SIGSTOP);
	if (rank == 0 && (waitpid(watcher, &status, 0) != watcher || status))
		fail("the data did not arrive while the ranks were stopped");
	CALL(MPIX_Sched_wait(req));
	if (!right(p, 1))
		fail("wrong data");
}

/* ---- busy ---- */

static void run_busy(MPIX_Sched_request req, unsigned char *p)
{
	for (uint32_t e = 1; e <= EPOCHS; e++) {
		fill(p, e);
		meet(2 * e - 1);
		CALL(MPIX_Sched_start(req));
		for (int r = 0; r < size && rank == number; r++)
			if (r != rank)
				await(r, 2 * e);
		CALL(MPIX_Sched_wait(req));
		if (!right(p, e))
			fail("wrong data");
		meet(2 * e);
	}
}

/* ---- dead ---- */

/* The process that plays the interface is goalrun's child, as the ranks are. */
static int find_nic(void)
{
	DIR *d = opendir("/proc");
	int found = 0;

	for (struct dirent *e; d && (e = readdir(d));) {
		char path[300], comm[32] = "";
		int pid = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0, parent = 0;
		FILE *f;

		snprintf(path, sizeof path, "/proc/%d/stat", pid);
		f = pid ? fopen(path, "r") : NULL;
		if (f && fscanf(f, "%*d (%31[^)]) %*c %d", comm, &parent) == 2 && parent == getppid() && !strcmp(comm, "goalnic"))
			found = pid;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return found;
}

static void run_dead(MPIX_Sched_request req, unsigned char *p)
{
	char detail[300];
	double t;

	for (uint32_t e = 1; e <= 3; e++) {
		fill(p, e);
		meet(e);
		if (e == 3)
			break;
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
	}
	if (rank == number) /* before it starts, so that the others have to wait */
		raise(SIGKILL);
	if (number == size && rank == 0 && (find_nic() == 0 || kill(find_nic(), SIGKILL)))
		fail("there is no interface to kill");
	if (number == size)
		meet(4);
	if (MPIX_Sched_start(req) && number < size)
		fail("start");
	t = now();
	if (!MPIX_Sched_wait(req))
		fail("wait says that all is well");
	MPIX_Sched_error_detail(ctx, detail, sizeof detail);
	printf("told rank %d: %s\n", rank, detail);
	fprintf(stderr, "rank %d: after %.3f s\n", rank, now() - t);
	if (number == size)
		meet(5); /* the first to end would be what goalrun tells */
}

/* ---- leave ---- */

static void run_leave(MPIX_Sched_request req, unsigned char *p)
{
	char detail[300];

	fill(p, 1);
	meet(1);
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	if (rank == number)
		return;
	CALL(MPIX_Sched_start(req));
	if (!MPIX_Sched_wait(req))
		fail("wait says that all is well");
	MPIX_Sched_error_detail(ctx, detail, sizeof detail);
	printf("told rank %d: %s\n", rank, detail);
}

/* ---- turns ---- */

static void run_turns(MPIX_Sched_request *req, unsigned char *p)
{
	double begin;

	fill(p, 1);
	CALL(MPIX_Sched_start(*req));
	CALL(MPIX_Sched_wait(*req));
	for (int r = 0; r < rank; r++)
		await(r, 1);
	begin = now();
	CALL(MPIX_Sched_free(req));
	if (now() - begin > number / 1e3)
		fail("free waits for a rank that has freed its request");
	meet(1);
}

/* ---- twice ---- */

static void run_twice(MPIX_Sched s, MPIX_Sched_group g, MPIX_Sched_request *first, unsigned char *p)
{
	MPIX_Sched_request req[8] = { *first };
	unsigned char *at[8] = { p };

	for (int i = 1; i < number && i < 8; i++)
		bind_to(s, g, at[i] = buffer(), &req[i]);
	for (uint32_t e = 1; e <= EPOCHS; e++) {
		for (int i = 0; i < number; i++) { /* each rank in an order of its own */
			const int k = (i + rank) % number;

			if ((e + (unsigned)k) % 5 == 0) {
				void *buffers[1] = { buffer() };

				CALL(MPIX_Sched_rebind(req[k], buffers, 1));
				if (at[k] != p) /* which is main's */
					drop(at[k]);
				at[k] = buffers[0];
			}
			fill(at[k], e + (unsigned)k);
			CALL(MPIX_Sched_start(req[k]));
		}
		for (int i = 0; i < number; i++) {
			const int k = (i + 2 * rank) % number;

			CALL(MPIX_Sched_wait(req[k]));
			if (!right(at[k], e + (unsigned)k))
				fail("wrong data");
		}
	}
	for (int i = 1; i < number; i++) {
		CALL(MPIX_Sched_free(&req[i]));
		drop(at[i]);
	}
	if (at[0] != p)
		drop(at[0]);
}

int main(int argc, char **argv)
{
	MPIX_Sched_group group;
	MPIX_Sched sched;
	MPIX_Sched_request req;
	unsigned char *p;
	int fd;

	if (argc != 7)
		return 2;
	bytes = strtoul(argv[4], NULL, 10);
	heap = !strcmp(argv[5], "heap");
	number = atoi(argv[6]);
	fd = open(argv[3], O_RDWR);
	all = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (all == MAP_FAILED)
		return 2;
	CALL(MPIX_Sched_ctx_create(&ctx));
	CALL(MPIX_Sched_group_world(ctx, &group));
	CALL(MPIX_Sched_group_rank(group, &rank, &size));
	CALL(MPIX_Sched_load(ctx, argv[2], &sched));
	p = buffer();
	bind_to(sched, group, p, &req);
	if (!strcmp(argv[1], "stop"))
		run_stop(req, p);
	else if (!strcmp(argv[1], "busy"))
		run_busy(req, p);
	else if (!strcmp(argv[1], "dead"))
		run_dead(req, p);
	else if (!strcmp(argv[1], "leave"))
		run_leave(req, p);
	else if (!strcmp(argv[1], "turns"))
		run_turns(&req, p);
	else
		run_twice(sched, group, &req, p);
	if (req)
		CALL(MPIX_Sched_free(&req));
	drop(p);
	MPIX_Sched_unload(&sched);
	MPIX_Sched_group_free(&group);
	MPIX_Sched_ctx_free(&ctx);
	if (rank == 0)
		printf("done\n");
	return 0;
}
