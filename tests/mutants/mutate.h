/* SPDX-License-Identifier: BSD-3-Clause
 * Makes mutants: copies of a graph with one change each. */
#ifndef TESTS_MUTANTS_MUTATE_H
#define TESTS_MUTANTS_MUTATE_H

#include "compiler/ir/ir.h"

enum mutation_kind {
	DROP_DEP, /* removes a dependency */
	WEAKEN_DEP, /* turns a requires into an irequires */
	DROP_OP, /* removes an op */
	SHIFT, /* changes the offset of a range */
	LENGTH, /* changes the length of an op */
	LENGTH_BOTH, /* changes the length of a send and of its recv */
	PEER, /* changes the peer of an op */
	SWAP_PEERS, /* exchanges the peers of two sends, or of two recvs, of a rank */
	TAG, /* changes the tag of an op */
	ORDER, /* exchanges the operands of a reduction */
	SWAP_TEXT, /* exchanges two ops that are neighbours in the text, and thus the messages of their channel */
	/* The kinds below do not change the meaning of the schedule. */
	SAME_DROP_DEP, /* removes a dependency that follows from others */
	SAME_TAG, /* gives both ends of a channel a tag that no other channel has */
	SAME_SWAP_TEXT, /* exchanges two neighbours that are not of one channel */
	MUTATION_KINDS
};
#define MUTATION_SAME SAME_DROP_DEP

extern const char *const mutation_words[MUTATION_KINDS];

struct mutation {
	uint8_t kind; /* enum mutation_kind */
	uint8_t range; /* for SHIFT: number of the range */
	uint32_t rank, op;
	int64_t x; /* operand of the change: a dependency, an op, a peer, a tag, or the number that is added */
};

struct mutations {
	VEC(struct mutation) v;
};

/* Lists all mutations of a graph, which has no wildcards. Returns 0 or -ERR_NOMEM. */
int mutations_of(const struct ir_graph *g, struct mutations *out);
/* Reduces the list to at most `most` mutations, drawn by the seed: first one of each kind, then one for each op, then any. */
int mutations_draw(struct mutations *m, size_t most, uint64_t seed);

/* Makes a copy of g that borrows the names of g. The mutation m changes the copy; NULL changes nothing. mutant_fini
 * frees the copy. */
int mutant_init(struct ir_graph *out, const struct ir_graph *g, const struct mutation *m);
void mutant_fini(struct ir_graph *g);

/* Describes the mutation in words. */
void mutation_text(char *text, size_t size, const struct ir_graph *g, const struct mutation *m);

#endif
