/* lua.c - the plan as a policy: its decisions, and pins if those alone do not make it again. */
#include "core/code/code.h"

#include "core/propagate/propagators.h"
#include "core/base/file.h"
#include "core/base/span.h"
#include "core/rules/registry.h"
#include "core/summary/decision_lua.h"
#include "core/summary/label.h"
#include "core/code/fold.h"
#include "core/code/repin.h"

#include <inttypes.h>

/* A decision as its line of Lua, split around the name of its tensor or op. */
typedef struct {
    const char *name, *before, *after;
    const char *origin;
} DecisionLine;

typedef struct {
    const Session *session;
    Arena *arena;
    Repinned pins;
    bool own; /* for the propagator that made the plan */
    DecisionLine *line;
    Folded folded;
    Buf *out;
} Lua;

/* ---- lines ---- */

/* Appends the text as one comment line, whatever it contains. */
static void put_comment(Str text, Buf *out)
{
    while (text.n > 0) {
        uint32_t rune = str_take_rune(&text);
        if (rune >= 0x20 && rune < 0x7F)
            buf_putc(out, (char)rune);
        else
            buf_printf(out, "\\u{%" PRIX32 "}", rune);
    }
}

static const char *origin_of(const Lua *lua, int i)
{
    const Decision *decision = &lua->pins.decision[i];
    Buf origin = buf_new(lua->arena), text = buf_new(lua->arena);
    if (i >= lua->pins.n_own) {
        buf_puts(&text, "added to reproduce the plan");
        return text.s;
    }
    label_origin(lua->session->mesh, &decision->origin, &origin);
    put_comment(str_trim(buf_str(&origin)), &text);
    return text.s;
}

static DecisionLine read_line(const Lua *lua, int i)
{
    Buf text = buf_marked(lua->arena);
    decision_lua(lua->session, &lua->pins.decision[i], &text);
    const TextSpan *name = text_find(buf_text(&text), SPAN_NAME);
    Str all = buf_str(&text);
    size_t begin = name ? name->at : all.n, end = name ? begin + name->n : all.n;
    return (DecisionLine){.before = arena_str(lua->arena, (Str){all.s, begin}),
                          .name = arena_str(lua->arena, (Str){all.s + begin, end - begin}),
                          .after = arena_str(lua->arena, (Str){all.s + end, all.n - end}),
                          .origin = origin_of(lua, i)};
}

static void fold_lines(Lua *lua)
{
    FoldItem *item = arena_array(lua->arena, FoldItem, lua->pins.n + 1);
    lua->line = arena_array(lua->arena, DecisionLine, lua->pins.n + 1);
    for (int i = 0; i < lua->pins.n; i++) {
        DecisionLine *line = &lua->line[i];
        *line = read_line(lua, i);
        const char *rest =
            arena_printf(lua->arena, "%zu %zu %s%s%s", strlen(line->before), strlen(line->after),
                         line->before, line->after, line->origin);
        item[i] = (FoldItem){line->name, rest};
    }
    lua->folded = fold_items(lua->arena, item, lua->pins.n);
}

/* The decisions in the order in which the loops apply them. */
static const Decision *folded_order(const Lua *lua)
{
    Decision *out = arena_array(lua->arena, Decision, lua->pins.n + 1);
    int n = 0;
    for (int l = 0; l < lua->folded.n; l++) {
        const FoldLoop *loop = &lua->folded.loop[l];
        for (int k = 0; k < (loop->n_numbers ? loop->n_numbers : 1); k++)
            for (int i = 0; i < loop->n_lines; i++) {
                int at = loop->n_numbers ? loop->item[i][k] : loop->line[i].item;
                out[n++] = lua->pins.decision[at];
            }
    }
    return out;
}

static void put_origin(const Lua *lua, const DecisionLine *line, const char *indent,
                       const char **last)
{
    if (*last && strcmp(*last, line->origin) == 0)
        return;
    *last = line->origin;
    if (line->origin[0])
        buf_printf(lua->out, "%s-- %s\n", indent, line->origin);
}

static void put_lines(const Lua *lua, const FoldLoop *loop, const char *indent)
{
    const char *last = NULL;
    for (int i = 0; i < loop->n_lines; i++) {
        const FoldLine *at = &loop->line[i];
        const DecisionLine *line = &lua->line[at->item];
        put_origin(lua, line, indent, &last);
        buf_printf(lua->out, "%s%s", indent, line->before);
        if (at->n > 0)
            buf_printf(lua->out, "%.*s\" .. i .. \"%s", (int)at->at, line->name,
                       line->name + at->at + at->n);
        else
            buf_puts(lua->out, line->name);
        buf_printf(lua->out, "%s\n", line->after);
    }
}

static void put_loop(const Lua *lua, const FoldLoop *loop)
{
    if (loop->n_numbers == 0) {
        put_lines(lua, loop, "    ");
        return;
    }
    if (fold_is_range(loop)) {
        buf_printf(lua->out, "    for i = %" PRId64 ", %" PRId64 " do\n", loop->number[0],
                   loop->number[loop->n_numbers - 1]);
    } else {
        buf_puts(lua->out, "    for _, i in ipairs{");
        for (int k = 0; k < loop->n_numbers; k++)
            buf_printf(lua->out, "%s%" PRId64, k ? ", " : "", loop->number[k]);
        buf_puts(lua->out, "} do\n");
    }
    put_lines(lua, loop, "        ");
    buf_puts(lua->out, "    end\n");
}

/* ---- the policy ---- */

static void put_head(const Lua *lua)
{
    const Propagator *propagator = lua->session->plan->propagator;
    Buf mesh = buf_new(lua->arena);
    mesh_format(lua->session->mesh, &mesh);
    buf_puts(lua->out, "-- ");
    put_comment(str_from(path_base(lua->session->graph->file)), lua->out);
    buf_puts(lua->out, " on ");
    put_comment(buf_str(&mesh), lua->out);
    buf_puts(lua->out, ": a dimscope plan, as a policy that reproduces it.\n");
    if (lua->own)
        buf_printf(lua->out, "-- Run it with --propagate %s --profile %s, which made the plan.\n",
                   propagator->name, propagator->profile);
    else if (propagator != &propagator_explain)
        buf_printf(lua->out,
                   "-- The plan was made by %s (%s); this policy is for the default propagator.\n",
                   propagator->name, propagator->profile);
    buf_puts(lua->out, "-- Comments say where each decision comes from. What follows from the "
                       "decisions is left out.\n");
    buf_puts(lua->out, "function PAS(graph, resource)\n");
    if (lua->session->options.train) {
        buf_puts(lua->out, "    graph:train(");
        put_lua_text(lua->session->options.train, lua->out);
        buf_puts(lua->out, ")\n");
    }
}

static void put_body(const Lua *lua)
{
    for (int i = 0; i < lua->folded.n; i++)
        put_loop(lua, &lua->folded.loop[i]);
    buf_puts(lua->out, "    return graph\nend\n");
}

/* How many operators and rules the policy's file registers; those of a model's file are not
 * counted. */
static int n_registered(const Session *session)
{
    const char *policy = session->options.policy;
    int n = rule_book_n_rules(&session->rules);

    for (int i = 0; policy && i < registry_n_users(session->rules.registry); i++) {
        const AnnoSource *anno = registry_at(session->rules.registry, i)->anno;
        n += anno && anno->file && strcmp(path_base(anno->file), path_base(policy)) == 0;
    }
    return n;
}

static void add_notes(const Lua *lua, const RepinDifference *difference, ExportNotes *notes)
{
    const Propagator *propagator = lua->session->plan->propagator;
    int n_rules = n_registered(lua->session);

    if (lua->pins.n_inexpressible)
        export_note(notes,
                    "%d decisions cannot be written in a policy, or contradict other decisions, "
                    "and are left out",
                    lua->pins.n_inexpressible);
    if (lua->own)
        export_note(notes,
                    "no pins make the default propagator reproduce this plan, so the policy is for "
                    "--propagate %s --profile %s",
                    propagator->name, propagator->profile);
    if (!difference->same)
        export_note(notes,
                    "this policy does not reproduce the plan: %d ops are sharded differently, %d "
                    "tensors are stored differently, %d ops run on other devices",
                    difference->n_ops, difference->n_tensors, difference->n_moved);
    if (n_rules)
        export_note(notes,
                    "%d operators and rules that the original policy registers are missing: add "
                    "them before PAS",
                    n_rules);
}

static RepinDifference read_plan(Lua *lua)
{
    fold_lines(lua);
    return repin_compare(lua->session, folded_order(lua), lua->pins.n,
                         lua->own ? lua->session->plan->propagator : &propagator_explain);
}

bool code_lua(const Session *session, Buf *out, ExportNotes *notes, Error *err)
{
    Lua lua = {.session = session, .arena = out->arena, .out = out};

    (void)err;
    lua.pins = repin(session, lua.arena);
    RepinDifference difference = read_plan(&lua);
    if (!difference.same && session->plan->propagator != &propagator_explain) {
        lua.own = true;
        lua.pins = repin_own(session, lua.arena);
        difference = read_plan(&lua);
    }
    put_head(&lua);
    put_body(&lua);
    add_notes(&lua, &difference, notes);
    return true;
}
