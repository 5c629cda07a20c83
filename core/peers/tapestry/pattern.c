#include "core/peers/tapestry/pattern.h"

#include "core/peers/tapestry/reader.h"

#include <inttypes.h>

/* ---- reading ---- */

typedef Vec(PatternItem) Items;

static bool read_items(Reader *reader, char close, Items *items);

static bool read_index(Reader *reader, PatternItem *item)
{
    if (!reader_next(reader))
        return false;
    if (reader->token.kind != TOKEN_VAR)
        return reader_expected(reader, "an index $i");
    item->index = reader->token.name;
    return reader_next(reader) && reader_expect(reader, ']', "an index");
}

static bool read_group(Reader *reader, PatternItem *item)
{
    Items members = {0};
    item->kind = ITEM_GROUP;
    if (!reader_enter(reader) || !reader_next(reader) || !reader_expect(reader, '(', "'='") ||
        !read_items(reader, ')', &members))
        return false;
    reader->depth--;
    item->n = members.n;
    item->member = members.at;
    return members.n > 0 || reader_fail(reader, E_SYNTAX, "a group needs members");
}

/* Reads what may follow "...": "(expr)". */
static bool read_run(Reader *reader, PatternItem *item)
{
    bool sized;
    item->kind = ITEM_RUN;
    if (!reader_next(reader) || !reader_accept(reader, '(', &sized))
        return false;
    if (!sized)
        return true;
    item->size = reader_expr(reader);
    return item->size && reader_expect(reader, ')', "a length");
}

static bool read_item(Reader *reader, PatternItem *item)
{
    *item = (PatternItem){.kind = ITEM_DIM, .at = reader->token.at};
    if (reader->token.kind == TOKEN_INT) {
        item->kind = ITEM_NUMBER;
        item->number = reader->token.number;
        return reader_next(reader);
    }
    if (reader->token.kind == TOKEN_RUN) {
        item->kind = ITEM_RUN;
        return reader_next(reader);
    }
    if (reader->token.kind != TOKEN_VAR)
        return reader_expected(reader, "a $name, a number or '...'");
    item->name = reader->token.name;
    if (!reader_next(reader) || (reader_is(reader, '[') && !read_index(reader, item)))
        return false;
    if (reader_is(reader, '='))
        return read_group(reader, item);
    return reader->token.kind != TOKEN_RUN || read_run(reader, item);
}

static bool read_items(Reader *reader, char close, Items *items)
{
    bool more = !reader_is(reader, close);
    while (more) {
        PatternItem item;
        if (!read_item(reader, &item))
            return false;
        vec_push(reader->arena, items, item);
        if (!reader_accept(reader, ',', &more))
            return false;
    }
    return reader_expect(reader, close, "the dims");
}

/* ---- checks that need no shapes ---- */

typedef struct {
    Arena *arena;
    const Phrase *phrase;
    Error *err;
    Vec(const PatternItem *) named;
    Vec(Str) index;
    const PatternItem *open_run; /* the run without a length */
} PatternCheck;

static void note_index(PatternCheck *check, const PatternItem *item)
{
    for (int i = 0; i < check->index.n; i++)
        if (str_eq(check->index.at[i], item->index))
            return;
    vec_push(check->arena, &check->index, item->index);
}

static bool check_item(PatternCheck *check, const PatternItem *item, const PatternItem *group)
{
    if (item->kind == ITEM_RUN && !item->size) {
        if (check->open_run)
            return phrase_fail(check->phrase, item->at, E_ELLIPSIS, check->err,
                               "Multiple ellipsis: [%.*s..., %.*s...]",
                               STR_ARG(check->open_run->name), STR_ARG(item->name));
        check->open_run = item;
    }
    for (int i = 0; i < check->named.n && item->name.n > 0; i++)
        if (str_eq(check->named.at[i]->name, item->name))
            return phrase_fail(check->phrase, item->at, E_DUP, check->err,
                               "Duplicate names: [%.*s]", STR_ARG(item->name));
    if (item->name.n > 0)
        vec_push(check->arena, &check->named, item);
    if (item->index.n > 0)
        note_index(check, item);
    if (group && item->index.n > 0 && !str_eq(group->index, item->index))
        return phrase_fail(check->phrase, item->at, E_INDEX_GROUP, check->err,
                           "$%.*s has the index $%.*s, so its group needs it too",
                           STR_ARG(item->name), STR_ARG(item->index));
    for (int i = 0; i < item->n; i++)
        if (!check_item(check, &item->member[i], item))
            return false;
    return true;
}

static bool check_names(PatternCheck *check)
{
    for (int i = 0; i < check->index.n; i++)
        for (int k = 0; k < check->named.n; k++)
            if (str_eq(check->index.at[i], check->named.at[k]->name))
                return phrase_fail(check->phrase, check->named.at[k]->at, E_INDEX_NAME, check->err,
                                   "Overlap between names and index names: [%.*s]",
                                   STR_ARG(check->index.at[i]));
    return true;
}

const Pattern *pattern_read(Arena *arena, const char *owner, const char *where, Str text,
                            Error *err)
{
    Error own = {0};
    Reader reader;
    Items items = {0};
    err = err ? err : &own;
    if (!reader_begin(&reader, arena, owner, where, text, err) ||
        !reader_expect(&reader, '[', "the start of the text") ||
        !read_items(&reader, ']', &items) || !reader_end(&reader))
        return NULL;
    PatternCheck check = {.arena = arena, .phrase = reader.phrase, .err = err};
    for (int i = 0; i < items.n; i++)
        if (!check_item(&check, &items.at[i], NULL))
            return NULL;
    if (!check_names(&check))
        return NULL;
    Pattern *pattern = arena_make(arena, Pattern);
    *pattern = (Pattern){reader.phrase,  items.n,       items.at,      check.named.n,
                         check.named.at, check.index.n, check.index.at};
    return pattern;
}

/* ---- writing ---- */

/* The part of the text between the brackets that holds a run's length. */
static Str length_text(const Pattern *pattern, const PatternItem *item)
{
    Str text = pattern->phrase->text;
    size_t at = (size_t)item->at, depth = 1;
    while (text.s[at] != '(')
        at++;
    size_t first = ++at;
    for (;; at++) {
        if (text.s[at] == '(')
            depth++;
        else if (text.s[at] == ')' && --depth == 0)
            return str_trim((Str){text.s + first, at - first});
    }
}

static void format_items(const Pattern *pattern, const PatternItem *item, int n, Buf *out)
{
    for (int i = 0; i < n; i++, item++) {
        buf_puts(out, i > 0 ? ", " : "");
        if (item->name.n > 0)
            buf_printf(out, "$%.*s", STR_ARG(item->name));
        if (item->index.n > 0)
            buf_printf(out, "[$%.*s]", STR_ARG(item->index));
        if (item->kind == ITEM_NUMBER)
            buf_printf(out, "%" PRId64, item->number);
        if (item->kind == ITEM_RUN)
            buf_puts(out, "...");
        if (item->size)
            buf_printf(out, "(%.*s)", STR_ARG(length_text(pattern, item)));
        if (item->kind == ITEM_GROUP) {
            buf_puts(out, "=(");
            format_items(pattern, item->member, item->n, out);
            buf_putc(out, ')');
        }
    }
}

void pattern_format(const Pattern *pattern, Buf *out)
{
    buf_putc(out, '[');
    format_items(pattern, pattern->item, pattern->n, out);
    buf_putc(out, ']');
}

/* ---- matching items with the dims of a shape ---- */

typedef struct {
    Scope *scope;
    const Pattern *pattern;
    const Shape *shape;
    const char *where;
    int dim;  /* the next dim of the shape */
    int rest; /* dims of the open run */
    ItemSpans *out;
} Matching;

/* Counts the dims that the items cover, without the open run. Returns false for an invalid length.
 */
static bool count_dims(Matching *place, const PatternItem *item, int n, int64_t *count, bool *open)
{
    for (int i = 0; i < n; i++, item++) {
        int64_t length = 1;
        if (item->kind == ITEM_GROUP) {
            length = 0;
            if (!count_dims(place, item->member, item->n, count, open))
                return false;
        } else if (item->kind == ITEM_RUN) {
            length = 0;
            *open = *open || !item->size;
            if (item->size && !evaluate_int(place->scope, item->size, &length))
                return false;
            if (length < 0 || length > DIMS_MAX)
                return node_fail(place->scope, item->size, E_RANK,
                                 "a run cannot have %" PRId64 " dims", length);
        }
        *count += length;
    }
    return true;
}

static bool place_items(Matching *place, const PatternItem *item, int n)
{
    for (int i = 0; i < n; i++, item++) {
        int at = place->out->n, start = place->dim;
        int64_t length = item->kind == ITEM_GROUP ? 0 : item->kind == ITEM_RUN ? place->rest : 1;
        vec_push(place->scope->arena, place->out, (ItemSpan){.item = item});
        if (item->kind == ITEM_GROUP && !place_items(place, item->member, item->n))
            return false;
        if (item->size && !evaluate_int(place->scope, item->size, &length))
            return false;
        if (item->kind == ITEM_NUMBER && place->shape->dim[start] != item->number)
            return phrase_fail(place->pattern->phrase, item->at, E_LITERAL, place->scope->err,
                               "dim %d of %s is %" PRId64 ", not %" PRId64, start, place->where,
                               place->shape->dim[start], item->number);
        place->dim += (int)length;
        place->out->at[at].start = start;
        place->out->at[at].end = place->dim;
    }
    return true;
}

bool pattern_place(Scope *scope, const Pattern *pattern, const Shape *shape, const char *where,
                   ItemSpans *out)
{
    Matching place = {
        .scope = scope, .pattern = pattern, .shape = shape, .where = where, .out = out};
    int64_t count = 0;
    bool open = false;
    if (!count_dims(&place, pattern->item, pattern->n, &count, &open))
        return false;
    if (count > shape->n_dims || (!open && count != shape->n_dims))
        return phrase_fail(pattern->phrase, 0, E_RANK, scope->err,
                           "%s has %d dims, but its pattern has %d%s", where, (int)shape->n_dims,
                           (int)count, open ? " or more" : "");
    place.rest = (int)(shape->n_dims - count);
    return place_items(&place, pattern->item, pattern->n);
}

/* ---- binding ---- */

bool pattern_bind(Scope *scope, const Phrase *phrase, int at, Str name, Datum value,
                  const char *where, TemplateCode code)
{
    const Binding *old = scope_find(scope, name);
    if (!old) {
        scope_bind(scope, name, value, where);
        return true;
    }
    if (datum_equal(&old->value, &value))
        return true;
    Buf was = buf_new(scope->arena), is = buf_new(scope->arena);
    datum_format(&old->value, &was);
    datum_format(&value, &is);
    return phrase_fail(phrase, at, code, scope->err, "$%.*s is %.80s in %s but %.80s in %s",
                       STR_ARG(name), was.s, old->where, is.s, where);
}

static Datum placed_value(Arena *arena, const ItemSpan *placed, const Shape *shape)
{
    if (placed->item->kind == ITEM_DIM)
        return datum_int(shape->dim[placed->start]);
    return datum_ints(arena, &shape->dim[placed->start], placed->end - placed->start);
}

/* The values of an indexed name, one per tensor, and the index itself. */
static bool bind_indexed(Scope *scope, const Pattern *pattern, const char *slot,
                         const ItemSpans *placement, const Shape *const *shapes, int n_tensors,
                         int at)
{
    const PatternItem *item = placement[0].at[at].item;
    Datum *values = arena_array(scope->arena, Datum, n_tensors);
    for (int k = 0; k < n_tensors; k++)
        values[k] = placed_value(scope->arena, &placement[k].at[at], shapes[k]);
    Datum list = {.kind = DATUM_LIST, .n = n_tensors, .item = values};
    return pattern_bind(scope, pattern->phrase, item->at, item->index, datum_int(n_tensors), slot,
                        E_COUNT) &&
           pattern_bind(scope, pattern->phrase, item->at, item->name, list, slot, E_CONFLICT);
}

bool pattern_match(Scope *scope, const Pattern *pattern, const char *slot,
                   const Shape *const *shapes, int n_tensors)
{
    ItemSpans *placement = arena_array(scope->arena, ItemSpans, n_tensors);
    for (int k = 0; k < n_tensors; k++) {
        const char *where = arena_printf(scope->arena, "%s[%d]", slot, k);
        if (!pattern_place(scope, pattern, shapes[k], where, &placement[k]))
            return false;
        for (int i = 0; i < placement[k].n; i++) {
            const ItemSpan *placed = &placement[k].at[i];
            const PatternItem *item = placed->item;
            if (item->name.n > 0 && item->index.n == 0 &&
                !pattern_bind(scope, pattern->phrase, item->at, item->name,
                              placed_value(scope->arena, placed, shapes[k]), where, E_CONFLICT))
                return false;
        }
    }
    for (int i = 0; n_tensors > 0 && i < placement[0].n; i++)
        if (placement[0].at[i].item->index.n > 0 &&
            !bind_indexed(scope, pattern, slot, placement, shapes, n_tensors, i))
            return false;
    return true;
}
