#include "viz/draw/holding.h"

#include "core/base/units.h"
#include "core/summary/comm.h"
#include "core/plan/plan_machine.h"

#include <inttypes.h>

void draw_below(Draw *draw, int above, int below)
{
    DiagramLine line = draw_new_line(LINE_ORDER, above, below);

    line.straight = true;
    draw_line(draw, line);
}

void cells_put_fact(Cells *cells, const char *name, Text text)
{
    if (text.str.n == 0)
        return;
    cells_put(cells, CELL_HEAD, name);
    cells_put_text(cells, text);
}

void cells_put_wide(Cells *cells, CellLook look, int columns, const char *text)
{
    cells_put_cell(cells, (DiagramCell){.text = text_from(text), .look = look, .columns = columns});
}

static int64_t device_at(const Draw *draw, int64_t position)
{
    return mesh_device(draw->plan->mesh, position);
}

static bool in_a_row(const Draw *draw, const int64_t *position, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (device_at(draw, position[i]) != device_at(draw, position[0]) + i)
            return false;
    return true;
}

const char *positions_text(const Draw *draw, const int64_t *position, int64_t n)
{
    enum { LISTED = 8 };
    Buf text = buf_new(draw->arena);

    if (n > 2 && in_a_row(draw, position, n))
        return arena_printf(draw->arena, "d%" PRId64 " .. d%" PRId64, device_at(draw, position[0]),
                            device_at(draw, position[n - 1]));
    for (int64_t i = 0; i < n; i++) {
        if (n > LISTED && i == LISTED - 2) {
            buf_puts(&text, " ..");
            i = n - 1;
        }
        buf_printf(&text, "%sd%" PRId64, i > 0 ? " " : "", device_at(draw, position[i]));
    }
    return text.s;
}

const char *part_text(const Draw *draw, SubMesh part)
{
    int64_t n = submesh_size(draw->plan->mesh, part);
    int64_t *position = arena_array(draw->arena, int64_t, n);

    for (int64_t i = 0; i < n; i++)
        position[i] = submesh_position(draw->plan->mesh, part, i);
    return positions_text(draw, position, n);
}

const char *part_name_text(const Draw *draw, int devices)
{
    Buf text = buf_new(draw->arena);
    comm_format_part(draw->session, devices, &text);
    return text.s;
}

const char *count_text(const Draw *draw, int64_t n, const char *what)
{
    Buf text = buf_new(draw->arena);
    units_format_count(n, &text);
    buf_printf(&text, " %s%s", what,
               n == 1                                ? ""
               : str_ends(str_from(what), STR("ch")) ? "es"
                                                     : "s");
    return text.s;
}

const char *peak_text(const Draw *draw, int64_t peak_bytes)
{
    int64_t most = plan_memory(draw->plan);
    const char *peak = draw_bytes(draw, peak_bytes);

    if (most <= 0)
        return peak;
    return arena_printf(draw->arena, "%s of %s", peak, draw_bytes(draw, most));
}

const char *link_text(const Draw *draw, const Link *link)
{
    return arena_printf(draw->arena, "%s, %.4g GB/s, %.3g us", link->name, link->bytes_per_s / 1e9,
                        link->latency_us);
}

/* ---- which of many are drawn ---- */

Shown shown_of(int64_t all, int most, int first, int last)
{
    if (all <= most)
        return (Shown){(int)all, all, (int)all, 0};
    return (Shown){first + 1 + last, all, first, last};
}

int shown_find(const Shown *shown, int64_t at)
{
    if (at < shown->first)
        return (int)at;
    return at >= shown->all - shown->last ? (int)(at - shown->all) + shown->n : -1;
}

int64_t shown_at(const Shown *shown, int i)
{
    if (i < shown->first)
        return i;
    return i >= shown->n - shown->last ? i - shown->n + shown->all : -1;
}
