#include "core/space/anno.h"

#include "core/base/names.h"
#include "core/base/vec.h"

typedef struct {
    Arena *arena;
    const Source *source;
    Names *names;
    Error *err;
    Vec(AnnoDim) dims; /* of the tensor being read; used again for the next one */
} Parse;

typedef Vec(AnnoTensor) AnnoTensors;

static bool fail_at(const Parse *parse, ErrorKind kind, Str token, const char *what)
{
    error_kind(parse->err, kind, "%s: '%.*s'", what, STR_ARG(token));
    error_at(parse->err, parse->source, (size_t)(token.s - parse->source->text.s));
    return false;
}

static bool fail(const Parse *parse, Str token, const char *what)
{
    return fail_at(parse, ERROR_SYNTAX, token, what);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/* Letters of other alphabets count, as for Python's str.isidentifier(); signs, superscripts and
 * digits of the first pages, punctuation, symbols and emoji do not. */
static bool is_letter(uint32_t rune)
{
    static const uint32_t signs[][2] = {
        {0x80, 0xa9},     {0xab, 0xb4},     {0xb6, 0xb9},       {0xbb, 0xbf},     {0xd7, 0xd7},
        {0xf7, 0xf7},     {0x2000, 0x2070}, {0x2072, 0x207e},   {0x2080, 0x208f}, {0x209d, 0x2101},
        {0x2150, 0x215f}, {0x2190, 0x2bff}, {0x3000, 0x3004},   {0x3008, 0x3020}, {0xe000, 0xf8ff},
        {0xff00, 0xff0f}, {0xfff0, 0xffff}, {0x1f000, 0x1faff},
    };
    if (rune < 0x80)
        return (rune >= 'a' && rune <= 'z') || (rune >= 'A' && rune <= 'Z') || rune == '_';
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (rune >= signs[i][0] && rune <= signs[i][1])
            return false;
    return true;
}

static bool is_identifier(Str text)
{
    bool digits = false; /* not in front */
    if (text.n == 0)
        return false;
    for (; text.n > 0; digits = true) {
        uint32_t rune = str_take_rune(&text);
        if (!is_letter(rune) && !(digits && rune >= '0' && rune <= '9'))
            return false;
    }
    return true;
}

static bool is_mark(Str name, char mark)
{
    return name.n == 1 && name.s[0] == mark;
}

/* ---- reading ---- */

/* atom = name [ "+" | "^" ]    name = identifier | digits | "*" | "?" */
static bool parse_atom(Parse *parse, Str token, AnnoAtom *out)
{
    Str name = token;
    char suffix = name.s[name.n - 1];
    AtomKind kind = suffix == '+' ? ATOM_SUM : suffix == '^' ? ATOM_FROZEN : ATOM_SPATIAL;
    if (kind != ATOM_SPATIAL)
        name.n--;

    int64_t number = -1;
    if (name.n > 0 && is_digit(name.s[0])) {
        if (!str_to_int(name, &number) || number > INT64_C(1) << 60)
            return fail(parse, token, "neither an identifier nor a number in range");
        while (name.n > 1 && name.s[0] == '0')
            name = (Str){name.s + 1, name.n - 1};
        kind = ATOM_FROZEN;
    } else if (is_mark(name, '?')) {
        kind = ATOM_FROZEN;
    } else if (!is_mark(name, '*') && !is_identifier(name)) {
        return fail(parse, token, "expected an identifier, a number, '*' or '?'");
    }
    int32_t id = names_intern(parse->names, name);
    *out = (AnnoAtom){names_str(parse->names, id),
                      id,
                      number,
                      kind,
                      kind,
                      (int32_t)(token.s - parse->source->text.s)};
    return true;
}

/* A bracket that ends; brackets of one atom are that atom, empty ones nothing. */
static bool close_bracket(Parse *parse, const AnnoDim *bracket, Str text)
{
    for (int i = 0; bracket->n > 1 && i < bracket->n; i++)
        if (is_mark(bracket->atom[i].name, '*') || is_mark(bracket->atom[i].name, '?'))
            return fail(parse, text, "'*' and '?' stand for whole dims, not in a bracket");
    if (bracket->n > 0)
        vec_push(parse->arena, &parse->dims, *bracket);
    return true;
}

/* The token that text opens with: a bracket, or what reaches to a blank or bracket. */
static Str next_token(Str text)
{
    size_t n = 1;
    if (text.s[0] != '(' && text.s[0] != ')')
        while (n < text.n && !is_blank(text.s[n]) && text.s[n] != '(' && text.s[n] != ')')
            n++;
    return (Str){text.s, n};
}

static Str after(Str text, Str token)
{
    return (Str){token.s + token.n, text.n - (size_t)(token.s + token.n - text.s)};
}

/* dims = { atom | "(" { atom } ")" } */
static bool parse_dims(Parse *parse, Str text)
{
    parse->dims.n = 0;
    AnnoDim dim = {0};
    Str open = {0};
    for (text = str_trim(text); text.n > 0; text = str_trim(text)) {
        Str token = next_token(text);
        text = after(text, token);
        if (token.s[0] == '(') {
            if (open.s)
                return fail(parse, token, "a bracket in a bracket");
            open = token;
            dim.n = 0;
        } else if (token.s[0] == ')') {
            if (!open.s)
                return fail(parse, token, "a bracket that was not opened");
            if (!close_bracket(parse, &dim, open))
                return false;
            open = (Str){0};
        } else {
            if (!open.s)
                dim.n = 0;
            if (dim.n == ANNO_ATOMS_MAX)
                return fail(parse, token, "a bracket has at most 8 members");
            if (!parse_atom(parse, token, &dim.atom[dim.n++]))
                return false;
            if (!open.s)
                vec_push(parse->arena, &parse->dims, dim);
        }
    }
    return open.s ? fail(parse, open, "a bracket that is not closed") : true;
}

/* meta = { "/" [ identifier ] } */
static bool parse_meta(Parse *parse, Str text, AnnoTensor *out)
{
    Vec(Str) names = {0};
    for (text = str_trim(text); text.n > 0; text = str_trim(text)) {
        size_t n = 0;
        while (n < text.n && !is_blank(text.s[n]))
            n++;
        Str token = {text.s, n}, name = {text.s + 1, n - 1};
        text = after(text, token);
        if (token.s[0] != '/' || (name.n > 0 && !is_identifier(name)))
            return fail(parse, token, "expected '/' or '/identifier'");
        bool known = false;
        for (int i = 0; i < names.n; i++)
            known |= str_eq(names.at[i], name);
        if (name.n == 0)
            out->no_grad_reduce_all = true;
        else if (!known)
            vec_push(parse->arena, &names, (Str){arena_str(parse->arena, name), name.n});
    }
    out->n_no_grad = names.n;
    out->no_grad = names.at;
    return true;
}

static bool is_ignored(const AnnoTensor *tensor)
{
    return tensor->n_dims == 1 && tensor->dim[0].n == 1 &&
           is_mark(tensor->dim[0].atom[0].name, '?');
}

/* tensor = "/" | dims [ ":" meta ]; "/" alone is short for "? : /" */
static bool parse_tensor(Parse *parse, Str text, AnnoTensor *out)
{
    *out = (AnnoTensor){0};
    text = str_trim(text);
    if (is_mark(text, '/')) {
        out->no_grad_reduce_all = true;
        text = (Str){"?", 1};
    }
    int64_t colon = str_find(text, STR(":"));
    Str dims_text = colon < 0 ? text : (Str){text.s, (size_t)colon};
    if (!parse_dims(parse, dims_text))
        return false;
    if (colon >= 0 && !parse_meta(parse, after(text, (Str){text.s + colon, 1}), out))
        return false;
    out->n_dims = parse->dims.n;
    out->dim = arena_array(parse->arena, AnnoDim, out->n_dims);
    for (int d = 0; parse->dims.at && d < out->n_dims; d++)
        out->dim[d] = parse->dims.at[d];
    out->ignored = is_ignored(out);
    return true;
}

/* side = blank | tensor { "," tensor } */
static bool parse_side(Parse *parse, Str text, AnnoTensors *out)
{
    text = str_trim(text);
    if (text.n == 0)
        return true;
    for (;;) {
        int64_t comma = str_find(text, STR(","));
        AnnoTensor tensor;
        if (!parse_tensor(parse, comma < 0 ? text : (Str){text.s, (size_t)comma}, &tensor))
            return false;
        vec_push(parse->arena, out, tensor);
        if (comma < 0)
            return true;
        text = after(text, (Str){text.s + comma, 1});
    }
}

/* ---- what holds for the whole op ---- */

/* An identifier has one suffix everywhere. */
static bool check_suffixes(const Parse *parse, const Anno *anno, AnnoDim *const *dim, int n)
{
    const AnnoAtom **first = arena_array(parse->arena, const AnnoAtom *, anno->n_names);
    for (int d = 0; d < n; d++)
        for (int i = 0; i < dim[d]->n; i++) {
            const AnnoAtom *atom = &dim[d]->atom[i];
            if (!first[atom->id])
                first[atom->id] = atom;
            else if (first[atom->id]->kind != atom->kind) {
                error_kind(parse->err, ERROR_INCONSISTENT_REDUCE,
                           "'%.*s' has two suffixes in one annotation", STR_ARG(atom->name));
                error_at(parse->err, parse->source, (size_t)atom->at);
                return false;
            }
        }
    return true;
}

int anno_leading(const AnnoDim *dim)
{
    int i = 0;
    while (i < dim->n - 1 && dim->atom[i].number == 1)
        i++;
    return i;
}

/* Equal slices of a bracketed dim are slices of its leading member only: an identifier that is
 * minor in some bracket is frozen everywhere. */
static void freeze_minor(Arena *arena, const Anno *anno, AnnoDim *const *dim, int n)
{
    bool *minor = arena_array(arena, bool, anno->n_names);
    for (int d = 0; d < n; d++)
        for (int i = anno_leading(dim[d]) + 1; i < dim[d]->n; i++)
            minor[dim[d]->atom[i].id] = true;
    for (int d = 0; d < n; d++)
        for (int i = 0; i < dim[d]->n; i++)
            if (minor[dim[d]->atom[i].id])
                dim[d]->atom[i].kind = ATOM_FROZEN;
}

static bool finish(const Parse *parse, Anno *anno)
{
    anno->n_names = names_count(parse->names);
    anno->name = arena_array(parse->arena, Str, anno->n_names);
    for (int32_t id = 0; id < anno->n_names; id++)
        anno->name[id] = names_str(parse->names, id);

    Vec(AnnoDim *) dims = {0};
    for (int t = 0; t < anno->n_inputs + anno->n_outputs; t++)
        for (int d = 0; d < anno->tensor[t].n_dims; d++)
            vec_push(parse->arena, &dims, &anno->tensor[t].dim[d]);
    if (!check_suffixes(parse, anno, dims.at, dims.n))
        return false;
    freeze_minor(parse->arena, anno, dims.at, dims.n);
    return true;
}

/* op = side "->" side */
Anno *anno_parse(Arena *arena, const Source *source, Error *err)
{
    Parse parse = {.arena = arena, .source = source, .names = names_new(arena), .err = err};
    Str text = source->text;
    int64_t arrow = str_find(text, STR("->"));
    if (arrow < 0) {
        fail(&parse, text, "an annotation has inputs '->' outputs");
        return NULL;
    }
    Str right = after(text, (Str){text.s + arrow, 2});
    int64_t second = str_find(right, STR("->"));
    if (second >= 0) {
        fail(&parse, (Str){right.s + second, 2}, "an annotation has one arrow");
        return NULL;
    }

    AnnoTensors tensors = {0};
    if (!parse_side(&parse, (Str){text.s, (size_t)arrow}, &tensors))
        return NULL;
    Anno *anno = arena_make(arena, Anno);
    anno->n_inputs = tensors.n;
    if (!parse_side(&parse, right, &tensors))
        return NULL;
    anno->n_outputs = tensors.n - anno->n_inputs;
    anno->tensor = tensors.at;
    return finish(&parse, anno) ? anno : NULL;
}

bool anno_parse_tensor(Arena *arena, const Source *source, AnnoTensor *out, Error *err)
{
    Parse parse = {.arena = arena, .source = source, .names = names_new(arena), .err = err};
    return parse_tensor(&parse, source->text, out);
}

/* ---- printing ---- */

static void format_atom(const AnnoAtom *atom, Buf *out)
{
    static const char *const suffix[] = {
        [ATOM_SPATIAL] = "", [ATOM_SUM] = "+", [ATOM_FROZEN] = "^"};
    buf_add(out, atom->name);
    buf_puts(out, suffix[atom->kind]);
}

static void format_dim(const AnnoDim *dim, Buf *out)
{
    if (dim->n > 1)
        buf_putc(out, '(');
    for (int i = 0; i < dim->n; i++) {
        buf_puts(out, i > 0 ? " " : "");
        format_atom(&dim->atom[i], out);
    }
    if (dim->n > 1)
        buf_putc(out, ')');
}

void anno_format_tensor(const AnnoTensor *tensor, Buf *out)
{
    for (int d = 0; d < tensor->n_dims; d++) {
        buf_puts(out, d > 0 ? " " : "");
        format_dim(&tensor->dim[d], out);
    }
    if (tensor->no_grad_reduce_all || tensor->n_no_grad > 0)
        buf_puts(out, " :");
    if (tensor->no_grad_reduce_all)
        buf_puts(out, " /");
    for (int i = 0; i < tensor->n_no_grad; i++)
        buf_printf(out, " /%.*s", STR_ARG(tensor->no_grad[i]));
}

void anno_format(const Anno *anno, Buf *out)
{
    for (int t = 0; t < anno->n_inputs + anno->n_outputs; t++) {
        if (t == anno->n_inputs)
            buf_puts(out, " -> ");
        else if (t > 0)
            buf_puts(out, ", ");
        anno_format_tensor(&anno->tensor[t], out);
    }
    if (anno->n_outputs == 0)
        buf_puts(out, " -> ");
}

/* ---- asking ---- */

int anno_space(Arena *arena, const Anno *anno, AnnoPlace **out)
{
    bool *seen = arena_array(arena, bool, anno->n_names);
    Vec(AnnoPlace) places = {0};
    for (int t = 0; t < anno->n_inputs; t++) {
        const AnnoTensor *tensor = &anno->tensor[t];
        for (int d = 0; !tensor->ignored && d < tensor->n_dims; d++) {
            const AnnoAtom *atom = &tensor->dim[d].atom[anno_leading(&tensor->dim[d])];
            if (!seen[atom->id] && atom->kind != ATOM_FROZEN)
                vec_push(arena, &places, (AnnoPlace){t, d});
            seen[atom->id] = true;
        }
    }
    *out = places.at;
    return places.n;
}
