// SPDX-License-Identifier: GPL-2.0
/*
 * Files with debuginfo, see debuginfo.h.
 *
 * They are looked for where distributions put them, and where those who build a kernel have them.
 * Another build of the same version has its lines elsewhere. So the build ID in the file must be
 * the one that the kernel shows: its own in /sys/kernel/notes, a module's in /sys/module.
 */
#include <dirent.h>
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../out/error.h"
#include "../out/text.h"
#include "debuginfo.h"

const char *debuginfo_root = "";

/* The kernel, or a module, that a file is wanted for. */
struct wanted {
	const char *module;	/* NULL: the kernel proper */
	const char *release;
	struct build_id id;
	char *other_build;	/* a file of another one that was found */
};

/* ------------------------------------------------------------- build IDs -- */

/* The build ID among the notes that a file of sysfs has. */
static void read_notes(const char *path, struct build_id *id)
{
	char *full = xasprintf("%s%s", debuginfo_root, path);
	char notes[16384];
	size_t len = 0, at;
	FILE *f = fopen(full, "re");

	free(full);
	id->len = 0;
	if (!f)
		return;
	len = fread(notes, 1, sizeof(notes), f);
	fclose(f);
	for (at = 0; at + sizeof(Elf64_Nhdr) <= len;) {
		Elf64_Nhdr n;
		size_t name, desc;

		memcpy(&n, notes + at, sizeof(n));
		name = at + sizeof(n);
		desc = name + ((n.n_namesz + 3UL) & ~3UL);
		at = desc + ((n.n_descsz + 3UL) & ~3UL);
		if (desc + n.n_descsz > len)
			return;
		if (n.n_type != NT_GNU_BUILD_ID || n.n_namesz != 4 ||
		    memcmp(notes + name, "GNU", 4) || n.n_descsz > sizeof(id->bits))
			continue;
		memcpy(id->bits, notes + desc, n.n_descsz);
		id->len = n.n_descsz;
		return;
	}
}

static void module_build_id(const char *module, struct build_id *id)
{
	char *path = xasprintf("/sys/module/%s/notes/.note.gnu.build-id", module);

	read_notes(path, id);
	free(path);
}

static bool same_build(const struct build_id *a, const struct build_id *b)
{
	return a->len && a->len == b->len && !memcmp(a->bits, b->bits, a->len);
}

static void id_text(const struct build_id *id, char *buf)
{
	size_t i;

	buf[0] = 0;
	for (i = 0; i < id->len; i++)
		sprintf(buf + 2 * i, "%02x", id->bits[i]);
}
#define ID_TEXT (2 * sizeof(((struct build_id *)0)->bits) + 1)

/* A file that the user has named is none that can be used. */
static int fail_named(const char *path, const char *remedy)
{
	struct problem p = { .exit_code = EXIT_NOT_FOUND, .err = EINVAL, .reason = "no-file",
			     .remedy = remedy };

	if (access(path, R_OK))
		p.err = errno;
	if (p.err == EACCES || p.err == EPERM)
		p.exit_code = EXIT_PERMISSION;
	return fail(&p, "%s: %s", path, p.err == EINVAL ? "it is no ELF file" : strerror(p.err));
}

/**
 * debuginfo_module_of() - the loaded module that a file is of
 * @ko: the file
 * @module: (out) its name, to be freed
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int debuginfo_module_of(const char *ko, char **module)
{
	struct problem p = { .exit_code = EXIT_NOT_FOUND, .err = ENOENT, .reason = "no-file" };
	char *folder = xasprintf("%s/sys/module", debuginfo_root), text[ID_TEXT];
	struct build_id id, loaded;
	struct dirent *e;
	bool has_lines;
	DIR *d;

	*module = NULL;
	if (!lines_build_id(ko, &id, &has_lines)) {
		free(folder);
		return fail_named(ko, "check the path; it takes the .ko that the module was built as");
	}
	d = opendir(folder);
	while (d && !*module && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		module_build_id(e->d_name, &loaded);
		if (same_build(&id, &loaded))
			*module = xasprintf("%s", e->d_name);
	}
	if (d)
		closedir(d);
	free(folder);
	if (*module)
		return 0;
	id_text(&id, text);
	p.reason = "wrong-debuginfo";
	p.remedy = "load the module, or name the file that the loaded one was built as";
	return fail(&p, "%s is of no module that is loaded: none has its build ID, %s", ko,
		    id.len ? text : "which it lacks");
}

/* ------------------------------------------------------------- searching -- */

/* Takes a path if it is of this build and has debuginfo; frees it if not. */
static char *take(struct wanted *w, char *path)
{
	struct build_id id;
	bool has_lines;

	if (lines_build_id(path, &id, &has_lines) && has_lines) {
		if (same_build(&id, &w->id))
			return path;
		if (!w->other_build)
			w->other_build = xasprintf("%s", path);
	}
	free(path);
	return NULL;
}

/* Where debuginfo of everything is, by build ID. */
static char *find_by_id(struct wanted *w)
{
	char text[ID_TEXT];

	if (!w->id.len)
		return NULL;
	id_text(&w->id, text);
	return take(w, xasprintf("%s/usr/lib/debug/.build-id/%.2s/%s.debug", debuginfo_root, text,
				 text + 2));
}

static char *find_kernel(struct wanted *w)
{
	static const char *const places[] = {
		"/usr/lib/debug/boot/vmlinux-%s", "/usr/lib/debug/lib/modules/%s/vmlinux",
		"/usr/lib/debug/vmlinux-%s", "/usr/lib/debug/boot/vmlinux-%s.debug",
		"/boot/vmlinux-%s", "/lib/modules/%s/vmlinux", "/lib/modules/%s/build/vmlinux",
	};
	char *found = find_by_id(w);
	size_t i;

	for (i = 0; !found && i < sizeof(places) / sizeof(places[0]); i++) {
		char *path;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		path = xasprintf(places[i], w->release);
#pragma GCC diagnostic pop
		found = take(w, xasprintf("%s%s", debuginfo_root, path));
		free(path);
	}
	return found;
}

/* Is "kernel/fs/ext4/ext4.ko.xz" the file of a module? Names have either of "-" and "_". */
static bool is_file_of(const char *path, const char *module)
{
	const char *name = strrchr(path, '/');

	for (name = name ? name + 1 : path; *module; name++, module++)
		if (*name != *module && !(*name == '-' && *module == '_'))
			return false;
	return !strncmp(name, ".ko", 3) && (!name[3] || name[3] == '.');
}

/* A module's file below /lib/modules, "kernel/fs/ext4/ext4.ko", as depmod knows it. To be freed. */
static char *module_path(const struct wanted *w)
{
	char *path = xasprintf("%s/lib/modules/%s/modules.dep", debuginfo_root, w->release);
	char *line = NULL, *found = NULL, *end;
	size_t size = 0;
	FILE *f = fopen(path, "re");

	free(path);
	while (f && !found && getline(&line, &size, f) > 0) {
		line[strcspn(line, ":")] = 0;
		if (!is_file_of(line, w->module))
			continue;
		/* Debuginfo is not of the compressed file. */
		end = strstr(strrchr(line, '/') ?: line, ".ko");
		found = xasprintf("%.*s", (int)(end + 3 - line), line);
	}
	if (f)
		fclose(f);
	free(line);
	return found;
}

static char *find_module(struct wanted *w)
{
	char *found = find_by_id(w), *path = found ? NULL : module_path(w);

	if (!path)
		return found;
	if (path[0] == '/') {
		found = take(w, xasprintf("%s%s", debuginfo_root, path));
	} else {
		found = take(w, xasprintf("%s/usr/lib/debug/lib/modules/%s/%s", debuginfo_root,
					  w->release, path));
		if (!found)
			found = take(w, xasprintf("%s/usr/lib/debug/lib/modules/%s/%s.debug",
						  debuginfo_root, w->release, path));
		if (!found)
			found = take(w, xasprintf("%s/lib/modules/%s/%s", debuginfo_root,
						  w->release, path));
	}
	free(path);
	return found;
}

/* ---------------------------------------------------------------- errors -- */

static int not_found(const struct wanted *w)
{
	struct problem p = { .exit_code = EXIT_NOT_FOUND, .err = ENOENT, .reason = "no-debuginfo" };
	const char *option = w->module ? "--ko" : "--vmlinux";
	char *remedy;
	int rc;

	if (w->other_build)
		p.reason = "wrong-debuginfo";
	remedy = xasprintf("install the package linux-image-%s-dbg (Debian), or name the file by %s FILE",
			   w->release, option);
	p.remedy = remedy;
	if (w->other_build)
		rc = fail(&p, "%s is of another build than %s%s: it has another build ID",
			  w->other_build, w->module ? "the module " : "the kernel that runs",
			  w->module ?: "");
	else
		rc = fail(&p, "there is no debuginfo of %s%s", w->module ? "the module " :
			  "the kernel ", w->module ?: w->release);
	free(remedy);
	return rc;
}

/* A module that is not loaded is nowhere, whatever its file says. */
static int check_loaded(const char *module)
{
	struct problem p = { .exit_code = EXIT_NOT_FOUND, .err = ENOENT, .reason = "no-module",
			     .remedy = "load it, or check its name: lsmod lists those that are loaded" };
	char *path = xasprintf("%s/sys/module/%s", debuginfo_root, module);
	const bool is = !access(path, F_OK);

	free(path);
	return is ? 0 : fail(&p, "the module %s is not loaded", module);
}

/* The file that the user has named. */
static int check_named(const struct wanted *w, const char *path)
{
	struct problem p = { .exit_code = EXIT_NOT_FOUND, .err = ENOENT, .reason = "no-file" };
	const char *what = w->module ? "the module " : "the kernel that runs";
	char found[ID_TEXT], wanted[ID_TEXT];
	struct build_id id;
	bool has_lines;

	if (!lines_build_id(path, &id, &has_lines))
		return fail_named(path, w->module ?
				  "check the path; it takes the .ko that the module was built as" :
				  "check the path; it takes an uncompressed vmlinux");
	id_text(&id, found);
	id_text(&w->id, wanted);
	p.reason = "wrong-debuginfo";
	p.remedy = w->module ? "name the file that the loaded module was built as" :
		   "name the vmlinux of this kernel's package, or of its build";
	if (!same_build(&id, &w->id))
		return fail(&p, "%s is of another build than %s%s: its build ID is %s, not %s", path,
			    what, w->module ?: "", id.len ? found : "missing",
			    w->id.len ? wanted : "known");
	p.reason = "no-debuginfo";
	p.remedy = "name the file before it was stripped, or the one that has its debuginfo";
	if (!has_lines)
		return fail(&p, "%s has no debuginfo", path);
	return 0;
}

/* --------------------------------------------------------------- opening -- */

/* The address of a symbol of the kernel proper; 0 if it is hidden or not there. */
static uint64_t kernel_symbol(const char *name)
{
	char *path = xasprintf("%s/proc/kallsyms", debuginfo_root), line[512], found[128], type;
	unsigned long long addr, result = 0;
	FILE *f = fopen(path, "re");

	free(path);
	while (f && !result && fgets(line, sizeof(line), f))
		if (!strchr(line, '[') && sscanf(line, "%llx %c %127s", &addr, &type, found) == 3 &&
		    !strcmp(found, name))
			result = addr;
	if (f)
		fclose(f);
	return result;
}

/* Takes into account where KASLR has put the kernel. */
static int move_kernel(struct lines *l, const char *path)
{
	static const char *const anchors[] = { "_stext", "_text" };
	struct problem p = { .exit_code = EXIT_PERMISSION, .err = EPERM,
			     .reason = tramp_reason_name(TRAMP_REASON_HIDDEN_ADDRESS),
			     .remedy = tramp_reason_remedy(TRAMP_REASON_HIDDEN_ADDRESS) };
	uint64_t linked, runs = 0;
	size_t i;

	for (i = 0; i < 2; i++) {
		runs = kernel_symbol(anchors[i]);
		if (runs && lines_symbol(l, anchors[i], &linked)) {
			lines_move(l, runs - linked);
			return 0;
		}
	}
	if (!runs)
		return fail(&p, "where the kernel lies is hidden: /proc/kallsyms shows no address of _stext");
	p = (struct problem){ .exit_code = EXIT_FAILED, .err = EINVAL, .reason = "no-debuginfo",
			      .remedy = "name a vmlinux that has its symbols" };
	return fail(&p, "%s has no symbol _stext, so where it runs is unknown", path);
}

/* Sections of a module are where sysfs says, to root. */
static int check_sections(const char *module)
{
	struct problem p = { .exit_code = EXIT_PERMISSION, .err = EPERM,
			     .reason = tramp_reason_name(TRAMP_REASON_HIDDEN_ADDRESS),
			     .remedy = tramp_reason_remedy(TRAMP_REASON_HIDDEN_ADDRESS) };
	char *path = xasprintf("%s/sys/module/%s/sections/.text", debuginfo_root, module);
	char line[64];
	const bool known = read_line(path, line, sizeof(line)) && strtoull(line, NULL, 16);

	free(path);
	if (known)
		return 0;
	return fail(&p, "where the module %s lies is hidden: /sys/module/%s/sections", module,
		    module);
}

static int open_file(const char *path, const char *module, struct lines **lines)
{
	struct problem p = { .exit_code = EXIT_FAILED, .err = EINVAL, .reason = "no-debuginfo",
			     .remedy = "install or build the file anew: it is damaged" };
	const char *why;
	int rc;

	rc = module ? check_sections(module) : 0;
	if (rc)
		return rc;
	*lines = lines_open(path, module, &why);
	if (!*lines)
		return fail(&p, "%s: %s", path, why ?: "it has no debuginfo");
	rc = module ? 0 : move_kernel(*lines, path);
	if (rc) {
		lines_free(*lines);
		*lines = NULL;
	}
	return rc;
}

/**
 * debuginfo_open() - find and open the debuginfo of the kernel proper, or of a module
 * @o: the files that the user has named
 * @module: a module that is loaded; NULL or empty: the kernel proper
 * @lines: (out) to be freed by lines_free()
 *
 * Return: 0, or the exit code of an error that has been reported.
 */
int debuginfo_open(const struct debuginfo_options *o, const char *module, struct lines **lines)
{
	struct wanted w = { .module = module && module[0] ? module : NULL };
	const char *named = w.module ? o->ko : o->vmlinux;
	struct utsname u = { .release = "unknown" };
	char *path = NULL;
	int rc = 0;

	*lines = NULL;
	uname(&u);
	w.release = u.release;
	if (w.module) {
		rc = check_loaded(w.module);
		if (rc)
			return rc;
		module_build_id(w.module, &w.id);
	} else {
		read_notes("/sys/kernel/notes", &w.id);
	}
	if (named) {
		rc = check_named(&w, named);
		if (!rc)
			path = xasprintf("%s", named);
	} else {
		path = w.module ? find_module(&w) : find_kernel(&w);
		if (!path)
			rc = not_found(&w);
	}
	if (!rc)
		rc = open_file(path, w.module, lines);
	free(w.other_build);
	free(path);
	return rc;
}
