/* SPDX-License-Identifier: BSD-3-Clause
 * The compiled definitions of MPI collectives, which compiler/embed/embed.c writes. */
#include "compiler/collectives/definition.h"

#include "compiler/collectives/names.h"

#include <string.h>

#define IMAGE(id, name, ...) static const _Alignas(16) unsigned char image_##id[] = { __VA_ARGS__ };
#include "compiler/collectives/definitions.inc"
#undef IMAGE

static const struct {
	const char *name;
	const void *image;
	size_t size;
} definitions[] = {
#define IMAGE(id, name, ...) { name, image_##id, sizeof image_##id },
#include "compiler/collectives/definitions.inc"
#undef IMAGE
};

int definition_open(const char *name, unsigned n, struct bin *b)
{
	name = collective_defined_as(name);
	for (size_t i = 0; i < sizeof definitions / sizeof *definitions; i++)
		if (!strcmp(definitions[i].name, name) && !n--) {
			const int err = bin_open(b, definitions[i].image, definitions[i].size);

			return err ? err : 1;
		}
	return 0;
}
