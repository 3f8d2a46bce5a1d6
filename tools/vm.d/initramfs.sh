# shellcheck shell=bash disable=SC2154,SC2034 # variables of tools/vm
# SPDX-License-Identifier: GPL-2.0
#
# The files that go into the guest. Two cpio archives, one behind the other, which the kernel
# unpacks in that order:
#
#   base     busybox, init, the splat lists, bpftool: the same for every run, kept
#            in the build folder and made anew when one of its sources is newer
#   overlay  modules, trampctl, --add files and the command, of this run
#
# Sourced by tools/vm; uses its variables.

# archive DIR OUT: a folder as the kernel wants it, everything owned by root. Tests become other
# users there, and read and execute it, whatever umask the build folder was made with.
archive() {
	chmod -R u=rwX,go=rX "$1"
	[ ! -d "$1/tmp" ] || chmod 1777 "$1/tmp"
	(cd "$1" && find . -print0 | cpio --quiet --null -o -H newc -R 0:0) >"$2"
}

# libraries FILE ROOT: copy the shared libraries and the loader of a dynamic
# program into the guest tree ROOT. Anything else has none.
libraries() {
	local file=$1 root=$2 lib

	# The magic first, so that ldd is not asked about scripts and data.
	[ "$(head -c 4 "$file" | tr -d '\0')" = $'\x7fELF' ] || return 0
	{ ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true; } | sort -u | while read -r lib; do
		[ -e "$root$lib" ] && continue
		mkdir -p "$root$(dirname "$lib")"
		cp -L "$lib" "$root$lib"
	done
}

# make_base OUT: all of it or nothing. Run as it is, neither in $() nor as a condition: the first
# command that fails has to end us (set -e). cleanup removes what is half made.
make_base() {
	local out=$1 root=$work/base bpftool

	mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,etc,dev,proc,sys,run,tmp,root,opt/vm/splats,opt/trampoline,opt/tests}
	cp "$(command -v busybox)" "$root/bin/busybox"
	# Hard links: its symbolic ones would lead to where it is on this machine.
	"$root/bin/busybox" --install "$root/bin"
	cp "$TOOLS"/guest/init "$root/init"
	cp "$TOOLS"/guest/run-tests "$root/opt/vm/"
	cp "$TOOLS"/splats/{scan,patterns,benign} "$root/opt/vm/splats/"
	printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$root/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
	bpftool=$(PATH=$PATH:/usr/sbin command -v bpftool) || die "bpftool is missing; run: make deps"
	# Debian's /usr/sbin/bpftool is the program itself.
	cp -L "$bpftool" "$root/usr/bin/bpftool"
	libraries "$bpftool" "$root"
	archive "$root" "$out.$$"
	mv "$out.$$" "$out"
	rm -rf "$root"
}

# Make the base unless it is there. $base is where it is kept: the build folder, or with this run if
# that cannot be written to (built by another user).
base_archive() {
	local source

	base=$BUILD/vm/base.cpio
	if mkdir -p "$BUILD/vm" 2>/dev/null && [ -w "$BUILD/vm" ]; then
		for source in "$TOOLS"/vm.d/initramfs.sh "$TOOLS"/guest/* "$TOOLS"/splats/* \
			"$(command -v busybox)" "$(PATH=$PATH:/usr/sbin command -v bpftool)"; do
			[ "$base" -nt "$source" ] || {
				make_base "$base"
				break
			}
		done
	elif [ ! -r "$base" ]; then
		base=$work/base.cpio
		make_base "$base"
	fi
}

# add HOST:GUEST
add() {
	local host=${1%%:*} guest=${1#*:} file

	[[ $1 == *:/* ]] || bad_usage "--add wants HOST:GUEST with an absolute path in the guest, not '$1'"
	[ -e "$host" ] || bad_usage "--add: there is no '$host'"
	if [ -d "$host" ]; then
		mkdir -p "$overlay$guest"
		cp -a "$host/." "$overlay$guest/"
		find "$host" -type f -perm -u+x | while IFS= read -r file; do
			libraries "$file" "$overlay"
		done
	else
		case $guest in */) guest+=$(basename "$host") ;; esac
		mkdir -p "$overlay$(dirname "$guest")"
		cp -L "$host" "$overlay$guest"
		libraries "$host" "$overlay"
	fi
}

# The command as a script that executes exactly these arguments, whatever
# characters they hold.
write_command() {
	local arg

	printf 'exec'
	for arg in "${command[@]}"; do
		printf " '%s'" "${arg//\'/\'\\\'\'}"
	done
	printf '\n'
}

# Settings that the guest's init reads, as shell assignments.
write_settings() {
	echo "load_module=$load_module"
	echo "churn=$((1 - quiet_guest))"
	echo "export TIME_SCALE=$TIME_SCALE"
	[ -z "${TEST_SHORT:-}" ] || echo "export TEST_SHORT=1"
	echo "interactive=$interactive"
	echo "disk=$disk"
	echo "gcov=$([ -n "${GCOV_COUNTS:-}" ] && echo 1 || echo 0)"
	echo "stdin_file=$([ "$read_stdin" = 0 ] || echo /opt/vm/stdin)"
	echo "term='${TERM//[^a-zA-Z0-9+._-]/}'"
	if [ "$interactive" = 1 ]; then
		stty size 2>/dev/null | sed 's/\(.*\) \(.*\)/rows=\1 columns=\2/'
	fi
}

make_initramfs() {
	local item module

	umask 022
	base_archive
	overlay=$work/overlay
	mkdir -p "$overlay/opt/vm" "$overlay/opt/trampoline" "$overlay/usr/bin"
	for module in trampoline trampoline_test trampoline_target trampoline_patch; do
		if [ -n "$modules" ] && [ -r "$modules/$module.ko" ]; then
			cp "$modules/$module.ko" "$overlay/opt/trampoline/"
		fi
	done
	if [ -x "$BUILD/user/trampctl/trampctl" ]; then
		add "$BUILD/user/trampctl/trampctl:/usr/bin/trampctl"
	fi
	for item in "${additions[@]}"; do
		add "$item"
	done
	if [ "$read_stdin" = 1 ]; then
		cat >"$overlay/opt/vm/stdin"
	fi
	interactive=0
	if [ -t 0 ] && [ "$read_stdin" = 0 ]; then
		interactive=1
	fi
	write_command >"$overlay/opt/vm/command"
	write_settings >"$overlay/opt/vm/settings"
	archive "$overlay" "$work/overlay.cpio"
	rm -rf "$overlay"
	cat "$base" "$work/overlay.cpio" >"$work/initramfs"
	rm -f "$work/overlay.cpio"
}
