/* boxes.c - NonMaxSuppression: per batch and class the best-scored boxes without those that overlap
 * a better one.
 *
 * Overlap is intersection over union. With equal scores the earlier box wins. All operands are
 * whole; the number of boxes depends on the data.
 */
#include "core/run/kernel.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    double y0, x0, y1, x1, score;
    int64_t place;
} ScoredBox;

typedef struct {
    const Local *boxes, *scores;
    int64_t n_batches, n_classes, n_boxes, most; /* most: boxes per batch and class */
    double overlap, score;
    bool centred; /* a box is centre and size, else two corners */
} Suppression;

static bool read_number(const KernelCall *call, int input, double fallback, double *out, Error *err)
{
    const Local *local = kernel_input(call, input);
    *out = fallback;
    if (!local)
        return true;
    if (!kernel_computes(local, err))
        return false;
    if (shape_elements(&local->shape) != 1)
        return error_kind(err, ERROR_RUN, "input %d is not a scalar", input);
    local_load(local, 0, 1, 1, NUMBER_F64, out);
    return true;
}

static bool read_suppression(const KernelCall *call, Suppression *s, Error *err)
{
    double most;
    if (!kernel_numeric(call, 2, err) || !read_number(call, 2, 0, &most, err) ||
        !read_number(call, 3, 0, &s->overlap, err) ||
        !read_number(call, 4, -INFINITY, &s->score, err))
        return false;
    s->boxes = call->input[0];
    s->scores = call->input[1];
    const Shape *boxes = &s->boxes->shape, *scores = &s->scores->shape;
    if (!shape_equal(boxes, &s->boxes->whole) || !shape_equal(scores, &s->scores->whole))
        return error_kind(err, ERROR_RUN, "boxes or scores are sharded");
    if (boxes->n_dims != 3 || scores->n_dims != 3 || boxes->dim[2] != 4 ||
        boxes->dim[0] != scores->dim[0] || boxes->dim[1] != scores->dim[2])
        return error_kind(err, ERROR_RUN, "shapes of boxes and scores do not match");
    s->n_batches = scores->dim[0];
    s->n_classes = scores->dim[1];
    s->n_boxes = scores->dim[2];
    s->most = most > (double)s->n_boxes ? s->n_boxes : most > 0 ? (int64_t)most : 0;
    s->centred = op_attr_int(kernel_graph(call), call->op, "center_point_box", 0) != 0;
    return true;
}

static ScoredBox read_box(const Suppression *s, int64_t batch, int64_t class, int64_t i)
{
    double b[4];
    ScoredBox box = {.place = i};
    local_load(s->boxes, (batch * s->n_boxes + i) * 4, 1, 4, NUMBER_F64, b);
    int64_t at = (batch * s->n_classes + class) * s->n_boxes + i;
    local_load(s->scores, at, 1, 1, NUMBER_F64, &box.score);
    if (s->centred) { /* x, y, width, height */
        box.x0 = b[0] - b[2] / 2;
        box.x1 = b[0] + b[2] / 2;
        box.y0 = b[1] - b[3] / 2;
        box.y1 = b[1] + b[3] / 2;
        return box;
    }
    box.y0 = fmin(b[0], b[2]); /* corners, in either order */
    box.y1 = fmax(b[0], b[2]);
    box.x0 = fmin(b[1], b[3]);
    box.x1 = fmax(b[1], b[3]);
    return box;
}

static double overlap(const ScoredBox *a, const ScoredBox *b)
{
    double height = fmin(a->y1, b->y1) - fmax(a->y0, b->y0);
    double width = fmin(a->x1, b->x1) - fmax(a->x0, b->x0);
    if (!(height > 0) || !(width > 0))
        return 0;
    double shared = height * width;
    return shared /
           ((a->y1 - a->y0) * (a->x1 - a->x0) + (b->y1 - b->y0) * (b->x1 - b->x0) - shared);
}

static int order_boxes(const void *left, const void *right)
{
    const ScoredBox *a = left, *b = right;
    if (a->score < b->score || a->score > b->score)
        return a->score > b->score ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* Moves the selected boxes of a batch and class to the front of `boxes`; returns their number. */
static int64_t suppress(const Suppression *s, int64_t batch, int64_t class, ScoredBox *boxes)
{
    int64_t n = 0, n_kept = 0;
    for (int64_t i = 0; i < s->n_boxes; i++) {
        boxes[n] = read_box(s, batch, class, i);
        n += boxes[n].score > s->score;
    }
    qsort(boxes, (size_t)n, sizeof *boxes, order_boxes);
    for (int64_t i = 0; i < n && n_kept < s->most; i++) {
        bool covered = false;
        for (int64_t k = 0; k < n_kept && !covered; k++)
            covered = overlap(&boxes[k], &boxes[i]) > s->overlap;
        if (!covered)
            boxes[n_kept++] = boxes[i];
    }
    return n_kept;
}

/* Rows of (batch, class, box). */
static bool non_max_suppression(const KernelCall *call, Error *err)
{
    Suppression s;
    Vec(int64_t) kept = {.n = 0};
    if (!read_suppression(call, &s, err))
        return false;
    ScoredBox *boxes = arena_array(call->scratch, ScoredBox, s.n_boxes + 1);
    for (int64_t i = 0; i < s.n_batches * s.n_classes; i++) {
        int64_t batch = i / s.n_classes, class = i % s.n_classes;
        int64_t n = suppress(&s, batch, class, boxes);
        for (int64_t k = 0; k < n; k++) {
            vec_push(call->scratch, &kept, batch);
            vec_push(call->scratch, &kept, class);
            vec_push(call->scratch, &kept, boxes[k].place);
        }
    }
    Local *out;
    if (!kernel_decide(call, 0, &(Shape){.n_dims = 2, .dim = {kept.n / 3, 3}}, &out, err))
        return false;
    if (out && kept.n > 0)
        elements_copy(DT_I64, out->data, kept.at, 1, kept.n);
    return true;
}

const Kernel kernels_boxes[] = {
    {"NonMaxSuppression", non_max_suppression, NULL, KERNEL_DECIDES, ROUNDING_EXACT},
    {0},
};
