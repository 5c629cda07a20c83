/* origin.h - who made a decision, as text: the line of the policy and what it says. */
#ifndef CORE_PLAN_ORIGIN_H
#define CORE_PLAN_ORIGIN_H

#include "core/plan/plan.h"

/* "megatron.lua:14", marked as SPAN_PLACE. */
void origin_put_place(const Origin *origin, Buf *out);

/* Appends a line of Lua. Axis names in its strings, "tp" or "tp:(1)4", are marked. Returns how many
 * bytes of the line precede its comment. */
size_t origin_put_lua(const Mesh *mesh, Str line, Buf *out);

#endif
