/* SPDX-License-Identifier: BSD-3-Clause
 * What elements hold at the start, and which elements an op writes. */
#include "compiler/allranks/values.h"

#include "format/check.h"

static enum bin_mode mode_of(const struct proof *p, uint32_t buf)
{
	return (enum bin_mode)p->b->buffers[buf].mode;
}

/* The element of one rank. */
static struct held element_held(struct proof *p, term rank, uint32_t buf, term index)
{
	return (struct held){ rank, term_num(&p->t, 1), term_num(&p->t, buf), index, false };
}

static struct held choose_held(struct proof *p, term cond, struct held a, struct held b)
{
	struct terms *t = &p->t;

	return (struct held){ term_ite(t, cond, a.lo, b.lo), term_ite(t, cond, a.n, b.n), term_ite(t, cond, a.buf, b.buf),
			      term_ite(t, cond, a.index, b.index), false };
}

struct site_range written_range(const struct site *x)
{
	for (unsigned i = 0; i < bin_nranges(x->kind); i++)
		if (bin_writes(x->kind, i))
			return x->range[i];
	return (struct site_range){ 0, TERM_NONE };
}

term covers_index(struct proof *p, const struct instance *i, struct site_range range, term len, term index)
{
	struct terms *t = &p->t;
	const term off = instance_value(p, i, range.off);

	return term_and(t, term_le(t, off, index), term_lt(t, index, term_add(t, off, instance_value(p, i, len))));
}

struct held initial_held(struct proof *p, uint32_t buf, term rank, term index, term *known)
{
	const enum bin_mode mode = mode_of(p, buf);
	const struct site_inplace *in = &p->s.inplace;
	const struct held own = element_held(p, rank, buf, index);
	struct instance i = { .rank = rank };
	term cond;

	*known = term_num(&p->t, mode == BIN_IN || mode == BIN_INOUT);
	if (!in->any || in->at.buf != buf || mode_of(p, in->buf) == BIN_OUT)
		return own;
	term_map_add(&i.map, p->s.r, rank);
	cond = term_and(&p->t, instance_value(p, &i, in->cond), covers_index(p, &i, in->at, in->len, index));
	*known = term_or(&p->t, *known, cond);
	return choose_held(p, cond,
			   element_held(p, rank, in->buf, term_sub(&p->t, index, instance_value(p, &i, in->at.off))), own);
}
