/* origin.h - who made a decision, as text: the policy's line and what it asks. */
#ifndef CORE_PLAN_ORIGIN_H
#define CORE_PLAN_ORIGIN_H

#include "core/plan/plan.h"

/* "megatron.lua:14", marked as SPAN_PLACE. */
void origin_put_place(const Origin *origin, Buf *out);

/* A line of Lua. Axes are named in its strings, "tp" or "tp:(1)4": those names are marked. Returns
 * how many bytes of the line stand before its comment. */
size_t origin_put_lua(const Mesh *mesh, Str line, Buf *out);

#endif
