#include "core/session/load_infer.h"

#include "core/fuse/write_out.h"

static bool infer_with(Session *session, const GivenValues *given, bool allow_free, Error *err)
{
    session->inferred =
        infer_watched(session->model_arena, session->graph, session->rules.registry,
                      &session->options.dims, given, allow_free, session->progress, err);
    return session->inferred != NULL;
}

bool load_infer(Session *session, bool allow_free, Error *err)
{
    return infer_with(session, session->options.given, allow_free, err);
}

/* The same before ops are written out: elements may be given of a tensor that this makes. *later:
 * there are such. */
static bool infer_first(Session *session, bool allow_free, bool *later, Error *err)
{
    const GivenValues *all = session->options.given;
    GivenValues now = {0};
    for (int i = 0; all && i < all->n; i++)
        if (graph_find_tensor(session->graph, all->at[i].tensor) >= 0)
            vec_push(session->model_arena, &now, all->at[i]);
    *later = all && now.n < all->n;
    return infer_with(session, *later ? &now : all, allow_free, err);
}

bool load_infer_written(Session *session, bool allow_free, Error *err)
{
    enum { DEPTH_MAX = 4 };
    bool later;
    if (!infer_first(session, allow_free, &later, err))
        return false;
    for (int i = 0; i < DEPTH_MAX; i++) {
        Findings notes = {0};
        Graph *graph;
        if (!write_out(session->inferred, &notes, &graph, err))
            return false;
        if (!graph || i == DEPTH_MAX - 1)
            for (int n = 0; n < notes.n; n++)
                vec_push(session->model_arena, &session->read_notes, notes.at[n]);
        if (!graph)
            return !later || load_infer(session, allow_free, err);
        session->graph = graph;
        if (!infer_first(session, allow_free, &later, err))
            return false;
    }
    return !later || load_infer(session, allow_free, err);
}
