#include "core/prove/layout_check.h"

bool layout_check_open(Arena *arena, const Registry *registry, const SystemCall *call,
                       RuleProof *proof, LayoutCheck *out, Error *err)
{
    const DimBindings none = {0};
    *proof = (RuleProof){.ok = true, .text = ""};
    *out = (LayoutCheck){.arena = arena, .call = call, .proof = proof};
    out->inferred = infer(arena, call->ours, registry, &none, false, err);
    if (!out->inferred)
        return false;
    const GraphOp *at = &call->ours->ops[0];
    const OpSpace *space = inferred_space(out->inferred, 0);
    if (!space)
        return error_kind(err, ERROR_UNSUPPORTED,
                          "%s is evaluated before the run: it is never sharded",
                          op_operator(call->ours, 0));
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t tensor = op_outputs(call->ours, 0)[i];
        if (tensor >= 0 && !inferred_shape(out->inferred, tensor))
            return error_kind(err, ERROR_UNSUPPORTED,
                              "the shapes that %s makes are known only at run time",
                              op_operator(call->ours, 0));
    }
    out->operand = arena_array(arena, Sharding, at->n_inputs + at->n_outputs);
    return simulated_open(arena, out->inferred, 0, space, 1, NULL, &out->ranks, err);
}

void layout_check_close(LayoutCheck *check)
{
    if (check->ranks.inferred)
        simulated_close(&check->ranks);
}

/* ---- operands ---- */

static int32_t input_tensor(const LayoutCheck *check, int input)
{
    int ours = check->call->input[input];
    return ours < 0 ? -1 : simulated_tensor(&check->ranks, ours);
}

static int32_t output_tensor(const LayoutCheck *check, int output)
{
    return simulated_tensor(&check->ranks, check->ranks.at->n_inputs + output);
}

static Shape shape_of(const LayoutCheck *check, int32_t tensor)
{
    const Shape *shape = tensor < 0 ? NULL : inferred_shape(check->inferred, tensor);
    return shape ? *shape : (Shape){.n_dims = -1};
}

Shape layout_check_input_shape(const LayoutCheck *check, int input)
{
    if (check->call->input[input] < 0)
        return check->call->shape[input];
    return shape_of(check, input_tensor(check, input));
}

Shape layout_check_output_shape(const LayoutCheck *check, int output)
{
    return shape_of(check, output_tensor(check, output));
}

Dtype layout_check_input_dtype(const LayoutCheck *check, int input)
{
    int32_t tensor = input_tensor(check, input);
    return tensor < 0 ? DT_F32 : (Dtype)check->inferred->dtype[tensor];
}

/* ---- one layout ---- */

void layout_check_begin(LayoutCheck *check, const Mesh *mesh)
{
    if (mesh != check->mesh)
        check->tried = intern_new(check->arena);
    check->mesh = mesh;
    for (int i = 0; i < check->ranks.at->n_inputs + check->ranks.at->n_outputs; i++) {
        int32_t tensor = simulated_tensor(&check->ranks, i);
        memset(&check->operand[i], 0, sizeof check->operand[i]);
        if (tensor >= 0)
            check->operand[i] = sharding_whole(inferred_shape(check->inferred, tensor));
    }
}

Sharding *layout_check_input(LayoutCheck *check, int input)
{
    return input_tensor(check, input) < 0 ? NULL : &check->operand[check->call->input[input]];
}

Sharding *layout_check_output(LayoutCheck *check, int output)
{
    return output_tensor(check, output) < 0 ? NULL
                                            : &check->operand[check->ranks.at->n_inputs + output];
}

/* Whether the layout is new. */
static bool is_new(LayoutCheck *check)
{
    size_t n = (size_t)(check->ranks.at->n_inputs + check->ranks.at->n_outputs);
    int before = intern_count(check->tried);
    return intern_put(check->tried, check->operand, n * sizeof *check->operand) == before;
}

bool layout_check_try(LayoutCheck *check)
{
    if (!is_new(check))
        return true;
    Buf wrong = buf_new(check->arena);
    check->proof->n_cuts++;
    check->proof->ok =
        simulated_holds(&check->ranks, &(OpLayout){check->mesh, check->operand, NULL}, &wrong);
    check->proof->text = wrong.s;
    return check->proof->ok;
}

void layout_check_blame(LayoutCheck *check, const char *what, const char *claim)
{
    Buf text = buf_new(check->arena);
    buf_printf(&text, "%s, with %s on mesh ", check->proof->text, claim);
    mesh_format(check->mesh, &text);
    buf_printf(&text, "%s%s", *what ? ", " : "", what);
    check->proof->ok = false;
    check->proof->text = text.s;
}

bool layout_check_refused(const LayoutCheck *check, const Error *refusal, Error *err)
{
    const char *name = check->call->name;
    if (refusal->text[0] == '\0')
        return error_kind(err, ERROR_UNSUPPORTED,
                          "%s is made of operators that are proven separately", name);
    if (refusal->line == 0)
        return error_kind(err, ERROR_UNSUPPORTED, "%s refuses every layout: %s", name,
                          refusal->text);
    return error_kind(err, ERROR_UNSUPPORTED, "%s refuses every layout: %s (%s:%d)", name,
                      refusal->text, refusal->file, refusal->line);
}
