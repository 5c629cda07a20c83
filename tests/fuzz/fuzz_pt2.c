/* fuzz_pt2.c - any bytes as a program of torch.export: a zip file, the program's JSON alone, or
 * with a first byte of Z an archive that is made around the JSON behind it, so that the fuzzer need
 * not find out checksums. A graph is read, or an error says what is wrong. */
#include "core/peers/torch_export/reader.h"

#include <stdlib.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(Buf *out, uint64_t number, int n)
{
    for (int i = 0; i < n; i++)
        buf_putc(out, (char)(i < 8 ? number >> 8 * i & 0xff : 0));
}

/* A member of a zip file, and its entry in the directory. */
static void put_member(Buf *out, Buf *directory, const char *name, Str bytes)
{
    uint64_t crc = crc32_z(0, (const unsigned char *)bytes.s, bytes.n), at = out->n;
    for (int i = 0; i < 2; i++) {
        Buf *to = i == 0 ? out : directory;
        buf_add(to, i == 0 ? (Str){"PK\3\4\24\0", 6} : (Str){"PK\1\2\24\0\24\0", 8});
        put(to, 0, 8);
        put(to, crc, 4);
        put(to, bytes.n, 4);
        put(to, bytes.n, 4);
        put(to, strlen(name), 2);
        put(to, 0, i == 0 ? 2 : 12);
        if (i == 1)
            put(to, at, 4);
        buf_puts(to, name);
    }
    buf_add(out, bytes);
}

static Str archive_of(Arena *arena, Str program)
{
    static const char config[] =
        "{\"config\": {\"w\": {\"path_name\": \"weight_0\", \"tensor_meta\": {\"dtype\": 7, "
        "\"sizes\": [], \"strides\": [{\"as_int\": 4}, {\"as_int\": 1}], \"storage_offset\": "
        "{\"as_int\": 0}}}}}";
    Buf out = buf_new(arena), directory = buf_new(arena);
    put_member(&out, &directory, "m/models/model.json", program);
    put_member(&out, &directory, "m/data/weights/model_weights_config.json", STR(config));
    put_member(&out, &directory, "m/data/weights/weight_0", (Str){program.s, program.n & ~3UL});
    size_t at = out.n;
    buf_add(&out, buf_str(&directory));
    buf_add(&out, (Str){"PK\5\6\0\0\0\0\3\0\3\0", 12});
    put(&out, directory.n, 4);
    put(&out, at, 4);
    put(&out, 0, 2);
    return buf_str(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *arena = arena_new();
    Str bytes = {(const char *)data, size};
    DimBindings dims = {0};
    Findings notes = {0};
    Error err = {0};
    ModelFile file = {.arena = arena, .path = "fuzz.graph.json", .text = bytes, .dims = &dims};
    file.notes = &notes;
    if (size > 0 && data[0] == 'Z') {
        file.path = "fuzz.pt2";
        file.text = archive_of(arena, (Str){bytes.s + 1, size - 1});
    }
    Graph *graph = torch_export_read(&file, &err);
    if (!graph && !error_is_set(&err))
        abort();
    for (int32_t t = 0; graph && t < graph->n_tensors; t++)
        if (graph->tensors[t].declared >= 0)
            for (int d = 0; d < graph->tensors[t].n_declared; d++)
                (void)dim_size(graph, graph->declared[graph->tensors[t].declared + d], &dims);
    arena_free(arena);
    return 0;
}
