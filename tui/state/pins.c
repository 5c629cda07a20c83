#include "tui/state/pins.h"

#include "core/base/units.h"
#include "core/summary/decision_lua.h"
#include "core/plan/stage.h"
#include "tui/state/listing.h"
#include "tui/state/jobs/mesh_change.h"
#include "tui/state/jobs/whatif.h"
#include "core/summary/label.h"
#include "core/cost/pipeline.h"
#include "tui/state/format.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* What a pin is put on: a dim of a tensor or an index dim, of `n` equal places. */
typedef struct {
    bool index;
    int dim, n;
    int32_t *place; /* tensors, or ops */
    int64_t size;
    const Cut *cut; /* as it is now */
} PinnedPlaces;

static int operand_of(const Graph *graph, int32_t op, int32_t tensor, bool *output)
{
    for (int o = 0; o < graph->ops[op].n_outputs; o++) {
        *output = true;
        if (op_outputs(graph, op)[o] == tensor)
            return o;
    }
    *output = false;
    for (int i = 0; i < graph->ops[op].n_inputs; i++)
        if (op_inputs(graph, op)[i] == tensor)
            return i;
    return -1;
}

/* The tensors that play this one's part at each of the ops. Each once. */
static int equal_tensors(const Ui *ui, const int32_t *ops, int n_ops, int32_t tensor, int32_t *out)
{
    const Graph *graph = ui_graph(ui);
    bool output;
    int operand = n_ops > 0 ? operand_of(graph, ui->at.op, tensor, &output) : -1, n = 0;

    if (operand < 0) {
        out[0] = tensor;
        return 1;
    }
    for (int i = 0; i < n_ops; i++) {
        int32_t other =
            output ? op_outputs(graph, ops[i])[operand] : op_inputs(graph, ops[i])[operand];
        if (other >= 0 && (n == 0 || out[n - 1] != other))
            out[n++] = other;
    }
    return n;
}

/* Whether a tagged op has the dim that the cursor is on: an index dim of that name, or an operand
 * in that place with as many dims. */
static bool has_dim(const Ui *ui, int32_t op, int32_t tensor, int index)
{
    const Inferred *inferred = ui->session->inferred;
    const Graph *graph = ui_graph(ui);
    const OpSpace *here = inferred_space(inferred, ui->at.op),
                  *there = inferred_space(inferred, op);
    bool output;

    if (index >= 0)
        return here && there && index < there->n_index &&
               strcmp(here->index[index].name, there->index[index].name) == 0;
    int at = operand_of(graph, ui->at.op, tensor, &output);
    if (at < 0 || at >= (output ? graph->ops[op].n_outputs : graph->ops[op].n_inputs))
        return false;
    int32_t other = output ? op_outputs(graph, op)[at] : op_inputs(graph, op)[at];
    const Shape *a = inferred_shape(inferred, tensor);
    const Shape *b = other < 0 ? NULL : inferred_shape(inferred, other);
    return a && b && a->n_dims == b->n_dims;
}

/* The ops that a change is for: those tagged that have the dim, else all that the row stands for.
 */
static int target_ops(const Ui *ui, int index, int32_t **ops)
{
    int n = 0, n_tagged = ui->at.op < 0 ? 0 : listing_tagged(ui, ops);

    for (int i = 0; i < n_tagged; i++)
        if (has_dim(ui, (*ops)[i], ui->at.tensor, index))
            (*ops)[n++] = (*ops)[i];
    if (n_tagged > 0 || ui->at.op < 0)
        return n;
    return outline_equals(ui->outline, ui->frame, ui->at.op, ops);
}

static bool target_of(Ui *ui, PinnedPlaces *target, Error *err)
{
    const Session *session = ui->session;
    int32_t op = ui->at.op, tensor = ui->at.tensor, *ops = NULL;
    const OpSpace *space = op < 0 ? NULL : inferred_space(session->inferred, op);
    bool index = ui->at.show == SHOW_OP && space && ui->at.item < space->n_index;
    int n_ops = target_ops(ui, index ? ui->at.item : -1, &ops);

    if (n_ops == 0 && ui->listing.n_tagged > 0 && op >= 0)
        return error_set(err, "no tagged op has this dim (press T twice to remove all tags)");
    if (index) {
        assert(ops);
        *target = (PinnedPlaces){true,
                                 ui->at.item,
                                 n_ops,
                                 ops,
                                 space->index[ui->at.item].size,
                                 &plan_cut(ui_plan(ui), op)->index[ui->at.item]};
        return true;
    }
    const Shape *shape = tensor < 0 ? NULL : inferred_shape(session->inferred, tensor);
    if (tensor >= 0 && !shape)
        return error_set(err, "a dim of unknown size cannot be sharded: see the Tensor view");
    if (!shape || ui->at.dim >= shape->n_dims)
        return error_set(err, "there is no dim under the cursor");
    *target = (PinnedPlaces){.dim = ui->at.dim,
                             .place = arena_array(ui->frame, int32_t, n_ops + 1),
                             .size = shape->dim[ui->at.dim],
                             .cut = &plan_sharding(ui_plan(ui), tensor)->dim[ui->at.dim]};
    target->n = equal_tensors(ui, ops, n_ops, tensor, target->place);
    return true;
}

/* "lm_head.weight dim 1", "c_fc index dim n", with xN. */
static Str target_name(const Ui *ui, const PinnedPlaces *target)
{
    enum { NAME_COLUMNS = 48 };
    Buf text = buf_new(ui->frame);
    int32_t place = target->place[0];

    text_put_name(target->index ? label_op(ui->session, ui->frame, place)
                                : label_tensor(ui->session, ui->frame, place),
                  NAME_COLUMNS, &text);
    if (target->index)
        buf_printf(&text, " index dim %s",
                   program_space(ui->session->inferred, place)->index[target->dim].name);
    else
        buf_printf(&text, " dim %d", target->dim);
    if (target->n > 1 || ui->listing.n_tagged > 0)
        buf_printf(&text, " ×%d%s", target->n, ui->listing.n_tagged > 0 ? " tagged" : "");
    return buf_str(&text);
}

static bool read_axes(const Ui *ui, Str axes, int64_t size, Cut *cut, Error *err)
{
    const Mesh *mesh = ui->session->mesh;
    Source source = {"axes", axes};
    Scan scan = scan_begin(&source, err);
    uint8_t atom[ATOMS_MAX];
    int n = 0;

    if (str_eq(axes, STR("whole"))) {
        *cut = cut_whole(size);
        return true;
    }
    do {
        if (!mesh_parse_atoms(mesh, &scan, atom, &n))
            return false;
    } while (scan_accept(&scan, '.'));
    if (!scan_end(&scan))
        return false;
    *cut = cut_by(size, atom, n, mesh);
    return true;
}

static Decision *decisions_for(const Ui *ui, const PinnedPlaces *target, const Cut *cut)
{
    Decision *all = arena_array(ui->frame, Decision, target->n);
    Cut *own = cut ? arena_make(ui->frame, Cut) : NULL;

    if (cut)
        *own = *cut;
    for (int i = 0; i < target->n; i++) {
        all[i] = (Decision){.place = target->place[i], .dim = target->dim, .cut = own};
        if (target->index)
            all[i].kind = cut ? PIN_INDEX_DIM : UNPIN_INDEX_DIM;
        else
            all[i].kind = cut ? PIN_TENSOR_DIM : UNPIN_TENSOR_DIM;
    }
    return all;
}

void pins_format_totals(const Ui *ui, const Totals *before, const Totals *after, Buf *out)
{
    const char *arrow = ui->look.ascii ? ">" : "→";

    buf_printf(out, ": %s ", label_pass(ui_plan(ui)));
    units_format_us_pair(before->step_us, after->step_us, arrow, out);
    buf_puts(out, ", comm ");
    units_format_us_pair(before->comm_us, after->comm_us, arrow, out);
    buf_puts(out, ", peak ");
    units_format_bytes_pair(before->peak_bytes, after->peak_bytes, arrow, out);
}

void pins_format_change(const Ui *ui, const Totals *before, Buf *out)
{
    const Plan *plan = ui_plan(ui);

    pins_format_totals(ui, before, &plan->priced->totals, out);
    if (plan->decided->stages &&
        plan->decided->stages->n_micro_batches > 1) /* a schedule may change, and no op */
        buf_printf(out, ", step now %.*s", STR_ARG(label_us(ui, plan_step_us(plan))));
}

/* The decisions of the last key that the propagator does not obey. Returns false if there are
 * none. */
static bool say_not_obeyed(Ui *ui)
{
    const Findings *findings = &ui_plan(ui)->findings;

    for (int i = 0; i < findings->n; i++) {
        const Finding *it = &findings->at[i];
        if (strcmp(it->code, "not-obeyed") != 0 || it->line != ui->changes.edits || it->file[0])
            continue;
        Error err = {0};
        error_set(&err, "%s", it->text);
        error_hint(&err, "%s", it->hint);
        ui_error(ui, &err);
        return true;
    }
    return false;
}

static void say_change(Ui *ui, const Totals *old, const char *what)
{
    Buf text = buf_new(ui->frame);

    pins_format_change(ui, old, &text);
    ui_say(ui, "%s%s", what, text.s);
}

static void applied(Ui *ui, const Totals *before, const char *what)
{
    ui->changes.edits++;
    if (!say_not_obeyed(ui))
        say_change(ui, before, what);
}

/* The decisions of one key have its number as their line, which is what undo goes by. */
static void apply(Ui *ui, const Decision *decisions, int n, OriginKind kind, const char *what)
{
    Decision *own = arena_array(ui->frame, Decision, n);

    if (!job_may_change(ui))
        return;
    for (int i = 0; i < n; i++) {
        Buf line = buf_new(ui->session->journal_arena);
        own[i] = decisions[i];
        decision_lua(ui->session, &own[i], &line);
        own[i].origin = (Origin){kind, "", ui->changes.edits + 1, line.s};
    }
    job_change(ui, &(Change){.kind = CHANGE_APPLY, .decisions = own, .n = n}, applied, what);
}

void pins_apply(Ui *ui, const Decision *decisions, int n, const char *what)
{
    apply(ui, decisions, n, ORIGIN_USER, what);
}

void pins_apply_searched(Ui *ui, const Decision *decisions, int n, const char *what)
{
    apply(ui, decisions, n, ORIGIN_SEARCH, what);
}

/* A text with more than axes is a sharding of the whole tensor: [S(0), R], 8/dp,4. */
static bool is_sharding(Str text)
{
    return sharding_view_of(text) != VIEW_OURS || str_find(text, STR(",")) >= 0 ||
           str_find(text, STR("/")) >= 0;
}

/* The decisions that pin all dims of the target's tensors, and over which axes they stay partial.
 */
static Decision *decisions_of(const Ui *ui, const PinnedPlaces *target, const Sharding *sharding,
                              int *n)
{
    int n_dims = (int)sharding->n_dims;
    Decision *all = arena_array(ui->frame, Decision, target->n * (n_dims + 1));
    AtomSet partial = sharding_partials(sharding);

    *n = 0;
    for (int i = 0; i < target->n; i++) {
        int32_t place = target->place[i];
        for (int d = 0; d < n_dims; d++)
            all[(*n)++] = (Decision){
                .kind = PIN_TENSOR_DIM, .place = place, .dim = d, .cut = &sharding->dim[d]};
        if (partial)
            all[(*n)++] =
                (Decision){.kind = PIN_UNREDUCED, .place = place, .dim = -1, .axes = partial};
    }
    return all;
}

static bool pin_whole(Ui *ui, const PinnedPlaces *target, Str text, Error *err)
{
    const Shape *shape =
        target->index ? NULL : inferred_shape(ui->session->inferred, target->place[0]);
    Sharding *sharding = arena_make(ui->frame, Sharding);
    Source source = {"sharding", text};
    int n;

    if (!shape)
        return error_set(err,
                         "an index dim takes mesh axes; select a tensor to type a whole sharding");
    if (!sharding_parse_any(&source, shape, ui->session->mesh, sharding, err))
        return false;
    Decision *all = decisions_of(ui, target, sharding, &n);
    pins_apply(ui, all, n, arena_printf(ui->frame, "pinned to %.*s", STR_ARG(text)));
    return true;
}

bool pins_set(Ui *ui, Str axes, Error *err)
{
    PinnedPlaces target = {0};
    Cut cut;
    const char *text = arena_str(ui->frame, axes);

    if (!job_may_change(ui))
        return true;
    if (!target_of(ui, &target, err))
        return false;
    if (is_sharding(axes))
        return pin_whole(ui, &target, axes, err);
    if (!read_axes(ui, axes, target.size, &cut, err))
        return false;
    pins_apply(ui, decisions_for(ui, &target, &cut), target.n,
               arena_printf(ui->frame, "pinned to %s", text));
    return true;
}

bool pins_drop(Ui *ui, Error *err)
{
    PinnedPlaces target = {0};

    if (!job_may_change(ui))
        return true;
    if (!target_of(ui, &target, err))
        return false;
    DecisionKind kind = target.index ? PIN_INDEX_DIM : PIN_TENSOR_DIM;
    if (!plan_pin_of(ui_plan(ui), kind, target.place[0], target.dim))
        return error_set(err, "%.*s is not pinned", STR_ARG(target_name(ui, &target)));
    pins_apply(ui, decisions_for(ui, &target, NULL), target.n, "unpinned");
    return true;
}

/* ---- an op's parts to ranks ---- */

bool pins_assign(Ui *ui, Str text, Error *err)
{
    const Session *session = ui->session;
    int32_t op = ui->at.op, *ops = NULL;
    const OpSpace *space = op < 0 ? NULL : inferred_space(session->inferred, op);
    Str axes = text, name = str_trim(str_take(&axes, '='));
    Cut cut;

    axes = str_trim(axes);
    if (!space)
        return error_set(err, "select an op first");
    if (name.n == 0 || axes.n == 0)
        return error_set(err, "assign which index dim to which axes? :assign k=tp");
    int index = opspace_find_index(space, name);
    if (index < 0)
        return error_set(err, "the op has no index dim '%.*s': press 2 to list them",
                         STR_ARG(name));
    if (!read_axes(ui, axes, space->index[index].size, &cut, err))
        return false;
    PinnedPlaces target = {.index = true, .dim = index};
    target.n = outline_equals(ui->outline, ui->frame, op, &ops);
    target.place = ops;
    pins_apply(ui, decisions_for(ui, &target, &cut), target.n,
               arena_printf(ui->frame, "%.*s to %.*s", STR_ARG(name), STR_ARG(axes)));
    return true;
}

/* ---- tensors as a whole ---- */

/* The selected tensor and its equals in other layers. */
static bool whole_target(Ui *ui, PinnedPlaces *target, Error *err)
{
    int32_t op = ui->at.op, *ops = NULL;
    int n_ops = op < 0 ? 0 : outline_equals(ui->outline, ui->frame, op, &ops);

    if (ui->at.tensor < 0)
        return error_set(err, "select a tensor first");
    *target = (PinnedPlaces){.dim = -1, .place = arena_array(ui->frame, int32_t, n_ops + 1)};
    target->n = equal_tensors(ui, ops, n_ops, ui->at.tensor, target->place);
    return true;
}

static bool read_mark_axes(const Ui *ui, Str axes, AtomSet *out, Error *err)
{
    Cut cut;

    if (axes.n == 0)
        return error_set(err, "over which axes? :decide replicated tp");
    if (!read_axes(ui, axes, ui->session->mesh->n_devices, &cut, err))
        return false;
    *out = cut_atoms(&cut);
    return *out || error_set(err, "'%.*s' is not a mesh axis", STR_ARG(axes));
}

/* One decision, but for its place. */
static bool read_mark(const Ui *ui, Str text, Decision *mark, Error *err)
{
    Str rest = text, what = str_take(&rest, ' ');

    rest = str_trim(rest);
    *mark = (Decision){.dim = -1};
    if (str_eq(what, STR("replicated")) || str_eq(what, STR("unreduced"))) {
        mark->kind = what.s[0] == 'r' ? PIN_REPLICATED : PIN_UNREDUCED;
        return read_mark_axes(ui, rest, &mark->axes, err);
    }
    if (str_eq(what, STR("tie")) && rest.n > 0) {
        mark->kind = PIN_GROUP;
        mark->group = arena_str(ui->session->journal_arena, rest);
        return true;
    }
    mark->kind = PIN_BARRIER;
    for (int pass = 0; pass < PASS_BOTH; pass++)
        if (str_eq(what, STR("barrier")) && str_eq(rest, str_from(pass_name((Pass)pass)))) {
            mark->pass = (Pass)pass;
            return true;
        }
    error_set(err, "decide what about the whole tensor?");
    error_hint(err, "replicated AXES, unreduced AXES, barrier forward|backward|none, tie NAME");
    return false;
}

static void apply_whole(Ui *ui, const PinnedPlaces *target, const Decision *mark, const char *what)
{
    Decision *all = arena_array(ui->frame, Decision, target->n);

    for (int i = 0; i < target->n; i++) {
        all[i] = *mark;
        all[i].place = target->place[i];
    }
    pins_apply(ui, all, target->n, what);
}

bool pins_decide(Ui *ui, Str text, Error *err)
{
    PinnedPlaces target = {0};
    Decision mark;

    if (job_in_foreground(ui))
        return error_set(err, "wait for the job, or stop it with C-c");
    if (!whole_target(ui, &target, err) || !read_mark(ui, str_trim(text), &mark, err))
        return false;
    apply_whole(ui, &target, &mark, arena_str(ui->frame, text));
    return true;
}

bool pins_undecide(Ui *ui, Error *err)
{
    PinnedPlaces target = {0};
    Decision mark = {.kind = UNPIN_TENSOR, .dim = -1};

    if (!whole_target(ui, &target, err))
        return false;
    for (int i = 0; i < ui_plan(ui)->decided->n_marks; i++)
        if (ui_plan(ui)->decided->marks[i]->place == target.place[0]) {
            apply_whole(ui, &target, &mark, "undecided");
            return true;
        }
    return error_set(err, "there is no decision about %.*s as a whole",
                     STR_ARG(label_tensor(ui->session, ui->frame, target.place[0])));
}

/* ---- the menu ---- */

static void next_dim(Ui *ui, int by);

void pins_menu(Ui *ui, bool what_if)
{
    PinnedPlaces target = {0};
    Error err = {0};

    if (!job_may_change(ui))
        return;
    if (!target_of(ui, &target, &err)) {
        ui_error(ui, &err);
        return;
    }
    WhatIfAsk ask = {.arena = arena_new(), .verb = "pinned to "};
    ask.moved = target.index ? NULL : next_dim;
    ask.priced = what_if || ui->session->inferred->n_program <= QUICK_OPS_MAX;
    ask.options =
        options_for_dim(ask.arena, ui->session, target.index ? PIN_INDEX_DIM : PIN_TENSOR_DIM,
                        target.place, target.n, target.dim);
    snprintf(ask.title, sizeof ask.title, "pin %.*s, size %" PRId64 "%s",
             STR_ARG(target_name(ui, &target)), target.size, target.index ? "" : "   < > dim");
    whatif_ask(ui, &ask);
}

static void next_dim(Ui *ui, int by)
{
    const Shape *shape = inferred_shape(ui->session->inferred, ui->at.tensor);

    assert(shape && shape->n_dims > 0);
    int n = (int)shape->n_dims;
    ui->at.dim = (ui->at.dim + by + n) % n;
    pins_menu(ui, false);
}

int pins_of_step(const Journal *journal, int by)
{
    int first = by < 0 ? journal->n_done - 1 : journal->n_done, n = 0;

    for (int at = first; at >= 0 && at < journal->decisions.n; at += by, n++) {
        const Origin *origin = &journal->decisions.at[at].origin;
        if (origin->kind == ORIGIN_POLICY ||
            (n > 0 && origin->line != journal->decisions.at[first].origin.line))
            break;
    }
    return n;
}

bool pins_undo(Ui *ui, Error *err)
{
    int n = pins_of_step(&ui->session->journal, -1);

    if (mesh_change_undo(ui))
        return true;
    if (n == 0)
        return error_kind(err, ERROR_USAGE,
                          "nothing to undo: the remaining decisions are the policy's");
    job_change(ui, &(Change){.kind = CHANGE_STEP, .n = -n}, say_change, "undone");
    return true;
}

bool pins_redo(Ui *ui, Error *err)
{
    int n = pins_of_step(&ui->session->journal, 1);

    if (mesh_change_redo(ui))
        return true;
    if (n == 0)
        return error_kind(err, ERROR_USAGE, "nothing to redo");
    job_change(ui, &(Change){.kind = CHANGE_STEP, .n = n}, say_change, "redone");
    return true;
}
