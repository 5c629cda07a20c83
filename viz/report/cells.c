#include "viz/report/cells.h"

#include "core/summary/comm.h"

#include <inttypes.h>

bool table_fits(double n_rows, const char *table, Error *err)
{
    if (n_rows <= TABLE_ROWS_MAX)
        return true;
    return error_kind(err, ERROR_UNSUPPORTED,
                      "the table '%s' would have %.0f rows; at most %d can be written", table,
                      n_rows, TABLE_ROWS_MAX);
}

void table_put_text(Sheet *out, const char *text)
{
    sheet_put(out, str_from(text ? text : ""));
}

void table_put_bool(Sheet *out, bool value)
{
    sheet_put(out, value ? STR("yes") : STR("no"));
}

void table_put_bytes(Sheet *out, bool known, int64_t bytes)
{
    if (known)
        sheet_number(out, (double)bytes);
    else
        sheet_put(out, STR(""));
}

void table_put_shape(Sheet *out, const Shape *shape)
{
    Buf text = buf_new(out->arena);

    buf_putc(&text, '[');
    for (int d = 0; d < shape->n_dims; d++)
        buf_printf(&text, "%s%" PRId64, d ? "," : "", shape->dim[d]);
    buf_putc(&text, ']');
    sheet_put(out, buf_str(&text));
}

void table_put_size(Sheet *out, const Session *session, int32_t tensor)
{
    const Shape *shape = inferred_shape(session->inferred, tensor);
    Buf text = buf_new(out->arena);

    if (shape) {
        table_put_shape(out, shape);
        return;
    }
    inferred_put_shape(session->inferred, tensor, &text);
    bool sizes = inferred_sizes(session->inferred, tensor) != NULL;
    sheet_put(out, sizes ? str_from(arena_printf(out->arena, "[%s]", text.s)) : buf_str(&text));
}

void table_put_sharding(Sheet *out, const Session *session, int32_t id, ShardingView view)
{
    Buf text = buf_new(out->arena);

    if (id >= 0)
        sharding_format(shardings_at(session->plan->shardings, id), session->mesh, view, &text,
                        NULL);
    sheet_put(out, buf_str(&text));
}

void table_put_local_shape(Sheet *out, const Session *session, int32_t id)
{
    Shape local;

    if (id < 0) {
        sheet_put(out, STR(""));
        return;
    }
    sharding_local_shape(shardings_at(session->plan->shardings, id), session->mesh, 0, &local);
    table_put_shape(out, &local);
}

void table_put_partial(Sheet *out, const Mesh *mesh, const Sharding *sharding)
{
    Buf text = buf_new(out->arena);

    for (int reduce = REDUCE_NONE + 1; reduce <= REDUCE_ALL; reduce++) {
        AtomSet atoms = 0;
        for (int a = 0; a < mesh->n_atoms; a++)
            atoms |= sharding->partial[a] == reduce ? (AtomSet)1 << a : 0;
        if (!atoms)
            continue;
        bool sum = reduce == REDUCE_SUM;
        buf_printf(&text, "%s%s", text.n > 0 ? " " : "", sum ? "" : reduce_name((ReduceOp)reduce));
        buf_puts(&text, sum ? "" : "(");
        mesh_format_set(mesh, atoms, ".", &text);
        buf_puts(&text, sum ? "" : ")");
    }
    sheet_put(out, buf_str(&text));
}

void table_put_coordinates(Sheet *out, const Mesh *mesh, int64_t position)
{
    Buf text = buf_new(out->arena);

    for (int a = 0; a < mesh->n_axes; a++)
        buf_printf(&text, "%s%s=%" PRId64, a ? "," : "", mesh->axes[a].name,
                   mesh_coord(mesh, a, position));
    sheet_put(out, buf_str(&text));
}

void table_put_devices(Sheet *out, const Session *session, int devices)
{
    Buf text = buf_new(out->arena);

    comm_format_part(session, devices, &text);
    sheet_put(out, buf_str(&text));
}
