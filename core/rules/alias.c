#include "core/rules/alias.h"

#include "core/base/scan.h"
#include "core/rules/one_op.h"
#include "core/rules/registry.h"
#include "core/space/opspace.h"

/* ---- systems ---- */

/* Prefixes of a name. The first one of a system is the system's name. */
static const struct {
    const char *text;
    SystemId system;
} prefixes[] = {
    {"nnscaler", SYSTEM_NNSCALER}, {"torch", SYSTEM_TORCH},   {"aten", SYSTEM_TORCH},
    {"vescale", SYSTEM_TORCH},     {"paddle", SYSTEM_PADDLE}, {"stablehlo", SYSTEM_SHARDY},
    {"shardy", SYSTEM_SHARDY},
};
enum { N_PREFIXES = sizeof prefixes / sizeof *prefixes };

/* Modules from which torch's operators are called. */
static const char *const modules[] = {"nn.functional.", "ops.aten.", "Tensor.", "special.",
                                      "linalg.",        "fft.",      "_C._nn."};

const char *system_name(SystemId system)
{
    int i = 0;
    while (prefixes[i].system != system)
        i++;
    return prefixes[i].text;
}

bool alias_split(Str name, SystemId *system, Str *rest)
{
    for (int i = 0; i < N_PREFIXES; i++) {
        Str prefix = str_from(prefixes[i].text);
        if (!str_starts(name, prefix))
            continue;
        Str after = {name.s + prefix.n, name.n - prefix.n};
        size_t mark = str_starts(after, STR("::")) ? 2 : str_starts(after, STR(".")) ? 1 : 0;
        if (mark == 0 || after.n == mark)
            continue;
        *system = prefixes[i].system;
        *rest = (Str){after.s + mark, after.n - mark};
        return true;
    }
    return false;
}

/* Removes one part of the name: first the module, then the overload, then the `_` of an in-place
 * form. Returns false when nothing is left to remove. */
static bool shorten(SystemId system, Str *name)
{
    for (size_t i = 0; system == SYSTEM_TORCH && i < sizeof modules / sizeof *modules; i++) {
        Str module = str_from(modules[i]);
        if (str_starts(*name, module) && name->n > module.n) {
            *name = (Str){name->s + module.n, name->n - module.n};
            return true;
        }
    }
    for (size_t n = name->n; n > 1; n--)
        if (name->s[n - 1] == '.') {
            name->n = n - 1;
            return true;
        }
    if (name->n > 1 && str_ends(*name, STR("_"))) {
        name->n--;
        return true;
    }
    return false;
}

/* ---- reading a text: { name [ "(" attrs [ ";" operands [ ";" constants ] ] ")" ] } ---- */

/* The characters up to one of `ends` outside of [ ]. */
static Str next_part(Scan *scan, const char *ends)
{
    scan_peek(scan);
    Str text = scan->source->text;
    size_t from = scan->at;
    for (int depth = 0; scan->at < text.n; scan->at++) {
        char c = text.s[scan->at];
        if (depth == 0 && strchr(ends, c))
            break;
        depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    }
    return str_trim((Str){text.s + from, scan->at - from});
}

static bool more(Scan *scan)
{
    char next = scan_peek(scan);
    return next != ';' && next != ')';
}

/* attrs = [ theirs "=" ours { "," theirs "=" ours } ] */
static bool read_attrs(Arena *arena, Scan *scan, Alias *alias)
{
    Vec(struct AliasAttr) attrs = {0};
    while (more(scan)) {
        Str theirs, ours;
        if (!scan_name(scan, &theirs) || !scan_char(scan, '=') || !scan_name(scan, &ours))
            return false;
        vec_push(arena, &attrs,
                 (struct AliasAttr){arena_str(arena, theirs), arena_str(arena, ours)});
        if (!scan_accept(scan, ','))
            break;
    }
    alias->attr = attrs.at;
    alias->n_attrs = attrs.n;
    return true;
}

/* operands = [ number { "," number } ] */
static bool read_operands(Arena *arena, Scan *scan, Alias *alias)
{
    Vec(int) operands = {0};
    while (more(scan)) {
        int64_t theirs = -1;
        if (!scan_accept(scan, '-') && !scan_int(scan, &theirs))
            return false;
        if (theirs >= OPERANDS_MAX)
            return scan_fail(scan, "no operator has that many operands");
        vec_push(arena, &operands, (int)theirs);
        if (!scan_accept(scan, ','))
            break;
    }
    alias->operand = operands.at;
    alias->n_operands = operands.n;
    return true;
}

/* constants = [ ours ":=" value { "," ours ":=" value } ] */
static bool read_constants(Arena *arena, Scan *scan, Alias *alias)
{
    Vec(struct AliasConstant) constants = {0};
    while (more(scan)) {
        Str ours;
        if (!scan_name(scan, &ours) || !scan_char(scan, ':') || !scan_char(scan, '='))
            return false;
        struct AliasConstant constant = {.ours = arena_str(arena, ours)};
        Str value = str_from(arena_str(arena, next_part(scan, ",;)")));
        if (value.n == 0)
            return scan_fail(scan, "expected a value");
        one_op_attr_value(arena, value, &constant.value);
        vec_push(arena, &constants, constant);
        if (!scan_accept(scan, ','))
            break;
    }
    alias->constant = constants.at;
    alias->n_constants = constants.n;
    return true;
}

static bool read_brackets(Arena *arena, Scan *scan, Alias *alias)
{
    return read_attrs(arena, scan, alias) &&
           (!scan_accept(scan, ';') || read_operands(arena, scan, alias)) &&
           (!scan_accept(scan, ';') || read_constants(arena, scan, alias)) && scan_char(scan, ')');
}

bool alias_read(Arena *arena, const char *op_type, SystemId system, const char *text, Aliases *out,
                Error *err)
{
    Source source = {op_type, str_from(text)};
    Scan scan = scan_begin(&source, err);
    while (scan_peek(&scan) != '\0') {
        Str name = next_part(&scan, " (;,)=");
        Alias alias = {.name = arena_str(arena, name), .op_type = op_type, .system = system};
        if (name.n == 0)
            return scan_fail(&scan, "expected a name");
        if (scan_accept(&scan, '(') && !read_brackets(arena, &scan, &alias))
            return false;
        vec_push(arena, out, alias);
    }
    return true;
}

/* ---- finding ---- */

/* Texts are searched for the name first, and only a text that contains it is parsed, so names that
 * no graph uses cost nothing. */
static const Alias *find_in(Arena *arena, SystemId system, Str name)
{
    for (const Operator *row = NULL; (row = operator_next(row));) {
        Aliases read = {0};
        const char *text = row->names[system];
        if (!text || str_find(str_from(text), name) < 0 ||
            !alias_read(arena, row->name, system, text, &read, NULL))
            continue;
        for (int i = 0; i < read.n; i++)
            if (str_eq(str_from(read.at[i].name), name))
                return &read.at[i];
    }
    return NULL;
}

const Alias *alias_find(Arena *arena, Str name)
{
    const Alias *found = NULL;
    SystemId system;
    Str rest;
    if (str_find(name, STR("~")) >= 0)
        return NULL; /* a gradient of a training step: no system has such names */
    for (int s = 0; name.n > 0 && !found && s < SYSTEM_COUNT; s++)
        found = find_in(arena, (SystemId)s, name);
    if (found || !alias_split(name, &system, &rest))
        return found;
    do
        found = find_in(arena, system, rest);
    while (!found && shorten(system, &rest));
    return found;
}

Aliases alias_names(Arena *arena, const char *op_type)
{
    Aliases names = {0};
    for (const Operator *row = NULL; (row = operator_next(row));)
        for (int s = 0; s < SYSTEM_COUNT; s++)
            if (row->names[s] && (!op_type || strcmp(row->name, op_type) == 0))
                alias_read(arena, row->name, (SystemId)s, row->names[s], &names, NULL);
    return names;
}

/* ---- asking ---- */

const Attr *alias_attr(const Alias *alias, const Graph *graph, int32_t op, const char *ours)
{
    bool listed = false;
    for (int i = 0; i < alias->n_attrs; i++) {
        if (strcmp(alias->attr[i].ours, ours) != 0)
            continue;
        const Attr *found = op_attr(graph, op, alias->attr[i].theirs);
        if (found)
            return found;
        listed = true;
    }
    for (int i = 0; i < alias->n_constants; i++)
        if (strcmp(alias->constant[i].ours, ours) == 0)
            return &alias->constant[i].value;
    return listed ? NULL : op_attr(graph, op, ours);
}

const char *alias_ours(const Alias *alias, const char *theirs)
{
    for (int i = 0; i < alias->n_attrs; i++)
        if (strcmp(alias->attr[i].theirs, theirs) == 0)
            return alias->attr[i].ours;
    return theirs;
}

int alias_operand(const Alias *alias, int ours)
{
    if (alias->n_operands == 0)
        return ours;
    return ours < alias->n_operands ? alias->operand[ours] : -1;
}
