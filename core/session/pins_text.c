#include "core/base/peer.h"
#include "core/session/pins_read.h"

static const char forms[] =
    "--pins reads a plan file, or shardings by name: {\"w\": [Shard(0), Replicate()]}, "
    "{\"w\": P('dp', None)}, {\"w\": [0, -1]}, lines \"w: [{\"dp\"}, {}]\", MLIR with sdy: see "
    "dimscope help pins";

bool pins_text_is(Str text)
{
    Str trimmed = str_trim(text);
    return !(str_starts(trimmed, STR("{")) && (str_find(text, STR("\"dimscope_plan\"")) >= 0 ||
                                               str_find(text, STR("\"decisions\"")) >= 0));
}

static bool read_dict(PinsText *text, Scan *scan)
{
    return pins_dict_read(text, scan) && (pins_peek(scan), scan_end(scan));
}

static bool read_form(PinsText *text, Scan *scan)
{
    Str all = scan->source->text;
    for (const Peer *const *peer = built_peers; *peer; peer++)
        for (const PinsForm *it = (*peer)->pins; it && it->name; it++)
            if (it->is(all))
                return it->read(text, scan);
    if (pins_is_module(all))
        return pins_module_read(text, scan);
    pins_peek(scan);
    return pins_at_dict(scan) ? read_dict(text, scan) : pins_lines_read(text, scan);
}

/* Fails if the text has no sharding that fits this model. */
static bool check_any(const PinsText *text, Error *err)
{
    if (text->n_read == 0) {
        error_set(err, "the text contains no sharding");
        error_hint(err, "%s", forms);
        return false;
    }
    if (text->n_kept > 0)
        return true;
    error_set(err, "none of its %d shardings fits the model; the first one: %s", text->n_read,
              text->first.text);
    err->line = text->first_line;
    error_hint(err, "%s",
               text->first.hint[0] ? text->first.hint : "does it belong to another model?");
    return false;
}

bool pins_text_read(Session *session, const Source *source, Journal *journal, Error *err)
{
    Error own = {0};
    Source named = {arena_str(session->journal_arena, str_from(source->name)), source->text};
    PinsText text = {.session = session,
                     .mesh = session->mesh,
                     .scratch = arena_new(),
                     .source = &named,
                     .journal = journal,
                     .line = 1};
    Scan scan = scan_begin(&named, &own);
    int n_notes = session->notes.n;
    bool ok = read_form(&text, &scan) && check_any(&text, &own) && pins_check_whole(&text, &own);
    if (ok) {
        pins_summary(&text);
    } else {
        session->notes.n = n_notes;
        error_hint(&own, "%s", forms);
        error_in_file(&own, named.name);
        own.kind = ERROR_UNREADABLE;
        if (err && !error_is_set(err))
            *err = own;
    }
    arena_free(text.scratch);
    return ok;
}
