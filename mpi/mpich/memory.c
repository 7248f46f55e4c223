/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_Alloc_mem: memory of the shared heap, for programs that have persistent collectives. To load the library and
 * make that heap takes half a million instructions, so a program without them gets the MPI library's memory, as before. Programs allocate
 * before they make requests, so it is not enough to wait for the first: what counts is that some part of the program names a
 * function that makes them. */
#include "mpi/mpich/front.h"
#include "mpi/mpich/native.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Alignment of the shared heap's memory */
#define ALIGNED 64
/* The key of MPI_Info for more */
#define ALIGNMENT "mpi_minimum_memory_alignment"

/* ---- which programs ---- */

static bool makes_request(const char *name)
{
	static const char *const all[] = {
#define X(NAME, name, send, recv, flags) "MPI_" #name "_init",
#include "mpi/collectives.def"
#undef X
	};

	if (name[0] != 'M' || name[1] != 'P') /* nearly all names */
		return false;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		const size_t n = strlen(all[i]);

		if (!strncmp(name, all[i], n) && (!name[n] || !strcmp(name + n, "_c")))
			return true;
	}
	return false;
}

/* The dynamic symbols of a loaded object. Those that it does not define come first in the order of a GNU hash table. */
struct symbols {
	const ElfW(Sym) *at;
	const char *names;
	size_t n; /* that can be undefined */
};

static uintptr_t address_of(const struct dl_phdr_info *object, uintptr_t p)
{
	return p < object->dlpi_addr ? object->dlpi_addr + p : p; /* the loader has relocated most, not those of the kernel */
}

static struct symbols symbols_of(const struct dl_phdr_info *object)
{
	struct symbols s = { 0 };
	const ElfW(Dyn) *d = NULL;

	for (size_t i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		const void *p = (const void *)address_of(object, d->d_un.d_ptr);

		if (d->d_tag == DT_SYMTAB)
			s.at = p;
		else if (d->d_tag == DT_STRTAB)
			s.names = p;
		else if (d->d_tag == DT_GNU_HASH)
			s.n = ((const uint32_t *)p)[1];
		else if (d->d_tag == DT_HASH && !s.n)
			s.n = ((const uint32_t *)p)[1];
	}
	if (!s.at || !s.names)
		s.n = 0;
	return s;
}

/* What was found when there had been so many loads of libraries. */
struct search {
	unsigned long long loads;
	bool found;
};

static int search_one(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct symbols s;
	struct search *search = arg;

	(void)size;
	if (search->loads == object->dlpi_adds)
		return 1;
	s = symbols_of(object);
	for (size_t i = 1; i < s.n && !search->found; i++)
		search->found = s.at[i].st_shndx == SHN_UNDEF && makes_request(s.names + s.at[i].st_name);
	return search->found;
}

static int count_loads(struct dl_phdr_info *object, size_t size, void *arg)
{
	(void)size;
	*(unsigned long long *)arg = object->dlpi_adds;
	return 1;
}

/* GOAL_MPI_ALLOC decides, if it is set. Libraries may be loaded later, so after each load they are searched again. */
static bool wanted(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct search search;
	const char *option = getenv("GOAL_MPI_ALLOC");
	bool found;

	if (option && *option)
		return strcmp(option, "0") != 0;
	if (gm_loaded())
		return true;
	pthread_mutex_lock(&lock);
	if (!search.found) {
		dl_iterate_phdr(search_one, &search);
		dl_iterate_phdr(count_loads, &search.loads);
	}
	found = search.found;
	pthread_mutex_unlock(&lock);
	return found;
}

/* ---- the functions ---- */

/* True if the program asks for nothing that we do not give. */
static bool gives(MPI_Info info)
{
	char value[32];
	int keys = 0, there = 0;

	if (info == MPI_INFO_NULL)
		return true;
	if (PMPI_Info_get_nkeys(info, &keys) || !keys)
		return !keys;
	if (PMPI_Info_get(info, ALIGNMENT, sizeof value - 1, value, &there) || !there || keys > 1)
		return false;
	return strtoul(value, NULL, 10) <= ALIGNED;
}

GM_EXPORT int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
	void *mem = NULL;

	if (gm_running() && size > 0 && baseptr && wanted() && gives(info))
		mem = gm_memory_alloc((size_t)size);
	if (!mem)
		return NATIVE_SELDOM(Alloc_mem)(size, info, baseptr);
	*(void **)baseptr = mem;
	return MPI_SUCCESS;
}

GM_EXPORT int MPI_Free_mem(void *base)
{
	return gm_memory_free(base) ? MPI_SUCCESS : NATIVE_SELDOM(Free_mem)(base);
}
