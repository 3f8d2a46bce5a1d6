#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tables of reasons: the compiler refuses a reason without an errno, a remedy or an
# exit status. Rows are planted into a copy of the tables, and those who expand them are
# compiled: the module's refuse.c, the library's reasons.c, trampctl's error.c.
#
# shellcheck disable=SC2317	# functions are called by name

set -u
ROOT=$(realpath "$(dirname "$(realpath "$0")")/../..")
. "$ROOT/selftests/cli/ktap.sh"
cd "$ROOT" || exit 1

TESTS="tables_compile a_whole_row_compiles row_without_errno errno_left_out errno_of_zero
no_remedy no_remedy_of_the_library empty_remedy remedy_without_reason two_remedies
no_status unknown_status two_reasons_of_a_number"

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
UAPI=$WORK/include/uapi/linux/trampoline.h
REMEDIES=$WORK/user/remedies.h
GOOD='X(900, PLANTED, "planted", EINVAL, "a row that a test has planted")'
REMEDY='X(REASON_PLANTED, REFUSED, "take it out")'

# Headers of the kernel, as much as refuse.c needs of them.
stubs() {
	local name

	mkdir -p "$WORK/stub/linux"
	for name in build_bug kernel stdarg; do
		: >"$WORK/stub/linux/$name.h"
	done
	cat >"$WORK/kernel/tramp.h" <<'END'
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include "../include/uapi/linux/trampoline.h"
typedef __u32 u32;
typedef __u64 u64;
#define ERESTARTSYS 512
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BUILD_BUG_ON_ZERO(e) ((int)sizeof(struct { int : (-!!(e)); }))
int vscnprintf(char *buf, size_t size, const char *fmt, va_list args);
int tramp_refuse(struct tramp_refusal *why, enum tramp_reason reason, u64 addr,
		 const char *fmt, ...);
const char *tramp_reason_name(u32 reason);
END
}

# fresh: the tables as they are
fresh() {
	rm -rf "${WORK:?}"/*
	mkdir -p "$WORK/kernel" "$WORK/user/libtrampoline" "$WORK/user/trampctl"
	cp -r include "$WORK/"
	cp user/remedies.h "$WORK/user/"
	cp -r user/libtrampoline/core "$WORK/user/libtrampoline/"
	cp -r user/trampctl/out "$WORK/user/trampctl/"
	find kernel -name refuse.c -exec sed 's|#include "[a-z/]*tramp\.h"|#include "tramp.h"|' {} + \
		>"$WORK/kernel/refuse.c"
	stubs
}

# plant ROW FILE: as the first of the table in FILE
plant() { ROW=$1 perl -pi -e '$_ .= "\t$ENV{ROW} \\\n" if /^#define TRAMP_[A-Z_]*S\(X\) \\$/' "$2"; }

compile() {
	"${CC:-gcc}" -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -c -o /dev/null \
		-I"$WORK/include" -I"$WORK/include/uapi" "$@" 2>"$WORK/errors"
}
module() { compile -I"$WORK/stub" -Wno-missing-format-attribute "$WORK/kernel/refuse.c"; }
library() { compile "$WORK/user/libtrampoline/core/reasons.c"; }
trampctl() { compile "$WORK/user/trampctl/out/error.c"; }

# compiles WHO...: each of them
compiles() {
	local who

	for who; do
		"$who" || fail "$who: $(grep -m 1 error: "$WORK/errors")"
	done
}

# refused RE WHO...: each fails to compile, with an error that matches
refused() {
	local re=$1 who

	shift
	for who; do
		if "$who"; then
			fail "$who compiles"
		elif ! grep -E 'error:|note:' "$WORK/errors" | grep -qE -e "$re"; then
			fail "$who, but not for '$re': $(grep -m 1 error: "$WORK/errors")"
		fi
	done
}

t_tables_compile() {
	fresh
	compiles module library trampctl
}

# The planted rows below lack one thing each; this one lacks nothing.
t_a_whole_row_compiles() {
	fresh
	plant "$GOOD" "$UAPI"
	plant "$REMEDY" "$REMEDIES"
	compiles module library trampctl
}

t_row_without_errno() {
	fresh
	plant 'X(900, PLANTED, "planted", "a row that a test has planted")' "$UAPI"
	plant "$REMEDY" "$REMEDIES"
	refused 'requires 5 arguments' module library trampctl
}

t_errno_left_out() {
	fresh
	plant 'X(900, PLANTED, "planted", , "a row that a test has planted")' "$UAPI"
	plant "$REMEDY" "$REMEDIES"
	refused 'expected expression' module library
}

t_errno_of_zero() {
	fresh
	plant 'X(900, PLANTED, "planted", 0, "a row that a test has planted")' "$UAPI"
	plant "$REMEDY" "$REMEDIES"
	refused 'negative width' module
	refused 'no errno: PLANTED' library
}

t_no_remedy() {
	fresh
	plant "$GOOD" "$UAPI"
	refused 'remedy_REASON_PLANTED.* undeclared' library
}

t_no_remedy_of_the_library() {
	fresh
	plant 'X(1900, PLANTED, "planted", "a row")' "$WORK/include/trampoline/common.h"
	refused 'remedy_LIB_PLANTED.* undeclared' library
}

t_empty_remedy() {
	fresh
	plant "$GOOD" "$UAPI"
	plant 'X(REASON_PLANTED, REFUSED, "")' "$REMEDIES"
	refused 'empty remedy: remedy_REASON_PLANTED' library
}

t_remedy_without_reason() {
	fresh
	plant "$REMEDY" "$REMEDIES"
	refused 'remedy_REASON_PLANTED.* defined but not used' library
	refused 'TRAMP_REASON_PLANTED.* undeclared' trampctl
}

t_two_remedies() {
	fresh
	plant "$GOOD" "$UAPI"
	plant "$REMEDY" "$REMEDIES"
	plant "$REMEDY" "$REMEDIES"
	refused 'redefinition of .*remedy_REASON_PLANTED' library
}

t_no_status() {
	fresh
	plant "$GOOD" "$UAPI"
	plant 'X(REASON_PLANTED, "take it out")' "$REMEDIES"
	refused 'requires 3 arguments' library trampctl
}

t_unknown_status() {
	fresh
	plant "$GOOD" "$UAPI"
	plant 'X(REASON_PLANTED, ELSEWHERE, "take it out")' "$REMEDIES"
	refused 'EXIT_ELSEWHERE.* undeclared' trampctl
}

t_two_reasons_of_a_number() {
	fresh
	plant 'X(1, PLANTED, "planted", EINVAL, "a row that a test has planted")' "$UAPI"
	plant "$REMEDY" "$REMEDIES"
	refused 'duplicate case value' trampctl
}

ktap_main "$@"
