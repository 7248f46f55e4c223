/* SPDX-License-Identifier: BSD-3-Clause
 * The forms of waiting and testing in diff. Arrays mix persistent collectives with requests of the library, inactive ones and null
 * ones, in a random order. Each request must be reported as complete once, with the status that MPI prescribes. */
#include "diff.h"

#include <sched.h>
#include <string.h>

enum { MOST = MOST_REQUESTS + MOST_NATIVE + 8, NATIVE = 100, NOTHING = -1 };

/* An array of requests, and what each of them is: the number of a collective, NATIVE plus that of another request, or NOTHING for
 * those that are not active. */
struct list {
	int n;
	MPI_Request at[MOST];
	int what[MOST];
	MPI_Status status[MOST];
	bool ignore;
};

static void unset(MPI_Status *st)
{
	memset(st, 0, sizeof(*st));
	st->MPI_SOURCE = st->MPI_TAG = -77;
	st->MPI_ERROR = MPI_SUCCESS;
}

static void check_empty(struct run *u, const struct request *q, const MPI_Status *st, const char *after)
{
	int count = -1, cancelled = -1, source = st->MPI_SOURCE;

#ifdef OMPI_MAJOR_VERSION
	/* It completes requests itself that move nothing. */
	if (q && source == MPI_PROC_NULL)
		source = MPI_ANY_SOURCE;
#endif
	if (q && (u->opt->lenient || u->opt->blocking))
		return;
	MPI_Get_count(st, MPI_BYTE, &count);
	MPI_Test_cancelled(st, &cancelled);
	if (source != MPI_ANY_SOURCE || st->MPI_TAG != MPI_ANY_TAG || st->MPI_ERROR != MPI_SUCCESS || count != 0 || cancelled != 0)
		broken(u, q, "the status after %s is not empty: source %d, tag %d, error %d, count %d, cancelled %d", after,
			st->MPI_SOURCE, st->MPI_TAG, st->MPI_ERROR, count, cancelled);
}

static void finish_native(struct run *u, struct native *t, MPI_Request handle, const MPI_Status *st, const char *after)
{
	int count;

	if (!t->active)
		broken(u, NULL, "%s reports a request of the library twice", after);
	if ((handle == MPI_REQUEST_NULL) == t->persistent)
		broken(u, NULL, "%s leaves a wrong handle of a request of the library", after);
	t->active = false;
	t->handle = handle;
	if (t->receives && t->buf[0] != t->want)
		broken(u, NULL, "after %s a message of the library has %d, not %d", after, t->buf[0], t->want);
	if (!t->receives || !st)
		return;
	MPI_Get_count(st, MPI_INT, &count);
	if (st->MPI_SOURCE != t->source || st->MPI_TAG != t->tag || count != 4)
		broken(u, NULL, "after %s the status of a receive has source %d, tag %d, count %d, not %d, %d, 4", after, st->MPI_SOURCE,
			st->MPI_TAG, count, t->source, t->tag);
}

/* Request number i of a list is complete. */
static void finish(struct run *u, struct list *l, int i, const MPI_Status *st, const char *after)
{
	int what = l->what[i];
	struct request *q = what >= 0 && what < NATIVE ? &u->r[what] : NULL;

	st = l->ignore ? NULL : st;
	if (what == NOTHING)
		broken(u, NULL, "%s reports a request that was not active", after);
	if (!q) {
		finish_native(u, &u->nat[what - NATIVE], l->at[i], st, after);
	} else {
		if (!q->active)
			broken(u, q, "%s reports it twice", after);
		if (l->at[i] != q->handle)
			broken(u, q, "%s changes the handle", after);
		q->active = false;
		q->complete = true;
		if (st)
			check_empty(u, q, st, after);
	}
	l->what[i] = NOTHING;
}

static void add(struct list *l, MPI_Request r, int what)
{
	l->at[l->n] = r;
	l->what[l->n] = what;
	unset(&l->status[l->n]);
	l->n++;
}

/* `others`: also collectives that are active and need not complete. */
static void gather(struct run *u, struct list *l, const bool *mine, bool others)
{
	struct list in = { 0 };
	int order[MOST], i;

	for (i = 0; i < u->n; i++) {
		struct request *q = &u->r[i];

		if (q->active && (mine[i] || others))
			add(&in, q->handle, i);
		else if (q->present && !q->active && !q->freed && one_in(&u->own, 3))
			add(&in, q->handle, NOTHING);
	}
	for (i = 0; i < MOST_NATIVE; i++)
		if (u->nat[i].active)
			add(&in, u->nat[i].handle, NATIVE + i);
	for (i = below(&u->own, 3); i > 0; i--)
		add(&in, MPI_REQUEST_NULL, NOTHING);
	for (i = 0; i < in.n; i++)
		order[i] = i;
	shuffle(&u->own, order, in.n);
	l->n = 0;
	l->ignore = one_in(&u->own, 3);
	for (i = 0; i < in.n; i++)
		add(l, in.at[order[i]], in.what[order[i]]);
}

static int active(const struct list *l)
{
	int i, n = 0;

	for (i = 0; i < l->n; i++)
		n += l->what[i] != NOTHING;
	return n;
}

/* True while there is something that must complete. */
static bool left(const struct run *u, const struct list *l, const bool *mine)
{
	int i;

	for (i = 0; i < l->n; i++)
		if (l->what[i] >= NATIVE || (l->what[i] != NOTHING && mine[l->what[i]]))
			return true;
	(void)u;
	return false;
}

/* ---- the forms ---- */

static void wait_each(struct run *u, struct list *l)
{
	int i;

	for (i = 0; i < l->n; i++) {
		MUST(u, MPI_Wait(&l->at[i], l->ignore ? MPI_STATUS_IGNORE : &l->status[i]));
		if (l->what[i] != NOTHING)
			finish(u, l, i, &l->status[i], "MPI_Wait");
		else if (!l->ignore)
			check_empty(u, NULL, &l->status[i], "MPI_Wait of an inactive request");
	}
}

static void all_finished(struct run *u, struct list *l, const char *after)
{
	int i;

	for (i = 0; i < l->n; i++) {
		if (l->what[i] != NOTHING)
			finish(u, l, i, &l->status[i], after);
		else if (!l->ignore)
			check_empty(u, NULL, &l->status[i], after);
	}
}

static void wait_all(struct run *u, struct list *l)
{
	MUST(u, MPI_Waitall(l->n, l->at, l->ignore ? MPI_STATUSES_IGNORE : l->status));
	all_finished(u, l, "MPI_Waitall");
}

static void test_all(struct run *u, struct list *l)
{
	int flag = 0;

	while (!flag) {
		MUST(u, MPI_Testall(l->n, l->at, &flag, l->ignore ? MPI_STATUSES_IGNORE : l->status));
		if (!flag)
			sched_yield();
	}
	all_finished(u, l, "MPI_Testall");
}

/* One turn of MPI_Waitany or MPI_Testany. */
static void any(struct run *u, struct list *l, bool test)
{
	const char *name = test ? "MPI_Testany" : "MPI_Waitany";
	int i = -5, flag = 1, before = active(l);
	MPI_Status st, *to = l->ignore ? MPI_STATUS_IGNORE : &st;

	unset(&st);
	if (test)
		MUST(u, MPI_Testany(l->n, l->at, &i, &flag, to));
	else
		MUST(u, MPI_Waitany(l->n, l->at, &i, to));
	if (!flag) {
		if (before == 0)
			broken(u, NULL, "MPI_Testany without an active request gives flag 0");
		if (i != MPI_UNDEFINED)
			broken(u, NULL, "MPI_Testany gives flag 0 and index %d", i);
		sched_yield();
	} else if (i == MPI_UNDEFINED) {
		if (before > 0)
			broken(u, NULL, "%s gives MPI_UNDEFINED, though %d requests are active", name, before);
		/* MPICH 4.0.2 leaves the status as it was. */
	} else if (i < 0 || i >= l->n) {
		broken(u, NULL, "%s gives index %d of %d", name, i, l->n);
	} else {
		finish(u, l, i, &st, name);
	}
}

static void some(struct run *u, struct list *l, bool test)
{
	const char *name = test ? "MPI_Testsome" : "MPI_Waitsome";
	int n = -5, indices[MOST], i, before = active(l);
	MPI_Status st[MOST];

	for (i = 0; i < l->n; i++)
		unset(&st[i]);
	if (test)
		MUST(u, MPI_Testsome(l->n, l->at, &n, indices, l->ignore ? MPI_STATUSES_IGNORE : st));
	else
		MUST(u, MPI_Waitsome(l->n, l->at, &n, indices, l->ignore ? MPI_STATUSES_IGNORE : st));
	if ((n == MPI_UNDEFINED) != (before == 0))
		broken(u, NULL, "%s gives %d complete requests, and %d are active", name, n, before);
	if (n == 0 && !test)
		broken(u, NULL, "MPI_Waitsome returns without a complete request");
	for (i = 0; i < n; i++) {
		if (indices[i] < 0 || indices[i] >= l->n)
			broken(u, NULL, "%s gives index %d of %d", name, indices[i], l->n);
		finish(u, l, indices[i], &st[i], name);
	}
	if (n == 0)
		sched_yield();
}

static void test_each(struct run *u, struct list *l)
{
	int i, flag;

	while (active(l) > 0)
		for (i = 0; i < l->n; i++) {
			flag = -1;
			unset(&l->status[i]);
			MUST(u, MPI_Test(&l->at[i], &flag, l->ignore ? MPI_STATUS_IGNORE : &l->status[i]));
			if (l->what[i] == NOTHING) {
				if (!flag)
					broken(u, NULL, "MPI_Test of an inactive request gives flag 0");
				if (!l->ignore)
					check_empty(u, NULL, &l->status[i], "MPI_Test of an inactive request");
			} else if (flag) {
				finish(u, l, i, &l->status[i], "MPI_Test");
				if (l->at[i] != MPI_REQUEST_NULL) /* inactive now: then it needs no more tests */
					l->at[i] = l->at[--l->n], l->what[i] = l->what[l->n], i--;
			} else {
				sched_yield();
			}
		}
}

/* True for requests of the library that MPI_Request_get_status spoils: MPICH 4.2.1 makes a complete persistent one inactive, and
 * its status is lost. */
static bool must_not_ask(const struct run *u, int what)
{
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40100000
	return what >= NATIVE && u->nat[what - NATIVE].persistent;
#else
	(void)u, (void)what;
	return false;
#endif
}

/* MPI_Request_get_status tells that a request is complete, and it stays active. */
static void ask_each(struct run *u, struct list *l)
{
	int i, flag, again;

	for (i = 0; i < l->n; i++) {
		if (must_not_ask(u, l->what[i]))
			continue;
		for (flag = 0; !flag;) {
			unset(&l->status[i]);
			MUST(u, MPI_Request_get_status(l->at[i], &flag, l->ignore ? MPI_STATUS_IGNORE : &l->status[i]));
			if (!flag)
				sched_yield();
		}
		if (l->what[i] == NOTHING)
			continue;
		MUST(u, MPI_Request_get_status(l->at[i], &again, MPI_STATUS_IGNORE));
		if (!again)
			broken(u, NULL, "MPI_Request_get_status gives flag 1, then flag 0");
		if (!l->ignore && l->what[i] < NATIVE)
			check_empty(u, &u->r[l->what[i]], &l->status[i], "MPI_Request_get_status");
	}
	if (one_in(&u->own, 2))
		wait_each(u, l);
	else
		some(u, l, one_in(&u->own, 2));
	if (active(l) > 0)
		wait_all(u, l);
}

void wait_for(struct run *u, const bool *mine)
{
	static const char *const names[] = { "MPI_Wait", "MPI_Waitall", "MPI_Testall", "MPI_Test", "MPI_Request_get_status", "MPI_Waitany",
		"MPI_Testany", "MPI_Waitsome", "MPI_Testsome", "a mixture" };
	static void (*const whole[])(struct run *, struct list *) = { wait_each, wait_all, test_all, test_each, ask_each };
	int form = below(&u->own, 10);
	struct list l;

	here(u, "waits by %s", names[form]);
	u->waits++;
	gather(u, &l, mine, form >= 5 && one_in(&u->own, 3));
	if (form < 5)
		whole[form](u, &l);
	while (form >= 5 && left(u, &l, mine)) {
		int turn = form == 9 ? below(&u->own, 4) : form - 5;

		if (turn < 2)
			any(u, &l, turn == 1);
		else
			some(u, &l, turn == 3);
	}
	if (form == 5 || form == 6)
		if (active(&l) == 0)
			any(u, &l, form == 6);
	if (form == 7 || form == 8)
		if (active(&l) == 0)
			some(u, &l, form == 8);
}

void poke(struct run *u, struct request *q)
{
	struct list l = { .n = 0 };
	int flag = -1;

	if (!q->active)
		return;
	here(u, "tests once");
	add(&l, q->handle, (int)(q - u->r));
	switch (below(&u->own, 3)) {
	case 0:
		MUST(u, MPI_Test(&l.at[0], &flag, &l.status[0]));
		if (flag)
			finish(u, &l, 0, &l.status[0], "MPI_Test");
		break;
	case 1:
		MUST(u, MPI_Request_get_status(q->handle, &flag, &l.status[0]));
		break;
	default:
		any(u, &l, true);
	}
}

void idle(struct run *u)
{
	bool none[MOST_REQUESTS] = { false };
	struct list l = { .n = 0 }, all;
	int i;

	here(u, "waits for inactive requests");
	gather(u, &all, none, false);
	for (i = 0; i < all.n; i++)
		if (all.what[i] == NOTHING)
			add(&l, all.at[i], NOTHING);
	switch (below(&u->own, 7)) {
	case 0:
		wait_each(u, &l);
		break;
	case 1:
		wait_all(u, &l);
		break;
	case 2:
		test_all(u, &l);
		break;
	case 3:
		any(u, &l, false);
		break;
	case 4:
		any(u, &l, true);
		break;
	case 5:
		some(u, &l, false);
		break;
	default:
		some(u, &l, true);
	}
}
