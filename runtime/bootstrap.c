/* SPDX-License-Identifier: BSD-3-Clause
 * The bootstrap: how a group is made. Each rank sends a hello through the caller's allgather. Then one rank of each process
 * (its lead) connects to a socket of the lowest rank of its node (the head). Over the sockets they exchange file
 * descriptors: of the board, and of all heaps. From then on the ranks exchange records on the board. With several nodes
 * each node has a board, and bridge.c keeps them alike. A lead holds a lock on the board's file for each rank of its
 * process. The kernel releases the locks when the process ends, however it ends; that is how the others notice. */
#include "backends/services.h"
#include "runtime/heap/bell.h"
#include "runtime/comm.h"
#include "runtime/nodes.h"
#include "util/clock.h"
#include "util/local.h"

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
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BOOTSTRAP_MS 30000 /* time that the ranks of a node have to exchange descriptors */
#define CHECK_MS 100 /* interval of checks for deaths while a rank waits */
/* Time that others have to receive descriptors: the kernel limits how many are in flight. */
#define BUSY_NS 1000000000u
#define DYING_NS 100000000u /* longest time from the closing of a process's sockets to its end */

struct hello {
	int err, rank;
	uint64_t node, pid;
	char process[16]; /* random identifier of the rank's process */
	char cookie[MAC_KEY]; /* random secret of rank 0; a process that knows the secret belongs to this job */
	char name[12]; /* abstract name of rank 0's socket */
	uint32_t name_len;
	int heap_fd, event;
	uint64_t heap;
	struct rt_comm_config config;
};
_Static_assert(sizeof(struct hello) <= GROUP_RECORD && sizeof(struct rt_card) <= GROUP_RECORD,
	       "goalrun's exchange carries it");

/* Record that each rank sends to all others at the end of a step of the bootstrap. */
struct ready {
	int err;
	bool caused; /* err was caused by another rank's failure, whose own record says more */
	uint64_t process; /* address of the struct rt_process that a lead has made for all ranks of its process */
	char text[GROUP_RECORD - 24];
};
_Static_assert(sizeof(struct ready) <= GROUP_RECORD, "goalrun's exchange carries it");

/* State of the bootstrap on one rank. */
struct bootstrap {
	struct mpix_sched_ctx *ctx;
	struct be_group *group; /* to be made: it has only its context, rank and size yet */
	MPIX_Sched_allgather_fn *allgather;
	void *arg;
	uint32_t rank, size, lead; /* lead: lowest rank of this process */
	uint32_t head; /* lowest rank of this node, which makes the board */
	struct hello *all;
	struct rt_card *cards; /* cards of the nodes, by rank; NULL if there is one node */
	struct ready *ready;
	struct rt_process *process;
	int listener, sock; /* listener: listening socket of a head; sock: connection of another lead to the head */
	int port, bell; /* with several nodes: listening TCP socket and eventfd for the bridge */
	uint64_t until, checked; /* times in ns: `until`: when this rank stops waiting; `checked`: the last check for deaths */
	bool caused; /* true if this rank failed because of another rank's failure */
	bool networked; /* as in struct rt_process */
};

/* True if a rank is on this node. */
static bool same_node(const struct bootstrap *m, uint32_t rank)
{
	return m->all[rank].node == m->all[m->rank].node;
}

static bool same_process(const struct hello *a, const struct hello *b)
{
	return a->pid == b->pid && a->node == b->node && !memcmp(a->process, b->process, sizeof a->process);
}

/* Return the lowest rank of a rank's node (head_of), and of a rank's process (lead_of). */
static uint32_t head_of(const struct bootstrap *m, uint32_t rank)
{
	uint32_t r = 0;

	while (m->all[r].node != m->all[rank].node)
		r++;
	return r;
}

static uint32_t lead_of(const struct bootstrap *m, uint32_t rank)
{
	uint32_t r = 0;

	while (!same_process(&m->all[r], &m->all[rank]))
		r++;
	return r;
}

/* ---- deaths ---- */

/* True if a process has ended, even if its parent has not reaped it yet. Without pidfds, the result is true only after the
 * parent has reaped it. */
static bool has_ended(uint64_t pid)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0), .events = POLLIN };
	bool ended;

	if (p.fd < 0)
		return kill((pid_t)pid, 0) && errno == ESRCH;
	ended = poll(&p, 1, 0) > 0;
	close(p.fd);
	return ended;
}

/* Returns a rank that died, or -1. For ranks of this node, checks their processes; for others, the bridge stores deaths on
 * the board. A rank that leaves sets left on the board before its process ends. */
static int64_t find_dead(const struct bootstrap *m)
{
	const struct rt_board *b = m->process ? m->process->board : NULL;

	for (uint32_t r = 0; r < m->size; r++) {
		if (same_process(&m->all[r], &m->all[m->rank]))
			continue;
		if (!same_node(m, r) ? b && m->process->bridge && rt_rank_died(m->process, r) :
				       has_ended(m->all[r].pid) && !(b && atomic_load(&b->slots[r].left)))
			return r;
	}
	return -1;
}

/* Like find_dead, for a rank that does not answer any more. Waits for a moment, because the rank's process may be about to
 * end. */
static int64_t find_dying(const struct bootstrap *m)
{
	const struct timespec tick = { 0, 2000000 };
	const uint64_t until = clock_now_ns() + DYING_NS;
	int64_t rank;

	while ((rank = find_dead(m)) < 0 && clock_now_ns() < until)
		nanosleep(&tick, NULL);
	return rank;
}

static int report_dead(const struct bootstrap *m, int64_t rank)
{
	return rt_error(m->ctx, -ERR_DEAD, "rank %u died", (unsigned)rank);
}

/* Stores the error for another rank's failure. At the end of the step that rank sends the reason to all others. */
static int gave_up(struct bootstrap *m, uint32_t peer)
{
	m->caused = true;
	return rt_error(m->ctx, -ERR_SYS, "rank %u has given up making the group", peer);
}

/* Stores the error for a rank that has closed its end of a socket: it died, or gave up. */
static int hung_up(struct bootstrap *m, uint32_t peer)
{
	const int64_t dead = find_dying(m);

	return dead < 0 ? gave_up(m, peer) : report_dead(m, dead);
}

/* Called now and then while a rank waits. Returns 0, or an error if it is no use to wait any longer. */
static int check_deaths(struct bootstrap *m)
{
	const uint64_t now = clock_now_ns();
	int64_t dead;

	if (now - m->checked < CHECK_MS * 1000000u)
		return 0;
	m->checked = now;
	dead = find_dead(m);
	if (dead >= 0)
		return report_dead(m, dead);
	return now < m->until ? 0 : rt_error(m->ctx, -ERR_SYS, "a rank of this node did not come within %u s", BOOTSTRAP_MS / 1000);
}

/* Waits until a socket can be read, or waiting fails. Signals do not end the wait. */
static int await(struct bootstrap *m, int sock)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	int err = 0;

	while (!err && poll(&p, 1, CHECK_MS) != 1)
		err = check_deaths(m);
	return err;
}

/* ---- file descriptors over a socket ---- */

struct fd_message {
	char cookie[16];
	uint32_t what; /* kind of the descriptor: BOARD, PORT or BELL, or the rank whose heap it is */
	int32_t err; /* not 0: the sender has failed, and sends no descriptor */
};
enum { BOARD = UINT32_MAX, PORT = UINT32_MAX - 1, BELL = UINT32_MAX - 2 };

/* True if a call on a socket has to be repeated. Calls on sockets wait for CHECK_MS at most. */
static bool again(void)
{
	return errno == EINTR || errno == EAGAIN;
}

/* True if a call has failed because the other side has closed its socket. */
static bool deserted(void)
{
	return errno == EPIPE || errno == ECONNRESET || errno == ECONNREFUSED;
}

/* Sends the descriptors of a heap and its eventfd (-1 if it has none), or one other descriptor in fd[0]. */
static int send_fds(struct bootstrap *m, int sock, uint32_t peer, uint32_t what, const int fd[2])
{
	const struct timespec tick = { 0, 1000000 };
	const uint64_t until = clock_now_ns() + BUSY_NS;
	struct fd_message msg = { .what = what };
	int err = 0;

	memcpy(msg.cookie, m->all[0].cookie, sizeof msg.cookie);
	while (!err && local_send(sock, &msg, sizeof msg, fd, fd[1] < 0 ? 1 : 2) < 0) {
		const bool busy = errno == ETOOMANYREFS && clock_now_ns() < until;

		err = again() || busy ? check_deaths(m) : deserted() ? hung_up(m, peer) : rt_sys_error(m->ctx, "sendmsg");
		if (busy)
			nanosleep(&tick, NULL);
	}
	return err;
}

static int send_fd(struct bootstrap *m, int sock, uint32_t peer, uint32_t what, int fd)
{
	return send_fds(m, sock, peer, what, (const int[]){ fd, -1 });
}

/* Sends to the head that this rank has failed, so that the head does not wait for it. */
static void send_failure(struct bootstrap *m, int failure)
{
	struct fd_message msg = { .what = m->rank, .err = failure };

	memcpy(msg.cookie, m->all[0].cookie, sizeof msg.cookie);
	while (local_send(m->sock, &msg, sizeof msg, NULL, 0) < 0 && again() && clock_now_ns() < m->until)
		;
}

static void close_fds(int fd[2])
{
	for (int i = 0; i < 2; i++) {
		if (fd[i] >= 0)
			close(fd[i]);
		fd[i] = -1;
	}
}

enum { NOBODY = UINT32_MAX, STRANGER = 1 };

/* Receives what send_fds has sent, and stores its kind in *what. peer: the rank that sends, or NOBODY if the sender is not
 * known yet. Returns STRANGER if an unknown sender is not a rank of the job. */
static int recv_fds(struct bootstrap *m, int sock, uint32_t peer, uint32_t *what, int fd[2])
{
	struct fd_message msg = { 0 };
	ssize_t n;
	bool cut;
	int err = await(m, sock);

	if (err)
		return err;
	n = local_recv(sock, &msg, sizeof msg, fd, &cut);
	if (n < 0 && !deserted())
		return rt_sys_error(m->ctx, "recvmsg");
	if (n == sizeof msg && !memcmp(msg.cookie, m->all[0].cookie, sizeof msg.cookie)) {
		*what = msg.what;
		if (fd[0] >= 0 && !cut)
			return 0;
		close_fds(fd);
		errno = EMFILE; /* usual reason why the kernel drops descriptors */
		return msg.err ? gave_up(m, peer == NOBODY ? msg.what : peer) : rt_sys_error(m->ctx, "recvmsg");
	}
	close_fds(fd);
	if (peer == NOBODY)
		return STRANGER;
	return n > 0 ? rt_error(m->ctx, -ERR_SYS, "rank %u sent what was not due", peer) : hung_up(m, peer);
}

/* ---- the two sides: head and leads ---- */

static uint32_t ranks_of(const struct bootstrap *m, uint32_t lead)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < m->size; r++)
		n += same_process(&m->all[r], &m->all[lead]);
	return n;
}

/* Receives a descriptor from the head, which must be of the kind `what`. */
static int expect_fd(struct bootstrap *m, uint32_t what, int *fd)
{
	uint32_t got = what;
	int both[2] = { -1, -1 }, err = recv_fds(m, m->sock, m->head, &got, both);

	*fd = both[0];
	if (err || (got == what && both[1] < 0))
		return err;
	close_fds(both);
	*fd = -1;
	return rt_error(m->ctx, -ERR_SYS, "rank %u sent what was not due", m->head);
}

/* Sends the heaps of all ranks of the process of rank `lead` if `own` is true, else of all other ranks of the node. */
static int send_heaps(struct bootstrap *m, int sock, uint32_t peer, uint32_t lead, bool own)
{
	int err = 0;

	for (uint32_t r = 0; r < m->size && !err; r++) {
		const struct rt_peer *p = &m->process->peers[r];

		if (same_node(m, r) && same_process(&m->all[r], &m->all[lead]) == own)
			err = send_fds(m, sock, peer, r,
				       same_process(&m->all[r], &m->all[m->rank]) ?
					       (const int[]){ m->all[r].heap_fd, m->all[r].event } :
					       (const int[]){ p->fd, p->event });
	}
	return err;
}

static int recv_heaps(struct bootstrap *m, int sock, uint32_t peer, uint32_t n)
{
	uint32_t what;
	int fd[2], err = 0;

	while (n-- && !err) {
		err = recv_fds(m, sock, peer, &what, fd);
		if (!err && (what >= m->size || !same_node(m, what) || m->process->peers[what].same ||
			     m->process->peers[what].fd >= 0)) {
			close_fds(fd);
			err = rt_error(m->ctx, -ERR_SYS, "rank %u sent what is not its own", peer);
		} else if (!err) {
			m->process->peers[what].fd = fd[0];
			m->process->peers[what].event = fd[1];
		}
	}
	return err;
}

static int make_board(struct bootstrap *m)
{
	struct rt_process *l = m->process;
	size_t size = rt_board_size(m->size);
	int fd = memfd_create("goal-board", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return rt_sys_error(m->ctx, "memfd_create");
	if (rt_resize(fd, size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		close(fd);
		return rt_sys_error(m->ctx, "ftruncate");
	}
	l->fd = fd;
	return m->cards && rt_bridge_steer(l) ? rt_sys_error(m->ctx, "fcntl(F_SETLK)") : 0;
}

static int map_board(struct bootstrap *m)
{
	struct rt_process *l = m->process;
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

/* Accepts a connection on the head. *sock is -1 if there is no connection yet, or if another user has connected. */
static int let_in(struct bootstrap *m, int *sock)
{
	const struct timeval most = { .tv_usec = CHECK_MS * 1000 };
	int pid, err = await(m, m->listener);

	*sock = err ? -1 : accept4(m->listener, NULL, NULL, SOCK_CLOEXEC);
	if (err || *sock < 0)
		return err || again() || errno == ECONNABORTED ? err : rt_sys_error(m->ctx, "accept");
	if (local_same_user(*sock, &pid) && !setsockopt(*sock, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most))
		return 0;
	close(*sock);
	*sock = -1;
	return 0;
}

/* Receives the first message of a new connection, from a lead or a stranger. Stores a lead's socket in `socks`; closes a
 * stranger's socket. */
static int receive_lead(struct bootstrap *m, int sock, int *socks)
{
	uint32_t what = NOBODY;
	int fd[2] = { -1, -1 }, err = recv_fds(m, sock, NOBODY, &what, fd);

	if (err || what >= m->size || !same_node(m, what) || socks[what] >= 0 || m->process->peers[what].same ||
	    lead_of(m, what) != what) {
		close_fds(fd);
		close(sock);
		return err == STRANGER ? 0 : err;
	}
	m->process->peers[what].fd = fd[0];
	m->process->peers[what].event = fd[1];
	socks[what] = sock;
	return recv_heaps(m, sock, what, ranks_of(m, what) - 1);
}

static uint32_t count_missing(const struct bootstrap *m, const int *socks)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < m->size; r++)
		n += r != m->head && same_node(m, r) && lead_of(m, r) == r && socks[r] < 0;
	return n;
}

/* Sends to a lead all that it needs from the head. */
static int serve_lead(struct bootstrap *m, int sock, uint32_t lead)
{
	int err = send_fd(m, sock, lead, BOARD, m->process->fd);

	if (!err && m->cards)
		err = send_fd(m, sock, lead, PORT, m->port);
	if (!err && m->cards)
		err = send_fd(m, sock, lead, BELL, m->bell);
	return err ? err : send_heaps(m, sock, lead, lead, false);
}

/* The head's part: waits for the lead of every other process, and serves it. After an error it closes all sockets, which
 * the leads notice. */
static int serve_node(struct bootstrap *m, int err)
{
	int *socks = mem_alloc(m->size * sizeof *socks);

	for (uint32_t r = 0; socks && r < m->size; r++)
		socks[r] = -1;
	err = err ? err : socks ? make_board(m) : rt_fail(m->ctx, -ERR_NOMEM);
	while (!err && count_missing(m, socks)) {
		int sock;

		err = let_in(m, &sock);
		if (sock >= 0)
			err = receive_lead(m, sock, socks);
	}
	close(m->listener);
	m->listener = -1;
	for (uint32_t r = 0; socks && r < m->size; r++) {
		if (socks[r] < 0)
			continue;
		if (!err)
			err = serve_lead(m, socks[r], r);
		close(socks[r]);
	}
	free(socks);
	return err;
}

static int connect_to_head(struct bootstrap *m)
{
	const char *name = m->cards ? m->cards[m->head].name : m->all[0].name;
	const uint32_t len = m->cards ? m->cards[m->head].name_len : m->all[0].name_len;
	const struct timeval most = { .tv_usec = CHECK_MS * 1000 };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int pid, err = 0;

	if (len > sizeof m->all[0].name)
		return rt_error(m->ctx, -ERR_SYS, "rank %u has no socket", m->head);
	memcpy(address.sun_path, name, len);
	if (setsockopt(m->sock, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most))
		return rt_sys_error(m->ctx, "setsockopt");
	while (!err && connect(m->sock, (struct sockaddr *)&address, (socklen_t)(sizeof(sa_family_t) + len)))
		err = again() ? check_deaths(m) : deserted() ? hung_up(m, m->head) : rt_sys_error(m->ctx, "connect");
	if (!err && !local_same_user(m->sock, &pid))
		err = rt_error(m->ctx, -ERR_SYS, "rank %u runs as another user", m->head);
	return err;
}

/* On a lead that is not the head: exchanges descriptors with the head. A lead that has failed before also connects, to
 * report its failure. */
static int join_head(struct bootstrap *m, int failure)
{
	int err = connect_to_head(m);

	if (failure && !err)
		send_failure(m, failure);
	if (failure || err)
		return failure ? failure : err;
	err = send_heaps(m, m->sock, m->head, m->rank, true);
	err = err ? err : expect_fd(m, BOARD, &m->process->fd);
	if (!err && m->cards)
		err = expect_fd(m, PORT, &m->port);
	if (!err && m->cards)
		err = expect_fd(m, BELL, &m->bell);
	err = err ? err : recv_heaps(m, m->sock, m->head, m->process->nnode_ranks - ranks_of(m, m->rank));
	if (err && !m->caused && err != -ERR_DEAD)
		send_failure(m, err);
	return err;
}

void rt_process_free(struct rt_process *l)
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
	free(l->node_ranks);
	free(l->peers);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* Finds out which ranks are on which node, and which are on this one. */
static int find_nodes(struct bootstrap *m)
{
	struct rt_process *l = m->process;

	l->node_ranks = mem_alloc(m->size * sizeof *l->node_ranks);
	if (!l->node_ranks)
		return -ERR_NOMEM;
	for (uint32_t r = 0; r < m->size; r++) {
		const uint32_t first = head_of(m, r);

		l->peers[r].node = first == r ? l->nnodes++ : l->peers[first].node;
		l->peers[r].cpus = m->all[r].config.cpus;
		if (same_node(m, r))
			l->node_ranks[l->nnode_ranks++] = r;
	}
	l->node = l->peers[m->rank].node;
	return 0;
}

static int build_bridge(struct bootstrap *m)
{
	struct rt_bridge_plan plan = { .cards = m->cards, .listener = m->port, .bell = m->bell, .first = m->rank == m->head };
	struct rt_process *l = m->process;

	if (plan.first) {
		l->board->home = l->node;
		for (uint32_t r = 0; r < m->size; r++)
			l->board->slots[r].home = l->peers[r].node;
	}
	memcpy(plan.secret, m->all[0].cookie, sizeof plan.secret);
	m->port = m->bell = -1;
	return rt_bridge_open(m->ctx, l, &plan);
}

static int make_comm(struct bootstrap *m)
{
	struct rt_process *l = m->process;
	struct rt_comm_config *all = mem_alloc(l->nnode_ranks * sizeof *all);
	int err = all ? 0 : rt_fail(m->ctx, -ERR_NOMEM);

	for (uint32_t i = 0; i < l->nnode_ranks && !err; i++)
		all[i] = m->all[l->node_ranks[i]].config;
	err = err ? err : rt_comm_make(m->ctx, l, m->lead, all);
	free(all);
	return err;
}

static int new_process(struct bootstrap *m)
{
	struct rt_process *l = mem_calloc(1, sizeof *l);

	m->process = l;
	if (!l)
		return rt_fail(m->ctx, -ERR_NOMEM);
	pthread_mutex_init(&l->lock, NULL);
	atomic_init(&l->refs, ranks_of(m, m->rank));
	l->size = m->size;
	l->networked = m->networked;
	l->pid = getpid();
	l->ordered = rt_bell_register();
	l->fd = l->bell = -1;
	l->peers = mem_calloc(m->size, sizeof *l->peers);
	for (uint32_t r = 0; l->peers && r < m->size; r++)
		l->peers[r].fd = l->peers[r].event = -1;
	if (!l->peers || find_nodes(m))
		return rt_fail(m->ctx, -ERR_NOMEM);
	for (uint32_t r = 0; r < m->size; r++) {
		struct rt_peer *p = &l->peers[r];

		p->pid = (int)m->all[r].pid;
		p->lead = lead_of(m, r);
		p->same = same_process(&m->all[r], &m->all[m->rank]);
		if (p->same) {
			p->heap = (struct rt_heap *)(uintptr_t)m->all[r].heap;
			atomic_fetch_add(&p->heap->refs, 1);
		}
	}
	return 0;
}

/* Makes the board of a node with one process. */
static int private_board(struct bootstrap *m)
{
	void *p = mmap(NULL, rt_board_size(m->size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return rt_sys_error(m->ctx, "mmap");
	m->process->board = p;
	return 0;
}

/* On a lead: makes its struct rt_process, and connects it with the other processes of the node. */
static int make_process(struct bootstrap *m)
{
	bool alone = true;
	int err = new_process(m);

	for (uint32_t r = 0; r < m->size; r++)
		alone &= !same_node(m, r) || same_process(&m->all[r], &m->all[m->rank]);
	m->until = clock_now_ns() + (uint64_t)BOOTSTRAP_MS * 1000000u;
	if (alone) {
		err = err ? err : private_board(m);
	} else {
		err = m->rank == m->head ? serve_node(m, err) : join_head(m, err);
		err = err ? err : map_board(m);
	}
	if (!err && m->rank == m->head)
		m->process->board->size = m->size;
	return err ? err : make_comm(m);
}

/* On a lead: gives up the group. Sets `left` before it releases the locks, because the other ranks would take the release
 * for a death. */
static void drop_process(struct bootstrap *m)
{
	struct rt_process *l = m->process;

	for (uint32_t r = 0; l && l->board && r < l->size; r++)
		if (l->peers[r].same) {
			atomic_store(&l->board->slots[r].closed, 1);
			atomic_store(&l->board->slots[r].left, 1);
		}
	rt_process_free(l);
}

/* Makes a socket of this rank for the processes of its node. The kernel chooses an abstract name, so that nothing stays in
 * the file system. */
static int make_listener(struct bootstrap *m, char name[12], uint32_t *name_len)
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

static int say_hello(struct bootstrap *m, struct hello *h)
{
	const void *random = (const void *)getauxval(AT_RANDOM); // NOLINT(performance-no-int-to-ptr)
	int err;

	*h = (struct hello){ .rank = (int)m->rank, .node = rt_node_id(), .pid = (uint64_t)getpid(), .heap_fd = m->ctx->heap->fd,
			     .event = m->ctx->heap->event };
	h->heap = (uint64_t)(uintptr_t)m->ctx->heap;
	if (random)
		memcpy(h->process, random, sizeof h->process);
	err = rt_comm_ask(m->ctx, m->rank, &h->config);
	if (err || m->size == 1)
		return err;
	if (m->rank) { /* made before the hello, so that the hello can report it if no descriptor is free */
		m->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		return m->sock < 0 ? rt_sys_error(m->ctx, "socket") : 0;
	}
	if (getrandom(h->cookie, sizeof h->cookie, 0) != sizeof h->cookie)
		return rt_sys_error(m->ctx, "getrandom");
	return make_listener(m, h->name, &h->name_len);
}

static int check_hellos(struct bootstrap *m)
{
	char text[512];

	if (m->all[m->rank].err) { /* the other ranks only get the error number */
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
		int err = rt_comm_compare(m->ctx, &m->all[0].config, &m->all[r].config, r);

		if (err)
			return err;
	}
	m->lead = lead_of(m, m->rank);
	m->head = head_of(m, m->rank);
	return 0;
}

static uint32_t count_nodes(const struct bootstrap *m)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < m->size; r++)
		n += head_of(m, r) == r;
	return n;
}

/* Fills in the card of this node, if the rank is the lowest one of the node. Other ranks do nothing. */
static int make_card(struct bootstrap *m, struct rt_card *card)
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
	return err ? err : rt_bridge_listen(m->ctx, card, count_nodes(m), &m->port);
}

/* Handles a failure of the caller's allgather. If a rank died, stores that error, and marks the board for ranks that have
 * passed this step already. */
static int report_dead_rank(struct bootstrap *m)
{
	const int64_t rank = find_dying(m);
	uint64_t none = 0;

	if (rank < 0)
		return rt_error(m->ctx, -ERR_SYS, "the caller's allgather failed");
	if (m->process && m->process->board)
		atomic_compare_exchange_strong(&m->process->board->failed, &none, rt_failure((uint32_t)rank, RT_NOBODY));
	return report_dead(m, rank);
}

/* Returns the kind of network by which this rank may send to other nodes, or 0. A rank without an eventfd could not sleep until
 * the network wakes it. */
static uint64_t find_network(const struct bootstrap *m)
{
	struct mpix_sched_ctx *ctx = m->ctx;
	uint64_t kind;

	if (!ctx->automatic || ctx->heap->event < 0)
		return 0;
	pthread_mutex_lock(&ctx->lock); /* threads may make several groups at once, and the first one opens the devices */
	kind = be_networked()->ops->network(m->group);
	pthread_mutex_unlock(&ctx->lock);
	return kind;
}

/* True if all ranks have the same kind of network. */
static bool agree_on_network(const struct bootstrap *m)
{
	bool same = m->cards[0].network != 0;

	for (uint32_t r = 1; r < m->size; r++)
		same &= m->cards[r].network == m->cards[0].network;
	return same;
}

/* With several nodes: exchanges their cards. All ranks return the same error; only the messages differ. */
static int exchange_cards(struct bootstrap *m)
{
	struct rt_card mine = { .network = find_network(m) };
	char text[512];

	mine.err = make_card(m, &mine);
	MPIX_Sched_error_detail(m->ctx, text, sizeof text);
	if (m->allgather(&mine, m->cards, sizeof mine, m->arg))
		return report_dead_rank(m);
	if (mine.err)
		return rt_error(m->ctx, mine.err, "rank %u: %s", m->rank, text);
	for (uint32_t r = 0; r < m->size; r++)
		if (m->cards[r].err)
			return rt_error(m->ctx, m->cards[r].err, "rank %u: %s", r, err_text(m->cards[r].err));
	m->networked = agree_on_network(m);
	return 0;
}

/* Ends a step, in which each rank did what it could: all ranks continue, or all fail. A rank fails with its own error, or
 * else with that of the first rank whose failure no other rank caused. After a death the function returns at once, because
 * no collective call would end any more. */
static int agree(struct bootstrap *m, int err)
{
	struct ready mine = { .err = err, .caused = m->caused, .process = (uint64_t)(uintptr_t)m->process };
	/* The rank's own error, if no other rank caused it. */
	const struct ready *worst = err && !m->caused ? &m->ready[m->rank] : NULL;
	char text[sizeof mine.text];

	if (err == -ERR_DEAD)
		return err;
	if (err)
		MPIX_Sched_error_detail(m->ctx, mine.text, sizeof mine.text);
	if (m->allgather(&mine, m->ready, sizeof mine, m->arg))
		return err && !m->caused ? err : report_dead_rank(m);
	for (uint32_t r = 0; r < m->size; r++)
		if (m->ready[r].err && (!worst || (worst->caused && !m->ready[r].caused)))
			worst = &m->ready[r];
	if (!worst)
		return 0;
	memcpy(text, worst->text, sizeof text);
	text[sizeof text - 1] = '\0';
	return rt_error(m->ctx, worst->err, "rank %u: %s", (unsigned)(worst - m->ready), text);
}

/* Returns how many iterations this rank may spin. Moves the settings of this node's ranks to the front of m->all. */
static unsigned count_spins(struct bootstrap *m)
{
	const uint64_t node = m->all[m->rank].node;
	uint32_t n = 0, me = 0;

	for (uint32_t r = 0; r < m->size; r++) {
		if (m->all[r].node != node)
			continue;
		if (r == m->rank)
			me = n;
		m->all[n++].config = m->all[r].config;
	}
	return rt_cpus_spins(&m->all->config.cpus, sizeof *m->all, n, me);
}

/* Allocates the arrays whose length depends on the size of the group. Returns false if out of memory. */
static bool prepare(struct bootstrap *m)
{
	m->all = mem_calloc(m->size, sizeof *m->all);
	m->ready = mem_calloc(m->size, sizeof *m->ready);
	return m->all && m->ready;
}

/* Runs the bootstrap. Afterwards each lead has made m->process. */
static int meet(struct bootstrap *m)
{
	struct hello hello;
	int err = say_hello(m, &hello);

	hello.err = err;
	if (m->allgather(&hello, m->all, sizeof hello, m->arg))
		return rt_error(m->ctx, -ERR_SYS, "the caller's allgather failed");
	err = check_hellos(m);
	if (!err && count_nodes(m) > 1) {
		m->cards = mem_calloc(m->size, sizeof *m->cards);
		/* Without memory this rank stops, so the caller's allgather fails on the others. */
		err = m->cards ? exchange_cards(m) : -ERR_NOMEM;
	}
	if (err)
		return err;
	err = agree(m, m->lead == m->rank ? make_process(m) : 0);
	if (!err && m->cards)
		err = agree(m, m->lead == m->rank ? build_bridge(m) : 0);
	return err;
}

static void leave_bootstrap(struct bootstrap *m)
{
	const int fds[] = { m->listener, m->sock, m->port, m->bell };

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(m->cards);
	free(m->all);
	free(m->ready);
}

/* Gives a group its number. spins: of the group's own ranks. The ranks of an earlier group still need the cores if only some of
 * them are in this one.
 *
 * Where ranks outnumber cores, they sleep often, and a membarrier, which waits until other CPUs have executed it, costs more than
 * what it saves in all rings. So if the first group is such a one, ringers do without membarrier, also those of later groups.
 * They read `asks` when they bind, after this. */
static void number_group(struct be_group *g, unsigned spins)
{
	struct mpix_sched_ctx *ctx = g->ctx;

	pthread_mutex_lock(&ctx->lock);
	g->id = ++ctx->ngroups;
	if (!spins)
		ctx->crowded = true;
	g->spins = ctx->crowded ? 0 : spins;
	if (g->id == 1 && ctx->crowded)
		rt_heap_door(ctx->heap)->asks = true;
	pthread_mutex_unlock(&ctx->lock);
}

int MPIX_Sched_group_create(MPIX_Sched_ctx ctx, int rank, int size, MPIX_Sched_allgather_fn *allgather,
			    void *arg, MPIX_Sched_group *group)
{
	struct bootstrap m = { .ctx = ctx,
			       .allgather = allgather,
			       .arg = arg,
			       .rank = (uint32_t)rank,
			       .size = (uint32_t)size,
			       .listener = -1,
			       .sock = -1,
			       .port = -1,
			       .bell = -1 };
	struct mpix_sched_group *g;
	struct rt_process *process;
	/* Without memory to gather into, this rank stops, so the caller's allgather fails on the others. */
	int err = -ERR_NOMEM;

	if (!ctx)
		return MPIX_SCHED_ERR_ARG;
	if (!group || !allgather || size < 1 || rank < 0 || rank >= size)
		return -rt_error(ctx, -ERR_ARG, "a group needs a rank within its size and an allgather");
	g = mem_calloc(1, sizeof *g);
	if (g) {
		m.group = &g->g;
		g->g.ctx = ctx;
		g->g.rank = m.rank;
		g->g.size = m.size;
		if (rt_group_rooms(&g->g) && prepare(&m))
			err = meet(&m);
	}
	if (err) {
		drop_process(&m);
		if (g)
			free(g->g.gathered);
		free(g);
	} else {
		process = (struct rt_process *)(uintptr_t)m.ready[m.lead].process;
		g->g.process = process;
		g->g.board = process->board;
		number_group(&g->g, count_spins(&m));
		atomic_init(&g->g.refs, 1);
		rt_ctx_ref(ctx);
		*group = g;
	}
	leave_bootstrap(&m);
	return err == -ERR_NOMEM ? -rt_fail(ctx, err) : -err;
}
