#include "tui/state/pins.h"

#include "core/base/file.h"
#include "core/base/intern.h"
#include "core/summary/decision_lua.h"
#include "tui/state/lua_typed.h"

#include <assert.h>

static const char edits_head[] = "-- Pins made in the dimscope explorer.";

static bool may_write(const Ui *ui, const char *path, Error *err)
{
    Source source;

    if (!file_exists(path))
        return true;
    if (file_read(ui->frame, path, 1 << 20, &source, err) &&
        str_starts(source.text, str_from(edits_head)))
        return true;
    if (!error_is_set(err)) {
        error_set(err, "%s was not written by :write: it is not overwritten", path);
        error_hint(err, ":write OTHER.lua");
    }
    return false;
}

/* ---- keeping decisions as lines ---- */

/* A line of the console may have made many decisions; it is written once. */
static bool same_line(const Origin *a, const Origin *b)
{
    return a->kind == b->kind && a->line == b->line && strcmp(a->text, b->text) == 0;
}

/* What a decision is about: the last one that is about the same holds. */
typedef struct {
    int32_t kind, place, dim;
} About;

static About about(const Decision *decision)
{
    bool dims = decision->dim >= 0 && !decision_is_on_ops(decision->kind);
    int32_t kind = dims ? !decision_is_on_tensor(decision->kind) : (int32_t)decision->kind;

    return (About){kind, decision->place, dims ? decision->dim : -1};
}

typedef struct {
    const Session *session;
    Intern *keys;
    Vec(int32_t) last;   /* per key: the last decision about it */
    Vec(bool) of_policy; /* per key: the policy pins it */
} Edits;

static Edits edits_of(Arena *arena, const Session *session)
{
    const Journal *journal = &session->journal;
    Edits edits = {.session = session, .keys = intern_new(arena)};

    for (int i = 0; i < journal->n_done; i++) {
        const Decision *decision = &journal->decisions.at[i];
        About key = about(decision);
        int32_t id = intern_put(edits.keys, &key, sizeof key);
        if (id == edits.last.n) {
            vec_push(arena, &edits.last, i);
            vec_push(arena, &edits.of_policy, false);
        }
        assert(edits.last.at && edits.of_policy.at);
        edits.last.at[id] = i;
        if (decision->origin.kind == ORIGIN_POLICY)
            edits.of_policy.at[id] = decision_pins_dim(decision->kind);
    }
    return edits;
}

static bool still_holds(const Edits *edits, int i)
{
    const Decision *decision = &edits->session->journal.decisions.at[i];
    About key = about(decision);
    About unmark = {UNPIN_TENSOR, decision->place, -1};
    int32_t gone = intern_find(edits->keys, &unmark, sizeof unmark);

    if (decision_marks_tensor(decision->kind) && gone >= 0 && edits->last.at[gone] > i)
        return false;
    return edits->last.at[intern_find(edits->keys, &key, sizeof key)] == i;
}

/* A policy may not pin a dim twice: what it pins itself is taken away first. */
static void put_unpin(const Edits *edits, int i, Buf *out)
{
    Decision decision = edits->session->journal.decisions.at[i];
    About key = about(&decision);

    if (!decision_pins_dim(decision.kind) ||
        !edits->of_policy.at[intern_find(edits->keys, &key, sizeof key)])
        return;
    decision.kind = decision.kind == PIN_TENSOR_DIM ? UNPIN_TENSOR_DIM : UNPIN_INDEX_DIM;
    buf_puts(out, "    ");
    decision_lua(edits->session, &decision, out);
    buf_putc(out, '\n');
}

/* Decisions i to end are of one line: as it was typed, where that says them all and needs nothing
 * that other lines have set. */
static void put_line(const Edits *edits, int i, int end, Buf *out)
{
    const Decision *decisions = edits->session->journal.decisions.at;
    bool whole = lua_typed_stands_alone(str_from(decisions[i].origin.text));

    for (int d = i; d < end; d++) {
        whole = whole && still_holds(edits, d);
        if (still_holds(edits, d))
            put_unpin(edits, d, out);
    }
    for (int d = i; d < end && !whole; d++) {
        if (!still_holds(edits, d))
            continue;
        buf_puts(out, "    ");
        decision_lua(edits->session, &decisions[d], out);
        buf_putc(out, '\n');
    }
    if (whole)
        buf_printf(out, "    %s\n", decisions[i].origin.text);
}

/* The user's lines that hold; how many there are. Typed ones call the graph `g`. */
static int put_edits(Arena *arena, const Session *session, Buf *out)
{
    const Journal *journal = &session->journal;
    Edits edits = edits_of(arena, session);
    int n = 0, end;

    for (int i = 0; i < journal->n_done; i = end) {
        const Origin *origin = &journal->decisions.at[i].origin;
        for (end = i + 1; end < journal->n_done; end++)
            if (!same_line(origin, &journal->decisions.at[end].origin))
                break;
        if (origin->kind != ORIGIN_USER)
            continue;
        if (n++ == 0)
            buf_puts(out, "    local g = graph\n");
        put_line(&edits, i, end, out);
    }
    return n;
}

bool pins_write(Ui *ui, Str path, Error *err)
{
    const Session *session = ui->session;
    const char *policy_file = ui_policy_file(session);
    const char *policy = policy_file ? path_base(policy_file) : "pins";
    Str stem = str_from(policy);
    Buf text = buf_new(ui->frame);

    if (str_ends(stem, STR(".lua")))
        stem.n -= 4;
    const char *file = path.n > 0 ? arena_str(ui->frame, path)
                                  : arena_printf(ui->frame, "%.*s.edits.lua", STR_ARG(stem));
    buf_printf(&text, "%s\n-- They come after %s: put them at the end of its PAS.\n\n", edits_head,
               policy_file ? policy : "the policy");
    buf_puts(&text, "function PAS(graph, resource)\n");
    int n = put_edits(ui->frame, session, &text);
    buf_puts(&text, "    return graph\nend\n");
    if (n == 0)
        return error_set(err, "no pins were made here: nothing to write");
    if (!may_write(ui, file, err) || !file_write(file, buf_str(&text), err))
        return false;
    pins_are_written(ui);
    const Decision *last = &session->journal.decisions.at[session->journal.n_done - 1];
    ui_say(ui, "%d line%s to %s: %s", n, n > 1 ? "s" : "", file, last->origin.text);
    return true;
}

/* ---- what is in no file ---- */

int pins_made_here(const Session *session)
{
    int n = 0;

    for (int i = 0; i < session->journal.n_done; i++) {
        const Origin *origin = &session->journal.decisions.at[i].origin;
        n += origin->kind == ORIGIN_USER && (!origin->file || !*origin->file);
    }
    return n;
}

void pins_are_written(Ui *ui)
{
    ui->changes.written_edits = ui->changes.edits;
    ui->changes.written = pins_made_here(ui->session);
}

int pins_unwritten(const Ui *ui)
{
    int n = pins_made_here(ui->session);

    return n == ui->changes.written && ui->changes.edits == ui->changes.written_edits ? 0 : n;
}
