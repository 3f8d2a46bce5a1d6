#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash # busybox has local, as dash does
#
# The demo, as it runs in the guest: programs come to do_unlinkat() and go again,
# and everything that changes is shown. It looks at what it shows, and fails if
# that is not what it should be.

object=/opt/trampoline
pins=/sys/fs/bpf/demo
snoop=

step() {
	printf '\n== %s\n' "$*"
}

fail() {
	echo "demo: $*" >&2
	[ -z "$snoop" ] || kill "$snoop"
	exit 1
}

# Show a command line and run it.
show() {
	printf '# %s\n' "$*"
	"$@" || fail "'$*' failed with $?"
}

# The module's images in the kernel's symbol table: address, t, name, [bpf].
image_lines() {
	grep -E ' t trampoline_[0-9]+_[0-9]+[[:space:]]+\[bpf\]$' /proc/kallsyms
}

show_images() {
	echo "# grep ' t trampoline_' /proc/kallsyms"
	image_lines || echo "(none)"
}

# Index of the only image; old ones stay until nobody can be in them any more.
current_index() {
	local try=0

	while [ "$(image_lines | wc -l)" != 1 ]; do
		try=$((try + 1))
		[ $try -lt 100 ] || fail "there should be one image, not these: $(image_lines)"
		sleep 0.1
	done
	image_lines | sed -E 's/.* trampoline_[0-9]+_([0-9]+)[[:space:]].*/\1/'
}

step "Linux $(uname -r), trampoline.ko loaded, nothing attached"
show_images
[ -z "$(image_lines)" ] || fail "an image is there before anything was attached"

step "An entry program on do_unlinkat: the function calls an image of ours"
show trampctl attach $object/unlink_entry.bpf.o --pin $pins
first=$(current_index)
show_images

step "An exit program as well: a new image with a higher index takes its place"
show trampctl attach $object/unlink_exit.bpf.o --pin $pins
second=$(current_index)
show_images
[ "$second" -gt "$first" ] || fail "the index did not grow: $first, then $second"

step "They are BPF links as any other"
show bpftool link show
show trampctl list
links=$(bpftool link show | grep -c '^[0-9]*: tracing')
[ "$links" = 2 ] || fail "bpftool shows $links tracing links instead of 2"

step "The image, disassembled"
id=$(bpftool link show | sed -n '1s/:.*//p')
show trampctl dump "$id"

step "Two more programs, which print each removal: entry and exit, result and duration"
echo "# unlink_snoop -n 3 &"
unlink_snoop -n 3 >/tmp/seen &
snoop=$!
try=0
until [ "$(bpftool link show | grep -c '^[0-9]*: tracing')" = 4 ]; do
	try=$((try + 1))
	[ $try -lt 100 ] || fail "unlink_snoop did not attach its programs"
	sleep 0.1
done
: >/tmp/first
: >/tmp/second
echo "# rm /tmp/first /tmp/second; unlink /tmp/missing"
rm /tmp/first /tmp/second

unlink /tmp/missing 2>/dev/null
wait $snoop || fail "unlink_snoop failed with $?"
snoop=
cat /tmp/seen
for file in first second; do
	if ! grep -q "^entry .*do_unlinkat(-100, \"/tmp/$file\")" /tmp/seen ||
		! grep -qE "^exit .*do_unlinkat\(-100, \"/tmp/$file\"\) = 0 +[0-9.]+ us" /tmp/seen; then
		fail "the removal of /tmp/$file was not seen"
	fi
done
grep -qE '^exit .*"/tmp/missing"\) = -2 ' /tmp/seen || fail "the removal of /tmp/missing was not seen"

step "The first two saw them too"
echo "# cat /sys/kernel/tracing/trace"
grep -v '^#' /sys/kernel/tracing/trace

step "Everything detached: the images go when no task can be in them any more"
show rm -r $pins
try=0
while [ -n "$(image_lines)" ]; do
	try=$((try + 1))
	[ $try -lt 100 ] || fail "still there after 10 s: $(image_lines)"
	sleep 0.1
done
show_images
show trampctl list
show rmmod trampoline
