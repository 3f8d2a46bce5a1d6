// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/trampoline_test: has the targets called. trampoline_test.h describes the
 * commands, probe_abi.h the ioctls. An open file holds the module, so it cannot be
 * unloaded under a call.
 */
#include <linux/kernel.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include "device.h"

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
	tt_hide_end(&f->hides);
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
	tt_hide_exit();
	tt_loading_exit();
	tt_context_exit();
}

module_init(tt_init);
module_exit(tt_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Awkward functions for testing the trampoline module");
