/* SPDX-License-Identifier: BSD-3-Clause
 * report FILE PATH...: checks that a file has one JSON object in the form that goalc(1) describes, and prints its values at the
 * paths, one in each line. A path has keys and indices with dots between them; # at its end is the length of an array. */
#include <json-c/json.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong(const char *what)
{
	printf("%s\n", what);
	exit(1);
}

static json_object *parse_file(const char *path)
{
	static char text[1 << 22];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof text, f) : 0;
	json_tokener *t = json_tokener_new();
	json_object *j;

	if (!f || n == sizeof text || !n || text[n - 1] != '\n')
		wrong("there is no file, or it has no line");
	fclose(f);
	json_tokener_set_flags(t, JSON_TOKENER_STRICT);
	j = json_tokener_parse_ex(t, text, (int)n);
	if (json_tokener_get_error(t) != json_tokener_success || strspn(text + json_tokener_get_parse_end(t), "\n") != n - json_tokener_get_parse_end(t))
		wrong("this is not one JSON object");
	json_tokener_free(t);
	return j;
}

static json_object *member(json_object *j, const char *key, enum json_type type)
{
	json_object *v = NULL;

	if (!json_object_object_get_ex(j, key, &v) || (type != json_type_null && !json_object_is_type(v, type)))
		wrong(key);
	return v;
}

static void check_shape(json_object *j)
{
	json_object *versions = member(j, "versions", json_type_object), *cases = member(j, "cases", json_type_array), *s;

	member(j, "program", json_type_string);
	member(versions, "goalsched", json_type_string);
	member(versions, "json", json_type_int);
	s = member(j, "schedule", json_type_null);
	if (s && !json_object_is_type(s, json_type_string))
		wrong("schedule");
	for (size_t i = 0; i < json_object_array_length(cases); i++)
		if (!json_object_is_type(json_object_array_get_idx(cases, i), json_type_object))
			wrong("a case is no object");
}

static void print_at(json_object *j, char *path)
{
	char *save = NULL;

	for (char *key = strtok_r(path, ".", &save); key; key = strtok_r(NULL, ".", &save))
		if (!strcmp(key, "#")) {
			printf("%zu\n", json_object_array_length(j));
			return;
		} else if (json_object_is_type(j, json_type_array)) {
			j = json_object_array_get_idx(j, strtoul(key, NULL, 10));
		} else if (!json_object_object_get_ex(j, key, &j)) {
			puts("missing");
			return;
		}
	puts(j ? json_object_get_string(j) : "null");
}

int main(int argc, char **argv)
{
	json_object *j;

	if (argc < 2)
		return 2;
	j = parse_file(argv[1]);
	check_shape(j);
	for (int i = 2; i < argc; i++)
		print_at(j, argv[i]);
	json_object_put(j);
	return 0;
}
