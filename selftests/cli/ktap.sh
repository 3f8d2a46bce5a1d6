# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
#
# The frame around a test script: tests by name, KTAP output, exit status. For
# POSIX shells, busybox's in the guest and bash on the build machine alike.
#
# A script sources this, lists its tests in $TESTS, defines t_NAME for each, and
# ends with `ktap_main "$@"`. A test runs in a subshell: it fails by `fail`, is
# left out by `skip`, and passes by reaching its end, whatever the status of its
# last command. A `fail` in a subshell of its own, or in a pipeline, fails it too,
# even if nobody looks at that status. An optional
# function t_cleanup runs after each test, in a subshell of its own, and may fail as well.
#
#	PROG --list		one name per line
#	PROG [NAME...]		run all, or those
#
# Exit status: 0 all passed or skipped, 1 a failure, 2 usage, 4 all skipped.

fail() {
	echo "# $*"
	echo "$*" >>"$KTAP_WHY.failed"
	exit 1
}

skip() {
	echo "$*" >"$KTAP_WHY"
	exit 4
}

# ktap_one NAME: runs a test; its status is 0, 1 or 4
ktap_one() {
	rm -f "$KTAP_WHY.failed"
	: >"$KTAP_WHY"
	(
		"t_$1"
		exit 0
	)
	ktap_rc=$?
	if command -v t_cleanup >/dev/null; then
		(
			t_cleanup
			exit 0
		) || ktap_rc=1
	fi
	# The status of a subshell, or of a pipeline, may be lost on its way.
	[ ! -e "$KTAP_WHY.failed" ] || ktap_rc=1
	return $ktap_rc
}

# A test that is in no list would never run.
ktap_all_listed() {
	for ktap_name in $(sed -n 's/^t_\([a-z0-9_]*\)() *{.*/\1/p' "$0"); do
		# shellcheck disable=SC2086
		printf '%s\n' cleanup $TESTS | grep -qxF -e "$ktap_name" || {
			echo "${0##*/}: t_$ktap_name is not in TESTS" >&2
			exit 2
		}
	done
}

ktap_main() {
	ktap_all_listed
	if [ "${1-}" = --list ]; then
		[ $# = 1 ] || exit 2
		# shellcheck disable=SC2086
		printf '%s\n' $TESTS
		exit 0
	fi
	for ktap_name; do
		# shellcheck disable=SC2086
		printf '%s\n' $TESTS | grep -qxF -e "$ktap_name" || {
			echo "${0##*/}: there is no test $ktap_name" >&2
			exit 2
		}
	done
	# shellcheck disable=SC2086
	[ $# -gt 0 ] || set -- $TESTS

	KTAP_WHY=$(mktemp)
	echo "KTAP version 1"
	echo "1..$#"
	ktap_nr=0 ktap_failed=0 ktap_skipped=0
	for ktap_name; do
		ktap_nr=$((ktap_nr + 1))
		ktap_one "$ktap_name"
		case $? in
		0) echo "ok $ktap_nr $ktap_name" ;;
		4)
			echo "ok $ktap_nr $ktap_name # SKIP $(cat "$KTAP_WHY")"
			ktap_skipped=$((ktap_skipped + 1))
			;;
		*)
			ktap_why=$(head -n 1 "$KTAP_WHY.failed" 2>/dev/null)
			echo "not ok $ktap_nr $ktap_name${ktap_why:+ # $ktap_why}"
			ktap_failed=1
			;;
		esac
	done
	rm -f "$KTAP_WHY" "$KTAP_WHY.failed"
	[ $ktap_failed = 0 ] || exit 1
	[ $ktap_skipped -lt $ktap_nr ] || exit 4
	exit 0
}
