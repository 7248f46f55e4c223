/* SPDX-License-Identifier: BSD-3-Clause
 * The cases of rt-cases, a table for each subject, and what they share. */
#ifndef TESTS_RT_CASES_H
#define TESTS_RT_CASES_H

#include "tests/rt/team.h"

#include <sys/types.h>

#define ELEMENTS(a) (sizeof(a) / sizeof *(a))

struct test_case {
	const char *name;
	int (*fn)(struct member *);
	int sizes[4]; /* numbers of ranks, up to a 0 */
	bool reduces; /* it runs once more with schedules that goalc has fused */
};

/* Each ends with a row without a name. */
extern const struct test_case argument_cases[], data_cases[], group_cases[], leaving_cases[], memory_cases[], request_cases[];

/* Schedules. The folds reduce along a chain, from the right and from the left, so that the order of operands shows; on the
 * ring each rank sends "mine" to its right neighbour. */
extern const char case_fold[], case_fold_left[], case_ring[];
/* A rank whose process has another number is a process of its own, not a thread. */
extern pid_t case_main_pid;

/* Loads a text, or what goalc has made of it; NULL if it cannot. */
MPIX_Sched case_load(struct member *m, const char *text);
struct MPIX_Sched_bind case_bind(void *const *buffers, size_t n, size_t count, enum MPIX_Sched_basic basic);
/* Binds the ring to 3000 integers each way. */
int case_bind_ring(struct member *m, MPIX_Sched_group g, int *in, int *out, MPIX_Sched_request *req);
/* True if the detail of the last error contains a text; prints both if not. */
bool case_detail_has(struct member *m, const char *text);
double case_seconds(void);

#endif
