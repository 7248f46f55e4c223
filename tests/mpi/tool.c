/* SPDX-License-Identifier: BSD-3-Clause
 * The tools' interface of MPI: with Open MPI, two counters say how many persistent collectives are served, and how many are not.
 * It is begun after MPI and ended before it: Open MPI 4.1 crashes otherwise. */
#include "persistent.h"

#include <stdio.h>
#include <string.h>

enum { SERVED, LEFT, COUNTERS };
static const char *const names[COUNTERS] = { "coll_goal_served", "coll_goal_left" };
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[COUNTERS];

/* Opens the counters. Returns how many there are. */
static int find(void)
{
	int n = 0, found = 0;

	MPI_T_pvar_get_num(&n);
	for (int i = 0; i < n; i++) {
		char name[256], text[256];
		int name_len = sizeof name, text_len = sizeof text, verbosity, class, bind, readonly, continuous, atomic, count;
		MPI_Datatype type;
		MPI_T_enum values;

		if (MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &class, &type, &values, text, &text_len, &bind, &readonly,
					&continuous, &atomic))
			continue;
		for (int k = 0; k < COUNTERS; k++)
			if (!strcmp(name, names[k]) && class == MPI_T_PVAR_CLASS_COUNTER && type == MPI_UNSIGNED_LONG_LONG)
				found += !MPI_T_pvar_handle_alloc(session, i, NULL, &handles[k], &count);
	}
	return found;
}

static unsigned long long value(int k)
{
	unsigned long long v = 0;

	MPI_T_pvar_read(session, handles[k], &v);
	return v;
}

static int right(unsigned long long served, unsigned long long left)
{
	const unsigned long long v[COUNTERS] = { value(SERVED), value(LEFT) };

	if (v[SERVED] == served && v[LEFT] == left)
		return 1;
	fprintf(stderr, "tool: %llu served and %llu left, not %llu and %llu\n", v[SERVED], v[LEFT], served, left);
	return 0;
}

int main(int argc, char **argv)
{
	int level, good;
	char data = 0;
	MPI_Request requests[3];

	MPI_Init(&argc, &argv);
	MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
	MPI_T_pvar_session_create(&session);
	good = find() == COUNTERS && right(0, 0);
	for (int i = 0; i < 3; i++)
		MPI_Bcast_init(&data, 1, MPI_CHAR, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
	good = good && right(3, 0);
	MPI_Startall(3, requests);
	MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 3; i++)
		MPI_Request_free(&requests[i]);
	MPI_T_pvar_session_free(&session);
	MPI_T_finalize();
	MPI_Finalize();
	puts(good ? "tool: right" : "tool: wrong");
	return !good;
}
