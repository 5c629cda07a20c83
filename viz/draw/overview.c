/* overview.c - groups alone: a fold of equal layers is one box, with the collectives of one of
 * them; what stands beside folds is one box a group, or a run of ops. */
#include "viz/draw/draw.h"

#include "core/base/units.h"
#include "core/plan/cost.h"
#include "core/plan/label.h"

/* "2 AR tp": collectives read by the ops of order[first..first+n), by kind and axes. */
static void say_collectives(const Draw *draw, int32_t first, int32_t n, Buf *out)
{
    const Plan *plan = draw->plan;
    Arena *scratch = arena_new();
    Intern *seen = intern_new(scratch);
    bool *member = arena_array(scratch, bool, draw->graph->n_ops);
    double count[64] = {0};

    for (int32_t i = first; i < first + n; i++)
        member[draw->groups->order[i]] = true;
    for (int i = 0; i < plan->n_reshards; i++) {
        const Reshard *r = &plan->reshards[i];
        if (r->n_uses == 0 || !member[plan->reshard_uses[r->use]])
            continue;
        for (int s = 0; s < r->path->n_steps; s++) {
            int32_t key[2] = {(int32_t)r->path->step[s].kind, (int32_t)r->path->step[s].atoms};
            int32_t id = key[0] == STEP_SLICE ? 64 : intern_put(seen, key, sizeof key);
            if (id < 64)
                count[id] += reshard_repeat(plan, r);
        }
    }
    for (int32_t id = 0; id < intern_count(seen) && id < 64; id++) {
        const int32_t *key = intern_key(seen, id, NULL);
        buf_printf(out, "  %.10g %s ", count[id], step_kind_mark((StepKind)key[0]));
        mesh_format_set(plan->mesh, (AtomSet)key[1], ".", out);
    }
    arena_free(scratch);
}

/* One box for ops order[first..first+n), standing for `repeats` such runs behind each other. */
static void draw_run(Draw *draw, const char *title, int32_t first, int32_t n, int repeats)
{
    const Plan *plan = draw->plan;
    double us = 0;
    int64_t bytes = 0;

    for (int32_t i = first; i < first + n; i++) {
        int32_t op = draw->groups->order[i];
        us += plan->op_us[op];
        for (int o = 0; o < draw->graph->ops[op].n_outputs; o++) {
            int32_t t = op_outputs(draw->graph, op)[o];
            bytes += t < 0 ? 0 : plan_local_bytes(plan, t, plan->made[t]);
        }
    }
    Buf figures = buf_new(draw->arena);
    buf_puts(&figures, draw_figures(draw, us, bytes));
    say_collectives(draw, first, n, &figures);
    DiagramBox box = draw_new_box(repeats > 1 ? BOX_GROUP : BOX_OP, title);
    int32_t head = draw->groups->order[first];
    box.operator= n == 1 ? label_operator(draw->graph, head)
                         : arena_printf(draw->arena, "%d ops", n);
    box.flow = draw_flow(draw, draw->groups->order[first + n - 1]);
    box.figures = figures.s;
    box.link = arena_printf(draw->arena, "#op-%d", head);
    int at = draw_box(draw, box);
    for (int32_t i = first; i < first + n * repeats && i < draw->groups->n_order; i++)
        draw->box_of[draw->groups->order[i]] = at;
}

static bool has_fold(const Groups *groups, int32_t group)
{
    for (int32_t c = groups->groups[group].child; c >= 0; c = groups->groups[c].next)
        if (groups->groups[c].fold_n > 1 || has_fold(groups, c))
            return true;
    return false;
}

static void draw_direct(Draw *draw, int32_t first, int32_t n)
{
    if (n > 0)
        draw_run(draw, op_path_or_name(draw->graph, draw->groups->order[first]), first, n, 1);
}

/* Boxes of a group: folds and groups without folds are one box, the rest is opened. */
static void draw_group(Draw *draw, int32_t group)
{
    const Group *g = &draw->groups->groups[group];
    int32_t at = g->first;

    for (int32_t c = g->child; c >= 0; c = draw->groups->groups[c].next) {
        const Group *child = &draw->groups->groups[c];
        draw_direct(draw, at, child->first - at);
        at = child->first + child->n;
        if (child->fold != c)
            continue; /* drawn with the first of its fold */
        if (child->fold_n == 1 && has_fold(draw->groups, c)) {
            draw_group(draw, c);
            continue;
        }
        Buf title = buf_new(draw->arena);
        group_format_fold(draw->groups, c, child->fold_n, 0, &title);
        if (child->fold_n > 1)
            buf_printf(&title, " \xc3\x97%d", child->fold_n);
        draw_run(draw, title.s, child->first, child->n, child->fold_n);
    }
    draw_direct(draw, at, g->first + g->n - at);
}

bool draw_overview(Draw *draw, Error *err)
{
    (void)err;
    draw_group(draw, 0);
    draw_value_lines(draw, false);
    draw->diagram->fold = "--kind block";
    return true;
}
