#include "tui/state/places.h"

#include "tui/state/menu.h"
#include "tui/state/ui.h"

/* ---- jumps ---- */

void places_remember(Ui *ui)
{
    if (ui->history.n == JUMPS_MAX) {
        memmove(ui->history.jump, ui->history.jump + 1,
                sizeof ui->history.jump[0] * (JUMPS_MAX - 1));
        ui->history.at -= ui->history.at > 0;
        ui->history.n--;
    }
    ui->history.n = ui->history.at;
    ui->history.jump[ui->history.n++] = ui->at;
    ui->history.at = ui->history.n;
}

/* Everything of a place but for the outline's cursor comes back as it was; that is looked up. */
void places_restore(Ui *ui, const Place *place)
{
    Place want = *place;

    if (want.row.op >= 0 && want.row.kind == ROW_OP)
        outline_reveal(ui->outline, want.row.op);
    ui_select_row(ui, outline_find_row(ui->outline, &want.row));
    want.row = ui->at.row;
    if (want.op < 0 && want.tensor < 0) { /* a row that was read: what it stands for */
        want.op = ui->at.op;
        want.tensor = ui->at.tensor;
        want.dim = ui->at.dim;
    }
    ui->at = want;
}

bool places_back(Ui *ui)
{
    if (ui->history.at == 0)
        return false;
    Place here = ui->at;
    if (ui->history.at == ui->history.n) {
        if (ui->history.n == JUMPS_MAX)
            return false;
        ui->history.jump[ui->history.n++] = here;
    } else {
        ui->history.jump[ui->history.at] = here;
    }
    ui->history.at--;
    places_restore(ui, &ui->history.jump[ui->history.at]);
    return true;
}

bool places_forward(Ui *ui)
{
    if (ui->history.at + 1 >= ui->history.n)
        return false;
    ui->history.jump[ui->history.at] = ui->at;
    ui->history.at++;
    places_restore(ui, &ui->history.jump[ui->history.at]);
    return true;
}

/* ---- marks ---- */

static int mark_of(char letter, Error *err)
{
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a';
    error_set(err, "a mark is a letter from a to z");
    return -1;
}

bool places_set(Ui *ui, char letter, Error *err)
{
    int i = mark_of(letter, err);

    if (i < 0)
        return false;
    ui->history.mark[i] = ui->at;
    ui->history.is_marked[i] = true;
    ui_say(ui, "'%c comes back here", letter);
    return true;
}

static void go(Ui *ui, const Place *place)
{
    Place want = *place;

    places_remember(ui);
    places_restore(ui, &want);
}

bool places_go(Ui *ui, char letter, Error *err)
{
    if (letter == '\'') {
        if (ui->history.at == 0)
            return error_set(err, "this is where you began");
        go(ui, &ui->history.jump[ui->history.at - 1]);
        return true;
    }
    int i = mark_of(letter, err);
    if (i < 0)
        return false;
    if (!ui->history.is_marked[i])
        return error_set(err, "no place is marked '%c'", letter);
    go(ui, &ui->history.mark[i]);
    return true;
}

static void chosen(Ui *ui, int i)
{
    go(ui, &ui->history.jump[i]);
}

void places_menu(Ui *ui)
{
    if (ui->history.n == 0) {
        ui_say(ui, "no jumps yet");
        return;
    }
    menu_open(ui, "places you came from", chosen);
    for (int i = ui->history.n - 1; i >= 0 && ui->menu.n < MENU_MAX; i--) {
        Buf text = buf_new(ui->frame);
        place_format(ui, &ui->history.jump[i], &text);
        menu_add(ui, 0, buf_str(&text), i);
    }
}

/* ---- as text ---- */

void place_format(const Ui *ui, const Place *place, Buf *out)
{
    const Graph *graph = ui_graph(ui);
    const Groups *groups = ui->session->groups;
    bool group = place->show == SHOW_GRAPH && place->row.kind == ROW_GROUP &&
                 place->row.id < groups->n_groups;

    buf_printf(out, "%s ", ui->views[place->show < SHOW_TABS ? place->show : SHOW_GRAPH]->name);
    if (group)
        buf_printf(out, "group %s", groups->groups[place->row.id].path);
    else if (place->op >= 0 && place->show != SHOW_TENSOR)
        buf_printf(out, "op %s", op_name(graph, place->op));
    else if (place->tensor >= 0)
        buf_printf(out, "tensor %s", tensor_name(graph, place->tensor));
}

static bool read_group(const Ui *ui, Str path, OutlineRow *row)
{
    const Groups *groups = ui->session->groups;

    for (int g = 0; g < groups->n_groups; g++) {
        if (!str_eq(str_from(groups->groups[g].path), path))
            continue;
        *row = (OutlineRow){
            .kind = ROW_GROUP, .id = g, .op = groups->order[groups->groups[g].first], .head = g};
        return true;
    }
    return false;
}

static bool read_op(const Ui *ui, Str name, Place *place)
{
    place->op = graph_find_op(ui_graph(ui), name);
    if (place->op < 0 || inferred_is_host(ui->session->inferred, place->op))
        return false;
    for (int o = 0; o < ui_graph(ui)->ops[place->op].n_outputs && place->tensor < 0; o++)
        place->tensor = op_outputs(ui_graph(ui), place->op)[o];
    place->row = (OutlineRow){.kind = ROW_OP, .id = place->op, .op = place->op, .head = -1};
    return true;
}

static bool read_tensor(const Ui *ui, Str name, Place *place)
{
    const Graph *graph = ui_graph(ui);

    place->tensor = graph_find_tensor(graph, name);
    if (place->tensor < 0)
        return false;
    int32_t op = graph->tensors[place->tensor].maker;
    if (op < 0 && tensor_n_uses(graph, place->tensor) > 0)
        op = graph->uses[graph->tensors[place->tensor].use];
    if (op >= 0 && !inferred_is_host(ui->session->inferred, op))
        place->op = op;
    place->row = place->op < 0
                     ? (OutlineRow){.kind = ROW_INPUT, .id = place->tensor, .op = -1, .head = -1}
                     : (OutlineRow){.kind = ROW_OP, .id = op, .op = op, .head = -1};
    return true;
}

bool place_read(const Ui *ui, Str text, Place *place)
{
    Str rest = text, view = str_take(&rest, ' '), kind = str_take(&rest, ' ');

    *place = (Place){.show = SHOW_COUNT, .op = -1, .tensor = -1};
    for (int s = 0; s < SHOW_COUNT; s++)
        if (str_eq(str_from(ui->views[s]->name), view))
            place->show = (ShowId)s;
    if (place->show == SHOW_COUNT)
        return false;
    if (str_eq(kind, STR("op")))
        return read_op(ui, rest, place);
    if (str_eq(kind, STR("tensor")))
        return read_tensor(ui, rest, place);
    return str_eq(kind, STR("group")) && read_group(ui, rest, &place->row);
}
