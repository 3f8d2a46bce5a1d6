// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel made for tests, see fixture.h.
 */
#include <bpf/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../lib/ktap.h"
#include "fixture.h"

#define MAX_FILES	16

static char dir[] = "/tmp/libtrampoline-test-XXXXXX";
static char files[MAX_FILES][sizeof(dir) + 64];
static size_t nr_files;

/* Tests run in processes of their own, which end by exit(). */
static void remove_files(void)
{
	while (nr_files)
		unlink(files[--nr_files]);
	rmdir(dir);
}

const char *fixture_file(const char *name, const void *data, size_t size)
{
	char path[sizeof(files[0])];
	size_t i;
	FILE *f;

	if (!nr_files) {
		REQUIRE(mkdtemp(dir), "%s", dir);
		atexit(remove_files);
	}
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	/* One that is there already is written anew. */
	for (i = 0; i < nr_files && strcmp(files[i], path); i++)
		;
	REQUIRE(i < MAX_FILES, "too many files");
	if (i == nr_files)
		strcpy(files[nr_files++], path);
	f = fopen(path, "w");
	REQUIRE(f, "%s", path);
	REQUIRE(fwrite(data, 1, size, f) == size && !fclose(f), "%s", path);
	return files[i];
}

const char *fixture_text(const char *name, const char *text)
{
	return fixture_file(name, text, strlen(text));
}

const char *fixture_btf(const char *name)
{
	struct btf *btf = btf__new_empty();
	const char *path;
	const void *raw;
	int type, id;
	__u32 size;

	REQUIRE(btf, "btf__new_empty");
	type = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	type = btf__add_func_proto(btf, type);
	id = btf__add_func(btf, name, BTF_FUNC_STATIC, type);
	REQUIRE(id == FIXTURE_BTF_FUNC, "btf__add_func: %d", id);
	raw = btf__raw_data(btf, &size);
	REQUIRE(raw, "btf__raw_data");
	path = fixture_file("vmlinux", raw, size);
	btf__free(btf);
	return path;
}

struct tramp_syms *fixture_syms(const char *kallsyms, const char *filter)
{
	TRAMP_OPTS(tramp_syms_opts, opts);
	struct tramp_syms *syms;

	opts.kallsyms = fixture_text("kallsyms", kallsyms);
	opts.filter_functions = filter ? fixture_text("filter", filter) : "";
	syms = tramp_syms__load(&opts);
	REQUIRE(syms, "%s", tramp_last_error()->message);
	return syms;
}

bool last_error_says(const char *part)
{
	const char *message = tramp_last_error()->message;

	if (strstr(message, part))
		return true;
	ktap_note("the message is: %s", message);
	return false;
}
