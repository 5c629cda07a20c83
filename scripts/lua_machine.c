#include "scripts/lua_machine.h"

#include "core/reshard/cluster.h"
#include "scripts/lua_measured.h"
#include "scripts/sandbox/lua_state.h"

#include <lauxlib.h>

#include <ctype.h>
#include <math.h>

/* ORDER FIELD TYPE */
typedef enum {
    FIELD_TEXT,
    FIELD_COUNT,
    FIELD_REAL,
    FIELD_SHARE, /* of 1: never 0, which is for those left out */
    FIELD_FLOPS,
    FIELD_LIST,
    FIELD_TABLE,
    FIELD_TUNING, /* a table the machine points to */
    FIELD_MEASURED,
    FIELD_KINDS /* a list of tables, the kinds of a cluster */
} FieldType;
typedef enum { NEEDED, OPTIONAL } Need;

typedef struct Field Field;
struct Field {
    const char *name;
    FieldType type;
    Need need;
    size_t at;           /* offset in the struct */
    const char *says;    /* what it is, for who left it out */
    int n;               /* of a list: its length */
    const Field *fields; /* of a table */
};

#define NUMBER(struct_, name_, need_, says_)                                                       \
    {                                                                                              \
        .name = #name_, .type = FIELD_REAL, .need = need_, .at = offsetof(struct_, name_),         \
        .says = says_                                                                              \
    }
#define SHARE(struct_, name_, need_, says_)                                                        \
    {                                                                                              \
        .name = #name_, .type = FIELD_SHARE, .need = need_, .at = offsetof(struct_, name_),        \
        .says = says_                                                                              \
    }
#define LIST(struct_, name_, need_, n_, says_)                                                     \
    {                                                                                              \
        .name = #name_, .type = FIELD_LIST, .need = need_, .at = offsetof(struct_, name_),         \
        .says = says_, .n = n_                                                                     \
    }
#define TABLE(struct_, name_, need_, fields_, says_)                                               \
    {                                                                                              \
        .name = #name_, .type = FIELD_TABLE, .need = need_, .at = offsetof(struct_, name_),        \
        .says = says_, .fields = fields_                                                           \
    }

#define TABLE_AT(name_, at_, fields_, says_)                                                       \
    {                                                                                              \
        .name = name_, .type = FIELD_TABLE, .need = NEEDED, .at = at_, .says = says_,              \
        .fields = fields_                                                                          \
    }

static const Field link_fields[] = {
    {"name", FIELD_TEXT, NEEDED, offsetof(Link, name), "the name that is shown", 0, NULL},
    NUMBER(Link, latency_us, NEEDED, "microseconds of a hop"),
    NUMBER(Link, bytes_per_s, NEEDED, "bytes per second that a device sends, one way"),
    NUMBER(Link, shared_bytes_per_s, OPTIONAL,
           "bytes per second of all devices of a node together; default: no limit"),
    {"channels", FIELD_COUNT, OPTIONAL, offsetof(Link, channels),
     "number of channels per device; required with nccl", 0, NULL},
    NUMBER(Link, channel_bytes_per_s, OPTIONAL,
           "bytes per second of a channel; required with nccl"),
    SHARE(Link, busy_share, OPTIONAL,
          "of the device's processors, what a collective takes from ops beside it; default 0"),
    {0},
};

/* ORDER ALGORITHM, ORDER PROTOCOL: rows of LL, LL128, Simple */
#define ROW(name_, algorithm)                                                                      \
    {                                                                                              \
        .name = name_, .type = FIELD_LIST, .need = OPTIONAL,                                       \
        .at = (algorithm) * sizeof(double[PROTOCOL_COUNT]), .says = "of LL, LL128 and Simple",     \
        .n = PROTOCOL_COUNT                                                                        \
    }
static const Field latency_fields[] = {
    ROW("ring", ALGORITHM_RING),           ROW("tree", ALGORITHM_TREE), ROW("nvls", ALGORITHM_NVLS),
    ROW("nvls_tree", ALGORITHM_NVLS_TREE), ROW("pat", ALGORITHM_PAT),   {0},
};

#define SIZES(name_, protocol)                                                                     \
    {                                                                                              \
        .name = name_, .type = FIELD_LIST, .at = (protocol) * sizeof(double[TREE_SIZES]),          \
        .says = "efficiency of messages of 64 B, 128 B, .. 256 MiB", .n = TREE_SIZES               \
    }
static const Field size_fields[] = {
    SIZES("ll", PROTOCOL_LL),
    SIZES("ll128", PROTOCOL_LL128),
    SIZES("simple", PROTOCOL_SIMPLE),
    {0},
};

static const char hops[] = "microseconds: {ring = {LL, LL128, Simple}, ..}",
                  spread[] = "for groups on one node, on two, on more";

static const Field tuning_fields[] = {
    TABLE(Tuning, base_us, NEEDED, latency_fields, hops),
    TABLE(Tuning, inside_us, NEEDED, latency_fields, hops),
    TABLE(Tuning, between_us, NEEDED, latency_fields, hops),
    NUMBER(Tuning, post_us, NEEDED, "minimum microseconds of a hop in a ring over nodes"),
    NUMBER(Tuning, plateau, NEEDED, "latency of a filled Simple ring over nodes; 1.4 in NCCL"),
    SHARE(Tuning, ring_ll_share, NEEDED, "efficiency of LL in a ring; 0.5 in NCCL"),
    SHARE(Tuning, ring_ll128_share, NEEDED, "efficiency of LL128 in a ring; 0.92 in NCCL"),
    SHARE(Tuning, tree_share, NEEDED, "efficiency of a tree; 0.92 in NCCL"),
    SHARE(Tuning, tree_ll_share, NEEDED, "efficiency of LL in a tree; 1 / 3.8 in NCCL"),
    SHARE(Tuning, tree_ll128_share, NEEDED, "efficiency of LL128 in a tree; 7 / 9 in NCCL"),
    SHARE(Tuning, tree_ll128_share_between, NEEDED, "the same over nodes; 120 / 128 in NCCL"),
    SHARE(Tuning, nvls_share, OPTIONAL, "efficiency of NVLS; default 1"),
    SHARE(Tuning, pat_share, NEEDED, "efficiency of PAT; 0.75 in NCCL"),
    NUMBER(Tuning, nvls_channel_bytes_per_s, OPTIONAL,
           "maximum bytes per second of an NVLS channel; default: no NVLS"),
    LIST(Tuning, ll_bytes_per_s, NEEDED, SPREADS, spread),
    LIST(Tuning, ring_ll128_channel_bytes_per_s, NEEDED, SPREADS, spread),
    LIST(Tuning, tree_channel_bytes_per_s, NEEDED, SPREADS, spread),
    LIST(Tuning, tree_ll128_channel_bytes_per_s, NEEDED, SPREADS, spread),
    LIST(Tuning, nvls_tree_channel_bytes_per_s, OPTIONAL, SPREADS, spread),
    TABLE(Tuning, tree_size_share, NEEDED, size_fields, "{ll = .., ll128 = .., simple = ..}"),
    {0},
};

static const Field machine_fields[] = {
    {"name", FIELD_TEXT, NEEDED, offsetof(Machine, name), "the name that is shown", 0, NULL},
    {"source", FIELD_TEXT, NEEDED, offsetof(Machine, source), "where the numbers come from", 0,
     NULL},
    {"devices_per_node", FIELD_COUNT, NEEDED, offsetof(Machine, devices_per_node),
     "number of devices on a node", 0, NULL},
    {"devices_per_block", FIELD_COUNT, OPTIONAL, offsetof(Machine, devices_per_block),
     "number of devices of the nodes that `between` joins; default: all", 0, NULL},
    {"memory_bytes", FIELD_COUNT, NEEDED, offsetof(Machine, memory_bytes),
     "memory of a device in bytes", 0, NULL},
    NUMBER(Machine, memory_bytes_per_s, NEEDED, "memory bandwidth of a device in bytes per second"),
    {"flops_per_s", FIELD_FLOPS, NEEDED, offsetof(Machine, flops_per_s),
     "{f32 = .., bf16 = ..}: peaks of matmuls", 0, NULL},
    {"vector_flops_per_s", FIELD_FLOPS, OPTIONAL, offsetof(Machine, vector_flops_per_s),
     "peaks of other ops; default: flops_per_s of f32", 0, NULL},
    SHARE(Machine, matmul_share, OPTIONAL, "fraction of the peak that matmuls reach; default 1"),
    SHARE(Machine, matmul_share_16, OPTIONAL, "the same for 16-bit types; default: matmul_share"),
    SHARE(Machine, attention_share, OPTIONAL,
          "the same for fused attention; default: matmul_share"),
    SHARE(Machine, attention_gradient_share, OPTIONAL,
          "the same for its gradient; default: matmul_share"),
    SHARE(Machine, memory_share, OPTIONAL,
          "fraction of the memory bandwidth that is reached; default 1"),
    SHARE(Machine, gather_share, OPTIONAL, "the same for ops that gather rows; default 1"),
    SHARE(Machine, norm_share, OPTIONAL,
          "the same for norms and their gradients; default: memory_share"),
    SHARE(Machine, function_share, OPTIONAL,
          "the same for element-wise functions; default: memory_share"),
    NUMBER(Machine, launch_us, NEEDED, "microseconds of overhead per op"),
    NUMBER(Machine, matmul_us, OPTIONAL, "the same of a matmul, beside launch_us; default 0"),
    {"processors", FIELD_COUNT, OPTIONAL, offsetof(Machine, processors),
     "multiprocessors, which work on tiles of a matmul side by side; default: waves do not count",
     0, NULL},
    {"matmul_tile", FIELD_COUNT, OPTIONAL, offsetof(Machine, matmul_tile),
     "rows and columns of such a tile", 0, NULL},
    TABLE(Machine, inside, NEEDED, link_fields, "the link in a node"),
    TABLE(Machine, between, NEEDED, link_fields, "the link between nodes"),
    TABLE(Machine, spine, OPTIONAL, link_fields,
          "the link between blocks of nodes, with devices_per_block: a group with q ranks in "
          "each block has q times its bandwidth"),
    {"nccl", FIELD_TUNING, OPTIONAL, offsetof(Machine, tuning),
     "NCCL's own tuning numbers; without them collectives are rings", 0, tuning_fields},
    {"measured", FIELD_MEASURED, OPTIONAL, offsetof(Machine, measured),
     "measured times of operators by size and of collectives, which stand before the formulas: "
     "calibrate --train writes them",
     0, NULL},
    {0},
};

/* A machine whose devices are of several kinds. */
typedef struct {
    const char *name, *source;
    int n;
    struct {
        int64_t devices;
        Machine machine;
    } kind[CLUSTER_KINDS_MAX];
} ClusterFile;

#define KIND_FIELD(name_) (offsetof(ClusterFile, kind[0].name_) - offsetof(ClusterFile, kind[0]))
static const Field kind_fields[] = {
    {"devices", FIELD_COUNT, NEEDED, KIND_FIELD(devices), "how many devices are of this kind", 0,
     NULL},
    TABLE_AT("machine", KIND_FIELD(machine), machine_fields, "the numbers of such a device"),
    {0},
};
static const Field cluster_fields[] = {
    {"name", FIELD_TEXT, NEEDED, offsetof(ClusterFile, name), "the name that is shown", 0, NULL},
    {"source", FIELD_TEXT, NEEDED, offsetof(ClusterFile, source), "where the numbers come from", 0,
     NULL},
    {"kinds", FIELD_KINDS, NEEDED, 0,
     "of a machine whose devices are unlike, instead of all other numbers: its kinds, in the order "
     "of the devices",
     0, kind_fields},
    {0},
};

/* ---- rows of help ---- */

static const struct {
    const Field *fields;
    const char *type, *help;
} described[] = {
    {machine_fields, "machine",
     "What a machine file returns: numbers of one device and its links."},
    {link_fields, "machine_link", "A link between devices, one way."},
    {tuning_fields, "machine_nccl", "NCCL's tuning numbers, as its source has them."},
    {latency_fields, "machine_latencies",
     "Microseconds by algorithm; an algorithm that is left out or 0 is not available."},
    {cluster_fields, "machine_cluster",
     "What a machine file returns for a host whose devices are of several kinds."},
    {kind_fields, "machine_kind", "Devices of one kind: `devices` of a node each are of it."},
    {size_fields, "machine_sizes", "Fractions of a tree's bandwidth by protocol and message size."},
};

static const char *type_of(const Field *fields)
{
    size_t i = 0;
    while (described[i].fields != fields)
        i++;
    return described[i].type;
}

static const char *use_of(const Field *field, Arena *arena)
{
    static const char *const uses[] = {
        /* ORDER FIELD TYPE */
        "string",   "integer", "number", "number", "table<string, number>",
        "number[]", "table",   "table",  "table",  "table"};
    const char *use = field->fields ? type_of(field->fields) : uses[field->type];
    return arena_printf(arena, "%s%s", use, field->need == OPTIONAL ? "?" : "");
}

/* Turns "of a device" into "Of a device.": errors use the field's text too. */
static const char *sentence(const char *says, Arena *arena)
{
    return arena_printf(arena, "%c%s.", toupper((unsigned char)says[0]), says + 1);
}

void machine_entries(Arena *arena, ScriptEntries *rows)
{
    for (size_t i = 0; i < sizeof described / sizeof *described; i++) {
        ScriptEntry type = {SCRIPT_TYPE, "", described[i].type, "class", described[i].help};
        vec_push(arena, rows, type);
        for (const Field *field = described[i].fields; field->name; field++) {
            ScriptEntry row = {SCRIPT_FIELD, described[i].type, field->name, use_of(field, arena),
                               sentence(field->says, arena)};
            vec_push(arena, rows, row);
        }
    }
}

/* ---- reading ---- */

typedef struct {
    Arena *arena;
    Machine *machine;
    Error *err;
    const Sandbox *sandbox;
    ClusterFile *cluster; /* has no kinds unless the file says so */
    size_t from; /* where the table that is read begins in the text: its fields are behind it */
    bool ok;
} MachineReading;

static bool is_word(char c)
{
    return c == '_' || isalnum((unsigned char)c);
}

/* Where the text gives a field of that name, `name =`, from there on; its length when nowhere. */
static size_t find_field(Str text, size_t from, Str name)
{
    for (size_t at = from; at + name.n <= text.n; at++) {
        if (!str_eq((Str){text.s + at, name.n}, name) || (at > 0 && is_word(text.s[at - 1])))
            continue;
        size_t end = at + name.n;
        while (end < text.n && text.s[end] == ' ')
            end++;
        if (end < text.n && text.s[end] == '=')
            return at;
    }
    return text.n;
}

/* The same in the table that is read, or where the text first has it: a table may be a variable. */
static size_t place_of(const MachineReading *reading, const char *name)
{
    Str text = reading->sandbox->source.text;
    size_t at = find_field(text, reading->from, str_from(name));
    return at < text.n ? at : find_field(text, 0, str_from(name));
}

static bool blame(const MachineReading *reading, const char *name)
{
    const Source *source = &reading->sandbox->source;
    size_t at = place_of(reading, name);
    reading->err->kind = ERROR_SCRIPT;
    if (at < source->text.n)
        error_at(reading->err, source, at);
    else
        error_in_file(reading->err, source->name);
    return false;
}

static bool read_table(lua_State *L, MachineReading *reading, const char *what, const Field *fields,
                       void *out);

static bool number_is_good(double number, bool whole)
{
    return isfinite(number) && number >= 0 &&
           (!whole || (number == floor(number) && number < 1e18));
}

static bool read_number(lua_State *L, const MachineReading *reading, const char *name, bool whole,
                        double *out)
{
    *out = lua_tonumber(L, -1);
    if (lua_type(L, -1) == LUA_TNUMBER && number_is_good(*out, whole))
        return true;
    error_set(reading->err, "'%s' must be a %s number, 0 or more", name,
              whole ? "whole" : "finite");
    return blame(reading, name);
}

static bool read_share(lua_State *L, const MachineReading *reading, const char *name, double *out)
{
    *out = lua_tonumber(L, -1);
    if (lua_type(L, -1) == LUA_TNUMBER && *out > 0 && *out <= 1)
        return true;
    error_set(reading->err, "'%s' must be a share: above 0, at most 1", name);
    return blame(reading, name);
}

static bool read_flops(lua_State *L, const MachineReading *reading, const Field *field, double *out)
{
    if (!lua_istable(L, -1)) {
        error_set(reading->err, "'%s' must be a table {f32 = .., bf16 = ..}", field->name);
        return blame(reading, field->name);
    }
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
        Dtype dtype = dtype_from_name(str_from(name));
        if (dtype == DT_NONE) {
            error_set(reading->err, "'%s' has an unknown element type '%s'", field->name, name);
            return blame(reading, name[0] ? name : field->name);
        }
        if (!read_number(L, reading, name, false, &out[dtype]))
            return false;
    }
    return true;
}

static bool read_list(lua_State *L, const MachineReading *reading, const Field *field, double *out)
{
    lua_Unsigned n = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
    if (n != (lua_Unsigned)field->n) {
        error_set(reading->err, "'%s' must be a list of %d numbers", field->name, field->n);
        error_hint(reading->err, "%s", field->says);
        return blame(reading, field->name);
    }
    for (int i = 0; i < field->n; i++) {
        lua_rawgeti(L, -1, i + 1);
        if (!read_number(L, reading, field->name, false, &out[i]))
            return false;
        lua_pop(L, 1);
    }
    return true;
}

static bool read_text(lua_State *L, const MachineReading *reading, const Field *field,
                      const char **out)
{
    if (lua_type(L, -1) != LUA_TSTRING) {
        error_set(reading->err, "'%s' must be a string", field->name);
        return blame(reading, field->name);
    }
    *out = arena_str(reading->arena, str_from(lua_tostring(L, -1)));
    return true;
}

/* A table in the table: errors about its fields are looked for behind its name. */
static bool read_part(lua_State *L, MachineReading *reading, const Field *field, void *out)
{
    size_t from = reading->from;
    reading->from = place_of(reading, field->name);
    bool ok = read_table(L, reading, field->name, field->fields, out);
    reading->from = from;
    return ok;
}

static bool read_kinds(lua_State *L, MachineReading *reading, const Field *field, ClusterFile *out)
{
    Machine *whole = reading->machine;
    size_t from = reading->from;
    lua_Unsigned n = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
    if (n < 1 || n > CLUSTER_KINDS_MAX) {
        error_set(reading->err, "'%s' must be a list of 1 to %d kinds", field->name,
                  CLUSTER_KINDS_MAX);
        error_hint(reading->err, "{{devices = 16, machine = include \"h100x8\"}, ..}");
        return blame(reading, field->name);
    }
    reading->from = place_of(reading, field->name);
    for (; out->n < (int)n; out->n++) {
        reading->machine = &out->kind[out->n].machine;
        lua_rawgeti(L, -1, out->n + 1);
        if (!read_table(L, reading, "a kind", field->fields, &out->kind[out->n]))
            return false;
        lua_pop(L, 1);
    }
    reading->machine = whole;
    reading->from = from;
    return true;
}

static bool read_field(lua_State *L, MachineReading *reading, const Field *field, void *out)
{
    void *at = (char *)out + field->at;
    double number;
    switch (field->type) {
    case FIELD_TEXT:
        return read_text(L, reading, field, at);
    case FIELD_COUNT:
        if (!read_number(L, reading, field->name, true, &number))
            return false;
        *(int64_t *)at = (int64_t)number;
        return true;
    case FIELD_REAL:
        return read_number(L, reading, field->name, false, at);
    case FIELD_SHARE:
        return read_share(L, reading, field->name, at);
    case FIELD_FLOPS:
        return read_flops(L, reading, field, at);
    case FIELD_LIST:
        return read_list(L, reading, field, at);
    case FIELD_TABLE:
        return read_part(L, reading, field, at);
    case FIELD_MEASURED:
        reading->machine->measured = measured_read(L, reading->arena, reading->err);
        return reading->machine->measured || blame(reading, field->name);
    case FIELD_KINDS:
        return read_kinds(L, reading, field, out);
    case FIELD_TUNING:
        reading->machine->tuning = arena_make(reading->arena, Tuning);
        return read_part(L, reading, field, (void *)(uintptr_t)reading->machine->tuning);
    }
    return false;
}

static const Field *field_named(const Field *fields, const char *name)
{
    const Field *field = fields;
    while (field->name && strcmp(field->name, name) != 0)
        field++;
    return field->name ? field : NULL;
}

static const char *nearest_name(const Field *fields, Str to)
{
    const char *nearest = fields->name;
    for (const Field *field = fields; field->name; field++)
        if (str_distance(str_from(field->name), to) < str_distance(str_from(nearest), to))
            nearest = field->name;
    return nearest;
}

/* Names the key of the table at the top that no field has. */
static bool refuse_unknown(lua_State *L, const MachineReading *reading, const char *what,
                           const Field *fields)
{
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "1";
        if (field_named(fields, key))
            continue;
        error_set(reading->err, "%s has no field '%s'", what, key);
        error_hint(reading->err, "did you mean '%s'?", nearest_name(fields, str_from(key)));
        return blame(reading, key);
    }
    return true;
}

/* Reads the table at the top of the stack into the struct that the fields describe. */
static bool read_table(lua_State *L, MachineReading *reading, const char *what, const Field *fields,
                       void *out)
{
    if (!lua_istable(L, -1)) {
        error_set(reading->err, "%s is a %s, not a table", what, luaL_typename(L, -1));
        return blame(reading, what);
    }
    if (!refuse_unknown(L, reading, what, fields))
        return false;
    for (const Field *field = fields; field->name; field++) {
        bool given = lua_getfield(L, -1, field->name) != LUA_TNIL;
        if (!given && field->need == NEEDED) {
            error_set(reading->err, "%s lacks '%s'", what, field->name);
            error_hint(reading->err, "%s: %s", field->name, field->says);
            return blame(reading, what);
        }
        if (given && !read_field(L, reading, field, out))
            return false;
        lua_pop(L, 1);
    }
    return true;
}

static int read_machine(lua_State *L)
{
    MachineReading *reading = lua_touserdata(L, 1);
    bool unlike = lua_istable(L, -1) && lua_getfield(L, -1, "kinds") != LUA_TNIL;
    lua_settop(L, 2);
    reading->ok = unlike ? read_table(L, reading, "a machine", cluster_fields, reading->cluster)
                         : read_table(L, reading, "a machine", machine_fields, reading->machine);
    return 0;
}

/* The machine of the kinds that were read. */
static bool join_kinds(const MachineReading *reading)
{
    const ClusterFile *file = reading->cluster;
    ClusterKind kind[CLUSTER_KINDS_MAX];
    for (int i = 0; i < file->n; i++) {
        kind[i] = (ClusterKind){file->kind[i].devices, &file->kind[i].machine};
        if (!machine_check(kind[i].machine, reading->err))
            return false;
    }
    reading->machine->name = file->name;
    reading->machine->source = file->source;
    return cluster_make(reading->arena, kind, file->n, reading->machine, reading->err);
}

/* What machine_check() refuses begins with the field's name; its hint names the table, if any. */
static void place_check(MachineReading *reading)
{
    static const char *const tables[] = {"inside", "between", "nccl", "measured"};
    const Source *source = &reading->sandbox->source;
    Str said = str_from(reading->err->text), hint = str_from(reading->err->hint);
    size_t at = source->text.n, n = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (str_find(hint, str_from(tables[i])) >= 0)
            at = find_field(source->text, 0, str_from(tables[i]));
    while (n < said.n && is_word(said.s[n]))
        n++;
    size_t from = at < source->text.n ? at : 0;
    size_t field = find_field(source->text, from, (Str){said.s, n});
    reading->err->kind = ERROR_SCRIPT;
    if (field < source->text.n || at < source->text.n)
        error_at(reading->err, source, field < source->text.n ? field : at);
    else
        error_in_file(reading->err, source->name);
}

static int open_include(lua_State *L)
{
    lua_pushcfunction(L, include_globals[0].function);
    lua_setglobal(L, "include");
    return 0;
}

bool machine_read(Arena *arena, const char *path, const Includes *includes, Machine *out,
                  Error *err)
{
    Error own = {0};
    Sandbox *sandbox = sandbox_new(path);
    if (!sandbox)
        return error_set(err, "no memory for Lua");

    *out = (Machine){0};
    MachineReading reading = {.arena = arena, .machine = out, .err = err ? err : &own};
    reading.sandbox = sandbox;
    reading.cluster = arena_make(arena, ClusterFile);
    if (includes)
        sandbox->includes = *includes;
    bool ok = (!includes || sandbox_protect(sandbox, open_include, NULL, err)) &&
              sandbox_read(sandbox, err) && sandbox_run(sandbox, read_machine, &reading, err) &&
              reading.ok;
    if (ok && (reading.cluster->n > 0 ? !join_kinds(&reading) : !machine_check(out, reading.err))) {
        place_check(&reading);
        ok = false;
    }
    sandbox_free(sandbox);
    return ok;
}
