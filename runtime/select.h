/* SPDX-License-Identifier: BSD-3-Clause
 * Selection tables of a context, and the schedules compiled for their rows (select.c). */
#ifndef RUNTIME_SELECT_H
#define RUNTIME_SELECT_H

#include "compiler/select.h"
#include "runtime/sched.h"
#include "util/mem.h"

/* The compiled schedule of a row. */
struct rt_compiled {
	const struct select_row *row;
	char *passes; /* passes of the row, with the nodes of a group; NULL: just the row's passes */
	struct rt_image *image;
};

struct rt_selected {
	struct select rows;
	VEC(struct rt_compiled) compiled;
	struct select_call last; /* the last call that a row took; its name is the row's */
	const struct select_row *found; /* that row; NULL: none yet */
};

#endif
