// SPDX-License-Identifier: LGPL-2.1 OR BSD-2-Clause
/*
 * Explaining code: a function's instructions as the module sees them, what a probe
 * at each would be, and the bytes that they were before anybody patched them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../core/device.h"
#include "../core/error.h"
#include "../core/sized.h"
#include "../syms/place.h"
#include "ask.h"

/* The public struct and everything it points to, for tramp_code__free(). */
struct code {
	struct tramp_code pub;
	struct tramp_insn_info *insns;
	struct tramp_insn_info one;
	uint8_t *code;
	char func_name[TRAMP_SYM_LEN];
	char module[TRAMP_MOD_LEN];
};

/* A function's size is not known before it is asked for: enough for most at once. */
#define FIRST_INSNS	512
#define FIRST_CODE	4096

static void place_to_cmd(const struct tramp_place *place, bool one,
			 struct tramp_explain_code *cmd)
{
	memset(cmd, 0, sizeof(*cmd));
	cmd->size = sizeof(*cmd);
	cmd->flags = one ? TRAMP_CODE_F_ONE : 0;
	cmd->addr = place->addr;
	if (place->addr)
		return;
	cmd->offset = one ? place->offset : 0;
	memcpy(cmd->symbol, place->symbol, sizeof(cmd->symbol));
	memcpy(cmd->module, place->module, sizeof(cmd->module));
}

static int resize(struct code *c, const struct tramp_explain_code *cmd)
{
	struct tramp_insn_info *insns;
	uint8_t *code;

	insns = realloc(c->insns, (cmd->nr_insns ? cmd->nr_insns : 1) * sizeof(*insns));
	if (!insns)
		return -ENOMEM;
	c->insns = insns;
	code = realloc(c->code, cmd->code_len ? cmd->code_len : 1);
	if (!code)
		return -ENOMEM;
	c->code = code;
	return 0;
}

/*
 * The whole function. It may change size between two attempts, if its module was
 * loaded anew: ask until the answer fits.
 */
static int ask_whole(int dev, const struct tramp_place *place, struct code *c,
		     struct tramp_explain_code *cmd)
{
	uint32_t nr_insns = FIRST_INSNS, code_len = FIRST_CODE;
	bool bytes = true;
	int err;

	for (;;) {
		place_to_cmd(place, false, cmd);
		cmd->nr_insns = nr_insns;
		cmd->code_len = code_len;
		err = resize(c, cmd);
		if (err)
			return err;
		cmd->insns = (uintptr_t)c->insns;
		cmd->code = bytes ? (uintptr_t)c->code : 0;
		err = libtramp_dev_cmd(dev, TRAMP_IOC_EXPLAIN_CODE, cmd);
		if (err == -EMSGSIZE && (cmd->nr_insns > nr_insns || cmd->code_len > code_len)) {
			nr_insns = cmd->nr_insns > nr_insns ? cmd->nr_insns : nr_insns;
			code_len = cmd->code_len > code_len ? cmd->code_len : code_len;
			continue;
		}
		/* A caller who may not see addresses gets the reply without the bytes. */
		if (err && bytes && cmd->refusal.reason == TRAMP_REASON_HIDDEN_ADDRESS) {
			bytes = false;
			continue;
		}
		break;
	}
	if (err)
		return err;
	c->pub.nr_insns = cmd->nr_insns;
	c->pub.code_len = bytes ? cmd->code_len : 0;
	return 0;
}

/* One instruction; the bytes of its function come with ask_whole(). */
static int ask_one(int dev, const struct tramp_place *place, struct code *c,
		   struct tramp_explain_code *cmd)
{
	int err;

	place_to_cmd(place, true, cmd);
	cmd->nr_insns = 1;
	cmd->insns = (uintptr_t)&c->one;
	err = libtramp_dev_cmd(dev, TRAMP_IOC_EXPLAIN_CODE, cmd);
	if (!err)
		err = ask_whole(dev, place, c, cmd);
	if (err)
		return err;
	c->insns[0] = c->one;
	c->pub.nr_insns = 1;
	return 0;
}

static struct tramp_code *finish(struct code *c, const struct tramp_explain_code *cmd)
{
	memcpy(c->func_name, cmd->symbol, sizeof(c->func_name) - 1);
	memcpy(c->module, cmd->module, sizeof(c->module) - 1);
	c->pub.func_name = c->func_name;
	c->pub.module = c->module;
	c->pub.func_addr = cmd->func_addr;
	c->pub.func_size = cmd->func_size;
	c->pub.insns = c->insns;
	c->pub.code = c->pub.code_len ? c->code : NULL;
	return &c->pub;
}

static int ask(int dev, const struct tramp_place *place, bool one, struct code *c,
	       struct tramp_explain_code *cmd)
{
	return one ? ask_one(dev, place, c, cmd) : ask_whole(dev, place, c, cmd);
}

struct tramp_code *libtramp_code(int dev, const struct tramp_place *place)
{
	struct code *c = calloc(1, sizeof(*c));
	struct tramp_explain_code cmd;

	if (c && !ask(dev, place, false, c, &cmd))
		return finish(c, &cmd);
	tramp_code__free(c ? &c->pub : NULL);
	return NULL;
}

static int ask_failed(int dev, int err, const struct tramp_explain_code *cmd,
		      const struct tramp_place *place, const struct tramp_syms *syms,
		      const char *subject)
{
	if (err == -ENOTTY)
		return LIBTRAMP_FAIL(-EOPNOTSUPP, TRAMP_REASON_NOT_BUILT, subject,
				     "the module knows no probes");
	return libtramp_fail_place(dev, err, &cmd->refusal, "EXPLAIN_CODE", place, syms, subject);
}

struct tramp_code *tramp_explain_code(const struct tramp_syms *syms, const char *spec,
				      const struct tramp_code_opts *opts)
{
	char subject[LIBTRAMP_SUBJECT_LEN], text[LIBTRAMP_PLACE_LEN];
	struct tramp_explain_code cmd = {};
	struct tramp_code *code = NULL;
	struct tramp_place place;
	struct code *c;
	int dev, err;
	bool one;

	if (!LIBTRAMP_OPTS_VALID(opts, tramp_code_opts)) {
		LIBTRAMP_FAIL(-EINVAL, TRAMP_LIB_BAD_ARGUMENT, "tramp_explain_code()",
			      "opts must be declared with TRAMP_OPTS(tramp_code_opts, ...)");
		return NULL;
	}
	if (libtramp_place_parse(spec, false, &place, "place"))
		return NULL;
	one = (place.addr || place.has_offset) &&
	      !LIBTRAMP_OPTS_GET(opts, tramp_code_opts, whole, false);
	snprintf(subject, sizeof(subject), "place '%s'",
		 libtramp_place_text(&place, text, sizeof(text)));
	if (libtramp_place_resolve(&place, syms))
		return NULL;
	dev = libtramp_dev_open(subject);
	if (dev < 0)
		return NULL;
	c = calloc(1, sizeof(*c));
	err = c ? ask(dev, &place, one, c, &cmd) : -ENOMEM;
	if (err) {
		err = ask_failed(dev, err, &cmd, &place, syms, subject);
		tramp_code__free(c ? &c->pub : NULL);
	} else {
		code = finish(c, &cmd);
	}
	close(dev);
	if (err)
		errno = -err;
	return code;
}

void tramp_code__free(struct tramp_code *code)
{
	struct code *c = (struct code *)code;

	if (!c)
		return;
	free(c->insns);
	free(c->code);
	free(c);
}
