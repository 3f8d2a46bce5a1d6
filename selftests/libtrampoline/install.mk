# SPDX-License-Identifier: GPL-2.0
#
# The library's fragment by itself, for install.sh: what `make install` does for
# the library, and nothing of the modules and the command.

O		?= build
PREFIX		?= /usr/local
DESTDIR		?=
VERSION		:= $(shell sed -n 's/^\#define TRAMP_VERSION "\(.*\)"/\1/p' kernel/base/tramp.h)
LIBTRAMP_A	= $(O)/user/libtrampoline/libtrampoline.a
LIBTRAMP_SO	= $(O)/user/libtrampoline/libtrampoline.so
CC		?= gcc
Q		= @
msg		=

include user/libtrampoline/build.mk
include tools/build/install.mk

