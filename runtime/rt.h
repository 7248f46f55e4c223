/* SPDX-License-Identifier: BSD-3-Clause
 * The runtime's own types: contexts, heaps, groups, schedules, requests. */
#ifndef RUNTIME_RT_H
#define RUNTIME_RT_H

#include "backends/backend.h"
#include "compiler/collectives/collective.h"
#include "compiler/compile.h"
#include "include/mpix_sched.h"
#include "runtime/kernels.h"
#include "util/env.h"
#include "util/err.h"
#include "util/mac.h"
#include "util/mem.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/single_threaded.h>

/* ---- what the environment chooses (ctx.c) ---- */

enum rt_progress { RT_APP, RT_THREAD, RT_COLLAB, RT_PROGRESSES };
extern const char *const rt_progress_names[RT_PROGRESSES];

/* ---- CPUs (cpus.c) ---- */

#define RT_CPUS 512u /* those above count for nothing */
#define RT_SPINS 256u /* turns before who has a core for itself gives it away all the same */

/* Those that a rank may run on. */
struct rt_cpus {
	uint64_t bits[RT_CPUS / 64];
};

/* What host_umwaits tells; costs microseconds on virtual machines. */
bool rt_cpu_umwaits(void);
void rt_cpus_get(struct rt_cpus *c);
/* The turns that one of n ranks may spin when all run where this one may. */
unsigned rt_spins(uint32_t n);
/* The turns that rank me may spin, from the CPUs of n ranks of its node, stride bytes apart: 0 if there are
 * more ranks than CPUs where it runs. */
unsigned rt_cpus_spins(const void *all, size_t stride, uint32_t n, uint32_t me);

/* ---- heap: memory that peers can map (heap.c) ---- */

struct rt_block {
	uint64_t off;
	size_t len;
	bool used;
	uint32_t bound; /* requests that use it */
};

/* At the beginning of each heap, so that whoever reaches a rank can wake it. */
struct rt_door {
	struct be_bell bell[2]; /* as in struct be_bells */
	bool asks; /* the system gives its sleepers no membarrier */
};

/* One sealed memfd per context. Its owner sees it at one address for ever; peers map what they need. */
struct rt_heap {
	_Atomic uint32_t refs;
	int fd;
	int event; /* an eventfd that wakes its owner where that sleeps on descriptors; -1: it sleeps on its bell */
	char *base;
	size_t reserved, size; /* address space; bytes of the file */
	pthread_mutex_t lock;
	VEC(struct rt_block) blocks; /* ascending, without holes */
};

/* ftruncate, but where a limit of the process forbids the size: then EFBIG, and no signal. */
int rt_resize(int fd, size_t size);
/* NULL: errno says why. */
struct rt_heap *rt_heap_new(bool watches);
static inline struct rt_door *rt_heap_door(const struct rt_heap *h)
{
	return (struct rt_door *)(void *)h->base;
}
void rt_heap_unref(struct rt_heap *h);
/* Zeroed, 64-byte aligned; NULL when there is no more. */
void *rt_heap_alloc(struct rt_heap *h, size_t size, uint64_t *off);
/* 0, -ERR_ARG for a foreign pointer, -ERR_STATE while it is bound. */
int rt_heap_free(struct rt_heap *h, void *ptr);
/* Whether [ptr, ptr + len) lies in one allocation; then it counts as bound until rt_heap_unbind. */
bool rt_heap_bind(struct rt_heap *h, const void *ptr, size_t len, uint64_t *off);
void rt_heap_unbind(struct rt_heap *h, uint64_t off);

/* ---- board: where the ranks of a group meet (board.c) ---- */

/* What a rank is doing when it writes a record: ranks that do not do the same must not take each other's records for
 * their own. */
enum rt_step { RT_MEETING, RT_SPLIT, RT_INIT, RT_STEPS };
extern const char *const rt_step_names[RT_STEPS];

/* The number of a record: its round, and the step in the upper bits. */
#define RT_STEP_SHIFT 56
static inline uint64_t rt_round(uint64_t seq)
{
	return seq & ((1ull << RT_STEP_SHIFT) - 1);
}
static inline uint64_t rt_seq(uint64_t round, enum rt_step step)
{
	return round | (uint64_t)step << RT_STEP_SHIFT;
}
static inline enum rt_step rt_step_of(uint64_t seq)
{
	return (enum rt_step)(seq >> RT_STEP_SHIFT);
}

struct rt_record { /* a short one lies in the line of its number */
	_Alignas(64) _Atomic uint64_t seq;
	char data[HOST_RECORD];
};

/* What the processes of a communication core share, in the slot of the lowest rank that has it. */
struct rt_hub {
	_Alignas(64) _Atomic uint32_t starts; /* of its ranks' requests, and what else its threads should look at */
	_Atomic uint32_t active; /* requests */
	_Atomic uint32_t idle; /* times that the baton has passed since something moved */
	_Alignas(64) _Atomic uint32_t baton; /* lowest rank + 1 of the process whose thread polls; 0: none. A futex */
	_Atomic uint32_t waiting; /* threads that wait for it */
};

struct rt_slot { /* writer: its rank, but of hub */
	struct rt_record record[2]; /* by parity of the round */
	_Alignas(64) _Atomic uint32_t joined; /* the rank holds its lock */
	_Atomic uint32_t closed; /* the rank makes no more calls that all make: it writes no more records */
	_Atomic uint32_t left; /* nor does it send any more: nothing of it uses the group */
	_Atomic uint32_t died; /* of several nodes: enum rt_death, by what has been told */
	uint32_t home; /* of several nodes: its own */
	struct rt_hub hub;
	_Atomic uint32_t node; /* where it lately was, for those that help each other: a NUMA node */
	/* Of who tells other nodes (mirror.c): */
	uint32_t told;
	uint64_t sent[2];
};

enum rt_death { RT_DIED = 1, RT_UNREACHABLE /* with its node */ };

struct rt_board {
	uint32_t size;
	_Atomic uint64_t failed; /* rt_failure of the first rank that was lost; 0: none was */
	_Atomic uint32_t users; /* a subgroup's: ranks that may still touch it; and one for who tells other nodes */
	/* Of several nodes: */
	_Atomic uint32_t bell; /* a job's: file descriptor + 1 that who posts writes to */
	uint32_t home, told; /* this node; of who tells others (mirror.c) */
	uint64_t key; /* the same on all nodes: a subgroup's id, or 0 */
	_Atomic uint64_t next; /* board of this node (bridge.c) */
	pthread_mutex_t lock; /* of next and all that follow */
	_Atomic uint32_t wheel; /* a futex; changes when who tells others may be another process */
	_Alignas(64) struct rt_slot slots[];
};

/* A rank, and who cannot reach it; RT_NOBODY: its process has ended. */
#define RT_NOBODY UINT32_MAX
static inline uint64_t rt_failure(uint32_t rank, uint32_t by)
{
	return (uint64_t)(by + 1) << 32 | (rank + 1);
}
static inline uint32_t rt_failed(uint64_t failure)
{
	return (uint32_t)failure - 1;
}
static inline uint32_t rt_failed_by(uint64_t failure)
{
	return (uint32_t)(failure >> 32) - 1;
}

size_t rt_board_size(uint32_t ranks);
/* The last round that a rank has written. */
uint64_t rt_board_round(const struct rt_board *b, uint32_t rank);
/* A rank that will not write its record of a round, as it has left before; or -1. */
int64_t rt_board_missing(const struct rt_board *b, uint64_t round);
/* This rank's record of a round (1, 2, …), which is rt_round of seq. */
void rt_board_post(struct rt_board *b, uint32_t rank, uint64_t seq, const void *in, size_t size);
/* All ranks' records of a round, whatever their steps. spins: as for rt_relax. idle is called while waiting; not 0: give up with that. */
int rt_board_collect(struct rt_board *b, uint64_t seq, size_t size, void *out, unsigned spins,
		     int (*idle)(void *arg), void *arg);
/* Both. */
int rt_board_allgather(struct rt_board *b, uint32_t rank, uint64_t seq, const void *in, size_t size,
		       void *out, unsigned spins, int (*idle)(void *arg), void *arg);

/* ---- context (ctx.c) ---- */

struct rt_zombie {
	void *ptr[2];
	_Atomic uint32_t *users;
};

struct mpix_sched_ctx {
	_Atomic uint32_t refs;
	pid_t pid; /* of the process that made it */
	pthread_mutex_t lock; /* of requests and zombies */
	pthread_mutex_t detail_lock; /* of detail; innermost */
	pthread_mutex_t select_lock; /* of selected; outermost */
	struct rt_selected *selected; /* NULL until something is */
	struct rt_heap *heap;
	const struct be_row *backend; /* what carries out its requests; NULL: there is none of that name */
	void *be_state; /* host_state's */
	pthread_mutex_t watch_lock; /* of who sleeps on descriptors: one thread, the others on the bell */
	_Atomic int watched; /* host_watch's, or -1 */
	struct rt_trace *trace; /* NULL: none is kept */
	VEC(struct rt_zombie) zombies;
	VEC(struct mpix_sched_request *) requests; /* bound ones */
	_Atomic uint32_t nactive;
	bool umwaits; /* the CPU's */
	int policy; /* enum rt_policy, or -ERR_ARG */
	pthread_mutex_t energy_lock; /* of energy; whoever is in there may take it again */
	struct {
		MPIX_Sched_energy_fn *fn;
		void *arg;
	} energy;
	_Atomic bool chooses; /* energy.fn is there */
	_Atomic uint32_t ngroups; /* that were created, not split off */
	_Atomic bool paused; /* no communication core makes progress on its requests */
	_Atomic uint64_t steals[2]; /* times that it moved others' requests: of its NUMA node, and not */
	struct MPIX_Sched_stats gone; /* what requests that are no more have counted */
	_Atomic uint32_t usr1_seen; /* SIGUSR1s that were answered */
	_Atomic uint64_t dumped; /* when requests that waited for too long were last printed, ns */
	struct {
		int err;
		long value;
	} env[ENV_COUNT]; /* as numbers, when it was made */
	char detail[2048];
};

void rt_ctx_ref(struct mpix_sched_ctx *ctx);
void rt_ctx_unref(struct mpix_sched_ctx *ctx);
/* Stores what to tell the user; returns err. */
__attribute__((format(printf, 3, 4))) int rt_error(struct mpix_sched_ctx *ctx, int err, const char *fmt, ...);
/* Stores the sentence of err, if it is one. */
int rt_fail(struct mpix_sched_ctx *ctx, int err);
/* The error that errno stands for. */
int rt_errno(void);
/* Stores what errno says of a call; returns that error. */
int rt_sys_error(struct mpix_sched_ctx *ctx, const char *what);
/* An environment variable that is a number, as it was when the context was made; 0 or -ERR_ARG, which is told. */
int rt_env(struct mpix_sched_ctx *ctx, enum env_name name, long *out);
/* Gives back what no peer uses any more. */
void rt_ctx_reap(struct mpix_sched_ctx *ctx);
/* Adds a request to those that are bound, and does the same. */
int rt_ctx_add(struct mpix_sched_ctx *ctx, struct mpix_sched_request *req);
void rt_ctx_remove(struct mpix_sched_ctx *ctx, const struct mpix_sched_request *req);
/* Adds what has been counted in a turn. */
void rt_add_stats(struct MPIX_Sched_stats *s, const struct be_turn *turn);

/* ---- groups (meeting.c makes them, group.c, host.c) ---- */

struct rt_map {
	char *base;
	size_t len;
};

struct rt_peer {
	int pid;
	uint32_t node; /* nodes are numbered in the order of their lowest ranks */
	uint32_t lead; /* the lowest rank of its process */
	bool same; /* a thread of this process */
	int fd, event; /* of its heap, or -1 */
	struct rt_heap *heap; /* when same; holds a reference */
	VEC(struct rt_map) maps; /* the last is the largest: */
	char *_Atomic base;
	_Atomic size_t reach; /* what base reaches at least: it is stored behind it */
	_Atomic bool rings; /* bells is filled in */
	struct be_bells bells;
};

/* What the ranks of one group that live in one process share, with all groups that were split off from it. */
struct rt_local {
	_Atomic uint32_t refs;
	uint32_t size;
	pid_t pid;
	pthread_mutex_t lock; /* of what is made of peers */
	struct rt_board *board;
	bool ordered; /* the kernel orders this process's stores for those that go to sleep */
	int fd; /* of the board; -1 when all ranks of this node are threads of this process */
	struct rt_peer *peers;
	uint32_t *near; /* the ranks of this node, in order */
	uint32_t nnear, node, nnodes;
	struct rt_bridge *bridge; /* NULL: there is one node */
	struct rt_comm *comm; /* NULL: only a rank's own thread makes progress on its requests */
};

struct be_group {
	_Atomic uint32_t refs;
	struct mpix_sched_ctx *ctx;
	struct rt_local *local;
	struct rt_board *board; /* local's, or a subgroup's own, in the heap of its rank 0 */
	uint32_t *root; /* a subgroup's: the ranks of its ranks in local; else NULL, they are the same */
	uint32_t rank, size;
	uint64_t id; /* the same on all ranks, and another one than that of other groups */
	uint64_t seq; /* rounds on the board */
	enum rt_step step; /* of the call that it is in */
	char *gathered; /* HOST_RECORD bytes per rank: to agree needs no memory that could be missing */
	unsigned spins; /* turns of waiting before a rank yields */
	_Atomic uint64_t checked; /* when deaths were last looked for, ns */
};

struct mpix_sched_group {
	struct be_group g;
};

/* What two numbers identify together, as one. */
static inline uint64_t rt_id(uint64_t a, uint64_t b)
{
	return (a ^ b >> 7) * 0x9e3779b97f4a7c15u + b;
}

static inline uint32_t rt_root_rank(const struct be_group *g, uint32_t rank)
{
	return g->root ? g->root[rank] : rank;
}

/* Whether this process made it: not a child that was forked since, whose frees do not concern the other ranks. */
bool rt_local_owned(const struct rt_local *l);
void rt_group_ref(struct be_group *g);
void rt_group_unref(struct be_group *g);
/* When no group of its process has it any more; also one that is not complete. NULL is harmless. */
void rt_local_free(struct rt_local *l);
/* 0, or -ERR_DEAD, which is told, once it is known that a rank of the group was lost. */
int rt_group_dead(struct be_group *g);
/* The same; looks for itself at most every 50 ms. */
int rt_group_check(struct be_group *g);
/* The same for a rank that waits for the records of all. -ERR_DEAD as well if one has left that has not written its own. */
int rt_group_await(struct be_group *g);
/* Of the n ranks with board b, one of another process that has joined and not left, but whose lock is gone; or -1. Locks
 * are held until a process has left all groups of its local. root: as in struct be_group. */
int64_t rt_find_dead(const struct rt_local *l, const struct rt_board *b, const uint32_t *root, uint32_t n);
/* Where the bells of a rank of l are; NULL: out of reach. */
struct rt_door *rt_door_of(struct rt_local *l, uint32_t rank);
/* Where something of a rank's heap is; NULL: out of reach. */
void *rt_reach(struct rt_local *l, uint32_t rank, uint64_t off, size_t len);
/* Whether a rank of l has died with its process, which is another. */
bool rt_rank_died(const struct rt_local *l, uint32_t rank);
/* Whether a rank has freed the group. */
bool rt_group_left(const struct be_group *g, uint32_t rank);

/* ---- several nodes (nodes.c, bridge.c) ---- */

/* The same for all that can map each other's memory. */
uint64_t rt_node_id(void);

#define RT_ADDRESSES 8u

/* Where a node answers: what its lowest rank tells all others. */
struct rt_card {
	int err;
	char name[12]; /* of a Unix socket, for its own ranks */
	uint32_t name_len;
	uint16_t port, naddresses;
	struct in6_addr address[RT_ADDRESSES]; /* the best first */
};

/* Where this node can be reached; errors are told. */
int rt_node_addresses(struct mpix_sched_ctx *ctx, struct rt_card *card);

/* What a process needs to keep the boards of its node like those of the others. */
struct rt_bridge_plan {
	const struct rt_card *cards; /* by rank */
	char secret[MAC_KEY];
	int listener, bell; /* shared by the processes of the node; they pass to the bridge */
	bool first; /* it connects; the others take over when it has left */
};

/* An open TCP port, told on the card, for so many nodes; or an error that is told. */
int rt_bridge_listen(struct mpix_sched_ctx *ctx, struct rt_card *card, uint32_t nodes, int *listener);
/* The process that tells other nodes holds this lock of the board's file. */
int rt_bridge_steer(const struct rt_local *l);
/* Makes l->bridge; returns when all nodes are connected, or with an error that is told. */
int rt_bridge_open(struct mpix_sched_ctx *ctx, struct rt_local *l, const struct rt_bridge_plan *p);
/* When all has been told that ranks of this process have to tell. NULL is harmless. */
void rt_bridge_close(struct rt_bridge *b);
/* There is something to tell. */
void rt_bridge_ring(const struct rt_local *l);
/* From now on a board of a subgroup, in this node's heap of rank owner, is one of those that are kept alike. */
void rt_bridge_add(struct rt_local *l, struct rt_board *b, uint32_t owner, uint64_t off);

/* ---- schedules (sched.c), datatypes and operations (types.c) ---- */

struct mpix_sched {
	_Atomic uint32_t refs;
	struct mpix_sched_ctx *ctx;
	void *image;
	size_t size;
	struct bin bin;
	struct claim claim; /* what implements names: the definition has the sizes of its buffers */
	bool sized; /* they have to be looked at when it is bound */
};

/* Takes data, a text or a binary with a NUL behind it; o is for texts. 0 or MPIX_SCHED_ERR_*. */
int rt_sched_make(struct mpix_sched_ctx *ctx, const char *name, char *data, size_t size,
		  const struct compile_options *o, MPIX_Sched *out);
void rt_sched_unref(struct mpix_sched *s);

/* What a context has selected so far (select.c). */
struct rt_selected;
void rt_selected_free(struct rt_selected *s);

struct mpix_sched_type {
	_Atomic uint32_t refs;
	struct mpix_sched_ctx *ctx;
	enum MPIX_Sched_basic basic;
	struct be_layout layout;
	int64_t low, high; /* bytes that an element touches: [low, high) */
	struct be_block blocks[];
};

struct mpix_sched_op {
	_Atomic uint32_t refs;
	struct mpix_sched_ctx *ctx;
	MPIX_Sched_op_fn *fn;
	void *arg;
	bool commutes;
};

size_t rt_basic_size(enum MPIX_Sched_basic basic);
/* The type of one basic element, which nobody has to free; NULL: there is none. */
const struct mpix_sched_type *rt_type_basic(enum MPIX_Sched_basic basic);
void rt_type_unref(struct mpix_sched_type *t);
void rt_op_unref(struct mpix_sched_op *op);

/* ---- requests (bind.c, api.c) ---- */

enum rt_state { RT_IDLE, RT_FAILED /* for good */, RT_ACTIVE, RT_DONE /* nobody has waited yet */ };

/* A reduction of the library's. */
struct rt_reduce {
	rt_kernel *kernel;
	const struct be_layout *layout;
};

struct mpix_sched_request {
	struct mpix_sched_ctx *ctx;
	struct be_group *group;
	struct mpix_sched *sched;
	const struct mpix_sched_type *type;
	struct mpix_sched_type *given; /* the same if it is the caller's, or NULL */
	struct mpix_sched_op *op; /* NULL: reduce.kernel */
	struct rt_reduce reduce, plain; /* plain: of basic elements one after the other */
	const struct be_ops *be;
	struct be_bound *bound;
	struct be_turn *turn; /* bound's; NULL until it is made */
	bool helped; /* others make progress on it as well: as be_bind, */
	size_t fragment; /* as this; a rank that waits joins in if it is not 0 */
	struct rt_core *core; /* these, once it is bound; else NULL */
	struct rt_mate *mates; /* by rank, while it is bound */
	VEC(struct be_bound *) views; /* of other processes' ranks */
	struct ir_rank rank;
	uint32_t entry; /* as be_bind.entry, */
	unsigned armw; /* as this, */
	bool *safe; /* and as this */
	struct be_buffer *buffers, *spare; /* spare: room to bind others, without an allocation */
	char **scratch; /* heap memory of scratch buffers, or NULL */
	uint32_t nbuffers;
	bool inplace; /* the caller bound the one buffer in place that may be */
	size_t *sizes; /* what the caller says that its buffers hold, 0 where nothing; NULL: it does not say */
	char *reduce_tmp; /* for b = b op a with a user's operation */
	uint64_t epoch;
	uint64_t id; /* as be_bind.request */
	uint64_t dump_after; /* ns of waiting until the pending ops are printed; 0: never */
	uint64_t watched, since; /* the epoch that a wait last looked at, and from when on */
	uint64_t looked; /* the epoch of the last look whether it can still complete */
	uint64_t last_ns, mean_ns; /* of waits, without a brief spin; of the mean waking up is taken off */
};

/* What a rank does with what is bound: an owned row of the schedule's parameters, or NULL, its ops, and a number that
 * differs where ranks give other parameters. a: rank and size are set. Errors are told. */
int rt_specialise(struct mpix_sched *s, const struct mpix_sched_type *type, const struct MPIX_Sched_bind *bind,
		  struct bin_args *a, struct bin_arg **row, struct ir_rank *out, uint64_t *params);

/* The bytes from the first to the last that n basic elements touch, and where they begin; false: there are too many. */
bool rt_span(const struct mpix_sched_type *t, uint64_t n, int64_t *low, size_t *len);

/* ---- sizes of buffers (sizes.c) ---- */

/* bind itself, or *whole where the caller's is of an older library and has less; NULL: it is none. */
const struct MPIX_Sched_bind *rt_whole_bind(const struct MPIX_Sched_bind *bind, struct MPIX_Sched_bind *whole);
/* Whether the buffers have the sizes that the definition of the collective gives them, or no op of the rank uses one that
 * it has not: that one has size 0 then. Errors are told. */
int rt_check_sizes(struct mpix_sched *s, const struct bin_args *a, bool inplace, struct ir_rank *r);
/* Whether an op of the rank touches a buffer. */
bool rt_uses(const struct ir_rank *r, uint32_t buffer);
/* Whether the caller binds a buffer in place. */
bool rt_inplace(const struct bin *b, const struct MPIX_Sched_bind *bind);

/* Collective. Binds and adds the request to the context's, or undoes what it did. sched or bind that are missing on one
 * rank are an error on all. */
int rt_bind(struct mpix_sched *sched, struct be_group *g, const struct MPIX_Sched_bind *bind,
	    struct mpix_sched_request **out);
/* Other buffers for a request that is not active. On an error the old ones stay. */
int rt_rebind(struct mpix_sched_request *req, void *const *buffers, size_t n);
/* A view of a rank's request, which is bound with this one. */
int rt_view(struct mpix_sched_request *req, uint32_t rank, struct be_bound **out);
/* Takes it out again and frees it; nobody may use it any more. */
void rt_unbind(struct mpix_sched_request *req);

/* Carries out all that is ready of a request, which the caller has taken. */
void rt_advance(struct mpix_sched_request *req);

/* Whether a rank may make progress on a request, which may be another's: then nobody else does until rt_turn_give. */
static inline bool rt_turn_take(struct be_turn *t, uint32_t rank)
{
	uint32_t nobody = 0;

	return atomic_compare_exchange_strong_explicit(&t->holder, &nobody, rank + 1, memory_order_acquire,
						       memory_order_relaxed);
}

static inline void rt_turn_give(struct be_turn *t)
{
	atomic_store_explicit(&t->holder, 0, memory_order_release);
}

static inline enum rt_state rt_turn_state(const struct be_turn *t)
{
	return atomic_load_explicit(&t->state, memory_order_acquire);
}

/* By who has the turn: the epoch is over, err < 0 tells how. */
static inline void rt_turn_finish(struct be_turn *t, int err)
{
	if (err < 0)
		atomic_store(&t->err, err);
	atomic_store_explicit(&t->state, RT_DONE, memory_order_release);
}

/* The same for one's own. Where there is no other thread, plain loads and stores do: an atomic read-modify-write would
 * wait until what was just sent has left this core. */
static inline bool rt_take(struct mpix_sched_request *req)
{
	_Atomic uint32_t *holder = &req->turn->holder;
	const uint32_t rank = req->group->rank;

	if (__builtin_expect(!__libc_single_threaded || req->helped, 0))
		return rt_turn_take(req->turn, rank);
	if (atomic_load_explicit(holder, memory_order_relaxed))
		return false;
	atomic_store_explicit(holder, rank + 1, memory_order_relaxed);
	return true;
}

static inline void rt_give(struct mpix_sched_request *req)
{
	rt_turn_give(req->turn);
}

/* ---- sleeping (bell.c) ---- */

/* Whether a sleeper can order others' stores. */
bool rt_bell_known(void);
/* Lets sleepers order the stores of this process; false when it has to do so itself. */
bool rt_bell_register(void);
/* Says that the caller is about to sleep, which it may do after one more look; asks: as in struct rt_door. */
uint32_t rt_bell_arm(struct be_bell *b, bool asks);
/* Sleeps for at most so many ns, with what arm has returned; whether it was rung. */
bool rt_bell_sleep(struct be_bell *b, uint32_t seen, uint64_t ns);
/* Always follows arm. */
void rt_bell_disarm(struct be_bell *b);
/* Sleeps until one of these descriptors can be read, and what was written to the first one is gone; else as above. */
bool rt_bell_sleep_on(struct be_bell *b, uint32_t seen, uint64_t ns, const int fd[2]);

/* ---- waiting (wait.c) ---- */

/* How to go on after a brief spin: what GOAL_WAIT names. */
enum rt_policy { RT_SPIN, RT_YIELD, RT_BLOCK, RT_LEARN, RT_WAITS };
extern const char *const rt_wait_names[RT_WAITS];

/* That of the environment, or -ERR_ARG. */
int rt_policy(void);

/* Makes energy_lock. */
void rt_energy_init(struct mpix_sched_ctx *ctx);

/* What to do after a turn of waiting in which nothing came. */
enum rt_due {
	RT_AGAIN, /* the next turn */
	RT_LOOK, /* look at what costs system calls first: deaths, questions of the user */
	RT_SLEEP /* the same after rt_wait_sleep; the caller holds nothing that others need meanwhile */
};

/* A thread that waits. It has begun to wait, looks at all that it waits for, takes a step, looks again; where
 * a step wants it to sleep nothing has come since it said so to others. */
struct rt_wait {
	struct mpix_sched_request *req;
	uint64_t turn, pause; /* turns so far; the next that is more than a pause */
	uint64_t look; /* the turn of the next RT_LOOK */
	uint64_t until; /* the turn up to which it spins */
	uint64_t since; /* ns; 0: it is not traced */
	uint64_t began, looked; /* to do more than to spin, and the last RT_LOOK since, ns; 0: not yet */
	uint64_t alarm; /* look again then although nobody rings, ns; set by the caller while armed */
	uint32_t seen; /* of the bell */
	uint32_t sleeps;
	uint8_t policy; /* enum rt_policy */
	bool awake; /* it waits for more than the bell is for, and does not sleep */
	bool held; /* the caller has taken the request */
	bool armed; /* the bell */
	bool partly; /* set by the caller: it could not look at all that the bell is for */
};

#define RT_LOOK_TURNS 64u /* between two RT_LOOK; each may yield the core to a busy process */
#define RT_WAKE_NS 50000u /* about what it takes to sleep and to wake up */

/* RT_LEARN: whether the last waits say that it will take longer than to wake up. */
static inline bool rt_waits_long(const struct rt_wait *w)
{
	return w->policy == RT_LEARN && w->req->mean_ns > RT_WAKE_NS;
}

/* Begins to wait for a request of its context. */
static inline void rt_wait_begin(struct rt_wait *w, struct mpix_sched_request *req, bool held)
{
	const struct mpix_sched_ctx *ctx = req->ctx;

	w->req = req;
	w->turn = w->began = 0;
	w->since = ctx->trace ? host_now() : 0;
	w->look = RT_LOOK_TURNS;
	w->policy = (uint8_t)ctx->policy;
	w->until = rt_waits_long(w) ? 0 : req->group->spins;
	w->pause = w->until < w->look ? w->until : w->look;
	w->held = held;
	w->sleeps = 0;
	w->awake = w->armed = w->partly = false;
}

/* Whether this is a turn to spin. */
static inline bool rt_wait_spins(const struct rt_wait *w)
{
	return w->turn < w->until;
}

enum rt_due rt_wait_on(struct rt_wait *w);

/* A turn is over; or several, in which the caller has spun. */
static inline enum rt_due rt_wait_step(struct rt_wait *w, unsigned turns)
{
	w->turn += turns;
	if (w->turn >= w->pause)
		return rt_wait_on(w);
	if (turns == 1)
		be_pause();
	return RT_AGAIN;
}

/* After RT_SLEEP. */
void rt_wait_sleep(struct rt_wait *w);

void rt_wait_over(struct rt_wait *w);

/* It has come. */
static inline void rt_wait_end(struct rt_wait *w)
{
	if (w->began || w->since || w->req->mean_ns)
		rt_wait_over(w);
}

/* ---- who else makes progress (comm.c) ---- */

/* What a rank asks for, and where it may run. */
struct rt_wish {
	enum rt_progress progress;
	int32_t cpu; /* of its communication */
	struct rt_cpus cpus;
};

/* What is driven by others than its rank's own thread: a request of this process, or a view of another's. */
struct rt_item {
	struct be_bound *bound;
	struct mpix_sched_request *of; /* it, or what the view hangs on */
	uint32_t rank; /* its rank in the group of these */
	uint32_t slot; /* and in that of the board */
	bool view;
	bool stray; /* what is stored for its rank rings at another core */
};

/* What is known of a rank when it binds. */
struct rt_mate {
	struct be_place place;
	uint32_t core;
};

/* Those that drive the same ranks: this process's part of a communication core. */
struct rt_core {
	struct rt_local *local;
	uint32_t slot; /* on the board: the lowest rank that has this core */
	int32_t cpu; /* -1: not pinned */
	unsigned spins;
	struct rt_door *door; /* of that rank: bell[1] is the core's */
	pthread_rwlock_t lock; /* of items; who drives them has it, too */
	VEC(struct rt_item) items;
	bool changed;
	/* Of its thread: */
	pthread_mutex_t gate; /* of running, stop and live */
	pthread_cond_t opened;
	pthread_t thread;
	bool running;
	_Atomic bool stop;
	_Atomic uint32_t live; /* items that are not paused */
	VEC(uint32_t) active; /* items */
	uint32_t seen; /* of hub.starts, when they were looked for */
	uint32_t heard; /* of the core's bell, while it has armed that */
	bool armed, asked; /* asked: and since then passed the baton to those who may have to go on */
};

struct rt_comm {
	enum rt_progress progress;
	pid_t pid;
	uint32_t lead; /* the lowest rank of this process */
	uint32_t *core_of; /* by rank, of those of this node */
	struct rt_core *cores;
	uint32_t ncores;
};

/* Reads the environment. */
int rt_comm_ask(struct mpix_sched_ctx *ctx, uint32_t rank, struct rt_wish *w);
/* Whether a rank's wish goes with that of rank 0. */
int rt_comm_compare(struct mpix_sched_ctx *ctx, const struct rt_wish *zero, const struct rt_wish *w, uint32_t rank);
/* l->comm, from the wishes of all its ranks of this node. */
int rt_comm_make(struct mpix_sched_ctx *ctx, struct rt_local *l, uint32_t lead, const struct rt_wish *all);
/* Waits for its threads. */
void rt_comm_free(struct rt_local *l);
/* The lowest of the ranks that have the communication core of rank, of this node; UINT32_MAX: it has none. */
uint32_t rt_comm_slot(const struct rt_local *l, uint32_t rank);
/* The communication core that a request is for. */
uint32_t rt_comm_core(const struct mpix_sched_request *req);
/* How many ranks of other processes need a view of it; req->mates are known. */
uint32_t rt_comm_views(const struct mpix_sched_request *req);
/* From now on others make progress on a request, which all have bound, until rt_comm_leave. */
int rt_comm_join(struct mpix_sched_request *req);
void rt_comm_leave(struct mpix_sched_request *req);
/* One more of its requests is active, or one less. Who has the turn tells. */
void rt_comm_count(const struct mpix_sched_request *req, uint32_t step);
/* It has become active. */
void rt_comm_started(struct mpix_sched_request *req);
/* Drives one, if it is active. Adds to *moved; alarm, if not NULL: takes the time when it has to be looked at again.
 * false: somebody else is at it. */
bool rt_drive(const struct rt_item *it, uint64_t *moved, uint64_t *alarm);
/* The turn of a request whose holder has died with its process; whether the caller has it now. */
bool rt_inherit(struct mpix_sched_request *req);

/* ---- ranks that help each other (collab.c) ---- */

/* The NUMA node of a rank is now this one. */
void rt_collab_here(const struct be_group *g);
/* Makes progress for other ranks; whether something of theirs is left. */
bool rt_collab_help(const struct mpix_sched_request *mine);

/* ---- diagnosis (dump.c) ---- */

/* While somebody holds it, SIGUSR1 is counted, unless the application handles it. */
void rt_usr1_hold(void);
void rt_usr1_release(void);
uint32_t rt_usr1_count(void);
/* Whether to print what the context's pending ops wait for: on SIGUSR1, or when the request, which the caller
 * has taken and waits for, has been waited for too long. */
bool rt_dump_due(struct mpix_sched_request *req);
/* Prints it. The caller has taken no request. */
int rt_dump(struct mpix_sched_ctx *ctx, int fd);

uint64_t rt_now_ns(void);
/* One step of waiting: spins for some turns, then yields the core. */
void rt_relax(unsigned turn, unsigned spins);

/* ---- traces (trace.c) ---- */

/* Keeps a trace from now on, if GOAL_TRACE_FD says so; 0 or what is wrong with it. */
int rt_trace_open(struct mpix_sched_ctx *ctx);
struct mpix_sched_request;
/* The caller has waited for a request since then. */
void rt_trace_wait(const struct mpix_sched_request *req, uint64_t since);
/* Hands it over. */
void rt_trace_close(struct mpix_sched_ctx *ctx);

#endif
