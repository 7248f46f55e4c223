/* SPDX-License-Identifier: BSD-3-Clause
 * What a process has once: the library's context, made at the first use. */
#include "mpi/inner.h"

static struct {
	pthread_mutex_t lock;
	bool tried;
	MPIX_Sched_ctx ctx;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* While a thread waits for a request of ours, native messages move on: a rank that waits for one of those may be what the
 * request waits for. */
static enum MPIX_Sched_way wait_here(const struct MPIX_Sched_energy_info *info, void *arg)
{
	(void)info, (void)arg;
	gm_native_progress();
	return MPIX_SCHED_YIELD;
}

MPIX_Sched_ctx gm_ctx(void)
{
	pthread_mutex_lock(&process.lock);
	if (!process.tried) {
		process.tried = true;
		gm_stats_begin();
		if (MPIX_Sched_ctx_create(&process.ctx) == MPIX_SCHED_SUCCESS)
			MPIX_Sched_energy_handler_reg(process.ctx, wait_here, NULL);
		else
			process.ctx = NULL;
	}
	pthread_mutex_unlock(&process.lock);
	return process.ctx;
}

void gm_begin(void)
{
	gm_comms_begin();
}

void gm_end(void)
{
	gm_helper_end();
	if (process.ctx) {
		gm_reap();
		gm_stats_end();
		gm_own_end();
		gm_comms_end();
		MPIX_Sched_energy_handler_dereg(process.ctx);
		MPIX_Sched_ctx_free(&process.ctx);
	}
	process.tried = false;
}
