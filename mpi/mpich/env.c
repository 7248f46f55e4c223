/* SPDX-License-Identifier: BSD-3-Clause
 * Wrappers of the functions that begin and end MPI, and progress of native messages. */
#include "mpi/mpich/front.h"
#include "mpi/mpich/native.h"
#include "mpi/mpich/table.h"

#include <pthread.h>
#include <stdatomic.h>

static struct {
	pthread_mutex_t lock;
	unsigned users; /* MPI_Init, and sessions that are open */
	_Atomic bool running, world;
	MPI_Request idle; /* a native request that is never complete */
} env = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool gm_running(void)
{
	return atomic_load_explicit(&env.running, memory_order_acquire);
}

bool gm_has_world(void)
{
	return atomic_load_explicit(&env.world, memory_order_acquire);
}

/* ---- progress of native messages ---- */

static int idle_query(void *state, MPI_Status *status)
{
	(void)state;
	*status = gm_empty_status;
	return MPI_SUCCESS;
}

static int idle_free(void *state)
{
	(void)state;
	return MPI_SUCCESS;
}

static int idle_cancel(void *state, int complete)
{
	(void)state, (void)complete;
	return MPI_SUCCESS;
}

/* Asking for a request that is not complete makes progress. A generalized request belongs to no communicator, so it is there
 * in programs that only have sessions, and nothing is matched. Threads may ask for one request at the same time. */
void gm_native_progress(void)
{
	int flag;

	PMPI_Request_get_status(env.idle, &flag, MPI_STATUS_IGNORE);
}

/* ---- begin and end ---- */

static void end(bool world);

static int on_finalize(MPI_Comm self, int keyval, void *value, void *extra)
{
	(void)self, (void)keyval, (void)value, (void)extra;
	end(true);
	return MPI_SUCCESS;
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first, the latest ones before this one: functions that the program has
 * attached may still use and free requests. */
static void attach_end(void)
{
	int keyval;

	if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &keyval, NULL) != MPI_SUCCESS)
		return;
	PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
	PMPI_Comm_free_keyval(&keyval);
}

static void begin(bool world)
{
	MPI_Request none = MPI_REQUEST_NULL;

	pthread_mutex_lock(&env.lock);
	if (world)
		env.world = true;
	if (!env.users++) {
		PMPI_Wait(&none, &gm_empty_status);
		gm_empty_status.MPI_ERROR = MPI_SUCCESS;
		PMPI_Grequest_start(idle_query, idle_free, idle_cancel, NULL, &env.idle);
		gm_begin();
		env.running = true;
	}
	if (world) {
		attach_end();
		gm_nbc_comm(MPI_COMM_WORLD);
		gm_nbc_comm(MPI_COMM_SELF);
	}
	pthread_mutex_unlock(&env.lock);
}

static void end(bool world)
{
	pthread_mutex_lock(&env.lock);
	if (env.users && !--env.users) {
		env.running = false;
		gm_handles_end();
		gm_end();
		PMPI_Grequest_complete(env.idle);
		PMPI_Wait(&env.idle, MPI_STATUS_IGNORE);
	}
	if (world)
		env.world = false;
	pthread_mutex_unlock(&env.lock);
}

GM_EXPORT int MPI_Init(int *argc, char ***argv)
{
	int rc;

	gm_native_begin();
	rc = NATIVE(Init)(argc, argv);
	if (rc == MPI_SUCCESS)
		begin(true);
	return rc;
}

GM_EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int rc;

	gm_native_begin();
	rc = NATIVE(Init_thread)(argc, argv, required, provided);
	if (rc == MPI_SUCCESS)
		begin(true);
	return rc;
}

GM_EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
	int rc;

	gm_native_begin();
	rc = NATIVE(Session_init)(info, errhandler, session);
	if (rc == MPI_SUCCESS)
		begin(false);
	return rc;
}

GM_EXPORT int MPI_Session_finalize(MPI_Session *session)
{
	if (session && *session != MPI_SESSION_NULL)
		end(false);
	return NATIVE(Session_finalize)(session);
}
