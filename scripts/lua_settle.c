/* lua_settle.c - after a policy has returned: turns the placement of its ops into decisions.
 *
 * Devices of sub-nodes come first, because they may determine axes; then ops without devices join
 * their stage; then open levels take the axes of their size. Errors and decisions get the line of
 * the script that asked for them (Sandbox.acting_line).
 */
#include "scripts/lua_place.h"

#include <inttypes.h>

static bool each_has_one(const Policy *policy, int32_t op, const OpPlace *place, Error *err)
{
    for (int64_t i = 0; i < place->n; i++) {
        if (place->position[i] >= 0)
            continue;
        error_kind(err, ERROR_INVALID, "sub-node %" PRId64 " of '%s' has no device", i,
                   op_name(policy->session->graph, op));
        return error_hint(err, "assign all %" PRId64 " of them, or none", place->n);
    }
    return true;
}

static bool refuse_order(const Policy *policy, int32_t op, const OpPlace *place, int64_t leaf,
                         Error *err)
{
    const Mesh *mesh = policy->session->mesh;
    Buf devices = buf_new(policy->arena);
    place_put_devices(mesh, place->sub, &devices);
    error_kind(err, ERROR_CONFLICT,
               "sub-node %" PRId64 " of '%s' is on device %" PRId64 ", out of mesh order", leaf,
               op_name(policy->session->graph, op), mesh_device(mesh, place->position[leaf]));
    return error_hint(err, "sub-nodes must be in mesh order: %s", devices.s);
}

/* The axes along which the sub-nodes of one level stand where all others are the first. */
static bool level_from_devices(Policy *policy, int32_t op, const OpPlace *place, int64_t stride,
                               PartLevel *level, Error *err)
{
    const Mesh *mesh = policy->session->mesh;
    const char *name = op_name(policy->session->graph, op);
    int64_t *along = arena_array(policy->arena, int64_t, level->num);
    SubMesh sub;
    for (int64_t i = 0; i < level->num; i++)
        along[i] = place->position[i * stride];
    if (!place_of_positions(policy, name, along, level->num, &sub, err))
        return false;
    AtomSet atoms = submesh_free(mesh, sub);
    if (level->by_num)
        level->n = mesh_list_set(mesh, atoms, level->atom);
    else if (level_atoms(level) != atoms)
        return refuse_order(policy, op, place, level->num > 1 ? stride : 0, err);
    level->open = false;
    return true;
}

static bool parts_stand_in_order(const Policy *policy, int32_t op, const OpPlace *place,
                                 const OpParts *parts, Error *err)
{
    const Mesh *mesh = policy->session->mesh;
    for (int64_t leaf = 0; leaf < place->n; leaf++) {
        int64_t rest = leaf;
        for (int l = parts->n - 1; l >= 0; l--) {
            const PartLevel *level = &parts->level[l];
            if (level_part_at(mesh, level, place->position[leaf]) != rest % level->num)
                return refuse_order(policy, op, place, leaf, err);
            rest /= level->num;
        }
    }
    return true;
}

/* The part of the mesh that an op's sub-nodes are on, and the axes that they tell. */
static bool settle_parts(Policy *policy, int32_t op, OpPlace *place, Error *err)
{
    OpParts *parts = policy->parts[op];
    const char *name = op_name(policy->session->graph, op);
    int64_t *positions = arena_array(policy->arena, int64_t, place->n), stride = place->n;
    if (!each_has_one(policy, op, place, err))
        return false;
    for (int64_t i = 0; i < place->n; i++)
        positions[i] = place->position[i];
    if (!place_of_positions(policy, name, positions, place->n, &place->sub, err))
        return false;
    for (int l = 0; l < parts->n; l++) {
        stride /= parts->level[l].num;
        if (!level_from_devices(policy, op, place, stride, &parts->level[l], err))
            return false;
    }
    return parts_stand_in_order(policy, op, place, parts, err);
}

static bool refuse_fixed(const Policy *policy, int32_t op, SubMesh sub, Error *err)
{
    Buf text = buf_new(policy->arena), left = buf_new(policy->arena);
    const Mesh *mesh = policy->session->mesh;
    submesh_format(mesh, sub, &text);
    mesh_format_sizes(mesh, submesh_free(mesh, sub), &left);
    error_kind(err, ERROR_CONFLICT, "'%s' is partitioned by an axis that its devices (%s) lack",
               op_name(policy->session->graph, op), text.s);
    return error_hint(err, "axes of these devices: %s", left.n > 0 ? left.s : "none");
}

/* Axes by size, of those that the op's devices have. */
static bool settle_levels(const Policy *policy, int32_t op, SubMesh sub, OpParts *parts, int *line,
                          Error *err)
{
    AtomSet left = submesh_free(policy->session->mesh, sub);
    for (int l = 0; l < parts->n; l++) {
        *line = parts->level[l].line;
        if (parts->level[l].by_num)
            continue;
        if (level_atoms(&parts->level[l]) & sub.fixed)
            return refuse_fixed(policy, op, sub, err);
        left &= ~level_atoms(&parts->level[l]);
    }
    for (int l = 0; l < parts->n; l++) {
        PartLevel *level = &parts->level[l];
        *line = level->line;
        if (level->by_num && level->rest)
            level->num = mesh_atoms_size(policy->session->mesh, left);
        if (level->by_num && !partition_by_size(policy, left, level, err))
            return false;
        left &= ~level_atoms(level);
    }
    return true;
}

/* Levels and pins of one op. *line: of the script, for what is refused. */
static bool settle_op(lua_State *L, Policy *policy, int32_t op, int *line, Error *err)
{
    OpParts *parts = policy->parts[op];
    OpPlace *place = policy->placing ? policy->placing->op[op] : NULL;
    *line = place ? place->line : 0;
    if (place && place->by_parts && !settle_parts(policy, op, place, err))
        return false;
    if (!parts || (!place && !parts_open(parts)))
        return true;
    SubMesh sub = place ? place->sub : (SubMesh){0};
    if ((!place || !place->by_parts) && !settle_levels(policy, op, sub, parts, line, err))
        return false;
    sandbox_of(L)->acting_line = parts->level[parts->n - 1].line;
    partition_pin(L, policy, op);
    return true;
}

/* ---- ops without an assignment ---- */

/* In a stage whose other ops are all on the same devices: there too. */
static void join_stage(Policy *policy, Segment segment)
{
    Placing *placing = policy->placing;
    const int32_t *program = policy->session->inferred->program;
    const OpPlace *first = NULL;
    for (int i = segment.first; i <= segment.last; i++) {
        const OpPlace *place = placing->op[program[i]];
        if (place && first && !submesh_equal(place->sub, first->sub))
            return;
        first = first ? first : place;
    }
    for (int i = segment.first; first && i <= segment.last; i++)
        if (!placing->op[program[i]])
            place_op(policy, program[i], first->sub, first->line);
}

static void join_stages(Policy *policy)
{
    int n = policy->session->inferred->n_program;
    for (int i = 0; i < n;) {
        Segment segment = segment_at(policy, i);
        join_stage(policy, segment);
        i = segment.last + 1;
    }
}

static void note_left_out(lua_State *L, Policy *policy)
{
    const Inferred *inferred = policy->session->inferred;
    int n = 0, first = -1;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (policy->placing->op[op] || inferred->on_parameters[op])
            continue;
        first = n++ == 0 ? op : first;
    }
    if (n == 0)
        return;
    const char *text = arena_printf(policy->arena, "%d ops have no device, but others have: '%s'%s",
                                    n, op_name(inferred->graph, first), n > 1 ? ", .." : "");
    sandbox_of(L)->acting_line = 0;
    policy_note(L, policy, LEVEL_WARNING, "op-without-device", text,
                "they run on all devices; graph:assign them too");
}

/* ---- decisions ---- */

static bool is_whole(const OpPlace *place)
{
    return place->sub.fixed == 0;
}

/* Whole meshes need no decision where nothing else was decided. */
static bool needs_decisions(const Policy *policy)
{
    const Inferred *inferred = policy->session->inferred;
    for (int i = 0; i < inferred->n_program; i++) {
        const OpPlace *place = policy->placing->op[inferred->program[i]];
        if (place && !is_whole(place))
            return true;
    }
    for (int i = 0; policy->before && i < policy->before->n_done; i++)
        if (policy->before->decisions.at[i].kind == PIN_DEVICES)
            return true;
    return false;
}

/* Ops in a row on the same devices are one decision. */
static void decide_devices(lua_State *L, Policy *policy)
{
    const Inferred *inferred = policy->session->inferred;
    OpPlace *const *at = policy->placing->op;
    for (int i = 0, last; i < inferred->n_program; i = last + 1) {
        const OpPlace *place = at[inferred->program[i]];
        last = i;
        if (!place)
            continue;
        while (last + 1 < inferred->n_program && at[inferred->program[last + 1]] &&
               submesh_equal(at[inferred->program[last + 1]]->sub, place->sub))
            last++;
        Decision decision = {.kind = PIN_DEVICES, .place = inferred->program[i], .dim = -1};
        decision.last = inferred->program[last];
        decision.devices = place->sub;
        sandbox_of(L)->acting_line = place->line;
        policy_add(L, policy, &decision);
    }
}

int place_finish(lua_State *L)
{
    Policy *policy = policy_of(L);
    const Inferred *inferred = policy->session->inferred;
    Error err = {0};
    int line = 0;
    bool ok = true, any = policy->placing && policy->placing->any;
    if (any && policy->whole && policy->placing->staged) {
        /* sub-nodes first: they tell what the stage's devices are */
        for (int i = 0; ok && i < inferred->n_program; i++) {
            OpPlace *place = policy->placing->op[inferred->program[i]];
            line = place ? place->line : 0;
            ok = !place || !place->by_parts ||
                 settle_parts(policy, inferred->program[i], place, &err);
        }
        if (ok)
            join_stages(policy);
    }
    for (int i = 0; ok && i < inferred->n_program; i++)
        ok = settle_op(L, policy, inferred->program[i], &line, &err);
    if (ok && any && needs_decisions(policy)) {
        if (policy->whole)
            note_left_out(L, policy);
        decide_devices(L, policy);
    }
    if (ok && policy->placing && policy->placing->schedule) {
        line = policy->placing->schedule_line;
        ok = schedule_check(L, policy, &err);
    }
    sandbox_of(L)->acting_line = line;
    return ok ? 0 : sandbox_raise(L, &err);
}
