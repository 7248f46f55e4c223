/* SPDX-License-Identifier: BSD-3-Clause
 * Claims of schedules. A claim says, for ranges of a rank's buffers, what they hold at the end: a copy or a reduction of
 * what other ranges, of any ranks, held at the start. A schedule states its claim as a result of its own, or by the name
 * of an MPI collective. The definitions of the collectives are in collectives.goal, and nowhere else. */
#ifndef COMPILER_COLLECTIVES_COLLECTIVE_H
#define COMPILER_COLLECTIVES_COLLECTIVE_H

#include "compiler/ir/ir.h"

struct expected_src {
	uint32_t rank, buf; /* buf: number in the schedule */
	uint64_t off;
};

/* Expectation for a range: at the end, the elements [off, off + len) of buf are the reduction of the sources src ...
 * src + nsrc - 1 in this order, or a copy if there is one source. */
struct expected_range {
	uint32_t buf, src, nsrc;
	uint64_t off, len;
};

/* The expected ranges, sorted by buf and off, without overlaps. Nothing is claimed about other elements. */
struct expected {
	VEC(struct expected_range) v;
	VEC(struct expected_src) src;
	/* size of each buffer as the result declares it; 0 for scratch buffers and those that this rank does not have. Only
	 * claim_expected() sets size and inplace. */
	VEC(uint64_t) size;
	/* location of the buffer that the rank has in place: the elements [off, off + len) of buf */
	struct {
		uint32_t buf;
		uint64_t off, len;
	} inplace;
};

/* What a binary claims, before the values of parameters are known. */
struct claim {
	const struct bin *b; /* the schedule */
	bool any; /* true if it claims anything */
	const char *name; /* name of the definition, or NULL for the schedule's own result */
	struct bin def; /* the binary that contains the result */
	uint32_t *buf, *param; /* for each buffer and parameter of def, the number of that in the schedule */
	bool lost; /* true if values that the definition needs are lost: the binary is concrete, and has them in its ops only */
};

/* Opens the claim of a binary: its own result, otherwise the definition that it names. Returns -ERR_CLAIM if the
 * schedule does not fit that definition, and says in fault->text why. */
int claim_open(struct claim *c, const struct bin *b, struct ir_fault *fault);
/* As claim_open(), but only the definition counts, even if the schedule states a result. Nothing is claimed if the
 * values are lost. */
int claim_open_named(struct claim *c, const struct bin *b, struct ir_fault *fault);
void claim_close(struct claim *c);
/* Sets the values of the result's parameters from a row of the schedule's. Returns true if some of them are unknown to
 * a concrete binary, which keeps only the root. */
bool claim_values(const struct claim *c, const struct bin_arg *row, struct bin_arg *out);
/* Computes what rank args->rank must hold at the end. The arguments are args->by_rank or, if NULL, args->args for all. */
int claim_expected(const struct claim *c, const struct bin_args *args, struct expected *out, struct ir_fault *fault);
/* As claim_expected(), for all ranks: out[0 ... args->size - 1]. On error, *rank is the rank at fault. */
int claim_all_expected(const struct claim *c, const struct bin_args *args, struct expected *out, uint32_t *rank,
		       struct ir_fault *fault);
void expected_fini(struct expected *w);

/* Computes the sizes that the definition gives the schedule's buffers on rank args->rank. The schedule's own sizes and
 * its own default of inplace are not used. c must come from claim_open_named() and claim something. */
int claim_sizes(const struct claim *c, const struct bin_args *args, bool inplace, uint64_t *size, struct ir_fault *fault);
/* True if all buffers have count elements, or none, in the schedule as well as in the definition, whatever the values
 * are. Sizes then need not be compared. */
bool claim_counts(const struct claim *c);

/* Opens a binary's claim and computes what rank args->rank must hold. The result is empty if the schedule claims nothing. */
int collective_expected(const struct bin *b, const struct bin_args *args, struct expected *out, struct ir_fault *fault);

#endif
