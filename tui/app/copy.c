#include "tui/app/copy.h"

#include "core/layout/gspmd.h"
#include "core/summary/label.h"
#include "tui/state/listing.h"
#include "tui/state/menu.h"
#include "tui/views/page.h"

/* What can be copied of a selected tensor, beside the forms of its sharding. */
typedef enum { FORM_GSPMD = VIEW_COUNT, FORM_NAME, FORM_OP, FORM_LOCAL, FORM_WHY, FORM_END } Form;

static const char *const form_names[] = {"gspmd", "name", "op", "local", "why"}; /* ORDER Form */

static const char *form_name(int form)
{
    return form < VIEW_COUNT ? sharding_view_name((ShardingView)form)
                             : form_names[form - FORM_GSPMD];
}

static const Sharding *selected_sharding(const Ui *ui)
{
    int32_t id = ui->at.tensor < 0 ? -1 : ui_plan(ui)->moved->sharding[ui->at.tensor];

    return id < 0 ? NULL : shardings_at(ui_plan(ui)->shardings, id);
}

static void put_local(const Ui *ui, const Sharding *sharding, Buf *out)
{
    Shape local;

    sharding_local_shape(sharding, ui->session->mesh, ui->rank, &local);
    for (int d = 0; d < local.n_dims; d++)
        buf_printf(out, "%s%lld", d > 0 ? "," : "", (long long)local.dim[d]);
}

/* Nothing is appended where the form cannot say it, or there is nothing of the kind. */
static void put_form(Ui *ui, int form, Buf *out)
{
    const Sharding *sharding = selected_sharding(ui);
    Error err = {0};
    Place place = ui->at;

    if (form == FORM_GSPMD && sharding) {
        gspmd_format(sharding, ui->session->mesh, out, &err);
    } else if (form == FORM_OP && ui->at.op >= 0) {
        buf_add(out, label_op(ui->session, ui->frame, ui->at.op));
    } else if (form == FORM_NAME && ui->at.tensor >= 0) {
        buf_puts(out, tensor_name(ui_graph(ui), ui->at.tensor));
    } else if (form == FORM_LOCAL && sharding) {
        put_local(ui, sharding, out);
    } else if (form == FORM_WHY && ui->at.tensor >= 0) {
        place.why = WHY_TENSOR;
        place.why_dim = -2;
        why_text(ui, &place, out);
    } else if (form < VIEW_COUNT && sharding) {
        sharding_format(sharding, ui->session->mesh, (ShardingView)form, out, &err);
    }
}

static bool copy_form(Ui *ui, int form)
{
    Buf text = buf_new(ui->frame);

    put_form(ui, form, &text);
    if (text.n > 0)
        ui->asked.clipboard = text.s;
    return text.n > 0;
}

static void put_tagged(const Ui *ui, Buf *out)
{
    int32_t *ops;
    int n = listing_tagged(ui, &ops);

    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%.*s", i > 0 ? "\n" : "",
                   STR_ARG(label_op(ui->session, ui->frame, ops[i])));
}

void copy_field(Ui *ui)
{
    ShowId show = ui->at.show;
    Buf text = buf_new(ui->frame);

    if (show == SHOW_GRAPH && ui->listing.n_tagged > 0)
        put_tagged(ui, &text);
    else if (ui->list[show].text.str.n > 0)
        buf_add(&text, str_trim(page_line(ui->list[show].text, ui->list[show].at).str));
    else if (show == SHOW_TENSOR || show == SHOW_COMM || show == SHOW_COMM_DETAIL)
        put_form(ui, show == SHOW_TENSOR ? VIEW_OURS : FORM_NAME, &text);
    else
        put_form(ui, ui->at.op >= 0 ? FORM_OP : FORM_NAME, &text);
    if (text.n > 0)
        ui->asked.clipboard = text.s;
    else
        ui_say(ui, "nothing to copy here");
}

static void chosen(Ui *ui, int form)
{
    copy_form(ui, form);
}

static void open_menu(Ui *ui)
{
    menu_open(ui, "copy as", chosen);
    for (int form = 0; form < FORM_END; form++) {
        Buf text = buf_marked(ui->frame), item = buf_marked(ui->frame);
        if (form == VIEW_OURS_ASCII)
            continue;
        put_form(ui, form, &text);
        Text rest = buf_text(&text), line = text_take(&rest, '\n');
        buf_printf(&item, "%-15s ", form_name(form));
        buf_add_text(&item, line);
        buf_puts(&item, rest.str.n > 0 ? " .." : "");
        if (line.str.n > 0)
            menu_add_text(ui, 0, buf_text(&item), form);
    }
    if (ui->menu.n > 0)
        return;
    ui->menu.open = false;
    ui_say(ui, "nothing to copy here");
}

const char *copy_forms(const Ui *ui)
{
    Buf names = buf_new(ui->frame);

    for (int i = 0; i < FORM_END; i++)
        buf_printf(&names, "%s%s", i > 0 ? " " : "", form_name(i));
    return names.s;
}

bool copy_as(Ui *ui, Str form, Error *err)
{
    if (form.n == 0) {
        open_menu(ui);
        return true;
    }
    for (int i = 0; i < FORM_END; i++) {
        if (!str_eq(form, str_from(form_name(i))))
            continue;
        return copy_form(ui, i) ||
               error_set(err, "%s has no notation for what is selected", form_name(i));
    }
    error_set(err, "there is no notation '%.*s'", STR_ARG(form));
    error_hint(err, "forms: %s", copy_forms(ui));
    return false;
}
