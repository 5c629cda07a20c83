#include "tui/app/console_complete.h"

#include "core/base/names.h"
#include "core/plan/schedule.h"
#include "tui/help/lua_help.h"
#include "tui/state/lua_typed.h"

#include <inttypes.h>

typedef struct {
    Ui *ui;
    const ScriptEntry *rows;
    Str typed, stem;
    LuaTyped at;
    Names *seen; /* words that are offered */
    Completions *out;
} Line;

static void offer(Line *line, const char *text, const char *after, const char *note)
{
    complete_offer(line->ui, line->out, line->stem,
                   (Candidate){str_from(text), after, str_from(note)});
}

/* ---- names of the model ---- */

/* A name as far as the next dot or slash behind what is typed: the next level of it. */
static void offer_level(Line *line, Str name, const char *note)
{
    if (!str_starts(name, line->stem))
        return;
    size_t n = line->stem.n + 1;
    while (n < name.n && name.s[n] != '.' && name.s[n] != '/')
        n++;
    n = n < name.n ? n : name.n;
    if (line->out->words.n >= CANDIDATES_MAX) { /* counts for what all share */
        complete_offer(line->ui, line->out, line->stem, (Candidate){name, "", {0}});
        return;
    }
    int before = names_count(line->seen);
    int32_t id = names_intern(line->seen, (Str){name.s, n});
    if (id == before)
        offer(line, names_text(line->seen, id), "", n == name.n ? note : "");
}

/* Of a module whose name is typed, and one more dot. */
static void offer_parts(Line *line, int path)
{
    const Naming *naming = line->ui->session->naming;
    for (int part = 0; part < PART_COUNT; part++) {
        int32_t tensor = naming_part_at(naming, path, (Part)part);
        if (tensor < 0)
            continue;
        Buf shape = buf_new(line->ui->frame);
        inferred_put_shape(line->ui->session->inferred, tensor, &shape);
        offer_level(line,
                    str_from(arena_printf(line->ui->frame, "%s.%s", naming_path(naming, path),
                                          part_name((Part)part))),
                    shape.s);
    }
}

static void offer_own_names(Line *line)
{
    const Session *session = line->ui->session;
    const Inferred *inferred = session->inferred;
    for (int i = 0; i < inferred->n_program; i++)
        offer_level(line, str_from(op_name(session->graph, inferred->program[i])), "op");
    for (int32_t t = 0; t < session->graph->n_tensors; t++)
        if (!inferred_value(inferred, t))
            offer_level(line, str_from(tensor_name(session->graph, t)), "tensor");
}

static void offer_names(Line *line)
{
    const Session *session = line->ui->session;
    const Naming *naming = session->naming;
    for (size_t i = 0; i < line->stem.n; i++)
        if (strchr("*?{}[]", line->stem.s[i])) {
            line->out->none = "names in patterns are not completed";
            return;
        }
    line->seen = names_new(line->ui->frame);
    names_intern(line->seen, line->stem); /* which is typed already */
    for (int i = 0; i < session->graph->n_inputs; i++)
        offer_level(line, str_from(naming_label(naming, session->graph->inputs[i])), "input");
    for (int i = 0; i < naming_n_paths(naming); i++) {
        Str path = str_from(naming_path(naming, i));
        offer_level(line, path, "");
        if (str_starts(line->stem, path))
            offer_parts(line, i);
    }
    if (line->stem.n > 0 && line->out->words.n == 0)
        offer_own_names(line);
}

/* ---- axes and dims ---- */

static void offer_axis(Line *line, const char *mark, const char *name, int64_t size,
                       const char *after)
{
    Arena *arena = line->ui->frame;
    offer(line, arena_printf(arena, "%s%s%s", mark, name, mark), after,
          arena_printf(arena, "axis of %" PRId64, size));
}

/* tp:(1)2 of tp=4: from some atom of it up to another. */
static void offer_parts_of_axis(Line *line, const MeshAxis *axis)
{
    const Mesh *mesh = line->ui->session->mesh;
    for (int from = 0; from < axis->n_atoms; from++) {
        const MeshAtom *first = &mesh->atoms[axis->atom + from];
        int64_t size = 1;
        for (int i = from; i < axis->n_atoms; i++) {
            size *= mesh->atoms[axis->atom + i].size;
            if (size < axis->size)
                offer_axis(line, "",
                           arena_printf(line->ui->frame, "%s:(%" PRId64 ")%" PRId64, axis->name,
                                        first->pre, size),
                           size, "");
        }
    }
}

static void offer_axes(Line *line, const char *mark, const char *after)
{
    bool parts = str_find(line->stem, STR(":")) >= 0;
    mesh_each_axis (axis, line->ui->session->mesh) {
        if (parts)
            offer_parts_of_axis(line, axis);
        else
            offer_axis(line, mark, axis->name, axis->size, after);
    }
}

/* The tensor that is named, the first that a pattern of modules' parts names; op: what uses it. */
static int32_t named_tensor(const Session *session, Str name, int32_t *op)
{
    const Naming *naming = session->naming;
    int32_t tensor = naming_find(naming, name, NULL);
    *op = -1;
    for (int part = 0; part < PART_COUNT; part++) {
        Str tail = str_from(part_name((Part)part));
        if (!str_ends(name, tail) || name.n <= tail.n || name.s[name.n - tail.n - 1] != '.')
            continue;
        Str wanted = {name.s, name.n - tail.n - 1};
        for (int i = 0; tensor < 0 && i < naming_n_paths(naming); i++) {
            Str path = str_from(naming_path(naming, i));
            if (str_glob(wanted, path) && naming_part_at(naming, i, (Part)part) >= 0) {
                tensor = naming_part_at(naming, i, (Part)part);
                wanted = path;
            }
        }
        naming_part(naming, wanted, (Part)part, op);
    }
    return tensor;
}

static void offer_index_dims(Line *line, int32_t op)
{
    const OpSpace *space = inferred_space(line->ui->session->inferred, op);
    for (int i = 0; space && i < space->n_index; i++)
        offer(line, space->index[i].name, " = ",
              arena_printf(line->ui->frame, "%" PRId64 "  %s", space->index[i].size,
                           space->index[i].role == ROLE_REDUCE   ? "summed"
                           : space->index[i].role == ROLE_FROZEN ? "keeps the dim whole"
                                                                 : ""));
}

/* The op of that name, or the first on that path. */
static int32_t named_op(const Session *session, Str name)
{
    int32_t op = graph_find_op(session->graph, name);
    if (op < 0 && naming_part(session->naming, name, PART_OUT, &op) < 0)
        return -1;
    return op;
}

/* {|, behind what is cut: its dims. */
static void offer_dims(Line *line, Str name)
{
    const Session *session = line->ui->session;
    int32_t op, tensor = named_tensor(session, name, &op);
    const Shape *shape = tensor < 0 ? NULL : inferred_sizes(session->inferred, tensor);
    if (tensor < 0)
        op = named_op(session, name);
    else if (op < 0 && tensor_n_uses(session->graph, tensor) > 0)
        op = session->graph->uses[session->graph->tensors[tensor].use];
    if (op >= 0)
        offer_index_dims(line, op);
    for (int d = 0; shape && d < shape->n_dims; d++)
        offer(line, arena_printf(line->ui->frame, "[%d]", d), " = ",
              arena_printf(line->ui->frame, "%" PRId64, shape->dim[d]));
    if (tensor < 0 && op < 0)
        line->out->none = "no tensor has that name";
}

/* ---- what a call takes ---- */

static const char *row_use(Line *line, const ScriptEntry *row)
{
    Buf use = buf_new(line->ui->frame);
    lua_row_use(row, &use);
    return use.s;
}

/* node_filter: the fields that the table can have. */
static void offer_fields(Line *line, Str type)
{
    for (const ScriptEntry *row = line->rows; row->name; row++)
        if (row->kind == SCRIPT_FIELD && str_eq(str_from(row->of), type))
            offer(line, row->name, " = ", row_use(line, row));
}

/* "none"|"forward": the texts of a type. */
static bool offer_literals(Line *line, Str type, const char *mark)
{
    bool any = false;
    while (type.n > 0) {
        Str part = str_trim(str_take(&type, '|'));
        if (part.n < 2 || part.s[0] != '"' || part.s[part.n - 1] != '"')
            continue;
        any = true;
        offer(line,
              arena_printf(line->ui->frame, "%s%.*s%s", mark, (int)part.n - 2, part.s + 1, mark),
              "", "");
    }
    return any;
}

/* The name of the field whose value the line ends in: "axis" of `{n = 2, axis = "`. */
static Str field_name(Line *line, const LuaBracket *table, size_t end)
{
    Str item = {line->typed.s + table->item_at, end - table->item_at};
    Str name = str_take(&item, '=');
    return item.n > 0 || (end > 0 && line->typed.s[end - 1] == '=') ? str_trim(name) : (Str){0};
}

/* The innermost call that the line ends in, and its parameter there. */
typedef struct {
    const ScriptEntry *row;
    const LuaBracket *bracket;
    Str name, type; /* of the parameter */
    int tables;     /* that are open in it */
} ConsoleCall;

static bool find_call(const Line *line, ConsoleCall *call)
{
    *call = (ConsoleCall){0};
    for (int i = line->at.depth - 1; i >= 0; i--) {
        const LuaBracket *bracket = &line->at.bracket[i];
        call->row = lua_typed_callee(line->rows, bracket->callee);
        call->bracket = bracket;
        if (call->row && bracket->open != '[')
            return lua_typed_parameter(call->row, bracket->open == '(' ? bracket->item : 0,
                                       &call->name, &call->type);
        call->tables += bracket->open == '{';
    }
    return false;
}

/* Whether a value of that type is one of those that the parameter can be: "cuts" of "cuts|string".
 */
static bool takes(const ConsoleCall *call, Str type)
{
    for (Str rest = call->type; rest.n > 0;)
        if (str_eq(str_trim(str_take(&rest, '|')), type))
            return true;
    return false;
}

static bool takes_axes(const ConsoleCall *call, Str field)
{
    return takes(call, STR("axes")) || takes(call, STR("cuts")) || str_eq(field, STR("axis")) ||
           str_eq(field, STR("axes"));
}

static void offer_schedules(Line *line, const char *mark)
{
    for (Str rest = str_from(schedule_names()); rest.n > 0;) {
        Str word = str_take(&rest, ' ');
        offer(line, arena_printf(line->ui->frame, "%s%.*s%s", mark, STR_ARG(word), mark), "",
              "schedule");
    }
}

static const LuaBracket *inner_table(const Line *line)
{
    const LuaBracket *inner = line->at.depth > 0 ? &line->at.bracket[line->at.depth - 1] : NULL;
    return inner && inner->open == '{' ? inner : NULL;
}

static bool is_schedule(const ConsoleCall *call)
{
    return str_eq(str_from(call->row->name), STR("schedule")) && call->bracket->item == 0;
}

/* Between quotes. */
static void offer_texts(Line *line)
{
    ConsoleCall call;
    bool called = find_call(line, &call);
    const LuaBracket *table = inner_table(line);
    Str field = table ? field_name(line, table, line->at.text_at - 1) : (Str){0};
    if (called && is_schedule(&call))
        offer_schedules(line, "");
    else if (called && takes_axes(&call, field))
        offer_axes(line, "", "");
    else if (!called || !offer_literals(line, call.type, ""))
        offer_names(line);
}

/* Between braces or as an argument, where no name has begun that a value follows. True: that was
 * all. */
static bool offer_arguments(Line *line)
{
    ConsoleCall call;
    const LuaBracket *table = inner_table(line);
    if (!find_call(line, &call))
        return false;
    size_t end = line->out->from;
    Str field = table ? field_name(line, table, end) : (Str){0};
    bool key = table && field.n == 0, cuts = takes(&call, STR("cuts"));
    if (is_schedule(&call))
        offer_schedules(line, "\"");
    else if (key && cuts && call.tables == 1)
        offer_dims(line, lua_typed_first_text(line->typed, call.bracket->at + 1));
    else if (key && cuts) {
        offer_axes(line, "\"", "");
        offer_fields(line, STR("cut_table"));
    } else if (key && str_find(call.type, STR("table<string, integer>")) >= 0)
        offer_axes(line, "", " = ");
    else if (key)
        offer_fields(line, (Str){call.type.s, lua_typed_head(call.type)});
    else if (takes_axes(&call, field))
        offer_axes(line, "\"", "");
    else if (!table)
        offer_literals(line, call.type, "\"");
    return line->out->words.n > 0 || key;
}

/* ---- names of Lua ---- */

/* Members of a type; of any type of objects where it is not known. */
static void offer_members(Line *line, char between, Str value)
{
    Str type = lua_typed_type(line->rows, value);
    ScriptKind kind = between == ':' ? SCRIPT_METHOD : SCRIPT_FIELD;
    line->seen = names_new(line->ui->frame);
    if (str_eq(type, STR("mesh"))) {
        offer_axes(line, "", "");
        return;
    }
    for (const ScriptEntry *row = line->rows; row->name; row++) {
        bool of_type = type.n > 0 ? str_eq(str_from(row->of), type)
                                  : str_has_word(STR("graph node segment tensor algorithm "
                                                     "resource"),
                                                 str_from(row->of));
        bool global = row->kind == SCRIPT_GLOBAL && *row->of; /* spmd.merge */
        if (!of_type || (row->kind != kind && !global) || row->name[0] == '[')
            continue;
        if (names_find(line->seen, str_from(row->name)) > 0)
            continue;
        names_intern(line->seen, str_from(row->name));
        offer(line, row->name, "", row_use(line, row));
    }
}

static void offer_globals(Line *line)
{
    for (const ScriptEntry *row = line->rows; row->name; row++)
        if (!*row->of && (row->kind == SCRIPT_GLOBAL || row->kind == SCRIPT_STANDARD))
            offer(line, row->name, "", row_use(line, row));
    offer(line, "graph", "", "graph: graph");
    offer(line, "resource", "", "resource: resource");
}

static void offer_code(Line *line)
{
    Str before = {line->typed.s, line->out->from};
    char between = before.n > 0 ? before.s[before.n - 1] : 0;
    if (between == '.' || between == ':')
        offer_members(line, between, lua_typed_value((Str){before.s, before.n - 1}));
    else if (!offer_arguments(line) && line->stem.n > 0)
        offer_globals(line);
}

Completions console_complete_find(Ui *ui, Str typed)
{
    const SessionHooks *hooks = &ui->session->hooks;
    Completions all = {.from = typed.n};
    Line line = {.ui = ui, .typed = typed, .out = &all};
    if (!hooks->rows || !lua_typed_read(typed, &line.at) || line.at.in_comment)
        return all;
    line.rows = hooks->rows(hooks->context, ui->frame);
    line.stem = lua_typed_word(typed);
    if (line.at.in_text)
        line.stem = (Str){typed.s + line.at.text_at, typed.n - line.at.text_at};
    const LuaBracket *last = line.at.depth > 0 ? &line.at.bracket[line.at.depth - 1] : NULL;
    if (!line.at.in_text && last && last->open == '[' && last->callee.n == 0) { /* {[0 */
        line.stem = (Str){typed.s + last->at, typed.n - last->at};
        line.at.depth--;
    }
    all.from = typed.n - line.stem.n;
    if (line.at.in_text)
        offer_texts(&line);
    else
        offer_code(&line);
    return all;
}
