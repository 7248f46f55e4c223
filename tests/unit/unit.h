/* SPDX-License-Identifier: BSD-3-Clause
 * Suites of unit tests; main.c lists them. Tests use CUnit's assertions. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <CUnit/CUnit.h>

struct unit_test {
	const char *name;
	void (*run)(void);
};

struct unit_suite {
	const char *name;
	const struct unit_test *tests; /* up to one without a name */
};

extern const struct unit_suite suite_active;
extern const struct unit_suite suite_answer;
extern const struct unit_suite suite_bin;
extern const struct unit_suite suite_coalesce;
extern const struct unit_suite suite_collective;
extern const struct unit_suite suite_copy;
extern const struct unit_suite suite_copyq;
extern const struct unit_suite suite_definitions;
extern const struct unit_suite suite_colour;
extern const struct unit_suite suite_energy;
extern const struct unit_suite suite_engine;
extern const struct unit_suite suite_kernels;
extern const struct unit_suite suite_fill;
extern const struct unit_suite suite_ring;
extern const struct unit_suite suite_learn;
extern const struct unit_suite suite_links;
extern const struct unit_suite suite_local_copy;
extern const struct unit_suite suite_staged;
extern const struct unit_suite suite_loop;
extern const struct unit_suite suite_nic;
extern const struct unit_suite suite_passes;
extern const struct unit_suite suite_placement;
extern const struct unit_suite suite_rounds;
extern const struct unit_suite suite_board;
extern const struct unit_suite suite_patience;
extern const struct unit_suite suite_sleepers;
extern const struct unit_suite suite_split;
extern const struct unit_suite suite_select;
extern const struct unit_suite suite_sweep;
extern const struct unit_suite suite_svg;
extern const struct unit_suite suite_umwait;
extern const struct unit_suite suite_verify;
extern const struct unit_suite suite_work;
extern const struct unit_suite suite_epochs;

#endif
