/* SPDX-License-Identifier: BSD-3-Clause
 * Errors: their numbers, and the message that a context keeps for the user. */
#include "runtime/context.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

int rt_invalid(struct mpix_sched_ctx *ctx)
{
	return ctx ? -rt_fail(ctx, -ERR_ARG) : MPIX_SCHED_ERR_ARG;
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

int rt_bad_env(struct mpix_sched_ctx *ctx, enum env_name name)
{
	return rt_error(ctx, -ERR_ARG, "the environment variable %s cannot be \"%s\" (%s)", env_table[name].name, env_get(name),
			env_table[name].help);
}

int rt_env(struct mpix_sched_ctx *ctx, enum env_name name, long *out)
{
	*out = ctx->env[name].value;
	return ctx->env[name].err ? rt_bad_env(ctx, name) : 0;
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
