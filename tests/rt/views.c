/* SPDX-License-Identifier: BSD-3-Clause
 * views: ranks whose ops are carried out by others, by way of their views of it, in other processes or in the same
 * one. Stands in for the runtime: here everybody may make progress for everybody at any moment, heaps lie at other
 * addresses in each process, and what is given back is overwritten at once.
 *
 *   views RANKS PROCESSES SEED EPOCHS */
#include "backends/shm/sm.h"
#include "backends/services.h"
#include "backends/shm/shm.h"
#include "compiler/compile.h"
#include "compiler/passes/passes.h"
#include "util/err.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 6u
#define HEAP ((size_t)24 << 20)
#define BUFFERS 4u
#define SECONDS 100 /* that all may take */

/* Each rank adds up what those before it gave, and hands it on; the last one's sum goes back. */
static const char text[] = "schedule s\n"
			   "buffer in mine[count]\nbuffer out sum[count]\nbuffer out all[count]\nbuffer scratch came[count]\n"
			   "rank r of p {\n"
			   "  own: copy mine into sum on start\n"
			   "  if r > 0 { got: recv came from r - 1 on start\n"
			   "    add: reduce came into sum on start\n    add requires got, own }\n"
			   "  if r < p - 1 { up: send sum to r + 1\n    up requires add, own\n"
			   "    back: recv all from r + 1 tag 1\n    back requires up }\n"
			   "  else { last: copy sum into all\n    last requires add, own }\n"
			   "  if r > 0 { down: send all to r - 1 tag 1\n    down requires back, last }\n"
			   "  late: calc 2000 on app\n  more: calc 1000\n  more requires late\n"
			   "}\n";

enum { IDLE, ACTIVE, DONE };

/* What a round is about; the same on all ranks. */
struct round {
	const char *name;
	size_t count;
	bool fused; /* receives that reduce */
	bool absorbs; /* these absorb copies, which are not on start then */
	bool direct; /* private memory may be read */
	bool only; /* nobody but others carries out what others may */
	bool user, scattered, private, rebinds;
	bool parts; /* large copies in fragments, in which ranks join */
	bool past; /* the caches are small, so that copies go past them */
};

static const struct round rounds[] = {
	{ "eager", 4, .direct = true },
	{ "eager_only", 4, .only = true },
	{ "eager_fused", 500, .fused = true, .only = true },
	{ "pull", 3000, .only = true },
	{ "pull_both", 40000, .direct = true },
	{ "pull_both_only", 40000, .only = true },
	{ "pull_fused_only", 40000, .fused = true, .only = true },
	{ "eager_absorbs", 500, .fused = true, .absorbs = true },
	{ "pull_absorbs", 40000, .fused = true, .absorbs = true, .direct = true },
	{ "pull_absorbs_only", 40000, .fused = true, .absorbs = true, .only = true },
	{ "private_absorbs", 40000, .fused = true, .absorbs = true, .direct = true, .private = true, .rebinds = true },
	{ "staged_absorbs", 40000, .fused = true, .absorbs = true, .private = true, .rebinds = true },
	{ "private", 40000, .direct = true, .private = true },
	{ "private_fused", 40000, .fused = true, .direct = true, .private = true },
	{ "staged", 40000, .private = true },
	{ "staged_fused", 40000, .fused = true, .private = true },
	{ "rebind", 40000, .direct = true, .rebinds = true },
	{ "rebind_staged", 40000, .rebinds = true, .fused = true },
	{ "rebind_fused", 40000, .direct = true, .rebinds = true, .fused = true },
	{ "parts", 40000, .direct = true, .parts = true },
	{ "parts_only", 40000, .only = true, .parts = true },
	{ "parts_private", 40000, .direct = true, .private = true, .rebinds = true, .parts = true },
	{ "past", 100000, .direct = true, .past = true },
	{ "past_private", 100000, .direct = true, .private = true, .rebinds = true, .past = true },
	{ "past_parts", 100000, .direct = true, .parts = true, .past = true },
	{ "user", 9000, .user = true, .fused = true, .direct = true },
	{ "scattered", 9000, .scattered = true, .direct = true },
	{ "nothing", 0, .only = true },
};
#define ROUNDS (sizeof rounds / sizeof *rounds)

struct record {
	_Atomic uint64_t seq;
	char data[GROUP_RECORD];
};

/* Shared by all. */
struct world {
	uint32_t size, processes, epochs;
	int fd[MOST]; /* heaps */
	_Atomic int pid[MOST]; /* of processes */
	_Atomic uint32_t wrong; /* what was found to be wrong */
	_Atomic uint32_t by_views; /* epochs that a view has completed */
	_Atomic uint32_t finished; /* ranks that have completed all epochs of all rounds so far */
	struct record record[MOST][2];
};

struct process {
	uint32_t number;
	char *base[MOST];
};

struct zombie {
	void *ptr[2];
	_Atomic uint32_t *users;
};

struct be_group {
	struct world *w;
	struct process *at;
	uint32_t rank;
	const struct round *r;
	uint64_t seq, random;
	size_t used; /* of the heap */
	_Alignas(64) char room[MOST * GROUP_RECORD];
	struct zombie zombies[4];
	unsigned nzombies;
	pthread_t thread;
	struct be_bell bell; /* nobody sleeps */
	struct be_bells bells;
	_Atomic bool readable[MOST];
};

static void wrong(struct be_group *g, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	fprintf(stderr, "rank %u, %s: %s\n", g->rank, g->r->name, line);
	atomic_fetch_add(&g->w->wrong, 1);
}

static uint32_t draw(struct be_group *g, uint32_t n)
{
	g->random = g->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(g->random >> 33) % n;
}

/* ---- the runtime's part ---- */

static uint32_t process_of(const struct world *w, uint32_t rank)
{
	return rank % w->processes;
}

int group_post(struct be_group *g, const void *in, size_t size)
{
	struct record *r = &g->w->record[g->rank][++g->seq & 1];

	memcpy(r->data, in, size);
	atomic_store_explicit(&r->seq, g->seq, memory_order_release);
	return 0;
}

int group_collect(struct be_group *g, size_t size, void *out)
{
	for (uint32_t p = 0; p < g->w->size; p++) {
		struct record *r = &g->w->record[p][g->seq & 1];

		while (atomic_load_explicit(&r->seq, memory_order_acquire) < g->seq)
			sched_yield();
		memcpy((char *)out + p * size, r->data, size);
	}
	return 0;
}

int group_allgather(struct be_group *g, const void *in, size_t size, void *out)
{
	group_post(g, in, size);
	return group_collect(g, size, out);
}

void *group_room(struct be_group *g)
{
	return g->room;
}

int group_agree(struct be_group *g, int err)
{
	int all[MOST];

	group_allgather(g, &err, sizeof err, all);
	for (uint32_t p = 0; p < g->w->size && !err; p++)
		err = all[p];
	return err;
}

const struct be_handle *group_handle(struct be_group *g, uint32_t rank)
{
	return (const struct be_handle *)(void *)g->room + rank;
}

struct header { /* of an allocation */
	_Alignas(64) size_t size;
};

void *group_alloc(struct be_group *g, size_t size, uint64_t *off)
{
	struct header *h = (struct header *)(void *)(g->at->base[g->rank] + g->used);
	const size_t len = sizeof *h + (size + 63) / 64 * 64;

	if (g->used + len > HEAP)
		return NULL;
	memset(h, 0, len);
	h->size = size;
	*off = g->used + sizeof *h;
	g->used += len;
	return h + 1;
}

void *group_alloc_raw(struct be_group *g, size_t size, uint64_t *off)
{
	return group_alloc(g, size, off);
}

void *group_block(struct be_group *g, size_t size, uint64_t *off, bool *ready)
{
	*ready = false;
	return group_alloc(g, size, off);
}

void *group_spare(const struct be_group *g, void *block, size_t size, uint32_t i)
{
	(void)g, (void)block, (void)size, (void)i;
	return NULL;
}

void group_free(struct be_group *g, void *block)
{
	(void)g;
	if (block)
		memset(block, 0xdb, ((struct header *)block)[-1].size);
}

size_t group_block_bytes(struct be_group *g, const void *block)
{
	(void)g;
	return block ? ((const struct header *)block)[-1].size : 0;
}

static void reap(struct be_group *g)
{
	for (unsigned i = 0; i < g->nzombies;) {
		struct zombie z = g->zombies[i];

		if (atomic_load(z.users)) {
			i++;
			continue;
		}
		group_free(g, z.ptr[1]);
		group_free(g, z.ptr[0]);
		g->zombies[i] = g->zombies[--g->nzombies];
	}
}

void group_free_later(struct be_group *g, void *first, void *second, _Atomic uint32_t *users)
{
	g->zombies[g->nzombies++] = (struct zombie){ { first, second }, users };
	reap(g);
}

void *group_peer(struct be_group *g, uint32_t rank, uint64_t off, size_t len)
{
	if (off > HEAP || len > HEAP - off) {
		wrong(g, "%zu bytes at %llu of rank %u", len, (unsigned long long)off, rank);
		return NULL;
	}
	return g->at->base[rank] + off;
}

bool group_same_node(struct be_group *g, uint32_t rank)
{
	(void)g;
	(void)rank;
	return true;
}

bool group_same_process(struct be_group *g, uint32_t rank)
{
	return process_of(g->w, rank) == g->at->number;
}

_Atomic bool *group_readable(struct be_group *g, uint32_t rank)
{
	return &g->readable[rank];
}

int group_pid(struct be_group *g, uint32_t rank)
{
	return atomic_load(&g->w->pid[process_of(g->w, rank)]);
}

int group_direct_allowed(struct be_group *g)
{
	return g->r->direct;
}

int group_error(struct be_group *g, int err, const char *fmt, ...)
{
	char line[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	wrong(g, "%s", line);
	return err;
}

bool group_repeats(const struct be_group *g)
{
	(void)g;
	return false;
}

void group_settle(struct be_group *g)
{
	(void)g;
}

int group_unreachable(struct be_group *g, uint32_t rank, const char *why)
{
	return group_error(g, -ERR_DEAD, "rank %u: %s", rank, why);
}

int group_died(struct be_group *g, uint32_t rank)
{
	return group_error(g, -ERR_DEAD, "rank %u is not there", rank);
}

const struct be_bells *group_bells(struct be_group *g, uint32_t rank)
{
	(void)rank;
	g->bells.at[0] = &g->bell;
	return &g->bells;
}

void be_ring_sleepers(struct be_bell *bell, int event)
{
	(void)bell;
	(void)event;
}

bool group_crowded(const struct be_group *g)
{
	(void)g;
	return true;
}

uint64_t group_caches(struct be_group *g)
{
	return g->r->past ? 1 << 20 : UINT64_MAX;
}

bool group_umwaits(const struct be_group *g)
{
	(void)g;
	return false;
}

void be_umwait(const _Atomic uint64_t *word, uint64_t value)
{
	(void)word;
	(void)value;
}

bool group_traces(const struct be_group *g)
{
	(void)g;
	return false;
}

void group_trace(struct be_group *g, struct be_event e)
{
	(void)g;
	(void)e;
}

bool group_lost(const struct be_group *g)
{
	(void)g;
	return false;
}

int group_check(struct be_group *g)
{
	(void)g;
	return 0;
}

/* ---- a rank ---- */

/* One request, as the runtime would have it. */
struct request {
	struct be_group *g;
	struct bin bin;
	struct ir_rank rank;
	struct be_buffer buffers[2][BUFFERS]; /* in the heap; as rebound */
	unsigned bound; /* which of them */
	struct be_layout layout;
	struct be_bound *all[MOST]; /* this rank's, and views of the others' */
	struct be_handle places[MOST];
	uint64_t epoch;
};

/* Elements are wide apart where they are scattered. */
static const struct be_block block = { 0, sizeof(int32_t) };

static int32_t *element(const struct request *q, uint32_t buffer, uint64_t i)
{
	return (int32_t *)(void *)(q->buffers[q->bound][buffer].ptr + (int64_t)i * q->layout.extent);
}

/* Reductions of one element after the other. arg: where the layout is not the usual one, and for the user's own, which
 * the rank's own thread must call. */
static void combine(struct request *q, const char *a, char *b)
{
	int32_t x, y;

	if (q && q->g->r->user && !pthread_equal(pthread_self(), q->g->thread))
		wrong(q->g, "the user's operation was called by another thread");
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	y = (int32_t)((uint32_t)x + (uint32_t)y);
	memcpy(b, &y, sizeof y);
}

static int64_t apart(const struct request *q)
{
	return q ? q->layout.extent : (int64_t)sizeof(int32_t);
}

static void reduce(void *arg, char *a, uint64_t a_first, char *b, uint64_t b_first, size_t n, bool with)
{
	(void)with;
	for (size_t i = 0; i < n; i++)
		combine(arg, a + (int64_t)(a_first + i) * apart(arg), b + (int64_t)(b_first + i) * apart(arg));
}

static void reduce_packed(void *arg, const char *a, const char *operand, char *b, uint64_t b_first, size_t n, bool with)
{
	(void)with;
	for (size_t i = 0; i < n; i++) {
		char *to = b + (int64_t)(b_first + i) * apart(arg);

		if (operand)
			memcpy(to, operand + i * sizeof(int32_t), sizeof(int32_t));
		combine(arg, a + i * sizeof(int32_t), to);
	}
}

static struct be_layout layout(bool scattered)
{
	return (struct be_layout){ .basic = sizeof(int32_t),
				   .per = 1,
				   .extent = scattered ? 12 : 4,
				   .nblocks = 1,
				   .blocks = &block,
				   .contiguous = !scattered };
}

static struct be_bind binding(struct request *q)
{
	struct be_group *g = q->g;

	return (struct be_bind){ .group = g,
				 .rank = g->rank,
				 .size = g->w->size,
				 .ops = q->rank.ops,
				 .nops = q->rank.nops,
				 .dep_at = q->rank.dep_at,
				 .deps = q->rank.deps,
				 .buffers = q->buffers[0],
				 .layout = &q->layout,
				 .reduce = reduce,
				 .reduce_packed = reduce_packed,
				 .reduce_arg = g->r->user || g->r->scattered ? q : NULL,
				 .whole = 1,
				 .user = g->r->user,
				 .helped = true,
				 .fragment = g->r->parts ? 4096 : 0 };
}

/* Memory for each buffer, in the heap or, where the round has private memory, perhaps not. */
static void find_memory(struct request *q, bool may_be_private, struct be_buffer *out)
{
	struct be_group *g = q->g;

	for (uint32_t i = 0; i < BUFFERS; i++) {
		const size_t len = q->rank.bufsize[i] * (size_t)q->layout.extent;

		out[i] = (struct be_buffer){ .elements = q->rank.bufsize[i], .heap = !may_be_private || draw(g, 2) };
		out[i].ptr = out[i].heap ? group_alloc(g, len, &out[i].heap_off) : calloc(1, len + 1);
		if (!out[i].ptr)
			abort();
	}
}

static void drop_memory(struct be_buffer *buffers)
{
	for (uint32_t i = 0; i < BUFFERS; i++)
		if (!buffers[i].heap)
			free(buffers[i].ptr);
}

static bool take(struct be_group *g, struct be_turn *t)
{
	uint32_t nobody = 0;

	return atomic_compare_exchange_strong_explicit(&t->holder, &nobody, g->rank + 1, memory_order_acquire,
						       memory_order_relaxed);
}

static void hold(struct be_group *g, struct be_turn *t)
{
	while (!take(g, t))
		sched_yield();
}

static void give(struct be_turn *t)
{
	atomic_store_explicit(&t->holder, 0, memory_order_release);
}

static void finish(struct be_group *g, struct be_turn *t, int rc)
{
	if (rc < 0)
		wrong(g, "progress: %s", err_text(rc));
	atomic_store_explicit(&t->state, DONE, memory_order_release);
}

/* Whether a rank may carry out itself what others may, too. */
static bool alone(const struct be_group *g)
{
	return !g->r->only || g->w->size == 1;
}

/* Makes some progress for somebody. */
static void help_anybody(struct request *q)
{
	static const unsigned own[] = { BE_APP, BE_ALL, BE_APP | BE_OWNER, BE_OWNER | BE_ANY };
	struct be_group *g = q->g;
	const uint32_t r = draw(g, g->w->size);
	struct be_bound *b = q->all[r];
	const unsigned who = r != g->rank ? BE_OWNER | BE_ANY : own[alone(g) ? draw(g, 4) : 0];

	if (!draw(g, 20))
		sched_yield();
	if (r == g->rank)
		b->ops->join(b);
	if (!take(g, b->turn))
		return;
	if (atomic_load_explicit(&b->turn->state, memory_order_acquire) == ACTIVE) {
		int rc = b->ops->progress(b, who, draw(g, 2) * 100);

		if (rc) {
			finish(g, b->turn, rc);
			if (r != g->rank)
				atomic_fetch_add(&g->w->by_views, 1);
		}
	}
	give(b->turn);
}

static int32_t value(uint32_t rank, uint64_t i, uint64_t epoch)
{
	return (int32_t)(rank * 1000003u + i * 7919u + epoch * 104729u);
}

/* The sum of ranks 0 to r. */
static int32_t sum(uint32_t r, uint64_t i, uint64_t epoch)
{
	uint32_t s = 0;

	for (uint32_t k = 0; k <= r; k++)
		s += (uint32_t)value(k, i, epoch);
	return (int32_t)s;
}

static void start(struct request *q)
{
	struct be_group *g = q->g;
	struct be_bound *b = q->all[g->rank];
	const unsigned who = !alone(g) || draw(g, 2) ? BE_APP : BE_ALL;
	int rc;

	q->epoch++;
	for (uint64_t i = 0; i < g->r->count; i++) {
		*element(q, 0, i) = value(g->rank, i, q->epoch);
		*element(q, 1, i) = *element(q, 2, i) = -1;
	}
	hold(g, b->turn);
	rc = b->ops->start(b, q->epoch, who);
	atomic_store_explicit(&b->turn->state, ACTIVE, memory_order_release);
	if (rc)
		finish(g, b->turn, rc);
	give(b->turn);
}

/* What the application does between two epochs. */
static void check(struct request *q)
{
	struct be_group *g = q->g;
	uint64_t bad = 0;

	for (uint64_t i = 0; i < g->r->count; i++) {
		bad += *element(q, 1, i) != sum(g->rank, i, q->epoch);
		bad += *element(q, 2, i) != sum(g->w->size - 1, i, q->epoch);
	}
	if (bad)
		wrong(g, "%llu elements are wrong in epoch %llu", (unsigned long long)bad, (unsigned long long)q->epoch);
	if (!g->r->rebinds || draw(g, 2))
		return;
	hold(g, q->all[g->rank]->turn);
	q->bound = !q->bound;
	if (q->all[g->rank]->ops->rebind(q->all[g->rank], q->buffers[q->bound]))
		wrong(g, "rebind");
	give(q->all[g->rank]->turn);
}

static void epochs(struct request *q)
{
	struct be_group *g = q->g;
	struct be_turn *t = q->all[g->rank]->turn;

	while (q->epoch < g->w->epochs) {
		start(q);
		while (atomic_load_explicit(&t->state, memory_order_acquire) != DONE)
			help_anybody(q);
		hold(g, t);
		atomic_store_explicit(&t->state, IDLE, memory_order_release);
		give(t);
		check(q);
	}
	/* Others may depend on this one. */
	for (uint32_t all = (uint32_t)(g->r - rounds + 1) * g->w->size, done = atomic_fetch_add(&g->w->finished, 1) + 1;
	     done < all; done = atomic_load(&g->w->finished))
		help_anybody(q);
}

static void meet(struct be_group *g)
{
	char nothing[MOST] = { 0 };

	group_allgather(g, nothing, 1, nothing);
}

static bool absorbs_copy(const struct sm_bound *s)
{
	for (uint32_t i = 0; i < s->b.nops; i++)
		if (s->msgs[i].now->copy)
			return true;
	return false;
}

static void check_bound(struct be_group *g, const struct sm_bound *s)
{
	if (g->r->absorbs && !absorbs_copy(s) && g->rank)
		wrong(g, "no copy is absorbed");
	if (s->sh->past != g->r->past) /* each rank binds 1.2 MB, or 1.6 MB with scratch */
		wrong(g, "copies go past the caches, or not");
}

/* Binds, and makes views of all others. */
static void bind(struct request *q)
{
	const struct be_layout basic = layout(false);
	struct be_group *g = q->g;
	struct be_bind b = binding(q);
	struct be_handle place = { 0 };
	const struct be_ops *ops = &sm_ops;

	if (ops->make(&b, &q->all[g->rank], &place))
		wrong(g, "make");
	group_allgather(g, &place, sizeof place, g->room);
	memcpy(q->places, g->room, sizeof q->places);
	if (ops->bind(q->all[g->rank], g->w->size - 1, 0))
		wrong(g, "bind");
	check_bound(g, (const struct sm_bound *)q->all[g->rank]);
	for (uint32_t r = 0; r < g->w->size; r++) {
		struct be_bind like = { .group = g,
					.rank = r,
					.size = g->w->size,
					.layout = &basic,
					.reduce = reduce,
					.reduce_packed = reduce_packed,
					.whole = 1 };

		if (r != g->rank && ops->adopt(&like, &q->places[r], &q->all[r]))
			wrong(g, "adopt");
	}
	epochs(q);
	if (g->r->parts && !alone(g)) {
		struct be_turn *t = q->all[g->rank]->turn;

		if (atomic_load(&t->copied[0]) + atomic_load(&t->copied[1]) < g->w->epochs * g->r->count * sizeof(int32_t))
			wrong(g, "copies did not go through the queue");
	}
	for (uint32_t n = 0, r = draw(g, g->w->size); n < g->w->size; n++, r = (r + 1) % g->w->size)
		q->all[r]->ops->unbind(q->all[r]);
}

static void one_round(struct be_group *g)
{
	struct request q = { .g = g, .layout = layout(g->r->scattered) };
	struct bin_args args = { .rank = g->rank, .size = g->w->size, .count = (int64_t)g->r->count };
	struct goal_diags *d = goal_diags_new();
	struct compile_options o = { 0 };
	void *image;
	size_t size;
	struct ir_fault fault;

	if (!d || compile_text(d, "views.goal", text, strlen(text), &o, &image, &size) ||
	    bin_open(&q.bin, image, size) || ir_rank_specialise(&q.bin, &args, &q.rank, &fault)) {
		fputs(d ? goal_diags_text(d) : "no memory\n", stderr);
		abort();
	}
	if (g->r->fused) {
		const struct pass_ctx c = { .rank = g->rank,
					    .size = g->w->size,
					    .buffers = q.bin.buffers,
					    .nbuffers = q.bin.nbuffers };

		bool reduces = g->rank == 0;

		if (passes_run_rank("fuse", &q.rank, &c))
			abort();
		for (uint32_t i = 0; i < q.rank.nops; i++)
			reduces |= q.rank.ops[i].kind == BIN_OP_RECV_REDUCE;
		if (!reduces)
			wrong(g, "no recv reduces");
		for (uint32_t i = 0; i < q.rank.nops && g->r->absorbs; i++)
			if (q.rank.ops[i].exec == BIN_EARLY)
				q.rank.ops[i].exec = BIN_DEFAULT;
	}
	find_memory(&q, g->r->private, q.buffers[0]);
	find_memory(&q, g->r->rebinds, q.buffers[1]);
	bind(&q);
	drop_memory(q.buffers[0]);
	drop_memory(q.buffers[1]);
	meet(g);
	reap(g);
	if (g->nzombies)
		wrong(g, "a block has users that are gone");
	g->used = 0;
	ir_rank_fini(&q.rank);
	free(image);
	goal_diags_free(d);
}

static void *run(void *arg)
{
	struct be_group *g = arg;

	g->thread = pthread_self();
	meet(g); /* all processes have told who they are */
	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint32_t bad = atomic_load(&g->w->wrong), by_views = atomic_load(&g->w->by_views);

		g->r = &rounds[i];
		one_round(g);
		meet(g);
		if (g->rank == 0 && g->r->only && g->w->size > 1 && atomic_load(&g->w->by_views) == by_views)
			wrong(g, "no view has completed an epoch");
		if (g->rank == 0)
			printf("%s views.%s %u ranks in %u processes\n", atomic_load(&g->w->wrong) == bad ? "ok" : "FAIL",
			       g->r->name, g->w->size, g->w->processes);
		fflush(stdout);
		meet(g);
	}
	return NULL;
}

/* ---- processes ---- */

static int process(struct world *w, uint32_t number, uint64_t seed)
{
	static struct be_group groups[MOST];
	struct process at = { .number = number };
	pthread_t threads[MOST];

	atomic_store(&w->pid[number], getpid());
	for (uint32_t r = 0; r < w->size; r++) {
		/* Something lies in between, of another size in each process. */
		void *apart = mmap(NULL, (number + 1 + r) << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		at.base[r] = mmap(NULL, HEAP, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd[r], 0);
		if (apart == MAP_FAILED || at.base[r] == MAP_FAILED)
			return 1;
	}
	for (uint32_t r = 0; r < w->size; r++) {
		groups[r] = (struct be_group){ .w = w, .at = &at, .rank = r, .random = (seed * 1000 + r) * 0x9e3779b97f4a7c15u, .r = rounds };
		if (process_of(w, r) == number && pthread_create(&threads[r], NULL, run, &groups[r]))
			return 1;
	}
	for (uint32_t r = 0; r < w->size; r++)
		if (process_of(w, r) == number)
			pthread_join(threads[r], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	struct world *w = mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t seed;
	pid_t pids[MOST];
	bool failed = false;

	if (w == MAP_FAILED || argc != 5)
		return 2;
	seed = strtoull(argv[3], NULL, 10);
	w->epochs = (uint32_t)atoi(argv[4]);
	w->size = (uint32_t)atoi(argv[1]);
	w->processes = (uint32_t)atoi(argv[2]);
	if (w->size > MOST || !w->size || !w->processes || w->processes > w->size)
		return 2;
	for (uint32_t r = 0; r < w->size; r++) {
		w->fd[r] = memfd_create("views", MFD_CLOEXEC);
		if (w->fd[r] < 0 || ftruncate(w->fd[r], (off_t)HEAP))
			return 2;
	}
	for (uint32_t i = 0; i < w->processes; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			alarm(SECONDS);
			exit(process(w, i, seed));
		}
	}
	for (uint32_t i = 0; i < w->processes; i++) {
		int status;

		waitpid(pids[i], &status, 0);
		failed |= status != 0;
		if (status) /* the others would wait for it */
			for (uint32_t k = 0; k < w->processes; k++)
				kill(pids[k], SIGKILL);
	}
	return failed || atomic_load(&w->wrong);
}
