/* SPDX-License-Identifier: BSD-3-Clause
 * Descriptors travel as control data (SCM_RIGHTS), whose buffer must be aligned for its header. */
#include "util/local.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	char buf[CMSG_SPACE(LOCAL_FDS * sizeof(int))];
	struct cmsghdr align;
};

ssize_t local_send(int sock, const void *data, size_t size, const int *fd, size_t n)
{
	union control control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)data, size };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (n) {
		h.msg_control = control.buf;
		h.msg_controllen = CMSG_SPACE(n * sizeof *fd);
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof *fd);
		memcpy(CMSG_DATA(c), fd, n * sizeof *fd);
	}
	return sendmsg(sock, &h, MSG_NOSIGNAL);
}

ssize_t local_recv(int sock, void *data, size_t size, int fd[LOCAL_FDS], bool *cut)
{
	union control control = { 0 };
	struct iovec iov = { data, size };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf, .msg_controllen = sizeof control.buf };
	const struct cmsghdr *c;
	ssize_t n;

	memset(fd, 0xff, LOCAL_FDS * sizeof *fd);
	do
		n = recvmsg(sock, &h, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&h) : NULL;
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len <= CMSG_LEN(LOCAL_FDS * sizeof *fd))
		memcpy(fd, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	*cut = h.msg_flags & MSG_CTRUNC;
	return n;
}

bool local_same_user(int sock, int *pid)
{
	struct ucred cred;
	socklen_t len = sizeof cred;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) || cred.uid != geteuid())
		return false;
	*pid = cred.pid;
	return true;
}
