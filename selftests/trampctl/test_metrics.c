// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl stats --openmetrics, of links that no module has yet.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/trampctl/cmd/stats.h"
#include "../lib/ktap.h"

static char *metrics_of(const struct snapshot *s)
{
	const struct stats_options o = { 0 };
	FILE *before = stdout;
	char *text = NULL;
	size_t len;

	stdout = open_memstream(&text, &len);
	REQUIRE(stdout, "no memory");
	stats_print_metrics(s, &o, true);
	fclose(stdout);
	stdout = before;
	return text;
}

/* Collectors refuse a text that has the same labels twice. */
static void test_unknown(void)
{
	struct link_stats links[] = {
		{ .info = { .link_id = 1, .kind = 97, .mode = TRAMP_MODE_DIRECT } },
		{ .info = { .link_id = 2, .kind = 98, .mode = TRAMP_MODE_DIRECT } },
		{ .info = { .link_id = 3, .kind = TRAMP_KIND_FENTRY, .mode = 95 } },
		{ .info = { .link_id = 4, .kind = TRAMP_KIND_FENTRY, .mode = 96 } },
	};
	const struct snapshot s = { .links = links, .nr = sizeof(links) / sizeof(links[0]) };
	static const char *const lines[] = {
		"\ntrampoline_links{kind=\"unknown-97\",mode=\"direct\"} 1\n",
		"\ntrampoline_links{kind=\"unknown-98\",mode=\"direct\"} 1\n",
		"\ntrampoline_links{kind=\"fentry\",mode=\"unknown-95\"} 1\n",
		"\ntrampoline_links{kind=\"fentry\",mode=\"unknown-96\"} 1\n",
		"\ntrampoline_link_hits_total{link=\"1\",kind=\"unknown-97\"} 0\n",
	};
	char *text = metrics_of(&s);
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CHECK(strstr(text, lines[i]), "not there:%s", lines[i]);
	if (ktap_failures())
		printf("%s", text);
	free(text);
}

static const struct ktap_test tests[] = {
	{ .name = "unknown", .run = test_unknown },
};

KTAP_MAIN(tests)
