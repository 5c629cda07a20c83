#include "core/search/config_layers.h"

#include "core/reshard/lend.h"
#include "core/session/lent.h"

/* Layers of the model whose plan tells what a layer costs: two at the ends, two between. */
enum { LAYERS_TOLD = 4 };

/* By what they were planned with. */
typedef struct {
    Session *session; /* open, as long as more can be asked of it; else NULL */
    ConfigWork *work; /* of all layers together; NULL: not asked for yet */
    Vec(int64_t) samples;
    Vec(ConfigParts) parts; /* by samples */
} LayerNames;

struct ConfigLayers {
    Arena *arena;
    const SessionOptions *options;
    const SessionHooks *hooks;
    Progress *progress;
    const ConfigSpace *space;
    LeastPrices *least;
    bool reduced; /* layers are told by LAYERS_TOLD of them */
    Intern *keys;
    Vec(LayerNames *) list; /* by key */
    Intern *meshes;         /* .. and per mesh the first session, whose plan lends its reshards */
    Vec(Session *) first;
    Vec(const Session *) models; /* sessions whose models the others share */
    int64_t n_planned;
};

static ConfigLayers *layers_new(Arena *arena, const ConfigLayersOf *of)
{
    ConfigLayers *all = arena_make(arena, ConfigLayers);
    *all = (ConfigLayers){.arena = arena,
                          .options = of->options,
                          .hooks = of->hooks,
                          .progress = of->progress,
                          .space = of->space,
                          .least = least_prices_new(arena, of->machine),
                          .reduced = of->alike && of->space->n_layers > LAYERS_TOLD,
                          .keys = intern_new(arena),
                          .meshes = intern_new(arena)};
    return all;
}

static void layers_free(ConfigLayers *all)
{
    for (int i = all ? all->list.n - 1 : -1; i >= 0; i--)
        session_close(all->list.at[i]->session);
}

static int64_t layers_planned(const ConfigLayers *all)
{
    return all->n_planned;
}

static LayerNames *layers_at(ConfigLayers *all, Str key, bool *is_new)
{
    int32_t known = intern_find(all->keys, key.s, key.n);
    *is_new = known < 0;
    if (known >= 0)
        return all->list.at[known];
    LayerNames *layers = arena_make(all->arena, LayerNames);
    intern_put(all->keys, key.s, key.n);
    vec_push(all->arena, &all->list, layers);
    return layers;
}

/* Opens a session that borrows what others on the mesh have found, and lends what it finds. */
static Session *open_on(ConfigLayers *all, const char *mesh, const SessionOptions *options,
                        Error *err)
{
    int32_t id = intern_put(all->meshes, mesh, strlen(mesh));
    if (id == all->first.n)
        vec_push(all->arena, &all->first, NULL);
    Session *first = all->first.at[id];
    const Plan *lender = first ? first->plan : NULL;
    Error failed = {0};
    Session *session = session_open_beside(all->models.at, all->models.n, options, lender, &failed);
    if (!session && error_is_set(&failed)) {
        *err = failed;
        return NULL;
    }
    if (!session) {
        session = session_open_lent(options, all->hooks, lender, err);
        if (session)
            vec_push(all->arena, &all->models, session);
    }
    if (session && first)
        resharder_take(first->plan->resharder, session->plan->resharder);
    else if (session)
        all->first.at[id] = session;
    return session;
}

/* A session of the model in one stage. */
static Session *open_layers(ConfigLayers *all, const Configuration *config, const char *mesh,
                            Error *err)
{
    SessionOptions options = *all->options;
    Configuration one = *config;
    one.size[CONFIG_PP] = 1;
    one.schedule = 0;
    one.virtual = 1;
    one.micro_batches =
        config->micro_batches > 1 ? 2 : 1; /* then gradients are reduced behind all */
    options.mesh = mesh;
    options.figures_only = true;
    if (!config_settings(all->arena, &one, NULL, &all->options->settings, &options.settings, err))
        return NULL;
    if (all->reduced &&
        !policy_settings_with(all->arena, &options.settings,
                              str_from(arena_printf(all->arena, "layers=%d", LAYERS_TOLD)),
                              &options.settings, err))
        return NULL;
    all->n_planned++;
    options.progress = all->progress;
    return open_on(all, mesh, &options, err);
}

/* So many devices of an axis that those outside of it lie on the nodes as with all of them. */
static int32_t devices_beneath(int32_t size, int64_t inside, int64_t node)
{
    for (int32_t d = 1; d < size; d++)
        if (size % d == 0 && inside * d % node == 0)
            return d;
    return size;
}

/* Whether one of the axes, a set, stands outside of this one. */
static bool is_beneath(const Configuration *config, ConfigAxis axis, uint32_t axes)
{
    int64_t stride = config_stride(config, axis);
    bool beneath = false;
    for (int a = 0; a < CONFIG_AXES; a++)
        beneath |=
            axes >> a & 1 && config->size[a] > 1 && config_stride(config, (ConfigAxis)a) > stride;
    return beneath;
}

/* Leaves so many devices on pp and dp that what is outside of them, of these axes, lies on the
 * nodes as in the configuration. */
static void keep_beneath(const ConfigLayers *all, uint32_t axes, Configuration *told)
{
    static const ConfigAxis both[2][2] = {{CONFIG_DP, CONFIG_PP}, {CONFIG_PP, CONFIG_DP}};
    const Configuration whole = *told;
    bool pp_inside = config_stride(told, CONFIG_PP) < config_stride(told, CONFIG_DP);
    for (int i = 0; i < 2; i++) {
        ConfigAxis axis = both[pp_inside][i];
        told->size[axis] = is_beneath(&whole, axis, axes)
                               ? devices_beneath(whole.size[axis], config_stride(told, axis),
                                                 all->space->devices_per_node)
                               : 1;
    }
}

/* A mesh with "xx" for pp, and with `whole` "yy" for dp: names that shard nothing. */
static const char *mesh_of_layers(Arena *arena, const Configuration *told, bool whole)
{
    const char *const names[CONFIG_AXES] = {"xx", whole ? "yy" : "dp", "cp", "ep", "tp"};
    Buf mesh = buf_new(arena);
    config_mesh(told, names, &mesh);
    bool alone = told->size[CONFIG_PP] == 1 && told->size[CONFIG_TP] == 1; /* dp is named then */
    bool named = told->size[CONFIG_TP] > 1 || (!whole && (told->size[CONFIG_DP] > 1 || alone));
    return named ? mesh.s : arena_printf(arena, "dp=1,%s", mesh.s);
}

/* Of one micro-batch of one sample under the axes that shard it. NULL with *err. */
static LayerNames *layers_of_group(ConfigLayers *all, const Configuration *config, Error *err)
{
    const char *mesh = mesh_of_layers(all->arena, config, true);
    bool is_new;
    LayerNames *layers =
        layers_at(all,
                  str_from(arena_printf(all->arena, "%s again %d, sp %d", mesh, config->recompute,
                                        config->sequence_parallel)),
                  &is_new);
    if (is_new)
        layers->session = open_layers(all, config, mesh, err);
    return layers->session ? layers : NULL;
}

/* The group's axes that shard a micro-batch, one sample; pp and dp as far as they are between. */
static Configuration sharded_axes(const ConfigLayers *all, const Configuration *config)
{
    Configuration one = *config;
    keep_beneath(all, CONFIG_AXES_SHARDING, &one);
    one.micro_batch = one.micro_batches = 1;
    one.zero = one.schedule = one.split = 0;
    one.virtual = 1;
    return one;
}

const ConfigParts *config_layers_group(ConfigLayers *all, const Configuration *config, Error *err)
{
    Configuration one = sharded_axes(all, config);
    Arena *arena = all->arena;
    LayerNames *layers = layers_of_group(all, &one, err);
    if (!layers)
        return NULL;
    for (int i = 0; i < layers->samples.n; i++)
        if (layers->samples.at[i] == config->micro_batch)
            return &layers->parts.at[i];
    ConfigParts parts = config_parts_of(arena, layers->session, all->space->n_layers,
                                        config->micro_batch, NULL, all->least);
    for (int i = 0; i < parts.n_layers + 2; i++)
        parts.part[i].kept = 0; /* dp and ZeRO decide what is reduced earlier */
    vec_push(arena, &layers->samples, config->micro_batch);
    vec_push(arena, &layers->parts, parts);
    return &layers->parts.at[layers->parts.n - 1];
}

/* Two devices on each axis that has more; with ep as many as it has. */
static Configuration narrow_axes(const ConfigLayers *all, const Configuration *wide)
{
    Configuration one = *wide;
    one.size[CONFIG_PP] = one.size[CONFIG_DP] = 1;
    one.order = all->space->pin_order < 0 ? 0 : (uint8_t)all->space->pin_order;
    for (int a = 0; one.size[CONFIG_EP] == 1 && a < CONFIG_AXES; a++)
        one.size[a] = one.size[a] % 2 == 0 ? 2 : one.size[a];
    return one;
}

/* A bound of these from the plan with few devices on each axis. */
const ConfigParts *config_layers_wide(ConfigLayers *all, const Configuration *config, Error *err)
{
    Arena *arena = all->arena;
    Configuration wide = sharded_axes(all, config), one = narrow_axes(all, &wide);
    const char *mesh = mesh_of_layers(arena, &wide, true);
    bool is_new;
    LayerNames *layers =
        layers_at(all,
                  str_from(arena_printf(arena, "bound %s again %d, sp %d, %d", mesh, wide.recompute,
                                        wide.sequence_parallel, config->micro_batch)),
                  &is_new);
    if (!is_new)
        return layers->parts.n > 0 ? layers->parts.at : NULL;
    LayerNames *told = layers_of_group(all, &one, err);
    if (!told)
        return NULL;
    if (!told->work) {
        told->work = arena_make(arena, ConfigWork);
        *told->work = config_work_of(arena, told->session);
    }
    Source source = {.name = "mesh", .text = str_from(mesh)};
    const Mesh *whole = mesh_parse(arena, &source, err);
    vec_push(arena, &layers->parts,
             config_work_parts(arena, told->work, all->least, whole, all->space->n_layers,
                               config->micro_batch));
    return layers->parts.at;
}

/* Above 1, if it has any. */
static int32_t least_divisor(int32_t n)
{
    for (int32_t d = 2; (int64_t)d * d <= n; d++)
        if (n % d == 0)
            return d;
    return n;
}

/* The mesh on which layers are planned: of pp, which shards nothing, and of dp what puts the axes
 * outside of them on the same nodes; of dp two devices tell what more do, but beside ep, where how
 * many there are decides which way experts' values take. */
static Configuration told_axes(const ConfigLayers *all, const Configuration *config)
{
    Configuration told = *config;
    keep_beneath(all, CONFIG_AXES_SHARDING | 1U << CONFIG_DP, &told);
    if (config->size[CONFIG_EP] > 1)
        told.size[CONFIG_DP] = config->size[CONFIG_DP];
    else if (told.size[CONFIG_DP] == 1)
        told.size[CONFIG_DP] = least_divisor(config->size[CONFIG_DP]);
    return told;
}

static Session *told_session(ConfigLayers *all, const Configuration *told, Error *err)
{
    const char *mesh = mesh_of_layers(all->arena, told, false);
    const char *key = arena_printf(all->arena, "%s, %d x %d, again %d, zero %d, sp %d", mesh,
                                   told->micro_batches > 1, told->micro_batch, told->recompute,
                                   told->zero, told->sequence_parallel);
    bool is_new;
    LayerNames *layers = layers_at(all, str_from(key), &is_new);
    if (is_new)
        layers->session = open_layers(all, told, mesh, err);
    return layers->session;
}

/* Layers on the mesh of a configuration. shards: how many times as many dp has as they are planned
 * on. */
static const ConfigParts *layers_whole(ConfigLayers *all, const Configuration *config,
                                       int64_t *shards, Error *err)
{
    Arena *arena = all->arena;
    Configuration told = told_axes(all, config), whole = told;
    *shards = config->size[CONFIG_DP] / told.size[CONFIG_DP];
    whole.size[CONFIG_DP] = config->size[CONFIG_DP];
    const char *text = mesh_of_layers(arena, &whole, false);
    const char *key = arena_printf(arena, "whole %s, %d x %d, again %d, zero %d, sp %d", text,
                                   config->micro_batches > 1, config->micro_batch,
                                   config->recompute, config->zero, config->sequence_parallel);
    bool is_new;
    LayerNames *layers = layers_at(all, str_from(key), &is_new);
    if (is_new) {
        Session *session = told_session(all, &told, err);
        Source source = {.name = "mesh", .text = str_from(text)};
        const Mesh *mesh = session && *shards > 1 ? mesh_parse(arena, &source, err) : NULL;
        if (!session)
            return NULL;
        vec_push(arena, &layers->parts,
                 config_parts_of(arena, session, all->space->n_layers, 1, mesh, all->least));
    }
    return layers->parts.n > 0 ? layers->parts.at : NULL;
}

/* ---- kinds of devices ---- */

struct ConfigKinds {
    const Cluster *cluster; /* NULL: one kind */
    int n;
    ConfigLayers *layers[CLUSTER_KINDS_MAX];
};

static ConfigLayers *layers_on(Arena *arena, const ConfigLayersOf *of, int kind)
{
    ConfigLayersOf own = *of;
    SessionOptions *options = arena_make(arena, SessionOptions);
    *options = *of->options;
    options->machine = arena_printf(arena, "%s:%d", options->machine, kind + 1);
    own.options = options;
    own.machine = of->machine->cluster->kind[kind].machine;
    return layers_new(arena, &own);
}

ConfigKinds *config_kinds_new(Arena *arena, const ConfigLayersOf *of)
{
    ConfigKinds *kinds = arena_make(arena, ConfigKinds);
    *kinds = (ConfigKinds){.cluster = of->machine->cluster, .n = 1};
    if (!kinds->cluster) {
        kinds->layers[0] = layers_new(arena, of);
        return kinds;
    }
    kinds->n = kinds->cluster->n;
    for (int i = 0; i < kinds->n; i++)
        kinds->layers[i] = layers_on(arena, of, i);
    return kinds;
}

void config_kinds_free(ConfigKinds *kinds)
{
    for (int i = 0; kinds && i < kinds->n; i++)
        layers_free(kinds->layers[i]);
}

int64_t config_kinds_planned(const ConfigKinds *kinds)
{
    int64_t n = 0;
    for (int i = 0; i < kinds->n; i++)
        n += layers_planned(kinds->layers[i]);
    return n;
}

bool config_kinds_layers(ConfigKinds *kinds, ConfigLayersFn *layers, const Configuration *config,
                         KindParts *out, Error *err)
{
    out->n = kinds->n;
    for (int i = 0; i < kinds->n; i++)
        if (!(out->of[i] = layers(kinds->layers[i], config, err)))
            return false;
    return true;
}

bool config_kinds_whole(ConfigKinds *kinds, const Configuration *config, KindParts *out,
                        int64_t *shards, Error *err)
{
    out->n = kinds->n;
    for (int i = 0; i < kinds->n; i++)
        if (!(out->of[i] = layers_whole(kinds->layers[i], config, shards, err)))
            return false;
    return true;
}

static double products_us(const ConfigParts *parts)
{
    double us = 0;
    for (int i = 0; i < parts->n_layers + 2; i++)
        us += parts->part[i].product_us;
    return us;
}

double config_kinds_rate(const ConfigKinds *kinds, const KindParts *parts, int64_t n_devices)
{
    double rate = 0;
    for (int i = 0; i < kinds->n; i++) {
        bool last = i == kinds->n - 1 || kinds->cluster->kind[i].devices > n_devices;
        int64_t n = last ? n_devices : kinds->cluster->kind[i].devices;
        rate += (double)n / products_us(parts->of[i]);
        n_devices -= n;
    }
    return rate;
}
