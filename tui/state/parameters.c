#include "tui/state/parameters.h"

#include "core/base/intern.h"
#include "tui/state/ui.h"

#include <assert.h>

static bool is_listed(const Inferred *inferred, int32_t tensor)
{
    return tensor_is_parameter(inferred, tensor) && tensor_n_uses(inferred->graph, tensor) > 0;
}

int32_t parameters_count(const Inferred *inferred)
{
    int32_t n = 0;

    for (int32_t t = 0; t < inferred->graph->n_tensors; t++)
        n += is_listed(inferred, t);
    return n;
}

/* A name with the numbers that are whole parts of it as wildcards: "h.*.mlp.c_fc.weight". */
static Str pattern_of(Arena *arena, Str name)
{
    Buf out = buf_new(arena);
    for (size_t i = 0; i < name.n;) {
        size_t end = i;
        while (end < name.n && name.s[end] != '.' && name.s[end] != '_')
            end++;
        int64_t number;
        if (str_to_int((Str){name.s + i, end - i}, &number))
            buf_putc(&out, '*');
        else
            buf_add(&out, (Str){name.s + i, end - i});
        if (end < name.n)
            buf_putc(&out, name.s[end++]);
        i = end;
    }
    return buf_str(&out);
}

int parameters_fold(Arena *arena, const Session *session, ParameterRow **rows)
{
    Arena *scratch = arena_new();
    Intern *alike = intern_new(arena);
    Buf key = buf_new(scratch);
    Vec(ParameterRow) all = {0};

    for (int32_t t = 0; t < session->graph->n_tensors; t++) {
        if (!is_listed(session->inferred, t))
            continue;
        Str name = str_from(naming_label(session->naming, t));
        key.n = 0;
        buf_add(&key, pattern_of(scratch, name));
        buf_printf(&key, " %d %d ", session->plan->moved->sharding[t], session->inferred->dtype[t]);
        inferred_put_shape(session->inferred, t, &key);
        int32_t id = intern_put(alike, key.s, key.n);
        if (id == all.n)
            vec_push(arena, &all, (ParameterRow){.name = name, .first = t});
        assert(id < all.n && all.at);
        ParameterRow *row = &all.at[id];
        if (row->n++ == 1)
            row->name = pattern_of(arena, name);
    }
    arena_free(scratch);
    *rows = all.at;
    return all.n;
}

void parameters_list(Ui *ui)
{
    if (ui->parameters.open && !ui->parameters.rows)
        ui->parameters.n_rows = parameters_fold(ui->comm->arena, ui->session, &ui->parameters.rows);
    outline_set_parameters(ui->outline, ui->parameters.n,
                           ui->parameters.open ? ui->parameters.rows : NULL,
                           ui->parameters.open ? ui->parameters.n_rows : 0);
}

void parameters_open(Ui *ui, bool open)
{
    ui->parameters.open = open;
    parameters_list(ui);
}
