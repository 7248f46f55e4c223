/* SPDX-License-Identifier: BSD-3-Clause
 * Threads of the library in somebody else's program. */
#ifndef UTIL_THREAD_H
#define UTIL_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* Like pthread_create, but the thread gets no signals: the program's handlers run in its own threads. */
static inline int thread_start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

#endif
