#include "core/space/anno.h"

/* What an annotation says about each name, collected over the tensors that are present. */
typedef struct {
    bool in_output;
    bool diagonal; /* in a dim of which only a diagonal is meant */
    bool added;
    AtomKind written;
    int index; /* in the op space, once added */
} NameUse;

typedef struct {
    Arena *arena;
    const AnnoMatch *match;
    NameUse *use; /* per name */
    OpSpace *space;
    Error *err;
} Build;

static bool is_output(const Anno *anno, int t)
{
    return t >= anno->n_inputs;
}

static bool is_present(const Build *build, int t)
{
    const Anno *anno = build->match->anno;
    return !anno->tensor[t].ignored && (is_output(anno, t) || build->match->input[t].is_tensor);
}

static bool is_identifier(const AnnoAtom *atom)
{
    return atom->number < 0 && !str_eq(atom->name, STR("?"));
}

/* The tensor has an identifier of the dim twice. */
static bool has_diagonal(const AnnoTensor *tensor, const AnnoDim *dim)
{
    for (int i = 0; i < dim->n; i++) {
        int n = 0;
        for (int d = 0; d < tensor->n_dims; d++)
            for (int k = 0; k < tensor->dim[d].n; k++)
                n += tensor->dim[d].atom[k].id == dim->atom[i].id;
        if (n > 1 && is_identifier(&dim->atom[i]))
            return true;
    }
    return false;
}

static void note_uses(Build *build, int t)
{
    const AnnoTensor *tensor = &build->match->anno->tensor[t];
    for (int d = 0; d < tensor->n_dims; d++)
        for (int i = 0; i < tensor->dim[d].n; i++) {
            const AnnoAtom *atom = &tensor->dim[d].atom[i];
            NameUse *use = &build->use[atom->id];
            use->in_output |= is_output(build->match->anno, t);
            use->diagonal |= has_diagonal(tensor, &tensor->dim[d]);
            use->written = atom->written;
        }
}

static IndexRole role_of(const NameUse *use)
{
    if (use->diagonal || use->written == ATOM_FROZEN)
        return ROLE_FROZEN;
    if (use->written == ATOM_SUM)
        return use->in_output ? ROLE_FROZEN : ROLE_REDUCE;
    return use->in_output ? ROLE_MAP : ROLE_FROZEN;
}

/* In the order of first sight. */
static bool add_indices(Build *build, int t)
{
    const AnnoTensor *tensor = &build->match->anno->tensor[t];
    for (int d = 0; d < tensor->n_dims; d++)
        for (int i = 0; i < tensor->dim[d].n; i++) {
            const AnnoAtom *atom = &tensor->dim[d].atom[i];
            NameUse *use = &build->use[atom->id];
            if (use->added || !is_identifier(atom))
                continue;
            IndexRole role = role_of(use);
            use->added = true;
            use->index = opspace_add_index(build->space, arena_str(build->arena, atom->name),
                                           build->match->length[atom->id], role,
                                           role == ROLE_REDUCE ? REDUCE_SUM : REDUCE_NONE);
            if (use->index < 0)
                return error_kind(build->err, ERROR_UNSUPPORTED,
                                  "an op has at most %d index dims; '%.*s' is one more", X_MAX,
                                  STR_ARG(atom->name));
        }
    return true;
}

/* How many equal numbers the tensor has before atom i of dim d: each is an index dim of its own. */
static int nth_number(const AnnoTensor *tensor, int d, int i)
{
    int n = 0;
    for (int e = 0; e <= d; e++)
        for (int k = 0; k < (e < d ? tensor->dim[e].n : i); k++)
            n += tensor->dim[e].atom[k].id == tensor->dim[d].atom[i].id;
    return n;
}

/* One row: literal ones vanish; a dim of one number, or with a diagonal, is read whole. */
static bool add_row(Build *build, const AnnoTensor *tensor, int d, int64_t size, Row *row)
{
    const AnnoDim *dim = &tensor->dim[d];
    bool number = dim->n == 1 && !is_identifier(&dim->atom[0]);
    if (number || has_diagonal(tensor, dim)) {
        row_whole(row, size);
        return true;
    }
    int index[FACTORS_MAX], n = 0;
    for (int i = 0; i < dim->n; i++) {
        const AnnoAtom *atom = &dim->atom[i];
        if (atom->number == 1)
            continue;
        int j = is_identifier(atom) ? build->use[atom->id].index
                                    : opspace_add_number(build->arena, build->space, atom->number,
                                                         nth_number(tensor, d, i));
        if (n == FACTORS_MAX || j < 0)
            return error_kind(build->err, ERROR_UNSUPPORTED,
                              "a bracket has at most %d members, an op %d index dims", FACTORS_MAX,
                              X_MAX);
        index[n++] = j;
    }
    if (n == 0)
        row_one(row);
    else
        row_radix(row, build->space, index, n);
    return true;
}

static bool add_operand(Build *build, int t)
{
    const Anno *anno = build->match->anno;
    const AnnoTensor *tensor = &anno->tensor[t];
    Operand *operand = &build->space->operand[t];
    operand->ignored = tensor->ignored;
    operand->absent = !is_output(anno, t) && !build->match->input[t].is_tensor;
    operand->shape = is_output(anno, t) ? build->match->output[t - anno->n_inputs]
                                        : build->match->input[t].shape;
    if (!is_present(build, t))
        return true;
    operand->projection.n_dims = (uint8_t)tensor->n_dims;
    for (int d = 0; d < tensor->n_dims; d++)
        if (!add_row(build, tensor, d, operand->shape.dim[d], &operand->projection.row[d]))
            return false;
    return true;
}

/* Index dims whose cut leaves the gradient of an input whole. */
static uint16_t no_grad_of(const Build *build, const AnnoTensor *tensor)
{
    uint16_t set = tensor->no_grad_reduce_all ? UINT16_MAX : 0;
    for (int i = 0; i < tensor->n_no_grad; i++)
        for (int j = 0; j < build->space->n_index; j++)
            if (str_eq(str_from(build->space->index[j].name), tensor->no_grad[i]))
                set = (uint16_t)(set | 1u << j);
    return set;
}

OpSpace *anno_opspace(Arena *arena, const AnnoMatch *match, Error *err)
{
    const Anno *anno = match->anno;
    int n_tensors = anno->n_inputs + anno->n_outputs;
    if (n_tensors > OPERANDS_MAX) {
        error_kind(err, ERROR_UNSUPPORTED, "an op has at most %d operands", OPERANDS_MAX);
        return NULL;
    }
    Build build = {.arena = arena,
                   .match = match,
                   .use = arena_array(arena, NameUse, anno->n_names),
                   .space = opspace_new(arena, anno->n_inputs, anno->n_outputs),
                   .err = err};
    for (int t = 0; t < n_tensors; t++)
        if (is_present(&build, t))
            note_uses(&build, t);
    for (int t = 0; t < n_tensors; t++)
        if (is_present(&build, t) && !add_indices(&build, t))
            return NULL;
    for (int t = 0; t < n_tensors; t++) {
        if (!add_operand(&build, t))
            return NULL;
        build.space->operand[t].no_grad_reduce = no_grad_of(&build, &anno->tensor[t]);
    }
    return opspace_finish(build.space, err) ? build.space : NULL;
}
