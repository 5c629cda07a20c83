/* report.c - `rule OP --profile torch`: an operator's strategies in torch's DTensor or veScale, and
 * the choice for inputs with the placements of --in: the rows of one mesh axis, each candidate's
 * price and moves, the choice, the runner-up, and the size at which the choice changes. */
#include "core/peers/torch/tables.h"

#include "core/base/table.h"
#include "core/peers/torch/explain.h"
#include "core/peers/torch/strategy_check.h"
#include "core/rules/infer.h"
#include "core/rules/one_op.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { CANDIDATES_SHOWN = 12 };

/* ---- the request ---- */

/* "[S(1)];[R]": a sharding in any notation, `-` for an absent operand. Without --in all inputs are
 * replicated. */
static bool read_placements(RuleQuery *query, StrategyCall *call, StrategyTensor *tensors)
{
    Str rest = str_from(query->in ? query->in : "");
    for (int i = 0; i < call->n_inputs; i++) {
        Placement *placements = arena_array(query->arena, Placement, call->mesh->n_axes);
        bool absent = tensors[i].shape.n_dims < 0;
        tensors[i].placements = absent ? NULL : placements;
        if (!query->in)
            continue;
        Source one;
        if (!query_take_in(query, &rest, &one))
            return false;
        if (absent && !str_eq(one.text, STR("-")))
            return error_kind(query->err, ERROR_USAGE, "input %d is absent: --in has - for it", i);
        if (!absent &&
            !placements_parse(&one, &tensors[i].shape, call->mesh, placements, query->err))
            return false;
    }
    return query_end_in(query, rest);
}

static bool read_tensors(RuleQuery *query, StrategyCall *call)
{
    OneOp op = {0};
    if (!query->shapes || !query->mesh) {
        error_kind(query->err, ERROR_USAGE, "--profile needs --shapes and a mesh");
        error_hint(query->err, "rule mm --profile torch --shapes 12x8,8x16 -m x=4 "
                               "--in '[S(1)];[S(0)]'");
        return false;
    }
    Source mesh = {.name = "--mesh", .text = str_from(query->mesh)};
    if (!(call->mesh = mesh_parse(query->arena, &mesh, query->err)) ||
        !one_op_operands(query->arena, str_from(query->shapes), &op, query->err))
        return false;
    StrategyTensor *tensors = arena_array(query->arena, StrategyTensor, op.n_inputs);
    for (int i = 0; i < op.n_inputs; i++)
        tensors[i] = (StrategyTensor){.shape = op.shape[i], .dtype = op.dtype[i]};
    call->n_inputs = op.n_inputs;
    call->input = tensors;
    return read_placements(query, call, tensors);
}

/* The number of index tensors of x[i, j], which are the last inputs. */
static int n_indices_of(const StrategyCall *call)
{
    Str name = str_from(call->op);
    int others = str_starts(name, STR("index_put"))                                ? 2
                 : str_eq(name, STR("index")) || str_eq(name, STR("index.Tensor")) ? 1
                                                                                   : 0;
    return others > 0 && call->n_inputs > others ? call->n_inputs - others : 0;
}

/* An operator without a strategy uses its index space. */
static bool read_space(RuleQuery *query, StrategyCall *call)
{
    if (strategies_has(strategies_of(query->rules), str_from(call->op)))
        return true;
    const Operator *row = query_operator(query);
    const Graph *graph = row ? query_graph(query, row) : NULL;
    const DimBindings none = {0};
    const Inferred *inferred =
        graph ? infer(query->arena, graph, query->rules->registry, &none, false, query->err) : NULL;
    call->space = inferred ? inferred_space(inferred, 0) : NULL;
    return inferred != NULL;
}

static bool read_call(RuleQuery *query, StrategyCall *call)
{
    SystemId system;
    Str name = str_from(query->name), rest = name;
    bool prefixed = alias_split(name, &system, &rest) && system == SYSTEM_TORCH;
    *call = (StrategyCall){.arena = query->arena,
                           .op = arena_str(query->arena, prefixed ? rest : name),
                           .no_redistribute = query->no_redistribute};
    if (!strategy_profile_find(str_from(query->profile), &call->profile, query->err) ||
        !read_tensors(query, call) || !(call->graph = query_attrs(query, call->op, NULL)))
        return false;
    call->n_indices = n_indices_of(call);
    return read_space(query, call);
}

/* ---- text ---- */

/* A candidate's placements, outputs before inputs. */
typedef struct {
    const Placement **output, **input;
} ReportLayout;

static ReportLayout layout_of(const StrategyCall *call, const StrategyAnswer *answer, int i)
{
    ReportLayout out = {arena_array(call->arena, const Placement *, answer->n_outputs),
                        arena_array(call->arena, const Placement *, answer->n_inputs)};
    strategy_candidate_placements(call, answer, i, out.output, out.input);
    return out;
}

static const char *text_of(const StrategyCall *call, const Placement *const *input, int n_inputs,
                           const Placement *const *output, int n_outputs)
{
    Buf out = buf_new(call->arena);
    strategy_format(input, n_inputs, output, n_outputs, call->mesh->n_axes, &out);
    return out.s;
}

static const char *candidate_text(const StrategyCall *call, const StrategyAnswer *answer, int i)
{
    ReportLayout layout = layout_of(call, answer, i);
    return text_of(call, layout.input, answer->n_inputs, layout.output, answer->n_outputs);
}

static const char *moves_text(const StrategyCall *call, const Placement *const *fed)
{
    Buf out = buf_new(call->arena);
    strategy_format_moves(call, fed, &out);
    return out.n > 0 ? out.s : "nothing";
}

static void write_rows(RuleQuery *query, const StrategyAnswer *answer)
{
    buf_puts(query->out, "rows of one mesh axis\n");
    for (int r = 0; r < answer->rows->row.n; r++) {
        buf_puts(query->out, "  ");
        strategy_row_format(answer->rows, answer->rows->row.at[r], query->out);
        buf_putc(query->out, '\n');
    }
}

typedef struct {
    int at;
    double us;
} Ranked;

static int compare_ranked(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    return x->us != y->us ? (x->us < y->us ? -1 : 1) : x->at - y->at;
}

/* The legal candidates, the chosen one first, then by price. */
static int rank(const StrategyCall *call, const StrategyAnswer *answer, Ranked **out)
{
    Ranked *ranked = arena_array(call->arena, Ranked, answer->n_candidates);
    int n = 0;
    for (int i = 0; i < answer->n_candidates; i++)
        if (i == answer->chosen || answer->candidate[i].why == CANDIDATE_LEGAL)
            ranked[n++] = (Ranked){i, i == answer->chosen ? -1 : answer->candidate[i].us};
    qsort(ranked, (size_t)n, sizeof *ranked, compare_ranked);
    *out = ranked;
    return n;
}

static void write_candidates(RuleQuery *query, const StrategyCall *call,
                             const StrategyAnswer *answer)
{
    Ranked *ranked;
    int n = rank(call, answer, &ranked);
    Table *table = table_new(
        query->arena,
        (const TableColumn[]){{"CANDIDATE", 48}, {"PRICE", -12}, {"", 10}, {"MOVES", 0}}, 4);
    for (int i = 0; i < n && i < CANDIDATES_SHOWN; i++) {
        int at = ranked[i].at;
        table_printf(table, "%s", candidate_text(call, answer, at));
        table_printf(table, isinf(answer->candidate[at].us) ? "no price" : "%.3f us",
                     answer->candidate[at].us);
        table_cell(table, at == answer->chosen      ? STR("chosen")
                          : at == answer->runner_up ? STR("runner-up")
                                                    : STR(""));
        table_printf(table, "%s", moves_text(call, layout_of(call, answer, at).input));
    }
    buf_puts(query->out, "\n");
    table_format(table, "", query->out);
    if (n > CANDIDATES_SHOWN)
        buf_printf(query->out, "and %d more at higher prices\n", n - CANDIDATES_SHOWN);
}

/* How many candidates were dropped, and why. */
static void write_dropped(RuleQuery *query, const StrategyAnswer *answer)
{
    for (int why = CANDIDATE_TOO_SMALL; why <= CANDIDATE_BANNED; why++) {
        int n = 0;
        for (int i = 0; i < answer->n_candidates; i++)
            n += i != answer->chosen && (int)answer->candidate[i].why == why;
        if (n > 0)
            buf_printf(query->out, "%d left out: %s\n", n, strategy_why((CandidateWhy)why));
    }
}

static void write_flip(RuleQuery *query, const StrategyCall *call, const StrategyAnswer *answer)
{
    StrategyFlip flip;
    if (!strategy_flip(call, answer, &flip))
        return;
    buf_printf(query->out, "at %.3g times these bytes %s would be cheaper\n", flip.factor,
               candidate_text(call, answer, flip.candidate));
}

/* "mm of 12x8 [S(0)], 8x16 [R] on x=4, profile torch" */
static void write_request(RuleQuery *query, const StrategyCall *call)
{
    buf_printf(query->out, "%s of ", call->op);
    for (int i = 0; i < call->n_inputs; i++) {
        const StrategyTensor *tensor = &call->input[i];
        buf_puts(query->out, i ? ", " : "");
        for (int64_t d = 0; d < tensor->shape.n_dims; d++)
            buf_printf(query->out, "%s%" PRId64, d ? "x" : "", tensor->shape.dim[d]);
        buf_puts(query->out, tensor->shape.n_dims < 0    ? "-"
                             : tensor->shape.n_dims == 0 ? "scalar"
                                                         : "");
        for (int axis = 0; tensor->placements && axis < call->mesh->n_axes; axis++) {
            buf_puts(query->out, axis ? "," : " [");
            placement_format(&tensor->placements[axis], false, query->out);
        }
        buf_puts(query->out, tensor->placements && call->mesh->n_axes > 0 ? "]" : "");
    }
    buf_puts(query->out, " on ");
    mesh_format(call->mesh, query->out);
    buf_printf(query->out, ", profile %s\n\n", query->profile);
}

static void write_answer(RuleQuery *query, const StrategyCall *call, const StrategyAnswer *answer)
{
    write_request(query, call);
    if (answer->rows) {
        write_rows(query, answer);
        write_candidates(query, call, answer);
        write_dropped(query, answer);
        write_flip(query, call, answer);
        return;
    }
    if (answer->suggestion) {
        Buf inputs = buf_new(call->arena);
        strategy_format(answer->suggestion, call->n_inputs, NULL, 0, call->mesh->n_axes, &inputs);
        buf_printf(query->out, "no outputs follow; suggested inputs %s\n", inputs.s);
        if (answer->why)
            buf_printf(query->out, "why: %s\n", answer->why);
        buf_printf(query->out, "moves %s\n", moves_text(call, answer->suggestion));
        return;
    }
    buf_printf(query->out, "%s\nmoves %s\n",
               text_of(call, answer->input, answer->n_inputs, answer->output, answer->n_outputs),
               answer->n_parts > 0 ? "what its parts move" : moves_text(call, answer->input));
    if (answer->why)
        buf_printf(query->out, "why: %s\n", answer->why);
    for (int i = 0; i < answer->n_parts; i++) {
        const StrategyAnswer *part = &answer->part[i];
        buf_printf(query->out, "  %-12s %s  %.3f us\n", part->op,
                   text_of(call, part->input, part->n_inputs, part->output, part->n_outputs),
                   part->us);
    }
}

/* ---- JSON ---- */

static Json *moves_json(const StrategyCall *call, const Placement *const *fed)
{
    Json *list = json_array();
    for (int i = 0; i < call->n_inputs; i++) {
        TorchMoves moves = {0};
        if (!fed[i] || !call->input[i].placements || !strategy_input_moves(call, i, fed[i], &moves))
            continue;
        for (int k = 0; k < moves.n; k++) {
            Json *move = json_object();
            json_set_int(move, "input", i);
            json_set_str(move, "kind", move_name(moves.at[k].kind));
            json_set_str(move, "axis", call->mesh->axes[moves.at[k].axis].name);
            json_add(list, move);
        }
    }
    return list;
}

static Json *candidate_json(const StrategyCall *call, const StrategyAnswer *answer, int i)
{
    const StrategyCandidate *candidate = &answer->candidate[i];
    ReportLayout layout = layout_of(call, answer, i);
    Json *out = json_object();
    json_set(out, "inputs", json_of_layouts(layout.input, answer->n_inputs, call->mesh));
    json_set(out, "outputs", json_of_layouts(layout.output, answer->n_outputs, call->mesh));
    if (candidate->why != CANDIDATE_LEGAL) {
        json_set_str(out, "why_not", strategy_why(candidate->why));
        return out;
    }
    json_set_real(out, "us", candidate->us);
    json_set(out, "moves", moves_json(call, layout.input));
    return out;
}

static void set_candidates(Json *out, const StrategyCall *call, const StrategyAnswer *answer)
{
    Json *rows = json_array(), *candidates = json_array();
    for (int r = 0; r < answer->rows->row.n; r++) {
        Buf text = buf_new(call->arena);
        strategy_row_format(answer->rows, answer->rows->row.at[r], &text);
        json_add(rows, json_from_str(buf_str(&text)));
    }
    for (int i = 0; i < answer->n_candidates; i++)
        json_add(candidates, candidate_json(call, answer, i));
    json_set(out, "rows", rows);
    json_set(out, "candidates", candidates);
    json_set_int(out, "chosen", answer->chosen);
    json_set(out, "runner_up",
             answer->runner_up < 0 ? json_null() : json_from_int(answer->runner_up));
    StrategyFlip flip;
    if (!strategy_flip(call, answer, &flip))
        return;
    Json *at = json_object();
    json_set_real(at, "factor", flip.factor);
    json_set_int(at, "candidate", flip.candidate);
    json_set(out, "flip", at);
}

static Json *answer_json(const StrategyCall *call, const StrategyAnswer *answer)
{
    Json *out = json_object();
    json_set_str(out, "op", call->op);
    if (answer->suggestion) {
        json_set(out, "suggestion",
                 json_of_layouts(answer->suggestion, call->n_inputs, call->mesh));
        return out;
    }
    json_set(out, "outputs", json_of_layouts(answer->output, answer->n_outputs, call->mesh));
    json_set(out, "inputs", json_of_layouts(answer->input, answer->n_inputs, call->mesh));
    json_set_int(out, "comm", answer->n_comm);
    if (!isinf(answer->us))
        json_set_real(out, "us", answer->us);
    if (answer->rows)
        set_candidates(out, call, answer);
    return out;
}

/* The rows of the operator, as far as it is known how to call it, are tried on simulated ranks: the
 * line of one that is wrong. */
static const char *wrong_row(RuleQuery *query, const StrategyCall *call)
{
    SystemCalls calls = {0};
    Error none = {0};
    if (!system_calls(query->arena, query->rules->registry, SYSTEM_TORCH, str_from(call->op),
                      &calls, &none))
        return NULL;
    for (int i = 0; i < calls.n; i++) {
        RuleProof proof;
        if (strategy_check(query->arena, query->rules->registry, strategies_of(query->rules),
                           call->profile, &calls.at[i], &proof, &none) &&
            !proof.ok)
            return arena_printf(query->arena, "%s: %s", calls.at[i].operands, proof.text);
    }
    return NULL;
}

static bool show(RuleQuery *query)
{
    StrategyCall call;
    StrategyAnswer answer;
    if (!read_call(query, &call) ||
        !strategy_answer(strategies_of(query->rules), &call, &answer, query->err))
        return false;
    const char *wrong = answer.rows ? wrong_row(query, &call) : NULL;
    if (query->json) {
        query->json_root = answer_json(&call, &answer);
        if (wrong)
            json_set_str(query->json_root, "wrong", wrong);
        return true;
    }
    write_answer(query, &call, &answer);
    if (wrong)
        buf_printf(query->out, "\nWRONG when tried on ranks, %s\n", wrong);
    return true;
}

/* ---- proving ---- */

static bool find(RuleQuery *query, NamedRules *out)
{
    StrategyProfile profile;
    *out = (NamedRules){NULL, query->name};
    return strategy_profile_find(str_from(query->profile), &profile, query->err) &&
           (strategies_has(strategies_of(query->rules), str_from(query->name)) ||
            query_operator(query));
}

static bool built_in(RuleQuery *query, int i, NamedRules *out)
{
    StrategyProfile profile;
    if (!strategy_profile_find(str_from(query->profile), &profile, query->err))
        return false;
    *out = (NamedRules){NULL, strategy_names_at(profile, i)};
    return out->names != NULL;
}

static bool registered(RuleQuery *query, int i, NamedRules *out)
{
    const Strategies *strategies = strategies_of(query->rules);
    if (i >= strategies_n_users(strategies))
        return false;
    *out = (NamedRules){NULL, strategies_user(strategies, i)};
    return true;
}

static bool prove(RuleQuery *query, const NamedRules *rules, const SystemCall *call, RuleProof *out)
{
    (void)rules;
    StrategyProfile profile = STRATEGY_TORCH;
    if (query->profile && !strategy_profile_find(str_from(query->profile), &profile, query->err))
        return false;
    return strategy_check(query->arena, query->rules->registry, strategies_of(query->rules),
                          profile, call, out, query->err);
}

const RuleReport torch_reports[] = {
    {"profile", "strategy", SYSTEM_TORCH, show, find, built_in, registered, prove},
    {0},
};
