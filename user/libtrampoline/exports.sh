#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
#
# The library's interface is written down four times: in the header, in the
# symbol map, in the shared object, and in the man pages. This lists or compares
# them, so that they cannot drift apart unnoticed.
#
#	exports.sh header HEADER [CPPFLAGS...]	functions the header declares TRAMP_API
#	exports.sh map MAP			functions the symbol map exports
#	exports.sh so LIBRARY			functions the shared object exports
#	exports.sh man PAGE...			functions the man pages have a synopsis of
#	exports.sh reasons HEADER [CPPFLAGS...]	all reasons, name and sentence
#	exports.sh man-reasons PAGE		those the page lists
#	exports.sh compare WHAT-A FILE-A WHAT-B FILE-B	two sorted lists: equal?
set -euo pipefail
export LC_ALL=C

case ${1:-} in
header)
	header=$2
	shift 2
	# One declaration a line; what follows the mark up to the first parenthesis
	# ends in the function's name.
	"${CC:-gcc}" -E -P -D'TRAMP_API=TRAMP_API_MARK' "$@" "$header" | tr '\n' ' ' | tr ';' '\n' |
		sed -n 's/.*TRAMP_API_MARK \([^(]*\)(.*/\1/p' |
		sed 's/.*[^a-z0-9_]\([a-z0-9_]*\) *$/\1/' | sort
	;;
map)
	sed -n '/global:/,/local:/s/^[[:space:]]*\(tramp_[a-z0-9_]*\);.*/\1/p' "$2" | sort
	;;
so)
	nm -D --defined-only "$2" | sed -n 's/.* T \([a-z0-9_]*\)@.*/\1/p' | sort
	;;
man)
	shift
	sed -n 's/^\.F[no] \("[^"]*" \)\{0,1\}\(tramp_[a-z0-9_]*\).*/\2/p' "$@" | sort -u
	;;
reasons)
	header=$2
	shift 2
	# The tables are macros: let the compiler expand them.
	printf '#include "%s"\n%s\n%s\n%s\n' "$PWD/$header" \
		'#define LIB_LINE(v, N, n, s) REASON_MARK n s REASON_END' \
		'#define LINE(v, N, n, e, s) LIB_LINE(v, N, n, s)' \
		'TRAMP_REASONS(LINE) TRAMP_LIB_REASONS(LIB_LINE)' |
		"${CC:-gcc}" -E -P "$@" - | tr '\n' ' ' | sed 's/REASON_END/\n/g' |
		sed -n 's/.*REASON_MARK "\([^"]*\)" "\(.*\)" *$/\1: \2/p' | sort
	;;
man-reasons)
	# A sentence may go over several lines.
	awk '/^\.Ss Reasons/ { on = 1 } /^\.(El|Sh)/ { if (line) print line; line = ""; on = 0 }
		on && /^\.It Li / { if (line) print line; line = $3 ":"; next }
		line { line = line " " $0 }' "$2" | sort
	;;
compare)
	if ! differs=$(diff "$3" "$5"); then
		echo "libtrampoline: $2 (<) and $4 (>) do not name the same:" >&2
		grep '^[<>]' <<<"$differs" >&2
		exit 1
	fi
	;;
*)
	sed -n 's/^#\t\(exports\.sh\)/usage: \1/p' "$0" >&2
	exit 2
	;;
esac
