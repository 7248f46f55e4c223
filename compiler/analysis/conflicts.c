/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the conflicts of a graph from a symbolic run and the dependencies. */
#include "compiler/analysis/conflicts.h"

#include "format/check.h"
#include "util/err.h"
#include "util/order.h"

static int by_second(const void *a, const void *b)
{
	const struct conflict *x = a, *y = b;

	return x->second != y->second ? (x->second > y->second) - (x->second < y->second) :
					(x->first > y->first) - (x->first < y->first);
}

int conflicts_find(struct conflicts *c, const struct ir_graph *g, const struct ir_events *ev, const struct symbolic *run)
{
	int err = 0;

	for (size_t i = 0; i < run->conflicts.n && !err; i++) {
		const struct sym_conflict *x = &run->conflicts.at[i];

		err = VEC_PUSH(&c->v, (struct conflict){ ev->base[x->rank] + x->first, ev->base[x->rank] + x->second });
	}
	for (uint32_t r = 0; r < g->nranks; r++) {
		const struct ir_rank *rank = &g->ranks[r];

		for (uint32_t i = 0; i < rank->nops; i++)
			for (uint32_t k = rank->dep_at[i]; k < rank->dep_at[i + 1] && !err; k++) {
				const uint32_t on = rank->deps[k];

				if (!(on & BIN_START) && bin_conflict(&rank->ops[on], &rank->ops[i]))
					err = VEC_PUSH(&c->v, (struct conflict){ ev->base[r] + on, ev->base[r] + i });
			}
	}
	ORDER_VEC(&c->v, by_second);
	return err;
}

int conflicts_of_graph(struct conflicts *c, const struct ir_graph *g, const struct ir_match *m, size_t nm)
{
	struct terms *terms = terms_new(g->nranks, g->nbuffers, false, 0);
	struct symbolic run = { 0 };
	struct ir_events ev = { 0 };
	int err = terms ? 0 : -ERR_NOMEM;

	err = err ? err : ir_events_init(&ev, g, m, nm, false);
	err = err ? err : ir_events_sort(&ev);
	if (!err && ev.sorted < ev.n)
		err = -ERR_DEADLOCK;
	err = err ? err : symbolic_run(&run, g, &ev, terms, true);
	err = err ? err : conflicts_find(c, g, &ev, &run);
	symbolic_fini(&run);
	ir_events_fini(&ev);
	terms_free(terms);
	return err;
}

void conflicts_free(struct conflicts *c)
{
	VEC_FREE(&c->v);
}

size_t conflicts_of(const struct conflicts *c, uint32_t op)
{
	const struct conflict key = { .second = op };

	return order_find(&key, c->v.at, c->v.n, sizeof key, by_second);
}
