// SPDX-License-Identifier: GPL-2.0
/*
 * Drawing random instructions from the kernel's text: see probe_sample.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe_sample.h"

/* Instructions from one function. */
#define FROM_EACH 4
/* One place in so many is in a module, of which there are few. */
#define MODULE_SHARE 16
/* Larger than any function: padding between sections, which belongs to the symbol before it. */
#define MAX_FUNCTION 65536

static int by_addr(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The bytes that a jump there may touch, without those that change by themselves. */
static void take_code(struct sample *s, const struct probe_func *f, uint32_t i)
{
	uint32_t at, k, room = sizeof(s->code);

	for (; i < f->nr; i++) {
		at = f->addr + f->insns[i].offset - s->addr;
		if (at + f->insns[i].len > room)
			break;
		for (k = 0; k < f->insns[i].len; k++) {
			bool patched = f->insns[i].reason == TRAMP_REASON_RESERVED ||
				       probe_is_entry(f->insns[i].mode);

			s->code[at + k] = f->code[f->insns[i].offset + k];
			s->mask[at + k] = patched ? 0 : 0xff;
		}
		s->code_len = at + f->insns[i].len;
	}
}

static struct sample take(const struct probe_func *f, uint32_t i)
{
	const struct tramp_insn_info *insn = &f->insns[i];
	struct sample s = {
		.addr = f->addr + insn->offset, .func = f->addr, .where = f->addr + insn->where,
		.reason = insn->reason, .len = insn->len, .mode = insn->mode,
		.region_len = insn->region_len,
	};

	take_code(&s, f, i);
	return s;
}

/* Instructions of the function around @addr, at random. Returns how many. */
static int draw_from(uint64_t addr, struct sample *out, int room, uint64_t *state)
{
	struct probe_func f;
	int n = 0, tries;

	if (probe_explain(&f, addr, NULL, true))
		return 0;
	for (tries = 0; f.nr && tries < FROM_EACH && n < room; tries++) {
		uint32_t i = rnd(state) % f.nr;

		/* A probe on ENDBR is one on what is behind it. */
		if (!f.insns[i].offset && f.code_len >= 4 && text_is_endbr(f.code))
			continue;
		/* The filling of the space behind a function is no instruction of it. */
		if (f.code[f.insns[i].offset] == 0xcc)
			continue;
		out[n++] = take(&f, i);
	}
	probe_func_free(&f);
	return n;
}

static int drop_doubles(struct sample *s, int nr)
{
	int i, n = 0;

	qsort(s, nr, sizeof(*s), by_addr);
	for (i = 0; i < nr; i++)
		if (!n || s[n - 1].addr != s[i].addr)
			s[n++] = s[i];
	return n;
}

/* The last symbol that is not behind @addr. */
static size_t symbol_at(const struct text_sym *syms, size_t nr, uint64_t addr)
{
	size_t lo = 0, hi = nr;

	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if (syms[mid].addr <= addr)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

void sample_draw(struct sample *out, int nr, uint64_t *state)
{
	uint64_t start, end;
	struct text_sym *syms;
	size_t nr_syms, i, k, first = 0, last = 0;
	int n = 0, tries = 0;

	start = ksym_addr("_stext");
	end = ksym_addr("_etext");
	REQUIRE(start && end > start, "no _stext and _etext");
	syms = text_symbols(&nr_syms);
	/* The test module's functions lie together; our own module is not to be probed. */
	for (i = 0; i < nr_syms; i++)
		if (!strcmp(syms[i].module, "trampoline_test")) {
			first = first ? first : i;
			last = i;
		}
	while (n < nr && tries++ < nr * 8) {
		uint64_t addr = start + rnd(state) % (end - start);

		if (last && rnd(state) % MODULE_SHARE == 0)
			addr = syms[first + rnd(state) % (last - first + 1)].addr;
		k = symbol_at(syms, nr_syms, addr);
		/* Nor the room in front of functions that the kernel keeps for itself. */
		if ((k + 1 < nr_syms && syms[k + 1].addr - syms[k].addr > MAX_FUNCTION) ||
		    ksym_is_padding(syms[k].name))
			continue;
		n += draw_from(addr, out + n, nr - n, state);
		if (n == nr)
			n = drop_doubles(out, n);
	}
	free(syms);
	REQUIRE(n == nr, "only %d of %d instructions", n, nr);
}

bool sample_unchanged(int dev, const struct sample *s)
{
	uint8_t now[sizeof(s->code)];
	int i;

	text_read(dev, s->addr, now, s->code_len);
	for (i = 0; i < s->code_len; i++)
		if ((now[i] ^ s->code[i]) & s->mask[i])
			return false;
	return true;
}

const char *sample_name(const struct sample *s, char *buf, size_t len)
{
	char name[128];

	ksym_name(s->func, name, sizeof(name));
	name[strcspn(name, "+")] = '\0';
	snprintf(buf, len, "%s+%#llx", name, (unsigned long long)(s->addr - s->func));
	return buf;
}
