/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts and errors. */
#include "runtime/comm.h"
#include "runtime/dump.h"
#include "runtime/trace.h"
#include "runtime/wait.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const rt_progress_names[RT_PROGRESSES] = { "app", "thread", "collab" };

int MPIX_Sched_ctx_create(MPIX_Sched_ctx *out)
{
	struct mpix_sched_ctx *ctx;

	if (!out)
		return MPIX_SCHED_ERR_ARG;
	ctx = mem_calloc(1, sizeof *ctx);
	if (!ctx)
		return MPIX_SCHED_ERR_NOMEM;
	ctx->backend = be_find(env_get(ENV_GOAL_BACKEND));
	ctx->heap = rt_heap_new(ctx->backend && ctx->backend->ops && ctx->backend->ops->watches);
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
	ctx->policy = rt_policy();
	ctx->umwaits = rt_cpu_umwaits();
	rt_usr1_hold();
	atomic_init(&ctx->usr1_seen, rt_usr1_count());
	pthread_mutex_init(&ctx->lock, NULL);
	pthread_mutex_init(&ctx->detail_lock, NULL);
	pthread_mutex_init(&ctx->select_lock, NULL);
	pthread_mutex_init(&ctx->watch_lock, NULL);
	rt_energy_init(ctx);
	*out = ctx;
	return MPIX_SCHED_SUCCESS;
}

void rt_ctx_ref(struct mpix_sched_ctx *ctx)
{
	atomic_fetch_add(&ctx->refs, 1);
}

void rt_ctx_unref(struct mpix_sched_ctx *ctx)
{
	if (atomic_fetch_sub(&ctx->refs, 1) != 1)
		return;
	rt_usr1_release();
	if (ctx->pid == getpid()) { /* not in a forked child: the device and the trace are the parent's */
		if (ctx->be_state)
			ctx->backend->ops->close(ctx->be_state);
		rt_trace_close(ctx);
	}
	rt_heap_unref(ctx->heap);
	VEC_FREE(&ctx->zombies);
	VEC_FREE(&ctx->requests);
	pthread_mutex_destroy(&ctx->lock);
	pthread_mutex_destroy(&ctx->detail_lock);
	pthread_mutex_destroy(&ctx->select_lock);
	pthread_mutex_destroy(&ctx->watch_lock);
	pthread_mutex_destroy(&ctx->energy_lock);
	rt_selected_free(ctx->selected);
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

int rt_error(struct mpix_sched_ctx *ctx, int err, const char *fmt, ...)
{
	va_list ap;

	pthread_mutex_lock(&ctx->detail_lock);
	va_start(ap, fmt);
	vsnprintf(ctx->detail, sizeof ctx->detail, fmt, ap);
	va_end(ap);
	pthread_mutex_unlock(&ctx->detail_lock);
	return err;
}

int rt_fail(struct mpix_sched_ctx *ctx, int err)
{
	return err ? rt_error(ctx, err, "%s", err_text(err)) : 0;
}

int rt_errno(void)
{
	switch (errno) {
	case EMFILE:
	case ENFILE:
	case ETOOMANYREFS: /* too many descriptors are in flight between processes */
		return -ERR_FILES;
	case EFBIG:
		return -ERR_FSIZE;
	case ENOMEM:
		return -ERR_NOMEM;
	default:
		return -ERR_SYS;
	}
}

int rt_sys_error(struct mpix_sched_ctx *ctx, const char *what)
{
	const int err = rt_errno();

	return rt_error(ctx, err, "%s: %s", what, err == -ERR_SYS ? strerror(errno) : err_text(err));
}

int rt_env(struct mpix_sched_ctx *ctx, enum env_name name, long *out)
{
	int err = ctx->env[name].err;

	*out = ctx->env[name].value;
	return err ? rt_error(ctx, err, "the environment variable %s cannot be \"%s\"", env_table[name].name,
			      env_get(name)) :
		     0;
}

size_t MPIX_Sched_error_detail(MPIX_Sched_ctx ctx, char *buf, size_t size)
{
	size_t len = 0;

	if (size)
		buf[0] = '\0';
	if (!ctx)
		return 0;
	pthread_mutex_lock(&ctx->detail_lock);
	len = strlen(ctx->detail);
	if (size)
		snprintf(buf, size, "%s", ctx->detail);
	pthread_mutex_unlock(&ctx->detail_lock);
	return len;
}

const char *MPIX_Sched_error_string(int err)
{
	return err_text(err);
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

void rt_ctx_remove(struct mpix_sched_ctx *ctx, const struct mpix_sched_request *req)
{
	pthread_mutex_lock(&ctx->lock);
	for (size_t i = 0; i < ctx->requests.n; i++)
		if (ctx->requests.at[i] == req) {
			rt_add_stats(&ctx->gone, req->turn);
			ctx->requests.at[i] = ctx->requests.at[--ctx->requests.n];
			break;
		}
	pthread_mutex_unlock(&ctx->lock);
}

int MPIX_Sched_alloc(MPIX_Sched_ctx ctx, size_t size, void **ptr)
{
	uint64_t off;
	void *p;

	if (!ctx || !ptr)
		return MPIX_SCHED_ERR_ARG;
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
