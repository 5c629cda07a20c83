/* rows_resample.c - torch's operators that read elements at computed places: resizing, grids,
 * patches, strides. */
#include "core/peers/torch_export/shapes.h"

#include <math.h>
#include <string.h>

/* ---- resizing ---- */

enum { SPACE_MAX = 3, STRIDED_MAX = 1 << 22 };

/* The numbers of a list of floats; 0: it is not given. */
static int read_floats(Call *c, const char *arg, double *out, int most)
{
    const JsonView *json = c->e->json;
    int n = 0;
    int32_t list = call_given(c, arg) ? json_view_get(json, call_place(c, arg), "as_floats") : -1;
    json_view_each (item, json, list)
        if (n < most && json_view_real(json, item, &out[n]))
            n++;
    return n;
}

static ExportTerm float_list(Export *e, const double *values, int n)
{
    Shape shape = {.n_dims = 1, .dim = {n}};
    float *list = arena_array(e->arena, float, n);
    for (int i = 0; i < n; i++)
        list[i] = (float)values[i];
    int32_t tensor = graph_new_tensor(e->builder, STR("constant"));
    graph_add_initializer(
        e->builder, tensor, DT_F32, &shape,
        (TensorData){.form = DATA_RAW, .bytes = {(const char *)list, (size_t)n * sizeof *list}});
    return term_tensor(tensor, DT_F32, 1);
}

/* By the factors where they are given, since torch finds places by them, else to the sizes; where
 * corners are aligned, places follow from the sizes. */
static bool resize_to(Call *c, ExportTerm x, int n_space, bool corners, ExportTerm *in)
{
    double factors[SPACE_MAX], scales[DIMS_MAX];
    int64_t sizes[SPACE_MAX] = {0};
    int n = read_floats(c, "scale_factors", factors, SPACE_MAX);
    in[2] = in[3] = no_term();
    for (int d = 0; d < n && corners; d++) {
        ExportTerm size = d < n_space ? size_of(c, x, d + 2) : no_term();
        double made = size.kind == TERM_NUMBER ? floor((double)size.i * factors[d]) : 0;
        if (made < 1 || made > INT32_MAX)
            return call_fail(c, "its sizes are not known");
        sizes[d] = (int64_t)made;
    }
    if (n == n_space && !corners) {
        for (int d = 0; d < x.rank; d++)
            scales[d] = d < 2 ? 1 : factors[d - 2];
        in[2] = float_list(c->e, scales, x.rank);
        return true;
    }
    if (n != n_space && call_ints(c, "output_size", sizes, SPACE_MAX) != n_space)
        return call_fail(c, "its sizes are not known");
    Terms all = {0};
    for (int d = 0; d < x.rank; d++)
        add_size(c, &all, d < 2 ? size_of(c, x, d) : term_int(sizes[d - 2]));
    in[3] = emit_sizes(c, &all);
    return true;
}

static void make_resized(Call *c, const char *mode, const char *places, const char *nearest)
{
    Export *e = c->e;
    ExportTerm in[4] = {call_tensor(c, "input"), no_term()};
    int n_space = in[0].rank - 2;
    bool corners = strcmp(places, "align_corners") == 0;
    if (n_space < 1 || n_space > SPACE_MAX || !resize_to(c, in[0], n_space, corners, in))
        return;
    Attr attrs[] = {attr_text(e, "mode", str_from(mode)),
                    attr_text(e, "coordinate_transformation_mode", str_from(places)),
                    attr_text(e, "nearest_mode", str_from(nearest ? nearest : "floor")),
                    attr_float(e, "cubic_coeff_a", -0.75)};
    ExportTerm out = emit(c, "Resize", in, term_is(in[3]) ? 4 : 3, attrs, 4);
    out.rank = in[0].rank;
    call_results(c, &out, 1);
}

static void make_nearest(Call *c)
{
    make_resized(c, "nearest", "asymmetric", "floor");
}

static void make_nearest_exact(Call *c)
{
    make_resized(c, "nearest", "half_pixel", "round_prefer_ceil");
}

static void make_linear(Call *c)
{
    bool corners = call_bool(c, "align_corners");
    make_resized(c, "linear", corners ? "align_corners" : "half_pixel", NULL);
}

static void make_cubic(Call *c)
{
    bool corners = call_bool(c, "align_corners");
    make_resized(c, "cubic", corners ? "align_corners" : "half_pixel", NULL);
}

/* ---- grids ---- */

static void make_grid_sample(Call *c)
{
    static const char *const modes[] = {"linear", "nearest", "cubic"}, *const pads[] = {
                                                                           "zeros", "border",
                                                                           "reflection"};
    int64_t mode = call_int(c, "interpolation_mode"), pad = call_int(c, "padding_mode");
    Export *e = c->e;
    if (mode < 0 || mode > 2 || pad < 0 || pad > 2) {
        call_fail(c, "its mode is not read");
        return;
    }
    Attr attrs[] = {attr_text(e, "mode", str_from(modes[mode])),
                    attr_text(e, "padding_mode", str_from(pads[pad])),
                    attr_int(e, "align_corners", call_bool(c, "align_corners"))};
    ExportTerm in[] = {call_tensor(c, "input"), call_tensor(c, "grid")};
    ExportTerm out = emit(c, "GridSample", in, 2, attrs, 3);
    out.rank = in[0].rank;
    call_results(c, &out, 1);
}

/* ---- strides ---- */

/* Whether the tensor lies in its storage as its shape says, from the beginning. */
static bool is_contiguous(const Export *e, ExportTerm x)
{
    const JsonView *json = e->json;
    int64_t want = 1, offset = -1, strides[DIMS_MAX];
    int n = 0;
    if (x.meta < 0)
        return false;
    int32_t at = json_view_get(json, x.meta, "storage_offset");
    json_view_int(json, json_view_get(json, at, "as_int"), &offset);
    json_view_each (item, json, json_view_get(json, x.meta, "strides"))
        if (n == DIMS_MAX ||
            !json_view_int(json, json_view_get(json, item, "as_int"), &strides[n++]))
            return false;
    for (int d = n - 1; d >= 0; d--) {
        int64_t size = meta_dim(e, x.meta, d);
        if (size < 0 || (size != 1 && strides[d] != want))
            return false;
        want *= size;
    }
    return offset == 0 && n == x.rank;
}

/* The places in the storage of x of the elements of a view, which are known; its sizes are added to
 * `sizes`. NULL with an error if x does not lie in one piece. */
static int64_t *strided_places(Call *c, ExportTerm x, Terms *sizes, int64_t *n_places)
{
    Export *e = c->e;
    int64_t size[DIMS_MAX], stride[DIMS_MAX], count = 1, most = 1;
    int n = call_ints(c, "size", size, DIMS_MAX);
    int64_t offset = call_given(c, "storage_offset") ? call_int(c, "storage_offset") : 0;
    if (n < 0 || call_ints(c, "stride", stride, DIMS_MAX) != n || !is_contiguous(e, x)) {
        call_fail(c, "what it is a view of does not lie in one piece");
        return NULL;
    }
    int64_t last = offset;
    for (int d = 0; d < x.rank; d++)
        most *= meta_dim(e, x.meta, d);
    for (int d = 0; d < n; d++) {
        if (size[d] < 1 || stride[d] < 0 || stride[d] >= STRIDED_MAX ||
            count > STRIDED_MAX / size[d]) {
            call_fail(c, "it has too many elements, or none");
            return NULL;
        }
        count *= size[d];
        last += (size[d] - 1) * stride[d];
        add_size(c, sizes, term_int(size[d]));
    }
    if (offset < 0 || last >= most) {
        call_fail(c, "it reads behind its storage");
        return NULL;
    }
    int64_t *places = arena_array(e->scratch, int64_t, count);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i;
        places[i] = offset;
        for (int d = n - 1; d >= 0; d--) {
            places[i] += rest % size[d] * stride[d];
            rest /= size[d];
        }
    }
    *n_places = count;
    return places;
}

static void make_as_strided(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    Terms flat = {0}, sizes = {0};
    int64_t n, *places = strided_places(c, x, &sizes, &n);
    if (!places)
        return;
    add_size(c, &flat, term_int(-1));
    ExportTerm picked = emit2(c, "Gather", reshape(c, x, &flat), emit_ints(c->e, places, (int)n));
    picked.rank = 1;
    ExportTerm out = reshape(c, picked, &sizes);
    call_results(c, &out, 1);
}

/* Elements put at the places that a view of them would have. */
static void make_as_strided_scatter(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    Terms flat = {0}, sizes = {0};
    int64_t n, *places = strided_places(c, x, &sizes, &n);
    if (!places)
        return;
    add_size(c, &flat, term_int(-1));
    Attr axis = attr_int(c->e, "axis", 0);
    ExportTerm in[] = {reshape(c, x, &flat), emit_ints(c->e, places, (int)n),
                       reshape(c, emit_cast(c, call_tensor(c, "src"), (Dtype)x.dtype), &flat)};
    ExportTerm out = emit(c, "ScatterElements", in, 3, &axis, 1);
    out = emit2(c, "Reshape", out, emit1(c, "Shape", x));
    call_results(c, &out, 1);
}

/* Both operands broadcast but for the dim. */
static void make_take_along(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), index = call_tensor(c, "indices");
    int64_t dim = call_axis(c, "dim", x.rank);
    Terms sizes[2] = {{0}, {0}};
    bool wider[2] = {false, false};
    for (int d = 0; d < x.rank && index.rank == x.rank; d++) {
        ExportTerm size[2] = {size_of(c, x, d), size_of(c, index, d)};
        for (int s = 0; s < 2; s++) {
            bool one = size[s].kind == TERM_NUMBER && size[s].i == 1 && d != dim;
            bool other = size[!s].kind != TERM_NUMBER || size[!s].i != 1;
            wider[s] |= one && other;
            add_size(c, &sizes[s], one ? size[!s] : size[s]);
        }
    }
    if (wider[0])
        x = expand(c, x, emit_sizes(c, &sizes[0]), x.rank);
    if (wider[1])
        index = expand(c, index, emit_sizes(c, &sizes[1]), x.rank);
    ExportTerm out = elements_at(c, x, index, dim);
    call_results(c, &out, 1);
}

/* "abc,bcd->ad" */
static void make_tensordot(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), y = call_tensor(c, "other");
    int64_t left[DIMS_MAX], right[DIMS_MAX];
    int n = call_ints(c, "dims_self", left, DIMS_MAX);
    if (n < 0 || call_ints(c, "dims_other", right, DIMS_MAX) != n || x.rank + y.rank > 26) {
        call_fail(c, "its dims are not read");
        return;
    }
    char letter[2][DIMS_MAX + 1] = {{0}, {0}}, made[2 * DIMS_MAX + 1] = {0};
    int n_made = 0;
    for (int i = 0; i < n; i++) {
        int64_t a = left[i] < 0 ? left[i] + x.rank : left[i];
        int64_t b = right[i] < 0 ? right[i] + y.rank : right[i];
        if (a < 0 || a >= x.rank || b < 0 || b >= y.rank) {
            call_fail(c, "a dim that it sums over is not there");
            return;
        }
        letter[0][a] = letter[1][b] = (char)('a' + i);
    }
    char next = (char)('a' + n);
    for (int s = 0; s < 2; s++)
        for (int d = 0; d < (s ? y.rank : x.rank); d++)
            if (letter[s][d] == 0)
                made[n_made++] = letter[s][d] = next++;
    const char *text = arena_printf(c->e->arena, "%s,%s->%s", letter[0], letter[1], made);
    Attr attr = attr_text(c->e, "equation", str_from(text));
    ExportTerm out = emit(c, "Einsum", (ExportTerm[]){x, y}, 2, &attr, 1);
    out.rank = (uint8_t)n_made;
    call_results(c, &out, 1);
}

#define DISTANCE(a, b)                                                                             \
    "Pow(ReduceSum(Pow(Abs(Add(Sub(" a ", " b "), eps)), p), ints(-1); keepdims=0), "              \
    "Div(float(1), p))"

const TorchRow rows_resample[] = {
    {"upsample_nearest1d.vec upsample_nearest2d.vec upsample_nearest3d.vec",
     "input output_size= scale_factors=", NULL, make_nearest},
    {"_upsample_nearest_exact1d.vec _upsample_nearest_exact2d.vec _upsample_nearest_exact3d.vec",
     "input output_size= scale_factors=", NULL, make_nearest_exact},
    {"upsample_linear1d.vec upsample_bilinear2d.vec upsample_trilinear3d.vec",
     "input output_size= align_corners=False scale_factors=", NULL, make_linear},
    {"upsample_bicubic2d.vec", "input output_size= align_corners=False scale_factors=", NULL,
     make_cubic},
    {"grid_sampler grid_sampler_2d grid_sampler_3d",
     "input grid interpolation_mode padding_mode align_corners", NULL, make_grid_sample},
    {"affine_grid_generator", "theta size align_corners",
     "AffineGrid(theta, sizes(size); align_corners=align_corners)", NULL},
    {"as_strided", "self size stride storage_offset=", NULL, make_as_strided},
    {"as_strided_scatter", "self src size stride storage_offset=", NULL, make_as_strided_scatter},
    {"take_along_dim", "self indices dim", NULL, make_take_along},
    {"tensordot", "self other dims_self dims_other", NULL, make_tensordot},
    {"pixel_shuffle", "self upscale_factor",
     "DepthToSpace(self; blocksize=upscale_factor, mode='CRD')", NULL},
    {"triplet_margin_loss",
     "anchor positive negative margin=1 p=2 eps=1e-06 swap=False reduction=1",
     "reduced(Relu(Add(Sub(" DISTANCE("anchor", "positive") ", " DISTANCE(
         "anchor", "negative") "), margin)))",
     NULL},
    {0},
};
