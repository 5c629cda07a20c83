/* block.c - one repeated block in full, a box an op; what comes from outside is dashed. */
#include "viz/draw/draw.h"

static int32_t largest_fold(const Groups *groups)
{
    int32_t best = -1;
    int64_t most = 0;

    for (int32_t i = 0; i < groups->n_groups; i++) {
        int64_t ops = (int64_t)groups->groups[i].n * groups->groups[i].fold_n;
        if (groups->groups[i].fold_n > 1 && groups->groups[i].fold == i && ops > most) {
            most = ops;
            best = i;
        }
    }
    return best;
}

bool draw_block(Draw *draw, Error *err)
{
    int32_t fold = largest_fold(draw->groups);

    if (fold < 0) {
        error_kind(err, ERROR_UNSUPPORTED, "no block of this model repeats");
        error_hint(err, "use --kind overview");
        return false;
    }
    const Group *group = &draw->groups->groups[fold];
    for (int32_t i = group->first; i < group->first + group->n; i++)
        draw_op(draw, draw->groups->order[i], group->path, -1);
    draw->diagram->title = arena_printf(draw->arena, "%s: %s, one of %d", draw->diagram->title,
                                        group->path, group->fold_n);
    draw_value_lines(draw, true);
    return true;
}
