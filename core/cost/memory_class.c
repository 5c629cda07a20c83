#include "core/cost/memory_class.h"

/* ORDER MEMORY_CLASS */
static const char *const class_names[MEMORY_CLASS_COUNT] = {
    "parameter",  "gradient", "optimizer_state",   "input",
    "activation", "constant", "collective_buffer",
};

const char *memory_class_name(MemoryClass class)
{
    return class_names[class];
}

/* What an optimizer reads and makes, one letter each: p parameter, g gradient, s state, - none.
 * `fixed` inputs come first; with `lists`, a letter stands for as many tensors as there are
 * parameters. */
#define UPDATE(op)                                                                                 \
    {                                                                                              \
        op, 0, false, "pg---s", "ps"                                                               \
    }
static const struct {
    const char *op_type;
    int fixed;
    bool lists;
    const char *reads, *makes;
} optimizers[] = {
    {"ai.onnx.preview.training::Adagrad", 2, true, "pgs", "ps"},
    {"ai.onnx.preview.training::Momentum", 2, true, "pgs", "ps"},
    {"ai.onnx.preview.training::Adam", 2, true, "pgss", "pss"},
    {"ai.onnx.preview.training::Gradient", 0, false, "", "g"},
    {"AdamStep", 0, false, "pg-sssss-", "pssssss"},
    {"SgdStep", 0, false, "p-gs", "ps"},
    {"LossScaleUpdate", 0, false, "-ss", "ss"},
    UPDATE("SgdUpdate"),
    UPDATE("MomentumUpdate"),
    UPDATE("NesterovUpdate"),
    UPDATE("AdamUpdate"),
    UPDATE("AdamWUpdate"),
    UPDATE("AdagradUpdate"),
    UPDATE("RmspropUpdate"),
    UPDATE("AdamaxUpdate"),
    UPDATE("NadamUpdate"),
    UPDATE("RadamUpdate"),
};
#undef UPDATE

typedef struct {
    const Inferred *inferred;
    MemoryClass *class;
    bool *has_role; /* per tensor */
} OptimizerRoles;

static void set_role(OptimizerRoles *roles, int32_t tensor, char letter)
{
    if (tensor < 0 || letter == '-' || roles->has_role[tensor] ||
        roles->class[tensor] == MEMORY_CONSTANT)
        return;
    roles->has_role[tensor] = true;
    roles->class[tensor] = letter == 'p'   ? MEMORY_PARAMETER
                           : letter == 'g' ? MEMORY_GRADIENT
                                           : MEMORY_OPTIMIZER;
}

/* Each letter stands for `each` tensors; the last letter covers all that follow. master: what is
 * updated is a copy of the parameter. */
static void set_roles(OptimizerRoles *roles, const int32_t *tensor, int n, const char *letters,
                      int each, bool master)
{
    int n_letters = (int)strlen(letters);
    for (int i = 0; i < n && n_letters > 0; i++) {
        int letter = i / each;
        char role = letters[letter < n_letters ? letter : n_letters - 1];
        set_role(roles, tensor[i], role == 'p' && master ? 's' : role);
    }
}

/* The gradient is that of another tensor than what is updated with it. */
static bool updates_master(const Graph *graph, int32_t op, const char *reads)
{
    const char *at = strchr(reads, 'g');
    int place = at ? (int)(at - reads) : -1;
    if (!graph->gradient_of || place < 0 || place >= graph->ops[op].n_inputs)
        return false;
    int32_t gradient = op_inputs(graph, op)[place];
    int32_t of = gradient < 0 ? -1 : graph->gradient_of[gradient];
    return of >= 0 && of != op_inputs(graph, op)[0];
}

static void read_optimizer(OptimizerRoles *roles, int32_t op, size_t row)
{
    const Graph *graph = roles->inferred->graph;
    const GraphOp *at = &graph->ops[op];
    int fixed = optimizers[row].fixed, n_letters = (int)strlen(optimizers[row].reads);
    int n = at->n_inputs > fixed ? at->n_inputs - fixed : 0;
    int each = optimizers[row].lists && n_letters > 0 && n >= n_letters ? n / n_letters : 1;
    bool master = !optimizers[row].lists && updates_master(graph, op, optimizers[row].reads);
    set_roles(roles, op_inputs(graph, op) + fixed, n, optimizers[row].reads, each, master);
    set_roles(roles, op_outputs(graph, op), at->n_outputs, optimizers[row].makes, each, master);
}

static void read_optimizers(OptimizerRoles *roles)
{
    const Graph *graph = roles->inferred->graph;
    enum { N_ROWS = sizeof optimizers / sizeof *optimizers };
    int32_t name[N_ROWS];
    bool any = false;
    for (size_t row = 0; row < N_ROWS; row++) {
        name[row] = names_find(graph->names, str_from(optimizers[row].op_type));
        any |= name[row] >= 0;
    }
    for (int i = 0; any && i < roles->inferred->n_program; i++) {
        int32_t op = roles->inferred->program[i];
        for (size_t row = 0; row < N_ROWS; row++)
            if (graph->ops[op].op_type == name[row])
                read_optimizer(roles, op, row);
    }
}

/* The learning rate, the number of the step: scalars that the update alone reads. */
static bool is_number_of_update(const Inferred *inferred, int32_t tensor)
{
    const Graph *graph = inferred->graph;
    const Shape *shape = inferred_shape(inferred, tensor);
    if (!graph->phase || !shape || shape->n_dims > 0)
        return false;
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++)
        if (graph->phase[graph->uses[graph->tensors[tensor].use + u]] != PHASE_UPDATE)
            return false;
    return tensor_n_uses(graph, tensor) > 0;
}

static MemoryClass class_without_role(const Inferred *inferred, int32_t tensor)
{
    if (tensor_is_known(inferred, tensor))
        return MEMORY_CONSTANT;
    if (tensor_is_parameter(inferred, tensor))
        return is_number_of_update(inferred, tensor) ? MEMORY_CONSTANT : MEMORY_PARAMETER;
    int32_t value = inferred->graph->gradient_of ? inferred->graph->gradient_of[tensor] : -1;
    if (value >= 0 && tensor_is_parameter(inferred, value))
        return MEMORY_GRADIENT;
    return inferred->graph->tensors[tensor].maker < 0 ? MEMORY_INPUT : MEMORY_ACTIVATION;
}

const MemoryClass *memory_classes(Arena *arena, const Inferred *inferred)
{
    int n = inferred->graph->n_tensors;
    OptimizerRoles roles = {.inferred = inferred,
                            .class = arena_array(arena, MemoryClass, n),
                            .has_role = arena_array(arena, bool, n)};
    for (int32_t t = 0; t < n; t++)
        roles.class[t] = class_without_role(inferred, t);
    read_optimizers(&roles);
    return roles.class;
}
