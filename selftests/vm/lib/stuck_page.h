/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A page that is not there until the test supplies it (userfaultfd): who reads or writes it, the
 * kernel for a system call included, sleeps until then.
 */
#ifndef STUCK_PAGE_H
#define STUCK_PAGE_H

struct stuck_page {
	int fd;
	void *page;
};

/*
 * Make one, with one behind it that nobody may read or write. Skips the test on a kernel without
 * userfaultfd.
 */
void stuck_page_make(struct stuck_page *s);
/* Wait until somebody sleeps there. */
void stuck_page_wait(const struct stuck_page *s);
/* Supply the page, with what is in @content, or zeroes: they go on. */
void stuck_page_release(const struct stuck_page *s, const void *content);

#endif /* STUCK_PAGE_H */
