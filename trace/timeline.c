/* SPDX-License-Identifier: BSD-3-Clause
 * Draws a trace as a timeline (a Gantt chart), into one SVG picture that a browser can enlarge: a line for each thread, bars for what
 * it does, and lines between sends and recvs. Of many threads it shows some. */
#include "trace/trace.h"

#include "compiler/ir/ir.h"
#include "format/check.h"
#include "util/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lengths in pixels. */
enum { LEFT = 130, WIDE = 1300, RIGHT = 30, HEAD = 24 /* baseline of the title */, BELOW = 78, FONT = 12, NOTE = 17 /* a line below the title */, TICKS = 10, SWATCH = 20 };
enum { MOST_LINES = 64, MOST_MESSAGES = 4000 };
#define NOT_SHOWN UINT32_MAX
#define LEAST_SEEN 0.5 /* pixels; the legend says of shorter bars that they are not seen */
#define LEAST_BAR 0.02 /* pixels; shorter bars are not drawn, as nobody can enlarge the picture so far */

enum colour { SEND, RECV, CALC, REDUCE, COPY, OTHER, COLOURS };
static const struct {
	const char *rgb, *name;
} colours[COLOURS] = {
	[SEND] = { "#0072b2", "send" },	 [RECV] = { "#009e73", "recv" }, [CALC] = { "#e69f00", "calc" },
	[REDUCE] = { "#cc79a7", "reduce" }, [COPY] = { "#56b4e9", "copy" }, [OTHER] = { "#999999", "other op" },
};
#define WAITING "#d8d8d8"
#define MESSAGE "#555555"

struct timeline {
	struct text *out;
	const struct trace *t;
	uint64_t span; /* ns */
	double above, high; /* where the lines begin, and the height of one */
	uint32_t *line; /* of each thread, or NOT_SHOWN */
	uint32_t nlines;
	size_t each; /* of so many threads, one is shown */
	size_t nmessages; /* between threads that are shown */
	bool used[COLOURS], waits;
	uint64_t longest[COLOURS]; /* the longest bar, ns */
};

/* ---- what is drawn ---- */

static enum colour colour_of(const struct be_event *e)
{
	if (bin_sends(e->kind))
		return SEND;
	if (bin_recvs(e->kind))
		return RECV;
	if (bin_reduces(e->kind))
		return REDUCE;
	return e->kind == BIN_OP_CALC ? CALC : e->kind == BIN_OP_COPY ? COPY : OTHER;
}

static bool is_op(const struct trace_slice *s)
{
	return s->e.what <= BE_EVENT_DONE;
}

static bool is_shown(const struct timeline *l, const struct trace_slice *s)
{
	return l->line[s->thread] != NOT_SHOWN;
}

static bool has_message(const struct timeline *l, const struct trace_slice *s)
{
	return s->send && is_shown(l, s) && is_shown(l, s->send);
}

static int by_row(const void *a, const void *b)
{
	const struct trace_thread *x = *(struct trace_thread *const *)a, *y = *(struct trace_thread *const *)b;

	ORDER_BY(x->row, y->row);
	ORDER_BY(x->cpu, y->cpu);
	return (x > y) - (x < y);
}

/* Selects the threads that are shown: all, or every second one in the order of their rows, or every third, and so on. So ranks that
 * are shown have their distances in common, and in most schedules messages. */
static int select_lines(struct timeline *l)
{
	const size_t n = l->t->threads.n;
	const struct trace_thread **order = mem_alloc((n + 1) * sizeof *order);

	l->each = (n + MOST_LINES - 1) / MOST_LINES;
	l->each = l->each ? l->each : 1;
	l->nlines = (uint32_t)((n + l->each - 1) / l->each);
	l->high = l->nlines > 32 ? 13 : 20;
	l->line = mem_alloc((n + 1) * sizeof *l->line);
	if (!l->line || !order) {
		free(order);
		return -ERR_NOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		l->line[i] = NOT_SHOWN;
		order[i] = &l->t->threads.at[i];
	}
	if (n)
		qsort(order, n, sizeof *order, by_row);
	for (uint32_t k = 0; k < l->nlines; k++)
		l->line[order[k * l->each] - l->t->threads.at] = k;
	free(order);
	return 0;
}

/* Finds the end of the trace, and what the legend needs. */
static void find_contents(struct timeline *l)
{
	for (size_t i = 0; i < l->t->slices.n; i++) {
		const struct trace_slice *s = &l->t->slices.at[i];
		const uint64_t end = s->e.end - l->t->begin;

		l->span = end > l->span ? end : l->span;
		l->nmessages += has_message(l, s);
		if (is_op(s) && s->e.end > s->e.begin && is_shown(l, s)) {
			const enum colour c = colour_of(&s->e);

			l->used[c] = true;
			l->longest[c] = s->e.end - s->e.begin > l->longest[c] ? s->e.end - s->e.begin : l->longest[c];
		}
		l->waits |= !is_op(s);
	}
}

/* ---- coordinates and texts ---- */

static double x_of(const struct timeline *l, uint64_t time)
{
	return LEFT + (double)WIDE * (double)(time - l->t->begin) / (l->span ? (double)l->span : 1);
}

static double y_of(const struct timeline *l, const struct trace_slice *s)
{
	return l->above + l->high * l->line[s->thread];
}

/* Adds a time, with a unit that suits `scale`. */
static void add_time(struct text *out, uint64_t ns, uint64_t scale)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "µs" }, { 1, "ns" } };
	size_t i = 0;

	while (i < 3 && scale < units[i].ns)
		i++;
	text_add(out, "%.6g %s", (double)ns / (double)units[i].ns, units[i].name);
}

/* ---- the picture ---- */

/* Opens the picture, whose height follows from its lines. */
static void open_picture(struct timeline *l)
{
	double high;

	l->above = HEAD + 33 + NOTE;
	for (const char *note = l->t->note; note && *note; note += strcspn(note, "\n") + (strchr(note, '\n') != NULL))
		l->above += NOTE;
	high = l->above + l->high * l->nlines + BELOW;
	text_add(l->out, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %.0f' width='%d' height='%.0f' font-family='sans-serif' "
			 "font-size='%d'>\n<rect width='100%%' height='100%%' fill='white'/>\n", LEFT + WIDE + RIGHT, high,
		 LEFT + WIDE + RIGHT, high, FONT);
}

/* Adds the title, the notes, and what is shown. */
static void add_head(struct timeline *l)
{
	struct text *out = l->out;
	const char *note = l->t->note;
	int y = HEAD + 3;

	text_add(out, "<text x='%d' y='%d' font-size='16' font-weight='bold'>", LEFT, HEAD);
	text_add_xml(out, l->t->title ? l->t->title : "What each rank did", SIZE_MAX);
	text_add(out, "</text>\n");
	while (note && *note) {
		const size_t len = strcspn(note, "\n");

		text_add(out, "<text x='%d' y='%d' fill='#444'>", LEFT, y += NOTE);
		text_add_xml(out, note, len);
		text_add(out, "</text>\n");
		note += len + (note[len] == '\n');
	}
	text_add(out, "<text x='%d' y='%d' fill='#444'>duration ", LEFT, y + NOTE);
	add_time(out, l->span, l->span);
	if (l->each > 1)
		text_add(out, "; %" PRIu32 " of %zu threads are shown, and messages between these", l->nlines, l->t->threads.n);
	if (l->nmessages > MOST_MESSAGES)
		text_add(out, "; messages are too many to be shown");
	text_add(out, "</text>\n");
}

/* Returns the distance of ticks: 1, 2 or 5 times a power of ten. */
static uint64_t tick_step(uint64_t span)
{
	uint64_t step = 1;

	while (span / step > TICKS)
		step = span / (step * 2) <= TICKS ? step * 2 : span / (step * 5) <= TICKS ? step * 5 : step * 10;
	return step;
}

static void add_axis(struct timeline *l)
{
	const uint64_t step = tick_step(l->span);
	const double bottom = l->above + l->high * l->nlines;

	for (uint64_t at = 0; at <= l->span; at += step) {
		const double x = x_of(l, l->t->begin + at);

		text_add(l->out, "<path d='M%.1f %.1f V%.1f' stroke='#e4e4e4'/>\n<text x='%.1f' y='%.1f' text-anchor='middle'>", x,
			 l->above - 4, bottom + 4, x, bottom + 19);
		add_time(l->out, at, step);
		text_add(l->out, "</text>\n");
	}
}

static void add_labels(struct timeline *l)
{
	const bool several = l->t->rows.n < l->t->threads.n; /* some row has several threads */

	for (size_t i = 0; i < l->t->threads.n; i++) {
		const struct trace_thread *on = &l->t->threads.at[i];

		if (l->line[i] == NOT_SHOWN)
			continue;
		text_add(l->out, "<text x='%d' y='%.1f' text-anchor='end'>", LEFT - 8, l->above + l->high * (l->line[i] + 0.5) + 4);
		if (on->core)
			text_add(l->out, "core %" PRId32, on->cpu);
		else
			text_add(l->out, on->app ? "rank %" PRIu32 : "for rank %" PRIu32, on->rank);
		if (on->what)
			text_add(l->out, "%s", on->what);
		else if (several && !on->core)
			text_add(l->out, ", cpu %" PRId32, on->cpu);
		text_add(l->out, "</text>\n");
	}
}

/* Adds what a browser shows when the pointer is on a bar. */
static void add_tip(struct timeline *l, const struct trace_slice *s)
{
	const struct be_event *e = &s->e;

	text_add(l->out, "<title>rank %" PRIu32, e->rank);
	if (is_op(s)) {
		text_add(l->out, ", op %" PRIu32 ": %s", e->op, ir_op_word(e->kind));
		if (e->peer != BE_NOBODY)
			text_add(l->out, " %s %" PRIu32 ", %" PRIu64 " bytes", bin_sends(e->kind) ? "to" : "from", e->peer, e->bytes);
	} else {
		text_add(l->out, " %s", e->what == BE_EVENT_WAIT ? "waits" : "sleeps");
	}
	text_add(l->out, ", ");
	add_time(l->out, e->begin - l->t->begin, l->span);
	text_add(l->out, " to ");
	add_time(l->out, e->end - l->t->begin, l->span);
	text_add(l->out, "</title>");
}

static void add_bar(struct timeline *l, const struct trace_slice *s)
{
	const double x = x_of(l, s->e.begin), wide = x_of(l, s->e.end) - x;

	if (wide < LEAST_BAR)
		return;
	text_add(l->out, "<rect x='%.2f' y='%.1f' width='%.2f' height='%.1f' fill='%s'", x, y_of(l, s) + 2, wide, l->high - 4,
		 is_op(s) ? colours[colour_of(&s->e)].rgb : WAITING);
	if (wide > 4 && is_op(s))
		text_add(l->out, " stroke='white' stroke-width='0.5'");
	text_add(l->out, ">");
	add_tip(l, s);
	text_add(l->out, "</rect>\n");
}

static void add_bars(struct timeline *l, bool ops)
{
	for (size_t i = 0; i < l->t->slices.n; i++)
		if (is_op(&l->t->slices.at[i]) == ops && is_shown(l, &l->t->slices.at[i]))
			add_bar(l, &l->t->slices.at[i]);
}

/* Adds a line from the end of a send to the begin of the bar of its recv; from begin to end if they overlap, as the steps of a run
 * do. A simulated recv that comes behind its message is done in an instant, behind the bar. */
static void add_message(struct timeline *l, const struct trace_slice *s)
{
	const struct trace_slice *from = s->send, *to = s->e.end > s->e.begin ? s : s->first;
	const bool apart = from->e.end <= to->e.begin;

	text_add(l->out, "<path d='M%.2f %.1f L%.2f %.1f'/>\n", x_of(l, apart ? from->e.end : from->e.begin), y_of(l, from) + l->high / 2,
		 x_of(l, apart ? to->e.begin : to->e.end), y_of(l, to) + l->high / 2);
}

/* Adds the messages. The more there are, the fainter they are, so that the bars below them are seen. */
static void add_messages(struct timeline *l)
{
	const double opacity = l->nmessages > 400 ? 0.05 + 120.0 / (double)l->nmessages : 0.8;

	if (l->nmessages > MOST_MESSAGES)
		return;
	text_add(l->out, "<g stroke='" MESSAGE "' stroke-width='0.8' stroke-opacity='%.2f'>\n", opacity);
	for (size_t i = 0; i < l->t->slices.n; i++)
		if (has_message(l, &l->t->slices.at[i]))
			add_message(l, &l->t->slices.at[i]);
	text_add(l->out, "</g>\n");
}

/* Adds a swatch and its meaning, and returns where the next one begins. */
static double add_swatch(struct timeline *l, double x, const char *rgb, bool line, const char *name)
{
	const double y = l->above + l->high * l->nlines + 48;

	text_add(l->out, "<rect x='%.1f' y='%.1f' width='%d' height='%d' fill='%s'/>\n<text x='%.1f' y='%.1f'>%s</text>\n", x,
		 line ? y - 5 : y - 10, SWATCH, line ? 1 : 12, rgb, x + SWATCH + 6, y, name);
	return x + SWATCH + 30 + 7.0 * (double)strlen(name);
}

static void add_legend(struct timeline *l)
{
	double x = LEFT;

	for (enum colour c = 0; c < COLOURS; c++) {
		char name[64];

		if (!l->used[c])
			continue;
		snprintf(name, sizeof name, "%s%s", colours[c].name,
			 (double)l->longest[c] * WIDE < LEAST_SEEN * (double)l->span ? " (too short to see unless enlarged)" : "");
		x = add_swatch(l, x, colours[c].rgb, false, name);
	}
	if (l->waits)
		x = add_swatch(l, x, WAITING, false, "waits");
	if (l->nmessages && l->nmessages <= MOST_MESSAGES)
		add_swatch(l, x, MESSAGE, true, "message");
}

int trace_timeline(struct text *out, const struct trace *t)
{
	struct timeline l = { .out = out, .t = t };
	int err = select_lines(&l);

	if (!err) {
		find_contents(&l);
		open_picture(&l);
		add_head(&l);
		add_axis(&l);
		add_labels(&l);
		add_bars(&l, false);
		add_bars(&l, true);
		add_messages(&l);
		add_legend(&l);
		text_add(out, "</svg>\n");
	}
	free(l.line);
	return err;
}
