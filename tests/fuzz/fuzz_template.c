/* fuzz_template.c - templates: any texts may be read and applied, patterns read back as printed.
 *
 * The lines of the input are the fields of a template with two input slots; its bytes again make up
 * the shapes. What applies is a box to write and read: ranges of all operands, a print, an export.
 */
#include "core/peers/tapestry/pattern.h"
#include "core/peers/tapestry/template.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 4096, N_LINES = 12, TENSORS_MAX = 3 };

/* The next line, or NULL at the end; an empty one is no field. */
static const char *take_line(Arena *arena, Str *rest)
{
    const char *end = rest->n > 0 ? memchr(rest->s, '\n', rest->n) : NULL;
    Str line = {rest->s, end ? (size_t)(end - rest->s) : rest->n};
    size_t taken = line.n + (end ? 1 : 0);
    *rest = (Str){rest->s + taken, rest->n - taken};
    return line.n > 0 ? arena_str(arena, line) : NULL;
}

static const char *printed(Arena *arena, const Pattern *pattern)
{
    Buf out = buf_new(arena);
    pattern_format(pattern, &out);
    return out.s;
}

static void pattern_reads_back(Arena *arena, const char *text)
{
    const Pattern *pattern = text ? pattern_read(arena, "", "pattern", str_from(text), NULL) : NULL;
    if (!pattern)
        return;
    const char *once = printed(arena, pattern);
    const Pattern *again = pattern_read(arena, "", "pattern", str_from(once), NULL);
    if (!again || strcmp(once, printed(arena, again)) != 0)
        abort();
}

static TemplateTensor made_up(const uint8_t *data, size_t size, size_t seed)
{
    TemplateTensor tensor = {.dtype = data[seed % size] % 2 ? STR("f32") : STR("int64")};
    tensor.shape.n_dims = data[seed % size] / 2 % 5;
    for (int64_t d = 0; d < tensor.shape.n_dims; d++)
        tensor.shape.dim[d] = data[(seed + (size_t)d + 1) % size] % 7;
    return tensor;
}

static void uses_space(Arena *arena, const Template *template, OpSpace *space)
{
    Box index = {.n = space->n_index}, range;
    for (int j = 0; j < index.n; j++)
        index.hi[j] = space->index[j].size;
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++)
        projection_range(&space->operand[i].projection, &space->operand[i].shape, &index, &range);
    Buf out = buf_new(arena), lost = buf_new(arena);
    template_print(space, &out, &lost);
    opspace_finish(space, NULL);
    json_free(template_json(arena, template, space));
}

static void applies(Arena *arena, const Template *template, const uint8_t *data, size_t size)
{
    const TemplateText *text = template_text(template);
    TemplateTensor tensors[2][TENSORS_MAX];
    const TemplateTensor *tensor[2] = {tensors[0], tensors[1]};
    int n[2] = {1, data[size / 2] % (TENSORS_MAX + 1)};
    int64_t ints[] = {data[0] % 5, data[size - 1] % 3};
    TemplateArg args[] = {{"a", data[0] & 64, false, data[0] & 64 ? 2 : 1, ints, {0}}};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < TENSORS_MAX; k++)
            tensors[i][k] = made_up(data, size, (size_t)(i * 7 + k * 3));
    TemplateCall call = {n, tensor, text->n_params > 0 && data[0] & 128 ? 1 : 0, args};
    TemplateResult result;
    Error err = {0};
    if (template_apply(arena, template, &call, &result, &err))
        uses_space(arena, template, result.space);
    else if (!error_is_set(&err))
        abort(); /* a refusal says why */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > INPUT_MAX)
        return 0;
    Arena *arena = arena_new();
    Str rest = {(const char *)data, size};
    const char *line[N_LINES];
    for (int i = 0; i < N_LINES; i++)
        line[i] = take_line(arena, &rest);
    pattern_reads_back(arena, line[0]);

    bool parts = data[0] & 1;
    TemplateSlot inputs[] = {{.name = "x", .shape = line[0], .ipf = line[1], .dtype = "$t"},
                             {.name = "w", .shape = line[2], .optional = true, .clip = true}};
    TemplateSlot output = {.name = "y", .shape = line[4], .each = line[5]};
    if (parts)
        inputs[1].map = line[3];
    else
        inputs[1].ipf = line[3];
    output.ipf = line[6];
    TemplateField param = {"a", line[10]};
    TemplateText text = {.name = "fuzz",
                         .index = line[7],
                         .reduce = line[8],
                         .reduce_op = "sum",
                         .n_params = line[10] ? 1 : 0,
                         .params = &param,
                         .n_let = line[9] ? 1 : 0,
                         .let = &line[9],
                         .n_require = line[11] ? 1 : 0,
                         .require = &line[11],
                         .n_inputs = line[2] ? 2 : 1,
                         .inputs = inputs,
                         .n_outputs = 1,
                         .outputs = &output};
    Error err = {0};
    const Template *template = template_load(arena, &text, &err);
    if (template)
        applies(arena, template, data, size);
    else if (!error_is_set(&err))
        abort();
    arena_free(arena);
    return 0;
}
