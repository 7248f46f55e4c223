/* SPDX-License-Identifier: BSD-3-Clause
 * Claims of schedules. A claim says what ranges of a rank's buffers hold at the end: a copy or a reduction of the initial
 * contents of other ranges, of any ranks. A schedule states its claim as a result of its own, or by the name
 * of an MPI collective. The definitions of the collectives are in collectives.goal, and nowhere else. */
#ifndef COMPILER_COLLECTIVES_COLLECTIVE_H
#define COMPILER_COLLECTIVES_COLLECTIVE_H

#include "compiler/ir/ir.h"

struct expected_src {
	uint32_t rank, buf; /* buf: number of the buffer in the schedule */
	uint64_t off;
};

/* Expectation for a range: at the end, the elements [off, off + len) of buf are the reduction of the sources src ...
 * src + nsrc - 1 in this order, or a copy if there is one source. */
struct expected_range {
	uint32_t buf, src, nsrc;
	uint64_t off, len;
};

/* Expectations for one rank. The ranges are sorted by buf and off and do not overlap; nothing is claimed about other
 * elements. */
struct expected {
	VEC(struct expected_range) v;
	VEC(struct expected_src) src;
	/* size of each buffer as the result declares it; 0 for scratch buffers and for buffers that this rank does not have.
	 * Only claim_expected() sets size and inplace. */
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
	bool any; /* true if the binary claims anything */
	const char *name; /* name of the definition, or NULL for the schedule's own result */
	struct bin def; /* the binary that contains the result */
	uint32_t *buf, *param; /* for each buffer and each parameter of def, its number in the schedule */
	bool lost; /* true if values that the definition needs are lost, because a concrete binary has them only in its ops */
};

/* Opens the claim of a binary: its own result or, without a result, the definition that the binary names. If the schedule
 * does not fit that definition, returns -ERR_CLAIM and stores the reason in fault->text. */
int claim_open(struct claim *c, const struct bin *b, struct ir_fault *fault);
/* As claim_open(), but only the definition counts, even if the schedule states a result. Nothing is claimed if the
 * values are lost. */
int claim_open_named(struct claim *c, const struct bin *b, struct ir_fault *fault);
void claim_close(struct claim *c);
/* Sets the parameters of the result from a row of the schedule's parameters. Returns true if some values are unknown, because
 * a concrete binary keeps only the root. */
bool claim_values(const struct claim *c, const struct bin_arg *row, struct bin_arg *out);
/* Computes what rank args->rank must hold at the end. The arguments are args->by_rank or, if NULL, args->args for all. */
int claim_expected(const struct claim *c, const struct bin_args *args, struct expected *out, struct ir_fault *fault);
/* Does what claim_expected() does for all ranks, and stores it in out[0 ... args->size - 1]. On error, *rank is the rank at
 * fault. */
int claim_all_expected(const struct claim *c, const struct bin_args *args, struct expected *out, uint32_t *rank,
		       struct ir_fault *fault);
void expected_fini(struct expected *w);

/* Computes the sizes that the definition gives the schedule's buffers on rank args->rank. The schedule's own sizes and
 * its own default of inplace are not used. c must come from claim_open_named() and claim something. */
int claim_sizes(const struct claim *c, const struct bin_args *args, bool inplace, uint64_t *size, struct ir_fault *fault);
/* True if each buffer has `count` elements, or none, in both the schedule and the definition, whatever the values of
 * parameters are. The sizes then need not be compared. */
bool claim_counts(const struct claim *c);

#endif
