/* SPDX-License-Identifier: BSD-3-Clause
 * The reductions of a request (reduce.c). */
#ifndef RUNTIME_REDUCE_H
#define RUNTIME_REDUCE_H

#include "runtime/request.h"

/* Finds the kernel of a request's built-in operation, or makes room for its user's operation. Returns 0, or an error: a rank would have
 * to reduce, and the operation is not defined for the type, or an op splits an element that the user's operation takes whole. */
int rt_prepare_reduce(struct mpix_sched_request *req, const struct MPIX_Sched_bind *bind);
/* Set the layout of elements and the functions that reduce them: those of the request, or for what reaches packed elements only, as the
 * view of another rank's request does. */
void rt_set_reduce(struct be_bind *b, struct mpix_sched_request *req);
void rt_set_plain_reduce(struct be_bind *b, struct mpix_sched_request *req);

#endif
