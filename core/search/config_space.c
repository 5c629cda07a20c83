#include "core/search/config_space.h"

#include <inttypes.h>
#include <stdlib.h>

/* Where two are the same order of work, the better known. */
const ConfigSchedule config_schedules[] = {
    {"1f1b", 1, 1, false, false},  {"1f1b_interleaved", 2, CONFIG_VIRTUAL_MAX, false, false},
    {"gpipe", 1, 1, false, false}, {"zb1p", 1, 1, false, true},
    {"zb2p", 1, 1, false, true},   {"interleaved_zero_bubble", 2, CONFIG_VIRTUAL_MAX, false, true},
    {"zbv", 2, 2, true, true},     {"dualpipev", 2, 2, true, true},
    {NULL, 0, 0, false, false},
};

static const char *const axis_names[] = {"pp", "dp", "cp", "ep", "tp"};
static const char *const again_names[] = {"none", "selective", "full"};
static const ConfigAxis orders[CONFIG_ORDERS][CONFIG_AXES] = {
    {CONFIG_PP, CONFIG_DP, CONFIG_CP, CONFIG_EP, CONFIG_TP},
    {CONFIG_DP, CONFIG_PP, CONFIG_CP, CONFIG_EP, CONFIG_TP},
    {CONFIG_PP, CONFIG_TP, CONFIG_CP, CONFIG_EP, CONFIG_DP},
};

enum { PERMUTATIONS = 120 }; /* of the axes, behind `orders` in number */

/* The axis at place i, major first. */
static ConfigAxis axis_at(int order, int i)
{
    int left[CONFIG_AXES], rest = order - CONFIG_ORDERS, ways = PERMUTATIONS;
    if (order < CONFIG_ORDERS)
        return orders[order][i];
    for (int a = 0; a < CONFIG_AXES; a++)
        left[a] = a;
    for (int n = CONFIG_AXES;; n--, i--) {
        ways /= n;
        int at = rest / ways;
        if (i == 0)
            return (ConfigAxis)left[at];
        rest %= ways;
        memmove(left + at, left + at + 1, sizeof *left * (size_t)(n - at - 1));
    }
}

int config_order(const ConfigAxis *axis, int n)
{
    int order = 0;
    for (int found = 0; found < n; order += found < n) {
        found = 0;
        for (int i = 0; i < CONFIG_AXES; i++)
            found += found < n && axis_at(order, i) == axis[found];
    }
    return order;
}

const char *config_again_name(int recompute)
{
    return again_names[recompute];
}

const char *config_left_text(ConfigLeft reason)
{
    static const char *const texts[] = {"more stages than layers", "heads do not divide",
                                        "experts do not divide", "the sequence does not divide",
                                        "samples of a step do not divide"};
    return texts[reason];
}

/* ---- one configuration ---- */

int config_n_stages(const Configuration *config)
{
    return config->size[CONFIG_PP] * config->virtual;
}

int config_lane(const Configuration *config, int stage)
{
    int pp = config->size[CONFIG_PP];
    bool back = config_schedules[config->schedule].in_a_v && stage >= pp;
    return back ? pp - 1 - stage % pp : stage % pp;
}

int64_t config_samples_of(const Configuration *config)
{
    return (int64_t)config->size[CONFIG_DP] * config->size[CONFIG_EP];
}

int64_t config_stride(const Configuration *config, ConfigAxis axis)
{
    int64_t stride = 1;
    for (int i = CONFIG_AXES - 1; axis_at(config->order, i) != axis; i--)
        stride *= config->size[axis_at(config->order, i)];
    return stride;
}

void config_mesh(const Configuration *config, const char *const *names, Buf *out)
{
    names = names ? names : axis_names;
    const int32_t *size = config->size;
    bool named = size[CONFIG_PP] > 1 || size[CONFIG_DP] > 1 || size[CONFIG_TP] > 1;
    const char *comma = "";
    for (int i = 0; i < CONFIG_AXES; i++) {
        ConfigAxis axis = axis_at(config->order, i);
        if (size[axis] == 1 && (named || axis != CONFIG_DP))
            continue;
        buf_printf(out, "%s%s=%" PRId32, comma, names[axis], config->size[axis]);
        comma = ",";
    }
}

void config_text(const Configuration *config, Buf *out)
{
    const ConfigSchedule *schedule = &config_schedules[config->schedule];
    buf_printf(out, "%" PRId32 " x %" PRId32, config->micro_batches, config->micro_batch);
    if (config->size[CONFIG_PP] > 1)
        buf_printf(out, ", %s", schedule->name);
    if (config->virtual > 1 && !schedule->in_a_v)
        buf_printf(out, " v%d", config->virtual);
    buf_printf(out, ", zero %d, again %s%s", config->zero, again_names[config->recompute],
               config->sequence_parallel ? ", sp" : "");
    if (config->split == SPLIT_BY_TIME)
        buf_puts(out, ", uneven");
}

/* "7,8x14,6" */
static void put_layers(const int *layers, int n, Buf *out)
{
    for (int i = 0, run; i < n; i += run) {
        for (run = 1; i + run < n && layers[i + run] == layers[i];)
            run++;
        buf_printf(out, "%s%d", i > 0 ? "," : "", layers[i]);
        if (run > 1)
            buf_printf(out, "x%d", run);
    }
}

bool config_settings(Arena *arena, const Configuration *config, const int *layers,
                     const PolicySettings *given, PolicySettings *out, Error *err)
{
    const ConfigSchedule *schedule = &config_schedules[config->schedule];
    Buf split = buf_new(arena);
    if (layers && config_n_stages(config) > 1)
        put_layers(layers, config_n_stages(config), &split);
    const char *const texts[] = {
        arena_printf(arena, "micro_batch=%" PRId32, config->micro_batch),
        arena_printf(arena, "micro_batches=%" PRId32, config->micro_batches),
        arena_printf(arena, "schedule=%s", schedule->name),
        arena_printf(arena, "virtual=%d", schedule->in_a_v ? 1 : config->virtual),
        arena_printf(arena, "recompute=%s", again_names[config->recompute]),
        arena_printf(arena, "zero=%d", config->zero),
        arena_printf(arena, "sequence_parallel=%s", config->sequence_parallel ? "true" : "false"),
        split.n > 0 ? arena_printf(arena, "stage_layers=%s", split.s) : NULL,
    };
    *out = policy_settings_copy(arena, given);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i] && !policy_settings_with(arena, out, str_from(texts[i]), out, err))
            return false;
    return true;
}

/* ---- orders of the axes ---- */

/* The stride of an axis, or 1 where all that it and the axes inside of it reach is one node: there
 * the order does not matter. */
static int64_t far_stride(const Configuration *config, ConfigAxis axis, int64_t node)
{
    int64_t stride = config_stride(config, axis);
    return stride * config->size[axis] <= node && node % (stride * config->size[axis]) == 0
               ? 1
               : stride;
}

/* Whether another order puts the devices of these axes on the same nodes. */
static bool axes_lie_alike(const ConfigSpace *space, Configuration config, int order, uint32_t axes)
{
    Configuration other = config;
    bool same = true;
    other.order = (uint8_t)order;
    for (int a = 0; a < CONFIG_AXES; a++)
        same &= !(axes >> a & 1) || config.size[a] == 1 ||
                far_stride(&config, (ConfigAxis)a, space->devices_per_node) ==
                    far_stride(&other, (ConfigAxis)a, space->devices_per_node);
    return same;
}

/* Whether no order before it puts the devices of these axes on the same nodes. */
static bool order_is_new(const ConfigSpace *space, Configuration config, int order, uint32_t axes)
{
    bool is_new = true;
    config.order = (uint8_t)order;
    for (int before = 0; before < order && is_new; before++)
        is_new = !axes_lie_alike(space, config, before, axes);
    return is_new;
}

static void visit_orders(const ConfigSpace *space, const Configuration *config, uint32_t axes,
                         ConfigVisit *visit, void *context)
{
    Configuration at = *config;
    bool any = space->pin_order < 0;
    int last = any ? CONFIG_ORDERS - 1 : space->pin_order;
    for (int order = any ? 0 : last; order <= last; order++) {
        at.order = (uint8_t)order;
        if (!any || order_is_new(space, *config, order, axes))
            visit(context, &at);
    }
}

/* ---- all of them ---- */

typedef Vec(int64_t) Divisors;

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static Divisors divisors_of(Arena *arena, int64_t n)
{
    Divisors out = {0};
    for (int64_t d = 1; d * d <= n; d++) {
        if (n % d != 0)
            continue;
        vec_push(arena, &out, d);
        if (d * d != n)
            vec_push(arena, &out, n / d);
    }
    if (out.n > 0)
        qsort(out.at, (size_t)out.n, sizeof *out.at, by_size);
    return out;
}

static bool allows(int pin, int value)
{
    return pin < 0 || pin == value;
}

typedef struct {
    Arena *arena;
    const ConfigSpace *space;
    ConfigGroups *out;
    int64_t *left;
    Divisors devices, samples;
} Filling;

static void add_group(void *context, const Configuration *config)
{
    const Filling *filling = context;
    vec_push(filling->arena, filling->out, ((ConfigGroup){*config}));
}

/* A step is whole micro-batches on each rank of the batch. */
static void add_batches(Filling *filling, Configuration config)
{
    const ConfigSpace *space = filling->space;
    int64_t each = space->samples / config_samples_of(&config);
    for (int i = 0; i < filling->samples.n; i++) {
        int64_t b = filling->samples.at[i];
        if (b > each || each % b != 0 || each / b > MICRO_BATCHES_MAX ||
            (space->pin_micro_batch > 0 && space->pin_micro_batch != b) ||
            (space->pin_micro_batches > 0 && space->pin_micro_batches != each / b))
            continue;
        config.micro_batch = (int32_t)b;
        config.micro_batches = (int32_t)(each / b);
        for (int again = 0; again < AGAIN_COUNT; again++)
            for (int parallel = 0; parallel < (config.size[CONFIG_TP] > 1 ? 2 : 1); parallel++) {
                config.recompute = (uint8_t)again;
                config.sequence_parallel = (uint8_t)parallel;
                if (allows(space->pin_recompute, again) &&
                    allows(space->pin_sequence_parallel, parallel))
                    visit_orders(space, &config, CONFIG_AXES_SHARDING, add_group, filling);
            }
    }
}

static bool heads_divide(const ConfigSpace *space, int64_t tp)
{
    for (int i = 0; i < space->n_units; i++)
        if (space->units[i] % tp != 0 && tp % space->units[i] != 0)
            return false;
    return space->heads == 0 || space->heads % tp == 0;
}

/* What is wrong with a mesh; LEFT_COUNT: nothing. */
static ConfigLeft wrong_with(const ConfigSpace *space, const Configuration *config)
{
    const int32_t *size = config->size;
    if (size[CONFIG_PP] > space->n_layers)
        return LEFT_LAYERS;
    if (!heads_divide(space, size[CONFIG_TP]))
        return LEFT_HEADS;
    if (space->experts % size[CONFIG_EP] != 0)
        return LEFT_EXPERTS;
    if (size[CONFIG_CP] > 1 && (space->sequence == 0 || space->sequence % size[CONFIG_CP] != 0))
        return LEFT_SEQUENCE;
    return space->samples % config_samples_of(config) != 0 ? LEFT_SAMPLES : LEFT_COUNT;
}

static bool has_pinned_axes(const ConfigSpace *space, const Configuration *config)
{
    for (int a = 0; a < CONFIG_AXES; a++)
        if (space->pin[a] > 0 && space->pin[a] != config->size[a])
            return false;
    return true;
}

static void add_mesh(Filling *filling, const int64_t size[CONFIG_AXES])
{
    Configuration config = {.virtual = 1};
    for (int a = 0; a < CONFIG_AXES; a++)
        config.size[a] = (int32_t)size[a];
    if (!has_pinned_axes(filling->space, &config))
        return;
    ConfigLeft wrong = wrong_with(filling->space, &config);
    if (wrong == LEFT_COUNT)
        add_batches(filling, config);
    else
        filling->left[wrong]++;
}

static void add_meshes(Filling *filling, int axis, int64_t rest, int64_t size[CONFIG_AXES])
{
    if (axis == CONFIG_AXES - 1) {
        size[axis] = rest;
        add_mesh(filling, size);
        return;
    }
    for (int i = 0; i < filling->devices.n; i++) {
        int64_t n = filling->devices.at[i];
        if (n > rest || rest % n != 0 || (axis == CONFIG_EP && n > filling->space->experts))
            continue;
        size[axis] = n;
        add_meshes(filling, axis + 1, rest / n, size);
    }
}

bool config_groups(Arena *arena, const ConfigSpace *space, ConfigGroups *out,
                   int64_t left[LEFT_COUNT], Error *err)
{
    int64_t size[CONFIG_AXES];
    memset(left, 0, LEFT_COUNT * sizeof *left);
    Filling filling = {arena,
                       space,
                       out,
                       left,
                       divisors_of(arena, space->n_devices),
                       divisors_of(arena, space->samples)};
    add_meshes(&filling, 0, space->n_devices, size);
    if (out->n > 0)
        return true;
    error_kind(err, ERROR_CONFLICT, "%" PRId64 " devices cannot be shared out for this model",
               space->n_devices);
    Buf why = buf_new(arena);
    for (int i = 0; i < LEFT_COUNT; i++)
        if (left[i] > 0)
            buf_printf(&why, "%s%" PRId64 " of the meshes: %s", why.n > 0 ? "; " : "", left[i],
                       config_left_text((ConfigLeft)i));
    return error_hint(err, "%s",
                      why.n > 0 ? why.s
                                : "no mesh has the sizes that are pinned, with "
                                  "such micro-batches");
}

static bool schedule_fits(const ConfigSpace *space, const Configuration *config)
{
    const ConfigSchedule *schedule = &config_schedules[config->schedule];
    bool alone = config->size[CONFIG_PP] == 1;
    int given = schedule->in_a_v ? 1 : config->virtual;
    return (!alone || config->schedule == 0) && config_n_stages(config) <= space->n_layers &&
           allows(space->pin_schedule, config->schedule) && allows(space->pin_virtual, given);
}

typedef struct {
    const ConfigSpace *space;
    const Configuration *group; /* whose axes of a micro-batch lie as they do in these */
    ConfigVisit *visit;
    void *context;
} States;

static void visit_levels(void *context, const Configuration *config)
{
    const States *states = context;
    bool several = config_samples_of(config) * config->size[CONFIG_CP] > 1;
    if (!axes_lie_alike(states->space, *config, states->group->order, CONFIG_AXES_SHARDING))
        return;
    for (int zero = 0; zero < (several ? CONFIG_ZEROS : 1); zero++) {
        Configuration state = *config;
        state.zero = (uint8_t)zero;
        if (allows(states->space->pin_zero, zero))
            states->visit(states->context, &state);
    }
}

void config_each_state(const ConfigSpace *space, const Configuration *config, ConfigVisit *visit,
                       void *context)
{
    States states = {space, config, visit, context};
    visit_orders(space, config, CONFIG_AXES_ALL, visit_levels, &states);
}

void config_each_schedule(const ConfigSpace *space, const ConfigGroup *group, ConfigVisit *visit,
                          void *context)
{
    Configuration config = group->first;
    for (int s = 0; config_schedules[s].name; s++)
        for (int v = config_schedules[s].least; v <= config_schedules[s].most; v++) {
            config.schedule = (uint8_t)s;
            config.virtual = (uint8_t)v;
            if (!schedule_fits(space, &config))
                continue;
            for (int split = 0; split < (config.size[CONFIG_PP] > 1 ? SPLIT_COUNT : 1); split++) {
                config.split = (uint8_t)split;
                visit(context, &config);
            }
        }
}

static void count_one(void *context, const Configuration *config)
{
    (void)config;
    ++*(int64_t *)context;
}

int64_t config_count_states(const ConfigSpace *space, const Configuration *config)
{
    int64_t n = 0;
    config_each_state(space, config, count_one, &n);
    return n;
}

int64_t config_count(const ConfigSpace *space, const ConfigGroup *group)
{
    int64_t n = 0;
    config_each_schedule(space, group, count_one, &n);
    return n * config_count_states(space, &group->first);
}

static bool schedule_is_in(const ConfigSpace *space, const Configuration *config)
{
    const ConfigSchedule *row = &config_schedules[config->schedule];
    bool alone = config->size[CONFIG_PP] == 1;
    return config->virtual >= row->least && config->virtual <= row->most &&
           schedule_fits(space, config) && (!alone || config->split == SPLIT_EQUAL);
}

bool config_is_in(const ConfigSpace *space, const Configuration *config)
{
    int64_t devices = 1;
    bool several = config_samples_of(config) * config->size[CONFIG_CP] > 1;
    for (int a = 0; a < CONFIG_AXES; a++)
        devices *= config->size[a];
    return devices == space->n_devices && has_pinned_axes(space, config) &&
           wrong_with(space, config) == LEFT_COUNT && config->micro_batches >= 1 &&
           config->micro_batches <= MICRO_BATCHES_MAX &&
           config_samples_of(config) * config->micro_batch * config->micro_batches ==
               space->samples &&
           (space->pin_micro_batch == 0 || space->pin_micro_batch == config->micro_batch) &&
           (space->pin_micro_batches == 0 || space->pin_micro_batches == config->micro_batches) &&
           allows(space->pin_order, config->order) && schedule_is_in(space, config) &&
           allows(space->pin_zero, config->zero) && (several || config->zero == 0) &&
           allows(space->pin_recompute, config->recompute) &&
           allows(space->pin_sequence_parallel, config->sequence_parallel) &&
           (config->size[CONFIG_TP] > 1 || !config->sequence_parallel);
}
