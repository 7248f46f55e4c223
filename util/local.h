/* SPDX-License-Identifier: BSD-3-Clause
 * Messages over sockets between processes of one node. A message can carry file descriptors. */
#ifndef UTIL_LOCAL_H
#define UTIL_LOCAL_H

#include <stdbool.h>
#include <sys/types.h>

#define LOCAL_FDS 2 /* most descriptors of a message */

/* Sends a message with n descriptors. Returns as sendmsg does. */
ssize_t local_send(int sock, const void *data, size_t size, const int *fd, size_t n);
/* Receives a message, and its descriptors, or -1 in their places. Returns as recvmsg does, but repeats the call after signals.
 * Sets *cut if descriptors were lost. */
ssize_t local_recv(int sock, void *data, size_t size, int fd[LOCAL_FDS], bool *cut);
/* True if the process at the other end runs as this process's user. Stores its number in *pid. */
bool local_same_user(int sock, int *pid);

#endif
