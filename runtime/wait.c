/* SPDX-License-Identifier: BSD-3-Clause
 * Waiting: spins for a while, then does what GOAL_WAIT or the application's handler says. A thread that yields sleeps nevertheless
 * where ranks outnumber cores and yielding is in vain (util/patience.h). */
#include "runtime/wait.h"

#include "runtime/heap/bell.h"
#include "runtime/board/board.h"
#include "runtime/trace.h"
#include "util/clock.h"

#include <string.h>

/* Iterations of yielding before a thread sleeps: the rank that it waits for may share its CPU. */
#define YIELDS 8u
/* Adaptive spinning: iterations, about as long as two changes of ranks on a CPU; and most epochs from one in vain to the next. */
#define ADAPTIVE_SPINS 96u
#define ADAPTIVE_APART_MOST 64u
#define CHECK_NS 50000000u /* longest time between two checks, once a thread yields */
#define SLEEP_NS 50000000u /* longest sleep, so that deaths are noticed */
/* Longest sleep instead of a yield if not all that the thread waits for rings its bell: the handler may wait for something, too. */
#define NAP_NS 100000u

const char *const rt_wait_names[RT_WAITS] = { "spin", "yield", "block", "learn" };

int rt_policy(void)
{
	const char *name = env_get(ENV_GOAL_WAIT);

	for (int i = 0; i < RT_WAITS; i++)
		if (!strcmp(name, rt_wait_names[i]))
			return i;
	return -ERR_ARG;
}

/* ---- the application's choice ---- */

void rt_energy_init(struct mpix_sched_ctx *ctx)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&ctx->energy_lock, &a);
	pthread_mutexattr_destroy(&a);
}

static void set_handler(struct mpix_sched_ctx *ctx, MPIX_Sched_energy_fn *fn, void *arg)
{
	pthread_mutex_lock(&ctx->energy_lock);
	ctx->energy.fn = fn;
	ctx->energy.arg = arg;
	atomic_store(&ctx->chooses, fn != NULL);
	pthread_mutex_unlock(&ctx->energy_lock);
	be_ring_sleepers(&rt_heap_door(ctx->heap)->bell[0], ctx->heap->event); /* sleeping threads call fn, too */
}

int MPIX_Sched_energy_handler_reg(MPIX_Sched_ctx ctx, MPIX_Sched_energy_fn *fn, void *arg)
{
	if (!ctx || !fn)
		return rt_invalid(ctx);
	set_handler(ctx, fn, arg);
	return MPIX_SCHED_SUCCESS;
}

int MPIX_Sched_energy_handler_dereg(MPIX_Sched_ctx ctx)
{
	if (!ctx)
		return MPIX_SCHED_ERR_ARG;
	set_handler(ctx, NULL, NULL);
	return MPIX_SCHED_SUCCESS;
}

void rt_wait_begin_until(struct rt_wait *w, struct mpix_sched_ctx *ctx)
{
	*w = (struct rt_wait){ .ctx = ctx,
			       .policy = (uint8_t)ctx->policy,
			       .until = ctx->heap->crowded ? 0 : RT_CHECK_SPINS,
			       .next_check = RT_CHECK_SPINS,
			       .awake = true };
	w->pause = w->until;
}

/* Returns the op that a request waits for; NULL if there is none, or if another thread holds the turn. */
static const struct bin_op *open_op(const struct rt_wait *w)
{
	struct mpix_sched_request *req = w->req;
	uint32_t op;

	if (!req || (!w->held && !rt_take(req)))
		return NULL;
	op = req->be->open(req->bound);
	if (!w->held)
		rt_give(req);
	return op == UINT32_MAX ? NULL : &req->rank.ops[op];
}

static enum MPIX_Sched_way call_energy_fn(const struct rt_wait *w)
{
	const struct bin_op *op = open_op(w);
	const struct mpix_sched_request *req = w->req;
	struct mpix_sched_ctx *ctx = w->ctx;
	struct MPIX_Sched_energy_info info = { .struct_size = sizeof info,
					       .rank = req ? (int)req->group->rank : -1,
					       .size = req ? (int)req->group->size : 0,
					       .peer = op ? (int)op->peer : -1,
					       .tag = op ? op->tag : 0,
					       .bytes = op ? op->len * req->type->layout.basic : 0,
					       .iterations = w->spun,
					       .waited_ns = clock_now_ns() - w->began,
					       .last_ns = req ? req->last_ns : 0 };
	enum MPIX_Sched_way way = MPIX_SCHED_YIELD;

	pthread_mutex_lock(&ctx->energy_lock);
	if (ctx->energy.fn)
		way = ctx->energy.fn(&info, ctx->energy.arg);
	pthread_mutex_unlock(&ctx->energy_lock);
	return way;
}

/* ---- waiting ---- */

/* True if the application chooses how to wait. */
static bool chooses(const struct rt_wait *w)
{
	return atomic_load_explicit(&w->ctx->chooses, memory_order_relaxed);
}

static enum MPIX_Sched_way choose_way(const struct rt_wait *w)
{
	if (chooses(w))
		return call_energy_fn(w);
	if (w->policy <= RT_YIELD)
		return w->policy == RT_SPIN ? MPIX_SCHED_SPIN : MPIX_SCHED_YIELD;
	return rt_waits_long(w) || w->spun >= w->until + YIELDS ? MPIX_SCHED_BLOCK : MPIX_SCHED_YIELD;
}

/* Lets the thread spin for some more iterations. */
static void spin_more(struct rt_wait *w, uint64_t spins)
{
	w->until = w->spun + spins;
	w->pause = w->until < w->next_check ? w->until : w->next_check;
}

/* Announces that the thread is about to sleep. The caller checks once more before it does. */
static void arm_wait(struct rt_wait *w)
{
	struct rt_door *door = rt_heap_door(w->ctx->heap);

	w->alarm = UINT64_MAX;
	w->armed = true;
	w->counted = !door->asks; /* else peers look at the bell in any case, behind a fence */
	if (w->counted)
		rt_sleepers_count(&w->ctx->sleepers, 1);
	w->seen = rt_bell_arm(&door->bell[0], door->asks);
}

static bool is_crowded(const struct rt_wait *w)
{
	return w->req ? w->req->crowded : w->ctx->heap->crowded;
}

/* True if another rank was on this CPU last. */
static bool shares_cpu(const struct be_group *g, uint32_t r, uint32_t cpu)
{
	return r != g->rank && atomic_load_explicit(&g->board->slots[r].cpu, memory_order_relaxed) == cpu;
}

/* True if another rank that was on this CPU last does not sleep. */
static bool others_need_cpu(const struct be_group *g)
{
	const uint32_t cpu = rt_board_cpu();
	bool needed = false;

	for (uint32_t r = 0; r < g->size && !needed; r++)
		needed = shares_cpu(g, r, cpu) && !rt_group_sleeps(g, r);
	return needed;
}

/* True if the request waits for a rank that was on this CPU last and may not have started. */
static bool awaits_this_cpu(const struct mpix_sched_request *req)
{
	const struct be_group *g = req->group;
	const uint32_t cpu = rt_board_cpu();
	bool awaits = false;

	for (uint32_t r = 0; r < g->size && !awaits; r++)
		awaits = req->awaited[r] && shares_cpu(g, r, cpu) && !req->be->has_started(req->bound, r);
	return awaits;
}

/* True if the thread has yielded in vain for long enough. */
static bool has_no_patience(const struct rt_wait *w)
{
	const bool needed = w->req && patience_over(&w->patience, 0) && others_need_cpu(w->req->group);

	return needed || patience_over(&w->patience, PATIENCE_NS);
}

/* True if the thread keeps the CPU that it shares with another rank for a while. */
static bool keeps_cpu(struct rt_wait *w, uint64_t now)
{
	struct stays *s = &w->ctx->stays;

	if (now >= w->patience.stays && w->req && stays_due(s, now) && others_need_cpu(w->req->group))
		w->patience.stays = stays_begin(s, now);
	return now < w->patience.stays;
}

/* Begins adaptive spinning: where ranks outnumber cores the thread spins before it yields, unless it waits for a rank on its CPU. */
static bool begin_adaptive(struct rt_wait *w)
{
	const struct mpix_sched_request *req = w->req;

	if (!req || !req->crowded || w->armed || req->epoch < req->spins_from || awaits_this_cpu(req))
		return false;
	w->adapts = true;
	spin_more(w, ADAPTIVE_SPINS);
	return true;
}

/* Ends it. It comes half as often after one in vain, and twice as often after another, so that it is frequent only where more than half
 * end the wait. */
static void end_adaptive(struct rt_wait *w, bool in_vain)
{
	struct mpix_sched_request *req = w->req;

	w->adapts = false;
	if (!in_vain)
		req->spins_apart /= 2;
	else if (req->spins_apart < ADAPTIVE_APART_MOST)
		req->spins_apart = req->spins_apart ? 2 * req->spins_apart : 1;
	req->spins_from = req->epoch + req->spins_apart;
}

/* Yields the CPU, or keeps it. Prepares to sleep instead if other ranks need the CPU, and yields let nobody run. now: when the iteration
 * ended, ns */
static void yield_or_arm(struct rt_wait *w, uint64_t now)
{
	const bool crowded = is_crowded(w);

	if (!w->armed && !crowded && !chooses(w) && keeps_cpu(w, now)) {
		spin_more(w, RT_CHECK_SPINS);
	} else if (w->armed || !crowded || !has_no_patience(w)) {
		atomic_store_explicit(&w->ctx->stays.gave_way, patience_yield(&w->patience, now), memory_order_relaxed);
	} else {
		arm_wait(w);
		if (w->awake || chooses(w))
			w->alarm = now + NAP_NS;
	}
}

/* Spins, yields, or prepares to sleep, as `way` says. */
static void go_on(struct rt_wait *w, enum MPIX_Sched_way way, uint64_t now)
{
	if (way == MPIX_SCHED_SPIN)
		spin_more(w, RT_CHECK_SPINS);
	else if (way == MPIX_SCHED_BLOCK && !w->awake)
		arm_wait(w);
	else
		yield_or_arm(w, now);
}

enum rt_due rt_wait_on(struct rt_wait *w)
{
	enum rt_due due = w->spun >= w->next_check ? RT_CHECK : RT_AGAIN;
	uint64_t now = 0;

	if (!rt_wait_spins(w)) {
		now = clock_now_ns();
		if (!w->began) {
			w->began = w->checked = now;
			w->patience = (struct patience){ 0 };
			w->adapts = false;
			if (w->req)
				rt_board_here(w->req->group->board, w->req->group->rank);
		}
		if (w->adapts)
			end_adaptive(w, true);
		else if (begin_adaptive(w))
			return RT_AGAIN;
		if (now - w->checked > CHECK_NS) /* iterations take long if others want the CPU */
			due = RT_CHECK;
		if (due == RT_CHECK)
			w->checked = now;
	}
	if (due == RT_CHECK)
		w->next_check = w->spun + RT_CHECK_SPINS;
	w->pause = w->until < w->next_check ? w->until : w->next_check;
	if (rt_wait_spins(w))
		be_pause();
	else if (w->armed && !w->partly)
		return RT_SLEEP;
	else
		go_on(w, w->armed ? MPIX_SCHED_YIELD : choose_way(w), now);
	w->partly = false;
	return due;
}

static void disarm_wait(struct rt_wait *w)
{
	rt_bell_disarm(&rt_heap_door(w->ctx->heap)->bell[0]);
	if (w->counted)
		rt_sleepers_count(&w->ctx->sleepers, -1u);
	w->armed = false;
}

/* Sleeps. Only one thread of a context sleeps on the backend's descriptor, too. When it wakes, it rings, so that another
 * thread takes over the descriptor. */
static bool sleep_here(const struct rt_wait *w, uint64_t ns)
{
	struct mpix_sched_ctx *ctx = w->ctx;
	struct be_bell *bell = &rt_heap_door(ctx->heap)->bell[0];
	const int fd[2] = { ctx->heap->event, atomic_load(&ctx->watched) };
	bool rung;

	if (fd[0] < 0 || pthread_mutex_trylock(&ctx->watch_lock))
		return rt_bell_sleep(bell, w->seen, ns);
	rung = rt_bell_sleep_on(bell, w->seen, ns, fd);
	pthread_mutex_unlock(&ctx->watch_lock);
	if (atomic_load(&bell->sleepers) > 1)
		be_ring_sleepers(bell, fd[0]);
	return rung;
}

void rt_wait_sleep(struct rt_wait *w)
{
	uint64_t now = w->alarm == UINT64_MAX ? 0 : clock_now_ns(), ns = SLEEP_NS;

	if (w->alarm < now + ns)
		ns = w->alarm > now ? w->alarm - now : 0;
	if (sleep_here(w, ns))
		spin_more(w, w->req ? w->req->group->spins : 0); /* more messages may follow soon */
	disarm_wait(w);
	w->sleeps++;
}

void rt_wait_over(struct rt_wait *w)
{
	struct mpix_sched_request *req = w->req;
	/* nobody else asks how long it was, and the clock would delay the return */
	const bool timed = w->began && (w->policy == RT_LEARN || chooses(w));
	uint64_t ns = timed ? clock_now_ns() - w->began : 0, wakes = (uint64_t)w->sleeps * RT_WAKE_NS;

	if (w->armed)
		disarm_wait(w);
	if (!req)
		return;
	if (w->began && w->adapts)
		end_adaptive(w, false);
	req->last_ns = ns;
	ns -= ns < wakes ? ns : wakes; /* without the time of waking up: otherwise a rank that slept once would always sleep */
	req->mean_ns = (3 * req->mean_ns + ns) / 4;
	if (w->since && w->spun) /* without any iteration there was no wait */
		rt_trace_wait(req, w->since);
}
