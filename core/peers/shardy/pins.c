#include "core/peers/shardy/tables.h"

/* The value being read: `%arg0: tensor<..> {..} loc("x")`, or an op's line. A sharding is kept
 * until the end of the value, since its name may come last. */
typedef struct {
    PinsText *text;
    Scan *scan;
    Str location, info, own,
        operand; /* names: loc(..), jax.arg_info, its %name, the constrained %name */
    Shape shape;
    bool shaped, op, pending, constrained; /* pending: a sharding was read */
    size_t from, to;                       /* of the sharding */
    size_t used_from, used_to;             /* of dimscope.used; 0: none */
} PinnedValue;

static Str rest(const PinnedValue *w)
{
    Str text = w->scan->source->text;
    return (Str){text.s + w->scan->at, text.n - w->scan->at};
}

/* Reads the name after the sign of "%arg0", "@mesh" or "#loc1". */
static Str read_name(PinnedValue *w)
{
    Str left = rest(w);
    size_t n = 0;
    while (n < left.n && !memchr(" \t\r\n,:=(){}<>[]\"#%@", left.s[n], 19))
        n++;
    w->scan->at += n;
    return (Str){left.s, n};
}

static bool add(PinnedValue *w, const Str *names, int n, size_t from, size_t to)
{
    return pins_add(w->text, w->scan, names, n, w->shaped ? &w->shape : NULL, from, to);
}

/* Finishes a value: adds its sharding under the best name. */
static bool flush(PinnedValue *w)
{
    bool ok = true;
    if (w->pending) {
        const Str names[] = {w->location, w->info, w->own, w->operand};
        Str known[4];
        int n = 0;
        for (int i = 0; i < 4; i++)
            if (names[i].n > 0)
                known[n++] = names[i];
        if ((w->op && !w->constrained) || n == 0) /* results of a function have no names */
            w->text->n_follow++;
        else
            ok = add(w, known, n, w->from, w->to);
        if (ok && n > 0 && !w->op && w->used_to > 0) {
            w->text->used = true;
            ok = add(w, known, n, w->used_from, w->used_to);
            w->text->used = false;
        }
    }
    *w = (PinnedValue){.text = w->text, .scan = w->scan};
    return ok;
}

/* Reads 8x1024xf32> after "tensor<". An unknown size leaves the shape unknown. */
static void read_type(PinnedValue *w)
{
    Shape shape = {0};
    Str left = rest(w);
    bool known = true;
    size_t at = 0;
    while (at < left.n && (is_digit(left.s[at]) || left.s[at] == '?')) {
        int64_t size = 0;
        size_t n = at;
        while (n < left.n && is_digit(left.s[n]))
            n++;
        known &= n > at && shape.n_dims < DIMS_MAX && str_to_int((Str){left.s + at, n - at}, &size);
        if (known)
            shape.dim[shape.n_dims++] = size;
        at = n > at ? n : at + 1;
        if (at >= left.n || left.s[at] != 'x')
            break;
        at++;
    }
    if (w->shaped && !w->op)
        return;
    w->shape = shape;
    w->shaped = known;
}

/* Reads what follows '%': an argument, an op's first result, or an operand. */
static bool read_value_name(PinnedValue *w)
{
    Str name = read_name(w);
    Scan ahead = *w->scan;
    char c = pins_peek(&ahead);
    int64_t n_results;
    if (c == ':' && pins_accept(&ahead, ':') && pins_at_number(&ahead)) { /* "%0:2 = " */
        scan_int(&ahead, &n_results);
        c = pins_peek(&ahead) == '=' ? '=' : '\0';
    }
    if (c != ':' && c != '=') {
        if (w->operand.n == 0)
            w->operand = name;
        return true;
    }
    if (c == ':' && w->op) /* operands before their types */
        return true;
    if (!flush(w))
        return false;
    w->own = name;
    w->op = c == '=';
    return true;
}

/* Notes the text from here to `ends` as the sharding. */
static bool read_sharding(PinnedValue *w, const char *ends)
{
    pins_peek(w->scan);
    size_t from = w->scan->at;
    if (!pins_skip(w->scan, ends))
        return false;
    if (!w->pending) {
        w->from = from;
        w->to = w->scan->at;
        w->pending = true;
    }
    return true;
}

/* Reads what follows "loc(": "name", #loc1 or something else. */
static bool read_location(PinnedValue *w)
{
    Str name = {"", 0};
    if (pins_at_string(w->scan)) {
        if (!pins_string(w->text->scratch, w->scan, true, &name))
            return false;
        bool place = pins_peek(w->scan) == ':'; /* a position in a file */
        w->location = place ? w->location : name;
    } else if (scan_accept(w->scan, '#')) {
        Buf key = buf_new(w->text->scratch);
        buf_putc(&key, '#');
        buf_add(&key, read_name(w));
        int32_t id = names_find(w->text->aliases, buf_str(&key));
        if (id >= 0)
            w->location = w->text->meshes.at[id].name[0];
    }
    return true;
}

static bool starts(const PinnedValue *w, const char *word)
{
    return str_starts(rest(w), str_from(word));
}

/* Reads a keyword and its arguments. */
static bool read_word(PinnedValue *w)
{
    Str word = pins_word(w->scan);
    if (word.n == 0) {
        w->scan->at++;
        return true;
    }
    if (str_eq(word, STR("sdy.sharding")) && pins_accept(w->scan, '='))
        return read_sharding(w, ",");
    if (str_eq(word, STR("dimscope.stages")))
        return pins_need_stages(w->text, w->scan, w->scan->at - word.n);
    if (str_eq(word, STR("dimscope.used")) && pins_accept(w->scan, '=')) {
        pins_peek(w->scan);
        w->used_from = w->scan->at;
        bool ok = pins_skip(w->scan, ",");
        w->used_to = w->scan->at;
        return ok;
    }
    if (str_eq(word, STR("sdy.sharding_constraint"))) {
        pins_peek(w->scan);
        w->constrained = true;
        return !scan_accept(w->scan, '%') || (w->operand = read_name(w), read_sharding(w, ":"));
    }
    if (str_eq(word, STR("tensor")) && scan_accept(w->scan, '<'))
        read_type(w);
    if (str_eq(word, STR("loc")) && scan_accept(w->scan, '('))
        return read_location(w);
    if ((str_eq(word, STR("jax.arg_info")) || str_eq(word, STR("jax.result_info"))) &&
        pins_accept(w->scan, '='))
        return pins_string(w->text->scratch, w->scan, true, &w->info);
    return true;
}

static bool step(PinnedValue *w)
{
    char c = rest(w).s[0];
    Str unused;
    switch (c) {
    case '\n':
        w->scan->at++;
        return !w->op || flush(w);
    case ' ':
    case '\t':
        w->scan->at++;
        return true;
    case '%':
        w->scan->at++;
        return read_value_name(w);
    case '"':
        return pins_string(w->text->scratch, w->scan, true, &unused);
    case '-':
        w->scan->at++;
        return !starts(w, ">") || w->op || flush(w); /* results of a function */
    case '/':
        if (starts(w, "//"))
            pins_peek(w->scan);
        else
            w->scan->at++;
        return true;
    case '#':
    case '@':
        w->scan->at++;
        read_name(w);
        return true;
    default:
        return read_word(w);
    }
}

/* ---- meshes and location aliases, anywhere in the module ---- */

/* Reads "@mesh = <[..]>" after "sdy.mesh". */
static bool note_mesh(PinnedValue *w)
{
    PinsText *text = w->text;
    if (!pins_accept(w->scan, '@'))
        return true;
    Str name = pins_at_string(w->scan) ? STR("") : read_name(w);
    if (name.n == 0 && !pins_string(text->scratch, w->scan, true, &name))
        return false;
    text->axes = (PinsMesh){0};
    if (!pins_expect(w->scan, '=') || !pins_mesh_read(text, w->scan, 0))
        return false;
    pins_put_alias(text, '@', name, &text->axes);
    return true;
}

/* Reads `#loc1 = loc("x")` after '#'. */
static bool note_location(PinnedValue *w)
{
    Str name = read_name(w);
    PinsMesh holder = {0};
    if (!str_starts(name, STR("loc")) || !pins_accept(w->scan, '=') ||
        !pins_accept_text(w->scan, "loc(") || !pins_at_string(w->scan))
        return true;
    if (!pins_string(w->text->scratch, w->scan, true, &holder.name[0]))
        return false;
    if (pins_peek(w->scan) != ':')
        pins_put_alias(w->text, '#', name, &holder);
    return true;
}

/* Reads all meshes and location aliases. */
static bool note_all(PinnedValue *w)
{
    Str text = w->scan->source->text;
    bool begins = true; /* at the start of a line */
    while (w->scan->at < text.n) {
        char c = text.s[w->scan->at];
        bool blank = memchr(" \t\r\n", c, 4);
        if (begins && starts(w, "sdy.mesh ")) {
            w->scan->at += sizeof "sdy.mesh " - 1;
            if (!note_mesh(w))
                return false;
        } else if (begins && c == '#') {
            w->scan->at++;
            if (!note_location(w))
                return false;
        } else {
            w->scan->at++;
        }
        begins = blank ? begins || c == '\n' : false;
    }
    w->scan->at = 0;
    return true;
}

static bool is_mlir(Str text)
{
    return str_find(text, STR("sdy.sharding_constraint ")) >= 0 ||
           str_find(text, STR("sdy.sharding = #sdy")) >= 0 ||
           str_find(text, STR("sdy.sharding=#sdy")) >= 0;
}

static bool read_mlir(PinsText *text, Scan *scan)
{
    PinnedValue walk = {.text = text, .scan = scan};
    text->mlir = true;
    text->aliases = names_new(text->scratch);
    if (!note_all(&walk))
        return false;
    while (scan->at < scan->source->text.n)
        if (!step(&walk))
            return false;
    return flush(&walk);
}

const PinsForm shardy_pins[] = {{"mlir", is_mlir, read_mlir}, {0}};
