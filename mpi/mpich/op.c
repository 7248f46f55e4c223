/* SPDX-License-Identifier: BSD-3-Clause
 * Operations live as long as requests that use them, though the program may free them as soon as the request is made. */
#include "mpi/mpich/front.h"
#include "mpi/mpich/native.h"

#include <pthread.h>
#include <stdlib.h>

struct kept_op {
	struct kept_op *next;
	MPI_Op op;
	unsigned users;
	bool freed; /* by the program: the last request frees it */
};

static struct kept_op *kept;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns where the list has an operation, or its end. */
static struct kept_op **place_of(MPI_Op op)
{
	struct kept_op **p = &kept;

	while (*p && (*p)->op != op)
		p = &(*p)->next;
	return p;
}

void gm_op_retain(MPI_Op op)
{
	struct kept_op **p;

	pthread_mutex_lock(&lock);
	p = place_of(op);
	if (!*p && (*p = calloc(1, sizeof **p)))
		(*p)->op = op;
	if (*p)
		(*p)->users++;
	pthread_mutex_unlock(&lock);
}

void gm_op_release(MPI_Op op)
{
	struct kept_op **p, *k;
	bool frees = false;

	pthread_mutex_lock(&lock);
	p = place_of(op);
	k = *p;
	if (k && !--k->users) {
		frees = k->freed;
		*p = k->next;
		free(k);
	}
	pthread_mutex_unlock(&lock);
	if (frees)
		PMPI_Op_free(&op);
}

GM_EXPORT int MPI_Op_free(MPI_Op *op)
{
	int rc = MPI_SUCCESS;
	struct kept_op *k;

	pthread_mutex_lock(&lock);
	k = op ? *place_of(*op) : NULL;
	if (k && k->freed)
		rc = MPI_ERR_OP;
	else if (k)
		k->freed = true;
	pthread_mutex_unlock(&lock);
	if (!k)
		return NATIVE(Op_free)(op);
	if (rc == MPI_SUCCESS)
		*op = MPI_OP_NULL;
	else
		PMPI_Comm_call_errhandler(MPI_COMM_SELF, rc);
	return rc;
}
