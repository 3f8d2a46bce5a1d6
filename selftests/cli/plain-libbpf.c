// SPDX-License-Identifier: GPL-2.0
/*
 * plain-libbpf FILE: attach a BPF object with libbpf alone, through the kernel's
 * own trampoline, say so, and stay until a signal. For the tests of trampctl:
 * the same objects must work both ways, and side by side.
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct bpf_program *prog;
	struct bpf_object *obj;

	if (argc != 2) {
		fprintf(stderr, "usage: plain-libbpf FILE\n");
		return 2;
	}
	obj = bpf_object__open_file(argv[1], NULL);
	if (!obj || bpf_object__load(obj))
		return 1;
	bpf_object__for_each_program(prog, obj)
		if (!bpf_program__attach(prog))
			return 1;
	printf("attached\n");
	fflush(stdout);
	pause();
	return 0;
}
