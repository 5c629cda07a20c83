/* fuzz_anno.c - annotations: what prints reads back as it printed, and any inputs may be tried.
 *
 * The text is the input; its bytes again make up shapes for a match, an op space and a cut.
 */
#include "core/space/anno_partition.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUTS_MAX = 8, TEXT_MAX = 4096 };

static const char *printed(Arena *arena, const Anno *anno)
{
    Buf out = buf_new(arena);
    anno_format(anno, &out);
    return out.s;
}

static void reads_back(Arena *arena, const Anno *anno)
{
    const char *text = printed(arena, anno);
    Source source = {"canonical", str_from(text)};
    Error err = {0};
    const Anno *again = anno_parse(arena, &source, &err);
    if (!again || strcmp(text, printed(arena, again)) != 0)
        abort();
}

/* Sizes of 1 to 6, mostly of the rank that is asked for, or no tensor. */
static AnnoInput made_up(const AnnoTensor *tensor, const uint8_t *data, size_t size, size_t seed)
{
    AnnoInput input = {.is_tensor = data[seed % size] % 8 != 0};
    input.shape.n_dims = tensor->n_dims > DIMS_MAX ? DIMS_MAX : tensor->n_dims;
    for (int d = 0; d < input.shape.n_dims; d++)
        input.shape.dim[d] = 1 + data[(seed + (size_t)d) % size] % 6;
    return input;
}

static void tries_inputs(Arena *arena, const Anno *anno, const uint8_t *data, size_t size)
{
    AnnoInput input[INPUTS_MAX];
    AnnoArg args[] = {{STR("a"), true, data[0] % 5}, {STR("b"), true, 2}};
    AnnoMatch match;
    Error err = {0};
    if (anno->n_inputs > INPUTS_MAX)
        return;
    for (int i = 0; i < anno->n_inputs; i++)
        input[i] = made_up(&anno->tensor[i], data, size, (size_t)i * 3);
    if (!anno_match(arena, &anno, 1, input, anno->n_inputs, args, 2, &match, &err))
        return;

    OpSpace *space = anno_opspace(arena, &match, &err);
    Buf out = buf_new(arena);
    if (space)
        opspace_format(space, &out);
    else if (err.kind != ERROR_UNSUPPORTED)
        abort(); /* whatever matches is an op space, but for the limits */
    err = (Error){0};
    AnnoPartition partition;
    if (anno_partition(arena, &match, data[0] % 4, data[size / 2] % 4, 2, false, &partition,
                       &err) &&
        anno_piece_args(&partition, args, 2, args, &err))
        anno_piece_check(arena, &partition, &anno, 1, args, 2, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > TEXT_MAX)
        return 0;
    Arena *arena = arena_new();
    Source source = {"fuzz", {(const char *)data, size}};
    Error err = {0};
    AnnoTensor tensor;
    const Anno *anno = anno_parse(arena, &source, &err);
    if (anno) {
        reads_back(arena, anno);
        tries_inputs(arena, anno, data, size);
    }
    err = (Error){0};
    if (anno_parse_tensor(arena, &source, &tensor, &err)) {
        Buf out = buf_new(arena);
        anno_format_tensor(&tensor, &out);
    }
    arena_free(arena);
    return 0;
}
