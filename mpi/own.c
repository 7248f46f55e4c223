/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules of the user's choice: GOAL_MPI_BCAST=FILE for all calls of MPI_Bcast_init (and so on), or the key goal_schedule of
 * the call's MPI_Info, which comes first. A schedule that does not do what the collective does is refused. It is proved by one
 * rank, once for each size, unless its binary records the proof. */
#include "mpi/plan.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most ranks for which a schedule is proved when it is used. */
#define MOST_RANKS 64

/* A file that was loaded. */
struct own {
	struct own *next;
	char *path;
	MPIX_Sched sched;
	int proved; /* the last size for which it was proved */
};

static struct {
	pthread_mutex_t lock;
	struct own *first;
} files = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* What the environment chooses, by collective; NULL: nothing. Read once: it is compared between ranks only when a communicator is
 * seen first, and to look for a name takes longer than the rest of a call. */
static struct {
	pthread_once_t once;
	char *path[GM_COLLS];
} chosen = { .once = PTHREAD_ONCE_INIT };

/* Reads the variable of each collective: GOAL_MPI_BCAST. */
static void read_chosen(void)
{
	for (int coll = 0; coll < GM_COLLS; coll++) {
		char name[64];
		int n = snprintf(name, sizeof name, "GOAL_%s", gm_specs[coll].name);
		const char *path;

		for (int i = 0; i < n; i++)
			name[i] = (char)toupper((unsigned char)name[i]);
		path = secure_getenv(name);
		chosen.path[coll] = path ? strdup(path) : NULL;
	}
}

static const char *path_of(enum gm_coll coll)
{
	pthread_once(&chosen.once, read_chosen);
	return chosen.path[coll];
}

int gm_own_hash(void)
{
	unsigned hash = 0;

	for (int coll = 0; coll < GM_COLLS; coll++) {
		const char *s = path_of((enum gm_coll)coll);

		hash = hash * 31 + (s != NULL);
		while (s && *s)
			hash = hash * 31 + (unsigned char)*s++;
	}
	return (int)(hash & INT_MAX);
}

const char *gm_own_path(const struct gm_call *call, const struct gm_comm *comm, char *buf, int size)
{
	int there = 0;

	if (call->info != MPI_INFO_NULL && !PMPI_Info_get(call->info, "goal_schedule", size - 1, buf, &there) && there)
		return buf;
	return comm->chosen ? path_of(call->coll) : NULL;
}

static bool trusted(void)
{
	const char *s = secure_getenv("GOAL_MPI_TRUST");

	return s && !strcmp(s, "1");
}

/* Returns the file of that path, and loads it if it is new; NULL with the library's error. The caller holds the lock. */
static struct own *open_file(const char *path)
{
	struct own *o = files.first;

	while (o && strcmp(o->path, path) != 0)
		o = o->next;
	if (o)
		return o;
	o = calloc(1, sizeof *o);
	if (o)
		o->path = strdup(path);
	if (!o || !o->path || gm_lib.load(gm_ctx(), path, &o->sched)) {
		if (o)
			free(o->path);
		free(o);
		return NULL;
	}
	o->next = files.first;
	files.first = o;
	return o;
}

/* Loads the file, and on the first rank proves what it does. Writes the reason to `text` if it is refused. */
static bool accept(const struct gm_plan *p, const char *path, char *text, size_t size, MPIX_Sched *sched)
{
	struct MPIX_Sched_info info = { .struct_size = sizeof info };
	struct own *o;
	bool good = false;

	pthread_mutex_lock(&files.lock);
	o = open_file(path);
	if (!o || gm_lib.get_info(o->sched, &info)) {
		gm_lib.error_detail(gm_ctx(), text, size);
	} else if (!info.implements || strcmp(info.implements, p->spec->name) != 0) {
		snprintf(text, size, "%s implements %s, not %s", path, info.implements && *info.implements ? info.implements : "nothing",
			 p->spec->name);
	} else if (p->comm->rank || o->proved == p->comm->size || trusted()) {
		good = true;
	} else if (gm_lib.verify(o->sched, p->comm->size, MOST_RANKS)) {
		gm_lib.error_detail(gm_ctx(), text, size);
	} else {
		o->proved = p->comm->size;
		good = true;
	}
	*sched = good ? o->sched : NULL;
	pthread_mutex_unlock(&files.lock);
	return good;
}

const char *gm_own_load(struct gm_plan *p, const char *path, char *text, int size, MPIX_Sched *sched)
{
	int first = p->comm->size, mine;

	*text = '\0';
	mine = accept(p, path, text, (size_t)size, sched) ? p->comm->size : p->comm->rank;
	if (PMPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, p->call->comm) || first == p->comm->size)
		return NULL;
	PMPI_Bcast(text, size, MPI_CHAR, first, p->call->comm);
	*sched = NULL;
	return text;
}

void gm_own_end(void)
{
	while (files.first) {
		struct own *o = files.first;

		files.first = o->next;
		gm_lib.unload(&o->sched);
		free(o->path);
		free(o);
	}
}
