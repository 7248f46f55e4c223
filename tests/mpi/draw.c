/* SPDX-License-Identifier: BSD-3-Clause
 * Random choices of diff that all ranks must agree about: the communicators of a round, and what a collective moves. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers ---- */

uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

uint64_t draw(struct rng *g)
{
	return mix(g->state++, 7);
}

int below(struct rng *g, int n)
{
	return n < 1 ? 0 : (int)(draw(g) >> 33) % n;
}

bool one_in(struct rng *g, int n)
{
	return below(g, n) == 0;
}

void shuffle(struct rng *g, int *at, int n)
{
	int i, k, t;

	for (i = n - 1; i > 0; i--) {
		k = below(g, i + 1);
		t = at[i];
		at[i] = at[k];
		at[k] = t;
	}
}

/* ---- communicators ---- */

/* Neighbours of all ranks in a Cartesian grid: for each dimension, the one before and the one after. */
static void grid_edges(struct pooled *c, int dims, const int *dim, const int *period)
{
	int r, d, n = 0, to, side;

	for (r = 0; r < c->size; r++) {
		c->out_at[r] = c->in_at[r] = n;
		for (d = 0; d < dims; d++) {
			int below_d = 1, x, i;

			for (i = d + 1; i < dims; i++)
				below_d *= dim[i];
			x = r / below_d % dim[d];
			for (side = -1; side <= 1; side += 2) {
				to = x + side;
				if (period[d])
					to = (to + dim[d]) % dim[d];
				c->out[n] = c->in[n] = to < 0 || to >= dim[d] ? -1 : r + (to - x) * below_d;
				n++;
			}
		}
	}
	c->out_at[r] = c->in_at[r] = n;
}

static void make_grid(struct rng *g, MPI_Comm base, struct pooled *c)
{
	int size, rank, dims = 1 + below(g, 3), dim[3] = { 0 }, period[3], i, used = 1;
	bool part;

	MPI_Comm_size(base, &size);
	MPI_Comm_rank(base, &rank);
	part = size > 2 && one_in(g, 3);
	MPI_Dims_create(part ? size - 1 : size, dims, dim);
	for (i = 0; i < dims; i++) {
		period[i] = below(g, 2);
		used *= dim[i];
		c->twice |= period[i] && dim[i] <= 2;
	}
	c->near = c->grid = true;
	MPI_Cart_create(base, dims, dim, period, 0, &c->comm);
	c->size = used;
	if (c->comm != MPI_COMM_NULL)
		grid_edges(c, dims, dim, period);
	snprintf(c->what, sizeof(c->what), "grid of %d x %d x %d, periods %d %d %d", dim[0], dims > 1 ? dim[1] : 1,
		dims > 2 ? dim[2] : 1, period[0], dims > 1 ? period[1] : 0, dims > 2 ? period[2] : 0);
}

/* A graph with `edges` from each rank to each; each rank has its neighbours in a random order. */
static void graph_edges(struct rng *g, struct pooled *c, const int *edges)
{
	int i, j, k, n = 0, m = 0;

	for (i = 0; i < c->size; i++) {
		c->out_at[i] = n;
		c->in_at[i] = m;
		for (j = 0; j < c->size; j++) {
			c->twice |= edges[i * c->size + j] > 1;
			for (k = 0; k < edges[i * c->size + j]; k++)
				c->out[n++] = j;
			for (k = 0; k < edges[j * c->size + i]; k++)
				c->in[m++] = j;
		}
		shuffle(g, c->out + c->out_at[i], n - c->out_at[i]);
		shuffle(g, c->in + c->in_at[i], m - c->in_at[i]);
	}
	c->out_at[i] = n;
	c->in_at[i] = m;
	c->near = true;
}

static void make_graph(struct rng *g, MPI_Comm base, struct pooled *c, bool old)
{
	int size, rank, i, j, most, *edges, index[MOST_RANKS], *none = (int[]){ 0 };

	MPI_Comm_size(base, &size);
	MPI_Comm_rank(base, &rank);
	edges = calloc((size_t)(size * size), sizeof(*edges));
	most = size > 8 ? 1 : 1 + below(g, 2);
	for (i = 0; i < size; i++)
		for (j = old ? i : 0; j < size; j++) {
			edges[i * size + j] = size > 12 ? (j == (i + 3) % size) : below(g, 5) < 2 ? 1 + below(g, most) : 0;
			if (old)
				edges[j * size + i] = edges[i * size + j];
		}
	c->size = size;
	graph_edges(g, c, edges);
	free(edges);
	if (old) { /* it has one list of neighbours for both directions */
		memcpy(c->in, c->out, sizeof(c->in));
		for (i = 0; i < size; i++)
			index[i] = c->out_at[i + 1];
		MPI_Graph_create(base, size, index, c->out, 0, &c->comm);
	} else {
		int in = c->in_at[rank + 1] - c->in_at[rank], out = c->out_at[rank + 1] - c->out_at[rank];

		MPI_Dist_graph_create_adjacent(base, in, in ? c->in + c->in_at[rank] : none, MPI_UNWEIGHTED, out,
			out ? c->out + c->out_at[rank] : none, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c->comm);
	}
	snprintf(c->what, sizeof(c->what), "%s of %d", old ? "graph" : "directed graph", size);
}

static void make_split(struct rng *g, MPI_Comm base, struct pooled *c)
{
	int size, rank, color[MOST_RANKS], key[MOST_RANKS], colors = 1 + below(g, 3), i;
	bool some = one_in(g, 3);

	MPI_Comm_size(base, &size);
	MPI_Comm_rank(base, &rank);
	for (i = 0; i < size; i++) {
		color[i] = some && one_in(g, 4) ? MPI_UNDEFINED : below(g, colors);
		key[i] = below(g, 20) - 10;
	}
	MPI_Comm_split(base, color[rank], key[rank], &c->comm);
	c->salt = (uint64_t)(unsigned)color[rank];
	snprintf(c->what, sizeof(c->what), "split by %d colours", colors);
}

static void make_group(struct rng *g, MPI_Comm base, struct pooled *c)
{
	int size, order[MOST_RANKS], i, n;
	MPI_Group all, some;

	MPI_Comm_size(base, &size);
	for (i = 0; i < size; i++)
		order[i] = i;
	shuffle(g, order, size);
	n = 1 + below(g, size);
	MPI_Comm_group(base, &all);
	MPI_Group_incl(all, n, order, &some);
	MPI_Comm_create(base, some, &c->comm);
	MPI_Group_free(&all);
	MPI_Group_free(&some);
	snprintf(c->what, sizeof(c->what), "group of %d", n);
}

static void find_ranks(MPI_Comm base, struct pooled *c)
{
	MPI_Group all, mine;
	int order[MOST_RANKS], i;

	MPI_Comm_size(c->comm, &c->size);
	MPI_Comm_rank(c->comm, &c->rank);
	MPI_Comm_group(base, &all);
	MPI_Comm_group(c->comm, &mine);
	for (i = 0; i < c->size; i++)
		order[i] = i;
	MPI_Group_translate_ranks(mine, c->size, order, all, c->world);
	MPI_Group_free(&all);
	MPI_Group_free(&mine);
}

void pooled_draw(struct rng *g, MPI_Comm base, bool near, struct pooled *c)
{
	MPI_Comm mixed = base;
	int size, rank;

	*c = (struct pooled){ .comm = MPI_COMM_NULL, .twin = MPI_COMM_NULL };
	MPI_Comm_size(base, &size);
	MPI_Comm_rank(base, &rank);
	switch (near ? 5 : below(g, 8)) {
	case 0:
		c->comm = base;
		c->borrowed = true;
		strcpy(c->what, "all");
		break;
	case 1:
		MPI_Comm_split(base, 0, size - rank, &c->comm);
		strcpy(c->what, "reversed");
		break;
	case 2:
		if (one_in(g, 4)) {
			MPI_Comm_dup(MPI_COMM_SELF, &c->comm);
			c->salt = (uint64_t)rank;
			strcpy(c->what, "self");
			break;
		} /* fall through */
	case 3:
		make_split(g, base, c);
		break;
	case 4:
		make_group(g, base, c);
		break;
	default:
		if (one_in(g, 2))
			MPI_Comm_split(base, 0, (rank * 5 + 3) % 7, &mixed);
		switch (below(g, 3)) {
		case 0:
			make_grid(g, mixed, c);
			break;
		case 1:
			make_graph(g, mixed, c, false);
			break;
		default:
			make_graph(g, mixed, c, true);
		}
		if (mixed != base)
			MPI_Comm_free(&mixed);
	}
	if (c->comm == MPI_COMM_NULL)
		return;
	find_ranks(base, c);
	MPI_Comm_dup(c->comm, &c->twin);
}

void pooled_free(struct pooled *c)
{
	if (c->comm == MPI_COMM_NULL)
		return;
	MPI_Comm_free(&c->twin);
	if (!c->borrowed)
		MPI_Comm_free(&c->comm);
}

/* ---- collectives ---- */

bool reduces(enum coll c)
{
	return c >= C_REDUCE && c <= C_EXSCAN;
}

bool is_near(enum coll c)
{
	return c >= C_NEIGHBOR_ALLGATHER;
}

static int basic_named(const char *name)
{
	int i;

	for (i = 0; i < basic_count; i++)
		if (strcmp(basics[i].name, name) == 0)
			return i;
	abort();
}

static void draw_op(struct rng *g, struct plan *p)
{
	int i;

	p->use = USERS;
	p->op = p->user = -1;
	p->multiple = 1;
	if (one_in(g, 2)) {
		p->user = below(g, user_op_count);
		p->units = user_ops[p->user].n;
		for (i = 0; i < p->units; i++)
			p->unit[i] = basic_named(user_ops[p->user].unit[i]);
		return;
	}
	p->units = 1;
	do {
		p->op = below(g, PREDEFINED);
		p->unit[0] = below(g, basic_count);
	} while (!(basics[p->unit[0]].fits >> p->op & 1));
	p->use = predefined_use(p->op);
}

/* Counts in multiples: mostly few, sometimes so many that other algorithms are used. */
static int draw_most(struct rng *g, int size)
{
	switch (below(g, 24)) {
	case 0:
		return 40000 / size;
	case 1:
		return 4000 / size;
	case 2:
	case 3:
	case 4:
		return 200;
	case 5:
	case 6:
	case 7:
	case 8:
	case 9:
		return 24;
	default:
		return 4;
	}
}

static bool has_vectors(enum coll c)
{
	switch (c) {
	case C_GATHERV:
	case C_SCATTERV:
	case C_ALLGATHERV:
	case C_ALLTOALLV:
	case C_ALLTOALLW:
	case C_REDUCE_SCATTER:
	case C_NEIGHBOR_ALLGATHERV:
	case C_NEIGHBOR_ALLTOALLV:
	case C_NEIGHBOR_ALLTOALLW:
		return true;
	default:
		return false;
	}
}

void plan_draw(struct rng *g, enum coll coll, const struct pooled *on, struct plan *p)
{
	int i;

	*p = (struct plan){ .coll = coll, .on = on, .op = -1, .user = -1 };
	p->seed = mix(draw(g), on->salt);
	p->root = below(g, 1 << 20) % on->size;
	p->place = !is_near(coll) && coll != C_BARRIER && coll != C_BCAST && one_in(g, 3);
	p->multiple = (int[]){ 1, 1, 2, 3, 4, 6, 8, 12 }[below(g, 8)];
	p->most = draw_most(g, on->size);
	p->none = one_in(g, 20);
	p->hollow = p->none && !has_vectors(coll) && one_in(g, 2);
	p->units = one_in(g, 3) ? 1 + below(g, 3) : 1;
	for (i = 0; i < p->units; i++)
		p->unit[i] = below(g, basic_count);
	if (reduces(coll))
		draw_op(g, p);
	if (p->units * p->multiple * p->most > 120000 / on->size)
		p->most = 120000 / on->size / (p->units * p->multiple);
}

static bool all_to_all(enum coll c)
{
	return (c >= C_ALLTOALL && c <= C_ALLTOALLW) || c >= C_NEIGHBOR_ALLTOALL;
}

int plan_units(const struct plan *p, int i, int j)
{
	uint64_t h;
	int t;

	if (p->none || p->coll == C_BARRIER)
		return 0;
	if (!has_vectors(p->coll))
		i = j = 0;
	else if (!all_to_all(p->coll))
		j = 0;
	if (p->place && i > j) { /* what is sent in place is as much as what is received */
		t = i;
		i = all_to_all(p->coll) ? j : i;
		j = all_to_all(p->coll) ? t : j;
	}
	h = mix(p->seed, (uint64_t)(i * 1000 + j));
	if (has_vectors(p->coll) && h % 4 == 0)
		return 0;
	return p->multiple * (int)((h >> 8) % (uint64_t)(p->most + 1));
}

uint64_t plan_value(const struct plan *p, int start, int rank, int block, int k)
{
	return mix(mix(p->seed, (uint64_t)start), (uint64_t)(rank * 1000 + block) << 32 | (uint32_t)k);
}

/* Which of the edges from `from` to `to` is edge number b that enters `to`, as a number of the edges that leave `from`. In a
 * graph, edges between the same two are in the same order on both. In a grid, what leaves downwards enters from above (MPI-4.1,
 * section 8.6). */
static int edge(const struct pooled *c, int from, int to, int b)
{
	int e, before = 0;

	if (c->grid)
		return b ^ 1;
	for (e = c->in_at[to]; e < c->in_at[to] + b; e++)
		before += c->in[e] == from;
	for (e = c->out_at[from]; e < c->out_at[from + 1]; e++)
		if (c->out[e] == to && before-- == 0)
			return e - c->out_at[from];
	abort();
}

bool plan_source(const struct plan *p, int b, int *rank, int *block)
{
	const struct pooled *c = p->on;

	*rank = b;
	*block = 0;
	switch (p->coll) {
	case C_BCAST:
		*rank = p->root;
		return c->rank != p->root;
	case C_SCATTER:
	case C_SCATTERV:
		*rank = p->root;
		*block = c->rank;
		return true;
	case C_ALLTOALL:
	case C_ALLTOALLV:
	case C_ALLTOALLW:
		*block = c->rank;
		return true;
	case C_GATHER:
	case C_GATHERV:
	case C_ALLGATHER:
	case C_ALLGATHERV:
		return true;
	default:
		*rank = c->in[c->in_at[c->rank] + b];
		if (*rank >= 0 && p->coll >= C_NEIGHBOR_ALLTOALL)
			*block = edge(c, *rank, c->rank, b);
		return *rank >= 0;
	}
}
