/* SPDX-License-Identifier: BSD-3-Clause
 * The functions by which a program lets the library send messages between nodes. This is a part of mpix_sched.h, which programs
 * include. See MPIX_Sched_group_set_transport(3). */
#ifndef MPIX_SCHED_TRANSPORT_H
#define MPIX_SCHED_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

/* Functions of the program that send and receive messages between the ranks of a group, as persistent requests of MPI do.
 * Messages from one rank to another with the same tag are received in the order in which they were sent. All functions return
 * 0, or another number as an error. None of them waits for another rank. */
struct MPIX_Sched_transport {
	size_t struct_size; /* sizeof, set by the caller */
	void *state; /* the first argument of each function */
	size_t most_bytes; /* bytes of the longest message, at least 1; the library splits longer ones */
	uint32_t tags; /* tags are below this number */
	int any_thread; /* 1: any thread may call the functions; 0: only the program's threads, within calls of the library */
	/* Make a message to, or from, a rank. Nothing is sent or received before its start. With `sync`, the message is complete
	 * only when the peer has started to receive it. */
	int (*send_init)(void *state, const void *buf, size_t bytes, int peer, uint32_t tag, int sync, void **message);
	int (*recv_init)(void *state, void *buf, size_t bytes, int peer, uint32_t tag, void **message);
	int (*start)(void *state, void *message);
	/* Sets *flag to 1 if the message is complete, and may be started again; else to 0. */
	int (*test)(void *state, void *message, int *flag);
	/* Frees a message. It is active only if its request has failed. */
	int (*free)(void *state, void *message);
};

#endif
