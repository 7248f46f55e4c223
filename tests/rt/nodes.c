/* SPDX-License-Identifier: BSD-3-Clause
 * nodes [CASE], nodes world NEAR, nodes until: groups whose ranks lie on several nodes, which are this one under several names. They split, bind and free;
 * ranks leave or are killed, and whoever carries messages between nodes with them; strangers come to the port. Prints a
 * line for each case. Of a job that somebody else has launched: world splits over all ranks and over each NEAR that are on
 * a node, and prints a line for each rank; until goes on until a rank dies, and prints what it heard after how long. */
#include "tests/rt/team.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 3000, HEARS = 5 /* s */ };

/* Which rank is on which node, by its letter. */
struct plan {
	const char *nodes;
	const char *dies; /* marks of those that are killed, or leave */
	_Atomic int dead; /* ranks that are about to be killed, or have left */
	_Atomic int ready; /* ranks that have done what all of them do before one is killed */
};

/* Pairs of neighbours. */
static const char pairs[] = "schedule pairs\n"
			    "buffer in mine[count]\n"
			    "buffer out theirs[count]\n"
			    "rank r of p {\n"
			    "  if r xor 1 < p { send mine to r xor 1\n recv theirs from r xor 1 }\n"
			    "}\n";

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int node_of(const struct member *m)
{
	const struct plan *p = m->arg;

	return p->nodes[m->rank];
}

static int join(struct member *m)
{
	const char name[] = { (char)node_of(m), 0 };

	NEED(!setenv("GOAL_NODE", name, 1));
	CALL(MPIX_Sched_ctx_create(&m->ctx));
	CALL(MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &m->group));
	return 0;
}

static int leave(struct member *m)
{
	CALL(MPIX_Sched_group_free(&m->group));
	CALL(MPIX_Sched_ctx_free(&m->ctx));
	return 0;
}

static int bind_to(struct member *m, MPIX_Sched_group g, const char *text, void **buffers, size_t n, MPIX_Sched_request *req)
{
	const struct MPIX_Sched_bind with = { .struct_size = sizeof with,
					      .buffers = buffers,
					      .nbuffers = n,
					      .count = COUNT,
					      .basic = MPIX_SCHED_INT64 };
	MPIX_Sched s;
	int rc;

	CALL(MPIX_Sched_load_mem(m->ctx, "text", text, strlen(text), &s));
	rc = MPIX_Sched_init(s, g, &with, req);
	CALL(MPIX_Sched_unload(&s));
	return rc;
}

/* A broadcast over a group of one node. */
static int bcast(struct member *m, MPIX_Sched_group g, int root)
{
	static int64_t data[COUNT];
	void *buffers[] = { data };
	MPIX_Sched_request req;
	int rank, size;

	CALL(MPIX_Sched_group_rank(g, &rank, &size));
	CALL(bind_to(m, g, team_bcast, buffers, 1, &req));
	for (int e = 0; e < 20; e++) {
		data[COUNT - 1] = rank ? -1 : e + root;
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		NEED(data[COUNT - 1] == e + root);
	}
	CALL(MPIX_Sched_free(&req));
	return 0;
}

/* ---- cases ---- */

static int splits(struct member *m)
{
	MPIX_Sched_group node, across, half;
	int rank, size, first = 0, mine = 0;
	const struct plan *p = m->arg;

	if (join(m))
		return 1;
	while (p->nodes[first] != node_of(m))
		first++;
	for (int r = 0; r < m->size; r++)
		mine += p->nodes[r] == node_of(m);
	for (int i = 0; i < 10; i++) {
		/* Across nodes, in the opposite order; and of that again. */
		CALL(MPIX_Sched_group_split(m->group, i % 2 ? m->rank % 2 : 0, -m->rank, &across));
		CALL(MPIX_Sched_group_rank(across, &rank, &size));
		NEED(size == (i % 2 ? (m->size + !(m->rank % 2)) / 2 : m->size) && rank == (m->size - 1 - m->rank) / (1 + i % 2));
		CALL(MPIX_Sched_group_split(across, rank ? 1 : MPIX_SCHED_UNDEFINED, 0, &half));
		NEED(!half == !rank);
		CALL(MPIX_Sched_group_free(&half));
		CALL(MPIX_Sched_group_split(across, node_of(m), m->rank, &node));
		CALL(MPIX_Sched_group_free(&across));
		CALL(MPIX_Sched_group_rank(node, &rank, &size));
		NEED(i % 2 || (size == mine && (rank == 0) == (m->rank == first)));
		if (bcast(m, node, i))
			return 1;
		CALL(MPIX_Sched_group_free(&node));
	}
	return leave(m);
}

/* Messages that stay on a node, in a group that does not; those that do not stay are refused on all ranks. */
static int binds(struct member *m)
{
	static int64_t mine[COUNT], theirs[COUNT];
	void *buffers[] = { mine, theirs };
	MPIX_Sched_request req = NULL;
	char text[512];

	if (join(m))
		return 1;
	CALL(bind_to(m, m->group, pairs, buffers, 2, &req));
	for (int e = 0; e < 20; e++) {
		mine[COUNT - 1] = 1000 * m->rank + e;
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
		NEED(theirs[COUNT - 1] == 1000 * (m->rank ^ 1) + e);
	}
	CALL(MPIX_Sched_free(&req));
	NEED(bind_to(m, m->group, team_bcast, buffers, 1, &req) == MPIX_SCHED_ERR_UNSUPPORTED);
	MPIX_Sched_error_detail(m->ctx, text, sizeof text);
	NEED(strstr(text, "is on another node") && strstr(text, "--backend verbs"));
	CALL(bind_to(m, m->group, pairs, buffers, 2, &req));
	CALL(MPIX_Sched_free(&req));
	return leave(m);
}

/* Some ranks free everything and end, among them those that carry messages; the others go on without them. */
static int leaves(struct member *m)
{
	struct plan *p = m->arg;
	const bool goes = p->dies[m->rank] == 'x';
	MPIX_Sched_group rest, again;

	if (join(m))
		return 1;
	CALL(MPIX_Sched_group_split(m->group, goes ? MPIX_SCHED_UNDEFINED : 0, 0, &rest));
	if (goes)
		return leave(m);
	for (int i = 0; i < 30; i++) {
		CALL(MPIX_Sched_group_split(rest, i % 2 ? m->rank % 2 : 0, 0, &again));
		CALL(MPIX_Sched_group_free(&again));
		usleep(20000);
	}
	CALL(MPIX_Sched_group_free(&rest));
	return leave(m);
}

/* All of a node end at once, where others have a long way to go: that is no death. */
static int ends(struct member *m)
{
	static int64_t mine[COUNT], theirs[COUNT];
	struct plan *p = m->arg;
	void *buffers[] = { mine, theirs };
	MPIX_Sched_request req;

	if (join(m))
		return 1;
	CALL(bind_to(m, m->group, pairs, buffers, 2, &req));
	for (int e = 0; e < (p->dies[m->rank] == 'x' ? 1 : 40); e++) {
		CALL(MPIX_Sched_start(req));
		if (p->dies[m->rank] != 'x' && m->rank % 2)
			usleep(10000); /* its neighbour has to wait, and looks around */
		CALL(MPIX_Sched_wait(req));
	}
	CALL(MPIX_Sched_free(&req));
	return leave(m);
}

/* Some are killed: the others hear of one of them, and in a group without them go on. */
static int dies(struct member *m)
{
	struct plan *p = m->arg;
	MPIX_Sched_group rest, again;
	char text[512];
	double since;
	bool named = false;
	int rc = 0;

	if (join(m))
		return 1;
	CALL(MPIX_Sched_group_split(m->group, p->dies[m->rank] == 'x', 0, &rest));
	for (int i = 0; i < 5; i++) {
		CALL(MPIX_Sched_group_split(m->group, 0, 0, &again));
		CALL(MPIX_Sched_group_free(&again));
	}
	atomic_fetch_add(&p->ready, 1);
	if (p->dies[m->rank] == 'x') {
		/* A split is over for one rank sooner than for another, which would hear of the death in it. */
		for (since = now(); atomic_load(&p->ready) < m->size && now() < since + HEARS;)
			usleep(1000);
		atomic_fetch_add(&p->dead, 1);
		usleep(20000 * (useconds_t)m->rank);
		_exit(atomic_load(&p->dead) ? 0 : 1); /* as dead as by a signal, which the team would count */
	}
	since = now();
	while (!rc && now() < since + 2 * HEARS) {
		rc = MPIX_Sched_group_split(m->group, 0, 0, &again);
		if (!rc)
			CALL(MPIX_Sched_group_free(&again));
	}
	MPIX_Sched_error_detail(m->ctx, text, sizeof text);
	if (rc != MPIX_SCHED_ERR_DEAD || now() > since + HEARS)
		fprintf(stderr, "rank %d: status %d after %.3f s: %s\n", m->rank, rc, now() - since, text);
	NEED(rc == MPIX_SCHED_ERR_DEAD && now() < since + HEARS);
	for (int r = 0; r < m->size; r++) {
		char who[32];

		snprintf(who, sizeof who, "rank %d died", r);
		named |= p->dies[r] == 'x' && strstr(text, who);
	}
	NEED(named);
	for (int i = 0; i < 20; i++) {
		CALL(MPIX_Sched_group_split(rest, i % 2 ? m->rank % 2 : 0, 0, &again));
		CALL(MPIX_Sched_group_free(&again));
		usleep(20000);
	}
	CALL(MPIX_Sched_group_free(&rest));
	return leave(m);
}

/* The port at which the process listens; 0: it does not. */
static int listening_port(void)
{
	const char *const files[] = { "/proc/net/tcp6", "/proc/net/tcp" };
	DIR *d = opendir("/proc/self/fd");
	char line[512], path[300];
	int port = 0;

	for (struct dirent *e; d && (e = readdir(d));) {
		struct stat st;

		snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
		if (stat(path, &st) || !S_ISSOCK(st.st_mode))
			continue;
		for (int i = 0; i < 2; i++) {
			FILE *f = fopen(files[i], "r");
			unsigned long inode;
			unsigned at, state;

			while (f && fgets(line, sizeof line, f))
				if (sscanf(line, " %*d: %*[0-9A-F]:%x %*s %x %*s %*s %*s %*s %*s %lu", &at, &state, &inode) == 3 &&
				    state == 10 && inode == st.st_ino)
					port = (int)at;
			if (f)
				fclose(f);
		}
	}
	if (d)
		closedir(d);
	return port;
}

/* Whoever comes without the secret is sent away, and holds nobody up. */
static int strangers(struct member *m)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	/* A greeting as it should be, and a proof as it should not. */
	const uint32_t greeting[8] = { 0x474f414cu, 3, 1, 0, 1, 2, 3, 4 };
	char noise[4096] = { 1 }, answer[64];
	int socks[40], port;
	MPIX_Sched_group again;

	if (join(m))
		return 1;
	if (m->rank == 0) {
		NEED((port = listening_port()));
		a.sin_port = htons((uint16_t)port);
		for (int i = 0; i < 40; i++) {
			socks[i] = socket(AF_INET, SOCK_STREAM, 0);
			NEED(socks[i] >= 0 && !connect(socks[i], (struct sockaddr *)&a, sizeof a));
			if (i % 3 == 1)
				NEED(send(socks[i], noise, sizeof noise, MSG_NOSIGNAL) > 0);
			if (i % 3 == 2)
				NEED(send(socks[i], greeting, sizeof greeting, MSG_NOSIGNAL) > 0);
		}
		/* The last one greeted, gets a greeting and a proof, and has none. */
		socks[0] = socket(AF_INET, SOCK_STREAM, 0);
		NEED(!connect(socks[0], (struct sockaddr *)&a, sizeof a));
		NEED(send(socks[0], greeting, sizeof greeting, 0) == sizeof greeting);
		NEED(recv(socks[0], answer, 40, MSG_WAITALL) == 40 && send(socks[0], noise, 8, MSG_NOSIGNAL) == 8);
		NEED(recv(socks[0], answer, 1, 0) <= 0);
	}
	for (int i = 0; i < 20; i++) {
		CALL(MPIX_Sched_group_split(m->group, 0, 0, &again));
		CALL(MPIX_Sched_group_free(&again));
	}
	return leave(m);
}

/* GOAL_ADDRESS decides, or is refused; on all ranks. */
static int addresses(struct member *m)
{
	const struct plan *p = m->arg;
	const bool good = !strcmp(p->dies, "127.0.0.0/8") || !strcmp(p->dies, "lo") || !strcmp(p->dies, "127.0.0.1");
	const char name[] = { (char)node_of(m), 0 };
	char text[512];
	int rc;

	NEED(!setenv("GOAL_NODE", name, 1) && !setenv("GOAL_ADDRESS", p->dies, 1));
	CALL(MPIX_Sched_ctx_create(&m->ctx));
	rc = MPIX_Sched_group_create(m->ctx, m->rank, m->size, team_allgather, m, &m->group);
	MPIX_Sched_error_detail(m->ctx, text, sizeof text);
	NEED(!rc == good && (good || strstr(text, "GOAL_ADDRESS")));
	CALL(MPIX_Sched_group_free(&m->group));
	CALL(MPIX_Sched_ctx_free(&m->ctx));
	return 0;
}

static const struct row {
	const char *name;
	int (*fn)(struct member *);
	const char *nodes, *dies;
} rows[] = {
	{ "splits.2", splits, "ab", "" },
	{ "splits.4", splits, "aabb", "" },
	{ "splits.mixed", splits, "abacbca", "" },
	{ "binds", binds, "aabbcc", "" },
	{ "leaves.carrier", leaves, "aabb", "x..." },
	{ "leaves.carriers", leaves, "aaabbb", "x..x.." },
	{ "leaves.node", leaves, "aabbc", "..xx." },
	{ "ends.low", ends, "aabb", "xx.." },
	{ "ends.high", ends, "aabb", "..xx" },
	{ "ends.all", ends, "aabbcc", "xxxx.." },
	{ "dies.rank", dies, "aabb", ".x.." },
	{ "dies.low_carrier", dies, "aabb", "x..." },
	{ "dies.high_carrier", dies, "aabb", "..x." },
	{ "dies.both_carriers", dies, "aaabbb", "x..x.." },
	{ "dies.low_node", dies, "abbc", "x..." },
	{ "dies.high_node", dies, "aabbc", "....x" },
	{ "strangers", strangers, "aabb", "" },
	{ "address.network", addresses, "ab", "127.0.0.0/8" },
	{ "address.interface", addresses, "ab", "lo" },
	{ "address.literal", addresses, "ab", "127.0.0.1" },
	{ "address.none", addresses, "ab", "203.0.113.7" },
	{ "address.nonsense", addresses, "ab", "10.0.0.0/99" },
};

/* ---- jobs of launchers ---- */

static int world(struct member *m, int near)
{
	MPIX_Sched_group across, node;
	int rank, size;

	CALL(MPIX_Sched_ctx_create(&m->ctx));
	CALL(MPIX_Sched_group_world(m->ctx, &m->group));
	CALL(MPIX_Sched_group_rank(m->group, &m->rank, &m->size));
	for (int i = 0; i < 3; i++) {
		CALL(MPIX_Sched_group_split(m->group, 0, -m->rank, &across));
		CALL(MPIX_Sched_group_rank(across, &rank, &size));
		NEED(rank == size - 1 - m->rank);
		CALL(MPIX_Sched_group_split(across, m->rank / near, m->rank, &node));
		CALL(MPIX_Sched_group_free(&across));
		if (bcast(m, node, i))
			return 1;
		CALL(MPIX_Sched_group_free(&node));
	}
	printf("rank %d of %d\n", m->rank, m->size);
	return leave(m);
}

static int until(struct member *m)
{
	MPIX_Sched_group again;
	double since;
	char text[512];
	int rc;

	CALL(MPIX_Sched_ctx_create(&m->ctx));
	CALL(MPIX_Sched_group_world(m->ctx, &m->group));
	CALL(MPIX_Sched_group_rank(m->group, &m->rank, &m->size));
	printf("rank %d is pid %d\n", m->rank, (int)getpid());
	fflush(stdout);
	do {
		since = now();
		rc = MPIX_Sched_group_split(m->group, 0, 0, &again);
		if (!rc)
			CALL(MPIX_Sched_group_free(&again));
	} while (!rc);
	MPIX_Sched_error_detail(m->ctx, text, sizeof text);
	printf("rank %d heard after %s %d s: %s\n", m->rank, now() - since < HEARS ? "less than" : "more than", HEARS, text);
	return leave(m);
}

int main(int argc, char **argv)
{
	struct member alone = { 0 };
	struct plan *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int bad = 0;

	if (argc == 3 && !strcmp(argv[1], "world"))
		return world(&alone, atoi(argv[2]));
	if (argc == 2 && !strcmp(argv[1], "until"))
		return until(&alone);
	for (size_t i = 0; i < sizeof rows / sizeof *rows && p != MAP_FAILED; i++) {
		const struct row *r = &rows[i];
		int rc;

		if (argc > 1 && strcmp(argv[1], r->name) != 0)
			continue;
		p->nodes = r->nodes;
		p->dies = r->dies;
		atomic_store(&p->dead, 0);
		atomic_store(&p->ready, 0);
		rc = team_run_bare((int)strlen(r->nodes), false, r->fn, p);
		printf("%s nodes.%s\n", rc ? "FAIL" : "ok", r->name);
		fflush(stdout);
		bad |= rc;
	}
	return bad != 0 || p == MAP_FAILED;
}
