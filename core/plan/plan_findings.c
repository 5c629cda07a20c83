#include "core/plan/plan_findings.h"

#include "core/base/file.h"
#include "core/plan/naming.h"

void plan_find(Plan *plan, Level level, const char *code, int32_t op, int32_t tensor,
               const char *hint, const char *format, ...)
{
    Buf text = buf_new(plan->arena);
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    Finding finding = {.level = level, .code = code, .text = text.s, .hint = hint};
    finding.op = op;
    finding.tensor = tensor;
    vec_push(plan->arena, &plan->findings, finding);
}

void plan_found_at(Plan *plan, const Origin *origin)
{
    Finding *finding = &plan->findings.at[plan->findings.n - 1];
    finding->file = origin->file;
    finding->line = origin->line;
}

const char *plan_value_name(const Plan *plan, int32_t tensor)
{
    return plan->naming ? naming_value(plan->naming, plan->arena, tensor)
                        : tensor_name(plan->inferred->graph, tensor);
}

const char *plan_origin_text(Arena *arena, const Origin *origin)
{
    if (origin->file && *origin->file)
        return arena_printf(arena, "%s:%d", path_base(origin->file), origin->line);
    return origin->kind == ORIGIN_USER ? "your pin" : "a pin of the search";
}
