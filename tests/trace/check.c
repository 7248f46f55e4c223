/* SPDX-License-Identifier: BSD-3-Clause
 * check FILE.json EPOCHS OPS: a trace of one request in Chrome's format that is what it should be: it parses, every op
 * of every rank is done once in each epoch, EPOCHS * OPS in all, no thread does two things at once, nothing is received
 * before it is sent, and an arrow leads from each send to its recv. Prints what is wrong, or how much of what there is. */
#include <json-c/json.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slice {
	long pid, tid, cpu;
	double begin, end, issued; /* us */
	long rank, epoch, op, peer, tag;
	char cat, kind; /* first letters; kind: s, r, or another */
	bool stolen;
};

struct arrow {
	long id, tid;
	double at;
	bool end;
};

static struct slice *slices, **sorted;
static struct arrow *arrows;
static size_t nslices, narrows, nrows, nthreads;

static int wrong(const char *what, const struct slice *s)
{
	printf("%s: rank %ld op %ld epoch %ld, thread %ld, from %.3f to %.3f\n", what, s->rank, s->op, s->epoch, s->tid,
	       s->begin, s->end);
	exit(1);
}

static json_object *get(json_object *o, const char *key)
{
	json_object *v = NULL;

	return json_object_object_get_ex(o, key, &v) ? v : NULL;
}

static const char *text(json_object *o, const char *key)
{
	const char *s = json_object_get_string(get(o, key));

	return s ? s : "";
}

static long number(json_object *o, const char *key)
{
	return get(o, key) ? json_object_get_int64(get(o, key)) : -1;
}

static double us(json_object *o, const char *key)
{
	return get(o, key) ? json_object_get_double(get(o, key)) : -1;
}

/* An op's name ends with "send to 1", "recv from 1". */
static char kind_of(const char *name)
{
	return strstr(name, "send to") ? 's' : strstr(name, " from ") ? 'r' : '-';
}

static void take(json_object *e)
{
	const char *ph = text(e, "ph"), *name = text(e, "name");
	json_object *args = get(e, "args");

	if (*ph == 'X')
		slices[nslices++] = (struct slice){ number(e, "pid"), number(e, "tid"), number(args, "cpu"), us(e, "ts"),
						    us(e, "ts") + us(e, "dur"), us(args, "issued"), number(args, "rank"),
						    number(args, "epoch"), number(args, "op"), number(args, "peer"),
						    number(args, "tag"), *text(e, "cat"), kind_of(name),
						    get(args, "stolen") != NULL };
	else if (*ph == 's' || *ph == 'f')
		arrows[narrows++] = (struct arrow){ number(e, "id"), number(e, "tid"), us(e, "ts"), *ph == 'f' };
	else if (*ph == 'M' && !strcmp(name, "process_name"))
		nrows++;
	else if (*ph == 'M' && !strcmp(name, "thread_name"))
		nthreads++;
}

#define ORDER(x, y)                                \
	do {                                       \
		if ((x) != (y))                    \
			return (x) < (y) ? -1 : 1; \
	} while (0)

static int by_thread(const void *a, const void *b)
{
	const struct slice *x = *(struct slice *const *)a, *y = *(struct slice *const *)b;

	ORDER(x->tid, y->tid);
	ORDER(x->begin, y->begin);
	ORDER(y->end, x->end);
	ORDER(y->cat == 'w', x->cat == 'w');
	return 0;
}

static int by_op(const void *a, const void *b)
{
	const struct slice *x = *(struct slice *const *)a, *y = *(struct slice *const *)b;

	ORDER(x->epoch, y->epoch);
	ORDER(x->rank, y->rank);
	ORDER(x->op, y->op);
	ORDER(x->begin, y->begin);
	return 0;
}

static int by_channel(const void *a, const void *b)
{
	const struct slice *x = *(struct slice *const *)a, *y = *(struct slice *const *)b;

	ORDER(x->epoch, y->epoch);
	ORDER(x->kind == 's' ? x->rank : x->peer, y->kind == 's' ? y->rank : y->peer);
	ORDER(x->kind == 's' ? x->peer : x->rank, y->kind == 's' ? y->peer : y->rank);
	ORDER(x->tag, y->tag);
	ORDER(y->kind, x->kind); /* sends first */
	ORDER(x->op, y->op);
	return 0;
}

/* A thread does one thing at a time: only a wait has something else within it, and that wholly. What takes no time, as the begin of
 * a simulated recv, may be anywhere. */
static void check_threads(void)
{
	const struct slice *wait = NULL, *last = NULL;
	const double ns = 0.0005; /* half of what is told apart */

	qsort(sorted, nslices, sizeof(struct slice *), by_thread);
	for (size_t i = 0; i < nslices; i++) {
		const struct slice *s = sorted[i];

		if (!i || s->tid != sorted[i - 1]->tid)
			wait = last = NULL;
		if (s->begin < 0 || s->end < s->begin || s->cpu < 0 || s->pid < 1)
			wrong("a slice is not in time", s);
		if (s->end - s->begin < ns)
			continue;
		if (last && s->begin < last->end - ns)
			wrong("a thread does two things at once", s);
		if (wait && s->begin < wait->end - ns && s->end > wait->end + ns)
			wrong("something lasts longer than the wait that it is in", s);
		if (s->cat == 'w')
			wait = s;
		else
			last = s;
	}
}

static bool is_op(const struct slice *s)
{
	return s->cat == 'o' || s->cat == 'i' || s->cat == 'p';
}

/* The one slice of an op in which it was done. A rank that joins in may be at it to the end. */
static struct slice *end_of(struct slice **parts, size_t n)
{
	struct slice *end = NULL;

	for (size_t i = 0; i < n; i++) {
		if (parts[i]->cat == 'o' && end)
			wrong("an op is done twice", end);
		end = parts[i]->cat == 'o' ? parts[i] : end;
	}
	if (!end)
		wrong("an op is not done", parts[0]);
	for (size_t i = 0; i < n; i++)
		if (parts[i]->begin > end->end)
			wrong("an op goes on when it is done", end);
	return end;
}

static size_t check_ops(long epochs, long ops)
{
	long done = 0;
	size_t n = 0;

	for (size_t i = 0; i < nslices; i++)
		if (is_op(&slices[i]))
			sorted[n++] = &slices[i];
	qsort(sorted, n, sizeof(struct slice *), by_op);
	for (size_t i = 0, k; i < n; i = k) {
		const struct slice *s = sorted[i];
		const struct slice *before = i ? sorted[i - 1] : NULL;
		long first = !before || before->epoch != s->epoch || before->rank != s->rank ? 0 : before->op + 1;

		if (s->op != first || s->epoch < 1 || s->epoch > epochs || s->rank < 0)
			wrong("an op is missing before", s);
		for (k = i; k < n && sorted[k]->epoch == s->epoch && sorted[k]->rank == s->rank && sorted[k]->op == s->op; k++)
			if ((sorted[k]->cat == 'i') != (k == i && sorted[k]->cat != 'o') || sorted[k]->issued != s->begin)
				wrong("an op begins with something else than this", s);
		sorted[done++] = end_of(sorted + i, k - i);
	}
	if (done != epochs * ops) {
		printf("%ld ops are done, not %ld\n", done, epochs * ops);
		exit(1);
	}
	return (size_t)done;
}

static const struct arrow *find_arrow(long id, bool end)
{
	for (size_t i = 0; i < narrows; i++)
		if (arrows[i].id == id && arrows[i].end == end)
			return &arrows[i];
	return NULL;
}

/* The k-th send of a channel meets the k-th recv. */
static size_t check_messages(size_t ndone)
{
	size_t n = 0, messages = 0;

	for (size_t i = 0; i < ndone; i++)
		if (sorted[i]->peer >= 0)
			sorted[n++] = sorted[i];
	qsort(sorted, n, sizeof(struct slice *), by_channel);
	for (size_t i = 0; i < n;) {
		size_t sends = 0;

		while (i + sends < n && sorted[i + sends]->kind == 's' && sorted[i + sends]->epoch == sorted[i]->epoch &&
		       sorted[i + sends]->rank == sorted[i]->rank && sorted[i + sends]->peer == sorted[i]->peer &&
		       sorted[i + sends]->tag == sorted[i]->tag)
			sends++;
		if (!sends || i + 2 * sends > n)
			wrong("a message has one end", sorted[i]);
		for (size_t k = 0; k < sends; k++) {
			const struct slice *s = sorted[i + k], *r = sorted[i + sends + k];

			if (r->kind != 'r' || r->peer != s->rank || r->rank != s->peer || r->tag != s->tag || r->epoch != s->epoch)
				wrong("a send has no recv", s);
			if (r->end < s->issued)
				wrong("it was received before it was sent", r);
		}
		messages += sends;
		i += 2 * sends;
	}
	if (narrows != 2 * messages) {
		printf("%zu ends of arrows for %zu messages\n", narrows, messages);
		exit(1);
	}
	for (size_t i = 0; i < narrows; i++) {
		const struct arrow *a = &arrows[i], *b = find_arrow(a->id, true);

		if (!a->end && (!b || b->at < a->at)) {
			printf("arrow %ld leads nowhere, or back in time\n", a->id);
			exit(1);
		}
	}
	return messages;
}

int main(int argc, char **argv)
{
	json_object *j = argc == 4 ? json_object_from_file(argv[1]) : NULL, *events = get(j, "traceEvents");
	size_t n = events ? json_object_array_length(events) : 0, done, messages, waits = 0, stolen = 0, parts = 0;

	if (!n) {
		printf("no events: %s\n", argc == 4 ? json_util_get_last_err() : "usage: check FILE EPOCHS OPS");
		return 1;
	}
	slices = calloc(n, sizeof *slices);
	sorted = calloc(n, sizeof *sorted);
	arrows = calloc(n, sizeof *arrows);
	if (!slices || !sorted || !arrows)
		return 1;
	for (size_t i = 0; i < n; i++)
		take(json_object_array_get_idx(events, i));
	for (size_t i = 0; i < nslices; i++) {
		sorted[i] = &slices[i];
		waits += slices[i].cat == 'w';
		parts += slices[i].cat == 'i' || slices[i].cat == 'p';
		stolen += slices[i].stolen;
	}
	check_threads();
	done = check_ops(atol(argv[2]), atol(argv[3]));
	messages = check_messages(done);
	printf("%zu rows, %zu threads, %zu ops, %zu messages, %zu waits, %zu parts, %zu stolen\n", nrows, nthreads, done, messages,
	       waits, parts, stolen);
	json_object_put(j);
	free(slices);
	free(sorted);
	free(arrows);
	return 0;
}
