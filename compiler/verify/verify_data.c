/* SPDX-License-Identifier: BSD-3-Clause
 * Compares the values that a symbolic run has left in the buffers with the expected ranges. */
#include "compiler/verify/verify_parts.h"

#include "compiler/analysis/checks.h"
#include "compiler/analysis/race.h"
#include "compiler/collectives/collective.h"
#include "util/err.h"
#include "util/order.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 6u /* number of runs of contributions that one report lists */

/* ---- expected sums ---- */

/* Lists the sources of an expected range, each as a run of one rank, and returns their number. */
static size_t list_sources(const struct expected *w, const struct expected_range *range, struct term_run *out)
{
	for (uint32_t i = 0; i < range->nsrc; i++) {
		const struct expected_src *s = &w->src.at[range->src + i];

		out[i] = (struct term_run){ s->rank, s->buf, 1, 1, (int64_t)s->off };
	}
	return range->nsrc;
}

/* The parameter `max` of terms_new() is the largest number of sources of an expected range: no expected sum has more runs or
 * contributions. */
struct terms *verify_terms(const struct ir_graph *g, const struct expected *by_rank, bool commutative)
{
	uint64_t max = 0;

	if ((uint64_t)g->nranks * g->nbuffers >= UINT32_MAX / 2)
		return NULL;
	for (uint32_t r = 0; by_rank && r < g->nranks; r++)
		for (size_t i = 0; i < by_rank[r].v.n; i++)
			if (by_rank[r].v.at[i].nsrc > max)
				max = by_rank[r].v.at[i].nsrc;
	return terms_new(g->nranks, g->nbuffers, commutative, max);
}

/* ---- reports ---- */

static const char *buffer_name(const struct ir_graph *g, uint32_t buf)
{
	return buf < g->bin->nbuffers ? bin_str(g->bin, g->bin->buffers[buf].name) : "scratch of a pass";
}

struct data {
	struct goal_diags *d;
	const struct symbolic *s;
	const struct expected *by_rank;
	struct term_run *parts; /* room for the sources of an expected range */
	unsigned wrong; /* number of wrong ranges found */
};

/* True if the contents of a buffer are undefined at the start. An out buffer that holds input in place has
 * defined contents. */
static bool is_undefined(const struct data *x, uint32_t buf)
{
	enum bin_mode mode = ir_graph_mode(x->s->g, buf);

	for (uint32_t r = 0; mode == BIN_OUT && r < x->s->g->nranks; r++)
		for (size_t i = 0; i < x->by_rank[r].src.n; i++)
			if (x->by_rank[r].src.at[i].buf == buf)
				return false;
	return mode == BIN_OUT || mode == BIN_SCRATCH;
}

/* Adds runs of contributions to a text, like "mine[0 +: 7] of ranks 0 to 3, 5". */
static void say_runs(struct text *t, const struct data *x, const struct term_run *r, size_t n, bool more, uint64_t len)
{
	if (n > 1 || more || (n && r->n > 1))
		text_add(t, "the reduction of ");
	for (size_t i = 0; i < n; i++, r++) {
		bool again = i && r[-1].buf == r->buf && r[-1].at == r->at;
		bool one = r->n == 1 && (i + 1 == n || r[1].buf != r->buf || r[1].at != r->at);

		if (again)
			text_add(t, ", %u", r->rank);
		else
			text_add(t, "%s%s%s[%" PRId64 " +: %" PRIu64 "] of rank%s %u", i ? ", " : "",
				 is_undefined(x, r->buf) ? "undefined " : "", buffer_name(x->s->g, r->buf), r->at, len,
				 one ? "" : "s", r->rank);
		if (r->n > 1)
			text_add(t, " to %u", r->rank + r->n - 1);
	}
	if (more)
		text_add(t, " and more");
}

/* Reports that elements [lo, hi) of a buffer hold the value v, which is wrong. */
static int report_wrong_data(struct data *x, uint32_t rank, const struct expected_range *range, uint64_t lo, uint64_t hi,
			     uint32_t writer, struct value v)
{
	const struct ir_graph *g = x->s->g;
	struct term_run has[RUNS];
	bool more;
	size_t n = terms_list(x->s->terms, v, has, RUNS, &more),
	       expected = list_sources(&x->by_rank[rank], range, x->parts);
	static const char format[] = "%s", unwritten[] = "unwritten"; /* the kinds of these messages */
	struct goal_loc at = { .col = (uint16_t)range->buf, .file = (uint16_t)g->file };
	struct text t = { 0 };
	size_t m = 0;

	if (writer)
		at = check_loc(g, rank, writer - 1);
	x->wrong++;
	if (goal_diag_again(x->d, GOAL_ERROR, at, writer ? format : unwritten, rank))
		return 0;
	text_add(&t, "rank %u: at the end %s ", rank, check_range_text(g, range->buf, lo, hi).s);
	if (n == 1 && !more && has[0].rank == rank && has[0].buf == range->buf && has[0].at == (int64_t)lo &&
	    has[0].n == 1) {
		text_add(&t, is_undefined(x, range->buf) ? "has not been written" : "is as it was at the start");
	} else {
		text_add(&t, "holds ");
		say_runs(&t, x, has, n, more, hi - lo);
	}
	for (size_t i = 0; i < expected; i++) { /* joins the expected sources into runs, shifted to the reported position */
		struct term_run r = x->parts[i];

		r.at += (int64_t)(lo - range->off);
		if (m && x->parts[m - 1].buf == r.buf && x->parts[m - 1].at == r.at &&
		    x->parts[m - 1].rank + x->parts[m - 1].n == r.rank)
			x->parts[m - 1].n++;
		else
			x->parts[m++] = r;
	}
	text_add(&t, ", not ");
	say_runs(&t, x, x->parts, m < RUNS ? m : RUNS, m > RUNS, hi - lo);
	if (!t.err && writer)
		check_found(x->d, g, "result", GOAL_ERROR, rank, writer - 1, format, t.at);
	else if (!t.err)
		goal_diag(x->d, GOAL_ERROR, at, "result", "%s%s", g->sample, t.at);
	free(t.at);
	return t.err;
}

/* ---- comparison ---- */

static int check_range(struct data *x, uint32_t rank, const struct expected_range *range)
{
	struct sym_initial room;
	const struct sym_map *m = sym_contents(x->s, rank, range->buf, &room);
	uint64_t at = range->off, end = range->off + range->len, begin = at;
	struct terms *terms = x->s->terms;
	uint32_t sum;
	int64_t offset;
	int err = 0;

	if (!range->len)
		return 0;
	if (end > m->size || end < at) {
		x->wrong++;
		goal_diag(x->d, GOAL_ERROR, (struct goal_loc){ .file = (uint16_t)x->s->g->file }, "result",
			  "%srank %u: the result is for %s, beyond the end of the buffer", x->s->g->sample, rank,
			  check_range_text(x->s->g, range->buf, at, end).s);
		return 0;
	}
	err = terms_expected(terms, x->parts, list_sources(&x->by_rank[rank], range, x->parts), &sum, &offset);
	for (size_t i = sym_find(m, at); at < end && !err; i++) {
		const struct sym_seg *seg = &m->v.at[i];
		uint64_t stop = sym_end(m, i) < end ? sym_end(m, i) : end;
		struct value v = { seg->term, (int64_t)at + seg->shift };
		int64_t has_offset;
		uint32_t has = terms_sum(terms, v, &has_offset);
		const struct sym_seg *next = i + 1 < m->v.n ? seg + 1 : NULL;

		if (has == sum && has != TERMS_TOO_MANY && has_offset == offset + (int64_t)(at - range->off)) {
			begin = stop;
		} else if (stop == end || !next || next->term != seg->term || next->shift != seg->shift ||
			   next->writer != seg->writer) {
			v.at = (int64_t)begin + seg->shift;
			err = report_wrong_data(x, rank, range, begin, stop, seg->writer, v);
			begin = stop;
		}
		at = stop;
	}
	return err;
}

/* ---- brackets ---- */

/* A rank that holds the result of a reduction. */
struct reduction {
	uint32_t sum, rank;
	int64_t offset;
	const struct expected_range *range;
};

static int by_sum(const void *a, const void *b)
{
	const struct reduction *x = a, *y = b;

	ORDER_BY(x->sum, y->sum);
	ORDER_BY(x->offset, y->offset);
	ORDER_BY(x->range->len, y->range->len);
	return (x->rank > y->rank) - (x->rank < y->rank);
}

static bool same_terms(const struct symbolic *s, const struct reduction *x, const struct reduction *y)
{
	struct sym_initial room[2];
	const struct sym_map *a = sym_contents(s, x->rank, x->range->buf, &room[0]);
	const struct sym_map *b = sym_contents(s, y->rank, y->range->buf, &room[1]);
	uint64_t at = 0;

	for (size_t i = sym_find(a, x->range->off), k = sym_find(b, y->range->off); at < x->range->len;) {
		uint64_t a_end = sym_end(a, i) - x->range->off, b_end = sym_end(b, k) - y->range->off;

		if (a->v.at[i].term != b->v.at[k].term || a->v.at[i].shift + (int64_t)x->range->off !=
								   b->v.at[k].shift + (int64_t)y->range->off)
			return false;
		at = a_end < b_end ? a_end : b_end;
		i += a_end == at;
		k += b_end == at;
	}
	return true;
}

/* Finds two ranks that hold the result of one reduction, but bracketed differently. */
static int check_brackets(struct data *x, uint32_t differ[2])
{
	VEC(struct reduction) v = { 0 };
	int err = 0;

	for (uint32_t r = 0; r < x->s->g->nranks && !err; r++)
		for (size_t i = 0; i < x->by_rank[r].v.n && !err; i++) {
			const struct expected_range *w = &x->by_rank[r].v.at[i];
			struct reduction red = { .rank = r, .range = w };

			if (w->nsrc < 2 || !w->len)
				continue;
			err = terms_expected(x->s->terms, x->parts, list_sources(&x->by_rank[r], w, x->parts), &red.sum,
					     &red.offset);
			err = err ? err : VEC_PUSH(&v, red);
		}
	ORDER_VEC(&v, by_sum);
	for (size_t i = 1, first = 0; i < v.n && !err; i++) {
		const struct reduction *a = &v.at[first], *b = &v.at[i];

		if (a->sum != b->sum || a->offset != b->offset || a->range->len != b->range->len) {
			first = i;
		} else if (!same_terms(x->s, a, b)) {
			differ[0] = a->rank;
			differ[1] = b->rank;
			break;
		}
	}
	VEC_FREE(&v);
	return err;
}

int verify_data(struct goal_diags *d, const struct symbolic *s, const struct expected *by_rank, uint32_t differ[2])
{
	struct data x = { .d = d, .s = s, .by_rank = by_rank };
	uint32_t max = 1;
	int err = 0;

	for (uint32_t r = 0; r < s->g->nranks; r++)
		for (size_t i = 0; i < by_rank[r].v.n; i++)
			if (by_rank[r].v.at[i].nsrc > max)
				max = by_rank[r].v.at[i].nsrc;
	x.parts = mem_alloc(max * sizeof *x.parts);
	if (!x.parts)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < s->g->nranks && !err; r++)
		for (size_t i = 0; i < by_rank[r].v.n && !err; i++)
			err = check_range(&x, r, &by_rank[r].v.at[i]);
	if (!err && !x.wrong)
		err = check_brackets(&x, differ);
	free(x.parts);
	return err;
}
