/* SPDX-License-Identifier: BSD-3-Clause
 * What a schedule claims: which ranges of a rank's buffers hold at the end what which ranges of which ranks held at
 * the start. A schedule says so in a result of its own, or by the name of a collective of MPI, whose definition is in
 * collectives.goal; there is no other definition. */
#ifndef COMPILER_COLLECTIVES_COLLECTIVE_H
#define COMPILER_COLLECTIVES_COLLECTIVE_H

#include "compiler/ir/ir.h"

struct want_src {
	uint32_t rank, buf; /* buf: of the schedule */
	uint64_t off;
};

/* At the end the elements [off, off + len) of buf are the sources src ... src + nsrc - 1, reduced in this order; of
 * one source they are a copy. */
struct want {
	uint32_t buf, src, nsrc;
	uint64_t off, len;
};

/* By buf and off, without overlap. What is in none of them is not claimed. */
struct wants {
	VEC(struct want) v;
	VEC(struct want_src) src;
	VEC(uint64_t) size; /* of each buffer, as the result declares it: 0 where this rank has none; scratch: 0 */
	/* What the rank has in place is in the elements [off, off + len) of buf. */
	struct {
		uint32_t buf;
		uint64_t off, len;
	} inplace;
};

/* What a binary claims, without values. */
struct claim {
	const struct bin *b; /* the schedule */
	bool any; /* it claims something */
	const char *name; /* of the definition; NULL: it is the schedule's own result */
	struct bin def; /* has the result */
	uint32_t *buf, *param; /* the schedule's, for those of def */
	bool lost; /* parameters that the definition needs: the binary is concrete, and has their values in its ops */
};

/* -ERR_CLAIM when the schedule does not fit what it implements; fault->text then says how. */
int claim_open(struct claim *c, const struct bin *b, struct ir_fault *fault);
/* The same, but only the definition counts, also where the schedule states a result. Nothing is claimed where the values
 * are lost. */
int claim_open_named(struct claim *c, const struct bin *b, struct ir_fault *fault);
void claim_close(struct claim *c);
/* The values of the result's parameters, from a row of the schedule's. Whether there are any that a concrete binary,
 * which keeps the root only, has not. */
bool claim_values(const struct claim *c, const struct bin_arg *row, struct bin_arg *out);
/* What rank args->rank shall hold, with args->by_rank, or all with args->args. */
int claim_wants(const struct claim *c, const struct bin_args *args, struct wants *out, struct ir_fault *fault);
/* The same for all ranks, in wants[0 ... args->size - 1]; *rank is the one at fault. */
int claim_all_wants(const struct claim *c, const struct bin_args *args, struct wants *out, uint32_t *rank,
		    struct ir_fault *fault);
void wants_fini(struct wants *w);

/* The elements of each buffer of the schedule that the caller gives, on rank args->rank, as the definition has them; the
 * schedule's own sizes and its default of inplace play no part. c is from claim_open_named, and claims something. */
int claim_sizes(const struct claim *c, const struct bin_args *args, bool inplace, uint64_t *size, struct ir_fault *fault);
/* Whether these buffers have count elements or none in both, whatever the values: then nothing has to be compared. */
bool claim_counts(const struct claim *c);

/* Of rank args->rank, all at once; nothing where the schedule claims nothing. */
int collective_wants(const struct bin *b, const struct bin_args *args, struct wants *out, struct ir_fault *fault);

#endif
