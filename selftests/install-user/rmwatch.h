/* SPDX-License-Identifier: GPL-2.0 */
/* The BPF programs and the program that reads them have to agree on this. */
#ifndef RMWATCH_H
#define RMWATCH_H

struct removal {
	unsigned long long start;	/* when do_unlinkat() was entered, ns since boot */
	unsigned long long middle;	/* when the probe was passed, likewise; 0: never */
	unsigned long long end;		/* when it returned, likewise */
	unsigned int pid;
	int result;
	char comm[16];
};

#endif /* RMWATCH_H */
