/* SPDX-License-Identifier: BSD-3-Clause
 * See threads_pthreads_mutex.h. */
#ifndef MPI_OPENMPI_MISSING_THREADS_H
#define MPI_OPENMPI_MISSING_THREADS_H

#include <pthread.h>
#include <sched.h>

static inline void opal_thread_yield(void)
{
	sched_yield();
}

#endif
