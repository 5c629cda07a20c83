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
} Told;

struct ConfigLayers {
    Arena *arena;
    const SessionOptions *options;
    const SessionHooks *hooks;
    Progress *progress;
    const ConfigSpace *space;
    const Machine *machine;
    bool reduced; /* layers are told by LAYERS_TOLD of them */
    Intern *keys;
    Vec(Told *) list; /* by key */
    Intern *meshes;   /* .. and per mesh the first session, whose plan lends its reshards */
    Vec(Session *) first;
    int64_t n_planned;
};

ConfigLayers *config_layers_new(Arena *arena, const ConfigLayersOf *of)
{
    ConfigLayers *all = arena_make(arena, ConfigLayers);
    *all = (ConfigLayers){.arena = arena,
                          .options = of->options,
                          .hooks = of->hooks,
                          .progress = of->progress,
                          .space = of->space,
                          .machine = of->machine,
                          .reduced = of->alike && of->space->n_layers > LAYERS_TOLD,
                          .keys = intern_new(arena),
                          .meshes = intern_new(arena)};
    return all;
}

void config_layers_free(ConfigLayers *all)
{
    for (int i = 0; all && i < all->list.n; i++)
        session_close(all->list.at[i]->session);
}

int64_t config_layers_planned(const ConfigLayers *all)
{
    return all->n_planned;
}

static Told *layers_at(ConfigLayers *all, Str key, bool *is_new)
{
    int32_t known = intern_find(all->keys, key.s, key.n);
    *is_new = known < 0;
    if (known >= 0)
        return all->list.at[known];
    Told *layers = arena_make(all->arena, Told);
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
    Session *session = session_open_lent(options, all->hooks, first ? first->plan : NULL, err);
    if (session && first)
        resharder_take(first->plan->resharder, session->plan->resharder);
    else if (session)
        all->first.at[id] = session;
    return session;
}

/* A session of the model in one stage. */
static Session *open_layers(ConfigLayers *all, const Config *config, const char *mesh, Error *err)
{
    SessionOptions options = *all->options;
    Config one = *config;
    one.size[CONFIG_PP] = 1;
    one.schedule = 0;
    one.virtual = 1;
    one.micro_batches =
        config->micro_batches > 1 ? 2 : 1; /* then gradients are reduced behind all */
    options.mesh = mesh;
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

/* Of one micro-batch of one sample under the axes that shard it. NULL with *err. */
static Told *layers_of_group(ConfigLayers *all, const Config *config, Error *err)
{
    Arena *arena = all->arena;
    Buf key = buf_new(arena);
    config_mesh(config, &key);
    const char *mesh = arena_str(arena, buf_str(&key));
    buf_printf(&key, " again %d, sp %d", config->recompute, config->sequence_parallel);
    bool is_new;
    Told *layers = layers_at(all, buf_str(&key), &is_new);
    if (is_new)
        layers->session = open_layers(all, config, mesh, err);
    return layers->session ? layers : NULL;
}

/* The group's axes that shard a micro-batch, one sample. */
static Config sharded_axes(const ConfigSpace *space, const Config *config)
{
    Config one = *config;
    one.size[CONFIG_PP] = one.size[CONFIG_DP] = one.micro_batch = one.micro_batches = 1;
    one.order = space->pin_order < 0 ? 0 : (uint8_t)space->pin_order;
    one.zero = one.schedule = one.split = 0;
    one.virtual = 1;
    return one;
}

const ConfigParts *config_layers_group(ConfigLayers *all, const Config *config, Error *err)
{
    Config one = sharded_axes(all->space, config);
    Arena *arena = all->arena;
    Told *layers = layers_of_group(all, &one, err);
    if (!layers)
        return NULL;
    for (int i = 0; i < layers->samples.n; i++)
        if (layers->samples.at[i] == config->micro_batch)
            return &layers->parts.at[i];
    vec_push(arena, &layers->samples, config->micro_batch);
    vec_push(
        arena, &layers->parts,
        config_parts_of(arena, layers->session, all->space->n_layers, config->micro_batch, NULL));
    return &layers->parts.at[layers->parts.n - 1];
}

/* A bound of these from the plan with two devices on each axis that has more; with ep from their
 * own. */
const ConfigParts *config_layers_wide(ConfigLayers *all, const Config *config, Error *err)
{
    Arena *arena = all->arena;
    Config wide = sharded_axes(all->space, config), one = wide;
    for (int a = 0; wide.size[CONFIG_EP] == 1 && a < CONFIG_AXES; a++)
        one.size[a] = wide.size[a] % 2 == 0 ? 2 : wide.size[a];
    Buf mesh = buf_new(arena);
    config_mesh(&wide, &mesh);
    bool is_new;
    Told *layers = layers_at(
        all,
        str_from(arena_printf(arena, "bound %s again %d, sp %d, %d", mesh.s, wide.recompute,
                              wide.sequence_parallel, config->micro_batch)),
        &is_new);
    if (!is_new)
        return layers->parts.n > 0 ? layers->parts.at : NULL;
    Told *told = layers_of_group(all, &one, err);
    if (!told)
        return NULL;
    if (!told->work) {
        told->work = arena_make(arena, ConfigWork);
        *told->work = config_work_of(arena, told->session);
    }
    Source source = {.name = "mesh", .text = buf_str(&mesh)};
    const Mesh *whole = mesh_parse(arena, &source, err);
    vec_push(arena, &layers->parts,
             config_work_parts(arena, told->work, all->machine, whole, all->space->n_layers,
                               config->micro_batch));
    return layers->parts.at;
}

/* The largest divisor that is not above `most`, else the smallest above 1. */
static int32_t divisor_within(int32_t n, int64_t most)
{
    for (int32_t d = most < n ? (int32_t)most : n; d > 1; d--)
        if (n % d == 0)
            return d;
    for (int32_t d = 2; n > 1 && (int64_t)d * d <= n; d++)
        if (n % d == 0)
            return d;
    return n;
}

/* The mesh on which layers are planned: pp is an axis that nothing is sharded by, as long as is
 * needed to put the axes outside of it on other nodes; of dp two devices tell what more do, but
 * beside ep, where how many there are decides which way experts' values take. */
static Config told_axes(const ConfigLayers *all, const Config *config)
{
    Config told = *config;
    int64_t inside = config_stride(config, CONFIG_PP), node = all->space->devices_per_node;
    if (config->size[CONFIG_EP] == 1)
        told.size[CONFIG_DP] = divisor_within(config->size[CONFIG_DP], 2);
    told.size[CONFIG_PP] =
        inside * config->size[CONFIG_PP] == all->space->n_devices || inside >= node
            ? 1
            : divisor_within(config->size[CONFIG_PP], node / inside);
    return told;
}

/* Its mesh, with "xx" for pp. */
static const char *told_mesh(Arena *arena, const Config *told)
{
    Buf mesh = buf_new(arena);
    config_mesh(told, &mesh);
    char *pp = strstr(mesh.s, "pp=");
    if (pp)
        memcpy(pp, "xx=", 3);
    return mesh.s;
}

static Session *told_session(ConfigLayers *all, const Config *told, Error *err)
{
    const char *mesh = told_mesh(all->arena, told);
    const char *key = arena_printf(all->arena, "%s, %d x %d, again %d, zero %d, sp %d", mesh,
                                   told->micro_batches > 1, told->micro_batch, told->recompute,
                                   told->zero, told->sequence_parallel);
    bool is_new;
    Told *layers = layers_at(all, str_from(key), &is_new);
    if (is_new)
        layers->session = open_layers(all, told, mesh, err);
    return layers->session;
}

/* Layers on the mesh of a configuration. shards: how many times as many dp has as they are planned
 * on. */
const ConfigParts *config_layers_whole(ConfigLayers *all, const Config *config, int64_t *shards,
                                       Error *err)
{
    Arena *arena = all->arena;
    Config told = told_axes(all, config), whole = told;
    *shards = config->size[CONFIG_DP] / told.size[CONFIG_DP];
    whole.size[CONFIG_DP] = config->size[CONFIG_DP];
    const char *text = told_mesh(arena, &whole);
    const char *key = arena_printf(arena, "whole %s, %d x %d, again %d, zero %d, sp %d", text,
                                   config->micro_batches > 1, config->micro_batch,
                                   config->recompute, config->zero, config->sequence_parallel);
    bool is_new;
    Told *layers = layers_at(all, str_from(key), &is_new);
    if (is_new) {
        Session *session = told_session(all, &told, err);
        Source source = {.name = "mesh", .text = str_from(text)};
        const Mesh *mesh = session && *shards > 1 ? mesh_parse(arena, &source, err) : NULL;
        if (!session)
            return NULL;
        vec_push(arena, &layers->parts,
                 config_parts_of(arena, session, all->space->n_layers, 1, mesh));
    }
    return layers->parts.n > 0 ? layers->parts.at : NULL;
}
