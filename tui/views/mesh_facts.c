#include "tui/views/mesh_grid.h"

#include "tui/views/label.h"
#include "core/plan/plan_machine.h"

#include <inttypes.h>

enum { FIELD = 9 };

/* The selected tensor's reshard: the one under the Comm cursor, else the first; or NULL. */
static const Reshard *mesh_next_reshard(const Ui *ui)
{
    const Plan *plan = ui_plan(ui);
    const Graph *graph = ui_graph(ui);
    int32_t tensor = ui->at.tensor;

    if (tensor < 0)
        return NULL;
    if (ui->comm->n_rows > 0 && ui->at.reshard < ui->comm->n_rows) {
        const Reshard *chosen = &plan->moved->reshards[ui->comm->row[ui->at.reshard].first];
        if (chosen->tensor == tensor)
            return chosen;
    }
    const GraphTensor *node = &graph->tensors[tensor];
    int32_t op = node->maker >= 0                   ? node->maker
                 : tensor_n_uses(graph, tensor) > 0 ? graph->uses[node->use]
                                                    : -1;
    for (int32_t r = op < 0 ? -1 : ui->comm->of_op[op]; r >= 0; r = ui->comm->next[r])
        if (plan->moved->reshards[r].tensor == tensor)
            return &plan->moved->reshards[r];
    return NULL;
}

const Step *mesh_next_step(const Ui *ui)
{
    const Reshard *reshard = mesh_next_reshard(ui);

    for (int s = 0; reshard && s < reshard->path->n_steps; s++)
        if (reshard->path->step[s].kind != STEP_SLICE)
            return &reshard->path->step[s];
    return NULL;
}

void mesh_draw_devices(const Ui *ui, Pen *pen)
{
    const Session *session = ui->session;
    Buf text = buf_marked(ui->frame);

    mesh_format(session->mesh, &text);
    RankGroup all = machine_group(session->machine, session->mesh,
                                  (AtomSet)((1u << session->mesh->n_atoms) - 1));
    buf_printf(&text, "  %" PRId64 " device%s, ", all.n, all.n == 1 ? "" : "s");
    if (all.nodes > 1)
        buf_printf(&text, "%" PRId64 " nodes of ", all.nodes);
    buf_printf(&text, "%" PRId64 "%s, %s", session->machine->devices_per_node,
               all.nodes > 1 ? "" : " a node", session->machine->name);
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_text(pen, buf_text(&text), -1, -1);
    int64_t peak = ui_plan(ui)->priced->totals.peak_bytes, whole = plan_memory(ui_plan(ui));
    if (pen->area.w - pen->x >= 29 && whole > 0) {
        pen_printf(pen, ROLE_TEXT, "  peak %.*s of %.*s ", STR_ARG(label_bytes(ui, peak)),
                   STR_ARG(label_bytes(ui, whole)));
        if (pen->area.w - pen->x > 5)
            pen_bar(pen, ROLE_TEXT, (double)peak, (double)whole, 8);
    }
    pen_line(pen);
}

/* "dp.tp nvlink inside, 450 GB/s (ring 360 GB/s 3.4 us)": axes that go over one kind of link
 * together, what the wire carries, and with `use` what formulas of a large collective have of it.
 */
static Buf links_text(const Ui *ui, bool use)
{
    const Machine *machine = ui->session->machine;
    const Mesh *mesh = ui->session->mesh;
    const Link *const links[] = {&machine->inside, &machine->between, &machine->spine};
    static const char *const where[] = {"inside", "across", "over the spine"};
    Buf text = buf_marked(ui->frame);

    for (int i = 0; i < 3; i++) {
        AtomSet atoms = 0;
        for (int a = 0; a < mesh->n_axes; a++)
            if (mesh->axes[a].size > 1 &&
                machine_link(machine, mesh, mesh_axis_atoms(mesh, a)) == links[i]) {
                buf_puts(&text, atoms ? "." : text.n ? "   " : "");
                mesh_put_axis(mesh, a, &text);
                atoms = mesh_axis_atoms(mesh, a);
            }
        if (atoms == 0)
            continue;
        LinkUse had = price_link_use(machine, mesh, atoms);
        buf_printf(&text, " %s %s, %.4g GB/s", links[i]->name, where[i],
                   links[i]->bytes_per_s / 1e9);
        if (use)
            buf_printf(&text, " (%s %.3g GB/s %.2g us)", had.algorithm, had.bytes_per_s / 1e9,
                       i ? had.between_us : had.inside_us);
    }
    return text;
}

void mesh_draw_links(const Ui *ui, Pen *pen)
{
    Buf text = links_text(ui, true);

    draw_field(pen, " LINKS", FIELD);
    int room = pen->area.w - pen->x;
    if (text_columns(buf_str(&text)) > room)
        text = links_text(ui, false);
    int n = text_columns(buf_str(&text));
    pen_text(pen, buf_text(&text), -1, n < room ? n : room);
    if (ui->session->mesh->n_devices == 1)
        pen_puts(pen, ROLE_DIM, "none: there is one device");
    pen_line(pen);
}

void mesh_draw_nodes(const Ui *ui, Pen *pen)
{
    const Mesh *mesh = ui->session->mesh;
    int64_t per_node = ui->session->machine->devices_per_node,
            n = machine_group(ui->session->machine, mesh, (AtomSet)((1u << mesh->n_atoms) - 1))
                    .nodes;

    if (n < 2 || mesh->devices || pen_full(pen))
        return;
    draw_field(pen, " NODES", FIELD);
    for (int64_t node = 0; node < n && pen->x < pen->area.w; node++) {
        int64_t first = node * per_node, last = first + per_node - 1;
        last = last < mesh->n_devices ? last : mesh->n_devices - 1;
        Str text = str_from(
            first == last ? arena_printf(ui->frame, "%" PRId64 " {d%" PRId64 "}", node, first)
                          : arena_printf(ui->frame, "%" PRId64 " {d%" PRId64 "..d%" PRId64 "}",
                                         node, first, last));
        pen_puts(pen, ROLE_TEXT, node > 0 ? "   " : "");
        int room = pen->area.w - pen->x;
        pen_fit(pen, ROLE_TEXT, text, (int)text.n < room ? (int)text.n : room);
    }
    pen_line(pen);
}

/* The groups of each axis: on one line where they fit. */
void mesh_draw_groups(const Ui *ui, Pen *pen)
{
    const Mesh *mesh = ui->session->mesh;

    if (mesh->n_devices == 1)
        return;
    draw_field(pen, " GROUPS", FIELD);
    for (int a = 0; a < mesh->n_axes && !pen_full(pen); a++) {
        Buf text = buf_marked(ui->frame);
        if (mesh->axes[a].size < 2)
            continue;
        mesh_put_axis(mesh, a, &text);
        buf_putc(&text, ' ');
        comm_format_groups(mesh, (SubMesh){0}, mesh_axis_atoms(mesh, a), &text);
        if (pen->x > FIELD && pen->x + 3 + (int)text.n > pen->area.w)
            pen_line(pen);
        pen_tab(pen, pen->x <= FIELD ? FIELD : pen->x + 3);
        int room = pen->area.w - pen->x;
        pen_text(pen, buf_text(&text), -1, room > (int)text.n ? -1 : room);
    }
    pen_line(pen);
}

/* What happens to this value next: its reshard's groups, and what they run over. */
void mesh_draw_next(const Ui *ui, Pen *pen)
{
    const Session *session = ui->session;
    const Reshard *reshard = mesh_next_reshard(ui);
    const char *field = " NEXT";

    for (int s = 0; reshard && s < reshard->path->n_steps && !pen_full(pen); s++) {
        const Step *step = &reshard->path->step[s];
        Buf text = buf_new(ui->frame);
        if (step->kind == STEP_SLICE)
            continue;
        const Machine *machine = plan_reshard_machine(session->plan, reshard);
        const Link *link = machine_link(machine, session->mesh, step->atoms);
        buf_printf(&text, "%s ", step_kind_name(step->kind));
        comm_format_step_groups(session->plan, reshard, s, &text);
        draw_field(pen, field, FIELD);
        field = "";
        pen_put(pen, ROLE_TEXT, buf_str(&text));
        pen_line(pen);
        pen_tab(pen, FIELD);
        pen_put(pen, ROLE_TEXT, label_us(ui, step->us));
        pen_puts(pen, ROLE_TEXT, " for ");
        pen_put(pen, ROLE_TEXT, label_bytes(ui, step->bytes));
        pen_printf(
            pen, ROLE_TEXT, " over %s, %s, %s", link->name,
            link == &machine->inside ? "inside nodes" : "between nodes",
            price_step(machine, session->mesh, step->kind, step->atoms, step->bytes).algorithm);
        pen_line(pen);
    }
}
