/* SPDX-License-Identifier: BSD-3-Clause
 * A transport between the ranks of a team, by rings in memory that they share (TEAM_TRANSPORT, see team.h). It does what a
 * transport may do: messages wait in it for their recv, small ones are complete before that, packets are late at random, and
 * long ones are refused. It ends the process if the library calls it as it must not. */
#include "tests/rt/team.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 5000, EAGER = 2000, TAGS = 3000, RING = 1 << 16, ANSWERS = 8192 /* bytes of a ring for answers only */ };

/* A ring of packets from one rank to another. Positions grow without end. */
struct ring {
	_Atomic uint64_t put, taken;
	char bytes[RING];
};

struct packet {
	uint32_t tag, bytes;
	uint64_t sync; /* sender's message, to be named in an answer; 0: it wants none */
	bool answer;
};

/* A message that the program starts. */
struct message {
	struct message *next; /* in the list of started recvs, or of sends that did not fit into the ring */
	char *buf;
	size_t bytes;
	int peer;
	uint32_t tag;
	bool recv, sync, active, waits; /* waits: for an answer, for its packet, or for room */
	bool queued; /* it is in the list */
};

/* A packet without a recv. */
struct early {
	struct early *next;
	struct packet p;
	int from;
	char bytes[];
};

/* The state of one rank. */
struct post {
	pthread_mutex_t lock;
	struct member *m;
	struct ring *rings; /* from each rank to each other */
	struct message *queued; /* started, in order */
	struct early *early;
	bool stashed; /* there may be recvs for packets in `early` */
	unsigned seed;
	bool threads; /* any thread may call */
};

static void need(bool good, const char *what)
{
	if (!good) {
		fprintf(stderr, "transport: %s\n", what);
		abort();
	}
}

/* Threads of the library block all signals. */
static struct post *enter(void *state)
{
	struct post *p = state;
	sigset_t now;

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	need(p->threads || !sigismember(&now, SIGTERM), "a thread of the library calls it");
	pthread_mutex_lock(&p->lock);
	return p;
}

static struct ring *ring_to(const struct post *p, int from, int to)
{
	return &p->rings[from * TEAM_MAX + to];
}

static void copy_out(const struct ring *r, uint64_t at, void *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)out)[i] = r->bytes[(at + i) % RING];
}

static void copy_in(struct ring *r, uint64_t at, const void *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		r->bytes[(at + i) % RING] = ((const char *)in)[i];
}

static bool put_packet(struct post *p, int to, const struct packet *k, const void *bytes)
{
	struct ring *r = ring_to(p, p->m->rank, to);
	const uint64_t at = atomic_load(&r->put);

	if (RING - (at - atomic_load(&r->taken)) < sizeof *k + k->bytes + (k->answer ? 0 : ANSWERS))
		return false;
	copy_in(r, at, k, sizeof *k);
	copy_in(r, at + sizeof *k, bytes, k->bytes);
	atomic_store(&r->put, at + sizeof *k + k->bytes);
	return true;
}

/* Takes a packet out of a ring: an answer has its effect, and another packet is returned. */
static struct early *read_packet(int from, struct ring *r)
{
	const uint64_t at = atomic_load(&r->taken);
	struct packet k;
	struct early *e;

	copy_out(r, at, &k, sizeof k);
	e = malloc(sizeof *e + k.bytes);
	need(e, "no memory");
	*e = (struct early){ .p = k, .from = from };
	copy_out(r, at + sizeof k, e->bytes, k.bytes);
	atomic_store(&r->taken, at + sizeof k + k.bytes);
	if (!k.answer)
		return e;
	((struct message *)(uintptr_t)k.sync)->waits = false;
	free(e);
	return NULL;
}

static void keep(struct post *p, struct early *e)
{
	struct early **last = &p->early;

	while (*last)
		last = &(*last)->next;
	*last = e;
}

/* If there is no room, the other rank may wait for room for its answers, too: so this one takes what has come. */
static void answer(struct post *p, int to, uint64_t message)
{
	while (message && !put_packet(p, to, &(struct packet){ .sync = message, .answer = true }, NULL)) {
		struct ring *r = ring_to(p, to, p->m->rank);
		struct early *e = atomic_load(&r->put) != atomic_load(&r->taken) ? read_packet(to, r) : NULL;

		if (!e)
			continue;
		keep(p, e);
		p->stashed = true;
	}
}

static void drop(struct post *p, struct message *x)
{
	struct message **at = &p->queued;

	while (*at && *at != x)
		at = &(*at)->next;
	if (*at)
		*at = x->next;
	x->queued = false;
}

/* Gives a packet to the first recv for it. */
static bool deliver(struct post *p, int from, const struct packet *k, const char *bytes)
{
	for (struct message *x = p->queued; x; x = x->next)
		if (x->recv && x->peer == from && x->tag == k->tag) {
			need(x->bytes == k->bytes, "a message has another size than its recv");
			memcpy(x->buf, bytes, k->bytes);
			x->waits = false;
			drop(p, x);
			answer(p, from, k->sync);
			return true;
		}
	return false;
}

/* Gives the packets that were taken while their recvs had been started to these. */
static void deliver_stashed(struct post *p)
{
	while (p->stashed) {
		p->stashed = false;
		for (struct early *e, **at = &p->early; (e = *at);) {
			if (!deliver(p, e->from, &e->p, e->bytes)) { /* may take more, which come behind */
				at = &e->next;
				continue;
			}
			*at = e->next;
			free(e);
		}
	}
}

static void take_packet(struct post *p, int from, struct ring *r)
{
	struct early *e = read_packet(from, r);

	if (!e)
		return;
	if (deliver(p, from, &e->p, e->bytes))
		free(e);
	else
		keep(p, e);
	deliver_stashed(p); /* before a later packet is delivered */
}

/* Puts a send's packet into the ring. Returns false if it is full. No earlier send to the same rank is queued. */
static bool try_send(struct post *p, struct message *x)
{
	const bool wants = x->sync || x->bytes > EAGER;

	if (!put_packet(p, x->peer,
			&(struct packet){ .tag = x->tag, .bytes = (uint32_t)x->bytes, .sync = wants ? (uintptr_t)x : 0 }, x->buf))
		return false;
	x->waits = wants;
	drop(p, x);
	return true;
}

/* Tries the queued sends, those to one rank in their order. */
static void send_queued(struct post *p)
{
	bool full[TEAM_MAX] = { false };

	for (struct message *x = p->queued, *next; x; x = next) {
		next = x->next;
		if (!x->recv && !full[x->peer])
			full[x->peer] = !try_send(p, x);
	}
}

static void progress(struct post *p)
{
	for (int from = 0; from < p->m->size; from++) {
		struct ring *r = ring_to(p, from, p->m->rank);

		while (atomic_load(&r->put) != atomic_load(&r->taken) && rand_r(&p->seed) % 4)
			take_packet(p, from, r);
	}
	send_queued(p);
}

/* ---- the functions of the transport ---- */

static int make(struct message with, size_t bytes, uint32_t tag, void **out)
{
	struct message *x = malloc(sizeof *x);

	need(x && bytes <= MOST && tag < TAGS, "a message is too long, or has a wrong tag");
	*x = with;
	x->bytes = bytes;
	x->tag = tag;
	*out = x;
	return 0;
}

static int send_init(void *state, const void *buf, size_t bytes, int peer, uint32_t tag, int sync, void **out)
{
	(void)state;
	return make((struct message){ .buf = (char *)(uintptr_t)buf, .peer = peer, .sync = sync }, bytes, tag, out);
}

static int recv_init(void *state, void *buf, size_t bytes, int peer, uint32_t tag, void **out)
{
	(void)state;
	return make((struct message){ .buf = buf, .peer = peer, .recv = true }, bytes, tag, out);
}

/* Looks whether a packet for a recv has come early. */
static void look_back(struct post *p, struct message *x)
{
	for (struct early **at = &p->early; *at; at = &(*at)->next) {
		struct early *e = *at;

		if (e->from != x->peer || e->p.tag != x->tag)
			continue;
		deliver(p, e->from, &e->p, e->bytes);
		*at = e->next;
		free(e);
		break;
	}
	deliver_stashed(p);
}

static int start(void *state, void *message)
{
	struct post *p = enter(state);
	struct message *x = message, **last = &p->queued;

	need(!x->active, "an active message is started");
	x->active = x->waits = x->queued = true;
	x->next = NULL;
	while (*last)
		last = &(*last)->next;
	*last = x;
	if (x->recv)
		look_back(p, x);
	else
		send_queued(p);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

static int test(void *state, void *message, int *flag)
{
	struct post *p = enter(state);
	struct message *x = message;

	if (x->active)
		progress(p);
	x->active = x->queued || x->waits;
	*flag = !x->active;
	pthread_mutex_unlock(&p->lock);
	return 0;
}

static int drop_message(void *state, void *message)
{
	struct post *p = enter(state);
	struct message *x = message;

	drop(p, x);
	if (!x->active) /* else an answer may still come */
		free(x);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

struct MPIX_Sched_transport team_transport_make(struct member *m, const char *how)
{
	struct post *p = calloc(1, sizeof *p);

	need(p && m->team->rings, "no memory");
	pthread_mutex_init(&p->lock, NULL);
	p->m = m;
	p->rings = m->team->rings;
	p->seed = (unsigned)m->rank;
	p->threads = !strcmp(how, "threads");
	m->post = p;
	return (struct MPIX_Sched_transport){ .struct_size = sizeof(struct MPIX_Sched_transport),
					      .state = p,
					      .most_bytes = MOST,
					      .tags = TAGS,
					      .any_thread = p->threads,
					      .send_init = send_init,
					      .recv_init = recv_init,
					      .start = start,
					      .test = test,
					      .free = drop_message };
}

int team_transport(struct member *m, const char *how)
{
	const struct MPIX_Sched_transport t = team_transport_make(m, how);

	CALL(MPIX_Sched_group_set_transport(m->group, &t));
	return 0;
}

void team_transport_end(struct member *m)
{
	struct post *p = m->post;

	if (!p)
		return;
	while (p->early) {
		struct early *e = p->early;

		p->early = e->next;
		free(e);
	}
	pthread_mutex_destroy(&p->lock);
	free(p);
}

size_t team_transport_size(void)
{
	return TEAM_MAX * TEAM_MAX * sizeof(struct ring);
}
