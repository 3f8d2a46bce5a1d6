// SPDX-License-Identifier: GPL-2.0
/*
 * A bit of everything that a kernel does for programs, the same each time: what
 * random probes are hit by.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include "probe_sample.h"

#define DIRECTORY "/tmp/workload"

/* A failure here is a result spoilt by a probe. */
#define MUST(cond) CHECK(cond, "workload: %s", strerror(errno))

static void files(void)
{
	char path[64], other[64], buf[4096], back[4096];
	struct statfs fs;
	struct stat st;
	DIR *dir;
	int fd, i;

	mkdir(DIRECTORY, 0700);
	for (i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), DIRECTORY "/file%d", i);
		snprintf(other, sizeof(other), DIRECTORY "/other%d", i);
		memset(buf, 'a' + i, sizeof(buf));
		fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
		MUST(fd >= 0);
		MUST(write(fd, buf, sizeof(buf)) == sizeof(buf));
		MUST(pwrite(fd, "x", 1, 10000) == 1);
		MUST(pread(fd, back, sizeof(back), 0) == sizeof(back) &&
		     !memcmp(buf, back, sizeof(buf)));
		MUST(!fstat(fd, &st) && st.st_size == 10001);
		/* Where there is a disk, it is read. */
		memset(back, 0, sizeof(back));
		MUST(!fsync(fd) && !posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
		MUST(pread(fd, back, sizeof(back), 0) == sizeof(back) &&
		     !memcmp(buf, back, sizeof(buf)));
		MUST(!ftruncate(fd, 100));
		fcntl(fd, F_SETFL, O_APPEND);
		fallocate(fd, 0, 0, 8192);
		close(fd);
		MUST(!rename(path, other));
		MUST(!link(other, path) && !unlink(other));
		MUST(!symlink(path, other) && readlink(other, back, sizeof(back)) > 0);
		chmod(path, 0400);
		MUST(!access(path, R_OK));
	}
	dir = opendir(DIRECTORY);
	MUST(dir);
	for (i = 0; dir && readdir(dir); i++)
		;
	MUST(i == 18);
	closedir(dir);
	for (i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), DIRECTORY "/file%d", i);
		snprintf(other, sizeof(other), DIRECTORY "/other%d", i);
		MUST(!unlink(path) && !unlink(other));
	}
	MUST(!rmdir(DIRECTORY));
	statfs("/proc", &fs);
	sync();
	free(read_file("/proc/self/maps"));
	free(read_file("/proc/self/status"));
	free(read_file("/proc/meminfo"));
	free(read_file("/proc/stat"));
	free(read_file("/sys/kernel/notes"));
}

static void processes(void)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < 3; i++) {
		pid = fork();
		if (!pid)
			_exit(40 + i);
		MUST(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 40 + i);
	}
	pid = vfork();
	if (!pid) {
		execl("/bin/busybox", "true", NULL);
		_exit(99);
	}
	MUST(waitpid(pid, &status, 0) == pid && !WEXITSTATUS(status));
	sched_yield();
	getpriority(PRIO_PROCESS, 0);
	prctl(PR_GET_NAME, (char[16]){});
}

static void pipes(void)
{
	char buf[8192];
	struct epoll_event ev = { .events = EPOLLIN };
	struct pollfd pfd;
	int p[2], ep, efd, i;

	MUST(!pipe(p));
	for (i = 0; i < 10; i++)
		MUST(write(p[1], buf, 4096) == 4096 && read(p[0], buf, 4096) == 4096);
	pfd = (struct pollfd){ .fd = p[0], .events = POLLIN };
	MUST(!poll(&pfd, 1, 0));
	ep = epoll_create1(EPOLL_CLOEXEC);
	efd = eventfd(1, EFD_CLOEXEC);
	MUST(!epoll_ctl(ep, EPOLL_CTL_ADD, efd, &ev) && epoll_wait(ep, &ev, 1, 0) == 1);
	close(efd);
	close(ep);
	close(p[0]);
	close(p[1]);
}

/* Its address is there once it is up. */
static void loopback_up(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	MUST(s >= 0 && !ioctl(s, SIOCSIFFLAGS, &lo));
	close(s);
}

static void sockets(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	int s[2], l, c, a, u, one = 1;
	char buf[1000], back[1000];
	size_t i;

	for (i = 0; i < sizeof(buf); i++)
		buf[i] = i * 7;
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	MUST(send(s[0], buf, sizeof(buf), 0) == sizeof(buf) &&
	     recv(s[1], back, sizeof(back), MSG_WAITALL) == sizeof(back) &&
	     !memcmp(buf, back, sizeof(buf)));
	close(s[0]);
	close(s[1]);

	loopback_up();
	l = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	MUST(l >= 0 && !bind(l, (struct sockaddr *)&in, sizeof(in)) && !listen(l, 1) &&
	     !getsockname(l, (struct sockaddr *)&in, &len));
	c = socket(AF_INET, SOCK_STREAM, 0);
	MUST(!connect(c, (struct sockaddr *)&in, sizeof(in)));
	a = accept(l, NULL, NULL);
	memset(back, 0, sizeof(back));
	MUST(send(c, buf, sizeof(buf), 0) == sizeof(buf) &&
	     recv(a, back, sizeof(back), MSG_WAITALL) == sizeof(back) &&
	     !memcmp(buf, back, sizeof(buf)));
	shutdown(c, SHUT_RDWR);
	close(a);
	close(c);
	close(l);
	in.sin_port = 0;
	u = socket(AF_INET, SOCK_DGRAM, 0);
	memset(back, 0, sizeof(back));
	MUST(u >= 0 && !bind(u, (struct sockaddr *)&in, sizeof(in)) &&
	     !getsockname(u, (struct sockaddr *)&in, &len));
	MUST(sendto(u, buf, 100, 0, (struct sockaddr *)&in, len) == 100 &&
	     recv(u, back, sizeof(back), 0) == 100 && !memcmp(buf, back, 100));
	close(u);
}

static void nobody(int sig)
{
	(void)sig;
}

static void timers(void)
{
	struct itimerspec soon = { .it_value.tv_nsec = 1000000 };
	struct timespec ms = { .tv_nsec = 500000 };
	struct utsname name;
	struct sysinfo info;
	uint64_t expired;
	int t = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	MUST(t >= 0 && !timerfd_settime(t, 0, &soon, NULL));
	MUST(read(t, &expired, sizeof(expired)) == sizeof(expired));
	close(t);
	nanosleep(&ms, NULL);
	signal(SIGUSR1, nobody);
	raise(SIGUSR1);
	uname(&name);
	sysinfo(&info);
	syscall(SYS_getcpu, NULL, NULL, NULL);
	syscall(SYS_gettid);
}

static void memory(void)
{
	char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	MUST(p != MAP_FAILED);
	for (i = 0; i < 1 << 20; i += 4096)
		p[i] = i >> 12;
	MUST(!mprotect(p, 65536, PROT_READ));
	MUST(!mprotect(p, 65536, PROT_READ | PROT_WRITE));
	MUST(!madvise(p + 65536, 65536, MADV_DONTNEED) && !p[65536]);
	p = mremap(p, 1 << 20, 2 << 20, MREMAP_MAYMOVE);
	MUST(p != MAP_FAILED && p[4096] == 1);
	munmap(p, 2 << 20);
}

void workload(int rounds)
{
	while (rounds--) {
		files();
		processes();
		pipes();
		sockets();
		timers();
		memory();
	}
}
