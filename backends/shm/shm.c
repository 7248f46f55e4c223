/* SPDX-License-Identifier: BSD-3-Clause
 * The shm backend's table of operations. All its messages travel through shared memory, as sm.h describes. */
#include "backends/shm/shm.h"

#include "backends/shm/sm.h"

static struct sm_bound *to_sm(struct be_bound *b)
{
	return (struct sm_bound *)b;
}

static int make_shm(const struct be_bind *b, struct be_bound **out, struct be_handle *handle)
{
	return sm_make(b, sizeof(struct sm_bound), &sm_ops, false, out, handle);
}

static int bind_shm(struct be_bound *bound, uint32_t views, int err)
{
	int rc = sm_connect(to_sm(bound), views, err);

	if (!rc)
		sm_trace(to_sm(bound));
	return rc;
}

static int rebind_shm(struct be_bound *bound, const struct be_buffer *buffers)
{
	return sm_rebind(to_sm(bound), buffers);
}

const struct be_ops sm_ops = {
	.name = "shm",
	.near = true,
	.make = make_shm,
	.bind = bind_shm,
	.adopt = sm_adopt,
	.memory = sm_memory,
	.unbind = sm_unbind,
	.start = sm_start,
	.progress = sm_progress,
	.join = sm_join,
	.rebind = rebind_shm,
	.waits_for = sm_waits_for,
	.has_started = sm_has_started,
	.open = sm_open,
	.alarm = sm_alarm,
	.states = sm_states,
};
