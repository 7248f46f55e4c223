/* SPDX-License-Identifier: BSD-3-Clause
 * Graphs with one change each. */
#ifndef TESTS_MUTANTS_MUTATE_H
#define TESTS_MUTANTS_MUTATE_H

#include "compiler/ir/ir.h"

enum mutation_kind {
	DROP_DEP,
	WEAKEN_DEP, /* requires becomes irequires */
	DROP_OP,
	SHIFT,
	LENGTH,
	LENGTH_BOTH, /* of a send and of its recv */
	PEER,
	SWAP_PEERS, /* of two sends, or two recvs, of a rank */
	TAG,
	ORDER, /* of a reduction */
	SWAP_TEXT, /* two neighbours in the text change places, and so do their messages */
	/* From here on the schedule means the same as before. */
	SAME_DROP_DEP, /* one that follows from others */
	SAME_TAG, /* both sides of a channel get a tag that nobody uses */
	SAME_SWAP_TEXT, /* two neighbours that are not of one channel */
	MUTATION_KINDS
};
#define MUTATION_SAME SAME_DROP_DEP

extern const char *const mutation_words[MUTATION_KINDS];

struct mutation {
	uint8_t kind; /* enum mutation_kind */
	uint8_t range; /* of SHIFT */
	uint32_t rank, op;
	int64_t x; /* a dependency, an op, a peer, a tag, or what is added */
};

struct mutations {
	VEC(struct mutation) v;
};

/* All that there are for a graph without wildcards. 0 or -ERR_NOMEM. */
int mutations_of(const struct ir_graph *g, struct mutations *out);
/* Leaves at most so many, drawn by a seed: first one of each kind, then one for each op, then any. */
int mutations_draw(struct mutations *m, size_t most, uint64_t seed);

/* A copy of g that borrows its names, changed by m (NULL: not at all). mutant_fini frees it. */
int mutant_init(struct ir_graph *out, const struct ir_graph *g, const struct mutation *m);
void mutant_fini(struct ir_graph *g);

/* The change in words, for people. */
void mutation_text(char *text, size_t size, const struct ir_graph *g, const struct mutation *m);

#endif
