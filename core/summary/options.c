#include "core/summary/options.h"

#include "core/base/intern.h"
#include "core/summary/decision_lua.h"
#include "core/explain/why_reshard.h"
#include "core/propagate/propagate.h"
#include "core/session/make.h"

#include <inttypes.h>

/* ---- making the plan of an option ---- */

/* Findings of the current plan, by text. */
typedef struct {
    Arena *scratch;
    const Session *session;
    Intern *findings;
    Propagation *propagation; /* ours: the session's may be read meanwhile */
    Plan *before;             /* the last one tried */
    Arena *before_arena;      /* its journal */
} Trials;

static int32_t finding_key(Intern *intern, const Finding *finding, bool put)
{
    Arena *scratch = arena_new();
    Buf key = buf_new(scratch);
    buf_printf(&key, "%d %s %d %d %s", (int)finding->level, finding->code, (int)finding->op,
               (int)finding->tensor, finding->text);
    int32_t id = put ? intern_put(intern, key.s, key.n) : intern_find(intern, key.s, key.n);
    arena_free(scratch);
    return id;
}

static Trials trials_begin(const Session *session)
{
    Trials trials = {.scratch = arena_new(), .session = session};
    const Findings *findings = &session->plan->findings;
    trials.findings = intern_new(trials.scratch);
    for (int i = 0; i < findings->n; i++)
        finding_key(trials.findings, &findings->at[i], true);
    if (session->plan->propagator->incremental)
        trials.propagation = propagation_new(trials.scratch, session->inferred, session->mesh);
    return trials;
}

static void trials_end(Trials *trials)
{
    plan_free(trials->before);
    arena_free(trials->before_arena);
    arena_free(trials->scratch);
}

/* Counts the errors and warnings that are new. The first error is the reason, else the first
 * warning. */
static void look_at_findings(const Trials *trials, Arena *arena, const Plan *plan, Trial *out)
{
    Level worst = LEVEL_NOTE;
    for (int i = 0; i < plan->findings.n; i++) {
        const Finding *finding = &plan->findings.at[i];
        if (finding->level == LEVEL_NOTE || finding_key(trials->findings, finding, false) >= 0)
            continue;
        out->n_new++;
        out->legal = out->legal && finding->level != LEVEL_ERROR;
        if (worst != LEVEL_NOTE && (worst == LEVEL_ERROR || finding->level != LEVEL_ERROR))
            continue;
        worst = finding->level;
        out->reason = arena_str(arena, str_from(finding->text));
    }
}

static bool totals_same(const Totals *a, const Totals *b)
{
    return a->step_us == b->step_us && a->comm_us == b->comm_us && a->overlap_us == b->overlap_us &&
           a->comm_bytes == b->comm_bytes && a->peak_bytes == b->peak_bytes && a->flops == b->flops;
}

static bool try_one(Trials *trials, Arena *arena, const Decision *decisions, int n, Trial *out,
                    Error *err)
{
    const Session *session = trials->session;
    Arena *scratch = arena_new();
    Journal journal = session_journal_with(session, scratch, decisions, n);
    PlanRequest request = session_request(session, &journal);
    request.propagation = trials->propagation;
    request.before = trials->propagation ? trials->before : NULL;
    Plan *plan = plan_make(&request, err);
    *out = (Trial){.done = true, .reason = ""};
    if (plan) {
        out->totals = plan->priced->totals;
        out->legal = true;
        out->same = totals_same(&plan->priced->totals, &session->plan->priced->totals);
        look_at_findings(trials, arena, plan, out);
        out->same = out->same && out->n_new == 0;
        plan_free(trials->before);
        arena_free(trials->before_arena);
        trials->before = plan;
        trials->before_arena = scratch; /* the plan's pins are in it */
    } else {
        arena_free(scratch);
    }
    return plan != NULL;
}

bool plan_try(Arena *arena, const Session *session, const Decision *decisions, int n, Trial *out,
              Error *err)
{
    Trials trials = trials_begin(session);
    bool ok = try_one(&trials, arena, decisions, n, out, err);
    trials_end(&trials);
    return ok;
}

bool options_try(Arena *arena, const Session *session, PlanOptions *options, Progress *progress,
                 Error *err)
{
    Trials trials = trials_begin(session);
    bool goes_on = true;
    progress_stage(progress, "trying options", options->list.n);
    for (int i = 0; i < options->list.n && goes_on; i++) {
        PlanOption *option = &options->list.at[i];
        Error why = {0};
        if (!option->trial.done &&
            !try_one(&trials, arena, option->decisions, option->n, &option->trial, &why))
            option->trial.reason = arena_str(arena, str_from(why.text));
        progress_add(progress, 1);
        goes_on = progress_goes_on(progress, err);
    }
    trials_end(&trials);
    return goes_on;
}

/* ---- order ---- */

static int rank_of(const Trial *trial)
{
    return !trial->done ? 3 : !trial->legal ? 2 : trial->same ? 1 : 0;
}

static bool comes_before(const PlanOption *a, const PlanOption *b, bool by_peak)
{
    int x = rank_of(&a->trial), y = rank_of(&b->trial);
    const Totals *first = &a->trial.totals, *second = &b->trial.totals;
    if (x != y || x != 0)
        return x < y;
    if (by_peak && first->peak_bytes != second->peak_bytes)
        return first->peak_bytes < second->peak_bytes;
    if (first->step_us != second->step_us)
        return first->step_us < second->step_us;
    return first->peak_bytes < second->peak_bytes;
}

static void sort_options(PlanOptions *options, bool by_peak)
{
    for (int i = 1; i < options->list.n; i++) {
        PlanOption option = options->list.at[i];
        int at = i;
        for (; at > 0 && comes_before(&option, &options->list.at[at - 1], by_peak); at--)
            options->list.at[at] = options->list.at[at - 1];
        options->list.at[at] = option;
    }
}

void options_sort(PlanOptions *options)
{
    sort_options(options, false);
}

void options_sort_by_peak(PlanOptions *options)
{
    sort_options(options, true);
}

/* ---- listing them ---- */

typedef struct {
    Arena *arena;
    const Session *session;
    PlanOptions *out;
    Vec(Decision) decisions; /* of the option that is being listed */
} OptionListing;

static OptionListing listing_begin(Arena *arena, const Session *session, PlanOptions *out)
{
    *out = (PlanOptions){.now = session->plan->priced->totals};
    return (OptionListing){.arena = arena, .session = session, .out = out};
}

static void decide(OptionListing *listing, Decision decision)
{
    bool known = decision.kind == PIN_TENSOR_DIM &&
                 tensor_is_known(listing->session->inferred, decision.place);
    if (known || (decision_pins_dim(decision.kind) && !cut_has_lua(decision_cut(&decision))))
        return;
    Cut *own = arena_make(listing->arena, Cut);
    *own = *decision_cut(&decision);
    decision.cut = own;
    Buf line = buf_new(listing->arena);
    if (listing->decisions.n < OPTION_LINES_MAX)
        decision_lua(listing->session, &decision, &line);
    decision.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = line.n > 0 ? line.s : ""};
    vec_push(listing->arena, &listing->decisions, decision);
}

static void decide_cut(OptionListing *listing, DecisionKind kind, int32_t place, int dim,
                       const Cut *cut)
{
    decide(listing, (Decision){.kind = kind, .place = place, .dim = dim, .cut = cut});
}

/* Drops an option without decisions. */
static void add_option(OptionListing *listing, const Buf *text)
{
    PlanOption option = {.text = buf_text(text), .n = listing->decisions.n};
    option.decisions = listing->decisions.at;
    option.trial.reason = "";
    if (option.n > 0)
        vec_push(listing->arena, &listing->out->list, option);
    memset(&listing->decisions, 0, sizeof listing->decisions);
}

/* ---- cuts ---- */

/* A plain cut, sharded further by these atoms. Returns false if the dim is too small, or has
 * several digits. */
static bool cut_further(const Session *session, const Cut *cut, AtomSet more, Cut *out)
{
    const Mesh *mesh = session->mesh;
    uint8_t atom[2 * ATOMS_MAX];
    int64_t size = cut_size(cut);
    AtomSet all = cut_atoms(cut) | more;
    if (cut->n != 1 || !cut_is_plain(cut) || cut_atoms(cut) & more ||
        mesh_atoms_size(mesh, all) > size)
        return false;
    int n = cut_list_atoms(cut, atom);
    n += mesh_list_set(mesh, more, atom + n);
    *out = cut_by(size, atom, n, mesh);
    return true;
}

static void put_axes(const OptionListing *listing, AtomSet atoms, Buf *out)
{
    mesh_format_set(listing->session->mesh, atoms, ".", out);
}

static void put_cut(const OptionListing *listing, const Cut *cut, Buf *out)
{
    uint8_t atom[ATOMS_MAX];
    int n = cut_list_atoms(cut, atom);
    if (n == 0)
        buf_puts(out, "whole");
    mesh_format_atoms(listing->session->mesh, atom, n, ".", out);
}

/* ---- of a dim ---- */

static bool listed(const OptionListing *listing, Str text)
{
    for (int i = 0; i < listing->out->list.n; i++)
        if (str_eq(listing->out->list.at[i].text.str, text))
            return true;
    return false;
}

typedef struct {
    DecisionKind kind;
    const int32_t *places;
    int n, dim;
    const Cut *now;
} DimPlaces;

static void add_dim_cut(OptionListing *listing, const DimPlaces *at, const uint8_t *atom, int n)
{
    Cut cut = cut_by(cut_size(at->now), atom, n, listing->session->mesh);
    Buf text = buf_marked(listing->arena);
    put_cut(listing, &cut, &text);
    if (listed(listing, buf_str(&text)))
        return;
    int before = listing->out->list.n;
    for (int i = 0; i < at->n; i++)
        decide_cut(listing, at->kind, at->places[i], at->dim, &cut);
    add_option(listing, &text);
    if (listing->out->list.n > before)
        listing->out->list.at[before].whole = cut_is_whole(&cut);
}

static int put_axis(const Mesh *mesh, int axis, uint8_t *atom, int n)
{
    return n + mesh_list_set(mesh, mesh_axis_atoms(mesh, axis), atom + n);
}

static const Cut *cut_now(const Session *session, DecisionKind kind, int32_t place, int dim)
{
    if (kind == PIN_INDEX_DIM)
        return &program_cut(session->plan, place)->index[dim];
    return &plan_sharding(session->plan, place)->dim[dim];
}

PlanOptions options_for_dim(Arena *arena, const Session *session, DecisionKind kind,
                            const int32_t *places, int n, int dim)
{
    PlanOptions out;
    OptionListing listing = listing_begin(arena, session, &out);
    const Mesh *mesh = session->mesh;
    DimPlaces at = {kind, places, n, dim, cut_now(session, kind, places[0], dim)};
    uint8_t atom[2 * ATOMS_MAX];
    for (int a = 0; a < mesh->n_axes; a++)
        if (mesh->axes[a].size > 1)
            add_dim_cut(&listing, &at, atom, put_axis(mesh, a, atom, 0));
    AtomSet here = cut_atoms(at.now);
    for (int a = 0; here && a < mesh->n_axes; a++) {
        int n_here = cut_list_atoms(at.now, atom);
        if (mesh->axes[a].size > 1 && !(here & mesh_axis_atoms(mesh, a)))
            add_dim_cut(&listing, &at, atom, put_axis(mesh, a, atom, n_here));
    }
    for (int a = 0; a < mesh->n_axes; a++)
        for (int b = a + 1; b < mesh->n_axes; b++)
            if (mesh->axes[a].size > 1 && mesh->axes[b].size > 1)
                add_dim_cut(&listing, &at, atom,
                            put_axis(mesh, b, atom, put_axis(mesh, a, atom, 0)));
    add_dim_cut(&listing, &at, atom, 0);
    return out;
}

/* ---- of a value ---- */

static void add_value_cut(OptionListing *listing, const int32_t *tensors, int n, int dim, int axis)
{
    const Session *session = listing->session;
    uint8_t store = tensor_is_parameter(session->inferred, tensors[0]) ? STORED_ALL : STORED_NONE;
    for (int i = 0; i < n; i++) {
        const Sharding *sharding = plan_sharding(session->plan, tensors[i]);
        Cut cut;
        Decision pin = {.kind = PIN_TENSOR_DIM, .place = tensors[i], .dim = dim, .store = store};
        pin.cut = &cut;
        if (dim < sharding->n_dims &&
            cut_further(session, &sharding->dim[dim], mesh_axis_atoms(session->mesh, axis), &cut))
            decide(listing, pin);
    }
    Buf text = buf_marked(listing->arena);
    buf_printf(&text, "dim %d %s ", dim, store ? "stored by" : "by");
    mesh_put_axis(session->mesh, axis, &text);
    add_option(listing, &text);
}

PlanOptions options_for_value(Arena *arena, const Session *session, const int32_t *tensors, int n)
{
    PlanOptions out;
    OptionListing listing = listing_begin(arena, session, &out);
    const Mesh *mesh = session->mesh;
    if (n == 0 || session->plan->moved->sharding[tensors[0]] < 0)
        return out;
    const Sharding *sharding = plan_sharding(session->plan, tensors[0]);
    AtomSet used = sharding_atoms(sharding) | sharding_partials(sharding);
    for (int d = 0; d < sharding->n_dims; d++)
        for (int a = 0; a < mesh->n_axes; a++)
            if (mesh->axes[a].size > 1 && !(used & mesh_axis_atoms(mesh, a)))
                add_value_cut(&listing, tensors, n, d, a);
    return out;
}

/* ---- of a reshard ---- */

typedef struct {
    const Session *session;
    const int32_t *reshards;
    int n;
    const Sharding *from, *to;
    AtomSet summed, moved; /* partial over before; sharded by or partial over before, and not after
                            */
} ReshardPlace;

static const Reshard *reshard_of(const ReshardPlace *at, int i)
{
    return &at->session->plan->moved->reshards[at->reshards[i]];
}

/* The op whose cut says how the value is made: that which sums, of a partial one; -1: it is given.
 */
static int32_t maker_of(const ReshardPlace *at, int i)
{
    int32_t tensor = reshard_of(at, i)->tensor;
    int32_t op = at->summed ? why_summed_by(at->session->plan, tensor, at->summed, NULL)
                            : at->session->graph->tensors[tensor].maker;
    bool given = op < 0 || inferred_is_host(at->session->inferred, op) ||
                 at->session->inferred->on_parameters[op];
    return given ? -1 : op;
}

/* Makers that are cut like the first one: their index dims are the same. */
static bool same_maker(const ReshardPlace *at, int i)
{
    int32_t first = maker_of(at, 0), op = maker_of(at, i);
    return op >= 0 && at->session->inferred->space[op] == at->session->inferred->space[first];
}

static void sum_into_dims(OptionListing *listing, const ReshardPlace *at)
{
    for (int d = 0; at->summed && d < at->to->n_dims; d++) {
        Cut cut;
        if (!cut_further(at->session, &at->to->dim[d], at->summed, &cut))
            continue;
        for (int i = 0; i < at->n; i++)
            decide_cut(listing, PIN_TENSOR_DIM, reshard_of(at, i)->tensor, d, &cut);
        Buf text = buf_marked(listing->arena);
        buf_printf(&text, "sum into dim %d by ", d);
        put_axes(listing, at->summed, &text);
        add_option(listing, &text);
    }
}

static void store_as_read(OptionListing *listing, const ReshardPlace *at)
{
    if (at->summed)
        return;
    for (int i = 0; i < at->n; i++)
        for (int d = 0; d < at->to->n_dims; d++) {
            int32_t tensor = reshard_of(at, i)->tensor;
            if (cut_equal(&at->from->dim[d], &at->to->dim[d]))
                continue;
            if (plan_store_pin_of(at->session->plan, tensor, d))
                decide(listing, (Decision){.kind = UNPIN_TENSOR_DIM, .place = tensor, .dim = d});
            decide_cut(listing, PIN_TENSOR_DIM, tensor, d, &at->to->dim[d]);
        }
    Buf text = buf_marked(listing->arena);
    buf_puts(&text, "as its reader needs it");
    add_option(listing, &text);
}

/* Index dims j of the makers without the axes that move, and i (-1: none) with them. */
static void cut_makers(OptionListing *listing, const ReshardPlace *at, int j, int i)
{
    const Session *session = at->session;
    int32_t first = maker_of(at, 0);
    const OpSpace *space = program_space(session->inferred, first);
    const OpCut *cut = program_cut(session->plan, first);
    AtomSet atoms = cut_atoms(&cut->index[j]) & at->moved;
    Cut less = cut_without(&cut->index[j], atoms, session->mesh), more;
    if (i >= 0 && !cut_further(session, &cut->index[i], atoms, &more))
        return;
    for (int r = 0; r < at->n; r++) {
        if (!same_maker(at, r))
            continue;
        decide_cut(listing, PIN_INDEX_DIM, maker_of(at, r), j, &less);
        if (i >= 0)
            decide_cut(listing, PIN_INDEX_DIM, maker_of(at, r), i, &more);
    }
    Buf text = buf_marked(listing->arena);
    buf_printf(&text, "%s: %s %s ", op_operator(session->graph, first),
               space->index[i < 0 ? j : i].name, i < 0 ? "without" : "by");
    put_axes(listing, atoms, &text);
    if (i >= 0)
        buf_printf(&text, ", not %s", space->index[j].name);
    add_option(listing, &text);
}

static void cut_maker_otherwise(OptionListing *listing, const ReshardPlace *at)
{
    int32_t op = maker_of(at, 0);
    if (op < 0 || plan_cut(at->session->plan, op) == NULL)
        return;
    const OpSpace *space = program_space(at->session->inferred, op);
    const OpCut *cut = program_cut(at->session->plan, op);
    for (int j = 0; j < space->n_index; j++) {
        if (!(cut_atoms(&cut->index[j]) & at->moved))
            continue;
        cut_makers(listing, at, j, -1);
        for (int i = 0; i < space->n_index; i++)
            if (i != j && space->index[i].role != ROLE_FROZEN)
                cut_makers(listing, at, j, i);
    }
}

/* Parameters that the makers read, not sharded by the axes that move. */
static void weights_whole(OptionListing *listing, const ReshardPlace *at)
{
    const Session *session = at->session;
    for (int r = 0; r < at->n && maker_of(at, 0) >= 0; r++) {
        int32_t op = maker_of(at, r);
        for (int i = 0; op >= 0 && i < session->graph->ops[op].n_inputs; i++) {
            int32_t tensor = op_inputs(session->graph, op)[i];
            int32_t view = tensor < 0 ? -1 : session->graph->tensors[tensor].maker;
            if (tensor < 0 || (!tensor_is_parameter(session->inferred, tensor) &&
                               (view < 0 || !session->inferred->on_parameters[view])))
                continue;
            const Sharding *sharding = plan_sharding(session->plan, tensor);
            for (int d = 0; d < sharding->n_dims; d++) {
                if (!(cut_atoms(&sharding->dim[d]) & at->moved))
                    continue;
                Cut cut = cut_without(&sharding->dim[d], at->moved, session->mesh);
                decide_cut(listing, PIN_TENSOR_DIM, tensor, d, &cut);
            }
        }
    }
    Buf text = buf_marked(listing->arena);
    buf_puts(&text, "weight without ");
    put_axes(listing, at->moved, &text);
    add_option(listing, &text);
}

static int operand_of(const Graph *graph, int32_t op, int32_t tensor)
{
    for (int i = 0; i < graph->ops[op].n_inputs; i++)
        if (op_inputs(graph, op)[i] == tensor)
            return i;
    return -1;
}

/* The index dim that a reader takes one dim of the value as; -1 if it takes none alone. */
static int index_of_dim(const OpSpace *space, int operand, int dim)
{
    const DimFactors *factors = &space->operand[operand].factors[dim];
    return factors->n == 1 && factors->exact ? factors->index[0] : -1;
}

/* Readers are sharded as the value is before it moves: it moves later, or never. */
static void readers_follow(OptionListing *listing, const ReshardPlace *at)
{
    const Session *session = at->session;
    Buf text = buf_marked(listing->arena);
    for (int r = 0; r < at->n && !at->summed; r++) {
        const Reshard *reshard = reshard_of(at, r);
        for (int u = 0; u < reshard->n_uses; u++) {
            int32_t op = session->plan->moved->reshard_uses[reshard->use + u];
            const OpSpace *space = program_space(session->inferred, op);
            int operand = operand_of(session->graph, op, reshard->tensor);
            for (int d = 0; operand >= 0 && d < at->from->n_dims; d++) {
                int index = index_of_dim(space, operand, d);
                if (index < 0 || cut_equal(&at->from->dim[d], &at->to->dim[d]))
                    continue;
                decide_cut(listing, PIN_INDEX_DIM, op, index, &at->from->dim[d]);
                if (text.n > 0)
                    continue;
                buf_printf(&text, "reader %s: %s %s", op_operator(session->graph, op),
                           space->index[index].name, cut_is_whole(&at->from->dim[d]) ? "" : "by ");
                put_cut(listing, &at->from->dim[d], &text);
            }
        }
    }
    add_option(listing, &text);
}

PlanOptions options_for_reshard(Arena *arena, const Session *session, const int32_t *reshards,
                                int n)
{
    PlanOptions out;
    OptionListing listing = listing_begin(arena, session, &out);
    const Plan *plan = session->plan;
    ReshardPlace at = {.session = session, .reshards = reshards, .n = n};
    if (n == 0)
        return out;
    at.from = shardings_at(plan->shardings, plan->moved->reshards[reshards[0]].from);
    at.to = shardings_at(plan->shardings, plan->moved->reshards[reshards[0]].to);
    at.summed = sharding_partials(at.from) & ~sharding_partials(at.to);
    at.moved = at.summed;
    for (int d = 0; d < at.from->n_dims; d++)
        at.moved |= cut_atoms(&at.from->dim[d]) & ~cut_atoms(&at.to->dim[d]);
    sum_into_dims(&listing, &at);
    store_as_read(&listing, &at);
    cut_maker_otherwise(&listing, &at);
    if (at.moved)
        weights_whole(&listing, &at);
    readers_follow(&listing, &at);
    return out;
}
