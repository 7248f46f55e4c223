/* SPDX-License-Identifier: BSD-3-Clause
 * How a group is made. Each rank says hello by the caller's allgather; then one rank of each process (its lead) meets the
 * lowest rank of its node (the head) at a socket to exchange file descriptors: of the board, and of everyone's heap. From
 * then on the ranks meet on the board; where there are several nodes each has one, and bridge.c keeps them alike. A lead
 * holds a record lock on the board for each rank of its process; the kernel drops it when the process ends, however it
 * ends, which is how the others notice. */
#include "runtime/rt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MEET_MS 30000 /* a rank that does not come to the socket is given up */

struct hello {
	int err, rank;
	uint64_t node, pid;
	char process[16]; /* random, the same for all threads of a program */
	char cookie[MAC_KEY]; /* rank 0's: who knows it is of this job */
	char name[12]; /* of rank 0's socket, which is abstract */
	uint32_t name_len;
	int heap_fd, event;
	uint64_t heap;
	struct rt_wish wish;
};
_Static_assert(sizeof(struct hello) <= HOST_RECORD && sizeof(struct rt_card) <= HOST_RECORD,
	       "goalrun's exchange carries it");

/* Makes the group of one process from what has been gathered. */
struct meeting {
	struct mpix_sched_ctx *ctx;
	uint32_t rank, size, lead; /* lead: the lowest rank of this process */
	uint32_t head; /* the lowest rank of this node, which makes the board */
	struct hello *all;
	struct rt_card *cards; /* NULL: there is one node */
	struct rt_local *local;
	int listener;
	int port, bell; /* of several nodes: what the bridge of each process gets */
};

/* Whether a rank is on this node. */
static bool near(const struct meeting *m, uint32_t rank)
{
	return m->all[rank].node == m->all[m->rank].node;
}

static bool same_process(const struct hello *a, const struct hello *b)
{
	return a->pid == b->pid && a->node == b->node && !memcmp(a->process, b->process, sizeof a->process);
}

static bool is_lead(const struct meeting *m, uint32_t rank)
{
	for (uint32_t r = 0; r < rank; r++)
		if (same_process(&m->all[r], &m->all[rank]))
			return false;
	return true;
}

/* ---- file descriptors over a socket ---- */

struct fd_message {
	char cookie[16];
	uint32_t what; /* a rank whose heap it is, or */
};
enum { BOARD = UINT32_MAX, PORT = UINT32_MAX - 1, BELL = UINT32_MAX - 2 };

/* fd: of a heap, and its eventfd or -1; of what is no heap only the first. */
static int send_fds(int sock, const struct meeting *m, uint32_t what, const int fd[2])
{
	const size_t n = (fd[1] < 0 ? 1 : 2) * sizeof *fd;
	struct fd_message msg = { .what = what };
	struct iovec iov = { &msg, sizeof msg };
	union {
		char buf[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf, .msg_controllen = CMSG_SPACE(n) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);

	memcpy(msg.cookie, m->all[0].cookie, sizeof msg.cookie);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n);
	memcpy(CMSG_DATA(c), fd, n);
	return sendmsg(sock, &h, MSG_NOSIGNAL) == sizeof msg ? 0 : rt_sys_error(m->ctx, "sendmsg");
}

static int send_fd(int sock, const struct meeting *m, uint32_t what, int fd)
{
	return send_fds(sock, m, what, (const int[]){ fd, -1 });
}

static void close_fds(int fd[2])
{
	for (int i = 0; i < 2; i++) {
		if (fd[i] >= 0)
			close(fd[i]);
		fd[i] = -1;
	}
}

/* Receives what send_fds has sent; *what tells what it is. -ERR_SYS at the end of the connection, on a time-out, or from
 * somebody who does not know the cookie. */
static int recv_fds(int sock, const struct meeting *m, uint32_t *what, int fd[2])
{
	struct fd_message msg;
	struct iovec iov = { &msg, sizeof msg };
	union {
		char buf[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf,
			    .msg_controllen = sizeof control.buf };
	struct pollfd p = { .fd = sock, .events = POLLIN };
	struct cmsghdr *c;
	ssize_t n = poll(&p, 1, MEET_MS) == 1 ? recvmsg(sock, &h, MSG_CMSG_CLOEXEC) : 0;

	fd[0] = fd[1] = -1;
	c = n > 0 ? CMSG_FIRSTHDR(&h) : NULL;
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len >= CMSG_LEN(sizeof *fd) && c->cmsg_len <= CMSG_LEN(2 * sizeof *fd))
		memcpy(fd, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	if (n == sizeof msg && fd[0] >= 0 && !memcmp(msg.cookie, m->all[0].cookie, sizeof msg.cookie)) {
		*what = msg.what;
		return 0;
	}
	close_fds(fd);
	return rt_error(m->ctx, -ERR_SYS, "a rank did not send its memory");
}

static bool same_user(int sock)
{
	struct ucred cred;
	socklen_t len = sizeof cred;

	return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 && cred.uid == geteuid();
}

/* ---- the two sides of the meeting ---- */

static uint32_t ranks_of(const struct meeting *m, uint32_t lead)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < m->size; r++)
		n += same_process(&m->all[r], &m->all[lead]);
	return n;
}

/* Receives one that is due. */
static int expect_fd(int sock, const struct meeting *m, uint32_t what, int *fd)
{
	uint32_t got = what;
	int both[2], err = recv_fds(sock, m, &got, both);

	*fd = both[0];
	if (err || (got == what && both[1] < 0))
		return err;
	close_fds(both);
	*fd = -1;
	return rt_error(m->ctx, -ERR_SYS, "a rank sent what was not due");
}

/* Sends the heaps of all ranks of one process, or of all others of the node. */
static int send_heaps(int sock, const struct meeting *m, uint32_t lead, bool own)
{
	int err = 0;

	for (uint32_t r = 0; r < m->size && !err; r++) {
		const struct rt_peer *p = &m->local->peers[r];

		if (near(m, r) && same_process(&m->all[r], &m->all[lead]) == own)
			err = send_fds(sock, m, r,
				       same_process(&m->all[r], &m->all[m->rank]) ?
					       (const int[]){ m->all[r].heap_fd, m->all[r].event } :
					       (const int[]){ p->fd, p->event });
	}
	return err;
}

static int recv_heaps(int sock, const struct meeting *m, uint32_t n)
{
	uint32_t what;
	int fd[2], err = 0;

	while (n-- && !err) {
		err = recv_fds(sock, m, &what, fd);
		if (!err && (what >= m->size || !near(m, what) || m->local->peers[what].same ||
			     m->local->peers[what].fd >= 0)) {
			close_fds(fd);
			err = rt_error(m->ctx, -ERR_SYS, "a rank sent what is not its own");
		} else if (!err) {
			m->local->peers[what].fd = fd[0];
			m->local->peers[what].event = fd[1];
		}
	}
	return err;
}

static int make_board(struct meeting *m)
{
	struct rt_local *l = m->local;
	size_t size = rt_board_size(m->size);
	int fd = memfd_create("goal-board", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return rt_sys_error(m->ctx, "memfd_create");
	if (ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		close(fd);
		return rt_sys_error(m->ctx, "ftruncate");
	}
	l->fd = fd;
	return m->cards && rt_bridge_steer(l) ? rt_sys_error(m->ctx, "fcntl(F_SETLK)") : 0;
}

static int map_board(struct meeting *m)
{
	struct rt_local *l = m->local;
	size_t size = rt_board_size(m->size);
	struct stat st;
	void *p;

	if (fstat(l->fd, &st) || (size_t)st.st_size < size)
		return rt_error(m->ctx, -ERR_SYS, "the board has the wrong size");
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, l->fd, 0);
	if (p == MAP_FAILED)
		return rt_sys_error(m->ctx, "mmap");
	l->board = p;
	for (uint32_t r = 0; r < m->size; r++) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = r, .l_len = 1 };

		if (!l->peers[r].same)
			continue;
		if (fcntl(l->fd, F_SETLK, &lock))
			return rt_sys_error(m->ctx, "fcntl(F_SETLK)");
		atomic_store(&l->board->slots[r].joined, 1);
	}
	return 0;
}

static bool gone(const struct hello *h)
{
	return kill((pid_t)h->pid, 0) && errno == ESRCH;
}

/* The head of a node: waits for the lead of every other process. */
static int host_meeting(struct meeting *m)
{
	int *socks = mem_alloc(m->size * sizeof *socks), err = socks ? make_board(m) : -ERR_NOMEM;
	uint32_t missing = 0;
	uint64_t until = rt_now_ns() + (uint64_t)MEET_MS * 1000000u;

	for (uint32_t r = 0; socks && r < m->size; r++) {
		socks[r] = -1;
		missing += r != m->head && near(m, r) && is_lead(m, r);
	}
	while (missing && !err) {
		struct pollfd p = { .fd = m->listener, .events = POLLIN };
		int sock = poll(&p, 1, 100) == 1 ? accept4(m->listener, NULL, NULL, SOCK_CLOEXEC) : -1;
		uint32_t what, rest;
		int fd[2];

		if (sock < 0) {
			for (uint32_t r = 0; r < m->size && !err; r++)
				if (near(m, r) && gone(&m->all[r]))
					err = rt_error(m->ctx, -ERR_DEAD, "rank %u died", r);
			if (!err && rt_now_ns() > until)
				err = rt_error(m->ctx, -ERR_SYS, "a rank of this node did not come");
			continue;
		}
		if (!same_user(sock) || recv_fds(sock, m, &what, fd)) {
			close(sock);
			continue;
		}
		if (what >= m->size || !near(m, what) || socks[what] >= 0 || m->local->peers[what].same ||
		    !is_lead(m, what)) {
			close_fds(fd);
			close(sock);
			continue;
		}
		m->local->peers[what].fd = fd[0];
		m->local->peers[what].event = fd[1];
		socks[what] = sock;
		missing--;
		rest = ranks_of(m, what) - 1;
		err = recv_heaps(sock, m, rest);
	}
	for (uint32_t r = 0; socks && r < m->size; r++) {
		if (socks[r] < 0)
			continue;
		if (!err)
			err = send_fd(socks[r], m, BOARD, m->local->fd);
		if (!err && m->cards)
			err = send_fd(socks[r], m, PORT, m->port);
		if (!err && m->cards)
			err = send_fd(socks[r], m, BELL, m->bell);
		if (!err)
			err = send_heaps(socks[r], m, r, false);
		close(socks[r]);
	}
	free(socks);
	return err;
}

static int join_meeting(struct meeting *m)
{
	const char *name = m->cards ? m->cards[m->head].name : m->all[0].name;
	const uint32_t len = m->cards ? m->cards[m->head].name_len : m->all[0].name_len;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err = 0;

	if (sock < 0)
		return rt_sys_error(m->ctx, "socket");
	if (len > sizeof m->all[0].name)
		err = rt_error(m->ctx, -ERR_SYS, "rank %u has no socket", m->head);
	else
		memcpy(address.sun_path, name, len);
	if (!err && connect(sock, (struct sockaddr *)&address, (socklen_t)(sizeof(sa_family_t) + len)))
		err = rt_error(m->ctx, -ERR_SYS, "rank %u cannot be reached: %s", m->head, strerror(errno));
	else if (!err && !same_user(sock))
		err = rt_error(m->ctx, -ERR_SYS, "rank %u runs as another user", m->head);
	err = err ? err : send_heaps(sock, m, m->rank, true);
	err = err ? err : expect_fd(sock, m, BOARD, &m->local->fd);
	if (!err && m->cards)
		err = expect_fd(sock, m, PORT, &m->port);
	if (!err && m->cards)
		err = expect_fd(sock, m, BELL, &m->bell);
	err = err ? err : recv_heaps(sock, m, m->local->nnear - ranks_of(m, m->rank));
	close(sock);
	return err;
}

void rt_local_free(struct rt_local *l)
{
	if (!l)
		return;
	rt_comm_free(l);
	rt_bridge_close(l->bridge);
	for (uint32_t r = 0; l->peers && r < l->size; r++) {
		struct rt_peer *p = &l->peers[r];

		for (size_t i = 0; i < p->maps.n; i++)
			munmap(p->maps.at[i].base, p->maps.at[i].len);
		VEC_FREE(&p->maps);
		rt_heap_unref(p->heap);
		close_fds((int[]){ p->fd, p->event });
	}
	if (l->board)
		munmap(l->board, rt_board_size(l->size));
	if (l->fd >= 0)
		close(l->fd);
	free(l->near);
	free(l->peers);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* Which ranks are on which node, and on this one. */
static int find_nodes(struct meeting *m)
{
	struct rt_local *l = m->local;

	l->near = mem_alloc(m->size * sizeof *l->near);
	if (!l->near)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < m->size; r++) {
		uint32_t first = 0;

		while (m->all[first].node != m->all[r].node)
			first++;
		l->peers[r].node = first == r ? l->nnodes++ : l->peers[first].node;
		if (near(m, r))
			l->near[l->nnear++] = r;
	}
	l->node = l->peers[m->rank].node;
	return 0;
}

static int build_bridge(struct meeting *m)
{
	struct rt_bridge_plan plan = { .cards = m->cards, .listener = m->port, .bell = m->bell, .first = m->rank == m->head };
	struct rt_local *l = m->local;

	if (plan.first) {
		l->board->home = l->node;
		for (uint32_t r = 0; r < m->size; r++)
			l->board->slots[r].home = l->peers[r].node;
	}
	memcpy(plan.secret, m->all[0].cookie, sizeof plan.secret);
	m->port = m->bell = -1;
	return rt_bridge_open(m->ctx, l, &plan);
}

static int make_comm(struct meeting *m)
{
	struct rt_local *l = m->local;
	struct rt_wish *near = mem_alloc(l->nnear * sizeof *near);
	int err = near ? 0 : rt_fail(m->ctx, -ERR_NOMEM);

	for (uint32_t i = 0; i < l->nnear && !err; i++)
		near[i] = m->all[l->near[i]].wish;
	err = err ? err : rt_comm_make(m->ctx, l, m->lead, near);
	free(near);
	return err;
}

static int make_local(struct meeting *m)
{
	struct rt_local *l = mem_calloc(1, sizeof *l);
	uint32_t here = ranks_of(m, m->rank);
	int err = 0;

	m->local = l;
	if (!l)
		return -ERR_NOMEM;
	pthread_mutex_init(&l->lock, NULL);
	atomic_init(&l->refs, here);
	l->size = m->size;
	l->ordered = rt_bell_register();
	l->fd = -1;
	l->peers = mem_calloc(m->size, sizeof *l->peers);
	for (uint32_t r = 0; l->peers && r < m->size; r++)
		l->peers[r].fd = l->peers[r].event = -1;
	if (!l->peers || find_nodes(m))
		return rt_fail(m->ctx, -ERR_NOMEM);
	for (uint32_t r = 0; r < m->size; r++) {
		struct rt_peer *p = &l->peers[r];

		p->pid = (int)m->all[r].pid;
		while (!same_process(&m->all[p->lead], &m->all[r]))
			p->lead++;
		p->same = same_process(&m->all[r], &m->all[m->rank]);
		if (p->same) {
			p->heap = (struct rt_heap *)(uintptr_t)m->all[r].heap;
			atomic_fetch_add(&p->heap->refs, 1);
		}
	}
	if (here == l->nnear) {
		void *p = mmap(NULL, rt_board_size(m->size), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return rt_sys_error(m->ctx, "mmap");
		l->board = p;
	} else {
		err = m->rank == m->head ? host_meeting(m) : join_meeting(m);
		err = err ? err : map_board(m);
	}
	if (!err && m->rank == m->head)
		l->board->size = m->size;
	if (!err && m->cards)
		err = build_bridge(m);
	return err ? err : make_comm(m);
}

/* A socket of this rank's, for the processes of its node. The kernel picks an abstract name: nothing is left in the
 * file system. */
static int make_listener(struct meeting *m, char name[12], uint32_t *name_len)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	socklen_t len = sizeof a;

	m->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (m->listener < 0 || bind(m->listener, (struct sockaddr *)&a, sizeof(sa_family_t)) ||
	    listen(m->listener, (int)m->size) || getsockname(m->listener, (struct sockaddr *)&a, &len))
		return rt_sys_error(m->ctx, "socket");
	*name_len = len - (socklen_t)sizeof(sa_family_t);
	if (*name_len > sizeof m->all[0].name)
		return rt_error(m->ctx, -ERR_SYS, "socket: its name is too long");
	memcpy(name, a.sun_path, *name_len);
	return 0;
}

static int say_hello(struct meeting *m, struct hello *h)
{
	const void *random = (const void *)getauxval(AT_RANDOM); // NOLINT(performance-no-int-to-ptr)
	int err;

	*h = (struct hello){ .rank = (int)m->rank, .node = rt_node_id(), .pid = (uint64_t)getpid(), .heap_fd = m->ctx->heap->fd,
			     .event = m->ctx->heap->event };
	h->heap = (uint64_t)(uintptr_t)m->ctx->heap;
	if (random)
		memcpy(h->process, random, sizeof h->process);
	err = rt_comm_ask(m->ctx, m->rank, &h->wish);
	if (err || m->rank || m->size == 1)
		return err;
	if (getrandom(h->cookie, sizeof h->cookie, 0) != sizeof h->cookie)
		return rt_sys_error(m->ctx, "getrandom");
	return make_listener(m, h->name, &h->name_len);
}

static int check_hellos(struct meeting *m)
{
	char text[512];

	if (m->all[m->rank].err) { /* the others know no more than the number */
		MPIX_Sched_error_detail(m->ctx, text, sizeof text);
		return rt_error(m->ctx, m->all[m->rank].err, "rank %u: %s", m->rank, text);
	}
	for (uint32_t r = 0; r < m->size; r++) {
		if (m->all[r].err)
			return rt_error(m->ctx, m->all[r].err, "rank %u: %s", r, err_text(m->all[r].err));
		if (m->all[r].rank != (int)r)
			return rt_error(m->ctx, -ERR_ARG, "the allgather gave rank %d in place of %u",
					m->all[r].rank, r);
	}
	for (uint32_t r = 1; r < m->size; r++) {
		int err = rt_comm_compare(m->ctx, &m->all[0].wish, &m->all[r].wish, r);

		if (err)
			return err;
	}
	while (!same_process(&m->all[m->lead], &m->all[m->rank]))
		m->lead++;
	while (!near(m, m->head))
		m->head++;
	return 0;
}

static bool several_nodes(const struct meeting *m)
{
	for (uint32_t r = 1; r < m->size; r++)
		if (m->all[r].node != m->all[0].node)
			return true;
	return false;
}

/* A head's: how its node and the other nodes reach it. */
static int make_card(struct meeting *m, struct rt_card *card)
{
	int err = 0;

	if (m->rank != m->head)
		return 0;
	if (m->rank) {
		err = make_listener(m, card->name, &card->name_len);
	} else {
		memcpy(card->name, m->all[0].name, sizeof card->name);
		card->name_len = m->all[0].name_len;
	}
	m->bell = err ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!err && m->bell < 0)
		err = rt_sys_error(m->ctx, "eventfd");
	return err ? err : rt_bridge_listen(m->ctx, card, &m->port);
}

/* Of several nodes: their cards. All ranks return the same, but for the text. */
static int exchange_cards(struct meeting *m, MPIX_Sched_allgather_fn *allgather, void *arg)
{
	struct rt_card mine = { 0 };
	char text[512];

	mine.err = make_card(m, &mine);
	MPIX_Sched_error_detail(m->ctx, text, sizeof text);
	if (allgather(&mine, m->cards, sizeof mine, arg))
		return rt_error(m->ctx, -ERR_SYS, "the caller's allgather failed");
	if (mine.err)
		return rt_error(m->ctx, mine.err, "rank %u: %s", m->rank, text);
	for (uint32_t r = 0; r < m->size; r++)
		if (m->cards[r].err)
			return rt_error(m->ctx, m->cards[r].err, "rank %u: %s", r, err_text(m->cards[r].err));
	return 0;
}

/* The caller's allgather has failed: if that was because a rank died, says so here and to those who have
 * passed already. */
static int blame(struct meeting *m)
{
	struct rt_local *l = m->local;
	int64_t rank = l && l->board ? rt_find_dead(l, l->board, NULL, l->size) : -1;
	uint64_t none = 0;

	if (rank < 0)
		return rt_error(m->ctx, -ERR_SYS, "the caller's allgather failed");
	atomic_compare_exchange_strong(&l->board->failed, &none, rt_failure((uint32_t)rank, RT_NOBODY));
	return rt_error(m->ctx, -ERR_DEAD, "rank %u died", (unsigned)rank);
}

/* From the CPUs of this node's ranks, which come first then. */
static unsigned count_spins(struct meeting *m)
{
	const uint64_t node = m->all[m->rank].node;
	uint32_t n = 0, me = 0;

	for (uint32_t r = 0; r < m->size; r++) {
		if (m->all[r].node != node)
			continue;
		if (r == m->rank)
			me = n;
		m->all[n++].wish = m->all[r].wish;
	}
	return rt_cpus_spins(&m->all->wish.cpus, sizeof *m->all, n, me);
}

struct ready {
	int err;
	uint64_t local; /* of a lead, for the ranks of its process */
};

int MPIX_Sched_group_create(MPIX_Sched_ctx ctx, int rank, int size, MPIX_Sched_allgather_fn *allgather,
			    void *arg, MPIX_Sched_group *group)
{
	struct meeting m = { .ctx = ctx,
			     .rank = (uint32_t)rank,
			     .size = (uint32_t)size,
			     .listener = -1,
			     .port = -1,
			     .bell = -1 };
	struct mpix_sched_group *g = NULL;
	struct ready mine = { 0 }, *ready = NULL;
	struct hello hello;
	char *gathered = NULL;
	int err;

	if (!ctx)
		return MPIX_SCHED_ERR_ARG;
	if (!group || !allgather || size < 1 || rank < 0 || rank >= size)
		return -rt_error(ctx, -ERR_ARG, "a group needs a rank within its size and an allgather");
	err = say_hello(&m, &hello);
	m.all = mem_calloc(m.size, sizeof *m.all);
	ready = mem_calloc(m.size, sizeof *ready);
	g = mem_calloc(1, sizeof *g);
	gathered = mem_alloc((size_t)m.size * HOST_RECORD);
	if (!m.all || !ready || !g || !gathered) {
		err = -ERR_NOMEM; /* nothing to gather into: the caller's allgather fails on the others */
		goto out;
	}
	hello.err = err;
	if (allgather(&hello, m.all, sizeof hello, arg)) {
		err = rt_error(ctx, -ERR_SYS, "the caller's allgather failed");
		goto out;
	}
	err = check_hellos(&m);
	if (!err && several_nodes(&m)) {
		m.cards = mem_calloc(m.size, sizeof *m.cards);
		err = m.cards ? exchange_cards(&m, allgather, arg) : -ERR_NOMEM; /* as above */
	}
	if (err)
		goto out;
	if (m.lead == m.rank)
		mine.err = make_local(&m);
	mine.local = (uint64_t)(uintptr_t)m.local;
	if (allgather(&mine, ready, sizeof mine, arg)) /* where the meeting failed already, that is the cause */
		err = mine.err ? mine.err : blame(&m);
	err = err ? err : mine.err; /* what it says is more than what the others know */
	for (uint32_t r = 0; r < m.size && !err; r++)
		if (ready[r].err)
			err = rt_error(ctx, ready[r].err, "rank %u could not join the group", r);
	if (err) {
		if (m.lead == m.rank)
			rt_local_free(m.local);
		goto out;
	}
	g->g = (struct be_group){ .ctx = ctx,
				  .local = (struct rt_local *)(uintptr_t)ready[m.lead].local,
				  .board = ((struct rt_local *)(uintptr_t)ready[m.lead].local)->board,
				  .id = ++ctx->ngroups,
				  .rank = m.rank,
				  .size = m.size,
				  .spins = count_spins(&m),
				  .gathered = gathered };
	gathered = NULL;
	atomic_init(&g->g.refs, 1);
	rt_ctx_ref(ctx);
	*group = g;
	g = NULL;
out:
	if (m.listener >= 0)
		close(m.listener);
	if (m.port >= 0)
		close(m.port);
	if (m.bell >= 0)
		close(m.bell);
	free(g);
	free(gathered);
	free(m.cards);
	free(m.all);
	free(ready);
	return err == -ERR_NOMEM ? -rt_fail(ctx, err) : -err;
}
