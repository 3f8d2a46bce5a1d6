// SPDX-License-Identifier: GPL-2.0
/*
 * A page that is not there until the test supplies it: see stuck_page.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "stuck_page.h"
#include "vmtest.h"

#define PAGE 4096

void stuck_page_make(struct stuck_page *s)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	s->fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (s->fd < 0)
		ktap_skip("userfaultfd: %s", strerror(errno));
	REQUIRE(!ioctl(s->fd, UFFDIO_API, &api), "UFFDIO_API: %s", strerror(errno));
	s->page = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(s->page != MAP_FAILED, "mmap: %s", strerror(errno));
	REQUIRE(!mprotect(s->page, PAGE, PROT_READ | PROT_WRITE), "mprotect: %s", strerror(errno));
	reg.range.start = (uintptr_t)s->page;
	reg.range.len = PAGE;
	REQUIRE(!ioctl(s->fd, UFFDIO_REGISTER, &reg), "UFFDIO_REGISTER: %s", strerror(errno));
}

void stuck_page_wait(const struct stuck_page *s)
{
	struct uffd_msg msg;

	REQUIRE(read(s->fd, &msg, sizeof(msg)) == sizeof(msg), "userfaultfd: %s", strerror(errno));
	CHECK_EQ(msg.event, UFFD_EVENT_PAGEFAULT, "event");
}

void stuck_page_release(const struct stuck_page *s, const void *content)
{
	static const char zeroes[PAGE];
	struct uffdio_copy copy = {
		.dst = (uintptr_t)s->page,
		.src = (uintptr_t)(content ? content : zeroes),
		.len = PAGE,
	};

	REQUIRE(!ioctl(s->fd, UFFDIO_COPY, &copy), "UFFDIO_COPY: %s", strerror(errno));
}
