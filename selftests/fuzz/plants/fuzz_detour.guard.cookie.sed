# SPDX-License-Identifier: GPL-2.0
# No program has a cookie.
/^static void store_cookie/,/^}/s/? c->cookie : 0;/? 0 : 0;/
