/* fuzz_dims.c - any text as --dim or a .dims file: sizes that are 0 or more, or an error with its
 * place; what was read is read again from what it prints. */
#include "core/model/graph.h"

#include <inttypes.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void reads_back(Arena *arena, const DimBindings *dims)
{
    Buf text = buf_new(arena);
    for (int i = 0; i < dims->n; i++) {
        if (dims->at[i].size < 0)
            abort();
        buf_puts(&text, i ? "," : "");
        buf_add(&text, dims->at[i].name); /* it may hold a NUL */
        buf_printf(&text, "=%" PRId64, dims->at[i].size);
    }
    Source source = {"printed", buf_str(&text)};
    DimBindings again = {0};
    if (!dims_parse(arena, &source, &again, NULL) || again.n != dims->n)
        abort();
    for (int i = 0; i < again.n; i++)
        if (!str_eq(again.at[i].name, dims->at[i].name) || again.at[i].size != dims->at[i].size)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *arena = arena_new();
    Source source = {"x.dims", {arena_str(arena, (Str){(const char *)data, size}), size}};
    DimBindings dims = {0};
    Error err = {0};
    if (dims_parse(arena, &source, &dims, &err))
        reads_back(arena, &dims);
    else if (err.line < 1 || err.column < 1)
        abort();
    arena_free(arena);
    return 0;
}
