#include "core/search/config_pins.h"

#include "core/session/model_settings.h"

#include <inttypes.h>

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

static int row_named(const char *name)
{
    for (int i = 0; i < N_PINS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return i;
    return -1;
}

static void write_pins(const int64_t value[N_PINS], ConfigSpace *space)
{
    space->samples = value[PIN_GLOBAL_BATCH];
    for (int a = 0; a < CONFIG_AXES; a++)
        space->pin[a] = value[PIN_PP + a] > 0 ? value[PIN_PP + a] : 0;
    space->pin_micro_batch = value[PIN_MICRO_BATCH] > 0 ? value[PIN_MICRO_BATCH] : 0;
    space->pin_virtual = (int)value[PIN_VIRTUAL];
    space->pin_zero = (int)value[PIN_ZERO];
    space->pin_schedule = (int)value[PIN_SCHEDULED];
    space->pin_recompute = (int)value[PIN_AGAIN];
    space->pin_sequence_parallel = (int)value[PIN_SEQUENCE];
}

bool config_pins_take(Arena *arena, SessionOptions *options, ConfigSpace *space, Error *err)
{
    PolicySettings rest = {0};
    int64_t value[N_PINS];
    for (int i = 0; i < N_PINS; i++)
        value[i] = -1;
    for (int i = 0; i < options->settings.n; i++) {
        const PolicySetting *setting = &options->settings.at[i];
        int row = row_named(setting->name);
        if (row < 0)
            vec_push(arena, &rest, *setting);
        else if (!read_value(&rows[row], setting->value, &value[row], err))
            return false;
    }
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
