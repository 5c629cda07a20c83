#include "tui/views/policy_lines.h"

#include "core/base/file.h"
#include "core/summary/decision_lua.h"

enum { SOURCE_BYTES_MAX = 4 << 20 };

void policy_lines_forget(Ui *ui)
{
    PolicyState *state = ui->own[SHOW_POLICY];

    if (state->lines)
        arena_free(state->lines->arena);
    state->lines = NULL;
}

/* Whether the line calls a function of the graph that decides; what follows "--" does not count. */
static bool calls_deciding(Str text)
{
    static const char *const calls[] = {":shard(",     ":pin(",        ":unpin(", ":partition(",
                                        ":replicate(", ":assign(",     ":tie(",   ":barrier(",
                                        ":unreduced(", ":replicated(", ":shard "};
    int64_t comment = str_find(text, STR("--"));

    if (comment >= 0)
        text.n = (size_t)comment;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (str_find(text, str_from(calls[i])) >= 0)
            return true;
    return false;
}

static void read_source(PolicyLines *lines)
{
    Source source;
    Error err = {0};
    Vec(PolicyLine) all = {0};

    if (!file_read(lines->arena, lines->file, SOURCE_BYTES_MAX, &source, &err)) {
        lines->error = arena_str(lines->arena, str_from(err.text));
        return;
    }
    for (Str rest = source.text; rest.n > 0;) {
        PolicyLine line = {.text = str_take(&rest, '\n')};
        line.calls = calls_deciding(line.text);
        vec_push(lines->arena, &all, line);
    }
    lines->line = all.at;
    lines->n_lines = all.n;
}

/* The line that an origin names; NULL: another file, or past the end. */
static PolicyLine *line_of(const PolicyLines *lines, const char *file, int line)
{
    if (!file || !lines->file || line < 1 || line > lines->n_lines ||
        strcmp(path_base(file), path_base(lines->file)) != 0)
        return NULL;
    return &lines->line[line - 1];
}

static PolicyLine *line_of_origin(const PolicyLines *lines, const Origin *origin)
{
    return origin->kind == ORIGIN_POLICY ? line_of(lines, origin->file, origin->line) : NULL;
}

static void count_decisions(PolicyLines *lines, const Ui *ui)
{
    const Plan *plan = ui_plan(ui);
    const Journal *journal = &ui->session->journal;
    PolicyLine *line;

    for (int i = 0; i < journal->n_done; i++)
        if ((line = line_of_origin(lines, &journal->decisions.at[i].origin)))
            line->made++;
    for (int i = 0; i < plan_n_held(plan); i++)
        if ((line = line_of_origin(lines, &plan_held(plan, i)->origin)))
            line->hits++;
}

static void find_findings(PolicyLines *lines, const Ui *ui)
{
    const Findings *notes = &ui->session->notes;
    PolicyLine *line;

    for (int i = 0; i < notes->n; i++) {
        const Finding *note = &notes->at[i];
        if ((line = line_of(lines, note->file, note->line)) &&
            (!line->finding || note->level > line->finding->level))
            line->finding = note;
    }
}

bool policy_line_is_idle(const PolicyLine *line)
{
    bool warned = line->finding && strcmp(line->finding->code, "printed") != 0;

    return line->hits == 0 && (line->made > 0 || warned);
}

static void price_lines(PolicyLines *lines, Ui *ui)
{
    const Session *session = ui->session;
    Comm *comm = ui->comm;

    lines->priced = session->inferred->n_program <= PRICED_OPS_MAX;
    if (!lines->priced)
        return;
    comm_table(comm, NULL);
    for (int i = 0; i < comm->n_all; i++) {
        Arena *scratch = arena_new();
        const Reshard *first = &ui_plan(ui)->moved->reshards[comm->row[i].first];
        const Decision *cause = comm_cause(scratch, session, first);
        PolicyLine *line = cause ? line_of_origin(lines, &cause->origin) : NULL;
        if (line) {
            line->us += ui_graph(ui)->phase ? comm->row[i].step_us : comm->row[i].us;
            line->pass_us[comm->row[i].pass] += comm->row[i].us;
        }
        arena_free(scratch);
    }
}

static void sum_lines(PolicyLines *lines)
{
    for (int i = 0; i < lines->n_lines; i++) {
        const PolicyLine *line = &lines->line[i];
        lines->n_hits += line->hits;
        lines->n_deciding += line->hits > 0;
        lines->n_idle += policy_line_is_idle(line);
        lines->n_unused += policy_line_is_unused(line);
        if (line->us > lines->most_us)
            lines->most_us = line->us;
    }
}

typedef Vec(PolicyEdit) Edits;

static bool only_removes(DecisionKind kind)
{
    return kind == UNPIN_TENSOR || kind == UNPIN_TENSOR_DIM || kind == UNPIN_INDEX_DIM;
}

/* One edit per line of the journal that was made here; a line of the console makes many decisions.
 */
static Edits edits_one_by_one(Arena *arena, const Journal *journal)
{
    Edits edits = {0};
    const Origin *last = NULL;

    for (int i = 0; i < journal->n_done; i++) {
        const Origin *origin = &journal->decisions.at[i].origin;
        if (origin->kind == ORIGIN_POLICY)
            continue;
        if (!last || last->line != origin->line || strcmp(last->text, origin->text) != 0)
            vec_push(
                arena, &edits,
                ((PolicyEdit){.text = origin->text, .line = origin->line, .first = i, .head = -1}));
        PolicyEdit *edit = &edits.at[edits.n - 1];
        edit->made++;
        edit->hits += only_removes(journal->decisions.at[i].kind);
        last = origin;
    }
    return edits;
}

static void count_held(const Plan *plan, Edits *edits)
{
    for (int i = 0; i < plan_n_held(plan); i++) {
        const Origin *origin = &plan_held(plan, i)->origin;
        int at = origin->kind == ORIGIN_POLICY ? edits->n : 0;
        while (at < edits->n && (edits->at[at].line != origin->line ||
                                 strcmp(edits->at[at].text, origin->text) != 0))
            at++;
        if (at < edits->n)
            edits->at[at].hits++;
    }
}

/* How many edits from `from` on one line of Lua can stand for; its text in *out. */
static int fold_of(const Session *session, Arena *arena, const Edits *edits, int from, Buf *out)
{
    Vec(const Decision *) decisions = {0};

    for (int i = from; i < edits->n && edits->at[i].made == 1; i++)
        vec_push(arena, &decisions, &session->journal.decisions.at[edits->at[i].first]);
    return decisions.n > 1 ? decisions_lua(session, decisions.at, decisions.n, out) : 1;
}

static void list_edits(PolicyLines *lines, const Ui *ui)
{
    Arena *scratch = arena_new();
    Edits single = edits_one_by_one(lines->arena, &ui->session->journal), edits = {0};

    count_held(ui_plan(ui), &single);
    for (int i = 0, n; i < single.n; i += n) {
        Buf text = buf_new(scratch);
        int head = edits.n;
        n = fold_of(ui->session, scratch, &single, i, &text);
        if (n > 1)
            vec_push(lines->arena, &edits,
                     ((PolicyEdit){.text = arena_str(lines->arena, buf_str(&text)),
                                   .made = n,
                                   .first = single.at[i].first,
                                   .n_members = n,
                                   .head = -1}));
        for (int k = i; k < i + n; k++) {
            single.at[k].head = n > 1 ? head : -1;
            if (n > 1)
                edits.at[head].hits += single.at[k].hits;
            vec_push(lines->arena, &edits, single.at[k]);
        }
    }
    lines->edit = edits.at;
    lines->n_edits = edits.n;
    arena_free(scratch);
}

/* A shipped policy is given by its name, which its decisions may not tell. NULL: no policy. */
static const char *find_file(Arena *arena, const Session *session)
{
    const SessionHooks *hooks = &session->hooks;
    const char *file = ui_policy_file(session), *shipped = NULL;

    if (!file)
        return NULL;
    if (!file_exists(file) && !strchr(file, '/') && hooks->data_file)
        shipped = hooks->data_file(hooks->context, arena,
                                   arena_printf(arena, "scripts/policies/%s.lua", file));
    return arena_str(arena, str_from(shipped ? shipped : file));
}

const PolicyLines *policy_lines(Ui *ui)
{
    PolicyState *state = ui->own[SHOW_POLICY];

    if (state->lines && state->lines->n_policy_runs == ui->changes.n_policy_runs)
        return state->lines;
    policy_lines_forget(ui);
    Arena *arena = arena_new();
    PolicyLines *lines = arena_make(arena, PolicyLines);
    *lines = (PolicyLines){.arena = arena, .n_policy_runs = ui->changes.n_policy_runs};
    lines->file = find_file(arena, ui->session);
    if (lines->file)
        read_source(lines);
    count_decisions(lines, ui);
    find_findings(lines, ui);
    price_lines(lines, ui);
    sum_lines(lines);
    list_edits(lines, ui);
    state->lines = lines;
    return lines;
}

int policy_line_decisions(Ui *ui, int line, const Decision ***out)
{
    const Plan *plan = ui_plan(ui);
    const PolicyLines *lines = policy_lines(ui);
    Vec(const Decision *) found = {0};

    for (int i = 0; i < plan_n_held(plan); i++) {
        const Decision *held = plan_held(plan, i);
        const PolicyLine *of = line_of_origin(lines, &held->origin);
        if (of && of == &lines->line[line - 1])
            vec_push(ui->frame, &found, held);
    }
    *out = found.at;
    return found.n;
}
