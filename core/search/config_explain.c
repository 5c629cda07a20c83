#include "core/search/config_explain.h"

#include "core/search/config_pins.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const char *const axis_of_change[] = {"pp", "dp", "cp", "ep", "tp"}; /* ORDER CONFIG_AXIS */

#define LEAST_US 0.5 /* of a difference that is told */

typedef struct {
    Arena *arena;
    ConfigSearch *search;
    const ConfigPlan *best;
    int64_t max_peak;
    Vec(ConfigChange) changes;
    Vec(Configuration) configs; /* of each change */
    Error *err;
} Changing;

/* ---- changes ---- */

/* One that is in the space and not the best itself: its bounds. */
static bool add_change(Changing *changing, Configuration config, const char *what)
{
    if (!config_is_in(config_space_of(changing->search), &config) ||
        memcmp(&config, &changing->best->config, sizeof config) == 0)
        return true;
    ConfigChange change = {.what = what};
    ConfigRound bound[CONFIG_ROUNDS];
    if (!config_bounds_of(changing->search, &config, bound, changing->err))
        return changing->err->kind != ERROR_CANCELLED;
    change.bound_us = bound[CONFIG_ROUNDS - 1].us;
    change.bound_bytes = bound[CONFIG_ROUNDS - 1].bytes;
    change.fits = change.bound_bytes <= changing->max_peak;
    if (change.bound_us > 0) {
        vec_push(changing->arena, &changing->changes, change);
        vec_push(changing->arena, &changing->configs, config);
    }
    return true;
}

/* As many samples a step. */
static bool add_with_samples(Changing *changing, Configuration config, const char *what)
{
    int64_t each = config_space_of(changing->search)->samples / config_samples_of(&config);
    config.micro_batches = (int32_t)(each / config.micro_batch);
    return config.micro_batches < 1 || add_change(changing, config, what);
}

/* An axis of another size, with dp in proportion; 0: it cannot have that size. */
static bool add_axis(Changing *changing, int axis, int32_t size, int32_t dp)
{
    Configuration config = changing->best->config;
    int32_t had = config.size[axis];
    if (size == 0 || dp == 0)
        return true;
    config.size[axis] = size;
    config.size[CONFIG_DP] = dp;
    if (config.size[CONFIG_TP] == 1)
        config.sequence_parallel = 0;
    else if (axis == CONFIG_TP && had == 1)
        config.sequence_parallel = 1;
    return add_with_samples(changing, config,
                            arena_printf(changing->arena,
                                         "%s=%" PRId32 " instead of %" PRId32 ", dp=%" PRId32,
                                         axis_of_change[axis], size, had, dp));
}

static int32_t half(int32_t n)
{
    return n % 2 == 0 ? n / 2 : 0;
}

static bool add_axes(Changing *changing)
{
    const int32_t *size = changing->best->config.size;
    for (int a = 0; a < CONFIG_AXES; a++)
        if (a != CONFIG_DP && (!add_axis(changing, a, size[a] * 2, half(size[CONFIG_DP])) ||
                               !add_axis(changing, a, half(size[a]), size[CONFIG_DP] * 2)))
            return false;
    return true;
}

static bool add_batch(Changing *changing, int32_t samples)
{
    Configuration config = changing->best->config;
    const char *what = arena_printf(changing->arena, "micro_batch=%" PRId32 " instead of %" PRId32,
                                    samples, config.micro_batch);
    config.micro_batch = samples;
    return samples == 0 || add_with_samples(changing, config, what);
}

static bool add_virtual(Changing *changing, int stages)
{
    Configuration config = changing->best->config;
    const char *what =
        arena_printf(changing->arena, "virtual=%d instead of %d", stages, config.virtual);
    config.virtual = (uint8_t)stages;
    return add_change(changing, config, what);
}

static bool add_schedules(Changing *changing)
{
    const Configuration *best = &changing->best->config;
    for (int s = 0; config_schedules[s].name; s++) {
        Configuration other = *best;
        const ConfigSchedule *row = &config_schedules[s];
        other.schedule = (uint8_t)s;
        if (other.virtual < row->least || other.virtual > row->most)
            other.virtual = row->least;
        const char *what = arena_printf(changing->arena, "schedule=%s", row->name);
        if (s != best->schedule && !add_change(changing, other, what))
            return false;
    }
    return add_virtual(changing, best->virtual + 1) && add_virtual(changing, best->virtual - 1);
}

static bool add_states(Changing *changing)
{
    const Configuration *best = &changing->best->config;
    Arena *arena = changing->arena;
    for (int i = 0; i < CONFIG_ZEROS; i++) {
        Configuration other = *best;
        other.zero = (uint8_t)i;
        if (i != best->zero &&
            !add_change(changing, other,
                        arena_printf(arena, "zero=%d instead of %d", i, best->zero)))
            return false;
    }
    for (int i = 0; i < AGAIN_COUNT; i++) {
        Configuration other = *best;
        other.recompute = (uint8_t)i;
        if (i != best->recompute &&
            !add_change(changing, other,
                        arena_printf(arena, "recompute=%s instead of %s", config_again_name(i),
                                     config_again_name(best->recompute))))
            return false;
    }
    Configuration parallel = *best, split = *best;
    parallel.sequence_parallel = !best->sequence_parallel;
    split.split = best->split == SPLIT_EQUAL ? SPLIT_BY_TIME : SPLIT_EQUAL;
    return add_change(changing, parallel,
                      parallel.sequence_parallel ? "with sequence_parallel"
                                                 : "without sequence_parallel") &&
           add_change(changing, split,
                      split.split == SPLIT_EQUAL ? "equal stages" : "stages by time");
}

/* ---- their plans ---- */

static double part_of_plan(const ConfigPlan *plan, const char *name)
{
    double us = 0;
    for (int i = 0; i < plan->n_parts; i++)
        us += strcmp(plan->part[i].name, name) == 0 ? plan->part[i].us : 0;
    return us;
}

static int larger_first(const void *a, const void *b)
{
    double x = fabs(((const ConfigDelta *)a)->us), y = fabs(((const ConfigDelta *)b)->us);
    return x > y ? -1 : x < y;
}

static void compare(Arena *arena, const ConfigPlan *best, ConfigChange *change)
{
    Vec(ConfigDelta) deltas = {0};
    const ConfigPlan *plans[2] = {change->plan, best};
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < plans[p]->n_parts; i++) {
            const char *name = plans[p]->part[i].name;
            double us = part_of_plan(change->plan, name) - part_of_plan(best, name);
            bool known = fabs(us) < LEAST_US;
            for (int d = 0; d < deltas.n; d++)
                known |= strcmp(deltas.at[d].name, name) == 0;
            if (!known)
                vec_push(arena, &deltas, ((ConfigDelta){name, us}));
        }
    if (deltas.n > 0)
        qsort(deltas.at, (size_t)deltas.n, sizeof *deltas.at, larger_first);
    change->n_deltas = deltas.n;
    change->delta = deltas.at;
}

static double time_of(const ConfigChange *change)
{
    return change->plan ? change->plan->step_us : change->bound_us;
}

static int better_first(const void *a, const void *b)
{
    const ConfigChange *x = a, *y = b;
    if (x->fits != y->fits)
        return x->fits ? -1 : 1;
    if ((x->plan != NULL) != (y->plan != NULL))
        return x->plan ? -1 : 1;
    return time_of(x) < time_of(y) ? -1 : time_of(x) > time_of(y);
}

/* The one with the least bound that fits as far as is known, and is not planned; -1. */
static int next_to_plan(const Changing *changing)
{
    int next = -1;
    for (int i = 0; i < changing->changes.n; i++) {
        const ConfigChange *change = &changing->changes.at[i];
        if (change->fits && !change->plan &&
            (next < 0 || change->bound_us < changing->changes.at[next].bound_us))
            next = i;
    }
    return next;
}

static bool plan_change(Changing *changing, int i)
{
    ConfigChange *change = &changing->changes.at[i];
    const ConfigPlan *plan = config_plan(changing->search, &changing->configs.at[i], changing->err);
    if (!plan)
        return false;
    change->fits = !plan->failed && plan->legal && plan->peak_bytes <= changing->max_peak;
    if (plan->failed)
        return true;
    change->plan = plan;
    compare(changing->arena, changing->best, change);
    return true;
}

/* Plans that are the best's under other settings. */
static void drop_same(Changing *changing)
{
    int n = 0;
    for (int i = 0; i < changing->changes.n; i++) {
        const ConfigPlan *plan = changing->changes.at[i].plan, *best = changing->best;
        if (!plan || plan->step_us != best->step_us || plan->peak_bytes != best->peak_bytes)
            changing->changes.at[n++] = changing->changes.at[i];
    }
    changing->changes.n = n;
}

/* most: how many are planned at most, those with the least bounds. */
static bool find_changes(Arena *arena, ConfigSearch *search, const ConfigPlan *best,
                         int64_t max_peak, int most, ConfigChanges *out, Error *err)
{
    Changing changing = {
        .arena = arena, .search = search, .best = best, .max_peak = max_peak, .err = err};
    if (!add_axes(&changing) || !add_batch(&changing, best->config.micro_batch * 2) ||
        !add_batch(&changing, half(best->config.micro_batch)) || !add_schedules(&changing) ||
        !add_states(&changing))
        return false;
    for (int i, n = 0; n < most && (i = next_to_plan(&changing)) >= 0; n++)
        if (!plan_change(&changing, i))
            return false;
    drop_same(&changing);
    if (changing.changes.n > 0)
        qsort(changing.changes.at, (size_t)changing.changes.n, sizeof *changing.changes.at,
              better_first);
    *out = (ConfigChanges){changing.changes.n, changing.changes.at};
    return true;
}

/* ---- the frontier ---- */

static bool find_frontier(Arena *arena, ConfigSearch *search, const ConfigQuestion *question,
                          const ConfigPlan ***out, int *n, Error *err)
{
    Vec(const ConfigPlan *) points = {0};
    ConfigQuestion next = *question;
    for (;;) {
        ConfigAnswer answer;
        if (!config_search(search, &next, &answer, err))
            return false;
        if (!answer.best)
            break;
        vec_push(arena, &points, answer.best);
        if (answer.outcome == SEARCH_PLAN && !answer.proven && answer.counts.left > 0 &&
            answer.bound < answer.best->step_us * (1 - question->gap))
            break; /* stopped */
        next.max_peak_bytes = answer.best->peak_bytes - answer.best->peak_bytes / 30 - 1;
    }
    *out = points.at;
    *n = points.n;
    return true;
}

/* ---- a question with what explains its answer ---- */

enum { CHANGES_PLANNED = 5 };
#define ROUGHLY .01 /* the gap of answers that only explain */

static bool explain_best(Arena *arena, ConfigSearch *search, const ConfigQuestion *question,
                         ConfigFound *out, Error *err)
{
    ConfigQuestion unlimited = *question;
    unlimited.max_peak_bytes = INT64_MAX;
    unlimited.gap = fmax(question->gap, ROUGHLY);
    return find_changes(arena, search, out->answer.best, question->max_peak_bytes, CHANGES_PLANNED,
                        &out->changes, err) &&
           config_search(search, &unlimited, &out->unlimited, err);
}

/* Nothing fits: which needs least. */
static bool explain_none(ConfigSearch *search, const ConfigQuestion *question, ConfigFound *out,
                         Error *err)
{
    ConfigQuestion least = *question;
    ConfigAnswer answer;
    least.aim = LEAST_MEMORY;
    least.max_peak_bytes = INT64_MAX;
    if (!config_search(search, &least, &answer, err))
        return false;
    out->least = answer.best;
    return true;
}

bool config_find(Arena *arena, ConfigSearch *search, const ConfigQuestion *question, bool frontier,
                 ConfigFound *out, Error *err)
{
    Error why = {0};
    bool ok = true;
    *out = (ConfigFound){0};
    if (frontier) {
        ok = find_frontier(arena, search, question, &out->point, &out->n_points, err);
        out->answer.best = out->n_points > 0 ? out->point[0] : NULL;
        return ok;
    }
    if (!config_search(search, question, &out->answer, err))
        return false;
    if (out->answer.best && out->answer.counts.left == 0)
        ok = explain_best(arena, search, question, out, &why);
    else if (out->answer.outcome == SEARCH_INFEASIBLE)
        ok = explain_none(search, question, out, &why);
    if (!ok && why.kind != ERROR_CANCELLED && err)
        *err = why;
    return ok || why.kind == ERROR_CANCELLED;
}

/* ---- pins ---- */

/* The answer without the settings that are lifted. */
static bool ask_without(Arena *arena, const ConfigRequest *request, const ConfigQuestion *question,
                        const bool *lifted, ConfigAnswer *out, Error *err)
{
    SessionOptions options = *request->options;
    ConfigRequest without = *request;
    options.settings = (PolicySettings){0};
    for (int i = 0; i < request->options->settings.n; i++)
        if (!lifted[i])
            vec_push(arena, &options.settings, request->options->settings.at[i]);
    without.options = &options;
    without.report = NULL;
    ConfigSearch *search = config_search_new(arena, &without, err);
    bool ok = search && config_search(search, question, out, err) &&
              progress_goes_on(request->progress, err);
    config_search_free(search);
    return ok;
}

/* Lifts one pin after the other; those without which something fits are taken back, and conflict.
 */
static bool find_conflict(Arena *arena, const ConfigRequest *request,
                          const ConfigQuestion *question, bool *lifted, ConfigPinPrice *price,
                          Error *err)
{
    const PolicySettings *settings = &request->options->settings;
    ConfigQuestion any = *question;
    any.gap = .99; /* the first that fits */
    for (int i = 0, p = 0; i < settings->n; i++) {
        ConfigAnswer answer;
        if (!config_pin_is(str_from(settings->at[i].name)))
            continue;
        lifted[i] = true;
        if (!ask_without(arena, request, &any, lifted, &answer, err))
            return false;
        price[p++].conflict = answer.best != NULL;
        lifted[i] = !answer.best;
    }
    return true;
}

bool config_price_pins(Arena *arena, const ConfigRequest *request, const ConfigQuestion *question,
                       bool fits, ConfigPinPrice **out, int *n, Error *err)
{
    const PolicySettings *settings = &request->options->settings;
    bool *lifted = arena_array(arena, bool, settings->n + 1);
    ConfigPinPrice *price = arena_array(arena, ConfigPinPrice, settings->n + 1);
    int n_pins = 0;
    for (int i = 0; i < settings->n; i++)
        n_pins += config_pin_is(str_from(settings->at[i].name));
    *out = price;
    *n = n_pins > 1 ? n_pins + 1 : n_pins;
    if (!fits && !find_conflict(arena, request, question, lifted, price, err))
        return false;
    memset(lifted, 0, sizeof *lifted * (size_t)settings->n);
    for (int i = 0, p = 0; i < settings->n; i++) {
        const PolicySetting *at = &settings->at[i];
        if (!config_pin_is(str_from(at->name)))
            continue;
        price[p].pin = arena_printf(arena, "%s=%s", at->name, at->value);
        lifted[i] = true;
        if (!ask_without(arena, request, question, lifted, &price[p++].answer, err))
            return false;
        lifted[i] = false;
    }
    for (int i = 0; i < settings->n; i++)
        lifted[i] = config_pin_is(str_from(settings->at[i].name));
    return n_pins < 2 || ask_without(arena, request, question, lifted, &price[n_pins].answer, err);
}
