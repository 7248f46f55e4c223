/* SPDX-License-Identifier: BSD-3-Clause
 * limit [private] BOARD INDEX: a rank with collectives that are written by hand, all buffers in shared memory. They are what the
 * machine allows: a collective is a few flags, and loads and stores in the buffers of other ranks. There are several ways; the fastest
 * of them is the limit of a cell.
 *
 *   posted   Each rank stores what it sends beside a flag, for 8 B in the flag's line, and the receivers load it from there. There
 *            are slots for several epochs, so a sender waits for nobody.
 *   owned    The same, and a sender takes the lines of its next slot from the receivers' caches ahead.
 *   own      Each rank makes what it receives, by loading from the buffers of the others.
 *   ahead    The same, with loads that are asked for far ahead.
 *   past     The same, with stores past the caches.
 *   push     Each rank stores what it sends into the buffers of the others.
 *   slices   Each rank makes a slice of what every rank receives, in blocks that stay in the caches between a load and a store.
 *   counted  A barrier that counts.
 *
 * private: the buffers are in memory of the rank's process. Besides posted and owned the ways are:
 *
 *   pulled   Each rank makes what it receives, by process_vm_readv from the buffers of the others.
 *   halves   The same, but half of a block is stored by its sender, by process_vm_writev.
 *   staged   What a rank sends goes in chunks through a ring in shared memory, and is copied twice.
 *
 * They keep the promises of persistent collectives: any number of epochs; nobody touches a rank's buffers before it has started
 * the epoch, or after it has completed it. They notice no dead ranks, and make no progress on other requests. */
#include "backends/backend.h"
#include "backends/shm/copy.h"
#include "bench/bench.h"
#include "bench/collectives/limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RING 16 /* slots of a sender, one for each epoch in turn */
#define POSTED_MAX 4096 /* most bytes of a block that is posted */
#define BLOCK ((size_t)1024) /* doubles of a block that stays in the caches while it is added up */
#define COPIED ((size_t)4096) /* doubles of a block of a slice that is only copied */
#define LINES_AHEAD 64 /* how far ahead lines are asked for */
#define AHEAD_MAX ((size_t)16384) /* most doubles that are asked for ahead */
#define PAST_MIN ((size_t)131072) /* fewest doubles that go past the caches */

/* ---- what a rank receives, from where ---- */

typedef double doubles __attribute__((vector_size(64), aligned(8), may_alias));

/* to[i] = a[i] + b[i]. `to` may be a or b. */
#if defined(__x86_64__) && defined(__GLIBC__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void add(double *to, const double *a, const double *b, size_t n)
{
	size_t i = 0;

	for (; i + 16 <= n; i += 16) {
		*(doubles *)(to + i) = *(const doubles *)(a + i) + *(const doubles *)(b + i);
		*(doubles *)(to + i + 8) = *(const doubles *)(a + i + 8) + *(const doubles *)(b + i + 8);
	}
	for (; i < n; i++)
		to[i] = a[i] + b[i];
}

/* Copies from lines that another core may have modified. On some CPUs their transfer takes so long that it pays to ask for them far
 * ahead; memcpy may copy without loading the lines that it overwrites. */
static void copy(const struct hand *h, double *to, const double *from, size_t n)
{
	size_t i = 0;

	if (h->kind != AHEAD) {
		copy_long((char *)to, (const char *)from, n * sizeof(double), h->kind == PAST);
		return;
	}
	for (; i + 8 <= n; i += 8) {
		__builtin_prefetch(from + i + 8 * LINES_AHEAD, 0, 2);
		*(doubles *)(to + i) = *(const doubles *)(from + i);
	}
	for (; i < n; i++)
		to[i] = from[i];
}

bool reduces(enum what w)
{
	return w == REDUCE || w == ALLREDUCE || w == SCAN;
}

bool is_source(const struct cell *c, int from, int to)
{
	switch (c->what) {
	case BARRIER:
		return false;
	case BCAST:
		return from == ROOT && to != ROOT;
	case SCATTER:
		return from == ROOT;
	case REDUCE:
	case GATHER:
		return to == ROOT;
	case SCAN:
		return from <= to;
	default:
		return true;
	}
}

const double *block_for(const struct cell *c, const double *in, int to)
{
	return c->what == ALLTOALL || c->what == SCATTER ? in + c->count * (size_t)to : in;
}

double *place_of(const struct hand *h, const struct cell *c, int from, int to)
{
	if (c->what == BCAST)
		return h->in[to];
	return c->what == SCATTER ? h->out[to] : h->out[to] + c->count * (size_t)from;
}

void make_part(const struct hand *h, const struct cell *c, int to, size_t at, size_t n)
{
	double *sum = h->out[to] + at;
	int from = 0;

	if (!reduces(c->what)) {
		for (; from < c->size; from++)
			if (is_source(c, from, to))
				copy(h, place_of(h, c, from, to) + at, h->source[from] + at, n);
		return;
	}
	if (!is_source(c, 0, to))
		return;
	if (c->size == 1 || !is_source(c, 1, to)) {
		memcpy(sum, h->source[0] + at, n * sizeof(double));
		return;
	}
	add(sum, h->source[0] + at, h->source[1] + at, n);
	for (from = 2; from < c->size && is_source(c, from, to); from++)
		add(sum, sum, h->source[from] + at, n);
}

/* Makes all that rank `to` receives, block by block, so that sums of more than two stay in the caches. */
static void make_all(const struct hand *h, const struct cell *c, int to)
{
	const size_t step = reduces(c->what) && c->size > 2 ? BLOCK : c->count;

	for (size_t at = 0; at < c->count; at += step)
		make_part(h, c, to, at, c->count - at < step ? c->count - at : step);
}

/* ---- posted ---- */

static char *slot_of(const struct hand *h, uint64_t epoch, int from, int to)
{
	const size_t n = (size_t)h->r->size;

	return h->slots + ((epoch % RING * n + (size_t)from) * n + (size_t)to) * h->stride;
}

/* The flag follows the payload. */
static _Atomic uint64_t *flag_of(const struct cell *c, char *slot)
{
	return (_Atomic uint64_t *)(slot + c->count * sizeof(double));
}

/* Blocks for single receivers have slots for each of them, others one slot for all. */
static bool is_personal(const struct cell *c)
{
	return c->what == ALLTOALL || c->what == SCATTER;
}

static void own_slot(const struct hand *h, const char *slot)
{
	for (size_t at = 0; at < h->stride; at += 64)
		be_own(slot + at);
}

static void post(struct hand *h, const struct cell *c)
{
	const int me = c->rank;

	for (int to = 0; to < c->size; to++) {
		char *slot = slot_of(h, h->epoch, me, is_personal(c) ? to : 0);

		if (to == me || !(is_source(c, me, to) || c->what == BARRIER))
			continue;
		memcpy(slot, block_for(c, c->in, to), c->count * sizeof(double));
		atomic_store_explicit(flag_of(c, slot), h->epoch, memory_order_release);
		if (h->kind == OWNED)
			own_slot(h, slot_of(h, h->epoch + 1, me, is_personal(c) ? to : 0));
		if (!is_personal(c))
			break;
	}
}

static int run_posted(struct cell *c)
{
	struct hand *h = c->state;
	const uint64_t e = ++h->epoch;

	if (e % (RING / 2) == 0)
		await_all(h, h->sh->passed, e - RING / 2);
	post(h, c);
	for (int from = 0; from < c->size; from++) {
		char *slot = slot_of(h, e, from, is_personal(c) ? c->rank : 0);

		h->source[from] = (const double *)slot;
		if (from == c->rank)
			h->source[from] = block_for(c, c->in, from);
		else if (is_source(c, from, c->rank) || c->what == BARRIER)
			await_word(h, flag_of(c, slot), e);
	}
	make_all(h, c, c->rank);
	if (e % (RING / 2) == 0)
		set(&h->sh->passed[c->rank], e);
	return 0;
}

/* ---- in the buffers ---- */

/* All that a start has to do: it tells the other ranks that they may access this rank's buffers. */
static int start(struct cell *c)
{
	struct hand *h = c->state;

	set(&h->sh->started[c->rank], ++h->epoch);
	return 0;
}

static int finish_own(struct cell *c)
{
	struct hand *h = c->state;
	const uint64_t e = h->epoch;

	for (int from = 0; from < c->size; from++) {
		h->source[from] = block_for(c, h->in[from], c->rank);
		if (from != c->rank && is_source(c, from, c->rank))
			await(h, &h->sh->started[from], e);
	}
	make_all(h, c, c->rank);
	set(&h->sh->done[c->rank], e);
	for (int to = 0; to < c->size; to++)
		if (to != c->rank && is_source(c, c->rank, to))
			await(h, &h->sh->done[to], e);
	return 0;
}

static int finish_push(struct cell *c)
{
	struct hand *h = c->state;
	const uint64_t e = h->epoch;

	for (int k = 0; k < c->size; k++) {
		const int to = (c->rank + k) % c->size;

		if (!is_source(c, c->rank, to))
			continue;
		if (k)
			await(h, &h->sh->started[to], e);
		memcpy(place_of(h, c, c->rank, to), block_for(c, c->in, to), c->count * sizeof(double));
	}
	set(&h->sh->done[c->rank], e);
	for (int from = 0; from < c->size; from++)
		if (from != c->rank && is_source(c, from, c->rank))
			await(h, &h->sh->done[from], e);
	return 0;
}

/* Makes elements [at, at + n) of what all ranks receive. Sums of all ranks are added up once, and prefix sums from those of the
 * rank before. */
static void make_slice(struct hand *h, const struct cell *c, size_t at, size_t n)
{
	for (int to = 0; to < c->size; to++) {
		for (int from = 0; from < c->size; from++)
			h->source[from] = block_for(c, h->in[from], to);
		if (c->what == ALLREDUCE && to)
			memcpy(h->out[to] + at, h->out[0] + at, n * sizeof(double));
		else if (c->what == SCAN && to)
			add(h->out[to] + at, h->out[to - 1] + at, h->source[to] + at, n);
		else
			make_part(h, c, to, at, n);
	}
}

static int finish_slices(struct cell *c)
{
	struct hand *h = c->state;
	const uint64_t e = h->epoch;
	const size_t most = reduces(c->what) ? BLOCK : COPIED;
	const size_t slice = (c->count / (size_t)c->size + 7) / 8 * 8, first = slice * (size_t)c->rank;
	size_t end = c->rank == c->size - 1 ? c->count : first + slice, n;

	end = end < c->count ? end : c->count;
	await_all(h, h->sh->started, e);
	for (size_t at = first; at < end; at += n) {
		n = end - at < most ? end - at : most;
		make_slice(h, c, at, n);
	}
	set(&h->sh->done[c->rank], e);
	await_all(h, h->sh->done, e);
	return 0;
}

static int run_counted(struct cell *c)
{
	struct hand *h = c->state;
	const uint64_t e = ++h->epoch;

	if (atomic_fetch_add(&h->sh->count.word, 1) + 1 == e * (uint64_t)c->size)
		set(&h->sh->all, e);
	else
		await(h, &h->sh->all, e);
	return 0;
}

/* ---- memory ---- */

static size_t round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static bool suits(const struct side *s, const struct cell *c)
{
	if (c->what >= EXSCAN)
		return false;
	switch (s->kind) {
	case POSTED:
	case OWNED:
		return c->count * sizeof(double) <= POSTED_MAX;
	case PAST:
		return c->what != BARRIER && !reduces(c->what) && c->count >= PAST_MIN;
	case AHEAD:
		return c->what != BARRIER && !reduces(c->what) && c->count <= AHEAD_MAX;
	case PUSH:
		return c->what != BARRIER && !reduces(c->what);
	case COUNTED:
		return c->what == BARRIER;
	case PULLED:
	case STAGED:
		return c->count * sizeof(double) > POSTED_MAX;
	case HALVES:
		return c->what != BARRIER && !reduces(c->what) && c->count >= HALVES_MIN;
	default:
		return c->what != BARRIER;
	}
}

/* Maps the memory of a cell: a file beside that of the board, which the ranks make one after the other. */
static void *map_shared(struct rank *r, size_t bytes, const char *name)
{
	char path[4096];
	void *p = MAP_FAILED;
	int fd;

	snprintf(path, sizeof path, "%s.%s", r->path, name);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd >= 0 && !ftruncate(fd, (off_t)bytes))
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (fd >= 0)
		close(fd);
	rank_meet(r, NULL);
	unlink(path);
	return p == MAP_FAILED ? NULL : p;
}

/* Makes the buffers of a rank in its own memory, and tells the others where they are. */
static int make_private(struct rank *r, struct hand *h, size_t in, size_t out)
{
	double *mine[2];

	if (posix_memalign((void **)&mine[0], 4096, in) || posix_memalign((void **)&mine[1], 4096, out))
		return rank_fail(r, "out of memory");
	h->sh->places[r->rank].pid = getpid();
	h->sh->places[r->rank].in = mine[0];
	h->sh->places[r->rank].out = mine[1];
	rank_meet(r, NULL);
	for (int i = 0; i < r->size; i++) {
		h->in[i] = h->sh->places[i].in;
		h->out[i] = h->sh->places[i].out;
	}
	return 0;
}

static int prepare(struct rank *r, struct cell *c, const struct side *s, bool private)
{
	const size_t ranks = (size_t)r->size, page = 4096;
	const size_t in = round_up(cell_in_bytes(c), page), out = round_up(cell_out_bytes(c), page);
	const size_t stride = round_up(c->count * sizeof(double) + sizeof(uint64_t), 64);
	const size_t before = round_up(sizeof(struct shared), page);
	const size_t slots = s->kind <= OWNED  ? round_up(RING * ranks * ranks * stride, page) :
			     s->kind == STAGED ? ranks * ranks * sizeof *((struct hand *)0)->rings :
						 0;
	const size_t buffers = private ? 0 : ranks * (in + out);
	struct hand *h;
	char *at;

	h = calloc(1, sizeof *h);
	if (!h)
		return rank_fail(r, "out of memory");
	*h = (struct hand){ .r = r, .stride = stride, .bytes = before + slots + buffers, .kind = s->kind,
			    .yields = r->group->sharing > 1, .private = private };
	at = map_shared(r, h->bytes, s->name);
	if (!at) {
		free(h);
		return rank_fail(r, "mmap: %s", strerror(errno));
	}
	h->sh = (struct shared *)at;
	h->slots = at + before;
	h->rings = (double(*)[CHUNKS][CHUNK])(void *)h->slots;
	if (private && make_private(r, h, in, out))
		return -1;
	for (size_t i = 0; i < ranks && !private; i++) {
		h->in[i] = (double *)(at + before + slots + i * (in + out));
		h->out[i] = (double *)((char *)h->in[i] + in);
	}
	c->in = h->in[r->rank];
	c->out = h->out[r->rank];
	c->state = h;
	return 0;
}

static int prepare_shared(struct rank *r, struct cell *c, const struct side *s)
{
	return prepare(r, c, s, false);
}

static int prepare_private(struct rank *r, struct cell *c, const struct side *s)
{
	return prepare(r, c, s, true);
}

static int release(struct rank *r, struct cell *c, const struct side *s)
{
	struct hand *h = c->state;

	(void)r;
	(void)s;
	if (h->private) {
		free(c->in);
		free(c->out);
	}
	munmap(h->sh, h->bytes);
	free(h);
	return 0;
}

#define SHARED .suits = suits, .prepare = prepare_shared, .release = release
#define PRIVATE .suits = suits, .prepare = prepare_private, .release = release

int main(int argc, char **argv)
{
	static const struct side shared[] = {
		{ .name = "posted", .kind = POSTED, SHARED, .run = run_posted },
		{ .name = "owned", .kind = OWNED, SHARED, .run = run_posted },
		{ .name = "own", .kind = OWN, SHARED, .start = start, .wait = finish_own },
		{ .name = "ahead", .kind = AHEAD, SHARED, .start = start, .wait = finish_own },
		{ .name = "past", .kind = PAST, SHARED, .start = start, .wait = finish_own },
		{ .name = "push", .kind = PUSH, SHARED, .start = start, .wait = finish_push },
		{ .name = "slices", .kind = SLICES, SHARED, .start = start, .wait = finish_slices },
		{ .name = "counted", .kind = COUNTED, SHARED, .run = run_counted },
	};
	static const struct side private[] = {
		{ .name = "posted", .kind = POSTED, PRIVATE, .run = run_posted },
		{ .name = "owned", .kind = OWNED, PRIVATE, .run = run_posted },
		{ .name = "pulled", .kind = PULLED, PRIVATE, .start = start, .wait = finish_pulled },
		{ .name = "halves", .kind = HALVES, PRIVATE, .start = start, .wait = finish_pulled },
		{ .name = "staged", .kind = STAGED, PRIVATE, .start = start, .wait = finish_staged },
	};
	const bool in_private = argc > 3 && !strcmp(argv[1], "private");
	struct rank r = { 0 };

	if (rank_attach(&r, argc, argv))
		return 1;
	r.size = r.group->size;
	r.rank = atomic_fetch_add(&r.group->given, 1);
	bench_pin((unsigned)r.rank);
	return in_private ? rank_main(&r, private, sizeof private / sizeof *private) :
			    rank_main(&r, shared, sizeof shared / sizeof *shared);
}
