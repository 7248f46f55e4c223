/* SPDX-License-Identifier: BSD-3-Clause
 * Memory of the program that is moved to the shared heap when it is bound. Its pages are copied to the heap's file, and the file
 * is mapped in their place. What the program does with them meanwhile and later:
 * - Threads may store to the same pages: they are write-protected by userfaultfd(2) from before the copy until the file is
 *   mapped, and who stores then waits.
 * - It may unmap them, which free and realloc do with long blocks: userfaultfd says so before munmap returns.
 * - It may enlarge them with mremap, as realloc does, which would lay bytes of the file behind them into it that belong to others.
 *   mremap fails across two mappings, and then realloc copies; so the first page becomes a mapping of its own.
 * - It may fork: the child gets a copy of its own. */
#include "runtime/heap/moved.h"

#include "runtime/heap/heap.h"
#include "util/align.h"
#include "util/thread.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LEAST ((size_t)32 << 10) /* bytes of a buffer that is moved: shorter messages are as fast from private memory */
#define AGAIN_MS 100 /* until the watcher looks again whether all is over, if it could not look */
#define AROUND ((uintptr_t)256 << 20) /* bytes before and after a buffer for which there is a place in the heap, too */

/* Addresses of the program that have a place in the heap, in the same order, whatever is there now: buffers that share pages, or
 * of which one is a part of the other, can be moved one after the other. */
struct zone {
	struct zone *next;
	uintptr_t at;
	size_t len;
	char *block, *place; /* in the heap: what was allocated, and where the page `at` belongs */
	bool lost; /* it is not known where pages are that were moved: no more are moved, and the block stays */
	char *copy; /* while the process forks: what was moved, for the child; MAP_FAILED if there is no memory */
	unsigned char moved[]; /* of each page, whether it has been moved and is still there */
};

/* Whoever holds `lock` must not allocate or free anything, because that may unmap pages that were moved; and this returns only when
 * the watcher, who takes `lock`, has heard of it. All this is in pages of its own, so that it can be written to while pages of the
 * program are protected. */
struct rt_moved {
	struct rt_moved *next; /* in the list of the process */
	struct rt_heap *heap;
	size_t page;
	bool gone; /* this is a child of the process */
	bool orphan; /* its context is gone: the watcher frees it, once the program has unmapped all pages */
	int events; /* userfaultfd on all pages that were moved */
	int ends; /* eventfd that ends the watcher */
	pthread_t watcher;
	pthread_mutex_t moving; /* held while pages are moved, zones are added or freed, or the process forks; taken before `lock` */
	pthread_mutex_t lock; /* protects the list of zones, and which pages they have */
	struct zone *zones; /* the newest first */
	_Atomic uint64_t bytes; /* that have been moved so far */
};

/* State of the process, because handlers of fork have no argument: all heaps with memory of the program. */
static struct {
	pthread_mutex_t lock;
	pthread_once_t once;
	struct rt_moved *first;
} forks = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

static void *map_zeroed(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static size_t zone_size(const struct rt_moved *m, size_t len)
{
	return sizeof(struct zone) + len / m->page;
}

/* Finds the next pages from *from on that all have been moved, or all have not, up to `end`. Returns their bytes, 0 behind the last. */
static size_t next_run(const struct rt_moved *m, const struct zone *z, bool moved, uintptr_t *from, uintptr_t end)
{
	size_t i = (*from - z->at) / m->page, n = (end - z->at) / m->page, first;

	while (i < n && z->moved[i] != moved)
		i++;
	for (first = i; i < n && z->moved[i] == moved;)
		i++;
	*from = z->at + first * m->page;
	return (i - first) * m->page;
}

/* ---- userfaultfd ---- */

/* Returns a descriptor with these features, or -1. Without rights it works as well, but a system call of another thread that stores
 * to a protected page then fails. */
static int open_faults(uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (fd >= 0 && ioctl(fd, UFFDIO_API, &api)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool add_pages(int faults, uintptr_t at, size_t len)
{
	struct uffdio_register r = { .range = { .start = at, .len = len }, .mode = UFFDIO_REGISTER_MODE_WP };

	return ioctl(faults, UFFDIO_REGISTER, &r) == 0;
}

static bool protect_pages(int faults, uintptr_t at, size_t len)
{
	struct uffdio_writeprotect w = { .range = { .start = at, .len = len }, .mode = UFFDIO_WRITEPROTECT_MODE_WP };

	return ioctl(faults, UFFDIO_WRITEPROTECT, &w) == 0;
}

/* ---- watching ---- */

/* Notes that pages have gone from these addresses. lost: they are elsewhere now */
static void forget_pages(struct rt_moved *m, uintptr_t start, uintptr_t end, bool lost)
{
	for (struct zone *z = m->zones; z; z = z->next) {
		const uintptr_t from = start > z->at ? start : z->at, to = end < z->at + z->len ? end : z->at + z->len;

		if (from >= to)
			continue;
		memset(z->moved + (from - z->at) / m->page, 0, (to - from) / m->page);
		z->lost |= lost;
	}
}

/* Frees zones of which the program has no page any more, and no request uses the block. The caller holds `moving`. Returns true if
 * there are none left. */
static bool sweep_zones(struct rt_moved *m)
{
	for (struct zone **at = &m->zones, *z; (z = *at);) {
		bool free;

		pthread_mutex_lock(&m->lock);
		free = !z->lost && !memchr(z->moved, true, z->len / m->page);
		pthread_mutex_unlock(&m->lock);
		if (!free || rt_heap_free(m->heap, z->block)) {
			at = &z->next;
			continue;
		}
		pthread_mutex_lock(&m->lock);
		*at = z->next;
		pthread_mutex_unlock(&m->lock);
		munmap(z, zone_size(m, z->len));
	}
	return !m->zones;
}

static void free_moved(struct rt_moved *m)
{
	if (m->events >= 0)
		close(m->events);
	if (m->ends >= 0)
		close(m->ends);
	rt_heap_unref(m->heap);
	pthread_mutex_destroy(&m->moving);
	pthread_mutex_destroy(&m->lock);
	munmap(m, sizeof *m);
}

/* Takes it off the list of the process, whose lock the caller holds. */
static void unlist(const struct rt_moved *m)
{
	struct rt_moved **at = &forks.first;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
}

/* True if this thread alone has what is left of a context, and the program has none of its pages any more. Sets *again if it is not known
 * now. */
static bool is_over(struct rt_moved *m, bool *again)
{
	bool over = false;

	/* Who forks holds these locks, and then takes those of malloc, whose holder may unmap and wait for this thread. */
	*again = pthread_mutex_trylock(&forks.lock);
	if (*again)
		return false;
	*again = pthread_mutex_trylock(&m->moving);
	if (!*again) {
		over = m->orphan && sweep_zones(m);
		pthread_mutex_unlock(&m->moving);
	}
	if (over)
		unlist(m);
	pthread_mutex_unlock(&forks.lock);
	return over;
}

static void *watch(void *arg)
{
	struct rt_moved *m = arg;
	struct pollfd p[] = { { .fd = m->events, .events = POLLIN }, { .fd = m->ends, .events = POLLIN } };
	struct uffd_msg msg;
	bool again = false;

	while (poll(p, 2, again ? AGAIN_MS : -1) < 0 || !p[1].revents) {
		/* Who unmaps may go on as soon as the message is read. So this is done under the lock, which each later bind takes, too. */
		pthread_mutex_lock(&m->lock);
		while (read(m->events, &msg, sizeof msg) == (ssize_t)sizeof msg)
			if (msg.event == UFFD_EVENT_UNMAP)
				forget_pages(m, msg.arg.remove.start, msg.arg.remove.end, false);
			else if (msg.event == UFFD_EVENT_REMAP)
				forget_pages(m, msg.arg.remap.from, msg.arg.remap.from + msg.arg.remap.len, true);
		pthread_mutex_unlock(&m->lock);
		if (is_over(m, &again)) {
			pthread_detach(pthread_self());
			free_moved(m);
			break;
		}
	}
	return NULL;
}

/* ---- fork ---- */

static void copy_zone(const struct rt_moved *m, struct zone *z)
{
	const uintptr_t end = z->at + z->len;
	uintptr_t from = z->at;

	z->copy = mmap(NULL, z->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (size_t n; z->copy != MAP_FAILED && (n = next_run(m, z, true, &from, end)); from += n)
		memcpy(z->copy + (from - z->at), z->place + (from - z->at), n);
}

/* Without a copy there is nothing at these addresses: a child must not change memory of its parent and of other ranks. */
static void replace_zone(const struct rt_moved *m, struct zone *z)
{
	const uintptr_t end = z->at + z->len;
	uintptr_t from = z->at;

	for (size_t n; (n = next_run(m, z, true, &from, end)); from += n) {
		/* Not by mremap: UCX, which MPI libraries load, replaces it by a function that drops the new address. */
		const uintptr_t copy = (uintptr_t)z->copy + (from - z->at);
		const long at = z->copy == MAP_FAILED ? -1 : syscall(SYS_mremap, copy, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, from);

		if (at == -1)
			munmap((void *)from, n);
	}
}

static void before_fork(void)
{
	pthread_mutex_lock(&forks.lock);
	for (struct rt_moved *m = forks.first; m; m = m->next) {
		pthread_mutex_lock(&m->moving);
		pthread_mutex_lock(&m->lock);
		for (struct zone *z = m->zones; z; z = z->next)
			copy_zone(m, z);
		pthread_mutex_unlock(&m->lock);
	}
}

static void after_fork(void)
{
	for (struct rt_moved *m = forks.first; m; m = m->next) {
		for (struct zone *z = m->zones; z; z = z->next)
			if (z->copy != MAP_FAILED)
				munmap(z->copy, z->len);
		pthread_mutex_unlock(&m->moving);
	}
	pthread_mutex_unlock(&forks.lock);
}

static void in_child(void)
{
	for (struct rt_moved *m = forks.first; m; m = m->next) {
		for (struct zone *z = m->zones; z; z = z->next)
			replace_zone(m, z);
		m->gone = true;
	}
	after_fork();
	forks.first = NULL;
}

static void handle_forks(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}

/* ---- making and freeing ---- */

/* Other allocators may give pages back by madvise, and count on it that they are zero afterwards. The file's pages are not. */
static bool is_usual_malloc(void)
{
	Dl_info mine, usual;

	return dladdr(dlsym(RTLD_DEFAULT, "malloc"), &mine) && dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &usual) &&
	       mine.dli_fbase == usual.dli_fbase;
}

struct rt_moved *rt_moved_new(struct rt_heap *h)
{
	struct rt_moved *m = is_usual_malloc() ? map_zeroed(sizeof *m) : NULL;

	if (!m)
		return NULL;
	m->page = (size_t)sysconf(_SC_PAGESIZE);
	m->heap = h;
	atomic_fetch_add(&h->refs, 1);
	pthread_mutex_init(&m->moving, NULL);
	pthread_mutex_init(&m->lock, NULL);
	m->events = open_faults(UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_PAGEFAULT_FLAG_WP |
				UFFD_FEATURE_WP_HUGETLBFS_SHMEM);
	m->ends = eventfd(0, EFD_CLOEXEC);
	if (m->events < 0 || m->ends < 0 || thread_start(&m->watcher, watch, m)) {
		free_moved(m);
		return NULL;
	}
	pthread_once(&forks.once, handle_forks);
	pthread_mutex_lock(&forks.lock);
	m->next = forks.first;
	forks.first = m;
	pthread_mutex_unlock(&forks.lock);
	return m;
}

void rt_moved_free(struct rt_moved *m)
{
	const uint64_t one = 1;
	bool empty;

	if (!m || m->gone)
		return;
	pthread_mutex_lock(&m->moving);
	empty = sweep_zones(m);
	m->orphan = !empty; /* the watcher, which looks again if it could not during this, may free it from here on */
	pthread_mutex_unlock(&m->moving);
	if (!empty)
		return;
	pthread_mutex_lock(&forks.lock);
	unlist(m);
	pthread_mutex_unlock(&forks.lock);
	if (write(m->ends, &one, sizeof one) == (ssize_t)sizeof one)
		pthread_join(m->watcher, NULL);
	free_moved(m);
}

/* ---- moving ---- */

/* True if all of [at, end) is private memory without a file, but for the stack of this thread. */
static bool is_movable(uintptr_t at, uintptr_t end)
{
	const uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
	FILE *f = fopen("/proc/self/maps", "re");
	uintptr_t from, to;
	unsigned long inode;
	char line[512], flags[8];

	while (f && at < end && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %lu", &from, &to, flags, &inode) != 4)
			continue; /* the rest of a long name */
		if (from > at)
			break;
		if (to > at && !strcmp(flags, "rw-p") && !inode && !strstr(line, "[stack") && (stack < from || stack >= to))
			at = to;
	}
	if (f)
		fclose(f);
	return at >= end;
}

/* Maps the heap's file in place of pages of a zone, with their bytes. The caller holds `moving`. Between the protection and its end
 * this thread must not store to any memory that the program may have there. */
static bool move_pages(struct rt_moved *m, const struct zone *z, uintptr_t at, size_t len)
{
	char *place = z->place + (at - z->at);
	int faults = open_faults(UFFD_FEATURE_PAGEFAULT_FLAG_WP);
	sigset_t none, old;
	bool ok;

	rt_heap_fill(m->heap, place, len);
	ok = faults >= 0 && !madvise((void *)at, len, MADV_POPULATE_READ) && !madvise(place, len, MADV_POPULATE_WRITE);
	sigfillset(&none);
	pthread_sigmask(SIG_SETMASK, &none, &old);
	ok = ok && add_pages(faults, at, len) && protect_pages(faults, at, len);
	if (ok) {
		memcpy(place, (void *)at, len);
		ok = mmap((void *)at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, m->heap->fd, place - m->heap->base) != MAP_FAILED;
	}
	if (faults >= 0)
		close(faults); /* wakes those who wait, and lets them store */
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ok;
}

static void lose_zone(struct rt_moved *m, struct zone *z)
{
	pthread_mutex_lock(&m->lock);
	z->lost = true;
	pthread_mutex_unlock(&m->lock);
}

/* Moves the pages of [at, end) that are not in the heap. The caller holds `moving`. */
static bool move_missing(struct rt_moved *m, struct zone *z, uintptr_t at, uintptr_t end)
{
	for (size_t n; (n = next_run(m, z, false, &at, end)); at += n) {
		if (!is_movable(at, at + n) || !move_pages(m, z, at, n))
			return false;
		pthread_mutex_lock(&m->lock);
		memset(z->moved + (at - z->at) / m->page, true, n / m->page);
		pthread_mutex_unlock(&m->lock);
		atomic_fetch_add(&m->bytes, n);
		if (madvise((void *)at, m->page, MADV_RANDOM) || !add_pages(m->events, at, n)) {
			lose_zone(m, z);
			return false;
		}
		madvise((void *)at, n, MADV_POPULATE_WRITE);
	}
	return true;
}

/* Returns the zone in which [at, end) has been moved, else one that has a place for it, else NULL. The caller holds `moving`. */
static struct zone *find_zone(struct rt_moved *m, uintptr_t at, uintptr_t end)
{
	struct zone *found = NULL;
	bool whole = false;

	pthread_mutex_lock(&m->lock);
	for (struct zone *z = m->zones; z && !whole; z = z->next) {
		if (z->lost || at < z->at || end > z->at + z->len)
			continue;
		whole = !memchr(z->moved + (at - z->at) / m->page, false, (end - at) / m->page);
		found = whole || !found ? z : found;
	}
	pthread_mutex_unlock(&m->lock);
	return found;
}

/* Adds a zone for [at, end), whose place is as far from the begin of a huge page as these addresses are, so that huge pages fit both.
 * Returns NULL if the heap has no room. The caller holds `moving`. */
static struct zone *add_zone(struct rt_moved *m, uintptr_t at, uintptr_t end)
{
	const size_t len = end - at;
	uint64_t off;
	char *block = rt_heap_alloc_scratch(m->heap, len + RT_HEAP_STEP, &off);
	struct zone *z = block ? map_zeroed(zone_size(m, len)) : NULL;

	if (!z) {
		if (block)
			rt_heap_free(m->heap, block);
		return NULL;
	}
	*z = (struct zone){ .at = at, .len = len, .block = block, .place = block + (at - off) % RT_HEAP_STEP, .copy = MAP_FAILED };
	pthread_mutex_lock(&m->lock);
	z->next = m->zones;
	m->zones = z;
	pthread_mutex_unlock(&m->lock);
	return z;
}

/* Adds a zone for [at, end) and what is around it; for these pages alone if the heap has no room for so many. */
static struct zone *add_wide_zone(struct rt_moved *m, uintptr_t at, uintptr_t end)
{
	const uintptr_t lo = at > AROUND ? at - AROUND : 0, hi = UINTPTR_MAX - AROUND > end ? end + AROUND : end;
	struct zone *z;

	sweep_zones(m);
	z = add_zone(m, lo, hi);
	return z ? z : add_zone(m, at, end);
}

bool rt_moved_bind(struct rt_moved *m, const void *ptr, size_t len, uint64_t *off)
{
	const uintptr_t from = (uintptr_t)ptr;
	uintptr_t at, end;
	struct zone *z;
	bool ok;

	if (!m || m->gone || len < LEAST || from + len + m->page < from)
		return false;
	at = from - from % m->page;
	end = align_up(from + len, m->page);
	pthread_mutex_lock(&m->moving);
	z = find_zone(m, at, end);
	if (!z && is_movable(at, end))
		z = add_wide_zone(m, at, end);
	ok = z && move_missing(m, z, at, end) && rt_heap_bind(m->heap, z->place + (from - z->at), len, off);
	pthread_mutex_unlock(&m->moving);
	return ok;
}

uint64_t rt_moved_bytes(const struct rt_moved *m)
{
	return m ? atomic_load(&m->bytes) : 0;
}
