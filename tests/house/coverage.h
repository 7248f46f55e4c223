/* SPDX-License-Identifier: BSD-3-Clause
 * Included first into every file of the coverage build: a rank that leaves without ceremony would lose its counts. */
#ifndef TESTS_HOUSE_COVERAGE_H
#define TESTS_HOUSE_COVERAGE_H
#include <stdlib.h>
#include <unistd.h>
#define _exit(status) exit(status)

#endif
