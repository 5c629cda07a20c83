#include "core/rules/anno_lint.h"

#include "core/rules/user_op.h"

typedef struct {
    Arena *arena;
    Str text;
    const Anno *anno;
    AnnoLint *out;
    uint32_t independent; /* outputs whose '?' is meant */
    int n;
} Linter;

static const char lossy[] = "lossy-annotation";

/* Line and character of a byte of the text. */
static TextPlace place_of(const Linter *l, size_t at)
{
    TextPlace place = {1, 1};
    for (size_t i = 0; i < at && i < l->text.n; i++) {
        if (l->text.s[i] == '\n')
            place = (TextPlace){place.line + 1, 1};
        else
            place.column += ((unsigned char)l->text.s[i] & 0xC0) != 0x80;
    }
    return place;
}

/* The place of a mark at or after `from`. */
static size_t find_behind(const Linter *l, const char *mark, size_t from)
{
    Str rest = {l->text.s + from, l->text.n - from};
    int64_t at = str_find(rest, str_from(mark));
    return at < 0 ? from : from + (size_t)at;
}

static void add(Linter *l, size_t at, Level level, const char *code, const char *text,
                const char *hint)
{
    if (l->n < ANNO_LINTS_MAX)
        l->out[l->n] = (AnnoLint){place_of(l, at), level, code, text, hint};
    l->n++;
}

static bool is_identifier(const AnnoAtom *atom)
{
    return atom->number < 0 && !str_eq(atom->name, STR("*")) && !str_eq(atom->name, STR("?"));
}

static const AnnoAtom *find_atom(const AnnoTensor *tensor, int32_t id)
{
    for (int d = 0; d < tensor->n_dims; d++)
        for (int a = 0; a < tensor->dim[d].n; a++)
            if (tensor->dim[d].atom[a].id == id)
                return &tensor->dim[d].atom[a];
    return NULL;
}

static const AnnoTensor *output_at(const Linter *l, int o)
{
    return &l->anno->tensor[l->anno->n_inputs + o];
}

/* Calls body on the atoms of tensors [from, to) that are not '?'. */
typedef void AtomFn(Linter *l, int tensor, int dim, const AnnoAtom *atom);
static void each_atom(Linter *l, int from, int to, AtomFn *body)
{
    for (int t = from; t < to; t++) {
        const AnnoTensor *tensor = &l->anno->tensor[t];
        for (int d = 0; d < tensor->n_dims && !tensor->ignored; d++)
            for (int a = 0; a < tensor->dim[d].n; a++)
                if (is_identifier(&tensor->dim[d].atom[a]))
                    body(l, t, d, &tensor->dim[d].atom[a]);
    }
}

/* Whether an earlier tensor has the identifier. */
static bool seen_before(const Linter *l, int tensor, int32_t id)
{
    for (int t = 0; t < tensor; t++)
        if (find_atom(&l->anno->tensor[t], id))
            return true;
    return false;
}

/* Reports a spatial identifier of an input that an output lacks. */
static void lint_spatial(Linter *l, int input, int dim, const AnnoAtom *atom)
{
    (void)dim;
    if (atom->kind != ATOM_SPATIAL || seen_before(l, input, atom->id))
        return;
    for (int o = 0; o < l->anno->n_outputs; o++) {
        if (output_at(l, o)->ignored || find_atom(output_at(l, o), atom->id))
            continue;
        add(l, (size_t)atom->at, LEVEL_WARNING, lossy,
            arena_printf(l->arena,
                         "output %d lacks '%.*s', which input %d has: sharding it would lose data",
                         o, STR_ARG(atom->name), input),
            arena_printf(l->arena, "write %.*s+ if it is summed, %.*s^ if it is never sharded",
                         STR_ARG(atom->name), STR_ARG(atom->name)));
        return;
    }
}

static void lint_summed(Linter *l, int t, int dim, const AnnoAtom *atom)
{
    (void)dim;
    if (atom->kind == ATOM_SUM)
        add(l, (size_t)atom->at, LEVEL_WARNING, lossy,
            arena_printf(l->arena, "'%.*s' is summed and stands in output %d", STR_ARG(atom->name),
                         t - l->anno->n_inputs),
            "an identifier with + is in inputs only");
}

/* Reports an identifier that only an output has: its length must come from a keyword argument. */
static void lint_undefined(Linter *l, int t, int dim, const AnnoAtom *atom)
{
    (void)dim;
    const AnnoAtom *first = find_atom(&l->anno->tensor[t], atom->id);
    if (first && first->at == atom->at && !seen_before(l, t, atom->id))
        add(l, (size_t)atom->at, LEVEL_NOTE, "undefined-identifier",
            arena_printf(l->arena,
                         "'%.*s' of output %d is in no input: its length must be a "
                         "keyword argument",
                         STR_ARG(atom->name), t - l->anno->n_inputs),
            arena_printf(l->arena, "ops without an argument '%.*s' are refused",
                         STR_ARG(atom->name)));
}

/* Reports an identifier that stands for two dims of one tensor. */
static void lint_twice(Linter *l, int t, int dim, const AnnoAtom *atom)
{
    const AnnoTensor *tensor = &l->anno->tensor[t];
    for (int d = 0; d < dim; d++)
        for (int a = 0; a < tensor->dim[d].n; a++)
            if (tensor->dim[d].atom[a].id == atom->id) {
                bool output = t >= l->anno->n_inputs;
                add(l, (size_t)atom->at, LEVEL_WARNING, "identifier-twice",
                    arena_printf(l->arena,
                                 "'%.*s' is on dims %d and %d of %s %d: a part would be its "
                                 "diagonal, so it is never sharded",
                                 STR_ARG(atom->name), d, dim, output ? "output" : "input",
                                 output ? t - l->anno->n_inputs : t),
                    "give the dims identifiers of their own, or freeze this one with ^");
                return;
            }
}

static const char *bracket_text(const Linter *l, const AnnoDim *dim)
{
    Buf text = buf_new(l->arena);
    for (int a = 0; a < dim->n; a++)
        buf_printf(&text, "%s%.*s", a > 0 ? " " : "(", STR_ARG(dim->atom[a].name));
    buf_putc(&text, ')');
    return text.s;
}

/* Warns once about an identifier that is frozen only because of its place in a bracket. */
static void lint_forced(Linter *l, int t, int d, const AnnoAtom *atom, bool *reported)
{
    const AnnoDim *dim = &l->anno->tensor[t].dim[d];
    if (reported[atom->id] || atom->kind != ATOM_FROZEN || atom->written == ATOM_FROZEN ||
        atom <= &dim->atom[anno_leading(dim)])
        return;
    bool output = t >= l->anno->n_inputs;
    reported[atom->id] = true;
    add(l, (size_t)atom->at, LEVEL_NOTE, "forced-freeze",
        arena_printf(l->arena,
                     "'%.*s' is not the first of the bracket %s of %s %d: nnScaler freezes it "
                     "everywhere, here it may be sharded",
                     STR_ARG(atom->name), bracket_text(l, dim), output ? "output" : "input",
                     output ? t - l->anno->n_inputs : t),
        arena_printf(l->arena, "write %.*s^ if it is never sharded", STR_ARG(atom->name)));
}

static void lint_brackets(Linter *l)
{
    bool *reported = arena_array(l->arena, bool, l->anno->n_names);
    for (int t = 0; t < l->anno->n_inputs + l->anno->n_outputs; t++) {
        const AnnoTensor *tensor = &l->anno->tensor[t];
        for (int d = 0; d < tensor->n_dims && !tensor->ignored; d++)
            for (int a = 0; a < tensor->dim[d].n; a++)
                if (is_identifier(&tensor->dim[d].atom[a]))
                    lint_forced(l, t, d, &tensor->dim[d].atom[a], reported);
    }
}

/* Returns true when some input has a dim that may be sharded. */
static bool some_input_is_cut(const Linter *l)
{
    for (int i = 0; i < l->anno->n_inputs; i++)
        for (int d = 0; d < l->anno->tensor[i].n_dims && !l->anno->tensor[i].ignored; d++)
            for (int a = 0; a < l->anno->tensor[i].dim[d].n; a++) {
                const AnnoAtom *atom = &l->anno->tensor[i].dim[d].atom[a];
                if (is_identifier(atom) && atom->kind != ATOM_FROZEN)
                    return true;
            }
    return false;
}

static void lint_ignored(Linter *l)
{
    for (int o = 0; o < l->anno->n_outputs; o++)
        if (output_at(l, o)->ignored && !(l->independent >> (o & 31) & 1) && some_input_is_cut(l))
            add(l, find_behind(l, "?", find_behind(l, "->", 0)), LEVEL_WARNING, lossy,
                arena_printf(
                    l->arena,
                    "output %d is '?': how it is sharded when an input is sharded is unknown", o),
                arena_printf(
                    l->arena,
                    "name its dims, freeze those of the inputs with ^, or say that it does "
                    "not depend on them: independent = {%d}",
                    o));
}

/* Reports identifiers after a slash that no tensor has. */
static void lint_meta(Linter *l, int t)
{
    const AnnoTensor *tensor = &l->anno->tensor[t];
    for (int m = 0; m < tensor->n_no_grad; m++) {
        Str name = tensor->no_grad[m];
        bool found = false;
        for (int i = 0; i < l->anno->n_names; i++)
            found |= str_eq(l->anno->name[i], name);
        if (!found)
            add(l, find_behind(l, arena_printf(l->arena, "/%.*s", STR_ARG(name)), 0) + 1,
                LEVEL_WARNING, "unknown-meta",
                arena_printf(l->arena, "'/%.*s' names no identifier of the annotation",
                             STR_ARG(name)),
                "write an identifier after the slash whose sharding leaves this gradient whole");
    }
}

int anno_lint(Arena *arena, Str text, const Anno *anno, uint32_t independent,
              AnnoLint out[ANNO_LINTS_MAX])
{
    Linter l = {.arena = arena, .text = text, .anno = anno, .out = out, .independent = independent};
    int n_inputs = anno->n_inputs, n = n_inputs + anno->n_outputs;
    each_atom(&l, 0, n_inputs, lint_spatial);
    lint_ignored(&l);
    each_atom(&l, n_inputs, n, lint_summed);
    each_atom(&l, n_inputs, n, lint_undefined);
    each_atom(&l, 0, n, lint_twice);
    lint_brackets(&l);
    for (int t = 0; t < n; t++)
        lint_meta(&l, t);
    return l.n < ANNO_LINTS_MAX ? l.n : ANNO_LINTS_MAX;
}

static Finding finding_of(Arena *arena, const Operator *row, int candidate, const AnnoLint *lint)
{
    const AnnoSource *source = row->anno;
    TextPlace start = source->place ? source->place[candidate] : (TextPlace){source->line, 0};
    TextPlace place = text_place(start, lint->place.line, lint->place.column);
    Finding finding = {.level = lint->level, .code = lint->code, .hint = lint->hint};
    finding.text = arena_printf(arena, "%s, `%s` at character %d: %s", row->name,
                                source->annos[candidate], lint->place.column, lint->text);
    finding.file = source->file;
    finding.line = place.line;
    finding.column = place.column;
    finding.op = finding.tensor = -1;
    return finding;
}

void anno_lint_operator(Arena *arena, const Operator *row, Findings *out)
{
    uint32_t independent = row->user ? row->user->independent : 0;
    for (int i = 0; row->anno && row->anno->annos && row->anno->annos[i]; i++) {
        AnnoLint lints[ANNO_LINTS_MAX];
        Source source = {row->name, str_from(row->anno->annos[i])};
        const Anno *anno = anno_parse(arena, &source, NULL);
        int n = anno ? anno_lint(arena, source.text, anno, independent, lints) : 0;
        for (int k = 0; k < n; k++)
            vec_push(arena, out, finding_of(arena, row, i, &lints[k]));
    }
}
