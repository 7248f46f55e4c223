/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun(1): runs a schedule with generated data and checks the result, or runs a program. This file has main(), and decides
 * what is run. */
#include "goalrun/goalrun.h"
#include "runtime/context.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int run_schedule(struct goalrun *g)
{
	const int rc = run_prepare_schedule(g);

	return rc ? rc : run_simulates(&g->o) ? run_simulated(g) : run_prepared(g);
}

static int run_program(struct goalrun *g)
{
	int rc = run_prepare_ranks(g), stopped;

	rc = rc ? rc : launch_program(&g->o);
	stopped = run_nic_stop(&g->nic);
	rc = rc ? rc : stopped;
	return rc ? rc : run_write_collected(g);
}

/* Adapts the options of goalrun, which an agent has received, to the agent: the ranks are divided already. */
static void become_agent(struct goalrun *g, struct run_agent *agent)
{
	hosts_finish(g->o.hosts);
	g->o.hosts = NULL;
	g->o.agent = agent;
	g->o.nranks = g->sent->nranks;
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
	int rc = run_open(&g, argc, argv, sent, &done);

	if (sent)
		become_agent(&g, agent);
	g.o.here = g.o.nranks;
	if (!rc && !done)
		rc = g.show_placement ? run_show_placement(&g.o) :
		     g.o.program      ? run_program(&g) :
		     g.tune	      ? run_tune(&g) :
		     g.calibrate      ? run_calibrate(&g) :
					run_schedules(&g);
	run_close(&g);
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

/* Fills the places of closed standard descriptors: what goalrun opens would get their numbers, and ranks would read and write it. They
 * can still not be read or written, because they are open for the other one. */
static void hold_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
	hold_standard();
	signal(SIGCHLD, SIG_DFL); /* if it is ignored, nobody tells how a rank has ended, nor that it has */
	rt_usr1_hold(); /* SIGUSR1 is for the ranks, and may arrive before they have been started */
	signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit of file sizes then fails with EFBIG, and is reported */
	if (argc == 2 && !strcmp(argv[1], "--agent"))
		return be_agent();
	option_catch_interrupt();
	option_check_environment("goalrun");
	return run_command(argc, argv, NULL, NULL);
}
