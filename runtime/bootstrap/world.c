/* SPDX-License-Identifier: BSD-3-Clause
 * The group of all ranks of a job: of goalrun, which provides a board; of a launcher with PMIx; or of a program that was
 * started alone. Loads libpmix on first use, so that programs that do not use it do not depend on it. */
#include "backends/services.h"
#include "runtime/board/board.h"
#include "runtime/context.h"
#include "runtime/placement/cpus.h"
#include "util/clock.h"
#include "util/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#if __has_include(<pmix.h>)
#include <pmix.h>
#define HAVE_PMIX 1
#endif

/* ---- goalrun ---- */

#define CHECK_NS 50000000u /* interval of checks of all ranks */
#define FIRST_NS 100000000u /* time that goalrun has to see which rank died first */

struct boot {
	struct rt_board *board;
	uint32_t rank;
	uint64_t seq;
	uint64_t checked; /* time of the last check, ns */
	int64_t ended; /* a rank that ended before it joined the group, or -1 */
	bool given_up;
};

/* goalrun marks its board when a rank dies or ends. Checks first for ranks that ended: others may have failed because of
 * that. */
static int boot_idle(void *arg)
{
	struct boot *b = arg;
	const uint64_t now = clock_now_ns();
	const bool failed = atomic_load(&b->board->failed);

	if (!failed && now - b->checked < CHECK_NS)
		return 0;
	b->checked = now;
	b->ended = rt_board_missing(b->board, b->seq);
	return b->ended >= 0 || failed ? -ERR_DEAD : 0;
}

static int boot_allgather(const void *in, void *out, size_t size, void *arg)
{
	struct boot *b = arg;

	if (size > GROUP_RECORD)
		return 1;
	b->given_up |= rt_board_allgather(b->board, b->rank, ++b->seq, in, size, out, rt_spins(b->board->size), boot_idle, b);
	return b->given_up;
}

/* Returns the rank that goalrun has seen die first, or -1 if it has seen none. Other ranks may have ended because of
 * that rank. Waits a moment, because goalrun may be about to see a death. */
static int64_t first_dead(const struct rt_board *b)
{
	const struct timespec tick = { 0, 1000000 };
	const uint64_t until = clock_now_ns() + FIRST_NS;

	while (!atomic_load(&b->failed) && clock_now_ns() < until)
		nanosleep(&tick, NULL);
	return atomic_load(&b->failed) ? (int64_t)rt_failed(atomic_load(&b->failed)) : -1;
}

static int from_goalrun(MPIX_Sched_ctx ctx, long fd, MPIX_Sched_group *group)
{
	struct boot b = { .ended = -1 };
	int64_t dead = -1;
	long rank, size;
	struct stat st;
	int rc = rt_env(ctx, ENV_GOAL_RANK, &rank);

	rc = rc ? rc : rt_env(ctx, ENV_GOAL_SIZE, &size);
	if (rc)
		return -rc;
	if (fd > INT32_MAX || size < 1 || size > 1 << 20 || rank < 0 || rank >= size || fstat((int)fd, &st) ||
	    (size_t)st.st_size < rt_board_size((uint32_t)size))
		return -rt_error(ctx, -ERR_ARG, "GOAL_BOOT_FD, GOAL_RANK and GOAL_SIZE are not goalrun's");
	b.rank = (uint32_t)rank;
	b.board = mmap(NULL, rt_board_size((uint32_t)size), PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	if (b.board == MAP_FAILED)
		return -rt_sys_error(ctx, "mmap");
	/* Continues after this rank's last round on the board, because the program may have made the group before. */
	b.seq = rt_board_round(b.board, (uint32_t)rank);
	rc = MPIX_Sched_group_create(ctx, (int)rank, (int)size, boot_allgather, &b, group);
	if (rc && b.ended >= 0)
		rc = -rt_error(ctx, -ERR_DEAD, "rank %u has ended, it did not join the group", (unsigned)b.ended);
	else if (rc == MPIX_SCHED_ERR_DEAD || b.given_up) /* any other error has its own reason, even if a rank has died since */
		dead = first_dead(b.board);
	if (dead >= 0)
		rc = -rt_error(ctx, -ERR_DEAD, "rank %u died", (unsigned)dead);
	munmap(b.board, rt_board_size((uint32_t)size));
	return rc;
}

/* ---- PMIx ---- */

#ifdef HAVE_PMIX

#ifndef PMIX_LIBRARY
#define PMIX_LIBRARY "libpmix.so.2"
#endif
#define PMIX_FUNCTIONS FN(Init) FN(Finalize) FN(Put) FN(Commit) FN(Fence) FN(Get) FN(Error_string)

struct pmix {
#define FN(name) __typeof__(&PMIx_##name) name;
	PMIX_FUNCTIONS
#undef FN
	pmix_proc_t me;
	uint32_t size;
	unsigned round; /* number of the next round; published values stay, so each round has a key of its own */
	const char *failed; /* name of the first function that failed; status is what it returned */
	pmix_status_t status;
};

static int load_pmix(struct mpix_sched_ctx *ctx, struct pmix *p)
{
	static const struct library_fn fns[] = {
#define FN(name) { "PMIx_" #name, offsetof(struct pmix, name) },
		PMIX_FUNCTIONS
#undef FN
	};
	const char *missing = library_load(PMIX_LIBRARY, fns, sizeof fns / sizeof *fns, p);

	return missing ? rt_error(ctx, -ERR_UNSUPPORTED, "the launcher speaks PMIx, but %s cannot be loaded: %s",
				  missing, dlerror()) :
			 0;
}

/* Returns true if a call succeeded. Remembers the first one that failed. */
static bool check_status(struct pmix *p, const char *name, pmix_status_t status)
{
	if (status != PMIX_SUCCESS && !p->failed) {
		p->failed = name;
		p->status = status;
	}
	return status == PMIX_SUCCESS;
}

static pmix_info_t flag_info(const char *key)
{
	pmix_info_t info = { .value.type = PMIX_BOOL };

	info.value.data.flag = true;
	memcpy(info.key, key, strlen(key) + 1);
	return info;
}

/* Gets the value that a rank has put, or an attribute of the job. Free it with free_value. */
static pmix_status_t get_value(struct pmix *p, pmix_rank_t rank, const char *key, const pmix_info_t *info,
			       pmix_data_type_t type, pmix_value_t **v)
{
	pmix_proc_t proc = p->me;
	pmix_status_t status;

	proc.rank = rank;
	*v = NULL;
	status = p->Get(&proc, key, info, info ? 1 : 0, v);
	return status != PMIX_SUCCESS ? status : !*v || (*v)->type != type ? PMIX_ERR_TYPE_MISMATCH : PMIX_SUCCESS;
}

static void free_value(pmix_value_t *v)
{
	if (v && v->type == PMIX_BYTE_OBJECT)
		free(v->data.bo.bytes);
	free(v);
}

static void round_key(char *key, size_t size, unsigned round)
{
	snprintf(key, size, "goalsched.%u", round);
}

static int pmix_allgather(const void *in, void *out, size_t size, void *arg)
{
	struct pmix *p = arg;
	pmix_info_t collect = flag_info(PMIX_COLLECT_DATA);
	pmix_value_t v = { .type = PMIX_BYTE_OBJECT };
	bool good;
	char key[32];

	round_key(key, sizeof key, p->round++);
	v.data.bo.bytes = (char *)(uintptr_t)in;
	v.data.bo.size = size;
	good = check_status(p, "PMIx_Put", p->Put(PMIX_GLOBAL, key, &v)) &&
	       check_status(p, "PMIx_Commit", p->Commit()) &&
	       check_status(p, "PMIx_Fence", p->Fence(NULL, 0, &collect, 1));
	for (uint32_t r = 0; r < p->size && good; r++) {
		pmix_value_t *got;

		good = check_status(p, "PMIx_Get", get_value(p, r, key, NULL, PMIX_BYTE_OBJECT, &got));
		if (good && got->data.bo.size != size)
			good = check_status(p, "PMIx_Get", PMIX_ERR_TYPE_MISMATCH);
		if (good)
			memcpy((char *)out + r * size, got->data.bo.bytes, size);
		free_value(got);
	}
	return !good;
}

/* Finds the first unused round: this process may have made the group before. */
static void find_round(struct pmix *p)
{
	pmix_info_t process = flag_info(PMIX_OPTIONAL);
	pmix_value_t *v;
	char key[32];

	for (;; p->round++) {
		round_key(key, sizeof key, p->round);
		if (get_value(p, p->me.rank, key, &process, PMIX_BYTE_OBJECT, &v) != PMIX_SUCCESS)
			break;
		free_value(v);
	}
	free_value(v);
}

static int from_pmix(MPIX_Sched_ctx ctx, MPIX_Sched_group *group)
{
	struct pmix p = { 0 };
	pmix_value_t *v = NULL;
	bool good;
	int rc = load_pmix(ctx, &p);

	if (rc)
		return -rc;
	/* PMIx_Init counts references: MPI may use PMIx, too. */
	good = check_status(&p, "PMIx_Init", p.Init(&p.me, NULL, 0));
	if (!good)
		goto out;
	good = check_status(&p, "PMIx_Get", get_value(&p, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, NULL, PMIX_UINT32, &v));
	if (good) {
		p.size = v->data.uint32;
		find_round(&p);
		rc = MPIX_Sched_group_create(ctx, (int)p.me.rank, (int)p.size, pmix_allgather, &p, group);
	}
	free_value(v);
	/* PMIx_Finalize is called here, because mpirun treats a program that ends without it as broken. */
	p.Finalize(NULL, 0);
out:
	return p.failed ? -rt_error(ctx, -ERR_SYS, "%s: %s", p.failed, p.Error_string(p.status)) : rc;
}

#else

static int from_pmix(MPIX_Sched_ctx ctx, MPIX_Sched_group *group)
{
	(void)group;
	return -rt_error(ctx, -ERR_UNSUPPORTED,
			 "the launcher speaks PMIx, but this library was built without pmix.h");
}

#endif

/* ---- choice among these ---- */

static int allgather_alone(const void *in, void *out, size_t size, void *arg)
{
	(void)arg;
	memcpy(out, in, size);
	return 0;
}

int MPIX_Sched_group_world(MPIX_Sched_ctx ctx, MPIX_Sched_group *group)
{
	long fd, pmi;
	int rc;

	if (!ctx || !group)
		return rt_invalid(ctx);
	rc = rt_env(ctx, ENV_GOAL_BOOT_FD, &fd);
	if (rc)
		return -rc;
	if (fd >= 0)
		return from_goalrun(ctx, fd, group);
	if (*env_get(ENV_PMIX_NAMESPACE))
		return from_pmix(ctx, group);
	/* An error is better than one group per rank. */
	if (!env_number(ENV_PMI_SIZE, &pmi) && pmi > 1)
		return -rt_error(ctx, -ERR_UNSUPPORTED,
				 "the launcher speaks PMI-1: initialise MPI, and use MPIX_Sched_group_from_comm");
	return MPIX_Sched_group_create(ctx, 0, 1, allgather_alone, NULL, group);
}
