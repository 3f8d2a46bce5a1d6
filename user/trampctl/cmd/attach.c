// SPDX-License-Identifier: GPL-2.0
/*
 * trampctl attach: attach the programs of a BPF object file.
 *
 * The object is what libbpf takes, loaded by libbpf: the function comes from
 * each program's section name. All of its programs are attached or none. The
 * links live as long as this process, unless they are pinned; when it ends, by
 * Ctrl-C, a signal or --duration, it says how often each program ran.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../out/error.h"
#include "../out/file.h"
#include "../out/json.h"
#include "../out/linkinfo.h"
#include "../out/output.h"
#include "../out/table.h"
#include "../out/text.h"
#include "../run/args.h"
#include "../run/module.h"
#include "../run/progress.h"
#include "../run/signals.h"
#include "../trampctl.h"

enum {
	OPT_PIN, OPT_COOKIE, OPT_DURATION, OPT_NO_OPS, OPT_NO_JUMP, OPT_NO_KPROBE, OPT_MAXACTIVE,
};

static const struct cmd_opt attach_opts[] = {
	{ "pin", 0, "DIR", "pin each link as DIR/PROGRAM in a BPF file system, and exit" },
	{ "cookie", 0, "[PROG=]N", "what bpf_get_attach_cookie() returns, for all or one program" },
	{ "duration", 'd', "SECONDS", "detach and exit after so long" },
	{ "no-ops", 0, NULL, "refuse functions that only ftrace can share with their holder" },
	{ "no-jump", 0, NULL, "probes stay int3s: they do not become jumps" },
	{ "no-kprobe", 0, NULL, "refuse probes that only a kprobe of the kernel can be" },
	{ "maxactive", 0, "N", "calls inside a function at a time, for return probes by rethook" },
	{ NULL }
};

#define MAX_COOKIES 256	/* options of that name */

static const char *pin_dir;
static uint64_t duration_ns;
static uint32_t attach_flags;
static uint64_t maxactive;
static struct tramp_prog_cookie given[MAX_COOKIES];	/* a NULL name: all programs */
static size_t nr_given;

static int cookie_option(const char *arg)
{
	const char *eq = strchr(arg, '=');
	struct tramp_prog_cookie *c;
	int rc;

	if (nr_given == MAX_COOKIES)
		return usage_error("at most %d cookies can be given", MAX_COOKIES);
	c = &given[nr_given];
	rc = parse_u64("--cookie", eq ? eq + 1 : arg, 0, UINT64_MAX, &c->cookie);
	if (rc)
		return rc;
	if (eq == arg)
		return usage_error("--cookie \"%s\" names no program", arg);
	c->prog_name = eq ? strndup(arg, eq - arg) : NULL;
	nr_given++;
	return 0;
}

static int attach_option(int opt, const char *arg)
{
	switch (opt) {
	case OPT_PIN:
		if (!arg[0])
			return usage_error("--pin needs a directory");
		pin_dir = arg;
		break;
	case OPT_COOKIE:
		return cookie_option(arg);
	case OPT_DURATION:
		return parse_seconds("--duration", arg, &duration_ns);
	case OPT_NO_OPS:
		attach_flags |= TRAMP_ATTACH_F_NO_OPS;
		break;
	case OPT_NO_JUMP:
		attach_flags |= TRAMP_ATTACH_F_NO_JUMP;
		break;
	case OPT_NO_KPROBE:
		attach_flags |= TRAMP_ATTACH_F_NO_KPROBE;
		break;
	case OPT_MAXACTIVE:
		return parse_u64("--maxactive", arg, 1, TRAMP_MAX_MAXACTIVE, &maxactive);
	}
	return 0;
}

/*
 * One cookie for each program: the last --cookie that names it, or the last without a name. They
 * stay until the end. Returns 0 or an exit code.
 */
static int make_cookies(const struct bpf_object *obj, struct tramp_object_attach_opts *opts)
{
	struct tramp_prog_cookie *cookies;
	struct bpf_program *prog;
	size_t i, nr = 0;

	for (i = 0; i < nr_given; i++)
		if (given[i].prog_name &&
		    !bpf_object__find_program_by_name(obj, given[i].prog_name))
			return usage_error("--cookie names \"%s\", which is not in the object",
					   given[i].prog_name);

	bpf_object__for_each_program(prog, obj)
		nr++;
	opts->cookies = cookies = xcalloc(nr + 1, sizeof(*cookies));
	bpf_object__for_each_program(prog, obj) {
		const char *name = bpf_program__name(prog);
		const struct tramp_prog_cookie *found = NULL;

		for (i = 0; i < nr_given; i++) {
			bool named = given[i].prog_name;

			if (named && strcmp(given[i].prog_name, name))
				continue;
			if (named || !found || !found->prog_name)
				found = &given[i];
		}
		if (!found)
			continue;
		cookies[opts->cookie_cnt].prog_name = name;
		cookies[opts->cookie_cnt++].cookie = found->cookie;
	}
	return 0;
}

/*
 * Nothing but its section can name the function of a program here, so one that does not is at
 * fault. libbpf would say EINVAL.
 */
static int check_names(const struct bpf_object *obj)
{
	struct problem p = {
		.exit_code = EXIT_FAILED, .err = EINVAL,
		.reason = tramp_reason_name(TRAMP_LIB_BAD_SECTION),
		.remedy = "write the function behind it, as in SEC(\"fentry/do_unlinkat\")",
	};
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj) {
		const char *section = bpf_program__section_name(prog);

		if (bpf_program__autoload(prog) && !strchr(section, '/') &&
		    bpf_program__type(prog) == BPF_PROG_TYPE_TRACING)
			return fail(&p, "program '%s' (SEC(\"%s\")): its section names no function",
				    bpf_program__name(prog), section);
	}
	return 0;
}

/* Names the file and its errno before libbpf, which would log three lines. */
static int check_file(const char *path)
{
	struct problem p = { .exit_code = EXIT_FAILED, .reason = "no-file",
			     .remedy = tramp_reason_remedy(TRAMP_LIB_NO_FILE) };
	struct stat st;
	int fd;

	/* Of a FIFO this would wait for a writer otherwise. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
		close(fd);
		return 0;
	}
	p.err = fd < 0 ? errno : S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	if (fd >= 0)
		close(fd);
	if (p.err == ENOENT || p.err == ENOTDIR)
		p.exit_code = EXIT_NOT_FOUND;
	else if (p.err == EACCES || p.err == EPERM)
		p.exit_code = EXIT_PERMISSION;
	return fail(&p, "cannot open the BPF object %s: %s", path,
		    p.err == EINVAL ? "it is not a file" : strerror(p.err));
}

/* @opts: of the attach to come; their cookies are filled in here. */
static int open_and_load(const char *path, struct tramp_object_attach_opts *opts,
			 struct bpf_object **objp)
{
	struct bpf_object *obj;
	int err, rc;

	rc = check_file(path);
	if (rc)
		return rc;
	tramp_clear_error();
	obj = tramp_object__open_file(path, NULL);
	if (!obj && tramp_last_error()->err)
		return fail_lib(NULL, NULL);
	if (!obj)
		return fail_bpf(errno, "cannot open the BPF object %s", path);
	rc = make_cookies(obj, opts);
	if (!rc)
		rc = need_module(NULL);
	if (!rc)
		rc = check_names(obj);
	if (rc)
		goto err;
	progress_begin("checking functions");
	err = tramp_object__check(obj, opts);
	progress_end();
	if (err) {
		rc = fail_lib(NULL, NULL);
		goto err;
	}
	tramp_clear_error();
	err = bpf_object__load(obj);
	if (err) {
		/* tramp_register_sections() has a say. */
		if (err == -EOPNOTSUPP && tramp_last_error()->reason)
			rc = fail_lib(NULL, NULL);
		else
			rc = fail_bpf(err, "cannot load %s", path);
		goto err;
	}
	*objp = obj;
	return 0;
err:
	bpf_object__close(obj);
	return rc;
}

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
	output_stop();
}

/*
 * Prints the links: what was attached, or with @end what became of it. A link
 * that another process has detached is reported as gone. The signals of @set are let in while it
 * writes: nobody may read it.
 */
static void report(const struct tramp_links *links, bool end, const sigset_t *set)
{
	FILE *f = end ? output_for_end() : stdout;
	json_object *list = json_object_new_array(), *top;
	struct table *t = link_table_new();
	size_t i, gone = 0;

	for (i = 0; i < tramp_links__count(links); i++) {
		struct tramp_link *link = tramp_links__get(links, i);
		TRAMP_OPTS(tramp_link_info, info);
		json_object *j;

		if (tramp_link__info(link, &info) || info.mode == TRAMP_MODE_NONE) {
			gone++;
			continue;
		}
		link_table_row(t, &info);
		j = link_to_json(&info);
		if (tramp_link__pin_path(link))
			json_put_str(j, "pinned", tramp_link__pin_path(link));
		json_object_array_add(list, j);
	}
	sigprocmask(SIG_UNBLOCK, set, NULL);
	if (json_output) {
		top = json_object_new_object();
		json_put_str(top, "type", end ? "end" : "attached");
		json_object_object_add(top, "links", list);
		if (end)
			json_put_u64(top, "detached_meanwhile", gone);
		if (end)
			output_end(top);
		else
			json_print(top);
	} else {
		json_object_put(list);
		table_print(t, f);
		if (gone)
			fprintf(f, "%zu link%s already detached\n", gone,
				gone == 1 ? " was" : "s were");
		for (i = 0; !end && pin_dir && i < tramp_links__count(links); i++)
			printf("pinned %s\n", tramp_link__pin_path(tramp_links__get(links, i)));
	}
	table_free(t);
	fflush(stdout);
	sigprocmask(SIG_BLOCK, set, NULL);
}

/* The signals are blocked, and one of them is taken here. */
static void wait_for_end(const sigset_t *set)
{
	const uint64_t end = now_ns() + duration_ns;
	struct timespec left;
	uint64_t now, ns;
	int sig;

	/* Being stopped and continued interrupts it. */
	do {
		now = now_ns();
		ns = now < end ? end - now : 0;
		left = (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
		sig = duration_ns ? sigtimedwait(set, NULL, &left) : sigwaitinfo(set, NULL);
	} while (sig < 0 && errno == EINTR);
	if (sig > 0)
		on_signal(sig);
}

/* @what: what was not yet done. Pins outlive us: before them is the last chance to end it. */
static int fail_interrupted(const char *what)
{
	struct problem p = { .exit_code = EXIT_FAILED, .err = EINTR, .reason = "interrupted",
			     .remedy = "run it again" };

	return fail(&p, "a signal came before the programs were %s: none is attached", what);
}

static int attach_run(int argc, char **argv)
{
	TRAMP_OPTS(tramp_object_attach_opts, opts);
	struct bpf_object *obj = NULL;
	struct tramp_links *links;
	sigset_t set;
	int rc;

	(void)argc;
	if (pin_dir && duration_ns)
		return usage_error("--pin and --duration exclude each other");
	/* A load may take long. It leaves nothing behind, so a signal just ends us. */
	end_signals_handle(SIG_DFL);
	opts.attach_flags = attach_flags;
	opts.maxactive = maxactive;
	rc = open_and_load(argv[0], &opts, &obj);
	if (rc)
		return rc;

	/* Blocked before anything is attached: a signal cannot be missed. */
	end_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	end_signals_handle(on_signal);
	if (end_is_pending()) {
		rc = fail_interrupted("attached");
		goto close;
	}
	progress_begin("attaching");
	links = tramp_object__attach(obj, &opts);
	progress_end();
	if (!links) {
		rc = fail_lib(NULL, NULL);
		goto close;
	}
	if (pin_dir && end_is_pending()) {
		tramp_links__destroy(links);
		rc = fail_interrupted("pinned");
		goto close;
	}
	if (pin_dir && tramp_links__pin(links, pin_dir)) {
		rc = fail_lib(NULL, NULL);
		goto destroy;
	}
	report(links, false, &set);
	if (!pin_dir) {
		if (!stopped)
			wait_for_end(&set);
		report(links, true, &set);
	}
destroy:
	tramp_links__destroy(links);
close:
	bpf_object__close(obj);
	return rc;
}

const struct cmd cmd_attach = {
	.name = "attach",
	.args = "FILE",
	.summary = "Attach the programs of a BPF object file",
	.details =
		"FILE is an object as libbpf takes it, with programs in SEC(\"fentry/FUNC\"),\n"
		"SEC(\"fexit/FUNC\"), SEC(\"fmod_ret/FUNC\") or their sleepable forms, or in\n"
		"SEC(\"kprobe/FUNC\"), SEC(\"kprobe/FUNC+OFFSET\") or SEC(\"kretprobe/FUNC\"). On many\n"
		"functions it attaches those in SEC(\"kprobe.multi/PATTERN\"),\n"
		"SEC(\"kretprobe.multi/PATTERN\") and SEC(\"kprobe.session/PATTERN\"). Attaches all\n"
		"of them or none. They stay until Ctrl-C, SIGTERM or SIGHUP; then it shows what each\n"
		"did. With --pin they stay until their pins are removed or they are detached.\n",
	.opts = attach_opts,
	.min_args = 1,
	.max_args = 1,
	.option = attach_option,
	.run = attach_run,
};
