/* lua_roles.c - graph:roles(): what each weight of the model is for. */
#include "core/rules/roles.h"
#include "scripts/lua_objects.h"
#include "scripts/lua_push.h"

static void set_index(lua_State *L, const OpSpace *space, const char *field, int index)
{
    if (index >= 0)
        set_string(L, field, space->index[index].name);
}

/* The weight as the matmul reads it, or the stacked ones as the lookup does, and the index dims of
 * that op. A view has the name of its parameter. */
static void set_weight(lua_State *L, const Policy *policy, const MatmulRole *role)
{
    const Session *session = policy->session;
    WeightStack read = role->stack;
    if (read.tensor < 0)
        read = (WeightStack){op_inputs(session->graph, role->op)[role->weight], role->op, role->k,
                             role->n};
    const OpSpace *space = program_space(session->inferred, read.op);
    NamedTensor named = {naming_label(session->naming, read.tensor), read.tensor, read.op};
    push_tensor(L, &named);
    lua_setfield(L, -2, "weight");
    set_index(L, space, "rows", read.k);
    set_index(L, space, "columns", read.n);
}

static void set_parts(lua_State *L, const MatmulRole *role)
{
    lua_createtable(L, role->n_parts, 0);
    for (int p = 0; p < role->n_parts; p++) {
        lua_pushinteger(L, role->part[p]);
        lua_rawseti(L, -2, p + 1);
    }
    lua_setfield(L, -2, "parts");
}

static void push_role(lua_State *L, const Policy *policy, const MatmulRole *role)
{
    const OpSpace *space = program_space(policy->session->inferred, role->op);
    lua_createtable(L, 0, 13);
    set_string(L, "role", weight_role_name(role->role));
    push_op(L, role->op);
    lua_setfield(L, -2, "node");
    set_weight(L, policy, role);
    set_index(L, space, "experts", role->expert);
    set_index(L, space, "batch", role->batch);
    set_integer(L, "unit", role->unit);
    set_integer(L, "units", role->units);
    if (role->head > 0)
        set_integer(L, "head", role->head);
    if (role->role == WEIGHT_COLUMN && !role->shared)
        set_parts(L, role);
    lua_pushboolean(L, role->output);
    lua_setfield(L, -2, "output");
    if (role->reader >= 0) {
        push_op(L, role->reader);
        lua_setfield(L, -2, "reader");
    }
    if (role->stream >= 0) {
        push_own_tensor(L, role->stream);
        lua_setfield(L, -2, "stream");
    }
}

static MatmulRoles roles_of_model(Session *session)
{
    if (session->roles.of != session->inferred) {
        session->roles.found = roles_find(session->journal_arena, session->inferred);
        session->roles.of = session->inferred;
    }
    return session->roles.found;
}

static int graph_roles(lua_State *L)
{
    enum { OP_INSTRUCTIONS = 20, ROLE_INSTRUCTIONS = 50 };
    const Policy *policy = graph_check(L);
    const Inferred *inferred = policy->session->inferred;
    sandbox_spend(L, (int64_t)inferred->n_program * OP_INSTRUCTIONS);
    MatmulRoles roles = roles_of_model(policy->session);
    lua_createtable(L, roles.n, 0);
    for (int i = 0; i < roles.n; i++) {
        sandbox_spend(L, ROLE_INSTRUCTIONS);
        push_role(L, policy, &roles.at[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

const LuaEntry role_methods[] = {
    {"roles", graph_roles, "(): weight_role[]",
     "What each weight of a matmul and the table of the vocabulary is for, found from the "
     "structure "
     "of the graph, in program order: column matmuls make the rows of row matmuls."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry role_fields[] = {
    {"role", NULL, "\"column\"|\"row\"|\"head\"|\"embedding\"|\"router\"|\"latent\"|\"whole\"",
     "column: shard its columns; row: shard its rows, which column matmuls make; head, embedding: "
     "the vocabulary is its columns, or its rows; router: a softmax or a choice of the largest "
     "reads all columns; latent: a norm reads all columns of this matmul alone; whole: none of "
     "these."},
    {"node", NULL, "node", "The matmul or lookup."},
    {"weight", NULL, "tensor",
     "The weight as this node reads it. Where each token looks its own up in stacked weights, as "
     "in "
     "those of experts: these, as the lookup reads them."},
    {"rows", NULL, "string",
     "The index dim that is summed or looked up, of the node that reads the weight: \"k\"."},
    {"columns", NULL, "string", "Its index dim that only the weight has: \"n\"."},
    {"experts", NULL, "string?", "The index dim of stacked experts: \"e\"."},
    {"batch", NULL, "string?", "The index dim that is dim 0 of the activation."},
    {"parts", NULL, "integer[]?",
     "The sizes of the parts of its columns, such as q, k and v: each must be sharded. nil if the "
     "columns cannot be sharded, because all shards need some of them."},
    {"unit", NULL, "integer",
     "Elements of the first part, or of the rows, that must stay together: a head, or a group of "
     "heads that share a key."},
    {"units", NULL, "integer",
     "The number of such units that each part, or the rows, can be divided into: at most so many "
     "shards."},
    {"head", NULL, "integer?", "Elements of a head, if a reshape on the way shows it."},
    {"output", NULL, "boolean", "Whether its columns are an output of the model."},
    {"reader", NULL, "node?", "A node that needs all columns at once."},
    {"stream", NULL, "tensor?", "The value of the residual stream that a norm reads before it."},
    {NULL, NULL, NULL, NULL},
};
