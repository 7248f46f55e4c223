/* SPDX-License-Identifier: BSD-3-Clause
 * wait WAITS processes|threads [SEED]: ranks that sleep while they wait. The library's system calls pass through here:
 * they are counted, and a sleep that would end by itself after a while, in case a rank has died, lasts so long that a
 * wake-up that got lost cannot be missed. With GOAL_BACKEND=verbs they sleep on descriptors. */
#include "tests/rt/team.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* ---- system calls ---- */

#define LONG_NS 40000000 /* sleeps that are longer look for deaths only, */
#define PATIENCE 20 /* and are made that many seconds long */

static struct calls {
	_Atomic long sleeps, wakes, barriers, lost;
	_Atomic long ran_out; /* sleeps until somebody rings that nobody ended, of the length that they have */
	_Atomic long asleep; /* now */
	_Atomic long yields; /* of threads that count them */
	_Atomic int no_membarrier; /* this kernel has none */
	_Atomic int as_they_are; /* no sleep is made longer */
	_Atomic int in_vain; /* each process is in a session of its own, and yields let nobody run */
} *calls; /* shared by all ranks */

static _Thread_local bool counts;

static long (*real_syscall)(long, ...);
static int (*real_yield)(void);
static int (*real_ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

static const struct timespec long_time = { PATIENCE, 0 };

static bool is_patient(const struct timespec *t)
{
	return !atomic_load(&calls->as_they_are) && (t->tv_sec || t->tv_nsec >= LONG_NS);
}

static void begin_sleep(void)
{
	atomic_fetch_add(&calls->sleeps, 1);
	atomic_fetch_add(&calls->asleep, 1);
}

/* t: for how long it wanted to; over: that has passed. */
static void end_sleep(const struct timespec *t, bool over)
{
	atomic_fetch_sub(&calls->asleep, 1);
	if (over && is_patient(t))
		atomic_fetch_add(&calls->lost, 1);
	else if (over && t->tv_nsec >= LONG_NS && t->tv_nsec < 2 * LONG_NS)
		atomic_fetch_add(&calls->ran_out, 1);
}

__attribute__((visibility("default"))) int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
	int rc, err;

	begin_sleep();
	rc = real_ppoll(fds, n, is_patient(t) ? &long_time : t, mask);
	err = errno;
	end_sleep(t, !rc);
	errno = err;
	return rc;
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
	const struct timespec *t;
	long a[6], rc;
	va_list ap;
	int err;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_membarrier && atomic_load(&calls->no_membarrier)) {
		errno = ENOSYS;
		return -1;
	}
	if (number == SYS_membarrier && a[0] == MEMBARRIER_CMD_GLOBAL_EXPEDITED)
		atomic_fetch_add(&calls->barriers, 1);
	if (number == SYS_futex && a[1] == FUTEX_WAKE)
		atomic_fetch_add(&calls->wakes, 1);
	if (number != SYS_futex || a[1] != FUTEX_WAIT)
		return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	t = (const struct timespec *)a[3]; // NOLINT(performance-no-int-to-ptr)
	begin_sleep();
	rc = real_syscall(number, a[0], a[1], a[2], is_patient(t) ? &long_time : t, 0, 0);
	err = errno;
	end_sleep(t, rc && err == ETIMEDOUT);
	errno = err;
	return rc;
}

__attribute__((visibility("default"))) int sched_yield(void)
{
	if (counts)
		atomic_fetch_add(&calls->yields, 1);
	return atomic_load(&calls->in_vain) ? 0 : real_yield();
}

static void leave_session(void)
{
	if (atomic_load(&calls->in_vain))
		setsid();
}

static void reset_calls(void)
{
	*calls = (struct calls){ 0 };
}

/* ---- what is sent ---- */

static const char ring[] = "schedule ring\nbuffer in a[count]\nbuffer out b[count]\n"
			   "rank r of p { send a to (r + 1) mod p\n recv b from (r - 1) mod p }\n";
static const char own[] = "schedule own\nbuffer in a[count]\nbuffer out b[count]\n"
			  "rank r of p {\n  copy a[count / 15 +: count - count / 15] into b[count / 15 +: count - count / 15]\n"
			  "  send a[0 +: count / 15] to (r + 1) mod p\n  recv b[0 +: count / 15] from (r - 1) mod p\n}\n";
/* Nothing comes back to a sender: it waits for credit. */
static const char chain[] = "schedule chain\nbuffer in a[count]\nbuffer out b[count]\n"
			    "rank r of p {\n  if r + 1 < p { send a to r + 1 }\n  if r > 0 { recv b from r - 1 }\n}\n";
/* Any process can receive, and only the rank's own can add. */
static const char scan[] = "schedule scan\nbuffer in a[count]\nbuffer out b[count]\n"
			   "buffer scratch s[r > 0 ? count : 0]\nrank r of p {\n  own: copy a into b\n"
			   "  if r > 0 { got: recv s from r - 1\n    add: reduce s into b\n    add requires own, got }\n"
			   "  if r < p - 1 { next: send b to r + 1\n    next requires own, add }\n}\n";
static const char copies[] = "schedule copies\nbuffer in a[count]\nbuffer out b[count]\nrank r of p { copy a into b }\n";
static const char calc[] = "schedule calc\nrank r of p { calc 20000000 }\n";

struct message {
	const char *name, *text;
	size_t count;
	bool heap;
};

static const struct message messages[] = {
	{ "eager", ring, 1, true },
	{ "pull", ring, 16384, true },
	{ "staged", ring, 40000, false },
	{ "credit", chain, 1, true },
	{ "brief", chain, 16384, true }, /* its starts only say that they have begun */
};

struct plan {
	const struct message *message;
	long waits;
	bool sleeps;
	bool until; /* all waits are by MPIX_Sched_wait_until */
	unsigned seed;
};

/* A request, and who waits for it. */
struct line {
	struct member *m;
	const struct plan *plan;
	MPIX_Sched_request req;
	int32_t *a, *b;
	unsigned seed;
	pthread_t id;
	int bad;
};

static void *room(struct member *m, const struct message *msg)
{
	void *p = NULL;

	if (msg->heap)
		return MPIX_Sched_alloc(m->ctx, msg->count * sizeof(int32_t), &p) ? NULL : p;
	return calloc(msg->count, sizeof(int32_t));
}

/* Forgets the sleeps so far: binding and making groups may sleep, too. */
static int begin_counts(struct member *m)
{
	if (team_meet(m))
		return 1;
	if (m->rank == 0) {
		atomic_store(&calls->sleeps, 0);
		atomic_store(&calls->wakes, 0);
		atomic_store(&calls->barriers, 0);
	}
	return team_meet(m);
}

static int bind_line(struct line *l, struct member *m, const struct plan *plan, unsigned which)
{
	const struct message *msg = plan->message;
	struct MPIX_Sched_bind b = { .struct_size = sizeof b,
				     .nbuffers = 2,
				     .count = msg->count,
				     .basic = MPIX_SCHED_INT32,
				     .builtin = MPIX_SCHED_SUM };
	MPIX_Sched s;

	*l = (struct line){ .m = m, .plan = plan, .seed = plan->seed * 31 + (unsigned)m->rank * 7 + which };
	l->a = room(m, msg);
	l->b = room(m, msg);
	NEED(l->a && l->b);
	b.buffers = (void *[]){ l->a, l->b };
	CALL(MPIX_Sched_load_mem(m->ctx, msg->name, msg->text, strlen(msg->text), &s));
	CALL(MPIX_Sched_init(s, m->group, &b, &l->req));
	CALL(MPIX_Sched_unload(&s));
	return begin_counts(m);
}

static int free_line(struct line *l)
{
	struct member *m = l->m;

	CALL(MPIX_Sched_free(&l->req));
	for (int i = 0; i < 2; i++) {
		int32_t *p = i ? l->a : l->b;

		if (!l->plan->message->heap)
			free(p);
		else
			CALL(MPIX_Sched_dealloc(m->ctx, p));
	}
	return 0;
}

/* ---- many waits ---- */

/* Nothing, some microseconds, about as long as a rank spins, or longer. */
static void pause_maybe(struct line *l)
{
	unsigned d = (unsigned)rand_r(&l->seed) % 64;
	struct timespec t = { 0, (long)(rand_r(&l->seed) % 300000) };

	if (d == 0)
		nanosleep(&t, NULL);
	else if (d < 32)
		for (unsigned turns = (unsigned)rand_r(&l->seed) % (d < 8 ? 1000000 : 100000), i = 0; i < turns; i++)
			atomic_signal_fence(memory_order_seq_cst);
}

static int is_complete(void *arg)
{
	const struct line *l = arg;
	int flag;

	return MPIX_Sched_test(l->req, &flag) || flag;
}

static int wait_somehow(struct line *l)
{
	struct member *m = l->m;
	int index = 7, n = 7;

	switch (l->plan->until ? 4 : rand_r(&l->seed) % 4) {
	case 0:
		CALL(MPIX_Sched_waitany(1, &l->req, &index));
		NEED(index == 0);
		break;
	case 1:
		CALL(MPIX_Sched_waitsome(1, &l->req, &n, &index, NULL));
		NEED(n == 1 && index == 0);
		break;
	case 2:
		CALL(MPIX_Sched_waitall(1, &l->req));
		break;
	case 4:
		CALL(MPIX_Sched_wait_until(m->ctx, is_complete, l));
		break;
	default:
		CALL(MPIX_Sched_wait(l->req));
	}
	return 0;
}

/* Until some ranks sleep. */
static int until_asleep(struct member *m, long n)
{
	for (int i = 0; atomic_load(&calls->asleep) < n; i++) {
		NEED(i < 20000);
		usleep(1000);
	}
	return 0;
}

static int run_line(struct line *l)
{
	struct member *m = l->m;
	size_t last = l->plan->message->count - 1;

	for (long e = 1; e <= l->plan->waits; e++) {
		l->a[0] = l->a[last] = (int32_t)e;
		pause_maybe(l);
		if (e == l->plan->waits && l->plan->sleeps && m->rank == 0 && until_asleep(m, 1)) /* at least once */
			return 1;
		CALL(MPIX_Sched_start(l->req));
		if (wait_somehow(l))
			return 1;
		NEED((l->plan->message->text == chain && m->rank == 0) || (l->b[0] == e && l->b[last] == e));
	}
	return 0;
}

static int many(struct member *m)
{
	struct line l;

	return bind_line(&l, m, m->arg, 0) || run_line(&l) || free_line(&l);
}

static void *line_thread(void *arg)
{
	struct line *l = arg;

	l->bad = run_line(l);
	return NULL;
}

/* Two threads of each rank wait for a request each, and make progress on both. */
static int two_threads(struct member *m)
{
	struct line l[2];

	for (unsigned i = 0; i < 2; i++)
		if (bind_line(&l[i], m, m->arg, i))
			return 1;
	for (int i = 0; i < 2; i++)
		NEED(pthread_create(&l[i].id, NULL, line_thread, &l[i]) == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(l[i].id, NULL);
	return l[0].bad || l[1].bad || free_line(&l[0]) || free_line(&l[1]);
}

/* ---- single cases ---- */

/* A thread sleeps while it waits for a request, and another one starts one that only says that it has begun. The first one wakes, makes
 * progress on both, and sleeps again. */
static int told(struct member *m)
{
	const struct message long_copy = { "copies", copies, 16384, true };
	struct plan p = { .message = &messages[0], .waits = 1, .seed = 1 }, of_copy = { .message = &long_copy, .seed = 1 };
	struct line l, copy;
	int32_t *last;
	long sleeps;

	if (bind_line(&l, m, &p, 0) || bind_line(&copy, m, &of_copy, 1))
		return 1;
	last = &copy.b[long_copy.count - 1];
	for (int e = 1; e <= 5; e++) {
		CALL(MPIX_Sched_start(copy.req));
		CALL(MPIX_Sched_wait(copy.req));
	}
	if (m->rank == 1) {
		NEED(pthread_create(&l.id, NULL, line_thread, &l) == 0);
		if (until_asleep(m, 1))
			return 1;
		copy.a[long_copy.count - 1] = 42;
		sleeps = atomic_load(&calls->sleeps);
		CALL(MPIX_Sched_start(copy.req));
		for (int i = 0; atomic_load(&calls->sleeps) == sleeps; i++) {
			NEED(i < 10000);
			usleep(1000);
		}
		CALL(MPIX_Sched_wait(copy.req));
		NEED(*last == 42);
	}
	if (team_meet(m))
		return 1;
	if (m->rank == 0)
		l.bad = run_line(&l);
	else
		pthread_join(l.id, NULL);
	return l.bad || free_line(&l) || free_line(&copy);
}

/* Each finds what it waits for. */
static int no_sleep(struct member *m)
{
	struct plan p = { .message = &messages[3], .seed = 1 };
	struct line l;

	if (bind_line(&l, m, &p, 0) || team_meet(m))
		return 1;
	for (int e = 1; e <= 100; e++)
		for (int r = 0; r < m->size; r++) {
			if (m->rank == r) {
				l.a[0] = e;
				CALL(MPIX_Sched_start(l.req));
				CALL(MPIX_Sched_wait(l.req));
				NEED(r == 0 || l.b[0] == e);
			}
			if (team_meet(m))
				return 1;
		}
	return free_line(&l);
}

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

/* Rank 0 comes late, and rank 1 is told of other things meanwhile. */
static int interrupted(struct member *m)
{
	struct plan p = { .message = &messages[0], .seed = 1 };
	struct sigaction act = { .sa_handler = on_signal };
	struct itimerval timer = { { 0, 1000 }, { 0, 1000 } }, off = { 0 };
	struct line l;

	if (bind_line(&l, m, &p, 0))
		return 1;
	NEED(sigaction(SIGALRM, &act, NULL) == 0);
	for (int e = 1; e <= 5; e++) {
		l.a[0] = e;
		if (m->rank == 0) {
			if (until_asleep(m, 1))
				return 1;
			usleep(20000);
		} else {
			NEED(setitimer(ITIMER_REAL, &timer, NULL) == 0);
		}
		CALL(MPIX_Sched_start(l.req));
		CALL(MPIX_Sched_wait(l.req));
		NEED(setitimer(ITIMER_REAL, &off, NULL) == 0);
		NEED(l.b[0] == e);
		if (team_meet(m))
			return 1;
	}
	NEED(m->rank == 0 || signals > 0);
	return free_line(&l);
}

/* Rank 0 comes a second late: how often rank 1 looks meanwhile. */
static int late(struct member *m)
{
	struct plan p = { .message = &messages[0], .waits = 1, .seed = 1 };
	struct timespec cpu[2];
	struct line l;

	if (bind_line(&l, m, &p, 0) || team_meet(m))
		return 1;
	if (m->rank == 0 && (until_asleep(m, 1) || usleep(1000000)))
		return 1;
	NEED(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu[0]));
	if (run_line(&l))
		return 1;
	NEED(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu[1]));
	if (m->rank == 1) {
		printf("   a wait of a second took %.1f ms of CPU time\n",
		       (double)(cpu[1].tv_sec - cpu[0].tv_sec) * 1e3 + (double)(cpu[1].tv_nsec - cpu[0].tv_nsec) / 1e6);
		fflush(stdout);
	}
	return free_line(&l);
}

/* A calc ends without anybody ringing. */
static int alarms(struct member *m)
{
	struct MPIX_Sched_bind b = { .struct_size = sizeof b };
	MPIX_Sched_request req;
	MPIX_Sched s;

	CALL(MPIX_Sched_load_mem(m->ctx, "calc", calc, strlen(calc), &s));
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	if (begin_counts(m))
		return 1;
	for (int e = 0; e < 100 && !atomic_load(&calls->sleeps); e++) { /* who shares its core may find it over at once */
		CALL(MPIX_Sched_start(req));
		CALL(MPIX_Sched_wait(req));
	}
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

/* What a rank waits for can be asked while it sleeps. */
static int dumped(struct member *m)
{
	struct plan p = { .message = &messages[0], .waits = 1, .seed = 1 };
	char text[4096] = "";
	struct line l;
	int fd[2];

	if (bind_line(&l, m, &p, 0))
		return 1;
	if (m->rank == 1) {
		NEED(pipe(fd) == 0 && pthread_create(&l.id, NULL, line_thread, &l) == 0);
		if (until_asleep(m, 1))
			return 1;
		CALL(MPIX_Sched_dump(m->ctx, fd[1]));
		NEED(read(fd[0], text, sizeof text - 1) > 0 && strstr(text, "recv b[0..1) from rank 0 tag 0"));
		NEED(strstr(text, "waits for the message"));
	}
	if (team_meet(m))
		return 1;
	if (m->rank == 1)
		pthread_join(l.id, NULL);
	return m->rank == 1 ? l.bad : run_line(&l);
}

/* Requests of two contexts: there is no one thing to sleep on, until one is left. */
static int contexts(struct member *m)
{
	struct MPIX_Sched_bind b = { .struct_size = sizeof b };
	struct member other = { .team = m->team, .size = 1 };
	MPIX_Sched_request req[2];
	MPIX_Sched s[2];
	int index, seen = 0;

	CALL(MPIX_Sched_ctx_create(&other.ctx));
	CALL(MPIX_Sched_group_world(other.ctx, &other.group));
	for (int i = 0; i < 2; i++) {
		CALL(MPIX_Sched_load_mem(i ? other.ctx : m->ctx, "calc", calc, strlen(calc), &s[i]));
		CALL(MPIX_Sched_init(s[i], i ? other.group : m->group, &b, &req[i]));
		CALL(MPIX_Sched_unload(&s[i]));
	}
	if (begin_counts(m))
		return 1;
	CALL(MPIX_Sched_startall(2, req));
	for (int i = 0; i < 2; i++) {
		CALL(MPIX_Sched_waitany(2, req, &index));
		seen |= 1 << index;
	}
	NEED(seen == 3);
	for (int i = 0; i < 2; i++)
		CALL(MPIX_Sched_free(&req[i]));
	CALL(MPIX_Sched_group_free(&other.group));
	CALL(MPIX_Sched_ctx_free(&other.ctx));
	return 0;
}

/* ---- who chooses how to wait ---- */

static struct {
	_Atomic int asked, ways[3], way;
	_Atomic int wrong, tangled;
} energy;

static enum MPIX_Sched_way way_of(const struct MPIX_Sched_energy_info *info, void *arg)
{
	struct member *m = arg;
	int n = atomic_fetch_add(&energy.asked, 1), way = atomic_load(&energy.way);

	if (info->struct_size != sizeof *info || (info->rank < 0 ? info->size || info->peer >= 0 : info->rank != m->rank || info->size != 2) ||
	    (info->peer >= 0 && (info->peer != !m->rank || info->tag || info->bytes != sizeof(int32_t))) || !info->iterations)
		atomic_fetch_add(&energy.wrong, 1);
	way = way < 0 ? n % 3 : way;
	atomic_fetch_add(&energy.ways[way], 1);
	return (enum MPIX_Sched_way)way;
}

/* Rank 1 waits, and is asked by functions that come and go meanwhile. */
static int handlers(struct member *m)
{
	struct plan p = { .message = &messages[0], .waits = 1, .seed = 1 };
	struct line l;

	if (bind_line(&l, m, &p, 0))
		return 1;
	if (m->rank == 1) {
		NEED(pthread_create(&l.id, NULL, line_thread, &l) == 0);
		if (until_asleep(m, 1)) /* by GOAL_WAIT */
			return 1;
		for (int way = 0; way < 3; way++)
			for (int k = 0; k < 3; k++) {
				int before = atomic_load(&energy.ways[way]);

				atomic_store(&energy.way, way);
				CALL(MPIX_Sched_energy_handler_reg(m->ctx, way_of, m));
				for (int i = 0; atomic_load(&energy.ways[way]) == before; i++) {
					NEED(i < 20000);
					usleep(1000);
				}
				if (way == MPIX_SCHED_BLOCK && until_asleep(m, 1))
					return 1;
				if (k == 1)
					CALL(MPIX_Sched_energy_handler_dereg(m->ctx));
				if (k == 1 && until_asleep(m, 1))
					return 1;
			}
		CALL(MPIX_Sched_energy_handler_dereg(m->ctx));
		atomic_store(&energy.asked, 0);
		NEED(until_asleep(m, 1) == 0 && atomic_load(&energy.asked) == 0 && !atomic_load(&energy.wrong));
		NEED(MPIX_Sched_energy_handler_reg(m->ctx, NULL, NULL) == MPIX_SCHED_ERR_ARG);
		NEED(MPIX_Sched_energy_handler_reg(NULL, way_of, NULL) == MPIX_SCHED_ERR_ARG);
		NEED(MPIX_Sched_energy_handler_dereg(NULL) == MPIX_SCHED_ERR_ARG);
	}
	if (team_meet(m))
		return 1;
	if (m->rank == 1)
		pthread_join(l.id, NULL);
	return m->rank == 1 ? l.bad : run_line(&l);
}

struct changes {
	struct member *m;
	_Atomic bool over;
};

static void *change(void *arg)
{
	struct changes *c = arg;

	while (!atomic_load(&c->over)) {
		if (MPIX_Sched_energy_handler_reg(c->m->ctx, way_of, c->m))
			atomic_fetch_add(&energy.wrong, 1);
		usleep(200);
		if (MPIX_Sched_energy_handler_dereg(c->m->ctx))
			atomic_fetch_add(&energy.wrong, 1);
	}
	return NULL;
}

/* The same with many waits, in all ways. */
static int changing(struct member *m)
{
	struct changes c = { .m = m };
	struct line l;
	pthread_t id;

	atomic_store(&energy.way, -1);
	if (bind_line(&l, m, m->arg, 0))
		return 1;
	NEED(pthread_create(&id, NULL, change, &c) == 0);
	NEED(run_line(&l) == 0);
	atomic_store(&c.over, true);
	pthread_join(id, NULL);
	NEED(!atomic_load(&energy.wrong));
	return free_line(&l);
}

static enum MPIX_Sched_way block(const struct MPIX_Sched_energy_info *info, void *arg)
{
	(void)info;
	(void)arg;
	return MPIX_SCHED_BLOCK;
}

/* A rank that sleeps whenever it can copies a block of its own in pieces, for which nobody rings. */
static int in_pieces(struct member *m)
{
	static const struct message msg = { "own", own, 12000000, false };
	struct plan p = { .message = &msg, .waits = 3, .seed = 1 };
	struct line l;

	if (bind_line(&l, m, &p, 0))
		return 1;
	CALL(MPIX_Sched_energy_handler_reg(m->ctx, block, m));
	if (run_line(&l))
		return 1;
	CALL(MPIX_Sched_energy_handler_dereg(m->ctx));
	return free_line(&l);
}

static enum MPIX_Sched_way once(const struct MPIX_Sched_energy_info *info, void *arg)
{
	struct member *m = arg;

	(void)info;
	if (atomic_fetch_add(&energy.tangled, 1) == 0 && !MPIX_Sched_energy_handler_dereg(m->ctx))
		return MPIX_SCHED_BLOCK;
	return MPIX_SCHED_YIELD;
}

/* A function takes itself away. */
static int handler_ends(struct member *m)
{
	struct plan p = { .message = &messages[0], .waits = 1, .seed = 1 };
	struct line l;

	if (bind_line(&l, m, &p, 0))
		return 1;
	if (m->rank == 1)
		CALL(MPIX_Sched_energy_handler_reg(m->ctx, once, m));
	if (m->rank == 0 && until_asleep(m, 1))
		return 1;
	if (run_line(&l))
		return 1;
	NEED(m->rank == 0 || atomic_load(&energy.tangled) == 1);
	return free_line(&l);
}

/* A rank that is alone in a group shares its CPU with the ranks of an earlier one. */
static int alone(struct member *m)
{
	struct MPIX_Sched_bind b = { .struct_size = sizeof b };
	MPIX_Sched_request req;
	MPIX_Sched_group group;
	MPIX_Sched s;

	CALL(MPIX_Sched_group_world(m->ctx, &group));
	CALL(MPIX_Sched_load_mem(m->ctx, "calc", calc, strlen(calc), &s));
	CALL(MPIX_Sched_init(s, group, &b, &req));
	CALL(MPIX_Sched_unload(&s));
	if (begin_counts(m))
		return 1;
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_group_free(&group));
	return 0;
}

#define REPEATS 100
#define MOST_YIELDS (2 * 8 * REPEATS) /* of two ranks */

/* Binds and frees: a rank that waits for one that needs its CPU sleeps after the first yields in vain. */
static int binds(struct member *m)
{
	struct MPIX_Sched_bind b = { .struct_size = sizeof b };
	MPIX_Sched_request req;
	MPIX_Sched s;

	CALL(MPIX_Sched_load_mem(m->ctx, "calc", calc, strlen(calc), &s));
	for (int i = 0; i <= REPEATS; i++) {
		int rc;

		counts = i > 0;
		rc = MPIX_Sched_init(s, m->group, &b, &req);
		counts = false;
		CALL(rc);
		CALL(MPIX_Sched_free(&req));
	}
	CALL(MPIX_Sched_unload(&s));
	NEED(atomic_load(&calls->yields) <= MOST_YIELDS);
	return 0;
}

/* The same with waits. */
static int leaves(struct member *m)
{
	struct plan p = { .message = &messages[0], .seed = 1 };
	struct line l;

	if (bind_line(&l, m, &p, 0))
		return 1;
	for (int e = 1; e <= REPEATS; e++) {
		int rc;

		l.a[0] = e;
		CALL(MPIX_Sched_start(l.req));
		counts = true;
		rc = MPIX_Sched_wait(l.req);
		counts = false;
		CALL(rc);
		NEED(l.b[0] == e);
	}
	if (team_meet(m))
		return 1;
	NEED(atomic_load(&calls->yields) <= MOST_YIELDS);
	return free_line(&l);
}

/* A function that always lets the thread yield is called while the thread sleeps now and then. */
static int yielding(struct member *m)
{
	struct plan p = { .message = &messages[0], .waits = 3, .sleeps = true, .seed = 1 };
	struct line l;

	atomic_store(&energy.way, MPIX_SCHED_YIELD);
	if (bind_line(&l, m, &p, 0))
		return 1;
	CALL(MPIX_Sched_energy_handler_reg(m->ctx, way_of, m));
	if (m->rank == 0) {
		long before = atomic_load(&calls->sleeps);

		for (int i = 0; atomic_load(&calls->sleeps) < before + 3; i++) {
			NEED(i < 20000);
			usleep(1000);
		}
	}
	if (run_line(&l))
		return 1;
	CALL(MPIX_Sched_energy_handler_dereg(m->ctx));
	NEED(!atomic_load(&energy.wrong));
	return free_line(&l);
}

/* A communication core whose threads take turns; they must not sleep while one of them has something to do. */
static int turns(struct member *m)
{
	static const struct message message = { "turns", scan, 40000, false };
	const struct plan *plan = m->arg;
	struct plan p = { .message = &message, .waits = plan->waits };
	struct line l;

	if (bind_line(&l, m, &p, 0))
		return 1;
	for (long e = 1; e <= p.waits; e++) {
		l.a[0] = l.a[message.count - 1] = (int32_t)e;
		CALL(MPIX_Sched_start(l.req));
		CALL(MPIX_Sched_wait(l.req));
		NEED(l.b[0] == e * (m->rank + 1) && l.b[message.count - 1] == e * (m->rank + 1));
	}
	return free_line(&l);
}

/* ---- running them ---- */

static bool threads;
static int bad;

/* What the counters have to be: -1 some, else so many at most. */
static void run(const char *name, const char *policy, int size, int (*fn)(struct member *), struct plan *plan, long sleeps,
		long wakes)
{
	int wrong;

	setenv("GOAL_WAIT", policy, 1);
	wrong = team_run(size, threads, fn, plan);
	wrong |= atomic_load(&calls->lost) != 0;
	wrong |= sleeps < 0 ? !atomic_load(&calls->sleeps) : atomic_load(&calls->sleeps) > sleeps;
	wrong |= wakes < 0 ? !atomic_load(&calls->wakes) : atomic_load(&calls->wakes) > wakes;
	printf("%s wait.%s.%s %d %s: %ld sleeps, %ld wakes, %ld barriers, %ld lost\n", wrong ? "FAIL" : "ok", name, policy,
	       size, threads ? "threads" : "processes", atomic_load(&calls->sleeps), atomic_load(&calls->wakes),
	       atomic_load(&calls->barriers), atomic_load(&calls->lost));
	fflush(stdout);
	bad |= wrong;
	reset_calls();
}

static int count_cpus(void)
{
	cpu_set_t set = { 0 };

	sched_getaffinity(0, sizeof set, &set);
	return CPU_COUNT(&set);
}

/* Ranks that share a CPU sleep with membarrier if yielding lets each other run, so that they seldom sleep, and else without. */
static void run_barriers(const char *name, struct plan *p, bool some)
{
	int wrong;

	setenv("GOAL_WAIT", "yield", 1);
	wrong = team_run(2, threads, late, p) | !atomic_load(&calls->sleeps) | ((atomic_load(&calls->barriers) > 0) != some);
	printf("%s wait.%s %s: %ld sleeps, %ld barriers\n", wrong ? "FAIL" : "ok", name, threads ? "threads" : "processes",
	       atomic_load(&calls->sleeps), atomic_load(&calls->barriers));
	bad |= wrong;
	reset_calls();
}

/* Ranks that share a CPU, but are scheduled in groups of their own: yielding does not let the other one run. They sleep, whether
 * they would yield by GOAL_WAIT or by a function. */
static void run_in_vain(struct plan *p)
{
	cpu_set_t set = { 0 }, one = { 0 };

	sched_getaffinity(0, sizeof set, &set);
	for (int c = 0; c < CPU_SETSIZE && !CPU_COUNT(&one); c++)
		if (CPU_ISSET(c, &set))
			CPU_SET(c, &one);
	sched_setaffinity(0, sizeof one, &one);
	p->sleeps = true;
	for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
		p->message = &messages[i];
		atomic_store(&calls->in_vain, 1);
		run(messages[i].name, "yield", 2, many, p, -1, -1);
	}
	p->until = true;
	for (size_t i = 0; i < 2; i++) {
		p->message = &messages[i];
		atomic_store(&calls->in_vain, 1);
		run(i ? "pull until" : "eager until", i ? "yield" : "learn", 2, many, p, -1, LONG_MAX);
	}
	p->until = false;
	run_barriers("in one session", p, true);
	atomic_store(&calls->in_vain, 1);
	if (!threads && access("/proc/self/autogroup", R_OK))
		puts("skip wait.in two sessions: this kernel has no autogroups");
	else if (!threads)
		run_barriers("in two sessions", p, false);
	atomic_store(&calls->in_vain, 1);
	run("alone", "yield", 2, alone, p, -1, 0);
	atomic_store(&calls->in_vain, 1);
	run("binds", "yield", 2, binds, p, -1, -1);
	atomic_store(&calls->in_vain, 1);
	run("leaves", "yield", 2, leaves, p, -1, -1);
	atomic_store(&calls->in_vain, 1);
	run("yielding", "spin", 2, yielding, p, -1, -1);
	sched_setaffinity(0, sizeof set, &set);
}

/* Some sleeps run out because other programs keep ranks from running; hardly in every fourth start, nor in three runs. */
static void run_turns(void)
{
	struct plan p = { .waits = 80 };
	char cpus[32];
	cpu_set_t set = { 0 }, others;
	int last = 0, wrong;
	long out;

	sched_getaffinity(0, sizeof set, &set);
	for (int c = 0; c < CPU_SETSIZE; c++)
		if (CPU_ISSET(c, &set))
			last = c;
	others = set;
	if (CPU_COUNT(&set) > 1)
		CPU_CLR(last, &others);
	sched_setaffinity(0, sizeof others, &others);
	snprintf(cpus, sizeof cpus, "%d", last);
	setenv("GOAL_PROGRESS", "thread", 1);
	setenv("GOAL_COMM_CPUS", cpus, 1);
	for (int attempt = 1;; attempt++) {
		atomic_store(&calls->as_they_are, 1);
		wrong = team_run(2, false, turns, &p);
		out = atomic_load(&calls->ran_out);
		if (wrong || out <= p.waits / 4 || attempt == 3)
			break;
		reset_calls();
	}
	wrong |= out > p.waits / 4;
	printf("%s wait.turns 2 processes: %ld sleeps ran out in %ld starts\n", wrong ? "FAIL" : "ok", out, p.waits);
	bad |= wrong;
	unsetenv("GOAL_PROGRESS");
	unsetenv("GOAL_COMM_CPUS");
	sched_setaffinity(0, sizeof set, &set);
	reset_calls();
}

int main(int argc, char **argv)
{
	struct plan p = { .waits = argc > 1 ? atol(argv[1]) : 1000, .seed = argc > 3 ? (unsigned)atoi(argv[3]) : 1 };

	const char *backend = getenv("GOAL_BACKEND"), *shm = getenv("GOAL_SHM");
	const bool device = backend && !strcmp(backend, "verbs"), far = device && shm && !strcmp(shm, "0");
	const bool shared = count_cpus() < 2; /* ranks yield in vain while the others sleep */
	const long wakes = far ? LONG_MAX : -1; /* who is far does not ring */

	real_syscall = (long (*)(long, ...))(uintptr_t)dlsym(RTLD_NEXT, "syscall");
	real_ppoll = (int (*)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))(uintptr_t)dlsym(RTLD_NEXT, "ppoll");
	calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	real_yield = (int (*)(void))(uintptr_t)dlsym(RTLD_NEXT, "sched_yield");
	if (argc < 3 || !real_syscall || !real_ppoll || !real_yield || calls == MAP_FAILED || pthread_atfork(NULL, NULL, leave_session))
		return 2;
	threads = !strcmp(argv[2], "threads");
	team_seconds = 3600;
	setenv("GOAL_SHM_DIRECT", "0", 1); /* private memory takes the way through slots */
	for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
		p.message = &messages[i];
		p.sleeps = true;
		run(messages[i].name, "block", 2, many, &p, -1, wakes);
		run(messages[i].name, "block", 3, many, &p, -1, wakes);
		atomic_store(&calls->no_membarrier, 1);
		run(messages[i].name, "block", 2, many, &p, -1, wakes);
		p.sleeps = false;
		run(messages[i].name, "learn", 2, many, &p, LONG_MAX, LONG_MAX); /* as the last waits were */
		run(messages[i].name, "yield", 2, many, &p, shared ? LONG_MAX : 0, shared ? LONG_MAX : 0);
	}
	p.message = &messages[0];
	p.sleeps = true;
	run("two_threads", "block", 2, two_threads, &p, -1, wakes);
	run("told", "block", 2, told, &p, -1, LONG_MAX);
	if (!far) /* to get there takes time */
		run("no_sleep", "block", 3, no_sleep, &p, 0, 0);
	if (!threads)
		run("interrupted", "block", 2, interrupted, &p, -1, wakes);
	run("late", "block", 2, late, &p, 8, wakes);
	run("alarms", "block", 2, alarms, &p, -1, 0);
	run("in_pieces", "block", 2, in_pieces, &p, LONG_MAX, LONG_MAX);
	run("dumped", "block", 2, dumped, &p, -1, wakes);
	run("handlers", "block", 2, handlers, &p, -1, -1);
	p.sleeps = false;
	run("changing", "spin", 2, changing, &p, LONG_MAX, LONG_MAX);
	p.until = true;
	run("changing until", "spin", 2, changing, &p, LONG_MAX, LONG_MAX);
	p.until = false;
	run("handler_ends", "block", 2, handler_ends, &p, -1, wakes);
	run("contexts", "block", 2, contexts, &p, shared ? LONG_MAX : 2, 0);
	if (!device)
		run_in_vain(&p);
	if (!threads && !device) /* where a communication core has something to do */
		run_turns();
	return bad;
}
