/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The BPF programs and the program that reads them have to agree on this.
 */
#ifndef UNLINK_SNOOP_H
#define UNLINK_SNOOP_H

#define NAME_LEN	96
#define TASK_LEN	16

enum event_kind {
	EVENT_ENTRY,
	EVENT_EXIT,
};

struct event {
	unsigned int kind;		/* enum event_kind */
	unsigned int pid;		/* of the process, as user space calls it */
	unsigned long long time;	/* when it was entered, ns since boot */
	unsigned long long duration;	/* EVENT_EXIT: ns */
	int dfd;
	int result;			/* EVENT_EXIT: what do_unlinkat() returned */
	char comm[TASK_LEN];
	char name[NAME_LEN];		/* the path as it was given */
};

#endif /* UNLINK_SNOOP_H */
