# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
#
# Shared by the tests of trampctl in the guest: running it and looking at its output, calling
# functions of trampoline_test.ko, and the checks after every test. Sourced behind ktap.sh.
#
# shellcheck disable=SC2034,SC2317	# for those who source this

# Listing tests does not need this, and happens elsewhere.
[ "${1-}" != --list ] || return 0

CLI=/opt/trampoline/cli
# A test's own files, gone when it has run.
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT

# Longest time that anything here may take; a slow machine has enough of it.
PATIENCE=$((240 * ${TIME_SCALE:-1}))

# run CMD...: sets $rc; what it said is in $W/out and $W/err
run() {
	timeout $PATIENCE "$@" >"$W/out" 2>"$W/err" </dev/null
	rc=$?
}

shown() {
	sed 's/^/#   /' "$W/out" "$W/err" | head -n 40 | cut -c 1-1000
}

# expect_rc N: the last run ended so
expect_rc() {
	[ "$rc" = "$1" ] || {
		shown
		fail "exit status $rc, expected $1"
	}
}

# expect_out RE, expect_err RE: a line of standard output or error matches
expect_out() {
	grep -qE -e "$1" "$W/out" || {
		shown
		fail "standard output does not match: $1"
	}
}

expect_err() {
	grep -qE -e "$1" "$W/err" || {
		shown
		fail "standard error does not match: $1"
	}
}

# On -rt a task that is preempted inside of a program makes others on that CPU miss (docs/limits.md).
expect_silence_on_err() {
	case $(uname -r) in
	*-rt-*) sed -i '/^trampctl: missed [0-9]* times*: the tracing program was running/d' "$W/err" ;;
	esac
	[ ! -s "$W/err" ] || {
		shown
		fail "standard error is not empty"
	}
}

# json FILE EXPR: what jq makes of a file; the test fails if it is not JSON
json() {
	jq -r "$2" "$1" 2>"$W/jq" || {
		sed 's/^/#   /' "$1" "$W/jq" | head -n 20
		echo "not what jq can read: $2"
	}
}

# expect_json EXPR VALUE [FILE]: of standard output, or another file
expect_json() {
	found=$(json "${3:-$W/out}" "$1")
	[ "$found" = "$2" ] || {
		shown
		fail "$1 is \"$found\", expected \"$2\""
	}
}

# error_has RE: a line of the message or of the remedy of what bad() has run
error_has() {
	grep -qE -e "$1" "$W/error" || {
		shown
		fail "neither message nor remedy matches: $1"
	}
}

# The word for which a remedy should have a name. FUNCTION+OFFSET and SEC(".../FUNCTION") are forms.
NAMELESS='(^|[ (])FUNCTION([ ),;:.]|$)'

# bad EXIT REASON RE ARG...: trampctl ARG... fails so. JSON for all; in words, which are
# made of the same message, each reason once a test.
bad() {
	want=$1 reason=$2 text=$3
	shift 3
	run trampctl -j "$@"
	[ "$rc" = "$want" ] || fail "trampctl -j $*: exit status $rc, expected $want"
	[ ! -s "$W/out" ] || fail "trampctl -j $*: something on standard output"
	# One jq for all: it takes as long to start as trampctl.
	json "$W/err" \
		'.error | "\(.reason) \(.exit_code)", .message, .remedy, .log, (.remedy // "" | . != "")' \
		>"$W/error"
	[ "$(head -n 1 "$W/error")" = "$reason $want" ] || {
		shown
		fail "trampctl -j $*: reason and exit_code are not $reason $want"
	}
	[ "$(tail -n 1 "$W/error")" = true ] || {
		shown
		fail "trampctl -j $*: there is no remedy"
	}
	sed 1d "$W/error" | grep -qE -e "$text" || {
		shown
		fail "trampctl -j $*: nothing matches $text"
	}
	! grep -E "$NAMELESS" "$W/error" || fail "trampctl -j $*: it has no name for FUNCTION"
	case " $in_words " in
	*" $reason "*) return ;;
	esac
	in_words="$in_words $reason"
	run trampctl "$@"
	[ "$rc" = "$want" ] || {
		shown
		fail "trampctl $*: exit status $rc, expected $want"
	}
	[ ! -s "$W/out" ] || {
		shown
		fail "trampctl $*: something on standard output"
	}
	grep -q -e "\[$reason\]$" "$W/err" || {
		shown
		fail "trampctl $*: the reason is not $reason"
	}
	grep -qE -e "$text" "$W/err" || {
		shown
		fail "trampctl $*: the message does not match $text"
	}
}
in_words=

# nr_links: how many links there are; no number if that cannot be listed
nr_links() {
	if list=$(trampctl list); then
		echo "$list" | awk 'NR > 1 { n++ } END { print n + 0 }'
	else
		echo unlisted
	fi
}

links_are() {
	[ "$(nr_links)" = "$1" ]
}

# none_loaded RE: no program and no map has such a name. Not so if they cannot be listed.
none_loaded() {
	{ bpftool prog show && bpftool map show; } >"$W/loaded" || return 1
	! grep -qE -e "name ($1)( |$)" "$W/loaded"
}

# sleepers_are N: as many calls of tt_sleep are asleep
sleepers_are() {
	exec 5<>/dev/trampoline_test
	echo sleepers >&5
	read -r reply <&5
	exec 5>&-
	[ "$reply" = "sleepers=$1" ]
}

# id_of PROG: the id of the link of a program
id_of() {
	trampctl list | awk -v prog="$1" '$5 == prog { print $1 }'
}

# now: hundredths of a second since the boot
now() {
	sed 's/ .*//;s/[.]//' /proc/uptime
}

# wait_for WHAT CMD...: until CMD succeeds
wait_for() {
	what=$1
	deadline=$(($(date +%s) + PATIENCE))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt $deadline ] || fail "waited in vain for $what"
		sleep 0.1
	done
}

# start CMD...: in the background, pid in $bg; output in $W/bg.out and $W/bg.err.
# It has begun when its first line is there.
start() {
	: >"$W/bg.out"
	# A shell starts background jobs with SIGINT ignored; trampctl catches it
	# nevertheless, so that a script can end it the way a terminal does.
	"$@" >"$W/bg.out" 2>"$W/bg.err" </dev/null &
	bg=$!
	wait_for "the first line of: $*" has_begun
}

has_begun() {
	[ -s "$W/bg.out" ] || ! kill -0 $bg 2>/dev/null
}

# ended: what was started has ended by itself
ended() {
	! kill -0 $bg 2>/dev/null
}

# stop [SIGNAL]: ends what was started; sets $rc, and $W/out and err for expect_*
stop() {
	kill "-${1:-TERM}" $bg 2>/dev/null
	{ wait $bg; } 2>/dev/null
	rc=$?
	cp "$W/bg.out" "$W/out"
	cp "$W/bg.err" "$W/err"
}

# as-nobody WORD...: another user, without any capability. Words without blanks.
cat >"$W/as-nobody" <<'END'
#!/bin/sh
exec su -s /bin/sh nobody -c "PATH=$PATH exec $*"
END
chmod 755 "$W" "$W/as-nobody"

# feature NAME: does the module have it on this kernel?
feature() {
	[ "$(trampctl -j features | jq ".module.features[\"$1\"]")" = true ]
}

need_test_module() {
	[ -e /dev/trampoline_test ] || insmod /opt/trampoline/trampoline_test.ko ||
		fail "trampoline_test.ko cannot be loaded"
}

# Applets under a task name that nobody else here has: `$BB rm FILE`.
BB=$W/busybox-cli
cp "$(readlink -f /bin/busybox)" "$BB"

# call NAME [VALUE...]: has the test module call one of its functions
call() {
	echo "call $*" >/dev/trampoline_test || fail "call $*"
}

# An image that a task is still in, or may be, holds the module for a while.
unload_test_module() {
	rmmod trampoline_test 2>/dev/null
}

# Nothing may be left of a test: no link, no process, no pin.
t_cleanup() {
	[ -e /dev/trampoline ] || insmod /opt/trampoline/trampoline.ko
	echo 0 >/proc/sys/kernel/kptr_restrict
	n=$(nr_links)
	# One goes behind its pin, when others no longer look.
	[ "$n" = 0 ] || {
		sleep 2
		n=$(nr_links)
	}
	[ "$n" = 0 ] || {
		trampctl list | sed 's/^/#   /'
		trampctl detach --all
		rm -rf /sys/fs/bpf/cli*
		fail "$n links are left"
	}
	[ -z "$(find /sys/fs/bpf -name 'cli*')" ] || {
		rm -rf /sys/fs/bpf/cli*
		fail "pins are left in /sys/fs/bpf"
	}
	killall plain-libbpf 2>/dev/null
	if pidof trampctl >/dev/null; then
		killall -9 trampctl
		fail "a trampctl is left running"
	fi
	[ ! -e /dev/trampoline_test ] || wait_for "trampoline_test to be free" unload_test_module
}

# wants_btf FUNC: leaves the test out where the kernel's BTF does not describe the function. That of
# a kernel built by clang may lack functions without arguments; Debian's must have them.
wants_btf() {
	run trampctl -j explain "$1"
	json "$W/out" .fentry.reason 2>/dev/null | grep -qx no-btf || return 0
	uname -v | grep -q Debian && fail "$1: no BTF"
	skip "BTF of this kernel does not describe $1"
}

# optimised: every probe is what it is going to be
optimised() {
	echo 1 >/sys/kernel/debug/trampoline/optimize || fail "cannot wait for the optimiser"
}

# insn FUNC JQ: $off is the offset of the first instruction of a function that jq
# selects; all of them are in $W/insns
insn() {
	run trampctl -j explain --code "$1"
	case $rc in
	0 | 6) ;;
	*)
		shown
		fail "explain --code $1: exit status $rc"
		;;
	esac
	cp "$W/out" "$W/insns"
	off=$(json "$W/insns" "[.instructions[] | select($2)][0].offset")
	case $off in
	'' | *[!0-9]*) fail "no instruction of $1 is like this: $2" ;;
	esac
}

# calm: the output of what was started does not grow any more
calm() {
	before=-1 size=$(wc -c <"$W/bg.out")
	while [ $size != $before ]; do
		sleep 0.5
		before=$size size=$(wc -c <"$W/bg.out")
	done
	[ $size -gt 500 ]
}
