#include "core/session/load_infer.h"

#include "core/fuse/write_out.h"

bool load_infer(Session *session, bool allow_free, Error *err)
{
    session->inferred = infer_watched(session->model_arena, session->graph, session->rules.registry,
                                      &session->options.dims, session->options.given, allow_free,
                                      session->progress, err);
    return session->inferred != NULL;
}

bool load_infer_written(Session *session, bool allow_free, Error *err)
{
    session->inferred = infer_written(
        session->model_arena, &session->graph, session->rules.registry, &session->options.dims,
        session->options.given, allow_free, session->progress, &session->read_notes, err);
    return session->inferred != NULL;
}
