#include "core/rules/registry.h"
#include "core/rules/written/written.h"

#include "core/base/arena_child.h"
#include "core/base/peer.h"
#include "core/rules/derivative.h"
#include "core/rules/rule_anno.h"
#include "core/rules/user_op.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>

/* ---- the tables ---- */

static const Operator *const families[] = {
    operators_elementwise,
    operators_matmul,
    operators_reduce,
    operators_shape,
    operators_index,
    operators_norm,
    operators_window,
    operators_layer,
    operators_quantize,
    operators_scatter,
    operators_random,
    operators_signal,
    operators_loss,
    operators_control,
    operators_text,
    operators_tensor,
    operators_pool,
    operators_resample,
    operators_attention,
    operators_recurrent,
    operators_onnxruntime,
    operators_pointwise,
    operators_gradient,
    operators_products,
    operators_fused_attention,
    operators_norm_stats,
    operators_experts,
    operators_training,
    operators_indexing,
    operators_matrix,
    operators_cross_entropy,
    operators_order,
    operators_variants,
    operators_contributed,
    operators_written,
    operators_hlo,
};
enum { N_FAMILIES = sizeof families / sizeof *families };

/* The tables of core/rules/operators, then those of the peers; NULL at the end. */
static const Operator *table_at(int t)
{
    if (t < N_FAMILIES)
        return families[t];
    for (const Peer *const *peer = built_peers; *peer; peer++)
        if ((*peer)->operators && t-- == N_FAMILIES)
            return (*peer)->operators;
    return NULL;
}

const Operator *operator_next(const Operator *row)
{
    if (row && row[1].name)
        return row + 1;
    int t = 0;
    const Operator *table = table_at(t);
    while (row && table && strcmp(table->family, row->family) != 0)
        table = table_at(++t);
    return row && table ? table_at(t + 1) : table;
}

const Operator *operator_find(const char *name)
{
    const Operator *table;
    for (int t = 0; (table = table_at(t)); t++)
        for (const Operator *row = table; row->name; row++)
            if (row->name[0] == name[0] && strcmp(row->name, name) == 0)
                return row;
    return NULL;
}

typedef struct {
    const Derivative *derivative;
    bool read;
} DerivativeRead;

/* The columns `gradient`, each read when somebody asks for it, by any thread: most sessions
 * differentiate a few operators, or none. */
typedef struct {
    pthread_mutex_t lock;
    Arena *arena;
    Vec(DerivativeRead) by_name; /* by Names id of the operator */
} Derivatives;

struct Registry {
    Arena *arena;
    Names *names;
    Vec(const Operator *) by_name; /* by Names id; NULL: no operator has that name */
    Vec(const Operator *) listed;  /* users' rows, then the built-in ones */
    int n_users;
    Derivatives *derivatives;
};

/* A column that cannot be read counts as absent: who takes rows from outside reads it first. */
static const Derivative *read_derivative(Arena *arena, const char *text)
{
    Derivative *derivative = arena_make(arena, Derivative);
    Error err = {0};
    return text && derivative_read(arena, text, derivative, &err) ? derivative : NULL;
}

static void use_row(Registry *registry, const Operator *row)
{
    int32_t id = names_intern(registry->names, str_from(row->name));
    while (registry->by_name.n <= id)
        vec_push(registry->arena, &registry->by_name, NULL);
    registry->by_name.at[id] = row;
    if (id < registry->derivatives->by_name.n)
        registry->derivatives->by_name.at[id] = (DerivativeRead){0};
}

static const Operator *find_own(const Registry *registry, Str name)
{
    int32_t id = names_find(registry->names, name);
    return id >= 0 && id < registry->by_name.n ? registry->by_name.at[id] : NULL;
}

Registry *registry_new(Arena *arena)
{
    Registry *registry = arena_make(arena, Registry);
    registry->arena = arena;
    registry->names = names_new(arena);
    registry->derivatives = arena_make(arena, Derivatives);
    registry->derivatives->arena = arena_child(arena);
    pthread_mutex_init(&registry->derivatives->lock, NULL);
    for (const Operator *row = NULL; (row = operator_next(row));)
        vec_push(arena, &registry->listed, row);
    names_reserve(registry->names, registry->listed.n);
    for (int i = 0; i < registry->listed.n; i++)
        use_row(registry, registry->listed.at[i]);
    return registry;
}

Arena *registry_arena(const Registry *registry)
{
    return registry->arena;
}

TextPlace text_place(TextPlace start, int line, int column)
{
    bool first = line <= 1, known = start.column > 0;
    return (TextPlace){start.line + (known && !first ? line - 1 : 0),
                       !known  ? 0
                       : first ? start.column + column - 1
                               : column};
}

static const AnnoSource *copy_source(Arena *arena, const AnnoSource *source)
{
    AnnoSource *copy = arena_make(arena, AnnoSource);
    int n = 0;
    *copy = *source;
    while (source->annos && source->annos[n])
        n++;
    const char **annos = arena_array(arena, const char *, n + 1);
    for (int i = 0; i < n; i++)
        annos[i] = arena_str(arena, str_from(source->annos[i]));
    copy->annos = annos;
    TextPlace *place = arena_array(arena, TextPlace, n);
    for (int i = 0; source->place && i < n; i++)
        place[i] = source->place[i];
    copy->place = source->place ? place : NULL;
    if (source->file)
        copy->file = arena_str(arena, str_from(source->file));
    return copy;
}

static int find_user(const Registry *registry, const char *name)
{
    for (int i = 0; i < registry->n_users; i++)
        if (strcmp(registry->listed.at[i]->name, name) == 0)
            return i;
    return -1;
}

static const char *copy_text(Arena *arena, const char *text)
{
    return text ? arena_str(arena, str_from(text)) : NULL;
}

void registry_add(Registry *registry, const Operator *given)
{
    Arena *arena = registry->arena;
    const Operator *replaced = operator_find(given->name);
    Operator *row = arena_make(arena, Operator);
    *row = *given;
    row->name = copy_text(arena, given->name);
    row->family = copy_text(arena, given->family ? given->family : "user");
    row->kernel = copy_text(arena, given->kernel);
    row->examples = copy_text(arena, given->examples);
    if (given->anno)
        row->anno = copy_source(arena, given->anno);
    if (replaced) {
        row->attrs = replaced->attrs;
        row->types = replaced->types;
        row->paddle = replaced->paddle;
    }
    row->gradient = copy_text(arena, given->gradient           ? given->gradient
                                     : replaced && !given->own ? replaced->gradient
                                                               : NULL);

    use_row(registry, row);
    int at = find_user(registry, row->name);
    if (at >= 0) {
        registry->listed.at[at] = row;
        return;
    }
    at = registry->n_users++;
    vec_push(registry->arena, &registry->listed, NULL);
    memmove(&registry->listed.at[at + 1], &registry->listed.at[at],
            (size_t)(registry->listed.n - 1 - at) * sizeof *registry->listed.at);
    registry->listed.at[at] = row;
}

const Alias *registry_alias(const Registry *registry, Str name)
{
    return find_own(registry, name) ? NULL : alias_find(registry->arena, name);
}

const Operator *registry_find(const Registry *registry, Str name)
{
    const Operator *own = find_own(registry, name);
    const Alias *alias = own ? NULL : alias_find(registry->arena, name);
    return alias ? find_own(registry, str_from(alias->op_type)) : own;
}

bool operator_is_view(const Operator *row)
{
    return row && (row->flags & OPERATOR_VIEW || (row->kernel && strcmp(row->kernel, "view") == 0));
}

bool operator_picks(const Operator *row, int input)
{
    bool takes = row && (input == 0 || row->inputs_max == OPERATOR_ANY);
    return takes && (row->flags & OPERATOR_PICKS || operator_is_view(row));
}

const Derivative *registry_derivative(const Registry *registry, const Operator *row)
{
    int32_t id = row ? names_find(registry->names, str_from(row->name)) : -1;
    if (id < 0 || id >= registry->by_name.n || !registry->by_name.at[id])
        return NULL;
    Derivatives *known = registry->derivatives;
    pthread_mutex_lock(&known->lock);
    while (known->by_name.n <= id)
        vec_push(known->arena, &known->by_name, (DerivativeRead){0});
    DerivativeRead *it = &known->by_name.at[id];
    if (!it->read)
        *it = (DerivativeRead){read_derivative(known->arena, registry->by_name.at[id]->gradient),
                               true};
    const Derivative *derivative = it->derivative;
    pthread_mutex_unlock(&known->lock);
    return derivative;
}

int registry_n_users(const Registry *registry)
{
    return registry->n_users;
}

int registry_count(const Registry *registry)
{
    return registry->listed.n;
}

const Operator *registry_at(const Registry *registry, int i)
{
    assert(0 <= i && i < registry->listed.n);
    return registry->listed.at[i];
}

/* ---- for rules ---- */

/* Rows that read the operand whole; an operand without a shape is not analysed. */
static void whole_operand(Operand *operand, const Shape *shape)
{
    operand->ignored = shape->n_dims < 0;
    if (operand->ignored)
        return;
    operand->shape = *shape;
    operand->projection.n_dims = (uint8_t)shape->n_dims;
    for (int64_t d = 0; d < shape->n_dims; d++)
        row_whole(&operand->projection.row[d], shape->dim[d]);
}

static OpSpace *whole_inputs(RuleCall *call)
{
    OpSpace *space = opspace_new(call->arena, call->n_inputs, call->n_outputs);
    for (int i = 0; i < call->n_inputs; i++) {
        space->operand[i].absent = !call->shape[i];
        if (call->shape[i])
            whole_operand(&space->operand[i], call->shape[i]);
    }
    return call->space = space;
}

/* The shape with 1 for sizes known only at run time; a scalar if not even the rank is known. */
static Shape known_sizes(const Shape *shape)
{
    Shape known = *shape;
    if (known.n_dims < 0)
        return (Shape){0};
    for (int64_t d = 0; d < known.n_dims && d < DIMS_MAX; d++)
        if (known.dim[d] == -1)
            known.dim[d] = 1;
    return known;
}

static bool is_known(const Shape *shape)
{
    Shape known = known_sizes(shape);
    return memcmp(&known, shape, sizeof known) == 0;
}

OpSpace *rule_space(RuleCall *call, Error *err)
{
    for (int o = 0; o < call->n_outputs; o++) {
        Shape known = known_sizes(&call->out_shape[o]);
        if (!shape_check(&known, err))
            return NULL;
    }
    OpSpace *space = whole_inputs(call);
    for (int o = 0; o < call->n_outputs; o++)
        whole_operand(rule_output(space, o), &call->out_shape[o]);
    return space;
}

OpSpace *rule_space_as(RuleCall *call, const Shape *shape, Dtype dtype, Error *err)
{
    call->out_shape[0] = *shape;
    call->out_dtype[0] = dtype;
    return rule_space(call, err);
}

int rule_index(OpSpace *space, const char *name, int64_t size, IndexRole role, ReduceOp reduce)
{
    if (size == 1)
        return -1;
    int index = opspace_add_index(space, name, size, role, reduce);
    assert(index >= 0);
    return index;
}

int rule_index_at(RuleCall *call, char letter, int64_t at, int64_t size)
{
    if (size == 1)
        return -1;
    const char *name = arena_printf(call->arena, "%c%" PRId64, letter, at);
    return rule_index(call->space, name, size, ROLE_MAP, REDUCE_NONE);
}

void rule_unit(Operand *operand, int64_t dim, int index)
{
    if (index < 0)
        row_one(&operand->projection.row[dim]);
    else
        row_unit(&operand->projection.row[dim], index);
}

void rule_radix(const OpSpace *space, Operand *operand, int64_t dim, const int *index, int n)
{
    int used[X_MAX], n_used = 0;
    for (int i = 0; i < n; i++)
        if (index[i] >= 0)
            used[n_used++] = index[i];
    row_radix(&operand->projection.row[dim], space, used, n_used);
}

void rule_align(Operand *operand, const int *index, int n)
{
    int64_t skip = n - operand->shape.n_dims;
    for (int64_t d = skip < 0 ? -skip : 0; d < operand->shape.n_dims; d++)
        rule_unit(operand, d, operand->shape.dim[d] == 1 ? -1 : index[d + skip]);
}

/* ---- applying ---- */

static double index_points(const OpSpace *space)
{
    double points = 1;
    for (int j = 0; j < space->n_index; j++)
        points *= (double)space->index[j].size;
    return points;
}

/* The defaults of a user's operator as keyword arguments of its annotation. */
static AnnoArg *default_args(Arena *arena, const Kwargs *defaults)
{
    AnnoArg *args = arena_array(arena, AnnoArg, defaults->n);
    for (int i = 0; i < defaults->n; i++)
        args[i] = (AnnoArg){str_from(defaults->at[i].name), true, defaults->at[i].value.i};
    return args;
}

/* Reports that an annotation made by a function does not parse. */
static int blame_annotation(const AnnoSource *source, const char *text, const Error *wrong,
                            Error *err)
{
    error_kind(
        err, wrong->kind,
        "the annotation '%s', made by the function of %s:%d, does not parse: %s, at character %d",
        text, source->file ? source->file : "?", source->line, wrong->text, wrong->column);
    return -1;
}

/* The candidates of a user's row: its texts, or the one that its function makes. */
static int anno_candidates(const AnnoSource *source, const RuleCall *call, const Anno ***out,
                           Error *err)
{
    int n = source->make ? 1 : 0;
    while (!source->make && source->annos && source->annos[n])
        n++;
    const Anno **annos = arena_array(call->arena, const Anno *, n);
    for (int i = 0; i < n; i++) {
        const char *text =
            source->make ? source->make(source->context, call, err) : source->annos[i];
        if (!text)
            return -1;
        Source place = {"annotation", str_from(text)};
        Error wrong = {0};
        annos[i] = anno_parse(call->arena, &place, &wrong);
        if (!annos[i])
            return blame_annotation(source, text, &wrong, err);
    }
    *out = annos;
    return n;
}

/* Whether an output's dtype is not declared by the file and is therefore that of input 0. */
static bool declares_dtype(const RuleCall *call, int o)
{
    int32_t tensor = op_outputs(call->graph, call->op)[o];
    return tensor >= 0 && call->graph->tensors[tensor].dtype != DT_NONE;
}

static bool apply_anno(const Operator *row, RuleCall *call, Error *err)
{
    const Anno **annos = NULL;
    AnnoMatch match;
    const Kwargs none = {0}, *defaults = row->user ? &row->user->defaults : &none;
    int n = anno_candidates(row->anno, call, &annos, err);
    if (n < 0 || !rule_match_anno(call, annos, n, default_args(call->arena, defaults), defaults->n,
                                  &match, err))
        return false;
    if (match.anno->n_outputs != call->n_outputs)
        return error_set(err, "its annotation has %d outputs, it has %d", match.anno->n_outputs,
                         call->n_outputs);

    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = match.output[o];
        bool same = row->flags & OPERATOR_SAME_DTYPE || !declares_dtype(call, o);
        if (same && call->n_inputs > 0)
            call->out_dtype[o] = call->dtype[0];
    }
    call->space = anno_opspace(call->arena, &match, err);
    return call->space != NULL;
}

/* "it has 1 input, and takes 2" */
static bool wrong_count(const Operator *row, int n, Error *err)
{
    const char *s = n == 1 ? "" : "s";
    int min = row->inputs_min, max = row->inputs_max;
    if (min == max)
        return error_set(err, "it has %d input%s, and takes %d", n, s, min);
    if (max == OPERATOR_ANY)
        return error_set(err, "it has %d input%s, and takes %d or more", n, s, min);
    return error_set(err, "it has %d input%s, and takes %d to %d", n, s, min, max);
}

static bool check_counts(const Operator *row, const RuleCall *call, Error *err)
{
    int outputs_max = row->outputs_max > 0 ? row->outputs_max : 1;
    if (call->n_inputs < row->inputs_min || call->n_inputs > row->inputs_max)
        return wrong_count(row, call->n_inputs, err);
    if (call->n_outputs < 1 || call->n_outputs > outputs_max)
        return error_set(err, "it has %d outputs, and gives 1 to %d", call->n_outputs, outputs_max);
    for (int i = 0; i < row->inputs_min; i++)
        if (!call->shape[i])
            return error_set(err, "its input %d is absent",
                             call->alias && i < call->alias->n_operands ? call->alias->operand[i]
                                                                        : i);
    return true;
}

static bool run_rule(const Operator *row, RuleCall *call, Error *err)
{
    if (row->rule && !check_counts(row, call, err))
        return false;
    if (row->data)
        return row->data->apply(row->data->data, call, err);
    return row->rule ? row->rule(call, err) : apply_anno(row, call, err);
}

/* ---- under another system's name ---- */

/* The call with its operands in our order. */
static RuleCall our_call(const RuleCall *call)
{
    const Alias *alias = call->alias;
    RuleCall ours = *call;
    int n = alias->n_operands;
    const Shape **shape = arena_array(call->arena, const Shape *, n);
    Dtype *dtype = arena_array(call->arena, Dtype, n);
    const Value **value = arena_array(call->arena, const Value *, n);
    ours.n_inputs = 0;
    for (int i = 0; i < n; i++) {
        int theirs = alias->operand[i];
        if (theirs < 0 || theirs >= call->n_inputs || !call->shape[theirs])
            continue;
        shape[i] = call->shape[theirs];
        dtype[i] = call->dtype[theirs];
        value[i] = call->value[theirs];
        ours.n_inputs = i + 1;
    }
    ours.shape = shape;
    ours.dtype = dtype;
    ours.value = value;
    return ours;
}

/* The op space of our_call() with its operands in the op's order. */
static OpSpace *their_space(RuleCall *call, const OpSpace *ours)
{
    OpSpace *space = whole_inputs(call);
    Operand *operand = space->operand;
    *space = *ours;
    space->operand = operand;
    space->n_inputs = call->n_inputs;
    for (int i = 0; i < call->n_inputs; i++)
        operand[i].ignored = true;
    for (int i = 0; i < ours->n_inputs; i++) {
        int theirs = call->alias->operand[i];
        if (theirs >= 0 && theirs < call->n_inputs)
            operand[theirs] = ours->operand[i];
    }
    memcpy(operand + call->n_inputs, ours->operand + ours->n_inputs,
           (size_t)ours->n_outputs * sizeof *operand);
    return call->space = space;
}

static bool run_alias(const Operator *row, RuleCall *call, Error *err)
{
    const Alias *alias = call->alias;
    if (alias->n_operands == 0) {
        if (!run_rule(row, call, err))
            return false;
    } else {
        RuleCall ours = our_call(call);
        if (!run_rule(row, &ours, err))
            return false;
        their_space(call, ours.space);
    }
    bool same = alias->n_operands + alias->n_attrs + alias->n_constants == 0;
    if (same && !call->space->kernel)
        call->space->kernel = row->name;
    return true;
}

/* Applies a user's options beside the annotation or the data. */
static bool apply_user(const UserOp *user, RuleCall *call, Error *err)
{
    for (int o = 0; o < user->n_dtypes && o < call->n_outputs; o++) {
        const DeclaredDtype *declared = &user->dtype[o];
        if (declares_dtype(call, o) || declared->input >= call->n_inputs)
            continue;
        call->out_dtype[o] = declared->input >= 0 ? call->dtype[declared->input] : declared->dtype;
    }
    return cut_rules_apply(call->arena, user->rules, user->n_rules, call->space, err) &&
           user_op_updates(user, call->space, err);
}

bool registry_apply(const Operator *row, RuleCall *call, Error *err)
{
    if (!(call->alias ? run_alias : run_rule)(row, call, err))
        return false;

    for (int o = 0; o < call->n_outputs; o++)
        if (!is_known(&call->out_shape[o])) {
            registry_replicated(call);
            return true;
        }
    OpSpace *space = call->space;
    space->early |= (row->flags & OPERATOR_EARLY) != 0;
    if (row->kernel && (!row->rule || strcmp(row->kernel, "view") == 0))
        space->kernel = row->kernel;
    space->own = row->own;
    space->flops += row->flops_per_point * index_points(space);
    return opspace_finish(space, err) && (!row->user || apply_user(row->user, call, err));
}

OpSpace *registry_replicated(RuleCall *call)
{
    OpSpace *space = whole_inputs(call);
    for (int o = 0; o < call->n_outputs; o++)
        rule_output(space, o)->ignored = true;
    space->no_rule = true;
    bool stands = opspace_finish(space, NULL);
    assert(stands);
    return space;
}
