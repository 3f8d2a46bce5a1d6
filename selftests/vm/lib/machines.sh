# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# For test scripts that boot machines of their own: the frame of ktap.sh, and the kernels. Such a
# script sources this, which sets
#
#	$root		the project's folder
#	$build		that of what is built (O), absolute
#	$kernels	an array, those that TEST_KERNELS names

root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../..")
# shellcheck source=selftests/cli/ktap.sh
. "$root/selftests/cli/ktap.sh"

read -r -a kernels <<<"${TEST_KERNELS:-6.1 6.12 6.12-rt}"
build=${O:-$root/build}
case $build in /*) ;; *) build=$root/$build ;; esac

# stock_kernel: the last of them that is no -rt kernel; nothing if there is none
stock_kernel() {
	printf '%s\n' "${kernels[@]}" | grep -v -e '-rt$' | tail -n 1
}

# in_turn NUMBER KERNEL...: the kernels on which the test of that number runs, one a line.
#
# In make test (TEST_TURN) that is one of them, and with the next turn the next one. Three times as
# many machines take too long for it. Without a turn they are all of them.
in_turn() {
	local number=$1
	shift
	if [ -n "${TEST_TURN:-}" ] && [ $# -gt 0 ]; then
		shift $(((number + TEST_TURN) % $#))
		set -- "$1"
	fi
	printf '%s\n' "$@"
}
