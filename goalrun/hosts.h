/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks on several hosts. goalrun starts itself on each as an agent (agent.c), by a remote shell, and talks to it by that
 * shell's standard input and output (wire.c); what one agent tells the others passes through it (hosts.c). */
#ifndef GOALRUN_HOSTS_H
#define GOALRUN_HOSTS_H

#include "goalrun/run.h"
#include "runtime/board.h"

/* ---- messages (wire.c) ---- */

enum wire_what {
	WIRE_HELLO, /* an agent's first: the version */
	WIRE_SETUP, /* a launch in words (agent.c) */
	WIRE_GO, /* starts the ranks of the next launch */
	WIRE_FRAME, /* of the board */
	WIRE_BAD, /* a rank of a schedule has failed */
	WIRE_SIGNAL, /* for all ranks: an int */
	WIRE_INPUT, /* for rank 0; nothing: its end */
	WIRE_TAKEN, /* the bytes of it that rank 0 has got: a uint32_t */
	WIRE_OUTPUT, /* of ranks */
	WIRE_EXIT, /* struct wire_exit */
	WIRE_RESULT, /* struct wire_result and what follows it */
	WIRE_DONE, /* of a launch: its exit status, an int */
	WIRE_ALIVE
};

#define WIRE_ALIVE_NS 1000000000u /* between two of them */

struct wire_exit { /* of a rank that did not end well */
	uint32_t rank;
	int32_t sig; /* or 0 */
};

struct wire_result {
	uint32_t part, at; /* the case, where there is one for each */
};

/* What ranks leave in memory that goalrun shares with them. */
struct run_part {
	char *base;
	size_t each; /* bytes of a rank */
	size_t n; /* cases, or 1 */
};
enum { RUN_PARTS = 6 };
void run_parts(struct run_launch *l, struct run_part parts[RUN_PARTS]);

struct wire {
	int in, out;
	VEC(char) got, put;
	size_t taken, sent; /* of these */
	uint64_t told, heard; /* when something was last sent, or has come; ns */
	bool broken;
};

void wire_open(struct wire *w, int in, int out);
void wire_close(struct wire *w);
/* Two pieces as one message, the second may be empty. */
void wire_put(struct wire *w, enum wire_what what, const void *a, size_t na, const void *b, size_t nb);
/* Sends what there is without waiting, and now and then that this side lives. */
void wire_flush(struct wire *w);
/* Takes what has come without waiting. */
void wire_fill(struct wire *w);
/* The next message, until the next call of wire_fill; false: there is none yet. */
bool wire_next(struct wire *w, uint32_t *what, char **data, size_t *size);

/* ---- of goalrun (hosts.c) ---- */

struct run_hosts;

/* Parses NAME[:COUNT],...; NULL after a message in *why, or without memory. */
struct run_hosts *hosts_parse(const char *list, const char **why);
/* How many ranks there is room for; 0: no counts were given. */
uint32_t hosts_room(const struct run_hosts *h);
/* Sets the host of each of so many ranks, by its place in the list. */
void hosts_nodes(struct run_hosts *h, uint32_t nranks, uint32_t *node);
/* Starts agents for o->nranks ranks, with this command line. An exit status. */
int hosts_begin(struct run_hosts *h, const struct run_options *o, int argc, char **argv);
/* Runs one launch, of a schedule or of the program (NULL); an exit status. died: by rank, the signal or 0. */
int hosts_run(struct run_hosts *h, const struct run_options *o, struct run_launch *l, int *died);
/* Ends the agents, and waits for them. NULL is harmless. */
void hosts_end(struct run_hosts *h);

/* ---- of an agent (agent.c) ---- */

/* What it has been told to do. */
struct agent_setup {
	char *data; /* all that follows is in there */
	uint32_t nranks, first, here, argc;
	char **argv;
	char *image;
	size_t size;
};

struct run_agent;

/* Speaks by the standard input and output from now on; those that ranks inherit are others. Waits for its orders, takes
 * over directory and environment. An exit status. */
int agent_open(struct run_agent **out, struct agent_setup *s);
/* Waits until the next launch begins; false: there is none. The ranks meet on this board. */
bool agent_begin(struct run_agent *a, struct rt_board *b, struct run_shared *shared);
/* Something else to read from for rank 0 of a program. */
int agent_input(const struct run_agent *a);
/* Carries what there is to carry, and waits for some ms; a signal that came, or 0. */
int agent_turn(struct run_agent *a);
void agent_exited(struct run_agent *a, uint32_t rank, int sig);
/* The launch is over, and this is what it has left. */
void agent_finish(struct run_agent *a, struct run_launch *l, int rc);
void agent_close(struct run_agent *a, struct agent_setup *s);

#endif
