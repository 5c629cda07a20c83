/* published_sizes.c - what published formulas read, out of a config.json, a mesh and a policy. */
#include "core/summary/published.h"

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/plan/schedule.h"

#include <stdlib.h>

/* Names that configs have for a size, the usual one first. */
typedef struct {
    const char *of[4];
} FieldNames;

static double field(const Json *config, FieldNames names, double fallback)
{
    for (size_t i = 0; i < sizeof names.of / sizeof *names.of && names.of[i]; i++) {
        const Json *value = json_get(config, names.of[i]);
        if (json_is_number(value))
            return json_real(value, fallback);
    }
    return fallback;
}

#define FIELD(config, fallback, ...) field(config, (FieldNames){{__VA_ARGS__}}, fallback)

/* Model types whose MLP is not gated and whose norms have a bias; the others are as Llama's. */
static bool is_plain(Str type)
{
    static const char *const plain[] = {"gpt2", "gpt_neox", "opt", "falcon", "mpt",
                                        "phi",  "bert",     "vit", "whisper"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (str_eq(type, str_from(plain[i])))
            return true;
    return false;
}

static void read_config(const Json *config, PublishedSizes *out)
{
    Str type = json_str(json_get(config, "model_type"), "");
    bool megatron = str_eq(type, STR("megatron_gpt")), plain = is_plain(type);
    out->hidden = FIELD(config, 0, "hidden_size", "n_embd", "d_model");
    out->layers = FIELD(config, 0, "num_hidden_layers", "n_layer", "n_layers", "num_layers");
    out->heads = FIELD(config, 0, "num_attention_heads", "n_head", "n_heads");
    out->kv_heads = FIELD(config, out->heads, "num_key_value_heads", "num_query_groups");
    out->head_dim =
        FIELD(config, out->heads > 0 ? out->hidden / out->heads : 0, "head_dim", "kv_channels");
    out->ffn = FIELD(config, 4 * out->hidden, "intermediate_size", "n_inner", "ffn_hidden_size",
                     "ffn_dim");
    out->vocabulary = FIELD(config, 0, "vocab_size");
    out->experts = FIELD(config, 0, "num_local_experts", "num_experts", "n_routed_experts");
    out->expert_ffn = FIELD(config, out->ffn, "moe_intermediate_size", "moe_ffn_hidden_size");
    out->top_k = FIELD(config, 1, "num_experts_per_tok", "moe_router_topk");
    out->gated = megatron ? json_bool(json_get(config, "swiglu"), false) : !plain;
    out->rms =
        megatron ? str_eq(json_str(json_get(config, "normalization"), ""), STR("RMSNorm")) : !plain;
    out->tied = json_bool(json_get(config, "tie_word_embeddings"), plain);
    if (megatron)
        out->tied = !json_bool(json_get(config, "untie_embeddings_and_output_weights"), false);
}

static double axis_size(const Mesh *mesh, const char *name)
{
    int axis = mesh_find_axis(mesh, str_from(name));
    return axis < 0 ? 1 : (double)mesh->axes[axis].size;
}

static const char *option(const Session *session, const char *name)
{
    for (int i = 0; i < session->policy_options.n; i++)
        if (strcmp(session->policy_options.at[i].name, name) == 0)
            return session->policy_options.at[i].value;
    return policy_settings_find(&session->options.settings, name);
}

static bool option_is(const Session *session, const char *name, const char *value)
{
    const char *has = option(session, name);
    return has && strcmp(has, value) == 0;
}

static double option_number(const Session *session, const char *name, double fallback)
{
    const char *has = option(session, name);
    return has ? strtod(has, NULL) : fallback;
}

static void read_settings(const Session *session, PublishedSizes *out)
{
    out->zero = (int)option_number(session, "zero", 0);
    out->v = option_number(session, "virtual", 1);
    out->micro_batches = option_number(session, "micro_batches", 1);
    out->sequence_parallel = option_is(session, "sequence_parallel", "true");
    const char *schedule = option(session, "schedule");
    const ScheduleKind *kind = schedule ? schedule_kind(str_from(schedule)) : NULL;
    out->two_copies = kind && kind->two_copies && out->p > 1;
    out->selective = option_is(session, "recompute", "selective");
    out->full = option_is(session, "recompute", "full");
    out->flash = !option_is(session, "attention", "eager");
    out->drops = option_number(session, "dropout", 0) > 0;
    out->short_gradients =
        option_is(session, "grad_dtype", "bf16") || option_is(session, "grad_dtype", "f16");
}

/* The ids of the tokens are the first input: [batch, sequence]. */
static void read_graph(const Session *session, PublishedSizes *out)
{
    const Graph *graph = session->graph;
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        const Shape *shape = inferred_shape(session->inferred, t);
        if (!shape || !tensor_is_parameter(session->inferred, t))
            continue;
        double elements = 1;
        for (int d = 0; d < shape->n_dims; d++)
            elements *= (double)shape->dim[d];
        if (plan_gradient(session->plan, t) >= 0 && elements > out->largest)
            out->largest = elements;
    }
    const Shape *ids =
        graph->n_inputs > 0 ? inferred_shape(session->inferred, graph->inputs[0]) : NULL;
    out->seq = ids && ids->n_dims > 1 ? (double)ids->dim[1] : 0;
    if (!ids || ids->n_dims == 0)
        return;
    Shape local;
    sharding_local_shape(plan_sharding(session->plan, graph->inputs[0]), session->mesh, 0, &local);
    out->micro_batch = (double)local.dim[0];
}

static bool sizes_from(const Json *config, const Session *session, PublishedSizes *out)
{
    read_config(config, out);
    out->t = axis_size(session->mesh, "tp");
    out->p = axis_size(session->mesh, "pp");
    out->d = axis_size(session->mesh, "dp");
    out->c = axis_size(session->mesh, "cp");
    out->e = axis_size(session->mesh, "ep");
    read_settings(session, out);
    read_graph(session, out);
    return out->hidden > 0 && out->layers > 0 && out->heads > 0 && out->kv_heads > 0 &&
           out->vocabulary > 0 && out->seq > 0;
}

bool published_sizes(Arena *scratch, const Session *session, const TrainingCost *cost,
                     PublishedSizes *out, Error *err)
{
    enum { CONFIG_BYTES_MAX = 1 << 24 };
    const char *path = session->options.model;
    Source source;
    Error bad = {0};
    if (!file_read(scratch, path, CONFIG_BYTES_MAX, &source, err))
        return false;
    Json *config = json_parse(&source, &bad);
    *out = (PublishedSizes){.parameters = (double)cost->parameters};
    out->peak_flops_per_s = session->machine->flops_per_s[DT_BF16];
    bool fine = config && json_is_object(config) && sizes_from(config, session, out);
    json_free(config);
    if (fine)
        return true;
    error_kind(err, ERROR_USAGE, "%s is no config of a transformer, whose sizes formulas read",
               path);
    return error_hint(err, "--against needs a config.json of Hugging Face");
}
