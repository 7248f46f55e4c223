/* SPDX-License-Identifier: BSD-3-Clause
 * The definitions of collectives against the same written once more in C, as MPI's text says it, element by element and
 * for all samples of arguments. */
#include "compiler/collectives/collective.h"
#include "compiler/collectives/names.h"
#include "compiler/compile.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 9, ELEMENTS = 4096 };

/* What the buffers of a rank hold at the end: the sequence of sources of each element, as a number. 0: not defined. */
struct model {
	const struct bin *b;
	struct arg_rows rows;
	uint32_t p, root;
	int64_t count;
	uint64_t at[MOST][2][ELEMENTS];
};

static uint64_t mix(uint64_t h, uint32_t rank, uint32_t buf, uint64_t off)
{
	return (h + 1) * 0x9e3779b97f4a7c15u ^ ((uint64_t)rank << 40 | (uint64_t)buf << 32 | (off + 1)) * 0xc2b2ae3d27d4eb4fu;
}

static const struct bin_arg *arg(const struct model *m, uint32_t rank, const char *name)
{
	for (uint32_t i = 0; i < m->b->nparams; i++)
		if (!strcmp(bin_str(m->b, m->b->params[i].name), name))
			return &arg_row(&m->rows, rank)[i];
	return NULL;
}

static int64_t number(const struct model *m, uint32_t rank, const char *name)
{
	const struct bin_arg *a = arg(m, rank, name);

	return a && a->known ? a->value : 0;
}

static int64_t elem(const struct model *m, uint32_t rank, const char *name, int64_t i)
{
	return arg(m, rank, name)->elem[i];
}

/* n elements of a buffer get, or are reduced with, those of another. */
static void put(struct model *m, uint32_t to, uint32_t tobuf, int64_t tooff, uint32_t from, uint32_t buf, int64_t off,
		int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		m->at[to][tobuf][tooff + i] = mix(m->at[to][tobuf][tooff + i], from, buf, (uint64_t)(off + i));
}

static bool inplace(const struct model *m, uint32_t rank)
{
	return number(m, rank, "inplace") != 0;
}

/* ---- the collectives ---- */

static void bcast(struct model *m)
{
	for (uint32_t r = 0; r < m->p; r++)
		put(m, r, 0, 0, m->root, 0, 0, m->count);
}

static void gather(struct model *m)
{
	const bool v = arg(m, 0, "counts");

	for (uint32_t s = 0; s < m->p; s++) {
		int64_t n = v ? elem(m, m->root, "counts", s) : m->count;
		int64_t at = v ? elem(m, m->root, "displs", s) : s * m->count;
		bool in = s == m->root && inplace(m, s);

		put(m, m->root, 1, at, s, in, in ? at : 0, n);
	}
}

static void scatter(struct model *m)
{
	const bool v = arg(m, 0, "counts");

	for (uint32_t r = 0; r < m->p; r++) {
		int64_t n = v ? elem(m, m->root, "counts", r) : m->count;
		int64_t at = v ? elem(m, m->root, "displs", r) : r * m->count;
		bool in = r == m->root && inplace(m, r);

		put(m, r, !in, in ? at : 0, m->root, 0, at, n);
	}
}

static void allgather(struct model *m)
{
	const bool v = arg(m, 0, "counts");

	for (uint32_t r = 0; r < m->p; r++)
		for (uint32_t s = 0; s < m->p; s++) {
			int64_t n = v ? elem(m, 0, "counts", s) : m->count;
			int64_t at = v ? elem(m, 0, "displs", s) : s * m->count;

			put(m, r, 1, at, s, inplace(m, s), inplace(m, s) ? at : 0, n);
		}
}

static void alltoall(struct model *m)
{
	const bool v = arg(m, 0, "sendcounts");

	for (uint32_t s = 0; s < m->p; s++)
		for (uint32_t r = 0; r < m->p; r++) {
			bool in = inplace(m, s);
			int64_t from = !v ? r * m->count : elem(m, s, in ? "rdispls" : "sdispls", r);
			int64_t to = v ? elem(m, r, "rdispls", s) : s * m->count;
			int64_t n = !v ? m->count : elem(m, s, in ? "recvcounts" : "sendcounts", r);

			put(m, r, 1, to, s, in, from, n);
		}
}

static void fold(struct model *m, uint32_t r, uint32_t first, uint32_t end, int64_t off, int64_t n)
{
	for (uint32_t s = first; s < end; s++)
		put(m, r, 1, 0, s, inplace(m, s) && (arg(m, 0, "root") == NULL || s == m->root), off, n);
}

static void reduce(struct model *m)
{
	fold(m, m->root, 0, m->p, 0, m->count);
}

static void allreduce(struct model *m)
{
	for (uint32_t r = 0; r < m->p; r++)
		fold(m, r, 0, m->p, 0, m->count);
}

static void reduce_scatter(struct model *m)
{
	int64_t off = 0;

	for (uint32_t r = 0; r < m->p; r++) {
		int64_t n = arg(m, 0, "recvcounts") ? elem(m, 0, "recvcounts", r) : m->count;

		fold(m, r, 0, m->p, off, n);
		off += n;
	}
}

static void scan(struct model *m)
{
	for (uint32_t r = 0; r < m->p; r++)
		fold(m, r, 0, r + 1, 0, m->count);
}

static void exscan(struct model *m)
{
	for (uint32_t r = 0; r < m->p; r++)
		fold(m, r, 0, r, 0, m->count);
}

/* Blocks on their way from one rank to another, first in, first out. */
struct wire {
	int64_t off[64];
	unsigned sent, got;
};

static void list_exchange(struct model *m, bool all)
{
	static struct wire wires[MOST][MOST];
	const bool v = arg(m, 0, "recvcounts");

	memset(wires, 0, sizeof wires);
	for (uint32_t s = 0; s < m->p && !all; s++)
		for (int64_t e = 0; e < number(m, s, "outdegree"); e++) {
			struct wire *w = &wires[s][elem(m, s, "destinations", e)];

			w->off[w->sent++] = v ? elem(m, s, "sdispls", e) : e * m->count;
		}
	for (uint32_t r = 0; r < m->p; r++)
		for (int64_t j = 0; j < number(m, r, "indegree"); j++) {
			uint32_t s = (uint32_t)elem(m, r, "sources", j);
			struct wire *w = &wires[s][r];

			put(m, r, 1, v ? elem(m, r, "rdispls", j) : j * m->count, s, 0, all ? 0 : w->off[w->got++],
			    v ? elem(m, r, "recvcounts", j) : m->count);
		}
	for (uint32_t i = 0; i < MOST * MOST; i++)
		CU_ASSERT(wires[i / MOST][i % MOST].sent == wires[i / MOST][i % MOST].got);
}

/* The rank at a place of the grid, or -1 outside. */
static int64_t at_place(const struct model *m, int64_t *x)
{
	int64_t r = 0, n = number(m, 0, "ndims");

	for (int64_t d = 0; d < n; d++) {
		int64_t side = elem(m, 0, "dims", d);

		if ((x[d] < 0 || x[d] >= side) && !elem(m, 0, "periods", d))
			return -1;
		r = r * side + (x[d] + side) % side;
	}
	return r;
}

static void grid_exchange(struct model *m, bool all, bool sum)
{
	const bool v = arg(m, 0, "recvcounts");
	const int64_t n = number(m, 0, "ndims");
	int64_t x[3] = { 0 };

	for (uint32_t r = 0; r < m->p; r++) {
		for (int64_t j = 0; j < 2 * n; j++) {
			int64_t s, e = j ^ 1;

			x[j / 2] += j % 2 ? 1 : -1;
			s = at_place(m, x);
			x[j / 2] -= j % 2 ? 1 : -1;
			if (s < 0)
				continue;
			put(m, r, 1, sum ? 0 : v ? elem(m, r, "rdispls", j) : j * m->count, (uint32_t)s, 0,
			    all ? 0 : v ? elem(m, (uint32_t)s, "sdispls", e) : e * m->count,
			    v ? elem(m, r, "recvcounts", j) : m->count);
		}
		for (int64_t d = n - 1; d >= 0 && ++x[d] == elem(m, 0, "dims", d); d--)
			x[d] = 0;
	}
}

static void neighbor_allgather(struct model *m)
{
	if (arg(m, 0, "dims"))
		grid_exchange(m, true, false);
	else
		list_exchange(m, true);
}

static void neighbor_alltoall(struct model *m)
{
	if (arg(m, 0, "dims"))
		grid_exchange(m, false, false);
	else
		list_exchange(m, false);
}

static void neighbor_reduce(struct model *m)
{
	if (arg(m, 0, "dims"))
		grid_exchange(m, true, true);
	for (uint32_t r = 0; r < m->p && !arg(m, 0, "dims"); r++)
		for (int64_t j = 0; j < number(m, r, "indegree"); j++)
			put(m, r, 1, 0, (uint32_t)elem(m, r, "sources", j), 0, 0, m->count);
}

static void barrier(struct model *m)
{
	(void)m;
}

/* ---- schedules with these buffers and parameters ---- */

#define LISTS "local indegree, local outdegree, local sources[indegree], local destinations[outdegree]"
#define GRID "ndims, dims[ndims], periods[ndims]"

static const struct {
	const char *name, *params, *in, *place, *out;
	void (*model)(struct model *m);
} rows[] = {
	{ "MPI_Barrier", "", NULL, NULL, NULL, barrier },
	{ "MPI_Bcast", "root", NULL, NULL, "count", bcast },
	{ "MPI_Gather", "root", "count", "b[r * count +: count] if r == root", "r == root ? p * count : 0", gather },
	{ "MPI_Gatherv", "root, local mycount, rootonly counts[p], rootonly displs[p]", "inplace ? counts[r] : mycount",
	  "b[displs[r] +: counts[r]] if r == root", "r == root ? extent(counts, displs) : 0", gather },
	{ "MPI_Scatter", "root", "r == root ? p * count : 0", NULL, "count] inplace a[r * count +: count] if r == root //",
	  scatter },
	{ "MPI_Scatterv", "root, local mycount, rootonly counts[p], rootonly displs[p]",
	  "r == root ? extent(counts, displs) : 0", NULL,
	  "inplace ? counts[r] : mycount] inplace a[displs[r] +: counts[r]] if r == root //", scatter },
	{ "MPI_Allgather", "", "count", "b[r * count +: count]", "p * count", allgather },
	{ "MPI_Allgatherv", "counts[p], displs[p]", "counts[r]", "b[displs[r] +: counts[r]]", "extent(counts, displs)",
	  allgather },
	{ "MPI_Alltoall", "", "p * count", "b", "p * count", alltoall },
	{ "MPI_Alltoallv", "local sendcounts[p], local sdispls[p], local recvcounts[p], local rdispls[p]",
	  "inplace ? extent(recvcounts, rdispls) : extent(sendcounts, sdispls)", "b", "extent(recvcounts, rdispls)", alltoall },
	{ "MPI_Alltoallw", "local sendcounts[p], local sdispls[p], local recvcounts[p], local rdispls[p]",
	  "inplace ? extent(recvcounts, rdispls) : extent(sendcounts, sdispls)", "b", "extent(recvcounts, rdispls)", alltoall },
	{ "MPI_Reduce", "root", "count", "b if r == root", "r == root ? count : 0", reduce },
	{ "MPI_Allreduce", "", "count", "b", "count", allreduce },
	{ "MPI_Reduce_scatter", "recvcounts[p]", "sum(recvcounts, 0, p)", "b",
	  "inplace ? sum(recvcounts, 0, p) : recvcounts[r]", reduce_scatter },
	{ "MPI_Reduce_scatter_block", "", "p * count", "b", "inplace ? p * count : count", reduce_scatter },
	{ "MPI_Scan", "", "count", "b", "count", scan },
	{ "MPI_Exscan", "", "count", "b", "count", exscan },
	{ "MPI_Neighbor_allgather", LISTS, "count", NULL, "indegree * count", neighbor_allgather },
	{ "MPI_Neighbor_allgather", GRID, "count", NULL, "2 * ndims * count", neighbor_allgather },
	{ "MPI_Neighbor_allgatherv", LISTS ", local mycount, local recvcounts[indegree], local rdispls[indegree]", "mycount",
	  NULL, "extent(recvcounts, rdispls)", neighbor_allgather },
	{ "MPI_Neighbor_allgatherv", GRID ", local mycount, local recvcounts[2 * ndims], local rdispls[2 * ndims]", "mycount",
	  NULL, "extent(recvcounts, rdispls)", neighbor_allgather },
	{ "MPI_Neighbor_alltoall", LISTS, "outdegree * count", NULL, "indegree * count", neighbor_alltoall },
	{ "MPI_Neighbor_alltoall", GRID, "2 * ndims * count", NULL, "2 * ndims * count", neighbor_alltoall },
	{ "MPI_Neighbor_alltoallv", LISTS ", local sendcounts[outdegree], local sdispls[outdegree], local "
	  "recvcounts[indegree], local rdispls[indegree]", "extent(sendcounts, sdispls)", NULL,
	  "extent(recvcounts, rdispls)", neighbor_alltoall },
	{ "MPI_Neighbor_alltoallw", GRID ", local sendcounts[2 * ndims], local sdispls[2 * ndims], local "
	  "recvcounts[2 * ndims], local rdispls[2 * ndims]", "extent(sendcounts, sdispls)", NULL,
	  "extent(recvcounts, rdispls)", neighbor_alltoall },
	{ "neighbor_reduce", LISTS, "count", NULL, "count", neighbor_reduce },
	{ "neighbor_reduce", GRID, "count", NULL, "count", neighbor_reduce },
};

static void write_text(size_t i, char *out, size_t size)
{
	int n = snprintf(out, size, "schedule s(%s) implements %s\n", rows[i].params, rows[i].name);

	if (rows[i].in)
		n += snprintf(out + n, size - (size_t)n, "buffer in a[%s]%s%s\n", rows[i].in, rows[i].place ? " inplace " : "",
			      rows[i].place ? rows[i].place : "");
	if (rows[i].out)
		n += snprintf(out + n, size - (size_t)n, "buffer %s b[%s]\n", rows[i].in ? "out" : "inout", rows[i].out);
	snprintf(out + n, size - (size_t)n, "rank r of p { }\n");
}

/* The wants of all ranks are the model's. */
static bool same(const struct model *m, const struct expected *wants)
{
	for (uint32_t r = 0; r < m->p; r++) {
		static uint64_t got[2][ELEMENTS];

		memset(got, 0, sizeof got);
		for (size_t i = 0; i < wants[r].v.n; i++) {
			const struct expected_range *w = &wants[r].v.at[i];

			for (uint64_t k = 0; k < w->len; k++)
				for (uint32_t s = 0; s < w->nsrc; s++) {
					const struct expected_src *src = &wants[r].src.at[w->src + s];
					uint64_t *h = &got[w->buf][w->off + k];

					*h = mix(*h, src->rank, src->buf, src->off + k);
				}
		}
		if (memcmp(got, m->at[r], sizeof got) != 0)
			return false;
	}
	return true;
}

static void one(size_t row, const struct bin *b, struct model *m, unsigned which)
{
	struct bin_args args = { .size = m->p, .count = m->count };
	struct expected wants[MOST];
	struct ir_fault fault;
	struct claim c;
	uint32_t rank;
	int err;

	memset(m->at, 0, sizeof m->at);
	m->b = b;
	CU_ASSERT_FATAL(!arg_rows_init(&m->rows, b, m->p) && !collective_sample(b, m->count, which, &m->rows));
	if (b->meta->root != BIN_NONE)
		arg_rows_set(&m->rows, b->meta->root, (struct bin_arg){ .known = true, .value = m->root });
	args.by_rank = m->rows.by_rank;
	rows[row].model(m);
	CU_ASSERT_FATAL(!claim_open(&c, b, &fault));
	err = claim_all_expected(&c, &args, wants, &rank, &fault);
	if (err || !same(m, wants)) {
		printf("# %s %s size %u root %u count %d sample %s: %s\n", rows[row].name, rows[row].params, m->p, m->root,
		       (int)m->count, m->rows.name, err ? fault.text : "it differs");
		CU_FAIL("the definition differs from the model");
	}
	for (uint32_t r = 0; r < m->p && !err; r++)
		expected_fini(&wants[r]);
	claim_close(&c);
	arg_rows_fini(&m->rows);
}

static void definitions(void)
{
	static const uint32_t sizes[] = { 1, 2, 3, 4, 6, 8, 9 };
	static struct model m;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct goal_diags *d = goal_diags_new();
		struct compile_options o = { 0 };
		void *image = NULL;
		size_t size = 0;
		char text[1024];
		struct bin b;

		write_text(i, text, sizeof text);
		/* Nothing is done, so that it is not what is claimed: no check of goalc says so. */
		CU_ASSERT_FATAL(d && !compile_text(d, "test.goal", text, strlen(text), &o, &image, &size));
		CU_ASSERT_FATAL(!bin_open(&b, image, size));
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			for (m.count = 0; m.count < 6; m.count += 5)
				for (m.root = 0; m.root < (b.meta->root == BIN_NONE ? 1 : sizes[k]); m.root += 2)
					for (unsigned w = 0; w < collective_samples(&b); w++) {
						m.p = sizes[k];
						one(i, &b, &m, w);
					}
		free(image);
		goal_diags_free(d);
	}
}

/* What depends on more than the root is in the binary for a fixed size, and the same there. */
static void concrete(void)
{
	static struct model m;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (unsigned which = 0; which < 8; which++) {
			struct goal_diags *d = goal_diags_new();
			struct compile_options o = { 0 };
			struct bin_args args = { .size = 6, .count = 4 };
			void *image = NULL, *fixed = NULL;
			struct expected wants[6];
			struct ir_fault fault;
			VEC(struct define) defines = { 0 };
			size_t size = 0;
			char text[1024];
			struct bin b, f;
			struct claim c;
			uint32_t rank;

			write_text(i, text, sizeof text);
			CU_ASSERT_FATAL(d && !compile_text(d, "test.goal", text, strlen(text), &o, &image, &size));
			CU_ASSERT_FATAL(!bin_open(&b, image, size));
			if (which >= collective_samples(&b)) {
				free(image);
				goal_diags_free(d);
				break;
			}
			m = (struct model){ .b = &b, .p = 6, .count = 4, .root = b.meta->root == BIN_NONE ? 0 : 2 };
			CU_ASSERT_FATAL(!arg_rows_init(&m.rows, &b, 6) && !collective_sample(&b, 4, which, &m.rows));
			rows[i].model(&m);
			for (uint32_t r = 0; r < 6; r++)
				for (uint32_t k = 0; k < b.nparams; k++) {
					const struct bin_arg *a = &arg_row(&m.rows, r)[k];
					const struct define def = { bin_str(&b, b.params[k].name),
								    b.params[k].scope == BIN_LOCAL ? (int64_t)r : -1,
								    b.params[k].vector ? a->elem : &a->value,
								    b.params[k].vector ? a->n : 1, false };

					if (a->known)
						CU_ASSERT_FATAL(!VEC_PUSH(&defines, def));
				}
			o = (struct compile_options){ .nranks = 6, .defines = defines.at, .ndefines = defines.n };
			CU_ASSERT(!compile_text(d, "fixed.goal", text, strlen(text), &o, &fixed, &size));
			if (goal_diags_errors(d))
				fputs(goal_diags_text(d), stdout);
			CU_ASSERT_FATAL(fixed && !bin_check(fixed, size) && !bin_open(&f, fixed, size));
			const struct bin_arg root = { .known = true, .value = m.root };

			args.args = b.meta->root == BIN_NONE ? NULL : &root;
			CU_ASSERT(!claim_open(&c, &f, &fault));
			CU_ASSERT_FATAL(!claim_all_expected(&c, &args, wants, &rank, &fault));
			CU_ASSERT(same(&m, wants));
			for (uint32_t r = 0; r < 6; r++)
				expected_fini(&wants[r]);
			claim_close(&c);
			VEC_FREE(&defines);
			arg_rows_fini(&m.rows);
			free(image);
			free(fixed);
			goal_diags_free(d);
		}
}

/* What the names of collectives say: whether they reduce, and whether their ranks are neighbours. */
static void names(void)
{
	void (*const reducing[])(struct model *) = { reduce, allreduce, reduce_scatter, scan, exscan, neighbor_reduce };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool reduces = false;

		for (size_t k = 0; k < sizeof reducing / sizeof *reducing; k++)
			reduces |= rows[i].model == reducing[k];
		CU_ASSERT_EQUAL(collective_reduces(rows[i].name), reduces);
		CU_ASSERT_EQUAL(collective_near(rows[i].name), strstr(rows[i].params, "indegree") || strstr(rows[i].params, "ndims"));
		CU_ASSERT_PTR_EQUAL(collective_name(rows[i].name), collective_name(collective_name(rows[i].name)));
	}
	CU_ASSERT_PTR_NULL(collective_name("MPI_Reduce_all"));
}

static const struct unit_test tests[] = {
	{ "names", names }, { "definitions", definitions },
	{ "concrete", concrete },
	{ NULL, NULL },
};

const struct unit_suite suite_definitions = { "definitions", tests };
