/* SPDX-License-Identifier: BSD-3-Clause
 * The sites of a parametric program: each instruction that makes an op or a dependency, with the condition under which a rank
 * executes it and with the values of its operands, as terms over the rank, the size, the root and variables of loops. */
#ifndef COMPILER_ALLRANKS_SITES_H
#define COMPILER_ALLRANKS_SITES_H

#include "compiler/allranks/term.h"
#include "format/read.h"
#include "util/arena.h"

/* A condition under which a site is executed: a loop or a branch around it. */
struct frame {
	term cond; /* the condition of a branch; TERM_NONE in a loop: that var lies between lo and hi */
	term var, lo, hi; /* variable of a loop, and its least and greatest value; TERM_NONE in a branch */
	uint32_t loop; /* number of the loop */
	bool down; /* true if the variable decreases */
};

struct path {
	const struct frame *frame; /* outermost first */
	unsigned n;
};

struct site_range {
	uint32_t buf;
	term off;
};

/* An op. Offsets and lengths are in blocks of `count` elements, or in parts of these (parts.h). */
struct site {
	struct path path;
	uint32_t insn; /* instruction, for messages */
	uint32_t seq; /* position in the program; sites that replace each other have the same */
	uint8_t kind; /* enum bin_kind */
	term peer, tag, level, len;
	bool any_level; /* the level is not known, and 0 stands for it */
	term phase; /* position of the first part of each range in its block; 0 if there are no parts */
	struct site_range range[2];
	term key; /* the label with its indices, or TERM_NONE */
	const term *calls; /* labels of the calls around the op */
	unsigned ncalls;
};

/* A dependency between all ops whose own label or whose calls have these labels. */
struct site_dep {
	struct path path;
	uint32_t insn;
	term op, on;
	bool start; /* irequires */
};

/* A condition that must hold, or else the rank fails: a rule of the language, or the domain of a function. */
struct site_check {
	struct path path;
	uint32_t insn;
	term cond;
	const char *what; /* what is wrong if the condition does not hold */
};

/* A statement of a result: the range `to` of this rank gets a range of rank `from`. */
struct site_gets {
	struct path path;
	uint32_t insn;
	term rank, len;
	term ranks; /* the number of ranks whose ranges are summed up, from `rank` on; prove_values() sets it */
	struct site_range to, from;
};

/* The range in which a buffer is in place. */
struct site_inplace {
	bool any;
	term cond;
	struct site_range at;
	uint32_t buf;
	term len;
};

struct sites {
	struct terms *t;
	struct arena *store;
	term r, p, root, count;
	term parts; /* number of parts of a block, or TERM_NONE */
	VEC(struct site) ops;
	VEC(struct site) calls; /* calls with labels; of each site only the path, insn and key count */
	VEC(struct site_dep) deps;
	VEC(struct site_check) checks;
	VEC(struct site_gets) gets;
	VEC(term) asserts; /* conditions that the schedule states for its use */
	term *size; /* size of each buffer */
	struct site_inplace inplace;
	uint32_t loops;
	/* Reason why the program could not be translated. */
	uint32_t stop_insn;
	char stop[160];
};

/* Numbers of ranks are proved up to this one. */
#define SITES_MOST_RANKS ((int64_t)INT32_MAX)

/* Makes the variables r, p, root and count of *s. */
void sites_begin(struct sites *s, struct terms *t, struct arena *store);
/* Translates the program of the ops, or of the result if `result` is set, with the parameter inplace as given. Parameters have
 * their defaults. Returns 0, -ERR_NOMEM, or -ERR_PASS if the program has a part that cannot be translated; s->stop then has
 * the reason. */
int sites_translate(struct sites *s, const struct bin *b, bool inplace, bool result);
void sites_fini(struct sites *s);

/* Returns the condition of a frame with variables replaced. For a loop it is made anew, because what replaces the variable may
 * lie outside the range that the variable is known to have. */
term frame_condition(struct terms *t, const struct frame *f, const struct term_map *m);
/* Returns the condition of a path, with variables replaced, as one term. */
term path_condition(struct terms *t, const struct path *p, const struct term_map *m);

#endif
