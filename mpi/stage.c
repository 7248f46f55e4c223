/* SPDX-License-Identifier: BSD-3-Clause
 * Staging: data whose elements have gaps, or lie in another order than the schedule expects, is packed into memory of the
 * shared heap when a request is started, and unpacked when it is complete. The MPI library packs, so that all its datatypes
 * are right; it does so in the thread that calls MPI, as every thread level allows. */
#include "mpi/inner.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* MPI_Pack counts bytes in an int. And Open MPI 5.0.7 packs MPI_C_FLOAT_COMPLEX and MPI_C_LONG_DOUBLE_COMPLEX wrongly where gaps are no
 * multiple of their size, if there are 250 elements or more. */
#define MOST_BYTES (1 << 30)
#define MOST_ELEMENTS 128

typedef int copy_fn(char *user, char *mem, int count, int bytes, MPI_Datatype type, MPI_Comm comm);

static int pack(char *user, char *mem, int count, int bytes, MPI_Datatype type, MPI_Comm comm)
{
	int at = 0;

	return PMPI_Pack(user, count, type, mem, bytes, &at, comm);
}

static int unpack(char *user, char *mem, int count, int bytes, MPI_Datatype type, MPI_Comm comm)
{
	int at = 0;

	return PMPI_Unpack(mem, bytes, &at, user, count, type, comm);
}

/* Copies one piece, in portions that MPI_Pack takes. */
static int copy_piece(const struct gm_stage *s, const struct gm_piece *p, copy_fn *copy)
{
	const MPI_Datatype type = s->types[p->type];
	MPI_Aint lb, extent;
	MPI_Count size;
	int64_t portion;
	int err = PMPI_Type_size_x(type, &size);

	err = err ? err : PMPI_Type_get_extent(type, &lb, &extent);
	if (err || !size)
		return err;
	portion = size < MOST_BYTES / MOST_ELEMENTS ? MOST_ELEMENTS : size < MOST_BYTES ? MOST_BYTES / size : 1;
	for (int64_t done = 0; done < p->count && !err; done += portion) {
		const int64_t n = p->count - done < portion ? p->count - done : portion;

		if (n * size > INT_MAX)
			return MPI_ERR_COUNT;
		err = copy(s->user + p->from + done * extent, s->mem + p->at + done * size, (int)n, (int)(n * size), type, s->comm);
	}
	return err;
}

/* Elements that keep their layout are copied as they are, gaps included. */
static int copy_raw(const struct gm_stage *s, const struct gm_piece *p)
{
	MPI_Aint lb, span, lb1, extent;
	int err = PMPI_Type_get_true_extent(s->types[p->type], &lb, &span);

	err = err ? err : PMPI_Type_get_extent(s->types[p->type], &lb1, &extent);
	if (!err && p->count)
		memcpy(s->mem + p->at + s->bias + lb, s->user + p->from + lb, (size_t)((p->count - 1) * extent + span));
	return err;
}

/* Back to the user only the data is copied: gaps in his buffer stay as they are. */
static int unpack_raw(const struct gm_stage *s, const struct gm_piece *p)
{
	struct gm_stage packed = *s, result = *s;
	struct gm_piece at_zero = *p;
	MPI_Count size;
	int err = PMPI_Type_size_x(s->types[p->type], &size);

	if (err || !p->count)
		return err;
	packed.mem = malloc((size_t)(size * p->count) + 1);
	if (!packed.mem)
		return MPI_ERR_NO_MEM;
	result.mem = packed.mem;
	packed.user = s->mem + p->at - p->from + s->bias;
	at_zero.at = 0;
	err = copy_piece(&packed, &at_zero, pack);
	err = err ? err : copy_piece(&result, &at_zero, unpack);
	free(packed.mem);
	return err;
}

int gm_stage_type(struct gm_stage *s, MPI_Datatype type)
{
	MPI_Datatype *out = &s->types[s->ntypes];
	int err = s->bias ? PMPI_Type_create_hindexed_block(1, 1, &(MPI_Aint){ -s->bias }, type, out) : PMPI_Type_dup(type, out);

	if (!err && s->bias)
		err = PMPI_Type_commit(out);
	s->ntypes += !err;
	return err;
}

int gm_stage_pack(const struct gm_stage *s)
{
	int err = MPI_SUCCESS;

	for (size_t i = 0; i < s->npieces && !err; i++)
		if (s->pieces[i].packs)
			err = s->raw ? copy_raw(s, &s->pieces[i]) : copy_piece(s, &s->pieces[i], pack);
	return err;
}

int gm_stage_unpack(const struct gm_stage *s)
{
	int err = MPI_SUCCESS;

	for (size_t i = 0; i < s->npieces && !err; i++)
		if (s->pieces[i].unpacks)
			err = s->raw ? unpack_raw(s, &s->pieces[i]) : copy_piece(s, &s->pieces[i], unpack);
	return err;
}

void gm_stage_free(struct gm_stage *s)
{
	if (s->private)
		free(s->mem);
	else if (s->mem)
		gm_lib.dealloc(gm_ctx(), s->mem);
	for (size_t i = 0; i < s->ntypes; i++)
		PMPI_Type_free(&s->types[i]);
	free(s->types);
	free(s->pieces);
	*s = (struct gm_stage){ 0 };
}
