/* SPDX-License-Identifier: BSD-3-Clause
 * The JSON of the programs. All of them print one object, with "program", "versions", "schedule" and "cases", and what else
 * they have to say; goalc(1) has a table of its keys. */
#ifndef UTIL_REPORT_H
#define UTIL_REPORT_H

#include <json-c/json.h>
#include <stdint.h>

/* Makes the object. `schedule` is the schedule's file, or NULL if there is none or there are several. Returns NULL if out of
 * memory; the functions below take NULL, and then do nothing. */
json_object *report_new(const char *program, const char *schedule);
/* Adds an object to the array "cases" of a report, and returns it. */
json_object *report_case(json_object *report);
/* Adds an object to an array, and returns it. */
json_object *report_element(json_object *array);
void report_add(json_object *to, const char *key, json_object *value);
void report_int(json_object *to, const char *key, int64_t value);
/* Adds a text, or null if it is NULL. */
void report_text(json_object *to, const char *key, const char *value);
/* Adds the first `len` bytes of a text. */
void report_text_part(json_object *to, const char *key, const char *value, size_t len);
/* Stores the text of a report, with a newline at its end, in *out, and frees the report. The caller owns the text. Returns 0 or
 * -ERR_NOMEM. */
int report_take(json_object *report, char **out);
/* Prints a report on standard output, and frees it. Returns an exit status. */
int report_print(const char *program, json_object *report);

#endif
