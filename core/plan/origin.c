#include "core/plan/origin.h"

#include "core/base/file.h"
#include "core/base/span.h"

void origin_put_place(const Origin *origin, Buf *out)
{
    size_t from = out->n;

    buf_printf(out, "%s:%d", path_base(origin->file), origin->line);
    buf_mark(out, from, SPAN_PLACE, origin->line);
}

/* What is between the quotes; `at` is the first of them. */
static Str quoted(Str line, size_t at)
{
    size_t end = at + 1;

    while (end < line.n && line.s[end] != line.s[at])
        end += line.s[end] == '\\' ? 2 : 1;
    return (Str){line.s + at + 1, (end < line.n ? end : line.n) - at - 1};
}

static void put_string(const Mesh *mesh, Str string, Buf *out)
{
    Str part = string, name = str_take(&part, ':');
    int axis = mesh_find_axis(mesh, name);

    if (axis < 0 || (name.n < string.n && !str_starts(part, STR("(")))) {
        buf_add(out, string);
        return;
    }
    mesh_put_axis(mesh, axis, out);
    buf_add(out, (Str){string.s + name.n, string.n - name.n});
}

size_t origin_put_lua(const Mesh *mesh, Str line, Buf *out)
{
    for (size_t i = 0; i < line.n; i++) {
        char c = line.s[i];
        if (c == '-' && i + 1 < line.n && line.s[i + 1] == '-') {
            buf_add(out, (Str){line.s + i, line.n - i});
            return i;
        }
        buf_putc(out, c);
        if (c != '"' && c != '\'')
            continue;
        Str string = quoted(line, i);
        put_string(mesh, string, out);
        i += string.n;
        if (i + 1 < line.n)
            buf_putc(out, line.s[++i]);
    }
    return line.n;
}
