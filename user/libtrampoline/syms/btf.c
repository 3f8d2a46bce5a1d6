// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * BTF of the kernel and of its modules, loaded when first asked for, and
 * functions found in it by name.
 *
 * A module's BTF is "split": its type ids continue those of the kernel's. So
 * functions are looked for only among the ids a module's BTF adds, or a
 * function of the kernel would be found in every module.
 *
 * Errors are recorded without the lock: the callback that gets the message may ask for BTF itself.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../core/error.h"
#include "btf.h"
#include "internal.h"

/* One BTF object: an open-addressed table of its functions, made at first use. */
struct btf_entry {
	struct btf_entry *next;
	char module[TRAMP_MOD_LEN];	/* "": the kernel proper */
	struct btf *btf;
	int err;			/* why @btf is NULL */
	uint32_t first_id;		/* of the types it has itself */
	uint32_t *table, mask;		/* type ids, 0: free; never changed again */
	uint32_t obj_id;		/* in the kernel; 0: not looked up yet; atomic */
};

struct libtramp_btfs {
	/* Making entries and their tables. Entries are never removed, and change no more. */
	pthread_mutex_t lock;
	char *vmlinux, *module_dir;
	struct btf_entry *entries;
};

struct libtramp_btfs *libtramp_btfs_new(const char *vmlinux, const char *module_dir)
{
	struct libtramp_btfs *btfs = calloc(1, sizeof(*btfs));

	if (!btfs)
		goto fail;
	pthread_mutex_init(&btfs->lock, NULL);
	if (vmlinux && !(btfs->vmlinux = strdup(vmlinux)))
		goto fail;
	if (module_dir && !(btfs->module_dir = strdup(module_dir)))
		goto fail;
	return btfs;

fail:
	libtramp_btfs_free(btfs);
	libtramp_fail_nomem("BTF");
	return NULL;
}

void libtramp_btfs_free(struct libtramp_btfs *btfs)
{
	struct btf_entry *e, *next;

	if (!btfs)
		return;
	/* The kernel's, which the others build on, was loaded first and stands last. */
	for (e = btfs->entries; e; e = next) {
		next = e->next;
		btf__free(e->btf);
		free(e->table);
		free(e);
	}
	pthread_mutex_destroy(&btfs->lock);
	free(btfs->vmlinux);
	free(btfs->module_dir);
	free(btfs);
}

/* ------------------------------------------------------------- functions -- */

static uint32_t hash_name(const char *s)
{
	uint32_t h = 2166136261u;	/* FNV-1a */

	while (*s)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return h;
}

static const char *type_name(const struct btf *btf, uint32_t id)
{
	const char *name = btf__name_by_offset(btf, btf__type_by_id(btf, id)->name_off);

	return name ? name : "";
}

/* False: no memory. */
static bool index_functions(struct btf_entry *e)
{
	uint32_t id, end = btf__type_cnt(e->btf), nr = 0, room = 64, slot;

	for (id = e->first_id; id < end; id++)
		nr += btf_is_func(btf__type_by_id(e->btf, id));
	while (room < 2 * nr)
		room *= 2;
	e->table = calloc(room, sizeof(*e->table));
	if (!e->table)
		return false;
	e->mask = room - 1;
	for (id = e->first_id; id < end; id++) {
		if (!btf_is_func(btf__type_by_id(e->btf, id)))
			continue;
		slot = hash_name(type_name(e->btf, id)) & e->mask;
		while (e->table[slot])
			slot = (slot + 1) & e->mask;
		e->table[slot] = id;
	}
	return true;
}

/* The lowest id, as the kernel's own search finds it; 0 if there is none. */
static uint32_t find_function(const struct btf_entry *e, const char *name)
{
	uint32_t slot = hash_name(name) & e->mask, found = 0;

	for (; e->table[slot]; slot = (slot + 1) & e->mask)
		if (!strcmp(type_name(e->btf, e->table[slot]), name) &&
		    (!found || e->table[slot] < found))
			found = e->table[slot];
	return found;
}

/* --------------------------------------------------------------- loading -- */

static struct btf *load_btf(const struct libtramp_btfs *btfs, const char *module,
			    struct btf *base)
{
	char path[512];

	if (!module[0])
		return btfs->vmlinux ? btf__parse(btfs->vmlinux, NULL) : btf__load_vmlinux_btf();
	snprintf(path, sizeof(path), "%s/%s",
		 btfs->module_dir ? btfs->module_dir : "/sys/kernel/btf", module);
	if (access(path, R_OK))
		return NULL;
	return btf__parse_split(path, base);
}

/* NULL: no memory. */
static struct btf_entry *get_entry(struct libtramp_btfs *btfs, const char *module)
{
	struct btf_entry *e, *base = NULL;

	for (e = btfs->entries; e; e = e->next)
		if (!strcmp(e->module, module))
			return e;
	if (module[0]) {
		base = get_entry(btfs, "");
		if (!base || !base->btf)
			return base;
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	snprintf(e->module, sizeof(e->module), "%s", module);
	errno = ENOENT;
	e->btf = load_btf(btfs, module, base ? base->btf : NULL);
	e->first_id = base ? btf__type_cnt(base->btf) : 1;
	if (!e->btf)
		e->err = errno ? -errno : -ENOENT;
	/* A failure is kept as well: it is not tried again for every function. */
	e->next = btfs->entries;
	btfs->entries = e;
	return e;
}

/* An entry has no BTF. */
static int fail_entry(const struct btf_entry *e, const char *module)
{
	char subject[LIBTRAMP_SUBJECT_LEN];

	if (!module[0] || !e->module[0])
		return LIBTRAMP_FAIL(e->err, TRAMP_LIB_NO_KERNEL_BTF, NULL, "%s", strerror(-e->err));
	snprintf(subject, sizeof(subject), "module '%s'", module);
	return LIBTRAMP_FAIL(-ENOENT, TRAMP_REASON_NO_BTF, subject,
			     "the module was built without BTF, or it does not fit the kernel's");
}

/* Neither the name of another module, cut, nor a way out of the folder. */
static int check_module(const char *module)
{
	char subject[LIBTRAMP_SUBJECT_LEN];

	if (strlen(module) < TRAMP_MOD_LEN && !strchr(module, '/'))
		return 0;
	snprintf(subject, sizeof(subject), "module '%s'", module);
	return LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, subject,
			     "a module's name has at most %d characters, and no /",
			     TRAMP_MOD_LEN - 1);
}

/* The entry of a module with its BTF, and @functions in the table. 0 or a negative errno. */
static int need_entry(struct libtramp_btfs *btfs, const char *module, bool functions,
		      struct btf_entry **entry)
{
	struct btf_entry *e;
	bool memory;
	int err;

	err = check_module(module);
	if (err)
		return err;
	pthread_mutex_lock(&btfs->lock);
	e = get_entry(btfs, module);
	memory = e && (!functions || !e->btf || e->table || index_functions(e));
	pthread_mutex_unlock(&btfs->lock);
	if (!memory)
		return libtramp_fail_nomem("BTF");
	*entry = e;
	return e->btf ? 0 : fail_entry(e, module);
}

static const char *canonical(const char *module)
{
	return module && strcmp(module, "vmlinux") ? module : "";
}

const struct btf *tramp_syms__btf(struct tramp_syms *syms, const char *module)
{
	struct btf_entry *e;

	return need_entry(syms->btfs, canonical(module), false, &e) ? NULL : e->btf;
}

bool libtramp_is_inlined(const struct tramp_syms *syms, const char *module, const char *name)
{
	const size_t len = strlen(name), i = libtramp_syms_lower(syms, name);
	struct btf_entry *e;
	int id;

	if (i < syms->nr && !strncmp(syms->syms[i].name, name, len) &&
	    (!syms->syms[i].name[len] || syms->syms[i].name[len] == '.'))
		return false;
	if (need_entry(syms->btfs, module, false, &e))
		return false;
	/* Of a module, the search begins with the types of the kernel proper. */
	id = btf__find_by_name_kind(e->btf, name, BTF_KIND_FUNC);
	return id > 0 && (uint32_t)id >= e->first_id;
}

/* ---------------------------------------------------------------- ids ------ */

/* The kernel's id of a BTF object by its name: all objects are gone through. */
static int find_obj_id(const char *module, uint32_t *obj_id)
{
	const char *wanted = module[0] ? module : "vmlinux";
	__u32 id = 0;
	int err;

	while (!(err = bpf_btf_get_next_id(id, &id) ? -errno : 0)) {
		char name[TRAMP_MOD_LEN] = "";
		struct bpf_btf_info info = {
			.name = (uintptr_t)name,
			.name_len = sizeof(name),
		};
		__u32 len = sizeof(info);
		int fd = bpf_btf_get_fd_by_id(id);

		/* It may be gone by now; one that may not be opened ends the search. */
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0) {
			err = -errno;
			break;
		}
		err = bpf_obj_get_info_by_fd(fd, &info, &len) ? -errno : 0;
		close(fd);
		if (!err && info.kernel_btf && !strcmp(name, wanted)) {
			*obj_id = id;
			return 0;
		}
	}
	if (err == -EPERM) {
		const struct libtramp_failure f = {
			.err = err, .reason = TRAMP_REASON_PERMISSION,
			.subject = "list of BTF objects",
			.sentence = "the kernel shows it to CAP_SYS_ADMIN alone",
			.remedy = "run as root, or give the program CAP_SYS_ADMIN",
		};

		return libtramp_fail(&f, NO_DETAIL);
	}
	return LIBTRAMP_FAIL(-ENOENT, TRAMP_REASON_NO_BTF, wanted,
			     "the kernel has no BTF object of that name");
}

/* Two that look it up at once find the same. */
static int get_obj_id(struct btf_entry *e, uint32_t *obj_id)
{
	int err;

	*obj_id = __atomic_load_n(&e->obj_id, __ATOMIC_RELAXED);
	if (*obj_id)
		return 0;
	err = find_obj_id(e->module, obj_id);
	if (!err)
		__atomic_store_n(&e->obj_id, *obj_id, __ATOMIC_RELAXED);
	return err;
}

int libtramp_btf_of(struct tramp_syms *syms, const char *module, struct libtramp_btf *out)
{
	struct btf_entry *e;
	int err;

	memset(out, 0, sizeof(*out));
	err = need_entry(syms->btfs, module, true, &e);
	if (err)
		return err;
	out->entry = e;
	out->btf = e->btf;
	get_obj_id(e, &out->obj_id);
	return 0;
}

static uint32_t find_by_names(const struct tramp_syms *syms, const struct btf_entry *e,
			      const char *module, const uint32_t *names, size_t nr)
{
	uint32_t id = 0;
	size_t i;

	for (i = 0; i < nr && !id; i++) {
		const struct tramp_sym *sym = &syms->syms[names[i]];

		if (!strcmp(sym->module, module) && libtramp_syms_namesakes(syms, sym).nr == 1)
			id = find_function(e, sym->name);
	}
	return id;
}

uint32_t libtramp_btf_function(const struct tramp_syms *syms, const struct libtramp_btf *btf,
			       const char *module, const uint32_t *names, size_t nr)
{
	return btf->entry ? find_by_names(syms, btf->entry, module, names, nr) : 0;
}

/* By its own name first: its other names need all symbols in the order of addresses. */
static int find_described(const struct tramp_syms *syms, const struct tramp_sym *sym,
			  const struct btf_entry *e, const char *subject, uint32_t *id)
{
	const uint32_t *names;
	size_t nr;

	*id = find_function(e, sym->name);
	if (*id || !sym->addr)
		return 0;
	names = libtramp_syms_names_at(syms, sym->addr, &nr);
	if (!names)
		return libtramp_fail_nomem(subject);
	*id = find_by_names(syms, e, sym->module, names, nr);
	return 0;
}

int tramp_syms__btf_id(struct tramp_syms *syms, const struct tramp_sym *sym, uint32_t *obj_id)
{
	char subject[LIBTRAMP_SUBJECT_LEN];
	struct btf_entry *e;
	uint32_t id;
	int err;

	err = need_entry(syms->btfs, sym->module, true, &e);
	if (err)
		return err;
	snprintf(subject, sizeof(subject), "function '%s'", sym->name);
	err = find_described(syms, sym, e, subject, &id);
	if (err)
		return err;
	if (!id)
		return LIBTRAMP_FAIL(-ENOENT, TRAMP_REASON_NO_BTF, subject, NO_DETAIL);
	err = obj_id ? get_obj_id(e, obj_id) : 0;
	return err ? err : (int)id;
}

struct tramp_proto *tramp_syms__proto(struct tramp_syms *syms, const struct tramp_sym *sym)
{
	int id = tramp_syms__btf_id(syms, sym, NULL);
	const struct btf *btf;

	if (id < 0)
		return NULL;
	btf = tramp_syms__btf(syms, sym->module);
	return btf ? tramp_proto__new(btf, id) : NULL;
}
