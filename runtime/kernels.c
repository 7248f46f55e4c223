/* SPDX-License-Identifier: BSD-3-Clause
 * Reductions of basic types: inout[i] = in[i] op inout[i]. Plain loops without aliasing, which the compiler
 * vectorises; element by element, so that every CPU gives the same bits. Integers wrap. */
#include "runtime/rt.h"

#define LOOP(name, type, work, expr)                                                       \
	static void name(const void *in, void *inout, size_t n)                            \
	{                                                                                  \
		const type *restrict x = in;                                               \
		type *restrict y = inout;                                                  \
                                                                                           \
		for (size_t i = 0; i < n; i++) {                                           \
			work a = (work)x[i], b = (work)y[i];                               \
                                                                                           \
			y[i] = (type)(expr);                                               \
		}                                                                          \
	}

/* work is an unsigned type for sums and products, where signed ones must not overflow. */
#define ARITHMETIC(T, type, work)              \
	LOOP(T##_sum, type, work, a + b)       \
	LOOP(T##_prod, type, work, a *b)       \
	LOOP(T##_min, type, type, b < a ? b : a) \
	LOOP(T##_max, type, type, a < b ? b : a)
#define LOGICAL(T, type)                                   \
	LOOP(T##_land, type, type, a &&b)                  \
	LOOP(T##_lor, type, type, a || b)                  \
	LOOP(T##_lxor, type, type, (a != 0) != (b != 0))   \
	LOOP(T##_band, type, type, a &b)                   \
	LOOP(T##_bor, type, type, a | b)                   \
	LOOP(T##_bxor, type, type, a ^ b)
#define INTEGER(T, type, work) ARITHMETIC(T, type, work) LOGICAL(T, type)

INTEGER(int8, int8_t, uint32_t)
INTEGER(uint8, uint8_t, uint32_t)
INTEGER(int16, int16_t, uint32_t)
INTEGER(uint16, uint16_t, uint32_t)
INTEGER(int32, int32_t, uint32_t)
INTEGER(uint32, uint32_t, uint32_t)
INTEGER(int64, int64_t, uint64_t)
INTEGER(uint64, uint64_t, uint64_t)
ARITHMETIC(float, float, float)
ARITHMETIC(double, double, double)

#define ROW_ARITHMETIC(T)                                                              \
	[MPIX_SCHED_SUM] = T##_sum, [MPIX_SCHED_PROD] = T##_prod, [MPIX_SCHED_MIN] = T##_min, \
	[MPIX_SCHED_MAX] = T##_max
#define ROW_INTEGER(T)                                                                       \
	ROW_ARITHMETIC(T), [MPIX_SCHED_LAND] = T##_land, [MPIX_SCHED_LOR] = T##_lor,         \
			   [MPIX_SCHED_LXOR] = T##_lxor, [MPIX_SCHED_BAND] = T##_band,       \
			   [MPIX_SCHED_BOR] = T##_bor, [MPIX_SCHED_BXOR] = T##_bxor

rt_kernel *rt_kernel_find(enum MPIX_Sched_basic basic, enum MPIX_Sched_builtin op)
{
	static rt_kernel *const kernels[MPIX_SCHED_BASICS][MPIX_SCHED_BUILTINS] = {
		[MPIX_SCHED_BYTE] = { [MPIX_SCHED_BAND] = uint8_band,
				      [MPIX_SCHED_BOR] = uint8_bor,
				      [MPIX_SCHED_BXOR] = uint8_bxor },
		[MPIX_SCHED_INT8] = { ROW_INTEGER(int8) },
		[MPIX_SCHED_UINT8] = { ROW_INTEGER(uint8) },
		[MPIX_SCHED_INT16] = { ROW_INTEGER(int16) },
		[MPIX_SCHED_UINT16] = { ROW_INTEGER(uint16) },
		[MPIX_SCHED_INT32] = { ROW_INTEGER(int32) },
		[MPIX_SCHED_UINT32] = { ROW_INTEGER(uint32) },
		[MPIX_SCHED_INT64] = { ROW_INTEGER(int64) },
		[MPIX_SCHED_UINT64] = { ROW_INTEGER(uint64) },
		[MPIX_SCHED_FLOAT] = { ROW_ARITHMETIC(float) },
		[MPIX_SCHED_DOUBLE] = { ROW_ARITHMETIC(double) },
	};

	if ((unsigned)basic >= MPIX_SCHED_BASICS || (unsigned)op >= MPIX_SCHED_BUILTINS)
		return NULL;
	return kernels[basic][op];
}
