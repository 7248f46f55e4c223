/* SPDX-License-Identifier: BSD-3-Clause
 * latency: compares persistent collectives of the library with the same collectives written by hand, alternately in
 * the same processes. Ranks are pinned processes. The versions written by hand keep these promises of the library:
 *
 *   - any number of epochs without a reset, into the buffers that were agreed on at the beginning;
 *   - nobody touches a rank's buffer before that rank has started the epoch, or after it has completed it;
 *   - the root completes epoch e only when the others have started e - 1, so that it is never two ahead.
 *
 * They do not notice dead ranks and make no progress on other requests while they wait. Each version supports one number of
 * ranks, one layout and one root. Two ranks that have a core each spin without yielding. */
#include "bench/bench.h"
#include "include/mpix_sched.h"
#include "tests/rt/team.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LAUNCHES 5 /* launches of a race, because the placement of memory affects the times */
#define BLOCKS 60 /* blocks of a launch */
#define HANDS_MAX 5
#define LINE 64
#define MOST ((size_t)16 << 20) /* most bytes of a message */
#define PART ((size_t)32 << 10) /* bytes of a part of a message that two cores copy */
#if defined(__x86_64__)
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE()
#endif

struct line {
	_Alignas(LINE) _Atomic uint64_t word;
};

/* The words of a broadcast between two ranks, for one root. */
struct channel {
	struct line started; /* the receiver's epoch */
	struct line there; /* the sender's epoch, whose bytes may be read */
	struct line done[2]; /* epoch of each rank, once it has copied its part */
	struct line taken; /* number of parts that were taken in all epochs */
	struct line slot[2]; /* epoch of the payload, which is in `slots` or follows the word */
};

struct shared {
	struct line arrived, released; /* words of meet() */
	struct channel channel[2]; /* channel of each root */
	struct line flag[8][TEAM_MAX]; /* words of the barriers, by round and rank */
	struct line count[3];
	unsigned iterations;
	double ns[1 + HANDS_MAX][BLOCKS]; /* times by version; version 0 is the library */
	double start_ns[2][BLOCKS]; /* time of a start, of the root and of the other rank */
	_Alignas(4096) char buffer[2][MOST]; /* buffer of each rank, for the versions written by hand */
	char slots[2][2][MOST]; /* slots, by root and parity of the epoch */
};

struct me {
	struct member *m;
	struct shared *sh;
	const struct race *race;
	int rank, size;
	MPIX_Sched_request req[2]; /* request of each root */
	char *data[2]; /* buffer of the library, and buffer of the versions written by hand */
	uint64_t epoch[2], parted[2]; /* epochs by root; epoch: all, parted: those that were copied in parts */
	uint64_t barriers, counted, counted_per_core;
	uint64_t stamp; /* value that the root sends next */
};

/* A version of a collective, which carries out n operations. */
typedef int version(struct me *x, unsigned n);

struct race {
	const char *label, *schedule;
	size_t bytes;
	int ranks;
	bool alternate; /* rank 0 and rank 1 are root in turn: two operations, each of which waits for the other */
	double bar;
	struct {
		const char *name;
		version *run;
	} hand[HANDS_MAX];
};

static const char *dir = "schedules";

/* ---- by hand ---- */

static void set(struct line *l, uint64_t v)
{
	atomic_store_explicit(&l->word, v, memory_order_release);
}

static uint64_t get(struct line *l)
{
	return atomic_load_explicit(&l->word, memory_order_acquire);
}

static void spin_until(struct line *l, uint64_t v)
{
	while (get(l) < v)
		PAUSE();
}

static void yield_until(struct line *l, uint64_t v)
{
	while (get(l) < v)
		sched_yield();
}

/* Fills in the data of an operation, which differ from one operation to the next. Both ends check the first and the
 * last word. */
static void fill(struct me *x, char *data, int root)
{
	x->stamp++;
	if (x->rank == root && x->race->bytes) {
		memcpy(data + x->race->bytes - 8, &x->stamp, 8);
		memcpy(data, &x->stamp, 8);
	}
}

static int check(struct me *x, const char *data)
{
	return x->race->bytes &&
	       (memcmp(data, &x->stamp, 8) || memcmp(data + x->race->bytes - 8, &x->stamp, 8));
}

/* Short messages: payload and epoch are in one cache line, and there are two slots. */
static inline void bcast8(struct me *x, int root)
{
	struct channel *c = &x->sh->channel[root];
	uint64_t e = ++x->epoch[root];
	struct line *slot = &c->slot[e & 1];
	char *payload = (char *)slot + 8;

	if (x->rank == root) {
		spin_until(&c->started, e - 1); /* a receiver that has started e - 1 has read the slot of e - 2 */
		memcpy(payload, x->data[1], 8);
		set(slot, e);
	} else {
		set(&c->started, e);
		spin_until(slot, e);
		memcpy(x->data[1], payload, 8);
	}
}

/* Sends through a slot of any size: this takes two copies, but neither rank waits for the other to copy. */
static inline void bcast_slot(struct me *x, int root)
{
	struct channel *c = &x->sh->channel[root];
	uint64_t e = ++x->epoch[root];
	char *payload = x->sh->slots[root][e & 1];

	if (x->rank == root) {
		spin_until(&c->started, e - 1);
		memcpy(payload, x->data[1], x->race->bytes);
		set(&c->slot[e & 1], e);
	} else {
		set(&c->started, e);
		spin_until(&c->slot[e & 1], e);
		memcpy(x->data[1], payload, x->race->bytes);
	}
}

/* The receiver copies from the sender's buffer. */
static inline void bcast_pull(struct me *x, int root)
{
	struct channel *c = &x->sh->channel[root];
	uint64_t e = ++x->epoch[root];

	if (x->rank == root) {
		set(&c->there, e);
		spin_until(&c->done[0], e);
	} else {
		spin_until(&c->there, e);
		memcpy(x->data[1], x->sh->buffer[root], x->race->bytes);
		set(&c->done[0], e);
	}
}

/* Each rank copies one half. */
static inline void bcast_halves(struct me *x, int root)
{
	struct channel *c = &x->sh->channel[root];
	uint64_t e = ++x->epoch[root];
	size_t half = x->race->bytes / 2 / LINE * LINE;
	bool sender = x->rank == root;
	size_t from = sender ? half : 0, to = sender ? x->race->bytes : half;

	set(sender ? &c->there : &c->started, e);
	spin_until(sender ? &c->started : &c->there, e);
	memcpy(x->sh->buffer[!root] + from, x->sh->buffer[root] + from, to - from);
	set(&c->done[sender], e);
	spin_until(&c->done[!sender], e);
}

/* Each rank takes parts until none is left. If `ends` is set, the receiver takes them from the beginning and the sender
 * from the end, so that mostly the same core copies the same bytes, which it has in its caches. Otherwise both take
 * them from the beginning. Each rank finds once in an epoch that no part is left, so the numbers taken in an epoch are
 * consecutive. */
static inline void bcast_shared(struct me *x, int root, bool ends)
{
	struct channel *c = &x->sh->channel[root];
	uint64_t e = ++x->epoch[root];
	size_t bytes = x->race->bytes, parts = (bytes + PART - 1) / PART, mine = 0;
	uint64_t first = x->parted[root]++ * (parts + 2);
	bool sender = x->rank == root;

	set(sender ? &c->there : &c->started, e);
	spin_until(sender ? &c->started : &c->there, e);
	for (;; mine++) {
		size_t n = atomic_fetch_add(&c->taken.word, 1) - first, k = n, at;

		if (n >= parts)
			break;
		if (ends)
			k = sender ? parts - 1 - mine : mine;
		at = k * PART;
		memcpy(x->sh->buffer[!root] + at, x->sh->buffer[root] + at, at + PART < bytes ? PART : bytes - at);
	}
	set(&c->done[sender], e);
	spin_until(&c->done[!sender], e);
}

static inline void bcast_parts(struct me *x, int root)
{
	bcast_shared(x, root, false);
}

static inline void bcast_ends(struct me *x, int root)
{
	bcast_shared(x, root, true);
}

#define VERSION(name)                                                  \
	static int many_##name(struct me *x, unsigned n)               \
	{                                                              \
		for (unsigned i = 0; i < n; i++) {                     \
			int root = x->race->alternate ? (int)(i & 1) : 0; \
                                                                       \
			fill(x, x->data[1], root);                     \
			name(x, root);                                 \
			NEED_X(!check(x, x->data[1]));                 \
		}                                                      \
		return 0;                                              \
	}
#define NEED_X(cond)                       \
	do {                               \
		struct member *m = x->m;   \
		NEED(cond);                \
	} while (0)
VERSION(bcast8)
VERSION(bcast_slot)
VERSION(bcast_pull)
VERSION(bcast_halves)
VERSION(bcast_parts)
VERSION(bcast_ends)

/* Barrier of two ranks: each signals to the other. */
static int many_exchanges(struct me *x, unsigned n)
{
	while (n--) {
		uint64_t e = ++x->barriers;

		set(&x->sh->flag[0][x->rank], e);
		spin_until(&x->sh->flag[0][!x->rank], e);
	}
	return 0;
}

/* Barrier by dissemination: in round k each rank signals to rank + 2^k. */
static int many_disseminations(struct me *x, unsigned n)
{
	while (n--) {
		uint64_t e = ++x->barriers;

		for (int k = 0; 1 << k < x->size; k++) {
			set(&x->sh->flag[k][(x->rank + (1 << k)) % x->size], e);
			yield_until(&x->sh->flag[k][x->rank], e);
		}
	}
	return 0;
}

/* Barrier by a counter: the last rank that counts releases the others. */
static int many_counts(struct me *x, unsigned n)
{
	while (n--) {
		uint64_t e = ++x->counted;

		if (atomic_fetch_add(&x->sh->count[0].word, 1) + 1 == e * (uint64_t)x->size)
			set(&x->sh->flag[4][0], e);
		else
			yield_until(&x->sh->flag[4][0], e);
	}
	return 0;
}

/* Barrier with a counter for each core: the last rank of a core waits for the last rank of the other core. */
static int many_cores(struct me *x, unsigned n)
{
	int core = x->rank % 2;
	uint64_t here = (uint64_t)(x->size / 2);

	while (n--) {
		uint64_t e = ++x->counted_per_core;

		if (atomic_fetch_add(&x->sh->count[1 + core].word, 1) + 1 == e * here) {
			set(&x->sh->flag[5][core], e);
			yield_until(&x->sh->flag[5][!core], e);
			set(&x->sh->flag[6][core], e);
		} else {
			yield_until(&x->sh->flag[6][core], e);
		}
	}
	return 0;
}

/* ---- the library ---- */

static int library(struct me *x, unsigned n)
{
	struct member *m = x->m;

	for (unsigned i = 0; i < n; i++) {
		int root = x->race->alternate ? (int)(i & 1) : 0;

		fill(x, x->data[0], root);
		CALL(MPIX_Sched_start(x->req[root]));
		CALL(MPIX_Sched_wait(x->req[root]));
		NEED(!check(x, x->data[0]));
	}
	return 0;
}

static int bind_requests(struct me *x)
{
	struct member *m = x->m;
	void *data = NULL;
	char path[512];
	MPIX_Sched s;

	snprintf(path, sizeof path, "%s/%s.goal", dir, x->race->schedule);
	CALL(MPIX_Sched_load(m->ctx, path, &s));
	if (x->race->bytes) {
		CALL(MPIX_Sched_alloc(m->ctx, x->race->bytes, &data));
		memset(data, 0, x->race->bytes);
	}
	x->data[0] = data;
	for (int64_t root = 0; root < 1 + x->race->alternate; root++) {
		struct MPIX_Sched_param p = { "root", &root, 1 };
		struct MPIX_Sched_bind b = { .struct_size = sizeof b,
					     .buffers = &data,
					     .nbuffers = x->race->bytes != 0,
					     .count = x->race->bytes,
					     .basic = MPIX_SCHED_BYTE,
					     .params = &p,
					     .nparams = x->race->bytes != 0 };

		CALL(MPIX_Sched_init(s, m->group, &b, &x->req[root]));
	}
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

static int free_requests(struct me *x)
{
	struct member *m = x->m;

	for (int root = 0; root < 1 + x->race->alternate; root++)
		CALL(MPIX_Sched_free(&x->req[root]));
	CALL(MPIX_Sched_dealloc(m->ctx, x->data[0]));
	return 0;
}

/* ---- a race ---- */

static unsigned blocks(void)
{
	return bench_options.quick ? BLOCKS / 4 : BLOCKS;
}

/* Barrier between two blocks. */
static void meet(struct me *x, uint64_t *turn)
{
	uint64_t e = ++*turn;

	if (atomic_fetch_add(&x->sh->arrived.word, 1) + 1 == e * (uint64_t)x->size)
		set(&x->sh->released, e);
	else
		for (unsigned i = 0; get(&x->sh->released) < e; i++)
			if (x->size > 2 || i > 1000)
				sched_yield();
}

static version *version_of(const struct race *r, int v)
{
	return v ? r->hand[v - 1].run : library;
}

static int nversions(const struct race *r)
{
	int n = 1;

	while (n <= HANDS_MAX && r->hand[n - 1].run)
		n++;
	return n;
}

static int run_rank(struct member *m)
{
	struct me x = { .m = m, .rank = m->rank, .size = m->size };
	void **arg = m->arg;
	uint64_t turn = 0, t;
	double block = m->size > 2 ? 2e6 : 3e5, one;

	x.sh = arg[0];
	x.race = arg[1];
	x.data[1] = m->rank < 2 ? x.sh->buffer[m->rank] : NULL;
	bench_pin((unsigned)m->rank % 2);
	if (bind_requests(&x))
		return 1;
	/* Warms up caches and pages, and finds the number of operations of a block. */
	for (int v = 0; v < nversions(x.race); v++) {
		meet(&x, &turn);
		t = bench_now();
		NEED(!version_of(x.race, v)(&x, 20));
		meet(&x, &turn);
		if (m->rank == 0 && v) {
			one = (double)(bench_now() - t) / 20;
			x.sh->iterations = (unsigned)fmin(fmax(block / one, 4), 4000) & ~1u;
		}
	}
	meet(&x, &turn);
	for (unsigned b = 0; b < blocks(); b++)
		for (int v = 0; v < nversions(x.race); v++) {
			meet(&x, &turn);
			t = bench_now();
			NEED(!version_of(x.race, v)(&x, x.sh->iterations));
			meet(&x, &turn);
			if (m->rank == 0)
				x.sh->ns[v][b] = (double)(bench_now() - t) / x.sh->iterations;
		}
	/* Measures the call of start alone, minus the time for reading the clock. */
	for (unsigned b = 0; b < blocks() && m->size == 2; b++) {
		uint64_t clock = 0, start = 0;

		meet(&x, &turn);
		for (int i = 0; i < 20; i++) {
			fill(&x, x.data[0], 0);
			t = bench_now();
			clock += bench_now() - t;
			t = bench_now();
			CALL(MPIX_Sched_start(x.req[0]));
			start += bench_now() - t;
			CALL(MPIX_Sched_wait(x.req[0]));
		}
		if (m->rank < 2)
			x.sh->start_ns[m->rank][b] = ((double)start - (double)clock) / 20;
	}
	return free_requests(&x);
}

/* The times of all blocks of all launches. */
struct result {
	size_t n;
	double ns[1 + HANDS_MAX][LAUNCHES * BLOCKS], start_ns[2][LAUNCHES * BLOCKS];
};

static void run_race(const struct race *r, struct result *out)
{
	out->n = 0;
	for (int launch = 0; launch < LAUNCHES; launch++, out->n += blocks()) {
		struct shared *sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		void *arg[2] = { sh, (void *)(uintptr_t)r };

		if (sh == MAP_FAILED || team_run(r->ranks, false, run_rank, arg)) {
			fprintf(stderr, "latency: %s failed\n", r->label);
			exit(1);
		}
		for (int v = 0; v < nversions(r); v++)
			memcpy(out->ns[v] + out->n, sh->ns[v], blocks() * sizeof **sh->ns);
		for (int i = 0; i < 2; i++)
			memcpy(out->start_ns[i] + out->n, sh->start_ns[i], blocks() * sizeof **sh->start_ns);
		munmap(sh, sizeof *sh);
	}
}

static struct bench_stats stats(const double *x, size_t n)
{
	double copy[LAUNCHES * BLOCKS];

	memcpy(copy, x, n * sizeof *x);
	return bench_stats(copy, n);
}

/* Returns the ratio of the library to a version, from neighbouring blocks: a disturbance mostly affects both. */
static struct bench_stats ratio(const struct result *res, int v)
{
	double q[LAUNCHES * BLOCKS];

	for (size_t b = 0; b < res->n; b++)
		q[b] = res->ns[0][b] / res->ns[v][b];
	return bench_stats(q, res->n);
}

static void report(const struct race *r)
{
	struct result res;
	char label[64];

	run_race(r, &res);
	for (int v = 1; v < nversions(r); v++) {
		struct bench_stats q = ratio(&res, v), ours = stats(res.ns[0], res.n), hand = stats(res.ns[v], res.n);

		snprintf(label, sizeof label, "%s / %s", r->label, r->hand[v - 1].name);
		BENCH_ROW(label, ours.median, ours.best, hand.median, hand.best, q.median, q.low, q.high, r->bar);
	}
}

/* ---- the measurements ---- */

#define COLUMNS ",ours ns,ours best,hand ns,hand best,ratio,low,high,bar"

static void two_ranks(void)
{
	static const struct race races[] = {
		{ .label = "barrier", .schedule = "barrier_dissemination", .ranks = 2, .bar = 2,
		  .hand = { { "exchange of flags", many_exchanges } } },
		{ .label = "bcast 8 B", .schedule = "bcast_binomial", .bytes = 8, .ranks = 2, .bar = 2,
		  .hand = { { "slot", many_bcast8 } } },
		{ .label = "bcast 8 B, roots in turns", .schedule = "bcast_binomial", .bytes = 8, .ranks = 2,
		  .alternate = true, .bar = 2, .hand = { { "slot", many_bcast8 } } },
		{ .label = "bcast 1 MiB", .schedule = "bcast_binomial", .bytes = 1 << 20, .ranks = 2, .bar = 1.5,
		  .hand = { { "pull", many_bcast_pull }, { "halves", many_bcast_halves }, { "parts", many_bcast_parts },
			    { "from both ends", many_bcast_ends } } },
	};

	bench_table("2 ranks, a core each, shared heap; ns an operation", "library / by hand" COLUMNS);
	for (size_t i = 0; i < sizeof races / sizeof *races; i++)
		report(&races[i]);
}

static void eight_ranks(void)
{
	static const struct race race = {
		.label = "barrier", .schedule = "barrier_dissemination", .ranks = 8, .bar = 2,
		.hand = { { "dissemination", many_disseminations }, { "counter", many_counts },
			  { "counter per core", many_cores } } };

	bench_table("8 ranks on 2 cores, those by hand yield; ns an operation", "library / by hand" COLUMNS);
	report(&race);
}

static void sweep(void)
{
	bench_table("bcast, 2 ranks, a core each, shared heap, against the best by hand",
		    "bytes (by hand),ours ns,hand ns,ours GB/s,hand GB/s,ratio,low,high,start ns,recv start");
	for (size_t bytes = 8; bytes <= MOST; bytes *= bytes < 4096 ? 8 : 4) {
		struct race r = { .label = "bcast", .schedule = "bcast_binomial", .bytes = bytes, .ranks = 2,
				  .hand = { { "slot", many_bcast_slot }, { "pull", many_bcast_pull },
					    { "halves", many_bcast_halves }, { "parts", many_bcast_parts },
					    { "ends", many_bcast_ends } } };
		struct bench_stats hand = { 0 }, q, ours;
		struct result res;
		char label[64];
		int best = 1;

		if (bytes == 8)
			r.hand[0].run = many_bcast8;
		if (bytes < 2 * LINE)
			r.hand[2].run = NULL;
		if (bytes < 2 * PART)
			r.hand[3].run = r.hand[4].run = NULL;
		run_race(&r, &res);
		for (int v = 1; v < nversions(&r); v++) {
			struct bench_stats s = stats(res.ns[v], res.n);

			if (v == 1 || s.median < hand.median) {
				best = v;
				hand = s;
			}
		}
		q = ratio(&res, best);
		ours = stats(res.ns[0], res.n);
		snprintf(label, sizeof label, "%9zu (%s)", bytes, r.hand[best - 1].name);
		BENCH_ROW(label, ours.median, hand.median, (double)bytes / ours.median, (double)bytes / hand.median,
			  q.median, q.low, q.high, stats(res.start_ns[0], res.n).median,
			  stats(res.start_ns[1], res.n).median);
	}
}

static const char *which = "28s";

static bool option(int c, const char *arg)
{
	if (c == 's')
		dir = arg;
	else
		which = arg;
	return strspn(which, "28s") == strlen(which);
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv,
		    "usage: latency [-j] [-q] [-s DIR] [-w PARTS]\n"
		    "  -j  JSON          -q  fewer blocks\n"
		    "  -s  where the schedules are\n"
		    "  -w  some of: 2 (2 ranks), 8 (8 ranks on 2 cores), s (sweep of sizes)\n",
		    "s:w:", option);
	bench_method("ranks are processes, rank r on core r mod 2; library and versions by hand take turns in blocks of "
		     "about 0.3 ms; ns are medians of the blocks, ratio is the median of the ratios of neighbouring blocks, "
		     "low and high their 10th and 90th percentile");
	bench_yardsticks();
	if (bench_cores() < 2) {
		fprintf(stderr, "latency: there is one core: only what yields is measured\n");
		which = strchr(which, '8') ? "8" : "";
	}
	if (strchr(which, '2'))
		two_ranks();
	if (strchr(which, '8'))
		eight_ranks();
	if (strchr(which, 's'))
		sweep();
	return bench_end();
}
