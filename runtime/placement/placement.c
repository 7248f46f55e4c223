/* SPDX-License-Identifier: BSD-3-Clause
 * Placements of ranks and of their communication on the cores of a node.
 *
 * Two equations of the paper are misprinted; its examples show what is meant. Eq. 1 lacks a floor, and its M is the index
 * of a core in its NUMA node, not of a rank. In a NUMA node of N cores of which K are free, the free ones are ceil(k N / K)
 * - 1 for k = 1 ... K, and the communication of a rank runs on the next free core behind its own. Eq. 2 holds for every
 * size in this form: of K free cores in ascending order, rank r has number r mod K. */
#include "runtime/placement/placement.h"

#include "util/err.h"
#include "util/options.h"

#include <stdlib.h>
#include <string.h>

#define CORES (1 << 20) /* more than any node has */

int placement_parse(const char *s, struct placement_asked *a)
{
	static const char *const names[] = { "bind", "numa", "odd-even" };
	int64_t first, last;
	char part[32];
	size_t len;

	a->list.n = 0;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(s, names[i])) {
			a->kind = (enum placement_kind)i;
			return 0;
		}
	a->kind = PLACEMENT_LIST;
	for (;; s += len + 1) {
		len = strcspn(s, ",");
		if (len >= sizeof part)
			return -ERR_ARG;
		memcpy(part, s, len);
		part[len] = '\0';
		if (!option_range(part, 0, CORES, &first, &last))
			return -ERR_ARG;
		for (; first <= last; first++)
			if (VEC_PUSH(&a->list, (uint32_t)first))
				return -ERR_NOMEM;
		if (!s[len])
			return 0;
	}
}

/* A NUMA node. Cores in the cpuset have positions in order, NUMA node after NUMA node. */
struct node {
	uint32_t first, n; /* range of the node's cores, by position */
	uint32_t ranks, slots; /* ranks: the node's share of the ranks; slots: number of the node's cores that are not free */
};

struct work {
	const struct topology *t;
	uint32_t *core; /* logical index of each core, by position */
	uint32_t *node; /* number of each core's NUMA node, by position */
	bool *free; /* true for a core on which no rank runs, by logical index */
	uint32_t *slot; /* positions of the cores on which ranks run */
	uint32_t n, nslots;
	struct node *nodes;
	uint32_t nnodes;
};

static void work_fini(struct work *w)
{
	free(w->core);
	free(w->node);
	free(w->free);
	free(w->slot);
	free(w->nodes);
}

static int work_init(struct work *w, const struct topology *t)
{
	const uint32_t cap = t->ncores;
	uint32_t last = 0;

	*w = (struct work){ .t = t,
			    .core = mem_calloc(cap, sizeof *w->core),
			    .node = mem_calloc(cap, sizeof *w->node),
			    .free = mem_calloc(cap, sizeof *w->free),
			    .slot = mem_calloc(cap, sizeof *w->slot),
			    .nodes = mem_calloc(cap, sizeof *w->nodes) };
	if (!w->core || !w->node || !w->free || !w->slot || !w->nodes)
		return -ERR_NOMEM;
	for (uint32_t c = 0; c < t->ncores; c++)
		last = t->cores[c].numa > last ? t->cores[c].numa : last;
	for (uint32_t numa = 0; numa <= last; numa++) {
		struct node *node = &w->nodes[w->nnodes];

		node->first = w->n;
		for (uint32_t c = 0; c < t->ncores; c++)
			if (t->cores[c].usable && t->cores[c].numa == numa) {
				w->core[w->n] = c;
				w->node[w->n++] = w->nnodes;
			}
		node->n = w->n - node->first;
		w->nnodes += node->n > 0;
	}
	return 0;
}

/* Splits ranks evenly over the NUMA nodes; the first ones get the extra ranks. A node gets at most as many as it has slots. */
static void spread_ranks(struct work *w, uint32_t ranks)
{
	for (uint32_t i = 0; i < w->nnodes; i++)
		w->nodes[i].ranks = 0;
	while (ranks) {
		uint32_t open = 0, each;

		for (uint32_t i = 0; i < w->nnodes; i++)
			open += w->nodes[i].ranks < w->nodes[i].slots;
		each = ranks > open ? ranks / open : 1;
		for (uint32_t i = 0; i < w->nnodes && ranks; i++) {
			struct node *node = &w->nodes[i];
			uint32_t room = node->slots - node->ranks, more = each < room ? each : room;

			node->ranks += more;
			ranks -= more;
		}
	}
}

/* Sets `comm` cores aside by Eq. 1. The other cores are for ranks, and each NUMA node gets its share of them. The cores set
 * aside lie evenly between these. */
static void set_aside(struct work *w, uint32_t comm)
{
	for (uint32_t i = 0; i < w->nnodes; i++)
		w->nodes[i].slots = w->nodes[i].n;
	spread_ranks(w, w->n - comm);
	for (uint32_t i = 0; i < w->nnodes; i++) {
		const struct node *node = &w->nodes[i];
		const uint64_t n = node->n, k = n - node->ranks;

		for (uint64_t j = 1; j <= k; j++)
			w->free[w->core[node->first + (j * n + k - 1) / k - 1]] = true;
	}
}

static int set_list_aside(struct work *w, const struct placement_asked *a, struct text *why)
{
	for (size_t i = 0; i < a->list.n; i++) {
		const uint32_t c = a->list.at[i];

		if (c >= w->t->ncores) {
			text_add(why, "there is no core %u: the node has %u", c, w->t->ncores);
			return -ERR_ARG;
		}
		if (!w->t->cores[c].usable) {
			text_add(why, "core %u is not in the cpuset of the process", c);
			return -ERR_ARG;
		}
		w->free[c] = w->n > 1;
	}
	return 0;
}

/* Chooses the free cores. If there is only one core, ranks and communication share it. */
static int choose_free(struct work *w, const struct placement_asked *a, uint32_t nranks, struct text *why)
{
	const uint32_t left = w->n > nranks ? w->n - nranks : 0;
	const int64_t comm = a->comm_cores < 0 ? left : a->comm_cores;

	if (a->kind == PLACEMENT_LIST)
		return set_list_aside(w, a, why);
	if (w->n == 1)
		return 0;
	if (a->kind == PLACEMENT_ODD_EVEN && !comm) {
		text_add(why, "none of the %u cores is free for communication", w->n);
		return -ERR_ARG;
	}
	set_aside(w, comm < w->n ? (uint32_t)comm : w->n);
	return 0;
}

/* Places the ranks on the cores that are not free, in order. If there are more ranks than cores, neighbours share a core. */
static int place_ranks(struct work *w, struct placement *p, uint32_t *at, struct text *why)
{
	uint32_t r = 0, slot = 0;

	for (uint32_t i = 0; i < w->nnodes; i++) {
		w->nodes[i].slots = 0;
		for (uint32_t k = w->nodes[i].first; k < w->nodes[i].first + w->nodes[i].n; k++)
			if (!w->free[w->core[k]]) {
				w->slot[w->nslots++] = k;
				w->nodes[i].slots++;
			}
	}
	if (!w->nslots) {
		text_add(why, "no core is left for the ranks: all of the %u communicate", w->n);
		return -ERR_ARG;
	}
	if (p->nranks >= w->nslots) {
		for (; r < p->nranks; r++)
			at[r] = w->slot[(uint64_t)r * w->nslots / p->nranks];
		return 0;
	}
	spread_ranks(w, p->nranks);
	for (uint32_t i = 0; i < w->nnodes; slot += w->nodes[i].slots, i++)
		for (uint32_t k = 0; k < w->nodes[i].ranks; k++)
			at[r++] = w->slot[slot + k];
	return 0;
}

/* Returns the core for the communication of a rank: the next free core in the rank's NUMA node (the last core of a node is
 * free if any is). If the node has no free core, returns the nearest free core in logical order, which follows locality. If
 * no core is free at all, returns the rank's own core, the first case of Eq. 1. */
static uint32_t numa_comm(const struct work *w, uint32_t at)
{
	const struct node *node = &w->nodes[w->node[at]];
	uint32_t behind = at, before = at;

	while (behind < w->n && !w->free[w->core[behind]])
		behind++;
	if (behind < node->first + node->n)
		return behind;
	while (before > 0 && !w->free[w->core[before]])
		before--;
	if (!w->free[w->core[before]])
		return behind < w->n ? behind : at;
	return behind == w->n || at - before < behind - at ? before : behind;
}

/* Sets the cores of all ranks and of their communication, from the ranks' positions. */
static void place_comms(struct work *w, struct placement *p, const uint32_t *at, const struct placement_asked *a)
{
	uint32_t *aside = w->slot, naside = 0; /* the slots are not needed any more */

	for (uint32_t c = 0; c < w->t->ncores; c++)
		if (w->free[c])
			aside[naside++] = c;
	for (uint32_t r = 0; r < p->nranks; r++) {
		p->core[r] = w->core[at[r]];
		switch (a->kind) {
		case PLACEMENT_BIND:
			p->comm[r] = p->core[r];
			break;
		case PLACEMENT_NUMA:
			p->comm[r] = w->core[numa_comm(w, at[r])];
			break;
		case PLACEMENT_ODD_EVEN:
			p->comm[r] = naside ? aside[r % naside] : p->core[r];
			break;
		default:
			p->comm[r] = a->list.at[r % a->list.n];
		}
	}
}

/* Sorts the ranks by the core that serves them, and lists these cores. */
static int list_served(struct placement *p, uint32_t ncores)
{
	uint32_t *count = mem_calloc((size_t)ncores + 1, sizeof *count);

	if (!count)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < p->nranks; r++)
		count[p->comm[r]]++;
	for (uint32_t c = 0, first = 0; c < ncores; c++) {
		const uint32_t n = count[c];

		if (n)
			p->comms[p->ncomms++] = (struct placement_comm){ c, first, n };
		count[c] = first;
		first += n;
	}
	for (uint32_t r = 0; r < p->nranks; r++)
		p->served[count[p->comm[r]]++] = r;
	free(count);
	return 0;
}

int placement_make(struct placement *p, const struct topology *t, const struct placement_asked *a, uint32_t nranks,
		   struct text *why)
{
	uint32_t *at = mem_calloc(nranks, sizeof *at);
	struct work w;
	int err = work_init(&w, t);

	*p = (struct placement){ .nranks = nranks,
				 .core = mem_calloc(nranks, sizeof *p->core),
				 .comm = mem_calloc(nranks, sizeof *p->comm),
				 .comms = mem_calloc(nranks, sizeof *p->comms),
				 .served = mem_calloc(nranks, sizeof *p->served) };
	if (!at || !p->core || !p->comm || !p->comms || !p->served)
		err = -ERR_NOMEM;
	err = err ? err : choose_free(&w, a, nranks, why);
	err = err ? err : place_ranks(&w, p, at, why);
	if (!err) {
		place_comms(&w, p, at, a);
		err = list_served(p, t->ncores);
	}
	work_fini(&w);
	free(at);
	if (err)
		placement_free(p);
	return err;
}

void placement_free(struct placement *p)
{
	free(p->core);
	free(p->comm);
	free(p->comms);
	free(p->served);
	*p = (struct placement){ 0 };
}
