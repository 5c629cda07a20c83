/* Texts of meshes and shardings: "MESH\nSHAPE\nVIEW TEXT", VIEW a digit. Whatever can be read
 * prints as a text that is read back to print the same, in every view that holds it. */
#include "core/layout/sharding.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Cuts a line off the front of text. */
static Str take_line(Str *text)
{
    const char *end = text->n > 0 ? memchr(text->s, '\n', text->n) : NULL;
    size_t n = end ? (size_t)(end - text->s) : text->n;
    Str line = {text->s, n};
    n += end != NULL;
    *text = (Str){text->s + n, text->n - n};
    return line;
}

static const Mesh *read_mesh(Arena *arena, Str text)
{
    Source source = {.name = "mesh", .text = text};
    const Mesh *mesh = mesh_parse(arena, &source, NULL);
    if (!mesh)
        return NULL;
    Buf once = buf_new(arena), twice = buf_new(arena);
    mesh_format(mesh, &once);
    source.text = buf_str(&once);
    const Mesh *again = mesh_parse(arena, &source, NULL);
    if (!again)
        abort();
    mesh_format(again, &twice);
    if (!str_eq(buf_str(&once), buf_str(&twice)))
        abort();
    return mesh;
}

static bool read_shape(Str text, Shape *out)
{
    Source source = {.name = "shape", .text = text};
    Error err = {0};
    Scan scan = scan_begin(&source, &err);
    *out = (Shape){0};
    while (scan_peek(&scan) != '\0') {
        if (out->n_dims == DIMS_MAX || !scan_int(&scan, &out->dim[out->n_dims]))
            return false;
        out->n_dims++;
        scan_accept(&scan, ',');
    }
    return shape_check(out, &err);
}

static void check_view(Arena *arena, const Sharding *sharding, const Shape *shape, const Mesh *mesh,
                       ShardingView view)
{
    Buf once = buf_new(arena), twice = buf_new(arena);
    Error err = {0};
    if (!sharding_format(sharding, mesh, view, &once, &err)) {
        if (once.n > 0 || !error_is_set(&err))
            abort();
        return;
    }
    Source source = {.name = "sharding", .text = buf_str(&once)};
    Sharding again;
    if (!sharding_parse(&source, shape, mesh, view, &again, NULL))
        abort();
    if (!sharding_format(&again, mesh, view, &twice, NULL) ||
        !str_eq(buf_str(&once), buf_str(&twice)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = {(const char *)data, size};
    Arena *arena = arena_new();
    const Mesh *mesh = read_mesh(arena, take_line(&text));
    Shape shape;
    if (mesh && read_shape(take_line(&text), &shape) && text.n > 0 && text.s[0] >= '0' &&
        text.s[0] < '0' + VIEW_COUNT) {
        ShardingView view = (ShardingView)(text.s[0] - '0');
        Source source = {.name = "sharding", .text = {text.s + 1, text.n - 1}};
        Sharding sharding;
        Error err = {0};
        bool good = sharding_parse(&source, &shape, mesh, view, &sharding, &err);
        if (good == error_is_set(&err))
            abort();
        for (view = 0; good && view < VIEW_COUNT; view++)
            check_view(arena, &sharding, &shape, mesh, view);
    }
    arena_free(arena);
    return 0;
}
