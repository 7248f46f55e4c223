/* SPDX-License-Identifier: BSD-3-Clause
 * Datatypes and operations of MPI, in the library's terms. */
#include "mpi/inner.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* What a duplicate was made of, through any number of duplicates. Predefined types are never freed, so the result needs no
 * release if it is one; others are freed by the caller if *owned. */
static MPI_Datatype original(MPI_Datatype type, int *combiner, bool *owned)
{
	int ni, na, nt;

	*owned = false;
	for (;;) {
		MPI_Datatype inner;
		int none = 0;
		MPI_Aint no_address = 0;

		if (PMPI_Type_get_envelope(type, &ni, &na, &nt, combiner) || *combiner != MPI_COMBINER_DUP)
			return type;
		if (PMPI_Type_get_contents(type, 0, 0, 1, &none, &no_address, &inner))
			return type;
		if (*owned)
			PMPI_Type_free(&type);
		type = inner;
		*owned = PMPI_Type_get_envelope(type, &ni, &na, &nt, combiner) == MPI_SUCCESS &&
			 *combiner != MPI_COMBINER_NAMED;
	}
}

static bool fills(MPI_Datatype type)
{
	MPI_Aint lb, extent;
	MPI_Count size;

	return !PMPI_Type_size_x(type, &size) && !PMPI_Type_get_extent(type, &lb, &extent) && !lb && size == extent;
}

bool gm_dense(MPI_Datatype type)
{
	int combiner, factor;
	bool owned, dense = false;

	if (!fills(type))
		return false;
	type = original(type, &combiner, &owned);
	if (combiner == MPI_COMBINER_NAMED) {
		dense = fills(type);
	} else if (combiner == MPI_COMBINER_CONTIGUOUS) {
		MPI_Datatype inner;
		MPI_Aint no_address = 0;
		int ni, na, nt;

		if (!PMPI_Type_get_contents(type, 1, 0, 1, &factor, &no_address, &inner)) {
			dense = gm_dense(inner);
			if (!PMPI_Type_get_envelope(inner, &ni, &na, &nt, &combiner) && combiner != MPI_COMBINER_NAMED)
				PMPI_Type_free(&inner);
		}
	}
	if (owned)
		PMPI_Type_free(&type);
	return dense;
}

bool gm_basic(MPI_Datatype type, enum MPIX_Sched_basic *basic)
{
	/* Fortran's types are null where the MPI library was built without Fortran. */
	const struct {
		MPI_Datatype type;
		enum MPIX_Sched_basic basic;
	} all[] = {
		{ MPI_INT, MPIX_SCHED_INT32 },
		{ MPI_DOUBLE, MPIX_SCHED_DOUBLE },
		{ MPI_FLOAT, MPIX_SCHED_FLOAT },
		{ MPI_LONG, sizeof(long) == 8 ? MPIX_SCHED_INT64 : MPIX_SCHED_INT32 },
		{ MPI_BYTE, MPIX_SCHED_BYTE },
		{ MPI_SIGNED_CHAR, MPIX_SCHED_INT8 },
		{ MPI_UNSIGNED_CHAR, MPIX_SCHED_UINT8 },
		{ MPI_SHORT, MPIX_SCHED_INT16 },
		{ MPI_UNSIGNED_SHORT, MPIX_SCHED_UINT16 },
		{ MPI_UNSIGNED, MPIX_SCHED_UINT32 },
		{ MPI_UNSIGNED_LONG, sizeof(long) == 8 ? MPIX_SCHED_UINT64 : MPIX_SCHED_UINT32 },
		{ MPI_LONG_LONG, MPIX_SCHED_INT64 },
		{ MPI_UNSIGNED_LONG_LONG, MPIX_SCHED_UINT64 },
		{ MPI_LONG_DOUBLE, MPIX_SCHED_LONG_DOUBLE },
		{ MPI_INT8_T, MPIX_SCHED_INT8 },
		{ MPI_UINT8_T, MPIX_SCHED_UINT8 },
		{ MPI_INT16_T, MPIX_SCHED_INT16 },
		{ MPI_UINT16_T, MPIX_SCHED_UINT16 },
		{ MPI_INT32_T, MPIX_SCHED_INT32 },
		{ MPI_UINT32_T, MPIX_SCHED_UINT32 },
		{ MPI_INT64_T, MPIX_SCHED_INT64 },
		{ MPI_UINT64_T, MPIX_SCHED_UINT64 },
		{ MPI_AINT, sizeof(MPI_Aint) == 8 ? MPIX_SCHED_INT64 : MPIX_SCHED_INT32 },
		{ MPI_OFFSET, MPIX_SCHED_INT64 },
		{ MPI_COUNT, MPIX_SCHED_INT64 },
		{ MPI_C_BOOL, MPIX_SCHED_BOOL },
		{ MPI_CXX_BOOL, MPIX_SCHED_BOOL },
		{ MPI_C_FLOAT_COMPLEX, MPIX_SCHED_FLOAT_COMPLEX },
		{ MPI_C_DOUBLE_COMPLEX, MPIX_SCHED_DOUBLE_COMPLEX },
		{ MPI_C_LONG_DOUBLE_COMPLEX, MPIX_SCHED_LONG_DOUBLE_COMPLEX },
		{ MPI_CXX_FLOAT_COMPLEX, MPIX_SCHED_FLOAT_COMPLEX },
		{ MPI_CXX_DOUBLE_COMPLEX, MPIX_SCHED_DOUBLE_COMPLEX },
		{ MPI_CXX_LONG_DOUBLE_COMPLEX, MPIX_SCHED_LONG_DOUBLE_COMPLEX },
		{ MPI_FLOAT_INT, MPIX_SCHED_FLOAT_INT },
		{ MPI_DOUBLE_INT, MPIX_SCHED_DOUBLE_INT },
		{ MPI_LONG_DOUBLE_INT, MPIX_SCHED_LONG_DOUBLE_INT },
		{ MPI_SHORT_INT, MPIX_SCHED_SHORT_INT },
		{ MPI_2INT, MPIX_SCHED_INT_INT },
		{ MPI_LONG_INT, MPIX_SCHED_LONG_INT },
		{ MPI_INTEGER, MPIX_SCHED_INT32 },
		{ MPI_INTEGER1, MPIX_SCHED_INT8 },
		{ MPI_INTEGER2, MPIX_SCHED_INT16 },
		{ MPI_INTEGER4, MPIX_SCHED_INT32 },
		{ MPI_INTEGER8, MPIX_SCHED_INT64 },
		{ MPI_REAL, MPIX_SCHED_FLOAT },
		{ MPI_REAL4, MPIX_SCHED_FLOAT },
		{ MPI_REAL8, MPIX_SCHED_DOUBLE },
		{ MPI_DOUBLE_PRECISION, MPIX_SCHED_DOUBLE },
		{ MPI_COMPLEX, MPIX_SCHED_FLOAT_COMPLEX },
		{ MPI_COMPLEX8, MPIX_SCHED_FLOAT_COMPLEX },
		{ MPI_COMPLEX16, MPIX_SCHED_DOUBLE_COMPLEX },
		{ MPI_DOUBLE_COMPLEX, MPIX_SCHED_DOUBLE_COMPLEX },
		{ MPI_LOGICAL, MPIX_SCHED_LOGICAL },
		{ MPI_2INTEGER, MPIX_SCHED_INT_INT },
		{ MPI_2REAL, MPIX_SCHED_FLOAT_FLOAT },
		{ MPI_2DOUBLE_PRECISION, MPIX_SCHED_DOUBLE_DOUBLE },
	};
	int combiner;
	bool owned;

	type = original(type, &combiner, &owned);
	if (owned)
		PMPI_Type_free(&type);
	if (combiner != MPI_COMBINER_NAMED)
		return false;
	for (size_t i = 0; i < COUNT(all); i++)
		if (all[i].type == type) {
			*basic = all[i].basic;
			return true;
		}
	return false;
}

/* The operations, and the classes of elements that have them (mpix_sched_basic.h). */
enum { BITS = 1, INTEGER = 2, FLOATING = 4, COMPLEX = 8, LOGICAL = 16, PAIR = 32 };

static const unsigned class_of[] = {
#define X(NAME, name, class, type) [MPIX_SCHED_##NAME] = class,
	MPIX_SCHED_BASIC_LIST(X)
#undef X
};

static const struct gm_op {
	MPI_Op op;
	enum MPIX_Sched_builtin builtin;
	unsigned classes;
} *op_row(MPI_Op op, struct gm_op *out)
{
	const struct gm_op all[] = {
		{ MPI_SUM, MPIX_SCHED_SUM, INTEGER | FLOATING | COMPLEX },
		{ MPI_PROD, MPIX_SCHED_PROD, INTEGER | FLOATING | COMPLEX },
		{ MPI_MIN, MPIX_SCHED_MIN, INTEGER | FLOATING },
		{ MPI_MAX, MPIX_SCHED_MAX, INTEGER | FLOATING },
		{ MPI_LAND, MPIX_SCHED_LAND, INTEGER | LOGICAL },
		{ MPI_LOR, MPIX_SCHED_LOR, INTEGER | LOGICAL },
		{ MPI_LXOR, MPIX_SCHED_LXOR, INTEGER | LOGICAL },
		{ MPI_BAND, MPIX_SCHED_BAND, INTEGER | BITS },
		{ MPI_BOR, MPIX_SCHED_BOR, INTEGER | BITS },
		{ MPI_BXOR, MPIX_SCHED_BXOR, INTEGER | BITS },
		{ MPI_MINLOC, MPIX_SCHED_MINLOC, PAIR },
		{ MPI_MAXLOC, MPIX_SCHED_MAXLOC, PAIR },
		{ MPI_REPLACE, MPIX_SCHED_NO_OP, 0 },
		{ MPI_NO_OP, MPIX_SCHED_NO_OP, 0 },
	};

	for (size_t i = 0; i < COUNT(all); i++)
		if (all[i].op == op) {
			*out = all[i];
			return out;
		}
	return NULL;
}

bool gm_predefined(MPI_Op op)
{
	struct gm_op row;

	return op_row(op, &row) != NULL;
}

bool gm_builtin(MPI_Op op, enum MPIX_Sched_basic basic, enum MPIX_Sched_builtin *builtin)
{
	struct gm_op row;

	if (!op_row(op, &row) || !(row.classes & class_of[basic]))
		return false;
	*builtin = row.builtin;
	return true;
}
