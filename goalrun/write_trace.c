/* SPDX-License-Identifier: BSD-3-Clause
 * The formats of traces, described in goalrun(1). */
#include "goalrun/trace.h"

#include "compiler/ir/ir.h"
#include "format/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static void add_row_name(struct text *out, const struct trace_row *r)
{
	static const char *const names[] = {
		[TRACE_RANK] = "rank %" PRIu32,
		[TRACE_CPU] = "communication on CPU %" PRIu32,
		[TRACE_HELPER] = "communication of rank %" PRIu32,
	};

	text_add(out, names[r->kind], r->number);
}

static bool is_op(const struct be_event *e)
{
	return e->what <= BE_EVENT_DONE;
}

static const char *event_word(const struct be_event *e)
{
	return e->what == BE_EVENT_WAIT ? "wait" : e->what == BE_EVENT_SLEEP ? "sleep" : ir_op_word(e->kind);
}

static const char *const row_words[] = { [TRACE_RANK] = "rank", [TRACE_CPU] = "cpu", [TRACE_HELPER] = "helper" };

/* Which part of an op it is, in a word. */
static const char *part_name(const struct be_event *e)
{
	static const char *const names[] = { "issued", "part", "op", "wait", "sleep" };

	return names[e->what];
}

/* ns since the trace began, as us. */
#define US "%" PRIu64 ".%03u"
#define US_OF(ns) (ns) / 1000, (unsigned)((ns) % 1000)

/* ---- Chrome's trace event format ---- */

static void json_name(struct text *out, const struct trace_thread *on, const struct be_event *e)
{
	if (is_op(e) && (!on->app || e->rank != on->rank))
		text_add(out, "%" PRIu32 ": ", e->rank);
	text_add(out, "%s", event_word(e));
	if (is_op(e) && e->peer != BE_NOBODY)
		text_add(out, bin_sends(e->kind) ? " to %" PRIu32 : " from %" PRIu32, e->peer);
}

static void json_slice(struct text *out, const struct trace *t, const struct trace_slice *s)
{
	const struct trace_thread *on = &t->threads.at[s->thread];
	const struct be_event *e = &s->e;

	text_add(out, ",\n{\"ph\":\"X\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":" US ",\"dur\":" US ",\"cat\":\"%s\",\"name\":\"",
		 on->row + 1, s->thread + 1, US_OF(e->begin - t->begin), US_OF(e->end - e->begin), part_name(e));
	json_name(out, on, e);
	text_add(out, "\",\"args\":{\"cpu\":%" PRId32, e->cpu);
	if (e->what != BE_EVENT_SLEEP)
		text_add(out, ",\"rank\":%" PRIu32 ",\"epoch\":%" PRIu64 ",\"request\":\"%016" PRIx64 "\"", e->rank, e->epoch,
			 e->request);
	if (is_op(e)) {
		text_add(out, ",\"op\":%" PRIu32 ",\"bytes\":%" PRIu64 ",\"issued\":" US, e->op, e->bytes,
			 US_OF(s->first->e.begin - t->begin));
		if (on->app && !e->own)
			text_add(out, ",\"stolen\":true");
	}
	if (is_op(e) && e->peer != BE_NOBODY)
		text_add(out, ",\"peer\":%" PRIu32 ",\"tag\":%" PRIu32, e->peer, e->tag);
	text_add(out, "}}");
}

/* An arrow, from where a send began to where its recv was done. */
static void json_arrow(struct text *out, const struct trace *t, const struct trace_slice *recv, size_t id)
{
	const struct trace_slice *send = recv->send;
	const char *form = ",\n{\"ph\":\"%s\",\"id\":%zu,\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":" US
			   ",\"cat\":\"message\",\"name\":\"message\"}";

	text_add(out, form, "s", id, t->threads.at[send->thread].row + 1, send->thread + 1,
		 US_OF(send->e.begin - t->begin));
	text_add(out, form, "f\",\"bp\":\"e", id, t->threads.at[recv->thread].row + 1, recv->thread + 1,
		 US_OF(recv->e.end - t->begin));
}

static int write_json(struct text *out, const struct trace *t)
{
	text_add(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":%" PRIu64 "},\"traceEvents\":[", t->dropped);
	for (size_t i = 0; i < t->rows.n; i++) {
		text_add(out, "%s\n{\"ph\":\"M\",\"pid\":%zu,\"name\":\"process_name\",\"args\":{\"name\":\"", i ? "," : "", i + 1);
		add_row_name(out, &t->rows.at[i]);
		text_add(out, "\"}},\n{\"ph\":\"M\",\"pid\":%zu,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%zu}}", i + 1,
			 i);
	}
	for (size_t i = 0; i < t->threads.n; i++)
		text_add(out,
			 ",\n{\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%zu,\"name\":\"thread_name\",\"args\":{\"name\":\"%s of rank %" PRIu32
			 "\"}}",
			 t->threads.at[i].row + 1, i + 1, t->threads.at[i].app ? "thread" : "communication", t->threads.at[i].rank);
	for (size_t i = 0; i < t->slices.n; i++) {
		json_slice(out, t, &t->slices.at[i]);
		if (t->slices.at[i].send)
			json_arrow(out, t, &t->slices.at[i], i);
	}
	text_add(out, "\n]}\n");
	return 0;
}

/* ---- Paje ---- */

static const char paje_header[] =
	"%EventDef PajeDefineContainerType 0\n% Alias string\n% Type string\n% Name string\n%EndEventDef\n"
	"%EventDef PajeDefineStateType 1\n% Alias string\n% Type string\n% Name string\n%EndEventDef\n"
	"%EventDef PajeDefineLinkType 2\n% Alias string\n% Type string\n% StartContainerType string\n"
	"% EndContainerType string\n% Name string\n%EndEventDef\n"
	"%EventDef PajeDefineEntityValue 3\n% Alias string\n% Type string\n% Name string\n% Color color\n%EndEventDef\n"
	"%EventDef PajeCreateContainer 4\n% Time date\n% Alias string\n% Type string\n% Container string\n"
	"% Name string\n%EndEventDef\n"
	"%EventDef PajeDestroyContainer 5\n% Time date\n% Type string\n% Name string\n%EndEventDef\n"
	"%EventDef PajePushState 6\n% Time date\n% Type string\n% Container string\n% Value string\n"
	"% Rank int\n% Op int\n% Peer int\n% Bytes double\n% Epoch double\n%EndEventDef\n"
	"%EventDef PajePopState 7\n% Time date\n% Type string\n% Container string\n%EndEventDef\n"
	"%EventDef PajeStartLink 8\n% Time date\n% Type string\n% Container string\n% Value string\n"
	"% StartContainer string\n% Key string\n%EndEventDef\n"
	"%EventDef PajeEndLink 9\n% Time date\n% Type string\n% Container string\n% Value string\n"
	"% EndContainer string\n% Key string\n%EndEventDef\n"
	"0 J 0 Job\n0 R J Row\n0 T R Thread\n1 S T State\n2 M J T T Message\n4 0.0 j J 0 \"job\"\n";

/* What a thread does: "k" and the kind of an op, or one of the rest. */
static void define_states(struct text *out)
{
	static const char *const colours[] = { "0.2 0.4 0.8", "0.2 0.7 0.3", "0.4 0.6 0.6", "0.5 0.3 0.7", "0.8 0.5 0.1",
					       "0.9 0.6 0.3", "0.6 0.6 0.6", "0.6 0.7 0.2", "0.7 0.8 0.3" };

	for (unsigned kind = 1; kind < BIN_OP_KINDS; kind++)
		text_add(out, "3 k%u S \"%s\" \"%s\"\n", kind, ir_op_word(kind),
			 colours[(kind - 1) % (sizeof colours / sizeof *colours)]);
	text_add(out, "3 wait S \"wait\" \"0.8 0.2 0.2\"\n3 sleep S \"sleep\" \"0.9 0.9 0.9\"\n");
}

/* A line with a time. What a slice encloses comes between its push and its pop when all are sorted, for slices are in the
 * order of their begin, and pops at one time are alike. */
struct paje_line {
	uint64_t time;
	size_t number;
	enum { PAJE_PUSH = 6, PAJE_POP, PAJE_START, PAJE_END } what;
	const struct trace_slice *s;
};

static int by_line(const void *a, const void *b)
{
	const struct paje_line *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static struct paje_line *paje_lines(const struct trace *t, size_t *n)
{
	struct paje_line *v = mem_alloc(t->slices.n * 4 * sizeof *v);

	*n = 0;
	for (size_t i = 0; v && i < t->slices.n; i++) {
		const struct trace_slice *s = &t->slices.at[i];

		v[*n] = (struct paje_line){ s->e.begin, *n, PAJE_PUSH, s };
		++*n;
		v[*n] = (struct paje_line){ s->e.end, *n, PAJE_POP, s };
		++*n;
		if (!s->send)
			continue;
		v[*n] = (struct paje_line){ s->send->e.begin, *n, PAJE_START, s };
		++*n;
		v[*n] = (struct paje_line){ s->e.end, *n, PAJE_END, s };
		++*n;
	}
	if (v)
		qsort(v, *n, sizeof *v, by_line);
	return v;
}

#define SECONDS "%" PRIu64 ".%09u"
#define SECONDS_OF(ns) (ns) / 1000000000u, (unsigned)((ns) % 1000000000u)

static void write_slice(struct text *out, const struct trace_slice *s)
{
	const struct be_event *e = &s->e;

	text_add(out, " S t%" PRIu32, s->thread);
	if (is_op(e))
		text_add(out, " k%u %" PRIu32 " %" PRIu32 " %" PRId64 " %" PRIu64 " %" PRIu64 "\n", e->kind, e->rank, e->op,
			 e->peer == BE_NOBODY ? -1 : (int64_t)e->peer, e->bytes, e->epoch);
	else
		text_add(out, " %s %" PRIu32 " -1 -1 0 %" PRIu64 "\n", part_name(e), e->rank, e->epoch);
}

static void paje_line(struct text *out, const struct trace *t, const struct paje_line *l)
{
	const struct trace_slice *s = l->s, *at = l->what == PAJE_START ? s->send : s;

	text_add(out, "%d " SECONDS, (int)l->what, SECONDS_OF(l->time - t->begin));
	if (l->what >= PAJE_START) /* the message is in no row of its own */
		text_add(out, " M j %" PRIu64 " t%" PRIu32 " m%zu\n", s->send->e.bytes, at->thread, (size_t)(s - t->slices.at));
	else if (l->what == PAJE_POP)
		text_add(out, " S t%" PRIu32 "\n", s->thread);
	else
		write_slice(out, s);
}

static int write_paje(struct text *out, const struct trace *t)
{
	size_t n;
	struct paje_line *v = paje_lines(t, &n);
	uint64_t end;

	if (!v)
		return -ERR_NOMEM;
	text_add(out, "%s", paje_header);
	define_states(out);
	for (size_t i = 0; i < t->rows.n; i++) {
		text_add(out, "4 0.0 r%zu R j \"", i);
		add_row_name(out, &t->rows.at[i]);
		text_add(out, "\"\n");
	}
	for (size_t i = 0; i < t->threads.n; i++)
		text_add(out, "4 0.0 t%zu T r%" PRIu32 " \"of rank %" PRIu32 "\"\n", i, t->threads.at[i].row, t->threads.at[i].rank);
	for (size_t i = 0; i < n; i++)
		paje_line(out, t, &v[i]);
	end = n ? v[n - 1].time - t->begin : 0;
	for (size_t i = 0; i < t->threads.n; i++)
		text_add(out, "5 " SECONDS " T t%zu\n", SECONDS_OF(end), i);
	for (size_t i = 0; i < t->rows.n; i++)
		text_add(out, "5 " SECONDS " R r%zu\n", SECONDS_OF(end), i);
	text_add(out, "5 " SECONDS " J j\n", SECONDS_OF(end));
	free(v);
	return 0;
}

/* ---- lines of text ---- */

static int write_text(struct text *out, const struct trace *t)
{
	text_add(out, "# begin end issued what row thread cpu rank request epoch op kind peer tag bytes\n");
	for (size_t i = 0; i < t->slices.n; i++) {
		const struct trace_slice *s = &t->slices.at[i];
		const struct be_event *e = &s->e;
		const struct trace_row *row = &t->rows.at[t->threads.at[s->thread].row];

		text_add(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s %s%" PRIu32 " %" PRIu32 " %" PRId32 " %" PRIu32 " %016" PRIx64
			      " %" PRIu64,
			 e->begin - t->begin, e->end - t->begin, (is_op(e) ? s->first : s)->e.begin - t->begin,
			 part_name(e),
			 row_words[row->kind], row->number, s->thread, e->cpu, e->rank, e->request, e->epoch);
		if (!is_op(e))
			text_add(out, " - - - - -\n");
		else if (e->peer == BE_NOBODY)
			text_add(out, " %" PRIu32 " %s - - %" PRIu64 "\n", e->op, event_word(e), e->bytes);
		else
			text_add(out, " %" PRIu32 " %s %" PRIu32 " %" PRIu32 " %" PRIu64 "\n", e->op, event_word(e),
				 e->peer, e->tag, e->bytes);
	}
	return 0;
}

trace_writer *trace_format(const char *path)
{
	static const struct {
		const char *end;
		trace_writer *write;
	} formats[] = { { ".json", write_json }, { ".paje", write_paje }, { ".txt", write_text } };
	const size_t len = strlen(path);

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		const size_t n = strlen(formats[i].end);

		if (len > n && !strcmp(path + len - n, formats[i].end))
			return formats[i].write;
	}
	return NULL;
}
