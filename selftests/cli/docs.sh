#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The command table, the help texts, the manual and the shell completion say the
# same. Runs on the build machine: nothing here needs the module.
#
# shellcheck disable=SC2317	# functions are called by name

set -u
ROOT=$(dirname "$(realpath "$0")")/../..
# Make exports O; by hand it is build/.
BUILD=${O:-build}
case $BUILD in /*) ;; *) BUILD=$ROOT/$BUILD ;; esac
TRAMPCTL=$BUILD/user/trampctl/trampctl
MAN=$ROOT/docs/man/trampctl.8
COMPLETION=$ROOT/tools/completion/trampctl

. "$ROOT/selftests/cli/ktap.sh"

TESTS="manual_is_clean manual_has_every_command manual_has_every_option
manual_invents_nothing completion_has_every_command completion_has_every_option
completion_completes help_has_every_command help_has_every_option help_json_is_valid
every_command_takes_help"

jq() { gojq "$@"; }

# All below is held against this table; with an empty one it would all agree. The names of the tests
# are asked for before anything is built.
if [ "${1-}" != --list ]; then
	TABLE=$("$TRAMPCTL" -j help)
	if ! [ "$(jq '.commands | length' <<<"$TABLE")" -ge 10 ] 2>/dev/null; then
		echo "$0: $TRAMPCTL -j help does not list the commands" >&2
		exit 1
	fi
fi

table() { printf '%s\n' "$TABLE"; }
commands() { table | jq -r '.commands[].name'; }
aliases() { table | jq -r '.commands[].alias // empty'; }
# options CMD: long names and letters of its own options, one a line
options() {
	table | jq -r --arg c "$1" '.commands[] | select(.name == $c) | .options[] |
		"--" + .name, (if .letter then "-" + .letter else empty end)'
}
# Those that take an argument, as the completion marks them.
options_with_argument() {
	table | jq -r --arg c "$1" '.commands[] | select(.name == $c) | .options[] |
		select(.argument) | "--" + .name + "=",
		(if .letter then "-" + .letter + "=" else empty end)'
}
global_options() {
	table | jq -r '.options[] | "--" + .name, (if .letter then "-" + .letter else empty end)'
}

# same WHAT EXPECTED FOUND: two lists hold the same words, in any order
same() {
	local diff
	diff=$(diff <(sort -u <<<"$2") <(sort -u <<<"$3")) ||
		fail "$1 differs from the command table: $(grep '^[<>]' <<<"$diff" | xargs)"
}

t_manual_is_clean() {
	local out
	# Other manuals that are installed here do not matter.
	out=$(mandoc -T lint -W style "$MAN" 2>&1 |
		grep -v -e 'referenced manual not found' -e 'outdated mandoc.db')
	[ -z "$out" ] || fail "$out"
}

# man_section CMD: the part of the manual that describes a command
man_section() {
	awk -v cmd="$1" '
		/^\.It (Xo|Cm )/ || /^\.Sh/ { on = 0 }
		$0 ~ "^\\.It Cm " cmd "( |$)" { on = 1 }
		/^\.It Xo$/ { held = 1; next }
		held && $0 == ".Cm " cmd { on = 1 }
		{ held = 0 }
		on' "$MAN"
}

t_manual_has_every_command() {
	local c
	same "the manual" "$(commands)" \
		"$(for c in $(commands); do [ -n "$(man_section "$c")" ] && echo "$c"; done)"
}

# Options as the .It lines of a list name them: "Fl d Ar SECONDS , Fl Fl duration".
man_options() {
	grep '^\.It .*Fl ' | grep -o 'Fl \(Fl \)\?[a-zA-Z-]*' | sed 's/^Fl Fl /--/; s/^Fl /-/'
}

t_manual_has_every_option() {
	local c
	for c in $(commands); do
		same "the manual of $c" "$(options "$c")" \
			"$(man_section "$c" | grep -v '^\.It Cm' | man_options)"
	done
	same "the manual's list of global options" "$(global_options)" \
		"$(sed -n '/^\.Ss Options of every/,/^\.Sh/p' "$MAN" | man_options)"
}

t_manual_invents_nothing() {
	same "the manual" "$(commands)" "$(awk '
		/^\.Sh COMMANDS/ { on = 1 }
		/^\.Sh (FILES|EXIT)/ { on = 0 }
		on && /^\.It Cm / { print $3 }
		on && held { print $2 }
		{ held = ($0 == ".It Xo") }' "$MAN")"
}

t_completion_has_every_command() {
	# shellcheck source=/dev/null
	. "$COMPLETION"
	same "the completion" "$(commands; aliases)" "$(_trampctl_commands | tr ' ' '\n')"
}

t_completion_has_every_option() {
	local c
	# shellcheck source=/dev/null
	. "$COMPLETION"
	for c in $(commands); do
		same "the completion of $c" "$(options "$c"; global_options)" \
			"$(_trampctl_options "$c" | tr ' ' '\n' | tr -d '=')"
		same "what takes an argument in the completion of $c" \
			"$(options_with_argument "$c")" \
			"$(_trampctl_options "$c" | tr ' ' '\n' | grep '=')"
	done
}

# offered WORD...: what the completion offers for the last word, sorted
offered() {
	COMP_WORDS=(trampctl "$@")
	COMP_CWORD=$#
	_trampctl
	printf '%s\n' "${COMPREPLY[@]}" | sort | xargs
}

t_completion_completes() {
	# shellcheck source=/dev/null
	. "$COMPLETION"
	[ "$(offered tr)" = trace ] || fail "tr: $(offered tr)"
	[ "$(offered d)" = "detach dump" ] || fail "d: $(offered d)"
	[ "$(offered -j d)" = "detach dump" ] || fail "-j d: $(offered -j d)"
	[ "$(offered dump --in)" = --intel ] || fail "dump --in: $(offered dump --in)"
	[ "$(offered help exp)" = explain ] || fail "help exp: $(offered help exp)"
	[ -z "$(offered trace -n '')" ] || fail "the argument of -n is not a function"
	[ "$(offered pr)" = probe ] || fail "pr: $(offered pr)"
	[ "$(offered explain --c)" = --code ] || fail "explain --c: $(offered explain --c)"
	# Behind the place come registers, also behind a name, which the shell cuts off.
	[ "$(offered probe f %d)" = "%di %dx" ] || fail "probe f %d: $(offered probe f %d)"
	[ "$(offered probe -n 3 f %fl)" = %flags ] || fail "probe -n 3 f %fl: $(offered probe -n 3 f %fl)"
	[ "$(offered probe f x = %si)" = %si ] || fail "probe f x=%si: $(offered probe f x = %si)"
	[ "$(offered probe f x = | wc -w)" = 21 ] || fail "probe f x=: $(offered probe f x =)"
	[ -z "$(offered probe -n 3 %d)" ] || fail "a register is no place"
	# Behind a function its offsets, those that can be probed.
	trampctl() {
		[ "$*" = "explain --code some_func" ] || return 3
		printf '%s\n' 'some_func: 9 bytes, 4 instructions' 'OFFSET  MODE  COVERS' \
			'+0x0    direct     -' '+0x4*   jump       5' '+0x5    no         -' \
			'+0x8    int3       -' 'jump 1, int3 1, direct 1, refused 1'
	}
	[ "$(offered explain some_func+)" = "some_func+0x0 some_func+0x4 some_func+0x8" ] ||
		fail "explain some_func+: $(offered explain some_func+)"
	[ "$(offered probe -n 1 some_func+0x4)" = "some_func+0x4" ] ||
		fail "probe some_func+0x4: $(offered probe -n 1 some_func+0x4)"
	[ -z "$(offered probe other_func+)" ] || fail "offsets of no function"
}

t_help_has_every_command() {
	local c out
	out=$("$TRAMPCTL" help) || fail "help exits with $?"
	for c in $(commands); do
		grep -q "^  $c " <<<"$out" || fail "help does not list $c"
	done
}

t_help_has_every_option() {
	local c o out
	for c in $(commands); do
		out=$("$TRAMPCTL" help "$c") || fail "help $c exits with $?"
		for o in $(options "$c") $(global_options); do
			grep -q -e "^ .*${o}[ ,]" <<<"$out" || fail "help $c lacks $o"
		done
	done
}

t_help_json_is_valid() {
	local c
	for c in $(commands); do
		[ "$("$TRAMPCTL" help "$c" -p | jq -r .name)" = "$c" ] ||
			fail "help $c -p is not its description"
	done
}

t_every_command_takes_help() {
	local c
	for c in $(commands); do
		diff <("$TRAMPCTL" "$c" --help) <("$TRAMPCTL" help "$c") >/dev/null ||
			fail "$c --help is not help $c"
		"$TRAMPCTL" "$c" -h >/dev/null || fail "$c -h exits with $?"
	done
}

ktap_main "$@"
