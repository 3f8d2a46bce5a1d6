/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A site: the 5 patchable bytes at a function's entry, and how hits get from
 * there to programs.
 *
 * Mode DIRECT (site.c): the bytes are a near CALL to our image; ftrace
 * patches them. Many functions may share an ops, with one image (multi/) or each with its own
 * (group.c). Mode FTRACE_OPS (func/callback.c): somebody else's direct call is there, so our
 * entry programs run from an ordinary ftrace callback.
 */
#ifndef TRAMP_SITE_H
#define TRAMP_SITE_H

#include <linux/ftrace.h>
#include "base/peek.h"
#include "base/retire.h"
#include "base/tramp.h"
#include "prog/set.h"

/**
 * struct tramp_site - the patched entry of one function, or those of many
 * @ops: ftrace's part, with a filter of all of them
 * @set: mode FTRACE_OPS: what the callback runs; otherwise NULL
 * @gone: mode DIRECT: what functions that have left had in ftrace's table of direct calls
 * @retire: how it goes
 */
struct tramp_site {
	struct ftrace_ops ops;
	struct tramp_set __rcu *set;
	struct ftrace_func_entry *gone;
	struct tramp_retire retire;
};

static inline enum tramp_mode tramp_site_mode(const struct tramp_site *site)
{
	return rcu_access_pointer(site->set) ? TRAMP_MODE_FTRACE_OPS : TRAMP_MODE_DIRECT;
}

/**
 * struct tramp_site_call - a function and the image that it calls
 * @ip: its site
 * @code: the image's address
 * @entry: group.c: what was its entry in ftrace's table of direct calls; NULL while it is there
 */
struct tramp_site_call {
	unsigned long ip;
	unsigned long code;
	struct ftrace_func_entry *entry;
};

/*
 * Where the direct call at a site leads, anybody's; 0: there is none. May sleep. Somebody else's
 * may be gone or another one at once; ours change with tramp_mutex held only.
 */
unsigned long tramp_site_direct(unsigned long ip);

/**
 * tramp_site_check() - whether a direct call could be put at a site now
 * @ip: the site; no direct call of ours is there
 * @why: why not: SITE_HELD with the holder's name, FTRACE_DISABLED, FOREIGN_BYTES
 *
 * A cheap look before work is done; tramp_site_attach() decides.
 * Context: may sleep; without text_mutex.
 * Return: 0 or a negative errno.
 */
int tramp_site_check(unsigned long ip, struct tramp_refusal *why);

/**
 * tramp_site_check_bytes() - whether ftrace finds at a site what it has left there
 * @ip: the site
 * @why: FOREIGN_BYTES
 *
 * If it does not, ftrace shuts down for good when it is to write there. Bytes that begin like a
 * call count as its own.
 * Context: may sleep; without text_mutex.
 * Return: 0 or a negative errno.
 */
int tramp_site_check_bytes(unsigned long ip, struct tramp_refusal *why);

/**
 * tramp_site_check_patched() - whether sites are free of who changes the instruction pointer
 * @ips: the sites; no direct call of ours is there
 * @nr: how many
 * @blamed: (out) the one that is not, or 0
 * @why: LIVEPATCHED
 *
 * Context: may sleep, tramp_mutex may be held. Takes ftrace_lock if somebody traces any of them.
 * Return: 0 or -EBUSY.
 */
int tramp_site_check_patched(const unsigned long *ips, u32 nr, unsigned long *blamed,
			     struct tramp_refusal *why);

/**
 * tramp_site_attach() - make a site call an image
 * @ip: the site; beside many others its ftrace_ops may be that of some of them as well
 * @code: the image's address
 * @site: (out) the site
 * @entered: (out) on failure: somebody may have come through nevertheless, so the
 *	image is to be retired, not freed
 * @why: why not
 *
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_site_attach(unsigned long ip, unsigned long code, struct tramp_site **site,
		      bool *entered, struct tramp_refusal *why);

/* The same with an ops of its own: the detach needs no memory, and cannot fail for lack of it. */
int tramp_site_attach_alone(unsigned long ip, unsigned long code, struct tramp_site **site,
			    bool *entered, struct tramp_refusal *why);

/**
 * tramp_site_attach_many() - make many functions call one image
 * @ips: their sites, all different
 * @nr: how many, at least 1
 * @code: the image's address
 * @site: (out) all of them as one
 * @entered: as above
 * @blamed: (out) on failure: the site that @why is about, 0 if it is about none
 * @why: why not; its address is that of who holds a function, or of the site that is live-patched
 *
 * One update of ftrace for all of them, and all of them or none.
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_site_attach_many(unsigned long *ips, u32 nr, unsigned long code,
			   struct tramp_site **site, bool *entered, unsigned long *blamed,
			   struct tramp_refusal *why);

/**
 * tramp_site_attach_each() - make many functions call an image each
 * @calls: their sites, all different, and the images
 * @nr: how many, at least 1
 * @site: (out) the site of each of them
 * @entered: as above
 * @why: why not
 *
 * One update of ftrace for all of them, and all of them or none. Each may be switched and
 * detached alone; the last that is detached frees the site.
 * Context: tramp_mutex held, may sleep; tramp_site_groups_possible().
 * Return: 0 or a negative errno.
 */
int tramp_site_attach_each(const struct tramp_site_call *calls, u32 nr, struct tramp_site **site,
			   bool *entered, struct tramp_refusal *why);

/* Whether functions can share an ops on this kernel, if each has an image of its own. */
bool tramp_site_groups_possible(void);

/*
 * Whether the bytes at a site call our code. ftrace may shut down in the middle of a change. Then
 * it may say no although it has put the call there, or yes although the call is there still.
 * Context: tramp_mutex held, or nobody else may change what the site has of ours.
 */
bool tramp_site_calls(unsigned long ip, unsigned long code);

/* Where a function has its patchable entry, if it has one. */
static inline unsigned long tramp_site_of(unsigned long func)
{
	return tramp_behind_endbr(func);
}

/*
 * Take many back at once, like tramp_site_detach(). @funcs are the @nr functions, whose sites
 * were given to the attach.
 */
bool tramp_site_detach_many(struct tramp_site *site, const unsigned long *funcs, u32 nr,
			    unsigned long code);

/**
 * tramp_site_shrink() - take some of many back, the others stay
 * @site: the site of all
 * @ips: the sites of some, but not of all
 * @nr: how many
 * @code: what they call
 *
 * Others notice nothing. No memory: nothing has changed, and the modules of these stay for ever.
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or -ENOMEM. Otherwise ftrace has shut itself down: see tramp_site_detach().
 */
int tramp_site_shrink(struct tramp_site *site, const unsigned long *ips, u32 nr,
		      unsigned long code);

/**
 * tramp_site_switch() - make a site call another image
 * @site: mode DIRECT
 * @ip: the function's, one of them
 * @code: the new image
 * @why: why not
 *
 * Every call sees the old image or the new one. On failure the old one stays.
 * Context: tramp_mutex held, may sleep.
 * Return: 0 or a negative errno.
 */
int tramp_site_switch(struct tramp_site *site, unsigned long ip, unsigned long code,
		      struct tramp_refusal *why);

/**
 * tramp_site_detach() - give the site back and retire it
 * @site: either mode
 * @ip: the function's, one of them
 * @code: the image it calls, 0 in mode FTRACE_OPS
 *
 * Context: tramp_mutex held, may sleep.
 * Return: true if nothing of ours can be reached through the site any more. False: ftrace
 * has shut itself down and left the call in place; never free anything that it leads to.
 */
bool tramp_site_detach(struct tramp_site *site, unsigned long ip, unsigned long code);

/* Of such a site as below: how many functions are still attached. tramp_mutex held. */
u32 tramp_site_left(struct tramp_site *site);

/* Whether functions with an image each share the site. */
static inline bool tramp_site_is_group(const struct tramp_site *site)
{
	return site->ops.private;
}

/*
 * Of such a site, @nr of its functions at once. A switch that fails has changed nothing. Otherwise
 * as tramp_site_switch() and tramp_site_detach(). The switch is for a single function with an ops
 * of its own as well. Context: also tramp_site_groups_possible().
 */
int tramp_site_switch_each(struct tramp_site *site, const struct tramp_site_call *calls, u32 nr,
			   struct tramp_refusal *why);
bool tramp_site_detach_each(struct tramp_site *site, const unsigned long *ips, u32 nr);

/* The slab cache of sites in mode DIRECT. Module init and exit; see base/cache.h. */
int tramp_site_init(void);
void tramp_site_exit(void);

/* For func/callback.c, whose sites are of mode FTRACE_OPS, and probe/callback.c. */

/* Turn an errno of ftrace into a refusal about the site at @ip. Return: a negative errno. */
int tramp_site_error(int err, unsigned long ip, struct tramp_refusal *why);
/* A new site with its filter set to @ip; @size is that of the struct that begins with it. */
struct tramp_site *tramp_site_alloc(unsigned long ip, size_t size, struct tramp_refusal *why);
/* Free a site and what its callback runs; nobody can be in it. */
void tramp_site_free(struct tramp_site *site);
/* The same once nobody can be in it any more. */
void tramp_site_retire(struct tramp_site *site);

#endif /* TRAMP_SITE_H */
