/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Statements about every path through an image, whatever the processor finds at a branch.
 *
 * An image is walked instruction by instruction with what is known there (struct path). Where
 * two ways meet they must agree: how deep the stack is, what is counted, who is inside of what.
 * A jump over a program that returns run is a way as well. So these hold on each way:
 *
 *  - all per-CPU operands are variables that the request names, changed as they may be;
 *  - counters are balanced where the image ends, calls the original, or reschedules;
 *  - each program runs inside of its guards, in its run context, and once; or it is missed, once;
 *  - a program runs where its recursion counter was found free, RCU watches, and enter() admits
 *    it; it is missed where one of these was found otherwise. Tracing programs take it one by one;
 *  - a program is timed where statistics were found on, and only there;
 *  - a program finds its context in the frame, and in its pt_regs the registers as they were;
 *  - helpers get the program that they are about;
 *  - whoever needs a register finds in it what was there, and the stack is where it was;
 *  - calls are counted as call depth accounting wants it;
 *  - nothing but what the emitters are known to use is executed, and no int3.
 */
#ifndef SELFTESTS_FUZZ_PATHS_H
#define SELFTESTS_FUZZ_PATHS_H

#include "image.h"

/**
 * struct paths - an image to be walked
 * @img: the image, @starts and @at known. Its programs are in the order of
 *	struct tramp_x86_fentry_out::call_off
 * @req: what it was made of; NULL: a detour
 * @skip_off: of struct tramp_x86_fentry_out
 * @skip_to: likewise
 * @ip: with a detour, pt_regs.ip
 * @regs: with a detour, the members of pt_regs that programs read
 * @stop: where a detour's copy begins. Everything has to be as in the beginning there
 * @stop_end: where that ends
 */
struct paths {
	const struct image *img;
	const struct tramp_x86_fentry_req *req;
	const u32 *skip_off, *skip_to;
	u64 ip;
	u32 regs;
	u32 stop, stop_end;
};

void paths_walk(const struct paths *p);

#endif /* SELFTESTS_FUZZ_PATHS_H */
