# shellcheck shell=bash disable=SC2154,SC2034 # variables of tools/vm
# SPDX-License-Identifier: GPL-2.0
#
# Starting the machine, its time limits and its end. Sourced by tools/vm; uses
# its variables.
#
# The guest's init reports these on ttyS2, one line each (tools/guest/init):
#   START          the command starts now
#   GCOV text      of a tar file in base64: which lines of the module were executed
#   STATUS N       it ended with N; the machine reboots, which ends QEMU
#   FAIL text      the guest could not be set up
#
# The outcome is left in $outcome: exited, died, timeout, boot-timeout, disk (its file system is not
# sound, and $work/disk.errors says more).

# Kernel log: a new file for each run, named after kernel and time.
name_log() {
	local dir=$BUILD/logs

	if [ -z "$log" ]; then
		if ! { mkdir -p "$dir" 2>/dev/null && [ -w "$dir" ]; }; then
			dir=${TMPDIR:-/tmp}
		fi
		log=$dir/vm-$(basename "$kernel")-$(date +%Y%m%d-%H%M%S)-$$.log
	fi
	: >"$log" || die "cannot write the kernel log to $log"
	log=$(realpath "$log")
}

# The kernel's command line. A panic or an oops ends the machine at once; a slow
# host is no reason to cry soft lockup or RCU stall early. QEMU's serial port raises an
# interrupt for every byte. Most of them find nothing left to do when a threaded handler
# (PREEMPT_RT) comes to look. With noirqdebug the kernel does not take that for a stuck
# interrupt line and switch it off.
#
# Both limits are multiplied by TIME_SCALE, as all others are, up to five minutes. Take a debug
# kernel in which every function is traced, those of its checkers too. It needs more than a minute to
# free the hash of an ftrace ops with 25,000 functions, in a callback that does not reschedule.
kernel_arguments() {
	# no_timer_check: the kernel tests the timer by waiting for ten ticks, which a
	# busy host does not always give an emulated machine in time.
	local limits=$((TIME_SCALE < 5 ? TIME_SCALE : 5))
	local arguments="console=ttyS0,115200 rdinit=/init loglevel=7 panic=-1 oops=panic"

	arguments+=" no_timer_check"

	arguments+=" reboot=t log_buf_len=4M printk.devkmsg=on"
	arguments+=" watchdog_thresh=$((30 * limits)) rcupdate.rcu_cpu_stall_timeout=$((60 * limits))"
	arguments+=" 8250.nr_uarts=4 noirqdebug"
	arguments+=" unknown_nmi_panic panic_print=0x40"
	echo "$arguments$append"
}

# The CPU's model and features. The guest must not have cmpxchg16b. QEMU 7.2's TCG computes the
# flags for it from the state that the block before left behind. If that ended in popf or iret,
# an operand of the last arithmetic ends up in the flags (popf; add %rdi, %rsi; cmpxchg16b;
# pushf pushes bits of rdi). A probe makes such blocks: at 6.12's kmem_cache_alloc_noprof+0x9f
# it lets the guest die of a double fault, the kernel's own kprobe too. Without cx16 the kernel
# patches calls of this_cpu_cmpxchg16b_emu over the instruction, and SLUB changes a slab's
# freelist under a lock. The option clearcpuid=cx16 on its command line does the same but is a
# taint.
cpu_model() {
	case $cpu in
	*cx16*) echo "$cpu" ;;
	*) echo "$cpu,-cx16" ;;
	esac
}

# The CPUs take turns on one host thread unless --mttcg is given. With a thread for each, QEMU
# loses a write to code that another CPU is just translating. A kernel patches its text while
# another CPU runs there, as ftrace and jump labels do. It then keeps executing an int3 that is
# not in memory any more, and oopses. docs/design/qemu.md has the race, and the versions with it.
start_qemu() {
	local accel=tcg,thread=single port options

	# shellcheck disable=SC2054 # commas belong to the options
	options=(
		-M q35 -cpu "$(cpu_model)" -smp "$cpus" -m "$memory" -nodefaults -no-user-config
		-display none -no-reboot
		-kernel "$bzimage" -initrd "$work/initramfs" -append "$(kernel_arguments)"
		-chardev "file,id=log,path=$log,append=on"
		-chardev "stdio,id=command,signal=off"
		-chardev "file,id=control,path=$work/control"
		-chardev "file,id=errors,path=/dev/fdset/1,append=on" -add-fd "fd=3,set=1"
		-chardev "pipe,id=monitor,path=$work/monitor" -mon chardev=monitor,mode=readline
	)
	if [ "$icount" = 1 ]; then
		options+=(-icount "shift=0,sleep=off")
	fi
	if [ "$mttcg" = 1 ]; then
		accel=tcg,thread=multi
	fi
	options+=(-accel "$accel")
	if [ -n "$disk" ]; then
		mkfs.ext4 -q "$work/disk" "$disk" >/dev/null 2>"$work/disk.errors" ||
			die "no disk of $disk: $(cat "$work/disk.errors")"
		options+=(-drive "file=$work/disk,if=none,format=raw,cache=unsafe,id=disk"
			-device "nvme,drive=disk,serial=disk")
	fi
	# Each port has an interrupt of its own: shared edge-triggered ones get lost.
	for port in log:0x3f8:4 command:0x2f8:3 control:0x3e8:5 errors:0x2e8:7; do
		IFS=: read -r id iobase irq <<<"$port"
		options+=(-device "isa-serial,chardev=$id,iobase=$iobase,irq=$irq")
	done

	mkfifo "$work/monitor.in" "$work/monitor.out" "$work/pause"
	exec {pause}<>"$work/pause"
	# QEMU writes through cat, so that making its ends non-blocking does not
	# touch descriptors we share with others. setpriv: it dies with us.
	exec 3> >(exec cat >&2)
	errors_cat=$!
	exec 4> >(exec cat)
	output_cat=$!
	: >"$work/control"
	setpriv --pdeathsig KILL "$QEMU" "${options[@]}" <&0 >&4 2>"$work/qemu.errors" 4>&- &
	qemu=$!
	children+=("$qemu")
	exec 3>&- 4>&-
}

# Where processes are expensive, as in a virtual machine, sleep and grep ten times a second would
# take a seventh of a processor. So the shell waits and looks by itself.

# a_tenth: of a second. Nobody writes to the pipe.
a_tenth() {
	read -rt 0.1 -u "$pause" || true
}

# said WORD: has the guest's init said so?
said() {
	local line

	while IFS= read -r line || [ -n "$line" ]; do
		[[ $line != "$1"* ]] || return 0
	done <"$work/control"
	return 1
}

# Kill the machine and note why. Before that an NMI to every CPU puts where they
# are into the log: that is what one wants to know of a hanging guest. It panics then, which ends
# QEMU. On a busy host it takes some seconds to write all that.
out_of_time() {
	local tenths

	outcome=$1
	# Opened to be read, too: that waits for nobody, and nobody has to be there.
	echo nmi 1<>"$work/monitor.in" || true
	for ((tenths = 0; tenths < 100; tenths++)); do
		kill -0 "$qemu" 2>/dev/null || return 0
		a_tenth
	done
	kill -KILL "$qemu" 2>/dev/null || true
}

# Wait for QEMU to end, or end it when its time is up.
watch_machine() {
	local begin=$SECONDS started=

	while kill -0 "$qemu" 2>/dev/null; do
		a_tenth
		if [ -z "$started" ]; then
			if said START; then
				started=$SECONDS
				boot_seconds=$((SECONDS - begin))
			elif [ $((SECONDS - begin)) -ge "$boot_timeout" ]; then
				out_of_time boot-timeout
				break
			fi
		elif [ -n "$timeout" ] && [ $((SECONDS - started)) -ge "$timeout" ] && ! said STATUS; then
			out_of_time timeout
			break
		fi
	done
	wait "$qemu" 2>/dev/null || true
	# All output is out when the two cats have seen the end.
	wait "$output_cat" "$errors_cat" 2>/dev/null || true
	children=()
}

run_machine() {
	local terminal=

	outcome=
	boot_seconds=
	if [ "$interactive" = 1 ]; then
		terminal=$(stty -g)
	fi
	start_qemu
	watch_machine
	if [ -n "$terminal" ]; then
		stty "$terminal" || true
	fi
	if [ -z "$outcome" ]; then
		outcome=died
		if said STATUS; then
			outcome=exited
		fi
	fi
	if [ "$outcome" = exited ] && [ -n "$disk" ]; then
		e2fsck -fn "$work/disk" >"$work/disk.errors" 2>&1 || outcome=disk
	fi
}
