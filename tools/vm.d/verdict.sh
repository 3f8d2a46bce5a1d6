# shellcheck shell=bash disable=SC2154,SC2034 # variables of tools/vm
# SPDX-License-Identifier: GPL-2.0
#
# The end of a run: how it went, what to print, the exit status. Sourced by
# tools/vm; uses its variables.
#
# The kernel log counts from the line that init writes before it loads the module
# and starts the command. Lines of the boot itself do not.

LOG_MARK='tramp-vm: the kernel log counts from here'

# The log since that line, or all of it if it never did.
counting_log() {
	if grep -aqF "$LOG_MARK" "$log"; then
		sed -n "/$LOG_MARK/,\$p" "$log"
	else
		cat "$log"
	fi
}

# The part of the log that one wants to see: the lines around the first splat, where it all
# began, or the last ones if there is none.
print_log() {
	local first line

	first=$(counting_log | "$TOOLS/splats/scan") || true
	first=${first%%$'\n'*}
	line=$([ -z "$first" ] || grep -anF -m 1 -e "$first" "$log" | cut -d: -f1)
	if [ -n "$line" ]; then
		say "the kernel log from the first splat on ($log):"
		sed -n "$((line > 5 ? line - 5 : 1)),$((line + 65))p" "$log"
	else
		say "end of the kernel log ($log):"
		tail -n 60 "$log"
	fi | tr -d '\r' | sed 's/^/  | /' >&2
}

verdict() {
	local status splats scanned=0

	if [ "$verbose" = 1 ]; then
		say "the command started after ${boot_seconds:-?} s; kernel log: $log"
	fi

	case $outcome in
	boot-timeout)
		say "kernel $kernel did not get to the command in $boot_timeout s"
		print_log
		exit "$EXIT_TIMEOUT"
		;;
	timeout)
		say "the command did not end in $timeout s; the machine was killed"
		print_log
		exit "$EXIT_TIMEOUT"
		;;
	died)
		if said FAIL; then
			say "$(sed -n 's/^FAIL //p' "$work/control")"
		elif grep -aq 'Kernel panic' "$log"; then
			say "the kernel panicked: $(grep -a -m1 'Kernel panic' "$log" | tr -d '\r')"
		else
			say "the machine ended without a word about the command"
			sed 's/^/  qemu: /' "$work/qemu.errors" >&2
		fi
		print_log
		exit "$EXIT_VM"
		;;
	disk)
		say "the file system on the disk is not sound, says e2fsck:"
		sed 's/^/  /' "$work/disk.errors" >&2
		print_log
		exit "$EXIT_VM"
		;;
	esac

	status=$(sed -n 's/^STATUS //p' "$work/control")
	if ! grep -aqF "$LOG_MARK" "$log"; then
		say "the kernel's log is not complete (the command's own status was $status)"
		print_log
		exit "$EXIT_VM"
	fi
	splats=$(counting_log | "$TOOLS/splats/scan") || scanned=$?
	if [ "$scanned" = 0 ]; then
		exit "$status"
	elif [ -z "$splats" ]; then
		say "the kernel's log was not looked at (the command's own status was $status)"
		exit "$EXIT_VM"
	fi
	say "the kernel log has a splat (the command's own status was $status):"
	printf '%s\n' "$splats" | sed 's/^/  ! /' >&2
	print_log
	exit "$EXIT_VM"
}

# Which lines of the module were executed, for tools/coverage. A machine without gcov, or that ended
# before it said so, leaves no file.
keep_counts() {
	local counts

	counts=$GCOV_COUNTS/${kernel##*/}.${work##*.}.tgz
	mkdir -p "$GCOV_COUNTS"
	sed -n 's/^GCOV //p' "$work/control" | base64 -d >"$counts"
	[ -s "$counts" ] || rm "$counts"
}
