/* report.c - `rule OP --trace`: applies a dims_mapping rule to one op and shows how it gets its
 * answer: the letters of the dims, the claims of the operands, which letter loses an axis to which,
 * how the dims of a view come from its source, how the inputs must be resharded. */
#include "core/peers/paddle/report.h"

#include "core/base/table.h"
#include "core/layout/placement.h"
#include "core/peers/paddle/eval_spmd.h"
#include "core/peers/paddle/space_rule.h"
#include "core/peers/paddle/spmd_check.h"
#include "core/rules/one_op.h"

#include <inttypes.h>

/* The rule that the query names: by Paddle's name, with or without "paddle::", or by ours if Paddle
 * has an operator with the same operands. */
typedef struct {
    const SpmdRule *rule;
    const char *name;   /* Paddle's, or the user's */
    const Alias *alias; /* NULL if the query has Paddle's name */
    bool derived;       /* from the op space of a user's operator, for these shapes */
} SpmdNamedRule;

/* ---- which rule ---- */

/* The rule of an operator of ours, by its names in Paddle that have the same operands. */
static void find_by_alias(RuleQuery *query, SpmdNamedRule *out)
{
    const Operator *found = registry_find(query->rules->registry, str_from(query->name));
    Aliases aliases = found ? alias_names(query->arena, found->name) : (Aliases){0};
    for (int i = 0; !out->rule && i < aliases.n; i++) {
        const Alias *alias = &aliases.at[i];
        if (alias->system != SYSTEM_PADDLE || alias->n_operands > 0 || alias->n_constants > 0)
            continue;
        out->rule = spmd_rules_find(spmd_rules_of(query->rules), str_from(alias->name));
        out->name = alias->name;
        out->alias = alias;
    }
}

/* The rule of a user's operator that has none of its own, from its op space. */
static bool derive_rule(RuleQuery *query, SpmdNamedRule *out)
{
    const Operator *row = registry_find(query->rules->registry, str_from(query->name));
    if (!row || row->rule)
        return false;
    if (!query->shapes)
        return error_kind(query->err, ERROR_USAGE, "--trace needs --shapes");
    RuleQuery inputs = *query;
    int64_t arrow = str_find(str_from(query->shapes), STR("->"));
    if (arrow >= 0)
        inputs.shapes = arena_str(query->arena, (Str){query->shapes, (size_t)arrow});
    const DimBindings dims = {0};
    const Graph *graph = query_graph(&inputs, row);
    const Inferred *inferred =
        graph ? infer(query->arena, graph, query->rules->registry, &dims, false, query->err) : NULL;
    SpmdOpCall call;
    if (!inferred)
        return false;
    if (inferred->findings.n > 0)
        return error_kind(query->err, ERROR_USAGE, "%s", inferred->findings.at[0].text);
    if (inferred->n_program == 0 || !spmd_call_of_space(query->arena, inferred, 0, &call))
        return error_kind(query->err, ERROR_UNSUPPORTED,
                          "letters cannot express the index space of '%s'", row->name);
    *out = (SpmdNamedRule){call.rule, row->name, NULL, true};
    return true;
}

static bool find_named_rule(RuleQuery *query, SpmdNamedRule *out)
{
    Str name = str_from(query->name), rest = name;
    SystemId system = SYSTEM_COUNT;
    bool of_paddle = alias_split(name, &system, &rest) && system == SYSTEM_PADDLE;
    *out = (SpmdNamedRule){.name = arena_str(query->arena, of_paddle ? rest : name)};
    out->rule = spmd_rules_find(spmd_rules_of(query->rules), str_from(out->name));
    if (!out->rule)
        find_by_alias(query, out);
    if (!out->rule) {
        *out = (SpmdNamedRule){.name = str_lower_case(query->arena, name)};
        out->rule = spmd_rules_find(spmd_rules_of(query->rules), str_from(out->name));
    }
    if (out->rule || derive_rule(query, out))
        return true;
    if (error_is_set(query->err))
        return false;
    error_kind(query->err, ERROR_UNKNOWN_OP, "there is no dims_mapping rule for '%s'", query->name);
    error_hint(query->err, "use Paddle's names: matmul, layer_norm, OP_grad");
    return false;
}

/* ---- the request ---- */

/* Reads a list of shapes as unsplit operands. */
static SpmdTensor *read_shapes(RuleQuery *query, Str text, int *n)
{
    OneOp op = {0};
    if (!one_op_operands(query->arena, text, &op, query->err))
        return NULL;
    SpmdTensor *tensor = arena_array(query->arena, SpmdTensor, op.n_inputs);
    for (int i = 0; i < op.n_inputs; i++) {
        if (op.value[i]) {
            error_kind(query->err, ERROR_USAGE,
                       "an operand of a dims_mapping rule cannot be a known value");
            error_hint(query->err, "pass it as an attribute: --attr shape=[2,3]");
            return NULL;
        }
        tensor[i].absent = op.shape[i].n_dims < 0;
        if (tensor[i].absent)
            continue;
        tensor[i].shape = op.shape[i];
        tensor[i].n_dims = (int)op.shape[i].n_dims;
    }
    *n = op.n_inputs;
    return tensor;
}

/* Reads "64x32,32x48" (inputs) or "64x32,32x48->64x48" (inputs and outputs). Without an arrow the
 * last k are the outputs of a backward rule that always has k. */
static bool read_operands(RuleQuery *query, SpmdCall *call)
{
    if (!query->shapes)
        return error_kind(query->err, ERROR_USAGE, "--trace needs --shapes");
    Str text = str_from(query->shapes);
    int64_t arrow = str_find(text, STR("->"));
    Str inputs = {text.s, arrow < 0 ? text.n : (size_t)arrow};
    if (!(call->input = read_shapes(query, inputs, &call->n_inputs)))
        return false;
    if (arrow >= 0) {
        Str outputs = {text.s + arrow + 2, text.n - (size_t)arrow - 2};
        return (call->output = read_shapes(query, outputs, &call->n_outputs)) != NULL;
    }
    int n = call->rule->outputs.min;
    if (!call->backward)
        return true;
    if (n != call->rule->outputs.max || n >= call->n_inputs ||
        call->n_inputs - n < call->rule->inputs.min) {
        error_kind(query->err, ERROR_USAGE, "--backward needs the shapes of the outputs");
        error_hint(query->err, "after an arrow: --shapes '64x32,32x48->64x48'");
        return false;
    }
    call->n_inputs -= n;
    call->n_outputs = n;
    call->output = call->input + call->n_inputs;
    return true;
}

/* ---- the operands' mappings ---- */

/* Reads "x" or 0; "x.y" or [0,1]; -1, - or [] for no axis. */
static bool scan_axis(Scan *scan, const Mesh *mesh, SpmdAxes *axes)
{
    Str name = {0};
    int64_t axis = -1;
    if (scan_accept_text(scan, STR("-1")))
        return true;
    char next = scan_peek(scan);
    if (next == '-') {
        scan_accept(scan, '-');
        return true;
    }
    if (is_digit(next) ? !scan_int(scan, &axis) : !scan_name(scan, &name))
        return false;
    if (!is_digit(next) && (axis = mesh_need_axis(mesh, name, scan->err)) < 0) {
        scan_blame(scan, name);
        return false;
    }
    if (axis >= mesh->n_axes || axes->n == MESH_AXES_MAX)
        return scan_fail(scan, "there is no axis %d in a mesh of %d", (int)axis, mesh->n_axes);
    axes->axis[axes->n++] = (uint8_t)axis;
    return true;
}

static bool scan_dim(Scan *scan, const Mesh *mesh, SpmdAxes *axes)
{
    if (!scan_accept(scan, '[')) {
        do {
            if (!scan_axis(scan, mesh, axes))
                return false;
        } while (scan_accept(scan, '.'));
        return true;
    }
    while (!scan_accept(scan, ']'))
        if (!scan_axis(scan, mesh, axes) || (scan_peek(scan) != ']' && !scan_char(scan, ',')))
            return false;
    return true;
}

/* Reads "sum(x)" for each partial axis. */
static bool scan_partials(Scan *scan, const Mesh *mesh, SpmdTensor *tensor)
{
    char next = scan_peek(scan);
    while (next != '\0' && next != ';') {
        Str name;
        SpmdAxes axes = {0};
        ReduceOp reduce = REDUCE_NONE;
        if (!scan_name(scan, &name))
            return false;
        if (!reduce_from_name(name, &reduce))
            return scan_fail(scan, "'%.*s' is not a reduction", STR_ARG(name));
        if (!scan_char(scan, '(') || !scan_axis(scan, mesh, &axes) || !scan_char(scan, ')'))
            return false;
        for (int i = 0; i < axes.n; i++)
            tensor->partial[axes.axis[i]] = (uint8_t)reduce;
        next = scan_peek(scan);
    }
    return true;
}

/* A sharding in a notation other than dims_mapping: [S(0),P(sum)], P('x',None), 8/x,4. */
static bool read_other(const Source *one, const Mesh *mesh, SpmdTensor *tensor, Error *err)
{
    Placement placements[MESH_AXES_MAX];
    if (!placements_parse(one, &tensor->shape, mesh, placements, err))
        return false;
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        const Placement *it = &placements[axis];
        if (it->kind == PLACE_SHARD)
            spmd_axes_push(&tensor->dim[it->dim], axis);
        else if (it->kind == PLACE_PARTIAL)
            tensor->partial[axis] = (uint8_t)it->reduce;
        else if (it->kind != PLACE_REPLICATE)
            return error_kind(err, ERROR_USAGE, "a dims_mapping cannot express '%.*s'",
                              STR_ARG(one->text));
    }
    return true;
}

/* Whether a text is a dims_mapping, whose axes may have their names: [x,-]. */
static bool is_mapping(const Source *one, const Mesh *mesh)
{
    Error none = {0};
    Scan scan = scan_begin(one, &none);
    Str name;
    ShardingView view = sharding_view_of(one->text);
    if (view != VIEW_PLACEMENTS || !scan_accept(&scan, '['))
        return view == VIEW_DIMS_MAPPING || view == VIEW_PLACEMENTS;
    return !scan_name(&scan, &name) || mesh_find_axis(mesh, name) >= 0;
}

static bool scan_mapping(Scan *scan, const Mesh *mesh, SpmdTensor *tensor)
{
    if (tensor->absent && scan_accept(scan, '-'))
        return true;
    if (!scan_char(scan, '['))
        return false;
    for (tensor->n_dims = 0; !scan_accept(scan, ']'); tensor->n_dims++) {
        if (tensor->n_dims == SPMD_DIMS_MAX)
            return scan_fail(scan, "a mapping has at most %d dims", SPMD_DIMS_MAX);
        if (!scan_dim(scan, mesh, &tensor->dim[tensor->n_dims]) ||
            (scan_peek(scan) != ']' && !scan_char(scan, ',')))
            return false;
    }
    return scan_partials(scan, mesh, tensor);
}

/* Reads "[-1,0];[0,-1] sum(x)": mappings of the inputs, or of the outputs if backward. */
static bool read_mappings(RuleQuery *query, const SpmdCall *call, SpmdTensor *tensor, int n)
{
    Str rest = str_from(query->in);
    for (int i = 0; i < n; i++) {
        Source one;
        if (!query_take_in(query, &rest, &one))
            return false;
        Scan scan = scan_begin(&one, query->err);
        bool mapping = tensor[i].absent || is_mapping(&one, call->mesh);
        if (mapping ? !scan_mapping(&scan, call->mesh, &tensor[i]) || !scan_end(&scan)
                    : !read_other(&one, call->mesh, &tensor[i], query->err))
            return false;
    }
    return query_end_in(query, rest);
}

static bool read_call(RuleQuery *query, const SpmdNamedRule *named, SpmdCall *call, Buf *trace)
{
    Source mesh = {.name = "--mesh", .text = str_from(query->mesh)};
    *call = (SpmdCall){.arena = query->arena,
                       .name = named->name,
                       .rule = named->rule,
                       .backward = query->backward,
                       .exact = query->exact,
                       .trace = trace};
    if (!query->mesh)
        return error_kind(query->err, ERROR_USAGE, "--trace needs a mesh: -m x=2,y=3");
    call->mesh = mesh_parse(query->arena, &mesh, query->err);
    if (!call->mesh || !(call->graph = query_attrs(query, named->name, named->alias)) ||
        !read_operands(query, call))
        return false;
    SpmdTensor *given = arena_array(query->arena, SpmdTensor, call->n_inputs + call->n_outputs);
    for (int i = 0; i < call->n_inputs; i++)
        given[i] = call->input[i];
    for (int o = 0; o < call->n_outputs; o++)
        given[call->n_inputs + o] = call->output[o];
    call->input = given;
    call->output = given + call->n_inputs;
    if (!query->in)
        return true;
    return call->backward ? read_mappings(query, call, given + call->n_inputs, call->n_outputs)
                          : read_mappings(query, call, given, call->n_inputs);
}

/* ---- the answer ---- */

/* "[-1,0] sum(x)" */
static void format_mapping(const SpmdCall *call, const SpmdTensor *tensor, Buf *out)
{
    if (tensor->absent) {
        buf_puts(out, "absent");
        return;
    }
    Json *mapping = json_of_spmd_mapping(tensor, false);
    json_write(mapping, out);
    json_free(mapping);
    for (int axis = 0; axis < call->mesh->n_axes; axis++)
        if (tensor->partial[axis] != REDUCE_NONE)
            buf_printf(out, " %s(%s)", reduce_name((ReduceOp)tensor->partial[axis]),
                       call->mesh->axes[axis].name);
}

static const char *mapping_text(const SpmdCall *call, const SpmdTensor *tensor)
{
    Buf out = buf_new(call->arena);
    format_mapping(call, tensor, &out);
    return out.s;
}

static const char *shape_text(const SpmdCall *call, const SpmdTensor *tensor)
{
    Buf out = buf_new(call->arena);
    for (int d = 0; d < tensor->shape.n_dims; d++)
        buf_printf(&out, "%s%" PRId64, d ? "x" : "", tensor->shape.dim[d]);
    return tensor->absent ? "-" : tensor->shape.n_dims > 0 ? out.s : "scalar";
}

/* An operand: its given mapping and the rule's answer. */
typedef struct {
    const char *role; /* "input" */
    int number;
    const SpmdTensor *given, *answer; /* NULL if there is none */
} ReportSide;

typedef Vec(ReportSide) Sides;

/* Operands without an answer and outputs that were not given have one side only. */
static Sides list_rows(const SpmdCall *call, const SpmdTensor *given, int n_inputs, int n_outputs)
{
    Sides rows = {0};
    for (int i = 0; i < n_inputs || (i < call->need.n && !call->need.at[i]->absent); i++)
        vec_push(call->arena, &rows,
                 (ReportSide){"input", i, i < n_inputs ? &given[i] : NULL,
                              i < call->need.n ? call->need.at[i] : NULL});
    for (int o = 0; o < call->out.n || o < n_outputs; o++)
        vec_push(call->arena, &rows,
                 (ReportSide){"output", o, o < n_outputs ? &given[n_inputs + o] : NULL,
                              o < call->out.n ? call->out.at[o] : NULL});
    return rows;
}

/* True when the rule read the given mapping. */
static bool is_read(const SpmdCall *call, const ReportSide *row)
{
    return row->given && (row->role[0] == 'o') == call->backward;
}

static bool is_moved(const SpmdCall *call, const ReportSide *row)
{
    return is_read(call, row) && row->answer && !row->given->absent &&
           strcmp(mapping_text(call, row->given), mapping_text(call, row->answer)) != 0;
}

/* Writes the lines of the trace into `list` or as text, except those of operands, which are in the
 * table. Returns false if there are none. */
static bool write_steps(RuleQuery *query, const Buf *trace, Json *list)
{
    Str rest = buf_str(trace);
    bool any = false;
    while (rest.n > 0) {
        Str line = str_take(&rest, '\n');
        if (line.n == 0 || str_starts(line, STR("given ")) || str_starts(line, STR("input ")) ||
            str_starts(line, STR("output ")))
            continue;
        any = true;
        if (list)
            json_add(list, json_from_str(line));
        else
            buf_printf(query->out, "  %.*s\n", STR_ARG(line));
    }
    return any;
}

/* ---- as text ---- */

static void write_table(RuleQuery *query, const SpmdCall *call, const Sides *rows)
{
    static const TableColumn columns[] = {
        {"OPERAND", 0}, {"SHAPE", 0}, {"SRC_DIMS_MAPPING", 0}, {"DST_DIMS_MAPPING", 0}};
    Table *table = table_new(query->arena, columns, 4);
    for (int i = 0; i < rows->n; i++) {
        const ReportSide *row = &rows->at[i];
        table_printf(table, "%s %d", row->role, row->number);
        const SpmdTensor *shaped = row->given ? row->given : row->answer;
        bool known = row->given || (shaped && shaped->shape.n_dims > 0);
        table_cell(table, str_from(known ? shape_text(call, shaped) : ""));
        table_cell(table, str_from(is_read(call, row) ? mapping_text(call, row->given) : ""));
        table_cell(table, str_from(row->answer ? mapping_text(call, row->answer) : ""));
    }
    table_format(table, "  ", query->out);
}

static void write_moves(RuleQuery *query, const SpmdCall *call, const Sides *rows)
{
    bool any = false;
    for (int i = 0; i < rows->n; i++) {
        const ReportSide *row = &rows->at[i];
        if (!is_moved(call, row))
            continue;
        any = true;
        buf_printf(query->out, "%s %d is resharded: %s to %s\n", row->role, row->number,
                   mapping_text(call, row->given), mapping_text(call, row->answer));
    }
    if (!any)
        buf_puts(query->out, "nothing is resharded\n");
}

static void write_head(RuleQuery *query, const SpmdCall *call)
{
    buf_printf(query->out, "%s%s on ", call->name, call->backward ? ", backward," : "");
    mesh_format(call->mesh, query->out);
    buf_puts(query->out, "\n\n");
}

/* ---- the answer of Paddle itself ---- */

static bool same_answers(const SpmdCall *a, const SpmdCall *b)
{
    bool same = a->need.n == b->need.n && a->out.n == b->out.n;
    for (int i = 0; same && i < a->need.n; i++)
        same = strcmp(mapping_text(a, a->need.at[i]), mapping_text(b, b->need.at[i])) == 0;
    for (int o = 0; same && o < a->out.n; o++)
        same = strcmp(mapping_text(a, a->out.at[o]), mapping_text(b, b->out.at[o])) == 0;
    return same;
}

/* True if an oversight in Paddle changes the answer. */
static bool is_odd(const SpmdCall *named, const SpmdCall *answered)
{
    SpmdCall exact = *named;
    Error none = {0};
    exact.exact = true;
    exact.trace = exact.reads = NULL;
    return !spmd_apply(exact.rule, &exact, &none) || !same_answers(&exact, answered);
}

/* ---- unread attributes ---- */

typedef Vec(const char *) ReportTexts;

/* Attributes of the query that a built-in rule did not read. A rule in Lua gets them all. */
static ReportTexts unread_attrs(const SpmdCall *call)
{
    const AttrList *attrs = &call->graph->attr_lists[call->graph->ops[call->op].attrs];
    ReportTexts out = {0};
    for (int i = 0; i < attrs->n && !call->rule->context; i++) {
        const char *name = names_text(call->graph->names, attrs->at[i].name);
        if (!str_has_word(buf_str(call->reads), str_from(name)))
            vec_push(call->arena, &out, name);
    }
    return out;
}

static void write_unread(RuleQuery *query, const SpmdCall *call)
{
    ReportTexts unread = unread_attrs(call);
    for (int i = 0; i < unread.n; i++)
        buf_printf(query->out, "the rule does not read '%s': it reads %s\n", unread.at[i],
                   call->reads->n > 0 ? call->reads->s : "no attribute");
}

static Json *unread_json(const SpmdCall *call)
{
    ReportTexts unread = unread_attrs(call);
    Json *out = json_array();
    for (int i = 0; i < unread.n; i++)
        json_add(out, json_from_str(str_from(unread.at[i])));
    return out;
}

/* ---- as JSON ---- */

static Json *side_json(const SpmdTensor *tensor)
{
    Json *side = json_object();
    json_set(side, "dims_mapping", json_of_spmd_mapping(tensor, false));
    json_set(side, "partial", json_of_spmd_partial(tensor));
    return side;
}

static Json *operand_json(const SpmdCall *call, const ReportSide *row)
{
    Json *out = json_object();
    bool known = row->given && !row->given->absent;
    json_set(out, "shape",
             known ? json_ints(row->given->shape.dim, (int)row->given->shape.n_dims) : json_null());
    json_set(out, "given", is_read(call, row) && known ? side_json(row->given) : json_null());
    json_set(out, "answer",
             row->answer && !row->answer->absent ? side_json(row->answer) : json_null());
    json_set_bool(out, "resharded", is_moved(call, row));
    return out;
}

static void write_json(RuleQuery *query, const SpmdCall *call, const Sides *rows, const Buf *trace,
                       bool odd)
{
    Json *out = json_object(), *steps = json_array();
    Json *inputs = json_array(), *outputs = json_array();
    Buf mesh = buf_new(query->arena);
    mesh_format(call->mesh, &mesh);
    for (int i = 0; i < rows->n; i++)
        json_add(rows->at[i].role[0] == 'i' ? inputs : outputs, operand_json(call, &rows->at[i]));
    write_steps(query, trace, steps);
    json_set_str(out, "rule", call->name);
    json_set_str(out, "mesh", mesh.s);
    json_set_bool(out, "backward", call->backward);
    json_set_bool(out, "exact", call->exact);
    json_set(out, "inputs", inputs);
    json_set(out, "outputs", outputs);
    json_set(out, "steps", steps);
    json_set_bool(out, "exact_differs", odd);
    json_set(out, "unread_attrs", unread_json(call));
    query->json_root = out;
}

static bool show(RuleQuery *query)
{
    SpmdNamedRule named;
    SpmdCall call;
    Buf trace = buf_new(query->arena), reads = buf_new(query->arena);
    if (!find_named_rule(query, &named) || !read_call(query, &named, &call, &trace))
        return false;
    call.reads = &reads;
    SpmdCall answered = call;
    if (!spmd_apply(named.rule, &answered, query->err))
        return false;
    bool odd = !call.exact && !named.rule->context && is_odd(&call, &answered);
    Sides rows = list_rows(&answered, call.input, call.n_inputs, call.n_outputs);
    if (query->json) {
        write_json(query, &answered, &rows, &trace, odd);
        json_set_bool(query->json_root, "derived", named.derived);
        if (named.derived) /* its annotation has read them */
            json_set(query->json_root, "unread_attrs", json_array());
        return true;
    }
    write_head(query, &call);
    if (write_steps(query, &trace, NULL))
        buf_putc(query->out, '\n');
    write_table(query, &answered, &rows);
    buf_putc(query->out, '\n');
    write_moves(query, &answered, &rows);
    if (odd)
        buf_puts(query->out, "Paddle's own answer differs here: --exact shows it\n");
    if (named.derived)
        buf_puts(query->out, "the rule is derived from the annotation\n");
    else
        write_unread(query, &answered);
    return true;
}

/* ---- proving ---- */

static bool find(RuleQuery *query, NamedRules *out)
{
    SpmdNamedRule named;
    if (!find_named_rule(query, &named))
        return false;
    *out = (NamedRules){named.rule, named.name};
    return true;
}

static bool built_in(RuleQuery *query, int i, NamedRules *out)
{
    (void)query;
    const SpmdRule *rule = spmd_rules_next(NULL);
    while (rule && i-- > 0)
        rule = spmd_rules_next(rule);
    if (rule)
        *out = (NamedRules){rule, rule->names};
    return rule != NULL;
}

static bool registered(RuleQuery *query, int i, NamedRules *out)
{
    const SpmdRules *rules = spmd_rules_of(query->rules);
    if (i >= spmd_rules_n_users(rules))
        return false;
    const SpmdRule *rule = spmd_rules_user(rules, i);
    *out = (NamedRules){rule, rule->names};
    return true;
}

static bool prove(RuleQuery *query, const NamedRules *rules, const SystemCall *call, RuleProof *out)
{
    SpmdClaim claim = {rules->rule, query->exact, true, true};
    return spmd_check(query->arena, query->rules->registry, &claim, call, out, query->err);
}

const RuleReport paddle_reports[] = {
    {"trace", "rule", SYSTEM_PADDLE, show, find, built_in, registered, prove},
    {0},
};
