// SPDX-License-Identifier: GPL-2.0
/*
 * Requests from the description of the interface (request.h).
 */
#include <string.h>
#include "request.h"

/* A struct that is being filled in, and the pieces of memory that are left. */
struct draft {
	struct request *r;
	struct input *in;
	unsigned char *at;
	unsigned int next_piece;
};

static void put(struct draft *d, const struct uapi_field *f, uint64_t value)
{
	memcpy(d->at + f->at, &value, f->len);
}

static uint64_t get(const struct draft *d, const struct uapi_field *f)
{
	uint64_t value = 0;

	memcpy(&value, d->at + f->at, f->len);
	return value;
}

/* --------------------------------------------------------- plain members --- */

static uint64_t pick_flags(struct input *in, const struct uapi_flag *flags)
{
	uint32_t all = 0, value = 0;
	const struct uapi_flag *f;

	for (f = flags; f->name; f++)
		all |= f->value;
	if (input_odds(in, 128))
		value = input_bytes(in, 1) & all;
	if (input_odds(in, 8))
		value |= 1U << input_below(in, 32);
	return value;
}

static void fill_plain(struct draft *d, const struct uapi_field *f)
{
	struct input *in = d->in;

	switch (f->what) {
	case UAPI_FLAGS:
		put(d, f, pick_flags(in, f->flags));
		break;
	case UAPI_NUMBER:
		if (input_odds(in, 48))
			put(d, f, input_number(in, f->max));
		break;
	case UAPI_ANY:
		if (input_odds(in, 64))
			put(d, f, input_bytes(in, 8));
		break;
	case UAPI_PROG_FD:
		put(d, f, world_prog(in));
		break;
	case UAPI_LINK_ID:
		put(d, f, input_odds(in, 128) ? input_number(in, 64) : 0);
		break;
	case UAPI_BTF_OBJ:
		if (input_odds(in, 96))
			put(d, f, input_odds(in, 32) ? input_number(in, 64) :
			    world.btfs[input_below(in, world.nr_btfs ?: 1)]);
		break;
	case UAPI_BTF_ID:
		if (input_odds(in, 96))
			put(d, f, input_number(in, 60000));
		break;
	case UAPI_SYMBOL:
	case UAPI_MODULE:
		if (input_odds(in, f->what == UAPI_SYMBOL ? 128 : 12))
			world_name(in, (char *)d->at + f->at, f->len);
		break;
	case UAPI_ADDR:
		if (input_odds(in, 128))
			put(d, f, world_addr(in));
		break;
	case UAPI_OFFSET:
		if (input_odds(in, 64))
			put(d, f, input_number(in, 64));
		break;
	case UAPI_RESERVED:
		if (input_odds(in, 4))
			put(d, f, input_bytes(in, 4));
		break;
	case UAPI_OUT:
	case UAPI_FD_OUT:
	case UAPI_REFUSAL:
	case UAPI_WHY:
		/* Whatever is there has no meaning, and must not come back. */
		if (input_odds(in, 64))
			memset(d->at + f->at, REQUEST_STALE, f->len);
		break;
	default:
		break;
	}
}

/*
 * Of what excludes or needs each other, as the header says, leave what fits. Without this few
 * requests would come further than the first checks.
 */
static void settle_attach(struct tramp_attach *a, unsigned int prog)
{
	if (a->cookie)
		a->flags |= TRAMP_ATTACH_F_COOKIE;
	if (!(a->flags & TRAMP_ATTACH_F_RETURN))
		a->maxactive = 0;
	if (prog < world.nr_tracing) {
		a->addr = a->offset = a->maxactive = a->symbol[0] = a->module[0] = 0;
		a->flags &= ~TRAMP_ATTACH_F_RETURN;
	} else if (a->symbol[0]) {
		a->addr = 0;
	} else {
		a->offset = 0;
	}
}

/* Which program that is. */
static unsigned int prog_index(int fd)
{
	unsigned int i;

	for (i = 0; i < world.nr_progs && world.progs[i] != fd; i++)
		;
	return i;
}

static void settle(struct draft *d, const struct uapi_command *c)
{
	if (input_odds(d->in, 24))
		return;
	if (c->nr == TRAMP_IOC_ATTACH_MULTI) {
		struct tramp_attach_multi *m = (struct tramp_attach_multi *)d->at;

		if (prog_index(m->prog_fd) < world.nr_tracing)
			m->prog_fd = world.progs[world.nr_tracing +
				input_below(d->in, world.nr_good - world.nr_tracing)];
	} else if (c->nr == TRAMP_IOC_ATTACH) {
		struct tramp_attach *a = (struct tramp_attach *)d->at;

		settle_attach(a, prog_index(a->prog_fd));
	} else if (c->nr == TRAMP_IOC_EXPLAIN) {
		struct tramp_explain *e = (struct tramp_explain *)d->at;

		if (!e->btf_obj_id)
			e->btf_id = 0;
		if (!e->btf_obj_id && !e->name[0])
			world_name(d->in, e->name, sizeof(e->name));
	} else if (c->nr == TRAMP_IOC_EXPLAIN_CODE) {
		struct tramp_explain_code *e = (struct tramp_explain_code *)d->at;

		if (e->symbol[0])
			e->addr = 0;
		if (!(e->flags & TRAMP_CODE_F_ONE))
			e->offset = 0;
	}
}

static void fill(struct draft *d, const struct uapi_command *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_fields; i++)
		fill_plain(d, &c->fields[i]);
	settle(d, c);
}

/* -------------------------------------------------------------- pointers --- */

static uint32_t elem_size(enum uapi_elem elem)
{
	static const uint32_t sizes[] = {
		[UAPI_BYTES] = 1, [UAPI_INSNS] = sizeof(struct tramp_insn_info),
		[UAPI_REASONS] = 4, [UAPI_ADDRS] = 8, [UAPI_COOKIES] = 8, [UAPI_NAMES] = 1,
		[UAPI_FDS] = 4, [UAPI_ITEMS] = sizeof(struct tramp_attach),
	};

	return sizes[elem];
}

static void fill_items(struct draft *d, unsigned char *at, uint32_t nr)
{
	const struct uapi_command *attach = uapi_command("ATTACH");
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct draft item = { .r = d->r, .in = d->in, .at = at + i * attach->size };
		uint32_t size = input_odds(d->in, 4) ? input_bytes(d->in, 2) : attach->size;

		fill(&item, attach);
		memcpy(item.at, &size, sizeof(size));
	}
}

static void fill_elems(struct draft *d, enum uapi_elem elem, unsigned char *at, uint32_t nr)
{
	uint32_t i;

	if (elem == UAPI_ITEMS)
		fill_items(d, at, nr);
	for (i = 0; i < nr; i++) {
		if (elem == UAPI_ADDRS)
			((uint64_t *)at)[i] = world_addr(d->in);
		else if (elem == UAPI_COOKIES)
			((uint64_t *)at)[i] = i;
		else if (elem == UAPI_FDS)
			((int32_t *)at)[i] = world_link(d->in);
	}
}

/* @nr names, one behind the other. Return: their bytes. */
static uint32_t fill_names(struct draft *d, uint32_t nr, uint64_t *addr)
{
	static char text[REQUEST_ENTRIES * 192];
	uint32_t len = 0, i;
	char *at;

	for (i = 0; i < nr; i++)
		len += world_name(d->in, text + len, 192);
	at = world_memory(d->next_piece++, len);
	memcpy(at, text, len);
	*addr = (uintptr_t)at;
	return len;
}

/* The number of elements that a length stands for, chosen once for all its pointers. */
static uint32_t choose_length(struct draft *d, const struct uapi_field *f, enum uapi_elem elem)
{
	uint32_t max = elem == UAPI_ITEMS ? REQUEST_ITEMS : elem == UAPI_BYTES ? 4096 :
		       REQUEST_ENTRIES;
	uint32_t nr = get(d, f);

	if (!nr) {
		nr = 1 + input_below(d->in, input_odds(d->in, 64) ? max : 4);
		if (elem == UAPI_BYTES)
			nr = input_odds(d->in, 64) ? nr : 4096;
		put(d, f, nr);
	}
	return nr;
}

static void fill_pointer(struct draft *d, const struct uapi_command *c, const struct uapi_field *f)
{
	const struct uapi_field *length = uapi_field(c, f->length);
	uint32_t nr = choose_length(d, length, f->elem);
	uint64_t addr = 0;

	if (f->elem == UAPI_NAMES) {
		nr = choose_length(d, uapi_field(c, "nr"), UAPI_NAMES);
		put(d, length, fill_names(d, nr, &addr));
	} else {
		unsigned char *at = world_memory(d->next_piece++, nr * elem_size(f->elem));

		fill_elems(d, f->elem, at, nr);
		addr = (uintptr_t)at;
	}
	if (input_odds(d->in, 10)) {
		addr = world_bad_memory(d->in, nr * elem_size(f->elem));
		d->r->may_fault = true;
	}
	put(d, f, addr);
}

/* Lengths are 0 until a pointer needs them: fill_plain() leaves them alone. */
static void fill_pointers(struct draft *d, const struct uapi_command *c)
{
	bool names = input_odds(d->in, 128);
	unsigned int i;

	for (i = 0; i < c->nr_fields; i++) {
		const struct uapi_field *f = &c->fields[i];
		bool wanted = input_odds(d->in, 160);

		if (f->what != UAPI_POINTER)
			continue;
		if (f->elem == UAPI_NAMES || f->elem == UAPI_ADDRS)
			wanted = names == (f->elem == UAPI_NAMES) || input_odds(d->in, 8);
		if (wanted || f->elem == UAPI_ITEMS || f->elem == UAPI_FDS)
			fill_pointer(d, c, f);
	}
	for (i = 0; i < c->nr_fields; i++) {
		const struct uapi_field *f = &c->fields[i];

		if (f->what == UAPI_ELEM_SIZE) {
			put(d, f, sizeof(struct tramp_attach));
			if (input_odds(d->in, 8)) {
				put(d, f, input_number(d->in, 512));
				d->r->may_fault = true;
			}
		}
		/* A length that is not true. */
		if (f->what == UAPI_LENGTH && input_odds(d->in, 10)) {
			put(d, f, input_number(d->in, get(d, f)));
			d->r->may_fault = true;
		}
	}
}

/* ------------------------------------------------------------ the struct --- */

static uint32_t choose_size(struct request *r, struct input *in)
{
	uint32_t kind = input_below(in, 256);

	if (kind < 200)
		return r->c->size;
	if (kind < 212)
		return r->c->min;
	if (kind < 224)
		return r->c->min + input_below(in, r->c->size - r->c->min + 1);
	if (kind < 244)
		return r->c->size + 1 + input_below(in, 200);
	return input_number(in, r->c->min);
}

static void place(struct request *r, struct input *in, const unsigned char *draft)
{
	uint32_t known = r->size < r->c->size ? r->size : r->c->size;

	r->room = r->size < sizeof(r->before) ? r->size : r->c->size;
	if (r->room < 4)
		r->room = 4;
	r->arg = world_memory(0, r->room);
	memcpy(r->arg, draft, known);
	memcpy(r->arg, &r->size, 4);
	if (r->room > r->c->size && input_odds(in, 100)) {
		known += input_below(in, r->room - known);
		r->arg[known] = 1 + input_below(in, 255);
		r->zero_tail = false;
	}
	memcpy(r->before, r->arg, r->room);
	if (input_odds(in, 3)) {
		r->arg = (void *)world_bad_memory(in, r->room);
		r->room = 0;
	}
}

void request_make(struct request *r, struct input *in)
{
	unsigned char draft[4096] = {};
	struct draft d = { .r = r, .in = in, .at = draft, .next_piece = 1 };
	uint32_t which = input_below(in, UAPI_COMMANDS * 2 + 1);

	memset(r, 0, sizeof(*r));
	r->zero_tail = true;
	/* ATTACH is where most can happen. */
	r->c = which < UAPI_COMMANDS ? &uapi_commands[which] : uapi_command("ATTACH");
	if (which >= UAPI_COMMANDS + 5)
		r->c = &uapi_commands[which - UAPI_COMMANDS - 5 < UAPI_COMMANDS ?
				      which - UAPI_COMMANDS - 5 : 0];
	r->nr = r->c->nr;
	fill(&d, r->c);
	fill_pointers(&d, r->c);
	r->size = choose_size(r, in);
	place(r, in, draft);
	if (input_odds(in, 2)) {
		r->c = NULL;
		r->nr = (r->nr & ~0xffU) | (UAPI_COMMANDS + input_below(in, 256 - UAPI_COMMANDS));
	}
}

uint64_t request_get(const struct request *r, const char *field)
{
	const struct uapi_field *f = uapi_field(r->c, field);
	uint64_t value = 0;

	if ((uint32_t)f->at + f->len <= r->room)
		memcpy(&value, r->arg + f->at, f->len);
	return value;
}
