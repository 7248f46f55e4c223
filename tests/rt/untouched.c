/* SPDX-License-Identifier: BSD-3-Clause
 * untouched RANKS: bytes that are to be moved, and the places where they belong, are on pages that nobody may read or
 * write, from before the start until the wait is over. The bytes come all the same, and no process has touched such
 * a page, but for a copy that the schedule asks for: then it has. Prints a line for each case. */
#include "tests/rt/team.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { EPOCHS = 3 };

static const char allgather[] = "schedule allgather\n"
				"buffer inout all[p * count]\n"
				"rank r of p {\n"
				"  for s = 0 to p - 2 {\n"
				"    give[s]: send all[(r - s) mod p * count +: count] to (r + 1) mod p\n"
				"    take[s]: recv all[(r - s - 1) mod p * count +: count] from (r - 1) mod p\n"
				"    give[s] requires take[s - 1]\n"
				"  }\n"
				"}\n";

static const char copy[] = "schedule copy\n"
			   "buffer inout all[p * count]\n"
			   "rank r of p { if p > 1 { copy all[0 +: count] into all[count +: count] } }\n";

/* Whose bytes a block has in the end. */
static int of_root(int block)
{
	(void)block;
	return 0;
}

static int of_all(int block)
{
	return block;
}

static const struct row {
	const char *name, *text;
	bool one; /* block, of the root; else each rank has one */
	bool touches;
	int (*owner)(int block);
} rows[] = {
	{ "bcast", team_bcast, true, false, of_root },
	{ "allgather", allgather, false, false, of_all },
	{ "copy", copy, false, true, of_root },
};

struct run {
	const struct row *row;
	size_t count;
	bool heap;
};

static size_t page;
static char *payload;
static size_t length;
static volatile sig_atomic_t touched;

static void close_payload(void)
{
	touched = 0;
	if (mprotect(payload, length, PROT_NONE))
		abort();
}

static void open_payload(void)
{
	if (mprotect(payload, length, PROT_READ | PROT_WRITE))
		abort();
}

/* Whoever touches the payload may go on, and has been seen. */
static void caught(int sig, siginfo_t *info, void *context)
{
	const char *at = info->si_addr;

	(void)context;
	if (at < payload || at >= payload + length)
		signal(sig, SIG_DFL); /* comes again */
	else
		open_payload();
	touched = 1;
}

static char byte(int rank, int epoch, size_t i)
{
	return (char)(rank * 31 + epoch * 7 + (int)(i % 251));
}

/* Whole pages, with nothing else on them. */
static int make_payload(struct member *m, const struct run *r, void **block)
{
	length = (r->count * (r->row->one ? 1 : (size_t)m->size) + page - 1) / page * page;
	if (r->heap)
		CALL(MPIX_Sched_alloc(m->ctx, length + page, block));
	else
		NEED((*block = malloc(length + page)));
	payload = (char *)*block + (page - (uintptr_t)*block % page) % page;
	return 0;
}

static int one_start(struct member *m, const struct run *r, MPIX_Sched_request req, int epoch)
{
	const int blocks = r->row->one ? 1 : m->size;

	for (int b = 0; b < blocks; b++)
		for (size_t i = 0; i < r->count; i++)
			payload[(size_t)b * r->count + i] =
				m->rank == (r->row->one ? 0 : b) || r->row->touches ? byte(r->row->one ? 0 : b, epoch, i) : (char)-1;
	close_payload();
	CALL(MPIX_Sched_start(req));
	CALL(MPIX_Sched_wait(req));
	NEED(touched == r->row->touches);
	open_payload();
	for (int b = 0; b < (r->row->touches ? 2 : blocks); b++)
		for (size_t i = 0; i < r->count; i++)
			NEED(payload[(size_t)b * r->count + i] == byte(r->row->owner(b), epoch, i));
	return 0;
}

static int rank(struct member *m)
{
	const struct run *r = m->arg;
	const struct sigaction act = { .sa_sigaction = caught, .sa_flags = SA_SIGINFO };
	MPIX_Sched_request req;
	MPIX_Sched s;
	void *block;

	NEED(!sigaction(SIGSEGV, &act, NULL));
	if (make_payload(m, r, &block))
		return 1;
	CALL(MPIX_Sched_load_mem(m->ctx, r->row->name, r->row->text, strlen(r->row->text), &s));
	struct MPIX_Sched_bind b = { .struct_size = sizeof b,
				     .buffers = (void *[]){ payload },
				     .nbuffers = 1,
				     .count = r->count };
	CALL(MPIX_Sched_init(s, m->group, &b, &req));
	for (int e = 1; e <= EPOCHS; e++)
		if (one_start(m, r, req, e))
			return 1;
	CALL(MPIX_Sched_free(&req));
	CALL(MPIX_Sched_unload(&s));
	if (r->heap)
		CALL(MPIX_Sched_dealloc(m->ctx, block));
	else
		free(block);
	return 0;
}

int main(int argc, char **argv)
{
	static const size_t counts[] = { 200, 70000 };
	const int size = argc > 1 ? atoi(argv[1]) : 4;
	int bad = 0;

	page = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int heap = 0; heap < 2; heap++) {
			int rc = 0;

			for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
				rc |= team_run(size, false, rank, &(struct run){ &rows[i], counts[k], heap });
			printf("%s untouched.%s.%s %d ranks\n", rc ? "FAIL" : "ok", rows[i].name, heap ? "heap" : "private", size);
			fflush(stdout);
			bad |= rc;
		}
	return bad != 0;
}
