/* SPDX-License-Identifier: BSD-3-Clause
 * The JSON of the programs. */
#include "util/report.h"

#include "util/command_line.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_object *report_new(const char *program, const char *schedule)
{
	json_object *j = json_object_new_object(), *versions = json_object_new_object();

	report_text(j, "program", program);
	report_text(versions, "goalsched", GOAL_VERSION);
	report_int(versions, "json", 1); /* raised when the shape changes so that readers have to change, too */
	report_add(j, "versions", versions);
	report_text(j, "schedule", schedule);
	report_add(j, "cases", json_object_new_array());
	return j;
}

json_object *report_element(json_object *array)
{
	json_object *e = array ? json_object_new_object() : NULL;

	if (!e || !json_object_array_add(array, e))
		return e;
	json_object_put(e);
	return NULL;
}

json_object *report_case(json_object *report)
{
	return report_element(json_object_object_get(report, "cases"));
}

void report_add(json_object *to, const char *key, json_object *value)
{
	if (!to || json_object_object_add(to, key, value))
		json_object_put(value);
}

void report_int(json_object *to, const char *key, int64_t value)
{
	report_add(to, key, json_object_new_int64(value));
}

/* Makes a string of a text whose bytes need not be characters. */
static json_object *new_string(const char *s, size_t len)
{
	const char *const end = s + len;
	struct text t = { 0 };
	json_object *string;
	char *whole;

	while (s < end)
		s += text_add_char(&t, s, (size_t)(end - s));
	string = text_take(&t, &whole) ? NULL : json_object_new_string(whole);
	free(whole);
	return string;
}

void report_text(json_object *to, const char *key, const char *value)
{
	report_text_part(to, key, value, value ? strlen(value) : 0);
}

void report_text_part(json_object *to, const char *key, const char *value, size_t len)
{
	report_add(to, key, value ? new_string(value, len) : NULL);
}

int report_take(json_object *report, char **out)
{
	const char *text = report ? json_object_to_json_string_ext(report, JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE) : NULL;
	struct text t = { 0 };

	if (text)
		text_add(&t, "%s\n", text);
	else
		t.err = -ERR_NOMEM;
	json_object_put(report);
	return text_take(&t, out);
}

int report_print(const char *program, json_object *report)
{
	char *text;

	if (report_take(report, &text))
		return option_no_memory(program);
	fputs(text, stdout);
	free(text);
	return option_flush(program);
}
