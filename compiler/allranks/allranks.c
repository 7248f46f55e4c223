/* SPDX-License-Identifier: BSD-3-Clause
 * The steps of a proof for every number of ranks. */
#include "compiler/allranks/allranks.h"

#include "compiler/allranks/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Proves what each rank has to keep to by itself: ranges, peers, domains of functions. */
static void prove_checks(struct proof *p)
{
	struct instance self;
	struct obligation o;

	for (size_t i = 0; i < p->s.checks.n; i++) {
		const struct site_check *c = &p->s.checks.at[i];

		instance_own(p, NULL, &self);
		obligation_begin(p, &o, c->insn, c->what);
		obligation_path(p, &o, &c->path, &self.map);
		o.goal = instance_value(p, &self, c->cond);
		obligation_prove(p, &o);
	}
}

/* Makes sure that the assertions of the schedule allow some size: otherwise everything could be proved. */
static void check_asserts(struct proof *p)
{
	struct obligation o;

	obligation_begin(p, &o, 0, "");
	if (!obligation_refuted(p, &o))
		proof_stop(p, 0, "the assertions of the schedule allow no small number of ranks");
}

static void translate_program(struct proof *p, struct sites *s, const struct bin *b, bool result)
{
	const int err = sites_translate(s, b, p->in_place, result);

	if (err == -ERR_NOMEM)
		longjmp(p->stop, 1);
	if (err)
		proof_stop(p, result ? 0 : s->stop_insn, "%s%s", result ? "in the result: " : "", s->stop);
}

/* Proves that two terms about rank r are equal. */
static void prove_equal(struct proof *p, term a, term b, const char *what)
{
	struct instance self;
	struct obligation o;

	instance_own(p, NULL, &self);
	obligation_begin(p, &o, 0, what);
	o.goal = instance_value(p, &self, term_eq(&p->t, a, b));
	obligation_prove(p, &o);
}

/* Gives the buffers of the result the numbers that they have in the schedule. */
static void number_buffers(struct proof *p)
{
	struct sites *r = &p->result;

	for (size_t i = 0; i < r->gets.n && p->claim->buf; i++) {
		r->gets.at[i].to.buf = p->claim->buf[r->gets.at[i].to.buf];
		r->gets.at[i].from.buf = p->claim->buf[r->gets.at[i].from.buf];
	}
	if (p->claim->buf && r->inplace.any) {
		r->inplace.buf = p->claim->buf[r->inplace.buf];
		r->inplace.at.buf = p->claim->buf[r->inplace.at.buf];
	}
}

/* Translates the claim, and proves that its buffers are those of the schedule. */
static void translate_claim(struct proof *p)
{
	const struct site_inplace *in = &p->s.inplace, *want = &p->result.inplace;
	const struct claim *c = p->claim;

	for (uint32_t i = 0; i < c->def.nparams && c->name; i++)
		if (i != c->def.meta->root && strcmp(bin_str(&c->def, c->def.params[i].name), "inplace") != 0)
			proof_stop(p, 0, "the parameter %s of the collective", bin_str(&c->def, c->def.params[i].name));
	p->result = (struct sites){ .t = &p->t,
				    .store = &p->store,
				    .r = p->s.r,
				    .p = p->s.p,
				    .root = p->s.root,
				    .count = p->s.count,
				    .parts = p->s.parts };
	translate_program(p, &p->result, &c->def, true);
	number_buffers(p);
	for (uint32_t i = 0; i < c->def.nbuffers; i++) {
		const uint32_t k = c->buf ? c->buf[i] : i;

		if (p->b->buffers[k].mode != BIN_SCRATCH)
			prove_equal(p, p->result.size[i], p->s.size[k], "a buffer has another size than the collective's");
	}
	if (in->any != want->any)
		proof_stop(p, 0, "the schedule is in place where the collective is not");
	if (!in->any)
		return;
	if (in->buf != want->buf || in->at.buf != want->at.buf)
		proof_stop(p, 0, "another buffer is in place than the collective's");
	prove_equal(p, in->cond, want->cond, "the schedule is in place where the collective is not");
	prove_equal(p, term_ite(&p->t, in->cond, in->at.off, want->at.off), want->at.off,
		    "the range in place is not the collective's");
}

/* True if the text counts ranks from the root on, around the end. */
static bool is_turned(const struct proof *p)
{
	for (size_t i = 0; i < p->t.v.n && p->b->meta->root != BIN_NONE; i++) {
		const struct term_node *n = &p->t.v.at[i];

		if (n->op == BIN_MOD && n->b == p->s.p && term_has(&p->t, n->a, p->s.root))
			return true;
	}
	return false;
}

/* Translates the program, and makes the variables that all obligations share. */
static void begin_sites(struct proof *p)
{
	struct terms *t = &p->t;

	sites_begin(&p->s, t, &p->store);
	p->elem = term_var(t, "d", 0, TERM_MOST);
	p->rank = p->turned = p->s.r;
	translate_program(p, &p->s, p->b, false);
	if (!is_turned(p))
		return;
	p->turned = term_var(t, "v", 0, SITES_MOST_RANKS - 1);
	t->vars.at[term_at(t, p->turned)->num].below = p->s.p;
	p->rank = term_apply(t, BIN_MOD, term_add(t, p->turned, p->s.root), p->s.p);
}

/* Proves one variant of the schedule: with or without a buffer in place. */
static void prove_variant(struct proof *p)
{
	const bool barrier = p->claim->name && !strcmp(p->claim->name, "MPI_Barrier");

	begin_sites(p);
	p->site_vars = p->t.vars.n;
	p->out->asserts = p->s.asserts.n > 0;
	p->partners = arena_alloc(&p->store, (p->s.ops.n + 1) * sizeof *p->partners);
	if (!p->partners)
		longjmp(p->stop, 1);
	if (p->claim->any)
		translate_claim(p);
	check_asserts(p);
	prove_checks(p);
	prove_labels(p);
	prove_matching(p);
	prove_progress(p);
	prove_races(p);
	if (barrier)
		prove_barrier(p);
	else if (p->claim->any)
		prove_values(p);
}

/* Returns 0 if the variant is proved, 2 if it is not, and 1 if memory ran out. */
static int try_variant(struct proof *p)
{
	const int stopped = setjmp(p->stop);

	if (stopped)
		return stopped;
	p->t.nomem = &p->stop;
	prove_variant(p);
	return 0;
}

static int prove_in(const struct bin *b, const struct claim *claim, const struct allranks_asked *asked,
		    struct allranks_result *out, bool in_place)
{
	struct proof *p = mem_calloc(1, sizeof *p);
	int rc;

	if (!p)
		return 1;
	p->b = b;
	p->claim = claim;
	p->asked = asked;
	p->out = out;
	p->in_place = in_place;
	rc = try_variant(p);
	for (size_t i = 0; p->partners && i < p->s.ops.n; i++)
		VEC_FREE(&p->partners[i].v);
	VEC_FREE(&p->waits);
	sites_fini(&p->s);
	sites_fini(&p->result);
	terms_fini(&p->t);
	arena_fini(&p->store);
	free(p);
	return rc;
}

int allranks_prove(const struct bin *b, const struct allranks_asked *asked, struct allranks_result *out)
{
	bool variants = false;
	struct claim claim;
	struct ir_fault fault = { 0 };
	int rc, err = claim_open(&claim, b, &fault);

	*out = (struct allranks_result){ 0 };
	if (err == -ERR_NOMEM)
		return err;
	if (err || !(b->meta->flags & BIN_F_PARAMETRIC) || *bin_str(b, b->meta->passes)) {
		snprintf(out->why, sizeof out->why, "%s",
			 err				      ? fault.text :
			 !(b->meta->flags & BIN_F_PARAMETRIC) ? "the schedule is for one size" :
								"passes change the schedule when it is bound");
		claim_close(&claim);
		return 0;
	}
	for (uint32_t i = 0; i < b->nbuffers; i++)
		variants |= b->buffers[i].inplace != 0;
	rc = prove_in(b, &claim, asked, out, false);
	if (!rc && variants)
		rc = prove_in(b, &claim, asked, out, true);
	claim_close(&claim);
	out->proved = rc == 0;
	return rc == 1 ? -ERR_NOMEM : 0;
}
