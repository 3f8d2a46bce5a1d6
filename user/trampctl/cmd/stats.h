/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the parts of `trampctl stats`: stats.c takes snapshots, stats_print.c shows them to
 * people and as JSON, stats_metrics.c to those who collect metrics.
 */
#ifndef TRAMPCTL_STATS_H
#define TRAMPCTL_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "../run/linkstats.h"

/**
 * struct stats_options - what is shown
 * @rates: there are columns for rates, also where none is known yet
 * @totals: no single functions and links
 * @top: at most so many functions; 0: all
 */
struct stats_options {
	bool rates;
	bool totals;
	uint32_t top;
};

void stats_print(const struct snapshot *s, const struct stats_options *o);
void stats_print_json(const struct snapshot *s, const struct stats_options *o);
void stats_print_metrics(const struct snapshot *s, const struct stats_options *o,
			 bool openmetrics);

#endif /* TRAMPCTL_STATS_H */
