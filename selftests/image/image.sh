# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# A real Debian 12 with systemd, as a folder to work in and as a machine to boot. Sourced by tests.
#
#   image_make DIR PACKAGE...      Debian with these packages, by mmdebstrap, from the sources that this
#                                  machine has
#   image_run DIR COMMAND...       run a command in it as root, by chroot: as fast as this machine
#   image_disk DIR FILE            make a disk of it, to be booted with the kernel that /vmlinuz names
#   image_boot FILE SCRIPT         boot that disk, and run SCRIPT of this folder's guest/ there; its
#                                  exit status
#   image_list DIR                 the files in it, less those that any machine writes as it runs
#
#   must COMMAND...                run it, or fail with the end of its output, which is in $work/out
#
# mmdebstrap and chroot take root. Nothing of this machine is changed: mounts are made in a namespace
# of their own, and go with it. Text of a boot is in FILE.out, the kernel's log in FILE.log.

image_here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
image_root=$(dirname "$(dirname "$image_here")")
# Seconds, for a boot with all that its script does. Building the module there takes most of it.
IMAGE_TIMEOUT=3600

# shellcheck disable=SC2154 # $work is the test's
must() {
	"$@" >"$work/out" 2>&1 || fail "$*: $(tail -n 20 "$work/out")"
}

# Sources of packages as mmdebstrap takes them
image_sources() {
	local file

	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
		[ ! -s "$file" ] || echo "$file"
	done
}

image_make() {
	local dir=$1 packages sources

	shift
	packages=$(IFS=, && echo "$*")
	mapfile -t sources < <(image_sources)
	# shellcheck disable=SC2016 # mmdebstrap has $1
	mmdebstrap --quiet --variant=minbase --include="systemd-sysv,udev,kmod,dbus,initramfs-tools,$packages" \
		--aptopt='APT::Install-Recommends "false"' \
		--customize-hook="copy-in $image_here/image-test.service /etc/systemd/system" \
		--customize-hook='chroot "$1" systemctl enable image-test.service' \
		bookworm "$dir" "${sources[@]}" || return
	cp -r "$image_here/guest" "$dir/image-test"
	echo image >"$dir/etc/hostname"
	echo '/dev/vda / ext4 defaults 0 1' >"$dir/etc/fstab"
	cp /etc/resolv.conf "$dir/etc/resolv.conf"
}

image_run() {
	# shellcheck disable=SC2016 # it is for the inner shell
	unshare --mount --pid --fork --kill-child sh -c '
		dir=$1
		shift
		mount -t proc proc "$dir/proc" && mount -t sysfs -o ro sysfs "$dir/sys" &&
			mount --rbind /dev "$dir/dev" && mount -t tmpfs tmpfs "$dir/run" || exit 125
		exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			HOME=/root LANG=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive chroot "$dir" "$@"' sh "$@"
}

image_disk() {
	local link

	rm -f "$2"
	mkfs.ext4 -q -d "$1" "$2" 6G || return
	# Debian's links are relative or not.
	for link in vmlinuz initrd.img; do
		cp "$1/$(readlink "$1/$link")" "$2.$link" || return
	done
}

image_boot() {
	local disk=$1 script=$2 append

	append="root=/dev/vda ro console=ttyS0 image-test=$script panic=-1 oops=panic no_timer_check"
	append+=" watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=60"
	: >"$disk.out"
	# The CPU is that of tools/vm, which says why.
	timeout "$IMAGE_TIMEOUT" qemu-system-x86_64 -M q35 -cpu max,-cx16 -smp 2 -m 2G -nodefaults \
		-no-user-config -display none -no-reboot -accel tcg,thread=single \
		-kernel "$disk.vmlinuz" -initrd "$disk.initrd.img" \
		-append "$append" -drive "file=$disk,if=virtio,format=raw,cache=unsafe" \
		-chardev "file,id=log,path=$disk.log" -serial chardev:log \
		-chardev "file,id=out,path=$disk.out" -serial chardev:out </dev/null >"$disk.qemu" 2>&1
	tr -d '\r' <"$disk.out" >"$disk.text"
	mv "$disk.text" "$disk.out"
	"$image_root/tools/splats/scan" "$disk.log" || return 1
	return "$(sed -n '$s/^status \([0-9][0-9]*\)$/\1/p' "$disk.out" | grep . || echo 125)"
}

image_list() {
	(cd "$1" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./run -o -path ./tmp \
		-o -path ./root -o -path ./image-test -o -path ./var/log -o -path ./var/cache \
		-o -path ./var/lib/apt -o -path ./var/lib/systemd -o -path ./var/tmp -o -path ./lost+found \) \
		-prune -o -print | LC_ALL=C sort)
}
