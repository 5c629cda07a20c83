#include "tui/state/pins.h"

#include "core/base/file.h"
#include "core/base/intern.h"
#include "core/summary/decision_lua.h"
#include "tui/state/lua_typed.h"

#include <assert.h>
#include <stdlib.h>

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
        error_set(err, "%s was not written by :write, so it is not overwritten", path);
        error_hint(err, ":write OTHER.lua");
    }
    return false;
}

/* ---- keeping decisions as lines ---- */

/* By a key, a line of the console, or a search. */
static int pins_of_user(const Session *session)
{
    int n = 0;

    for (int i = 0; i < session->journal.n_done; i++)
        n += session->journal.decisions.at[i].origin.kind != ORIGIN_POLICY;
    return n;
}

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

    if (decision->kind == PIN_ASSUMED)
        return true; /* several may be about the same values */
    if (decision_marks_tensor(decision->kind) && gone >= 0 && edits->last.at[gone] > i)
        return false;
    return edits->last.at[intern_find(edits->keys, &key, sizeof key)] == i;
}

/* Decisions to be written, in order. */
typedef Vec(const Decision *) Lines;

typedef struct {
    Edits edits;
    Arena *arena;
    Lines unpins, pins;
    int n;    /* lines written */
    Str last; /* the last of them */
} PinsWriter;

static int put_lines(PinsWriter *writer, Lines *lines, Buf *out)
{
    int n = 0;

    for (int i = 0; i < lines->n; n++) {
        size_t begin = out->n + 4;
        buf_puts(out, "    ");
        i += decisions_lua(writer->edits.session, lines->at + i, lines->n - i, out);
        writer->last = str_from(arena_str(writer->arena, (Str){out->s + begin, out->n - begin}));
        buf_putc(out, '\n');
    }
    lines->n = 0;
    return n;
}

static void flush(PinsWriter *writer, Buf *out)
{
    put_lines(writer, &writer->unpins, out);
    writer->n += put_lines(writer, &writer->pins, out);
}

/* A policy may not pin a dim twice: what it pins itself is taken away first. */
static void add_unpin(PinsWriter *writer, int i)
{
    const Decision *decision = &writer->edits.session->journal.decisions.at[i];
    About key = about(decision);

    if (!decision_pins_dim(decision->kind) ||
        !writer->edits.of_policy.at[intern_find(writer->edits.keys, &key, sizeof key)])
        return;
    Decision *unpin = arena_make(writer->arena, Decision);
    *unpin = *decision;
    unpin->kind = unpin->kind == PIN_TENSOR_DIM ? UNPIN_TENSOR_DIM : UNPIN_INDEX_DIM;
    vec_push(writer->arena, &writer->unpins, unpin);
}

/* Whether somebody typed the line: a pin made with a key has the line that decision_lua() writes.
 */
static bool was_typed(const PinsWriter *writer, const Decision *decision, int n)
{
    Buf own = buf_new(writer->arena);

    decision_lua(writer->edits.session, decision, &own);
    return decision->origin.kind == ORIGIN_USER &&
           (n > 1 || !str_eq(buf_str(&own), str_from(decision->origin.text))) &&
           lua_typed_stands_alone(str_from(decision->origin.text));
}

/* Decisions i to end are of one line: as it was typed, where that says them all and needs nothing
 * that other lines have set. */
static void add_line(PinsWriter *writer, int i, int end, bool over_policy, Buf *out)
{
    const Decision *decisions = writer->edits.session->journal.decisions.at;
    bool whole = was_typed(writer, &decisions[i], end - i);

    for (int d = i; d < end; d++)
        whole = whole && still_holds(&writer->edits, d);
    if (whole)
        flush(writer, out);
    for (int d = i; d < end; d++) {
        if (!still_holds(&writer->edits, d))
            continue;
        if (over_policy)
            add_unpin(writer, d);
        if (!whole)
            vec_push(writer->arena, &writer->pins, &decisions[d]);
    }
    if (!whole)
        return;
    flush(writer, out);
    writer->last = str_from(decisions[i].origin.text);
    buf_printf(out, "    %s\n", decisions[i].origin.text);
    writer->n++;
}

/* The user's lines that hold, and with `all` those of the policy before them. Typed ones call the
 * graph `g`. */
static void put_edits(PinsWriter *writer, bool all, Buf *out)
{
    const Journal *journal = &writer->edits.session->journal;
    int end;

    buf_puts(out, "    local g = graph\n");
    for (int i = 0; i < journal->n_done; i = end) {
        const Origin *origin = &journal->decisions.at[i].origin;
        for (end = i + 1; end < journal->n_done; end++)
            if (!same_line(origin, &journal->decisions.at[end].origin))
                break;
        if (all || origin->kind != ORIGIN_POLICY)
            add_line(writer, i, end, !all, out);
    }
    flush(writer, out);
}

/* ---- the policy that they come after ---- */

/* What include() takes: scripts/lua_include.c. */
static bool can_be_included(Str name)
{
    enum { NAME_BYTES_MAX = 64 };

    for (size_t i = 0; i < name.n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_/-", name.s[i]))
            return false;
    return name.n > 0 && name.n <= NAME_BYTES_MAX;
}

/* Its name below the folder of `file`, without the ending; else among the shipped ones; or NULL. */
static const char *included_name(Ui *ui, const char *policy, const char *file)
{
    const SessionHooks *hooks = &ui->session->hooks;
    char *folder = realpath(path_dir(ui->frame, file), NULL), *path = realpath(policy, NULL);
    Str name = str_from(path ? arena_str(ui->frame, str_from(path)) : policy);
    size_t n = folder ? strlen(folder) : 0;
    bool below = folder && path && strncmp(folder, path, n) == 0 && path[n] == '/';

    if (str_ends(name, STR(".lua")))
        name.n -= 4;
    if (below) {
        name = (Str){name.s + n + 1, name.n - n - 1};
    } else if (path) {
        Str stem = str_from(path_base(arena_str(ui->frame, name)));
        const char *shipped = arena_printf(ui->frame, "scripts/policies/%.*s.lua", STR_ARG(stem));
        const char *found =
            hooks->data_file ? hooks->data_file(hooks->context, ui->frame, shipped) : NULL;
        char *real = found ? realpath(found, NULL) : NULL;
        name = real && strcmp(real, path) == 0 ? stem : STR("");
        free(real);
    }
    free(folder);
    free(path);
    return can_be_included(name) ? arena_str(ui->frame, name) : NULL;
}

/* An option's value as Lua: numbers and booleans as they are. */
static void put_setting(const PolicySetting *setting, Buf *out)
{
    char *end;
    bool plain = strcmp(setting->value, "true") == 0 || strcmp(setting->value, "false") == 0;

    strtod(setting->value, &end);
    plain = plain || (*setting->value && !*end);
    buf_printf(out, plain ? "    resource.options.%s = %s\n" : "    resource.options.%s = \"%s\"\n",
               setting->name, setting->value);
}

/* The training step that the file has to ask for; NULL: none, or the policy that it includes does.
 */
static const char *own_training(const Session *session, bool included)
{
    return included && session->training.spec ? NULL : session->options.train;
}

/* graph:train() may be called once, so that the included policy's own step would be refused. */
static void put_other_training(const Session *session, Buf *out)
{
    const char *train = session->options.train;
    if (session->training.spec && session->train_given)
        buf_printf(out, "-- Open it with --train %s: the policy asks for '%s'.\n\n",
                   train ? train : "none", session->training.spec);
}

static void put_head(Ui *ui, const char *policy, const char *included, const char *train, Buf *out)
{
    const PolicySettings *settings = &ui->session->options.settings;

    buf_printf(out, "%s\n", edits_head);
    if (included)
        buf_printf(out,
                   "-- As a policy it gives the same plan: it runs %s first.\n\ninclude \"%s\"\n"
                   "local base = PAS\n\n",
                   included, included);
    else if (policy)
        buf_printf(out,
                   "-- As a policy it gives the same plan. %s cannot be included from here: what "
                   "it decided\n-- is written out.\n\n",
                   path_base(policy));
    else
        buf_puts(out, "-- As a policy it gives the same plan.\n\n");
    if (included)
        put_other_training(ui->session, out);
    buf_puts(out, "function PAS(graph, resource)\n");
    if (train) {
        buf_puts(out, "    graph:train(");
        put_lua_text(train, out);
        buf_puts(out, ")\n");
    }
    for (int i = 0; included && i < settings->n; i++)
        put_setting(&settings->at[i], out);
    buf_puts(out, included ? "    base(graph, resource)\n" : "");
}

bool pins_write(Ui *ui, Str path, Error *err)
{
    const Session *session = ui->session;
    const char *policy = ui_policy_file(session);
    Str stem = policy ? str_from(path_base(policy)) : STR("pins");
    Buf text = buf_new(ui->frame);
    PinsWriter writer = {.edits = edits_of(ui->frame, session), .arena = ui->frame};

    if (str_ends(stem, STR(".lua")))
        stem.n -= 4;
    const char *file = path.n > 0 ? arena_str(ui->frame, path)
                                  : arena_printf(ui->frame, "%.*s.edits.lua", STR_ARG(stem));
    const char *included = policy ? included_name(ui, policy, file) : NULL;
    const char *train = own_training(session, included != NULL);
    if (pins_of_user(session) == 0 && !train)
        return error_set(err, "no pins were made here: nothing to write");
    put_head(ui, policy, included, train, &text);
    put_edits(&writer, policy && !included, &text);
    buf_puts(&text, "    return graph\nend\n");
    if (!may_write(ui, file, err) || !file_write(file, buf_str(&text), err))
        return false;
    pins_are_written(ui);
    if (writer.n == 0)
        writer.last = str_from(arena_printf(ui->frame, "the training step %s", train));
    writer.n += train != NULL;
    ui_say(ui, "%d line%s to %s: %.*s", writer.n, writer.n > 1 ? "s" : "", file,
           STR_ARG(writer.last));
    return true;
}

/* ---- what is in no file ---- */

int pins_made_here(const Session *session)
{
    int n = 0;

    for (int i = 0; i < session->journal.n_done; i++) {
        const Origin *origin = &session->journal.decisions.at[i].origin;
        n += origin->kind != ORIGIN_POLICY && (!origin->file || !*origin->file);
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
