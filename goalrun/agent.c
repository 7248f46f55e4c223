/* SPDX-License-Identifier: BSD-3-Clause
 * goalrun on one of several hosts. It starts the ranks of that host. It forwards to goalrun what they write on the
 * board, what they print and how they end. When the connection to goalrun ends, or is silent for long, the agent ends
 * its ranks and itself. */
#include "goalrun/hosts.h"
#include "runtime/board/mirror.h"
#include "util/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ns of silence after which the agent ends; longer than goalrun's limit, because goalrun may have been stopped for a
 * while */
#define SILENCE_NS 20000000000u
#define TICK_MS 20
#define AWAY_MS 200

struct run_agent {
	struct wire wire;
	pthread_t keeper; /* thread that uses the wire while the agent is away */
	bool away; /* the agent is busy elsewhere, and the keeper runs */
	int back; /* eventfd that ends the keeper */
	/* output: read end of the pipe that ranks print to; input: both ends of the pipe that rank 0 reads; bell: eventfd that
	 * the board's users ring */
	int output, input[2], bell;
	VEC(char) typed; /* input for rank 0 */
	size_t given; /* bytes of `typed` that rank 0's pipe has taken */
	bool typed_end; /* no more input follows */
	uint32_t nhosts, host, first, here;
	uint32_t *firsts; /* first rank of each host */
	struct rt_board *board;
	struct run_shared *shared;
	bool bad_reported, go;
};

/* ---- orders ---- */

struct cursor {
	char *at, *end;
	bool bad;
};

static uint32_t get_number(struct cursor *c)
{
	uint32_t v = 0;

	if ((size_t)(c->end - c->at) < sizeof v) {
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->at, sizeof v);
	c->at += sizeof v;
	return v;
}

static char *get_text(struct cursor *c)
{
	char *text = c->at, *nul = memchr(c->at, 0, (size_t)(c->end - c->at));

	if (!nul) {
		c->bad = true;
		return (char *)(uintptr_t)"";
	}
	c->at = nul + 1;
	return text;
}

static int bad_orders(void)
{
	fprintf(stderr, "goalrun: the orders of an agent are damaged\n");
	return EXIT_FAULT;
}

static int read_orders(struct run_agent *a, struct agent_setup *s, size_t size)
{
	struct cursor c = { s->data, s->data + size, false };
	const char *directory;
	uint32_t nenv;

	a->host = get_number(&c);
	a->nhosts = get_number(&c);
	if (c.bad || a->host >= a->nhosts || a->nhosts > size)
		return bad_orders();
	a->firsts = mem_calloc(a->nhosts + 1, sizeof *a->firsts);
	if (!a->firsts)
		return option_no_memory("goalrun");
	for (uint32_t k = 0; k <= a->nhosts; k++)
		a->firsts[k] = get_number(&c);
	s->nranks = a->firsts[a->nhosts];
	s->first = a->first = a->firsts[a->host];
	s->here = a->here = a->firsts[a->host + 1] - s->first;
	directory = get_text(&c);
	s->argc = get_number(&c);
	if (c.bad || s->argc > size || s->first > s->nranks || s->here > s->nranks - s->first)
		return bad_orders();
	s->argv = mem_calloc(s->argc + 1, sizeof *s->argv);
	if (!s->argv)
		return option_no_memory("goalrun");
	for (uint32_t i = 0; i < s->argc; i++)
		s->argv[i] = get_text(&c);
	nenv = get_number(&c);
	for (uint32_t i = 0; i < nenv && !c.bad; i++) {
		char *name = get_text(&c), *value = get_text(&c);

		if (*name && setenv(name, value, 1))
			return option_no_memory("goalrun");
	}
	s->size = get_number(&c);
	s->image = c.at;
	if (c.bad || s->size != (size_t)(c.end - c.at))
		return bad_orders();
	/* An agent that has received the schedule can do without the directory. */
	if (chdir(directory) && !s->size) {
		fprintf(stderr, "goalrun: %s: %s\n", directory, run_errno_text());
		return EXIT_FAULT;
	}
	return EXIT_OK;
}

/* ---- signs of life while the agent is busy elsewhere ---- */

static void *keep_alive(void *arg)
{
	struct run_agent *a = arg;
	struct pollfd p = { .fd = a->back, .events = POLLIN };

	do
		wire_flush(&a->wire);
	while (poll(&p, 1, AWAY_MS) <= 0);
	return NULL;
}

void agent_away(struct run_agent *a)
{
	if (a && !a->away)
		a->away = !pthread_create(&a->keeper, NULL, keep_alive, a);
}

void agent_back(struct run_agent *a)
{
	uint64_t one = 1;

	if (!a || !a->away || write(a->back, &one, sizeof one) < 0)
		return;
	pthread_join(a->keeper, NULL);
	a->away = read(a->back, &one, sizeof one) < 0;
	a->wire.heard = clock_now_ns(); /* the keeper does not read, so the silence until now does not count */
}

/* ---- forwarding ---- */

static void put_frame(void *arg, const struct rt_frame *f)
{
	wire_put(arg, WIRE_FRAME, f, sizeof *f, NULL, 0);
}

/* Writes the input to rank 0's pipe, as far as there is room. */
static void feed_input(struct run_agent *a)
{
	uint32_t taken = 0;

	while (a->input[1] >= 0 && a->given < a->typed.n) {
		ssize_t n = write(a->input[1], a->typed.at + a->given, a->typed.n - a->given);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n < 0) { /* rank 0 has closed its standard input */
			n = (ssize_t)(a->typed.n - a->given);
			a->typed_end = true;
		}
		a->given += (size_t)n;
		taken += (uint32_t)n;
	}
	if (taken)
		wire_put(&a->wire, WIRE_TAKEN, &taken, sizeof taken, NULL, 0);
	if (a->given < a->typed.n)
		return;
	a->typed.n = a->given = 0;
	if (a->typed_end && a->input[1] >= 0) {
		close(a->input[1]);
		a->input[1] = -1;
	}
}

static void carry_output(struct run_agent *a)
{
	char text[16384];
	ssize_t n;

	/* The agent reads no more than goalrun takes, so that its memory does not grow without limit. */
	while (a->wire.put.n < 1 << 20 && (n = read(a->output, text, sizeof text)) > 0)
		wire_put(&a->wire, WIRE_OUTPUT, text, (size_t)n, NULL, 0);
}

/* Handles a message from goalrun. Returns a signal for the ranks, or 0. */
static int handle_message(struct run_agent *a, uint32_t what, const char *data, size_t size)
{
	struct rt_frame f;
	int sig = 0;

	switch (what) {
	case WIRE_GO:
		a->go = true;
		break;
	case WIRE_FRAME:
		if (size == sizeof f && a->board) {
			memcpy(&f, data, sizeof f);
			rt_mirror_apply(a->board, &f);
		}
		break;
	case WIRE_BAD:
		a->bad_reported = true;
		if (a->shared)
			atomic_store(&a->shared->bad, 1);
		break;
	case WIRE_SIGNAL:
		if (size == sizeof sig)
			memcpy(&sig, data, sizeof sig);
		break;
	case WIRE_INPUT:
		a->typed_end |= !size;
		if (!a->typed_end)
			(void)VEC_APPEND(&a->typed, data, size);
		break;
	default:
		break;
	}
	return sig;
}

static bool cut_off(const struct run_agent *a)
{
	return a->wire.broken || clock_now_ns() - a->wire.heard > SILENCE_NS;
}

static void forward_all(struct run_agent *a)
{
	if (a->board)
		rt_mirror_scan(a->board, false, put_frame, &a->wire);
	if (a->shared && !a->bad_reported && atomic_load(&a->shared->bad)) {
		a->bad_reported = true;
		wire_put(&a->wire, WIRE_BAD, NULL, 0, NULL, 0);
	}
	carry_output(a);
	feed_input(a);
	wire_flush(&a->wire);
}

int agent_poll(struct run_agent *a)
{
	struct pollfd p[] = { { .fd = a->wire.in, .events = POLLIN },
			      { .fd = a->bell, .events = POLLIN },
			      { .fd = a->wire.put.n < 1 << 20 ? a->output : -1, .events = POLLIN },
			      { .fd = -1, .events = POLLOUT } };
	uint64_t rung;
	uint32_t what;
	char *data;
	size_t size;
	int sig = 0;

	forward_all(a);
	p[3].fd = a->wire.put.n ? a->wire.out : -1;
	poll(p, 4, TICK_MS);
	if (p[1].revents && read(a->bell, &rung, sizeof rung) < 0)
		return 0;
	wire_fill(&a->wire);
	/* Messages after WIRE_GO belong to a launch that has not begun. */
	while (!sig && !a->go && wire_next(&a->wire, &what, &data, &size))
		sig = handle_message(a, what, data, size);
	return cut_off(a) ? SIGTERM : sig;
}

/* ---- launches ---- */

bool agent_begin(struct run_agent *a, struct rt_board *b, struct run_shared *shared)
{
	agent_back(a);
	a->board = b;
	a->shared = shared;
	a->bad_reported = false;
	b->home = a->host;
	atomic_store(&b->bell, (uint32_t)a->bell + 1);
	for (uint32_t k = 0; k < a->nhosts; k++)
		for (uint32_t r = a->firsts[k]; r < a->firsts[k + 1] && r < b->size; r++)
			b->slots[r].home = k;
	while (!a->go)
		if (agent_poll(a) == SIGTERM)
			return false;
	a->go = false;
	return true;
}

int agent_input(const struct run_agent *a)
{
	return a->input[0];
}

void agent_exited(struct run_agent *a, uint32_t rank, int sig)
{
	const struct wire_exit e = { rank, sig };

	wire_put(&a->wire, WIRE_EXIT, &e, sizeof e, NULL, 0);
}

void agent_finish(struct run_agent *a, struct run_launch *l, int rc)
{
	struct run_part parts[RUN_PARTS];
	const int32_t status = rc;

	if (l)
		run_parts(l, parts);
	for (uint32_t i = 0; l && i < RUN_PARTS; i++)
		for (uint32_t k = 0; k < parts[i].n; k++) {
			const struct wire_result head = { i, k };

			if (parts[i].n > 1 && l->o->cases[k].memory != l->memory)
				continue;
			wire_put(&a->wire, WIRE_RESULT, &head, sizeof head,
				 parts[i].base + (k * l->o->nranks + a->first) * parts[i].each, a->here * parts[i].each);
		}
	while (!cut_off(a)) { /* waits until everything printed has been sent, however much it is */
		forward_all(a);
		if (!a->wire.put.n)
			break;
		agent_poll(a);
	}
	wire_put(&a->wire, WIRE_DONE, &status, sizeof status, NULL, 0);
	a->board = NULL;
	a->shared = NULL;
	while (a->wire.put.n && !cut_off(a))
		agent_poll(a);
}

/* ---- beginning and end ---- */

static bool make_pipe(int fds[2], int nonblocking)
{
	return !pipe2(fds, O_CLOEXEC) && fcntl(fds[nonblocking], F_SETFL, O_NONBLOCK) == 0;
}

int agent_open(struct run_agent **out, struct agent_setup *s)
{
	struct run_agent *a = mem_calloc(1, sizeof *a);
	int output[2] = { -1, -1 }, nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), result = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	uint32_t what;
	char *data;
	size_t size;

	signal(SIGPIPE, SIG_IGN);
	*out = a;
	if (!a || nothing < 0 || in < 0 || result < 0 || !make_pipe(a->input, 1) || !make_pipe(output, 0) ||
	    (a->bell = eventfd(0, EFD_NONBLOCK)) < 0 || (a->back = eventfd(0, EFD_CLOEXEC)) < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(output[1], STDOUT_FILENO) < 0) {
		fprintf(stderr, "goalrun: %s\n", a ? run_errno_text() : err_text(ERR_NOMEM));
		return EXIT_FAULT;
	}
	close(nothing);
	close(output[1]);
	a->output = output[0];
	wire_open(&a->wire, in, result);
	wire_put(&a->wire, WIRE_HELLO, GOAL_VERSION, sizeof GOAL_VERSION, NULL, 0);
	while (!cut_off(a)) {
		struct pollfd p = { .fd = in, .events = POLLIN };

		wire_flush(&a->wire);
		poll(&p, 1, TICK_MS);
		wire_fill(&a->wire);
		if (!wire_next(&a->wire, &what, &data, &size) || what != WIRE_SETUP)
			continue;
		s->data = mem_alloc(size);
		if (!s->data)
			return option_no_memory("goalrun");
		memcpy(s->data, data, size);
		agent_away(a); /* checking a schedule may take long */
		return read_orders(a, s, size);
	}
	return EXIT_FAULT;
}

void agent_close(struct run_agent *a, struct agent_setup *s)
{
	agent_back(a);
	if (a) {
		wire_close(&a->wire);
		VEC_FREE(&a->typed);
		free(a->firsts);
	}
	free(a);
	free(s->argv);
	free(s->data);
}
