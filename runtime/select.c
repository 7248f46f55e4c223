/* SPDX-License-Identifier: BSD-3-Clause
 * Selects schedules: a context reads the selection tables once, and compiles the schedule of each row once. */
#include "compiler/collectives/collective.h"
#include "compiler/collectives/names.h"
#include "compiler/passes/passes.h"
#include "runtime/group.h"
#include "runtime/sched.h"
#include "runtime/select.h"
#include "util/install.h"
#include "util/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int read_tables(struct mpix_sched_ctx *ctx)
{
	struct rt_selected *s = mem_calloc(1, sizeof *s);
	struct goal_diags *d = goal_diags_new();
	int err = s && d ? select_load(d, env_get(ENV_GOAL_SELECT), &s->rows) : -ERR_NOMEM;

	if (err == -ERR_NOMEM)
		rt_fail(ctx, err);
	else if (err)
		rt_error(ctx, err, "%s", goal_diags_text(d));
	goal_diags_free(d);
	if (err)
		free(s);
	else
		ctx->selected = s;
	return err;
}

/* Returns the most that the ranks of a group may share, as far as that is known. */
static enum select_sharing find_sharing(const struct be_group *g)
{
	const struct rt_peer *peers = g->process->peers;

	for (uint32_t r = 1; r < g->size; r++)
		if (peers[rt_root_rank(g, r)].node != peers[rt_root_rank(g, 0)].node)
			return SELECT_SHARE_NOTHING;
	return g->cores != RT_NOT_SHARED ? SELECT_SHARE_CORE : g->cache != RT_NOT_SHARED ? SELECT_SHARE_CACHE : SELECT_SHARE_NODE;
}

/* Returns whether some ranks take turns on a core, or all share a cache, wherever the system may run them. */
static enum rt_shares find_shares(const struct be_group *g, enum select_sharing what)
{
	struct rt_cpus *cpus = mem_alloc(g->size * sizeof *cpus), all = { 0 };
	bool known = cpus, turns = false;

	for (uint32_t r = 0; r < g->size && cpus; r++) {
		cpus[r] = g->process->peers[rt_root_rank(g, r)].cpus;
		known &= rt_cpus_add(&all, &cpus[r]);
	}
	for (uint32_t r = 0; r < g->size && known && what == SELECT_SHARE_CORE; r++)
		turns |= !rt_cpus_spins(cpus, sizeof *cpus, g->size, r);
	free(cpus);
	return turns || (known && what == SELECT_SHARE_CACHE && rt_cpus_share_cache(&all)) ? RT_SHARED : RT_NOT_SHARED;
}

/* True if the ranks of a group, all on one node, share cores or a cache. */
static bool is_shared(struct be_group *g, enum select_sharing what)
{
	enum rt_shares *known = what == SELECT_SHARE_CORE ? &g->cores : &g->cache;

	if (*known == RT_UNKNOWN)
		*known = find_shares(g, what);
	return *known == RT_SHARED;
}

/* `always`: all reductions are to be reproducible. */
static int to_call(const struct MPIX_Sched_call *c, const struct be_group *g, bool always, struct select_call *out)
{
	size_t per = c->type ? c->type->layout.per : 1;
	enum MPIX_Sched_basic basic = c->type ? c->type->basic : c->basic;

	if ((unsigned)basic >= MPIX_SCHED_BASICS || (unsigned)c->topology >= SELECT_TOPOLOGIES)
		return -ERR_ARG;
	*out = (struct select_call){ .collective = c->collective,
				     .ranks = g->size,
				     .op = !c->op ? SELECT_BUILTIN : c->op->commutes ? SELECT_COMMUTATIVE : SELECT_ANY_OP,
				     .topology = (enum select_topology)c->topology,
				     .reproducible = (c->reproducible || always) && collective_reduces(c->collective),
				     .sharing = find_sharing(g) };
	if (__builtin_mul_overflow(c->count, per * rt_basic_size(basic), &out->bytes))
		out->bytes = UINT64_MAX;
	return 0;
}

/* Adds the nodes of a group's ranks to those passes of a row that need them. */
static int find_nodes(const struct be_group *g, const char *list, char **out)
{
	const struct rt_peer *peers = g->process->peers;
	uint32_t *node = mem_alloc(g->size * sizeof *node), apart = 0, q = 0;
	int err;

	for (uint32_t r = 0; r < g->size && node; r++)
		node[r] = peers[rt_root_rank(g, r)].node;
	err = node ? passes_close(list, node, g->size, &apart, out) : -ERR_NOMEM;
	while (err == -ERR_UNSUPPORTED && node[q] != node[apart])
		q++;
	free(node);
	if (err != -ERR_UNSUPPORTED)
		return rt_fail(g->ctx, err);
	return rt_error(g->ctx, err,
			"the pass %s is for nodes whose ranks follow each other, or take turns: rank %u is on the node of rank %u, and "
			"rank %u is not",
			passes_open(list), apart, q, apart - 1);
}

/* Stores the path of the binary that the installed tree has for a row, owned by the caller; NULL if it has none, or none that
 * is as new as the text at `path`. Its name has the definitions and the passes of the row: bcast_chain,segments=16+fuse@wait=1.bin. */
static int find_binary(const struct select_row *row, const char *path, char **binary)
{
	struct stat text, made;
	struct text t = { 0 };
	char *installed, *name;
	int err = install_find(row->file, &installed);

	*binary = NULL;
	if (err || !installed || strcmp(installed, path) != 0 || (row->passes && strpbrk(row->passes, ",;"))) {
		free(installed);
		return err;
	}
	free(installed);
	text_add(&t, "%.*s", (int)strcspn(row->file, "."), row->file);
	for (size_t i = 0; i < row->defines.v.n; i++)
		text_add(&t, ",%s=%" PRId64, row->defines.v.at[i].name, *row->defines.v.at[i].value);
	if (row->passes)
		text_add(&t, "+%s", row->passes);
	text_add(&t, ".bin");
	err = text_take(&t, &name);
	for (char *p = err ? NULL : strchr(name, ':'); p; p = strchr(p, ':'))
		*p = '@';
	err = err ? err : install_find(name, binary);
	free(name);
	if (*binary && (stat(path, &text) || stat(*binary, &made) || made.st_mtime < text.st_mtime)) {
		free(*binary);
		*binary = NULL;
	}
	return err;
}

/* Checks that a schedule fits its row, and keeps the position of the row for messages of binding. */
static int check_row(struct mpix_sched_ctx *ctx, const struct select_row *row, struct rt_image *image)
{
	const char *table = ctx->selected->rows.tables.at[row->table].path;
	struct text why = { 0 }, at = { 0 };
	int err = 0;

	text_add(&at, "%s:%u", table, row->at.line);
	if (text_take(&at, &image->selected))
		return rt_fail(ctx, -ERR_NOMEM);
	if (!select_fits(row, &image->bin, &image->claim, &why))
		err = why.err ? rt_fail(ctx, why.err) : rt_error(ctx, -ERR_CLAIM, "%s: %s", image->selected, why.at);
	free(why.at);
	return err;
}

/* Loads the schedule of a row from its file, and keeps it. *own: the row's passes with the nodes of the group, or NULL. */
static int compile_row(struct mpix_sched_ctx *ctx, const struct select_row *row, char **own, MPIX_Sched *out)
{
	struct rt_selected *s = ctx->selected;
	const struct compile_options o = { .debug = true,
					   .defines = row->defines.v.at,
					   .ndefines = row->defines.v.n,
					   .passes = *own ? *own : row->passes };
	struct rt_compiled c = { .row = row, .passes = *own };
	MPIX_Sched made = NULL;
	char *path, *binary = NULL;
	int err = select_path(&s->rows, row, &path), rc = MPIX_SCHED_ERR_SYS;

	if (err)
		return -rt_fail(ctx, err);
	err = *own ? 0 : find_binary(row, path, &binary);
	if (!err && binary)
		rc = rt_sched_load(ctx, binary, &o, &made);
	/* A binary of another version is no error while the text is there. */
	if (!err && rc)
		rc = rt_sched_load(ctx, path, &o, &made);
	free(binary);
	free(path);
	if (err || rc)
		return err ? -rt_fail(ctx, err) : rc;
	c.image = made->image;
	rc = -check_row(ctx, row, c.image);
	if (rc) {
		rt_sched_unref(made);
		return rc;
	}
	*out = made;
	if (!VEC_PUSH(&s->compiled, c)) { /* otherwise later calls load it again */
		atomic_fetch_add(&c.image->refs, 1);
		*own = NULL;
	}
	return 0;
}

static int load_row(struct mpix_sched_ctx *ctx, const struct select_row *row, char **own, MPIX_Sched *out)
{
	const struct rt_selected *s = ctx->selected;

	for (size_t i = 0; i < s->compiled.n; i++) {
		const struct rt_compiled *c = &s->compiled.at[i];

		if (c->row == row && (!*own || !strcmp(c->passes, *own)))
			return rt_sched_share(ctx, c->image, out);
	}
	return compile_row(ctx, row, own, out);
}

/* Returns the row for a call, which often is the same as the last one. */
static const struct select_row *find_row(struct rt_selected *s, const struct select_call *call)
{
	const struct select_call *l = &s->last;
	const struct select_row *row;

	if (s->found && l->ranks == call->ranks && l->bytes == call->bytes && l->op == call->op && l->topology == call->topology &&
	    l->reproducible == call->reproducible && l->sharing == call->sharing && !strcmp(l->collective, call->collective))
		return s->found;
	row = select_find(&s->rows, call);
	if (row) {
		s->found = row;
		s->last = *call;
		s->last.collective = row->collective;
	}
	return row;
}

int MPIX_Sched_select(MPIX_Sched_group group, const struct MPIX_Sched_call *c, MPIX_Sched *sched)
{
	const struct select_row *row;
	struct mpix_sched_ctx *ctx;
	struct select_call call;
	long always;
	char *own = NULL; /* passes of the row, with the nodes of the group */
	int rc = 0;

	if (!group || !c || c->struct_size < sizeof *c || !c->collective || !sched)
		return rt_invalid(group ? group->g.ctx : NULL);
	ctx = group->g.ctx;
	if (rt_env(ctx, ENV_GOAL_REPRODUCIBLE, &always))
		return MPIX_SCHED_ERR_ARG;
	if (to_call(c, &group->g, always, &call))
		return -rt_error(ctx, -ERR_ARG, "there is no such type or topology");
	pthread_mutex_lock(&ctx->select_lock);
	if (!ctx->selected)
		rc = -read_tables(ctx);
	row = rc ? NULL : find_row(ctx->selected, &call);
	while (row && select_sharing_of(row) < SELECT_SHARE_NODE && !is_shared(&group->g, call.sharing)) {
		call.sharing++;
		row = find_row(ctx->selected, &call);
	}
	if (!rc && !row && !collective_known(c->collective))
		rc = -rt_error(ctx, -ERR_ARG, "there is no collective %s", c->collective);
	else if (!rc && !row)
		rc = -rt_error(ctx, -ERR_UNSUPPORTED,
			       "no row of the selection table is for this call of %s: %" PRIu64 " ranks, %" PRIu64 " bytes%s",
			       c->collective, call.ranks, call.bytes, call.reproducible ? ", reproducibly" : "");
	if (!rc && row->passes && passes_open(row->passes))
		rc = -find_nodes(&group->g, row->passes, &own);
	rc = rc ? rc : load_row(ctx, row, &own, sched);
	free(own);
	pthread_mutex_unlock(&ctx->select_lock);
	return rc;
}
