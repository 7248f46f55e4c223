/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules lowered to command queues, in memory and in binaries. */
#include "compiler/ir/smcq.h"

#include "util/err.h"

#include <stdlib.h>
#include <string.h>

struct smcq *smcq_new(uint32_t nranks)
{
	struct smcq *s = mem_calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->nranks = nranks;
	s->ranks = mem_calloc(nranks, sizeof *s->ranks);
	if (s->ranks)
		return s;
	free(s);
	return NULL;
}

void smcq_free(struct smcq *s)
{
	if (!s)
		return;
	for (uint32_t r = 0; r < s->nranks; r++) {
		VEC_FREE(&s->ranks[r].queues);
		VEC_FREE(&s->ranks[r].entries);
	}
	free(s->ranks);
	free(s);
}

int smcq_to_image(const struct smcq *s, struct ir_image *im)
{
	int err = 0;

	im->target = s->target;
	for (uint32_t i = 0; i < s->nranks && !err; i++) {
		const struct smcq_rank *r = &s->ranks[i];
		const struct bin_queues h = { (uint32_t)r->queues.n, (uint32_t)r->entries.n, r->locals, r->remotes };
		const size_t at = im->queues.n;

		for (size_t k = 0; k < r->entries.n; k++)
			im->gets |= r->entries.at[k].kind == BIN_E_GET;
		err = at / 8 > UINT32_MAX ? -ERR_RANGE : VEC_APPEND(&im->queues, &h, sizeof h);
		err = err ? err : VEC_APPEND(&im->queues, r->queues.at, r->queues.n * sizeof *r->queues.at);
		err = err ? err : VEC_APPEND(&im->queues, r->entries.at, r->entries.n * sizeof *r->entries.at);
		if (!err)
			err = VEC_PUSH(&im->qdir, (struct bin_dir){ (uint32_t)(at / 8),
								    bin_sum(im->queues.at + at, im->queues.n - at) });
	}
	return err;
}

int smcq_from_binary(const struct bin *b, const struct bin_arg *args, struct ir_graph *g)
{
	int err = 0;

	if (!b->target)
		return 0;
	g->queues = smcq_new(b->meta->nranks);
	if (!g->queues)
		return -ERR_NOMEM;
	g->queues->target = *b->target;
	for (uint32_t i = 0; i < b->meta->nranks && !err; i++) {
		const struct bin_posts p = bin_posts(b, bin_dir_row(b, i, bin_root(b, args)));
		struct smcq_rank *r = &g->queues->ranks[i];

		r->locals = p.head->locals;
		r->remotes = p.head->remotes;
		for (uint32_t k = 0; k < p.head->nqueues && !err; k++)
			err = VEC_PUSH(&r->queues, p.queues[k]);
		for (uint32_t k = 0; k < p.head->nentries && !err; k++)
			err = VEC_PUSH(&r->entries, p.entries[k]);
	}
	return err;
}

const char *smcq_entry_word(unsigned kind)
{
	static const char *const words[BIN_E_KINDS] = {
#define ENTRY(NAME, number, word, sends, ranges) [number] = word,
#include "format/entry.def"
#undef ENTRY
	};

	return words[kind];
}

const char *smcq_entry_preposition(unsigned kind)
{
	return kind == BIN_E_GET ? "from" : "to";
}

const struct bin_entry *smcq_cpu_puts(const struct smcq_rank *r)
{
	for (size_t i = 0; i < r->entries.n; i++)
		if (r->entries.at[i].kind == BIN_E_CPU && r->entries.at[i].sps)
			return &r->entries.at[i];
	return NULL;
}

struct smcq_needs smcq_rank_needs(const struct smcq_rank *r)
{
	struct smcq_needs n = { .queues = smcq_cpu_puts(r) != NULL };

	for (size_t q = 0; q < r->queues.n; q++)
		if (r->queues.at[q].mode != BIN_Q_CPU) {
			n.queues++;
			n.entries += r->queues.at[q].n;
		}
	for (size_t e = 0; e < r->entries.n; e++)
		n.cpu += r->entries.at[e].kind == BIN_E_CPU;
	return n;
}

struct smcq_needs smcq_needs(const struct smcq *s)
{
	struct smcq_needs all = { 0 };

	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct smcq_needs n = smcq_rank_needs(&s->ranks[i]);

		all.queues = n.queues > all.queues ? n.queues : all.queues;
		all.entries = n.entries > all.entries ? n.entries : all.entries;
		all.cpu += n.cpu;
	}
	return all;
}
