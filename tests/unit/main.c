/* SPDX-License-Identifier: BSD-3-Clause
 * Runs the suites: "ok suite.test" or "FAIL suite.test file:line: condition" for each test; exit status 0
 * or 1. Arguments select suites or tests by name. */
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct unit_suite *const suites[] = {
	&suite_answer,
	&suite_bin,
	&suite_coalesce,
	&suite_collective,
	&suite_copy,
	&suite_copyq,
	&suite_definitions,
	&suite_colour,
	&suite_energy,
	&suite_engine,
	&suite_fill,
	&suite_learn,
	&suite_links,
	&suite_local_copy,
	&suite_staged,
	&suite_loop,
	&suite_kernels,
	&suite_placement,
	&suite_ring,
	&suite_rounds,
	&suite_board,
	&suite_patience,
	&suite_sleepers,
	&suite_active,
	&suite_select,
	&suite_split,
	&suite_sweep,
	&suite_svg,
	&suite_umwait,
	&suite_work,
	&suite_nic,
	&suite_passes,
	&suite_verify,
	&suite_epochs,
};

static bool wanted(int argc, char **argv, const char *suite, const char *test)
{
	char both[256];

	snprintf(both, sizeof both, "%s.%s", suite, test);
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], suite) || !strcmp(argv[i], both))
			return true;
	return argc < 2;
}

static void run(CU_pSuite suite, CU_pTest test, const char *name)
{
	CU_run_test(suite, test);
	const CU_FailureRecord *f = CU_get_failure_list();

	if (f)
		printf("FAIL %s.%s %s:%u: %s (%u in all)\n", name, test->pName, f->strFileName,
		       f->uiLineNumber, f->strCondition, CU_get_number_of_failure_records());
	else
		printf("ok %s.%s\n", name, test->pName);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
		const struct unit_suite *s = suites[i];
		CU_pSuite suite = CU_add_suite(s->name, NULL, NULL);

		for (const struct unit_test *t = s->tests; suite && t->name; t++) {
			CU_pTest test = CU_add_test(suite, t->name, t->run);

			if (!test)
				return 1;
			if (!wanted(argc, argv, s->name, t->name))
				continue;
			run(suite, test, s->name);
			failed += CU_get_number_of_failure_records() != 0;
		}
	}
	CU_cleanup_registry();
	return failed ? 1 : 0;
}
