/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts: their making and end, what is bound in them, SIGUSR1, and statistics. */
#include "runtime/placement/cpus.h"
#include "runtime/heap/moved.h"
#include "runtime/select.h"
#include "runtime/trace.h"
#include "runtime/wait.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- SIGUSR1 ---- */

/* State that contexts of a process share, because a signal handler has no argument: the number of SIGUSR1s so far.
 * Each context remembers the last one that it has answered. */
static struct {
	pthread_mutex_t lock;
	unsigned users; /* number of contexts */
	struct sigaction before; /* action before the first context was created */
	_Atomic uint32_t came;
} usr1 = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void on_usr1(int sig)
{
	(void)sig;
	atomic_fetch_add_explicit(&usr1.came, 1, memory_order_relaxed);
}

/* True in a job of goalrun, which sends SIGUSR1 to processes that handle it. A signal that is still on its way must not end
 * the process later, so the signal is ignored in a job. */
static bool in_job(void)
{
	return *env_get(ENV_GOAL_JOB);
}

static bool is_free(const struct sigaction *now)
{
	return !(now->sa_flags & SA_SIGINFO) && (now->sa_handler == SIG_DFL || (now->sa_handler == SIG_IGN && in_job()));
}

void rt_usr1_hold(void)
{
	struct sigaction ours = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };

	pthread_mutex_lock(&usr1.lock);
	/* An application that has its own handler keeps it. */
	if (usr1.users++ == 0 && !sigaction(SIGUSR1, NULL, &usr1.before) && is_free(&usr1.before))
		sigaction(SIGUSR1, &ours, NULL);
	pthread_mutex_unlock(&usr1.lock);
}

void rt_usr1_release(void)
{
	struct sigaction now, ignored = { .sa_handler = SIG_IGN };

	pthread_mutex_lock(&usr1.lock);
	if (--usr1.users == 0 && !sigaction(SIGUSR1, NULL, &now) && !(now.sa_flags & SA_SIGINFO) &&
	    now.sa_handler == on_usr1)
		sigaction(SIGUSR1, in_job() ? &ignored : &usr1.before, NULL);
	pthread_mutex_unlock(&usr1.lock);
}

uint32_t rt_usr1_count(void)
{
	return atomic_load_explicit(&usr1.came, memory_order_relaxed);
}

/* ---- contexts ---- */

static void choose_backend(struct mpix_sched_ctx *ctx)
{
	const char *name = env_get(ENV_GOAL_BACKEND);

	ctx->automatic = !strcmp(name, BE_AUTO);
	ctx->backend = ctx->automatic ? be_near() : be_find(name);
}

/* Returns the backend that may keep data for the context, or NULL. */
static const struct be_ops *find_stateful(const struct mpix_sched_ctx *ctx)
{
	const struct be_row *row = ctx->automatic ? be_networked() : ctx->backend;

	return row ? row->ops : NULL;
}

/* True if the ranks of the context may have to sleep on descriptors. */
static bool may_watch(const struct mpix_sched_ctx *ctx)
{
	const struct be_ops *ops = find_stateful(ctx);

	return ops && ops->watches && (!ctx->automatic || ops->present());
}

int MPIX_Sched_ctx_create(MPIX_Sched_ctx *out)
{
	struct mpix_sched_ctx *ctx;

	if (!out)
		return MPIX_SCHED_ERR_ARG;
	ctx = mem_calloc(1, sizeof *ctx);
	if (!ctx)
		return MPIX_SCHED_ERR_NOMEM;
	choose_backend(ctx);
	ctx->heap = rt_heap_new(may_watch(ctx));
	if (!ctx->heap) {
		const int err = rt_errno();

		free(ctx);
		return -err;
	}
	ctx->pid = getpid();
	atomic_init(&ctx->refs, 1);
	atomic_init(&ctx->watched, -1);
	for (unsigned i = 0; i < ENV_COUNT; i++)
		ctx->env[i].err = env_number(i, &ctx->env[i].value);
	if (!ctx->env[ENV_GOAL_MOVE].err && ctx->env[ENV_GOAL_MOVE].value == 1)
		ctx->moved = rt_moved_new(ctx->heap);
	ctx->huge.since = clock_now_ns();
	atomic_init(&ctx->huge.works, !ctx->env[ENV_GOAL_HUGE].err && ctx->env[ENV_GOAL_HUGE].value == 1 && mem_may_collapse());
	ctx->policy = rt_policy();
	ctx->umwaits = rt_cpu_umwaits();
	rt_usr1_hold();
	atomic_init(&ctx->usr1_seen, rt_usr1_count());
	pthread_mutex_init(&ctx->lock, NULL);
	pthread_mutex_init(&ctx->detail_lock, NULL);
	pthread_mutex_init(&ctx->select_lock, NULL);
	pthread_mutex_init(&ctx->watch_lock, NULL);
	pthread_mutex_init(&ctx->state_lock, NULL);
	pthread_mutex_init(&ctx->active.lock, NULL);
	pthread_mutex_init(&ctx->sleepers.lock, NULL);
	rt_energy_init(ctx);
	*out = ctx;
	return MPIX_SCHED_SUCCESS;
}

void rt_ctx_ref(struct mpix_sched_ctx *ctx)
{
	atomic_fetch_add(&ctx->refs, 1);
}

static void free_selected(struct rt_selected *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->compiled.n; i++) {
		free(s->compiled.at[i].passes);
		rt_image_unref(s->compiled.at[i].image);
	}
	VEC_FREE(&s->compiled);
	select_free(&s->rows);
	free(s);
}

void rt_ctx_unref(struct mpix_sched_ctx *ctx)
{
	if (atomic_fetch_sub(&ctx->refs, 1) != 1)
		return;
	rt_usr1_release();
	if (ctx->pid == getpid()) { /* not in a forked child: the device and the trace are the parent's */
		if (ctx->be_state)
			find_stateful(ctx)->close(ctx->be_state);
		rt_trace_close(ctx);
	}
	rt_moved_free(ctx->moved);
	rt_heap_unref(ctx->heap);
	VEC_FREE(&ctx->zombies);
	VEC_FREE(&ctx->requests);
	pthread_mutex_destroy(&ctx->lock);
	pthread_mutex_destroy(&ctx->detail_lock);
	pthread_mutex_destroy(&ctx->select_lock);
	pthread_mutex_destroy(&ctx->watch_lock);
	pthread_mutex_destroy(&ctx->state_lock);
	pthread_mutex_destroy(&ctx->active.lock);
	pthread_mutex_destroy(&ctx->sleepers.lock);
	pthread_mutex_destroy(&ctx->energy_lock);
	free_selected(ctx->selected);
	free(ctx);
}

int MPIX_Sched_ctx_free(MPIX_Sched_ctx *ctx)
{
	if (!ctx)
		return MPIX_SCHED_ERR_ARG;
	if (*ctx)
		rt_ctx_unref(*ctx);
	*ctx = NULL;
	return MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_get_version(int *major, int *minor, int *patch)
{
	if (!major || !minor || !patch)
		return MPIX_SCHED_ERR_ARG;
	*major = MPIX_SCHED_VERSION_MAJOR;
	*minor = MPIX_SCHED_VERSION_MINOR;
	*patch = MPIX_SCHED_VERSION_PATCH;
	return MPIX_SCHED_SUCCESS;
}

/* Frees the blocks that no peer uses any more. The caller holds the lock. */
static void free_zombies(struct mpix_sched_ctx *ctx)
{
	for (size_t i = 0; i < ctx->zombies.n;) {
		struct rt_zombie z = ctx->zombies.at[i];

		if (atomic_load(z.users)) {
			i++;
			continue;
		}
		for (int k = 1; k >= 0; k--)
			if (z.ptr[k])
				rt_heap_free(ctx->heap, z.ptr[k]);
		ctx->zombies.at[i] = ctx->zombies.at[--ctx->zombies.n];
	}
}

void rt_ctx_reap(struct mpix_sched_ctx *ctx)
{
	pthread_mutex_lock(&ctx->lock);
	free_zombies(ctx);
	pthread_mutex_unlock(&ctx->lock);
}

int rt_ctx_add(struct mpix_sched_ctx *ctx, struct mpix_sched_request *req)
{
	int err;

	pthread_mutex_lock(&ctx->lock);
	free_zombies(ctx);
	err = VEC_PUSH(&ctx->requests, req);
	pthread_mutex_unlock(&ctx->lock);
	return err;
}

/* Adds the counters of a request to s. */
static void add_stats(struct MPIX_Sched_stats *s, const struct mpix_sched_request *req)
{
	const struct be_turn *turn = req->turn;
	const uint64_t private = atomic_load_explicit(&req->memory.private, memory_order_relaxed);

	s->requests += private != 0; /* otherwise the request is not bound yet, or cannot be */
	s->private_bytes += private;
	s->shared_bytes += atomic_load_explicit(&req->memory.shared, memory_order_relaxed);
	s->scratch_bytes += atomic_load_explicit(&req->memory.scratch, memory_order_relaxed);
	s->passed += atomic_load(&turn->passed);
	s->copied_core += atomic_load(&turn->copied[0]);
	s->copied_joined += atomic_load(&turn->copied[1]);
	s->links += atomic_load(&turn->counted[BE_LINKS]);
	s->link_bytes += atomic_load(&turn->counted[BE_LINK_BYTES]);
	s->posted += atomic_load(&turn->counted[BE_POSTED]);
	s->sent += atomic_load(&turn->counted[BE_SENT]);
	s->sent_bytes += atomic_load(&turn->counted[BE_SENT_BYTES]);
	s->near_sent += atomic_load(&turn->counted[BE_NEAR_SENT]);
}

void rt_ctx_remove(struct mpix_sched_ctx *ctx, const struct mpix_sched_request *req)
{
	pthread_mutex_lock(&ctx->lock);
	for (size_t i = 0; i < ctx->requests.n; i++)
		if (ctx->requests.at[i] == req) {
			add_stats(&ctx->gone, req);
			ctx->requests.at[i] = ctx->requests.at[--ctx->requests.n];
			break;
		}
	pthread_mutex_unlock(&ctx->lock);
}

/* Size of the struct in the first version of the library. */
#define LEAST_STATS offsetof(struct MPIX_Sched_stats, requests)

int MPIX_Sched_stats(MPIX_Sched_ctx ctx, struct MPIX_Sched_stats *out)
{
	struct MPIX_Sched_stats s;
	size_t size;

	if (!ctx || !out || out->struct_size < LEAST_STATS)
		return rt_invalid(ctx);
	pthread_mutex_lock(&ctx->lock);
	s = ctx->gone;
	for (size_t i = 0; i < ctx->requests.n; i++)
		add_stats(&s, ctx->requests.at[i]);
	pthread_mutex_unlock(&ctx->lock);
	size = out->struct_size < sizeof s ? out->struct_size : sizeof s;
	s.struct_size = size;
	s.steals_local = atomic_load(&ctx->steals[0]);
	s.steals_remote = atomic_load(&ctx->steals[1]);
	s.moved_bytes = rt_moved_bytes(ctx->moved);
	memcpy(out, &s, size);
	return MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_alloc(MPIX_Sched_ctx ctx, size_t size, void **ptr)
{
	uint64_t off;
	void *p;

	if (!ctx || !ptr)
		return rt_invalid(ctx);
	rt_ctx_reap(ctx);
	p = rt_heap_alloc(ctx->heap, size, &off);
	if (!p)
		return -rt_error(ctx, -ERR_NOMEM, "the shared heap has no %zu bytes", size);
	*ptr = p;
	return MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_dealloc(MPIX_Sched_ctx ctx, void *ptr)
{
	int err;

	if (!ctx)
		return MPIX_SCHED_ERR_ARG;
	if (!ptr)
		return MPIX_SCHED_SUCCESS;
	err = rt_heap_free(ctx->heap, ptr);
	if (err == -ERR_STATE)
		rt_error(ctx, err, "the memory is bound to a request");
	else if (err)
		rt_error(ctx, err, "the memory is not from MPIX_Sched_alloc");
	return -err;
}
