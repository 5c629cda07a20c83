#include "core/code/python_mesh.h"

#include "core/base/file.h"

#include <inttypes.h>

void python_title(const Session *session, const char *system, Buf *out)
{
    Buf mesh = buf_new(out->arena);

    mesh_format(session->mesh, &mesh);
    buf_puts(out, "# ");
    python_comment(str_from(path_base(session->graph->file)), out);
    buf_puts(out, " on ");
    python_comment(buf_str(&mesh), out);
    buf_printf(out, ": a dimscope plan, for %s.\n", system);
}

void python_mesh_axes(const Mesh *mesh, Buf *out)
{
    buf_puts(out, "MESH_SHAPE = (");
    for (int a = 0; a < mesh->n_axes; a++)
        buf_printf(out, "%s%" PRId64, a ? ", " : "", mesh->axes[a].size);
    python_tuple_end(mesh->n_axes, out);
    buf_puts(out, "\nMESH_DIM_NAMES = (");
    for (int a = 0; a < mesh->n_axes; a++) {
        buf_puts(out, a ? ", " : "");
        python_string(str_from(mesh->axes[a].name), out);
    }
    python_tuple_end(mesh->n_axes, out);
}

void python_devices(const Mesh *mesh, SubMesh part, Buf *out)
{
    int64_t n = submesh_size(mesh, part);

    if (n == mesh->n_devices && !mesh->devices) {
        buf_printf(out, "range(%" PRId64 ")", n);
        return;
    }
    buf_putc(out, '[');
    for (int64_t i = 0; i < n; i++)
        buf_printf(out, "%s%" PRId64, i ? ", " : "",
                   mesh_device(mesh, submesh_position(mesh, part, i)));
    buf_putc(out, ']');
}

void python_part_name(const Plan *plan, int part, Buf *out)
{
    Buf name = buf_new(out->arena);

    submesh_format(plan->mesh, plan->decided->submeshes[part], &name);
    python_string(buf_str(&name), out);
}

int python_parts(const Plan *plan, const CodeValues *values, Arena *arena, PythonEntries *out)
{
    enum { PARTS_MOST = 64 };
    const Graph *graph = plan->inferred->graph;
    int n_several = 0;

    for (int32_t t = 0; plan->decided->n_submeshes > 1 && t < graph->n_tensors; t++) {
        int part[PARTS_MOST];
        int n = values->name[t] ? values_parts(plan, t, part, PARTS_MOST) : 0;
        if (n == 0 || (n == 1 && part[0] == 0))
            continue;
        Buf on = buf_new(arena);
        n_several += n > 1;
        for (int i = 0; i < n; i++) {
            buf_puts(&on, i ? ", " : "(");
            python_part_name(plan, part[i], &on);
        }
        python_tuple_end(n, &on);
        vec_push(arena, out, (PythonEntry){str_from(values->name[t]), on.s, NULL});
    }
    return n_several;
}
