#include "core/base/pickle.h"

#include "core/base/vec.h"

#include <stdlib.h>

enum { DEPTH_MAX = 100, DIGITS_MAX = 40, NODES_PER_BYTE = 16 };

typedef enum {
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_REAL,
    VALUE_TEXT,
    VALUE_LIST,
    VALUE_DICT, /* keys and values in turn */
    VALUE_NAME, /* of a class or function */
    VALUE_OBJECT,
    VALUE_MARK
} ValueKind;

typedef struct PickleValue PickleValue;
struct PickleValue {
    uint8_t kind;
    int64_t i;
    double f;
    Str text;
    Vec(PickleValue *) items;
    PickleValue *state;
};

typedef struct {
    Arena *arena;
    const Source *source;
    const char *at, *end;
    Error *err;
    Vec(PickleValue *) stack, memo;
    int64_t nodes; /* that may still be written */
} Unpickler;

/* ---- bytes ---- */

static bool fail(Unpickler *p, const char *what)
{
    p->at = p->end;
    error_kind(p->err, ERROR_UNREADABLE, "pickle: %s", what);
    error_in_file(p->err, p->source->name);
    return false;
}

static const char *take(Unpickler *p, uint64_t n)
{
    if ((uint64_t)(p->end - p->at) < n) {
        fail(p, "it ends within a value");
        return NULL;
    }
    const char *from = p->at;
    p->at += n;
    return from;
}

/* A number of n bytes, little endian; 0 with a failure. */
static uint64_t take_number(Unpickler *p, int n)
{
    const char *from = take(p, (uint64_t)n);
    uint64_t out = 0;
    for (int i = 0; from && i < n; i++)
        out |= (uint64_t)(uint8_t)from[i] << (8 * i);
    return out;
}

static Str take_text(Unpickler *p, uint64_t n)
{
    const char *from = take(p, n);
    return from ? (Str){from, (size_t)n} : STR("");
}

static Str take_line(Unpickler *p)
{
    Str rest = {p->at, (size_t)(p->end - p->at)};
    if (!memchr(rest.s, '\n', rest.n)) {
        fail(p, "it ends within a line");
        return STR("");
    }
    Str line = str_take(&rest, '\n');
    p->at = rest.s;
    return line;
}

/* ---- the stack ---- */

static PickleValue *new_value(Unpickler *p, ValueKind kind)
{
    PickleValue *out = arena_make(p->arena, PickleValue);
    out->kind = (uint8_t)kind;
    return out;
}

static PickleValue *push(Unpickler *p, ValueKind kind)
{
    PickleValue *out = new_value(p, kind);
    vec_push(p->arena, &p->stack, out);
    return out;
}

static void push_int(Unpickler *p, ValueKind kind, int64_t i)
{
    push(p, kind)->i = i;
}

static void push_text(Unpickler *p, ValueKind kind, Str text)
{
    push(p, kind)->text = text;
}

static PickleValue *pop(Unpickler *p)
{
    if (p->stack.n > 0 && p->stack.at[p->stack.n - 1]->kind != VALUE_MARK)
        return p->stack.at[--p->stack.n];
    fail(p, "a value is missing");
    return new_value(p, VALUE_NONE);
}

static PickleValue *top(Unpickler *p)
{
    PickleValue *out = pop(p);
    vec_push(p->arena, &p->stack, out);
    return out;
}

/* Moves what is above the last mark into `to`, and drops the mark. */
static void take_marked(Unpickler *p, PickleValue *to)
{
    int from = p->stack.n;
    while (from > 0 && p->stack.at[from - 1]->kind != VALUE_MARK)
        from--;
    if (from == 0) {
        fail(p, "a mark is missing");
        return;
    }
    for (int i = from; i < p->stack.n; i++)
        vec_push(p->arena, &to->items, p->stack.at[i]);
    p->stack.n = from - 1;
}

/* Adds what is marked to the value below it. */
static void add_marked(Unpickler *p)
{
    PickleValue some = {.kind = VALUE_LIST};
    take_marked(p, &some);
    PickleValue *to = top(p);
    for (int i = 0; i < some.items.n; i++)
        vec_push(p->arena, &to->items, some.items.at[i]);
}

static void make_tuple(Unpickler *p, int n)
{
    PickleValue *out = new_value(p, VALUE_LIST), *part[3] = {NULL};
    for (int i = n - 1; i >= 0; i--)
        part[i] = pop(p);
    for (int i = 0; i < n; i++)
        vec_push(p->arena, &out->items, part[i]);
    vec_push(p->arena, &p->stack, out);
}

static void remember(Unpickler *p, uint64_t at)
{
    enum { MEMO_MAX = 1 << 24 };
    PickleValue *value = top(p);
    if (at > MEMO_MAX) {
        fail(p, "it remembers too much");
        return;
    }
    while (p->memo.n <= (int)at)
        vec_push(p->arena, &p->memo, NULL);
    p->memo.at[at] = value;
}

static void recall(Unpickler *p, uint64_t at)
{
    if (at >= (uint64_t)p->memo.n || !p->memo.at[at])
        fail(p, "it recalls what it has not stored");
    else
        vec_push(p->arena, &p->stack, p->memo.at[at]);
}

/* ---- numbers ---- */

/* Of up to 8 bytes; longer ones are the nearest float. */
static void push_long(Unpickler *p, uint64_t n)
{
    Str bytes = take_text(p, n);
    double value = 0;
    uint64_t whole = 0;
    bool negative = bytes.n > 0 && (uint8_t)bytes.s[bytes.n - 1] >= 128;
    for (size_t i = bytes.n; i-- > 0;)
        value = value * 256 + (uint8_t)(negative ? ~bytes.s[i] : bytes.s[i]);
    for (size_t i = 0; i < 8; i++)
        whole |= (uint64_t)(i < bytes.n ? (uint8_t)bytes.s[i] : negative ? 255 : 0) << (8 * i);
    if (bytes.n <= 8)
        push_int(p, VALUE_INT, (int64_t)whole);
    else
        push(p, VALUE_REAL)->f = negative ? -value - 1 : value;
}

static void push_double(Unpickler *p)
{
    const char *from = take(p, 8);
    uint64_t bits = 0;
    double value;
    for (int i = 0; from && i < 8; i++)
        bits = bits << 8 | (uint8_t)from[i];
    memcpy(&value, &bits, sizeof value);
    push(p, VALUE_REAL)->f = value;
}

/* Of protocol 0: "12", "12L", "01" for True. */
static void push_digits(Unpickler *p, bool real)
{
    char text[DIGITS_MAX + 1];
    Str line = take_line(p);
    if (line.n > 0 && line.s[line.n - 1] == 'L')
        line.n--;
    if (line.n > DIGITS_MAX) {
        fail(p, "a number is too long");
        return;
    }
    memcpy(text, line.s, line.n);
    text[line.n] = '\0';
    if (real)
        push(p, VALUE_REAL)->f = strtod(text, NULL);
    else if (str_eq(line, STR("00")) || str_eq(line, STR("01")))
        push_int(p, VALUE_BOOL, str_eq(line, STR("01")));
    else
        push_int(p, VALUE_INT, strtoll(text, NULL, 10));
}

/* ---- objects ---- */

static void push_name(Unpickler *p, Str module, Str name)
{
    push_text(p, VALUE_NAME,
              str_from(arena_printf(p->arena, "%.*s.%.*s", STR_ARG(module), STR_ARG(name))));
}

/* Calls that give back what they are called with. */
static const char wrappers[] =
    "torch.jit._pickle.restore_type_tag torch.jit._pickle.build_intlist "
    "torch.jit._pickle.build_doublelist torch.jit._pickle.build_boollist "
    "torch.jit._pickle.build_tensorlist torch.Size builtins.list builtins.tuple builtins.set "
    "builtins.frozenset collections.OrderedDict __builtin__.set";

static void make_object(Unpickler *p, PickleValue *name, PickleValue *args)
{
    bool wraps = name->kind == VALUE_NAME && str_has_word(str_from(wrappers), name->text);
    if (wraps && args->items.n > 0) {
        vec_push(p->arena, &p->stack, args->items.at[0]);
        return;
    }
    PickleValue *out = push(p, wraps ? VALUE_DICT : VALUE_OBJECT);
    out->text = name->text;
    for (int i = 0; i < args->items.n && !wraps; i++)
        vec_push(p->arena, &out->items, args->items.at[i]);
}

static void call(Unpickler *p)
{
    PickleValue *args = pop(p);
    make_object(p, pop(p), args);
}

static void set_state(Unpickler *p)
{
    PickleValue *state = pop(p), *object = top(p);
    object->state = state;
}

/* ---- opcodes ---- */

static void read_text_op(Unpickler *p, char op)
{
    static const struct {
        char op;
        int bytes; /* of its length */
    } rows[] = {{'X', 4},    {'\x8c', 1}, {'\x8d', 8}, {'B', 4},   {'C', 1},
                {'\x8e', 8}, {'T', 4},    {'U', 1},    {'\x96', 8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op)
            push_text(p, VALUE_TEXT, take_text(p, take_number(p, rows[i].bytes)));
}

/* Opcodes that push a value of their own; false if it is none of them. */
static bool read_value_op(Unpickler *p, char op)
{
    switch (op) {
    case 'N':
        push(p, VALUE_NONE);
        return true;
    case '\x88':
    case '\x89':
        push_int(p, VALUE_BOOL, op == '\x88');
        return true;
    case 'J':
        push_int(p, VALUE_INT, (int32_t)take_number(p, 4));
        return true;
    case 'K':
    case 'M':
        push_int(p, VALUE_INT, (int64_t)take_number(p, op == 'K' ? 1 : 2));
        return true;
    case '\x8a':
    case '\x8b':
        push_long(p, take_number(p, op == '\x8a' ? 1 : 4));
        return true;
    case 'I':
    case 'L':
    case 'F':
        push_digits(p, op == 'F');
        return true;
    case 'G':
        push_double(p);
        return true;
    case 'V':
    case 'S':
        push_text(p, VALUE_TEXT, take_line(p));
        return true;
    case '(':
        push(p, VALUE_MARK);
        return true;
    case ']':
    case ')':
    case '\x8f':
        push(p, VALUE_LIST);
        return true;
    case '}':
        push(p, VALUE_DICT);
        return true;
    default:
        return false;
    }
}

static void marked_value(Unpickler *p, ValueKind kind)
{
    PickleValue *out = new_value(p, kind);
    take_marked(p, out);
    vec_push(p->arena, &p->stack, out);
}

static void append(Unpickler *p, int n)
{
    PickleValue *item[2] = {NULL, NULL};
    for (int i = n - 1; i >= 0; i--)
        item[i] = pop(p);
    PickleValue *to = top(p);
    for (int i = 0; i < n; i++)
        vec_push(p->arena, &to->items, item[i]);
}

/* Opcodes that put values together. */
static bool read_joining_op(Unpickler *p, char op)
{
    switch (op) {
    case 't':
    case 'l':
    case '\x91':
        marked_value(p, VALUE_LIST);
        return true;
    case 'd':
        marked_value(p, VALUE_DICT);
        return true;
    case '\x85':
    case '\x86':
    case '\x87':
        make_tuple(p, op - '\x84');
        return true;
    case 'a':
        append(p, 1);
        return true;
    case 's':
        append(p, 2);
        return true;
    case 'e':
    case 'u':
    case '\x90':
        add_marked(p);
        return true;
    case '0':
        pop(p);
        return true;
    case '2': {
        PickleValue *again = top(p); /* which may put one on an empty stack */
        vec_push(p->arena, &p->stack, again);
        return true;
    }
    case '1': {
        PickleValue none = {.kind = VALUE_LIST};
        take_marked(p, &none);
        return true;
    }
    default:
        return false;
    }
}

/* Opcodes of classes and calls. */
static bool read_object_op(Unpickler *p, char op)
{
    PickleValue *args;
    switch (op) {
    case 'c': {
        Str module = take_line(p);
        push_name(p, module, take_line(p));
        return true;
    }
    case '\x93': {
        PickleValue *name = pop(p), *module = pop(p);
        push_name(p, module->text, name->text);
        return true;
    }
    case 'R':
    case '\x81':
        call(p);
        return true;
    case '\x92': /* with named arguments */
        args = pop(p);
        call(p);
        top(p)->state = args;
        return true;
    case 'o': {
        PickleValue *all = new_value(p, VALUE_LIST);
        take_marked(p, all);
        PickleValue *name = all->items.n > 0 ? all->items.at[0] : new_value(p, VALUE_NONE);
        PickleValue some = {.kind = VALUE_LIST};
        for (int i = 1; i < all->items.n; i++)
            vec_push(p->arena, &some.items, all->items.at[i]);
        make_object(p, name, &some);
        return true;
    }
    case 'b':
        set_state(p);
        return true;
    case 'Q': /* what the writer keeps elsewhere */
        args = pop(p);
        push(p, VALUE_OBJECT)->text = STR("persistent");
        vec_push(p->arena, &p->stack.at[p->stack.n - 1]->items, args);
        return true;
    default:
        return false;
    }
}

static bool read_memo_op(Unpickler *p, char op)
{
    int64_t at = 0;
    switch (op) {
    case 'q':
    case 'r':
        remember(p, take_number(p, op == 'q' ? 1 : 4));
        return true;
    case '\x94':
        remember(p, (uint64_t)p->memo.n);
        return true;
    case 'h':
    case 'j':
        recall(p, take_number(p, op == 'h' ? 1 : 4));
        return true;
    case 'p':
    case 'g':
        if (!str_to_int(take_line(p), &at) || at < 0)
            fail(p, "a place is no number");
        else if (op == 'p')
            remember(p, (uint64_t)at);
        else
            recall(p, (uint64_t)at);
        return true;
    case '\x80':
        take_number(p, 1);
        return true;
    case '\x95':
        take_number(p, 8);
        return true;
    default:
        return false;
    }
}

/* ---- as JSON ---- */

static Json *written(Unpickler *p, const PickleValue *value, int depth);

/* Whether so much more may be written. A text counts as values too: a few bytes may name it often,
 * or quote its quotes. */
static bool may_write(Unpickler *p, int64_t nodes)
{
    p->nodes -= nodes;
    if (p->nodes < 0)
        fail(p, "it is much larger than its file");
    return p->nodes >= 0;
}

static Json *written_text(Unpickler *p, Str text)
{
    return may_write(p, (int64_t)text.n / NODES_PER_BYTE) ? json_from_str(text) : json_null();
}

/* A key that is no text, as JSON. */
static void write_key(Unpickler *p, const PickleValue *key, int depth, Buf *out)
{
    Json *json = written(p, key, depth);
    if (!error_is_set(p->err))
        json_write(json, out);
    may_write(p, (int64_t)out->n / NODES_PER_BYTE);
    json_free(json);
}

static Json *written_list(Unpickler *p, const PickleValue *value, int depth)
{
    Json *out = json_array();
    for (int i = 0; i < value->items.n && !error_is_set(p->err); i++)
        json_add(out, written(p, value->items.at[i], depth));
    return out;
}

static Json *written_dict(Unpickler *p, const PickleValue *value, int depth)
{
    Json *out = json_object();
    for (int i = 0; i + 1 < value->items.n && !error_is_set(p->err); i += 2) {
        const PickleValue *key = value->items.at[i];
        Buf text = buf_new(p->arena);
        if (key->kind == VALUE_TEXT)
            buf_add(&text, key->text);
        else
            write_key(p, key, depth, &text);
        json_set(out, text.s ? text.s : "", written(p, value->items.at[i + 1], depth));
    }
    return out;
}

static Json *written_object(Unpickler *p, const PickleValue *value, int depth)
{
    Json *out = json_object();
    json_set(out, "class", written_text(p, value->text));
    json_set(out, "args", written_list(p, value, depth));
    if (value->state)
        json_set(out, "state", written(p, value->state, depth));
    return out;
}

static Json *written(Unpickler *p, const PickleValue *value, int depth)
{
    if (depth > DEPTH_MAX)
        fail(p, "it is nested too deep, or inside of itself");
    if (depth > DEPTH_MAX || !may_write(p, 1))
        return json_null();
    switch ((ValueKind)value->kind) {
    case VALUE_BOOL:
        return json_from_bool(value->i != 0);
    case VALUE_INT:
        return json_from_int(value->i);
    case VALUE_REAL:
        return json_from_real(value->f);
    case VALUE_TEXT:
    case VALUE_NAME:
        return written_text(p, value->text);
    case VALUE_LIST:
        return written_list(p, value, depth + 1);
    case VALUE_DICT:
        return written_dict(p, value, depth + 1);
    case VALUE_OBJECT:
        return written_object(p, value, depth + 1);
    case VALUE_NONE:
    case VALUE_MARK:
        break;
    }
    return json_null();
}

/* ---- the whole ---- */

bool pickle_is(Str bytes)
{
    return bytes.n > 2 && bytes.s[0] == '\x80' && bytes.s[1] >= 2 && bytes.s[1] <= 5;
}

Json *pickle_read(const Source *source, Error *err)
{
    enum { NODES_LEAST = 1 << 16 };
    Arena *arena = arena_new();
    Unpickler p = {.arena = arena, .source = source, .err = err};
    p.at = source->text.s;
    p.end = p.at + source->text.n;
    p.nodes = NODES_LEAST + NODES_PER_BYTE * (int64_t)source->text.n;
    char op = '\0';
    while (!error_is_set(err) && op != '.') {
        const char *from = take(&p, 1);
        op = from ? *from : '.';
        if (!from || op == '.')
            break;
        int depth = p.stack.n;
        read_text_op(&p, op);
        if (p.stack.n == depth && !error_is_set(err) && !read_value_op(&p, op) &&
            !read_joining_op(&p, op) && !read_object_op(&p, op) && !read_memo_op(&p, op))
            fail(&p, arena_printf(arena, "opcode 0x%02x is not known", (unsigned)(uint8_t)op));
    }
    Json *out = error_is_set(err) ? NULL : written(&p, pop(&p), 0);
    if (error_is_set(err)) {
        json_free(out);
        out = NULL;
    }
    arena_free(arena);
    return out;
}
