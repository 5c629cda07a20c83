#include "core/session/system_settings.h"

#include "core/base/file.h"
#include "core/session/session_parts.h"
#include "core/session/system_pairs.h"

#include <inttypes.h>

enum { SETTINGS_BYTES_MAX = 1 << 20, NUMBER_MAX = 1 << 21 };

/* What a file can say, in the order in which it is read from `rows`. */
typedef enum {
    SET_TENSOR, /* ranks of axes: tp, pp, cp, ep; ORDER SYSTEM AXES */
    SET_STAGES,
    SET_CONTEXT,
    SET_EXPERT,
    SET_COPIES, /* data ranks that hold copies, and parts; -1: those that are left */
    SET_SHARDS,
    SET_MICRO_BATCH, /* samples on each data rank: of a micro-batch, of a step */
    SET_LOCAL_BATCH,
    SET_BATCH,         /* samples of a step on all */
    SET_MICRO_BATCHES, /* of a step */
    SET_SEQUENCE,
    SET_VIRTUAL, /* stages a rank; or layers of each of these, of all layers */
    SET_VIRTUAL_LAYERS,
    SET_LAYERS,
    SET_ZERO,
    SET_KEEP, /* from here on texts that an option of the policy has */
    SET_SCHEDULE,
    SET_SEQUENCE_PARALLEL,
    SET_RECOMPUTE,
    SET_RECOMPUTE_LAYERS,
    SET_OVERLAP_GATHERS,
    SET_OVERLAP_SUMS,
    SET_STYLE,
    SET_STAGE_LAYERS,
    SET_OTHER, /* it concerns the plan, but no policy takes it */
    SET_COUNT
} Set;

/* words: "theirs=ours .."; "*": any value. NULL: a number. A later row of a system holds over an
 * earlier one with the same Set. */
typedef struct {
    SettingsKind kind;
    Set set;
    const char *name, *words;
} SettingsRow;

#define ZERO_BUBBLE "interleaved_zero_bubble" /* of one stage a rank: zb1p */

static const char torch_schedules[] =
    "1F1B=1f1b GPipe=gpipe Interleaved1F1B=1f1b_interleaved LoopedBFS=looped_bfs "
    "InterleavedZeroBubble=" ZERO_BUBBLE " InterleavedZeroBubble=zb1p ZBVZeroBubble=zbv "
    "DualPipeV=dualpipev";

Str torch_schedule(Str schedule)
{
    for (Str rest = str_from(torch_schedules); rest.n > 0;) {
        Str ours = str_take(&rest, ' '), theirs = str_take(&ours, '=');
        if (str_eq(ours, schedule))
            return theirs;
    }
    return STR("");
}

#define BOOLS "true=true True=true false=false False=false"

static const SettingsRow rows[] = {
    {SETTINGS_MEGATRON, SET_TENSOR, "tensor-model-parallel-size", NULL},
    {SETTINGS_MEGATRON, SET_STAGES, "pipeline-model-parallel-size", NULL},
    {SETTINGS_MEGATRON, SET_CONTEXT, "context-parallel-size", NULL},
    {SETTINGS_MEGATRON, SET_EXPERT, "expert-model-parallel-size", NULL},
    {SETTINGS_MEGATRON, SET_COPIES, "num-distributed-optimizer-instances", NULL},
    {SETTINGS_MEGATRON, SET_MICRO_BATCH, "micro-batch-size", NULL},
    {SETTINGS_MEGATRON, SET_BATCH, "global-batch-size", NULL},
    {SETTINGS_MEGATRON, SET_SEQUENCE, "seq-length", NULL},
    {SETTINGS_MEGATRON, SET_VIRTUAL, "num-virtual-stages-per-pipeline-rank", NULL},
    {SETTINGS_MEGATRON, SET_VIRTUAL_LAYERS, "num-layers-per-virtual-pipeline-stage", NULL},
    {SETTINGS_MEGATRON, SET_LAYERS, "num-layers", NULL},
    {SETTINGS_MEGATRON, SET_SEQUENCE_PARALLEL, "sequence-parallel", "*=true"},
    {SETTINGS_MEGATRON, SET_ZERO, "use-distributed-optimizer", "*=1"},
    {SETTINGS_MEGATRON, SET_ZERO, "data-parallel-sharding-strategy",
     "no_shard=0 optim=1 optim_grads=2 optim_grads_params=3"},
    {SETTINGS_MEGATRON, SET_RECOMPUTE, "recompute-activations", "*=selective"},
    {SETTINGS_MEGATRON, SET_RECOMPUTE, "recompute-granularity", "full=full selective=selective"},
    {SETTINGS_MEGATRON, SET_OVERLAP_GATHERS, "overlap-param-gather", "*=true"},
    {SETTINGS_MEGATRON, SET_OVERLAP_SUMS, "overlap-grad-reduce", "*=true"},
    {SETTINGS_MEGATRON, SET_STYLE, "cp-comm-type", "p2p=ring a2a=ulysses all_gather=gather"},
    {SETTINGS_MEGATRON, SET_OTHER, "decoder-first-pipeline-num-layers", "*=*"},
    {SETTINGS_MEGATRON, SET_OTHER, "decoder-last-pipeline-num-layers", "*=*"},
    {SETTINGS_MEGATRON, SET_OTHER, "pipeline-model-parallel-layout", "*=*"},
    {SETTINGS_MEGATRON, SET_OTHER, "expert-tensor-parallel-size", "*=*"},
    {SETTINGS_MEGATRON, SET_OTHER, "hierarchical-context-parallel-sizes", "*=*"},
    {SETTINGS_DEEPSPEED, SET_TENSOR, "tensor_parallel.tp_size", NULL},
    {SETTINGS_DEEPSPEED, SET_TENSOR, "tensor_parallel.autotp_size", NULL},
    {SETTINGS_DEEPSPEED, SET_STAGES, "pipeline.stages", NULL},
    {SETTINGS_DEEPSPEED, SET_CONTEXT, "sequence_parallel_size", NULL},
    {SETTINGS_DEEPSPEED, SET_MICRO_BATCH, "train_micro_batch_size_per_gpu", NULL},
    {SETTINGS_DEEPSPEED, SET_BATCH, "train_batch_size", NULL},
    {SETTINGS_DEEPSPEED, SET_MICRO_BATCHES, "gradient_accumulation_steps", NULL},
    {SETTINGS_DEEPSPEED, SET_ZERO, "zero_optimization.stage", "0=0 1=1 2=2 3=3"},
    {SETTINGS_DEEPSPEED, SET_OVERLAP_SUMS, "zero_optimization.overlap_comm", BOOLS},
    {SETTINGS_DEEPSPEED, SET_OTHER, "zero_optimization.zero_hpz_partition_size", "*=*"},
    {SETTINGS_DEEPSPEED, SET_SHARDS, "zero_optimization.mics_shard_size", NULL},
    {SETTINGS_DEEPSPEED, SET_OTHER, "zero_optimization.offload_optimizer.device", "*=*"},
    {SETTINGS_DEEPSPEED, SET_OTHER, "zero_optimization.offload_param.device", "*=*"},
    {SETTINGS_TORCHTITAN, SET_TENSOR, "tensor_parallel_degree", NULL},
    {SETTINGS_TORCHTITAN, SET_STAGES, "pipeline_parallel_degree", NULL},
    {SETTINGS_TORCHTITAN, SET_CONTEXT, "context_parallel_degree", NULL},
    {SETTINGS_TORCHTITAN, SET_EXPERT, "expert_parallel_degree", NULL},
    {SETTINGS_TORCHTITAN, SET_COPIES, "data_parallel_replicate_degree", NULL},
    {SETTINGS_TORCHTITAN, SET_SHARDS, "data_parallel_shard_degree", NULL},
    {SETTINGS_TORCHTITAN, SET_LOCAL_BATCH, "batch_size", NULL},
    {SETTINGS_TORCHTITAN, SET_LOCAL_BATCH, "local_batch_size", NULL},
    {SETTINGS_TORCHTITAN, SET_BATCH, "global_batch_size", NULL},
    {SETTINGS_TORCHTITAN, SET_MICRO_BATCH, "pipeline_parallel_microbatch_size", NULL},
    {SETTINGS_TORCHTITAN, SET_SEQUENCE, "seq_len", NULL},
    {SETTINGS_TORCHTITAN, SET_KEEP, "fsdp_reshard_after_forward",
     "default=false always=false never=true"},
    {SETTINGS_TORCHTITAN, SET_SCHEDULE, "pipeline_parallel_schedule", torch_schedules},
    {SETTINGS_TORCHTITAN, SET_SEQUENCE_PARALLEL, "enable_sequence_parallel", BOOLS},
    {SETTINGS_TORCHTITAN, SET_RECOMPUTE, "ACTIVATION_CHECKPOINTING",
     "FullAC.Config()=full SelectiveAC.Config()=selective"},
    {SETTINGS_TORCHTITAN, SET_RECOMPUTE, "activation_checkpoint.mode",
     "none=none full=full selective=selective"},
    {SETTINGS_TORCHTITAN, SET_STAGE_LAYERS, "module_fqns_per_model_part", "*=*"},
    {SETTINGS_TORCHTITAN, SET_OTHER, "pipeline_parallel_layers_per_stage", "*=*"},
    {SETTINGS_TORCHTITAN, SET_OTHER, "pipeline_parallel_split_points", "*=*"},
    {SETTINGS_TORCHTITAN, SET_OTHER, "expert_tensor_parallel_degree", "*=*"},
};

static const struct {
    const char *name;
    bool whole; /* an axis that the file does not name has one rank */
} systems[SETTINGS_KINDS] = {
    [SETTINGS_MEGATRON] = {"Megatron-LM's flags", true},
    [SETTINGS_DEEPSPEED] = {"DeepSpeed's settings", false},
    [SETTINGS_TORCHTITAN] = {"torchtitan's settings", true},
};

static const char *const axes[] = {"tp", "pp", "cp", "ep"}; /* ORDER SYSTEM AXES */
enum { AXES = SET_EXPERT + 1 };

typedef struct {
    Arena *arena;
    const Source *source;
    const Mesh *mesh;
    SettingsKind kind;
    const char *name[SET_COUNT]; /* as the system calls it; NULL: the file does not say it */
    const char *text[SET_COUNT]; /* the value in our words */
    int64_t number[SET_COUNT];   /* 0: not said */
    size_t at[SET_COUNT];
    int64_t data; /* ranks that share the batch */
    PolicySettings settings;
    const char *policy;
    Vec(const char *) unsaid, untaken;
} FileSettings;

/* ---- from the file ---- */

static bool ends_name(Str name, const char *row)
{
    Str last = str_from(row);
    return str_eq(name, last) ||
           (str_ends(name, last) && name.n > last.n && name.s[name.n - last.n - 1] == '.');
}

static bool fail(const FileSettings *s, size_t at, Error *err)
{
    error_at(err, s->source, at);
    return false;
}

/* Our word for a value; false: there is none. */
static bool find_word(Arena *arena, const char *words, Str value, const char **out)
{
    for (Str rest = str_from(words); rest.n > 0;) {
        Str ours = str_take(&rest, ' '), theirs = str_take(&ours, '=');
        bool any = str_eq(theirs, STR("*"));
        if (!any && !str_eq(theirs, value))
            continue;
        *out = arena_str(arena, any && str_eq(ours, STR("*")) ? value : ours);
        return true;
    }
    return false;
}

/* "1F1B, GPipe": the words of a system, of "1F1B=1f1b GPipe=gpipe". */
static const char *their_words(Arena *arena, const char *words)
{
    Buf out = buf_new(arena);
    for (Str rest = str_from(words); rest.n > 0;) {
        Str word = str_take(&rest, ' ');
        buf_puts(&out, out.n > 0 ? ", " : "");
        buf_add(&out, str_take(&word, '='));
    }
    return out.s;
}

static bool fail_value(const FileSettings *s, const SettingsRow *row, const SystemPair *pair,
                       Error *err)
{
    error_set(err, "%s is '%.*s': %s%s", row->name, STR_ARG(pair->value),
              row->words ? "it must be one of " : "expected a number of ranks, samples or layers",
              row->words ? their_words(s->arena, row->words) : "");
    return fail(s, pair->at, err);
}

static bool take_pair(FileSettings *s, const SettingsRow *row, const SystemPair *pair, Error *err)
{
    int64_t number = 0, most = row->set == SET_SEQUENCE ? INT32_MAX : NUMBER_MAX;
    const char *text = NULL;
    if (str_eq(pair->value, STR("auto")) || str_eq(pair->value, STR("None")))
        return true;
    if (row->words ? !find_word(s->arena, row->words, pair->value, &text)
                   : !str_to_int(pair->value, &number) || number < -1 || number > most)
        return fail_value(s, row, pair, err);
    if (row->set == SET_OTHER) {
        vec_push(s->arena, &s->untaken,
                 arena_printf(s->arena, "%s %.*s", row->name, STR_ARG(pair->value)));
        return true;
    }
    s->name[row->set] = row->name;
    s->text[row->set] = text;
    s->number[row->set] = row->words ? 0 : number;
    s->at[row->set] = pair->at;
    return true;
}

static bool read_settings(FileSettings *s, Error *err)
{
    SystemPairs pairs = {0}, unsaid = {0};
    if (!system_pairs_read(s->arena, s->kind, s->source, &pairs, &unsaid, err))
        return false;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int i = 0; rows[r].kind == s->kind && i < pairs.n; i++)
            if (ends_name(pairs.at[i].name, rows[r].name) &&
                !take_pair(s, &rows[r], &pairs.at[i], err))
                return false;
    for (int i = 0; i < unsaid.n; i++)
        vec_push(s->arena, &s->unsaid, arena_str(s->arena, unsaid.at[i].value));
    return true;
}

/* ---- the mesh ---- */

static int64_t size_of(const FileSettings *s, const char *axis)
{
    int at = mesh_find_axis(s->mesh, str_from(axis));
    return at < 0 ? 1 : s->mesh->axes[at].size;
}

static bool fail_mesh(const FileSettings *s, Set set, int64_t wanted, const char *axis, Error *err)
{
    Buf mesh = buf_new(s->arena);
    mesh_format(s->mesh, &mesh);
    error_set(err, "%s is %" PRId64 ", but the mesh %s has %s of %" PRId64,
              s->name[set] ? s->name[set] : systems[s->kind].name, wanted, mesh.s, axis,
              size_of(s, axis));
    error_hint(err, "set the mesh with -m: axes tp, pp, cp and ep with the sizes in the file, dp "
                    "for the remaining ranks");
    return fail(s, s->at[set], err);
}

/* The axes of the mesh are those of the file. */
static bool check_mesh(FileSettings *s, Error *err)
{
    s->data = s->mesh->n_devices;
    for (int i = 0; i < AXES; i++) {
        int64_t size = size_of(s, axes[i]), wanted = s->number[i] > 0 ? s->number[i] : 1;
        if (i != SET_EXPERT)
            s->data /= size;
        if (size != wanted && (s->number[i] > 0 || systems[s->kind].whole)) {
            if (s->name[i])
                return fail_mesh(s, (Set)i, wanted, axes[i], err);
            error_set(err, "the mesh has an axis %s of size %" PRId64 ", which %s do not mention",
                      axes[i], size, systems[s->kind].name);
            return fail(s, 0, err);
        }
        if (size != wanted)
            vec_push(s->arena, &s->unsaid,
                     arena_printf(s->arena, "%s; the mesh has %" PRId64 "", axes[i], size));
        s->number[i] = size;
    }
    if (s->data > s->number[SET_EXPERT] && mesh_find_axis(s->mesh, STR("dp")) < 0) {
        error_set(err, "the mesh has no axis dp for the remaining %" PRId64 " ranks", s->data);
        error_hint(err, "set the mesh with -m: axes tp, pp, cp and ep with the sizes in the file, "
                        "dp for the remaining ranks");
        return fail(s, 0, err);
    }
    return true;
}

/* ---- options of the policy ---- */

static void set_text(FileSettings *s, const char *option, const char *value)
{
    PolicySetting setting = {option, value};
    vec_push(s->arena, &s->settings, setting);
}

static void set_number(FileSettings *s, const char *option, int64_t value)
{
    set_text(s, option, arena_printf(s->arena, "%" PRId64, value));
}

static bool shares_data(const MeshAxis *axis)
{
    for (int i = 0; i < AXES; i++)
        if (strcmp(axis->name, axes[i]) == 0)
            return false;
    return axis->size > 1;
}

/* The axes along which `shards` ranks hold parts: all that share the data, or one beside dp. NULL:
 * none does. */
static const char *shard_axes(const FileSettings *s, int64_t shards)
{
    Buf all = buf_new(s->arena);
    const char *one = NULL;
    for (int a = 0; a < s->mesh->n_axes; a++) {
        const MeshAxis *axis = &s->mesh->axes[a];
        if (!shares_data(axis))
            continue;
        buf_printf(&all, "%s%s", all.n > 0 ? "," : "", axis->name);
        if (axis->size == shards && strcmp(axis->name, "dp") != 0)
            one = axis->name;
    }
    return shards == s->data ? all.s : one;
}

static bool fail_shards(const FileSettings *s, int64_t copies, int64_t shards, Error *err)
{
    Set set = s->name[SET_COPIES] ? SET_COPIES : SET_SHARDS;
    error_set(err,
              "no axes of the mesh give %" PRId64 " replicas sharded over %" PRId64
              " ranks each: the mesh has %" PRId64 " data parallel ranks",
              copies, shards, s->data);
    error_hint(err,
               "use -m dp=%" PRId64 ",sh=%" PRId64 ",.. to shard over sh and replicate over dp",
               copies, shards);
    return fail(s, s->at[set], err);
}

/* Along which axes parameters are in parts. torchtitan does not say ZeRO's level: its fully_shard
 * stores all in parts, on all data ranks unless it says how many. */
static bool set_shards(FileSettings *s, Error *err)
{
    bool titan = s->kind == SETTINGS_TORCHTITAN;
    int64_t copies = s->number[SET_COPIES], shards = s->number[SET_SHARDS];
    if (copies <= 0)
        copies = shards > 0 ? s->data / shards : 1;
    if (shards <= 0)
        shards = s->data / copies;
    if (titan && shards > 1)
        s->text[SET_ZERO] = "3";
    if (!titan && !(s->text[SET_ZERO] && strcmp(s->text[SET_ZERO], "0") != 0))
        return true;
    const char *names = shard_axes(s, shards);
    if (copies * shards != s->data || (shards > 1 && !names))
        return fail_shards(s, copies, shards, err);
    if (shards > 1 && names[0] && strcmp(names, "dp") != 0)
        set_text(s, "zero_axis", names);
    return true;
}

/* Samples of a micro-batch on a data rank, and how many of them a step has. */
static void set_batch(FileSettings *s)
{
    int64_t micro = s->number[SET_MICRO_BATCH], all = s->number[SET_BATCH];
    int64_t n = s->number[SET_MICRO_BATCHES];
    if (micro <= 0)
        micro = s->number[SET_LOCAL_BATCH];
    if (micro <= 0 && all > 0 && n > 0 && all % (n * s->data) == 0)
        micro = all / (n * s->data);
    if (n <= 0 && micro > 0 && all > 0 && all % (micro * s->data) == 0)
        n = all / (micro * s->data);
    if (n <= 0 && micro > 0 && s->number[SET_LOCAL_BATCH] > 0)
        n = s->number[SET_LOCAL_BATCH] / micro;
    if (micro > 0)
        set_number(s, "micro_batch", micro);
    if (n > 0 || s->number[SET_STAGES] == 1)
        set_number(s, "micro_batches", n > 0 ? n : 1);
    if (micro > 0 && n > 0 && all > 0 && micro * n * s->data != all)
        vec_push(s->arena, &s->untaken,
                 arena_printf(s->arena,
                              "%s %" PRId64 ", because it is not %" PRId64
                              " micro-batches of %" PRId64 " samples on %" PRId64
                              " data parallel ranks",
                              s->name[SET_BATCH], all, n, micro, s->data));
}

/* "8,8,16": layers in each [..] of a list of lists of modules. */
static const char *layers_of_parts(FileSettings *s, Str parts, int *n_parts)
{
    Buf out = buf_new(s->arena);
    *n_parts = 0;
    str_take(&parts, '[');
    while (parts.n > 0) {
        str_take(&parts, '[');
        Str part = str_take(&parts, ']');
        int n = 0;
        for (int64_t at; (at = str_find(part, STR("layers."))) >= 0; n++)
            part = (Str){part.s + at + 1, part.n - (size_t)at - 1};
        if (n > 0)
            buf_printf(&out, "%s%d", (*n_parts)++ ? "," : "", n);
    }
    return out.s;
}

static void set_stages(FileSettings *s)
{
    int64_t virtual = s->number[SET_VIRTUAL], stages = s->number[SET_STAGES];
    int64_t each = s->number[SET_VIRTUAL_LAYERS], layers = s->number[SET_LAYERS];
    int n_parts = 0;
    if (stages == 1)
        return;
    if (each > 0 && layers % (each * stages) == 0)
        virtual = layers / (each * stages);
    if (s->text[SET_STAGE_LAYERS]) {
        set_text(s, "stage_layers",
                 layers_of_parts(s, str_from(s->text[SET_STAGE_LAYERS]), &n_parts));
        virtual = n_parts % stages == 0 ? n_parts / stages : virtual;
    }
    if (virtual > 1)
        set_number(s, "virtual", virtual);
    if (s->text[SET_SCHEDULE])
        set_text(s, "schedule",
                 virtual <= 1 && strcmp(s->text[SET_SCHEDULE], ZERO_BUBBLE) == 0
                     ? "zb1p"
                     : s->text[SET_SCHEDULE]);
    else if (s->kind == SETTINGS_MEGATRON && virtual > 1)
        set_text(s, "schedule", "1f1b_interleaved");
}

static bool is_true(const char *text)
{
    return text && strcmp(text, "true") == 0;
}

static void set_overlap(FileSettings *s)
{
    bool gathers = s->text[SET_OVERLAP_GATHERS] != NULL;
    bool sums = is_true(s->text[SET_OVERLAP_SUMS]);
    if (gathers || sums)
        set_text(s, "overlap", gathers && sums ? "both" : sums ? "backward" : "forward");
}

/* torchtitan does unless it is told not to. */
static bool splits_sequence(const FileSettings *s)
{
    const char *text = s->text[SET_SEQUENCE_PARALLEL];
    return text ? is_true(text) : s->kind == SETTINGS_TORCHTITAN;
}

static const char *policy_of(const FileSettings *s)
{
    bool tensor = s->number[SET_TENSOR] > 1, stages = s->number[SET_STAGES] > 1;
    bool context = s->number[SET_CONTEXT] > 1, expert = s->number[SET_EXPERT] > 1;
    if (stages || tensor + context + expert > 1)
        return "hybrid3d";
    if (tensor)
        return splits_sequence(s) ? "megatron_sp" : "megatron";
    if (context)
        return "context";
    if (expert)
        return "expert";
    return s->text[SET_ZERO] && strcmp(s->text[SET_ZERO], "0") != 0 ? "fsdp" : "dp";
}

/* An option that one policy alone has. */
static void set_own(FileSettings *s, Set set, const char *policy, const char *option,
                    const char *plain)
{
    const char *value = s->text[set];
    if (!value || strcmp(value, plain) == 0)
        return;
    if (strcmp(s->policy, policy) == 0)
        set_text(s, option, value);
    else
        vec_push(s->arena, &s->untaken,
                 arena_printf(s->arena, "%s: policy %s has no option %s", s->name[set], s->policy,
                              option));
}

static bool translate(FileSettings *s, Error *err)
{
    if (!read_settings(s, err) || !check_mesh(s, err) || !set_shards(s, err))
        return false;
    s->policy = policy_of(s);
    set_batch(s);
    set_stages(s);
    set_overlap(s);
    if (s->text[SET_ZERO])
        set_text(s, "zero", s->text[SET_ZERO]);
    if (s->text[SET_RECOMPUTE])
        set_text(s, "recompute", s->text[SET_RECOMPUTE]);
    if (s->number[SET_TENSOR] > 1 && splits_sequence(s) && strcmp(s->policy, "hybrid3d") == 0)
        set_text(s, "sequence_parallel", "true");
    set_own(s, SET_KEEP, "fsdp", "keep", "false");
    set_own(s, SET_STYLE, "context", "style", "gather");
    return true;
}

/* ---- a session's pins ---- */

bool system_settings_are(Str text)
{
    return system_of_text(text) != SETTINGS_KINDS;
}

static bool settings_read(Session *session, const Source *source, FileSettings *out, Error *err)
{
    Source mesh = {"--mesh", str_from(session_mesh_text(session))};
    *out = (FileSettings){.arena = session->model_arena, .source = source};
    out->kind = system_of_text(source->text);
    out->mesh = session->mesh ? session->mesh : mesh_parse(out->arena, &mesh, err);
    if (out->mesh && translate(out, err))
        return true;
    error_in_file(err, source->name);
    if (err)
        err->kind = ERROR_UNREADABLE;
    return false;
}

bool system_settings_take(Session *session, Error *err)
{
    SessionOptions *options = &session->options;
    Source source;
    Error unread = {0};
    FileSettings settings;
    if (!options->pins || str_ends(str_from(options->pins), STR(".onnx")) ||
        !file_read(session->model_arena, options->pins, SETTINGS_BYTES_MAX, &source, &unread) ||
        !system_settings_are(source.text))
        return true; /* what is wrong with it is said when pins are read */
    if (!settings_read(session, &source, &settings, err))
        return false;
    if (options->policy && strcmp(options->policy, settings.policy) != 0)
        return true;
    options->policy = settings.policy;
    options->settings =
        policy_settings_merged(session->model_arena, &settings.settings, &options->settings);
    return true;
}

static void note(Session *session, const Source *source, Level level, const char *code,
                 const char *text, const char *hint)
{
    Arena *arena = session->journal_arena;
    Finding finding = {.level = level, .code = code, .op = -1, .tensor = -1};
    finding.text = arena_str(arena, str_from(text));
    finding.hint = hint;
    finding.file = arena_str(arena, str_from(source->name));
    vec_push(arena, &session->notes, finding);
}

/* Whether an input has a dim of that size. */
static bool has_size(const Session *session, int64_t size)
{
    const Graph *graph = session->graph;
    for (int i = 0; i < graph->n_inputs; i++) {
        const Shape *shape = inferred_shape(session->inferred, graph->inputs[i]);
        for (int d = 0; shape && d < shape->n_dims; d++)
            if (shape->dim[d] == size)
                return true;
    }
    return false;
}

static void note_sequence(Session *session, const Source *source, const FileSettings *s)
{
    int64_t size = s->number[SET_SEQUENCE];
    if (size <= 0 || has_size(session, size))
        return;
    note(session, source, LEVEL_WARNING, "settings-sequence",
         arena_printf(session->journal_arena,
                      "%s is %" PRId64 ", but no dim of the model's inputs has that size",
                      s->name[SET_SEQUENCE], size),
         "set the sequence length with --dim seq=N if the model leaves it free");
}

bool system_settings_note(Session *session, const Source *source, Error *err)
{
    FileSettings s;
    Buf text = buf_new(session->journal_arena);
    if (!settings_read(session, source, &s, err))
        return false;
    const char *name = systems[s.kind].name, *policy = session->options.policy;
    bool used = policy && strcmp(policy, s.policy) == 0;
    if (used)
        buf_printf(&text, "%s: policy %s", name, policy);
    else
        buf_printf(&text, "%s are ignored, because policy %s is given", name, policy ? policy : "");
    for (int i = 0; used && i < s.settings.n; i++)
        buf_printf(&text, " %s=%s", s.settings.at[i].name, s.settings.at[i].value);
    note(session, source, LEVEL_NOTE, "settings", text.s,
         used ? "change an option with --set NAME=VALUE" : "leave out -p to use them");
    for (int i = 0; used && i < s.untaken.n; i++)
        note(session, source, LEVEL_WARNING, "settings-not-taken",
             arena_printf(s.arena, "ignored: %s", s.untaken.at[i]),
             "write a policy of your own to plan it");
    for (int i = 0; used && i < s.unsaid.n; i++)
        note(session, source, LEVEL_WARNING, "settings-not-said",
             arena_printf(s.arena, "the file does not say %s", s.unsaid.at[i]),
             "a plan file (-o) holds the whole plan");
    if (used)
        note_sequence(session, source, &s);
    return true;
}
