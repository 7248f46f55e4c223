/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks on several hosts. goalrun starts itself on each host as an agent (agent.c), by a remote shell. It exchanges
 * messages with the agents over that shell's standard input and output (wire.c). Messages from one agent to others pass
 * through goalrun (hosts.c). */
#ifndef GOALRUN_HOSTS_H
#define GOALRUN_HOSTS_H

#include "goalrun/run.h"
#include "runtime/board/board.h"

/* ---- messages (wire.c) ---- */

enum wire_what {
	WIRE_HELLO, /* first message of an agent: its version */
	WIRE_SETUP, /* command line, environment and schedule (agent.c) */
	WIRE_GO, /* starts the ranks of the next launch */
	WIRE_FRAME, /* a frame of the board */
	WIRE_BAD, /* a rank of a schedule has failed */
	WIRE_SIGNAL, /* an int: a signal for all ranks */
	WIRE_INPUT, /* input for rank 0; empty at the end of the input */
	WIRE_TAKEN, /* a uint32_t: bytes of input that rank 0 has taken */
	WIRE_OUTPUT, /* output of ranks */
	WIRE_EXIT, /* a struct wire_exit */
	WIRE_RESULT, /* a struct wire_result, followed by the result */
	WIRE_DONE, /* an int: exit status of a launch */
	WIRE_ALIVE
};

#define WIRE_ALIVE_NS 1000000000u /* ns between two WIRE_ALIVE messages */

struct wire_exit { /* a rank that has failed */
	uint32_t rank;
	int32_t sig; /* signal that killed it, or 0 */
};

struct wire_result {
	uint32_t part, at; /* part: index of the run_part; at: index of the case, if there is one result for each */
};

/* A kind of result, which ranks leave in memory shared with goalrun. */
struct run_part {
	char *base;
	size_t each; /* bytes per rank */
	size_t n; /* number of cases, or 1 */
};
enum { RUN_PARTS = 6 };
void run_parts(struct run_launch *l, struct run_part parts[RUN_PARTS]);

struct wire {
	int in, out;
	VEC(char) got, put;
	size_t taken, sent; /* bytes of got that are consumed, and of put that are sent */
	uint64_t sent_at, heard; /* times in ns of the last WIRE_ALIVE sent, and of the last bytes received */
	bool broken;
};

void wire_open(struct wire *w, int in, int out);
void wire_close(struct wire *w);
/* Queues a message made of two blocks. The second may be empty. */
void wire_put(struct wire *w, enum wire_what what, const void *a, size_t na, const void *b, size_t nb);
/* Sends queued messages without waiting, and from time to time WIRE_ALIVE. */
void wire_flush(struct wire *w);
/* Reads what has arrived, without waiting. */
void wire_fill(struct wire *w);
/* Returns the next message, which is valid until the next call of wire_fill. Returns false if none is complete. */
bool wire_next(struct wire *w, uint32_t *what, char **data, size_t *size);

/* ---- used by goalrun (hosts.c) ---- */

struct run_hosts;

/* Parses NAME[:COUNT],... Returns NULL after an error, with a text in *why; *why is NULL if memory is exhausted. */
struct run_hosts *hosts_parse(const char *list, const char **why);
/* Returns the number of ranks that the list has room for; 0 if it has no counts. */
uint32_t hosts_room(const struct run_hosts *h);
/* Sets node[r] of each rank to the position of its host in the list. */
void hosts_nodes(struct run_hosts *h, uint32_t nranks, uint32_t *node);
/* Starts agents for o->nranks ranks, with this command line. Returns an exit status. */
int hosts_begin(struct run_hosts *h, const struct run_options *o, int argc, char **argv);
/* Runs one launch: of a schedule, or of the program if l is NULL. Sets died[rank] to the signal that killed the rank, or to
 * 0. Returns an exit status. */
int hosts_run(struct run_hosts *h, const struct run_options *o, struct run_launch *l, int *died);
/* Ends the agents, and waits for them. NULL is allowed. */
void hosts_finish(struct run_hosts *h);

/* ---- used by an agent (agent.c) ---- */

/* The orders of an agent. */
struct agent_setup {
	char *data; /* the message with the orders, which the other pointers point into */
	uint32_t nranks, first, here, argc;
	char **argv;
	char *image;
	size_t size;
};

struct run_agent;

/* Starts an agent. Its standard input and output carry messages to and from goalrun; the ranks inherit other descriptors in
 * their place. Waits for the orders, and takes the directory and the environment from them. On return the agent is away, as
 * after agent_away(). Returns an exit status. */
int agent_open(struct run_agent **out, struct agent_setup *s);
/* While an agent is away it handles no messages, and none of its other functions may be called. A thread of its own still
 * sends signs of life to goalrun. NULL is harmless. */
void agent_away(struct run_agent *a);
void agent_back(struct run_agent *a);
/* Ends agent_away, and waits until the next launch begins. Returns false if there is none. b is the board of the launch. */
bool agent_begin(struct run_agent *a, struct rt_board *b, struct run_shared *shared);
/* Returns the descriptor that rank 0 of a program reads as its standard input. */
int agent_input(const struct run_agent *a);
/* Forwards messages, and waits for some ms. Returns a signal that was sent to the ranks, or 0. */
int agent_poll(struct run_agent *a);
void agent_exited(struct run_agent *a, uint32_t rank, int sig);
/* Ends a launch: sends its results and its exit status. */
void agent_finish(struct run_agent *a, struct run_launch *l, int rc);
void agent_close(struct run_agent *a, struct agent_setup *s);

#endif
