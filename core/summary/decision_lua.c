#include "core/summary/decision_lua.h"

#include "core/base/span.h"
#include "core/base/text.h"
#include "core/layout/weights.h"
#include "core/plan/assume.h"
#include "core/summary/diff.h"

#include <ctype.h>
#include <inttypes.h>

/* ---- texts ---- */

void put_lua_text(const char *text, Buf *out)
{
    put_lua_str(str_from(text), out);
}

void put_lua_str(Str text, Buf *out)
{
    buf_putc(out, '"');
    for (Str rest = text; rest.n > 0;) {
        Str at = rest;
        uint32_t rune = str_take_rune(&rest);
        if (rune == '"' || rune == '\\')
            buf_printf(out, "\\%c", (char)rune);
        else if (at.n - rest.n == 1 && (rune < 0x20 || rune >= 0x7f)) /* a control, or no UTF-8 */
            buf_printf(out, "\\%03" PRIu32, rune);
        else if (!rune_is_shown(rune))
            buf_printf(out, "\\u{%" PRIX32 "}", rune);
        else
            buf_add(out, (Str){at.s, at.n - rest.n});
    }
    buf_putc(out, '"');
}

/* The name of what a decision is about, with a mark on it inside its quotes. */
static void put_name(const char *name, Buf *out)
{
    Buf quoted = buf_new(out->arena);
    put_lua_text(name, &quoted);
    buf_putc(out, '"');
    size_t from = out->n;
    buf_add(out, (Str){quoted.s + 1, quoted.n - 2});
    buf_mark(out, from, SPAN_NAME, 0);
    buf_putc(out, '"');
}

/* The name that finds the tensor again. */
static const char *name_of(const Session *session, int32_t tensor)
{
    const char *label = naming_label(session->naming, tensor);
    bool found = naming_find(session->naming, str_from(label), NULL) == tensor;
    return found ? label : tensor_name(session->graph, tensor);
}

static void put_axes(const Mesh *mesh, const uint8_t *atom, int n, Buf *out)
{
    buf_putc(out, '{');
    for (int i = 0; i < n;) {
        int64_t size;
        int run = mesh_atoms_run(mesh, atom + i, n - i, &size);
        Buf axis = buf_new(out->arena);
        mesh_format_atoms(mesh, atom + i, run, "", &axis);
        buf_puts(out, i ? ", " : "");
        put_lua_text(axis.s, out);
        i += run;
    }
    buf_putc(out, '}');
}

/* ---- cuts ---- */

/* A cut in a policy's words: `interleave` parts before the digit that is sharded, `unit`
 * neighbours after it. */
typedef struct {
    int64_t interleave, unit;
    const Digit *digit; /* NULL: whole */
} LuaCut;

/* Two halves, the second dealt from the last rank to the first. */
static bool cut_is_zigzag(const Cut *cut)
{
    return cut->n == 2 && cut_is_blocks(cut) && cut->digit[0].size == cut->digit[1].size &&
           !cut->digit[0].mirrored && cut->digit[1].mirrored;
}

static bool has_mirrored(const Cut *cut)
{
    for (int64_t d = 0; d < cut->n; d++)
        if (cut->digit[d].mirrored)
            return true;
    return false;
}

static bool read_cut(const Cut *cut, LuaCut *out)
{
    *out = (LuaCut){1, 1, NULL};
    if (has_mirrored(cut) && !cut_is_zigzag(cut))
        return false;
    if (cut_is_blocks(cut)) {
        out->digit = &cut->digit[0];
        return true;
    }
    for (int64_t d = 0; d < cut->n; d++) {
        const Digit *digit = &cut->digit[d];
        if (digit->n > 0 && out->digit)
            return false;
        if (digit->n > 0)
            out->digit = digit;
        else if (out->digit)
            out->unit *= digit->size;
        else
            out->interleave *= digit->size;
    }
    return true;
}

bool cut_has_lua(const Cut *cut)
{
    LuaCut read;
    return read_cut(cut, &read);
}

static void put_blocks(const Cut *cut, Buf *out)
{
    buf_puts(out, ", blocks = {");
    for (int64_t d = 0; d < cut->n; d++)
        buf_printf(out, "%s%" PRId64, d ? ", " : "", cut->digit[d].size);
    buf_putc(out, '}');
}

/* The sizes of a digit's parts, each of that many units; nothing for chunks. */
static void put_sizes(const Mesh *mesh, const Digit *digit, int64_t unit, Buf *out)
{
    if (!digit || !digit->weights)
        return;
    WeightList weights = weights_list(mesh, digit->weights);
    buf_puts(out, ", sizes = {");
    for (int i = 0; i < weights.n; i++)
        buf_printf(out, "%s%" PRId64, i ? ", " : "",
                   digit->size / weights.sum * weights.at[i] * unit);
    buf_putc(out, '}');
}

/* `, store = true` or `, store = {"gradient", "states"}`. */
static void put_store(const Decision *pin, Buf *out)
{
    if (pin->store == STORED_ALL)
        buf_puts(out, ", store = true");
    else if (pin->store) {
        const char *before = ", store = {";
        for (int i = 0; i < STORED_KINDS; i++) {
            if (!(pin->store >> i & 1))
                continue;
            buf_printf(out, "%s\"%s\"", before, stored_name(i));
            before = ", ";
        }
        buf_putc(out, '}');
    }
    buf_puts(out, pin->keep ? ", keep = true" : "");
}

static void put_cut(const Mesh *mesh, const Decision *pin, const LuaCut *read, Buf *out)
{
    bool blocks = cut_is_blocks(decision_cut(pin)), cut = read->digit != NULL;
    bool parts = cut && !blocks && read->interleave > 1, units = cut && !blocks && read->unit > 1;
    bool ring = cut_is_ring(decision_cut(pin));
    bool zigzag = cut_is_zigzag(decision_cut(pin));
    bool sized = cut && read->digit->weights;
    bool table = ring || blocks || sized || parts || units || pin->open || pin->store ||
                 pin->keep || pin->priority;
    buf_puts(out, table ? "{axis = " : "");
    put_axes(mesh, cut ? read->digit->atom : NULL, cut ? read->digit->n : 0, out);
    if (zigzag)
        buf_puts(out, ", zigzag = true");
    else if (blocks)
        put_blocks(decision_cut(pin), out);
    if (parts)
        buf_printf(out, ", interleave = %" PRId64, read->interleave);
    if (units)
        buf_printf(out, ", unit = %" PRId64, read->unit);
    put_sizes(mesh, read->digit, read->unit, out);
    buf_puts(out, ring ? ", ring = true" : "");
    put_store(pin, out);
    buf_puts(out, pin->open ? ", open = true" : "");
    if (pin->priority)
        buf_printf(out, ", priority = %d", pin->priority);
    buf_puts(out, table ? "}" : "");
}

/* ---- lines ---- */

static bool is_identifier(const char *name)
{
    static const char *const words[] = {"and",   "break", "do",       "else", "elseif", "end",
                                        "false", "for",   "function", "goto", "if",     "in",
                                        "local", "nil",   "not",      "or",   "repeat", "return",
                                        "then",  "true",  "until",    "while"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return false;
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    for (const char *s = name; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_')
            return false;
    return true;
}

static const char *index_name(const Session *session, const Decision *decision)
{
    return program_space(session->inferred, decision->place)->index[decision->dim].name;
}

/* Returns whether a policy can name the op. */
static bool is_named(const Graph *graph, int32_t op)
{
    return graph_find_op(graph, str_from(op_name(graph, op))) == op;
}

static bool has_name(const Session *session, const Decision *decision)
{
    return decision_is_on_tensor(decision->kind) || is_named(session->graph, decision->place);
}

/* An op of a training step that its model does not have, of the loss too: a policy, which sees the
 * model, names it by a text. */
static bool is_of_step(const Session *session, const Decision *decision)
{
    const Graph *model = session->bare.graph;
    return decision_is_behind_forward(session->inferred, decision) ||
           (model && !decision_is_on_tensor(decision->kind) && decision->place >= model->n_ops);
}

/* `shard("NAME", `, `pin(graph:op("NAME"), `; the key of the dim follows. pattern: for all tensors
 * or ops that it matches; or NULL. */
static void put_place(const Session *session, const Decision *decision, const char *pattern,
                      const char *tensor_method, const char *node_method, Buf *out)
{
    if (is_of_step(session, decision) && !decision_is_on_tensor(decision->kind)) {
        bool shard = pattern && strcmp(node_method, "pin") == 0; /* a pin has one exact name */
        buf_printf(out, "graph:%s(", shard ? "shard" : node_method);
        put_name(pattern ? pattern : op_name(session->graph, decision->place), out);
        return;
    }
    if (!decision_is_on_tensor(decision->kind)) {
        buf_printf(out, "graph:%s(%s", node_method, pattern ? "graph:where{op = " : "graph:op(");
        put_name(pattern ? pattern : op_name(session->graph, decision->place), out);
        buf_putc(out, pattern ? '}' : ')');
        return;
    }
    const char *name = pattern ? pattern : name_of(session, decision->place);
    bool exact = !pattern && strpbrk(name, "*?{}") != NULL;
    bool shard = strcmp(tensor_method, "shard") == 0;
    buf_printf(out, "graph:%s(", shard && exact ? "pin" : tensor_method);
    put_name(name, out);
}

static void put_pin(const Session *session, const Decision *pin, const char *pattern, Buf *out)
{
    LuaCut read;
    if (!read_cut(decision_cut(pin), &read)) {
        buf_puts(out, "-- a policy cannot express this sharding: ");
        decision_format(session, pin, out);
        return;
    }
    put_place(session, pin, pattern, "shard", "pin", out);
    if (pin->kind == PIN_TENSOR_DIM)
        buf_printf(out, ", {[%d] = ", pin->dim);
    else if (is_identifier(index_name(session, pin)))
        buf_printf(out, ", {%s = ", index_name(session, pin));
    else {
        buf_puts(out, ", {[");
        put_lua_text(index_name(session, pin), out);
        buf_puts(out, "] = ");
    }
    put_cut(session->mesh, pin, &read, out);
    buf_puts(out, "})");
}

/* A pattern is not a name that unpin takes: each of its tensors is. */
static void put_unpin(const Session *session, const Decision *decision, const char *pattern,
                      Buf *out)
{
    if (pattern && decision->kind == UNPIN_TENSOR_DIM) {
        buf_puts(out, "for _, tensor in ipairs(graph:tensors(");
        put_name(pattern, out);
        buf_printf(out, ")) do graph:unpin(tensor, %d) end", decision->dim);
        return;
    }
    put_place(session, decision, pattern, "unpin", "unpin", out);
    buf_puts(out, ", ");
    if (decision->kind == UNPIN_TENSOR_DIM)
        buf_printf(out, "%d", decision->dim);
    else
        put_lua_text(index_name(session, decision), out);
    buf_putc(out, ')');
}

static void put_mark(const Session *session, const Decision *mark, const char *pattern, Buf *out)
{
    uint8_t atom[ATOMS_MAX];
    int n = mesh_list_set(session->mesh, mark->axes, atom);
    if (mark->kind == PIN_GROUP) {
        buf_puts(out, "graph:tie(");
        put_lua_text(mark->group, out);
        buf_puts(out, ", ");
        put_name(pattern ? pattern : name_of(session, mark->place), out);
        buf_putc(out, ')');
        return;
    }
    put_place(session, mark, pattern,
              mark->kind == PIN_REPLICATED  ? "replicated"
              : mark->kind == PIN_UNREDUCED ? "unreduced"
              : mark->kind == PIN_BARRIER   ? "barrier"
                                            : "unmark",
              "", out);
    buf_puts(out, mark->kind == UNPIN_TENSOR ? "" : ", ");
    if (mark->kind == PIN_BARRIER)
        put_lua_text(pass_name(mark->pass), out);
    else if (mark->kind != UNPIN_TENSOR)
        put_axes(session->mesh, atom, n, out);
    buf_putc(out, ')');
}

static void put_op(const Graph *graph, int32_t op, Buf *out)
{
    buf_puts(out, "graph:op(");
    put_name(op_name(graph, op), out);
    buf_putc(out, ')');
}

/* {pp = 0, ["dp:(1)2"] = 1} */
static void put_submesh(const Mesh *mesh, SubMesh sub, Buf *out)
{
    Buf text = buf_new(out->arena);
    submesh_format(mesh, sub, &text);
    buf_putc(out, '{');
    for (Str rest = buf_str(&text); rest.n > 0;) {
        Str part = str_take(&rest, ','), axis = str_take(&part, '=');
        const char *name = arena_str(out->arena, axis);
        if (is_identifier(name))
            buf_puts(out, name);
        else {
            buf_putc(out, '[');
            put_lua_text(name, out);
            buf_putc(out, ']');
        }
        buf_printf(out, " = %.*s%s", STR_ARG(part), rest.n > 0 ? ", " : "");
    }
    buf_putc(out, '}');
}

static void put_on_ops(const Session *session, const Decision *decision, Buf *out)
{
    const Graph *graph = session->graph;
    if (decision->kind == PIN_SCHEDULE) {
        buf_puts(out, "graph:schedule(");
        put_lua_text(decision->schedule, out);
        buf_printf(out, ", {micro_batches = %d", decision->number);
        if (decision->pass != PASS_NONE)
            buf_printf(out, ", overlap = \"%s\"", pass_name(decision->pass));
        buf_puts(out, "})");
        return;
    }
    if (decision->kind == PIN_ASSUMED) {
        uint8_t atom[ATOMS_MAX];
        int n = mesh_list_set(session->mesh, decision->axes, atom);
        buf_puts(out, "graph:assume(");
        put_name(decision->pattern, out);
        buf_printf(out, ", \"%s\", ", assumed_name(decision->assumed));
        put_axes(session->mesh, atom, n, out);
        buf_putc(out, ')');
        return;
    }
    if (decision->kind == PIN_STAGE) {
        /* the first stage takes what comes before its node, so it is named too */
        bool first = session->inferred->program[0] == decision->place;
        buf_puts(out, decision->relay ? "graph:staging{" : "graph:blocking{");
        buf_puts(out, first ? "" : "graph:node(0), ");
        put_op(graph, decision->place, out);
        buf_putc(out, '}');
        return;
    }
    buf_puts(out, decision->kind == PIN_DEVICES ? "graph:assign(" : "graph:recompute(");
    buf_puts(out, "graph:between(");
    put_op(graph, decision->place, out);
    buf_puts(out, ", ");
    put_op(graph, decision->last, out);
    buf_putc(out, ')');
    if (decision->kind == PIN_DEVICES) {
        buf_puts(out, ", ");
        put_submesh(session->mesh, decision->devices, out);
    }
    buf_putc(out, ')');
}

static void put_decision(const Session *session, const Decision *decision, const char *pattern,
                         Buf *out)
{
    if (decision_is_on_ops(decision->kind)) {
        if (!decision_is_on_all(decision->kind) && (!is_named(session->graph, decision->place) ||
                                                    !is_named(session->graph, decision->last)))
            buf_puts(out, "-- another op has the same name: ");
        put_on_ops(session, decision, out);
        return;
    }
    if (!has_name(session, decision)) {
        buf_puts(out, "-- another op has the same name: ");
        decision_format(session, decision, out);
    } else if (decision_pins_dim(decision->kind))
        put_pin(session, decision, pattern, out);
    else if (decision->kind == UNPIN_TENSOR_DIM || decision->kind == UNPIN_INDEX_DIM)
        put_unpin(session, decision, pattern, out);
    else
        put_mark(session, decision, pattern, out);
}

void decision_lua(const Session *session, const Decision *decision, Buf *out)
{
    put_decision(session, decision, NULL, out);
}

/* ---- patterns ---- */

enum { PATTERN_BYTES_MAX = 200 };

/* The names from the first on that are `head`, digits, `tail`: how many, with the digits. */
typedef struct {
    Str head, tail;
    Str *digits;
    int n;
} Series;

static Str middle_of(const Series *series, const char *name)
{
    Str text = str_from(name);
    size_t around = series->head.n + series->tail.n;
    if (text.n <= around || !str_starts(text, series->head) || !str_ends(text, series->tail))
        return (Str){0};
    Str middle = {text.s + series->head.n, text.n - around};
    for (size_t i = 0; i < middle.n; i++)
        if (!isdigit((unsigned char)middle.s[i]))
            return (Str){0};
    return middle;
}

/* The number that differs between the first two names. */
static bool begin_series(const char *a, const char *b, Series *series)
{
    size_t n = strlen(a), from = 0, to = 0;
    while (a[from] && a[from] == b[from])
        from++;
    while (from > 0 && isdigit((unsigned char)a[from - 1]))
        from--;
    for (to = from; isdigit((unsigned char)a[to]);)
        to++;
    series->head = (Str){a, from};
    series->tail = (Str){a + to, n - to};
    return to > from && middle_of(series, a).n > 0 && middle_of(series, b).n > 0;
}

/* Whether all ops that graph:where{op = pattern} finds are among the places. */
static bool matches_only_ops(const Session *session, Str pattern, const bool *among)
{
    const Inferred *inferred = session->inferred;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (!among[op] && str_glob(pattern, str_from(op_name(session->graph, op))))
            return false;
    }
    return true;
}

/* Whether all tensors that the pattern matches, by any name, are among the places. The own name of
 * a tensor is none of another, as in scripts/lua_names.c. */
static bool matches_only_tensors(const Session *session, Str pattern, const bool *among)
{
    const Graph *graph = session->graph;
    Arena *scratch = arena_new();
    bool only = true;
    for (int32_t t = 0; t < graph->n_tensors && only; t++)
        only = among[t] || !str_glob(pattern, str_from(tensor_name(graph, t)));
    for (int p = 0; p < naming_n_paths(session->naming) && only; p++)
        for (int part = 0; part < PART_COUNT && only; part++) {
            int32_t t = naming_part_at(session->naming, p, (Part)part);
            if (t < 0 || among[t])
                continue;
            Buf name = buf_new(scratch);
            buf_printf(&name, "%s.%s", naming_path(session->naming, p), part_name((Part)part));
            only =
                !str_glob(pattern, buf_str(&name)) || graph_find_tensor(graph, buf_str(&name)) >= 0;
        }
    arena_free(scratch);
    return only;
}

/* h.*.weight if that matches no other tensor or op, else h.{0,1,5}.weight; NULL if that does too.
 */
static const char *pattern_of(Arena *arena, const Session *session, const Series *series,
                              bool of_ops, const bool *among)
{
    bool (*matches_only)(const Session *, Str, const bool *) =
        of_ops ? matches_only_ops : matches_only_tensors;
    const char *all =
        arena_printf(arena, "%.*s*%.*s", STR_ARG(series->head), STR_ARG(series->tail));
    if (matches_only(session, str_from(all), among))
        return all;
    Buf some = buf_new(arena);
    buf_printf(&some, "%.*s{", STR_ARG(series->head));
    for (int i = 0; i < series->n; i++)
        buf_printf(&some, "%s%.*s", i ? "," : "", STR_ARG(series->digits[i]));
    buf_printf(&some, "}%.*s", STR_ARG(series->tail));
    bool fits = some.n <= PATTERN_BYTES_MAX && matches_only(session, buf_str(&some), among);
    return fits ? some.s : NULL;
}

/* The name that a pattern must match. */
static const char *place_name(const Session *session, const Decision *decision)
{
    return decision_is_on_tensor(decision->kind) ? name_of(session, decision->place)
                                                 : op_name(session->graph, decision->place);
}

static bool same_but_for_place(Arena *scratch, const Session *session, const Decision *a,
                               const Decision *b)
{
    Buf one = buf_new(scratch), other = buf_new(scratch);
    if (a->kind != b->kind || decision_is_on_ops(a->kind))
        return false;
    put_decision(session, a, "*", &one);
    put_decision(session, b, "*", &other);
    return str_eq(buf_str(&one), buf_str(&other)) && !str_starts(buf_str(&one), STR("--"));
}

int decisions_lua(const Session *session, const Decision *const *decisions, int n, Buf *out)
{
    Arena *scratch = arena_new();
    Series series = {.digits = arena_array(scratch, Str, n)};
    bool of_ops = !decision_is_on_tensor(decisions[0]->kind);
    bool *among =
        arena_array(scratch, bool, of_ops ? session->graph->n_ops : session->graph->n_tensors);
    const char *pattern = NULL, *first = "";
    bool begun = n > 1 && same_but_for_place(scratch, session, decisions[0], decisions[1]);
    if (begun) {
        first = place_name(session, decisions[0]);
        begun = !strpbrk(first, "*?{},") &&
                begin_series(first, place_name(session, decisions[1]), &series);
    }
    for (int i = 0; begun && i < n; i++) {
        Str digits = {0};
        if (same_but_for_place(scratch, session, decisions[0], decisions[i]))
            digits = middle_of(&series, place_name(session, decisions[i]));
        if (digits.n == 0)
            break;
        series.digits[series.n++] = digits;
        among[decisions[i]->place] = true;
    }
    if (series.n > 1)
        pattern = pattern_of(scratch, session, &series, of_ops, among);
    put_decision(session, decisions[0], pattern, out);
    arena_free(scratch);
    return pattern ? series.n : 1;
}
