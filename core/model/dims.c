#include "core/model/graph.h"

#include "core/model/dim_expr.h"

static Str cut_comment(Str line)
{
    const char *hash = line.n > 0 ? memchr(line.s, '#', line.n) : NULL;
    return hash ? (Str){line.s, (size_t)(hash - line.s)} : line;
}

static bool fail_at(Error *err, const Source *source, const char *at, const char *what)
{
    error_kind(err, ERROR_SYNTAX, "%s", what);
    error_hint(err, "dims are bound as name=size, as in batch=8,seq=1024");
    error_at(err, source, (size_t)(at - source->text.s));
    return false;
}

/* Reads NAME=SIZE. Exporters also name dims by expressions such as "floor(s0/2)", so the name is
 * everything before the '='. */
static bool parse_binding(Arena *arena, const Source *source, Str text, DimBindings *bindings,
                          Error *err)
{
    Str size = text;
    Str name = str_trim(str_take(&size, '='));
    if (name.n == 0)
        return fail_at(err, source, text.s, "expected the name of a dim");
    if (name.s + name.n == text.s + text.n || size.s == text.s + text.n)
        return fail_at(err, source, size.s, "expected '=' and a size");

    DimBinding binding = {.name = name};
    Str number = str_trim(size);
    if (!str_to_int(number, &binding.size))
        return fail_at(err, source, number.s, "expected a size");
    if (binding.size < 0)
        return fail_at(err, source, number.s, "a size is 0 or more");
    binding.name = (Str){arena_str(arena, name), name.n};
    vec_push(arena, bindings, binding);
    return true;
}

/* text = line { "\n" line }   line = [ binding { "," binding } [ "," ] ] [ "#" comment ] */
bool dims_parse(Arena *arena, const Source *source, DimBindings *bindings, Error *err)
{
    Str text = source->text;
    while (text.n > 0) {
        Str line = str_trim(cut_comment(str_take(&text, '\n')));
        while (line.n > 0) {
            Str binding = str_trim(str_take(&line, ','));
            if (!parse_binding(arena, source, binding, bindings, err))
                return false;
        }
    }
    return true;
}

int64_t dim_size(const Graph *graph, DeclaredDim dim, const DimBindings *bindings)
{
    if (dim.size >= 0 || dim.name == 0)
        return dim.size;
    Str name = names_str(graph->names, dim.name);
    for (int i = bindings->n - 1; i >= 0; i--)
        if (str_eq(name, bindings->at[i].name))
            return bindings->at[i].size;
    return dim_expr_is(name) ? dim_expr_size(name, bindings) : -1;
}

bool dim_is_overridden(const DimBindings *dims, int i)
{
    for (int later = i + 1; later < dims->n; later++)
        if (str_eq(dims->at[later].name, dims->at[i].name))
            return true;
    return false;
}
