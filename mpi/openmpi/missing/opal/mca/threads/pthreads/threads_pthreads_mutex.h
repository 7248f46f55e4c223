/* SPDX-License-Identifier: BSD-3-Clause
 * What Open MPI 5 calls a mutex and a condition, where they are those of POSIX. The packages of Debian 13 lack their header with
 * this name, which others of theirs include; it comes before this one where it is installed. */
#ifndef MPI_OPENMPI_MISSING_MUTEX_H
#define MPI_OPENMPI_MISSING_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

typedef pthread_mutex_t opal_thread_internal_mutex_t;
typedef pthread_cond_t opal_thread_internal_cond_t;

/* None of ours is recursive. */
static inline int opal_thread_internal_mutex_init(pthread_mutex_t *mutex, bool recursive)
{
	return recursive ? -1 : pthread_mutex_init(mutex, NULL);
}

static inline int opal_thread_internal_mutex_trylock(pthread_mutex_t *mutex)
{
	return pthread_mutex_trylock(mutex) != 0;
}

static inline void opal_thread_internal_mutex_lock(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
}

static inline void opal_thread_internal_mutex_unlock(pthread_mutex_t *mutex)
{
	pthread_mutex_unlock(mutex);
}

static inline void opal_thread_internal_mutex_destroy(pthread_mutex_t *mutex)
{
	pthread_mutex_destroy(mutex);
}

static inline int opal_thread_internal_cond_init(pthread_cond_t *cond)
{
	return pthread_cond_init(cond, NULL);
}

static inline void opal_thread_internal_cond_signal(pthread_cond_t *cond)
{
	pthread_cond_signal(cond);
}

static inline void opal_thread_internal_cond_destroy(pthread_cond_t *cond)
{
	pthread_cond_destroy(cond);
}

#endif
