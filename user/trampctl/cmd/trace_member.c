// SPDX-License-Identifier: GPL-2.0
/*
 * Members of a traced call: what --print asks for, behind the call itself.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../out/json.h"
#include "trace.h"

/* EXPRESSION=VALUE of each. One that cannot be read says where that was. */
void trace_members_print(const struct traced_func *f, const struct traced_call *call,
			 const struct trace_members *m)
{
	unsigned int i;

	for (i = 0; i < m->list->nr; i++) {
		const struct many_print *found = &m->found[i];
		const struct member *member = &m->members[i];
		char buf[256], *text;
		uint64_t value;

		printf(" %s=", m->list->expr[i].text);
		if (found->status < 0) {
			printf("<fault at 0x%llx>", found->value);
		} else if (!found->status) {
			/* Of a result, before there was any. */
			fputs("<unknown>", stdout);
		} else if (member->is_text) {
			text = trace_string_text(call, member->path.str);
			fputs(text, stdout);
			free(text);
		} else {
			value = member_number(member, found->value);
			tramp_arg__format(f->proto, &member->arg, &value, buf, sizeof(buf));
			fputs(buf, stdout);
		}
	}
}

/* The same as "members", and the addresses that could not be read as "faults". */
void trace_members_to_json(json_object *j, const struct traced_func *f,
			   const struct traced_call *call, const struct trace_members *m)
{
	json_object *members = json_object_new_object(), *faults = NULL;
	unsigned int i;

	for (i = 0; i < m->list->nr; i++) {
		const struct many_print *found = &m->found[i];
		const struct member *member = &m->members[i];
		const char *name = m->list->expr[i].text;
		json_object *value = NULL;

		if (found->status > 0 && member->is_text) {
			value = json_bytes(call->str[member->path.str], TRACE_STR_LEN);
		} else if (found->status > 0) {
			const __u64 number = member_number(member, found->value);

			value = trace_value_to_json(f->proto, &member->arg, &number);
		} else if (found->status < 0) {
			if (!faults)
				faults = json_object_new_object();
			json_object_object_add(faults, name, json_hex(found->value));
		}
		json_object_object_add(members, name, value);
	}
	json_object_object_add(j, "members", members);
	if (faults)
		json_object_object_add(j, "faults", faults);
}
