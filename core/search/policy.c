#include "core/search/policy.h"

#include "core/base/units.h"
#include "core/summary/decision_lua.h"

static void put_lines(const Session *session, const Decision *const *at, int n, const char *indent,
                      Buf *out)
{
    for (int i = 0; i < n;) {
        buf_puts(out, indent);
        i += decisions_lua(session, at + i, n - i, out);
        buf_putc(out, '\n');
    }
}

void search_decisions(const Session *session, const SearchResult *result, const char *indent,
                      Buf *out)
{
    const Decision **at = arena_array(out->arena, const Decision *, result->n_decisions);
    for (int i = 0; i < result->n_decisions; i++)
        at[i] = &result->decisions[i];
    put_lines(session, at, result->n_decisions, indent, out);
}

void search_policy(const Session *session, const SearchResult *result, Buf *out)
{
    int own = session->journal.n_done, n = own + result->n_decisions;
    const Decision **at = arena_array(out->arena, const Decision *, n);
    for (int i = 0; i < n; i++)
        at[i] = i < own ? &session->journal.decisions.at[i] : &result->decisions[i - own];
    buf_puts(out, "-- Found by dimscope search on the mesh ");
    mesh_format(session->mesh, out);
    buf_puts(out, ".\n-- A step takes ");
    units_format_us(result->cost_us, out);
    buf_puts(out, result->proven ? ", and none of the plans searched takes less.\n"
                                 : "; plans that take less are not ruled out.\n");
    buf_puts(out, "\nfunction PAS(graph, resource)\n");
    put_lines(session, at, n, "    ", out);
    buf_puts(out, "    return graph\nend\n");
}
