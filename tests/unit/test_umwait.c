/* SPDX-License-Identifier: BSD-3-Clause
 * Sleeping on a line: on a CPU that cannot, its instructions are caught, and are looked at. */
#include "backends/services.h"
#include "runtime/placement/cpus.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

#if defined(__x86_64__)
#include <x86intrin.h>

static struct {
	unsigned monitors, waits, others;
	uint64_t address, until;
	uint32_t state;
} caught;

static void on_ill(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const void *at = (const void *)r[REG_RIP]; // NOLINT(performance-no-int-to-ptr)

	(void)info;
	if (!memcmp(at, "\xf3\x0f\xae\xf0", 4)) {
		caught.monitors++;
		caught.address = (uint64_t)r[REG_RAX];
	} else if (!memcmp(at, "\xf2\x0f\xae\xf1", 4)) {
		caught.waits++;
		caught.state = (uint32_t)r[REG_RCX];
		caught.until = (uint64_t)r[REG_RDX] << 32 | (uint32_t)r[REG_RAX];
	} else {
		caught.others++;
		signal(sig, SIG_DFL); /* it comes again */
		return;
	}
	r[REG_RIP] += 4;
}

static void instructions(void)
{
	struct sigaction act = { .sa_sigaction = on_ill, .sa_flags = SA_SIGINFO }, before;
	_Atomic uint64_t word = 7;
	bool has = rt_cpu_umwaits();

	sigaction(SIGILL, &act, &before);
	be_umwait(&word, 7); /* there */
	CU_ASSERT_TRUE(has || (caught.monitors == 1 && caught.waits == 0));
	be_umwait(&word, 8);
	CU_ASSERT_TRUE(has || (caught.monitors == 2 && caught.waits == 1 && caught.state == 1));
	CU_ASSERT_TRUE(has || caught.address == (uint64_t)(uintptr_t)&word);
	CU_ASSERT_TRUE(has || (caught.until < __rdtsc() + 100000 && caught.until + 1000000000 > __rdtsc()));
	CU_ASSERT_EQUAL(caught.others, 0);
	CU_ASSERT_TRUE(!has || caught.monitors + caught.waits == 0);
	sigaction(SIGILL, &before, NULL);
}
#else
static void instructions(void)
{
	CU_ASSERT_FALSE(rt_cpu_umwaits());
}
#endif

const struct unit_suite suite_umwait = {
	"umwait",
	(const struct unit_test[]){
		{ "instructions", instructions },
		{ NULL, NULL },
	},
};
