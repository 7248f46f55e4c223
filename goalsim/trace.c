/* SPDX-License-Identifier: BSD-3-Clause
 * goalsim --trace and --svg: the steps of a simulation as a trace, in the formats of goalrun(1). */
#include "goalsim/goalsim.h"

#include "trace/trace.h"
#include "util/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- steps ---- */

/* A trace, and the simulation of which it is. */
struct tracing {
	const struct goalsim *s;
	struct trace t;
};

/* True if a step is on a cpu of the rank itself, and not on a core that communicates for several ranks. */
static bool is_own(const struct goalsim *g, const struct sim_step *s)
{
	return !g->node.cores || g->node.placed.core[s->rank] == s->cpu;
}

static uint64_t thread_id(const struct sim_step *s, bool own)
{
	return (uint64_t)(own ? s->rank : UINT32_MAX) << 32 | s->cpu;
}

static int keep_step(void *arg, const struct sim_step *s)
{
	static const uint8_t what[] = { [SIM_STARTED] = BE_EVENT_ISSUED, [SIM_PART] = BE_EVENT_PART, [SIM_DONE] = BE_EVENT_DONE };
	const bool message = s->cls->kind != SIM_CALC;
	struct tracing *to = arg;
	const bool own = is_own(to->s, s);
	const struct be_event e = { .begin = s->begin, .end = s->end, .epoch = 1,
				    .thread = thread_id(s, own), .rank = s->rank, .by = s->rank, .op = s->op,
				    .peer = message ? s->peer : BE_NOBODY, .tag = s->tag, .cpu = (int32_t)s->cpu,
				    .what = what[s->what], .own = own };

	return VEC_PUSH(&to->t.slices, (struct trace_slice){ .e = e, .sent = s->sent }) ? -ERR_NOMEM : 0;
}

/* ---- threads and kinds ---- */

static int by_thread(const void *a, const void *b)
{
	const struct be_event *x = &((const struct trace_slice *)a)->e, *y = &((const struct trace_slice *)b)->e;

	ORDER_BY(x->thread, y->thread);
	ORDER_BY(x->rank, y->rank);
	return 0;
}

/* Makes a thread of each cpu that a rank has used, and of each core that communicates. Sorts the slices by thread and rank. */
static int make_threads(struct trace *t)
{
	if (t->slices.n)
		qsort(t->slices.at, t->slices.n, sizeof *t->slices.at, by_thread);
	for (size_t i = 0; i < t->slices.n; i++) {
		const struct be_event *e = &t->slices.at[i].e;

		if ((!t->threads.n || t->threads.at[t->threads.n - 1].id != e->thread) &&
		    VEC_PUSH(&t->threads, (struct trace_thread){ .id = e->thread, .app = e->own, .core = !e->own, .rank = e->rank,
								 .cpu = e->cpu }))
			return -ERR_NOMEM;
		t->slices.at[i].thread = (uint32_t)t->threads.n - 1;
	}
	return 0;
}

/* Sets the kinds and bytes of the ops: for the simulator, whatever is no message is a calc. The slices are sorted by thread and rank. */
static int set_kinds(struct goalsim *s, struct trace *t)
{
	const struct bin_op *ops = NULL;

	for (size_t i = 0; i < t->slices.n; i++) {
		struct be_event *e = &t->slices.at[i].e;
		int err = !i || t->slices.at[i - 1].e.rank != e->rank ? sim_binary_ops(&s->binary, e->rank, &ops) : 0;

		if (err)
			return err;
		e->kind = ops[e->op].kind;
		if (e->kind != BIN_OP_CALC)
			e->bytes = ops[e->op].len * s->binary.element;
	}
	return 0;
}

/* ---- the file ---- */

/* Writes a file in a format. Returns 0, -ERR_NOMEM, or -ERR_SYS after it is reported. */
static int write_as(const char *path, trace_writer *write, const struct trace *t)
{
	struct text out = { 0 };
	int err = write(&out, t);

	err = err ? err : out.err ? -ERR_NOMEM : 0;
	if (!err && file_write(path, out.at, out.n)) {
		fprintf(stderr, "goalsim: %s: %s\n", path, file_why(errno));
		err = -ERR_SYS;
	}
	free(out.at);
	return err;
}

/* Adds the title and the notes of the picture. With a measured trace, they say which of its epochs is shown. */
static int describe(const struct goalsim *s, struct text *title, struct text *note)
{
	const uint32_t n = s->binary.source.nranks;
	struct picture_notes notes = { 0 };
	int err = picture_notes(s, &notes);

	text_add(title, "%s, %" PRIu32 " rank%s", option_source(s->input), n, n == 1 ? "" : "s");
	text_add(note, "%s\n%s", notes.machine.s, notes.what);
	if (s->node.cores)
		text_add(note, "; a line \"core\" is a core that communicates for ranks");
	if (s->measured)
		text_add(note, "\nmeasured: %s, epoch %" PRIu64 ", which is of median length", option_source(s->measured), s->parting.epoch);
	free(notes.what);
	return err ? err : title->err || note->err ? -ERR_NOMEM : 0;
}

static int write_trace(struct goalsim *s, struct trace *t)
{
	struct text title = { 0 }, note = { 0 };
	int err = make_threads(t);

	t->matched = true;
	err = err ? err : set_kinds(s, t);
	if (!err && s->measured)
		err = measured_lay(s, t);
	err = err ? err : describe(s, &title, &note);
	t->title = title.at;
	t->note = note.at;
	err = err ? err : trace_link(t);
	if (!err && s->trace)
		err = write_as(s->trace, trace_format(s->trace), t);
	if (!err && s->svg)
		err = write_as(s->svg, trace_timeline, t);
	free(title.at);
	free(note.at);
	return err == -ERR_SYS ? EXIT_FAULT : err ? no_memory() : EXIT_OK;
}

int trace_simulation(struct goalsim *s, struct sim_result *r)
{
	struct tracing to = { .s = s };
	const struct sim_watch watch = { keep_step, &to };
	int rc;

	s->params.watch = &watch;
	rc = node_once(s, r);
	s->params.watch = NULL;
	progress_end(s->progress);
	rc = rc ? rc : write_trace(s, &to.t);
	trace_fini(&to.t);
	return rc;
}
