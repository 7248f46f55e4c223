/* SPDX-License-Identifier: BSD-3-Clause
 * Memory of the program that is moved to the shared heap when it is bound: GOAL_MOVE (moved.c). */
#ifndef RUNTIME_HEAP_MOVED_H
#define RUNTIME_HEAP_MOVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_heap;
struct rt_moved;

/* Prepares a heap for memory of the program. Returns NULL if that is not safe in this process, or if there is no memory. */
struct rt_moved *rt_moved_new(struct rt_heap *h);
/* The program keeps what has been moved. So if there is any, the heap stays until the program has unmapped it. `m` may be NULL. */
void rt_moved_free(struct rt_moved *m);
/* Moves the pages of [ptr, ptr + len) to the heap, if they are not there yet. The program has them where it had them. Binds the
 * block of the heap that holds them, as rt_heap_bind does, with *off as the offset of ptr. Returns false if the memory stays
 * private: it is short, or not what mmap or malloc gave to this process alone, or a stack. */
bool rt_moved_bind(struct rt_moved *m, const void *ptr, size_t len, uint64_t *off);
/* Bytes that have been moved so far. `m` may be NULL. */
uint64_t rt_moved_bytes(const struct rt_moved *m);

#endif
