# SPDX-License-Identifier: GPL-2.0
# An entry image with a program that sleeps is not counted as in use.
/^static void lay_out/,/^}/s/(img->exit || (flags \& TRAMP_X86_CALL_SLEEPABLE))/img->exit/
