/* SPDX-License-Identifier: BSD-3-Clause
 * Wrappers for the Fortran module mpi_f08. Its functions with choice buffers call MPI_ functions, as do all of mpif.h and of
 * the module mpi, so those find our wrappers. The others call PMPI_ functions; the ones here replace them and call MPI_
 * functions. Names are those of gfortran and of compilers that name like it.
 *
 * Handles and statuses are the same as in C, and a LOGICAL of gfortran is 0 or 1, as a flag is. `ierror` is NULL if the program leaves it out. Indices begin with 1 here, as MPI
 * says; MPICH 4.0 returns those of C from functions of mpi_f08. */
#include "mpi/mpich/complete.h"

/* Variables of the MPI library. Weak, because this library may be preloaded where there is none. */
#pragma weak MPI_F08_STATUS_IGNORE
#pragma weak MPI_F08_STATUSES_IGNORE

static MPI_Status *status_of(MPI_Status *status)
{
	return (void *)status == (void *)MPI_F08_STATUS_IGNORE ? MPI_STATUS_IGNORE : status;
}

static MPI_Status *statuses_of(MPI_Status *statuses)
{
	return !statuses || (void *)statuses == (void *)MPI_F08_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : statuses;
}

static void count_from_1(int *index)
{
	if (*index != MPI_UNDEFINED)
		++*index;
}

static void all_from_1(int n, int indices[])
{
	for (int i = 0; i < n; i++)
		indices[i]++;
}

#define SUBROUTINE(name, params, ...) \
	GM_EXPORT void mpi_##name##_f08_ params \
	{ \
		int rc; \
\
		__VA_ARGS__ \
		if (ierror) \
			*ierror = rc; \
	}

SUBROUTINE(init, (MPI_Fint *ierror), rc = MPI_Init(NULL, NULL);)
SUBROUTINE(init_thread, (const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror),
	   rc = MPI_Init_thread(NULL, NULL, *required, provided);)
SUBROUTINE(session_init, (const MPI_Info *info, const MPI_Errhandler *errhandler, MPI_Session *session, MPI_Fint *ierror),
	   rc = MPI_Session_init(*info, *errhandler, session);)
SUBROUTINE(session_finalize, (MPI_Session *session, MPI_Fint *ierror), rc = MPI_Session_finalize(session);)
SUBROUTINE(op_free, (MPI_Op *op, MPI_Fint *ierror), rc = MPI_Op_free(op);)
SUBROUTINE(barrier_init, (const MPI_Comm *comm, const MPI_Info *info, MPI_Request *request, MPI_Fint *ierror),
	   rc = MPI_Barrier_init(*comm, *info, request);)
SUBROUTINE(alloc_mem, (const MPI_Aint *size, const MPI_Info *info, void **baseptr, MPI_Fint *ierror),
	   rc = MPI_Alloc_mem(*size, *info, baseptr);)

/* Collectives that do not block, and functions that make communicators for them; without those that have arrays of LOGICAL, or
 * CHARACTER. */
SUBROUTINE(ibarrier, (const MPI_Comm *comm, MPI_Request *request, MPI_Fint *ierror), rc = MPI_Ibarrier(*comm, request);)
SUBROUTINE(comm_dup, (const MPI_Comm *comm, MPI_Comm *out, MPI_Fint *ierror), rc = MPI_Comm_dup(*comm, out);)
SUBROUTINE(comm_dup_with_info, (const MPI_Comm *comm, const MPI_Info *info, MPI_Comm *out, MPI_Fint *ierror),
	   rc = MPI_Comm_dup_with_info(*comm, *info, out);)
SUBROUTINE(comm_split, (const MPI_Comm *comm, const MPI_Fint *color, const MPI_Fint *key, MPI_Comm *out, MPI_Fint *ierror),
	   rc = MPI_Comm_split(*comm, *color, *key, out);)
SUBROUTINE(comm_split_type,
	   (const MPI_Comm *comm, const MPI_Fint *type, const MPI_Fint *key, const MPI_Info *info, MPI_Comm *out,
	    MPI_Fint *ierror),
	   rc = MPI_Comm_split_type(*comm, *type, *key, *info, out);)
SUBROUTINE(intercomm_merge, (const MPI_Comm *inter, const MPI_Fint *high, MPI_Comm *out, MPI_Fint *ierror),
	   rc = MPI_Intercomm_merge(*inter, *high, out);)
SUBROUTINE(comm_create, (const MPI_Comm *comm, const MPI_Group *group, MPI_Comm *out, MPI_Fint *ierror),
	   rc = MPI_Comm_create(*comm, *group, out);)
SUBROUTINE(comm_create_group,
	   (const MPI_Comm *comm, const MPI_Group *group, const MPI_Fint *tag, MPI_Comm *out, MPI_Fint *ierror),
	   rc = MPI_Comm_create_group(*comm, *group, *tag, out);)

SUBROUTINE(start, (MPI_Request *request, MPI_Fint *ierror), rc = MPI_Start(request);)
SUBROUTINE(startall, (const MPI_Fint *count, MPI_Request requests[], MPI_Fint *ierror), rc = MPI_Startall(*count, requests);)
SUBROUTINE(request_free, (MPI_Request *request, MPI_Fint *ierror), rc = MPI_Request_free(request);)
SUBROUTINE(cancel, (MPI_Request *request, MPI_Fint *ierror), rc = MPI_Cancel(request);)
SUBROUTINE(request_get_status, (const MPI_Request *request, MPI_Fint *flag, MPI_Status *status, MPI_Fint *ierror),
	   rc = MPI_Request_get_status(*request, flag, status_of(status));)

SUBROUTINE(wait, (MPI_Request *request, MPI_Status *status, MPI_Fint *ierror), rc = MPI_Wait(request, status_of(status));)
SUBROUTINE(waitall, (const MPI_Fint *count, MPI_Request requests[], MPI_Status statuses[], MPI_Fint *ierror),
	   rc = MPI_Waitall(*count, requests, statuses_of(statuses));)
SUBROUTINE(waitany,
	   (const MPI_Fint *count, MPI_Request requests[], MPI_Fint *index, MPI_Status *status, MPI_Fint *ierror),
	   *index = MPI_UNDEFINED; rc = MPI_Waitany(*count, requests, index, status_of(status)); count_from_1(index);)
SUBROUTINE(waitsome,
	   (const MPI_Fint *incount, MPI_Request requests[], MPI_Fint *outcount, MPI_Fint indices[], MPI_Status statuses[],
	    MPI_Fint *ierror),
	   *outcount = 0; rc = MPI_Waitsome(*incount, requests, outcount, indices, statuses_of(statuses)); all_from_1(*outcount, indices);)

SUBROUTINE(test, (MPI_Request *request, MPI_Fint *flag, MPI_Status *status, MPI_Fint *ierror),
	   rc = MPI_Test(request, flag, status_of(status));)
SUBROUTINE(testall,
	   (const MPI_Fint *count, MPI_Request requests[], MPI_Fint *flag, MPI_Status statuses[], MPI_Fint *ierror),
	   rc = MPI_Testall(*count, requests, flag, statuses_of(statuses));)
SUBROUTINE(testany,
	   (const MPI_Fint *count, MPI_Request requests[], MPI_Fint *index, MPI_Fint *flag, MPI_Status *status,
	    MPI_Fint *ierror),
	   *index = MPI_UNDEFINED; rc = MPI_Testany(*count, requests, index, flag, status_of(status)); count_from_1(index);)
SUBROUTINE(testsome,
	   (const MPI_Fint *incount, MPI_Request requests[], MPI_Fint *outcount, MPI_Fint indices[], MPI_Status statuses[],
	    MPI_Fint *ierror),
	   *outcount = 0; rc = MPI_Testsome(*incount, requests, outcount, indices, statuses_of(statuses)); all_from_1(*outcount, indices);)

SUBROUTINE(request_get_status_all,
	   (const MPI_Fint *count, MPI_Request requests[], MPI_Fint *flag, MPI_Status statuses[], MPI_Fint *ierror),
	   rc = gm_get_status_all(*count, requests, flag, statuses_of(statuses));)
SUBROUTINE(request_get_status_any,
	   (const MPI_Fint *count, MPI_Request requests[], MPI_Fint *index, MPI_Fint *flag, MPI_Status *status,
	    MPI_Fint *ierror),
	   *index = MPI_UNDEFINED; rc = gm_get_status_any(*count, requests, index, flag, status_of(status));
	   count_from_1(index);)
SUBROUTINE(request_get_status_some,
	   (const MPI_Fint *incount, MPI_Request requests[], MPI_Fint *outcount, MPI_Fint indices[],
	    MPI_Status statuses[], MPI_Fint *ierror),
	   *outcount = 0; rc = gm_get_status_some(*incount, requests, outcount, indices, statuses_of(statuses));
	   all_from_1(*outcount, indices);)

/* ---- mpif.h and the module mpi ---- */

/* MPICH 4.0 returns MPI_UNDEFINED + 1 where no request of an array is active. */
static void undefined_is_no_index(MPI_Fint *index)
{
	if (*index == MPI_UNDEFINED + 1)
		*index = MPI_UNDEFINED;
}

/* In the MPI library's part for Fortran, which is there if the program is in Fortran. */
#pragma weak pmpi_waitany_
#pragma weak pmpi_testany_
void pmpi_waitany_(MPI_Fint *count, MPI_Fint requests[], MPI_Fint *index, MPI_Fint status[], MPI_Fint *ierror);
void pmpi_testany_(MPI_Fint *count, MPI_Fint requests[], MPI_Fint *index, MPI_Fint *flag, MPI_Fint status[], MPI_Fint *ierror);

GM_EXPORT void mpi_waitany_(MPI_Fint *count, MPI_Fint requests[], MPI_Fint *index, MPI_Fint status[], MPI_Fint *ierror)
{
	pmpi_waitany_(count, requests, index, status, ierror);
	undefined_is_no_index(index);
}

GM_EXPORT void mpi_testany_(MPI_Fint *count, MPI_Fint requests[], MPI_Fint *index, MPI_Fint *flag, MPI_Fint status[], MPI_Fint *ierror)
{
	pmpi_testany_(count, requests, index, flag, status, ierror);
	undefined_is_no_index(index);
}
