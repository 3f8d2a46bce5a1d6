// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl show: everything that is known of a link, the processes and pins that hold
 * it included.
 */
#include <bpf/bpf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../out/error.h"
#include "../out/json.h"
#include "../out/linkinfo.h"
#include "../out/text.h"
#include "../run/args.h"
#include "../run/holders.h"
#include "../trampctl.h"

/* The program's tag and whether it was found; zero if it may not be read. */
static bool prog_tag(uint32_t prog_id, char *text, size_t len)
{
	struct bpf_prog_info info = { 0 };
	uint32_t info_len = sizeof(info);
	size_t i;
	int fd;

	fd = bpf_prog_get_fd_by_id(prog_id);
	if (fd < 0)
		return false;
	if (bpf_obj_get_info_by_fd(fd, &info, &info_len)) {
		close(fd);
		return false;
	}
	close(fd);
	for (i = 0; i < sizeof(info.tag) && 2 * i + 2 < len; i++)
		sprintf(text + 2 * i, "%02x", info.tag[i]);
	return true;
}

/* As C writes it; NULL: it is not known, or each of many functions has its own. To be freed. */
static char *prototype(const struct tramp_link_info *info)
{
	const struct tramp_sym *sym;
	struct tramp_proto *proto;
	struct tramp_syms *syms;
	char *spec, *text = NULL;

	if (info->mode == TRAMP_MODE_NONE || info->nr_funcs)
		return NULL;
	spec = func_text(info->module, info->func_name);
	syms = tramp_syms__load(NULL);
	sym = syms ? tramp_syms__find(syms, spec) : NULL;
	proto = sym ? tramp_syms__proto(syms, sym) : NULL;
	if (proto)
		text = xasprintf("%s", proto->text);
	tramp_proto__free(proto);
	tramp_syms__free(syms);
	free(spec);
	return text;
}

static void print_probe(const struct tramp_link_info *info)
{
	if (info->probe_addr)
		printf("  probe      at 0x%" PRIx64 "\n", info->probe_addr);
	if (info->region_len)
		printf("  covers     %u bytes\n", info->region_len);
}

/* How hits arrive, and why not in a better way. */
static void print_mode(const struct tramp_link_info *info)
{
	printf("  mode       %s", tramp_mode_name(info->mode));
	if (info->mode_reason)
		printf(": %s [%s]", tramp_reason_sentence(info->mode_reason),
		       tramp_reason_name(info->mode_reason));
	if (info->reason_addr && info->reason_addr != info->probe_addr)
		printf(", 0x%" PRIx64, info->reason_addr);
	putchar('\n');
}

static void print_attachment(const struct tramp_link_info *info, const char *proto)
{
	char *image = image_text(info);

	if (proto)
		printf("  prototype  %s\n", proto);
	if (info->nr_funcs)
		;	/* each has its own */
	else if (info->func_addr)
		printf("  address    0x%" PRIx64 "\n", info->func_addr);
	else
		printf("  address    hidden (kernel.kptr_restrict)\n");
	if (info->kind == TRAMP_KIND_KPROBE)
		print_probe(info);
	if (info->btf_id)
		printf("  BTF        object %u, type %u\n", info->btf_obj_id, info->btf_id);
	if (!info->nr_funcs)
		printf("  cookie     0x%" PRIx64 "\n", info->cookie);
	printf("  hits       %" PRIu64 "\n", info->hits);
	printf("  misses     %" PRIu64 "\n", info->misses);
	print_mode(info);
	if (!info->nr_funcs)
		printf("  order      %u of its kind, %u program%s %s\n", info->pos + 1,
		       info->nr_progs, info->nr_progs == 1 ? "" : "s",
		       info->kind == TRAMP_KIND_KPROBE ? "at the address" : "on the function");
	if (info->image_size) {
		printf("  image      %s, %u bytes", image, info->image_size);
		if (info->image_addr)
			printf(" at 0x%" PRIx64, info->image_addr);
		putchar('\n');
	}
	free(image);
}

/* Others have chosen the name: it may have bytes that a terminal takes for commands. */
static void print_holder(const char *before, const char *name)
{
	char *text = quote_text(name, strlen(name));

	printf("  held by    %s%s", before, text);
	free(text);
}

static void show_text(const struct tramp_link_info *info, const struct holders *h,
		      const char *proto, const char *tag)
{
	char *place = place_text(info);
	bool attached = info->mode != TRAMP_MODE_NONE;
	size_t i;

	printf("link %u: %s%s%s%s\n", info->link_id, tramp_kind_name(info->kind),
	       info->sleepable ? " (sleepable)" : "", attached ? " on " : ", detached",
	       attached ? place : "");
	printf("  program    %s, id %u%s%s\n", info->prog_name, info->prog_id,
	       tag[0] ? ", tag " : "", tag);
	if (attached)
		print_attachment(info, proto);
	else if (info->mode_reason)
		print_mode(info);
	for (i = 0; i < h->nr; i++) {
		print_holder("", h->list[i].comm);
		printf(" (pid %u)\n", h->list[i].pid);
	}
	for (i = 0; i < h->nr_pins; i++) {
		print_holder("the pin ", h->pins[i]);
		putchar('\n');
	}
	if (!h->nr && !h->nr_pins)
		printf("  held by    nobody that can be seen: another user's process, or a hidden pin\n");
	free(place);
}

static json_object *show_json(const struct tramp_link_info *info, const struct holders *h,
			      const char *proto, const char *tag)
{
	json_object *j = link_to_json(info), *list = json_object_new_array(), *o;
	size_t i;

	if (proto)
		json_put_str(j, "prototype", proto);
	if (tag[0])
		json_put_str(j, "prog_tag", tag);
	for (i = 0; i < h->nr; i++) {
		o = json_object_new_object();
		json_put_u64(o, "pid", h->list[i].pid);
		json_put_str(o, "comm", h->list[i].comm);
		json_object_array_add(list, o);
	}
	json_object_object_add(j, "holders", list);
	list = json_object_new_array();
	for (i = 0; i < h->nr_pins; i++)
		json_object_array_add(list, json_bytes(h->pins[i], strlen(h->pins[i])));
	json_object_object_add(j, "pins", list);
	return j;
}

static int show_run(int argc, char **argv)
{
	json_object *all = json_object_new_array();
	int i, rc = EXIT_OK;

	for (i = 0; i < argc && !rc; i++) {
		TRAMP_OPTS(tramp_link_info, info);
		struct holders h = { NULL };
		char *proto, tag[20] = "";
		uint32_t id = 0;

		rc = parse_link_id(argv[i], &id);
		if (rc)
			break;
		if (tramp_link_info_by_id(id, &info)) {
			rc = fail_lib(NULL, NULL);
			break;
		}
		holders_find(&h, id);
		proto = prototype(&info);
		prog_tag(info.prog_id, tag, sizeof(tag));
		if (json_output)
			json_object_array_add(all, show_json(&info, &h, proto, tag));
		else
			show_text(&info, &h, proto, tag);
		free(proto);
		holders_free(&h);
	}
	/* One id gives one object, several an array. */
	if (json_output && !rc)
		json_print(json_object_get(argc == 1 ? json_object_array_get_idx(all, 0) : all));
	json_object_put(all);
	return rc;
}

const struct cmd cmd_show = {
	.name = "show",
	.args = "ID...",
	.summary = "Show everything about a link",
	.min_args = 1,
	.max_args = -1,
	.run = show_run,
};
