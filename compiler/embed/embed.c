/* SPDX-License-Identifier: BSD-3-Clause
 * embed FILE: compiles each schedule of a text separately and prints the binaries as rows of C: IMAGE(0, "NAME",
 * 1,2,...). The build runs it on collectives.goal. It is linked from the parts of the compiler that turn a text into a
 * program. */
#include "compiler/lower/lower.h"
#include "util/err.h"
#include "util/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = "\nschedule ";

static int compile_definition(struct goal_diags *d, const char *name, const char *at, size_t len, void **image,
			      size_t *size)
{
	struct goal_text *tree = NULL;
	struct ir_image im = { 0 };
	const int file = goal_diags_source(d, name, at, len);
	int err = file < 0 ? file : goal_parse_parametric(d, (unsigned)file, &tree);

	if (!err && !tree)
		err = -ERR_SYNTAX;
	err = err ? err : ir_image_init(&im);
	err = err ? err : lower_program(d, tree, tree->last, &im);
	if (!err && goal_diags_errors(d))
		err = -ERR_SYNTAX;
	err = err ? err : ir_image_finish(&im, false, image, size);
	goal_text_free(tree);
	ir_image_fini(&im);
	return err;
}

static void print_row(unsigned id, const char *name, size_t name_len, const unsigned char *image, size_t size)
{
	printf("IMAGE(%u, \"%.*s\"", id, (int)name_len, name);
	for (size_t i = 0; i < size; i++)
		printf("%s%u", i % 32 ? "," : ",\n", image[i]);
	printf(")\n");
}

/* Prints all schedules of a NUL-terminated text, each of which ends where the next one begins. */
static int print_all(struct goal_diags *d, const char *file, const char *text)
{
	unsigned id = 0;
	int err = 0;

	for (const char *at = strstr(text, head), *next; at && !err; at = next) {
		const char *name = at + sizeof head - 1;
		void *image = NULL;
		size_t size = 0;

		next = strstr(name, head);
		err = compile_definition(d, file, at, next ? (size_t)(next - at) : strlen(at), &image, &size);
		if (!err)
			print_row(id++, name, strcspn(name, " (\n"), image, size);
		free(image);
	}
	return err;
}

int main(int argc, char **argv)
{
	char *text = NULL;
	size_t len;
	struct goal_diags *d = goal_diags_new();
	int err = argc == 2 && d ? file_read(argv[1], &text, &len) : -ERR_SYS;

	err = err ? err : print_all(d, argv[1], text);
	if (err)
		fprintf(stderr, "%s: %s\n%s", argc == 2 ? argv[1] : "usage: embed FILE", err_text(err), d ? goal_diags_text(d) : "");
	goal_diags_free(d);
	free(text);
	return err || fflush(stdout);
}
