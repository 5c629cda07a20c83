#include "core/search/policy.h"

#include "core/base/units.h"
#include "core/summary/decision_lua.h"

#include <inttypes.h>

void search_decisions(const Session *session, const SearchResult *result, const char *indent,
                      Buf *out)
{
    int n = result->n_decisions;
    const Decision **at = arena_array(out->arena, const Decision *, n);
    for (int i = 0; i < n; i++)
        at[i] = &result->decisions[i];
    for (int i = result->n_lifted; i < n;) {
        int price = result->price_of ? result->price_of[i] : -1;
        buf_puts(out, indent);
        i += decisions_lua(session, at + i, n - i, out);
        if (price >= 0) {
            buf_puts(out, "  -- ");
            search_put_price(&result->by_op[price], out);
        }
        buf_putc(out, '\n');
    }
}

/* Those that held in the search. */
static void put_own(const Session *session, const char *indent, Buf *out)
{
    int n = 0;
    const Decision **at = arena_array(out->arena, const Decision *, session->journal.n_done);
    for (int i = 0; i < session->journal.n_done; i++)
        if (session->journal.decisions.at[i].origin.kind != ORIGIN_SEARCH)
            at[n++] = &session->journal.decisions.at[i];
    for (int i = 0; i < n;) {
        buf_puts(out, indent);
        i += decisions_lua(session, at + i, n - i, out);
        buf_putc(out, '\n');
    }
}

/* Sizes of free dims that the session's own policy asked for. */
static void put_sizes(const Session *session, Buf *out)
{
    const DimBindings *sizes = &session->policy_sizes;
    if (sizes->n == 0)
        return;
    buf_puts(out, "\nfunction SIZES()\n    return {");
    for (int i = 0; i < sizes->n; i++) {
        buf_puts(out, i > 0 ? ", [" : "[");
        put_lua_str(sizes->at[i].name, out);
        buf_printf(out, "] = %" PRId64, sizes->at[i].size);
    }
    buf_puts(out, "}\nend\n");
}

void search_policy(const Session *session, const SearchResult *result, Buf *out)
{
    buf_puts(out, "-- Found by dimscope search on the mesh ");
    mesh_format(session->mesh, out);
    buf_puts(out, ".\n-- A step takes ");
    units_format_us(result->cost_us, out);
    buf_puts(out, result->proven ? ", and none of the plans searched takes less.\n"
                                 : "; plans that take less are not ruled out.\n");
    put_sizes(session, out);
    buf_puts(out, "\nfunction PAS(graph, resource)\n");
    put_own(session, "    ", out);
    search_decisions(session, result, "    ", out);
    buf_puts(out, "    return graph\nend\n");
}
