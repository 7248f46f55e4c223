/* SPDX-License-Identifier: BSD-3-Clause
 * The basic elements of datatypes and the operations of the library, each as a list for macros and as an enumeration, and the
 * mark of exported functions. This is a part of mpix_sched.h, which programs include. See MPIX_Sched_type_create(3) and
 * MPIX_Sched_init(3). */
#ifndef MPIX_SCHED_BASIC_H
#define MPIX_SCHED_BASIC_H

#include <stdint.h>

#if defined(__GNUC__)
#define MPIX_SCHED_API __attribute__((visibility("default")))
#else
#define MPIX_SCHED_API
#endif

/* The pairs of MPI_MINLOC and MPI_MAXLOC. */
struct MPIX_Sched_float_int { float value; int index; };
struct MPIX_Sched_double_int { double value; int index; };
struct MPIX_Sched_long_double_int { long double value; int index; };
struct MPIX_Sched_short_int { short value; int index; };
struct MPIX_Sched_int_int { int value, index; };
struct MPIX_Sched_long_int { long value; int index; };
struct MPIX_Sched_float_float { float value, index; };
struct MPIX_Sched_double_double { double value, index; };

/* The list of basic elements: X(NAME, name, class, C type). The class says which operations are defined on an element; see
 * MPIX_Sched_init(3). */
#define MPIX_SCHED_BASIC_LIST(X)                                                       \
	X(BYTE, byte, BITS, unsigned char)                                             \
	X(INT8, int8, INTEGER, int8_t)                                                 \
	X(UINT8, uint8, INTEGER, uint8_t)                                              \
	X(INT16, int16, INTEGER, int16_t)                                              \
	X(UINT16, uint16, INTEGER, uint16_t)                                           \
	X(INT32, int32, INTEGER, int32_t)                                              \
	X(UINT32, uint32, INTEGER, uint32_t)                                           \
	X(INT64, int64, INTEGER, int64_t)                                              \
	X(UINT64, uint64, INTEGER, uint64_t)                                           \
	X(FLOAT, float, FLOATING, float)                                               \
	X(DOUBLE, double, FLOATING, double)                                            \
	X(LONG_DOUBLE, long_double, FLOATING, long double)                             \
	X(FLOAT_COMPLEX, float_complex, COMPLEX, float _Complex)                       \
	X(DOUBLE_COMPLEX, double_complex, COMPLEX, double _Complex)                    \
	X(LONG_DOUBLE_COMPLEX, long_double_complex, COMPLEX, long double _Complex)     \
	X(BOOL, bool, LOGICAL, unsigned char)                                          \
	X(LOGICAL, logical, LOGICAL, int32_t)                                          \
	X(FLOAT_INT, float_int, PAIR, struct MPIX_Sched_float_int)                     \
	X(DOUBLE_INT, double_int, PAIR, struct MPIX_Sched_double_int)                  \
	X(LONG_DOUBLE_INT, long_double_int, PAIR, struct MPIX_Sched_long_double_int)   \
	X(SHORT_INT, short_int, PAIR, struct MPIX_Sched_short_int)                     \
	X(INT_INT, int_int, PAIR, struct MPIX_Sched_int_int)                           \
	X(LONG_INT, long_int, PAIR, struct MPIX_Sched_long_int)                        \
	X(FLOAT_FLOAT, float_float, PAIR, struct MPIX_Sched_float_float)               \
	X(DOUBLE_DOUBLE, double_double, PAIR, struct MPIX_Sched_double_double)

enum MPIX_Sched_basic {
#define MPIX_SCHED_X(NAME, name, kind, type) MPIX_SCHED_##NAME,
	MPIX_SCHED_BASIC_LIST(MPIX_SCHED_X)
#undef MPIX_SCHED_X
	MPIX_SCHED_BASICS
};

/* The list of operations: X(NAME, name). */
#define MPIX_SCHED_BUILTIN_LIST(X) \
	X(NO_OP, no_op)            \
	X(SUM, sum)                \
	X(PROD, prod)              \
	X(MIN, min)                \
	X(MAX, max)                \
	X(LAND, land)              \
	X(LOR, lor)                \
	X(LXOR, lxor)              \
	X(BAND, band)              \
	X(BOR, bor)                \
	X(BXOR, bxor)              \
	X(MINLOC, minloc)          \
	X(MAXLOC, maxloc)

enum MPIX_Sched_builtin {
#define MPIX_SCHED_X(NAME, name) MPIX_SCHED_##NAME,
	MPIX_SCHED_BUILTIN_LIST(MPIX_SCHED_X)
#undef MPIX_SCHED_X
	MPIX_SCHED_BUILTINS
};

#endif
