// SPDX-License-Identifier: GPL-2.0
/* Where the members of the kernel's private structs are, by its own BTF. */
#include <linux/string.h>
#include "btf_layout.h"
#include "ksyms.h"

/* A member that is no bit-field, and fits. */
static bool find_member(const struct btf *btf, const struct btf_type *t,
			const struct tramp_btf_wanted *wanted)
{
	const struct btf_member *m = btf_type_member(t);
	u32 i, bits;

	for (i = 0; i < btf_type_vlen(t); i++, m++) {
		if (strcmp(KSYM(btf_name_by_offset)(btf, m->name_off), wanted->name))
			continue;
		bits = __btf_member_bit_offset(t, m);
		*wanted->offset = bits / 8;
		return bits % (8 * wanted->size) == 0 && bits / 8 + wanted->size <= t->size;
	}
	return false;
}

bool tramp_btf_layout(const char *name, const struct tramp_btf_wanted *wanted, u32 nr, u32 *size)
{
	const struct btf_type *t;
	bool found = false;
	struct btf *btf;
	s32 id;

	if (!tramp_ksyms.has_bpf_find_btf_id)
		return false;
	id = KSYM(bpf_find_btf_id)(name, BTF_KIND_STRUCT, &btf);
	if (id <= 0)
		return false;
	t = btf_type_by_id(btf, id);
	/* A module's struct of that name would be another one. */
	if (t && !KSYM(btf_is_module)(btf)) {
		*size = t->size;
		found = true;
	}
	while (found && nr--)
		found = find_member(btf, t, &wanted[nr]);
	KSYM(btf_put)(btf);
	return found;
}
