/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules: loads them, and says what they are. */
#include "runtime/sched.h"

#include "runtime/context.h"
#include "util/file.h"
#include "util/install.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Options for texts that the application loads. */
static const struct compile_options plainly = { .debug = true };

int rt_sched_share(struct mpix_sched_ctx *ctx, struct rt_image *image, MPIX_Sched *out)
{
	struct mpix_sched *s = mem_calloc(1, sizeof *s);

	if (!s)
		return -rt_fail(ctx, -ERR_NOMEM);
	atomic_init(&s->refs, 1);
	atomic_fetch_add(&image->refs, 1);
	s->image = image;
	s->ctx = ctx;
	rt_ctx_ref(ctx);
	*out = s;
	return MPIX_SCHED_SUCCESS;
}

/* Creates a schedule from `data`, a text or a binary followed by a NUL, and takes ownership of `data`. Texts are compiled
 * with the options `o`. Returns 0 or MPIX_SCHED_ERR_*. */
static int make_sched(struct mpix_sched_ctx *ctx, const char *name, char *data, size_t size,
		      const struct compile_options *o, MPIX_Sched *out)
{
	struct rt_image *i;
	int err = rt_image_make(ctx, name, data, size, o, &i), rc;

	if (err)
		return -err;
	rc = rt_sched_share(ctx, i, out);
	rt_image_unref(i);
	return rc;
}

int rt_sched_load(struct mpix_sched_ctx *ctx, const char *path, const struct compile_options *o, MPIX_Sched *out)
{
	char *data;
	size_t size;
	int err = file_read(path, &data, &size);

	if (err == -ERR_SYS)
		return -rt_error(ctx, err, "%s: %s", path, file_why(errno));
	return err ? -rt_fail(ctx, err) : make_sched(ctx, path, data, size, o, out);
}

int MPIX_Sched_load(MPIX_Sched_ctx ctx, const char *path, MPIX_Sched *sched)
{
	char *found;
	int rc;

	if (!ctx || !path || !sched)
		return rt_invalid(ctx);
	if (install_path("", path, &found))
		return -rt_fail(ctx, -ERR_NOMEM);
	rc = rt_sched_load(ctx, found, &plainly, sched);
	free(found);
	return rc;
}

int MPIX_Sched_load_mem(MPIX_Sched_ctx ctx, const char *name, const void *data, size_t size, MPIX_Sched *sched)
{
	char *copy;

	if (!ctx || !data || !sched)
		return rt_invalid(ctx);
	copy = size < SIZE_MAX ? mem_alloc(size + 1) : NULL;
	if (!copy)
		return -rt_fail(ctx, -ERR_NOMEM);
	memcpy(copy, data, size);
	copy[size] = '\0';
	return make_sched(ctx, name ? name : "(memory)", copy, size, &plainly, sched);
}

void rt_sched_unref(struct mpix_sched *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	rt_image_unref(s->image);
	rt_ctx_unref(s->ctx);
	free(s);
}

int MPIX_Sched_unload(MPIX_Sched *sched)
{
	if (!sched)
		return MPIX_SCHED_ERR_ARG;
	rt_sched_unref(*sched);
	*sched = NULL;
	return MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_get_info(MPIX_Sched sched, struct MPIX_Sched_info *info)
{
	const struct bin *b;

	if (!sched || !info || info->struct_size < sizeof *info)
		return rt_invalid(sched ? sched->ctx : NULL);
	b = &sched->image->bin;
	*info = (struct MPIX_Sched_info){ .struct_size = info->struct_size,
					  .nranks = b->meta->nranks,
					  .nbuffers = b->nbuffers,
					  .plain = (b->meta->flags & BIN_F_PLAIN) != 0,
					  .name = bin_str(b, b->meta->name),
					  .implements = bin_str(b, b->meta->implements) };
	return MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_get_buffer(MPIX_Sched sched, uint32_t index, const char **name, const char **mode)
{
	static const char *const modes[BIN_MODES] = { "in", "out", "inout", "scratch" };

	if (!sched || !name || !mode || index >= sched->image->bin.nbuffers)
		return rt_invalid(sched ? sched->ctx : NULL);
	*name = bin_str(&sched->image->bin, sched->image->bin.buffers[index].name);
	*mode = modes[sched->image->bin.buffers[index].mode];
	return MPIX_SCHED_SUCCESS;
}
