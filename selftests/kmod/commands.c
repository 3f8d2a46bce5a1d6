// SPDX-License-Identifier: GPL-2.0
/* The commands that are written to /dev/trampoline_test. trampoline_test.h describes them. */
#include <linux/kernel.h>
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/ctype.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "device.h"

static struct tt_target *const tt_tables[] = {
	tt_scalar_targets, tt_struct_targets, tt_member_targets, tt_shape_targets,
	tt_context_targets, tt_probe_targets, tt_many_targets,
};

static struct tt_target *tt_find(const char *name)
{
	struct tt_target *t;
	size_t i;

	if (!name)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(tt_tables); i++)
		for (t = tt_tables[i]; t->name; t++)
			if (!strcmp(t->name, name))
				return t;
	return NULL;
}

static __printf(2, 3) void tt_reply(struct tt_file *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	f->len += vscnprintf(f->reply + f->len, sizeof(f->reply) - f->len, fmt, ap);
	va_end(ap);
}

static char *tt_word(char **line)
{
	char *word;

	do {
		word = strsep(line, " \t\n");
	} while (word && !*word);
	return word;
}

static int tt_value(const char *word, u64 *value)
{
	if (*word == '-')
		return kstrtos64(word, 0, (s64 *)value);
	return kstrtou64(word, 0, value);
}

static int tt_cmd_list(struct tt_file *f, char *args)
{
	struct tt_target *t;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tt_tables); i++)
		for (t = tt_tables[i]; t->name; t++)
			tt_reply(f, "%s %s\n", t->name, t->spec);
	return 0;
}

static int tt_cmd_call(struct tt_file *f, char *args)
{
	struct tt_target *t = tt_find(tt_word(&args));
	u64 v[TT_MAX_VALUES] = {}, n = 1, different = 0, result;
	s64 calls, ran;
	char ctx = 't';
	char *word;
	int nr = 0;
	int err;

	if (!t)
		return -ENOENT;
	while ((word = tt_word(&args))) {
		if (!strncmp(word, "n=", 2)) {
			err = kstrtou64(word + 2, 0, &n);
			if (err)
				return err;
		} else if (!strcmp(word, "ctx=task") || !strcmp(word, "ctx=irq") ||
			   !strcmp(word, "ctx=softirq") || !strcmp(word, "ctx=nmi")) {
			ctx = word[4];
		} else {
			if (nr == TT_MAX_VALUES)
				return -E2BIG;
			err = tt_value(word, &v[nr++]);
			if (err)
				return err;
		}
	}
	/* Interrupts are not to be held for long. */
	if (ctx != 't' && (t->may_sleep || n > 100000))
		return -EINVAL;

	calls = atomic64_read(&t->calls);
	ran = atomic64_read(&tt_ran);
	if (ctx == 'i')
		result = tt_run_in_irq(t, v, n, &different);
	else if (ctx == 'n')
		result = tt_run_in_nmi(t, v, n, &different);
	else if (ctx == 's')
		result = tt_run_in_softirq(t, v, n, &different);
	else
		result = tt_repeat(t, v, n, &different);
	tt_reply(f, "result=0x%llx calls=%llu different=%llu ran=%llu\n", result,
		 (u64)(atomic64_read(&t->calls) - calls), different,
		 (u64)(atomic64_read(&tt_ran) - ran));
	return 0;
}

static int tt_cmd_calls(struct tt_file *f, char *args)
{
	struct tt_target *t = tt_find(tt_word(&args));

	if (!t)
		return -ENOENT;
	tt_reply(f, "calls=%llu\n", (u64)atomic64_read(&t->calls));
	return 0;
}

static int tt_cmd_text(struct tt_file *f, char *args)
{
	struct tt_target *t = tt_find(tt_word(&args));
	char *word = tt_word(&args);
	u8 bytes[64];
	u64 n;
	int err;

	if (!t)
		return -ENOENT;
	if (!word || kstrtou64(word, 0, &n) || !n || n > sizeof(bytes))
		return -EINVAL;
	err = copy_from_kernel_nofault(bytes, t->addr, n);
	if (err)
		return err;
	tt_reply(f, "%*phN\n", (int)n, bytes);
	return 0;
}

static int tt_cmd_pages(struct tt_file *f, char *args)
{
	char *planted = tt_word(&args);
	struct tt_pages p;
	int err;

	if (planted) {
		err = tt_walk_planted(&p, !strcmp(planted, "aliased"));
		if (err)
			return err;
	} else {
		tt_walk_pages(&p);
	}
	tt_reply(f, "executable=%lu both=%lu aliased=%lu at=%#lx\n", p.executable, p.both,
		 p.aliased, p.at);
	return 0;
}

static int tt_cmd_watch(struct tt_file *f, char *args)
{
	int err = tt_page_watch(&f->watches);
	struct tt_page_watch w;

	if (!err && tt_word(&args))
		err = tt_step_planted();
	if (err)
		return err;
	tt_page_watch_take(&w);
	tt_reply(f, "walks=%lu both=%lu at=%#lx in=%#lx\n", w.walks, w.both, w.at, w.in);
	return 0;
}

static int tt_cmd_hold(struct tt_file *f, char *args)
{
	char *module = tt_word(&args);
	int err = tt_hold(module, tt_word(&args));

	f->holds |= !err;
	return err;
}

void tt_end_hold(struct tt_file *f)
{
	if (f->holds)
		tt_let_go();
	f->holds = false;
}

static int tt_cmd_ftrace_watch(struct tt_file *f, char *args)
{
	char *word = tt_word(&args);
	unsigned int ms;
	int direct;

	if (!word || kstrtouint(word, 0, &ms) || !ms || ms > 10000)
		return -EINVAL;
	direct = tt_ftrace_watch(ms);
	if (direct >= 0)
		tt_reply(f, "direct=%d\n", direct);
	return direct < 0 ? direct : 0;
}

static int tt_cmd_leak(struct tt_file *f, char *args)
{
	char *word = tt_word(&args);
	unsigned int nr;

	if (!word || kstrtouint(word, 0, &nr) || nr > 1000)
		return -EINVAL;
	return tt_leak(&f->leaks, nr);
}

static int tt_cmd_mistake(struct tt_file *f, char *args)
{
	char *name = tt_word(&args);

	return name ? tt_mistake(name) : -EINVAL;
}

static int tt_cmd_overwrite(struct tt_file *f, char *args)
{
	char *where = tt_word(&args), *hex = tt_word(&args);
	u8 bytes[16];
	size_t len;
	u64 addr;

	if (!where || kstrtou64(where, 16, &addr) || !hex)
		return -EINVAL;
	len = strlen(hex);
	if (!len || len % 2 || len / 2 > sizeof(bytes) || hex2bin(bytes, hex, len / 2))
		return -EINVAL;
	return tt_overwrite((void *)addr, bytes, len / 2);
}

static int tt_cmd_hide(struct tt_file *f, char *args)
{
	DECLARE_BITMAP(which, TT_HIDDEN_MAX) = {};
	struct tt_hidden was;
	unsigned int n;
	size_t len = 0;
	char *word;
	int err;

	/* Names, which the reply has room for. */
	f->reply[0] = '\0';
	while ((word = tt_word(&args))) {
		if (!isdigit(*word))
			len += sprintf(f->reply + len, len ? "%s " : " %s ", word);
		else if (kstrtouint(word, 0, &n) || !n || n >= TT_HIDDEN_MAX)
			return -EINVAL;
		else
			__set_bit(n, which);
	}
	err = tt_hide(&f->hides, which, f->reply, &was);
	if (!err)
		tt_reply(f, "asked=%u name=%s\n", was.asked, was.name[0] ? was.name : "-");
	return err;
}

static int tt_cmd_wake(struct tt_file *f, char *args)
{
	tt_wake_all();
	return 0;
}

static int tt_cmd_sleepers(struct tt_file *f, char *args)
{
	tt_reply(f, "sleepers=%d\n", tt_sleepers());
	return 0;
}

static int tt_cmd_images(struct tt_file *f, char *args)
{
	int images = tt_images();

	if (images >= 0)
		tt_reply(f, "images=%d\n", images);
	return images < 0 ? images : 0;
}

static int tt_cmd_rcu_barrier(struct tt_file *f, char *args)
{
	rcu_barrier();
	return 0;
}

static int tt_cmd_rcu_tasks(struct tt_file *f, char *args)
{
	synchronize_rcu_tasks();
	return 0;
}

static int tt_cmd_held(struct tt_file *f, char *args)
{
	tt_reply(f, "held=%d\n", tt_held());
	return 0;
}

static int tt_cmd_let_go(struct tt_file *f, char *args)
{
	tt_end_hold(f);
	return 0;
}

static int tt_cmd_ftrace_kill(struct tt_file *f, char *args)
{
	return tt_ftrace_kill();
}

static int tt_cmd_trap(struct tt_file *f, char *args)
{
	return tt_trap();
}

static const struct {
	const char *verb;
	int (*run)(struct tt_file *f, char *args);
} tt_commands[] = {
	{ "list", tt_cmd_list },
	{ "call", tt_cmd_call },
	{ "calls", tt_cmd_calls },
	{ "text", tt_cmd_text },
	{ "wake", tt_cmd_wake },
	{ "sleepers", tt_cmd_sleepers },
	{ "images", tt_cmd_images },
	{ "rcu_barrier", tt_cmd_rcu_barrier },
	{ "rcu_tasks", tt_cmd_rcu_tasks },
	{ "pages", tt_cmd_pages },
	{ "watch", tt_cmd_watch },
	{ "hold", tt_cmd_hold },
	{ "held", tt_cmd_held },
	{ "let_go", tt_cmd_let_go },
	{ "hide", tt_cmd_hide },
	{ "ftrace_kill", tt_cmd_ftrace_kill },
	{ "ftrace_watch", tt_cmd_ftrace_watch },
	{ "leak", tt_cmd_leak },
	{ "mistake", tt_cmd_mistake },
	{ "overwrite", tt_cmd_overwrite },
	{ "trap", tt_cmd_trap },
};

int tt_command(struct tt_file *f, char *line)
{
	char *verb = tt_word(&line);
	size_t i;

	f->len = 0;
	for (i = 0; verb && i < ARRAY_SIZE(tt_commands); i++)
		if (!strcmp(verb, tt_commands[i].verb))
			return tt_commands[i].run(f, line);
	return -EINVAL;
}
