# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
#
# Shared by the tests of commands whose programs are for many functions: how many calls a command
# saw, and calls whose returns the kernel misses. Sourced behind common.sh.
#
# shellcheck disable=SC2154	# common.sh sets them

# begin CMD ARG...: runs in the background; attached when its first interval is over
begin() {
	start trampctl -j "$@" -i 0.1
}

# calls FUNC: how many calls of a function all objects of the last run have
calls() {
	json "$W/out" "(.functions // .histograms // [])[] | select(.function == \"$1\") | .calls" |
		awk '{ n += $1 } END { print n + 0 }'
}

# expect_calls FUNC N
expect_calls() {
	found=$(calls "$1")
	[ "$found" = "$2" ] || {
		shown
		fail "$found calls of $1, expected $2"
	}
}

# attached WHAT: there is such a link
attached() {
	trampctl list | grep -q "$1"
}

# take_nodes: calls of tt_sleep8 that sleep, as many as two functions can have inside at a time whose
# arguments are on the stack. The kernel's rethook has nothing for the next ones: returns are missed.
take_nodes() {
	possible=$(sed 's/.*-//' /sys/devices/system/cpu/possible)
	each=$((2 * (possible + 1)))
	[ $each -ge 10 ] || each=10
	nodes=$((2 * each))
	for _ in $(seq $nodes); do
		echo "call tt_sleep8 1 2 3 4 5 6 7 8" >/dev/trampoline_test &
	done
	wait_for "$nodes sleepers" sleepers_are $nodes
}

give_nodes_back() {
	echo wake >/dev/trampoline_test
	wait_for "all to be awake" sleepers_are 0
}
