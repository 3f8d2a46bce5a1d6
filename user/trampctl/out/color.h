/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Colours on a terminal.
 */
#ifndef TRAMPCTL_COLOR_H
#define TRAMPCTL_COLOR_H

/* Of which things; COLOR_NONE ends any. */
enum color { COLOR_NONE, COLOR_FUNCTION, COLOR_ERROR, NR_COLORS };

#define COLOR_OPT								\
	{ "color", 0, "WHEN", "auto (on a terminal), always or never" }

/* The words of --color. */
enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

void color_set(enum color_when when);
const char *color(enum color c);

#endif /* TRAMPCTL_COLOR_H */
