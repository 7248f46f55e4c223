/* SPDX-License-Identifier: BSD-3-Clause
 * What schedules are loaded from: checks binaries, and compiles texts in this process. */
#include "runtime/context.h"
#include "runtime/sched.h"

#include <stdlib.h>

/* Checks that the schedule fits the collective that it implements: a caller that binds a collective trusts its name. */
static int open_claim(struct rt_image *i, struct mpix_sched_ctx *ctx, const char *name)
{
	struct ir_fault fault;
	int err = claim_open_named(&i->claim, &i->bin, &fault);

	i->sized = !err && i->claim.any && !claim_counts(&i->claim);
	return err == -ERR_CLAIM ? rt_error(ctx, err, "%s: %s", name, fault.text) : err ? rt_fail(ctx, err) : 0;
}

/* Stores in i->data a binary that was checked: `data`, or what `data` compiles to if it is a text. Owns `data`, which a NUL
 * follows. */
static int make_data(struct rt_image *i, struct mpix_sched_ctx *ctx, const char *name, char *data, size_t size,
		     const struct compile_options *o)
{
	struct goal_diags *d;
	int err;

	if (size && (unsigned char)data[0] == 0x89) {
		i->data = data;
		i->size = size;
		err = bin_check(data, size);
		return err ? rt_error(ctx, err, "%s: %s", name, err_text(err)) : 0;
	}
	d = goal_diags_new();
	err = d ? compile_text(d, name, data, size, o, &i->data, &i->size) : -ERR_NOMEM;
	if (err == -ERR_SYNTAX)
		rt_error(ctx, err, "%s", goal_diags_text(d));
	else if (err)
		rt_error(ctx, err, "%s: %s", name, err_text(err));
	goal_diags_free(d);
	free(data);
	return err;
}

void rt_image_unref(struct rt_image *i)
{
	if (!i || atomic_fetch_sub(&i->refs, 1) != 1)
		return;
	claim_close(&i->claim);
	ir_recall_fini(&i->recall);
	free(i->selected);
	free(i->data);
	free(i);
}

int rt_image_make(struct mpix_sched_ctx *ctx, const char *name, char *data, size_t size, const struct compile_options *o,
		  struct rt_image **out)
{
	struct rt_image *i = mem_calloc(1, sizeof *i);
	int err;

	if (!i) {
		free(data);
		return rt_fail(ctx, -ERR_NOMEM);
	}
	atomic_init(&i->refs, 1);
	ir_recall_init(&i->recall);
	err = make_data(i, ctx, name, data, size, o);
	err = err ? err : bin_open(&i->bin, i->data, i->size);
	err = err ? err : open_claim(i, ctx, name);
	if (err)
		rt_image_unref(i);
	else
		*out = i;
	return err;
}
