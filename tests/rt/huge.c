/* SPDX-License-Identifier: BSD-3-Clause
 * huge: long blocks of the shared heap are in huge pages, for the rank that allocates them and for one that reads them, and so is
 * memory that is moved there, at both of its addresses, and in the end what stays where it is; nothing is where ranks outnumber
 * cores. Prints a line for each case. */
#include "tests/rt/team.h"
#include "util/clock.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* since Linux 6.1 */
#endif

enum { LONG = 8 << 20, HUGE_PAGE = 2 << 20, N = LONG / (int)sizeof(int) };

/* Returns the bytes of huge pages in mappings of the heap's file, or in those that have bytes of a block of LONG bytes. */
static size_t huge(const char *block)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long from, to, kib;
	size_t all = 0;
	bool counts = false;
	char line[512];

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			counts = block ? from < (unsigned long)block + LONG && (unsigned long)block < to :
					 strstr(line, "memfd:goal-heap") != NULL;
		else if (counts && (sscanf(line, "ShmemPmdMapped: %lu kB", &kib) == 1 || sscanf(line, "AnonHugePages: %lu kB", &kib) == 1))
			all += kib << 10;
	if (f)
		fclose(f);
	return all;
}

/* Some epochs of the ring with these buffers, which the rank's mappings of the heap have `least` bytes of huge pages for. Afterwards it
 * has read a block of the other rank. The first and the last page of a block may be huge or not. */
static int epochs(struct member *m, int *in, int *out, size_t least)
{
	MPIX_Sched_request req;
	size_t own;

	if (team_ring_init(m, in, out, N, &req))
		return 1;
	own = huge(NULL);
	NEED(own >= least);
	if (team_ring_epochs(m, req, in, out, N))
		return 1;
	NEED(huge(NULL) >= own + LONG - 2 * HUGE_PAGE);
	CALL(MPIX_Sched_free(&req));
	return 0;
}

static int heap(struct member *m)
{
	int *in, *out;

	CALL(MPIX_Sched_alloc(m->ctx, LONG, (void **)&in));
	CALL(MPIX_Sched_alloc(m->ctx, LONG, (void **)&out));
	for (int i = 0; i < N; i++)
		NEED(!in[i] && !out[i]);
	if (epochs(m, in, out, 2 * LONG - 2 * HUGE_PAGE))
		return 1;
	CALL(MPIX_Sched_dealloc(m->ctx, in));
	CALL(MPIX_Sched_dealloc(m->ctx, out));
	return 0;
}

static int moved(struct member *m)
{
	int *in = malloc(LONG), *out = malloc(LONG);

	NEED(in && out);
	memset(in, 1, LONG);
	memset(out, 1, LONG);
	/* The heap's own addresses, and those of the program. */
	if (epochs(m, in, out, 4 * LONG - 8 * HUGE_PAGE))
		return 1;
	NEED(huge((char *)in) >= LONG - 2 * HUGE_PAGE && huge((char *)out) >= LONG - 2 * HUGE_PAGE);
	free(in);
	free(out);
	return 0;
}

/* A block of memory that nobody may touch much is not present. */
static int sparse(struct member *m)
{
	const size_t before = huge(NULL);
	void *p;

	CALL(MPIX_Sched_alloc(m->ctx, (size_t)2 << 30, &p));
	NEED(huge(NULL) == before);
	CALL(MPIX_Sched_dealloc(m->ctx, p));
	return 0;
}

/* A buffer in a mapping of its own, which begins behind the begin of a huge page. */
static int *apart(void)
{
	char *all = mmap(NULL, LONG + 3 * HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;

	if (all == MAP_FAILED)
		return NULL;
	at = all + -(uintptr_t)all % HUGE_PAGE + HUGE_PAGE / 2;
	return mprotect(at, LONG, PROT_READ | PROT_WRITE) ? NULL : (int *)(void *)at;
}

#define LIMIT_NS 10000000000u

/* Epochs with memory of the program, until all of its pages that can be are huge, and most if somebody else holds some; or a few, in which
 * none become so. */
static int epochs_until(struct member *m, int *in, int *out, bool made)
{
	const size_t most = LONG - HUGE_PAGE;
	uint64_t since = clock_now_ns();
	MPIX_Sched_request req;
	size_t all;

	memset(in, 1, LONG);
	memset(out, 1, LONG);
	NEED(!huge((char *)in) && !huge((char *)out));
	if (team_ring_init(m, in, out, N, &req))
		return 1;
	do {
		if (team_ring_epochs(m, req, in, out, N))
			return 1;
		all = huge((char *)in) + huge((char *)out);
	} while (made && all < 2 * most && clock_now_ns() - since < LIMIT_NS);
	NEED(made ? all >= most : !all);
	CALL(MPIX_Sched_free(&req));
	return 0;
}

/* Memory, and then other memory at the same addresses. */
static int program(struct member *m)
{
	int *in = apart(), *out = apart();

	NEED(in && out);
	if (epochs_until(m, in, out, true))
		return 1;
	for (int i = 0; i < 2; i++)
		NEED(mmap(i ? out : in, LONG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
	return epochs_until(m, in, out, true);
}

static int kept(struct member *m)
{
	int *in = apart(), *out = apart();

	NEED(in && out);
	return epochs_until(m, in, out, false);
}

/* Ranks that share a core: no memory is made huge, wherever it is. */
static int crowded(struct member *m)
{
	int *in;

	CALL(MPIX_Sched_alloc(m->ctx, LONG, (void **)&in));
	memset(in, 1, LONG);
	NEED(!huge(NULL));
	CALL(MPIX_Sched_dealloc(m->ctx, in));
	return kept(m);
}

/* Restricts this process, and those that it starts, to one of the CPUs in `all`. */
static bool on_one_cpu(const cpu_set_t *all)
{
	cpu_set_t one;
	int cpu = 0;

	while (!CPU_ISSET(cpu, all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return !sched_setaffinity(0, sizeof one, &one);
}

/* True if the kernel makes a huge page of memory that is there in small ones, of a file in memory or of none. */
static bool has_huge(bool shared)
{
	const int fd = shared ? memfd_create("huge", MFD_CLOEXEC) : -1;
	char *all = mmap(NULL, 2 * HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *p;
	bool ok;

	if (all == MAP_FAILED || (shared && (fd < 0 || ftruncate(fd, HUGE_PAGE))))
		return false;
	p = mmap(all + -(uintptr_t)all % HUGE_PAGE, HUGE_PAGE, PROT_READ | PROT_WRITE,
		 MAP_FIXED | (shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS), fd, 0);
	if (p == MAP_FAILED)
		return false;
	*p = 1;
	ok = (shared || !huge(p)) && !madvise(p, HUGE_PAGE, MADV_COLLAPSE);
	munmap(all, 2 * HUGE_PAGE);
	if (shared)
		close(fd);
	return ok;
}

/* With an argument no memory can be moved, for the reason that it says. */
int main(int argc, char **argv)
{
	static const struct {
		const char *name, *move, *huge;
		bool shared; /* pages of shared memory, which two ranks have */
		int (*fn)(struct member *);
	} cases[] = { { "heap", "0", "0", true, heap },
		      { "sparse", "0", "0", true, sparse },
		      { "moved", "1", "0", true, moved },
		      { "program", "0", "1", false, program },
		      { "kept", "0", "0", false, kept },
		      { "crowded", "0", "1", true, crowded } };
	cpu_set_t cpus;
	const char *why[] = { has_huge(false) ? NULL : "the kernel makes no huge pages later, or all memory is in some from the beginning",
			      has_huge(true) ? NULL : "the kernel makes no huge pages of shared memory" };
	int bad = 0;

	if (sched_getaffinity(0, sizeof cpus, &cpus))
		return 1;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *not = why[cases[i].shared], *skips = not ? not : argc > 1 && *cases[i].move == '1' ? argv[1] : NULL;
		bool ok = true;

		if (cases[i].fn == crowded)
			ok = on_one_cpu(&cpus);
		else if (!skips && cases[i].shared && CPU_COUNT(&cpus) < 2)
			skips = "there is one core, and so there are no huge pages";
		setenv("GOAL_MOVE", cases[i].move, 1);
		setenv("GOAL_HUGE", cases[i].huge, 1);
		if (!skips)
			ok = ok && team_run(cases[i].shared ? 2 : 1, false, cases[i].fn, NULL) == 0;
		printf("%s huge.%s %s\n", skips ? "skip" : ok ? "ok" : "FAIL", cases[i].name, skips ? skips : "");
		fflush(stdout);
		bad |= !ok;
	}
	return bad;
}
