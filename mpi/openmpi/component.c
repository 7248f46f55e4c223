/* SPDX-License-Identifier: BSD-3-Clause
 * The component, as Open MPI loads it, and its modules. Open MPI asks each component for a module when it makes a
 * communicator, and enables modules in order of priority: the functions of a later one replace those of the ones before.
 * Ours has a high priority, and keeps the functions that it replaces for the calls that are not for us. */
#include "mpi/openmpi/front.h"

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_var.h"

#include <stdio.h>
#include <string.h>

/* Open MPI finds the component by this name. */
extern __attribute__((visibility("default"))) const mca_coll_base_component_t mca_coll_goal_component;

static int priority = 95;
static _Atomic int modules; /* that are enabled */

static void next_clear(gm_module *module)
{
	module->next = (struct gm_next){ 0 };
}

static void construct(gm_module *module)
{
	module->enabled = module->known = false;
	next_clear(module);
}

static void next_release(gm_module *module)
{
#define X(name) \
	if (module->next.name##_module) \
		OBJ_RELEASE(module->next.name##_module);
	GM_SLOTS(X)
	GM_NBC_SLOTS(X)
#undef X
	next_clear(module);
}

static OBJ_CLASS_INSTANCE(gm_module, mca_coll_base_module_t, construct, next_release);

/* The modules of lower priority are enabled already. */
static int enable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
{
	struct gm_next *next = &((gm_module *)base)->next;

#define X(slot) \
	next->slot = comm->c_coll->coll_##slot; \
	next->slot##_module = comm->c_coll->coll_##slot##_module; \
	if (next->slot##_module) \
		OBJ_RETAIN(next->slot##_module);
	GM_SLOTS(X)
	if (gm_nbc_on()) {
		GM_NBC_SLOTS(X)
	}
#undef X
	((gm_module *)base)->enabled = true;
	modules++;
	return OMPI_SUCCESS;
}

/* The library calls this for each function of ours that the communicator has. Modules that refer to each other would never be
 * freed. Without the last communicator, a session can end. */
static int disable(mca_coll_base_module_t *base, struct ompi_communicator_t *comm)
{
	gm_module *module = (gm_module *)base;
	int finalized = 1;

	(void)comm;
	if (!module->enabled)
		return OMPI_SUCCESS;
	module->enabled = false;
	next_release(module);
	if (--modules == 0 && PMPI_Finalized(&finalized) == MPI_SUCCESS && !finalized)
		gm_requests_end();
	return OMPI_SUCCESS;
}

/* Intercommunicators get a module too: gm_init counts the calls that it does not serve. */
static mca_coll_base_module_t *query(struct ompi_communicator_t *comm, int *out)
{
	gm_module *module;

	if (priority < 0)
		return NULL;
	module = OBJ_NEW(gm_module);
	if (!module)
		return NULL;
	module->base.coll_module_enable = enable;
	module->base.coll_module_disable = disable;
	gm_module_fill(&module->base);
	if (gm_nbc_on() && !OMPI_COMM_IS_INTER(comm))
		gm_module_fill_nbc(&module->base);
	*out = priority;
	return &module->base;
}

static int init_query(bool progress_threads, bool threads)
{
	(void)progress_threads, (void)threads;
	return OMPI_SUCCESS;
}

/* All releases of Open MPI since 2.0 have a libmpi.so.40, but what a module looks like differs between series, such as 4.1
 * and 5.0, and so does what a request looks like. */
static bool fits(void)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	int len, major, minor;

	if (PMPI_Get_library_version(version, &len) == MPI_SUCCESS &&
	    sscanf(version, "Open MPI v%d.%d", &major, &minor) == 2 && major == OMPI_MAJOR_VERSION &&
	    minor == OMPI_MINOR_VERSION && gm_request_fits())
		return true;
	version[strcspn(version, ",\n")] = '\0';
	fprintf(stderr,
		"mca_coll_goal: this component was built for Open MPI %d.%d and cannot be used with %s, which serves persistent "
		"collectives itself; build it with the headers of that\n",
		OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, version);
	return false;
}

/* Makes a counter of MPI_T: coll_goal_NAME. */
static void register_counter(const char *name, const char *text, _Atomic unsigned long long *counter)
{
	mca_base_component_pvar_register(&mca_coll_goal_component.collm_version, name, text, OPAL_INFO_LVL_4,
					 MCA_BASE_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
					 MCA_BASE_VAR_BIND_NO_OBJECT,
					 MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS, NULL, NULL, NULL, counter);
}

static int register_params(void)
{
	if (!fits())
		return OMPI_ERR_NOT_AVAILABLE;
	register_counter("served", "Persistent collectives that schedules serve", &gm_totals.served);
	register_counter("left", "Persistent collectives that were left to Open MPI", &gm_totals.left);
	mca_base_component_var_register(&mca_coll_goal_component.collm_version, "priority",
					"Priority of persistent collectives served by schedules; negative to switch them off",
					MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, OPAL_INFO_LVL_6, MCA_BASE_VAR_SCOPE_READONLY,
					&priority);
	return OMPI_SUCCESS;
}

const mca_coll_base_component_t mca_coll_goal_component = {
	.collm_version = {
		GM_COLL_VERSION,
		.mca_component_name = "goal",
		MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION),
		.mca_register_component_params = register_params,
	},
	.collm_data = { .param_field = MCA_BASE_METADATA_PARAM_NONE },
	.collm_init_query = init_query,
	.collm_comm_query = query,
};
