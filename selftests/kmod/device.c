// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/trampoline_test: has the targets called. trampoline_test.h describes the
 * commands, probe_abi.h the ioctls. An open file holds the module, so it cannot be
 * unloaded under a call.
 */
#include <linux/kernel.h>
#include <linux/atomic.h>
#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "probe_abi.h"
#include "trampoline_test.h"

static struct tt_target *const tt_tables[] = {
	tt_scalar_targets, tt_struct_targets, tt_member_targets, tt_shape_targets,
	tt_context_targets, tt_probe_targets, tt_many_targets,
};

struct tt_file {
	struct mutex lock;
	size_t len;
	char reply[TT_REPLY_MAX];
	struct tt_kprobes *kprobes;
	u32 *gate;	/* a page, see probe_abi.h */
	bool holds;	/* a module's load */
	bool faults;
	bool pauses;
	bool watches;	/* pages */
	struct tt_leak *leaks;
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

static int tt_cmd_list(struct tt_file *f)
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

static void tt_end_hold(struct tt_file *f)
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

static int tt_cmd_mistake(char *args)
{
	char *name = tt_word(&args);

	return name ? tt_mistake(name) : -EINVAL;
}

static int tt_cmd_overwrite(char *args)
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

static int tt_command(struct tt_file *f, char *line)
{
	char *verb = tt_word(&line);

	f->len = 0;
	if (!verb)
		return -EINVAL;
	if (!strcmp(verb, "list"))
		return tt_cmd_list(f);
	if (!strcmp(verb, "call"))
		return tt_cmd_call(f, line);
	if (!strcmp(verb, "calls"))
		return tt_cmd_calls(f, line);
	if (!strcmp(verb, "text"))
		return tt_cmd_text(f, line);
	if (!strcmp(verb, "wake")) {
		tt_wake_all();
		return 0;
	}
	if (!strcmp(verb, "sleepers")) {
		tt_reply(f, "sleepers=%d\n", tt_sleepers());
		return 0;
	}
	if (!strcmp(verb, "images")) {
		int images = tt_images();

		if (images >= 0)
			tt_reply(f, "images=%d\n", images);
		return images < 0 ? images : 0;
	}
	if (!strcmp(verb, "rcu_barrier")) {
		rcu_barrier();
		return 0;
	}
	if (!strcmp(verb, "rcu_tasks")) {
		synchronize_rcu_tasks();
		return 0;
	}
	if (!strcmp(verb, "pages"))
		return tt_cmd_pages(f, line);
	if (!strcmp(verb, "watch"))
		return tt_cmd_watch(f, line);
	if (!strcmp(verb, "hold"))
		return tt_cmd_hold(f, line);
	if (!strcmp(verb, "held")) {
		tt_reply(f, "held=%d\n", tt_held());
		return 0;
	}
	if (!strcmp(verb, "let_go")) {
		tt_end_hold(f);
		return 0;
	}
	if (!strcmp(verb, "ftrace_kill"))
		return tt_ftrace_kill();
	if (!strcmp(verb, "ftrace_watch"))
		return tt_cmd_ftrace_watch(f, line);
	if (!strcmp(verb, "leak"))
		return tt_cmd_leak(f, line);
	if (!strcmp(verb, "mistake"))
		return tt_cmd_mistake(line);
	if (!strcmp(verb, "overwrite"))
		return tt_cmd_overwrite(line);
	return -EINVAL;
}

static int tt_open(struct inode *inode, struct file *file)
{
	struct tt_file *f = kzalloc(sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	f->gate = vmalloc_user(PAGE_SIZE);
	if (!f->gate) {
		kfree(f);
		return -ENOMEM;
	}
	*f->gate = 1;
	mutex_init(&f->lock);
	file->private_data = f;
	return 0;
}

static int tt_release(struct inode *inode, struct file *file)
{
	struct tt_file *f = file->private_data;

	tt_faults_end(&f->faults);
	tt_pauses_end(&f->pauses);
	tt_page_watch_end(&f->watches);
	tt_leaks_end(&f->leaks);
	tt_end_hold(f);
	tt_kprobes_drop(&f->kprobes);
	/* Not mapped any more: a mapping holds the file. */
	vfree(f->gate);
	kfree(f);
	return 0;
}

static ssize_t tt_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct tt_file *f = file->private_data;
	char *line;
	int err;

	if (len > 1024)
		return -E2BIG;
	line = memdup_user_nul(buf, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	err = mutex_lock_killable(&f->lock);
	if (!err) {
		err = tt_command(f, line);
		/* The reply is read from its start, whatever was read before. */
		*pos = 0;
		mutex_unlock(&f->lock);
	}
	kfree(line);
	return err ?: len;
}

static ssize_t tt_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct tt_file *f = file->private_data;
	ssize_t ret;

	ret = mutex_lock_killable(&f->lock);
	if (ret)
		return ret;
	ret = simple_read_from_buffer(buf, len, pos, f->reply, f->len);
	mutex_unlock(&f->lock);
	return ret;
}

static long tt_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct tt_file *f = file->private_data;
	void __user *user = (void __user *)arg;
	long ret;

	ret = mutex_lock_killable(&f->lock);
	if (ret)
		return ret;
	switch (cmd) {
	case TT_IOC_FORM_INFO:
		ret = tt_form_info(user);
		break;
	case TT_IOC_FORM_RUN:
		ret = tt_form_run(user);
		break;
	case TT_IOC_JUDGE:
		ret = tt_judge(user);
		break;
	case TT_IOC_KPROBES_ON:
		ret = tt_kprobes_on(&f->kprobes, user, f->gate);
		break;
	case TT_IOC_KPROBES_OFF:
		ret = tt_kprobes_off(&f->kprobes, user);
		break;
	case TT_IOC_TEXT:
		ret = tt_text(user);
		break;
	case TT_IOC_TOGGLE:
		ret = tt_toggle(user);
		break;
	case TT_IOC_FAULT:
		ret = tt_fault(&f->faults, user);
		break;
	case TT_IOC_PAUSE:
		ret = tt_pause(&f->pauses, user);
		break;
	default:
		ret = -ENOTTY;
	}
	mutex_unlock(&f->lock);
	return ret;
}

static int tt_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct tt_file *f = file->private_data;

	if (vma->vm_pgoff)
		return -EINVAL;
	return remap_vmalloc_range(vma, f->gate, 0);
}

static const struct file_operations tt_fops = {
	.owner = THIS_MODULE,
	.open = tt_open,
	.release = tt_release,
	.read = tt_read,
	.write = tt_write,
	.unlocked_ioctl = tt_ioctl,
	.mmap = tt_mmap,
};

static struct miscdevice tt_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "trampoline_test",
	.fops = &tt_fops,
	.mode = 0600,
};

static int __init tt_init(void)
{
	int err = tt_context_init();

	if (err)
		return err;
	err = tt_loading_init();
	if (err)
		goto contexts;
	err = misc_register(&tt_misc);
	if (err)
		goto loading;
	return 0;

loading:
	tt_loading_exit();
contexts:
	tt_context_exit();
	return err;
}

static void __exit tt_exit(void)
{
	misc_deregister(&tt_misc);
	tt_faults_exit();
	tt_pauses_exit();
	tt_page_watch_exit();
	tt_loading_exit();
	tt_context_exit();
}

module_init(tt_init);
module_exit(tt_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Awkward functions for testing the trampoline module");
