#include "core/search/config_search.h"

#include "core/base/clock.h"
#include "core/base/heap.h"
#include "core/search/config_bound.h"
#include "core/search/config_layers.h"
#include "core/search/config_model.h"
#include "core/search/config_parts.h"
#include "core/search/config_pins.h"
#include "core/search/config_plan.h"

#include <math.h>

/* ORDER ROUND */
typedef enum {
    ROUND_FLOPS,
    ROUND_WIDE,
    ROUND_GROUP,
    ROUND_STAGES,
    ROUND_STATE,
    ROUND_LAYERS
} Round;

typedef struct {
    Configuration config; /* of a group its first */
    uint8_t round;
    int32_t group; /* of which it is one, or all */
    int64_t n;     /* configurations */
    double us;
    int64_t bytes;
} Node;

struct ConfigSearch {
    Arena *arena;
    ConfigRequest request;
    SessionOptions options; /* without what is searched */
    ConfigSpace space;
    Machine machine;
    ConfigGroups groups;
    int64_t *group_n; /* configurations of each */
    int64_t left_out[LEFT_COUNT];
    Intern *plan_keys;
    ConfigKinds *kinds;
    Vec(const ConfigPlan *) planned;
    ConfigBounds *bounds;
};

const ConfigSpace *config_space_of(const ConfigSearch *search)
{
    return &search->space;
}

int64_t config_memory_of(const ConfigSearch *search)
{
    return search->machine.memory_bytes;
}

static bool cancelled(const ConfigSearch *search)
{
    return progress_stopped(search->request.progress);
}

/* The layers of each stage, in the arena. NULL if they cannot be planned. */
static int *split_of(ConfigSearch *search, Arena *arena, const Configuration *config, Error *err)
{
    KindParts group;
    int *layers = arena_array(arena, int, config_n_stages(config));
    if (!config_kinds_layers(search->kinds, config_layers_group, config, &group, err))
        return NULL;
    config_split(search->bounds, config, &group, layers);
    return layers;
}

/* Of stages whose parts are of the axes of a micro-batch alone. */
static ConfigRound round_of(ConfigSearch *search, const Configuration *config,
                            const KindParts *parts)
{
    Arena *scratch = arena_new();
    int *layers = arena_array(scratch, int, config_n_stages(config));
    config_split(search->bounds, config, parts, layers);
    const PartCost *stage = config_stages(scratch, search->bounds, config, parts, layers);
    int64_t shards = config_samples_of(config) * config->size[CONFIG_CP];
    ConfigRound out = {config_lanes_us(config, stage),
                       config_lanes_bytes(search->bounds, config, stage, shards)};
    arena_free(scratch);
    return out;
}

bool config_bounds_of(ConfigSearch *search, const Configuration *config,
                      ConfigRound out[CONFIG_ROUNDS], Error *err)
{
    int64_t shards;
    KindParts wide, group, whole;
    if (!config_kinds_layers(search->kinds, config_layers_wide, config, &wide, err) ||
        !config_kinds_layers(search->kinds, config_layers_group, config, &group, err) ||
        !config_kinds_whole(search->kinds, config, &whole, &shards, err))
        return false;
    int *layers = split_of(search, search->arena, config, err);
    ConfigBound bound = config_bound(search->bounds, config, &whole, layers, shards);
    out[0] = round_of(search, config, &wide);
    out[1] = round_of(search, config, &group);
    out[2] = (ConfigRound){bound.legal ? bound.us : 0, bound.bytes};
    return true;
}

/* ---- plans ---- */

SessionOptions config_options(const ConfigSearch *search, const ConfigPlan *plan)
{
    SessionOptions options = search->options;
    options.mesh = plan->mesh;
    options.settings = plan->settings;
    return options;
}

const ConfigPlan *const *config_planned(const ConfigSearch *search, int *n)
{
    *n = search->planned.n;
    return search->planned.at;
}

const ConfigPlan *config_plan(ConfigSearch *search, const Configuration *config, Error *err)
{
    int32_t known = intern_find(search->plan_keys, config, sizeof *config);
    if (known >= 0)
        return search->planned.at[known];
    int64_t shards;
    KindParts parts;
    if (!config_kinds_whole(search->kinds, config, &parts, &shards, err))
        return NULL;
    Arena *arena = search->arena;
    ConfigPlan *plan = arena_make(arena, ConfigPlan);
    const int *layers = split_of(search, arena, config, err);
    Buf mesh = buf_new(arena), text = buf_new(arena);
    plan->config = *config;
    if (!layers)
        return NULL;
    plan->bound_us = config_bound(search->bounds, config, &parts, layers, shards).us;
    config_mesh(config, NULL, &mesh);
    config_text(config, &text);
    plan->mesh = mesh.s;
    plan->text = text.s;
    if (!config_settings(arena, config, layers, &search->options.settings, &plan->settings, err))
        return NULL;
    SessionOptions options = config_options(search, plan);
    options.progress = search->request.progress;
    options.figures_only = true;
    config_plan_make(arena, &options, search->request.hooks, plan);
    if (plan->failed && cancelled(search)) {
        error_kind(err, ERROR_CANCELLED, "the search was stopped");
        return NULL;
    }
    intern_put(search->plan_keys, config, sizeof *config);
    vec_push(arena, &search->planned, plan);
    return plan;
}

/* ---- the search ---- */

typedef struct {
    ConfigSearch *search;
    const ConfigQuestion *question;
    ConfigAnswer *out;
    Arena *arena; /* of nodes */
    Heap heap;
    Vec(Node) nodes;
    Arena *scratch;  /* of what is expanded: its .. */
    KindParts parts; /* .. layers, .. */
    const PartCost *stages[SPLIT_COUNT][2][CONFIG_VIRTUAL_MAX + 1]; /* .. stages, .. */
    int64_t n_states; /* .. states of a schedule, .. */
    int32_t group;    /* .. group and bound */
    double least_us;
    double group_us;            /* the least of its schedules that fit */
    Configuration group_config; /* .. and which has it */
    int64_t group_bytes;
    double deadline_s;
    double best;         /* what is aimed at, of the best plan */
    int64_t n_steps;     /* of the search so far; without a plan .. */
    int guess_zero;      /* the highest level of ZeRO of a guess that is being made; else -1 */
    int64_t guess_at;    /* .. behind so many one is guessed */
    bool *guessed;       /* groups, by id */
    Configuration state; /* of a guess, whose level of ZeRO .. */
    int64_t state_bytes; /* .. needs at least as much */
} ConfigRounds;

static double aim_of(const ConfigRounds *run, double us, int64_t bytes)
{
    return run->question->aim == LEAST_TIME ? us : (double)bytes;
}

/* Whether a bound leaves a chance; counts it if it does not. */
static bool has_chance(ConfigRounds *run, const Node *node)
{
    ConfigCounts *counts = &run->out->counts;
    int64_t n = node->n;
    if (node->bytes > run->question->max_peak_bytes)
        counts->by_memory += n;
    else if (aim_of(run, node->us, node->bytes) >= run->best)
        counts->by_time += n;
    else
        return true;
    return false;
}

static void push(ConfigRounds *run, const Node *node)
{
    if (!has_chance(run, node))
        return;
    vec_push_own(run->arena, &run->nodes, *node);
    heap_push(run->arena, &run->heap,
              (HeapEntry){.key = aim_of(run, node->us, node->bytes),
                          .order = -node->round,
                          .item = run->nodes.n - 1});
}

/* Stages are split alike, and cost the same, for schedules of as many on the same lanes. */
static const PartCost *stages_of(ConfigRounds *run, const Configuration *config)
{
    bool in_a_v = config_schedules[config->schedule].in_a_v;
    const PartCost **known = &run->stages[config->split][in_a_v][config->virtual];
    if (!*known) {
        int *layers = arena_array(run->scratch, int, config_n_stages(config));
        config_split(run->search->bounds, config, &run->parts, layers);
        *known = config_stages(run->scratch, run->search->bounds, config, &run->parts, layers);
    }
    return *known;
}

static bool is_split_anew(ConfigRounds *run, const Configuration *config)
{
    if (config->split == SPLIT_EQUAL)
        return true;
    int n = config_n_stages(config);
    int *layers = arena_array(run->scratch, int, 2 * n);
    Configuration equal = *config;
    equal.split = SPLIT_EQUAL;
    config_split(run->search->bounds, config, &run->parts, layers);
    config_split(run->search->bounds, &equal, &run->parts, layers + n);
    return memcmp(layers, layers + n, sizeof *layers * (size_t)n) != 0;
}

/* Of all orders and levels of ZeRO that are looked at: the highest needs least memory. */
static Node node_of_schedule(ConfigRounds *run, const Configuration *config)
{
    const ConfigSpace *space = &run->search->space;
    const PartCost *stage = stages_of(run, config);
    Configuration sharded = *config;
    int zero = run->guess_zero >= 0 ? run->guess_zero : CONFIG_ZEROS - 1;
    sharded.zero = (uint8_t)(space->pin_zero >= 0 ? space->pin_zero : zero);
    int64_t shards = config_samples_of(config) * config->size[CONFIG_CP];
    return (Node){*config,
                  ROUND_STAGES,
                  run->group,
                  run->n_states,
                  fmax(run->least_us, config_lanes_us(config, stage)),
                  config_lanes_bytes(run->search->bounds, &sharded, stage, shards)};
}

static void push_schedule(void *context, const Configuration *config)
{
    ConfigRounds *run = context;
    Node node = node_of_schedule(run, config);
    if (is_split_anew(run, config))
        push(run, &node);
    else
        run->out->counts.same += node.n;
}

static const double guess_room = .95; /* of the limit: a plan needs more than its bound */

/* The least time of those that fit, and the least memory of all. A guess has none of the schedules
 * that need many micro-batches. */
static void bound_schedule(void *context, const Configuration *config)
{
    ConfigRounds *run = context;
    bool guesses = run->guess_zero >= 0;
    if (guesses && config_schedules[config->schedule].in_a_v)
        return;
    double room = (guesses ? guess_room : 1) * (double)run->question->max_peak_bytes;
    Node node = node_of_schedule(run, config);
    if ((double)node.bytes <= room && node.us < run->group_us) {
        run->group_us = node.us;
        run->group_config = *config;
    }
    run->group_bytes = run->group_bytes < node.bytes ? run->group_bytes : node.bytes;
}

static void push_state(void *context, const Configuration *config)
{
    ConfigRounds *run = context;
    int64_t shards = config_samples_of(config) * config->size[CONFIG_CP];
    push(run,
         &(Node){*config, ROUND_STATE, run->group, 1, run->least_us,
                 config_lanes_bytes(run->search->bounds, config, stages_of(run, config), shards)});
}

/* Whether there is nothing that `selective` makes again, as where attention is one op that keeps
 * no scores: such groups are those of `none`. */
static bool is_none_again(ConfigSearch *search, const KindParts *none, const Configuration *one,
                          Error *err)
{
    Configuration selective = *one;
    selective.recompute = AGAIN_SELECTIVE;
    KindParts parts;
    bool same = search->space.pin_recompute < 0 &&
                config_kinds_layers(search->kinds, config_layers_group, &selective, &parts, err);
    for (int i = 0; same && i < parts.n; i++)
        same = memcmp(parts.of[i]->part, none->of[i]->part,
                      sizeof(PartCost) * (size_t)(search->space.n_layers + 2)) == 0;
    return same;
}

/* The matmuls of a step on all devices at their full rate, from the plan for one device. */
static bool push_groups(ConfigRounds *run, Error *err)
{
    ConfigSearch *search = run->search;
    Configuration one = {
        .size = {1, 1, 1, 1, 1}, .micro_batch = 1, .micro_batches = 1, .virtual = 1};
    KindParts parts;
    if (!config_kinds_layers(search->kinds, config_layers_group, &one, &parts, err))
        return false;
    double us = (double)search->space.samples /
                config_kinds_rate(search->kinds, &parts, search->space.n_devices);
    bool same = is_none_again(search, &parts, &one, err);
    for (int i = 0; i < search->groups.n; i++) {
        Node node = {search->groups.at[i].first, ROUND_FLOPS, i, search->group_n[i], us, 0};
        run->out->counts.all += node.n;
        if (same && node.config.recompute == AGAIN_SELECTIVE)
            run->out->counts.same += node.n;
        else
            push(run, &node);
        run->guessed[i] = same && node.config.recompute == AGAIN_SELECTIVE;
    }
    return !error_is_set(err);
}

/* What is expanded next, from these layers. */
static void begin_group(ConfigRounds *run, const Node *node, const KindParts *parts)
{
    run->parts = *parts;
    run->scratch = arena_new();
    run->group = node->group;
    run->n_states = config_count_states(&run->search->space, &node->config);
    run->least_us = node->us;
    memset(run->stages, 0, sizeof run->stages);
}

/* The best of its schedules. */
static void look_at_schedules(ConfigRounds *run)
{
    run->group_us = INFINITY;
    run->group_bytes = INT64_MAX;
    config_each_schedule(&run->search->space, &run->search->groups.at[run->group], bound_schedule,
                         run);
}

/* A better bound of a group from the parts. */
static void bound_group(ConfigRounds *run, Node node)
{
    look_at_schedules(run);
    node.round++;
    node.us = fmax(node.us, run->group_us);
    node.bytes = node.bytes > run->group_bytes ? node.bytes : run->group_bytes;
    push(run, &node);
}

/* The next round of a group, or of one of its schedules its states. */
static bool expand(ConfigRounds *run, Node node, Error *err)
{
    ConfigSearch *search = run->search;
    KindParts parts;
    if (!config_kinds_layers(search->kinds,
                             node.round == ROUND_FLOPS ? config_layers_wide : config_layers_group,
                             &node.config, &parts, err))
        return false;
    begin_group(run, &node, &parts);
    if (node.round <= ROUND_WIDE)
        bound_group(run, node);
    else if (node.round == ROUND_GROUP)
        config_each_schedule(&search->space, &search->groups.at[node.group], push_schedule, run);
    else
        config_each_state(&search->space, &node.config, push_state, run);
    arena_free(run->scratch);
    return true;
}

static void keep_best(ConfigRounds *run, const ConfigPlan *plan)
{
    run->out->counts.planned++;
    if (plan->failed || !plan->legal || plan->peak_bytes > run->question->max_peak_bytes)
        return;
    double aim = aim_of(run, plan->step_us, plan->peak_bytes);
    if (aim >= run->best)
        return;
    run->best = aim;
    run->out->best = plan;
}

/* The next round of a configuration; behind the last its plan. */
static bool refine(ConfigRounds *run, Node node, Error *err)
{
    ConfigSearch *search = run->search;
    if (node.round == ROUND_LAYERS) {
        const ConfigPlan *plan = config_plan(search, &node.config, err);
        if (plan)
            keep_best(run, plan);
        return plan;
    }
    int64_t shards;
    KindParts parts;
    if (!config_kinds_whole(search->kinds, &node.config, &parts, &shards, err))
        return false;
    const int *layers = split_of(search, run->arena, &node.config, err);
    if (!layers)
        return false;
    ConfigBound bound = config_bound(search->bounds, &node.config, &parts, layers, shards);
    node.round = ROUND_LAYERS;
    node.us = fmax(node.us, bound.us);
    node.bytes = node.bytes > bound.bytes ? node.bytes : bound.bytes;
    if (bound.legal)
        push(run, &node);
    else
        run->out->counts.by_schedule++;
    return true;
}

/* ---- a first plan, before the bounds lead to one ---- */

enum { GUESS_AT = 500 }; /* steps; searches of few meshes are over by then */

/* A micro-batch is one sample, and what shards it stays within a node, but for what is given. */
static bool is_usual(const ConfigSpace *space, const Configuration *config)
{
    int64_t inside = 1;
    for (int a = 0; a < CONFIG_AXES; a++)
        if (CONFIG_AXES_SHARDING >> a & 1 && !space->pin[a])
            inside *= config->size[a];
    return inside <= space->devices_per_node &&
           (config->micro_batch == 1 || space->pin_micro_batch > 0);
}

/* The best schedule of a group by these layers. */
static void guess_schedule(ConfigRounds *run, const Node *node, const KindParts *parts)
{
    begin_group(run, node, parts);
    look_at_schedules(run);
    arena_free(run->scratch);
}

/* The usual group of the least bound that was not guessed; -1 if there is none. */
static int32_t guess_group(ConfigRounds *run)
{
    ConfigSearch *search = run->search;
    int32_t best = -1;
    double least = INFINITY;
    for (int32_t i = 0; i < search->groups.n; i++) {
        Node node = {.config = search->groups.at[i].first, .group = i};
        Error failed = {0};
        KindParts parts;
        if (run->guessed[i] || !is_usual(&search->space, &node.config) ||
            !config_kinds_layers(search->kinds, config_layers_wide, &node.config, &parts, &failed))
            continue;
        guess_schedule(run, &node, &parts);
        if (run->group_us < least) {
            least = run->group_us;
            best = i;
        }
    }
    return best;
}

/* The level of ZeRO that the guess is made for, or the one that is given. */
static void guess_state(void *context, const Configuration *config)
{
    ConfigRounds *run = context;
    if (run->state.zero < run->guess_zero)
        run->state = *config;
}

/* A configuration of a group's best schedule; none if there is none that fits. */
static bool guess_config(ConfigRounds *run, int32_t group)
{
    ConfigSearch *search = run->search;
    Node node = {.config = search->groups.at[group].first, .group = group};
    Error failed = {0};
    KindParts parts;
    if (!config_kinds_layers(search->kinds, config_layers_group, &node.config, &parts, &failed))
        return false;
    guess_schedule(run, &node, &parts);
    if (isinf(run->group_us))
        return false;
    run->state = run->group_config;
    run->state.zero = 0;
    config_each_state(&search->space, &run->group_config, guess_state, run);
    return true;
}

/* Finds a configuration with at most that level of ZeRO. */
static bool guess_at_most(ConfigRounds *run, int zero)
{
    bool found = false;
    run->guess_zero = zero;
    for (int32_t group; !found && (group = guess_group(run)) >= 0;) {
        run->guessed[group] = true;
        found = guess_config(run, group);
    }
    run->guess_zero = -1;
    return found;
}

/* Plans what is usual, so that there is an answer if the search is stopped: with sharded states of
 * the optimizer, or all that ZeRO shards, which is dear. */
static void guess_plan(ConfigRounds *run)
{
    int64_t counted = run->out->counts.planned; /* those that the bounds lead to */
    bool found = guess_at_most(run, 1) || guess_at_most(run, CONFIG_ZEROS - 1);
    Error failed = {0};
    const ConfigPlan *plan = found ? config_plan(run->search, &run->state, &failed) : NULL;
    if (plan)
        keep_best(run, plan);
    run->out->counts.planned = counted;
    run->out->counts.guessed += plan != NULL;
}

/* Behind some steps without a plan, and again behind twice as many. */
static void guess_in_time(ConfigRounds *run)
{
    if (++run->n_steps < run->guess_at || run->question->aim != LEAST_TIME || !isinf(run->best))
        return;
    run->guess_at *= 2;
    guess_plan(run);
}

/* ---- the run ---- */

static bool is_over(const ConfigRounds *run)
{
    return cancelled(run->search) || (run->deadline_s > 0 && clock_s() > run->deadline_s);
}

/* Plans of earlier questions may be the best of this one. */
static void begin_with_known(ConfigRounds *run)
{
    for (int i = 0; i < run->search->planned.n; i++)
        keep_best(run, run->search->planned.at[i]);
    run->out->counts.planned = 0;
}

static void report(const ConfigRounds *run, double bound)
{
    const ConfigRequest *request = &run->search->request;
    if (request->report)
        request->report(request->context, run->best, bound);
}

/* What is still in the heap, as one answer. */
static void close_run(ConfigRounds *run, bool stopped)
{
    ConfigCounts *counts = &run->out->counts;
    for (int i = 0; i < run->heap.n; i++) {
        const Node *node = &run->nodes.at[run->heap.at[i].item];
        int64_t n = node->n;
        if (run->heap.at[i].key >= run->best)
            counts->by_time += n;
        else
            counts->left += n;
    }
    run->out->bound = run->heap.n > 0 ? fmin(run->heap.at[0].key, run->best) : run->best;
    run->out->proven = !stopped && run->out->best && run->out->bound >= run->best;
    run->out->outcome = run->out->best ? SEARCH_PLAN : stopped ? SEARCH_UNKNOWN : SEARCH_INFEASIBLE;
    run->out->counts.layer_plans = config_kinds_planned(run->search->kinds);
    memcpy(counts->left_out, run->search->left_out, sizeof counts->left_out);
}

/* What cannot be planned at all, such as a mesh that the policy refuses, is left out. */
static void keep_failed(ConfigRounds *run, const Node *node, const Error *why)
{
    run->out->counts.failed += node->n;
    if (!run->out->failed && why->text[0])
        run->out->failed = arena_str(run->search->arena, str_from(why->text));
}

static void search_on(ConfigRounds *run, bool *stopped)
{
    const ConfigQuestion *question = run->question;
    progress_stage(run->search->request.progress, "searching", 0);
    while (run->heap.n > 0 && run->heap.at[0].key < run->best * (1 - question->gap)) {
        *stopped = is_over(run);
        if (*stopped)
            return;
        HeapEntry top = heap_pop(&run->heap);
        Node node = run->nodes.at[top.item];
        if (!has_chance(run, &node))
            continue;
        Error failed = {0};
        bool ok =
            node.round < ROUND_STATE ? expand(run, node, &failed) : refine(run, node, &failed);
        *stopped = !ok && (failed.kind == ERROR_CANCELLED || is_over(run));
        if (*stopped)
            heap_push(run->arena, &run->heap, top);
        else if (!ok)
            keep_failed(run, &node, &failed);
        if (*stopped)
            return;
        guess_in_time(run);
        progress_add(run->search->request.progress, 1);
        report(run, top.key);
    }
}

bool config_search(ConfigSearch *search, const ConfigQuestion *question, ConfigAnswer *out,
                   Error *err)
{
    double begun = clock_s();
    *out = (ConfigAnswer){.outcome = SEARCH_UNKNOWN};
    ConfigRounds run = {.search = search, .question = question, .out = out, .best = INFINITY};
    run.arena = arena_new();
    run.guess_zero = -1;
    run.guess_at = GUESS_AT;
    run.guessed = arena_array(run.arena, bool, search->groups.n);
    run.deadline_s = question->seconds > 0 ? begun + question->seconds : 0;
    bool stopped = false;
    begin_with_known(&run);
    bool ok = push_groups(&run, err);
    if (ok)
        search_on(&run, &stopped);
    else if (err->kind == ERROR_CANCELLED)
        stopped = ok = true;
    close_run(&run, stopped);
    arena_free(run.arena);
    out->seconds = clock_s() - begun;
    return ok;
}

ConfigSearch *config_search_new(Arena *arena, const ConfigRequest *request, Error *err)
{
    bool alike = false;
    ConfigSearch *search = arena_make(arena, ConfigSearch);
    *search = (ConfigSearch){.arena = arena, .request = *request, .options = *request->options};
    search->plan_keys = intern_new(arena);
    search->options.policy = "hybrid3d";
    search->options.train = search->options.train ? search->options.train : "adamw";
    search->options.machine = search->options.machine ? search->options.machine : "h100x8";
    search->space.n_devices = request->n_devices;
    if (!config_pins_take(arena, &search->options, &search->space, err) ||
        !request->hooks->machine(request->hooks->context, arena, search->options.machine,
                                 &search->machine, err) ||
        !config_model_read(arena, &search->options, request->hooks, &search->space, &alike, err))
        return NULL;
    search->space.devices_per_node = search->machine.devices_per_node;
    if (!config_groups(arena, &search->space, &search->groups, search->left_out, err))
        return NULL;
    search->group_n = arena_array(arena, int64_t, search->groups.n);
    for (int i = 0; i < search->groups.n; i++)
        search->group_n[i] = config_count(&search->space, &search->groups.at[i]);
    search->bounds = config_bounds_new(arena, &search->machine);
    search->kinds = config_kinds_new(arena, &(ConfigLayersOf){.options = &search->options,
                                                              .hooks = request->hooks,
                                                              .progress = request->progress,
                                                              .space = &search->space,
                                                              .machine = &search->machine,
                                                              .alike = alike});
    return search;
}

void config_search_free(ConfigSearch *search)
{
    if (!search)
        return;
    config_kinds_free(search->kinds);
    config_bounds_free(search->bounds);
}
