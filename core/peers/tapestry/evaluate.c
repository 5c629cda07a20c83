#include "core/peers/tapestry/scope.h"

#include <inttypes.h>

/* ---- values ---- */

Datum datum_int(int64_t number)
{
    return (Datum){.kind = DATUM_INT, .number = number};
}

Datum datum_ints(Arena *arena, const int64_t *numbers, int n)
{
    Datum *item = arena_array(arena, Datum, n);
    for (int i = 0; i < n; i++)
        item[i] = datum_int(numbers[i]);
    return (Datum){.kind = DATUM_LIST, .n = n, .item = item};
}

bool datum_equal(const Datum *a, const Datum *b)
{
    if (a->kind != b->kind || a->n != b->n)
        return false;
    switch (a->kind) {
    case DATUM_INT:
        return a->number == b->number;
    case DATUM_TEXT:
        return str_eq(a->text, b->text);
    case DATUM_COORD:
        return memcmp(a->row->coef, b->row->coef, sizeof a->row->coef) == 0 &&
               a->row->offset == b->row->offset;
    case DATUM_LIST:
        break;
    }
    for (int i = 0; i < a->n; i++)
        if (!datum_equal(&a->item[i], &b->item[i]))
            return false;
    return true;
}

void datum_format(const Datum *datum, Buf *out)
{
    switch (datum->kind) {
    case DATUM_INT:
        buf_printf(out, "%" PRId64, datum->number);
        return;
    case DATUM_TEXT:
        buf_add(out, datum->text);
        return;
    case DATUM_COORD:
        buf_puts(out, "a coordinate");
        return;
    case DATUM_LIST:
        break;
    }
    buf_putc(out, '[');
    for (int i = 0; i < datum->n; i++) {
        buf_puts(out, i > 0 ? ", " : "");
        datum_format(&datum->item[i], out);
    }
    buf_putc(out, ']');
}

static const char *kind_name(DatumKind kind)
{
    switch (kind) {
    case DATUM_INT:
        return "a number";
    case DATUM_LIST:
        return "a list";
    case DATUM_TEXT:
        return "a text";
    case DATUM_COORD:
        return "a coordinate";
    }
    return "";
}

/* ---- scopes ---- */

Scope scope_new(Arena *arena, Error *err)
{
    return (Scope){.arena = arena, .err = err, .rank = -1, .rest = 1, .work = WORK_MAX};
}

bool node_fail(Scope *scope, const PhraseNode *node, TemplateCode code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    phrase_vfail(node->phrase, node->at, code, scope->err, format, args);
    va_end(args);
    return false;
}

bool scope_work(Scope *scope, const PhraseNode *node, int64_t n)
{
    scope->work -= n;
    return (n <= LIST_MAX && scope->work >= 0) ||
           node_fail(scope, node, E_LIMIT, "more than %d items, or too many lists", LIST_MAX);
}

const Binding *scope_find(const Scope *scope, Str name)
{
    for (int i = 0; i < scope->bound.n; i++)
        if (str_eq(scope->bound.at[i].name, name))
            return &scope->bound.at[i];
    return NULL;
}

void scope_bind(Scope *scope, Str name, Datum value, const char *where)
{
    vec_push(scope->arena, &scope->bound, (Binding){name, value, where});
}

static bool find_value(Scope *scope, const PhraseNode *node, Datum *out)
{
    for (int i = 0; i < scope->n_positions; i++)
        if (str_eq(scope->position_name[i], node->name)) {
            *out = datum_int(scope->position);
            return true;
        }
    const Binding *found = scope_find(scope, node->name);
    if (!scope_work(scope, node, scope->bound.n))
        return false;
    if (!found)
        return node_fail(scope, node, E_UNBOUND, "$%.*s has no value", STR_ARG(node->name));
    *out = found->value;
    return true;
}

/* ---- arithmetic ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool power(int64_t base, int64_t exponent, int64_t *out)
{
    *out = 1;
    if (base == 0 || base == 1 || base == -1) {
        *out = exponent == 0 ? 1 : base == -1 && exponent % 2 == 0 ? 1 : base;
        return true;
    }
    for (int64_t i = 0; i < exponent; i++)
        if (__builtin_mul_overflow(*out, base, out))
            return false;
    return true;
}

static bool int_binary(Scope *scope, const PhraseNode *node, int op, int64_t a, int64_t b,
                       int64_t *out)
{
    bool over = false;
    if ((op == '/' || op == '%') && b == 0)
        return node_fail(scope, node, E_DIV0, "%" PRId64 " %c 0", a, op);
    if (op == '^' && b < 0)
        return node_fail(scope, node, E_POW, "%" PRId64 " ^ %" PRId64 " is not an integer", a, b);
    if (op == '+')
        over = __builtin_add_overflow(a, b, out);
    else if (op == '-')
        over = __builtin_sub_overflow(a, b, out);
    else if (op == '*')
        over = __builtin_mul_overflow(a, b, out);
    else if (op == '^')
        over = !power(a, b, out);
    else if (b == -1 && op == '/')
        over = __builtin_sub_overflow(0, a, out);
    else if (b == -1)
        *out = 0;
    else
        *out = op == '/' ? floor_div(a, b) : a - b * floor_div(a, b);
    return !over || node_fail(scope, node, E_OVERFLOW,
                              "%" PRId64 " %c %" PRId64 " does not fit 64 bits", a, op, b);
}

static Row as_row(const Datum *datum)
{
    return datum->kind == DATUM_COORD ? *datum->row : (Row){.offset = datum->number, .window = 1};
}

/* Coordinates may be added, subtracted and multiplied by a number. */
static bool coord_binary(Scope *scope, const PhraseNode *node, int op, const Datum *a,
                         const Datum *b, Datum *out)
{
    bool scale = op == '*' && (a->kind == DATUM_INT || b->kind == DATUM_INT);
    if (op != '+' && op != '-' && !scale)
        return node_fail(scope, node, E_AFFINE,
                         "coordinates can only be added, subtracted, and multiplied by numbers");
    Row left = as_row(a), right = as_row(b), *row = arena_make(scope->arena, Row);
    if (scale && a->kind == DATUM_INT) {
        right = left;
        left = as_row(b);
    }
    row->window = 1;
    for (int j = 0; j < X_MAX; j++)
        if (!int_binary(scope, node, op, left.coef[j], scale ? right.offset : right.coef[j],
                        &row->coef[j]))
            return false;
    *out = (Datum){.kind = DATUM_COORD, .row = row};
    return int_binary(scope, node, op, left.offset, right.offset, &row->offset);
}

bool datum_binary(Scope *scope, const PhraseNode *node, int op, const Datum *a, const Datum *b,
                  Datum *out)
{
    const Datum *sides[] = {a, b};
    for (int i = 0; i < 2; i++)
        if (sides[i]->kind != DATUM_INT && sides[i]->kind != DATUM_COORD)
            return node_fail(scope, node, E_TYPE, "'%c' needs numbers, but got %s", op,
                             kind_name(sides[i]->kind));
    if (a->kind == DATUM_COORD || b->kind == DATUM_COORD)
        return coord_binary(scope, node, op, a, b, out);
    *out = datum_int(0);
    return int_binary(scope, node, op, a->number, b->number, &out->number);
}

static bool evaluate_binary(Scope *scope, const PhraseNode *node, Datum *out)
{
    Datum a = {0}, b = {0};
    return evaluate(scope, node->arg[0], &a) && evaluate(scope, node->arg[1], &b) &&
           datum_binary(scope, node, node->op, &a, &b, out);
}

static bool negate(Scope *scope, const PhraseNode *node, Datum *out)
{
    Datum zero = datum_int(0), value = {0};
    return evaluate(scope, node->arg[0], &value) &&
           datum_binary(scope, node, '-', &zero, &value, out);
}

bool evaluate_int(Scope *scope, const PhraseNode *node, int64_t *out)
{
    Datum value = {0};
    if (!evaluate(scope, node, &value))
        return false;
    *out = value.number;
    return value.kind == DATUM_INT ||
           node_fail(scope, node, E_TYPE, "expected a number, not %s", kind_name(value.kind));
}

static bool compare_ints(int op, int64_t a, int64_t b)
{
    switch ((Comparison)op) {
    case CMP_EQ:
        return a == b;
    case CMP_NE:
        return a != b;
    case CMP_LT:
        return a < b;
    case CMP_LE:
        return a <= b;
    case CMP_GT:
        return a > b;
    case CMP_GE:
        return a >= b;
    }
    return false;
}

bool evaluate_condition(Scope *scope, const PhraseNode *node, bool *out, Datum sides[2])
{
    if (!evaluate(scope, node->arg[0], &sides[0]) || !evaluate(scope, node->arg[1], &sides[1]))
        return false;
    if (node->op == CMP_EQ || node->op == CMP_NE) {
        *out = datum_equal(&sides[0], &sides[1]) == (node->op == CMP_EQ);
        return true;
    }
    for (int i = 0; i < 2; i++)
        if (sides[i].kind != DATUM_INT)
            return node_fail(scope, node, E_TYPE, "%s cannot be ordered", kind_name(sides[i].kind));
    *out = compare_ints(node->op, sides[0].number, sides[1].number);
    return true;
}

/* ---- coordinates ---- */

static Datum coordinate(Scope *scope, int index)
{
    Row *row = arena_make(scope->arena, Row);
    row_unit(row, index);
    return (Datum){.kind = DATUM_COORD, .row = row};
}

static bool evaluate_coord(Scope *scope, const PhraseNode *node, Datum *out)
{
    const IndexSpace *index = scope->index;
    IndexName all = {.group = true}, *name = NULL;
    if (!index)
        return node_fail(scope, node, E_CONTEXT, "coordinates cannot be used here");
    all.n = index->n_main;
    for (int i = 0; i < index->names.n; i++)
        if (str_eq(index->names.at[i].name, node->name))
            name = &index->names.at[i];
    if (node->name.n == 0)
        name = &all;
    if (!name)
        return node_fail(scope, node, E_COORD, "no index dim is named %.*s", STR_ARG(node->name));
    if (!name->group) {
        *out = coordinate(scope, name->first);
        return true;
    }
    Datum *item = arena_array(scope->arena, Datum, name->n);
    for (int i = 0; i < name->n; i++)
        item[i] = coordinate(scope, name->first + i);
    *out = (Datum){.kind = DATUM_LIST, .n = name->n, .item = item};
    return true;
}

/* ---- parts of lists ---- */

static bool is_written_negative(const PhraseNode *node)
{
    return node->kind == NODE_NEGATE;
}

/* A bound written with a minus sign counts from the end; a computed negative bound is an error. */
static bool evaluate_bound(Scope *scope, const PhraseNode *node, int n, int64_t *out)
{
    if (!evaluate_int(scope, node, out))
        return false;
    int64_t at = is_written_negative(node) ? n + *out : *out;
    if (at < 0 || at > n)
        return node_fail(scope, node, E_SLICE, "%" PRId64 " is out of range for a list of %d", *out,
                         n);
    *out = at;
    return true;
}

static bool evaluate_gather(Scope *scope, const PhraseNode *node, const Datum *from,
                            const Datum *places, Datum *out)
{
    if (!scope_work(scope, node, places->n))
        return false;
    Datum *item = arena_array(scope->arena, Datum, places->n);
    for (int i = 0; i < places->n; i++) {
        const Datum *place = &places->item[i];
        if (place->kind != DATUM_INT)
            return node_fail(scope, node, E_TYPE, "a list index must be a number, not %s",
                             kind_name(place->kind));
        if (place->number < 0 || place->number >= from->n)
            return node_fail(scope, node, E_SLICE, "%" PRId64 " is out of range for a list of %d",
                             place->number, from->n);
        item[i] = from->item[place->number];
    }
    *out = (Datum){.kind = DATUM_LIST, .n = places->n, .item = item};
    return true;
}

static bool evaluate_whole_list(Scope *scope, const PhraseNode *node, Datum *out)
{
    return evaluate(scope, node, out) &&
           (out->kind == DATUM_LIST ||
            node_fail(scope, node, E_TYPE, "expected a list, not %s", kind_name(out->kind)));
}

static bool evaluate_at(Scope *scope, const PhraseNode *node, Datum *out)
{
    Datum from = {0}, place = {0};
    if (!evaluate_whole_list(scope, node->arg[0], &from) || !evaluate(scope, node->arg[1], &place))
        return false;
    if (place.kind == DATUM_LIST)
        return evaluate_gather(scope, node->arg[1], &from, &place, out);
    if (place.kind != DATUM_INT)
        return node_fail(scope, node->arg[1], E_TYPE, "a list index must be a number, not %s",
                         kind_name(place.kind));
    int64_t at = is_written_negative(node->arg[1]) ? from.n + place.number : place.number;
    if (at < 0 || at >= from.n)
        return node_fail(scope, node->arg[1], E_SLICE,
                         "%" PRId64 " is out of range for a list of %d", place.number, from.n);
    *out = from.item[at];
    return true;
}

static bool evaluate_slice(Scope *scope, const PhraseNode *node, Datum *out)
{
    Datum from = {0};
    if (!evaluate_whole_list(scope, node->arg[0], &from))
        return false;
    int64_t first = 0, end = from.n;
    if ((node->arg[1] && !evaluate_bound(scope, node->arg[1], from.n, &first)) ||
        (node->arg[2] && !evaluate_bound(scope, node->arg[2], from.n, &end)))
        return false;
    *out = (Datum){.kind = DATUM_LIST, .n = end > first ? (int)(end - first) : 0};
    out->item = out->n > 0 ? from.item + first : NULL;
    return true;
}

/* `e...` outside of a list, as in `1...[:2]`, repeats e up to the length of the context. */
static bool evaluate_run(Scope *scope, const PhraseNode *node, Datum *out)
{
    Datum value = {0};
    if (!evaluate(scope, node->arg[0], &value))
        return false;
    if (value.kind == DATUM_LIST) {
        *out = value;
        return true;
    }
    if (value.kind != DATUM_INT)
        return node_fail(scope, node, E_SPREAD, "'...' must follow a list or a number, not %s",
                         kind_name(value.kind));
    if (scope->rank < 0)
        return node_fail(scope, node, E_CONTEXT,
                         "how often the number repeats cannot be derived here");
    Datum *item = arena_array(scope->arena, Datum, scope->rank);
    for (int i = 0; i < scope->rank; i++)
        item[i] = value;
    *out = (Datum){.kind = DATUM_LIST, .n = (int)scope->rank, .item = item};
    return true;
}

static bool evaluate_size(Scope *scope, const PhraseNode *node, Datum *out)
{
    Datum of = {0};
    if (!evaluate_whole_list(scope, node->arg[0], &of))
        return false;
    *out = datum_int(of.n);
    return true;
}

/* ---- lists ---- */

static bool push_element(Scope *scope, const PhraseNode *node, Element element, Elements *out)
{
    element.node = node;
    if (element.repeat)
        for (int i = 0; i < out->n; i++)
            if (out->at[i].repeat)
                return node_fail(scope, node, E_FILL,
                                 "a list may hold only one repeat of unknown length");
    if (!scope_work(scope, node, out->n + 1 > LIST_MAX ? out->n + 1 : 1))
        return false;
    vec_push(scope->arena, out, element);
    return true;
}

static bool push_run(Scope *scope, const PhraseNode *node, Elements *out)
{
    const PhraseNode *of = node->arg[0];
    Datum value = {0};
    if (of->kind == NODE_WHOLE || of->kind == NODE_FIXED || of->kind == NODE_UNUSED)
        return push_element(scope, node, (Element){.mark = of->kind, .repeat = true}, out);
    if (!evaluate(scope, of, &value))
        return false;
    if (value.kind == DATUM_INT)
        return push_element(scope, node, (Element){.repeat = true, .value = value}, out);
    if (value.kind != DATUM_LIST)
        return node_fail(scope, node, E_SPREAD, "'...' must follow a list or a number, not %s",
                         kind_name(value.kind));
    for (int i = 0; i < value.n; i++)
        if (!push_element(scope, node, (Element){.value = value.item[i]}, out))
            return false;
    return true;
}

static bool push_node(Scope *scope, const PhraseNode *node, Elements *out)
{
    Element element = {.mark = NODE_INT};
    switch ((int)node->kind) {
    case NODE_RUN:
        return push_run(scope, node, out);
    case NODE_REST:
        element.repeat = true;
        element.mark = node->kind;
        break;
    case NODE_WHOLE:
    case NODE_FIXED:
    case NODE_UNUSED:
        element.mark = node->kind;
        break;
    case NODE_WINDOW:
        element.has_window = true;
        if (!evaluate(scope, node->arg[0], &element.value) ||
            !evaluate(scope, node->arg[1], &element.window))
            return false;
        break;
    default:
        if (!evaluate(scope, node, &element.value))
            return false;
    }
    return push_element(scope, node, element, out);
}

bool evaluate_elements(Scope *scope, const PhraseNode *list, Elements *out)
{
    *out = (Elements){0};
    for (int i = 0; i < list->n; i++)
        if (!push_node(scope, list->arg[i], out))
            return false;
    return true;
}

/* The value of a plain list's element. */
static bool plain_value(Scope *scope, const Element *element, const int64_t *rest, Datum *out)
{
    if (element->mark == NODE_REST && rest) {
        *out = datum_int(*rest);
        return true;
    }
    *out = element->value;
    return (element->mark == NODE_INT && !element->has_window) ||
           node_fail(scope, element->node, E_CONTEXT, "this element is only allowed in maps");
}

bool evaluate_list(Scope *scope, const PhraseNode *list, int64_t length, const int64_t *rest,
                   Datum *out)
{
    Elements elements;
    if (!evaluate_elements(scope, list, &elements))
        return false;
    int64_t fill = 0;
    for (int i = 0; i < elements.n; i++)
        if (elements.at[i].repeat) {
            fill = length - (elements.n - 1);
            if (length < 0)
                return node_fail(scope, elements.at[i].node, E_CONTEXT,
                                 "how often the number repeats cannot be derived here");
        }
    fill = fill < 0 ? 0 : fill;
    if (!scope_work(scope, list, elements.n + fill))
        return false;
    Vec(Datum) items = {0};
    for (int i = 0; i < elements.n; i++) {
        Datum value = {0};
        if (!plain_value(scope, &elements.at[i], rest, &value))
            return false;
        for (int64_t k = elements.at[i].repeat ? fill : 1; k > 0; k--)
            vec_push(scope->arena, &items, value);
    }
    *out = (Datum){.kind = DATUM_LIST, .n = items.n, .item = items.at};
    return true;
}

bool evaluate(Scope *scope, const PhraseNode *node, Datum *out)
{
    switch (node->kind) {
    case NODE_INT:
        *out = datum_int(node->number);
        return true;
    case NODE_VAR:
        return find_value(scope, node, out);
    case NODE_COORD:
        return evaluate_coord(scope, node, out);
    case NODE_LIST:
        return evaluate_list(scope, node, scope->rank, NULL, out);
    case NODE_CALL:
        return evaluate_call(scope, node, out);
    case NODE_NEGATE:
        return negate(scope, node, out);
    case NODE_BINARY:
        return evaluate_binary(scope, node, out);
    case NODE_RUN:
        return evaluate_run(scope, node, out);
    case NODE_AT:
        return evaluate_at(scope, node, out);
    case NODE_SLICE:
        return evaluate_slice(scope, node, out);
    case NODE_SIZE:
        return evaluate_size(scope, node, out);
    case NODE_REST:
        *out = datum_int(scope->rest);
        return true;
    case NODE_COMPARE:
    case NODE_BIND:
    case NODE_WINDOW:
    case NODE_WHOLE:
    case NODE_FIXED:
    case NODE_UNUSED:
    case NODE_IPF:
    case NODE_ROW:
    case NODE_PARAM:
        break;
    }
    return node_fail(scope, node, E_CONTEXT, "this cannot be evaluated on its own");
}
