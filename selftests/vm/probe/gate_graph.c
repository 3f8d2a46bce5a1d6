// SPDX-License-Identifier: GPL-2.0
/*
 * The call graph of the running kernel: see gate_graph.h. Zydis decodes each function from
 * its first byte to its last, also what a jump label leaves out at the moment.
 */
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>
#include "gate_graph.h"
#include "probe.h"

static struct text_sym *syms;
static size_t nr_syms, nr_funcs;
static int dev;
static ZydisDecoder decoder;

/* Symbols of one address are one function. */
static struct func {
	size_t first, names;	/* in @syms */
	uint64_t end;
} *funcs;

/* Symbols by name, for looking them up. */
static const struct text_sym **by_name;

static int compare_names(const void *a, const void *b)
{
	return strcmp((*(const struct text_sym *const *)a)->name,
		      (*(const struct text_sym *const *)b)->name);
}

void graph_init(int test_module)
{
	size_t i;

	if (funcs)
		return;
	dev = test_module;
	REQUIRE(ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					      ZYDIS_STACK_WIDTH_64)), "ZydisDecoderInit");
	ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	syms = text_symbols(&nr_syms);
	funcs = calloc(nr_syms, sizeof(*funcs));
	by_name = calloc(nr_syms, sizeof(*by_name));
	REQUIRE(funcs && by_name, "out of memory");
	for (i = 0; i < nr_syms; i++) {
		by_name[i] = &syms[i];
		if (nr_funcs && syms[funcs[nr_funcs - 1].first].addr == syms[i].addr) {
			funcs[nr_funcs - 1].names++;
			continue;
		}
		if (nr_funcs)
			funcs[nr_funcs - 1].end = syms[i].addr;
		funcs[nr_funcs].first = i;
		funcs[nr_funcs].names = 1;
		funcs[nr_funcs++].end = syms[i].addr;
	}
	qsort(by_name, nr_syms, sizeof(*by_name), compare_names);
}

size_t graph_size(void)
{
	return nr_funcs;
}

uint64_t graph_addr(size_t func)
{
	return syms[funcs[func].first].addr;
}

const char *graph_name(size_t func)
{
	return syms[funcs[func].first].name;
}

bool graph_is(size_t func, const char *name)
{
	size_t i, len = strlen(name);

	for (i = 0; i < funcs[func].names; i++) {
		const char *have = syms[funcs[func].first + i].name;

		if (!strncmp(have, name, len) && (!have[len] || have[len] == '.'))
			return true;
	}
	return false;
}

size_t graph_at(uint64_t addr)
{
	size_t lo = 0, hi = nr_funcs;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (graph_addr(mid) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < funcs[lo - 1].end ? lo - 1 : GRAPH_NONE;
}

/* The first of @by_name that is not before @name. */
static size_t first_named(const char *name)
{
	size_t lo = 0, hi = nr_syms;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (strcmp(by_name[mid]->name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int graph_named(const char *name, void (*fn)(size_t func, void *arg), void *arg)
{
	size_t i = first_named(name), len = strlen(name);
	int n = 0;

	for (; i < nr_syms && !strncmp(by_name[i]->name, name, len); i++) {
		const char *rest = by_name[i]->name + len;

		/* Also what the compiler has made of it: foo.isra.0, but no part of it. */
		if (*rest && (*rest != '.' || strstr(rest, ".cold")))
			continue;
		fn(graph_at(by_name[i]->addr), arg);
		n++;
	}
	return n;
}

/* foo's foo.cold, foo.cold.1, ..., reached by whatever, a jump label's branch for instance. */
static void cold_edges(size_t func, graph_edge_t *fn, void *arg)
{
	char prefix[TRAMP_SYM_LEN + 8];
	size_t n, i;

	for (n = 0; n < funcs[func].names; n++) {
		snprintf(prefix, sizeof(prefix), "%s.cold", syms[funcs[func].first + n].name);
		for (i = first_named(prefix); i < nr_syms; i++) {
			if (strncmp(by_name[i]->name, prefix, strlen(prefix)))
				break;
			fn(graph_at(by_name[i]->addr), graph_addr(func), arg);
		}
	}
}

static bool is_indirect(const ZydisDecodedInstruction *insn)
{
	return insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && insn->opcode == 0xff &&
	       (insn->raw.modrm.reg == 2 || insn->raw.modrm.reg == 4);
}

void graph_edges(size_t func, graph_edge_t *fn, void *arg)
{
	uint64_t addr = graph_addr(func), len = funcs[func].end - addr, at = 0;
	ZydisDecodedInstruction insn;
	uint8_t *code;
	int i;

	if (len > TT_MAX_TEXT)
		len = 1 << 16;
	code = malloc(len);
	REQUIRE(code, "out of memory");
	if (text_try(dev, addr, code, len))
		len = 0;
	for (; at < len; at += insn.length) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, code + at, len - at,
							      &insn)))
			break;
		if (is_indirect(&insn))
			fn(GRAPH_NONE, addr + at, arg);
		for (i = 0; i < 2; i++) {
			uint64_t to;

			if (!insn.raw.imm[i].size || !insn.raw.imm[i].is_relative)
				continue;
			to = addr + at + insn.length + insn.raw.imm[i].value.s;
			if (to < addr || to >= funcs[func].end)
				fn(graph_at(to), addr + at, arg);
		}
	}
	free(code);
	cold_edges(func, fn, arg);
}
