/* SPDX-License-Identifier: BSD-3-Clause
 * What the parts of a proof for all numbers of ranks share: obligations, instances of sites, and the search for witnesses. */
#ifndef COMPILER_ALLRANKS_PROOF_H
#define COMPILER_ALLRANKS_PROOF_H

#include "compiler/allranks/allranks.h"
#include "compiler/allranks/sites.h"
#include "compiler/collectives/collective.h"
#include "util/text.h"

/* An obligation: the goal holds whenever the conditions of the frames hold. Frames whose var is set tell the search for
 * counterexamples which values to try. */
#define MOST_HYPS 44u
struct obligation {
	struct frame frame[MOST_HYPS];
	unsigned n;
	term goal;
	uint32_t insn; /* the instruction that it is about */
	const char *what; /* what is wrong if it does not hold */
};

/* An execution of a site by a rank. */
struct instance {
	const struct site *site;
	term rank;
	struct term_map map; /* from the variables of the site to values */
};

/* Ways in which the messages of a site meet their other ends: each is a site, with values for its loop variables as terms
 * over s.r and the loop variables of the first site. */
struct partner {
	const struct site *site;
	struct term_map map; /* from the loop variables of `site` */
	term when; /* a condition under which the message meets this end, over s.r and the loop variables of the first site */
};
struct partners {
	VEC(struct partner) v;
};

/* A wait: op x waits for the start of op y. If `peer` is set, y is the other end of a message that x requires. */
struct wait {
	size_t x, y;
	const struct site_dep *dep;
	size_t on; /* the op that the dependency names */
	const struct partner *peer;
	term op_name, on_name;
};

/* A value: the sum, in this order, of element `index` of buffer `buf`, as it is at the start, over n ranks: lo, lo + 1, ...,
 * counted modulo the size. If `members` is set, it is over the ranks of all members whose numbers are equal to lo modulo n, a power
 * of two (members.c). */
struct held {
	term lo, n, buf, index;
	bool members;
};

/* What the ops of a site read from each range and write, for element number `elem` of the range. */
struct site_values {
	struct held read[2], wrote;
};

/* What each execution of a site in a loop waits for: the start or the completion of the one before it. */
enum chain { CHAIN_NONE, CHAIN_STARTS, CHAIN_ENDS };

struct proof {
	struct terms t;
	struct arena store;
	struct sites s, result; /* the ops; the statements of the result that is claimed */
	const struct claim *claim;
	const struct bin *b;
	const struct allranks_asked *asked;
	struct allranks_result *out;
	/* The rank that obligations are about, as a term over `turned`: if the text counts ranks from the root on, trees are
	 * easier to describe by the distance of a rank from it. Otherwise both are s.r. */
	term rank, turned;
	struct partners *partners; /* of each site of s.ops; only messages have some */
	struct site_values *values; /* of each site of s.ops */
	enum chain *chain; /* of each site of s.ops; prove_races() sets it */
	term member; /* the number of the member for which rank s.r stands; TERM_NONE if there are none */
	term elem; /* variable for the number of an element in a range */
	size_t site_vars; /* the variables up to this one are those of sites */
	VEC(struct wait) waits; /* of all sites */
	bool in_place;
	jmp_buf stop;
	uint32_t number; /* number of obligations written so far */
};

/* Ends the proof: obligation `insn` is not settled. */
_Noreturn void proof_stop(struct proof *p, uint32_t insn, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- prove.c ---- */

/* Begins an obligation about the rank p->rank. */
void obligation_begin(struct proof *p, struct obligation *o, uint32_t insn, const char *what);
void obligation_frame(struct proof *p, struct obligation *o, struct frame f);
void obligation_assume(struct proof *p, struct obligation *o, term cond);
/* Adds the conditions of a path, with its variables replaced. */
void obligation_path(struct proof *p, struct obligation *o, const struct path *path, const struct term_map *m);
/* Adds a variable with a value from lo to hi, both included. */
term obligation_var(struct proof *p, struct obligation *o, const char *name, term lo, term hi);
/* Proves the obligation, or ends the proof. */
void obligation_prove(struct proof *p, const struct obligation *o);
/* True if the goal is false for some values of small size; trials of candidates, not proofs. */
bool obligation_refuted(struct proof *p, const struct obligation *o);
/* The same, also at a larger size, where loops of powers of two have more steps. */
bool obligation_refuted_if_large(struct proof *p, const struct obligation *o);
/* Chooses among conditions some whose disjunction is true in all small cases; returns that disjunction as a term, and in
 * chosen[i] whether condition i is in it. If there is no such choice, returns the disjunction of all. */
term obligation_cover(struct proof *p, const struct obligation *o, const term *cond, unsigned n, bool *chosen);

/* ---- simplify.c ---- */

/* Splits the obligation into simpler ones, whose proof proves it. Stores up to MOST_LEFT of them, and returns their number: 0 if the
 * obligation holds. */
#define MOST_LEFT 16u
unsigned obligation_simplify(struct proof *p, const struct obligation *o, struct obligation *left);

/* ---- instances ---- */

/* Makes an instance at rank p->rank that has the variables of the site itself. */
void instance_own(struct proof *p, const struct site *x, struct instance *out);
/* Returns the rank `x`, which must be a rank, as a term over a new variable. */
term obligation_rank(struct proof *p, struct obligation *o, term x);
/* Makes an instance at a rank with variables of its own, and adds its conditions to the obligation. */
void instance_fresh(struct proof *p, struct obligation *o, const struct site *x, term rank, struct instance *out);
/* Returns the value of a term of the site in the instance. */
static inline term instance_value(struct proof *p, const struct instance *i, term x)
{
	return term_subst(&p->t, x, &i->map);
}
/* The conditions under which the instance is executed. */
term instance_condition(struct proof *p, const struct instance *i);
/* True if a comes before b in program order. */
term instance_before(struct proof *p, const struct instance *a, const struct instance *b);
/* True if both are the same execution. The sites may differ. */
term instance_same(struct proof *p, const struct instance *a, const struct instance *b);
/* Calls fn with instances of the site at a rank, for several guesses of its loop variables: values that solve
 * term[i] = value[i], and values among `more`. */
struct guess {
	const term *term, *value;
	unsigned n;
	const term *more;
	unsigned nmore;
};
void instance_guess(struct proof *p, const struct site *x, term rank, const struct guess *g,
		    void (*fn)(struct proof *, const struct instance *, void *), void *arg);

/* ---- match.c ---- */

/* Finds the partners of all messages, and proves that the k-th send of each channel meets the k-th recv. */
void prove_matching(struct proof *p);
/* Makes the instance of a partner of a message. With an obligation, it is assumed that the message is executed. */
void partner_instance(struct proof *p, struct obligation *o, const struct instance *of, const struct partner *with,
		      struct instance *out);
/* The condition under which this partner, of which `at` is the instance, is the one that the message meets. */
term partner_condition(struct proof *p, const struct instance *of, const struct partner *with, const struct instance *at);

/* ---- order.c ---- */

/* A condition under which b starts after a, of the same rank, has completed. */
term order_after(struct proof *p, const struct instance *a, const struct instance *b, unsigned depth);
/* A condition under which the op waits for `on` by a dependency: for its completion, or also if `start` is set for its start. */
term order_waits_for(struct proof *p, const struct instance *op, const struct instance *on, bool start);
/* Proves that no two ops or calls of a rank have the same label. */
void prove_labels(struct proof *p);
void prove_races(struct proof *p);

/* ---- progress.c ---- */

void prove_progress(struct proof *p);

/* ---- value.c, barrier.c ---- */

void prove_values(struct proof *p);
void prove_barrier(struct proof *p);

/* ---- smt.c, smt_int.c, solver.c ---- */

/* Writes the negation of an obligation in SMT-LIB. Returns false if a value may not fit 64 bits. */
bool smt_write(const struct terms *t, const struct obligation *o, const term *vars, unsigned nvars, struct text *out);
/* The same in integers. Only the answer that it is unsatisfiable counts. Returns false if it cannot be written. */
bool smt_write_int(const struct terms *t, const struct obligation *o, struct text *out);
enum solver_answer { SOLVER_UNSAT, SOLVER_SAT, SOLVER_UNKNOWN, SOLVER_MISSING };
/* Asks a solver within `seconds`. If the answer is SOLVER_SAT, stores the values of the nvars variables that the text asks for. */
enum solver_answer solver_ask(const char *program, const char *text, unsigned seconds, int64_t *value, unsigned nvars);

#endif
