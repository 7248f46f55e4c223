/* SPDX-License-Identifier: BSD-3-Clause
 * Runs of goalrun: makes one by parsing the command line, carries it out, and frees it. */
#include "trace/trace.h"
#include "goalrun/goalrun.h"
#include "util/env.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Makes the memory, shared by all ranks, for what the launches measure. */
static int make_measured(struct goalrun *g)
{
	const struct run_options *o = &g->o;
	const size_t per = o->ncases * o->nranks, times = per * (size_t)o->iters, spans = o->overlap ? times : 0;

	g->measured_size = o->nranks * sizeof *g->stats + spans * sizeof *g->spans + (2 * times + 2 * per + o->ncases) * sizeof(double);
	g->measured = run_shared_memory(g->measured_size);
	if (!g->measured)
		return run_fault("%s", "out of memory: fewer --iters or cases");
	g->stats = g->measured;
	g->spans = (struct work_spans *)(g->stats + o->nranks);
	g->total = (double *)(g->spans + spans);
	g->start = g->total + times;
	g->init = g->start + times;
	g->cpu = g->init + per;
	g->joules = g->cpu + per;
	return EXIT_OK;
}

/* True if the value at an index of a list has come before. */
static bool is_repeated(const struct list *l, size_t index)
{
	size_t k = 0;

	while (l->at[k] != l->at[index])
		k++;
	return k < index;
}

/* Launches the schedule once for each kind of memory. Each launch runs all cases of its kind. */
static int run_launches(struct goalrun *g)
{
	struct run_options *o = &g->o;
	int rc = make_measured(g);

	if (rc)
		return rc;
	for (size_t c = 0; c < o->ncases; c++)
		g->joules[c] = NAN; /* ranks on other hosts do not tell */
	for (size_t m = 0; m < g->memories.n && !rc; m++) {
		struct run_launch l = { .o = o,
					.memory = (enum run_memory)g->memories.at[m],
					.total = g->total,
					.start = g->start,
					.init = g->init,
					.cpu = g->cpu,
					.joules = g->joules,
					.spans = g->spans,
					.stats = g->stats };

		rc = is_repeated(&g->memories, m) ? EXIT_OK : launch_schedule(&l);
	}
	return rc;
}

int run_prepare_ranks(struct goalrun *g)
{
	struct run_options *o = &g->o;
	int rc = EXIT_OK;

	o->first = g->sent ? g->sent->first : 0;
	o->here = g->sent ? g->sent->here : o->nranks;
	if (o->hosts)
		return hosts_begin(o->hosts, o, g->argc, g->argv);
	/* A program's groups may choose by themselves; of a schedule it is printed. */
	if (((o->backend || !o->program) && setenv(env_table[ENV_GOAL_BACKEND].name, run_backend_name(o), 1)) ||
	    (o->no_shm && setenv(env_table[ENV_GOAL_SHM].name, "0", 1)) ||
	    (o->engine && setenv(env_table[ENV_GOAL_ENGINE].name, o->engine, 1)) ||
	    (o->progress && setenv(env_table[ENV_GOAL_PROGRESS].name, o->progress, 1)) ||
	    (o->wait && setenv(env_table[ENV_GOAL_WAIT].name, o->wait, 1)))
		return no_memory();
	if (run_emulates_nic(o))
		rc = run_nic_start(&g->nic, g->seeded ? (uint64_t)o->seed : 0, o->trace);
	else if (o->trace && (g->trace_fd = run_trace_open(o->trace)) < 0)
		rc = EXIT_FAULT;
	if (rc)
		return rc;
	if (!run_pins(o))
		return EXIT_OK;
	rc = run_place_ranks(o, &g->pinning);
	if (rc)
		return rc;
	o->pinning = &g->pinning;
	return run_export_placement(o->pinning);
}

int run_write_collected(const struct goalrun *g)
{
	if (!g->o.trace)
		return EXIT_OK;
	return run_emulates_nic(&g->o) ? run_nic_trace(&g->nic, g->o.trace) : run_trace_write(&g->o, g->trace_fd);
}

int run_prepared(struct goalrun *g)
{
	int rc = run_prepare_ranks(g), stopped;

	rc = rc ? rc : run_launches(g);
	stopped = run_nic_stop(&g->nic);
	rc = rc ? rc : stopped;
	if (g->sent)
		return rc;
	rc = rc ? rc : run_write_collected(g);
	return rc ? rc : run_summarise(g);
}

/* Copies the command line, in one block of memory, for agents on other hosts: parsing changes the original. */
static char **copy_words(int argc, char **argv)
{
	size_t size = ((size_t)argc + 1) * sizeof *argv;
	char **copy, *at;

	for (int i = 0; i < argc; i++)
		size += strlen(argv[i]) + 1;
	copy = mem_calloc(1, size);
	at = (char *)(copy ? copy + argc + 1 : NULL);
	for (int i = 0; i < argc && copy; i++) {
		copy[i] = at;
		at = stpcpy(at, argv[i]) + 1;
	}
	return copy;
}

int run_open(struct goalrun *g, int argc, char **argv, const struct agent_setup *sent, bool *done)
{
	*g = (struct goalrun){ .argc = argc,
			       .argv = copy_words(argc, argv),
			       .words = copy_words(argc, argv),
			       .sent = sent,
			       .machine = sim_machine_default(),
			       .o = { .warmup = 10, .seed = 1, .placement = { .kind = PLACEMENT_NUMA, .comm_cores = -1 } } };
	return g->argv && g->words ? run_parse_options(g, argc, g->words, done) : no_memory();
}

int run_open_again(const struct goalrun *before, struct goalrun **out)
{
	struct goalrun *g = *out = mem_calloc(1, sizeof *g);
	bool done;
	int rc = g ? run_open(g, before->argc, before->argv, NULL, &done) : no_memory();

	if (!rc)
		g->o.here = g->o.nranks;
	return rc;
}

void run_close(struct goalrun *g)
{
	hosts_finish(g->o.hosts);
	free(g->argv);
	VEC_FREE(&g->counts);
	VEC_FREE(&g->roots);
	VEC_FREE(&g->types);
	VEC_FREE(&g->ops);
	VEC_FREE(&g->memories);
	VEC_FREE(&g->samples);
	goal_diags_free(g->diags);
	ir_graph_fini(&g->graph);
	defines_free(&g->o.defines);
	defines_free(&g->o.lowered);
	free(g->o.passes);
	VEC_FREE(&g->o.placement.list);
	if (g->o.pinning)
		run_unplace_ranks(&g->pinning);
	claim_close(&g->claim);
	free(g->selected);
	free(g->row);
	free(g->words);
	free(g->o.cases);
	free(g->o.image);
	free(g->results);
	if (g->measured)
		munmap(g->measured, g->measured_size);
	if (g->nic.stats)
		munmap(g->nic.stats, sizeof *g->nic.stats);
}

void run_free(struct goalrun *g)
{
	if (g)
		run_close(g);
	free(g);
}
