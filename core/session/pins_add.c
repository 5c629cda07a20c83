#include "core/session/pins_read.h"

#include <inttypes.h>

enum { DROPPED_MAX = 1000, COMPARED_MAX = 400000, NAMES_AT_ONCE = 20000, QUOTED_MAX = 120 };

/* ---- messages ---- */

/* The line of a place in the text; places come nearly in order. */
static int line_of(PinsText *text, size_t at)
{
    const char *s = text->source->text.s;
    for (; text->line_at < at; text->line_at++)
        text->line += s[text->line_at] == '\n';
    for (; text->line_at > at; text->line_at--)
        text->line -= s[text->line_at - 1] == '\n';
    return text->line;
}

void pins_note(PinsText *text, Level level, const char *code, const char *says, const char *hint)
{
    Arena *arena = text->session->journal_arena;
    Finding finding = {.level = level, .code = code};
    finding.text = arena_str(arena, str_from(says));
    finding.hint = hint ? arena_str(arena, str_from(hint)) : "";
    finding.file = text->source->name;
    finding.line = text->line_at > 0 ? text->line : 0;
    finding.op = finding.tensor = -1;
    vec_push(arena, &text->session->notes, finding);
}

/* Notes a sharding that is not used, and why. */
static void drop_sharding(PinsText *text, Str name, const Error *why)
{
    Buf says = buf_new(text->scratch);
    if (text->n_left++ == 0) {
        text->first = *why;
        text->first_line = text->line;
    }
    if (text->n_left > DROPPED_MAX)
        return;
    buf_puts(&says, "the sharding of '");
    text_printable(name, &says);
    buf_printf(&says, "' is left out: %s", why->text);
    pins_note(text, LEVEL_WARNING, "sharding-dropped", says.s, why->hint);
}

/* Keeps the first match of a name in the text with a tensor of another name, for a note. */
static void keep_first_match(PinsText *text, const char **first, Str name, int32_t tensor)
{
    Buf says = buf_new(text->scratch);
    if (*first)
        return;
    buf_putc(&says, '\'');
    text_printable(name, &says);
    buf_puts(&says, "' is '");
    text_printable(str_from(tensor_name(text->session->graph, tensor)), &says);
    buf_putc(&says, '\'');
    *first = says.s;
}

void pins_summary(PinsText *text)
{
    Arena *scratch = text->scratch;
    text->line_at = 0;
    if (text->n_left > DROPPED_MAX)
        pins_note(
            text, LEVEL_WARNING, "sharding-dropped",
            arena_printf(scratch, "%d more shardings are left out", text->n_left - DROPPED_MAX),
            "do they belong to another model?");
    if (text->n_alike > 0)
        pins_note(text, LEVEL_NOTE, "name-alike",
                  arena_printf(scratch, "%d name%s matched to a tensor with a similar name: %s",
                               text->n_alike, text->n_alike > 1 ? "s are each" : " is",
                               text->alike),
                  NULL);
    if (text->n_turned > 0)
        pins_note(text, LEVEL_NOTE, "transposed",
                  arena_printf(scratch, "%d tensor%s different order in the model: %s",
                               text->n_turned,
                               text->n_turned > 1 ? "s have their dims in a" : " has its dims in a",
                               text->turned),
                  NULL);
    if (text->renamed)
        pins_note(text, LEVEL_NOTE, "axes-renamed",
                  "the mesh axes in the text have other names, so they are matched by their order",
                  NULL);
    if (text->n_follow > 0)
        pins_note(text, LEVEL_NOTE, "shardings-follow",
                  arena_printf(scratch,
                               "%d shardings of op results are not pinned; only arguments and "
                               "sharding_constraints are",
                               text->n_follow),
                  NULL);
}

bool pins_need_stages(const PinsText *text, Scan *scan, size_t at)
{
    const Journal *journal = text->journal;
    for (int i = 0; i < journal->n_done; i++)
        if (journal->decisions.at[i].kind == PIN_DEVICES ||
            journal->decisions.at[i].kind == PIN_STAGE)
            return true;
    error_kind(scan->err, ERROR_UNSUPPORTED,
               "the text comes from a plan with pipeline stages, but pins do not say which ops a "
               "stage runs");
    error_hint(scan->err, "also give the policy that makes the stages: -p FILE");
    error_at(scan->err, scan->source, at);
    return false;
}

/* ---- the tensor of a name ---- */

static int32_t find_tensor(PinsText *text, const Str *names, int n, int *which)
{
    Session *session = text->session;
    for (int i = 0; i < n; i++) {
        int32_t tensor = naming_find(session->naming, names[i], NULL);
        *which = i;
        if (tensor >= 0)
            return tensor;
    }
    if (!text->names)
        text->names = pins_names_new(text->scratch, session);
    int32_t several = -1;
    for (int i = 0; i < n; i++) {
        PinsFound found = pins_find(text->names, names[i]);
        *which = i;
        if (found.tensor >= 0) {
            text->n_alike++;
            keep_first_match(text, &text->alike, names[i], found.tensor);
            return found.tensor;
        }
        several = found.tensor == -2 ? -2 : several;
    }
    *which = 0;
    return several;
}

static void leave_unknown(PinsText *text, Str name, int32_t tensor)
{
    Error why = {0};
    int64_t n_tensors = text->session->graph->n_tensors;
    text->n_compared += n_tensors < NAMES_AT_ONCE ? n_tensors : NAMES_AT_ONCE;
    if (tensor == -2)
        error_set(&why, "several tensors of the model fit that name");
    else if (name.n > 0 && memchr(name.s, '\0', name.n))
        error_set(&why, "the name contains a NUL character");
    else if (text->n_compared < COMPARED_MAX && text->n_left < DROPPED_MAX)
        naming_find(text->session->naming, name, &why);
    else
        error_set(&why, "no tensor has that name");
    drop_sharding(text, name, &why);
}

/* ---- which dims are which ---- */

static Shape turned(const Shape *shape)
{
    Shape out = {.n_dims = 2, .dim = {shape->dim[1], shape->dim[0]}};
    return out;
}

/* Finds for each dim of the model's shape the matching dim of the text's shape, if there is exactly
 * one way. */
static bool find_order(const Shape *ours, const Shape *theirs, int order[DIMS_MAX])
{
    uint32_t taken = 0;
    if (ours->n_dims != theirs->n_dims)
        return false;
    for (int d = 0; d < ours->n_dims; d++) {
        int n = 0;
        for (int k = 0; k < theirs->n_dims; k++)
            if (theirs->dim[k] == ours->dim[d]) {
                order[d] = k;
                n++;
            }
        if (n != 1 || taken >> order[d] & 1)
            return false;
        taken |= 1u << order[d];
    }
    return true;
}

/* by_name: the name shows that a matrix is transposed. */
static bool order_dims(const PinsValue *value, const Shape *ours, bool by_name, int order[DIMS_MAX],
                       Error *err)
{
    bool square = ours->n_dims == 2 && ours->dim[0] == ours->dim[1];
    for (int d = 0; d < DIMS_MAX; d++)
        order[d] = d;
    if (shape_equal(&value->shape, ours)) {
        if (square && by_name && !value->ours) {
            order[0] = 1;
            order[1] = 0;
        }
        return true;
    }
    if (find_order(ours, &value->shape, order))
        return true;
    Arena *scratch = arena_new();
    Buf theirs = buf_new(scratch), model = buf_new(scratch);
    shape_format(&value->shape, &theirs);
    shape_format(ours, &model);
    error_kind(err, ERROR_CONFLICT, "it is %s in the text and %s in the model", theirs.s, model.s);
    arena_free(scratch);
    return false;
}

/* ---- decisions ---- */

static Origin origin_of(PinsText *text, size_t from, size_t to)
{
    Arena *arena = text->session->journal_arena;
    Buf says = buf_new(text->scratch);
    bool longer = to - from > QUOTED_MAX;
    Str quoted = {text->source->text.s + from, longer ? QUOTED_MAX : to - from};
    text_printable(str_trim(quoted), &says);
    buf_puts(&says, longer ? ".." : "");
    return (Origin){ORIGIN_POLICY, text->source->name, text->line,
                    arena_str(arena, buf_str(&says))};
}

static void decide_mark(PinsText *text, int32_t tensor, DecisionKind kind, AtomSet axes,
                        const Origin *origin)
{
    Decision decision = {.kind = kind, .place = tensor, .dim = -1, .axes = axes, .origin = *origin};
    if (axes)
        journal_add(text->journal, text->session->journal_arena, &decision);
}

/* The pin of a dim that the text gave earlier, or NULL. */
static Decision *earlier_pin(const PinsText *text, int32_t tensor, int dim)
{
    int at = text->pinned ? text->pinned[tensor] - 1 : -1;
    for (; at >= 0 && at < text->journal->decisions.n; at++) {
        Decision *pin = &text->journal->decisions.at[at];
        if (pin->place != tensor)
            break;
        if (pin->kind == PIN_TENSOR_DIM && pin->dim == dim && !pin->store)
            return pin;
    }
    return NULL;
}

/* The text uses a dim in another sharding than the one it gave before: the earlier one then
 * describes how the parameter is stored. Returns whether the use still has to be pinned. */
static bool pin_as_stored(const PinsText *text, int32_t tensor, int dim, const Cut *used)
{
    Decision *given = earlier_pin(text, tensor, dim);
    if (given && cut_equal(decision_cut(given), used))
        return false;
    if (given)
        given->store = STORED_ALL;
    return true;
}

static void decide(PinsText *text, int32_t tensor, const PinsValue *value, const int *order,
                   const Origin *origin)
{
    const Sharding *sharding = &value->sharding;
    if (!text->pinned)
        text->pinned = arena_array(text->scratch, int32_t, text->session->graph->n_tensors);
    if (!text->used)
        text->pinned[tensor] = text->journal->decisions.n + 1;
    for (int d = 0; d < sharding->n_dims; d++) {
        Decision decision = {.kind = PIN_TENSOR_DIM, .place = tensor, .dim = d, .origin = *origin};
        if (value->free >> order[d] & 1)
            continue;
        decision.cut = &sharding->dim[order[d]];
        if (value->coarser && cut_is_whole(decision.cut))
            continue;
        if (text->used && !pin_as_stored(text, tensor, d, decision.cut))
            continue;
        decision.open = value->open >> order[d] & 1;
        decision.priority = value->priority[order[d]];
        journal_add(text->journal, text->session->journal_arena, &decision);
    }
    decide_mark(text, tensor, PIN_UNREDUCED, sharding_partials(sharding), origin);
    decide_mark(text, tensor, PIN_REPLICATED, value->replicated, origin);
}

/* ---- a sharding ---- */

/* The tensor that a sharding is for, and its place in the text. */
typedef struct {
    Str name;
    int32_t tensor;
    size_t from, to;
} PinTarget;

/* Reads the value's text alone first, which avoids counting lines. If that fails, reads it again
 * within the whole text, for the place of the error. */
static bool read_value(PinsText *text, Scan *scan, size_t from, size_t to, PinsValue *value,
                       Error *why)
{
    Str all = text->source->text;
    Source alone = {text->source->name, {all.s + from, to - from}};
    Source upto = {text->source->name, {all.s, to}};
    PinsValue again = *value;
    Scan own = scan_begin(&alone, why);
    if (pins_value(text, &own, value) && (pins_peek(&own), scan_end(&own)))
        return true;
    if (why->kind != ERROR_SYNTAX && !text->fatal)
        return false;
    text->fatal = true;
    own = scan_begin(&upto, scan->err);
    own.at = from;
    if (pins_value(text, &own, &again) && (pins_peek(&own), scan_end(&own)) && scan->err)
        *scan->err = *why;
    return false;
}

/* Reads the value with its own shape if the text gives one, else with the tensor's shape or its
 * transpose, as the name suggests. */
static bool read_of_shape(PinsText *text, Scan *scan, const PinTarget *place, const Shape *said,
                          PinsValue *value, bool *by_name, Error *why)
{
    const Session *session = text->session;
    const Shape *ours = inferred_shape(session->inferred, place->tensor);
    assert(ours); /* the caller has checked */
    *value = (PinsValue){.shape = said ? *said : *ours};
    bool ok = read_value(text, scan, place->from, place->to, value, why);
    *by_name = pins_is_turned(session, place->name, value->placed, place->tensor);
    if (text->fatal || !*by_name || said || value->shaped)
        return ok;
    *value = (PinsValue){.shape = turned(ours)};
    *why = (Error){0};
    return read_value(text, scan, place->from, place->to, value, why);
}

/* The tensor is not in the model: only checks that the text is well formed. */
static bool check_text(PinsText *text, Scan *scan, size_t from, size_t to)
{
    PinsValue value = {.shape = {.n_dims = DIMS_MAX}};
    Error why = {0};
    for (int d = 0; d < DIMS_MAX; d++)
        value.shape.dim[d] = 1;
    return read_value(text, scan, from, to, &value, &why) || !text->fatal;
}

bool pins_add(PinsText *text, Scan *scan, const Str *names, int n, const Shape *shape, size_t from,
              size_t to)
{
    Session *session = text->session;
    int which = 0, order[DIMS_MAX];
    Error why = {0};
    line_of(text, from);
    text->n_read++;
    int32_t tensor = find_tensor(text, names, n, &which);
    Str name = n > 0 ? names[which] : STR("");
    if (tensor < 0) {
        if (!check_text(text, scan, from, to))
            return false;
        leave_unknown(text, name, tensor);
        return true;
    }
    const Shape *ours = inferred_shape(session->inferred, tensor);
    if (!ours) {
        error_set(&why, "its shape is not known");
        drop_sharding(text, name, &why);
        return true;
    }
    bool by_name = false;
    PinsValue value = {0};
    const PinTarget place = {name, tensor, from, to};
    if (shape && shape->n_dims != ours->n_dims)
        error_kind(&why, ERROR_RANK,
                   "it has %" PRId64 " dims in the text and %" PRId64 " in the model",
                   shape->n_dims, ours->n_dims);
    else if (!read_of_shape(text, scan, &place, shape, &value, &by_name, &why) && text->fatal)
        return false;
    if (error_is_set(&why) || (!value.none && !order_dims(&value, ours, by_name, order, &why))) {
        drop_sharding(text, name, &why);
        return true;
    }
    text->n_kept++;
    value.coarser = pins_is_coarser(text, from, to);
    if (value.none)
        return true;
    if (order[0] != 0) {
        text->n_turned++;
        keep_first_match(text, &text->turned, name, tensor);
    }
    Origin origin = origin_of(text, from, to);
    decide(text, tensor, &value, order, &origin);
    return true;
}
