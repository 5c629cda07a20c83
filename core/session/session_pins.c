#include "core/session/session_pins.h"

#include "core/session/onnx_devices.h"
#include "core/session/pins_read.h"
#include "core/session/pins_text.h"
#include "core/session/planfile.h"
#include "core/session/system_settings.h"

/* Reads the device annotations of an .onnx file (onnx_devices.h). */
static bool read_annotations(Session *session, const char *path, Journal *journal, Error *err)
{
    FileMap map;
    if (!file_map(path, &map, err))
        return false;
    bool ok = onnx_devices_read(session, path, map.text, journal, err);
    file_unmap(&map);
    return ok;
}

/* A file in which nothing fits belongs to another model: an error. */
static bool check_pins(const Session *session, const PlanFile *file, int n_kept, int n_notes,
                       Error *err)
{
    int n = json_size(json_get(file->root, "decisions"));
    if (n == 0 || n_kept > 0)
        return true;
    error_kind(err, ERROR_UNREADABLE, "none of its %d decisions fits the model", n);
    for (int i = n_notes; i < session->notes.n; i++)
        if (strcmp(session->notes.at[i].code, "decision-dropped") == 0)
            error_hint(err, "%s", session->notes.at[i].text);
    error_in_file(err, file->path);
    return false;
}

static bool read_planned_pins(Session *session, Journal *journal, Error *err)
{
    SessionOptions unused = {0};
    PlanFile file;
    int n_notes = session->notes.n, n_done = journal->n_done;
    if (!planfile_open(session->journal_arena, session->options.pins, &unused, &file, err))
        return false;
    planfile_decisions(session, &file, journal);
    bool ok = check_pins(session, &file, journal->n_done - n_done, n_notes, err);
    planfile_close(&file);
    return ok;
}

/* The file with the shardings of a checkpoint, where the path is its folder: of torch, of Orbax. */
static const char *file_of_checkpoint(Arena *arena, const char *path)
{
    static const char *const names[] = {".metadata", "_sharding", "default/_sharding",
                                        "state/_sharding", "params/_sharding"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *file = path_join(arena, path, names[i]);
        if (file_exists(file))
            return file;
    }
    return path;
}

bool session_read_pins(Session *session, bool again, Journal *journal, Error *err)
{
    const char *path = session->options.pins;
    Source source;
    if (!path)
        return true;
    if (str_ends(str_from(path), STR(".onnx")))
        return again || read_annotations(session, path, journal, err);
    Arena *scratch = arena_new();
    path = file_of_checkpoint(scratch, path);
    bool ok = file_read(scratch, path, PINS_BYTES_MAX, &source, err);
    bool text = ok && pins_text_is(source.text);
    if (ok && system_settings_are(source.text))
        ok = system_settings_note(session, &source, err);
    else if (text)
        ok = pins_text_read(session, &source, journal, err);
    else if (ok && !again)
        ok = read_planned_pins(session, journal, err);
    arena_free(scratch);
    return ok;
}

void session_read_pins_again(Session *session, Journal *journal)
{
    Error why = {0};
    if (session_read_pins(session, true, journal, &why))
        return;
    Finding finding = {.level = LEVEL_WARNING, .code = "pins-gone", .line = why.line};
    Arena *arena = session->journal_arena;
    finding.file = session->options.pins;
    finding.text = arena_printf(arena, "the pins cannot be read and are left out: %s", why.text);
    finding.hint = arena_str(arena, str_from(why.hint));
    finding.op = finding.tensor = -1;
    vec_push(arena, &session->notes, finding);
}

bool session_read_own_annotations(Session *session, Journal *journal, Error *err)
{
    const SessionOptions *options = &session->options;
    const char *name, *mesh;
    if (session->file_shardings && !options->policy && !options->pins && !session->carried)
        return pins_model_read(session, journal, err);
    if (options->policy || options->pins || session->carried || !session->model_map.map ||
        !onnx_devices_find(session->journal_arena, session->model_map.text, &name, &mesh))
        return true;
    Error why = {0};
    if (onnx_devices_read(session, options->model, session->model_map.text, journal, &why))
        return true;
    if (why.kind != ERROR_USAGE) {
        *err = why;
        return false;
    }
    Finding finding = {.level = LEVEL_NOTE, .code = "onnx-sharding", .file = options->model};
    finding.text = arena_str(session->journal_arena, str_from(why.text));
    finding.hint = arena_str(session->journal_arena, str_from(why.hint));
    finding.op = finding.tensor = -1;
    vec_push(session->journal_arena, &session->notes, finding);
    return true;
}
