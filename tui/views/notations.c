#include "tui/views/notations.h"

#include "core/layout/gspmd.h"

#include <inttypes.h>

typedef struct {
    const char *name;
    bool (*format)(const Sharding *sharding, const Mesh *mesh, Buf *out, Error *err);
    ShardingView view; /* where format is NULL */
} NotationRow;

static const NotationRow rows[] = {
    {"shape/axis", NULL, VIEW_OURS},       {"dims_mapping", NULL, VIEW_DIMS_MAPPING},
    {"placements", NULL, VIEW_PLACEMENTS}, {"partition_spec", NULL, VIEW_PARTITION_SPEC},
    {"shardy", NULL, VIEW_SHARDY},         {"gspmd", gspmd_format, VIEW_COUNT},
};
_Static_assert(sizeof rows / sizeof rows[0] <= TENSOR_NOTATIONS_MAX, "all fit");

/* Numbers of axes mean nothing without their sizes, placements nothing without their names. */
static Str about(const Ui *ui, ShardingView view)
{
    const Mesh *mesh = ui->session->mesh;
    Buf text = buf_new(ui->frame);

    if (view != VIEW_DIMS_MAPPING && view != VIEW_PLACEMENTS)
        return STR("");
    buf_puts(&text, view == VIEW_DIMS_MAPPING ? "on mesh [" : "for (");
    for (int a = 0; a < mesh->n_axes; a++) {
        buf_puts(&text, a ? "," : "");
        if (view == VIEW_DIMS_MAPPING)
            buf_printf(&text, "%" PRId64, mesh->axes[a].size);
        else
            buf_puts(&text, mesh->axes[a].name);
    }
    buf_putc(&text, view == VIEW_DIMS_MAPPING ? ']' : ')');
    return buf_str(&text);
}

int tensor_notations(const Ui *ui, int32_t tensor, TensorNotation out[TENSOR_NOTATIONS_MAX])
{
    int32_t id = tensor < 0 ? -1 : ui_plan(ui)->moved->made[tensor];
    int n = 0;

    for (size_t i = 0; id >= 0 && i < sizeof rows / sizeof rows[0]; i++) {
        const Sharding *sharding = shardings_at(ui_plan(ui)->shardings, id);
        ShardingView view = i == 0 && ui->look.ascii ? VIEW_OURS_ASCII : rows[i].view;
        Buf text = buf_marked(ui->frame);
        Error err = {0};
        bool held = rows[i].format
                        ? rows[i].format(sharding, ui->session->mesh, &text, &err)
                        : sharding_format(sharding, ui->session->mesh, view, &text, &err);
        if (!held)
            buf_puts(&text, err.text);
        out[n++] = (TensorNotation){rows[i].name, buf_text(&text), held, about(ui, rows[i].view)};
    }
    return n;
}
