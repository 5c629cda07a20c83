#include "core/peers/shardy/mlir.h"

#include "core/code/values.h"

#include <inttypes.h>

void mlir_string(Str text, Buf *out)
{
    buf_putc(out, '"');
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.s[i];
        if (c < 0x20 || c >= 0x7F || c == '"' || c == '\\')
            buf_printf(out, "\\%02X", c);
        else
            buf_putc(out, (char)c);
    }
    buf_putc(out, '"');
}

void mlir_comment(Str text, Buf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.s[i];
        buf_printf(out, c < 0x20 || c >= 0x7F ? "\\%02X" : "%c", c);
    }
}

/* The MLIR name of an element type; NULL if MLIR does not have it. */
static const char *element_of(Dtype dtype)
{
    static const struct {
        Dtype dtype;
        const char *name;
    } rows[] = {
        {DT_F32, "f32"},
        {DT_F16, "f16"},
        {DT_BF16, "bf16"},
        {DT_F64, "f64"},
        {DT_BOOL, "i1"},
        {DT_I2, "i2"},
        {DT_I4, "i4"},
        {DT_I8, "i8"},
        {DT_I16, "i16"},
        {DT_I32, "i32"},
        {DT_I64, "i64"},
        {DT_U2, "ui2"},
        {DT_U4, "ui4"},
        {DT_U8, "ui8"},
        {DT_U16, "ui16"},
        {DT_U32, "ui32"},
        {DT_U64, "ui64"},
        {DT_C64, "complex<f32>"},
        {DT_C128, "complex<f64>"},
        {DT_F8E4M3FN, "f8E4M3FN"},
        {DT_F8E4M3FNUZ, "f8E4M3FNUZ"},
        {DT_F8E5M2, "f8E5M2"},
        {DT_F8E5M2FNUZ, "f8E5M2FNUZ"},
        {DT_F8E8M0, "f8E8M0FNU"},
        {DT_F4E2M1, "f4E2M1FN"},
        {DT_F6E2M3, "f6E2M3FN"},
        {DT_F6E3M2, "f6E3M2FN"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].dtype == dtype)
            return rows[i].name;
    return NULL;
}

bool mlir_type(const Shape *shape, Dtype dtype, Buf *out)
{
    const char *element = element_of(dtype);
    if (!shape) {
        buf_puts(out, "!stablehlo.token");
        return true;
    }
    buf_puts(out, "tensor<");
    for (int d = 0; d < shape->n_dims; d++)
        buf_printf(out, "%" PRId64 "x", shape->dim[d]);
    buf_printf(out, "%s>", element ? element : "i64");
    return element != NULL;
}

bool mlir_expressible(const Sharding *sharding, const Mesh *mesh, Sharding *out)
{
    Arena *scratch = arena_new();
    Buf text = buf_new(scratch);
    bool all = sharding_format(sharding, mesh, VIEW_SHARDY, &text, NULL);

    *out = *sharding;
    for (int a = 0; !all && a < ATOMS_MAX; a++)
        if (out->partial[a] != REDUCE_SUM)
            out->partial[a] = REDUCE_NONE;
    for (int64_t d = 0; !all && d < out->n_dims; d++) {
        Sharding alone = {.n_dims = 1, .dim = {out->dim[d]}};
        if (!sharding_format(&alone, mesh, VIEW_SHARDY, &text, NULL))
            out->dim[d] = cut_by(cut_size(&sharding->dim[d]), sharding->dim[d].digit[0].atom,
                                 values_even_atoms(&sharding->dim[d], mesh), mesh);
    }
    arena_free(scratch);
    return all;
}

void mlir_sharding(const Sharding *sharding, const Mesh *mesh, Buf *out)
{
    Buf text = buf_new(out->arena);
    sharding_format(sharding, mesh, VIEW_SHARDY, &text, NULL);
    int64_t close = str_find(buf_str(&text), STR(" unreduced="));
    buf_puts(out, "<@mesh, ");
    if (close < 0)
        buf_add(out, buf_str(&text));
    else
        buf_printf(out, "%.*s,%s", (int)close, text.s, text.s + close);
    buf_putc(out, '>');
}

void mlir_axis_list(const uint8_t *atom, int n, const Mesh *mesh, Buf *out)
{
    buf_putc(out, '{');
    for (int i = 0, run; i < n; i += run) {
        int64_t size;
        run = mesh_atoms_run(mesh, atom + i, n - i, &size);
        const MeshAxis *axis = &mesh->axes[mesh->atoms[atom[i]].axis];
        buf_printf(out, "%s\"%s\"", i ? ", " : "", axis->name);
        if (size != axis->size)
            buf_printf(out, ":(%" PRId64 ")%" PRId64, mesh->atoms[atom[i]].pre, size);
    }
    buf_putc(out, '}');
}

void mlir_axes(AtomSet atoms, const Mesh *mesh, Buf *out)
{
    uint8_t atom[ATOMS_MAX];
    mlir_axis_list(atom, mesh_list_set(mesh, atoms, atom), mesh, out);
}
