#include "core/peers/torch_export/rows.h"

static const TorchRow *const tables[] = {
    rows_pointwise, rows_reduce,    rows_shape,    rows_make,    rows_index,  rows_layer,
    rows_backward,  rows_recurrent, rows_resample, rows_complex, rows_window, rows_matrix,
    rows_order,     rows_special,   rows_join,     rows_random};
enum { N_TABLES = sizeof tables / sizeof *tables };

const TorchRow *torch_row_at(int i)
{
    for (int t = 0; t < N_TABLES; t++)
        for (const TorchRow *row = tables[t]; row->names; row++)
            if (i-- == 0)
                return row;
    return NULL;
}

static bool has_name(const TorchRow *row, Str name)
{
    return str_has_word(str_from(row->names), name);
}

static const TorchRow *find(Str name)
{
    for (int t = 0; t < N_TABLES; t++)
        for (const TorchRow *row = tables[t]; row->names; row++)
            if (has_name(row, name))
                return row;
    return NULL;
}

const TorchRow *torch_row(Str op, Str overload)
{
    char text[128];
    if (op.n + overload.n + 2 > sizeof text)
        return NULL;
    memcpy(text, op.s, op.n);
    text[op.n] = '.';
    memcpy(text + op.n + 1, overload.s, overload.n);
    const TorchRow *row = find((Str){text, op.n + 1 + overload.n});
    return row ? row : find(op);
}

void torch_row_apply(Call *c, const TorchRow *row)
{
    ExportTerm out[CALL_OUTPUTS_MAX];
    if (!call_bind(c, row->schema))
        return;
    if (row->make)
        row->make(c);
    else if (row->recipe)
        call_results(c, out, recipe_run(c, row->recipe, out, CALL_OUTPUTS_MAX));
}
