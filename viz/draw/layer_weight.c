/* layer_weight.c - the weight of a module in the figure of a layer: a rectangle with a stripe for
 * each shard, and its sizes. */
#include "viz/draw/layer.h"

#include "core/summary/label.h"

#include <inttypes.h>

enum { STRIPES_MOST = 32 };

/* Which shard of a dim a stripe is in, and how many stripes there are: those of the digits, major
 * first, where a digit without axes counts if one below it is sharded. */
typedef struct {
    int n, n_shards;
    int axis; /* the first that shards it; -1 */
    int shard[STRIPES_MOST];
    bool part[STRIPES_MOST]; /* a part of the dim begins there: q, k, v */
} Stripes;

static Stripes stripes_of(const Cut *cut, const Mesh *mesh)
{
    Stripes stripes = {.n = 1, .n_shards = 1, .axis = -1};
    int64_t ways[DIGITS_MAX] = {0}, parts = 1;

    for (int d = 0; d < cut->n; d++) {
        const Digit *digit = &cut->digit[d];
        ways[d] = 1;
        for (int a = 0; a < digit->n; a++)
            ways[d] *= mesh->atoms[digit->atom[a]].size;
        if (digit->n > 0 && stripes.axis < 0)
            stripes.axis = mesh->atoms[digit->atom[0]].axis;
        if (digit->block)
            parts = cut->n;
        else if (digit->n == 0 && d + 1 < cut->n)
            parts *= digit->size;
        if (!digit->block || d == 0)
            stripes.n_shards *= (int)ways[d];
    }
    if (stripes.axis < 0 || parts * stripes.n_shards > STRIPES_MOST) {
        stripes.n_shards = stripes.axis < 0 ? 1 : stripes.n_shards;
        parts = 1;
    }
    stripes.n = (int)parts * stripes.n_shards;
    stripes.n = stripes.n > STRIPES_MOST ? STRIPES_MOST : stripes.n;
    for (int i = 0; i < stripes.n; i++) {
        stripes.shard[i] = i % stripes.n_shards;
        stripes.part[i] = parts > 1 && stripes.shard[i] == 0;
    }
    return stripes;
}

int32_t layer_weight(const Draw *draw, const LayerModule *module, bool *turned)
{
    int32_t t = op_inputs(draw->graph, module->role->op)[module->role->weight];

    *turned = false;
    while (t >= 0 && !tensor_is_parameter(draw->plan->inferred, t)) {
        int32_t maker = draw->graph->tensors[t].maker;
        if (maker < 0 || draw->graph->ops[maker].n_inputs < 1)
            return -1;
        *turned ^= strcmp(label_operator(draw->graph, maker), "Transpose") == 0;
        t = op_inputs(draw->graph, maker)[0];
    }
    return t;
}

/* Whether it is one of a convolution, which also has dims of a window. */
static bool is_kernel(const Draw *draw, const LayerModule *module)
{
    int32_t t = op_inputs(draw->graph, module->role->op)[module->role->weight];
    const Shape *shape = inferred_shape(draw->plan->inferred, t);

    return module->role->expert < 0 && module->role->stack.tensor < 0 && shape && shape->n_dims > 2;
}

/* The cuts of rows and columns as the op reads them; where it reads the weight whole, those in
 * which it is stored. */
static void cuts_of(const Draw *draw, const LayerModule *module, Cut out[2])
{
    const OpCut *cut = plan_cut(draw->plan, module->role->op);
    const int dims[] = {module->role->k, module->role->n};
    bool turned;
    int32_t weight = layer_weight(draw, module, &turned);

    for (int i = 0; i < 2; i++)
        out[i] = dims[i] >= 0 ? cut->index[dims[i]] : cut_whole(1);
    if (weight < 0 || !cut_is_whole(&out[0]) || !cut_is_whole(&out[1]))
        return;
    const Sharding *stored = plan_sharding(draw->plan, weight);
    bool kernel = is_kernel(draw, module); /* [out, in, ..] */
    for (int i = 0; i < 2 && stored->n_dims >= 2; i++) {
        const Cut *dim = &stored->dim[kernel ? 1 - i : stored->n_dims - 2 + (turned ? 1 - i : i)];
        if (cut_size(dim) == cut_size(&out[i]))
            out[i] = *dim;
    }
}

/* The matrices of stacked experts, one behind the other: the first, in front, is the first
 * device's. Returns the axis that shards experts, -1, and leaves the place of the one in front. */
static int put_stack(Canvas *canvas, const LayerModule *module, DiagramPlace *at)
{
    enum { BEHIND = 2 };
    const double step = 2;
    const Draw *draw = canvas->draw;
    const OpCut *cut = plan_cut(draw->plan, module->role->op);

    if (module->role->expert < 0)
        return -1;
    at->w -= BEHIND * step, at->h -= BEHIND * step;
    for (int i = BEHIND; i > 0; i--)
        canvas_fill(canvas,
                    (DiagramPlace){at->x + i * step, at->y + (BEHIND - i) * step, at->w, at->h}, 0,
                    -1, module->title);
    at->y += BEHIND * step;
    return stripes_of(&cut->index[module->role->expert], draw->plan->mesh).axis;
}

void layer_put_weight(Canvas *canvas, const LayerModule *module, DiagramPlace at)
{
    const Draw *draw = canvas->draw;
    Cut cuts[2];
    int stack = put_stack(canvas, module, &at);
    cuts_of(draw, module, cuts);
    Stripes down = stripes_of(&cuts[0], draw->plan->mesh);
    Stripes over = stripes_of(&cuts[1], draw->plan->mesh);
    double w = at.w / over.n, h = at.h / down.n;

    for (int i = 0; i < down.n; i++)
        for (int k = 0; k < over.n; k++) {
            bool first = down.shard[i] == 0 && over.shard[k] == 0;
            int axis = over.axis >= 0 ? over.axis : down.axis >= 0 ? down.axis : stack;
            double gap = over.part[k] && k > 0 ? 1 : 0;
            canvas_fill(canvas, (DiagramPlace){at.x + k * w + gap, at.y + i * h, w - gap, h}, 0,
                        axis >= 0 && first ? axis : -1, module->title);
        }
}

Text layer_weight_text(const Draw *draw, const LayerModule *module)
{
    const OpCut *cut = plan_cut(draw->plan, module->role->op);
    Buf out = buf_marked(draw->arena);
    const int dims[] = {module->role->expert, module->role->k, module->role->n};

    for (int i = 0; i < 3; i++) {
        if (dims[i] < 0)
            continue;
        buf_puts(&out, out.n == 0 ? "" : i == 2 ? " \xc3\x97\n" : " \xc3\x97 ");
        cut_format(&cut->index[dims[i]], draw->plan->mesh, &out);
    }
    if (is_kernel(draw, module)) {
        int32_t t = op_inputs(draw->graph, module->role->op)[module->role->weight];
        const Shape *shape = inferred_shape(draw->plan->inferred, t);
        for (int d = 2; shape && d < shape->n_dims; d++)
            buf_printf(&out, " \xc3\x97 %" PRId64, shape->dim[d]);
    }
    return buf_text(&out);
}
