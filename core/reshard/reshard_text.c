/* Paths and their bounds in words. */
#include "core/reshard/reshard.h"

void reshard_format_steps(const ReshardPath *path, const Mesh *mesh, Buf *out)
{
    for (int s = 0; s < path->n_steps; s++) {
        buf_printf(out, "%s%s", s ? "+" : "", step_kind_mark(path->step[s].kind));
        if (path->step[s].atoms)
            buf_putc(out, ' ');
        mesh_format_set(mesh, path->step[s].atoms, ".", out);
    }
}

const char *reshard_bound_formula(void)
{
    return "a rank holds t of the target, f if all axes cut; n parts must go: least latency + "
           "(n-1)/n * t / fastest link; out of order: + a permute's latency + max(f, t/n) / "
           "fastest link, or n of all of it; partial over m: + a reduction's latency + (m-1) * f / "
           "fastest link; axes over nodes: at least the bound for them alone";
}
