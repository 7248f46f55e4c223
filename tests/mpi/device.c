/* SPDX-License-Identifier: BSD-3-Clause
 * Buffers in memory of a device are left to the MPI library, on all ranks; others are served, before and after. With -DCUDA or
 * -DHIP it is the library of the device instead, as far as needed: it has one range of memory. */
#if defined(CUDA) || defined(HIP)
#include <stddef.h>
#include <stdint.h>

char device_memory[4096] __attribute__((aligned(4096)));

static int has(uintptr_t p)
{
	return p - (uintptr_t)device_memory < sizeof device_memory;
}

#ifdef CUDA
int cuPointerGetAttribute(void *data, int attribute, uintptr_t pointer);
int cuPointerGetAttribute(void *data, int attribute, uintptr_t pointer)
{
	if (!has(pointer) || attribute != 2)
		return 1; /* CUDA_ERROR_INVALID_VALUE */
	*(unsigned *)data = 2; /* CU_MEMORYTYPE_DEVICE */
	return 0;
}
#else
struct attributes {
	int type, device;
	void *device_pointer, *host_pointer;
	int managed;
	unsigned flags;
};
int hipPointerGetAttributes(struct attributes *a, const void *pointer);
int hipPointerGetAttributes(struct attributes *a, const void *pointer)
{
	*a = (struct attributes){ .device = -2 };
	if (has((uintptr_t)pointer))
		*a = (struct attributes){ .type = 2, .device_pointer = (void *)(uintptr_t)pointer };
	return 0;
}
#endif
#else
#include "persistent.h"

#include <stdio.h>

extern char device_memory[4096];
static int rank, size, bad;

/* Sums into `out`, in two starts. */
static void sum(int *in, int *out)
{
	MPI_Request request;

	MPI_Allreduce_init(in, out, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	for (int s = 0; s < 2; s++) {
		for (int i = 0; i < 10; i++)
			in[i] = rank + i + s;
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		for (int i = 0; i < 10; i++)
			bad |= out[i] != size * (i + s) + size * (size - 1) / 2;
	}
	MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
	int here[20], *there = (int *)(void *)device_memory;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 3; i++) {
		sum(here, here + 10);
		sum(there, here + 10);
		sum(rank ? here : there, here + 10);
		sum(here, rank ? there : here + 10);
	}
	MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	MPI_Finalize();
	if (!bad && rank == 0)
		puts("device: right");
	return bad;
}
#endif
