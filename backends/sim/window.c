/* SPDX-License-Identifier: BSD-3-Clause
 * Images of which only a part is in memory, see window.h. The file is read, not mapped: if it becomes shorter meanwhile, that is an
 * error and no signal. */
#include "backends/sim/window.h"

#include "format/check.h"
#include "util/mem.h"

#include <sys/mman.h>
#include <unistd.h>

#define WORTH_IT ((size_t)4 << 20) /* bytes of RANKS */
#define BLOCK ((uint64_t)1 << 20) /* bytes that are read at once; a multiple of a page */

static int read_range(const struct sim_window *w, uint64_t from, uint64_t to)
{
	while (from < to) {
		const ssize_t n = file_at(w->file, from, w->image + from, (size_t)(to - from));

		if (n < 0)
			return (int)n;
		if (!n)
			return -ERR_TRUNCATED;
		from += (uint64_t)n;
	}
	return 0;
}

/* Returns the section RANKS of a file, or NULL. The section table may be anything: bin_open has not checked it yet. */
static const struct bin_section *find_ranks(const struct sim_window *w)
{
	const struct bin_header *h = (const struct bin_header *)(const void *)w->image;
	const struct bin_section *s = (const struct bin_section *)(const void *)(h + 1);

	for (uint32_t i = 0; i < h->nsections && i < BIN_S_TYPES; i++)
		if (s[i].type == BIN_S_RANKS)
			return s[i].off <= w->size && s[i].len <= w->size - s[i].off && s[i].len >= WORTH_IT ? &s[i] : NULL;
	return NULL;
}

int window_open(struct sim_window *w, struct file *f)
{
	const struct bin_section *ranks;
	int err;

	*w = (struct sim_window){ .file = f, .size = f->len };
	if (f->fd < 0 || f->len < WORTH_IT)
		return -ERR_STATE;
	w->image = mmap(NULL, w->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (w->image == MAP_FAILED) {
		w->image = NULL;
		return -ERR_NOMEM;
	}
	err = read_range(w, 0, BLOCK);
	ranks = err ? NULL : find_ranks(w);
	if (ranks) {
		w->from = w->to = ranks->off;
		err = read_range(w, BLOCK, ranks->off);
		err = err ? err : read_range(w, ranks->off + ranks->len, w->size);
	}
	if (err || !ranks)
		window_close(w);
	return err ? err : ranks ? 0 : -ERR_STATE;
}

void window_close(struct sim_window *w)
{
	if (w->image)
		munmap(w->image, w->size);
	*w = (struct sim_window){ 0 };
}

/* Gives memory back: the pages that lie between two offsets. */
static void drop_range(const struct sim_window *w, uint64_t from, uint64_t to)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1, first = (from + page) & ~page, last = to & ~page;

	if (first < last)
		madvise(w->image + first, last - first, MADV_DONTNEED);
}

/* Reads the bytes [from, to) of RANKS, which ends at `end`, and some that follow them. */
static int read_part(struct sim_window *w, uint64_t from, uint64_t to, uint64_t end)
{
	const uint64_t more = w->to + BLOCK < end ? w->to + BLOCK : end;
	int err;

	if (from < w->from || from > w->to) {
		drop_range(w, w->from, w->to);
		w->from = w->to = from;
		return read_part(w, from, to, end);
	}
	if (from - w->from >= BLOCK) {
		drop_range(w, w->from, from);
		w->from = from;
	}
	if (to <= w->to)
		return 0;
	err = read_range(w, w->to, to > more ? to : more);
	w->to = err ? w->to : to > more ? to : more;
	return err;
}

int window_read(struct sim_window *w, const struct bin *b, uint32_t row)
{
	const uint64_t begin = (uint64_t)(b->ranks - w->image), end = begin + b->ranks_len;
	const uint64_t from = row < b->ndir ? begin + (uint64_t)b->dir[row].off * 4 : end;
	struct bin_opened v;
	int err;

	if (from > end || end - from < sizeof(struct bin_rank))
		return -ERR_CORRUPT;
	err = read_part(w, from, from + sizeof(struct bin_rank), end);
	err = err ? err : bin_opened_at(b, row, &v);
	return err ? err : read_part(w, from, from + v.bytes, end);
}
