/* SPDX-License-Identifier: BSD-3-Clause
 * rt-cases [NAME...]: calls the library as its users do, with ranks as threads and as processes (CUnit). Prints a line for
 * each test. */
#include "tests/rt/cases/cases.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Reduces along a chain from the right, so that a wrong order of operands shows. */
const char case_fold[] =
	"schedule fold\n"
	"buffer inout data[count]\n"
	"buffer scratch part[count]\n"
	"rank r of p {\n"
	"  if r + 1 < p { got: recv part from r + 1\n"
	"    fold: reduce data with part into data\n fold requires got }\n"
	"  if r > 0 { up: send data to r - 1\n up requires fold }\n"
	"}\n";

/* Reduces along a chain from the left, with "reduce a into b": b = a op b. */
const char case_fold_left[] =
	"schedule fold_left\n"
	"buffer inout data[count]\n"
	"buffer scratch part[count]\n"
	"rank r of p {\n"
	"  if r > 0 { got: recv part from r - 1\n"
	"    fold: reduce part into data\n fold requires got }\n"
	"  if r + 1 < p { on: send data to r + 1\n on requires fold }\n"
	"}\n";

/* Rank 0 adds what the others send, in the order of their ranks. */
const char case_star[] =
	"schedule star\n"
	"buffer inout sum[count]\n"
	"buffer scratch part[r == 0 ? count : 0]\n"
	"rank r of p {\n"
	"  if r == 0 { for n = 1 to p - 1 {\n"
	"    got[n]: recv part from n\n"
	"    add[n]: reduce sum with part into sum\n"
	"    got[n] requires add[n - 1]\n"
	"    add[n] requires got[n] }\n"
	"  } else { send sum to 0 }\n"
	"}\n";

pid_t case_main_pid;

/* Rank 0 adds up what the others send, in the order of their ranks, and sends them the sums: to rank 1 in place of what it has sent, to
 * rank 2 an element farther on, to the others behind it. */
const char case_answer[] =
	"schedule answer\n"
	"buffer inout data[2 * count]\n"
	"buffer scratch part[r == 0 ? count : 0]\n"
	"rank r of p {\n"
	"  if r == 0 { for n = 1 to p - 1 {\n"
	"    got[n]: recv part from n\n"
	"    add[n]: reduce data[0 +: count] with part into data[0 +: count]\n"
	"    got[n] requires add[n - 1]\n"
	"    add[n] requires got[n]\n"
	"    sums[n]: send data[0 +: count] to n\n"
	"    sums[n] requires add[p - 1] }\n"
	"  } else {\n"
	"    out: send data[0 +: count] to 0\n"
	"    take: recv data[(r < 3 ? r - 1 : count) +: count] from 0\n"
	"    take requires out }\n"
	"}\n";

/* Texts that goalc compiles first. If take_compiled is set, case_load() loads these binaries instead of the texts. */
static const struct {
	const char *text, *options;
} compiled[] = {
	{ case_fold, "-T fuse" },
	{ case_fold_left, "-T 'segment:size=1998;fuse'" },
	{ case_star, "-T fuse" },
	{ case_answer, "-T fuse" },
};

static bool take_compiled;
static char image[ELEMENTS(compiled)][4096];
static size_t image_len[ELEMENTS(compiled)];

MPIX_Sched case_load(struct member *m, const char *text)
{
	size_t len = strlen(text);
	MPIX_Sched s = NULL;

	for (size_t i = 0; i < ELEMENTS(compiled) && take_compiled; i++)
		if (text == compiled[i].text) {
			text = image[i];
			len = image_len[i];
			break;
		}
	MPIX_Sched_load_mem(m->ctx, "test.goal", text, len, &s);
	return s;
}

/* Compiles the texts with the goalc in the directory of this program. */
static bool compile_all(void)
{
	char dir[] = "/tmp/cases.XXXXXX", self[256], line[1024], path[64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	bool ok = n > 0 && mkdtemp(dir);

	self[n > 0 ? n : 0] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < ELEMENTS(compiled) && ok; i++) {
		snprintf(line, sizeof line, "printf %%s '%s' | timeout 60 %s/../bin/goalc /dev/stdin -o %s/out %s",
			 compiled[i].text, self, dir, compiled[i].options);
		snprintf(path, sizeof path, "%s/out", dir);
		ok = system(line) == 0;

		FILE *f = ok ? fopen(path, "rb") : NULL;

		image_len[i] = f ? fread(image[i], 1, sizeof image[i], f) : 0;
		ok = f && feof(f);
		if (f)
			fclose(f);
		unlink(path);
	}
	rmdir(dir);
	return ok;
}

struct MPIX_Sched_bind case_bind(void *const *buffers, size_t n, size_t count, enum MPIX_Sched_basic basic)
{
	return (struct MPIX_Sched_bind){ .struct_size = sizeof(struct MPIX_Sched_bind),
					 .buffers = buffers,
					 .nbuffers = n,
					 .count = count,
					 .basic = basic };
}

bool case_detail_has(struct member *m, const char *text)
{
	char detail[512];

	MPIX_Sched_error_detail(m->ctx, detail, sizeof detail);
	if (strstr(detail, text))
		return true;
	fprintf(stderr, "rank %d: \"%s\" does not contain \"%s\"\n", m->rank, detail, text);
	return false;
}

int case_bind_ring(struct member *m, MPIX_Sched_group g, int *in, int *out, MPIX_Sched_request *req)
{
	MPIX_Sched s = case_load(m, team_ring);
	void *buffers[] = { in, out };
	struct MPIX_Sched_bind b = case_bind(buffers, 2, 3000, MPIX_SCHED_INT32);

	NEED(s);
	CALL(MPIX_Sched_init(s, g, &b, req));
	CALL(MPIX_Sched_unload(&s));
	return 0;
}

double case_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const struct test_case *const tables[] = {
	request_cases, start_cases, group_cases, data_cases, argument_cases, leaving_cases, memory_cases, stock_cases,
};

static const struct test_case *cases[128];
static size_t ncases, at;
static char **names; /* names of the cases to run; all run if there are none */

/* True if ranks of this kind run: the variable KINDS may select kinds. */
static bool has_kind(const char *kind)
{
	const char *kinds = getenv("KINDS");

	return !kinds || strstr(kinds, kind);
}

static bool wanted(void)
{
	char **n = names;

	while (*n && strcmp(*n, cases[at]->name) != 0)
		n++;
	return *n || !*names;
}

static void run_case(void)
{
	bool staged = getenv("GOAL_SHM_DIRECT") != NULL;

	for (int threads = 0; threads < 2; threads++) {
		const char *kind = threads ? "threads" : "processes";

		for (int i = 0; wanted() && has_kind(kind) && cases[at]->sizes[i] && (cases[at]->reduces || !take_compiled); i++) {
			int n = cases[at]->sizes[i];
			bool ok = team_run(n, threads, cases[at]->fn, NULL) == 0;

			CU_ASSERT(ok);
			printf("%s rt.%s %d %s%s%s\n", ok ? "ok" : "FAIL", cases[at]->name, n, kind,
			       staged ? " staged" : "", take_compiled ? " fused" : "");
		}
	}
	at++;
}

int main(int argc, char **argv)
{
	unsigned bad;
	CU_pSuite suite;

	names = argv + (argc > 0);
	case_main_pid = getpid();
	if (!compile_all() || CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	suite = CU_add_suite("rt", NULL, NULL);
	for (size_t t = 0; t < ELEMENTS(tables); t++)
		for (const struct test_case *c = tables[t]; c->name && ncases < ELEMENTS(cases); c++) {
			CU_add_test(suite, c->name, run_case);
			cases[ncases++] = c;
		}
	for (int staged = 0; staged < 2; staged++) {
		at = 0;
		if (staged)
			setenv("GOAL_SHM_DIRECT", "0", 1);
		CU_run_all_tests();
		take_compiled = true;
		at = 0;
		CU_run_all_tests();
		take_compiled = false;
	}
	bad = CU_get_number_of_failures();
	CU_cleanup_registry();
	return bad != 0;
}
