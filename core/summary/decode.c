#include "core/summary/decode.h"

#include "core/cost/memory.h"
#include "core/cost/pipeline.h"
#include "core/plan/plan_machine.h"

/* ---- what is asked for ---- */

bool decode_parse(Arena *arena, const Source *source, DecodeAsked *out, Error *err)
{
    DimBindings dims = {0};
    *out = (DecodeAsked){.batch = -1, .context = -1, .seq = 1, .block = 1};
    if (!dims_parse(arena, source, &dims, err)) {
        err->kind = ERROR_USAGE;
        return false;
    }
    for (int i = 0; i < dims.n; i++) {
        Str name = dims.at[i].name;
        int64_t *to = str_eq(name, STR("batch"))     ? &out->batch
                      : str_eq(name, STR("context")) ? &out->context
                      : str_eq(name, STR("seq"))     ? &out->seq
                      : str_eq(name, STR("block"))   ? &out->block
                                                     : NULL;
        if (!to) {
            error_kind(err, ERROR_USAGE, "%s takes batch, context, seq and block, not '%.*s'",
                       source->name, STR_ARG(name));
            return error_hint(err, "--decode batch=8,context=4096");
        }
        *to = dims.at[i].size;
    }
    if (out->batch >= 1 && out->context >= 0 && out->seq >= 1 && out->context <= DECODE_LIMIT &&
        out->block >= 1 && out->block <= DECODE_LIMIT)
        return true;
    error_kind(err, ERROR_USAGE,
               "%s needs a batch of 1 or more, a context of 0 to %d tokens, and blocks of 1 to as "
               "many",
               source->name, DECODE_LIMIT);
    return error_hint(err, "--decode batch=8,context=4096");
}

static bool policy_declares(Arena *arena, const SessionOptions *options, const SessionHooks *hooks,
                            const char *name)
{
    PolicyOptions declared = {0};
    if (!options->policy || !hooks->options ||
        !hooks->options(hooks->context, arena, options->policy, &declared, NULL))
        return false;
    for (int i = 0; i < declared.n; i++)
        if (strcmp(declared.at[i].name, name) == 0)
            return true;
    return false;
}

bool decode_options(Arena *arena, const SessionOptions *options, const SessionHooks *hooks,
                    DecodeAsked asked, SessionOptions *out, Error *err)
{
    static const char *const one = "micro_batches";
    const DimBinding dims[] = {
        {STR("batch"), asked.batch}, {STR("seq"), asked.seq}, {STR("context"), asked.context}};
    *out = *options;
    out->dims = (DimBindings){0};
    for (int i = 0; i < options->dims.n; i++)
        vec_push(arena, &out->dims, options->dims.at[i]);
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        vec_push(arena, &out->dims, dims[i]);
    return policy_settings_find(&options->settings, one) ||
           !policy_declares(arena, options, hooks, one) ||
           policy_settings_with(arena, &options->settings, STR("micro_batches=1"), &out->settings,
                                err);
}

/* ---- what a plan says ---- */

static bool is_cache(const Graph *graph, int32_t tensor)
{
    return str_starts(str_from(tensor_name(graph, tensor)), STR("past_key_values."));
}

bool decode_has_cache(const Session *session)
{
    const Graph *graph = session->graph;
    for (int i = 0; i < graph->n_outputs; i++)
        if (str_starts(str_from(tensor_name(graph, graph->outputs[i])), STR("present.")))
            return true;
    return false;
}

/* Bytes of a part of the cache on a rank that whole blocks of its tokens have more. */
static int64_t unused_in_blocks(const Plan *plan, const LiveValue *part, int64_t rank,
                                int64_t block)
{
    enum { TOKENS = 2 }; /* [batch, heads, tokens, numbers of a head] */
    const Sharding *sharding = plan_sharding(plan, part->tensor);
    int64_t tokens = cut_local_size(&sharding->dim[TOKENS], plan->mesh, rank);
    return tokens > 0 ? part->bytes / tokens * ((block - tokens % block) % block) : 0;
}

/* On the fullest rank at its peak, where the inputs of all micro-batches are alive. */
static void count_cache(Arena *arena, const Plan *plan, DecodeStep *out)
{
    MemoryUse use = memory_use(arena, plan);
    LiveSet live = memory_live_at(arena, plan, use.rank, use.peak_place < 0 ? 0 : use.peak_place);
    for (int i = 0; i < live.n; i++) {
        const LiveValue *part = &live.at[i];
        if (part->class != MEMORY_INPUT || !is_cache(plan->inferred->graph, part->tensor))
            continue;
        out->cache_bytes += part->bytes;
        out->unused_bytes += unused_in_blocks(plan, part, use.rank, out->asked.block);
    }
}

static int64_t whole_cache(const Plan *plan)
{
    const Graph *graph = plan->inferred->graph;
    int64_t bytes = 0;
    for (int i = 0; i < graph->n_inputs; i++) {
        int32_t t = graph->inputs[i];
        const Shape *shape = inferred_shape(plan->inferred, t);
        if (shape && is_cache(graph, t))
            bytes += dtype_bytes((Dtype)plan->inferred->dtype[t], shape_elements(shape));
    }
    return bytes;
}

DecodeStep decode_step(Arena *arena, const Session *session, DecodeAsked asked)
{
    const Plan *plan = session->plan;
    const Schedule *table = plan_schedule(plan);
    DecodeStep out = {.asked = asked, .micro_batches = table ? table->n_micro_batches : 1};
    out.step_us = plan_step_us(plan);
    double tokens = (double)out.micro_batches * (double)asked.batch * (double)asked.seq;
    out.tokens_per_s = out.step_us > 0 ? tokens / (out.step_us * 1e-6) : 0;
    count_cache(arena, plan, &out);
    out.peak_bytes = plan->priced->totals.peak_bytes + out.unused_bytes;
    out.whole_cache_bytes = out.micro_batches * whole_cache(plan);
    out.legal = plan_is_legal(plan);
    out.fits = out.peak_bytes <= plan_memory(plan);
    return out;
}

/* ---- other steps ---- */

typedef struct {
    Arena *arena;
    const Session *session;
    Progress *progress;
} Trying;

/* A step of the session's options with other sizes; the dims that its policy asks for yield. */
static DecodeStep try_step(const Trying *trying, DecodeAsked asked)
{
    const Session *session = trying->session;
    SessionOptions options;
    Error err = {0};
    Session *other = NULL;
    if (decode_options(trying->arena, &session->given, &session->hooks, asked, &options, &err))
        other = session_open(&options, &session->hooks, &err);
    progress_add(trying->progress, 1);
    if (!other)
        return (DecodeStep){.asked = asked, .failed = arena_str(trying->arena, str_from(err.text))};
    DecodeStep out = decode_step(trying->arena, other, asked);
    session_close(other);
    return out;
}

/* A dim of the step that is searched, in units: the batch in multiples of what shards it. */
typedef struct {
    DecodeAsked asked;
    bool batch; /* else the context */
    int64_t unit;
} Searched;

static DecodeAsked with(const Searched *searched, int64_t n)
{
    DecodeAsked asked = searched->asked;
    *(searched->batch ? &asked.batch : &asked.context) = n * searched->unit;
    return asked;
}

/* Where the line through two steps meets the memory of a device, between them. */
static int64_t crossing(const DecodeStep *low, const DecodeStep *high, int64_t n_low,
                        int64_t n_high, int64_t room)
{
    double rise = (double)(high->peak_bytes - low->peak_bytes);
    double share = rise > 0 ? (double)(room - low->peak_bytes) / rise : 0.5;
    int64_t at = n_low + (int64_t)(share * (double)(n_high - n_low));
    return at <= n_low ? n_low + 1 : at >= n_high ? n_high - 1 : at;
}

/* The most units that fit, of 1 .. DECODE_LIMIT: memory grows with them nearly along a line, so
 * that few plans find it. A step that has no plan does not fit. */
static int64_t most_that_fits(const Trying *trying, const Searched *searched, Error *err)
{
    enum { PLANS_MAX = 40 };
    int64_t room = trying->session->machine->memory_bytes, low = 0, high = 1;
    int64_t last = DECODE_LIMIT / searched->unit;
    DecodeStep at_low = {0}, at_high = try_step(trying, with(searched, high));
    while (!at_high.failed && at_high.fits && high < last) {
        at_low = at_high;
        low = high;
        high = high * 16 < last ? high * 16 : last;
        at_high = try_step(trying, with(searched, high));
        if (!progress_goes_on(trying->progress, err))
            return -1;
    }
    if (!at_high.failed && at_high.fits)
        return DECODE_NO_LIMIT;
    for (int i = 0; i < PLANS_MAX && low > 0 && high - low > 1; i++) {
        int64_t middle =
            at_high.failed ? low + (high - low) / 2 : crossing(&at_low, &at_high, low, high, room);
        DecodeStep at = try_step(trying, with(searched, middle));
        bool fits = !at.failed && at.fits;
        *(fits ? &at_low : &at_high) = at;
        *(fits ? &low : &high) = middle;
        if (!progress_goes_on(trying->progress, err))
            return -1;
    }
    return low > 0 ? low * searched->unit : -1;
}

/* The ranks along the axes that shard the batch: those of the first input. */
static int64_t batch_unit(const Session *session)
{
    const Graph *graph = session->graph;
    const Plan *plan = session->plan;
    const Sharding *ids = graph->n_inputs > 0 ? plan_sharding(plan, graph->inputs[0]) : NULL;
    if (!ids || ids->n_dims == 0)
        return 1;
    int64_t mine = cut_local_size(&ids->dim[0], plan->mesh, 0), all = cut_size(&ids->dim[0]);
    return mine > 0 ? (all + mine - 1) / mine : 1;
}

static DecodeStep try_context(const Trying *trying, DecodeAsked asked, int64_t context)
{
    asked.context = context;
    return try_step(trying, asked);
}

bool decode_page(Arena *arena, const Session *session, DecodeAsked asked, Progress *progress,
                 DecodePage *out, Error *err)
{
    enum { QUARTERS = 4 };
    Trying trying = {arena, session, progress};
    Error stopped = {0};
    *out = (DecodePage){.step = decode_step(arena, session, asked)};
    progress_stage(progress, "planning steps", 0);
    if (asked.context > 0)
        out->prefill = try_step(&trying, (DecodeAsked){asked.batch, 0, asked.context, asked.block});
    for (int i = 0; i < QUARTERS && asked.context >= QUARTERS; i++)
        out->growth[out->n_growth++] = try_context(&trying, asked, asked.context * i / QUARTERS);
    out->growth[out->n_growth++] = out->step;
    out->most_context = most_that_fits(&trying, &(Searched){asked, false, 1}, &stopped);
    if (out->most_context > asked.context && out->most_context < DECODE_NO_LIMIT)
        out->growth[out->n_growth++] = try_context(&trying, asked, out->most_context);
    out->most_batch =
        most_that_fits(&trying, &(Searched){asked, true, batch_unit(session)}, &stopped);
    return progress_goes_on(progress, err);
}
