/* SPDX-License-Identifier: BSD-3-Clause
 * Reports why a specialisation failed, in words. */
#include "compiler/lower/lower.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>

/* Returns the name of the buffer of a fault. In a call, the fault names a window. */
static const char *buffer_name(const struct bin *b, int op, const struct ir_fault *fault)
{
	bool window = op == BIN_EMITIN || op == BIN_COPYIN || op == BIN_WITHIN || op == BIN_FITS;

	return bin_str(b, window ? b->windows[fault->what].name : b->buffers[fault->what].name);
}

/* Returns the name of the field of an op that is out of range. The length of a calc is called its time. */
static const char *field_name(const struct bin *b, int op, const struct ir_fault *fault)
{
	static const char *const fields[BIN_FIELDS] = { "level", "tag", "cpu", "nic", "length", "index" };
	const bool emits = op == BIN_EMIT || op == BIN_EMITIN;

	if (emits && fault->what == BIN_FIELD_LEN && b->tmpls[b->code[fault->where].imm].kind == BIN_OP_CALC)
		return "time";
	return fields[fault->what];
}

bool lower_wrong_length(const struct bin *b, int err, const struct ir_fault *fault)
{
	return err == -ERR_PARAM && (b->meta->flags & BIN_F_PARAMETRIC) && b->code[fault->where].op == BIN_LENGTH;
}

void lower_fault(struct goal_diags *d, unsigned file, const struct bin *b, const struct goal_loc *locs,
		 const struct bin_args *args, int err, const struct ir_fault *fault)
{
	static const struct {
		int err;
		const char *check;
	} checks[] = {
		{ ERR_PEER, "peer" },	       { ERR_BOUNDS, "bounds" },   { ERR_LABEL, "duplicate-label" },
		{ ERR_UNKNOWN, "unknown-param" }, { ERR_OVERFLOW, "overflow" }, { ERR_RANGE, "overflow" },
		{ ERR_CYCLE, "cycle" },
	};
	struct goal_loc at = { .file = (uint16_t)file };
	const bool parametric = b->meta->flags & BIN_F_PARAMETRIC;
	const int64_t *v = fault->value;
	const char *check = NULL;
	char where[128], what[256];
	int op = 0;

	if (parametric && fault->where != BIN_NONE) {
		op = b->code[fault->where].op;
		if (locs)
			at = locs[fault->where];
		else if (b->lines)
			at = (struct goal_loc){ b->lines[fault->where], 1, (uint16_t)file };
	}
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
		if (checks[i].err == -err)
			check = checks[i].check;
	if (*fault->text)
		snprintf(what, sizeof what, "%s", fault->text);
	else if ((err == -ERR_ASSERT || err == -ERR_FAULT) && *bin_str(b, fault->what))
		snprintf(what, sizeof what, "%s", bin_str(b, fault->what));
	else if (lower_wrong_length(b, err, fault))
		snprintf(what, sizeof what, "the vector %s has the wrong length", bin_str(b, b->params[fault->what].name));
	else if (err == -ERR_PARAM || err == -ERR_UNKNOWN)
		snprintf(what, sizeof what, "%s: %s", err_text(err), bin_str(b, b->params[fault->what].name));
	else if (err == -ERR_PEER)
		snprintf(what, sizeof what, "the peer %" PRId64 " is out of range", v[0]);
	else if (err == -ERR_RANGE)
		snprintf(what, sizeof what, "the %s %" PRId64 " is out of range", field_name(b, op, fault), v[0]);
	else if (err == -ERR_BOUNDS && (op == BIN_ELEM || op == BIN_ELEM_OF))
		snprintf(what, sizeof what, "the index %" PRId64 " is outside of the vector %s, which has %" PRId64,
			 v[0], bin_str(b, b->params[fault->what].name), v[2]);
	else if (err == -ERR_BOUNDS && v[2] < 0)
		snprintf(what, sizeof what, "the size of the buffer %s is %" PRId64, buffer_name(b, op, fault), v[2]);
	else if (err == -ERR_BOUNDS && op == BIN_FITS)
		snprintf(what, sizeof what, "the buffer %s has %" PRId64 " elements, but is given %" PRId64,
			 buffer_name(b, op, fault), v[2], v[1]);
	else if (err == -ERR_BOUNDS)
		snprintf(what, sizeof what,
			 "[%" PRId64 " +: %" PRId64 "] is outside of the buffer %s, which has %" PRId64 " elements",
			 v[0], v[1], buffer_name(b, op, fault), v[2]);
	else if (err == -ERR_SPACE)
		snprintf(what, sizeof what, "there are more than %" PRId64 " ops, or %u times as many dependencies: "
			 "GOAL_MAX_OPS raises the limit", v[0], BIN_USUAL_DEPS);
	else if (err == -ERR_FUEL)
		snprintf(what, sizeof what, "the schedule takes too many steps");
	else
		snprintf(what, sizeof what, "%s", err_text(err));
	lower_sample(where, sizeof where, b, args);
	goal_diag(d, GOAL_ERROR, at, check, "%srank %u: %s", where, args->rank, what);
}

uint64_t lower_fuel(uint32_t size)
{
	return ((uint64_t)1 << 24) + ((uint64_t)size << 18);
}

void lower_sample(char *out, size_t size, const struct bin *b, const struct bin_args *args)
{
	char count[32] = "", root[32] = "";

	if (args->count >= 0 && !(b->meta->flags & BIN_F_PLAIN))
		snprintf(count, sizeof count, ", count %" PRId64, args->count);
	if (bin_root(b, args->args) >= 0)
		snprintf(root, sizeof root, ", root %" PRId64, bin_root(b, args->args));
	snprintf(out, size, "size %u%s%s%s%s: ", args->size, count, root, args->sample && *args->sample ? ", " : "",
		 args->sample ? args->sample : "");
}
