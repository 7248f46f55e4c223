/* SPDX-License-Identifier: BSD-3-Clause
 * Requests as Open MPI has them, each with one of ours in it. Open MPI's own start, wait and test functions work on them: a
 * start comes to us by req_start, and while requests are active, each turn of Open MPI's progress engine tests them.
 *
 * Open MPI retains datatypes and operations for a request only if that is active when it is made, which persistent ones never
 * are, so it puts no function of its own in the place of our req_free. */
#include "mpi/openmpi/front.h"

#include "ompi/communicator/communicator.h"
#include "opal/runtime/opal_progress.h"

#include <pthread.h>
#include <stdatomic.h>

/* Open MPI takes each request of a collective for an ompi_coll_base_nbc_request_t. Debian's packages lack a header that the
 * one with its definition includes. What we need is the request that it begins with, and that it has room. */
OMPI_DECLSPEC OBJ_CLASS_DECLARATION(ompi_coll_base_nbc_request_t);

typedef struct gm_handle {
	union {
		ompi_request_t super;
		char room[512];
	} base; /* first: the library knows only this */
	struct gm_request *request;
	int generation;
	struct gm_handle *next; /* in a list of active ones */
	_Atomic int holds; /* 1 for the user's handle, 1 while it is in a list. The last one frees */
} gm_handle;

static OBJ_CLASS_INSTANCE(gm_handle, ompi_coll_base_nbc_request_t, NULL, NULL);

/* Requests that were started since the last turn. Any thread puts some there. */
static _Atomic(struct gm_handle *) started;
/* Active requests. Only the thread that has the turn changes the list. */
static _Atomic(struct gm_handle *) active;
static _Atomic bool turn;
/* Open MPI's functions for waits, to which ours go on */
static ompi_request_fns_t native;
/* From the first request to the end of MPI, or of the last session */
static struct {
	pthread_mutex_t lock;
	bool begun, over;
	_Atomic int generation; /* a request with an older one has been freed by gm_end */
} life = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Below MPI_THREAD_MULTIPLE one thread at a time is in the library, so that loads and stores do. */
static int add(_Atomic int *n, int by)
{
	int sum;

	if (opal_using_threads())
		return atomic_fetch_add_explicit(n, by, memory_order_acq_rel) + by;
	sum = atomic_load_explicit(n, memory_order_relaxed) + by;
	atomic_store_explicit(n, sum, memory_order_relaxed);
	return sum;
}

/* Gives the calling thread the turn, unless some thread has it. That may be the calling one: a test can make progress. */
static bool take_turn(void)
{
	if (atomic_load_explicit(&turn, memory_order_relaxed))
		return false;
	if (opal_using_threads())
		return !atomic_exchange_explicit(&turn, true, memory_order_acquire);
	atomic_store_explicit(&turn, true, memory_order_relaxed);
	return true;
}

static void put_started(struct gm_handle *h)
{
	add(&h->holds, 1);
	h->next = atomic_load_explicit(&started, memory_order_relaxed);
	if (opal_using_threads())
		while (!atomic_compare_exchange_weak_explicit(&started, &h->next, h, memory_order_release,
							      memory_order_relaxed))
			;
	else
		atomic_store_explicit(&started, h, memory_order_relaxed);
}

static struct gm_handle *take_started(void)
{
	struct gm_handle *h = atomic_load_explicit(&started, memory_order_relaxed);

	if (!h)
		return NULL;
	if (opal_using_threads())
		return atomic_exchange_explicit(&started, NULL, memory_order_acquire);
	atomic_store_explicit(&started, NULL, memory_order_relaxed);
	return h;
}

/* Puts the requests that were started before the active ones. */
static void gather_started(void)
{
	struct gm_handle *h = take_started(), *next, *first = atomic_load_explicit(&active, memory_order_relaxed);

	for (; h; h = next) {
		next = h->next;
		h->next = first;
		first = h;
	}
	atomic_store_explicit(&active, first, memory_order_relaxed);
}

static bool is_alive(const struct gm_handle *h)
{
	return h->generation == atomic_load_explicit(&life.generation, memory_order_relaxed);
}

static void let_go(struct gm_handle *h)
{
	if (add(&h->holds, -1))
		return;
	if (is_alive(h))
		gm_free(h->request);
	OBJ_RELEASE(h->base.super.req_mpi_object.comm);
	OBJ_RELEASE(h);
}

/* Once it is complete, another thread may start it again or free it. awaited: some thread may wait for it in Open MPI */
static void complete(struct gm_handle *h, int err, bool awaited)
{
	h->base.super.req_status.MPI_ERROR = err;
	atomic_thread_fence(memory_order_release);
	ompi_request_complete(&h->base.super, awaited);
	let_go(h);
}

/* Called in each turn of Open MPI's progress engine. Returns how many requests became complete. */
static int progress(void)
{
	struct gm_handle *h, *next, *before = NULL;
	int n = 0;

	if (!atomic_load_explicit(&active, memory_order_relaxed) && !atomic_load_explicit(&started, memory_order_relaxed))
		return 0;
	if (gm_inside() || !take_turn())
		return 0;
	gather_started();
	for (h = atomic_load_explicit(&active, memory_order_relaxed); h; h = next) {
		bool flag = false;
		int err = gm_test(h->request, &flag);

		next = h->next;
		if (!flag && !err) {
			before = h;
			continue;
		}
		if (before)
			before->next = next;
		else
			atomic_store_explicit(&active, next, memory_order_relaxed);
		complete(h, err, true);
		n++;
	}
	atomic_store_explicit(&turn, false, memory_order_release);
	return n;
}

/* A turn of Open MPI's progress engine takes as long as a short collective, and yields the core where ranks share it, even if what
 * this rank waits for comes sooner. So a wait for the request that was started last takes it from the list again and waits as the
 * library does, which turns that engine too once it has spun for a while. Returns NULL if it is not that request. */
static inline struct gm_handle *take_last(const ompi_request_t *request)
{
	struct gm_handle *h = atomic_load_explicit(&started, memory_order_relaxed);

	if (!h || request != &h->base.super || opal_using_threads())
		return NULL;
	atomic_store_explicit(&started, h->next, memory_order_relaxed);
	return h;
}

static void wait_alone(const ompi_request_t *request)
{
	struct gm_handle *h = take_last(request);

	if (h)
		complete(h, gm_wait(h->request), false);
}

static int wait_one(ompi_request_t **request, ompi_status_public_t *status)
{
	struct gm_handle *h = take_last(*request);
	ompi_request_t *base = *request;
	int err;

	if (!h)
		return native.req_wait(request, status);
	err = gm_wait(h->request);
	if (err || status != MPI_STATUS_IGNORE || !base->req_persistent || base->req_complete_cb) {
		complete(h, err, false);
		return native.req_wait(request, status);
	}
	/* what Open MPI's function does with a persistent request, which no other thread can see here */
	base->req_complete = REQUEST_COMPLETED;
	base->req_state = OMPI_REQUEST_INACTIVE;
	let_go(h);
	return MPI_SUCCESS;
}

static int wait_all(size_t n, ompi_request_t **requests, ompi_status_public_t *statuses)
{
	for (size_t i = n; i > 0; i--)
		wait_alone(requests[i - 1]);
	return native.req_wait_all(n, requests, statuses);
}

static void hook_waits(void)
{
	native = ompi_request_functions;
	ompi_request_functions.req_wait = wait_one;
	ompi_request_functions.req_wait_all = wait_all;
}

static void unhook_waits(void)
{
	ompi_request_functions = native;
}

static void activate(struct gm_handle *h)
{
	h->base.super.req_state = OMPI_REQUEST_ACTIVE;
	h->base.super.req_status.MPI_ERROR = MPI_SUCCESS;
	h->base.super.req_complete = REQUEST_PENDING;
	put_started(h);
}

static __attribute__((noinline, cold)) int cannot_start(const struct gm_handle *h, int err)
{
	PMPI_Comm_call_errhandler(h->base.super.req_mpi_object.comm, err);
	return err;
}

static int start_one(struct gm_handle *h)
{
	int err = MPI_ERR_REQUEST;

	if (h->base.super.req_state == OMPI_REQUEST_INACTIVE && is_alive(h))
		err = gm_start(h->request);
	if (err)
		return cannot_start(h, err);
	activate(h);
	return MPI_SUCCESS;
}

static int start(size_t n, ompi_request_t **requests)
{
	for (size_t i = 0; i < n; i++) {
		int err = start_one((struct gm_handle *)requests[i]);

		if (err)
			return err;
	}
	return MPI_SUCCESS;
}

static int free_request(ompi_request_t **request)
{
	struct gm_handle *h = (struct gm_handle *)*request;

	OMPI_REQUEST_FINI(*request);
	*request = MPI_REQUEST_NULL;
	let_go(h);
	return MPI_SUCCESS;
}

/* MPI has no cancel for collectives. */
static int cancel(ompi_request_t *request, int flag)
{
	(void)request, (void)flag;
	return MPI_ERR_REQUEST;
}

/* True if there is a request that is active, but has been freed by the user. */
static bool any_freed(const struct gm_handle *h)
{
	while (h && atomic_load(&h->holds) > 1)
		h = h->next;
	return h;
}

/* Requests that were freed while active may be what other ranks wait for. MPI does not allow that, so it must not keep us here
 * for long: arg is the time of the begin. */
static int is_quiet(void *arg)
{
	const double *begin = arg;

	opal_progress();
	return !(any_freed(active) || any_freed(started)) || PMPI_Wtime() - *begin >= 1;
}

void gm_requests_end(void)
{
	pthread_mutex_lock(&life.lock);
	if (life.begun) {
		gm_wait_until(is_quiet, &(double){ PMPI_Wtime() });
		opal_progress_unregister(progress);
		unhook_waits();
		atomic_store(&active, NULL);
		atomic_store(&started, NULL);
		life.begun = false;
		atomic_fetch_add(&life.generation, 1);
		gm_end();
	}
	pthread_mutex_unlock(&life.lock);
}

/* Runs in MPI_Finalize, which deletes the attributes of MPI_COMM_SELF while all of MPI can still be used. */
static int on_finalize(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm, (void)key, (void)value, (void)extra;
	gm_requests_end();
	life.over = true;
	return MPI_SUCCESS;
}

/* A program that has only sessions has no MPI_COMM_SELF: there the end is that of the last communicator. */
void gm_requests_begin(void)
{
	int key, initialized = 0;

	pthread_mutex_lock(&life.lock);
	if (!life.begun) {
		life.begun = true;
		PMPI_Initialized(&initialized);
		if (initialized &&
		    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &key, NULL) == MPI_SUCCESS) {
			PMPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
			PMPI_Comm_free_keyval(&key);
		}
		gm_begin();
		opal_progress_register(progress);
		hook_waits();
	}
	pthread_mutex_unlock(&life.lock);
}

static struct gm_handle *handle_new(struct gm_request *request, MPI_Comm comm, bool persistent)
{
	struct gm_handle *h = OBJ_NEW(gm_handle);
	ompi_request_t *base = &h->base.super;

	if (!h)
		return NULL;
	OMPI_REQUEST_INIT(base, persistent);
	base->req_type = OMPI_REQUEST_COLL;
	base->req_status = ompi_status_empty;
	base->req_start = start;
	base->req_free = free_request;
	base->req_cancel = cancel;
	/* It has the error handler, and may be freed before the request. */
	OBJ_RETAIN(comm);
	base->req_mpi_object.comm = comm;
	h->request = request;
	h->generation = atomic_load(&life.generation);
	atomic_init(&h->holds, 1);
	return h;
}

int gm_request_new(const struct gm_call *call, ompi_request_t **out)
{
	struct gm_request *request;
	struct gm_handle *h;
	int err;

	*out = NULL;
	if (life.over)
		return MPI_SUCCESS;
	gm_requests_begin();
	err = gm_init(call, &request);
	if (err || !request)
		return err;
	h = handle_new(request, call->comm, true);
	if (!h) {
		gm_free(request);
		return MPI_ERR_NO_MEM;
	}
	*out = &h->base.super;
	return MPI_SUCCESS;
}

int gm_once_new(const struct gm_call *call, ompi_request_t **out)
{
	struct gm_request *request;
	struct gm_handle *h;
	int err;

	*out = NULL;
	if (life.over || !life.begun)
		return MPI_SUCCESS;
	err = gm_once_start(call, &request);
	if (err || !request)
		return err;
	h = handle_new(request, call->comm, false);
	if (!h) {
		gm_free(request);
		return MPI_ERR_NO_MEM;
	}
	activate(h);
	*out = &h->base.super;
	return MPI_SUCCESS;
}

bool gm_requests_usable(void)
{
	int initialized = 0, finalized = 1;

	return !PMPI_Initialized(&initialized) && initialized && !PMPI_Finalized(&finalized) && !finalized && !life.over;
}

/* The library itself calls collectives, while it begins and ends, too: then it is too early or too late. */
void gm_comm_meet(gm_module *module, MPI_Comm comm)
{
	if (!gm_requests_usable())
		return;
	module->known = true; /* first: gm_nbc_comm calls these functions */
	gm_requests_begin();
	gm_nbc_comm(comm);
}

bool gm_request_fits(void)
{
	return ompi_coll_base_nbc_request_t_class.cls_sizeof <= sizeof(((struct gm_handle *)NULL)->base);
}

/* MPI_Pack takes it without MPI_Init, too. */
MPI_Comm gm_local_comm(MPI_Comm comm)
{
	(void)comm;
	return MPI_COMM_SELF;
}

/* MPI_Reduce_local uses a module of MPI_COMM_SELF, which programs with sessions alone have not. */
bool gm_applies_ops(void)
{
	int initialized = 0;

	return PMPI_Initialized(&initialized) == MPI_SUCCESS && initialized;
}

void gm_native_progress(void)
{
	opal_progress();
}

/* Operations are objects with a count of references, the predefined ones too. */
void gm_op_retain(MPI_Op op)
{
	OBJ_RETAIN((opal_object_t *)op);
}

void gm_op_release(MPI_Op op)
{
	opal_object_t *object = (opal_object_t *)op;

	OBJ_RELEASE(object);
}
