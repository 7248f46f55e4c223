/* SPDX-License-Identifier: BSD-3-Clause
 * Offsets and lengths in parts. Proofs count elements in blocks of `count` elements or, if the schedule divides these into parts by
 * blockoff() and blocklen(), in such parts. Part u begins at element
 *   off(u) = (u / n) * count + blockoff(count, n, u mod n)
 * where n is the number of parts of a block. off() does not decrease, so ranges that have no part in common have no element in
 * common. A range of l parts from u on has off(u + l) - off(u) elements; two ranges with the same l have the same number of elements,
 * part by part, if u mod n is the same for both. */
#ifndef COMPILER_ALLRANKS_PARTS_H
#define COMPILER_ALLRANKS_PARTS_H

#include "compiler/allranks/sites.h"

/* A number of elements, as a number of parts. */
struct span {
	term n;
	term first; /* the elements are those of n parts from this one of a block on; TERM_NONE if n is a number of whole blocks */
	term valid; /* a condition for this: the parts that are named exist */
};

/* Describes a number of elements as the length of a range. Returns false if it is none. */
bool span_of_length(const struct sites *s, term x, struct span *out);
/* Describes it as an offset: out->n is the number of the part that begins there. */
bool span_of_offset(const struct sites *s, term x, struct span *out);
/* Returns a number of whole blocks, in parts, or TERM_NONE. */
term span_of_blocks(const struct sites *s, term x);
/* Returns the number of parts into which x divides count elements, or TERM_NONE. */
term span_divisor(const struct sites *s, term x);
/* True if a term is the same for all ranks, roots and iterations. */
bool span_shared(const struct sites *s, term x);
/* Returns the position of a part in its block. */
term span_phase(const struct sites *s, term part);
/* Returns a condition under which a range of this length may begin with this part. */
term span_begins(const struct sites *s, const struct span *len, term part);

#endif
