/* SPDX-License-Identifier: BSD-3-Clause
 * Atomic read-modify-writes (ARMWs) of a network interface, by operation and type. */
#include "compiler/queues/armw.h"

#include "format/read.h"

#include <stdbool.h>
#include <stdio.h>

/* Kinds of types. A table gives the kind and the size of each type. */
enum { BITS, INTEGER, FLOATING, COMPLEX, LOGICAL, PAIR };
static const struct {
	const char *name;
	int kind;
	size_t size;
} types[MPIX_SCHED_BASICS] = {
#define TYPE(NAME, name, kind, type) { #name, kind, sizeof(type) },
	MPIX_SCHED_BASIC_LIST(TYPE)
#undef TYPE
};

static const char *const ops[MPIX_SCHED_BUILTINS] = {
#define OP(NAME, name) #name,
	MPIX_SCHED_BUILTIN_LIST(OP)
#undef OP
};

static const struct {
	enum bin_armw armw;
	enum MPIX_Sched_builtin op;
	size_t size;
} armws[] = {
#define ARMW(NAME, number, word, op, bytes) { BIN_ARMW_##NAME, MPIX_SCHED_##op, bytes },
#include "format/armw.def"
#undef ARMW
};

size_t armw_size(enum MPIX_Sched_basic type)
{
	return types[type].size;
}

unsigned armw_of(enum MPIX_Sched_builtin op, enum MPIX_Sched_basic type, char *why, size_t size)
{
	bool has_size = false;

	for (size_t i = 0; i < sizeof armws / sizeof *armws; i++) {
		has_size |= armws[i].size == types[type].size;
		if (types[type].kind == INTEGER && armws[i].op == op && armws[i].size == types[type].size)
			return armws[i].armw;
	}
	if (types[type].kind != INTEGER)
		snprintf(why, size, "%s is no integer", types[type].name);
	else if (!has_size)
		snprintf(why, size, "%s has %zu bytes", types[type].name, types[type].size);
	else
		snprintf(why, size, "%s is not sum, bxor, band or bor", ops[op]);
	return 0;
}
