/* SPDX-License-Identifier: BSD-3-Clause
 * Reductions: every variant that this CPU runs gives the same bits, the operations commute, and what C leaves
 * open is as MPIX_Sched_init(3) says. */
#include "goalrun/run.h"
#include "runtime/kernels/kernels.h"
#include "runtime/sched.h"
#include "tests/unit/unit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 203, LINE = 64 };

static uint64_t seed;

static uint64_t random64(void)
{
	return values_hash(++seed);
}

/* What goes wrong easily, and anything else. */
static double special(void)
{
	static const double some[] = { 0.0,  -0.0,	1.0,	       -1.0,	  INFINITY,	 -INFINITY,
				       NAN,  -NAN,	DBL_MAX,       -DBL_MAX,  DBL_MIN,	 5e-324,
				       -5e-324, FLT_MAX, -FLT_MAX,     FLT_MIN,	  1e-45,	 -1e-45 };
	uint64_t r = random64();

	if (r % 3)
		return some[r / 3 % (sizeof some / sizeof *some)];
	return (double)(int64_t)random64() / (double)(1 << 20);
}

static float special_float(void)
{
	uint32_t bits = (uint32_t)random64();
	float f = (float)special();

	if (random64() % 4 == 0) /* any bits: NaNs with payloads, denormals */
		memcpy(&f, &bits, sizeof f);
	return f;
}

static double special_double(void)
{
	uint64_t bits = random64();
	double d = special();

	if (random64() % 4 == 0)
		memcpy(&d, &bits, sizeof d);
	return d;
}

#define SOME(T)                                                                                     \
	_Generic((T)0, float: special_float(), double: special_double(), long double: special(),    \
		 default: random64() % 5)
#define MAKE_BITS(T) p[i] = (T)random64()
#define MAKE_INTEGER(T) p[i] = (T)(random64() % 4 ? random64() : 0)
#define MAKE_LOGICAL(T) p[i] = (T)(random64() % 3)
#define MAKE_FLOATING(T) p[i] = SOME(T)
#define MAKE_COMPLEX(T)                                   \
	__real__ p[i] = SOME(__typeof__(__real__(T)0));   \
	__imag__ p[i] = SOME(__typeof__(__real__(T)0))
#define MAKE_PAIR(T)                                                           \
	p[i].value = (__typeof__(p->value))SOME(__typeof__(p->value));         \
	p[i].index = (__typeof__(p->index))(random64() % 4)

static void make(enum MPIX_Sched_basic type, void *out, size_t n)
{
	switch (type) {
#define X(NAME, name, kind, T)                            \
	case MPIX_SCHED_##NAME: {                         \
		T *p = out;                               \
                                                          \
		for (size_t i = 0; i < n; i++) {          \
			MAKE_##kind(T);                   \
		}                                         \
		break;                                    \
	}
		MPIX_SCHED_BASIC_LIST(X)
#undef X
	default:
		break;
	}
}

struct room {
	_Alignas(LINE) char in[MOST * 32 + LINE], inout[MOST * 32 + LINE], want[MOST * 32 + LINE], out[MOST * 32 + LINE];
};

/* All lengths up to MOST, from every alignment that the type may have within a line. */
static void agree(struct room *m, enum MPIX_Sched_basic type, enum MPIX_Sched_builtin op, rt_kernel *base,
		  rt_kernel *other)
{
	size_t elem = rt_basic_size(type), bad = 0;

	for (size_t n = 0; n < MOST; n++) {
		size_t at = random64() % (LINE / elem ? LINE / elem : 1) * elem;
		char *x = m->in + at, *y = m->inout + at, *z = m->want + at;

		values_pattern(m->in, sizeof m->in, random64()); /* what lies between values, and behind */
		values_pattern(m->inout, sizeof m->inout, random64());
		make(type, x, n);
		make(type, y, n);
		memcpy(m->want, m->inout, sizeof m->want);
		base(x, z, z, n);
		memcpy(m->out, m->inout, sizeof m->out);
		other(x, y, m->out + at, n); /* to a third array first */
		bad += memcmp(m->want, m->out, sizeof m->want) != 0;
		other(x, y, y, n);
		bad += memcmp(m->want, m->inout, sizeof m->want) != 0;
		/* The other way round, and in place. */
		values_pattern(m->inout, sizeof m->inout, seed);
		make(type, y, n);
		memcpy(m->want, m->inout, sizeof m->want);
		base(x, z, z, n);
		other(y, x, x, n);
		bad += values_compare(type, op, x, z, n) >= 0;
		memcpy(m->want, m->in, sizeof m->want);
		base(z, z, z, n);
		other(x, x, x, n);
		bad += memcmp(m->want, m->in, sizeof m->want) != 0;
	}
	CU_ASSERT_EQUAL(bad, 0);
}

static void variants_agree(void)
{
	struct room *m = malloc(sizeof *m);
	const char *name;
	const struct rt_kernels *k;
	unsigned ran = 0;
	int runs;

	seed = 1;
	for (unsigned i = 0; m && (k = rt_kernels_variant(i, &name, &runs)); i++) {
		for (int t = 0; runs && t < MPIX_SCHED_BASICS; t++)
			for (int o = 0; o < MPIX_SCHED_BUILTINS; o++) {
				CU_ASSERT_EQUAL(!k->of[t][o], !rt_kernels_base.of[t][o]);
				if (k->of[t][o])
					agree(m, (enum MPIX_Sched_basic)t, (enum MPIX_Sched_builtin)o,
					      rt_kernels_base.of[t][o], k->of[t][o]);
			}
		ran += runs != 0;
	}
	CU_ASSERT(ran >= 1);
	free(m);
}

/* What MPI defines, counted by hand: 8 integers, 3 floating, 3 complex, 2 logical, 1 bits, 8 pairs. */
static void combinations(void)
{
	static const unsigned types[MPIX_SCHED_BUILTINS] = {
		[MPIX_SCHED_SUM] = 14, [MPIX_SCHED_PROD] = 14, [MPIX_SCHED_MIN] = 11,	[MPIX_SCHED_MAX] = 11,
		[MPIX_SCHED_LAND] = 10, [MPIX_SCHED_LOR] = 10,	[MPIX_SCHED_LXOR] = 10, [MPIX_SCHED_BAND] = 9,
		[MPIX_SCHED_BOR] = 9,	[MPIX_SCHED_BXOR] = 9,	[MPIX_SCHED_MINLOC] = 8,
		[MPIX_SCHED_MAXLOC] = 8,
	};

	for (int o = 0; o < MPIX_SCHED_BUILTINS; o++) {
		unsigned n = 0;

		for (int t = 0; t < MPIX_SCHED_BASICS; t++)
			n += rt_kernels_base.of[t][o] != NULL;
		CU_ASSERT_EQUAL(n, types[o]);
	}
	CU_ASSERT_PTR_NULL(rt_kernels_base.of[MPIX_SCHED_BYTE][MPIX_SCHED_SUM]);
	CU_ASSERT_PTR_NULL(rt_kernels_base.of[MPIX_SCHED_FLOAT_COMPLEX][MPIX_SCHED_MAX]);
	CU_ASSERT_PTR_NULL(rt_kernels_base.of[MPIX_SCHED_DOUBLE][MPIX_SCHED_BAND]);
}

static uint32_t float_op(enum MPIX_Sched_builtin op, float a, float b)
{
	uint32_t bits;

	rt_kernels_base.of[MPIX_SCHED_FLOAT][op](&a, &b, &b, 1);
	memcpy(&bits, &b, sizeof bits);
	return bits;
}

static void floating_results(void)
{
	const uint32_t nan = 0x7fc00000, minus0 = 0x80000000;

	CU_ASSERT_EQUAL(float_op(MPIX_SCHED_SUM, INFINITY, -INFINITY), nan);
	CU_ASSERT_EQUAL(float_op(MPIX_SCHED_SUM, -NAN, 1), nan);
	CU_ASSERT_EQUAL(float_op(MPIX_SCHED_PROD, INFINITY, -0.0f), nan);
	CU_ASSERT_EQUAL(float_op(MPIX_SCHED_SUM, -0.0f, -0.0f), minus0);
	CU_ASSERT_EQUAL(float_op(MPIX_SCHED_MIN, 0.0f, -0.0f), minus0);
	CU_ASSERT_EQUAL(float_op(MPIX_SCHED_MIN, -0.0f, 0.0f), minus0);
	CU_ASSERT_EQUAL(float_op(MPIX_SCHED_MAX, 0.0f, -0.0f), 0);
	CU_ASSERT_EQUAL(float_op(MPIX_SCHED_MAX, -0.0f, 0.0f), 0);
	CU_ASSERT_EQUAL(float_op(MPIX_SCHED_MIN, -INFINITY, -NAN), nan);
	CU_ASSERT_EQUAL(float_op(MPIX_SCHED_MAX, -NAN, INFINITY), nan);
}

static void other_results(void)
{
	int8_t a = 100, b = 100;
	int16_t c = INT16_MIN, d = -1;
	struct MPIX_Sched_double_int x = { 2, 7 }, y = { 2, 5 }, z = { NAN, 9 };
	float p[2] = { 1, 2 }, q[2] = { 3, -1 };

	rt_kernels_base.of[MPIX_SCHED_INT8][MPIX_SCHED_SUM](&a, &b, &b, 1);
	CU_ASSERT_EQUAL(b, -56);
	rt_kernels_base.of[MPIX_SCHED_INT16][MPIX_SCHED_PROD](&c, &d, &d, 1);
	CU_ASSERT_EQUAL(d, INT16_MIN);
	rt_kernels_base.of[MPIX_SCHED_DOUBLE_INT][MPIX_SCHED_MAXLOC](&x, &y, &y, 1);
	CU_ASSERT(y.value == 2 && y.index == 5);
	rt_kernels_base.of[MPIX_SCHED_DOUBLE_INT][MPIX_SCHED_MINLOC](&z, &y, &y, 1);
	CU_ASSERT(isnan(y.value) && y.index == 9);
	rt_kernels_base.of[MPIX_SCHED_FLOAT_COMPLEX][MPIX_SCHED_PROD](p, q, q, 1);
	CU_ASSERT(q[0] == 5 && q[1] == 5);
}

static void forced(void)
{
	CU_ASSERT_PTR_NOT_NULL(rt_kernels_choose());
	setenv("GOAL_KERNELS", "base", 1);
	CU_ASSERT_PTR_EQUAL(rt_kernels_choose(), &rt_kernels_base);
	setenv("GOAL_KERNELS", "none", 1);
	CU_ASSERT_PTR_NULL(rt_kernels_choose());
	unsetenv("GOAL_KERNELS");
}

const struct unit_suite suite_kernels = {
	"kernels",
	(const struct unit_test[]){
		{ "variants_agree", variants_agree },
		{ "combinations", combinations },
		{ "floating_results", floating_results },
		{ "other_results", other_results },
		{ "forced", forced },
		{ NULL, NULL },
	},
};
