/* SPDX-License-Identifier: BSD-3-Clause
 * The bootstrap within a node: how its processes exchange the descriptors of the board and of all heaps over sockets, and see deaths
 * meanwhile. */
#include "runtime/bootstrap/bootstrap.h"

#include "util/clock.h"
#include "util/local.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#define CHECK_MS 100 /* interval of checks for deaths while a rank waits */
/* Time that others have to receive descriptors: the kernel limits how many are in flight. */
#define BUSY_NS 1000000000u
#define DYING_NS 100000000u /* longest time from the closing of a process's sockets to its end */

bool rt_boot_same_node(const struct rt_bootstrap *m, uint32_t rank)
{
	return m->all[rank].node == m->all[m->rank].node;
}

bool rt_boot_same_process(const struct rt_hello *a, const struct rt_hello *b)
{
	return a->pid == b->pid && a->node == b->node && !memcmp(a->process, b->process, sizeof a->process);
}

uint32_t rt_boot_head_of(const struct rt_bootstrap *m, uint32_t rank)
{
	uint32_t r = 0;

	while (m->all[r].node != m->all[rank].node)
		r++;
	return r;
}

uint32_t rt_boot_lead_of(const struct rt_bootstrap *m, uint32_t rank)
{
	uint32_t r = 0;

	while (!rt_boot_same_process(&m->all[r], &m->all[rank]))
		r++;
	return r;
}

uint32_t rt_boot_ranks_of(const struct rt_bootstrap *m, uint32_t lead)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < m->size; r++)
		n += rt_boot_same_process(&m->all[r], &m->all[lead]);
	return n;
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
static int64_t find_dead(const struct rt_bootstrap *m)
{
	const struct rt_board *b = m->process ? m->process->board : NULL;

	for (uint32_t r = 0; r < m->size; r++) {
		if (rt_boot_same_process(&m->all[r], &m->all[m->rank]))
			continue;
		if (!rt_boot_same_node(m, r) ? b && m->process->bridge && rt_rank_died(m->process, r) :
				       has_ended(m->all[r].pid) && !(b && atomic_load(&b->slots[r].left)))
			return r;
	}
	return -1;
}

int64_t rt_boot_find_dying(const struct rt_bootstrap *m)
{
	const struct timespec tick = { 0, 2000000 };
	const uint64_t until = clock_now_ns() + DYING_NS;
	int64_t rank;

	while ((rank = find_dead(m)) < 0 && clock_now_ns() < until)
		nanosleep(&tick, NULL);
	return rank;
}

int rt_boot_report_dead(const struct rt_bootstrap *m, int64_t rank)
{
	return rt_error(m->ctx, -ERR_DEAD, "rank %u died", (unsigned)rank);
}

/* Stores the error for another rank's failure. At the end of the step that rank sends the reason to all others. */
static int gave_up(struct rt_bootstrap *m, uint32_t peer)
{
	m->caused = true;
	return rt_error(m->ctx, -ERR_SYS, "rank %u has given up making the group", peer);
}

/* Stores the error for a rank that has closed its end of a socket: it died, or gave up. */
static int hung_up(struct rt_bootstrap *m, uint32_t peer)
{
	const int64_t dead = rt_boot_find_dying(m);

	return dead < 0 ? gave_up(m, peer) : rt_boot_report_dead(m, dead);
}

/* Called now and then while a rank waits. Returns 0, or an error if it is no use to wait any longer. */
static int check_deaths(struct rt_bootstrap *m)
{
	const uint64_t now = clock_now_ns();
	int64_t dead;

	if (now - m->checked < CHECK_MS * 1000000u)
		return 0;
	m->checked = now;
	dead = find_dead(m);
	if (dead >= 0)
		return rt_boot_report_dead(m, dead);
	return now < m->until ? 0 : rt_error(m->ctx, -ERR_SYS, "a rank of this node did not come within %u s", RT_BOOTSTRAP_MS / 1000);
}

/* Waits until a socket can be read, or waiting fails. Signals do not end the wait. */
static int await(struct rt_bootstrap *m, int sock)
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
static int send_fds(struct rt_bootstrap *m, int sock, uint32_t peer, uint32_t what, const int fd[2])
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

static int send_fd(struct rt_bootstrap *m, int sock, uint32_t peer, uint32_t what, int fd)
{
	return send_fds(m, sock, peer, what, (const int[]){ fd, -1 });
}

/* Sends to the head that this rank has failed, so that the head does not wait for it. */
static void send_failure(struct rt_bootstrap *m, int failure)
{
	struct fd_message msg = { .what = m->rank, .err = failure };

	memcpy(msg.cookie, m->all[0].cookie, sizeof msg.cookie);
	while (local_send(m->sock, &msg, sizeof msg, NULL, 0) < 0 && again() && clock_now_ns() < m->until)
		;
}

enum { NOBODY = UINT32_MAX, STRANGER = 1 };

/* Receives what send_fds has sent, and stores its kind in *what. peer: the rank that sends, or NOBODY if the sender is not
 * known yet. Returns STRANGER if an unknown sender is not a rank of the job. */
static int recv_fds(struct rt_bootstrap *m, int sock, uint32_t peer, uint32_t *what, int fd[2])
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
		rt_close_fds(fd);
		errno = EMFILE; /* usual reason why the kernel drops descriptors */
		return msg.err ? gave_up(m, peer == NOBODY ? msg.what : peer) : rt_sys_error(m->ctx, "recvmsg");
	}
	rt_close_fds(fd);
	if (peer == NOBODY)
		return STRANGER;
	return n > 0 ? rt_error(m->ctx, -ERR_SYS, "rank %u sent what was not due", peer) : hung_up(m, peer);
}

/* ---- the two sides: head and leads ---- */

/* Receives a descriptor from the head, which must be of the kind `what`. */
static int expect_fd(struct rt_bootstrap *m, uint32_t what, int *fd)
{
	uint32_t got = what;
	int both[2] = { -1, -1 }, err = recv_fds(m, m->sock, m->head, &got, both);

	*fd = both[0];
	if (err || (got == what && both[1] < 0))
		return err;
	rt_close_fds(both);
	*fd = -1;
	return rt_error(m->ctx, -ERR_SYS, "rank %u sent what was not due", m->head);
}

/* Sends the heaps of all ranks of the process of rank `lead` if `own` is true, else of all other ranks of the node. */
static int send_heaps(struct rt_bootstrap *m, int sock, uint32_t peer, uint32_t lead, bool own)
{
	int err = 0;

	for (uint32_t r = 0; r < m->size && !err; r++) {
		const struct rt_peer *p = &m->process->peers[r];

		if (rt_boot_same_node(m, r) && rt_boot_same_process(&m->all[r], &m->all[lead]) == own)
			err = send_fds(m, sock, peer, r,
				       rt_boot_same_process(&m->all[r], &m->all[m->rank]) ?
					       (const int[]){ m->all[r].heap_fd, m->all[r].event } :
					       (const int[]){ p->fd, p->event });
	}
	return err;
}

static int recv_heaps(struct rt_bootstrap *m, int sock, uint32_t peer, uint32_t n)
{
	uint32_t what;
	int fd[2], err = 0;

	while (n-- && !err) {
		err = recv_fds(m, sock, peer, &what, fd);
		if (!err && (what >= m->size || !rt_boot_same_node(m, what) || m->process->peers[what].same ||
			     m->process->peers[what].fd >= 0)) {
			rt_close_fds(fd);
			err = rt_error(m->ctx, -ERR_SYS, "rank %u sent what is not its own", peer);
		} else if (!err) {
			m->process->peers[what].fd = fd[0];
			m->process->peers[what].event = fd[1];
		}
	}
	return err;
}

static int make_board(struct rt_bootstrap *m)
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

int rt_boot_map_board(struct rt_bootstrap *m)
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
static int let_in(struct rt_bootstrap *m, int *sock)
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
static int receive_lead(struct rt_bootstrap *m, int sock, int *socks)
{
	uint32_t what = NOBODY;
	int fd[2] = { -1, -1 }, err = recv_fds(m, sock, NOBODY, &what, fd);

	if (err || what >= m->size || !rt_boot_same_node(m, what) || socks[what] >= 0 || m->process->peers[what].same ||
	    rt_boot_lead_of(m, what) != what) {
		rt_close_fds(fd);
		close(sock);
		return err == STRANGER ? 0 : err;
	}
	m->process->peers[what].fd = fd[0];
	m->process->peers[what].event = fd[1];
	socks[what] = sock;
	return recv_heaps(m, sock, what, rt_boot_ranks_of(m, what) - 1);
}

static uint32_t count_missing(const struct rt_bootstrap *m, const int *socks)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < m->size; r++)
		n += r != m->head && rt_boot_same_node(m, r) && rt_boot_lead_of(m, r) == r && socks[r] < 0;
	return n;
}

/* Sends to a lead all that it needs from the head. */
static int serve_lead(struct rt_bootstrap *m, int sock, uint32_t lead)
{
	int err = send_fd(m, sock, lead, BOARD, m->process->fd);

	if (!err && m->cards)
		err = send_fd(m, sock, lead, PORT, m->port);
	if (!err && m->cards)
		err = send_fd(m, sock, lead, BELL, m->bell);
	return err ? err : send_heaps(m, sock, lead, lead, false);
}

int rt_boot_serve_node(struct rt_bootstrap *m, int err)
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

static int connect_to_head(struct rt_bootstrap *m)
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

int rt_boot_join_head(struct rt_bootstrap *m, int failure)
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
	err = err ? err : recv_heaps(m, m->sock, m->head, m->process->nnode_ranks - rt_boot_ranks_of(m, m->rank));
	if (err && !m->caused && err != -ERR_DEAD)
		send_failure(m, err);
	return err;
}
