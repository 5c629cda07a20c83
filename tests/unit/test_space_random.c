/* Random chains of ops that read windows, shift, cut off or add up along dims, sharded at random on
 * meshes of one to three axes: ranks compute what one device does, forward and in a training step.
 */
#include "tests/unit/planning_text.h"
#include "tests/unit/random.h"

/* A chain: its text, and the channels, rows and columns of its last value, [2, c, h, w]. */
typedef struct {
    Buf text;
    int c, h, w, n;
} Chain;

static int between(int lo, int hi)
{
    return lo + pick(hi - lo + 1);
}

static const char *last(const Chain *chain)
{
    return arena_printf(chain->text.arena, "y%d", chain->n - 1);
}

static void add(Chain *chain, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(Chain *chain, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_printf(&chain->text, "; y%d <- ", chain->n++);
    buf_vprintf(&chain->text, format, args);
    va_end(args);
}

/* One dim of windows; false if none fits into n places. */
typedef struct {
    int kernel, stride, dilation, before, after, out;
} Windows;

static bool windows(int n, bool dilates, Windows *out)
{
    *out = (Windows){between(1, 4), between(1, 3), dilates ? between(1, 2) : 1, 0, 0, 0};
    out->before = pick(out->kernel);
    out->after = pick(out->kernel);
    int room = n + out->before + out->after - out->dilation * (out->kernel - 1) - 1;
    out->out = room < 0 ? 0 : room / out->stride + 1;
    return room >= 0 && out->out <= 40;
}

static bool add_conv(Chain *chain)
{
    Windows h, w;
    int to = between(1, 5), groups = pick(4) == 0 ? chain->c : 1;
    if (!windows(chain->h, true, &h) || !windows(chain->w, false, &w))
        return false;
    to = groups > 1 ? groups : to;
    add(chain,
        "Conv %s f32[%d,%d,%d,%d]! strides=[%d,%d] dilations=[%d,1] pads=[%d,%d,%d,%d] group=%d",
        last(chain), to, chain->c / groups, h.kernel, w.kernel, h.stride, w.stride, h.dilation,
        h.before, w.before, h.after, w.after, groups);
    chain->c = to;
    chain->h = h.out;
    chain->w = w.out;
    return true;
}

static bool add_transposed(Chain *chain)
{
    int kernel = between(1, 4), stride = between(1, 3), to = between(1, 4);
    int rows = (chain->h - 1) * stride + kernel;
    if (rows > 40)
        return false;
    add(chain, "ConvTranspose %s f32[%d,%d,%d,2]! strides=[%d,1]", last(chain), chain->c, to,
        kernel, stride);
    chain->c = to;
    chain->h = rows;
    chain->w++;
    return true;
}

static bool add_pool(Chain *chain)
{
    static const char *const pools[] = {"MaxPool", "AveragePool"};
    Windows h, w;
    if (!windows(chain->h, false, &h) || !windows(chain->w, false, &w))
        return false;
    add(chain, "%s %s kernel_shape=[%d,%d] strides=[%d,%d] pads=[%d,%d,%d,%d]", pools[pick(2)],
        last(chain), h.kernel, w.kernel, h.stride, w.stride, h.before, w.before, h.after, w.after);
    chain->h = h.out;
    chain->w = w.out;
    return true;
}

static bool add_slice(Chain *chain)
{
    int at = pick(chain->h), end = between(at + 1, chain->h), step = between(1, 2);
    if (end - at < 2)
        return false;
    add(chain, "Slice %s i64[1]{%d} i64[1]{%d} i64[1]{2} i64[1]{%d}", last(chain), at, end, step);
    chain->h = (end - at + step - 1) / step;
    return true;
}

static bool add_pad(Chain *chain)
{
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
    int before = pick(3), after = pick(3);
    if (before >= chain->h || after >= chain->h)
        return false;
    add(chain, "Pad %s i64[8]{0,0,%d,0,0,0,%d,0} mode=\"%s\"", last(chain), before, after,
        modes[pick(4)]);
    chain->h += before + after;
    return true;
}

static bool add_resize(Chain *chain)
{
    static const char *const modes[] = {"linear", "nearest", "cubic"};
    static const char *const places[] = {"half_pixel", "asymmetric", "align_corners"};
    chain->h = between(1, 2 * chain->h);
    chain->h = chain->h < 40 ? chain->h : 40;
    add(chain,
        "Resize y%d - - i64[4]{2,%d,%d,%d} mode=\"%s\" coordinate_transformation_mode=\"%s\"",
        chain->n - 1, chain->c, chain->h, chain->w, modes[pick(3)], places[pick(3)]);
    return true;
}

static bool add_along(Chain *chain)
{
    switch (pick(4)) {
    case 0:
        add(chain, "Roll %s axes=[2,3] shifts=[%d,%d]", last(chain), between(-5, 5),
            between(-3, 3));
        break;
    case 1:
        add(chain, "CumSum %s i64[]{%d} exclusive=%d reverse=%d", last(chain), between(1, 3),
            pick(2), pick(2));
        break;
    case 2:
        add(chain, "LRN %s size=%d", last(chain), 1 + 2 * pick(2));
        break;
    default:
        add(chain, "Softmax %s axis=%d", last(chain), between(1, 3));
    }
    return true;
}

static bool (*const links[])(Chain *chain) = {add_conv,  add_conv, add_transposed, add_pool,
                                              add_slice, add_pad,  add_resize,     add_along};

static Chain random_chain(Arena *arena, bool trains)
{
    Chain chain = {buf_new(arena), between(1, 4), between(3, 17), between(2, 12), 1};
    buf_printf(&chain.text,
               trains ? "y0 <- Mul f32[2,%d,%d,%d] f32[2,%d,%d,%d]!" : "y0 <- Neg f32[2,%d,%d,%d]",
               chain.c, chain.h, chain.w, chain.c, chain.h, chain.w);
    for (int n = between(1, 4), tries = 0; n > 0 && tries < 50; tries++)
        n -= links[pick(COUNT_OF(links))](&chain);
    buf_printf(&chain.text,
               trains ? "; z <- Mul %s %s; l <- ReduceMean z keepdims=0" : "; z <- Neg %s",
               last(&chain), last(&chain));
    return chain;
}

/* Each axis shards a dim of the first value or of another one, rows and columns most often. */
static void pin_at_random(Planning *p, const Chain *chain)
{
    static const int dims[] = {2, 2, 2, 3, 3, 1, 1, 0};
    mesh_each_axis (axis, p->mesh) {
        int at = pick(3) ? 0 : pick(chain->n);
        planning_pin(p, arena_printf(p->arena, "y%d", at), dims[pick(COUNT_OF(dims))],
                     arena_printf(p->arena, "%.*s", STR_ARG(str_from(axis->name))), 1, false);
    }
}

static void run_chains(int n, bool trains)
{
    static const RunOptions verified = {.verify = true, .seed = 3, .repeat = 1};
    static const char *const meshes[] = {"a=2", "a=3", "a=5", "a=2,b=2", "a=3,b=2", "a=2,b=2,c=2"};
    for (int i = 0; i < n; i++) {
        Arena *arena = arena_new();
        Chain chain = random_chain(arena, trains);
        const char *mesh = meshes[pick(COUNT_OF(meshes))];
        Planning *p = planning_text(chain.text.s, mesh);
        if (trains)
            planning_train(p, "", "sgd");
        pin_at_random(p, &chain);
        planning_make(p);
        RunReport report;
        Error err = {0};
        if (!run_plan(p->arena, p->plan, &verified, &report, &err))
            fail_msg("%s on %s: %s", chain.text.s, mesh, err.text);
        if (!report.ok)
            fail_msg("%s on %s is wrong", chain.text.s, mesh);
        planning_close(p);
        arena_free(arena);
    }
}

static void chains_run_as_on_one_device(void **state)
{
    (void)state;
    seed = 41;
    run_chains(120, false);
}

static void chains_train_as_on_one_device(void **state)
{
    (void)state;
    seed = 43;
    run_chains(80, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_run_as_on_one_device),
        cmocka_unit_test(chains_train_as_on_one_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
