#include "viz/draw/segments.h"

#include "core/summary/label.h"

bool reshard_is_given(const Plan *plan, const Reshard *reshard)
{
    const Inferred *inferred = plan->inferred;
    int32_t maker = inferred->graph->tensors[reshard->tensor].maker;

    return maker < 0 || inferred->on_parameters[maker] || inferred_is_host(inferred, maker);
}

Waits waits_of(Arena *arena, const Plan *plan)
{
    bool *before = arena_array(arena, bool, plan->inferred->graph->n_ops);
    bool *behind = arena_array(arena, bool, plan->inferred->graph->n_ops);

    for (int r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
        bool after;
        int32_t op = reshard_beside(plan, reshard, &after);
        if (op >= 0 && path_moves(reshard->path) && !reshard_is_given(plan, reshard))
            (after ? behind : before)[op] = true;
    }
    return (Waits){before, behind};
}

/* ---- splitting ---- */

typedef struct {
    const Draw *draw;
    const Waits *waits;
    SegmentCut cut;
    RunList runs;
    Vec(int32_t) op;
    Vec(int) item;
    Vec(DrawnSegment) made;
} Cutting;

/* Of equal layers the second may wait where the first does not, so both are checked. */
static bool waits_at(const Cutting *cutting, const bool *waits, const RunItem *item, int place)
{
    int turns = item->repeats > 1 ? 2 : 1;

    if (cutting->cut == CUT_LAYERS)
        return false;
    for (int turn = 0; turn < turns; turn++)
        if (waits[run_op(cutting->draw, item, turn, place)])
            return true;
    return false;
}

static bool begins_at(const Cutting *cutting, int i, int place, bool waited)
{
    const RunItem *item = &cutting->runs.at[i];

    if (i == 0 && place == 0)
        return true;
    if (place == 0 && (item->layer || cutting->runs.at[i - 1].layer))
        return true;
    if (place == 0 && cutting->cut == CUT_ITEMS)
        return true;
    return (waited && cutting->cut != CUT_LAYERS) ||
           waits_at(cutting, cutting->waits->before, item, place);
}

Segments segments_of(const Draw *draw, RunList runs, const Waits *waits, SegmentCut cut)
{
    Cutting cutting = {.draw = draw, .waits = waits, .cut = cut, .runs = runs};
    bool waited = false;

    for (int i = 0; i < runs.n; i++)
        for (int place = 0; place < runs.at[i].n; place++) {
            if (begins_at(&cutting, i, place, waited)) {
                DrawnSegment segment = {.item = i, .first = cutting.op.n};
                vec_push(draw->arena, &cutting.made, segment);
            }
            vec_push(draw->arena, &cutting.op, run_op(draw, &runs.at[i], 0, place));
            vec_push(draw->arena, &cutting.item, i);
            cutting.made.at[cutting.made.n - 1].n++;
            waited = waits_at(&cutting, waits->after, &runs.at[i], place);
        }
    return (Segments){.runs = runs,
                      .op = cutting.op.at,
                      .item = cutting.item.at,
                      .n = cutting.made.n,
                      .at = cutting.made.at};
}

/* ---- names ---- */

/* The module of an op below its layer, or the item. Weak: the module has no other ops. */
static Str part_of(const Draw *draw, const Segments *segments, int place, bool *weak)
{
    const RunItem *item = &segments->runs.at[segments->item[place]];
    int32_t op = segments->op[place];
    const char *path = op_path_or_name(draw->graph, op);

    *weak = item->group < 0;
    if (*weak)
        return str_from(path);
    if (!item->layer)
        return str_from(item->title);
    Str below = group_relative(path, group_prefix(draw->groups, item->group));
    *weak = below.s == path;
    return *weak ? str_from(label_operator(draw->graph, op)) : str_take(&below, '.');
}

/* The modules of a segment in order, each once; weak ones only if there are no others. */
static void list_parts(const Draw *draw, const Segments *segments, int i, bool want_weak, Buf *out)
{
    enum { NAMED = 3 };
    const DrawnSegment *segment = &segments->at[i];
    Str named[NAMED] = {{0}};
    int n = 0;

    for (int place = segment->first; place < segment->first + segment->n; place++) {
        bool weak, seen = false;
        Str part = part_of(draw, segments, place, &weak);
        for (int k = 0; k < n && k < NAMED; k++)
            seen |= str_eq(named[k], part);
        if (seen || weak != want_weak)
            continue;
        if (n == NAMED) {
            buf_puts(out, " ..");
            return;
        }
        buf_printf(out, "%s%.*s", n > 0 ? ", " : "", STR_ARG(part));
        named[n++] = part;
    }
}

const char *segment_title(const Draw *draw, const Segments *segments, int i)
{
    Buf text = buf_new(draw->arena);

    list_parts(draw, segments, i, false, &text);
    if (text.n == 0)
        list_parts(draw, segments, i, true, &text);
    return text.s;
}
