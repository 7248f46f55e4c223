/* SPDX-License-Identifier: BSD-3-Clause
 * Messages between goalrun and its agents. */
#include "goalrun/hosts.h"
#include "util/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST (1u << 30) /* most bytes of a message */

struct head {
	uint32_t magic, what;
	uint64_t size;
};
#define MAGIC 0x474f5257u

void wire_open(struct wire *w, int in, int out)
{
	*w = (struct wire){ .in = in, .out = out, .sent_at = clock_now_ns(), .heard = clock_now_ns() };
	fcntl(in, F_SETFL, O_NONBLOCK);
	fcntl(out, F_SETFL, O_NONBLOCK);
}

void wire_close(struct wire *w)
{
	if (w->in >= 0)
		close(w->in);
	if (w->out >= 0)
		close(w->out);
	VEC_FREE(&w->got);
	VEC_FREE(&w->put);
	w->in = w->out = -1;
	w->broken = true;
}

static void append_bytes(struct wire *w, const void *p, size_t n)
{
	if (!w->broken && VEC_APPEND(&w->put, p, n))
		w->broken = true;
}

void wire_put(struct wire *w, enum wire_what what, const void *a, size_t na, const void *b, size_t nb)
{
	const struct head h = { MAGIC, what, na + nb };

	append_bytes(w, &h, sizeof h);
	append_bytes(w, a, na);
	append_bytes(w, b, nb);
}

void wire_flush(struct wire *w)
{
	if (!w->broken && clock_now_ns() - w->sent_at > WIRE_ALIVE_NS) {
		w->sent_at = clock_now_ns();
		wire_put(w, WIRE_ALIVE, NULL, 0, NULL, 0);
	}
	while (!w->broken && w->sent < w->put.n) {
		ssize_t n = write(w->out, w->put.at + w->sent, w->put.n - w->sent);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0)
			break; /* the other side has stopped reading, but what it sent before can still be read */
		w->sent += (size_t)n;
	}
	w->put.n = w->sent = 0;
}

void wire_fill(struct wire *w)
{
	if (w->taken) {
		memmove(w->got.at, w->got.at + w->taken, w->got.n - w->taken);
		w->got.n -= w->taken;
		w->taken = 0;
	}
	while (!w->broken) {
		ssize_t n;

		if (VEC_RESERVE(&w->got, w->got.n + 65536)) {
			w->broken = true;
			return;
		}
		n = read(w->in, w->got.at + w->got.n, 65536);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			w->broken = true;
			return;
		}
		w->heard = clock_now_ns();
		w->got.n += (size_t)n;
		if (n < 65536)
			return;
	}
}

bool wire_next(struct wire *w, uint32_t *what, char **data, size_t *size)
{
	struct head h;

	if (w->got.n - w->taken < sizeof h)
		return false;
	memcpy(&h, w->got.at + w->taken, sizeof h);
	if (h.magic != MAGIC || h.size > MOST) {
		w->broken = true; /* the other side is not goalrun */
		w->got.n = w->taken;
		return false;
	}
	if (w->got.n - w->taken - sizeof h < h.size)
		return false;
	*what = h.what;
	*data = w->got.at + w->taken + sizeof h;
	*size = h.size;
	w->taken += sizeof h + h.size;
	return true;
}

void run_parts(struct run_launch *l, struct run_part parts[RUN_PARTS])
{
	const struct run_options *o = l->o;
	const size_t iters = (size_t)o->iters, cases = o->ncases;
	const struct run_part all[RUN_PARTS] = {
		{ (char *)l->total, iters * sizeof *l->total, cases },
		{ (char *)l->start, iters * sizeof *l->start, cases },
		{ (char *)l->init, sizeof *l->init, cases },
		{ (char *)l->cpu, sizeof *l->cpu, cases },
		{ (char *)l->stats, sizeof *l->stats, 1 },
		{ (char *)l->error, sizeof *l->error, 1 },
	};

	memcpy(parts, all, sizeof all);
}
