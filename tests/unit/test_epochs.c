/* SPDX-License-Identifier: BSD-3-Clause
 * The argument about epochs (compiler/verify/PROOF.md), on graphs that are really unrolled: with signals for those messages
 * that the verifier says need one, nothing is put into place before its recv has started in the same epoch, nor
 * before the last epoch is over for the rank that it goes to; and signals cause no deadlock. */
#include "compiler/compile.h"
#include "compiler/ir/args.h"
#include "compiler/verify/verify.h"
#include "compiler/verify/verify_parts.h"
#include "tests/unit/unit.h"
#include "util/file.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#define EPOCHS 3u

struct edge {
	uint32_t to, from;
};

/* Event e of epoch k is k * each + e; behind those of an epoch there is one for each message: its bytes are put. */
struct unrolled {
	struct ir_events ev;
	uint32_t each, puts;
	VEC(struct edge) edges;
};

static void edge(struct unrolled *u, uint32_t epoch, uint32_t to, uint32_t from)
{
	struct edge e = { epoch * u->each + to, epoch * u->each + from };

	CU_ASSERT_FATAL(!VEC_PUSH(&u->edges, e));
}

static void build(struct unrolled *u)
{
	u->ev.n = EPOCHS * u->each;
	u->ev.pred_at = calloc(u->ev.n + 2, sizeof *u->ev.pred_at);
	u->ev.pred = malloc((u->edges.n + 1) * sizeof *u->ev.pred);
	uint32_t *next = malloc(u->ev.n * sizeof *next);

	CU_ASSERT_FATAL(u->ev.pred_at && u->ev.pred && next);
	for (size_t i = 0; i < u->edges.n; i++)
		u->ev.pred_at[u->edges.at[i].to + 1]++;
	for (uint32_t e = 0; e < u->ev.n; e++)
		u->ev.pred_at[e + 1] += u->ev.pred_at[e];
	memcpy(next, u->ev.pred_at, u->ev.n * sizeof *next);
	for (size_t i = 0; i < u->edges.n; i++)
		u->ev.pred[next[u->edges.at[i].to]++] = u->edges.at[i].from;
	free(next);
	CU_ASSERT_FATAL(!ir_events_sort(&u->ev));
}

/* A send completes when its bytes have been put, which need its start, and a signal unless the message is safe. */
static void unroll(struct unrolled *u, const struct ir_graph *g, const struct ir_events *ev, const struct ir_match *m,
		   size_t nm, const bool *safe)
{
	*u = (struct unrolled){ .each = ev->n + (uint32_t)nm, .puts = ev->n };
	for (uint32_t k = 0; k < EPOCHS; k++) {
		for (uint32_t e = 0; e < ev->n; e++)
			for (uint32_t p = ev->pred_at[e]; p < ev->pred_at[e + 1]; p++)
				edge(u, k, e, ev->pred[p]);
		for (uint32_t r = 0; k && r < g->nranks; r++) {
			struct edge border = { k * u->each + ir_rank_event(ev, r, false),
					       (k - 1) * u->each + ir_rank_event(ev, r, true) };

			CU_ASSERT_FATAL(!VEC_PUSH(&u->edges, border));
		}
		for (uint32_t i = 0; i < nm; i++) {
			uint32_t s = 2 * (ev->base[m[i].src] + m[i].send), r = 2 * (ev->base[m[i].dst] + m[i].recv);

			edge(u, k, u->puts + i, s);
			edge(u, k, s + 1, u->puts + i);
			edge(u, k, r + 1, u->puts + i);
			if (!safe[i])
				edge(u, k, u->puts + i, r);
		}
	}
	build(u);
}

/* Which messages may come too soon in the later epochs. */
static void check_puts(const struct unrolled *u, const struct ir_graph *g, const struct ir_events *ev,
		       const struct ir_match *m, size_t nm, bool *early)
{
	struct ir_query *q = malloc((2 * nm + 1) * sizeof *q);

	for (uint32_t k = 1; k < EPOCHS; k++) {
		for (uint32_t i = 0; i < nm; i++) {
			uint32_t put = k * u->each + u->puts + i, r = 2 * (ev->base[m[i].dst] + m[i].recv);
			bool bytes = g->ranks[m[i].src].ops[m[i].send].len;

			/* Nothing holds it up: it starts with its rank. */
			if (ev->pred[ev->pred_at[r]] == ir_rank_event(ev, m[i].dst, false))
				r = ir_rank_event(ev, m[i].dst, false);
			q[2 * i] = (struct ir_query){ { bytes ? k * u->each + r : put, IR_NO_EVENT },
						      { put, IR_NO_EVENT },
						      false };
			q[2 * i + 1] = (struct ir_query){
				{ bytes ? (k - 1) * u->each + ir_rank_event(ev, m[i].dst, true) : put, IR_NO_EVENT },
				{ put, IR_NO_EVENT },
				false
			};
		}
		CU_ASSERT(!ir_events_reach(&u->ev, q, 2 * nm));
		for (uint32_t i = 0; i < nm; i++)
			early[i] |= !q[2 * i].yes || !q[2 * i + 1].yes;
	}
	free(q);
}

/* What each rank is told of its recvs: the same where there are bytes, and where there are none, or few, that the sender is
 * no more than one start ahead. */
static void check_recvs(const struct unrolled *u, const struct ir_graph *g, const struct ir_events *ev,
			const struct ir_match *m, uint32_t nm, const bool *safe)
{
	for (uint32_t r = 0; r < g->nranks; r++) {
		bool *mine = calloc(g->ranks[r].nops + 1, sizeof *mine), *few = calloc(g->ranks[r].nops + 1, sizeof *few);

		CU_ASSERT_FATAL(mine && !verify_recvs(g, r, 0, mine));
		CU_ASSERT_FATAL(few && !verify_recvs(g, r, UINT64_MAX, few));
		for (uint32_t i = 0; i < nm; i++) {
			struct ir_query q = { { u->each + ir_rank_event(ev, r, false), IR_NO_EVENT },
					      { 2 * u->each + u->puts + i, IR_NO_EVENT },
					      false };

			if (m[i].dst != r)
				continue;
			if (g->ranks[m[i].src].ops[m[i].send].len)
				CU_ASSERT(mine[m[i].recv] == safe[i]);
			CU_ASSERT(!ir_events_reach(&u->ev, &q, 1) && q.yes == few[m[i].recv] && (q.yes || !mine[m[i].recv]));
		}
		free(mine);
		free(few);
	}
}

static void one_graph(const struct ir_graph *g, uint64_t *messages, uint64_t *safe_ones)
{
	struct ir_events ev;
	struct ir_match *m;
	struct unrolled u;
	bool *safe, *early;
	size_t nm;

	CU_ASSERT_FATAL(!ir_graph_match(g, &m, &nm) && !ir_events_init(&ev, g, m, nm, false) && !ir_events_sort(&ev));
	safe = malloc(nm + 1);
	CU_ASSERT_FATAL(!verify_ready(g, &ev, m, nm, safe));
	early = calloc(nm + 1, sizeof *early);
	unroll(&u, g, &ev, m, nm, safe);
	CU_ASSERT(u.ev.sorted == u.ev.n);
	check_puts(&u, g, &ev, m, nm, early);
	for (size_t i = 0; i < nm; i++)
		CU_ASSERT(!early[i]);
	ir_events_fini(&u.ev);
	VEC_FREE(&u.edges);
	/* Without any signal, all those come too soon that are not safe. */
	for (size_t i = 0; i < nm; i++)
		early[i] = true;
	unroll(&u, g, &ev, m, nm, early);
	memset(early, 0, nm);
	check_puts(&u, g, &ev, m, nm, early);
	for (size_t i = 0; i < nm; i++) {
		CU_ASSERT(early[i] == !safe[i]);
		*messages += g->ranks[m[i].src].ops[m[i].send].len != 0;
		*safe_ones += safe[i] && g->ranks[m[i].src].ops[m[i].send].len;
	}
	check_recvs(&u, g, &ev, m, (uint32_t)nm, safe);
	ir_events_fini(&u.ev);
	VEC_FREE(&u.edges);
	free(early);
	free(safe);
	free(m);
	ir_events_fini(&ev);
}

/* All schedules of the library, for a few sizes. */
static void puts_keep_to_their_epoch(void)
{
	uint64_t messages = 0, safe = 0;
	glob_t files;

	CU_ASSERT_FATAL(!glob("schedules/*.goal", 0, NULL, &files));
	for (size_t f = 0; f < files.gl_pathc; f++) {
		struct goal_diags *d = goal_diags_new();
		struct compile_options o = { .unchecked = true };
		struct file in = { .fd = -1 };
		void *image = NULL;
		struct bin b;
		size_t size;

		CU_ASSERT_FATAL(!file_open(files.gl_pathv[f], &in));
		CU_ASSERT_FATAL(!compile_file(d, files.gl_pathv[f], &in, &o, &image, &size) && !bin_open(&b, image, size));
		for (uint32_t n = 2; n < 10; n += 3) {
			struct arg_rows rows;
			struct bin_args a = { .size = n, .count = 3 };
			struct ir_fault fault;
			struct ir_graph g;

			CU_ASSERT_FATAL(!arg_rows_init(&rows, &b, n) && !collective_sample(&b, a.count, 0, &rows));
			a.args = rows.by_rank[0];
			a.by_rank = rows.by_rank;
			if (!ir_graph_specialise(&b, &a, &g, &a.rank, &fault)) {
				one_graph(&g, &messages, &safe);
				ir_graph_fini(&g);
			}
			arg_rows_fini(&rows);
		}
		file_close(&in);
		free(image);
		goal_diags_free(d);
	}
	globfree(&files);
	CU_ASSERT(messages > 500);
}

static const struct unit_test tests[] = {
	{ "puts_keep_to_their_epoch", puts_keep_to_their_epoch },
	{ NULL, NULL },
};

const struct unit_suite suite_epochs = { "epochs", tests };
