// SPDX-License-Identifier: GPL-2.0
/*
 * The running kernel seen from outside: its symbols, its text, its version; and
 * small conveniences with files, commands and time.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "vmtest.h"

struct ksym {
	uint64_t addr;
	const char *name;
};

static struct ksym *ksyms;
static size_t nr_ksyms;
static char *ksym_text;

static int by_addr(const void *a, const void *b)
{
	const struct ksym *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/*
 * Where modules have their text. ftrace goes on listing the functions that ran at a module's load
 * (ftrace_mod_get_kallsym()), as if they were there. Their memory is another module's by then,
 * and its addresses would get their names.
 */
static struct module_text {
	char name[64];
	uint64_t start, end;
} *module_texts;
static size_t nr_module_texts;

static void load_module_texts(void)
{
	char *text = read_file("/proc/modules"), *rest = text, *line;

	free(module_texts);
	module_texts = NULL;
	nr_module_texts = 0;
	while ((line = strsep(&rest, "\n"))) {
		struct module_text m;
		unsigned long long size;

		if (sscanf(line, "%63s %llu %*s %*s %*s %lx", m.name, &size, &m.start) != 3)
			continue;
		m.end = m.start + size;
		module_texts = realloc(module_texts, (nr_module_texts + 1) * sizeof(m));
		REQUIRE(module_texts, "out of memory");
		module_texts[nr_module_texts++] = m;
	}
	free(text);
}

bool ksym_is_gone(char type, const char *module, uint64_t addr)
{
	size_t i;

	if (!module_texts)
		load_module_texts();
	for (i = 0; strchr("tTwW", type) && i < nr_module_texts; i++)
		if (!strcmp(module_texts[i].name, module))
			return addr < module_texts[i].start || addr >= module_texts[i].end;
	return false;
}

void ksym_reload(void)
{
	free(module_texts);
	module_texts = NULL;
	nr_module_texts = 0;
	free(ksyms);
	free(ksym_text);
	ksyms = NULL;
	nr_ksyms = 0;
}

bool ksym_is_label(const char *name)
{
	return !strncmp(name, ".L", 2);
}

static void ksym_load(void)
{
	size_t room = 0;
	char *line, *rest;

	if (ksyms)
		return;
	ksym_text = read_file("/proc/kallsyms");
	load_module_texts();
	rest = ksym_text;
	while ((line = strsep(&rest, "\n"))) {
		char *end, *name, *module;
		uint64_t addr = strtoull(line, &end, 16);

		/* "ffffffff81000000 T name" or "... t name\t[module]" */
		if (end == line || strlen(end) < 4)
			continue;
		name = end + 3;
		module = strchr(name, '[');
		name[strcspn(name, "\t ")] = '\0';
		if (ksym_is_label(name))
			continue;
		if (module) {
			module[strcspn(module, "]")] = '\0';
			if (ksym_is_gone(end[1], module + 1, addr))
				continue;
		}
		if (nr_ksyms == room) {
			room = room ? room * 2 : 1 << 17;
			ksyms = realloc(ksyms, room * sizeof(*ksyms));
			REQUIRE(ksyms, "out of memory");
		}
		ksyms[nr_ksyms++] = (struct ksym){ addr, name };
	}
	REQUIRE(nr_ksyms, "/proc/kallsyms is empty");
	qsort(ksyms, nr_ksyms, sizeof(*ksyms), by_addr);
}

uint64_t ksym_addr(const char *name)
{
	size_t i;

	ksym_load();
	for (i = 0; i < nr_ksyms; i++)
		if (!strcmp(ksyms[i].name, name))
			return ksyms[i].addr;
	return 0;
}

bool ksym_is_padding(const char *name)
{
	return !strncmp(name, "__pfx_", 6) || !strncmp(name, "__cfi_", 6);
}

const char *ksym_name(uint64_t addr, char *buf, size_t len)
{
	size_t lo = 0, hi;

	ksym_load();
	hi = nr_ksyms;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (ksyms[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		snprintf(buf, len, "%#llx", (unsigned long long)addr);
	else
		snprintf(buf, len, "%s+%#llx", ksyms[lo - 1].name,
			 (unsigned long long)(addr - ksyms[lo - 1].addr));
	return buf;
}

/* Images among the symbols in @text, whole lines. */
static int images_in(const char *text)
{
	static const char prefix[] = " trampoline_";
	int count = 0;

	for (; (text = strstr(text, prefix)); text += sizeof(prefix) - 1)
		count += text[sizeof(prefix) - 1] >= '0' && text[sizeof(prefix) - 1] <= '9';
	return count;
}

/* Each test does this at its end. To have all of the text in memory takes as long as to read it. */
int ksym_images(void)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC), count = 0;
	static char text[1 << 14];
	size_t len = 0, whole;
	ssize_t n;

	REQUIRE(fd >= 0, "/proc/kallsyms: %s", strerror(errno));
	while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0) {
		char *end, after;

		len += n;
		end = memrchr(text, '\n', len);
		if (!end)
			continue;
		whole = end + 1 - text;
		after = text[whole];
		text[whole] = '\0';
		count += images_in(text);
		text[whole] = after;
		len -= whole;
		memmove(text, text + whole, len);
	}
	REQUIRE(!n && !len, "/proc/kallsyms: its end");
	close(fd);
	return count;
}

void kcore_read(uint64_t addr, void *buf, size_t len)
{
	int fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	Elf64_Phdr phdr;
	Elf64_Ehdr ehdr;
	int i;

	REQUIRE(fd >= 0, "/proc/kcore: %s", strerror(errno));
	REQUIRE(pread(fd, &ehdr, sizeof(ehdr), 0) == sizeof(ehdr), "/proc/kcore: no ELF header");
	for (i = 0; i < ehdr.e_phnum; i++) {
		REQUIRE(pread(fd, &phdr, sizeof(phdr), ehdr.e_phoff + i * sizeof(phdr)) ==
			sizeof(phdr), "/proc/kcore: short");
		if (phdr.p_type != PT_LOAD || addr < phdr.p_vaddr ||
		    addr + len > phdr.p_vaddr + phdr.p_memsz)
			continue;
		REQUIRE(pread(fd, buf, len, phdr.p_offset + (addr - phdr.p_vaddr)) == (ssize_t)len,
			"/proc/kcore at %#lx: %s", addr, strerror(errno));
		close(fd);
		return;
	}
	ktap_die("/proc/kcore has nothing at %#lx", addr);
}

int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	REQUIRE(dir, "/proc/self/fd: %s", strerror(errno));
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

void ftrace_switch(bool on)
{
	int err = 0, i;

	/* Our probes give back their part of ftrace a second after the last has gone. */
	for (i = 0; i < 300; i++) {
		err = write_file("/proc/sys/kernel/ftrace_enabled", on ? "1" : "0");
		if (err != -EBUSY)
			break;
		usleep(100000);
	}
	REQUIRE(!err, "kernel.ftrace_enabled=%d: %s", on, strerror(-err));
}

static bool version_has(const char *word)
{
	struct utsname u;

	uname(&u);
	return strstr(u.version, word);
}

bool kernel_is_rt(void)
{
	return version_has("PREEMPT_RT");
}

bool kernel_is_debian(void)
{
	return version_has("Debian");
}

bool kernel_is_clangs(void)
{
	char *text = read_file("/proc/version");
	bool said = strstr(text, "clang");

	free(text);
	return said;
}

int kernel_version(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	return major * 1000 + minor;
}

char *stack_of(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stack", tid);
	return read_file(path);
}

/* 'S' if it sleeps and a signal would wake it, 'D' if none would; '?' if nothing can be read. */
static char state_of(pid_t tid)
{
	char path[64], *text, *end, state;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	text = read_file(path);
	/* "12 (name) S ...", and the name may have any character. */
	end = strrchr(text, ')');
	state = end && end[1] ? end[2] : '?';
	free(text);
	return state;
}

static void wait_in(pid_t tid, const char *func, char state)
{
	char frame[128], *text = NULL;
	int i;

	snprintf(frame, sizeof(frame), "] %s+", func);
	for (i = 0; i < 3000; i++) {
		free(text);
		/* The stack first: a task that is still on its way there does not sleep yet. */
		text = stack_of(tid);
		if (strstr(text, frame) && state_of(tid) == state) {
			free(text);
			return;
		}
		usleep(10000);
	}
	ktap_die("task %d does not sleep in %s():\n%s", tid, func, text);
}

void wait_asleep_in(pid_t tid, const char *func)
{
	wait_in(tid, func, 'S');
}

void wait_stuck_in(pid_t tid, const char *func)
{
	wait_in(tid, func, 'D');
}

int nr_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

void pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	REQUIRE(!sched_setaffinity(0, sizeof(set), &set), "cpu %d: %s", cpu, strerror(errno));
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

uint64_t time_allowance(uint64_t ns, uint64_t ms, uint64_t cost, uint64_t most)
{
	uint64_t more = ns / (ms * 1000000) * cost;

	return more < most ? more : most;
}

int write_file(const char *path, const char *fmt, ...)
{
	char text[1024];
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int err = 0, n;
	va_list ap;

	if (fd < 0)
		return -errno;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (write(fd, text, n) != n)
		err = -errno;
	close(fd);
	return err;
}

static char *read_fd(int fd)
{
	size_t len = 0, room = 1 << 16;
	char *text = malloc(room);
	ssize_t n;

	while (text && (n = read(fd, text + len, room - len - 1)) > 0) {
		len += n;
		if (len + 1 == room) {
			room *= 2;
			text = realloc(text, room);
		}
	}
	REQUIRE(text, "out of memory");
	text[len] = '\0';
	return text;
}

char *read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text;

	REQUIRE(fd >= 0, "%s: %s", path, strerror(errno));
	text = read_fd(fd);
	close(fd);
	return text;
}

size_t file_lines(const char *path)
{
	char *text = read_file(path), *at = text;
	size_t n = 0;

	for (; (at = strchr(at, '\n')); at++)
		n++;
	free(text);
	return n;
}

char *run_command(int *status, const char *fmt, ...)
{
	char command[1024], *text;
	va_list ap;
	FILE *f;
	int ret;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command) - 8, fmt, ap);
	va_end(ap);
	strcat(command, " 2>&1");
	f = popen(command, "re");
	REQUIRE(f, "%s: %s", command, strerror(errno));
	text = read_fd(fileno(f));
	ret = pclose(f);
	if (status)
		*status = WIFEXITED(ret) ? WEXITSTATUS(ret) : -1;
	return text;
}

uint64_t number_after(const char *text, const char *word, uint64_t otherwise)
{
	const char *p = strstr(text, word);

	if (!p)
		return otherwise;
	p += strlen(word);
	p += strspn(p, ": \t=");
	return strtoull(p, NULL, 0);
}
