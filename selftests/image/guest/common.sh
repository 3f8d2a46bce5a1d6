# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
#
# For the scripts of this folder, which run in the image as root: the first thing that is not as it
# should be ends them.

OBJECT=/image-test/unlink_snoop.bpf.o
PIN=/sys/fs/bpf/snoop

# shellcheck disable=SC2034 # scripts read them
VERSION=$(cat /image-test/version)
# shellcheck disable=SC2034
NEXT=$(cat /image-test/next-version)

fail() {
	echo "FAILED: $*"
	exit 1
}

must() {
	"$@" >/tmp/out 2>&1 || fail "$*: $(tail -n 5 /tmp/out)"
}

# wait_for COMMAND: until it succeeds; a minute, which under emulation is not much
wait_for() {
	n=0
	until "$1"; do
		n=$((n + 1))
		[ $n -lt 600 ] || return 1
		sleep 0.1
	done
}

loaded() {
	cat /sys/module/trampoline/version 2>/dev/null
}

# Something for programs at do_unlinkat() to see
unlink_one() {
	touch /tmp/victim
	rm /tmp/victim
}

# Hits of all links together
hits() {
	trampctl -j list | tr ',' '\n' | sed -n 's/.*"hits": *\([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}

# Two programs, which outlive their loader
attach_pinned() {
	must trampctl attach $OBJECT --pin $PIN
	still_attached
}

# They see what happens, now
still_attached() {
	before=$(hits)
	unlink_one
	[ "$(hits)" -ge $((before + 2)) ] || fail "two programs had $before hits, and have $(hits) after an unlink"
}

detach_pinned() {
	must trampctl detach --all
	rm -r $PIN
}
