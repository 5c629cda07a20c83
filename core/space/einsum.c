#include "core/space/einsum.h"

#include <assert.h>
#include <inttypes.h>

enum { LETTERS = 52, TERMS_MAX = OPERANDS_MAX - 1, LABELS_MAX = LETTERS + DIMS_MAX };

/* One side of an equation, as labels per dim: 0..51 are letters, LETTERS + i is dim i of the
 * ellipsis, counted from its right end so that ellipses of unequal length align. */
typedef struct {
    int n, n_before; /* labels; letters before the ellipsis */
    bool ellipsis;
    uint8_t label[DIMS_MAX];
} EinsumTerm;

typedef struct {
    Arena *arena;
    const Source *source;
    size_t at;
    int n_inputs;
    EinsumTerm *term; /* inputs, then the output */
    int n_ellipsis;   /* dims of the longest one */
    int64_t size[LABELS_MAX];
    int count[LABELS_MAX]; /* in the inputs */
    int index[LABELS_MAX]; /* in the op space, -1: none */
    Error *err;
} Einsum;

/* ---- the equation ---- */

static bool fail_here(Einsum *einsum, const char *what)
{
    error_kind(einsum->err, ERROR_SYNTAX, "%s", what);
    error_at(einsum->err, einsum->source, einsum->at);
    return false;
}

static char peek(Einsum *einsum)
{
    Str text = einsum->source->text;
    while (einsum->at < text.n && text.s[einsum->at] == ' ')
        einsum->at++;
    return einsum->at < text.n ? text.s[einsum->at] : '\0';
}

static bool accept(Einsum *einsum, Str text)
{
    peek(einsum);
    Str rest = {einsum->source->text.s + einsum->at, einsum->source->text.n - einsum->at};
    if (!str_starts(rest, text))
        return false;
    einsum->at += text.n;
    return true;
}

/* term = { letter | "..." } */
static bool parse_term(Einsum *einsum, EinsumTerm *term)
{
    for (;;) {
        char c = peek(einsum);
        if (accept(einsum, STR("..."))) {
            if (term->ellipsis)
                return fail_here(einsum, "a term has one '...'");
            term->ellipsis = true;
            term->n_before = term->n;
            continue;
        }
        bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';
        if (!lower && !upper)
            return true;
        if (term->n == DIMS_MAX)
            return fail_here(einsum, "a term has too many letters");
        term->label[term->n++] = (uint8_t)(upper ? c - 'A' : c - 'a' + 26);
        einsum->at++;
    }
}

/* equation = term { "," term } [ "->" term ] */
static bool parse_equation(Einsum *einsum, bool *has_output)
{
    for (int i = 0; i < einsum->n_inputs; i++) {
        if (i > 0 && !accept(einsum, STR(",")))
            return fail_here(einsum, "the equation has fewer terms than there are inputs");
        if (!parse_term(einsum, &einsum->term[i]))
            return false;
    }
    *has_output = accept(einsum, STR("->"));
    if (*has_output && !parse_term(einsum, &einsum->term[einsum->n_inputs]))
        return false;
    if (peek(einsum) == '\0')
        return true;
    return fail_here(einsum, peek(einsum) == ','
                                 ? "the equation has more terms than there are inputs"
                                 : "expected a letter, '...', ',' or '->'");
}

/* Puts n labels in the place of the ellipsis, the last one being label LETTERS. */
static bool expand(Einsum *einsum, EinsumTerm *term, int n)
{
    if (!term->ellipsis)
        return true;
    if (term->n + n > DIMS_MAX)
        return error_kind(einsum->err, ERROR_RANK, "a tensor has at most %d dims", DIMS_MAX);
    memmove(term->label + term->n_before + n, term->label + term->n_before,
            (size_t)(term->n - term->n_before));
    for (int i = 0; i < n; i++)
        term->label[term->n_before + i] = (uint8_t)(LETTERS + n - 1 - i);
    term->n += n;
    return true;
}

/* Sizes of all labels; 1 broadcasts against any other size. */
static bool bind(Einsum *einsum, const Shape *const *inputs)
{
    for (int i = 0; i < einsum->n_inputs; i++) {
        EinsumTerm *term = &einsum->term[i];
        int n = (int)inputs[i]->n_dims - term->n;
        if (n < 0 || (n > 0 && !term->ellipsis))
            return error_kind(einsum->err, ERROR_RANK, "input %d has %d dims, its term %d", i,
                              (int)inputs[i]->n_dims, term->n);
        if (!expand(einsum, term, n))
            return false;
        einsum->n_ellipsis = n > einsum->n_ellipsis ? n : einsum->n_ellipsis;
        for (int d = 0; d < term->n; d++) {
            int label = term->label[d];
            int64_t *size = &einsum->size[label], here = inputs[i]->dim[d];
            if (einsum->count[label]++ == 0 || *size == 1)
                *size = here;
            else if (here != 1 && here != *size)
                return error_kind(einsum->err, ERROR_CONFLICT,
                                  "input %d, dim %d is %" PRId64
                                  " where another input has %" PRId64,
                                  i, d, here, *size);
        }
    }
    return true;
}

/* The output that is left unsaid: the ellipsis, then the letters met once, in the alphabet's order.
 */
static bool implied_output(Einsum *einsum, EinsumTerm *output)
{
    output->ellipsis = true;
    for (int label = 0; label < LETTERS; label++)
        if (einsum->count[label] == 1) {
            if (output->n == DIMS_MAX)
                return error_kind(einsum->err, ERROR_RANK, "a tensor has at most %d dims",
                                  DIMS_MAX);
            output->label[output->n++] = (uint8_t)label;
        }
    return expand(einsum, output, einsum->n_ellipsis);
}

static bool check_output(Einsum *einsum)
{
    const EinsumTerm *output = &einsum->term[einsum->n_inputs];
    bool seen[LABELS_MAX] = {0};
    for (int d = 0; d < output->n; d++) {
        int label = output->label[d];
        if (seen[label] || einsum->count[label] == 0)
            return error_kind(einsum->err, ERROR_SYNTAX, "a letter of the output is %s",
                              seen[label] ? "there twice" : "in no input");
        seen[label] = true;
    }
    return true;
}

/* ---- the op space ---- */

static bool twice_in(const EinsumTerm *term, int label)
{
    int n = 0;
    for (int d = 0; d < term->n; d++)
        n += term->label[d] == label;
    return n > 1;
}

static const char *label_name(Arena *arena, int label)
{
    if (label >= LETTERS)
        return arena_printf(arena, "b%d", label - LETTERS);
    return arena_printf(arena, "%c", label < 26 ? 'A' + label : 'a' + label - 26);
}

/* A letter that one input has twice reads its diagonal, which no sharding can follow. */
static bool add_label(Einsum *einsum, OpSpace *space, int label, bool reduced)
{
    if (einsum->index[label] >= 0)
        return true;
    IndexRole role = reduced ? ROLE_REDUCE : ROLE_MAP;
    for (int i = 0; i < einsum->n_inputs; i++)
        if (twice_in(&einsum->term[i], label))
            role = ROLE_FROZEN;
    einsum->index[label] =
        opspace_add_index(space, label_name(einsum->arena, label), einsum->size[label], role,
                          role == ROLE_REDUCE ? REDUCE_SUM : REDUCE_NONE);
    if (einsum->index[label] >= 0)
        return true;
    return error_kind(einsum->err, ERROR_UNSUPPORTED, "an op has at most %d index dims", X_MAX);
}

/* Map dims in the order of the output, then reduce dims in the order of the inputs. */
static bool add_labels(Einsum *einsum, OpSpace *space)
{
    for (int i = 0; i < LABELS_MAX; i++)
        einsum->index[i] = -1;
    const EinsumTerm *output = &einsum->term[einsum->n_inputs];
    for (int d = 0; d < output->n; d++)
        if (!add_label(einsum, space, output->label[d], false))
            return false;
    for (int i = 0; i < einsum->n_inputs; i++)
        for (int d = 0; d < einsum->term[i].n; d++)
            if (!add_label(einsum, space, einsum->term[i].label[d], true))
                return false;
    return true;
}

static void set_rows(const Einsum *einsum, Operand *operand, const EinsumTerm *term,
                     const Shape *shape)
{
    operand->shape = *shape;
    operand->projection.n_dims = (uint8_t)term->n;
    for (int d = 0; d < term->n; d++) {
        Row *row = &operand->projection.row[d];
        if (shape->dim[d] == 1 && einsum->size[term->label[d]] != 1)
            row_one(row);
        else
            row_unit(row, einsum->index[term->label[d]]);
    }
}

static bool read_equation(Einsum *einsum, const Shape *const *inputs)
{
    EinsumTerm *output = &einsum->term[einsum->n_inputs];
    bool has_output = false;
    if (!parse_equation(einsum, &has_output) || !bind(einsum, inputs))
        return false;
    if (!(has_output ? expand(einsum, output, einsum->n_ellipsis) : implied_output(einsum, output)))
        return false;
    return check_output(einsum);
}

OpSpace *einsum_opspace(Arena *arena, const Source *equation, const Shape *const *inputs,
                        int n_inputs, Shape *output, Error *err)
{
    if (n_inputs < 1 || n_inputs > TERMS_MAX) {
        error_set(err, "an einsum needs between 1 and %d inputs", TERMS_MAX);
        return NULL;
    }
    Einsum *einsum = arena_make(arena, Einsum);
    *einsum = (Einsum){.arena = arena, .source = equation, .n_inputs = n_inputs, .err = err};
    einsum->term = arena_array(arena, EinsumTerm, n_inputs + 1);
    OpSpace *space = opspace_new(arena, n_inputs, 1);
    if (!read_equation(einsum, inputs) || !add_labels(einsum, space))
        return NULL;

    const EinsumTerm *out = &einsum->term[n_inputs];
    *output = (Shape){.n_dims = out->n};
    for (int d = 0; d < out->n; d++)
        output->dim[d] = einsum->size[out->label[d]];
    if (!shape_check(output, err))
        return NULL;
    for (int i = 0; i <= n_inputs; i++)
        set_rows(einsum, &space->operand[i], &einsum->term[i], i < n_inputs ? inputs[i] : output);
    bool permutes = n_inputs == 1 && out->n == einsum->term[0].n;
    space->operand[0].linear = permutes ? LINEAR_ALONE : LINEAR_NO;
    return opspace_finish(space, err) ? space : NULL;
}

/* ---- reshape ---- */

/* A position in a shape, which is read from its major end. */
typedef struct {
    Operand *operand;
    int dim;      /* the dim being taken apart; n_dims at the end */
    int64_t left; /* its size without the digits taken so far */
    int n;
    int digit[FACTORS_MAX];
} ShapeCursor;

/* Goes to the next dim that is not of size 1. */
static void enter_dim(ShapeCursor *cursor)
{
    const Shape *shape = &cursor->operand->shape;
    for (; cursor->dim < shape->n_dims && shape->dim[cursor->dim] == 1; cursor->dim++)
        row_one(&cursor->operand->projection.row[cursor->dim]);
    cursor->left = cursor->dim < shape->n_dims ? shape->dim[cursor->dim] : 1;
    cursor->n = 0;
}

static void leave_dim(ShapeCursor *cursor, const OpSpace *space)
{
    row_radix(&cursor->operand->projection.row[cursor->dim++], space, cursor->digit, cursor->n);
    enter_dim(cursor);
}

/* How many digits of this dim so far make up the number. */
static int count_number(const ShapeCursor *cursor, const OpSpace *space, int64_t number)
{
    int n = 0;
    for (int d = 0; d < cursor->dim; d++)
        for (int j = 0; j < space->n_index; j++)
            n += cursor->operand->projection.row[d].coef[j] != 0 &&
                 space->index[j].role == ROLE_FROZEN && space->index[j].size == number;
    return n;
}

/* Ends a dim whose rest shares nothing with the other side: a frozen digit, or the whole dim. */
static void leave_rest(Arena *arena, ShapeCursor *cursor, OpSpace *space)
{
    if (cursor->n == 0) {
        row_whole(&cursor->operand->projection.row[cursor->dim++], cursor->left);
        enter_dim(cursor);
        return;
    }
    int nth = count_number(cursor, space, cursor->left);
    int number = opspace_add_number(arena, space, cursor->left, nth);
    assert(number >= 0); /* has_room() kept a place */
    cursor->digit[cursor->n++] = number;
    leave_dim(cursor, space);
}

/* The dims up to the next common border of both sides share no more digits. */
static void leave_run(Arena *arena, OpSpace *space, ShapeCursor *from, ShapeCursor *to)
{
    int64_t p = from->left, q = to->left;
    leave_rest(arena, from, space);
    leave_rest(arena, to, space);
    while (p != q) {
        ShapeCursor *shorter = p < q ? from : to;
        *(p < q ? &p : &q) *= shorter->left;
        leave_rest(arena, shorter, space);
    }
}

/* Whether there is room for one more digit and for the rests of both dims. */
static bool has_room(const OpSpace *space, const ShapeCursor *from, const ShapeCursor *to)
{
    return space->n_index + 3 <= X_MAX && from->n + 2 <= FACTORS_MAX && to->n + 2 <= FACTORS_MAX;
}

/* The next digit that both sides have: the common divisor of what is left of their dims. */
static void share_digit(Arena *arena, OpSpace *space, ShapeCursor *from, ShapeCursor *to)
{
    int64_t size = common_divisor(from->left, to->left);
    bool last = from->left == size && to->left == size;
    if (size == 1 || !(last ? space->n_index < X_MAX : has_room(space, from, to))) {
        leave_run(arena, space, from, to);
        return;
    }
    int n_map = 0;
    for (int j = 0; j < space->n_index; j++)
        n_map += space->index[j].role == ROLE_MAP;
    int index = opspace_add_index(space, arena_printf(arena, "%c", 'a' + n_map), size, ROLE_MAP,
                                  REDUCE_NONE);
    from->digit[from->n++] = to->digit[to->n++] = index;
    from->left /= size;
    to->left /= size;
    if (from->left == 1)
        leave_dim(from, space);
    if (to->left == 1)
        leave_dim(to, space);
}

static void read_whole(Operand *operand)
{
    for (int d = 0; d < operand->shape.n_dims; d++)
        row_whole(&operand->projection.row[d], operand->shape.dim[d]);
}

OpSpace *reshape_opspace(Arena *arena, const Shape *from, const Shape *to, Error *err)
{
    int64_t elements = shape_elements(from);
    if (elements != shape_elements(to)) {
        error_kind(err, ERROR_CONFLICT, "a reshape of %" PRId64 " elements to %" PRId64, elements,
                   shape_elements(to));
        return NULL;
    }
    OpSpace *space = opspace_new(arena, 1, 1);
    space->early = true;
    ShapeCursor source = {.operand = &space->operand[0]}, target = {.operand = &space->operand[1]};
    source.operand->shape = *from;
    source.operand->projection.n_dims = (uint8_t)from->n_dims;
    source.operand->linear = LINEAR_ALONE;
    target.operand->shape = *to;
    target.operand->projection.n_dims = (uint8_t)to->n_dims;
    if (elements == 0) {
        read_whole(source.operand);
        read_whole(target.operand);
        return opspace_finish(space, err) ? space : NULL;
    }
    enter_dim(&source);
    enter_dim(&target);
    while (source.dim < from->n_dims && target.dim < to->n_dims)
        share_digit(arena, space, &source, &target);
    return opspace_finish(space, err) ? space : NULL;
}
