#include "core/cost/op_part.h"

#include "core/base/str.h"
#include "core/rules/registry.h"

/* The part of the rank at `position`. Returns false if the cut does not give it a single range. */
static bool cut_piece(const Cut *cut, const Mesh *mesh, int64_t position, IndexPiece *out)
{
    *out = (IndexPiece){1, 0};
    if (cut_is_whole(cut))
        return true;
    int64_t num = mesh_atoms_size(mesh, cut_atoms(cut)), lo, hi;
    const Digit *digit = &cut->digit[0];
    if (cut->n != 1 || !cut_is_plain(cut) || digit->size % num != 0)
        return false;
    digit_interval(digit, mesh, position, &lo, &hi);
    *out = (IndexPiece){num, lo / (digit->size / num)};
    return true;
}

bool op_pieces(const OpSpace *space, const OpCut *cut, const Mesh *mesh, const Kwargs *kwargs,
               int64_t position, IndexPiece out[X_MAX], Error *err)
{
    for (int j = 0; j < space->n_index; j++) {
        out[j] = (IndexPiece){1, 0};
        if (cut && !cut_piece(&cut->index[j], mesh, position, &out[j]) &&
            kwargs_change(space, kwargs, j)) {
            Arena *scratch = arena_new();
            Buf text = buf_new(scratch);
            cut_format(&cut->index[j], mesh, &text);
            error_kind(err, ERROR_NOT_DIVISIBLE,
                       "index dim '%s' is sharded as %s: keyword arguments need equal parts",
                       space->index[j].name, text.s);
            arena_free(scratch);
            return false;
        }
    }
    return true;
}

static const char *const *axes_of(Arena *arena, const OpSpace *space, const OpCut *cut,
                                  const Mesh *mesh)
{
    const char **axes = arena_array(arena, const char *, space->n_index);
    for (int j = 0; j < space->n_index; j++) {
        Buf text = buf_new(arena);
        mesh_format_set(mesh, cut_atoms(&cut->index[j]), ".", &text);
        axes[j] = text.n > 0 ? text.s : "";
    }
    return axes;
}

bool op_part(Arena *arena, const Inferred *inferred, int32_t op, const OpCut *cut, const Mesh *mesh,
             OpPart *out, Error *err)
{
    const OpSpace *space = program_space(inferred, op);
    int n = space->n_inputs + space->n_outputs;
    *out = (OpPart){.arena = arena, .inferred = inferred, .op = op, .space = space};
    out->kwargs = kwargs_of_op(arena, inferred, op);
    Shape *local = arena_array(arena, Shape, n);
    for (int t = 0; t < n; t++) {
        local[t] = space->operand[t].shape;
        if (!cut || space->operand[t].absent || space->operand[t].ignored)
            continue;
        Sharding sharding = op_cut_sharding(space, cut, t, mesh);
        for (int d = 0; d < local[t].n_dims; d++)
            local[t].dim[d] = cut_most_size(&sharding.dim[d], mesh);
    }
    out->local = local;
    if (!cut)
        return true;
    IndexPiece *piece = arena_array(arena, IndexPiece, X_MAX);
    out->piece = piece;
    out->axes = axes_of(arena, space, cut, mesh);
    return op_pieces(space, cut, mesh, &out->kwargs, 0, piece, err) &&
           kwargs_of_piece(arena, space, piece, &out->kwargs, err);
}

const UserOp *op_user(const Inferred *inferred, int32_t op)
{
    const Operator *row =
        inferred->registry
            ? registry_find(inferred->registry, str_from(op_operator(inferred->graph, op)))
            : NULL;
    return row ? row->user : NULL;
}
