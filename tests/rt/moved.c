/* SPDX-License-Identifier: BSD-3-Clause
 * moved: private memory whose pages are moved to the shared heap when it is bound (GOAL_MOVE=1), and what a program does with it
 * meanwhile and later. Prints a line for each case. `moved why`: prints why nothing can be moved here, or nothing. */
#include "tests/rt/count.h"
#include "tests/rt/team.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))
enum { N = 100003, LONG = N * sizeof(int) }; /* elements and bytes of a buffer: it neither begins nor ends with a page */

/* ---- help ---- */

/* How the memory at an address is mapped. */
enum { NOT, PRIVATE, HEAP, ELSE };
static int mapped(const void *p)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512], flags[8];
	int is = NOT;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, flags) == 3 && from <= (unsigned long)p && (unsigned long)p < to)
			is = flags[3] == 'p' ? PRIVATE : strstr(line, "memfd:goal-heap") ? HEAP : ELSE;
	if (f)
		fclose(f);
	return is;
}

/* True if all pages of [p, p + n) are mapped so. */
static bool all_mapped(const void *p, size_t n, int as)
{
	for (const char *at = p, *end = at + n; at < end; at += PAGE)
		if (mapped(at) != as)
			return false;
	return mapped((const char *)p + n - 1) == as;
}

static int init(struct member *m, void *in, void *out, MPIX_Sched_request *req)
{
	return team_ring_init(m, in, out, N, req);
}

static int epochs(struct member *m, MPIX_Sched_request req, int *in, const int *out)
{
	return team_ring_epochs(m, req, in, out, N);
}

/* A request of its own with these buffers. */
static int once(struct member *m, void *in, void *out)
{
	MPIX_Sched_request req;

	if (init(m, in, out, &req) || epochs(m, req, in, out))
		return 1;
	CALL(MPIX_Sched_free(&req));
	return 0;
}

static void *map(size_t size, int flags, int fd)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Memory as it comes from malloc, which holds a number in each byte. */
static char *filled(size_t n)
{
	char *p = malloc(n);

	for (size_t i = 0; p && i < n; i++)
		p[i] = (char)(i * 37 + 11);
	return p;
}

static bool is_filled(const char *p, size_t from, size_t to)
{
	while (from < to && p[from] == (char)(from * 37 + 11))
		from++;
	return from == to;
}

/* ---- cases ---- */

/* Buffers that share pages with each other, and with other data. */
static int stays_the_same(struct member *m)
{
	const size_t n = 3 * (size_t)LONG;
	char *all = filled(n);
	char *a = all + 1000, *b = a + LONG, *c = all + 500;
	MPIX_Sched_request one, two;
	void *other[2] = { b, c };

	NEED(all);
	if (init(m, a, b, &one))
		return 1;
	NEED(is_filled(all, 0, n));
	NEED(all_mapped(a, 2 * (size_t)LONG, HEAP) && mapped(all + n - 1) == PRIVATE);
	if (epochs(m, one, (int *)(void *)a, (int *)(void *)b))
		return 1;
	NEED(is_filled(all, 0, 1000) && is_filled(all, 1000 + 2 * (size_t)LONG, n));
	if (init(m, b, b + LONG - 4000, &two)) /* they overlap, but nobody starts this one */
		return 1;
	NEED(is_filled(all, 1000 + 2 * (size_t)LONG, n) && mapped(b + 2 * (size_t)LONG - 4001) == HEAP);
	CALL(MPIX_Sched_free(&two));
	CALL(MPIX_Sched_rebind(one, other, 2));
	if (epochs(m, one, (int *)(void *)b, (int *)(void *)c))
		return 1;
	NEED(is_filled(all, 0, 500) && is_filled(all, 1000 + 2 * (size_t)LONG, n));
	CALL(MPIX_Sched_free(&one));
	free(all);
	return 0;
}

/* What is not moved works as before. */
static int not_moved(struct member *m)
{
	int stack[N], *shared = map(LONG, MAP_SHARED | MAP_ANONYMOUS, -1), *own = map(LONG, MAP_PRIVATE | MAP_ANONYMOUS, -1), *file;
	char name[] = "/tmp/moved.XXXXXX";
	const int fd = mkstemp(name);

	NEED(fd >= 0 && !unlink(name) && !ftruncate(fd, LONG) && shared && own);
	file = map(LONG, MAP_PRIVATE, fd);
	NEED(file);
	if (once(m, stack, shared) || once(m, file, own))
		return 1;
	NEED(mapped(stack + N / 2) == PRIVATE && mapped(shared) == ELSE && mapped(file) == PRIVATE && mapped(own) == HEAP);
	munmap(shared, LONG);
	munmap(own, LONG);
	munmap(file, LONG);
	close(fd);
	return 0;
}

/* realloc enlarges a block whose pages were moved: the bytes behind them are those of nobody else. */
static int grows(struct member *m)
{
	char *a = filled(LONG), *b = filled(LONG);
	MPIX_Sched_request req;

	NEED(a && b);
	if (init(m, a, b, &req))
		return 1;
	NEED(mapped(a + LONG / 2) == HEAP && mapped(b + LONG / 2) == HEAP);
	CALL(MPIX_Sched_free(&req));
	a = realloc(a, 8 * (size_t)LONG);
	NEED(a && is_filled(a, 0, LONG));
	memset(a + LONG, 1, 7 * (size_t)LONG);
	NEED(is_filled(b, 0, LONG) && all_mapped(a + 2 * (size_t)LONG, LONG, PRIVATE));
	b = realloc(b, LONG / 2);
	NEED(b && is_filled(b, 0, LONG / 2) && is_filled(a, 0, LONG));
	if (once(m, a, a + 4 * (size_t)LONG))
		return 1;
	NEED(is_filled(b, 0, LONG / 2));
	free(a);
	free(b);
	return 0;
}

/* Memory is unmapped, and other memory comes to the same addresses, also while a request is bound. */
static int comes_again(struct member *m)
{
	const size_t size = 2 * (size_t)LONG;
	char *p = map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1), *q;
	MPIX_Sched_request held = MPIX_SCHED_REQUEST_NULL;

	NEED(p);
	for (int k = 0; k < 40; k++) {
		if (once(m, p, p + LONG))
			return 1;
		NEED(all_mapped(p, size, HEAP));
		if (k % 4 == 1 && init(m, p + LONG, p, &held))
			return 1;
		if (k % 2)
			NEED(!munmap(p, size) && mapped(p) == NOT && mapped(p + size - 1) == NOT);
		q = mmap(p, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		NEED(q == p && all_mapped(p, size, PRIVATE));
		for (size_t i = 0; i < size; i += 512)
			NEED(p[i] == 0);
		if (k % 4 == 3)
			CALL(MPIX_Sched_free(&held));
	}
	munmap(p, size);
	return 0;
}

/* Buffers are moved, and then others that are partly the same memory, partly such as came later. */
static int comes_later(struct member *m)
{
	const size_t half = 2 * (LONG / PAGE + 1) * PAGE, before = LONG / 8 * 4;
	char *p = map(2 * half, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	NEED(p && !mprotect(p + half, half, PROT_NONE));
	if (once(m, p, p + LONG))
		return 1;
	NEED(mapped(p) == HEAP && !mprotect(p + half, half, PROT_READ | PROT_WRITE));
	if (once(m, p + half - before, p))
		return 1;
	NEED(all_mapped(p + half - before, LONG, HEAP));
	munmap(p, 2 * half);
	return 0;
}

/* mremap takes pages that were moved to other addresses; what comes in their place is moved by itself. */
static int goes_elsewhere(struct member *m)
{
	const size_t size = 2 * (size_t)LONG, part = 4 * PAGE;
	char *p = map(size, MAP_PRIVATE | MAP_ANONYMOUS, -1), *q, *to = map(part, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	NEED(p && to);
	if (once(m, p, p + LONG))
		return 1;
	memset(p + 2 * PAGE, 5, part);
	/* Not by mremap, which libraries replace. */
	NEED((void *)syscall(SYS_mremap, p + 2 * PAGE, part, part, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	q = mmap(p + 2 * PAGE, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	NEED(q == p + 2 * PAGE);
	if (once(m, p, p + LONG))
		return 1;
	for (size_t i = 0; i < part; i++)
		NEED(to[i] == 5);
	munmap(p, size);
	munmap(to, part);
	return 0;
}

/* A child has a copy of its own, also after the context has been freed. */
static int forks(struct member *m)
{
	char *a = filled(LONG), *b = filled(LONG);
	MPIX_Sched_request req;

	NEED(a && b);
	if (init(m, a, b, &req))
		return 1;
	NEED(mapped(a + LONG / 2) == HEAP);
	for (int k = 0; k < 3; k++) {
		int to_child[2], status;
		char c = 0;
		pid_t pid;

		NEED(!pipe(to_child));
		pid = fork();
		if (!pid) { /* the parent stores first, and then the child */
			bool ok = read(to_child[0], &c, 1) == 1 && all_mapped(a, LONG, PRIVATE) && is_filled(a, 0, LONG) && is_filled(b, 0, LONG);

			memset(a, 99, LONG);
			_exit(ok ? 0 : 1);
		}
		NEED(pid > 0);
		memset(a, 55, LONG);
		NEED(write(to_child[1], &c, 1) == 1 && waitpid(pid, &status, 0) == pid);
		close(to_child[0]);
		close(to_child[1]);
		NEED(status == 0);
		for (size_t i = 0; i < LONG; i++) {
			NEED(a[i] == 55);
			a[i] = (char)(i * 37 + 11);
		}
		if (k == 1) {
			CALL(MPIX_Sched_free(&req));
			MPIX_Sched_group_free(&m->group);
			MPIX_Sched_ctx_free(&m->ctx);
		}
	}
	return 0;
}

struct writer {
	pthread_t thread;
	_Atomic bool ends;
	_Atomic uint64_t rounds;
	size_t n;
	volatile uint64_t *at;
};

/* Counts in words that are spread over the pages, until it has to end: a store that is lost is missing in the sum. */
static void *write_words(void *arg)
{
	struct writer *w = arg;

	for (uint64_t v = 1; !atomic_load(&w->ends); v++) {
		for (size_t i = 0; i < 64; i++)
			w->at[i * w->n / 64]++;
		atomic_store(&w->rounds, v);
	}
	return NULL;
}

/* Another thread stores to the pages while they are moved: nothing that it stores is lost. Meanwhile the other rank rests, so that
 * two cores are enough. */
static int threads_store(struct member *m)
{
	for (int k = 0; k < 60; k++) {
		struct writer w = { .n = LONG / sizeof(uint64_t) };
		const bool writes = k % 2 == m->rank;
		char *p = map(2 * (size_t)LONG, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		MPIX_Sched_request req;

		NEED(p);
		w.at = (uint64_t *)(void *)p;
		if (writes)
			NEED(!pthread_create(&w.thread, NULL, write_words, &w));
		else
			usleep(5000);
		while (writes && !atomic_load(&w.rounds))
			;
		if (init(m, p, p + LONG + 8, &req))
			return 1;
		atomic_store(&w.ends, true);
		if (writes)
			pthread_join(w.thread, NULL);
		for (size_t i = 0; i < 64; i++)
			NEED(w.at[i * w.n / 64] == atomic_load(&w.rounds));
		NEED(mapped(p) == HEAP);
		CALL(MPIX_Sched_free(&req));
		munmap(p, 2 * (size_t)LONG);
	}
	return 0;
}

/* Another thread allocates and frees all the time, in the pages between which buffers are moved. */
static void *allocate(void *arg)
{
	struct writer *w = arg;
	char *old[16] = { 0 };

	for (unsigned k = 0; !atomic_load(&w->ends); k++) {
		char **p = &old[k % 16];

		free(*p);
		*p = malloc(k % 7 * 20000 + 100);
		if (*p)
			memset(*p, 1, 100);
	}
	for (unsigned k = 0; k < 16; k++)
		free(old[k]);
	return NULL;
}

static int threads_allocate(struct member *m)
{
	struct writer w = { 0 };

	NEED(!pthread_create(&w.thread, NULL, allocate, &w));
	for (int k = 0; k < 40; k++) {
		char *a = filled(LONG), *b = filled(LONG);
		MPIX_Sched_request req;

		NEED(a && b);
		if (init(m, a, b, &req))
			return 1;
		NEED(is_filled(a, 0, LONG) && is_filled(b, 0, LONG));
		if (k % 2)
			CALL(MPIX_Sched_free(&req));
		free(a);
		free(b);
		if (k % 2 == 0)
			CALL(MPIX_Sched_free(&req));
	}
	atomic_store(&w.ends, true);
	pthread_join(w.thread, NULL);
	return 0;
}

/* Why nothing is moved in this process, or NULL. */
static const char *hindered(void)
{
	const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return "a sanitizer has an allocator of its own";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	return "a sanitizer has an allocator of its own";
#endif
#endif
	if (fd >= 0)
		close(fd);
	return fd < 0 ? "userfaultfd is not allowed" : getenv("LD_PRELOAD") ? "something is preloaded" : NULL;
}

/* The program gives its memory back after the contexts that moved it are gone. Then nothing of these stays. */
static int outlives(struct member *m)
{
	enum { CONTEXTS = 5, BYTES = 1 << 20 };
	const int before = count_entries("/proc/self/task");
	void *p[CONTEXTS];
	int tries = 0;

	(void)m;
	for (int i = 0; i < CONTEXTS; i++) {
		struct MPIX_Sched_stats stats = { .struct_size = sizeof stats };
		MPIX_Sched_ctx ctx;
		MPIX_Sched_group group;
		MPIX_Sched s;
		MPIX_Sched_request req;

		p[i] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		NEED(p[i] != MAP_FAILED);
		memset(p[i], 1 + i, BYTES);
		CALL(MPIX_Sched_ctx_create(&ctx));
		CALL(MPIX_Sched_group_create(ctx, 0, 1, team_alone, NULL, &group));
		CALL(MPIX_Sched_load_mem(ctx, "chain", team_chain, strlen(team_chain), &s));

		struct MPIX_Sched_bind b = { .struct_size = sizeof b, .buffers = &p[i], .nbuffers = 1, .count = BYTES };

		CALL(MPIX_Sched_init(s, group, &b, &req));
		CALL(MPIX_Sched_stats(ctx, &stats));
		NEED(stats.moved_bytes == BYTES && mapped(p[i]) == HEAP);
		CALL(MPIX_Sched_free(&req));
		CALL(MPIX_Sched_unload(&s));
		CALL(MPIX_Sched_group_free(&group));
		CALL(MPIX_Sched_ctx_free(&ctx));
	}
	NEED(count_entries("/proc/self/task") == before + CONTEXTS); /* each watches its pages */
	for (int i = 0; i < CONTEXTS; i++) {
		NEED(*((char *)p[i] + BYTES - 1) == 1 + i);
		NEED(munmap(p[i], BYTES) == 0);
	}
	while (count_entries("/proc/self/task") != before && tries++ < 1000)
		usleep(10000);
	NEED(count_entries("/proc/self/task") == before);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*fn)(struct member *);
	} cases[] = { { "same", stays_the_same }, { "not", not_moved },		 { "realloc", grows },	    { "again", comes_again },
		      { "later", comes_later },
		      { "mremap", goes_elsewhere }, { "fork", forks }, { "stores", threads_store }, { "malloc", threads_allocate },
		      { "outlives", outlives } };
	const char *why = hindered();
	int bad = 0;

	if (argc > 1 && !strcmp(argv[1], "why")) {
		fputs(why ? why : "", stdout);
		return 0;
	}
	if (why) {
		printf("skip moved %s\n", why);
		return 0;
	}
	setenv("GOAL_MOVE", "1", 1);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const bool ok = team_run(2, false, cases[i].fn, NULL) == 0;

		printf("%s moved.%s\n", ok ? "ok" : "FAIL", cases[i].name);
		fflush(stdout);
		bad |= !ok;
	}
	return bad;
}
