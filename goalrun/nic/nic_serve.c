/* SPDX-License-Identifier: BSD-3-Clause
 * The process that emulates the network interface of a node. It serves the ranks that connect, and lets the emulated
 * device run. It sleeps when nothing is to be done; a rank that posts then writes to its eventfd. */
#include "goalrun/nic/device.h"
#include "util/err.h"
#include "util/local.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH 64u /* events handled between two polls of the ranks' doorbells */
#define ROUNDS 16u /* batches of events between two polls of the sockets */
#define YIELDS 32u /* calls of sched_yield before sleeping, because ranks may be about to post */

struct rank {
	struct nic_port port;
	uint64_t leaving; /* name of a block that is to be unbound and for which the rank waits, or 0 */
	bool hello;
};

struct server {
	struct nic nic;
	const struct nic_options *o;
	struct nic_door *door;
	int door_fd, bell, spare;
	VEC(struct rank *) ranks;
	VEC(struct pollfd) polled; /* the descriptors to poll: listener, life, bell, then one for each rank */
};
enum { LISTENER, LIFE, BELL, RANKS };

/* Refuses a rank because there is no file descriptor for it. The spare descriptor is closed for a moment to send this
 * answer. */
static void refuse(struct server *s)
{
	const struct nic_answer a = { .err = -ERR_FILES, .text = "it has too few file descriptors for all ranks: ulimit -n" };
	int sock;

	close(s->spare);
	sock = accept4(s->o->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (sock >= 0) {
		(void)send(sock, &a, sizeof a, MSG_NOSIGNAL);
		close(sock);
	}
	s->spare = dup(s->o->listener);
}

static void accept_rank(struct server *s)
{
	const int sock = accept4(s->o->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct rank *r = sock < 0 ? NULL : mem_calloc(1, sizeof *r);

	if (r)
		r->port = (struct nic_port){ .sock = sock, .heap = -1 };
	if (r && local_same_user(sock, &r->port.pid) && !VEC_PUSH(&s->ranks, r))
		return;
	free(r);
	if (sock >= 0)
		close(sock);
	else if (errno == EMFILE)
		refuse(s);
}

static void disconnect_rank(struct server *s, size_t i)
{
	struct rank *r = s->ranks.at[i];

	nic_close(&s->nic, &r->port);
	close(r->port.sock);
	if (r->port.heap >= 0)
		close(r->port.heap);
	free(r);
	s->ranks.at[i] = s->ranks.at[--s->ranks.n];
}

static bool send_answer(const struct server *s, const struct rank *r, const struct nic_answer *a, bool with_door)
{
	const int fds[] = { s->bell, s->door_fd };

	return local_send(r->port.sock, a, sizeof *a, fds, with_door ? 2 : 0) == sizeof *a;
}

/* Serves a rank's request. Returns false if the rank must be disconnected. */
static bool serve_request(struct server *s, struct rank *r, const struct nic_request *q)
{
	struct nic_answer a = { 0 };

	if (q->version != NIC_VERSION || (q->what == NIC_HELLO) == r->hello || r->leaving)
		return false;
	switch (q->what) {
	case NIC_HELLO:
		a.err = r->port.heap < 0 ? -ERR_FILES : nic_open(&r->port, q->a, a.text, sizeof a.text);
		a.name = (uint64_t)getpid();
		r->hello = !a.err;
		break;
	case NIC_BIND:
		a.err = nic_bind(&s->nic, &r->port, q->a, q->b, &a.name, a.text, sizeof a.text);
		break;
	case NIC_CONNECT:
		a.err = nic_connect(&s->nic, &r->port, q->a, &a.name, a.text, sizeof a.text);
		break;
	case NIC_REBIND:
		a.err = nic_rebind(&s->nic, &r->port, q->a, a.text, sizeof a.text);
		break;
	case NIC_UNBIND:
		r->leaving = q->a;
		return true;
	default:
		return false;
	}
	return send_answer(s, r, &a, q->what == NIC_HELLO && !a.err);
}

/* Reads and serves a request. Returns false if the rank is gone or sends nonsense. */
static bool listen_to(struct server *s, struct rank *r)
{
	struct nic_request q;
	bool cut;
	int fd[LOCAL_FDS];
	const ssize_t n = local_recv(r->port.sock, &q, sizeof q, fd, &cut);

	if (n < 0)
		return errno == EAGAIN;
	if (fd[0] >= 0 && r->port.heap >= 0)
		close(fd[0]);
	else if (fd[0] >= 0)
		r->port.heap = fd[0];
	return n == sizeof q && serve_request(s, r, &q);
}

/* Answers ranks whose block is unbound now. */
static void let_go(struct server *s)
{
	for (size_t i = 0; i < s->ranks.n; i++) {
		struct rank *r = s->ranks.at[i];
		struct nic_answer a = { 0 };

		if (!r->leaving || !nic_unbind(&s->nic, &r->port, r->leaving))
			continue;
		r->leaving = 0;
		send_answer(s, r, &a, false); /* if the rank is gone, polling its socket shows it */
	}
}

/* Polls the sockets; if `wait` is true, waits until something arrives. Returns false when the emulator must end. */
static bool poll_sockets(struct server *s, bool wait)
{
	const short in = POLLIN;
	uint64_t rung;

	s->polled.n = 0;
	if (VEC_PUSH(&s->polled, ((struct pollfd){ s->o->listener, in, 0 })) ||
	    VEC_PUSH(&s->polled, ((struct pollfd){ s->o->life, in, 0 })) ||
	    VEC_PUSH(&s->polled, ((struct pollfd){ s->bell, in, 0 })))
		return false;
	for (size_t i = 0; i < s->ranks.n; i++)
		if (VEC_PUSH(&s->polled, ((struct pollfd){ s->ranks.at[i]->port.sock, in, 0 })))
			return false;
	if (poll(s->polled.at, s->polled.n, wait ? -1 : 0) <= 0)
		return true;
	if (s->polled.at[BELL].revents && read(s->bell, &rung, sizeof rung) < 0 && errno != EAGAIN)
		return false;
	/* backwards, because the last rank moves to the index of one that is gone */
	for (size_t i = s->polled.n; i-- > RANKS;)
		if (s->polled.at[i].revents && !listen_to(s, s->ranks.at[i - RANKS]))
			disconnect_rank(s, i - RANKS);
	if (s->polled.at[LISTENER].revents)
		accept_rank(s);
	return !s->polled.at[LIFE].revents;
}

/* Sleeps, unless something was posted meanwhile. */
static bool sleep_until_bell(struct server *s)
{
	bool alive;

	/* Sequentially consistent, like the doorbells that nic_poll reads, and like a rank's accesses when it posts. So
	 * either the emulator sees the post, or the rank sees that the emulator sleeps. */
	atomic_store(&s->door->asleep, 1);
	alive = poll_sockets(s, !nic_poll(&s->nic));
	atomic_store_explicit(&s->door->asleep, 0, memory_order_relaxed);
	return alive;
}

static bool run_batch(struct server *s)
{
	bool busy = nic_poll(&s->nic);

	for (unsigned i = 0; i < BATCH && nic_step(&s->nic); i++)
		busy = true;
	return busy;
}

static void run_server(struct server *s)
{
	unsigned idle = 0, rounds = 0;
	bool alive = true;

	while (alive) {
		if (run_batch(s)) {
			idle = 0;
			if (++rounds % ROUNDS)
				continue;
			alive = poll_sockets(s, false);
		} else if (++idle < YIELDS) {
			sched_yield();
		} else {
			alive = sleep_until_bell(s);
			idle = 0;
		}
		let_go(s);
	}
}

static int open_door(struct server *s)
{
	void *p = MAP_FAILED;

	s->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->door_fd = memfd_create("goal-nic", MFD_CLOEXEC);
	if (s->bell >= 0 && s->door_fd >= 0 && !ftruncate(s->door_fd, sizeof *s->door))
		p = mmap(NULL, sizeof *s->door, PROT_READ | PROT_WRITE, MAP_SHARED, s->door_fd, 0);
	s->door = p == MAP_FAILED ? NULL : p;
	return s->door ? 0 : -ERR_SYS;
}

int nic_serve(const struct nic_options *o)
{
	struct server s = { .o = o, .bell = -1, .door_fd = -1, .spare = dup(o->listener) };
	int err = nic_init(&s.nic, o);

	err = err ? err : open_door(&s);
	if (!err)
		run_server(&s);
	while (s.ranks.n)
		disconnect_rank(&s, s.ranks.n - 1);
	nic_fini(&s.nic);
	if (s.door)
		munmap(s.door, sizeof *s.door);
	if (s.door_fd >= 0)
		close(s.door_fd);
	if (s.spare >= 0)
		close(s.spare);
	if (s.bell >= 0)
		close(s.bell);
	VEC_FREE(&s.ranks);
	VEC_FREE(&s.polled);
	return err ? 1 : 0;
}
