#include "core/rules/anno_lint.h"

typedef struct {
    Arena *arena;
    Str text;
    const Anno *anno;
    AnnoLint *out;
    int n;
} Linter;

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* The character, from 1, at which an identifier first stands behind `from`; of a mark like '?' the
 * same. */
static int column_of(Str text, Str name, size_t from)
{
    size_t at = from;
    for (; at + name.n <= text.n; at++) {
        bool starts = at == 0 || !in_name(text.s[at - 1]) || !in_name(name.s[0]);
        bool ends = at + name.n == text.n || !in_name(text.s[at + name.n]) || !in_name(name.s[0]);
        if (starts && ends && memcmp(text.s + at, name.s, name.n) == 0)
            break;
    }
    int column = 1;
    for (size_t i = 0; i < at && i < text.n; i++)
        column += ((unsigned char)text.s[i] & 0xC0) != 0x80;
    return column;
}

static size_t after_arrow(Str text)
{
    int64_t arrow = str_find(text, STR("->"));
    return arrow < 0 ? 0 : (size_t)arrow;
}

static void add(Linter *l, int column, const char *text, const char *hint)
{
    if (l->n < ANNO_LINTS_MAX)
        l->out[l->n] = (AnnoLint){column, text, hint};
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

/* A spatial identifier that an output lacks. */
static void lint_spatial(Linter *l, int input, const AnnoAtom *atom)
{
    for (int o = 0; o < l->anno->n_outputs; o++) {
        if (output_at(l, o)->ignored || find_atom(output_at(l, o), atom->id))
            continue;
        add(l, column_of(l->text, atom->name, 0),
            arena_printf(l->arena,
                         "output %d lacks '%.*s', which input %d has: a cut would lose data", o,
                         STR_ARG(atom->name), input),
            arena_printf(l->arena, "write %.*s+ where it is summed, %.*s^ where it is never cut",
                         STR_ARG(atom->name), STR_ARG(atom->name)));
        return;
    }
}

/* Whether the identifier was seen in an earlier input. */
static bool seen_before(const Linter *l, int input, int32_t id)
{
    for (int i = 0; i < input; i++)
        if (find_atom(&l->anno->tensor[i], id))
            return true;
    return false;
}

static void lint_inputs(Linter *l)
{
    for (int i = 0; i < l->anno->n_inputs; i++) {
        const AnnoTensor *tensor = &l->anno->tensor[i];
        for (int d = 0; d < tensor->n_dims && !tensor->ignored; d++)
            for (int a = 0; a < tensor->dim[d].n; a++) {
                const AnnoAtom *atom = &tensor->dim[d].atom[a];
                if (is_identifier(atom) && atom->kind == ATOM_SPATIAL &&
                    !seen_before(l, i, atom->id))
                    lint_spatial(l, i, atom);
            }
    }
}

static void lint_output(Linter *l, int o)
{
    const AnnoTensor *tensor = output_at(l, o);
    size_t arrow = after_arrow(l->text);
    if (tensor->ignored)
        add(l, column_of(l->text, STR("?"), arrow),
            arena_printf(l->arena,
                         "output %d is '?': what a cut of an input leaves of it is not said", o),
            "name its dims, or freeze those of the inputs with ^");
    for (int d = 0; d < tensor->n_dims && !tensor->ignored; d++)
        for (int a = 0; a < tensor->dim[d].n; a++) {
            const AnnoAtom *atom = &tensor->dim[d].atom[a];
            if (is_identifier(atom) && atom->kind == ATOM_SUM)
                add(l, column_of(l->text, atom->name, arrow),
                    arena_printf(l->arena, "'%.*s' is summed and stands in output %d",
                                 STR_ARG(atom->name), o),
                    "an identifier with + is in inputs only");
        }
}

/* True when some input has a dim that may be cut. */
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

/* Identifiers after a slash that the tensor does not have. */
static void lint_meta(Linter *l, int t)
{
    const AnnoTensor *tensor = &l->anno->tensor[t];
    for (int m = 0; m < tensor->n_no_grad; m++) {
        bool found = false;
        for (int d = 0; d < tensor->n_dims; d++)
            for (int a = 0; a < tensor->dim[d].n; a++)
                found |= str_eq(tensor->dim[d].atom[a].name, tensor->no_grad[m]);
        if (!found)
            add(l, column_of(l->text, tensor->no_grad[m], 0),
                arena_printf(l->arena, "'/%.*s' names no identifier of its tensor",
                             STR_ARG(tensor->no_grad[m])),
                "after a slash stand identifiers of the tensor whose gradient is not reduced");
    }
}

int anno_lint(Arena *arena, Str text, const Anno *anno, AnnoLint out[ANNO_LINTS_MAX])
{
    Linter l = {.arena = arena, .text = text, .anno = anno, .out = out};
    lint_inputs(&l);
    bool cut = some_input_is_cut(&l);
    for (int o = 0; o < anno->n_outputs; o++)
        if (cut || !output_at(&l, o)->ignored)
            lint_output(&l, o);
    for (int t = 0; t < anno->n_inputs + anno->n_outputs; t++)
        lint_meta(&l, t);
    return l.n < ANNO_LINTS_MAX ? l.n : ANNO_LINTS_MAX;
}

void anno_lint_operator(Arena *arena, const Operator *row, Findings *out)
{
    for (int i = 0; row->anno && row->anno->annos && row->anno->annos[i]; i++) {
        AnnoLint lints[ANNO_LINTS_MAX];
        Source source = {row->name, str_from(row->anno->annos[i])};
        const Anno *anno = anno_parse(arena, &source, NULL);
        int n = anno ? anno_lint(arena, source.text, anno, lints) : 0;
        for (int k = 0; k < n; k++)
            vec_push(arena, out,
                     (Finding){.level = LEVEL_WARNING,
                               .code = "lossy-annotation",
                               .text = arena_printf(arena, "%s, `%.*s` at character %d: %s",
                                                    row->name, STR_ARG(source.text),
                                                    lints[k].column, lints[k].text),
                               .hint = lints[k].hint,
                               .file = row->anno->file,
                               .line = row->anno->line,
                               .op = -1,
                               .tensor = -1});
    }
}
