/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun(1): runs a schedule with generated data and checks the result, or runs a program. This file has main(), prepares
 * and launches the ranks, and frees everything at the end. */
#include "goalrun/collect_trace.h"
#include "goalrun/goalrun.h"
#include "util/env.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Launches the schedule once for each kind of memory. Each launch runs all cases of its kind. */
static int run_launches(struct goalrun *g)
{
	struct run_options *o = &g->o;
	size_t times = o->ncases * o->nranks * (size_t)o->iters * sizeof(double);
	size_t inits = o->ncases * o->nranks * sizeof(double);
	size_t spans = o->overlap ? o->ncases * o->nranks * (size_t)o->iters * sizeof *g->spans : 0;
	int rc = EXIT_OK;

	g->total = run_shared_memory(times);
	g->start = run_shared_memory(times);
	g->init = run_shared_memory(inits);
	g->cpu = run_shared_memory(inits);
	g->joules = run_shared_memory(o->ncases * sizeof(double));
	g->spans = run_shared_memory(spans);
	g->stats = run_shared_memory(o->nranks * sizeof *g->stats);
	if (!g->total || !g->start || !g->init || !g->cpu || !g->joules || !g->spans || !g->stats)
		return run_fault("%s", "out of memory: fewer --iters or cases");
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

		rc = launch_schedule(&l);
	}
	return rc;
}

/* Prepares for the start of ranks: sets their environment, starts the emulator or the trace, and chooses their cores. On
 * several hosts it starts the agents instead, which do this on their hosts. */
static int prepare_ranks(struct goalrun *g)
{
	struct run_options *o = &g->o;
	int rc = EXIT_OK;

	o->first = g->sent ? g->sent->first : 0;
	o->here = g->sent ? g->sent->here : o->nranks;
	if (o->hosts)
		return hosts_begin(o->hosts, o, g->argc, g->argv);
	if ((o->backend && setenv(env_table[ENV_GOAL_BACKEND].name, o->backend->name, 1)) ||
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

/* Writes the trace, if one was asked for. To be called after all ranks have ended without error. */
static int write_collected(const struct goalrun *g)
{
	if (!g->o.trace)
		return EXIT_OK;
	return run_emulates_nic(&g->o) ? run_nic_trace(&g->nic, g->o.trace) : run_trace_write(g->trace_fd, g->o.trace);
}

int run_prepared(struct goalrun *g)
{
	int rc = prepare_ranks(g), stopped;

	rc = rc ? rc : run_launches(g);
	stopped = run_nic_stop(&g->nic);
	rc = rc ? rc : stopped;
	if (g->sent)
		return rc;
	rc = rc ? rc : write_collected(g);
	return rc ? rc : run_summarise(g);
}

static int run_schedule(struct goalrun *g)
{
	const int rc = run_prepare_schedule(g);

	return rc ? rc : run_prepared(g);
}

static int run_program(struct goalrun *g)
{
	int rc = prepare_ranks(g), stopped;

	rc = rc ? rc : launch_program(&g->o);
	stopped = run_nic_stop(&g->nic);
	rc = rc ? rc : stopped;
	return rc ? rc : write_collected(g);
}

static void free_all(struct goalrun *g)
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
}

/* Adapts the options of goalrun, which an agent has received, to the agent: the ranks are divided already. */
static void become_agent(struct goalrun *g, struct run_agent *agent)
{
	hosts_finish(g->o.hosts);
	g->o.hosts = NULL;
	g->o.agent = agent;
	g->o.nranks = g->sent->nranks;
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

/* Makes a run by parsing the command line. */
static int open_run(struct goalrun *g, int argc, char **argv, const struct agent_setup *sent, bool *done)
{
	*g = (struct goalrun){ .argc = argc,
			       .argv = copy_words(argc, argv),
			       .words = copy_words(argc, argv),
			       .sent = sent,
			       .o = { .warmup = 10, .seed = 1, .placement = { .kind = PLACEMENT_NUMA, .comm_cores = -1 } } };
	return g->argv && g->words ? run_parse_options(g, argc, g->words, done) : no_memory();
}

int run_open_again(const struct goalrun *before, struct goalrun **out)
{
	struct goalrun *g = *out = mem_calloc(1, sizeof *g);
	bool done;
	int rc = g ? open_run(g, before->argc, before->argv, NULL, &done) : no_memory();

	if (!rc)
		g->o.here = g->o.nranks;
	return rc;
}

void run_free(struct goalrun *g)
{
	if (g)
		free_all(g);
	free(g);
}

/* Makes the run of the counts that an earlier one has left. */
static int open_later(const struct goalrun *before, struct goalrun **out)
{
	int rc = run_open_again(before, out);
	struct goalrun *g = *out;

	if (rc)
		return rc;
	g->counts.n = 0;
	for (size_t i = 0; i < before->later; i++)
		if (VEC_PUSH(&g->counts, before->counts.at[before->counts.n + i]))
			return no_memory();
	return EXIT_OK;
}

/* Runs the schedule, or all schedules that a table has for the counts, one after the other, and prints the results. */
static int run_schedules(struct goalrun *g)
{
	VEC(struct goalrun *) runs = { 0 };
	int rc = VEC_PUSH(&runs, g) ? no_memory() : run_schedule(g);

	while (!rc && g->later) {
		struct goalrun *next;

		rc = open_later(g, &next);
		if (next && VEC_PUSH(&runs, next)) {
			run_free(next);
			rc = no_memory();
		}
		rc = rc ? rc : run_schedule(next);
		g = rc ? g : next;
	}
	rc = rc || g->sent ? rc : run_report(runs.at, runs.n);
	for (size_t i = 1; i < runs.n; i++)
		run_free(runs.at[i]);
	VEC_FREE(&runs);
	return rc;
}

/* Runs what the options ask for. In an agent, `sent` has the orders of goalrun; otherwise `sent` and `agent` are NULL. */
static int run_command(int argc, char **argv, const struct agent_setup *sent, struct run_agent *agent)
{
	struct goalrun g;
	bool done = false;
	int rc = open_run(&g, argc, argv, sent, &done);

	if (sent)
		become_agent(&g, agent);
	g.o.here = g.o.nranks;
	if (!rc && !done)
		rc = g.show_placement ? run_show_placement(&g.o) : g.o.program ? run_program(&g) : g.tune ? run_tune(&g) : run_schedules(&g);
	free_all(&g);
	return rc;
}

/* Runs the ranks of one of several hosts. */
static int be_agent(void)
{
	struct agent_setup setup = { 0 };
	struct run_agent *agent;
	int rc = agent_open(&agent, &setup);

	rc = rc ? rc : run_command((int)setup.argc, setup.argv, &setup, agent);
	agent_close(agent, &setup);
	return rc;
}

int main(int argc, char **argv)
{
	rt_usr1_hold(); /* SIGUSR1 is for the ranks, and may arrive before they have been started */
	signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit of file sizes then fails with EFBIG, and is reported */
	if (argc == 2 && !strcmp(argv[1], "--agent"))
		return be_agent();
	option_catch_interrupt();
	option_check_environment("goalrun");
	return run_command(argc, argv, NULL, NULL);
}
