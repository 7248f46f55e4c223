/* SPDX-License-Identifier: BSD-3-Clause
 * Memory of devices, such as GPUs, which schedules cannot read. The library of a device is asked, if the program has loaded one:
 * that of CUDA (its driver's interface) or of HIP. */
#include "mpi/inner.h"

#include <dlfcn.h>

/* What is needed of <cuda.h> */
enum { CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2, CU_MEMORYTYPE_DEVICE = 2 };
typedef int cuda_fn(void *data, int attribute, uintptr_t pointer);

/* What is needed of <hip/hip_runtime_api.h>. The values of `type` differ between versions, so the addresses decide. */
struct hip_attributes {
	int type, device;
	void *device_pointer, *host_pointer;
	uintptr_t others[8]; /* room for the fields of newer versions */
};
typedef int hip_fn(struct hip_attributes *attributes, const void *pointer);

static struct {
	pthread_mutex_t lock;
	_Atomic unsigned long long loads; /* of libraries, when they were searched */
	_Atomic(cuda_fn *) cuda;
	_Atomic(hip_fn *) hip;
} devices = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Looking for a function that is not there costs microseconds, so it is done again only after another library was loaded. */
static void search(void)
{
	const unsigned long long loads = gm_loads();

	if (loads == devices.loads)
		return;
	pthread_mutex_lock(&devices.lock);
	devices.cuda = (cuda_fn *)dlsym(RTLD_DEFAULT, "cuPointerGetAttribute");
	devices.hip = (hip_fn *)dlsym(RTLD_DEFAULT, "hipPointerGetAttributes");
	devices.loads = loads;
	pthread_mutex_unlock(&devices.lock);
}

bool gm_device_any(void)
{
	search();
	return devices.cuda || devices.hip;
}

bool gm_device_memory(const void *p)
{
	struct hip_attributes hip = { 0 };
	unsigned type = 0;
	cuda_fn *cuda;
	hip_fn *ask;

	if (!gm_device_any())
		return false;
	cuda = devices.cuda;
	ask = devices.hip;
	if (cuda && !cuda(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)p) && type == CU_MEMORYTYPE_DEVICE)
		return true;
	return ask && !ask(&hip, p) && hip.device_pointer && !hip.host_pointer;
}
