/* styles_between.c - what stands between single modules. The style of stacked experts: transformers
 * holds those of a layer in one module of two parameters, gate_up_proj and down_proj, which gets
 * tokens, experts and their weights.
 *
 *     tp   shards the inside of each expert: what ranks compute is summed
 *     ep   shards the experts; tokens that the ranks share stay, the batch's go by all-to-all
 *
 * Everything between router and sum is in one style, PartsOfExperts, SharedExperts or
 * DispatchedExperts, which the exported file defines.
 *
 * What comes before the blocks, as the convolution of an image into patches: where no style says
 * how the axis shards it, each rank runs it in full, and its one result is sharded
 * (styling_stem()).
 */
#include "core/peers/torch/styling.h"

#include "core/plan/stage.h"

/* What an axis cuts of the matmuls of a block. */
typedef enum { CUT_NOTHING, CUT_EXPERTS, CUT_INSIDE, CUT_OTHERWISE } ExpertCut;

bool styling_is_expert(const Styling *s, int32_t parameter)
{
    const Graph *graph = s->w->graph;
    for (int i = 0; i < s->out->blocks.n; i++)
        for (int k = 0; k < s->out->blocks.at[i].n_matmuls; k++) {
            const MatmulRole *role = &s->out->blocks.at[i].matmul[k];
            if (op_inputs(graph, role->op)[role->weight] == parameter)
                return true;
        }
    return false;
}

const ExpertBlock *styling_block(const Styling *s, Str path)
{
    for (int i = 0; i < s->out->blocks.n; i++)
        if (styling_within(path, s->out->blocks.at[i].path))
            return &s->out->blocks.at[i];
    return NULL;
}

/* ---- what an axis moves ---- */

/* A digit that the axis shards: its dim, its size, and how many elements of the dim lie within one
 * of it. */
typedef struct {
    int dim;
    int64_t size, within;
} AxisDigit;

static bool find_digit(const Styling *s, const Sharding *it, AxisDigit *out)
{
    AtomSet atoms = mesh_axis_atoms(s->w->mesh, s->axis);
    int n = 0;
    for (int d = 0; d < it->n_dims; d++) {
        int64_t within = 1;
        for (int i = it->dim[d].n - 1; i >= 0; within *= it->dim[d].digit[i].size, i--)
            for (int k = 0; k < it->dim[d].digit[i].n; k++)
                if (atoms >> it->dim[d].digit[i].atom[k] & 1) {
                    *out = (AxisDigit){d, it->dim[d].digit[i].size, within};
                    n++;
                    break;
                }
    }
    return n == 1;
}

/* Whether the axis shards the same digit in both, though another axis changes a digit before it:
 * its placement has another split factor then. */
static bool keeps_digit(const Styling *s, const Reshard *reshard)
{
    AxisDigit from, to;
    return find_digit(s, shardings_at(s->w->plan->shardings, reshard->from), &from) &&
           find_digit(s, shardings_at(s->w->plan->shardings, reshard->to), &to) &&
           from.dim == to.dim && from.size == to.size && from.within == to.within;
}

bool styling_moves(const Styling *s, const Reshard *reshard)
{
    Placement from = styling_lies(s, reshard->from), to = styling_lies(s, reshard->to);
    return !placement_equal(&from, &to) && !keeps_digit(s, reshard);
}

/* ---- blocks ---- */

/* Whether the module is in a block that gathers its tokens, and passes on a part of its result. */
static bool is_gathered(const Styling *s, Str path)
{
    const ExpertBlock *block = styling_block(s, path);
    int32_t around = block ? intern_find(s->paths, block->path.s, block->path.n) : -1;
    return around >= 0 && path.n > block->path.n && s->out->modules.at[around].inputs[s->axis];
}

Placement styling_arrives(const Styling *s, Str path, int32_t tensor)
{
    Placement it = styling_lies(s, s->w->plan->moved->sharding[tensor]);
    return styling_rank(s, tensor) > 2 ? styling_gives(s, path, it) : it;
}

Placement styling_gives(const Styling *s, Str path, Placement it)
{
    bool part = it.kind == PLACE_SHARD && it.dim == 1;
    return part && is_gathered(s, path) ? (Placement){0} : it;
}

/* "..mlp.experts" of "..mlp.experts.up_proj.weight" and of "..mlp.experts.gate_up_proj". */
static Str experts_of(Str parameter)
{
    Str path = styling_parent(parameter);
    return str_ends(parameter, STR(".weight")) ? styling_parent(path) : path;
}

static bool add_matmul(Styling *s, const MatmulRole *role)
{
    int32_t weight = op_inputs(s->w->graph, role->op)[role->weight];
    Str experts = experts_of(torch_parameter_name(s->w, weight)), path = styling_parent(experts);
    int n = s->out->blocks.n;
    if (path.n == 0)
        return error_set(s->err, "the experts of %s are in no module",
                         tensor_name(s->w->graph, weight));
    if (n == 0 || !str_eq(s->out->blocks.at[n - 1].experts, experts)) {
        ExpertBlock block = {path, experts, .in = -1, .out = -1};
        block.pattern = torch_pattern(s->w->arena, torch_module_name(s->w->arena, path), false);
        vec_push(s->w->arena, &s->out->blocks, block);
        n++;
    }
    ExpertBlock *block = &s->out->blocks.at[n - 1];
    if (block->n_matmuls == STYLED_PARAMETERS)
        return error_set(s->err, "%.*s has more than %d matmuls", STR_ARG(experts),
                         STYLED_PARAMETERS);
    block->matmul[block->n_matmuls++] = *role;
    StyledModule *module = styling_module(s, experts);
    if (module->n_parameters < STYLED_PARAMETERS)
        module->parameter[module->n_parameters++] = weight;
    module->stage = stage_of(s->w->plan, role->op);
    return true;
}

/* The tokens that come in, and what goes out: the first value of each that crosses the border. */
static void find_ends(Styling *s, ExpertBlock *block)
{
    const Graph *graph = s->w->graph;
    const Inferred *inferred = s->w->session->inferred;
    for (int32_t op = 0; op < s->out->n_forward; op++) {
        if (!styling_is_read(s, op) || !styling_within(str_from(op_path(graph, op)), block->path))
            continue;
        for (int i = 0; i < graph->ops[op].n_inputs && block->in < 0; i++) {
            int32_t t = op_inputs(graph, op)[i];
            if (t >= 0 && torch_has_shape(s->w, t) && !tensor_is_parameter(inferred, t) &&
                !tensor_is_known(inferred, t))
                block->in = t;
        }
        block->out = op_outputs(graph, op)[0];
    }
}

bool styling_find_experts(Styling *s)
{
    MatmulRoles roles = roles_find(s->w->arena, s->w->session->inferred);
    for (int i = 0; i < roles.n; i++)
        if (roles.at[i].expert >= 0 && roles.at[i].op < s->out->n_forward &&
            op_inputs(s->w->graph, roles.at[i].op)[roles.at[i].weight] >= 0 &&
            tensor_is_parameter(s->w->session->inferred,
                                op_inputs(s->w->graph, roles.at[i].op)[roles.at[i].weight]) &&
            !add_matmul(s, &roles.at[i]))
            return false;
    for (int i = 0; i < s->out->blocks.n; i++)
        find_ends(s, &s->out->blocks.at[i]);
    return true;
}

/* ---- styles ---- */

static bool cuts(const Styling *s, const MatmulRole *role, int index)
{
    const OpCut *cut = plan_cut(s->w->plan, role->op);
    return cut && index >= 0 &&
           (cut_atoms(&cut->index[index]) & mesh_axis_atoms(s->w->mesh, s->axis)) != 0;
}

/* What the axis cuts of a matmul: its experts, or what two matmuls of an expert share. */
static ExpertCut cut_of_matmul(const Styling *s, const MatmulRole *role)
{
    bool experts = cuts(s, role, role->expert), n = cuts(s, role, role->n),
         k = cuts(s, role, role->k);
    if (experts + n + k > 1)
        return CUT_OTHERWISE;
    if (experts)
        return CUT_EXPERTS;
    if (n || k)
        return n == (role->role == WEIGHT_COLUMN) ? CUT_INSIDE : CUT_OTHERWISE;
    return CUT_NOTHING;
}

static ExpertCut cut_of_block(const Styling *s, const ExpertBlock *block)
{
    ExpertCut all = cut_of_matmul(s, &block->matmul[0]);
    for (int i = 1; i < block->n_matmuls; i++)
        if (cut_of_matmul(s, &block->matmul[i]) != all)
            return CUT_OTHERWISE;
    return all;
}

/* Whether it is gate, up and down, of which transformers stacks the first two in one parameter,
 * [expert, 2 hidden, width]. */
static bool is_gated(const Styling *s, const ExpertBlock *block)
{
    int n_columns = 0;
    for (int i = 0; i < block->n_matmuls; i++) {
        const MatmulRole *role = &block->matmul[i];
        Str name = torch_parameter_name(s->w, op_inputs(s->w->graph, role->op)[role->weight]);
        n_columns += role->role == WEIGHT_COLUMN;
        if (!str_ends(name, STR(".weight")))
            return false;
    }
    return block->n_matmuls == 3 && n_columns == 2;
}

static bool fail(const Styling *s, const ExpertBlock *block)
{
    return error_set(s->err, "no style shards the experts %.*s by %s as the plan does",
                     STR_ARG(block->experts), s->w->mesh->axes[s->axis].name);
}

/* Tokens that each rank has a part of the sequence of: they are gathered around the block. */
static void prepare(Styling *s, const ExpertBlock *block)
{
    styling_module(s, block->path)->inputs[s->axis] =
        "PrepareModuleInputOutput(input_layouts=Shard(1), desired_input_layouts=Replicate(), "
        "use_local_input=True, output_layouts=Replicate(), desired_output_layouts=Shard(1), "
        "use_local_output=False)";
}

static bool style_block(Styling *s, const ExpertBlock *block)
{
    ExpertCut cut = cut_of_block(s, block);
    Placement arrives =
        block->in < 0 ? (Placement){0} : styling_lies(s, s->w->plan->moved->sharding[block->in]);
    bool whole = styling_is_whole(arrives), exchanged = arrives.kind == PLACE_SHARD && !arrives.dim,
         gathered = arrives.kind == PLACE_SHARD && arrives.dim == 1;
    const char *style = NULL;

    if (cut == CUT_NOTHING)
        return true;
    if (cut == CUT_EXPERTS && exchanged)
        style = "DispatchedExperts()";
    else if (cut == CUT_EXPERTS && (whole || gathered))
        style = "SharedExperts()";
    else if (cut == CUT_INSIDE && (whole || gathered) && is_gated(s, block))
        style = "PartsOfExperts(gate_up_proj=_StridedShard(1, split_factor=2), down_proj=Shard(2))";
    if (!style)
        return fail(s, block);
    styling_module(s, block->experts)->style[s->axis] = style;
    if (gathered)
        prepare(s, block);
    for (int32_t t = 0; t < s->out->n_values; t++) {
        int32_t maker = s->w->graph->tensors[t].maker;
        s->explained[t] |=
            t == block->in ||
            (maker >= 0 && styling_within(str_from(op_path(s->w->graph, maker)), block->path));
    }
    return true;
}

bool styling_experts(Styling *s)
{
    for (int i = 0; i < s->out->blocks.n; i++)
        if (!style_block(s, &s->out->blocks.at[i]))
            return false;
    return true;
}

/* ---- values that several modules read ---- */

/* Whether it reads a whole value and is sharded by columns, or gathers one: then its gradient is a
 * sum over the axis, or is scattered. */
static bool gathers(const Styling *s, const StyledModule *m)
{
    bool cut = false;
    if (m->at.reads < 0 || !styling_is_whole(styling_lies(s, m->at.reads)))
        return false;
    for (int i = 0; i < m->n_parameters; i++)
        cut |= !styling_is_whole(styling_used(s, m->parameter[i]));
    Placement arrives = styling_lies(s, s->w->plan->moved->sharding[m->at.in]);
    return arrives.kind == PLACE_SHARD || (cut && styling_is_whole(arrives));
}

/* Whether ops in the module read another value that is made outside: it has several arguments. */
static bool reads_another(const Styling *s, Str around, int32_t tensor)
{
    const Graph *graph = s->w->graph;
    for (int32_t op = 0; op < s->out->n_forward; op++) {
        if (!styling_is_read(s, op) || !styling_within(str_from(op_path(graph, op)), around))
            continue;
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t t = op_inputs(graph, op)[i], maker = t < 0 ? -1 : graph->tensors[t].maker;
            if (t >= 0 && t != tensor && torch_has_shape(s->w, t) &&
                !tensor_is_parameter(s->w->session->inferred, t) &&
                !tensor_is_known(s->w->session->inferred, t) &&
                (maker < 0 || !styling_within(str_from(op_path(graph, maker)), around)))
                return true;
        }
    }
    return false;
}

static bool is_attention(Str around)
{
    Str leaf = {around.s + styling_parent(around).n, around.n - styling_parent(around).n};
    return str_find(leaf, STR("attn")) >= 0 || str_find(leaf, STR("attention")) >= 0;
}

/* PrepareModuleInput at the module around those that read the same value: it is gathered once, and
 * their gradients add up before one reduction. As in transformers an attention gets it by name, one
 * of images as the first of two arguments, one of T5 (SelfAttention) as the only one without a
 * name; another module has no other argument. */
static void add_inputs(Styling *s, Str around, int32_t tensor)
{
    Buf out = buf_new(s->w->arena), from = buf_new(s->w->arena);
    bool attention = is_attention(around);
    bool image = styling_within(around, STR("vit")) || styling_within(around, STR("swin"));
    styling_put_place(s, styling_arrives(s, around, tensor), &from);
    if (attention && image)
        buf_printf(&out,
                   "PrepareModuleInput(input_layouts=(%s, None), "
                   "desired_input_layouts=(Replicate(), None))",
                   from.s);
    else if (attention)
        buf_printf(&out,
                   "PrepareModuleInput(input_kwarg_layouts={\"hidden_states\": %s}, "
                   "desired_input_kwarg_layouts={\"hidden_states\": Replicate()})",
                   from.s);
    else
        buf_printf(&out, "PrepareModuleInput(input_layouts=%s, desired_input_layouts=Replicate())",
                   from.s);
    styling_module(s, around)->inputs[s->axis] = out.s;
}

void styling_gather(Styling *s)
{
    Str *around = arena_array(s->w->arena, Str, s->out->n_values);
    int n = s->out->modules.n;
    for (int i = 0; i < n; i++) {
        const StyledModule *m = &s->out->modules.at[i];
        if (!gathers(s, m))
            continue;
        s->group[m->at.in]++;
        around[m->at.in] =
            around[m->at.in].n ? code_common_path(around[m->at.in], m->path) : m->path;
    }
    for (int32_t t = 0; t < s->out->n_values; t++) {
        if (s->group[t] < 2 || around[t].n == 0 ||
            (!is_attention(around[t]) && !str_ends(around[t], STR(".SelfAttention")) &&
             reads_another(s, around[t], t))) {
            s->group[t] = 0;
            continue;
        }
        s->explained[t] = true;
        add_inputs(s, around[t], t);
    }
}

/* ---- what comes before the blocks ---- */

/* The tensor that ops outside read of what ops inside make; -1: none, or several. False if ops
 * inside read what is made outside. */
static bool leaves_once(const Styling *s, Str around, int32_t *out)
{
    const Graph *graph = s->w->graph;
    *out = -1;
    for (int32_t op = 0; op < s->out->n_forward; op++) {
        bool inside = styling_within(str_from(op_path(graph, op)), around);
        for (int i = 0; styling_is_read(s, op) && i < graph->ops[op].n_inputs; i++) {
            int32_t t = op_inputs(graph, op)[i], maker = t < 0 ? -1 : graph->tensors[t].maker;
            if (maker < 0 || !styling_is_read(s, maker) ||
                styling_within(str_from(op_path(graph, maker)), around) == inside)
                continue;
            if (inside || (*out >= 0 && *out != t))
                return false;
            *out = t;
        }
    }
    return *out >= 0;
}

/* The placement in which all readers outside need the value; whole if they differ. */
static Placement needed_outside(const Styling *s, Str around, int32_t tensor)
{
    const Graph *graph = s->w->graph;
    Placement all = {0};
    bool any = false;
    for (int32_t u = graph->tensors[tensor].use; u < graph->tensors[tensor + 1].use; u++) {
        int32_t op = graph->uses[u];
        if (!styling_is_read(s, op) || styling_within(str_from(op_path(graph, op)), around))
            continue;
        Placement it = styling_lies(s, code_read_as(s->w->plan, tensor, op));
        if (any && !placement_equal(&it, &all))
            return (Placement){0};
        all = it;
        any = true;
    }
    return all;
}

static bool has_layers(const Styling *s, Str around)
{
    for (int i = 0; i < s->out->modules.n; i++)
        if (styling_within(s->out->modules.at[i].path, around) &&
            str_find(s->out->modules.at[i].pattern, STR("*")) >= 0)
            return true;
    return false;
}

/* Whether the module has one result: a sequence, of which each rank needs a part. */
static bool gives_sequence(const Styling *s, Str path, Placement *part)
{
    int32_t given = -1;
    if (!leaves_once(s, path, &given) || styling_rank(s, given) != 3)
        return false;
    *part = needed_outside(s, path, given);
    return part->kind == PLACE_SHARD && part->dim == 1;
}

/* Styles of modules whose ops all run in full are none, and nothing that these ops make is moved.
 */
static void run_in_full(Styling *s)
{
    const Graph *graph = s->w->graph;
    for (int i = 0; i < s->out->modules.n; i++) {
        StyledModule *m = &s->out->modules.at[i];
        int32_t op = m->at.reader >= 0 ? m->at.reader
                     : m->at.out >= 0  ? graph->tensors[m->at.out].maker
                                       : -1;
        if (op >= 0 && op < s->out->n_forward && s->full[op])
            m->style[s->axis] = NULL, m->within = true;
    }
    for (int32_t op = 0; op < s->out->n_forward; op++) {
        for (int i = 0; i < graph->ops[op].n_outputs && s->full[op]; i++)
            if (op_outputs(graph, op)[i] >= 0)
                s->explained[op_outputs(graph, op)[i]] = true;
        for (int i = 0; i < graph->ops[op].n_inputs && s->full[op]; i++)
            if (op_inputs(graph, op)[i] >= 0)
                s->explained[op_inputs(graph, op)[i]] = true;
    }
}

/* "encoder.layers" of layers that torchvision names after it, "encoder_layer_0": one module that
 * calls them. Empty if there is none. */
static Str find_sequential(const Styling *s)
{
    for (int i = 0; i < s->out->modules.n; i++) {
        Str path = s->out->modules.at[i].path, pattern = s->out->modules.at[i].pattern;
        int64_t at = str_find(pattern, STR("_*"));
        if (at > 0)
            return styling_parent((Str){path.s, (size_t)at});
    }
    return (Str){0};
}

/* The value of the model that comes into the module; -1: none, or several. */
static int32_t find_entry(const Styling *s, Str around)
{
    const Graph *graph = s->w->graph;
    int32_t found = -1;
    for (int32_t op = 0; op < s->out->n_forward; op++) {
        if (!styling_is_read(s, op) || !styling_within(str_from(op_path(graph, op)), around))
            continue;
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t t = op_inputs(graph, op)[i], maker = t < 0 ? -1 : graph->tensors[t].maker;
            if (maker < 0 || !styling_is_read(s, maker) ||
                styling_within(str_from(op_path(graph, maker)), around))
                continue;
            if (found >= 0 && found != t)
                return -1;
            found = t;
        }
    }
    return found;
}

static void mark_before(Styling *s, int32_t tensor)
{
    const Graph *graph = s->w->graph;
    bool *wanted = arena_array(s->w->arena, bool, graph->n_tensors);
    wanted[tensor] = true;
    for (int32_t op = graph->tensors[tensor].maker; op >= 0; op--) {
        for (int i = 0; i < graph->ops[op].n_outputs; i++)
            if (op_outputs(graph, op)[i] >= 0)
                s->full[op] |= wanted[op_outputs(graph, op)[i]];
        for (int i = 0; i < graph->ops[op].n_inputs; i++)
            if (op_inputs(graph, op)[i] >= 0)
                wanted[op_inputs(graph, op)[i]] |= s->full[op];
    }
}

/* All that comes before the layers in full, and each rank takes its part of what comes into them.
 */
static bool stem_before_layers(Styling *s)
{
    Str layers = find_sequential(s);
    int32_t entry = layers.n > 0 ? find_entry(s, layers) : -1;
    if (entry < 0 || styling_rank(s, entry) != 3)
        return false;
    Placement it = styling_lies(s, s->w->plan->moved->sharding[entry]);
    if (it.kind != PLACE_SHARD || it.dim != 1 || s->out->stem[s->axis].n > 0)
        return false;
    mark_before(s, entry);
    run_in_full(s);
    styling_module(s, layers)->inputs[s->axis] =
        "PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(1))";
    s->out->stem[s->axis] =
        str_from(arena_printf(s->w->arena, "what comes before %.*s", STR_ARG(layers)));
    return true;
}

bool styling_stem(Styling *s, Str path)
{
    Placement it;
    while (path.n > 0 && !gives_sequence(s, path, &it))
        path = styling_parent(path);
    if (path.n == 0 || has_layers(s, path))
        return stem_before_layers(s);
    styling_module(s, path)->inputs[s->axis] = styling_output(s, it, false);
    s->out->stem[s->axis] = path;
    for (int32_t op = 0; op < s->out->n_forward; op++)
        s->full[op] = styling_within(str_from(op_path(s->w->graph, op)), path);
    run_in_full(s);
    return true;
}
