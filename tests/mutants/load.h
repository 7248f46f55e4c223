/* SPDX-License-Identifier: BSD-3-Clause
 * Makes from a text the data that the executor needs. */
#ifndef TESTS_MUTANTS_LOAD_H
#define TESTS_MUTANTS_LOAD_H

#include "compiler/compile.h"
#include "tests/mutants/exec.h"

/* A compiled text. Checks that can be turned off are turned off. */
struct subject {
	char *text;
	void *image;
	struct bin bin;
	struct goal_diags *diags;
	unsigned file; /* number of the text in diags */
};

/* A text specialised for one size, with the expected results. */
struct sized {
	struct ir_graph graph;
	struct claim claim;
	struct expected *wants; /* expected ranges, by rank */
	struct world *world;
};

/* Compiles a text, for nranks ranks or, if nranks is 0, for every size. Returns 0 or -ERR_x; messages are in diags.
 * Call subject_close after an error, too. */
int subject_open(struct subject *s, const char *file, uint32_t nranks);
void subject_close(struct subject *s);

/* Specialises a text. `which` is the number of a sample of arguments (compiler/ir/args.h). Returns -ERR_ASSERT if the
 * schedule does not support these values. */
int sized_open(struct sized *z, const struct subject *s, uint32_t nranks, int64_t count, unsigned which, int64_t root);
void sized_close(struct sized *z);

#endif
