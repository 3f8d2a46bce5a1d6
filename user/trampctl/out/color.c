// SPDX-License-Identifier: GPL-2.0
/*
 * Colours on a terminal. NO_COLOR, if it is not empty, turns off what is not asked for by name
 * (https://no-color.org); so does a terminal that is dumb. JSON has none.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "color.h"
#include "json.h"

static enum color_when when;

void color_set(enum color_when w)
{
	when = w;
}

/* Standard output is what it will be: that of --output is open. */
static bool wanted(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (json_output || when != COLOR_AUTO)
		return !json_output && when == COLOR_ALWAYS;
	return !(no && no[0]) && term && strcmp(term, "dumb") && isatty(STDOUT_FILENO);
}

/* The text that begins a colour, empty where there are none. */
const char *color(enum color c)
{
	static const char *const codes[NR_COLORS] = {
		[COLOR_NONE] = "\033[m",
		[COLOR_FUNCTION] = "\033[1;36m",
		[COLOR_ERROR] = "\033[1;31m",
	};
	static int on = -1;

	if (on < 0)
		on = wanted();
	return on ? codes[c] : "";
}
