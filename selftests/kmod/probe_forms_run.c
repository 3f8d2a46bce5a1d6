// SPDX-License-Identifier: GPL-2.0
/*
 * Running the functions of probe_forms.S with registers, flags and memory of the
 * test's choice, and bringing back what became of them.
 *
 * The memory is always at the same addresses, so that two runs can be compared
 * word by word. The stack is not (it starts at a random offset in each system
 * call), so what points into it is given relative to where the function began.
 */
#include <linux/kernel.h>
#include <linux/compat.h>
#include <linux/mutex.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/cpufeature.h>
#include <asm/processor-flags.h>
#include "probe_abi.h"

/* As TT_RECORD in probe_forms.S lays it out. */
struct tt_form {
	const char *name;
	unsigned long func;
	u32 probe, form, taken, end;	/* offsets from @func */
	u32 place, expect, flags, reserved;
};

extern const struct tt_form tt_forms[], tt_forms_end[];
extern u64 tt_form_data[TT_FORM_WORDS];
void tt_form_callee(void);
void tt_form_enter(struct tt_form_regs *regs, unsigned long function);

enum { RBX = 3, RSP = 4, RBP = 5, R8 = 8, R12 = 12 };

/* Flags that a test may choose. Interrupts are on again when the run is over. */
#define TT_ARITHMETIC (X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | X86_EFLAGS_ZF | \
		       X86_EFLAGS_SF | X86_EFLAGS_OF)
#define TT_FLAGS (TT_ARITHMETIC | X86_EFLAGS_DF | X86_EFLAGS_IF | X86_EFLAGS_AC | X86_EFLAGS_ID)

static DEFINE_MUTEX(tt_form_lock);
static u64 tt_form_memory[TT_FORM_WORDS] __aligned(64);

static const struct tt_form *tt_form_at(u32 index)
{
	return index < (size_t)(tt_forms_end - tt_forms) ? &tt_forms[index] : NULL;
}

/* Forms that this processor does not have must not be run either. */
static u32 tt_form_flags(const struct tt_form *form)
{
	bool lacks = strstr(form->name, "cmpxchg16b") && !boot_cpu_has(X86_FEATURE_CX16);

	return form->flags | (lacks ? TT_FORM_F_DEAD : 0);
}

long tt_form_info(void __user *arg)
{
	const struct tt_form *form;
	struct tt_form_info info;

	if (copy_from_user(&info, arg, sizeof(info)))
		return -EFAULT;
	form = tt_form_at(info.index);
	if (!form)
		return -ENOENT;
	info.place = form->place;
	info.expect = form->expect;
	info.flags = tt_form_flags(form);
	info.func = form->func;
	info.probe = form->func + form->probe;
	info.form = form->func + form->form;
	info.taken = form->func + form->taken;
	info.end = form->func + form->end;
	strscpy(info.name, form->name, sizeof(info.name));
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

/* Stack addresses differ from call to call, their distances do not. */
static u64 tt_relative(u64 value, u64 entry_sp)
{
	u64 base = (u64)(unsigned long)task_stack_page(current);

	return value - base < THREAD_SIZE ? TT_STACK + (u32)(value - entry_sp) : value;
}

/*
 * A call that is counted (retbleed=stuff) shifts the count, and leaves the flags of that. How deep
 * the count was depends on interrupts since the system call: where they call deeply it forgets.
 */
static bool tt_loses_flags(const struct tt_form *form)
{
#ifdef X86_FEATURE_CALL_DEPTH
	return boot_cpu_has(X86_FEATURE_CALL_DEPTH) && strstarts(form->name, "tt_form_call");
#else
	return false;
#endif
}

static void tt_form_once(const struct tt_form *form, struct tt_form_run *run)
{
	int i;

	memcpy(tt_form_memory, run->memory, sizeof(tt_form_memory));
	memcpy(tt_form_data, run->data, sizeof(tt_form_data));
	tt_form_memory[1] = form->func + form->taken;
	tt_form_memory[2] = (u64)(unsigned long)tt_form_callee;
	run->regs.gpr[RBX] = (u64)(unsigned long)tt_form_memory;
	run->regs.gpr[RBP] = 0;
	run->regs.gpr[R12] = form->func + form->taken;
	run->regs.gpr[R8] = (run->regs.gpr[R8] & TT_FLAGS) | X86_EFLAGS_FIXED;
	run->regs.flags = (run->regs.flags & TT_FLAGS) | X86_EFLAGS_FIXED;

	tt_form_enter(&run->regs, form->func);

	if (tt_loses_flags(form))
		run->regs.flags &= ~TT_ARITHMETIC;
	run->entry_sp = run->regs.gpr[RSP];
	memcpy(run->memory, tt_form_memory, sizeof(run->memory));
	memcpy(run->data, tt_form_data, sizeof(run->data));
	for (i = 0; i < 16; i++)
		run->regs.gpr[i] = tt_relative(run->regs.gpr[i], run->entry_sp);
	for (i = 0; i < TT_FORM_WORDS; i++) {
		run->memory[i] = tt_relative(run->memory[i], run->entry_sp);
		run->data[i] = tt_relative(run->data[i], run->entry_sp);
	}
}

static bool tt_form_same(const struct tt_form_run *a, const struct tt_form_run *b)
{
	return !memcmp(&a->regs, &b->regs, sizeof(a->regs)) &&
	       !memcmp(a->memory, b->memory, sizeof(a->memory)) &&
	       !memcmp(a->data, b->data, sizeof(a->data));
}

long tt_form_run(void __user *arg)
{
	struct tt_form_run *run, *in, *first;
	const struct tt_form *form;
	long err = -ENOMEM;
	u32 i;

	run = kmalloc_array(3, sizeof(*run), GFP_KERNEL);
	if (!run)
		return -ENOMEM;
	in = run + 1;
	first = run + 2;
	err = -EFAULT;
	if (copy_from_user(in, arg, sizeof(*in)))
		goto out;
	err = -ENOENT;
	form = tt_form_at(in->index);
	if (!form)
		goto out;
	err = -EINVAL;
	if (tt_form_flags(form) & TT_FORM_F_DEAD || !in->times || in->times > 100000)
		goto out;

	err = mutex_lock_killable(&tt_form_lock);
	if (err)
		goto out;
	in->different = 0;
	for (i = 0; i < in->times; i++) {
		memcpy(run, in, sizeof(*run));
		tt_form_once(form, run);
		if (!i)
			memcpy(first, run, sizeof(*first));
		else if (!tt_form_same(run, first))
			in->different++;
	}
	run->different = in->different;
	mutex_unlock(&tt_form_lock);
	err = copy_to_user(arg, run, sizeof(*run)) ? -EFAULT : 0;
out:
	kfree(run);
	return err;
}
