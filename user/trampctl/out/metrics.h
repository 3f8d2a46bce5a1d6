/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Metrics as text, for those who collect them.
 *
 * There are two forms. OpenMetrics 1.0 is what a scrape may ask for; it names a counter without
 * its "_total", has units, and an end. The older one of Prometheus, 0.0.4, is what the textfile
 * collector of node_exporter reads.
 */
#ifndef TRAMPCTL_METRICS_H
#define TRAMPCTL_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE };

/**
 * struct metrics - a text that is being written
 * @f: where to
 * @openmetrics: as OpenMetrics has it; otherwise as Prometheus has
 * @name: of the samples that come now
 */
struct metrics {
	FILE *f;
	bool openmetrics;
	char name[96];
};

void metrics_family(struct metrics *m, enum metric_type type, const char *name, const char *unit,
		    const char *help);
void metrics_sample(struct metrics *m, uint64_t value, ...) __attribute__((sentinel));
void metrics_single(struct metrics *m, enum metric_type type, const char *name, const char *unit,
		    const char *help, uint64_t value);
void metrics_end(struct metrics *m);

#endif /* TRAMPCTL_METRICS_H */
