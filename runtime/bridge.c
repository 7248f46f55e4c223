/* SPDX-License-Identifier: BSD-3-Clause
 * The bridge between nodes. One process of each node runs it: it is connected to one process of each other node, and sends
 * what the ranks of its node write on their boards (mirror.c). It does so in a thread of its own, as ranks may compute for
 * long. The process that holds a lock on the board's file runs the bridge. The kernel releases the lock when the process
 * ends. Then the thread of another process takes the lock, connects anew and sends everything again.
 *
 * The two sides of a connection prove to each other that they know the secret, which all ranks have from the exchange that
 * made the group. A node connects to the nodes with lower numbers.
 *
 * A node is lost if its kernel does not answer for SILENCE_MS, if no process listens at its port any more, or if it does not
 * connect again. No messages are sent to show that a node is alive: TCP keepalive does that, however busy the processes
 * are. */
#include "runtime/board/mirror.h"
#include "runtime/nodes.h"
#include "util/clock.h"
#include "util/futex.h"
#include "util/thread.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SILENCE_MS 2500 /* silence of a remote kernel before its node is lost; keepalive probes each second */
#define ANSWER_NS 3000000000u /* timeout for an address, or for the successor of a process, to answer */
#define MEET_NS 15000000000u /* timeout for a node to connect while the group is made */
#define LINGER_NS 1000000000u /* time that the other nodes get to receive the last messages */
#define CHECK_MS 100 /* interval of checks for events that ring no bell: deaths on this node, timeouts */
#define GUESTS 8u /* accepted connections that have not proved yet who they are */
#define MAGIC 0x474f414cu
#define VERSION 3u

struct greeting {
	uint32_t magic, version;
	uint32_t from, to; /* numbers of nodes */
	char nonce[16];
};

enum stage {
	CLOSED,
	CONNECTING,
	GREETING /* waits for the greeting of the other side */,
	PROVING /* waits for the proof of the other side */,
	UP
};

struct conn {
	int fd;
	enum stage stage;
	bool asks; /* true if this side has called connect, false if it has called accept */
	uint32_t node;
	uint64_t since; /* when this stage began, ns */
	struct greeting mine, theirs;
	char in[sizeof(struct rt_frame)];
	size_t got;
	VEC(char) out;
	size_t sent; /* bytes of out that were sent */
};

/* A remote node. */
struct remote_node {
	struct conn c;
	uint32_t head; /* lowest rank of the node */
	struct rt_card card;
	uint32_t at, failed; /* at: index of the address in use; failed: number of addresses in a row that did not answer */
	struct in6_addr from; /* address from which the node has connected to this one */
	int probe; /* socket that tests whether a process still listens on the node's port, or -1 */
	bool lost;
	int why; /* errno of the last failure */
};

struct rt_bridge {
	struct rt_process *l;
	pid_t pid;
	char secret[MAC_KEY];
	int listener;
	struct remote_node *nodes; /* remote nodes, by number */
	struct conn guests[GUESTS];
	struct pollfd *polled;
	uint64_t patience; /* timeout for a node to connect, ns */
	uint64_t checked;
	pthread_t thread;
	bool steers; /* this process holds the lock and the connections */
	bool running;
	_Atomic bool stop;
};

/* ---- the boards of this node ---- */

/* Packs the location of a board in a rank's heap into one number; 0: no board. */
static uint64_t pack_board(uint32_t owner, uint64_t off)
{
	return (uint64_t)(owner + 1) << 40 | off / 64;
}

static void lock_boards(struct rt_process *l)
{
	if (pthread_mutex_lock(&l->board->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&l->board->lock); /* the list is consistent: each change is one store */
}

static struct rt_board *board_at(struct rt_process *l, uint64_t at)
{
	const uint32_t owner = (uint32_t)(at >> 40) - 1;
	const uint64_t off = (at & ((1ull << 40) - 1)) * 64;
	struct rt_board *b = rt_reach(l, owner, off, sizeof *b);

	return b ? rt_reach(l, owner, off, rt_board_size(b->size)) : NULL;
}

static struct rt_board *next_board(struct rt_process *l, const struct rt_board *b)
{
	uint64_t at = atomic_load(&b->next);

	return at ? board_at(l, at) : NULL;
}

void rt_bridge_add(struct rt_process *l, struct rt_board *b, uint32_t owner, uint64_t off)
{
	lock_boards(l);
	atomic_store(&b->next, atomic_load(&l->board->next));
	atomic_store(&l->board->next, pack_board(owner, off));
	pthread_mutex_unlock(&l->board->lock);
}

/* True if ranks of a reachable node may still need the contents of a board. The contents may have to be sent again after a
 * broken connection. */
static bool board_is_awaited(const struct rt_bridge *b, const struct rt_board *board)
{
	for (uint32_t k = 0; k < b->l->nnodes; k++)
		if (k != b->l->node && !b->nodes[k].lost && rt_mirror_cares(board, k))
			return true;
	return false;
}

/* Removes boards that only this bridge still uses. */
static void drop_boards(struct rt_bridge *b)
{
	struct rt_board *last = b->l->board, *at;

	while ((at = next_board(b->l, last))) {
		if (atomic_load(&at->users) != 1 || !rt_mirror_over(at) || board_is_awaited(b, at)) {
			last = at;
			continue;
		}
		atomic_store(&last->next, atomic_load(&at->next));
		atomic_store(&at->users, 0); /* last access: the owner may free it now */
	}
}

/* ---- connections ---- */

static void hang_up(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	VEC_FREE(&c->out);
	*c = (struct conn){ .fd = -1, .node = c->node, .since = clock_now_ns() };
}

static void enter_stage(struct conn *c, enum stage stage)
{
	c->stage = stage;
	c->since = clock_now_ns();
	c->got = 0;
}

static void end_probe(struct remote_node *f)
{
	if (f->probe >= 0)
		close(f->probe);
	f->probe = -1;
}

static void mark_node_lost(struct rt_bridge *b, struct remote_node *f)
{
	struct rt_board *board = b->l->board;

	end_probe(f);
	hang_up(&f->c);
	f->lost = true;
	for (uint32_t r = 0; r < b->l->size; r++)
		if (b->l->peers[r].node == f->c.node)
			atomic_store(&board->slots[r].died, RT_UNREACHABLE);
}

/* Sends as many of the queued bytes as the kernel takes. Returns false if the connection has failed. */
static bool flush_conn(struct conn *c)
{
	while (c->sent < c->out.n) {
		ssize_t n = send(c->fd, c->out.at + c->sent, c->out.n - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		c->sent += (size_t)n;
	}
	c->out.n = c->sent = 0;
	return true;
}

/* Queues bytes for sending. If there is no memory for them, breaks the connection; the next connection sends everything
 * anew. */
static void put_bytes(struct conn *c, const void *data, size_t size)
{
	if (VEC_APPEND(&c->out, data, size))
		shutdown(c->fd, SHUT_RDWR);
}

static void set_options(int fd)
{
	const int one = 1, silence = SILENCE_MS, probes = 2;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &one, sizeof one);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &one, sizeof one);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof silence);
}

/* Begins to connect. Uses a socket of IPv4 for addresses of IPv4, as not all systems have IPv6. */
static int connect_to(const struct in6_addr *a, uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = *a };
	const bool old = IN6_IS_ADDR_V4MAPPED(a);
	int fd = socket(old ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	memcpy(&v4.sin_addr, a->s6_addr + 12, 4);
	if (fd >= 0)
		set_options(fd);
	if (fd >= 0 && connect(fd, old ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6, old ? sizeof v4 : sizeof v6) &&
	    errno != EINPROGRESS) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Connects to a node. Tries its addresses one after the other, from the one in use on; if all have failed, the node is lost. */
static void connect_node(struct rt_bridge *b, struct remote_node *f)
{
	hang_up(&f->c);
	while (f->failed < f->card.naddresses) {
		f->c.fd = connect_to(&f->card.address[f->at], f->card.port);
		if (f->c.fd >= 0) {
			f->c.asks = true;
			enter_stage(&f->c, CONNECTING);
			return;
		}
		f->why = errno;
		f->failed++;
		f->at = (f->at + 1) % f->card.naddresses;
	}
	mark_node_lost(b, f);
}

/* True if the error means that the remote kernel does not answer. */
static bool is_silence(int why)
{
	return why == ETIMEDOUT || why == EHOSTUNREACH || why == ENETUNREACH || why == EHOSTDOWN || why == ENETDOWN;
}

/* Handles the end of the connection to a node, or a failure to connect. */
static void handle_broken(struct rt_bridge *b, struct remote_node *f, int why)
{
	const bool was_up = f->c.stage == UP;

	f->why = why;
	if (f->c.node > b->l->node && was_up && !is_silence(why)) {
		hang_up(&f->c); /* the node may connect again; the probe shows whether a process is left to do so */
		f->probe = connect_to(&f->from, f->card.port);
	} else if (f->c.node > b->l->node || (was_up && is_silence(why))) {
		mark_node_lost(b, f);
	} else {
		if (!was_up) {
			f->failed++;
			f->at = (f->at + 1) % f->card.naddresses;
		}
		connect_node(b, f);
	}
}

/* ---- proofs ---- */

static int send_greeting(struct rt_bridge *b, struct conn *c)
{
	c->mine = (struct greeting){ .magic = MAGIC, .version = VERSION, .from = b->l->node, .to = c->node };
	if (getrandom(c->mine.nonce, sizeof c->mine.nonce, 0) != sizeof c->mine.nonce)
		return -ERR_SYS;
	put_bytes(c, &c->mine, sizeof c->mine);
	return 0;
}

/* Returns the proof of one side of a connection: of the side that called connect if `asks` is true, else of the other side. */
static uint64_t compute_proof(const struct rt_bridge *b, const struct conn *c, bool asks)
{
	const struct {
		uint64_t asks;
		struct greeting by[2];
	} of = { asks, { c->asks ? c->mine : c->theirs, c->asks ? c->theirs : c->mine } };

	return mac(b->secret, &of, sizeof of);
}

static void put_proof(const struct rt_bridge *b, struct conn *c)
{
	uint64_t p = compute_proof(b, c, c->asks);

	put_bytes(c, &p, sizeof p);
}

static void emit_to(void *arg, const struct rt_frame *f)
{
	put_bytes(arg, f, sizeof *f);
}

/* Sends the contents of all boards of this node. */
static void send_all(struct rt_bridge *b, struct conn *c)
{
	lock_boards(b->l);
	for (struct rt_board *at = b->l->board; at; at = next_board(b->l, at))
		rt_mirror_scan(at, true, emit_to, c);
	rt_mirror_deaths(b->l->board, true, emit_to, c);
	pthread_mutex_unlock(&b->l->board->lock);
}

/* Finds the address of a node that has connected. */
static void find_address(struct remote_node *f)
{
	struct sockaddr_in6 a = { 0 };
	socklen_t len = sizeof a;

	if (!getpeername(f->c.fd, (struct sockaddr *)&a, &len))
		rt_node_in6((struct sockaddr *)&a, &f->from);
}

/* Replaces the connection to a node by that of a guest, which has proved that it is this node. */
static void install_guest(struct rt_bridge *b, struct conn *guest)
{
	struct remote_node *f = &b->nodes[guest->node];

	end_probe(f);
	hang_up(&f->c);
	f->c = *guest;
	*guest = (struct conn){ .fd = -1 };
	find_address(f);
	enter_stage(&f->c, UP);
	send_all(b, &f->c);
}

static void apply_frame(struct rt_bridge *b, const struct rt_frame *f)
{
	struct rt_board *at;

	lock_boards(b->l);
	for (at = b->l->board; at && at->key != f->key; at = next_board(b->l, at))
		;
	if (at) /* NULL if all ranks of this node have left the group */
		rt_mirror_apply(at, f);
	pthread_mutex_unlock(&b->l->board->lock);
}

static size_t bytes_due(const struct conn *c)
{
	return c->stage == GREETING ? sizeof c->theirs : c->stage == PROVING ? sizeof(uint64_t) : sizeof(struct rt_frame);
}

/* Handles a complete message, whose kind depends on the stage of the connection. Returns false if the message is not valid. */
static bool handle_input(struct rt_bridge *b, struct conn *c)
{
	struct rt_frame frame;
	uint64_t said;

	switch (c->stage) {
	case GREETING:
		memcpy(&c->theirs, c->in, sizeof c->theirs);
		if (c->theirs.magic != MAGIC || c->theirs.version != VERSION || c->theirs.to != b->l->node ||
		    (c->asks ? c->theirs.from != c->node :
			       c->theirs.from <= b->l->node || c->theirs.from >= b->l->nnodes || b->nodes[c->theirs.from].lost))
			return false;
		c->node = c->theirs.from;
		if (!c->asks) {
			if (send_greeting(b, c))
				return false;
			put_proof(b, c);
		}
		enter_stage(c, PROVING);
		return true;
	case PROVING:
		memcpy(&said, c->in, sizeof said);
		if (said != compute_proof(b, c, !c->asks))
			return false;
		if (!c->asks) {
			install_guest(b, c);
			return true;
		}
		put_proof(b, c);
		enter_stage(c, UP);
		b->nodes[c->node].failed = 0;
		send_all(b, c);
		return true;
	default:
		memcpy(&frame, c->in, sizeof frame);
		apply_frame(b, &frame);
		c->got = 0;
		return true;
	}
}

/* Receives and handles all input. Returns 0, or the errno that ended the connection. */
static int listen_to(struct rt_bridge *b, struct conn *c)
{
	for (;;) {
		ssize_t n = recv(c->fd, c->in + c->got, bytes_due(c) - c->got, MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : errno;
		if (n == 0)
			return ECONNRESET;
		c->got += (size_t)n;
		if (c->got < bytes_due(c))
			continue;
		if (!handle_input(b, c))
			return EPROTO;
		if (c->fd < 0)
			return 0; /* the guest's connection is now that of its node */
	}
}

/* ---- one iteration of the thread ---- */

static void send_frame(void *arg, const struct rt_frame *f)
{
	struct rt_bridge *b = arg;

	for (uint32_t k = 0; k < b->l->nnodes; k++)
		if (b->nodes[k].c.stage == UP)
			put_bytes(&b->nodes[k].c, f, sizeof *f);
}

static void scan_boards(struct rt_bridge *b)
{
	lock_boards(b->l);
	for (struct rt_board *at = b->l->board; at; at = next_board(b->l, at))
		rt_mirror_scan(at, false, send_frame, b);
	rt_mirror_deaths(b->l->board, false, send_frame, b);
	drop_boards(b);
	pthread_mutex_unlock(&b->l->board->lock);
}

/* Checks a node that has to connect again. If its port is closed, no process is left there. */
static void check_probe(struct rt_bridge *b, struct remote_node *f)
{
	int err = 0;
	socklen_t len = sizeof err;

	if (f->probe < 0)
		return;
	if (!getsockopt(f->probe, SOL_SOCKET, SO_ERROR, &err, &len) && err == ECONNREFUSED) {
		mark_node_lost(b, f);
		return;
	}
	end_probe(f);
	f->probe = connect_to(&f->from, f->card.port);
}

/* Checks for events that ring no bell: deaths on this node, and timeouts. */
static void check_nodes(struct rt_bridge *b)
{
	struct rt_process *l = b->l;
	const uint64_t now = clock_now_ns();

	if (now - b->checked < CHECK_MS * 1000000u)
		return;
	b->checked = now;
	for (uint32_t i = 0; i < l->nnode_ranks; i++)
		if (!atomic_load(&l->board->slots[l->node_ranks[i]].died) && rt_rank_died(l, l->node_ranks[i]))
			atomic_store(&l->board->slots[l->node_ranks[i]].died, RT_DIED);
	for (uint32_t k = 0; k < l->nnodes; k++) {
		struct remote_node *f = &b->nodes[k];
		const uint64_t most = f->c.stage == CONNECTING ? ANSWER_NS : b->patience;

		check_probe(b, f);
		if (k != l->node && !f->lost && f->c.stage != UP && now - f->c.since >= most)
			handle_broken(b, f, ETIMEDOUT);
	}
	for (unsigned i = 0; i < GUESTS; i++)
		if (b->guests[i].fd >= 0 && now - b->guests[i].since > ANSWER_NS)
			hang_up(&b->guests[i]);
}

static void let_in(struct rt_bridge *b)
{
	struct conn *c = b->guests;
	int fd = accept4(b->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	/* If there is no free slot, the oldest guest has to go. */
	for (unsigned i = 0; i < GUESTS && c->fd >= 0; i++)
		if (b->guests[i].fd < 0 || b->guests[i].since < c->since)
			c = &b->guests[i];
	hang_up(c);
	c->fd = fd;
	set_options(fd);
	enter_stage(c, GREETING);
}

/* Handles the events of a connection. Returns 0, or the errno that ended the connection. */
static int serve_conn(struct rt_bridge *b, struct conn *c, short events)
{
	int err = 0;
	socklen_t len = sizeof err;

	if (c->stage == CONNECTING && events & (POLLOUT | POLLERR | POLLHUP)) {
		if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &len) || err)
			return err ? err : errno;
		enter_stage(c, GREETING);
		if (send_greeting(b, c))
			return EIO;
	} else if (events & (POLLIN | POLLERR | POLLHUP)) {
		err = listen_to(b, c);
	}
	return err;
}

static void prepare_poll(struct pollfd *p, const struct conn *c)
{
	*p = (struct pollfd){ .fd = c->fd,
			      .events = (short)(POLLIN | (c->stage == CONNECTING || c->sent < c->out.n ? POLLOUT : 0)) };
}

/* Sends what is new on the boards, waits at most `ms` milliseconds for input, and handles it. */
static void run_once(struct rt_bridge *b, int ms)
{
	const uint32_t n = b->l->nnodes;
	struct pollfd *p = b->polled;
	uint64_t rung;

	scan_boards(b);
	check_nodes(b);
	for (uint32_t k = 0; k < n; k++) {
		if (b->nodes[k].c.stage > CONNECTING && !flush_conn(&b->nodes[k].c))
			handle_broken(b, &b->nodes[k], errno);
		prepare_poll(&p[2 + k], &b->nodes[k].c);
	}
	for (unsigned i = 0; i < GUESTS; i++) {
		if (b->guests[i].fd >= 0 && !flush_conn(&b->guests[i]))
			hang_up(&b->guests[i]);
		prepare_poll(&p[2 + n + i], &b->guests[i]);
	}
	p[0] = (struct pollfd){ .fd = b->l->bell, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = b->listener, .events = POLLIN };
	if (poll(p, 2 + n + GUESTS, ms) <= 0)
		return;
	if (p[0].revents & POLLIN && read(b->l->bell, &rung, sizeof rung) < 0)
		return; /* the next call tries again to read the bell */
	for (uint32_t k = 0; k < n; k++) {
		struct remote_node *f = &b->nodes[k];
		int why = p[2 + k].revents && f->c.fd == p[2 + k].fd ? serve_conn(b, &f->c, p[2 + k].revents) : 0;

		if (why)
			handle_broken(b, f, why);
	}
	for (unsigned i = 0; i < GUESTS; i++)
		if (p[2 + n + i].revents && b->guests[i].fd >= 0 && serve_conn(b, &b->guests[i], p[2 + n + i].revents))
			hang_up(&b->guests[i]);
	if (p[1].revents & POLLIN)
		let_in(b);
}

/* ---- the process that runs the bridge ---- */

int rt_bridge_steer(const struct rt_process *l)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = l->size, .l_len = 1 };

	return l->fd < 0 ? 0 : fcntl(l->fd, F_SETLK, &lock);
}

static void let_go(struct rt_process *l)
{
	struct flock lock = { .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = l->size, .l_len = 1 };

	if (l->fd >= 0)
		fcntl(l->fd, F_SETLK, &lock);
}

static void call_all(struct rt_bridge *b)
{
	for (uint32_t k = 0; k < b->l->nnodes; k++) {
		b->nodes[k].c.since = clock_now_ns(); /* timeouts begin now, also for nodes that connect to this one */
		if (k < b->l->node)
			connect_node(b, &b->nodes[k]);
	}
}

/* Sends the remaining bytes and closes the connections. A node that closes its side, too, has received everything. */
static void say_goodbye(struct rt_bridge *b)
{
	const uint64_t until = clock_now_ns() + LINGER_NS;
	uint32_t left = b->l->nnodes;

	close(b->listener);
	b->listener = -1;
	scan_boards(b);
	while (left && clock_now_ns() < until) {
		left = 0;
		for (uint32_t k = 0; k < b->l->nnodes; k++) {
			struct conn *c = &b->nodes[k].c;

			if (c->stage != UP || !flush_conn(c)) {
				prepare_poll(&b->polled[k], &(struct conn){ .fd = -1 });
				continue;
			}
			if (!c->out.n)
				shutdown(c->fd, SHUT_WR);
			prepare_poll(&b->polled[k], c);
			left++;
		}
		if (!left || poll(b->polled, b->l->nnodes, CHECK_MS) <= 0)
			continue;
		for (uint32_t k = 0; k < b->l->nnodes; k++)
			if (b->polled[k].revents && listen_to(b, &b->nodes[k].c))
				hang_up(&b->nodes[k].c);
	}
}

/* True if the other nodes know which of this node's ranks have left. */
static bool all_forwarded(struct rt_process *l)
{
	bool forwarded = true;

	lock_boards(l);
	for (const struct rt_board *b = l->board; b && forwarded; b = next_board(l, b))
		forwarded = rt_mirror_forwarded(b);
	pthread_mutex_unlock(&l->board->lock);
	return forwarded;
}

/* True if a node has ranks that may still wait for ranks of this one. */
static bool node_cares(struct rt_process *l, uint32_t node)
{
	bool any = false;

	lock_boards(l);
	for (const struct rt_board *b = l->board; b && !any; b = next_board(l, b))
		any = rt_mirror_cares(b, node);
	pthread_mutex_unlock(&l->board->lock);
	return any;
}

/* Waits until the other nodes know which ranks of this node have left. The process that runs the bridge sends them this
 * information. If no process runs it any more, this one takes over. */
static void leave_bridge(struct rt_bridge *b)
{
	const uint64_t until = clock_now_ns() + LINGER_NS;
	struct rt_process *l = b->l;

	while (!b->steers && !all_forwarded(l) && clock_now_ns() < until) {
		b->steers = !rt_bridge_steer(l);
		if (b->steers)
			call_all(b);
		else
			futex_wait(&l->board->wheel, atomic_load(&l->board->wheel), 2000000);
	}
	for (uint32_t k = 0; k < l->nnodes && b->steers; k++)
		while (k != l->node && !b->nodes[k].lost && b->nodes[k].c.stage != UP && clock_now_ns() < until &&
		       node_cares(l, k))
			run_once(b, CHECK_MS / 10);
}

static void *bridge_main(void *arg)
{
	struct rt_bridge *b = arg;
	struct rt_process *l = b->l;

	prctl(PR_SET_NAME, "goal-bridge");
	while (!b->steers && !atomic_load(&b->stop)) {
		const uint32_t wheel = atomic_load(&l->board->wheel);

		b->steers = !rt_bridge_steer(l);
		if (b->steers)
			call_all(b);
		else if (!atomic_load(&b->stop))
			futex_wait(&l->board->wheel, wheel, 2 * CHECK_MS * 1000000);
	}
	while (b->steers && !atomic_load(&b->stop))
		run_once(b, CHECK_MS);
	leave_bridge(b);
	if (!b->steers)
		return NULL;
	say_goodbye(b);
	for (uint32_t k = 0; k < l->nnodes; k++)
		hang_up(&b->nodes[k].c);
	let_go(l);
	atomic_fetch_add(&l->board->wheel, 1);
	futex_wake(&l->board->wheel, INT_MAX);
	return NULL;
}

/* ---- opening a bridge ---- */

/* Checks that n file descriptors are free. If one were missing later, the other nodes would wait for this one. */
static int try_descriptors(struct mpix_sched_ctx *ctx, int fd, uint32_t n)
{
	VEC(int) fds = { 0 };
	int err = VEC_RESERVE(&fds, n) ? rt_fail(ctx, -ERR_NOMEM) : 0;

	while (!err && fds.n < n) {
		const int more = fcntl(fd, F_DUPFD_CLOEXEC, 0);

		if (more < 0)
			err = rt_sys_error(ctx, "connections to the other nodes");
		else
			fds.at[fds.n++] = more;
	}
	while (fds.n)
		close(fds.at[--fds.n]);
	VEC_FREE(&fds);
	return err;
}

int rt_bridge_listen(struct mpix_sched_ctx *ctx, struct rt_card *card, uint32_t nodes, int *listener)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	socklen_t len = sizeof v6;
	const int no = 0;
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;

	if (fd >= 0 && (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) ||
			bind(fd, (struct sockaddr *)&v6, sizeof v6))) {
		close(fd);
		fd = -1;
	}
	if (fd < 0) { /* no IPv6 on this system */
		fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (fd < 0 || bind(fd, (struct sockaddr *)&v4, sizeof v4)) {
			err = rt_sys_error(ctx, "socket");
			if (fd >= 0)
				close(fd);
			return err;
		}
	}
	*listener = fd;
	if (listen(fd, SOMAXCONN) || getsockname(fd, (struct sockaddr *)&v6, &len))
		return rt_sys_error(ctx, "listen");
	card->port = ntohs(v6.sin6_port); /* sockaddr_in has the port at the same offset */
	err = try_descriptors(ctx, fd, nodes); /* one for each other node, and one for a guest */
	return err ? err : rt_node_addresses(ctx, card);
}

static struct rt_bridge *new_bridge(struct rt_process *l, const struct rt_bridge_plan *p)
{
	struct rt_bridge *b = mem_calloc(1, sizeof *b + l->nnodes * sizeof *b->nodes +
						    (2 + GUESTS + l->nnodes) * sizeof *b->polled);

	if (!b)
		return NULL;
	b->l = l;
	b->pid = getpid();
	b->nodes = (struct remote_node *)(void *)(b + 1);
	b->polled = (struct pollfd *)(void *)(b->nodes + l->nnodes);
	b->listener = p->listener;
	l->bell = p->bell;
	memcpy(b->secret, p->secret, sizeof b->secret);
	for (unsigned i = 0; i < GUESTS; i++)
		b->guests[i].fd = -1;
	for (uint32_t r = l->size; r-- > 0;) {
		struct remote_node *f = &b->nodes[l->peers[r].node];

		f->c = (struct conn){ .fd = -1, .node = l->peers[r].node };
		f->probe = -1;
		f->head = r; /* in descending order, so that the lowest rank stays */
		f->card = p->cards[r];
	}
	return b;
}

/* Stores the error for a node that is not connected. */
static int not_there(struct mpix_sched_ctx *ctx, const struct rt_bridge *b, const struct remote_node *f)
{
	char text[INET6_ADDRSTRLEN] = "";
	const struct in6_addr *a = &f->card.address[f->at];

	inet_ntop(IN6_IS_ADDR_V4MAPPED(a) ? AF_INET : AF_INET6, IN6_IS_ADDR_V4MAPPED(a) ? a->s6_addr + 12 : a->s6_addr, text,
		  sizeof text);
	if (f->c.node > b->l->node)
		return rt_error(ctx, -ERR_SYS, "the node of rank %u did not connect to port %u of this one, rank %u's: "
					       "GOAL_ADDRESS can name the network to use",
				f->head, b->nodes[b->l->node].card.port, b->nodes[b->l->node].head);
	return rt_error(ctx, -ERR_SYS, "the node of rank %u cannot be reached at port %u of %u addresses, the last one %s: "
				       "%s; GOAL_ADDRESS can name the network to use",
			f->head, f->card.port, f->card.naddresses, text, strerror(f->why));
}

/* Waits until all nodes are connected. */
static int connect_all_nodes(struct mpix_sched_ctx *ctx, struct rt_bridge *b)
{
	const uint64_t until = clock_now_ns() + MEET_NS;

	b->patience = MEET_NS;
	call_all(b);
	for (uint32_t k = 0; k < b->l->nnodes; k++) {
		while (k != b->l->node && !b->nodes[k].lost && b->nodes[k].c.stage != UP && clock_now_ns() < until)
			run_once(b, CHECK_MS);
		if (k != b->l->node && b->nodes[k].c.stage != UP)
			return not_there(ctx, b, &b->nodes[k]);
	}
	return 0;
}

/* Initialises a lock that the kernel releases when its holder dies. */
static int init_lock(struct rt_board *b)
{
	pthread_mutexattr_t attr;
	int err = pthread_mutexattr_init(&attr);

	if (err)
		return -ERR_NOMEM;
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	err = pthread_mutex_init(&b->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return err ? -ERR_NOMEM : 0;
}

int rt_bridge_open(struct mpix_sched_ctx *ctx, struct rt_process *l, const struct rt_bridge_plan *p)
{
	struct rt_bridge *b = l->bridge = new_bridge(l, p);
	int err;

	if (!b) {
		close(p->listener);
		close(p->bell);
		return rt_fail(ctx, -ERR_NOMEM);
	}
	b->steers = p->first;
	err = p->first ? init_lock(l->board) : 0;
	err = err ? rt_fail(ctx, err) : p->first ? connect_all_nodes(ctx, b) : 0;
	b->patience = ANSWER_NS;
	if (err)
		return err;
	err = thread_start(&b->thread, bridge_main, b);
	b->running = !err;
	return err ? rt_error(ctx, -ERR_SYS, "pthread_create: %s", strerror(err)) : 0;
}

void rt_bridge_close(struct rt_bridge *b)
{
	if (!b)
		return;
	if (b->running && b->pid == getpid()) { /* a forked child has no threads */
		atomic_store(&b->stop, true);
		rt_bridge_ring(b->l);
		atomic_fetch_add(&b->l->board->wheel, 1);
		futex_wake(&b->l->board->wheel, INT_MAX);
		pthread_join(b->thread, NULL);
	}
	for (uint32_t k = 0; k < b->l->nnodes; k++) {
		end_probe(&b->nodes[k]);
		hang_up(&b->nodes[k].c);
	}
	for (unsigned i = 0; i < GUESTS; i++)
		hang_up(&b->guests[i]);
	if (b->listener >= 0)
		close(b->listener);
	close(b->l->bell);
	free(b);
}
