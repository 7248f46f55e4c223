/* SPDX-License-Identifier: BSD-3-Clause
 * From a text to what the executor needs. */
#ifndef TESTS_MUTANTS_LOAD_H
#define TESTS_MUTANTS_LOAD_H

#include "compiler/compile.h"
#include "tests/mutants/exec.h"

/* A text, whatever the checks that can be turned off say of it. */
struct subject {
	char *text;
	void *image;
	struct bin bin;
	struct goal_diags *diags;
	unsigned file; /* of diags */
};

/* The same at one size, with what it must do. */
struct sized {
	struct ir_graph graph;
	struct claim claim;
	struct expected *wants; /* by rank */
	struct world *world;
};

/* nranks: for that size only; 0: for all. 0, or -ERR_x; messages are in diags. subject_close also after an error. */
int subject_open(struct subject *s, const char *file, uint32_t nranks);
void subject_close(struct subject *s);

/* which: a sample of arguments (compiler/ir/args.h). -ERR_ASSERT: the schedule is not for these. */
int sized_open(struct sized *z, const struct subject *s, uint32_t nranks, int64_t count, unsigned which, int64_t root);
void sized_close(struct sized *z);

#endif
