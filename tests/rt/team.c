/* SPDX-License-Identifier: BSD-3-Clause
 * Runs the ranks of a test as threads or processes. See team.h. */
#include "tests/rt/team.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char team_bcast[] = "schedule bcast(root = 0) implements MPI_Bcast\n"
			  "buffer inout data[count]\n"
			  "rank r of p {\n"
			  "  v = (r - root) mod p\n"
			  "  if v > 0 { got: recv data from (r - lowbit(v)) mod p }\n"
			  "  for k = (v > 0 ? log2(lowbit(v)) : ceillog2(p)) - 1 downto 0 {\n"
			  "    if v + 2^k < p { out[k]: send data to (r + 2^k) mod p\n out[k] requires got }\n"
			  "  }\n"
			  "}\n";

const char team_chain[] =
	"schedule chain\n"
	"buffer inout data[count]\n"
	"rank r of p {\n"
	"  if r > 0 { got: recv data from r - 1 }\n"
	"  if r + 1 < p { on: send data to r + 1\n on requires got }\n"
	"}\n";

const char team_sum_chain[] =
	"schedule chain\n"
	"buffer inout data[count]\n"
	"buffer in add[count]\n"
	"rank r of p {\n"
	"  if r > 0 { got: recv data from r - 1\n"
	"    sum: reduce add into data\n sum requires got }\n"
	"  if r + 1 < p { on: send data to r + 1\n on requires sum }\n"
	"}\n";

const char team_ring[] = "schedule ring\n"
			 "buffer in mine[count]\n"
			 "buffer out theirs[count]\n"
			 "rank r of p { send mine to (r + 1) mod p; recv theirs from (r - 1) mod p }\n";

double team_seconds = 60;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int team_allgather(const void *in, void *out, size_t size, void *arg)
{
	struct member *m = arg;
	struct team *t = m->team;
	uint64_t seq = ++m->seq;

	if (size > TEAM_RECORD)
		return 1;
	memcpy(t->slots[m->rank].data[seq & 1], in, size);
	atomic_store_explicit(&t->slots[m->rank].seq, seq, memory_order_release);
	for (int r = 0; r < m->size; r++) {
		while (atomic_load_explicit(&t->slots[r].seq, memory_order_acquire) < seq) {
			if (atomic_load(&t->failed))
				return 1;
			sched_yield();
		}
		memcpy((char *)out + (size_t)r * size, t->slots[r].data[seq & 1], size);
	}
	return 0;
}

int team_alone(const void *in, void *out, size_t size, void *arg)
{
	(void)arg;
	memcpy(out, in, size);
	return 0;
}

int team_meet(struct member *m)
{
	char nothing = 0, all[TEAM_MAX];

	NEED(team_allgather(&nothing, all, 1, m) == 0);
	return 0;
}

struct start {
	struct member m;
	int (*fn)(struct member *);
	bool bare;
	pthread_t id;
};

static int one(struct start *s)
{
	const char *how = getenv("TEAM_TRANSPORT");
	struct member *m = &s->m;
	int rc;

	if (s->bare)
		return s->fn(m);
	CALL(MPIX_Sched_ctx_create(&m->ctx));
	CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &m->group));
	rc = how ? team_transport(m, how) : 0;
	rc = rc ? rc : s->fn(m);
	CALL(MPIX_Sched_group_free(&m->group));
	CALL(MPIX_Sched_ctx_free(&m->ctx));
	team_transport_end(m);
	return rc;
}

static void *thread(void *arg)
{
	struct start *s = arg;

	if (one(s)) {
		atomic_fetch_add(&s->m.team->wrong, 1);
		atomic_store(&s->m.team->failed, 1);
	}
	return NULL;
}

static void choose_node(int rank)
{
	const char *nodes = getenv("TEAM_NODES");
	char name[16];

	if (!nodes)
		return;
	snprintf(name, sizeof name, "%d", rank % atoi(nodes));
	setenv("GOAL_NODE", name, 1);
}

static int run(int size, bool threads, int (*fn)(struct member *), void *arg, bool bare)
{
	struct team *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct start s[TEAM_MAX];
	pid_t pids[TEAM_MAX] = { 0 };
	int wrong, left = size;
	double until = now() + team_seconds;

	if (t == MAP_FAILED || size > TEAM_MAX)
		return 1;
	if (getenv("TEAM_TRANSPORT")) {
		t->rings = mmap(NULL, team_transport_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (t->rings == MAP_FAILED)
			return 1;
	}
	t->size = size;
	fflush(NULL);
	for (int r = 0; r < size; r++) {
		s[r] = (struct start){ .m = { .team = t, .rank = r, .size = size, .arg = arg }, .fn = fn, .bare = bare };
		if (threads) {
			if (pthread_create(&s[r].id, NULL, thread, &s[r]))
				abort();
		} else if ((pids[r] = fork()) == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			choose_node(r);
			_exit(one(&s[r]) != 0);
		}
	}
	for (int r = 0; r < size && threads; r++)
		pthread_join(s[r].id, NULL);
	while (!threads && left) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid > 0) {
			left--;
			if (!WIFEXITED(status) || WEXITSTATUS(status)) {
				atomic_fetch_add(&t->wrong, 1);
				atomic_store(&t->failed, 1);
			}
			continue;
		}
		if (now() > until) {
			fprintf(stderr, "team: time is up\n");
			for (int r = 0; r < size; r++)
				kill(pids[r], SIGKILL);
			until += 60;
		}
		usleep(1000);
	}
	wrong = atomic_load(&t->wrong);
	if (t->rings)
		munmap(t->rings, team_transport_size());
	munmap(t, sizeof *t);
	return wrong;
}

int team_run(int size, bool threads, int (*fn)(struct member *), void *arg)
{
	return run(size, threads, fn, arg, false);
}

int team_run_bare(int size, bool threads, int (*fn)(struct member *), void *arg)
{
	return run(size, threads, fn, arg, true);
}

int team_load(struct member *m, int size, size_t count, MPIX_Sched *s)
{
	const char *dir = getenv("TEAM_BINS");
	char path[512];

	if (!dir)
		return MPIX_Sched_load_mem(m->ctx, "bcast", team_bcast, strlen(team_bcast), s);
	snprintf(path, sizeof path, "%s/%d.%zu.bin", dir, size, count);
	return MPIX_Sched_load(m->ctx, path, s);
}

int team_shm(void)
{
	/* What MPI libraries call theirs: programs that run meanwhile, beside these. */
	static const char *const others[] = { ".", "mpich_", "osc_", "sm_segment", "ucx_", "vader_" };
	DIR *d = opendir("/dev/shm");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d))) {
		size_t i = 0;

		while (i < sizeof others / sizeof *others && strncmp(e->d_name, others[i], strlen(others[i])) != 0)
			i++;
		n += i == sizeof others / sizeof *others;
	}
	if (d)
		closedir(d);
	return n;
}

int team_ring_init(struct member *m, void *in, void *out, size_t n, MPIX_Sched_request *req)
{
	void *buffers[] = { in, out };
	const struct MPIX_Sched_bind b = { .struct_size = sizeof b, .buffers = buffers, .nbuffers = 2, .count = n, .basic = MPIX_SCHED_INT32 };
	MPIX_Sched s;

	CALL(MPIX_Sched_load_mem(m->ctx, "ring", team_ring, strlen(team_ring), &s));
	CALL(MPIX_Sched_init(s, m->group, &b, req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

int team_ring_epochs(struct member *m, MPIX_Sched_request req, int *in, const int *out, int n)
{
	for (int e = 0; e < 3; e++) {
		for (int i = 0; i < n; i++)
			in[i] = m->rank + i * 7 + e;
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		for (int i = 0; i < n; i++)
			NEED(out[i] == (m->rank + m->size - 1) % m->size + i * 7 + e);
	}
	return 0;
}
