/* SPDX-License-Identifier: BSD-3-Clause
 * Validates binary schedules. The reader relies on these checks and repeats none of them. Freestanding. */
#include "format/check.h"

#include "util/err.h"
#include "util/text.h"

static bool all_zero(const void *p, size_t n)
{
	const unsigned char *c = p;

	for (size_t i = 0; i < n; i++)
		if (c[i])
			return false;
	return true;
}

static int check_header(const struct bin_header *h, size_t size)
{
	static const char magic[8] = BIN_MAGIC;
	const unsigned char *p = (const unsigned char *)h;
	size_t table;

	for (size_t i = 0; i < 8; i++)
		if (i >= size || p[i] != (unsigned char)magic[i])
			return size < 8 && i >= size && size > 0 ? -ERR_TRUNCATED : -ERR_NOT_BIN;
	if (size < sizeof *h)
		return -ERR_TRUNCATED;
	if (h->min_reader > BIN_VERSION)
		return -ERR_VERSION;
	if (h->size > size)
		return -ERR_TRUNCATED;
	table = (size_t)h->nsections * sizeof(struct bin_section);
	if (h->size != size || h->nsections >= 64 || size - sizeof *h < table)
		return -ERR_CORRUPT;
	if (bin_header_sum(h) != h->check)
		return -ERR_CHECKSUM;
	return h->version && h->min_reader && all_zero(h->zero, sizeof h->zero) ? 0 : -ERR_CORRUPT;
}

/* Finds the sections, and stores address and number of records of each. Types must be known
 * and ascend strictly. Each section begins where the previous one ends, rounded up to a multiple of 8. */
static int find_sections(struct bin *b, const void *where[BIN_S_TYPES], uint64_t count[BIN_S_TYPES])
{
	static const uint8_t unit[BIN_S_TYPES] = {
		[BIN_S_META] = sizeof(struct bin_meta),
		[BIN_S_STRINGS] = 1,
		[BIN_S_BUFFERS] = sizeof(struct bin_buffer),
		[BIN_S_PARAMS] = sizeof(struct bin_param),
		[BIN_S_CODE] = sizeof(struct bin_word),
		[BIN_S_CONSTS] = sizeof(int64_t),
		[BIN_S_TMPLS] = sizeof(struct bin_tmpl),
		[BIN_S_DEPS] = sizeof(struct bin_dep_tmpl),
		[BIN_S_LINES] = 4,
		[BIN_S_WINDOWS] = sizeof(struct bin_window),
		[BIN_S_CALLS] = sizeof(struct bin_call),
		[BIN_S_EXPRS] = sizeof(struct bin_expr),
		[BIN_S_CLASSES] = sizeof(struct bin_class),
		[BIN_S_DIR] = sizeof(struct bin_dir),
		[BIN_S_RANKS] = 4,
		[BIN_S_OPDEBUG] = 4,
		[BIN_S_PROVED] = sizeof(struct bin_proved),
		[BIN_S_TARGET] = sizeof(struct bin_target),
		[BIN_S_QDIR] = sizeof(struct bin_dir),
		[BIN_S_QUEUES] = 8,
		[BIN_S_PROOF] = sizeof(struct bin_proof),
	};
	const struct bin_header *h = (const struct bin_header *)(const void *)b->base;
	const struct bin_section *s = (const struct bin_section *)(const void *)(h + 1);
	uint64_t end = sizeof *h + h->nsections * sizeof *s;
	uint32_t type = 0;

	for (uint32_t i = 0; i < h->nsections; i++, s++) {
		if (s->type <= type || s->type >= BIN_S_TYPES || s->off % 8 || s->off < end ||
		    s->off - end > 7 || s->off > b->size || s->len > b->size - s->off ||
		    s->len % unit[s->type])
			return -ERR_CORRUPT;
		if (!all_zero(b->base + end, (size_t)(s->off - end)))
			return -ERR_CORRUPT;
		type = s->type;
		end = s->off + s->len;
		where[type] = b->base + s->off;
		count[type] = s->len / unit[type];
		if (count[type] > UINT32_MAX && !bin_in_parts(type))
			return -ERR_CORRUPT;
		if (!bin_in_parts(type) && bin_sum(where[type], (size_t)s->len) != s->check)
			return -ERR_CHECKSUM;
		if (bin_in_parts(type) && s->check)
			return -ERR_CORRUPT;
	}
	return end == b->size ? 0 : -ERR_CORRUPT;
}

static bool str_ok(const struct bin *b, uint32_t off)
{
	return off < b->strings_len;
}

static int check_tables(const struct bin *b)
{
	const struct bin_meta *m = b->meta;

	if (!b->strings_len || b->strings[0] || b->strings[b->strings_len - 1])
		return -ERR_CORRUPT;
	for (uint64_t i = 1; i < b->strings_len; i++)
		if (b->strings[i] && text_control((unsigned char)b->strings[i - 1], (unsigned char)b->strings[i]))
			return -ERR_CORRUPT;
	if ((m->flags & ~BIN_F_FLAGS) || !str_ok(b, m->name) || !str_ok(b, m->implements) ||
	    !str_ok(b, m->source) || !str_ok(b, m->passes) || (m->root != BIN_NONE && m->root >= b->nparams) ||
	    m->count < BIN_ANY_COUNT || ((m->flags & BIN_F_PARAMETRIC) && m->count != BIN_ANY_COUNT))
		return -ERR_CORRUPT;
	if (b->nbuffers >= BIN_NOREG || b->nparams >= BIN_NOREG)
		return -ERR_CORRUPT;
	for (uint32_t i = 0; i < b->nbuffers; i++) {
		const struct bin_buffer *f = &b->buffers[i];

		if (!str_ok(b, f->name) || f->mode >= BIN_MODES || f->zero || f->inplace > b->nbuffers)
			return -ERR_CORRUPT;
	}
	for (uint32_t i = 0; i < b->nparams; i++) {
		const struct bin_param *p = &b->params[i];

		if (!str_ok(b, p->name) || p->scope >= BIN_SCOPES || p->vector > 1 || p->has_default >= BIN_HAS ||
		    (p->elements != 0) != (p->vector && p->has_default))
			return -ERR_CORRUPT;
		if (p->has_default == BIN_COMPUTED &&
		    (p->vector || p->scope == BIN_ROOTONLY || i == m->root || !(m->flags & BIN_F_PARAMETRIC)))
			return -ERR_CORRUPT;
	}
	if (m->root != BIN_NONE && b->params[m->root].vector)
		return -ERR_CORRUPT;
	for (uint32_t i = 0; i < b->nproved; i++) {
		const struct bin_proved *p = &b->proved[i];

		if (p->first > p->last || (i ? p->first < p[-1].last || p->first - p[-1].last < 2 : !p->first))
			return -ERR_CORRUPT;
	}
	return 0;
}

struct forms {
	const char *of[BIN_INSNS];
};

static const struct forms forms = { {
#define INSN(NAME, number, text, form) [number] = form,
#include "format/insn.def"
#undef INSN
} };

/* True if the instruction accepts templates of this op kind. */
static bool kind_of(unsigned insn, unsigned kind)
{
	return insn == BIN_INPLACE ? kind == BIN_OP_COPY : (insn == BIN_GETS) == (kind == BIN_OP_GETS);
}

/* Returns the number of buffers that an op of this kind names. */
static unsigned nbufs_of_kind(unsigned kind)
{
	return kind == BIN_OP_GETS ? 2 : bin_nranges(kind);
}

/* True if the template's buffers are below n: the number of buffers for EMIT, of windows for EMITIN and COPYIN. */
static bool ranges_ok(const struct bin_tmpl *t, uint32_t n)
{
	for (unsigned k = 0; k < nbufs_of_kind(t->kind); k++)
		if (t->buf[k] >= n)
			return false;
	return true;
}

/* True if record i of the table that `form` names is valid for the instruction. */
static bool entry_ok(const struct bin *b, unsigned insn, char form, uint32_t i)
{
	switch (form) {
	case 't':
		return !b->tmpls[i].instance && ranges_ok(&b->tmpls[i], b->nbuffers) && kind_of(insn, b->tmpls[i].kind);
	case 'T':
		return ranges_ok(&b->tmpls[i], b->nwindows) && kind_of(insn, b->tmpls[i].kind);
	case 'd':
		return !b->deps[i].op_instance && !b->deps[i].on_instance;
	case 'D':
		return b->ncalls > 0; /* the machine has room to defer dependencies only then */
	}
	return true;
}

static bool word_ok(const struct bin *b, const struct bin_word *w)
{
	const char *f = w->op < BIN_INSNS ? forms.of[w->op] : NULL;
	const uint16_t abc[3] = { w->a, w->b, w->c };
	unsigned used = 0; /* bit mask of the fields a, b, c that the instruction uses; the others must be 0 */

	if (!f || w->zero)
		return false;
	for (; *f; f++) {
		switch (*f) {
		case 'a':
		case 'b':
		case 'c': {
			unsigned k = f[0] == 'a' && w->op == BIN_BUFSIZE ? 1 : (unsigned)(*f - 'a');

			if (abc[k] >= b->meta->nregs)
				return false;
			used |= 1u << k;
			break;
		}
		case 'B':
			if (w->a >= b->nbuffers)
				return false;
			used |= 1;
			break;
		case 'p':
			if (w->b >= b->nparams ||
			    b->params[w->b].vector != (w->op != BIN_PARAM && w->op != BIN_PARAM_OF && w->op != BIN_GIVEN))
				return false;
			used |= 2;
			break;
		case 'i':
			used |= 6;
			break;
		case 'j':
			if (w->imm < 0 || (uint32_t)w->imm >= b->ncode)
				return false;
			used |= 6;
			break;
		case 'w':
			if (w->c >= b->nwindows)
				return false;
			used |= 4;
			break;
		default: {
			uint64_t n = *f == 'n' ? b->nconsts :
				     *f == 's' ? b->strings_len :
				     *f == 'k' ? b->ncalls :
				     *f == 't' || *f == 'T' ? b->ntmpls :
							      b->ndeps;

			if (w->imm < 0 || (uint64_t)w->imm >= n || !entry_ok(b, w->op, *f, (uint32_t)w->imm))
				return false;
			used |= 6;
			break;
		}
		}
	}
	for (unsigned k = 0; k < 3; k++)
		if (!(used >> k & 1) && abc[k])
			return false;
	return true;
}

static bool kind_ok(unsigned kind)
{
	static const bool known[BIN_OP_KINDS] = {
#define OP(NAME, number, text, operands) [number] = true,
#include "format/ops.def"
#undef OP
	};

	return kind < BIN_OP_KINDS && known[kind];
}

static bool reg_ok(const struct bin *b, uint16_t r)
{
	return r == BIN_NOREG || r < b->meta->nregs;
}

/* True if the label is one of the program, or if it belongs to an instance whose register exists. Labels of an instance are
 * checked when the program runs. */
static bool label_ok(const struct bin *b, uint32_t label, uint16_t instance)
{
	return instance ? instance < b->meta->nregs : label < b->meta->nlabels;
}

static bool calls_ok(const struct bin *b)
{
	for (uint32_t i = 0; i < b->nwindows; i++) {
		const struct bin_window *w = &b->windows[i];

		if (!str_ok(b, w->name) || w->buf >= b->nbuffers || !reg_ok(b, w->base) ||
		    w->size >= b->meta->nregs || w->zero)
			return false;
	}
	for (uint32_t i = 0; i < b->ncalls; i++) {
		const struct bin_call *c = &b->calls[i];

		if ((c->label != BIN_NONE && !label_ok(b, c->label, c->instance)) || !reg_ok(b, c->index[0]) ||
		    !reg_ok(b, c->index[1]) || c->zero)
			return false;
	}
	return true;
}

static int check_program(const struct bin *b)
{
	const struct bin_meta *m = b->meta;

	if (m->nranks || (m->flags & ~(BIN_F_PARAMETRIC | BIN_F_COMMUTATIVE | BIN_F_REPRODUCIBLE)) || m->nregs < 3 || m->nregs > 4096 ||
	    m->result >= b->ncode || m->nlabels > b->strings_len + 1000000)
		return -ERR_CORRUPT;
	if (b->code[b->ncode - 1].op != BIN_END)
		return -ERR_CORRUPT;
	for (uint32_t i = 0; i < b->ncode; i++)
		if (!word_ok(b, &b->code[i]))
			return -ERR_CORRUPT;
	for (uint32_t i = 0; i < b->ntmpls; i++) {
		const struct bin_tmpl *t = &b->tmpls[i];

		if (!kind_ok(t->kind) || t->exec >= BIN_EXECS ||
		    (t->label != BIN_NONE && !label_ok(b, t->label, t->instance)))
			return -ERR_CORRUPT;
		for (unsigned k = 0; k < 2; k++)
			if (!reg_ok(b, t->off[k]) || !reg_ok(b, t->index[k]) ||
			    (k >= nbufs_of_kind(t->kind) && t->buf[k] != 0))
				return -ERR_CORRUPT;
		if (!reg_ok(b, t->len) || !reg_ok(b, t->peer) || !reg_ok(b, t->tag) ||
		    !reg_ok(b, t->level) || !reg_ok(b, t->cpu) || !reg_ok(b, t->nic))
			return -ERR_CORRUPT;
	}
	for (uint32_t i = 0; i < b->ndeps; i++) {
		const struct bin_dep_tmpl *d = &b->deps[i];

		if (!label_ok(b, d->op, d->op_instance) || !label_ok(b, d->on, d->on_instance) || d->start > 1)
			return -ERR_CORRUPT;
		for (unsigned k = 0; k < 2; k++)
			if (!reg_ok(b, d->op_index[k]) || !reg_ok(b, d->on_index[k]))
				return -ERR_CORRUPT;
	}
	return calls_ok(b) ? 0 : -ERR_CORRUPT;
}

static bool expr_ok(const struct bin *b, uint32_t i)
{
	const struct bin_expr *e = &b->exprs[i];
	const char *f = e->op < BIN_INSNS ? forms.of[e->op] : NULL;

	if (!f || !all_zero(e->zero, sizeof e->zero))
		return false;
	if (e->op == BIN_CONST)
		return e->a == 0;
	if (e->op == BIN_PARAM)
		return e->a == 0 && e->imm == 0;
	if (e->op < BIN_ADD || e->op > BIN_POPCOUNT || e->a >= i)
		return false;
	return f[2] == 'c' ? e->b < i : e->b == 0;
}

static int check_shared(const struct bin *b)
{
	const struct bin_meta *m = b->meta;
	const bool plain = m->flags & BIN_F_PLAIN;
	uint64_t entries = m->flags & BIN_F_ROOTS ? (uint64_t)m->nranks * m->nranks : m->nranks;

	if (!m->nranks || m->result > (plain ? 0u : 1u) || b->ndir != entries * (1 + m->result) || m->nregs || m->nlabels || (plain && b->nbuffers != 2) ||
	    ((m->flags & BIN_F_ROOTS) && m->root == BIN_NONE))
		return -ERR_CORRUPT;
	for (uint32_t i = 0; i < b->nexprs; i++)
		if (!expr_ok(b, i))
			return -ERR_CORRUPT;
	for (uint32_t i = 0; i < b->nclasses; i++) {
		const struct bin_class *c = &b->classes[i];

		if (!kind_ok(c->kind) || c->exec >= BIN_EXECS ||
		    (c->len != BIN_NONE && c->len >= b->nexprs))
			return -ERR_CORRUPT;
		for (unsigned k = 0; k < 2; k++) {
			if (c->off[k] != BIN_NONE && (plain || c->off[k] >= b->nexprs))
				return -ERR_CORRUPT;
			if (k < nbufs_of_kind(c->kind) ? c->buf[k] >= b->nbuffers : c->buf[k] != 0)
				return -ERR_CORRUPT;
		}
		if (plain && c->kind != BIN_OP_SEND && c->kind != BIN_OP_RECV && c->kind != BIN_OP_CALC)
			return -ERR_CORRUPT;
		if (plain && bin_nranges(c->kind) && c->buf[0] != (c->kind == BIN_OP_RECV))
			return -ERR_CORRUPT;
		if (!plain && c->tag == BIN_ANY)
			return -ERR_CORRUPT;
	}
	if (b->debug_base) {
		if (b->debug_base[0])
			return -ERR_CORRUPT;
		for (uint32_t i = 0; i < b->ndir; i++)
			if (b->debug_base[i + 1] < b->debug_base[i])
				return -ERR_CORRUPT;
		if (b->debug_base[b->ndir] != b->ndebug)
			return -ERR_CORRUPT;
		for (uint32_t i = 0; i < b->ndebug; i++)
			if (!str_ok(b, b->debug[i].name))
				return -ERR_CORRUPT;
	}
	return 0;
}

/* True if the proof is one of this program, for all numbers of ranks. */
static bool proof_ok(const struct bin *b, uint64_t n)
{
	return n == 1 && !b->proof->zero && b->nproved == 1 && b->proved->first == 1 && b->proved->last == INT32_MAX &&
	       b->proof->program == bin_program_sum((const struct bin_header *)(const void *)b->base);
}

int bin_open(struct bin *b, const void *image, size_t size)
{
	const void *at[BIN_S_TYPES] = { 0 };
	uint64_t n[BIN_S_TYPES] = { 0 };
	int err;

	*b = (struct bin){ .base = image, .size = size };
	if ((uintptr_t)image % 8)
		return -ERR_ARG;
	err = check_header(image, size);
	if (!err)
		err = find_sections(b, at, n);
	if (err)
		return err;
	if (n[BIN_S_META] != 1 || !at[BIN_S_STRINGS])
		return -ERR_CORRUPT;
	b->meta = at[BIN_S_META];
	b->strings = at[BIN_S_STRINGS];
	b->strings_len = n[BIN_S_STRINGS];
	b->buffers = at[BIN_S_BUFFERS];
	b->nbuffers = (uint32_t)n[BIN_S_BUFFERS];
	b->params = at[BIN_S_PARAMS];
	b->nparams = (uint32_t)n[BIN_S_PARAMS];
	b->code = at[BIN_S_CODE];
	b->ncode = (uint32_t)n[BIN_S_CODE];
	b->consts = at[BIN_S_CONSTS];
	b->nconsts = (uint32_t)n[BIN_S_CONSTS];
	b->tmpls = at[BIN_S_TMPLS];
	b->ntmpls = (uint32_t)n[BIN_S_TMPLS];
	b->deps = at[BIN_S_DEPS];
	b->ndeps = (uint32_t)n[BIN_S_DEPS];
	b->windows = at[BIN_S_WINDOWS];
	b->nwindows = (uint32_t)n[BIN_S_WINDOWS];
	b->calls = at[BIN_S_CALLS];
	b->ncalls = (uint32_t)n[BIN_S_CALLS];
	b->exprs = at[BIN_S_EXPRS];
	b->nexprs = (uint32_t)n[BIN_S_EXPRS];
	b->classes = at[BIN_S_CLASSES];
	b->nclasses = (uint32_t)n[BIN_S_CLASSES];
	b->dir = at[BIN_S_DIR];
	b->ndir = (uint32_t)n[BIN_S_DIR];
	b->ranks = at[BIN_S_RANKS];
	b->ranks_len = n[BIN_S_RANKS] * 4;
	b->proved = at[BIN_S_PROVED];
	b->nproved = (uint32_t)n[BIN_S_PROVED];
	b->proof = at[BIN_S_PROOF];
	err = check_tables(b);
	if (err)
		return err;
	const bool parametric = b->meta->flags & BIN_F_PARAMETRIC;

	/* A parametric binary has no section of a concrete one, and a concrete binary none of a parametric one. */
	if (parametric ? at[BIN_S_EXPRS] || at[BIN_S_CLASSES] || at[BIN_S_DIR] || at[BIN_S_RANKS] ||
				 at[BIN_S_OPDEBUG] || at[BIN_S_TARGET] || at[BIN_S_QDIR] || at[BIN_S_QUEUES] :
			 at[BIN_S_CODE] || at[BIN_S_CONSTS] || at[BIN_S_TMPLS] || at[BIN_S_DEPS] ||
				 at[BIN_S_LINES] || at[BIN_S_WINDOWS] || at[BIN_S_CALLS] || at[BIN_S_PROOF])
		return -ERR_CORRUPT;
	if (at[BIN_S_PROOF] && !proof_ok(b, n[BIN_S_PROOF]))
		return -ERR_CORRUPT;
	if (at[BIN_S_LINES]) {
		if (n[BIN_S_LINES] != b->ncode)
			return -ERR_CORRUPT;
		b->lines = at[BIN_S_LINES];
	}
	if (at[BIN_S_OPDEBUG]) {
		uint64_t base = (uint64_t)b->ndir + 1;

		if (n[BIN_S_OPDEBUG] < base || (n[BIN_S_OPDEBUG] - base) % 2)
			return -ERR_CORRUPT;
		b->debug_base = at[BIN_S_OPDEBUG];
		b->debug = (const struct bin_op_debug *)(const void *)(b->debug_base + base);
		b->ndebug = (uint32_t)((n[BIN_S_OPDEBUG] - base) / 2);
	}
	err = parametric ? check_program(b) : check_shared(b);
	if (err || (!at[BIN_S_TARGET] && !at[BIN_S_QDIR] && !at[BIN_S_QUEUES]))
		return err;
	return bin_open_queues(b, at, n);
}

static bool op_ok(const struct bin *b, uint32_t rank_count, const struct bin_op32 *op, bool result)
{
	if (op->cls >= b->nclasses)
		return false;
	const struct bin_class *c = &b->classes[op->cls];

	if (result ? c->kind != BIN_OP_GETS && c->kind != BIN_OP_COPY : c->kind == BIN_OP_GETS)
		return false;
	if (bin_is_message(c->kind))
		return op->arg < rank_count || (op->arg == BIN_ANY && c->kind == BIN_OP_RECV &&
						(b->meta->flags & BIN_F_PLAIN));
	return op->arg == 0 || (c->kind == BIN_OP_CALC && c->len == BIN_NONE);
}

#define CLASSES_AHEAD 8u /* ops */

int bin_check_rank(const struct bin *b, uint32_t dir_row)
{
	const bool result = b->meta->result && dir_row >= b->ndir / 2;
	struct bin_opened v;
	uint32_t d = 0;
	int err;

	if (b->meta->flags & BIN_F_PARAMETRIC)
		return 0;
	err = bin_opened_at(b, dir_row, &v);
	if (err)
		return err;
	const unsigned char *start = b->ranks + (uint64_t)b->dir[dir_row].off * 4;

	if (bin_sum(start, (size_t)v.bytes) != b->dir[dir_row].check)
		return -ERR_CHECKSUM;
	if ((v.sizes && (b->meta->flags & BIN_F_PLAIN)) ||
	    (b->debug_base && b->debug_base[dir_row + 1] - b->debug_base[dir_row] != v.nops))
		return -ERR_CORRUPT;
	for (uint32_t i = 0; i < v.sizes; i++) {
		const uint32_t *row = (const uint32_t *)(const void *)v.size_rows;

		if (row[i] >= b->nexprs)
			return -ERR_CORRUPT;
	}
	for (uint32_t i = 0; i < v.nops; i++) {
		struct bin_op32 op;

		if (i + CLASSES_AHEAD < v.nops) {
			bin_opened_op(&v, i + CLASSES_AHEAD, &op);
			if (op.cls < b->nclasses)
				__builtin_prefetch(&b->classes[op.cls]); /* there may be many, in any order */
		}
		bin_opened_op(&v, i, &op);
		if (!op_ok(b, b->meta->nranks, &op, result) || op.ndeps > v.ndeps - d)
			return -ERR_CORRUPT;
		for (uint32_t k = 0; k < op.ndeps; k++, d++) {
			uint32_t on = bin_opened_dep(&v, d) & ~BIN_START;

			if (on >= v.nops || bin_opened_position(&v, on) >= bin_opened_position(&v, i))
				return -ERR_CORRUPT;
		}
	}
	return d == v.ndeps ? 0 : -ERR_CORRUPT;
}

int bin_check(const void *image, size_t size)
{
	struct bin b;
	int err = bin_open(&b, image, size);

	for (uint32_t i = 0; !err && i < b.ndir; i++)
		err = bin_check_rank(&b, i);
	for (uint32_t i = 0; !err && b.target && i < b.ndir / (1 + b.meta->result); i++)
		err = bin_check_queues(&b, i);
	return err;
}
