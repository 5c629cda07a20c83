#include "core/session/pins_read.h"

#include "core/model/reader.h"

/* Makes the names of the file's meshes known. */
static bool read_meshes(PinsText *text, Scan *scan, const FileShardings *from)
{
    for (int i = 0; i < from->meshes.n; i++) {
        text->axes = (PinsMesh){0};
        scan->at = from->meshes.at[i].at;
        if (!pins_mesh_read(text, scan, 0))
            return false;
        pins_put_alias(text, '@', from->meshes.at[i].name, &text->axes);
    }
    return true;
}

static bool add_all(PinsText *text, Scan *scan, const FileShardings *from)
{
    for (int i = 0; i < from->shardings.n; i++) {
        const FileSharding *at = &from->shardings.at[i];
        Str name = str_from(at->tensor);
        if (!pins_add(text, scan, &name, 1, NULL, at->from, at->to))
            return false;
    }
    return true;
}

bool pins_model_read(Session *session, Journal *journal, Error *err)
{
    const FileShardings *from = session->file_shardings;
    Error own = {0};
    Source source = {session->options.model, session->source_map.text};
    PinsText text = {.session = session,
                     .mesh = session->mesh,
                     .scratch = arena_new(),
                     .source = &source,
                     .journal = journal,
                     .mlir = true,
                     .line = 1};
    Scan scan = scan_begin(&source, &own);
    text.aliases = names_new(text.scratch);
    bool ok =
        from->shardings.n == 0 || (read_meshes(&text, &scan, from) && add_all(&text, &scan, from));
    if (ok && from->shardings.n > 0)
        pins_summary(&text);
    if (!ok) {
        error_in_file(&own, source.name);
        own.kind = ERROR_UNREADABLE;
        if (err && !error_is_set(err))
            *err = own;
    }
    arena_free(text.scratch);
    return ok;
}
