#include "core/space/anno.h"

#include <inttypes.h>

static const int64_t elements_max = INT64_C(1) << 60;

/* One candidate against the inputs. */
typedef struct {
    Arena *arena;
    const AnnoInput *input;
    int n_inputs;
    const AnnoArg *arg;
    int n_args;
    const Anno *anno;
    int64_t *plain;  /* per name: the length of the plain dims it names; -1: none */
    int64_t *length; /* per name, as far as known; -1: not yet */
    Error *err;
} Fit;

static bool multiply(int64_t *product, int64_t by)
{
    return !__builtin_mul_overflow(*product, by, product) && *product <= elements_max;
}

/* ---- `*` ---- */

static int find_star(const AnnoTensor *tensor)
{
    for (int d = 0; d < tensor->n_dims; d++) {
        const AnnoDim *dim = &tensor->dim[d];
        if (dim->n == 1 && str_eq(dim->atom[0].name, STR("*")))
            return d;
    }
    return -1;
}

/* How many dims `*` matches, the same in every input. -1 if there is no `*`; -2 if they do not fit.
 */
static int star_length(const Fit *fit)
{
    int n = -1;
    for (int i = 0; i < fit->n_inputs; i++) {
        const AnnoTensor *tensor = &fit->anno->tensor[i];
        if (find_star(tensor) < 0)
            continue;
        int here = (int)fit->input[i].shape.n_dims - (tensor->n_dims - 1);
        here = here < 0 ? 0 : here;
        if (!fit->input[i].is_tensor || (n >= 0 && n != here)) {
            error_kind(fit->err, ERROR_NO_MATCH, "'*' fits input %d not as it fits the others", i);
            return -2;
        }
        n = here;
    }
    return n;
}

static bool is_name(const Anno *anno, Str text)
{
    for (int i = 0; i < anno->n_names; i++)
        if (str_eq(anno->name[i], text))
            return true;
    return false;
}

/* The annotation's names and n fresh ones after them: letters it does not use, in order. */
static Anno *with_letters(const Fit *fit, int n)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    const Anno *anno = fit->anno;
    Anno *copy = arena_make(fit->arena, Anno);
    *copy = *anno;
    copy->name = arena_array(fit->arena, Str, anno->n_names + n);
    memcpy(copy->name, anno->name, sizeof(Str) * (size_t)anno->n_names);
    for (const char *c = letters; *c && n > 0; c++)
        if (!is_name(anno, (Str){c, 1})) {
            copy->name[copy->n_names++] = (Str){c, 1};
            n--;
        }
    if (n == 0)
        return copy;
    error_kind(fit->err, ERROR_NO_MATCH, "no letters left for '*'");
    return NULL;
}

/* The tensor with the fresh names (all those after n_old) in the place of `*`. */
static AnnoTensor expand_tensor(Arena *arena, const AnnoTensor *tensor, const Anno *anno, int n_old)
{
    int star = find_star(tensor), n = anno->n_names - n_old;
    if (star < 0)
        return *tensor;
    AnnoTensor out = *tensor;
    out.n_dims = tensor->n_dims - 1 + n;
    out.dim = arena_array(arena, AnnoDim, out.n_dims);
    for (int d = 0; d < out.n_dims; d++) {
        bool inside = d >= star && d < star + n;
        out.dim[d] = tensor->dim[inside ? star : d < star ? d : d - n + 1];
        if (inside) {
            out.dim[d].atom[0].id = n_old + d - star;
            out.dim[d].atom[0].name = anno->name[n_old + d - star];
        }
    }
    return out;
}

static bool expand_star(Fit *fit)
{
    const Anno *anno = fit->anno;
    int n = star_length(fit);
    if (n == -2)
        return false;
    int n_tensors = anno->n_inputs + anno->n_outputs;
    AnnoTensor *tensor = arena_array(fit->arena, AnnoTensor, n_tensors);
    Anno *expanded = with_letters(fit, n < 0 ? 0 : n);
    if (!expanded)
        return false;
    for (int t = 0; t < n_tensors; t++) {
        tensor[t] = n < 0 ? anno->tensor[t]
                          : expand_tensor(fit->arena, &anno->tensor[t], expanded, anno->n_names);
        if (find_star(&tensor[t]) >= 0)
            return error_kind(fit->err, ERROR_NO_MATCH,
                              n < 0 ? "'*' is in an output but in no input"
                                    : "'*' stands twice in one tensor");
    }
    expanded->tensor = tensor;
    fit->anno = expanded;
    return true;
}

/* ---- lengths ---- */

static bool is_read(const Fit *fit, int i)
{
    return fit->input[i].is_tensor && !fit->anno->tensor[i].ignored;
}

/* Ranks, and the lengths of the dims that are one identifier or number. */
static bool fit_plain(Fit *fit)
{
    for (int i = 0; i < fit->n_inputs; i++) {
        const AnnoTensor *tensor = &fit->anno->tensor[i];
        const Shape *shape = &fit->input[i].shape;
        if (!is_read(fit, i))
            continue;
        if (tensor->n_dims != shape->n_dims)
            return error_kind(fit->err, ERROR_NO_MATCH, "input %d has %d dims, not %d", i,
                              (int)shape->n_dims, tensor->n_dims);
        for (int d = 0; d < tensor->n_dims; d++) {
            if (tensor->dim[d].n != 1)
                continue;
            const AnnoAtom *atom = &tensor->dim[d].atom[0];
            int64_t *plain = &fit->plain[atom->id];
            if ((atom->number >= 0 && atom->number != shape->dim[d]) ||
                (*plain >= 0 && *plain != shape->dim[d]))
                return error_kind(fit->err, ERROR_NO_MATCH,
                                  "'%.*s' is %" PRId64 ", dim %d of input %d is %" PRId64,
                                  STR_ARG(atom->name), atom->number >= 0 ? atom->number : *plain, d,
                                  i, shape->dim[d]);
            *plain = shape->dim[d];
        }
    }
    return true;
}

/* The value of the keyword argument; -1 if it is not given, -2 if it is not a length. */
static int64_t arg_length(const Fit *fit, Str name)
{
    for (int i = 0; i < fit->n_args; i++)
        if (str_eq(fit->arg[i].name, name)) {
            if (fit->arg[i].is_int && fit->arg[i].value >= 0)
                return fit->arg[i].value;
            error_kind(fit->err, ERROR_NOT_INFERABLE, "the argument '%.*s' is not a length",
                       STR_ARG(name));
            return -2;
        }
    return -1;
}

/* What a member of a bracket is known to be: fixed by an earlier input, an argument, a plain dim
 * anywhere. -1: unknown; -2: error. */
static int64_t member_length(Fit *fit, const AnnoAtom *atom)
{
    int64_t *length = &fit->length[atom->id];
    if (*length < 0)
        *length = atom->number >= 0 ? atom->number : arg_length(fit, atom->name);
    if (*length == -1)
        *length = fit->plain[atom->id];
    return *length;
}

static bool fit_bracket(Fit *fit, const AnnoDim *dim, int64_t size)
{
    int64_t known = 1;
    const AnnoAtom *unknown = NULL;
    for (int i = 0; i < dim->n; i++) {
        const AnnoAtom *atom = &dim->atom[i];
        int64_t length = member_length(fit, atom);
        if (length == -2)
            return false;
        if (length == -1 && unknown)
            return error_kind(fit->err, ERROR_NOT_INFERABLE,
                              "neither '%.*s' nor '%.*s' is known in a dim of %" PRId64,
                              STR_ARG(unknown->name), STR_ARG(atom->name), size);
        if (length == -1)
            unknown = atom;
        else if (!multiply(&known, length))
            return error_kind(fit->err, ERROR_NO_MATCH, "a bracket is too large");
    }
    if (!unknown && known != size)
        return error_kind(fit->err, ERROR_NO_MATCH, "a bracket is %" PRId64 ", its dim %" PRId64,
                          known, size);
    if (unknown && (known == 0 || size % known != 0))
        return error_kind(fit->err, ERROR_NOT_DIVISIBLE,
                          "'%.*s' cannot be found: %" PRId64 " does not divide %" PRId64,
                          STR_ARG(unknown->name), known, size);
    if (unknown)
        fit->length[unknown->id] = size / known;
    return true;
}

static bool fit_single(Fit *fit, const AnnoAtom *atom, int64_t size)
{
    int64_t *length = &fit->length[atom->id];
    if (*length >= 0 && *length != size)
        return error_kind(fit->err, ERROR_NO_MATCH,
                          "'%.*s' is %" PRId64 " in a bracket and %" PRId64 " alone",
                          STR_ARG(atom->name), *length, size);
    *length = size;
    return true;
}

/* In the order of the inputs: what an earlier one fixed stays. */
static bool fit_dims(Fit *fit)
{
    for (int i = 0; i < fit->n_inputs; i++) {
        const AnnoTensor *tensor = &fit->anno->tensor[i];
        for (int d = 0; is_read(fit, i) && d < tensor->n_dims; d++) {
            const AnnoDim *dim = &tensor->dim[d];
            int64_t size = fit->input[i].shape.dim[d];
            if (!(dim->n == 1 ? fit_single(fit, &dim->atom[0], size) : fit_bracket(fit, dim, size)))
                return false;
        }
    }
    return true;
}

/* Identifiers that only outputs have are arguments. */
static bool fit_output(Fit *fit, int o, Shape *out)
{
    const AnnoTensor *tensor = &fit->anno->tensor[fit->n_inputs + o];
    if (tensor->ignored)
        return true;
    if (tensor->n_dims > DIMS_MAX)
        return error_kind(fit->err, ERROR_NO_MATCH, "output %d has %d dims; the most is %d", o,
                          tensor->n_dims, DIMS_MAX);
    int64_t elements = 1;
    out->n_dims = tensor->n_dims;
    for (int d = 0; d < tensor->n_dims; d++) {
        out->dim[d] = 1;
        for (int i = 0; i < tensor->dim[d].n; i++) {
            const AnnoAtom *atom = &tensor->dim[d].atom[i];
            int64_t length = member_length(fit, atom);
            if (length == -1)
                error_kind(fit->err, ERROR_NOT_INFERABLE, "the length of '%.*s' is not known",
                           STR_ARG(atom->name));
            if (length < 0)
                return false;
            if (!multiply(&out->dim[d], length))
                return error_kind(fit->err, ERROR_NO_MATCH, "output %d is too large", o);
        }
        if (!multiply(&elements, out->dim[d]))
            return error_kind(fit->err, ERROR_NO_MATCH, "output %d is too large", o);
    }
    return true;
}

static bool fit_candidate(Fit *fit, AnnoMatch *out)
{
    if (fit->anno->n_inputs != fit->n_inputs)
        return error_kind(fit->err, ERROR_NO_MATCH, "it has %d inputs, %d are given",
                          fit->anno->n_inputs, fit->n_inputs);
    if (!expand_star(fit))
        return false;
    const Anno *anno = fit->anno;
    fit->plain = arena_array(fit->arena, int64_t, anno->n_names);
    fit->length = arena_array(fit->arena, int64_t, anno->n_names);
    for (int i = 0; i < anno->n_names; i++)
        fit->plain[i] = fit->length[i] = -1;

    Shape *output = arena_array(fit->arena, Shape, anno->n_outputs);
    if (!fit_plain(fit) || !fit_dims(fit))
        return false;
    for (int o = 0; o < anno->n_outputs; o++)
        if (!fit_output(fit, o, &output[o]))
            return false;
    *out = (AnnoMatch){.anno = anno,
                       .n_lengths = anno->n_names,
                       .identifier = anno->name,
                       .length = fit->length,
                       .output = output};
    return true;
}

bool anno_match(Arena *arena, const Anno *const *candidates, int n_candidates,
                const AnnoInput *inputs, int n_inputs, const AnnoArg *args, int n_args,
                AnnoMatch *out, Error *err)
{
    Buf why = buf_new(arena);
    Error failure = {0};
    for (int c = 0; c < n_candidates; c++) {
        failure = (Error){0};
        Fit fit = {.arena = arena,
                   .input = inputs,
                   .n_inputs = n_inputs,
                   .arg = args,
                   .n_args = n_args,
                   .anno = candidates[c],
                   .err = &failure};
        if (fit_candidate(&fit, out)) {
            AnnoInput *copy = arena_array(arena, AnnoInput, n_inputs);
            if (n_inputs > 0)
                memcpy(copy, inputs, sizeof(AnnoInput) * (size_t)n_inputs);
            out->input = copy;
            return true;
        }
        buf_puts(&why, c > 0 ? "; `" : "`");
        anno_format(candidates[c], &why);
        buf_printf(&why, "`: %s", failure.text);
    }
    return error_kind(err, n_candidates == 1 ? failure.kind : ERROR_NO_MATCH,
                      n_candidates > 0 ? "no annotation fits: %s" : "there is no annotation%s",
                      why.s);
}

int64_t anno_length(const AnnoMatch *match, Str identifier)
{
    for (int i = 0; i < match->n_lengths; i++)
        if (str_eq(match->identifier[i], identifier))
            return match->length[i];
    return -1;
}
