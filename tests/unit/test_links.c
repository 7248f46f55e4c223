/* SPDX-License-Identifier: BSD-3-Clause
 * Links of the backend verbs, without a device. */
#include "backends/verbs/vb.h"
#include "tests/unit/unit.h"

/* Completes the work requests of a link up to the last one. */
static void complete(struct vb_link *l)
{
	const struct ibv_wc wc = { .status = IBV_WC_SUCCESS, .opcode = IBV_WC_RDMA_WRITE, .wr_id = (uint64_t)l->posted << 32 | VB_LINK };

	vb_link_completed(l, &wc);
	l->first = NULL;
	l->tail = &l->first;
}

/* However many work requests have been posted since the last probe, the next one is sent when that is complete, and not before. */
static void probes_one_at_a_time(void)
{
	static const uint32_t since[] = { 0, 1, INT32_MAX, (uint32_t)INT32_MAX + 1, UINT32_MAX - 100, UINT32_MAX };

	for (unsigned i = 0; i < sizeof since / sizeof *since; i++) {
		struct vb_link l = { .depth = 64, .tail = &l.first, .probed = 7, .posted = 7 + since[i], .signalled = 7 + since[i] };
		struct ibv_send_wr wr = { 0 };

		atomic_init(&l.reaped, l.posted);
		CU_ASSERT(vb_link_probe(&l));
		CU_ASSERT(!vb_link_probe(&l));
		vb_link_add(&l, &wr, VB_NOBODY);
		CU_ASSERT(!vb_link_probe(&l));
		complete(&l);
		CU_ASSERT(vb_link_probe(&l));
	}
}

static const struct unit_test tests[] = {
	{ "probes_one_at_a_time", probes_one_at_a_time },
	{ NULL, NULL },
};

const struct unit_suite suite_links = { "links", tests };
