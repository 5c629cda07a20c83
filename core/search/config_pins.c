#include "core/search/config_pins.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SAMPLES_MAX = 1 << 30 };

static int schedule_named(Str name)
{
    for (int i = 0; config_schedules[i].name; i++)
        if (str_eq(name, str_from(config_schedules[i].name)))
            return i;
    return -1;
}

static int again_named(Str name)
{
    for (int i = 0; i < AGAIN_COUNT; i++)
        if (str_eq(name, str_from(config_again_name(i))))
            return i;
    return -1;
}

static int flag_named(Str name)
{
    return str_eq(name, STR("true")) ? 1 : str_eq(name, STR("false")) ? 0 : -1;
}

typedef struct {
    const char *name, *values;
    int64_t most; /* of numbers, which are at least `least`; 0: a word */
    int64_t least;
    int (*named)(Str value); /* of words */
} PinRow;

/* ORDER PIN */
static const PinRow rows[] = {
    {"global_batch", "a number of samples", SAMPLES_MAX, 1, NULL},
    {"seq", "a number of tokens", SAMPLES_MAX, 1, NULL},
    {"pp", "a number of devices", MESH_DEVICES_MAX, 1, NULL},
    {"dp", "a number of devices", MESH_DEVICES_MAX, 1, NULL},
    {"cp", "a number of devices", MESH_DEVICES_MAX, 1, NULL},
    {"ep", "a number of devices", MESH_DEVICES_MAX, 1, NULL},
    {"tp", "a number of devices", MESH_DEVICES_MAX, 1, NULL},
    {"micro_batch", "a number of samples", SAMPLES_MAX, 1, NULL},
    {"micro_batches", "a number of micro-batches a step", MICRO_BATCHES_MAX, 1, NULL},
    {"virtual", "a number of stages a device", CONFIG_VIRTUAL_MAX, 1, NULL},
    {"zero", "0, 1, 2 or 3", CONFIG_ZEROS - 1, 0, NULL},
    {"schedule",
     "1f1b, 1f1b_interleaved, gpipe, zb1p, zb2p, interleaved_zero_bubble, zbv or dualpipev", 0, 0,
     schedule_named},
    {"recompute", "none, selective or full", 0, 0, again_named},
    {"sequence_parallel", "true or false", 0, 0, flag_named},
};
enum {
    PIN_GLOBAL_BATCH,
    PIN_SEQ,
    PIN_PP,
    PIN_MICRO_BATCH = PIN_PP + CONFIG_AXES,
    PIN_MICRO_BATCHES,
    PIN_VIRTUAL,
    PIN_ZERO,
    PIN_SCHEDULED,
    PIN_AGAIN,
    PIN_SEQUENCE,
    N_PINS
};

static bool read_value(const PinRow *row, const char *text, int64_t *out, Error *err)
{
    bool good = row->named
                    ? (*out = row->named(str_from(text))) >= 0
                    : str_to_int(str_from(text), out) && *out >= row->least && *out <= row->most;
    return good || error_kind(err, ERROR_USAGE, "%s is %s, not '%s'", row->name, row->values, text);
}

static int row_named(Str name)
{
    for (int i = 0; i < N_PINS; i++)
        if (str_eq(str_from(rows[i].name), name))
            return i;
    return -1;
}

bool config_setting_is(Str name)
{
    return row_named(name) >= 0;
}

bool config_pin_is(Str name)
{
    return row_named(name) >= PIN_PP;
}

static void write_pins(const int64_t value[N_PINS], ConfigSpace *space)
{
    space->samples = value[PIN_GLOBAL_BATCH];
    for (int a = 0; a < CONFIG_AXES; a++)
        space->pin[a] = value[PIN_PP + a] > 0 ? value[PIN_PP + a] : 0;
    space->pin_micro_batch = value[PIN_MICRO_BATCH] > 0 ? value[PIN_MICRO_BATCH] : 0;
    space->pin_micro_batches = value[PIN_MICRO_BATCHES] > 0 ? value[PIN_MICRO_BATCHES] : 0;
    space->pin_virtual = (int)value[PIN_VIRTUAL];
    space->pin_zero = (int)value[PIN_ZERO];
    space->pin_schedule = (int)value[PIN_SCHEDULED];
    space->pin_recompute = (int)value[PIN_AGAIN];
    space->pin_sequence_parallel = (int)value[PIN_SEQUENCE];
}

/* The sizes of a mesh that is given, and the order of its axes. */
static bool take_mesh(Arena *arena, const char *text, int64_t value[N_PINS], ConfigSpace *space,
                      Error *err)
{
    ConfigAxis axis[CONFIG_AXES];
    int64_t size[CONFIG_AXES] = {1, 1, 1, 1, 1};
    Source source = {.name = "--mesh", .text = str_from(text)};
    const Mesh *mesh = mesh_parse(arena, &source, err);
    int n = 0;
    if (!mesh)
        return false;
    if (mesh->devices)
        return error_kind(err, ERROR_UNSUPPORTED,
                          "configurations are searched on meshes in the order of their devices");
    for (int a = 0; a < mesh->n_axes; a++) {
        int row = row_named(str_from(mesh->axes[a].name));
        if (row < PIN_PP || row >= PIN_PP + CONFIG_AXES)
            return error_kind(err, ERROR_USAGE, "no configuration shards by the axis '%s'",
                              mesh->axes[a].name) ||
                   error_hint(err, "name the axes pp, dp, cp, ep and tp");
        axis[n++] = (ConfigAxis)(row - PIN_PP);
        size[row - PIN_PP] = mesh->axes[a].size;
    }
    for (int a = 0; a < CONFIG_AXES; a++) {
        if (value[PIN_PP + a] > 0 && value[PIN_PP + a] != size[a])
            return error_kind(err, ERROR_USAGE, "%s=%" PRId64 " is not what the mesh has",
                              rows[PIN_PP + a].name, value[PIN_PP + a]);
        value[PIN_PP + a] = size[a];
    }
    space->n_devices = mesh->n_devices;
    space->pin_order = config_order(axis, n);
    return true;
}

/* The samples of a step, where a mesh and both numbers of micro-batches tell them. */
static void find_samples(int64_t value[N_PINS])
{
    int64_t each = value[PIN_MICRO_BATCH], n = value[PIN_MICRO_BATCHES];
    int64_t dp = value[PIN_PP + CONFIG_DP], ep = value[PIN_PP + CONFIG_EP];
    if (value[PIN_GLOBAL_BATCH] < 0 && each > 0 && n > 0 && dp > 0 && ep > 0 &&
        each <= SAMPLES_MAX / n / dp / ep)
        value[PIN_GLOBAL_BATCH] = each * n * dp * ep;
}

bool config_pins_take(Arena *arena, SessionOptions *options, ConfigSpace *space, Error *err)
{
    PolicySettings rest = {0};
    int64_t value[N_PINS];
    for (int i = 0; i < N_PINS; i++)
        value[i] = -1;
    for (int i = 0; i < options->settings.n; i++) {
        const PolicySetting *setting = &options->settings.at[i];
        int row = row_named(str_from(setting->name));
        if (row < 0)
            vec_push(arena, &rest, *setting);
        else if (!read_value(&rows[row], setting->value, &value[row], err))
            return false;
    }
    space->pin_order = -1;
    if (options->mesh && !take_mesh(arena, options->mesh, value, space, err))
        return false;
    options->mesh = NULL;
    find_samples(value);
    if (value[PIN_GLOBAL_BATCH] < 0) {
        error_kind(err, ERROR_USAGE, "how many samples has a step?");
        return error_hint(err, "add them: --set global_batch=1024");
    }
    if (value[PIN_SEQ] > 0) {
        DimBindings dims = {0};
        for (int i = 0; i < options->dims.n; i++)
            vec_push(arena, &dims, options->dims.at[i]);
        vec_push(arena, &dims, ((DimBinding){STR("seq"), value[PIN_SEQ]}));
        options->dims = dims;
    }
    options->settings = rest;
    write_pins(value, space);
    return true;
}

bool config_gap_read(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end) / 100;
    return end != text && (*end == '\0' || strcmp(end, "%") == 0) && *out >= 0 && *out < 1;
}
