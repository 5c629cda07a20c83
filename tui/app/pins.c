#include "tui/app/pins.h"

#include "core/base/file.h"
#include "tui/views/label.h"
#include "tui/app/menu.h"

#include <assert.h>
#include <inttypes.h>

enum { QUICK_OPS_MAX = 5000 }; /* up to here each choice is planned to show its price */

static const char edits_head[] = "-- Pins made in the dimscope explorer.";

/* What a pin is put on: a dim of a tensor or an index dim, of `n` equal places. */
typedef struct {
    bool index;
    int dim, n;
    int32_t *place; /* tensors, or ops */
    int64_t size;
    const Cut *cut; /* as it is now */
} Target;

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

static bool target_of(Ui *ui, Target *target, Error *err)
{
    const Session *session = ui->session;
    int32_t op = ui->at.op, tensor = ui->at.tensor, *ops = NULL;
    const OpSpace *space = op < 0 ? NULL : inferred_space(session->inferred, op);
    int n_ops = op < 0 ? 0 : outline_equals(ui->outline, ui->frame, op, &ops);

    if (ui->at.show == SHOW_OP && space && ui->at.item < space->n_index) {
        *target = (Target){true,
                           ui->at.item,
                           n_ops,
                           ops,
                           space->index[ui->at.item].size,
                           &plan_cut(ui_plan(ui), op)->index[ui->at.item]};
        return true;
    }
    const Shape *shape = tensor < 0 ? NULL : inferred_shape(session->inferred, tensor);
    if (tensor >= 0 && !shape)
        return error_set(err, "what is not known in size cannot be cut: see the Tensor view");
    if (!shape || ui->at.dim >= shape->n_dims)
        return error_set(err, "there is no dim under the cursor");
    *target = (Target){.dim = ui->at.dim,
                       .place = arena_array(ui->frame, int32_t, n_ops + 1),
                       .size = shape->dim[ui->at.dim],
                       .cut = &plan_sharding(ui_plan(ui), tensor)->dim[ui->at.dim]};
    target->n = equal_tensors(ui, ops, n_ops, tensor, target->place);
    return true;
}

static const IndexDim *index_dim(const Session *session, int32_t op, int index)
{
    const OpSpace *space = inferred_space(session->inferred, op);

    assert(space && index < space->n_index);
    return &space->index[index];
}

/* "lm_head.weight dim 1", "c_fc index dim n", with xN. */
static Str target_name(const Ui *ui, const Target *target)
{
    Buf text = buf_new(ui->frame);

    if (target->index)
        buf_printf(&text, "%.*s index dim %s",
                   STR_ARG(label_op(ui->session, ui->frame, target->place[0])),
                   index_dim(ui->session, target->place[0], target->dim)->name);
    else
        buf_printf(&text, "%.*s dim %d",
                   STR_ARG(label_tensor(ui->session, ui->frame, target->place[0])), target->dim);
    if (target->n > 1)
        buf_printf(&text, " ×%d", target->n);
    return buf_str(&text);
}

/* An input of the op by which a policy can name the index dim; -1: none. */
static int32_t tensor_with_index(const Session *session, int32_t op, int index)
{
    const OpSpace *space = inferred_space(session->inferred, op);

    for (int i = 0; space && i < space->n_inputs; i++)
        for (int d = 0; d < space->operand[i].shape.n_dims; d++)
            if (space->operand[i].factors[d].n == 1 &&
                space->operand[i].factors[d].index[0] == index)
                return op_inputs(session->graph, op)[i];
    return -1;
}

/* The pin as a line of a policy. */
static const char *lua_line(const Session *session, Arena *arena, const Decision *decision,
                            const char *axes)
{
    bool unpin = decision->kind == UNPIN_TENSOR_DIM || decision->kind == UNPIN_INDEX_DIM;
    bool index = decision->kind == PIN_INDEX_DIM || decision->kind == UNPIN_INDEX_DIM;
    int32_t tensor =
        index ? tensor_with_index(session, decision->place, decision->dim) : decision->place;
    Buf line = buf_new(arena);

    if (tensor < 0) {
        buf_printf(&line, "-- %s: index dim %d to %s has no tensor to name it by",
                   op_name(session->graph, decision->place), decision->dim, axes);
        return line.s;
    }
    if (decision->kind == UNPIN_TENSOR) {
        buf_printf(&line, "graph:unpin(\"%s\")", naming_label(session->naming, tensor));
        return line.s;
    }
    buf_printf(&line, "graph:%s(\"%s\", ", unpin ? "unpin" : "shard",
               naming_label(session->naming, tensor));
    if (index)
        buf_printf(&line, unpin ? "\"%s\")" : "{%s = ",
                   index_dim(session, decision->place, decision->dim)->name);
    else
        buf_printf(&line, unpin ? "%d)" : "{[%d] = ", decision->dim);
    if (unpin)
        return line.s;
    buf_putc(&line, '{');
    for (const char *s = axes; *s;) {
        size_t n = strcspn(s, ".");
        buf_printf(&line, "%s\"%.*s\"", s == axes ? "" : ", ", (int)n, s);
        s += n + (s[n] == '.');
    }
    buf_puts(&line, "}})");
    return line.s;
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

/* The decisions of one key. */
static Decision *decisions_for(Ui *ui, const Target *target, const Cut *cut, const char *axes)
{
    Decision *all = arena_array(ui->frame, Decision, target->n);
    Arena *kept = ui->session->journal_arena;

    for (int i = 0; i < target->n; i++) {
        all[i] = (Decision){.place = target->place[i], .dim = target->dim};
        if (cut)
            all[i].cut = *cut;
        if (target->index)
            all[i].kind = cut ? PIN_INDEX_DIM : UNPIN_INDEX_DIM;
        else
            all[i].kind = cut ? PIN_TENSOR_DIM : UNPIN_TENSOR_DIM;
        all[i].origin = (Origin){.kind = ORIGIN_USER, .file = ""};
        all[i].origin.text = lua_line(ui->session, kept, &all[i], axes);
    }
    return all;
}

/* "step 12.8→14.2 ms": the unit once where both have the same. */
static void add_change(const Ui *ui, const char *what, Str old, Str new, Buf *out)
{
    int64_t unit = str_find(old, STR(" "));

    if (unit >= 0 && str_ends(new, (Str){old.s + unit, old.n - (size_t)unit}))
        old.n = (size_t)unit;
    buf_printf(out, "%s %.*s%s%.*s", what, STR_ARG(old), ui->ascii ? ">" : "→", STR_ARG(new));
}

void pins_format_change(const Ui *ui, const Totals *before, Buf *out)
{
    const Totals *now = &ui_plan(ui)->totals;

    add_change(ui, ": step", label_us(ui, before->step_us), label_us(ui, now->step_us), out);
    add_change(ui, ", comm", label_us(ui, before->comm_us), label_us(ui, now->comm_us), out);
    add_change(ui, ", peak", label_bytes(ui, before->peak_bytes), label_bytes(ui, now->peak_bytes),
               out);
}

static void say_change(Ui *ui, const Totals *old, const char *what)
{
    Buf text = buf_new(ui->frame);

    pins_format_change(ui, old, &text);
    ui_say(ui, "%s%s", what, text.s);
}

static void applied(Ui *ui, const Totals *before, const char *what)
{
    ui->edits++;
    say_change(ui, before, what);
}

void pins_apply(Ui *ui, Decision *decisions, int n, const char *what)
{
    for (int i = 0; i < n; i++) {
        Origin *origin = &decisions[i].origin;
        *origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = origin->text};
        origin->line = ui->edits + 1;
        if (!origin->text)
            origin->text = lua_line(ui->session, ui->session->journal_arena, &decisions[i], "");
    }
    job_change(ui, &(Change){.kind = CHANGE_APPLY, .decisions = decisions, .n = n}, applied, what);
}

static void apply(Ui *ui, const Target *target, const Cut *cut, const char *axes, const char *what)
{
    pins_apply(ui, decisions_for(ui, target, cut, axes), target->n, what);
}

bool pins_set(Ui *ui, Str axes, Error *err)
{
    Target target = {0};
    Cut cut;
    const char *text = arena_str(ui->frame, axes);

    if (!target_of(ui, &target, err) || !read_axes(ui, axes, target.size, &cut, err))
        return false;
    apply(ui, &target, &cut, cut_is_whole(&cut) ? "" : text,
          arena_printf(ui->frame, "pinned to %s", text));
    return true;
}

bool pins_drop(Ui *ui, Error *err)
{
    Target target = {0};

    if (!target_of(ui, &target, err))
        return false;
    DecisionKind kind = target.index ? PIN_INDEX_DIM : PIN_TENSOR_DIM;
    if (!plan_pin_of(ui_plan(ui), kind, target.place[0], target.dim))
        return error_set(err, "%.*s is not pinned", STR_ARG(target_name(ui, &target)));
    apply(ui, &target, NULL, "", "unpinned");
    return true;
}

/* What the plan would cost with the pin; nothing is changed. False when it cannot be planned. */
static bool try_pin(Ui *ui, const Target *target, const Cut *cut, Totals *totals)
{
    const Session *session = ui->session;
    Decision *decisions = decisions_for(ui, target, cut, "");
    Journal journal = {0};
    Error err = {0};

    for (int i = 0; i < session->journal.n_done; i++)
        journal_add(&journal, ui->frame, &session->journal.decisions.at[i]);
    for (int i = 0; i < target->n; i++)
        journal_add(&journal, ui->frame, &decisions[i]);
    PlanRequest request = session_request(session, &journal);
    Plan *plan = plan_make(&request, &err);
    if (plan)
        *totals = plan->totals;
    plan_free(plan);
    return plan != NULL;
}

static void add_choice(Ui *ui, const Target *target, char key, const char *axes, bool priced)
{
    Buf text = buf_new(ui->frame);
    Totals now = ui_plan(ui)->totals, then;
    Cut cut;
    Error err = {0};

    if (!read_axes(ui, str_from(axes), target->size, &cut, &err))
        return;
    buf_printf(&text, "%-8s", axes);
    if (cut_equal(&cut, target->cut))
        buf_puts(&text, " as now");
    else if (priced && try_pin(ui, target, &cut, &then))
        buf_printf(&text, " step %.*s (%+.1f%%)  comm %.*s  peak %.*s",
                   STR_ARG(label_us(ui, then.step_us)),
                   now.step_us > 0 ? 100 * (then.step_us - now.step_us) / now.step_us : 0.0,
                   STR_ARG(label_us(ui, then.comm_us)), STR_ARG(label_bytes(ui, then.peak_bytes)));
    menu_add(ui, key, buf_str(&text), ui->menu.n);
}

/* Choices are told apart by their first word. */
static void pin_chosen(Ui *ui, int value)
{
    Str text = str_from(ui->menu.item[value].text);
    Error err = {0};
    int64_t end = str_find(text, STR(" "));

    if (!pins_set(ui, (Str){text.s, end < 0 ? text.n : (size_t)end}, &err))
        ui_error(ui, &err);
}

static void next_dim(Ui *ui, int by);

/* The axis's first letter where only it has it, else the digit of its place. */
static char axis_key(const Mesh *mesh, int axis)
{
    char letter = mesh->axes[axis].name[0];

    for (int a = 0; a < mesh->n_axes; a++)
        if (a != axis && mesh->axes[a].name[0] == letter)
            return 0;
    return letter == 'j' || letter == 'k' || letter == 'w' ? 0 : letter;
}

void pins_menu(Ui *ui, bool what_if)
{
    const Mesh *mesh = ui->session->mesh;
    bool priced = what_if || ui->session->inferred->n_program <= QUICK_OPS_MAX;
    Target target = {0};
    Error err = {0};

    if (!target_of(ui, &target, &err)) {
        ui_error(ui, &err);
        return;
    }
    menu_open(ui,
              arena_printf(ui->frame, "pin %.*s, size %" PRId64 "%s",
                           STR_ARG(target_name(ui, &target)), target.size,
                           target.index ? "" : "   < > dim"),
              pin_chosen);
    ui->menu.moved = target.index ? NULL : next_dim;
    AtomSet here = cut_atoms(target.cut);
    Buf now = buf_new(ui->frame);
    for (int a = 0; a < mesh->n_axes; a++) {
        if (mesh->axes[a].size == 1)
            continue;
        add_choice(ui, &target, axis_key(mesh, a), mesh->axes[a].name, priced);
        if (here & mesh_axis_atoms(mesh, a))
            buf_printf(&now, "%s.", mesh->axes[a].name);
    }
    for (int a = 0; a < mesh->n_axes && now.n > 0; a++)
        if (mesh->axes[a].size > 1 && !(here & mesh_axis_atoms(mesh, a)))
            add_choice(ui, &target, 0, arena_printf(ui->frame, "%s%s", now.s, mesh->axes[a].name),
                       priced);
    add_choice(ui, &target, 'w', "whole", priced);
}

static void next_dim(Ui *ui, int by)
{
    const Shape *shape = inferred_shape(ui->session->inferred, ui->at.tensor);

    assert(shape && shape->n_dims > 0);
    int n = (int)shape->n_dims;
    ui->at.dim = (ui->at.dim + by + n) % n;
    pins_menu(ui, false);
}

/* Decisions of one key, back (-1) or forward: all that carry its number. 0: there are none. */
static int decisions_of_step(const Journal *journal, int by)
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
    int n = decisions_of_step(&ui->session->journal, -1);

    if (n == 0)
        return error_kind(err, ERROR_USAGE, "nothing to undo: the rest is the policy's");
    job_change(ui, &(Change){.kind = CHANGE_STEP, .n = -n}, say_change, "undone");
    return true;
}

bool pins_redo(Ui *ui, Error *err)
{
    int n = decisions_of_step(&ui->session->journal, 1);

    if (n == 0)
        return error_kind(err, ERROR_USAGE, "nothing to redo");
    job_change(ui, &(Change){.kind = CHANGE_STEP, .n = n}, say_change, "redone");
    return true;
}

static bool may_write(const Ui *ui, const char *path, Error *err)
{
    Source source;

    if (!file_exists(path))
        return true;
    if (file_read(ui->frame, path, 1 << 20, &source, err) &&
        str_starts(source.text, str_from(edits_head)))
        return true;
    if (!error_is_set(err)) {
        error_set(err, "%s is not a file of pins: it stays as it is", path);
        error_hint(err, ":write OTHER.lua");
    }
    return false;
}

/* A line of the console may have made many decisions; it is written once. */
static bool same_line(const Origin *a, const Origin *b)
{
    return a->kind == b->kind && a->line == b->line && strcmp(a->text, b->text) == 0;
}

/* The user's lines; how many there are. Typed ones call the graph `g`. */
static int put_edits(const Session *session, Buf *out)
{
    int n = 0;

    for (int i = 0; i < session->journal.n_done; i++) {
        const Origin *origin = &session->journal.decisions.at[i].origin;
        if (origin->kind != ORIGIN_USER ||
            (i > 0 && same_line(origin, &session->journal.decisions.at[i - 1].origin)))
            continue;
        if (n++ == 0)
            buf_puts(out, "    local g = graph\n");
        buf_printf(out, "    %s\n", origin->text);
    }
    return n;
}

bool pins_write(Ui *ui, Str path, Error *err)
{
    const Session *session = ui->session;
    const char *policy_file = ui_policy_file(session);
    const char *policy = policy_file ? path_base(policy_file) : "pins";
    Str stem = str_from(policy);
    Buf text = buf_new(ui->frame);

    if (str_ends(stem, STR(".lua")))
        stem.n -= 4;
    const char *file = path.n > 0 ? arena_str(ui->frame, path)
                                  : arena_printf(ui->frame, "%.*s.edits.lua", STR_ARG(stem));
    buf_printf(&text, "%s\n-- They come after %s: put them at the end of its PAS.\n\n", edits_head,
               policy_file ? policy : "the policy");
    buf_puts(&text, "function PAS(graph, resource)\n");
    int n = put_edits(session, &text);
    buf_puts(&text, "    return graph\nend\n");
    if (n == 0)
        return error_set(err, "no pin was made here: there is nothing to write");
    if (!may_write(ui, file, err) || !file_write(file, buf_str(&text), err))
        return false;
    const Decision *last = &session->journal.decisions.at[session->journal.n_done - 1];
    ui_say(ui, "%d line%s to %s: %s", n, n > 1 ? "s" : "", file, last->origin.text);
    return true;
}
