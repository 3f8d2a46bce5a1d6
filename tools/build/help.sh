#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Prints the text of `make help`. A script of its own, since it must work on a machine where
# nothing is installed yet.

cat <<'END'
Goals:
  all          the module for each kernel, libtrampoline, trampctl, BPF programs (default)
  modules      the module and the test module only
  demo         boot Debian's kernel, attach programs to do_unlinkat, show what they saw
  shell        an interactive shell in a guest with the module loaded
  test         all tests: unit tests, tests that boot machines, tests in the guests; of these
               each has its turn on a kernel, and a third of the command line's have one at all
  test-all     the same, with the guests' tests on each kernel; hours
  test-unit    tests that need no machine; two minutes
  update-golden  after images were changed on purpose: write selftests/unit/golden.txt anew
  test-host    tests that run here and boot machines: the VM runner, the demo
  test-vm      tests inside the guests
  test-matrix  values, probes, returns, the demo, and the bytes of images on CPUs with other
               mitigations and with other preemption; K=6.12-cfi: with kCFI and FineIBT
  debug-kernel kernels with KASAN, lockdep and their like (6.1-debug, 6.12-debug), or with KASAN
               alone (6.12-kasan), the others without it (6.12-lockdep), KCSAN (6.12-kcsan),
               gcov (6.1-gcov, 6.12-gcov) or kCFI and FineIBT (6.12-cfi, by clang):
               those in K=, default 6.1-debug; a quarter of an hour each, once
  test-debug   the tests inside the guests, and the machines they boot, on these; an hour each
  test-coverage  the tests inside the guests, and which lines of the module they execute; without
               K= and T= it fails as test-coverage-unit does, of kernel/ (95); two hours
  test-coverage-unit  unit tests compiled for gcov, and which lines of kernel/x86/ and of the library
               they execute; fails if it is less than COVERAGE_MIN= (99) % of kernel/x86/, or if a
               line of the library is not executed and has no reason (COVERAGE_ALL=0: it does not
               fail then); minutes
  test-image   the packages' life on a real Debian with systemd: installed, booted, upgraded while
               programs are pinned, purged; a clone on a bare Debian; as root, with the
               network; an hour
  coverage     how many instructions can be jumps, ours and the kernel's, on 20,000; some minutes
  stress       probes at 20,000 random instructions, 10,000 attaches under load, an int3 in
               every function with tracers over everything, probes in maps, one program at
               all functions; hours
  stress-native  probes and images patched while real processors execute them, in a process;
               an hour
  stale-code   whether QEMU (QEMU= names another one), with a host thread for each CPU, runs code
               that is not in memory any more; fails if so; a minute or two
  fuzz         libFuzzer with sanitizers on what decodes, relocates, patches and emits code;
               test-unit has a short form of it; minutes
  fuzz-ioctl   CALLS= (200000) random requests to the device on a debug kernel, by what they come
               to in the module's code; minutes
  bench        the kernel's mechanisms and ours side by side: instructions per hit, times,
               memory; tables, JSON and plots in build/bench. Many minutes
  bench-check  fail if a ratio of instructions is worse than committed; a minute or two
  check        everything in C compiles; format, linters, sparse; sees what differs from BASE
               (default: HEAD~1)
  abi          accept a change of sizes, numbers or symbols: write docs/abi anew
  user         build what install puts there: library and trampctl
  install      library, headers, trampctl, man pages below PREFIX; takes no kernel and no QEMU
  install-dkms sources of the module where dkms finds them; what loads the module at boot, a
               udev rule with a group, a sample for modprobe.d
  dkms         that, and build it for every kernel from 6.1 to 6.12 here that has its headers
  uninstall    remove what install, install-dkms and dkms have put there, folders included
  uninstall-user  of these, what install has put there
  uninstall-dkms  of these, what install-dkms and dkms have put there
  deb          Debian packages in build/deb, looked at by lintian; some minutes
  kernels      download and unpack the kernels that tests boot, below the build folder
  deps         install or update the Debian packages needed (root, or sudo), and the kernels
  clean        remove the build folder

Variables:
  K=KERNEL     narrow modules, demo, shell and tests to 6.1, 6.12, 6.1-rt or 6.12-rt;
               several in quotes. Default: tests 6.1 6.12 6.12-rt, demo and shell 6.12
  T=TEST       narrow tests to a name, program.name or program; shell patterns work
  TURN=N       in test: whose turn it is; the next number has other tests on a kernel. Default: how
               many commits there are
  RUNS=N       inputs for each target of fuzz, default 500000
  MINUTES=N    how long stress-native runs, default 60, and the last part of stress, default 30
  JOBS=N       machines side by side in test-vm, default processors + 1
  MACHINES=N   machines of a kernel that share the tests of test-debug and test-coverage, default 6
  V=1          show every command
  O=DIR        build folder, default build
  DEBUG_DIR=D  sources and objects of the debug kernels, 3 GB each, default O/debug-kernel
  PREFIX=DIR   where install goes, default /usr/local; DESTDIR is put before it
  LIBDIR=DIR   libraries, default PREFIX/lib; with PREFIX=/usr the folder of the architecture, or
               lib64. Likewise INCLUDEDIR, SBINDIR, DATADIR, MANDIR, DOCDIR and TRAMPCTL_DOCDIR
               (examples), and CONFDIR (/etc) for:
  AUTOLOAD=0 UDEV=0 MODPROBE=0  leave out of install-dkms what loads the module at boot, the udev
               rule with its group, the sample of modprobe.d
  NO_DEPS=1    install no packages; name what is missing, with its packages on Debian, Ubuntu,
               Fedora and Arch
  CC, CFLAGS, CPPFLAGS, LDFLAGS  as everywhere; what the project needs is added
  WERROR=1     warnings are errors; default for check
  STATIC=0     link trampctl with shared libraries, default where there are no static ones

One command in a guest:  tools/vm run --kernel 6.12 -- trampctl trace do_unlinkat -n 3
                         tools/vm --help
END
