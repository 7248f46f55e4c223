/* SPDX-License-Identifier: BSD-3-Clause
 * The cases of rt-cases, in a table for each subject, and the functions and schedules that they share. */
#ifndef TESTS_RT_CASES_H
#define TESTS_RT_CASES_H

#include "tests/rt/team.h"

#include <sys/types.h>

#define ELEMENTS(a) (sizeof(a) / sizeof *(a))

struct test_case {
	const char *name;
	int (*fn)(struct member *);
	int sizes[4]; /* numbers of ranks to run it with; a 0 ends the list */
	bool reduces; /* the case runs once more with schedules that goalc has fused */
};

/* The tables. Each ends with a row whose name is NULL. */
extern const struct test_case argument_cases[], data_cases[], group_cases[], leaving_cases[], memory_cases[], request_cases[], start_cases[], stock_cases[];

/* Texts of schedules. case_fold and case_fold_left reduce along a chain, from the right and from the left, so that a wrong
 * order of operands shows. In the star rank 0 adds up what the others send; in case_answer it sends them the sums, too. */
extern const char case_fold[], case_fold_left[], case_star[], case_answer[];
/* Process ID of the program. A rank is a thread if getpid() returns this, else a process. */
extern pid_t case_main_pid;

/* Loads a text, or the binary that goalc has made of it. Returns NULL on error. */
MPIX_Sched case_load(struct member *m, const char *text);
struct MPIX_Sched_bind case_bind(void *const *buffers, size_t n, size_t count, enum MPIX_Sched_basic basic);
/* Binds the ring to 3000 integers each way. */
int case_bind_ring(struct member *m, MPIX_Sched_group g, int *in, int *out, MPIX_Sched_request *req);
/* True if the detail of the last error contains a text. If not, prints both. */
bool case_detail_has(struct member *m, const char *text);
double case_seconds(void);

#endif
