/* SPDX-License-Identifier: GPL-2.0 */
/* Control groups (version 2), with the controller of memory. */
#ifndef CONTROL_GROUP_H
#define CONTROL_GROUP_H

#include <stdint.h>

/* A group of that name, which may be there already. Skips the test on a kernel without them. */
void control_group_make(const char *name);
/* This process from now on; "" is the group of all that are in no other. */
void control_group_enter(const char *name);
/* Write one of the group's files; 0 or a negative errno. */
int control_group_set(const char *name, const char *file, const char *value);
/* The number behind @word in one of the group's files; ends the test if there is none. */
uint64_t control_group_number(const char *name, const char *file, const char *word);
/* Nobody must be in it. */
void control_group_remove(const char *name);

#endif /* CONTROL_GROUP_H */
