/* SPDX-License-Identifier: BSD-3-Clause
 * Cases: the words for them, and the command that runs one alone. */
#include "goalrun/goalrun.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const run_memory_names[RUN_MEMORIES] = { "heap", "private", "staged", "moved" };
const char *const run_type_names[MPIX_SCHED_BASICS] = {
#define X(NAME, name, kind, T) #name,
	MPIX_SCHED_BASIC_LIST(X)
#undef X
};
const char *const run_op_names[RUN_USER + 1] = {
#define X(NAME, name) #name,
	MPIX_SCHED_BUILTIN_LIST(X)
#undef X
	"user",
};

static void print_defines(const struct defines *defines)
{
	for (size_t i = 0; i < defines->v.n; i++) {
		const struct define *d = &defines->v.at[i];

		fprintf(stderr, " -D %s", d->name);
		if (d->rank >= 0)
			fprintf(stderr, "@%" PRId64, d->rank);
		fputc('=', stderr);
		for (size_t k = 0; k < d->n; k++)
			fprintf(stderr, "%s%" PRId64, k ? "," : "", d->value[k]);
	}
}

/* Prints a word of a command for a shell: in quotes, unless it has none but harmless characters. */
static void print_word(const char *word)
{
	static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";

	if (*word && !word[strspn(word, harmless)]) {
		fprintf(stderr, " %s", word);
		return;
	}
	fputs(" '", stderr);
	for (; *word; word++)
		fprintf(stderr, *word == '\'' ? "'\\%c'" : "%c", *word);
	fputc('\'', stderr);
}

void run_reproduce(const struct run_options *o, size_t index)
{
	const struct run_case *c = &o->cases[index];
	char name[32];

	collective_sample_name(o->claim->b, c->sample, name, sizeof name);
	fprintf(stderr, "goalrun: this case alone: goalrun -n %u", o->nranks);
	if (o->asked_hosts) {
		fputs(" --hosts", stderr);
		print_word(o->asked_hosts);
	}
	if (o->threads)
		fputs(" --ranks threads", stderr);
	if (o->verify)
		fputs(" --verify", stderr);
	if (!is_dataless(o))
		fprintf(stderr, " --count %" PRId64 " --type %s", c->count, run_type_names[c->type]);
	if (has_reduction(o))
		fprintf(stderr, " --op %s", run_op_names[c->op]);
	if (c->root >= 0)
		fprintf(stderr, " --root %" PRId64, c->root);
	fprintf(stderr, " --memory %s --warmup %" PRId64 " --iters %" PRId64 " --seed %" PRId64,
		run_memory_names[c->memory], o->warmup, o->iters, o->seed);
	if (*name || o->sample)
		fprintf(stderr, " --sample %s", *name ? name : o->sample);
	if (o->delay)
		fprintf(stderr, " --delay %" PRId64, o->delay);
	if (o->overlap)
		fprintf(stderr, " --overlap --tests %" PRId64, o->tests);
	if (o->work_us)
		fprintf(stderr, " --work %" PRId64, o->work_us);
	if (o->backend)
		fprintf(stderr, " --backend %s", o->backend->name);
	if (o->engine)
		fprintf(stderr, " --engine %s", o->engine);
	if (o->no_shm)
		fprintf(stderr, " --no-shm");
	if (o->progress)
		fprintf(stderr, " --progress %s", o->progress);
	if (o->placed)
		fprintf(stderr, " --placement %s", o->placed);
	if (o->placement.comm_cores >= 0)
		fprintf(stderr, " --comm-cores %" PRId64, o->placement.comm_cores);
	if (o->wait)
		fprintf(stderr, " --wait %s", o->wait);
	if (o->trace) {
		fputs(" --trace", stderr);
		print_word(o->trace);
	}
	if (o->passes) {
		fputs(" -T", stderr);
		print_word(o->passes);
	}
	print_defines(&o->lowered);
	print_defines(&o->defines);
	print_word(o->input);
	fputc('\n', stderr);
}
