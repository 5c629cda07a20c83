#include "core/peers/torch/styling.h"

#include "core/plan/stage.h"

/* ---- placements on one axis ---- */

Placement styling_lies(const Styling *s, int32_t id)
{
    Placement all[MESH_AXES_MAX];
    if (id < 0)
        return (Placement){.kind = PLACE_REPLICATE};
    if (!placements_of(shardings_at(s->w->plan->shardings, id), s->w->mesh, all, NULL))
        return (Placement){.kind = OTHER};
    if (all[s->axis].kind == PLACE_INTERLEAVED)
        all[s->axis].kind = PLACE_STRIDED;
    return all[s->axis];
}

static bool is_sum(Placement it)
{
    return it.kind == PLACE_PARTIAL && it.reduce == REDUCE_SUM;
}

static bool is_shard(Placement it, int dim)
{
    return placement_is_shard(&it) && it.dim == dim;
}

Placement styling_made(const Styling *s, int32_t tensor)
{
    return styling_lies(s, s->w->plan->moved->made[tensor]);
}

int styling_rank(const Styling *s, int32_t tensor)
{
    const Shape *shape = inferred_shape(s->w->session->inferred, tensor);
    return shape ? (int)shape->n_dims : 0;
}

/* ---- readers of the model ---- */

bool styling_is_read(const Styling *s, int32_t op)
{
    return op < s->out->n_forward && !inferred_is_host(s->w->session->inferred, op);
}

/* What the ops of the model need the value as: -1 if none reads it, -2 if they differ. */
static int32_t read_as(const Styling *s, int32_t tensor)
{
    const Graph *graph = s->w->graph;
    int32_t all = -1;
    for (int32_t u = graph->tensors[tensor].use; u < graph->tensors[tensor + 1].use; u++) {
        if (!styling_is_read(s, graph->uses[u]))
            continue;
        int32_t need = code_read_as(s->w->plan, tensor, graph->uses[u]);
        if (all >= 0 && need != all)
            return -2;
        all = need;
    }
    return all;
}

Placement styling_used(const Styling *s, int32_t parameter)
{
    int32_t id = read_as(s, parameter);
    return id == -2 ? (Placement){.kind = OTHER} : styling_lies(s, id);
}

/* A reshard of a value that the model computes, for an op of the model or for nobody. */
static bool is_forward(const Styling *s, const Reshard *reshard)
{
    const Plan *plan = s->w->plan;
    if (reshard->tensor >= s->out->n_values || s->w->graph->tensors[reshard->tensor].maker < 0)
        return false;
    for (int i = 0; i < reshard->n_uses; i++)
        if (plan->moved->reshard_uses[reshard->use + i] < s->out->n_forward)
            return true;
    return reshard->n_uses == 0;
}

/* Where a sum over the axis is reduced: the value itself, or one that casts and additions of other
 * values make of it. What it becomes is in *to. */
static bool reduced_as(const Styling *s, int32_t tensor, Placement *to)
{
    const Graph *graph = s->w->graph;
    const Moved *moved = s->w->plan->moved;
    for (int hops = 0; hops < 8; hops++) {
        int32_t next = -1;
        for (int i = 0; i < moved->n_reshards; i++)
            if (moved->reshards[i].tensor == tensor && is_forward(s, &moved->reshards[i]) &&
                is_sum(styling_lies(s, moved->reshards[i].from))) {
                s->explained[tensor] = true;
                *to = styling_lies(s, moved->reshards[i].to);
                return !is_sum(*to);
            }
        for (int32_t u = graph->tensors[tensor].use; u < graph->tensors[tensor + 1].use; u++)
            if (styling_is_read(s, graph->uses[u]))
                next = next == -1 ? graph->uses[u] : -2;
        if (next < 0 ||
            !str_has_word(STR("Add Mul Identity Cast"), str_from(op_operator(graph, next))) ||
            styling_rank(s, op_outputs(graph, next)[0]) != styling_rank(s, tensor))
            return false;
        for (int i = 0; i < graph->ops[next].n_inputs; i++)
            if (op_inputs(graph, next)[i] != tensor &&
                is_sum(styling_made(s, op_inputs(graph, next)[i])))
                s->out->added[s->axis] = next; /* of two modules, each of which reduces its own */
        tensor = op_outputs(graph, next)[0];
        if (!is_sum(styling_made(s, tensor)))
            return false;
    }
    return false;
}

/* ---- what an axis is for ---- */

static AxisUse use_of(const Styling *s)
{
    const Plan *plan = s->w->plan;
    bool any = false;
    if (s->w->staged[s->axis])
        return AXIS_STAGE;
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *it = &plan->moved->reshards[i];
        /* What is sliced for the batch, a mask, each rank makes of its own part of the inputs. */
        if (is_forward(s, it) && styling_moves(s, it) &&
            !styling_is_whole(styling_lies(s, it->from)))
            return AXIS_TENSOR;
    }
    for (int32_t t = 0; t < s->out->n_values; t++) {
        if (plan->moved->made[t] < 0 || tensor_is_known(s->w->session->inferred, t))
            continue;
        if (tensor_is_parameter(s->w->session->inferred, t)) {
            if (read_as(s, t) != -1 && !styling_is_whole(styling_used(s, t)))
                return AXIS_TENSOR;
        } else {
            any |= !styling_is_whole(styling_made(s, t));
        }
    }
    return any ? AXIS_BATCH : AXIS_IDLE;
}

static bool batch_is_cut(const Styling *s)
{
    const Graph *graph = s->w->graph;
    for (int i = 0; i < graph->n_inputs; i++) {
        int32_t t = graph->inputs[i];
        if (t >= s->out->n_values || s->w->plan->moved->made[t] < 0)
            continue;
        Placement it = styling_made(s, t);
        if (!styling_is_whole(it) && !is_shard(it, 0))
            return error_set(s->err, "%s shards input %s in another dim than the first",
                             s->w->mesh->axes[s->axis].name, tensor_name(graph, t));
    }
    return true;
}

static bool cuts_batch(const Styling *s)
{
    const Graph *graph = s->w->graph;
    for (int i = 0; i < graph->n_inputs; i++)
        if (graph->inputs[i] < s->out->n_values && torch_has_shape(s->w, graph->inputs[i]) &&
            is_shard(styling_made(s, graph->inputs[i]), 0))
            return true;
    return false;
}

static void find_stored(Styling *s)
{
    const Decided *decided = s->w->plan->decided;
    for (int i = 0; i < decided->n_pins; i++) {
        const Decision *pin = decided->pins[i];
        AtomSet atoms = pin->store ? cut_atoms(decision_cut(pin)) : 0;
        if (!(atoms & mesh_axis_atoms(s->w->mesh, s->axis)))
            continue;
        s->out->stored[s->axis] |= pin->store;
        s->out->keep |= pin->keep;
    }
}

/* ---- modules ---- */

Str styling_parent(Str path)
{
    while (path.n > 0 && path.s[path.n - 1] != '.')
        path.n--;
    return (Str){path.s, path.n ? path.n - 1 : 0};
}

bool styling_within(Str path, Str around)
{
    return str_starts(path, around) && (path.n == around.n || path.s[around.n] == '.');
}

StyledModule *styling_module(Styling *s, Str path)
{
    StyledModules *modules = &s->out->modules;
    int32_t id = intern_put(s->paths, path.s, path.n);
    if (id == modules->n) {
        Str name = torch_module_name(s->w->arena, path);
        StyledModule it = {path, name, torch_pattern(s->w->arena, name, false),
                           torch_pattern(s->w->arena, name, true), .stage = -1};
        if (!code_module_at(s->w->session, path, &it.at))
            it.at = (CodeModule){path, -1, -1, -1, -1, -1, -1};
        int32_t op = it.at.reader >= 0 ? it.at.reader
                     : it.at.out >= 0  ? s->w->graph->tensors[it.at.out].maker
                                       : -1;
        it.stage = op < 0 ? -1 : stage_of(s->w->plan, op);
        vec_push(s->w->arena, modules, it);
    }
    return &modules->at[id];
}

static bool add_parameter(Styling *s, Str path, int32_t parameter)
{
    StyledModule *module = styling_module(s, path);
    int n = module->n_parameters;
    if (n > 0 && module->parameter[n - 1] == parameter)
        return true;
    if (n == STYLED_PARAMETERS)
        return error_set(s->err, "%.*s has more than %d parameters", STR_ARG(path),
                         STYLED_PARAMETERS);
    module->parameter[module->n_parameters++] = parameter;
    return true;
}

/* A parameter that other modules read too is theirs as well: tied weights. */
static bool add_tied(Styling *s, Str path, int32_t parameter)
{
    const Graph *graph = s->w->graph;
    for (int32_t u = graph->tensors[parameter].use; u < graph->tensors[parameter + 1].use; u++) {
        Str reader = str_from(op_path(graph, graph->uses[u]));
        if (reader.n > 0 && styling_is_read(s, graph->uses[u]) && !styling_within(reader, path) &&
            !styling_within(path, reader) && !add_parameter(s, reader, parameter))
            return false;
    }
    return true;
}

static bool find_modules(Styling *s)
{
    for (int32_t t = 0; t < s->out->n_values; t++) {
        if (!tensor_is_parameter(s->w->session->inferred, t) || !torch_has_shape(s->w, t) ||
            styling_is_expert(s, t))
            continue;
        Str path = styling_parent(torch_parameter_name(s->w, t));
        if (path.n == 0)
            continue; /* a constant of the exporter, or a parameter of the model itself */
        if (!add_parameter(s, path, t) || !add_tied(s, path, t))
            return false;
    }
    return true;
}

/* ---- text of styles ---- */

void styling_put_place(const Styling *s, Placement it, Buf *out)
{
    if (styling_is_whole(it))
        buf_puts(out, "Replicate()");
    else
        torch_put_placement(s->w, &it, out);
}

void styling_put_argument(const Styling *s, const char *name, Placement it, Buf *out)
{
    buf_puts(out, out->s[out->n - 1] == '(' ? "" : ", ");
    buf_printf(out, "%s=", name);
    styling_put_place(s, it, out);
}

static void put_flag(const char *text, Buf *out)
{
    buf_puts(out, out->s[out->n - 1] == '(' ? "" : ", ");
    buf_puts(out, text);
}

static const char *closed(Buf *out)
{
    buf_putc(out, ')');
    return out->s;
}

/* ---- styles ---- */

/* Whether the model returns the value, or what ops on single elements make of it: scaled logits. */
static bool is_output(const Styling *s, int32_t tensor)
{
    const Graph *graph = s->w->graph;
    while (!graph->tensors[tensor].output) {
        int32_t op = -1;
        for (int32_t u = graph->tensors[tensor].use; u < graph->tensors[tensor + 1].use; u++)
            if (styling_is_read(s, graph->uses[u]))
                op = op == -1 ? graph->uses[u] : -2;
        if (op < 0 ||
            !str_has_word(STR("Mul Div Tanh Cast Identity"), str_from(op_operator(graph, op))))
            return false;
        tensor = op_outputs(graph, op)[0];
    }
    return true;
}

bool styling_passage(Styling *s, const StyledModule *m, StylePassage *out)
{
    const CodeModule *at = &m->at;
    *out = (StylePassage){.last = true, .parts = true};
    if (at->reads < 0 && at->in >= 0 && at->in < s->out->n_values)
        s->explained[at->in] = true; /* a constant, as positions are */
    if (at->reads >= 0) {
        out->reads = styling_lies(s, at->reads);
        out->arrives = styling_arrives(s, m->path, at->in);
        if (s->w->graph->tensors[at->in].maker < 0 && !is_shard(out->arrives, 0))
            out->arrives = (Placement){0}; /* ranks of a tensor's axis get an input whole */
        if (is_sum(out->arrives) && !reduced_as(s, at->in, &out->arrives))
            return false;
        if (is_sum(out->reads)) /* it casts the sum before it is reduced */
            out->reads = out->arrives;
        if (s->group[at->in])
            out->arrives = out->reads; /* PrepareModuleInput */
        else if (!placement_equal(&out->arrives, &out->reads))
            s->explained[at->in] = true;
    }
    if (at->out < 0)
        return true;
    out->makes = out->gives = styling_made(s, at->out);
    if (is_sum(out->makes) && !reduced_as(s, at->out, &out->gives))
        return false;
    out->gives = styling_gives(s, m->path, out->gives);
    out->last = !placement_is_shard(&out->gives) || out->gives.dim == styling_rank(s, at->out) - 1;
    out->is_output = !styling_is_whole(out->gives) && is_output(s, at->out);
    return out->makes.kind != OTHER && out->reads.kind != OTHER && out->arrives.kind != OTHER;
}

/* The dim of the outputs of a matrix as torch's module has it: [out, in] in a Linear, [in, out] in
 * a Conv1D. -1: it is no matrix that a product reads. */
static int out_dim(const Styling *s, int32_t weight, bool *linear, bool *turned)
{
    MatrixOrder order = naming_matrix(s->w->session->inferred, weight);
    Str name = torch_parameter_name(s->w, weight);
    bool copied = !str_eq(name, str_from(tensor_name(s->w->graph, weight)));
    if (order == MATRIX_UNKNOWN || styling_rank(s, weight) != 2)
        return -1;
    *linear = copied || order == MATRIX_OUT_IN;
    *turned = copied && order == MATRIX_IN_OUT; /* the exporter transposed it */
    return order == MATRIX_OUT_IN ? 0 : 1;
}

static bool looks_up(const Styling *s, const StyledModule *m)
{
    const Graph *graph = s->w->graph;
    int32_t weight = m->parameter[0];
    if (!str_ends(torch_parameter_name(s->w, weight), STR(".weight")))
        return false; /* a table in a module that does more, as of relative positions */
    for (int32_t u = graph->tensors[weight].use; u < graph->tensors[weight + 1].use; u++)
        if (styling_is_read(s, graph->uses[u]) &&
            styling_within(m->path, str_from(op_path(graph, graph->uses[u]))) &&
            strcmp(op_operator(graph, graph->uses[u]), "Gather") == 0 &&
            op_inputs(graph, graph->uses[u])[0] == weight)
            return op_attr_int(graph, graph->uses[u], "axis", 0) == 0;
    return false;
}

/* "output_layouts=Shard(1), use_local_output=False)" */
static const char *ended(const Styling *s, const StylePassage *p, bool is_default, Buf *out)
{
    if (!is_default)
        styling_put_argument(s, "output_layouts", p->gives, out);
    if (!p->last || p->is_output)
        put_flag("use_local_output=False", out);
    return closed(out);
}

static const char *linear_style(const Styling *s, const StyledModule *m, const StylePassage *p,
                                int dim, int outs, Buf *out)
{
    int last = m->at.out < 0 ? -1 : styling_rank(s, m->at.out) - 1;
    if (dim == outs && styling_is_whole(p->reads) && is_shard(p->makes, last)) {
        buf_puts(out, "ColwiseParallel(");
        if (!styling_is_whole(p->arrives))
            styling_put_argument(s, "input_layouts", p->arrives, out);
        return ended(s, p, true, out);
    }
    if (dim == 1 - outs && placement_is_shard(&p->reads) && !is_sum(p->gives)) {
        buf_puts(out, "RowwiseParallel(");
        if (styling_is_whole(p->arrives))
            styling_put_argument(s, "input_layouts", p->arrives, out);
        return ended(s, p, styling_is_whole(p->gives), out);
    }
    return NULL;
}

static const char *lookup_style(const Styling *s, const StylePassage *p, int dim, Buf *out)
{
    if (dim == 0 && is_sum(p->makes)) {
        buf_puts(out, "RowwiseParallel(input_layouts=Replicate()");
        return ended(s, p, styling_is_whole(p->gives), out);
    }
    if (dim == 1 && placement_is_shard(&p->makes)) {
        buf_puts(out, "ColwiseParallel(");
        return ended(s, p, true, out);
    }
    return NULL;
}

static Placement turned_over(Placement it)
{
    if (placement_is_shard(&it))
        it.dim = 1 - it.dim;
    return it;
}

/* Whether the name of a parameter can be that of an argument of Placed(), beside its own. */
static bool is_argument(const Styling *s, Str name)
{
    Buf identifier = buf_new(s->w->arena);
    python_identifier(name, &identifier);
    return str_eq(name, buf_str(&identifier)) &&
           !str_has_word(STR("self arrives reads gives local"), name);
}

/* Placed(..): parameters, first argument and result. NULL if the name of one is no argument. */
static const char *placed_style(Styling *s, const StyledModule *m, const StylePassage *p,
                                bool turned, bool gives, Buf *out)
{
    buf_puts(out, "Placed(");
    if (!styling_is_whole(p->arrives))
        styling_put_argument(s, "arrives", p->arrives, out);
    if (!placement_equal(&p->reads, &p->arrives))
        styling_put_argument(s, "reads", p->reads, out);
    if (gives)
        styling_put_argument(s, "gives", p->gives, out);
    if (!p->last || p->is_output)
        put_flag("local=False", out);
    for (int i = 0; i < m->n_parameters && p->parts; i++) {
        Str name = torch_parameter_name(s->w, m->parameter[i]);
        Placement it = styling_used(s, m->parameter[i]);
        if (styling_is_whole(it))
            continue;
        s->out->splits |= it.kind == PLACE_STRIDED;
        if (turned && styling_rank(s, m->parameter[i]) == 2)
            it = turned_over(it);
        Str leaf = {name.s + m->path.n + 1, name.n - m->path.n - 1};
        if (!is_argument(s, leaf))
            return NULL;
        styling_put_argument(s, arena_str(s->w->arena, leaf), it, out);
    }
    s->out->places = true;
    return closed(out);
}

/* Whether no module reads its result, but the code around it: one picks the first token. */
static bool is_read_between(const Styling *s, const StyledModule *m)
{
    if (m->at.out < 0 || read_as(s, m->at.out) < 0)
        return false;
    for (int i = 0; i < s->out->modules.n; i++)
        if (s->out->modules.at[i].at.in == m->at.out)
            return false;
    return true;
}

/* Parameters are whole, what is read and made may be sharded. */
static const char *whole_style(Styling *s, const StyledModule *m, const StylePassage *p, Buf *out)
{
    Placement next = m->at.out < 0 ? (Placement){0} : styling_lies(s, read_as(s, m->at.out));
    if (styling_is_whole(p->reads) && styling_is_whole(p->arrives) && styling_is_whole(p->makes)) {
        if (!placement_is_shard(&next))
            return "";
        if (next.dim == styling_rank(s, m->at.out) - 1) {
            if (!is_read_between(s, m))
                return "";
            s->explained[m->at.out] = true;
            return styling_output(s, next, true);
        }
        StylePassage given = *p;
        given.gives = next, given.last = given.parts = false;
        s->explained[m->at.out] = true;
        return placed_style(s, m, &given, false, true, out);
    }
    if (p->reads.kind != PLACE_SHARD || !placement_equal(&p->reads, &p->arrives))
        return NULL;
    if (placement_is_shard(&p->makes) && styling_is_whole(next) && is_read_between(s, m)) {
        StylePassage given = *p;
        given.gives = next, given.last = true, given.is_output = false;
        s->explained[m->at.out] = true;
        return placed_style(s, m, &given, false, true, out);
    }
    buf_puts(out, "SequenceParallel(");
    if (p->reads.dim != 1)
        put_flag(arena_printf(s->w->arena, "sequence_dim=%d", p->reads.dim), out);
    if (styling_rank(s, m->at.in) > 3) /* heads, in the code of an attention on plain tensors */
        put_flag("use_local_output=True", out);
    return closed(out);
}

/* A lookup of positions, of which each rank takes those of its part of the sequence. Which rows
 * these are depends on the length of the sequence, so the weight stays whole. */
static bool is_positions(const StyledModule *m, const StylePassage *p)
{
    bool sliced =
        m->at.reads < 0 || (styling_is_whole(p->arrives) && placement_is_shard(&p->reads));
    return sliced && p->makes.kind == PLACE_SHARD && !p->last;
}

const char *styling_output(const Styling *s, Placement it, bool local)
{
    Buf out = buf_new(s->w->arena);
    buf_puts(&out, "PrepareModuleOutput(output_layouts=Replicate()");
    styling_put_argument(s, "desired_output_layouts", it, &out);
    if (!local)
        put_flag("use_local_output=False", &out);
    return closed(&out);
}

/* The style of a module on the axis; "" for none; NULL if torch has none that says it. */
static const char *style_of(Styling *s, const StyledModule *m)
{
    Buf out = buf_new(s->w->arena);
    StylePassage p;
    int cut = -1;
    bool linear = false, turned = false;
    for (int i = 0; i < m->n_parameters; i++)
        if (!styling_is_whole(styling_used(s, m->parameter[i])))
            cut = styling_rank(s, m->parameter[i]) > 1 || cut < 0 ? i : cut;
    if (!styling_passage(s, m, &p))
        return NULL;
    if (is_positions(m, &p) && looks_up(s, m))
        return styling_output(s, p.makes, false);
    if (cut < 0)
        return whole_style(s, m, &p, &out);
    Placement weight = styling_used(s, m->parameter[cut]);
    if (!placement_is_shard(&weight))
        return NULL;
    if (looks_up(s, m))
        return lookup_style(s, &p, weight.dim, &out);
    int outs = out_dim(s, m->parameter[cut], &linear, &turned);
    if (outs < 0 || m->at.out < 0 || m->at.reads < 0)
        return NULL;
    if (linear && weight.kind == PLACE_SHARD)
        return linear_style(s, m, &p, weight.dim, outs, &out);
    bool rows = weight.dim == 1 - outs; /* then its result is a sum, which it reduces */
    p.reads = rows ? (Placement){PLACE_SHARD, -1, 1, 0} : (Placement){0};
    if (rows && placement_is_shard(&p.arrives))
        p.arrives = p.reads;
    if ((rows && is_sum(p.gives)) || (!rows && !p.last))
        return NULL;
    return placed_style(s, m, &p, turned, rows, &out);
}

/* ---- all ---- */

/* Whether a style makes the reshard: that of the module that makes the value or gathers it, or
 * those of all that read it. */
static bool is_explained(const Styling *s, const Reshard *reshard)
{
    if (s->explained[reshard->tensor])
        return true;
    for (int i = 0; i < reshard->n_uses; i++) {
        int32_t op = s->w->plan->moved->reshard_uses[reshard->use + i];
        const char *path = op_path(s->w->graph, op);
        int32_t id = intern_find(s->paths, path, strlen(path));
        if (id < 0 || !s->out->modules.at[id].style[s->axis])
            return false;
    }
    return reshard->n_uses > 0;
}

/* Fails with why a module has no style on the axis. */
static bool fail_style(const Styling *s, const StyledModule *m)
{
    for (int i = 0; i < m->n_parameters; i++)
        if (styling_used(s, m->parameter[i]).kind == OTHER)
            return error_set(s->err, "no placement says how %s is sharded",
                             tensor_name(s->w->graph, m->parameter[i]));
    const char *axis = s->w->mesh->axes[s->axis].name;
    for (int i = 0; i < m->n_parameters; i++)
        if (!styling_is_whole(styling_used(s, m->parameter[i])))
            return error_set(s->err, "no style shards %s by %s",
                             tensor_name(s->w->graph, m->parameter[i]), axis);
    return error_set(s->err, "no style runs %.*s on a value that %s shards", STR_ARG(m->path),
                     axis);
}

/* A module that the axis does nothing to: one without parameters, beside experts, or in a block
 * that gets whole tokens. */
static bool stays_whole(Styling *s, const StyledModule *m)
{
    const ExpertBlock *block = styling_block(s, m->path);
    int32_t around = block ? intern_find(s->paths, block->path.s, block->path.n) : -1;
    bool prepared = around >= 0 && s->out->modules.at[around].inputs[s->axis];
    if (m->n_parameters == 0)
        return true;
    for (int i = 0; i < m->n_parameters; i++)
        if (!styling_is_whole(styling_used(s, m->parameter[i])))
            return false;
    return prepared || s->out->use[s->axis] == AXIS_EXPERTS;
}

/* Fails if the axis shards a parameter of the model itself: a style is of a module inside. */
static bool shards_modules_alone(const Styling *s)
{
    for (int32_t t = 0; t < s->out->n_values; t++)
        if (tensor_is_parameter(s->w->session->inferred, t) && torch_has_shape(s->w, t) &&
            !styling_is_expert(s, t) && styling_parent(torch_parameter_name(s->w, t)).n == 0 &&
            !styling_is_whole(styling_used(s, t)))
            return error_set(s->err, "%s belongs to no module inside the model",
                             tensor_name(s->w->graph, t));
    return true;
}

/* Whether it is a table alone, whose parameter modules read that are tied to it: T5's `shared`. */
static bool is_tied_to(const StyledModule *m, const StyledModule *reader)
{
    return m->at.in < 0 && m->at.out < 0 && m->n_parameters == 1 && reader != m &&
           reader->n_parameters > 0 && reader->parameter[0] == m->parameter[0];
}

/* The style of a lookup that reads the table's parameter; NULL. */
static const StyledModule *reader_of(const Styling *s, const StyledModule *m)
{
    for (int i = 0; i < s->out->modules.n; i++)
        if (is_tied_to(m, &s->out->modules.at[i]) && looks_up(s, &s->out->modules.at[i]))
            return &s->out->modules.at[i];
    return NULL;
}

static bool style_axis(Styling *s)
{
    const Plan *plan = s->w->plan;
    s->explained = arena_array(s->w->arena, bool, s->out->n_values);
    s->group = arena_array(s->w->arena, int32_t, s->out->n_values);
    s->summed = arena_array(s->w->arena, bool, s->out->n_values);
    s->full = arena_array(s->w->arena, bool, s->out->n_forward);
    if (!shards_modules_alone(s) || !styling_experts(s))
        return false;
    if (s->out->use[s->axis] == AXIS_TENSOR)
        styling_gather(s);
    styling_attentions(s);
    styling_biases(s);
    for (int i = 0; i < s->out->modules.n; i++) {
        StyledModule *m = &s->out->modules.at[i];
        if (m->style[s->axis] || m->within)
            continue;
        const StyledModule *reader = reader_of(s, m);
        const char *style = stays_whole(s, m) ? "" : style_of(s, reader ? reader : m);
        if (!style && styling_stem(s, m->path))
            continue;
        if (!style)
            return fail_style(s, m);
        m->style[s->axis] = style[0] ? style : NULL;
    }
    if (s->out->use[s->axis] == AXIS_TENSOR)
        styling_columns(s);
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *reshard = &plan->moved->reshards[i];
        if (is_forward(s, reshard) && styling_moves(s, reshard) && !is_explained(s, reshard))
            return error_set(s->err, "%s moves %s between modules", s->w->mesh->axes[s->axis].name,
                             naming_value(s->w->session->naming, s->w->arena, reshard->tensor));
    }
    return s->out->use[s->axis] != AXIS_TENSOR || styling_reduces_gradients(s);
}

bool torch_styles(const TorchWriting *w, TorchStyles *out, Error *err)
{
    const Session *session = w->session;
    const Graph *model = session->bare.graph ? session->bare.graph : session->graph;
    *out = (TorchStyles){.n_forward = model->n_ops, .n_values = model->n_tensors};
    Styling s = {.w = w, .out = out, .paths = intern_new(w->arena), .err = err};
    for (int a = 0; a < MESH_AXES_MAX; a++)
        out->added[a] = -1;
    if (!styling_find_experts(&s) || !find_modules(&s))
        return false;
    for (s.axis = 0; s.axis < w->mesh->n_axes; s.axis++) {
        out->use[s.axis] = use_of(&s);
        if (out->use[s.axis] == AXIS_BATCH && !batch_is_cut(&s))
            return false;
        if (out->use[s.axis] == AXIS_TENSOR && cuts_batch(&s))
            out->use[s.axis] = AXIS_EXPERTS;
        if ((out->use[s.axis] == AXIS_TENSOR || out->use[s.axis] == AXIS_EXPERTS) &&
            !style_axis(&s))
            return false;
        find_stored(&s);
    }
    return true;
}
