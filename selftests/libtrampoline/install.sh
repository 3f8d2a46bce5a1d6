#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The library as a stranger finds it. It is installed in some folder, with its header,
# pkg-config file and manual pages, and used from C and C++, shared and static. The example is
# built from a copy by its own Makefile.
#
# shellcheck disable=SC2317	# functions are called by name

set -u
ROOT=$(realpath "$(dirname "$(realpath "$0")")/../..")
# Make exports O; by hand it is build/.
BUILD=${O:-build}
case $BUILD in /*) ;; *) BUILD=$ROOT/$BUILD ;; esac
# Makes run from here are those of a user, not parts of the one that runs us.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
LIB=$BUILD/user/libtrampoline
CC=${CC:-gcc}

. "$ROOT/selftests/cli/ktap.sh"

TESTS="manual_is_clean check_finds_drift install uninstall use_shared use_static
header_alone header_in_cxx header_in_clang example_builds"

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
PREFIX=$WORK/prefix
INC="-I$ROOT/include -I$ROOT/include/uapi"

t_cleanup() {
	rm -rf "${WORK:?}"/*
}

# must WHAT COMMAND...: the command works, or its output says why not
must() {
	local what=$1 out
	shift
	out=$("$@" 2>&1) || fail "$what: $out"
}

# The library's part of `make install`, without the rest of the tree.
installed() {
	must "make install" make -C "$ROOT" -s O="$BUILD" PREFIX="$PREFIX" \
		-f selftests/libtrampoline/install.mk "$@"
}

program() {
	cat >"$WORK/program.c" <<'END'
#include <stdio.h>
#include <trampoline/trampoline.h>

int main(void)
{
	TRAMP_OPTS(tramp_module_info, info);

	tramp_set_print(NULL);
	if (tramp_info(&info))
		printf("%s %s\n", tramp_version_string(), tramp_last_error()->name);
	else
		printf("%s module %s\n", tramp_version_string(), info.version);
	return 0;
}
END
}

t_manual_is_clean() {
	local out
	# Our pages refer to each other: looked for in the folder they are in.
	cd "$ROOT/docs/man" || fail "no docs/man"
	out=$(mandoc -T lint -W style libtrampoline.7 tramp_*.3 2>&1 |
		grep -v -e 'outdated mandoc.db' -e 'not found: Xr \(bpf\|free\|snprintf\)')
	[ -z "$out" ] || fail "$out"
}

t_check_finds_drift() {
	local exports=$ROOT/user/libtrampoline/exports.sh
	cd "$ROOT" || fail "no $ROOT"
	"$exports" header include/trampoline/trampoline.h -Iinclude -Iinclude/uapi >"$WORK/header"
	[ "$(wc -l <"$WORK/header")" -gt 50 ] || fail "too few functions: $(wc -l <"$WORK/header")"
	sed '/tramp_attach;/d' user/libtrampoline/libtrampoline.map >"$WORK/short.map"
	"$exports" map "$WORK/short.map" >"$WORK/map"
	"$exports" compare header "$WORK/header" map "$WORK/map" 2>"$WORK/says" &&
		fail "a function missing from the map went unnoticed"
	grep -q '< tramp_attach$' "$WORK/says" || fail "$(cat "$WORK/says")"
	sed 's/^\.It Li site-held/.It Li site-help/' docs/man/tramp_last_error.3 >"$WORK/page.3"
	"$exports" man-reasons "$WORK/page.3" >"$WORK/page"
	"$exports" reasons include/trampoline/trampoline.h -Iinclude -Iinclude/uapi >"$WORK/reasons"
	"$exports" compare header "$WORK/reasons" page "$WORK/page" 2>"$WORK/says" &&
		fail "a misspelt reason went unnoticed"
	grep -q '^< site-held:' "$WORK/says" || fail "$(cat "$WORK/says")"
}

t_install() {
	local f version
	installed install-hooks
	for f in lib/libtrampoline.a lib/libtrampoline.so lib/libtrampoline.so.1 \
		lib/pkgconfig/libtrampoline.pc \
		$(cd "$ROOT" && echo include/trampoline/*.h) \
		include/trampoline/trampoline_helpers.bpf.h \
		include/linux/trampoline.h share/man/man3/tramp_attach.3 \
		share/man/man7/libtrampoline.7; do
		[ -s "$PREFIX/$f" ] || fail "$f was not installed"
	done
	[ "$(PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig pkg-config --variable=prefix libtrampoline)" = \
		"$PREFIX" ] || fail "the pkg-config file has another prefix"
	version=$(PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig pkg-config --modversion libtrampoline)
	grep -q "define TRAMP_VERSION \"$version\"" "$ROOT/kernel/base/tramp.h" ||
		fail "the pkg-config file has version \"$version\""
}

t_uninstall() {
	installed install-hooks
	installed uninstall-user
	[ ! -e "$PREFIX" ] || fail "left behind: $(find "$PREFIX" | tr "\n" " ")"
}

t_use_shared() {
	local flags out
	program
	installed install-hooks
	flags=$(PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig pkg-config --cflags --libs libtrampoline) ||
		fail "pkg-config"
	# shellcheck disable=SC2086
	must "compile" $CC -Wall -Werror -o "$WORK/program" "$WORK/program.c" $flags
	readelf -d "$WORK/program" | grep -q 'NEEDED.*\[libtrampoline.so.1\]' || fail "soname"
	out=$(LD_LIBRARY_PATH=$PREFIX/lib "$WORK/program") || fail "it does not run: $out"
	case $out in v[0-9]*) ;; *) fail "it says: $out" ;; esac
}

t_use_static() {
	local flags
	program
	installed install-hooks
	flags=$(PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig pkg-config --static --cflags --libs libtrampoline) ||
		fail "pkg-config"
	# shellcheck disable=SC2086
	must "compile" $CC -Wall -Werror -static -o "$WORK/program" "$WORK/program.c" $flags
	must "run" "$WORK/program"
}

t_header_alone() {
	local header
	for header in trampoline probe; do
		echo "#include <trampoline/$header.h>" >"$WORK/alone.c"
		# shellcheck disable=SC2086
		must "as strict as it gets" $CC -std=gnu99 -Wall -Wextra -Werror \
			-Wstrict-prototypes -Wmissing-prototypes $INC -fsyntax-only "$WORK/alone.c"
	done
}

t_header_in_cxx() {
	command -v g++ >/dev/null || skip "there is no g++"
	program
	mv "$WORK/program.c" "$WORK/program.cc"
	# shellcheck disable=SC2086
	must "compile" g++ -std=gnu++17 -Wall -Werror $INC -o "$WORK/program" \
		"$WORK/program.cc" "$LIB/libtrampoline.a" -lbpf -lelf -lz
	must "run" "$WORK/program"
}

t_header_in_clang() {
	program
	# shellcheck disable=SC2086
	must "compile" clang -Wall -Wextra -Werror $INC -fsyntax-only "$WORK/program.c"
}

t_example_builds() {
	cp -r "$ROOT/bpf/examples/unlink_snoop" "$WORK/copy"
	# Types of a kernel we know; a user's Makefile takes those of the running one.
	cp "$BUILD/vmlinux.h" "$WORK/copy/"
	installed install-hooks
	must "make" env PKG_CONFIG_PATH="$PREFIX/lib/pkgconfig" PATH="$PATH:/usr/sbin" \
		make -C "$WORK/copy" -s CFLAGS="-O2 -Wall -Werror"
	LD_LIBRARY_PATH=$PREFIX/lib "$WORK/copy/unlink_snoop" -h >"$WORK/help" ||
		fail "it does not run"
	grep -q '^usage: unlink_snoop' "$WORK/help" || fail "$(cat "$WORK/help")"
	LD_LIBRARY_PATH=$PREFIX/lib "$WORK/copy/unlink_snoop" -n none 2>"$WORK/says"
	[ $? = 2 ] || fail "a bad number is a usage error"
}

ktap_main "$@"
