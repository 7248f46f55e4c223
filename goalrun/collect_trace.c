/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun --trace: merges what the contexts of all ranks have traced, and writes it. */
#include "goalrun/goalrun.h"
#include "runtime/trace.h"
#include "trace/trace.h"
#include "util/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

int run_trace_open(const char *path)
{
	int fd = memfd_create("goal-trace", 0); /* inherited by exec */
	char text[16];

	if (fd < 0 || fcntl(fd, F_SETFL, O_APPEND)) {
		fprintf(stderr, "goalrun: no memory for %s: %s\n", path, run_errno_text());
		return -1;
	}
	snprintf(text, sizeof text, "%d", fd);
	return setenv(env_table[ENV_GOAL_TRACE_FD].name, text, 1) ? -1 : fd;
}

/* ---- threads ---- */

/* Returns the thread of an event. A thread counts as a rank's own once it does something as that rank's own thread;
 * before, it may have helped other ranks. */
static struct trace_thread *thread_of(struct trace *t, int pid, const struct be_event *e)
{
	const struct trace_thread new = { .pid = pid, .id = e->thread, .rank = e->by, .cpu = e->cpu };
	struct trace_thread *on = NULL;

	for (size_t i = 0; i < t->threads.n && !on; i++)
		if (t->threads.at[i].id == e->thread && t->threads.at[i].pid == pid)
			on = &t->threads.at[i];
	if (!on) {
		if (VEC_PUSH(&t->threads, new))
			return NULL;
		on = &t->threads.at[t->threads.n - 1];
	}
	on->moves |= on->cpu != e->cpu;
	if (e->own && !on->app) {
		on->app = true;
		on->rank = e->rank;
	}
	return on;
}

_Static_assert(BE_EVENTS == BE_EVENT_SLEEP + 1, "event_word and part_name in trace/write.c need words for a new event");
static int take_chunk(struct trace *t, const struct trace_chunk *c)
{
	const struct be_event *e = (const struct be_event *)(const void *)(c + 1);

	t->contexts++;
	t->dropped += c->dropped;
	for (uint64_t i = 0; i < c->nevents; i++) {
		const struct trace_thread *on;

		if (e[i].what >= BE_EVENTS)
			return -ERR_TRUNCATED;
		on = thread_of(t, c->pid, &e[i]);
		if (!on || VEC_PUSH(&t->slices, (struct trace_slice){ .e = e[i], .thread = (uint32_t)(on - t->threads.at) }))
			return -ERR_NOMEM;
	}
	return 0;
}

static int take_chunks(struct trace *t, const char *data, size_t size)
{
	int err = 0;

	for (size_t at = 0; at < size && !err;) {
		const struct trace_chunk *c = (const struct trace_chunk *)(const void *)(data + at);

		if (size - at < sizeof *c || c->magic != TRACE_MAGIC || c->size != sizeof(struct be_event) ||
		    c->nevents > (size - at - sizeof *c) / c->size)
			return -ERR_TRUNCATED;
		at += sizeof *c + c->nevents * c->size;
		err = take_chunk(t, c);
	}
	return err;
}

/* ---- merging ---- */

static int merge_chunks(struct trace *t, const char *data, size_t size)
{
	int err = take_chunks(t, data, size);

	err = err ? err : trace_link(t);
	if (!err && t->slices.n)
		t->begin = t->slices.at[0].e.begin;
	return err;
}

static int write_file(const char *path, const struct trace *t)
{
	struct text out = { 0 };
	int err;

	err = trace_format(path)(&out, t);
	err = err ? err : out.err ? -ERR_NOMEM : file_write(path, out.at, out.n);
	free(out.at);
	return err;
}

static int read_trace(struct trace *t, int fd)
{
	struct stat st;
	void *data;
	int err;

	if (fstat(fd, &st))
		return -ERR_SYS;
	if (!st.st_size)
		return 0;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return -ERR_SYS;
	err = merge_chunks(t, data, (size_t)st.st_size);
	munmap(data, (size_t)st.st_size);
	return err;
}

/* ---- what a picture says ---- */

/* Adds the name of the CPU, if the system tells it. */
static void add_cpu_name(struct text *out)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "model name", 10) && strchr(line, ':')) {
			line[strcspn(line, "\n")] = '\0';
			text_add(out, "%s, ", strchr(line, ':') + 2);
			break;
		}
	if (f)
		fclose(f);
}

/* Adds the machine, and what was run on it. */
static void describe_run(const struct run_options *o, struct text *title, struct text *note)
{
	const struct run_case *c = o->cases;
	struct utsname system;

	text_add(title, "%s, %" PRIu32 " rank%s", o->program ? o->program[0] : o->name, o->nranks, o->nranks == 1 ? "" : "s");
	text_add(note, "measured on: ");
	add_cpu_name(note);
	text_add(note, "%ld CPUs online", sysconf(_SC_NPROCESSORS_ONLN));
	if (!uname(&system))
		text_add(note, "; %s %s, %s", system.sysname, system.release, system.machine);
	text_add(note, "\n");
	if (o->program)
		text_add(note, "all starts of the program");
	else if (o->ncases > 1)
		text_add(note, "%zu cases, %" PRId64 " starts of each", o->ncases, o->warmup + o->iters);
	else
		text_add(note, "%" PRId64 " starts after %" PRId64 " for warmup", o->iters, o->warmup);
	if (!o->program && o->ncases == 1 && !is_dataless(o))
		text_add(note, "; blocks of %" PRId64 " %s", c->count, run_type_names[c->type]);
	text_add(note, "; ranks are %s; backend %s", o->threads ? "threads" : "processes", run_backend_name(o));
	if (o->progress)
		text_add(note, "; %s progress", o->progress);
}

/* Writes the trace as the suffix of its file says. Returns 0 or -ERR_x. */
static int write_described(const struct run_options *o, struct trace *t)
{
	struct text title = { 0 }, note = { 0 };
	int err;

	describe_run(o, &title, &note);
	t->title = title.at;
	t->note = note.at;
	err = title.err || note.err ? -ERR_NOMEM : write_file(o->trace, t);
	t->title = t->note = NULL;
	free(title.at);
	free(note.at);
	return err;
}

int run_trace_write(const struct run_options *o, int fd)
{
	const char *path = o->trace;
	struct trace t = { 0 };
	int err = read_trace(&t, fd);

	if (!err && !t.contexts) {
		fprintf(stderr, "goalrun: %s: nothing was traced: a context that has bound something tells when it is freed\n", path);
		return EXIT_FAULT;
	}
	err = err ? err : write_described(o, &t);
	if (!err && t.dropped)
		fprintf(stderr, "goalrun: %s lacks %" PRIu64 " events: GOAL_TRACE_EVENTS is %s\n", path, t.dropped,
			env_get(ENV_GOAL_TRACE_EVENTS));
	trace_fini(&t);
	if (err)
		fprintf(stderr, "goalrun: %s: %s\n", path,
			err == -ERR_SYS	      ? run_errno_text() :
			err == -ERR_TRUNCATED ? "what a rank has traced is cut short" :
						err_text(err));
	return err ? EXIT_FAULT : EXIT_OK;
}
