#include "core/peers/tapestry/reader.h"

#include "core/base/vec.h"

enum { ARGS_MAX = 3 };

static PhraseNode *node_new(Reader *reader, PhraseKind kind, int at)
{
    PhraseNode *node = arena_make(reader->arena, PhraseNode);
    *node = (PhraseNode){.kind = kind, .at = at, .phrase = reader->phrase};
    node->arg = arena_array(reader->arena, const PhraseNode *, ARGS_MAX);
    return node;
}

static PhraseNode *node_of(Reader *reader, PhraseKind kind, int at, const PhraseNode *first,
                           const PhraseNode *second)
{
    PhraseNode *node = node_new(reader, kind, at);
    node->arg[0] = first;
    node->arg[1] = second;
    node->n = second ? 2 : first ? 1 : 0;
    return node;
}

static bool next_is_open(const Reader *reader)
{
    return reader->pos < reader->phrase->text.n && reader->phrase->text.s[reader->pos] == '[';
}

/* ---- expressions ---- */

typedef const PhraseNode *ItemFn(Reader *reader);

/* Reads item {"," item} and the closing sign. */
static bool read_items(Reader *reader, PhraseNode *list, char close, ItemFn *item)
{
    Vec(const PhraseNode *) items = {0};
    bool more = !reader_is(reader, close);
    while (more) {
        const PhraseNode *node = item(reader);
        if (!node)
            return false;
        vec_push(reader->arena, &items, node);
        if (!reader_accept(reader, ',', &more))
            return false;
    }
    list->arg = items.at;
    list->n = items.n;
    return reader_expect(reader, close, list->kind == NODE_CALL ? "arguments" : "elements");
}

static const PhraseNode *read_elem(Reader *reader);

static PhraseNode *read_list(Reader *reader, ItemFn *item)
{
    PhraseNode *list = node_new(reader, NODE_LIST, reader->token.at);
    bool ok = reader_enter(reader) && reader_expect(reader, '[', "the start of the text") &&
              read_items(reader, list, ']', item);
    reader->depth--;
    return ok ? list : NULL;
}

static const PhraseNode *read_call(Reader *reader)
{
    PhraseNode *call = node_new(reader, NODE_CALL, reader->token.at);
    call->name = reader->token.name;
    bool ok = reader_enter(reader) && reader_next(reader) &&
              reader_expect(reader, '(', "a function's name") &&
              read_items(reader, call, ')', reader_expr);
    reader->depth--;
    return ok ? call : NULL;
}

static const PhraseNode *read_paren(Reader *reader)
{
    const PhraseNode *inner = NULL;
    bool ok = reader_enter(reader) && reader_next(reader) && (inner = reader_expr(reader)) &&
              reader_expect(reader, ')', "an expression");
    reader->depth--;
    return ok ? inner : NULL;
}

static const PhraseNode *read_prim(Reader *reader)
{
    Token token = reader->token;
    if (reader_is(reader, '('))
        return read_paren(reader);
    if (reader_is(reader, '['))
        return read_list(reader, read_elem);
    if (token.kind == TOKEN_ID)
        return read_call(reader);
    if (token.kind != TOKEN_INT && token.kind != TOKEN_VAR && token.kind != TOKEN_COORD) {
        reader_expected(reader, "a value");
        return NULL;
    }
    PhraseNode *node = node_new(reader,
                                token.kind == TOKEN_INT   ? NODE_INT
                                : token.kind == TOKEN_VAR ? NODE_VAR
                                                          : NODE_COORD,
                                token.at);
    node->name = token.name;
    node->number = token.number;
    return reader_next(reader) ? node : NULL;
}

/* Reads an index or a slice of `of`, after its "[". */
static const PhraseNode *read_select(Reader *reader, const PhraseNode *of)
{
    PhraseNode *node = node_of(reader, NODE_AT, reader->token.at, of, NULL);
    bool slice = false;
    if (!reader_next(reader))
        return NULL;
    if (!reader_is(reader, ':') && !(node->arg[1] = reader_expr(reader)))
        return NULL;
    if (!reader_accept(reader, ':', &slice))
        return NULL;
    if (slice && !reader_is(reader, ']') && !(node->arg[2] = reader_expr(reader)))
        return NULL;
    node->kind = slice ? NODE_SLICE : NODE_AT;
    node->n = slice ? 3 : 2;
    return reader_expect(reader, ']', "an index") ? node : NULL;
}

static const PhraseNode *read_size(Reader *reader, const PhraseNode *of)
{
    PhraseNode *node = node_of(reader, NODE_SIZE, reader->token.at, of, NULL);
    if (!reader_next(reader))
        return NULL;
    if (reader->token.kind != TOKEN_ID || !str_eq(reader->token.name, STR("size"))) {
        reader_expected(reader, "'size'");
        return NULL;
    }
    return reader_next(reader) ? node : NULL;
}

static const PhraseNode *read_post(Reader *reader)
{
    const PhraseNode *node = read_prim(reader);
    while (node) {
        if (reader->token.kind == TOKEN_RUN) {
            node = node_of(reader, NODE_RUN, reader->token.at, node, NULL);
            if (!reader_next(reader))
                return NULL;
        } else if (reader_is(reader, '[')) {
            node = read_select(reader, node);
        } else if (reader_is(reader, '.')) {
            node = read_size(reader, node);
        } else {
            break;
        }
    }
    return node;
}

static const PhraseNode *read_unary(Reader *reader)
{
    int at = reader->token.at;
    const PhraseNode *node = NULL, *right = NULL;
    if (!reader_enter(reader))
        return NULL;
    if (reader_is(reader, '-')) {
        if (reader_next(reader) && (right = read_unary(reader)))
            node = node_of(reader, NODE_NEGATE, at, right, NULL);
    } else if ((node = read_post(reader)) && reader_is(reader, '^')) {
        at = reader->token.at;
        const PhraseNode *base = node;
        node = NULL;
        if (reader_next(reader) && (right = read_unary(reader))) {
            PhraseNode *power = node_of(reader, NODE_BINARY, at, base, right);
            power->op = '^';
            node = power;
        }
    }
    reader->depth--;
    return node;
}

static const PhraseNode *read_chain(Reader *reader, const char *ops, ItemFn *part)
{
    const PhraseNode *left = part(reader);
    if (!left)
        return NULL;
    while (reader->token.kind == TOKEN_CHAR && strchr(ops, reader->token.op)) {
        Token op = reader->token;
        const PhraseNode *right = reader_next(reader) ? part(reader) : NULL;
        if (!right)
            return NULL;
        PhraseNode *both = node_of(reader, NODE_BINARY, op.at, left, right);
        both->op = op.op;
        left = both;
    }
    return left;
}

static const PhraseNode *read_term(Reader *reader)
{
    return read_chain(reader, "*/%", read_unary);
}

const PhraseNode *reader_expr(Reader *reader)
{
    return read_chain(reader, "+-", read_term);
}

/* ---- elements of lists ---- */

/* Reads a mark, `:`, `_` or `~`, and an optional `...` after it. */
static const PhraseNode *read_mark(Reader *reader, PhraseKind kind)
{
    PhraseNode *mark = node_new(reader, kind, reader->token.at);
    if (!reader_next(reader))
        return NULL;
    if (reader->token.kind != TOKEN_RUN)
        return mark;
    PhraseNode *run = node_of(reader, NODE_RUN, reader->token.at, mark, NULL);
    return reader_next(reader) ? run : NULL;
}

/* ...[a:b]: as many of what `...` stands for as the slice of a list of the context's length has. */
static const PhraseNode *read_slice_of_rest(Reader *reader, const PhraseNode *rest)
{
    const PhraseNode *all = node_of(reader, NODE_RUN, rest->at, rest, NULL);
    const PhraseNode *slice = read_select(reader, all);
    if (slice && slice->kind != NODE_SLICE) {
        phrase_fail(reader->phrase, slice->at, E_SYNTAX, reader->err,
                    "of '...' a slice can be taken: ...[:2]");
        return NULL;
    }
    return slice ? node_of(reader, NODE_RUN, rest->at, slice, NULL) : NULL;
}

static const PhraseNode *read_elem(Reader *reader)
{
    if (reader_is(reader, ':'))
        return read_mark(reader, NODE_WHOLE);
    if (reader_is(reader, '_'))
        return read_mark(reader, NODE_FIXED);
    if (reader_is(reader, '~'))
        return read_mark(reader, NODE_UNUSED);
    if (reader->token.kind == TOKEN_RUN) {
        const PhraseNode *rest = node_new(reader, NODE_REST, reader->token.at);
        if (!reader_next(reader))
            return NULL;
        return reader_is(reader, '[') ? read_slice_of_rest(reader, rest) : rest;
    }
    const PhraseNode *start = reader_expr(reader);
    if (!start || reader->token.kind != TOKEN_WINDOW)
        return start;
    int at = reader->token.at;
    const PhraseNode *window = reader_next(reader) ? reader_expr(reader) : NULL;
    return window ? node_of(reader, NODE_WINDOW, at, start, window) : NULL;
}

static const PhraseNode *read_bind(Reader *reader)
{
    Token name = reader->token;
    PhraseNode *bind = node_new(reader, NODE_BIND, name.at);
    if (name.kind != TOKEN_VAR) {
        reader_expected(reader, "a $name");
        return NULL;
    }
    bind->name = name.name;
    if (!reader_next(reader) || !reader_expect(reader, '=', "a $name"))
        return NULL;
    bind->arg[0] = reader_expr(reader);
    bind->n = 1;
    return bind->arg[0] ? bind : NULL;
}

/* Reads an element of `index` or `reduce`: `$x = expr`, or an expression. */
static const PhraseNode *read_index_elem(Reader *reader)
{
    Reader before = *reader;
    bool named = reader->token.kind == TOKEN_VAR;
    if (named && !reader_next(reader))
        return NULL;
    named = named && reader_is(reader, '=');
    *reader = before;
    return named ? read_bind(reader) : reader_expr(reader);
}

/* ---- whole phrases ---- */

static const PhraseNode *read_map(Reader *reader)
{
    PhraseNode *ipf = node_new(reader, NODE_IPF, reader->token.at);
    bool letter = reader->token.kind == TOKEN_ID && next_is_open(reader) &&
                  (str_eq(reader->token.name, STR("D")) || str_eq(reader->token.name, STR("R")));
    if (letter) {
        ipf->op = (unsigned char)reader->token.name.s[0];
        if (!reader_next(reader))
            return NULL;
    }
    ipf->n = ARGS_MAX;
    ipf->arg[0] = read_list(reader, read_elem);
    if (!ipf->arg[0])
        return NULL;
    bool in_coordinates = node_has(ipf->arg[0], NODE_COORD, (Str){0}) ||
                          node_has(ipf->arg[0], NODE_WHOLE, (Str){0}) ||
                          node_has(ipf->arg[0], NODE_WINDOW, (Str){0});
    if (ipf->op == 'D' && in_coordinates) {
        phrase_fail(reader->phrase, ipf->at, E_SYNTAX, reader->err,
                    "a D map holds coefficients, not coordinates");
        return NULL;
    }
    if (!letter)
        ipf->op = in_coordinates ? 'R' : 'D';
    for (int i = 0; ipf->op == 'R' && i < ipf->arg[0]->n; i++)
        if (ipf->arg[0]->arg[i]->kind == NODE_RUN &&
            node_has(ipf->arg[0]->arg[i], NODE_REST, (Str){0})) {
            phrase_fail(reader->phrase, ipf->arg[0]->arg[i]->at, E_SYNTAX, reader->err,
                        "in coordinates a slice is one of @: @[:2]...");
            return NULL;
        }
    return ipf;
}

static const PhraseNode *read_ipf(Reader *reader)
{
    bool offset;
    const PhraseNode *ipf = read_map(reader);
    if (!ipf || !reader_accept(reader, '+', &offset))
        return NULL;
    if (offset && !(ipf->arg[1] = read_list(reader, read_elem)))
        return NULL;
    if (reader->token.kind != TOKEN_OWNS)
        return ipf;
    if (!reader_next(reader) || !(ipf->arg[2] = read_list(reader, read_elem)))
        return NULL;
    if (!node_has(ipf->arg[0], NODE_WHOLE, (Str){0}) &&
        !node_has(ipf->arg[0], NODE_WINDOW, (Str){0}))
        return ipf;
    phrase_fail(reader->phrase, ipf->arg[2]->at, E_SYNTAX, reader->err,
                "the map has windows already");
    return NULL;
}

/* "[ coefficients | offset | window ]" */
static const PhraseNode *read_row(Reader *reader)
{
    PhraseNode *row = node_new(reader, NODE_ROW, reader->token.at);
    PhraseNode *list = node_new(reader, NODE_LIST, reader->token.at);
    row->arg[0] = list;
    row->n = ARGS_MAX;
    if (!reader_expect(reader, '[', "the start of the text") ||
        !read_items(reader, list, '|', read_elem) || !(row->arg[1] = reader_expr(reader)) ||
        !reader_expect(reader, '|', "the offset") || !(row->arg[2] = reader_expr(reader)))
        return NULL;
    return reader_expect(reader, ']', "the window") ? row : NULL;
}

static const PhraseNode *read_compare(Reader *reader)
{
    const PhraseNode *left = reader_expr(reader);
    if (!left)
        return NULL;
    Token token = reader->token;
    if (token.kind != TOKEN_COMPARE) {
        reader_expected(reader, "a comparison");
        return NULL;
    }
    const PhraseNode *right = reader_next(reader) ? reader_expr(reader) : NULL;
    if (!right)
        return NULL;
    PhraseNode *compare = node_of(reader, NODE_COMPARE, token.at, left, right);
    compare->op = token.op;
    return compare;
}

static bool read_param_type(Reader *reader, int *type)
{
    static const char *const names[] = {/* ORDER PARAM_TYPE */
                                        "int", "ints", "bool", "str", "axis", "axis+", "perm"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (reader->token.kind == TOKEN_ID && str_eq(reader->token.name, str_from(names[i]))) {
            bool plus;
            *type = i;
            if (!reader_next(reader) || i != PARAM_AXIS)
                return !error_is_set(reader->err);
            if (!reader_accept(reader, '+', &plus))
                return false;
            *type = plus ? PARAM_AXIS_END : PARAM_AXIS;
            return true;
        }
    return reader_expected(reader, "int, ints, bool, str, axis, axis+ or perm");
}

static const PhraseNode *read_param(Reader *reader)
{
    PhraseNode *param = node_new(reader, NODE_PARAM, reader->token.at);
    bool given;
    if (!read_param_type(reader, &param->op))
        return NULL;
    if (reader->token.kind == TOKEN_ID && str_eq(reader->token.name, STR("of"))) {
        if (!reader_next(reader))
            return NULL;
        if (reader->token.kind != TOKEN_ID) {
            reader_expected(reader, "a slot's name");
            return NULL;
        }
        param->name = reader->token.name;
        if (!reader_next(reader))
            return NULL;
    }
    if (!reader_accept(reader, '=', &given))
        return NULL;
    param->n = given ? 1 : 0;
    return !given || (param->arg[0] = reader_expr(reader)) ? param : NULL;
}

const Phrase *phrase_read(Arena *arena, const char *owner, const char *where, Str text,
                          PhraseForm form, Error *err)
{
    static ItemFn *const forms[] = {
        [FORM_EXPR] = reader_expr,     [FORM_INDEX] = NULL,       [FORM_IPF] = read_ipf,
        [FORM_MAP] = read_map,         [FORM_ROW] = read_row,     [FORM_BIND] = read_bind,
        [FORM_REQUIRE] = read_compare, [FORM_PARAM] = read_param,
    };
    Error own = {0};
    Reader reader;
    err = err ? err : &own;
    if (!reader_begin(&reader, arena, owner, where, text, err))
        return NULL;
    const PhraseNode *root =
        form == FORM_INDEX ? read_list(&reader, read_index_elem) : forms[form](&reader);
    if (!root || !reader_end(&reader))
        return NULL;
    reader.phrase->root = root;
    return reader.phrase;
}

bool node_has(const PhraseNode *node, PhraseKind kind, Str name)
{
    if (!node)
        return false;
    if (node->kind == kind && (name.n == 0 || str_eq(node->name, name)))
        return true;
    for (int i = 0; i < node->n; i++)
        if (node_has(node->arg[i], kind, name))
            return true;
    return false;
}
