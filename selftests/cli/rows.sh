# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs the blocks of errors.table, and holds what trampctl says against them. Sourced behind
# common.sh.
#
# shellcheck disable=SC2154	# common.sh sets them

# A place for files that command lines name: texts have no path that changes.
ROWS=/tmp/cli-rows

# rows SECTION: all blocks of a section
rows() {
	rm -rf $ROWS
	mkdir -m 755 $ROWS "$W/rows"
	ln -s "$CLI"/*.bpf.o $ROWS
	: >$ROWS/empty-file
	head -c 3000 "$CLI"/pair.bpf.o >$ROWS/cut.o
	awk -v section="$1" -v dir="$W/rows" '
		/^== / { on = $2 == section ":" }
		!on || /^==/ || /^$/ { next }
		/^(root#|nobody[$]) / { file = sprintf("%s/%03d", dir, ++n) }
		{ print >file }' "$CLI/errors.table"
	seen='' differs=''
	for row in "$W"/rows/*; do
		[ -e "$row" ] || fail "there is no section $1 in the table"
		run_row "$row"
		check_json
		compare "$row" "$W/found" || differs=1
	done
	rm -rf $ROWS
	[ -z "$differs" ] || fail "texts differ from those of errors.table"
}

# as_prompted COMMAND: runs a command line as whom the prompt stands for
as_prompted() {
	case $prompt in
	nobody*) set -- "$W/as-nobody" "$1" ;;
	*) set -- sh -c "$1" ;;
	esac
	(cd $ROWS && exec timeout "$PATIENCE" "$@" </dev/null)
}

# run_row FILE: runs its command line; the block as it is now goes to $W/found
run_row() {
	prompt=$(head -n 1 "$1")
	cmd=${prompt#* }
	{
		echo "$prompt"
		as_prompted "$cmd" 2>&1
		echo "exit $?"
	} >"$W/found"
}

# check_json: the first block of a reason says the same as JSON
check_json() {
	reason=$(sed -n 's/^trampctl.* \[\([a-z-]*\)\]$/\1/p' "$W/found")
	case " $seen " in
	*" $reason "*) return ;;
	esac
	seen="$seen $reason"
	as_prompted "trampctl -j ${cmd#trampctl }" 2>"$W/json-err" >/dev/null
	json_rc=$?
	jq -r '.error | "trampctl\(if .command then " " + .command else "" end): \(.message) [\(.reason)]",
		"  remedy: \(.remedy)", "exit \(.exit_code)"' "$W/json-err" >"$W/json" 2>&1
	[ -s "$W/json" ] || echo 'nothing on standard error' >"$W/json"
	echo "exit $json_rc" >>"$W/json"
	while IFS= read -r line; do
		grep -qxF -e "$line" "$W/found" || {
			echo "# $prompt"
			echo "#   as JSON it is different: $line"
			differs=1
		}
	done <"$W/json"
}

# compare WANTED FOUND: are they the same, but for what stands in <>? The remedy must have names.
compare() {
	awk -v nameless="$NAMELESS" '
		NR == FNR { want[++nr] = $0; next }
		{ found[++n] = $0; remedy = remedy || /^  remedy: ./ }
		/^  remedy: / && $0 ~ nameless { without_name = 1 }
		function same(a, b) {
			if (a == b)
				return 1
			if (a !~ /<[a-z ]+>/)
				return 0
			gsub(/[][\\.^$*+?(){}|]/, "\\\\&", a)
			gsub(/<[a-z ]+>/, ".+", a)
			return b ~ "^" a "$"
		}
		END {
			bad = n != nr || !remedy || without_name
			for (i = 1; i <= n; i++)
				bad = bad || !same(want[i], found[i])
			if (!bad)
				exit 0
			for (i = 1; i <= nr; i++)
				print "# -" want[i]
			for (i = 1; i <= n; i++)
				print "# +" found[i]
			if (!remedy)
				print "# there is no remedy"
			if (without_name)
				print "# the remedy has no name for FUNCTION"
			exit 1
		}' "$1" "$2"
}
