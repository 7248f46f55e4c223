/* SPDX-License-Identifier: BSD-3-Clause
 * Offsets and lengths in parts of blocks (parts.h). blockoff(count, n, i) is i * (count / n) + min(i, count mod n), and
 * blocklen(count, n, i) is count / n + (i < count mod n). In a sum, these are found by the second summand. */
#include "compiler/allranks/parts.h"

#define MOST_PIECES 2u

/* A summand: factor times blockoff() or blocklen() of part `at`. */
struct piece {
	term at;
	int64_t factor;
	bool length;
};

struct pieces {
	struct piece at[MOST_PIECES];
	unsigned n;
	term blocks; /* the rest, in parts */
};

static term per_block(const struct sites *s)
{
	return s->parts == TERM_NONE ? term_num(s->t, 1) : s->parts;
}

term span_of_blocks(const struct sites *s, term x)
{
	struct terms *t = s->t;
	const struct term_node n = *term_at(t, x);
	term a, b;
	int64_t k;

	if (x == s->count)
		return per_block(s);
	if (term_is_num(t, x, &k))
		return k ? TERM_NONE : x;
	switch (n.op) {
	case BIN_ADD:
	case BIN_SUB:
	case BIN_MIN:
	case BIN_MAX:
		a = span_of_blocks(s, n.a);
		b = span_of_blocks(s, n.b);
		return a == TERM_NONE || b == TERM_NONE ? TERM_NONE : term_apply(t, n.op, a, b);
	case BIN_NEG:
		a = span_of_blocks(s, n.a);
		return a == TERM_NONE ? a : term_apply(t, n.op, a, TERM_NONE);
	case BIN_MUL:
		a = term_has(t, n.a, s->count) ? n.a : n.b;
		b = a == n.a ? n.b : n.a;
		a = span_of_blocks(s, a);
		return a == TERM_NONE || term_has(t, b, s->count) ? TERM_NONE : term_apply(t, BIN_MUL, a, b);
	case TERM_ITE:
		a = span_of_blocks(s, n.b);
		b = span_of_blocks(s, n.c);
		return a == TERM_NONE || b == TERM_NONE || term_has(t, n.a, s->count) ? TERM_NONE : term_ite(t, n.a, a, b);
	}
	return TERM_NONE;
}

bool span_shared(const struct sites *s, term x)
{
	const struct term_node n = *term_at(s->t, x);

	if (n.op == TERM_NUM || n.op == TERM_VAR)
		return n.op == TERM_NUM || x == s->p;
	return span_shared(s, n.a) && (n.b == TERM_NONE || span_shared(s, n.b)) && (n.c == TERM_NONE || span_shared(s, n.c));
}

term span_divisor(const struct sites *s, term x)
{
	const struct term_node n = *term_at(s->t, x);
	const term part[] = { n.a, n.b, n.c };
	term out = TERM_NONE;

	if (n.op == TERM_NUM || n.op == TERM_VAR)
		return out;
	if (n.op == BIN_DIV && n.a == s->count && span_shared(s, n.b))
		return n.b;
	for (unsigned i = 0; i < 3 && out == TERM_NONE; i++)
		out = part[i] == TERM_NONE ? out : span_divisor(s, part[i]);
	return out;
}

/* ---- pieces ---- */

/* Recognises the second summand of a piece. */
static bool is_piece(const struct sites *s, term atom, struct piece *out)
{
	const struct term_node n = *term_at(s->t, atom);
	const term rest = term_apply(s->t, BIN_MOD, s->count, s->parts);

	*out = (struct piece){ .at = s->parts };
	if (atom == rest) /* min(parts, rest) */
		return true;
	if (n.op == BIN_LT && n.b == rest) {
		*out = (struct piece){ .at = n.a, .length = true };
		return true;
	}
	if (n.op != BIN_MIN || (n.a != rest && n.b != rest))
		return false;
	out->at = n.a == rest ? n.b : n.a;
	return true;
}

/* Splits a sum into pieces and blocks. */
static bool split_sum(const struct sites *s, term x, struct pieces *out)
{
	struct terms *t = s->t;
	const term each = s->parts == TERM_NONE ? TERM_NONE : term_apply(t, BIN_DIV, s->count, s->parts);
	struct term_sum sum;
	term rest = x;

	*out = (struct pieces){ 0 };
	term_sum_of(t, x, &sum);
	for (unsigned i = 0; i < sum.n && s->parts != TERM_NONE; i++) {
		struct piece a;
		term value;

		if (!is_piece(s, sum.atom[i], &a))
			continue;
		if (out->n == MOST_PIECES || term_has(t, a.at, s->count))
			return false;
		a.factor = sum.factor[i];
		value = term_add(t, sum.atom[i], a.length ? each : term_apply(t, BIN_MUL, each, a.at));
		rest = term_sub(t, rest, term_apply(t, BIN_MUL, term_num(t, a.factor), value));
		out->at[out->n++] = a;
	}
	out->blocks = span_of_blocks(s, rest);
	return out->blocks != TERM_NONE;
}

/* Adds up the parts, and finds the condition that those which are named exist. */
static void add_pieces(const struct sites *s, const struct pieces *p, struct span *out)
{
	struct terms *t = s->t;

	*out = (struct span){ p->blocks, TERM_NONE, term_num(t, 1) };
	for (unsigned i = 0; i < p->n; i++) {
		const struct piece *a = &p->at[i];
		const term one = term_num(t, 1), last = a->length ? term_sub(t, s->parts, one) : s->parts;

		out->n = term_add(t, out->n, term_apply(t, BIN_MUL, term_num(t, a->factor), a->length ? one : a->at));
		out->valid = term_and(t, out->valid, term_and(t, term_le(t, term_num(t, 0), a->at), term_le(t, a->at, last)));
	}
}

/* Describes a choice between two numbers of elements. */
static bool span_of_choice(const struct sites *s, term x, struct span *out, bool (*of)(const struct sites *, term, struct span *))
{
	struct terms *t = s->t;
	const struct term_node n = *term_at(t, x);
	struct span a, b;

	if (n.op != TERM_ITE || term_has(t, n.a, s->count) || !of(s, n.b, &a) || !of(s, n.c, &b))
		return false;
	*out = (struct span){ term_ite(t, n.a, a.n, b.n), TERM_NONE, term_ite(t, n.a, a.valid, b.valid) };
	if (a.first != TERM_NONE || b.first != TERM_NONE)
		out->first = term_ite(t, n.a, a.first == TERM_NONE ? b.first : a.first, b.first == TERM_NONE ? a.first : b.first);
	return true;
}

bool span_of_offset(const struct sites *s, term x, struct span *out)
{
	struct pieces p;

	if (!split_sum(s, x, &p))
		return span_of_choice(s, x, out, span_of_offset);
	add_pieces(s, &p, out);
	return p.n == 0 || (p.n == 1 && !p.at[0].length && p.at[0].factor == 1);
}

bool span_of_length(const struct sites *s, term x, struct span *out)
{
	struct pieces p;
	bool swapped;

	if (!split_sum(s, x, &p))
		return span_of_choice(s, x, out, span_of_length);
	add_pieces(s, &p, out);
	if (p.n == 0)
		return true;
	if (p.n == 1) { /* blocklen(i), blockoff(i), or what is behind blockoff(i) */
		out->first = p.at[0].length || p.at[0].factor < 0 ? p.at[0].at : term_num(s->t, 0);
		return p.at[0].factor == 1 || (p.at[0].factor == -1 && !p.at[0].length);
	}
	swapped = p.at[0].factor < 0; /* blockoff(j) - blockoff(i) */
	out->first = p.at[!swapped].at;
	return !p.at[0].length && !p.at[1].length && p.at[swapped].factor == 1 && p.at[!swapped].factor == -1;
}

/* ---- conditions ---- */

term span_phase(const struct sites *s, term part)
{
	return s->parts == TERM_NONE ? term_num(s->t, 0) : term_apply(s->t, BIN_MOD, part, s->parts);
}

term span_begins(const struct sites *s, const struct span *len, term part)
{
	struct terms *t = s->t;
	term same;

	if (len->first == TERM_NONE)
		return term_num(t, 1);
	same = term_eq(t, span_phase(s, len->first), span_phase(s, part));
	return term_or(t, same, term_eq(t, len->n, term_num(t, 0)));
}
