/* SPDX-License-Identifier: BSD-3-Clause
 * What has to be known of a call before its schedule is bound: buffers without gaps, counts in bytes or in elements that the
 * library reduces, and the parameters of the collective's definition (compiler/collectives/collectives.goal). */
#ifndef MPI_PLAN_H
#define MPI_PLAN_H

#include "mpi/inner.h"

/* Most parameters of a definition: those of a grid, or of lists of neighbours, and counts and displacements of both sides. */
#define GM_PARAMS 12

/* Reasons that several files give: the MPI library has the last word on such calls. */
#define GM_ALIASED "both buffers are the same"
#define GM_NO_BUFFER "a buffer is null"
#define GM_NO_TYPE "a datatype is null"

struct gm_plan {
	const struct gm_call *call;
	const struct gm_spec *spec;
	const struct gm_spec *as; /* the collective whose schedule serves the call: mostly that of the call */
	bool own; /* the user has chosen a schedule for the collective */
	const struct gm_comm *comm;
	struct gm_request *r;
	const char *why; /* why this rank cannot serve the call; NULL if it can */
	void *buffers[2];
	struct MPIX_Sched_bind bind;
	struct MPIX_Sched_param params[GM_PARAMS];
	int64_t values[GM_PARAMS]; /* of parameters that are single values */
	int64_t *vectors[GM_PARAMS]; /* those that the plan has allocated */
	size_t nvectors;
	MPIX_Sched_type type; /* made for the bind; freed with the plan */
	MPIX_Sched_op op;
};

/* Works out what to bind. Local. Where the call cannot be served, sets p->why. */
void gm_plan_make(struct gm_plan *p);
void gm_plan_free(struct gm_plan *p);

/* The same for calls that reduce. */
void gm_plan_reduce(struct gm_plan *p);

/* Adds a parameter. Vectors must live as long as the plan. */
void gm_plan_value(struct gm_plan *p, const char *name, int64_t value);
void gm_plan_vector(struct gm_plan *p, const char *name, const int64_t *values, size_t n);
/* Allocates n values that live as long as the plan; NULL with p->why if there is no memory. */
int64_t *gm_plan_room(struct gm_plan *p, size_t n);
/* True if this rank uses the buffer of a side (GM_SEND, GM_RECV), and it is not in place. */
bool gm_plan_uses(const struct gm_plan *p, int side);
/* Binds the buffer of a side: the user's, staging memory, or MPIX_SCHED_IN_PLACE; NULL if it is not used. `shift` is the
 * offset in bytes of the first element in the user's buffer. */
void gm_plan_buffer(struct gm_plan *p, int side, int64_t shift);
/* Allocates staging memory of a side, for `bytes` bytes, `n` pieces and `ntypes` datatypes. Returns false with p->why. */
bool gm_plan_stage(struct gm_plan *p, int side, int64_t bytes, size_t n, size_t ntypes);

/* Returns the file that the user has chosen for a call, or NULL. May use buf. */
const char *gm_own_path(const struct gm_call *call, const struct gm_comm *comm, char *buf, int size);
/* Loads that file. Collective over the communicator. Returns NULL, or the reason why it is refused, which is the same on all
 * ranks, in `text`. The schedule stays the callee's. */
const char *gm_own_load(struct gm_plan *p, const char *path, char *text, int size, MPIX_Sched *sched);

static inline int64_t gm_int(struct gm_ints v, size_t i)
{
	return v.wide ? (int64_t)((const MPI_Count *)v.at)[i] : ((const int *)v.at)[i];
}

#endif
