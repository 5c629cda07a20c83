#include "core/peers/shardy/import_state.h"

/* ---- one copy of constants and broadcast scalars for each use ---- */

typedef enum { NOT_CONSTANT, CONSTANT, SCALAR_SPREAD } Constancy;

typedef struct {
    Importer *importer;
    Constancy *constancy; /* per op before the import */
    int n_ops;
} Splitter;

/* True when its result is constant if its operands are. */
static bool keeps_constants(const FactorOp *op)
{
    return import_is_named(op, "stablehlo.broadcast_in_dim stablehlo.reshape stablehlo.slice "
                               "sdy.propagation_barrier sdy.reshard") ||
           (op->kind == FACTOR_PLAIN && op->elementwise);
}

static Constancy made_by(const Splitter *splitter, int value)
{
    int maker = import_value(splitter->importer, value)->maker;
    return maker >= 0 && maker < splitter->n_ops ? splitter->constancy[maker] : NOT_CONSTANT;
}

static Constancy constancy_of(const Splitter *splitter, const FactorOp *op)
{
    bool constant = keeps_constants(op);
    for (int k = 0; k < op->n_inputs; k++)
        constant &= made_by(splitter, op->input[k]) == CONSTANT;
    if (constant || op->kind == FACTOR_CONSTANT)
        return CONSTANT;
    if (import_is_named(op, "stablehlo.broadcast_in_dim") &&
        import_is_scalar(splitter->importer, op->input[0]))
        return SCALAR_SPREAD;
    return NOT_CONSTANT;
}

typedef struct {
    int value, copy;
} Copy;

typedef struct {
    Vec(Copy) copies;
} Copies;

static void copy_groups(Splitter *splitter, int value, int copy)
{
    Importer *importer = splitter->importer;
    for (int i = importer->out->order.n - 1; i >= 0; i--) {
        FactorOp user = *import_op(importer, importer->out->order.at[i]);
        if (user.kind != FACTOR_GROUP || user.input[0] != value)
            continue;
        user.input = arena_array(importer->arena, int, 1);
        user.input[0] = copy;
        import_add_op(importer, user, i + 1);
    }
}

/* Copies the ops that compute a value, each right before the original; scalars are shared. */
static int copy_value(Splitter *splitter, int value, Copies *copies)
{
    Importer *importer = splitter->importer;
    int maker = import_value(importer, value)->maker;
    if (import_is_scalar(importer, value) || maker < 0)
        return value;
    for (int i = 0; i < copies->copies.n; i++)
        if (copies->copies.at[i].value == value)
            return copies->copies.at[i].copy;
    FactorOp op = *import_op(importer, maker);
    int *input = arena_array(importer->arena, int, op.n_inputs);
    for (int k = 0; k < op.n_inputs; k++)
        input[k] = copy_value(splitter, op.input[k], copies);
    int *output = arena_array(importer->arena, int, op.n_outputs), made = value;
    for (int k = 0; k < op.n_outputs; k++) {
        FactorValue copy = *import_value(importer, op.output[k]);
        copy.maker = importer->graph->ops.n;
        output[k] = import_add_value(importer, copy);
        vec_push(importer->arena, &copies->copies, (Copy){op.output[k], output[k]});
        if (op.output[k] == value)
            made = output[k];
    }
    op.input = input;
    op.output = output;
    import_add_op(importer, op, import_place(importer, maker));
    copy_groups(splitter, value, made);
    return made;
}

static void split_at(Splitter *splitter, int *input)
{
    Importer *importer = splitter->importer;
    if (made_by(splitter, *input) == NOT_CONSTANT || import_is_scalar(importer, *input))
        return;
    Copies copies = {0};
    *input = copy_value(splitter, *input, &copies);
    for (int i = 0; i < copies.copies.n; i++) {
        const Copy *copy = &copies.copies.at[i];
        int *shown = &importer->out->shown[copy->value];
        if (*shown == copy->value)
            *shown = copy->copy;
    }
}

/* Removes constants that only sharding groups still use, and those uses. */
static void remove_unused(Splitter *splitter, Constancy constancy)
{
    Importer *importer = splitter->importer;
    for (int op = splitter->n_ops - 1; op >= 0; op--) {
        int place = splitter->constancy[op] == constancy ? import_place(importer, op) : -1;
        bool used = place < 0;
        const FactorOp *made = import_op(importer, op);
        int value = made->n_outputs > 0 ? made->output[0] : -1;
        for (int i = 0; !used && i < importer->out->order.n; i++) {
            const FactorOp *user = import_op(importer, importer->out->order.at[i]);
            for (int k = 0; user->kind != FACTOR_GROUP && k < user->n_inputs; k++)
                used |= user->input[k] == value;
        }
        for (int i = 0; !used && i < importer->graph->n_outputs; i++)
            used = importer->out->returned[i] == value;
        if (used)
            continue;
        for (int i = importer->out->order.n - 1; i >= 0; i--) {
            const FactorOp *user = import_op(importer, importer->out->order.at[i]);
            if (user->kind == FACTOR_GROUP && user->input[0] == value)
                import_remove(importer, i);
        }
        import_remove(importer, import_place(importer, op));
    }
}

void import_split_constants(Importer *importer)
{
    Splitter splitter = {.importer = importer, .n_ops = importer->graph->ops.n};
    splitter.constancy = arena_array(importer->arena, Constancy, splitter.n_ops);
    for (int i = 0; i < splitter.n_ops; i++) {
        const FactorOp *op = import_op(importer, i);
        if (op->kind == FACTOR_GROUP)
            continue;
        splitter.constancy[i] = constancy_of(&splitter, op);
        for (int k = 0; splitter.constancy[i] == NOT_CONSTANT && k < op->n_inputs; k++) {
            split_at(&splitter, &import_op(importer, i)->input[k]);
            op = import_op(importer, i);
        }
    }
    for (int i = 0; i < importer->graph->n_outputs; i++)
        split_at(&splitter, &importer->out->returned[i]);
    remove_unused(&splitter, SCALAR_SPREAD);
    remove_unused(&splitter, CONSTANT);
}
