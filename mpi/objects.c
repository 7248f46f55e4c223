/* SPDX-License-Identifier: BSD-3-Clause
 * What the program has loaded: whether some part of it names a function that makes persistent collectives. Only such a program
 * gets memory of the shared heap, because to load the library and make that heap takes half a million instructions. Programs
 * allocate before they make requests, so it is not enough to wait for the first. */
#include "mpi/inner.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int count_loads(struct dl_phdr_info *object, size_t size, void *arg)
{
	(void)size;
	*(unsigned long long *)arg = object->dlpi_adds;
	return 1;
}

unsigned long long gm_loads(void)
{
	unsigned long long loads = 0;

	dl_iterate_phdr(count_loads, &loads);
	return loads;
}

/* True for the names of C, with MPI_Count too, of Fortran, and of Open MPI 4.1: MPIX_Bcast_init. */
static bool makes_request(const char *name)
{
	static const char *const all[] = {
#define X(NAME, name, send, recv, flags) #name "_init",
#include "mpi/collectives.def"
#undef X
	};

	if ((name[0] != 'M' && name[0] != 'm') || (name[1] != 'P' && name[1] != 'p')) /* nearly all names */
		return false;
	name += !strncasecmp(name, "MPIX_", 5) ? 5 : !strncasecmp(name, "MPI_", 4) ? 4 : 0;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		const size_t n = strlen(all[i]);

		if (!strncasecmp(name, all[i], n) && (!name[n] || name[n] == '_'))
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

/* Libraries may be loaded later, so after each load they are searched again. */
bool gm_memory_wanted(void)
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
		search.loads = gm_loads();
	}
	found = search.found;
	pthread_mutex_unlock(&lock);
	return found;
}
