/* SPDX-License-Identifier: BSD-3-Clause
 * Writes traces: Chrome's trace events (.json), Paje (.paje), lines of text (.txt), and pictures (timeline.c). goalrun(1)
 * describes them. */
#include "trace/trace.h"

#include "compiler/ir/ir.h"
#include "format/check.h"
#include "util/order.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <json-c/printbuf.h>
#include <stdio.h>
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

/* Returns a word for what an event is: a part of an op, a whole op, or a wait. */
static const char *part_name(const struct be_event *e)
{
	static const char *const names[] = { "issued", "part", "op", "wait", "sleep" };

	return names[e->what];
}

/* ---- Chrome's trace event format ---- */

#define NO_THREAD UINT32_MAX

/* Each event is a JSON object that is freed once it is printed. A long trace thus takes no more memory than its text. */

/* Adds a field to an object, which takes over the value. Keys are constants, and an object gets each key once. A value that
 * is NULL, for lack of memory, becomes an error of the text. */
static void add_field(struct text *out, json_object *to, const char *key, json_object *value)
{
	if (value && to && !json_object_object_add_ex(to, key, value, JSON_C_OBJECT_ADD_KEY_IS_NEW | JSON_C_OBJECT_KEY_IS_CONSTANT))
		return;
	json_object_put(value);
	out->err = -ERR_NOMEM;
}

static void add_number(struct text *out, json_object *to, const char *key, uint64_t value)
{
	add_field(out, to, key, json_object_new_uint64(value));
}

static void add_word(struct text *out, json_object *to, const char *key, const char *value)
{
	add_field(out, to, key, json_object_new_string(value));
}

static int print_us(json_object *ns, struct printbuf *to, int level, int flags)
{
	const uint64_t v = json_object_get_uint64(ns);

	(void)level, (void)flags;
	return sprintbuf(to, "%" PRIu64 ".%03u", v / 1000, (unsigned)(v % 1000));
}

/* Adds a time in ns, which is printed as µs with three digits behind the point. */
static void add_time(struct text *out, json_object *to, const char *key, uint64_t ns)
{
	json_object *value = json_object_new_uint64(ns);

	if (value)
		json_object_set_serializer(value, print_us, NULL, NULL);
	add_field(out, to, key, value);
}

/* Prints an event as a line, with a comma unless it is the first of the list, and frees it. */
static void json_end(struct text *out, json_object *event)
{
	const char *line = event ? json_object_to_json_string_ext(event, JSON_C_TO_STRING_NOSLASHESCAPE) : NULL;

	if (line && out->n)
		text_add(out, out->at[out->n - 1] == '[' ? "\n%s" : ",\n%s", line);
	else
		out->err = -ERR_NOMEM;
	json_object_put(event);
}

/* Returns a new event in a row, with a thread unless that is NO_THREAD. */
static json_object *json_event(struct text *out, const char *ph, size_t row, uint32_t thread)
{
	json_object *event = json_object_new_object();

	add_word(out, event, "ph", ph);
	add_number(out, event, "pid", row + 1);
	if (thread != NO_THREAD)
		add_number(out, event, "tid", (uint64_t)thread + 1);
	return event;
}

static json_object *json_args(struct text *out, json_object *event)
{
	json_object *args = json_object_new_object();

	add_field(out, event, "args", args);
	return out->err ? NULL : args;
}

/* Adds the name of a slice, such as "1: send to 2". The rank in front is left out if the thread is that rank's own. */
static void json_name(struct text *out, json_object *event, const struct trace_thread *on, const struct be_event *e)
{
	char rank[16] = "", peer[24] = "", name[80];

	if (is_op(e) && (!on->app || e->rank != on->rank))
		snprintf(rank, sizeof rank, "%" PRIu32 ": ", e->rank);
	if (is_op(e) && e->peer != BE_NOBODY)
		snprintf(peer, sizeof peer, bin_sends(e->kind) ? " to %" PRIu32 : " from %" PRIu32, e->peer);
	snprintf(name, sizeof name, "%s%s%s", rank, event_word(e), peer);
	add_word(out, event, "name", name);
}

static void json_slice_args(struct text *out, json_object *args, const struct trace *t, const struct trace_slice *s)
{
	const struct be_event *e = &s->e;
	char request[17];

	add_field(out, args, "cpu", json_object_new_int(e->cpu));
	if (e->what != BE_EVENT_SLEEP) {
		snprintf(request, sizeof request, "%016" PRIx64, e->request);
		add_number(out, args, "rank", e->rank);
		add_number(out, args, "epoch", e->epoch);
		add_word(out, args, "request", request);
	}
	if (!is_op(e))
		return;
	add_number(out, args, "op", e->op);
	add_number(out, args, "bytes", e->bytes);
	add_time(out, args, "issued", s->first->e.begin - t->begin);
	if (t->threads.at[s->thread].app && !e->own)
		add_field(out, args, "stolen", json_object_new_boolean(true));
	if (e->peer != BE_NOBODY) {
		add_number(out, args, "peer", e->peer);
		add_number(out, args, "tag", e->tag);
	}
}

static void json_slice(struct text *out, const struct trace *t, const struct trace_slice *s)
{
	const struct trace_thread *on = &t->threads.at[s->thread];
	const struct be_event *e = &s->e;
	json_object *event = json_event(out, "X", on->row, s->thread);

	add_time(out, event, "ts", e->begin - t->begin);
	add_time(out, event, "dur", e->end - e->begin);
	add_word(out, event, "cat", part_name(e));
	json_name(out, event, on, e);
	json_slice_args(out, json_args(out, event), t, s);
	json_end(out, event);
}

/* Adds one end of an arrow, which leads from the begin of a send to the end of its recv. */
static void json_arrow_end(struct text *out, const struct trace *t, const struct trace_slice *s, uint64_t time, size_t id, bool end)
{
	json_object *event = json_event(out, end ? "f" : "s", t->threads.at[s->thread].row, s->thread);

	if (end)
		add_word(out, event, "bp", "e");
	add_number(out, event, "id", id);
	add_time(out, event, "ts", time - t->begin);
	add_word(out, event, "cat", "message");
	add_word(out, event, "name", "message");
	json_end(out, event);
}

/* Adds metadata of a row or thread for viewers, such as its name. */
static void json_about(struct text *out, const char *what, size_t row, uint32_t thread, const char *key, json_object *value)
{
	json_object *event = json_event(out, "M", row, thread);

	add_word(out, event, "name", what);
	add_field(out, json_args(out, event), key, value);
	json_end(out, event);
}

/* Turns a text into a JSON string, and frees it. Returns NULL if out of memory. */
static json_object *take_string(struct text *t)
{
	char *s;
	json_object *string = text_take(t, &s) ? NULL : json_object_new_string(s);

	free(s);
	return string;
}

static void json_row(struct text *out, const struct trace *t, size_t i)
{
	struct text name = { 0 };

	add_row_name(&name, &t->rows.at[i]);
	json_about(out, "process_name", i, NO_THREAD, "name", take_string(&name));
	json_about(out, "process_sort_index", i, NO_THREAD, "sort_index", json_object_new_uint64(i));
}

static void json_thread(struct text *out, const struct trace_thread *thread, uint32_t i)
{
	struct text name = { 0 };

	if (thread->core)
		text_add(&name, "core %" PRId32, thread->cpu);
	else
		text_add(&name, "%s of rank %" PRIu32, thread->app ? "thread" : "communication", thread->rank);
	json_about(out, "thread_name", thread->row, i, "name", take_string(&name));
}

/* Prints the object around the events up to the opening bracket of their list: the list is printed empty, without the last
 * two characters. */
static void json_begin(struct text *out, const struct trace *t)
{
	json_object *all = json_object_new_object(), *other = json_object_new_object();
	const char *line;

	add_word(out, all, "displayTimeUnit", "ns");
	add_number(out, other, "dropped", t->dropped);
	add_field(out, all, "otherData", other);
	add_field(out, all, "traceEvents", json_object_new_array());
	line = out->err ? NULL : json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN);
	if (line)
		text_add(out, "%.*s", (int)strlen(line) - 2, line);
	else
		out->err = -ERR_NOMEM;
	json_object_put(all);
}

static int write_json(struct text *out, const struct trace *t)
{
	json_begin(out, t);
	for (size_t i = 0; i < t->rows.n; i++)
		json_row(out, t, i);
	for (size_t i = 0; i < t->threads.n; i++)
		json_thread(out, &t->threads.at[i], (uint32_t)i);
	for (size_t i = 0; i < t->slices.n && !out->err; i++) {
		const struct trace_slice *s = &t->slices.at[i];

		json_slice(out, t, s);
		if (!s->send)
			continue;
		json_arrow_end(out, t, s->send, s->send->e.begin, i, false);
		json_arrow_end(out, t, s, s->e.end, i, true);
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

/* Defines the states of a thread: "k" and a number for each op kind, "wait" and "sleep". */
static void define_states(struct text *out)
{
	static const char *const colours[] = { "0.2 0.4 0.8", "0.2 0.7 0.3", "0.4 0.6 0.6", "0.5 0.3 0.7", "0.8 0.5 0.1",
					       "0.9 0.6 0.3", "0.6 0.6 0.6", "0.6 0.7 0.2", "0.7 0.8 0.3" };

	for (unsigned kind = 1; kind < BIN_OP_KINDS; kind++)
		text_add(out, "3 k%u S \"%s\" \"%s\"\n", kind, ir_op_word(kind),
			 colours[(kind - 1) % (sizeof colours / sizeof *colours)]);
	text_add(out, "3 wait S \"wait\" \"0.8 0.2 0.2\"\n3 sleep S \"sleep\" \"0.9 0.9 0.9\"\n");
}

/* A line with a time. Lines are sorted by time, then by number. Slices are in the order of their begin and pops at one
 * time are interchangeable, so the lines of an enclosed slice come between push and pop of the enclosing one. */
struct paje_line {
	uint64_t time;
	size_t number;
	enum { PAJE_PUSH = 6, PAJE_POP, PAJE_START, PAJE_END } what;
	const struct trace_slice *s;
};

static int by_line(const void *a, const void *b)
{
	const struct paje_line *x = a, *y = b;

	ORDER_BY(x->time, y->time);
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
	if (l->what >= PAJE_START) /* the container of a message is the job: it leads from thread to thread */
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
	} formats[] = { { ".json", write_json }, { ".paje", write_paje }, { ".svg", trace_timeline }, { ".txt", write_text } };
	const size_t len = strlen(path);

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		const size_t n = strlen(formats[i].end);

		if (len > n && !strcmp(path + len - n, formats[i].end))
			return formats[i].write;
	}
	return NULL;
}

int trace_take_name(const struct option_use *u)
{
	*(const char **)u->field = u->arg;
	return trace_format(u->arg) ? EXIT_OK :
				      option_usage(u->program, "--trace takes a name that ends with .json, .paje, .svg or .txt, not %s", u->arg);
}
