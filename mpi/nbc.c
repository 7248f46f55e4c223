/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_I* collectives, with GOAL_MPI_NBC=1, served from a cache of bound schedules.
 *
 * A call must not wait for another rank, and all ranks must decide alike whether it is served, and how. So all is decided by
 * what is the same on all ranks when they make the call. The calls of collectives on a communicator come in the same order on
 * all of them.
 * - A call is served only if its communicator has a group. That is made collectively, by functions that may wait for other
 *   ranks: those that make the communicator or the first persistent request on it, and other blocking collectives (fronts).
 * - The key of a call is what MPI demands to be the same on all ranks: the collective, the bytes of a block, or the elements,
 *   their type and the operation, the root, and in place where MPI does not leave that to each rank. Where it does, the rank's
 *   own data is copied, and the call is one that is not in place.
 * - The n-th call with a key uses instance n mod INSTANCES of its bound schedules. If that is not complete here, the call
 *   waits in a queue until it is. Which key is given up for a new one depends on the order of calls alone.
 * - An instance is bound at its first use, in the order of calls. Binding waits for the other ranks, so a thread does it, one
 *   for each communicator: calls on different communicators may come in different orders. It calls nothing of MPI. Persistent
 *   requests are bound in the program's thread; that may wait, and does so until the thread has bound all.
 * A call that waits in a queue is started by whoever completes what it waits for: a thread that binds, tests or waits, or the
 * helper. So data is packed in the call, and unpacked when the program completes it; the rest calls nothing of MPI. */
#include "mpi/nbc.h"

#include "util/thread.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS = 32, INSTANCES = 2 };

#define END_NS 2000000000u /* in gm_nbc_end */

enum bound { UNBOUND, BINDING, BOUND, FAILED };

struct gm_instance {
	struct entry *entry;
	MPIX_Sched_request req;
	enum bound bound;
	struct gm_once *running, *first, **end; /* calls: the one that is started, and those that wait */
	struct gm_instance *next; /* in the queue of those to be bound */
	MPIX_Sched sched; /* until it is bound */
	struct gm_record *record;
};

/* The bound schedules of one key. */
struct entry {
	struct entry *next;
	struct gm_key key;
	bool cached; /* false: it is freed once its calls are complete */
	uint64_t calls; /* with the key */
	unsigned holds; /* 1 for the cache, 1 for each call that is not complete, 1 for each instance that is being bound */
	struct gm_instance at[INSTANCES];
};

struct gm_nbc {
	struct gm_nbc *next; /* in the list of all */
	pthread_mutex_t lock; /* for all below */
	struct gm_comm *comm;
	struct entry *entries; /* those of the latest calls first */
	struct gm_instance *first, **end; /* to be bound */
	bool binds; /* there is a thread that binds */
};

static struct {
	pthread_mutex_t lock;
	struct gm_nbc *first;
	_Atomic int queued; /* calls that are not started */
	_Atomic int threads; /* that bind */
} nbcs = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool gm_nbc_on(void)
{
	static _Atomic int known; /* 0: not yet, 1: off, 2: on */
	const char *s;

	if (!atomic_load_explicit(&known, memory_order_relaxed)) {
		s = getenv("GOAL_MPI_NBC");
		known = s && !strcmp(s, "1") ? 2 : 1;
	}
	return atomic_load_explicit(&known, memory_order_relaxed) == 2;
}

/* ---- communicators ---- */

struct gm_nbc *gm_nbc_new(struct gm_comm *c)
{
	struct gm_nbc *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	pthread_mutex_init(&n->lock, NULL);
	n->end = &n->first;
	n->comm = c;
	pthread_mutex_lock(&nbcs.lock);
	n->next = nbcs.first;
	nbcs.first = n;
	pthread_mutex_unlock(&nbcs.lock);
	return n;
}

static void entry_unhold(struct gm_nbc *n, struct entry *e)
{
	struct entry **at = &n->entries;

	if (--e->holds)
		return;
	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	for (int i = 0; i < INSTANCES; i++)
		if (e->at[i].req)
			gm_lib.free(&e->at[i].req);
	free(e);
}

void gm_nbc_free(struct gm_nbc *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&nbcs.lock);
	for (struct gm_nbc **at = &nbcs.first; *at; at = &(*at)->next)
		if (*at == n) {
			*at = n->next;
			break;
		}
	pthread_mutex_unlock(&nbcs.lock);
	while (n->entries)
		entry_unhold(n, n->entries);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

/* ---- starting and completing; the caller holds the lock of the communicator ---- */

static void complete(struct gm_once *o, int err)
{
	struct gm_instance *in = o->instance;

	if (in->running == o)
		in->running = NULL;
	o->err = err;
	o->state = GM_DONE;
}

static void start_next(struct gm_instance *in)
{
	const uint64_t begin = in->record ? gm_now_ns() : 0;
	struct gm_once *o = in->first;
	bool failed;

	in->first = o->next;
	if (!in->first)
		in->end = &in->first;
	atomic_fetch_sub(&nbcs.queued, 1);
	/* the same addresses may have other memory than the last time */
	failed = in->bound == FAILED || gm_lib.rebind(in->req, o->buffers, 2) || gm_lib.start(in->req);
	if (failed) {
		complete(o, MPI_ERR_OTHER);
		return;
	}
	in->running = o;
	o->state = GM_RUNNING;
	gm_helper_started();
	if (in->record) {
		atomic_fetch_add(&in->record->starts, 1);
		atomic_fetch_add(&in->record->start_ns, gm_now_ns() - begin);
	}
}

/* Completes the call that an instance runs, if it can be, and starts the next one. */
static void advance(struct gm_instance *in)
{
	for (;;) {
		struct gm_once *o = in->running;

		if (o) {
			int done = 1, rc;

			if (o->waited)
				return;
			rc = gm_lib.test(in->req, &done);
			if (!done)
				return;
			complete(o, rc ? MPI_ERR_OTHER : MPI_SUCCESS);
		}
		if (!in->first || in->bound < BOUND)
			return;
		start_next(in);
	}
}

int gm_nbc_progress(void)
{
	if (!atomic_load_explicit(&nbcs.queued, memory_order_relaxed))
		return 0;
	pthread_mutex_lock(&nbcs.lock);
	for (struct gm_nbc *n = nbcs.first; n; n = n->next) {
		if (pthread_mutex_trylock(&n->lock))
			continue;
		for (struct entry *e = n->entries; e; e = e->next)
			for (int i = 0; i < INSTANCES; i++)
				if (e->at[i].first)
					advance(&e->at[i]);
		pthread_mutex_unlock(&n->lock);
	}
	pthread_mutex_unlock(&nbcs.lock);
	return atomic_load(&nbcs.queued);
}

/* ---- binding ---- */

/* Binds an instance for the call that waits first in its queue. Sets the instance's record. Called without the lock. */
static bool bind(struct gm_nbc *n, struct gm_instance *in)
{
	const struct gm_key *k = &in->entry->key;
	const struct MPIX_Sched_param root = { "root", &(int64_t){ k->root }, 1 };
	const struct MPIX_Sched_bind b = { .struct_size = sizeof b,
					   .buffers = in->first->buffers,
					   .nbuffers = 2,
					   .count = k->count,
					   .basic = k->basic,
					   .builtin = k->builtin,
					   .params = &root,
					   .nparams = gm_specs[k->coll].flags & GM_ROOT ? 1 : 0 };
	struct MPIX_Sched_info info = { .struct_size = sizeof info };
	const int rc = gm_lib.init(in->sched, n->comm->group, &b, &in->req);

	if (!rc && !gm_lib.get_info(in->sched, &info))
		in->record = gm_record_of(k->coll, true, GM_SERVED, info.name);
	gm_lib.unload(&in->sched);
	return !rc;
}

static void *bind_all(void *arg)
{
	struct gm_nbc *n = arg;
	struct gm_comm *c = n->comm;

	pthread_mutex_lock(&n->lock);
	while (n->first) {
		struct gm_instance *in = n->first;
		bool done;

		pthread_mutex_unlock(&n->lock);
		done = bind(n, in);
		pthread_mutex_lock(&n->lock);
		in->bound = done ? BOUND : FAILED;
		n->first = in->next;
		if (!n->first)
			n->end = &n->first;
		advance(in);
		entry_unhold(n, in->entry);
	}
	n->binds = false;
	pthread_mutex_unlock(&n->lock);
	gm_comm_unref(c);
	atomic_fetch_sub(&nbcs.threads, 1);
	return NULL;
}

/* Makes a thread that binds what is to be bound, unless there is one. If that fails, whoever tests or waits tries again. The
 * program's signal handlers run in its own threads. */
static void start_binding(struct gm_nbc *n)
{
	pthread_t thread;

	if (n->binds || !n->first)
		return;
	atomic_fetch_add(&n->comm->refs, 1);
	atomic_fetch_add(&nbcs.threads, 1);
	n->binds = !thread_start(&thread, bind_all, n);
	if (n->binds) {
		pthread_detach(thread);
	} else {
		atomic_fetch_sub(&nbcs.threads, 1);
		gm_comm_unref(n->comm);
	}
}

static int all_bound(void *arg)
{
	struct gm_nbc *n = arg;
	bool bound;

	pthread_mutex_lock(&n->lock);
	start_binding(n);
	bound = !n->first;
	pthread_mutex_unlock(&n->lock);
	return bound;
}

void gm_nbc_drain(struct gm_nbc *n)
{
	if (!n)
		return;
	gm_wait_until(all_bound, n);
}

static int threads_ended(void *arg)
{
	const uint64_t *begin = arg;

	return !atomic_load(&nbcs.threads) || gm_now_ns() - *begin >= END_NS;
}

bool gm_nbc_end(void)
{
	uint64_t begin = gm_now_ns();

	gm_wait_until(threads_ended, &begin);
	return !atomic_load(&nbcs.threads);
}

/* ---- calls ---- */

static struct entry *entry_new(const struct gm_key *k)
{
	struct entry *e = calloc(1, sizeof *e);

	if (!e)
		return NULL;
	e->key = *k;
	e->cached = true;
	e->holds = 1;
	for (int i = 0; i < INSTANCES; i++) {
		e->at[i].entry = e;
		e->at[i].end = &e->at[i].first;
	}
	return e;
}

/* Gives up the key whose last call is the oldest, if there are too many. */
static void evict(struct gm_nbc *n)
{
	struct entry *last = NULL;
	int keys = 0;

	for (struct entry *e = n->entries; e; e = e->next)
		if (e->cached) {
			keys++;
			last = e;
		}
	if (keys <= KEYS)
		return;
	last->cached = false;
	entry_unhold(n, last);
}

/* Returns where the list has the cached entry of a key, or its end. */
static struct entry **place_of(struct gm_nbc *n, const struct gm_key *k)
{
	struct entry **at = &n->entries;

	while (*at && !((*at)->cached && !memcmp(&(*at)->key, k, sizeof *k)))
		at = &(*at)->next;
	return at;
}

bool gm_nbc_bound(struct gm_nbc *n, const struct gm_key *k)
{
	const struct entry *e;
	bool bound;

	pthread_mutex_lock(&n->lock);
	e = *place_of(n, k);
	bound = e && e->at[e->calls % INSTANCES].bound != UNBOUND;
	pthread_mutex_unlock(&n->lock);
	return bound;
}

/* Returns the entry of a key, the first in the list now. */
static struct entry *entry_of(struct gm_nbc *n, const struct gm_key *k)
{
	struct entry **at = place_of(n, k), *e;

	e = *at;
	if (e)
		*at = e->next;
	else
		e = entry_new(k);
	if (!e)
		return NULL;
	e->next = n->entries;
	n->entries = e;
	evict(n);
	return e;
}

bool gm_nbc_enqueue(struct gm_nbc *n, const struct gm_key *k, struct gm_once *o, MPIX_Sched *sched)
{
	struct entry *e;
	struct gm_instance *in;

	pthread_mutex_lock(&n->lock);
	e = entry_of(n, k);
	if (!e) {
		pthread_mutex_unlock(&n->lock);
		return false;
	}
	in = &e->at[e->calls++ % INSTANCES];
	o->instance = in;
	e->holds++;
	*in->end = o;
	in->end = &o->next;
	atomic_fetch_add(&nbcs.queued, 1);
	if (in->bound == UNBOUND) {
		in->bound = BINDING;
		in->sched = *sched;
		*sched = NULL;
		e->holds++;
		*n->end = in;
		n->end = &in->next;
		start_binding(n);
	} else {
		advance(in);
	}
	pthread_mutex_unlock(&n->lock);
	return true;
}

/* ---- completion ---- */

static void count_end(struct gm_record *record, uint64_t called, uint64_t waited)
{
	const uint64_t now = gm_now_ns();

	atomic_fetch_add(&record->apart_ns, (waited ? waited : now) - called);
	atomic_fetch_add(&record->wait_ns, waited ? now - waited : 0);
}

/* The program takes notice that a call is complete. `waited`: since when it has waited; 0: it has not. */
static int finish(struct gm_request *r, uint64_t waited)
{
	struct gm_nbc *n = r->comm->nbc;
	const int err = r->once->err;

	pthread_mutex_lock(&n->lock);
	if (r->once->instance->record)
		count_end(r->once->instance->record, r->started, waited);
	entry_unhold(n, r->once->instance->entry);
	pthread_mutex_unlock(&n->lock);
	r->active = false;
	return err ? err : gm_unpack(r);
}

/* Starts or completes a call if that is possible, and makes progress on others while it has to wait for them. Returns its state. */
static enum gm_once_state advance_call(struct gm_nbc *n, struct gm_once *o)
{
	enum gm_once_state state;

	pthread_mutex_lock(&n->lock);
	if (o->state != GM_DONE) {
		start_binding(n);
		advance(o->instance);
	}
	state = o->state;
	pthread_mutex_unlock(&n->lock);
	if (state == GM_QUEUED) {
		gm_lib.progress(gm_ctx(), NULL);
		gm_nbc_progress();
	}
	return state;
}

int gm_once_test(struct gm_request *r, bool *flag, bool keeps)
{
	*flag = advance_call(r->comm->nbc, r->once) == GM_DONE;
	if (!*flag)
		return MPI_SUCCESS;
	if (!keeps)
		return finish(r, 0);
	return r->once->err ? r->once->err : gm_unpack(r);
}

/* Waits for a call that is started. The caller holds the lock; during the wait it does not. */
static void wait_running(struct gm_nbc *n, struct gm_once *o)
{
	struct gm_instance *in = o->instance;
	int rc;

	o->waited = true;
	pthread_mutex_unlock(&n->lock);
	rc = gm_lib.wait(in->req);
	pthread_mutex_lock(&n->lock);
	complete(o, rc ? MPI_ERR_OTHER : MPI_SUCCESS);
	advance(in);
}

/* True once a call is started. */
static int has_left_queue(void *arg)
{
	const struct gm_request *r = arg;

	return advance_call(r->comm->nbc, r->once) != GM_QUEUED;
}

int gm_once_wait(struct gm_request *r)
{
	struct gm_nbc *n = r->comm->nbc;
	struct gm_once *o = r->once;
	const uint64_t begin = gm_counts() ? gm_now_ns() : 0;

	gm_wait_until(has_left_queue, r);
	pthread_mutex_lock(&n->lock);
	if (o->state == GM_RUNNING)
		wait_running(n, o);
	pthread_mutex_unlock(&n->lock);
	return finish(r, begin);
}
