/* SPDX-License-Identifier: BSD-3-Clause
 * Runs a fuzz target on files, for compilers without libFuzzer: replay FILE... */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = malloc(1 << 20);
	size_t n;

	if (!f || !data) {
		perror(path);
		free(data);
		return 1;
	}
	n = fread(data, 1, 1 << 20, f);
	fclose(f);
	uint8_t *exact = realloc(data, n ? n : 1); /* so that reading beyond the end shows */

	LLVMFuzzerTestOneInput(exact ? exact : data, n);
	free(exact ? exact : data);
	return 0;
}

int main(int argc, char **argv)
{
	int bad = 0;

	for (int i = 1; i < argc; i++)
		bad |= replay(argv[i]);
	return bad;
}
