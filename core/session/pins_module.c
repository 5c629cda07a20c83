#include "core/session/pins_read.h"

enum { LOOPS_MAX = 8, LOOP_NUMBERS_MAX = 100000, ROUNDS_BYTES_MAX = 256 << 20 };

/* A loop "for i in range(12):"; its body is indented deeper. */
typedef struct {
    size_t indent;
    Str name;
    const int64_t *number;
    int64_t n;
} PythonLoop;

typedef struct {
    PinsText *text;
    Scan *scan;
    int n_loops;
    PythonLoop loop[LOOPS_MAX];
    PinsMesh mesh; /* MESH_SHAPE and MESH_DIM_NAMES */
    Str placed[PINS_AXES_MAX];
    int n_names, n_placed;
    bool named;         /* there is a PARAMETERS: other dicts are ignored */
    size_t round_bytes; /* of text expanded from loops */
} PythonModule;

/* ---- lists ---- */

/* Reads the numbers of a list in brackets, as in (2, 4). */
static bool read_numbers(PythonModule *m, int64_t *out, int room, int *n)
{
    char open = pins_peek(m->scan), close = open == '(' ? ')' : ']';
    *n = 0;
    if (!pins_expect(m->scan, open == '(' ? '(' : '['))
        return false;
    while (!pins_accept(m->scan, close)) {
        int64_t number;
        pins_peek(m->scan);
        if (!scan_int(m->scan, &number))
            return false;
        if (*n == room)
            return scan_fail(m->scan, "more than %d numbers", room);
        out[(*n)++] = number;
        if (!pins_accept(m->scan, ',') && pins_peek(m->scan) != close)
            return pins_expect(m->scan, close);
    }
    return true;
}

static bool read_texts(PythonModule *m, Str *out, int *n)
{
    char open = pins_peek(m->scan), close = open == '(' ? ')' : ']';
    *n = 0;
    if (!pins_expect(m->scan, open == '(' ? '(' : '['))
        return false;
    while (!pins_accept(m->scan, close)) {
        if (*n == PINS_AXES_MAX)
            return scan_fail(m->scan, "a mesh has at most %d axes", PINS_AXES_MAX);
        if (!pins_string(m->text->scratch, m->scan, false, &out[*n]))
            return false;
        (*n)++;
        if (!pins_accept(m->scan, ',') && pins_peek(m->scan) != close)
            return pins_expect(m->scan, close);
    }
    return true;
}

/* ---- the mesh ---- */

/* Keeps the axes that placements may use; stages use the others. */
static bool keep_placed(PythonModule *m, size_t at)
{
    PinsMesh all = m->text->axes, kept = {0};
    for (int i = 0; i < m->n_placed; i++) {
        int k = 0;
        while (k < all.n && !str_eq(all.name[k], m->placed[i]))
            k++;
        if (k == all.n) {
            error_kind(m->scan->err, ERROR_SYNTAX, "the mesh has no '%.*s'", STR_ARG(m->placed[i]));
            error_at(m->scan->err, m->scan->source, at);
            return false;
        }
        kept.name[kept.n] = all.name[k];
        kept.size[kept.n] = all.size[k];
        kept.axis[kept.n++] = all.axis[k];
    }
    m->text->axes = kept;
    return true;
}

/* Reads STAGE_DIMS, which is empty without stages. */
static bool read_stages(PythonModule *m, size_t at)
{
    Str stage[PINS_AXES_MAX];
    int n;
    return read_texts(m, stage, &n) && (n == 0 || pins_need_stages(m->text, m->scan, at));
}

/* Reads PARTS, the named parts of the mesh that ops run on; there is one without stages. */
static bool read_parts(PythonModule *m, size_t at)
{
    int n = 0;
    if (!pins_expect(m->scan, '{'))
        return false;
    for (; !pins_accept(m->scan, '}'); n++)
        if (!pins_skip(m->scan, ",") || (!pins_accept(m->scan, ',') && pins_peek(m->scan) != '}'))
            return pins_expect(m->scan, '}');
    return n < 2 || pins_need_stages(m->text, m->scan, at);
}

/* Reads a constant in capitals that describes the mesh; sets *is when it is one. */
static bool read_mesh(PythonModule *m, Str name, bool *is)
{
    size_t at = m->scan->at;
    *is = true;
    if (str_eq(name, STR("MESH_SHAPE"))) {
        if (!read_numbers(m, m->mesh.size, PINS_AXES_MAX, &m->mesh.n))
            return false;
    } else if (str_eq(name, STR("MESH_DIM_NAMES"))) {
        if (!read_texts(m, m->mesh.name, &m->n_names))
            return false;
    } else if (str_eq(name, STR("PLACED_DIMS"))) {
        return read_texts(m, m->placed, &m->n_placed) && keep_placed(m, at);
    } else if (str_eq(name, STR("STAGE_DIMS"))) {
        return read_stages(m, at);
    } else if (str_eq(name, STR("PARTS"))) {
        return read_parts(m, at);
    } else if (str_eq(name, STR("AXES")) || str_eq(name, STR("MESH"))) {
        char c = pins_peek(m->scan);
        return c == '{' || c == '(' || c == '[' || pins_is_mesh(pins_word(m->scan))
                   ? pins_mesh_read(m->text, m->scan, 0)
                   : pins_skip(m->scan, "\n");
    } else {
        *is = false;
        return true;
    }
    return m->mesh.n != m->n_names || m->mesh.n == 0 ||
           pins_mesh_use(m->text, m->scan, &m->mesh, at);
}

/* ---- loops ---- */

static bool read_range(PythonModule *m, PythonLoop *loop)
{
    int64_t bound[3] = {0}, first, end;
    int n;
    if (!read_numbers(m, bound, 2, &n))
        return false;
    first = n == 2 ? bound[0] : 0;
    end = n == 2 ? bound[1] : bound[0];
    if (n == 0 || first < 0 || end > INT32_MAX || end - first > LOOP_NUMBERS_MAX)
        return scan_fail(m->scan, "a loop of more than %d numbers", LOOP_NUMBERS_MAX);
    int64_t *number = arena_array(m->text->scratch, int64_t, end > first ? end - first : 0);
    for (int64_t i = first; i < end; i++)
        number[i - first] = i;
    loop->number = number;
    loop->n = end > first ? end - first : 0;
    return true;
}

static bool read_listed(PythonModule *m, PythonLoop *loop)
{
    enum { LISTED_MAX = 4096 };
    int64_t *number = arena_array(m->text->scratch, int64_t, LISTED_MAX);
    int n;
    if (!read_numbers(m, number, LISTED_MAX, &n))
        return false;
    loop->number = number;
    loop->n = n;
    return true;
}

/* Reads "i in range(12)" after "for". Only loops over numbers are supported. */
static bool read_loop(PythonModule *m, size_t indent)
{
    PythonLoop loop = {.indent = indent, .name = pins_word(m->scan)};
    if (loop.name.n == 0 || !str_eq(pins_word(m->scan), STR("in")))
        return true;
    Scan ahead = *m->scan;
    bool range = str_eq(pins_word(&ahead), STR("range"));
    if (range)
        m->scan->at = ahead.at;
    Scan inside = *m->scan;
    if (!(pins_accept(&inside, '(') || pins_accept(&inside, '[')) || !pins_at_number(&inside))
        return true;
    if (m->n_loops == LOOPS_MAX)
        return scan_fail(m->scan, "loops are nested more than %d deep", LOOPS_MAX);
    if (range ? !read_range(m, &loop) : !read_listed(m, &loop))
        return false;
    m->loop[m->n_loops++] = loop;
    return true;
}

/* ---- dicts ---- */

static bool read_rounds(PythonModule *m, int depth, size_t from)
{
    PinsText *text = m->text;
    if (depth == m->n_loops) {
        m->scan->at = from;
        if (!pins_dict_read(text, m->scan))
            return false;
        m->round_bytes += m->scan->at - from;
        return m->n_loops == 0 || m->round_bytes < ROUNDS_BYTES_MAX ||
               scan_fail(m->scan, "loops make more than %d MiB", ROUNDS_BYTES_MAX >> 20);
    }
    const PythonLoop *loop = &m->loop[depth];
    vec_push(text->scratch, &text->numbers, (PinsNumber){loop->name, 0});
    for (int64_t i = 0; i < loop->n; i++) {
        text->numbers.at[text->numbers.n - 1].value = loop->number[i];
        if (!read_rounds(m, depth + 1, from))
            return false;
    }
    text->numbers.n--;
    return true;
}

static bool read_dict(PythonModule *m)
{
    Scan end = *m->scan;
    size_t from = m->scan->at;
    if (!pins_accept(&end, '{') || !pins_skip(&end, "") || !pins_expect(&end, '}'))
        return false;
    if (!read_rounds(m, 0, from))
        return false;
    m->scan->at = end.at;
    return true;
}

/* ---- statements ---- */

static bool is_wanted(const PythonModule *m, Str name)
{
    if (m->named)
        return str_eq(name, STR("PARAMETERS")) || str_eq(name, STR("USED")) ||
               str_eq(name, STR("INPUTS"));
    return m->text->n_read == 0;
}

static bool read_dict_of(PythonModule *m, Str name)
{
    m->text->used = m->named && str_eq(name, STR("USED"));
    bool ok = read_dict(m);
    m->text->used = false;
    return ok;
}

/* NAME = {, NAME |= {, for i in ..; every other statement is skipped. */
static bool read_statement(PythonModule *m, size_t indent)
{
    bool is_mesh = false;
    while (m->n_loops > 0 && indent <= m->loop[m->n_loops - 1].indent)
        m->n_loops--;
    Str word = pins_word(m->scan);
    if (str_eq(word, STR("for")))
        return read_loop(m, indent);
    bool joins = word.n > 0 && pins_accept_text(m->scan, "|=");
    if (!joins && (word.n == 0 || !pins_accept(m->scan, '=')))
        return true;
    if (!joins && indent == 0 && (!read_mesh(m, word, &is_mesh) || is_mesh))
        return is_mesh && !error_is_set(m->scan->err);
    if (pins_peek(m->scan) == '{' && (indent == 0 || m->n_loops > 0) && is_wanted(m, word))
        return read_dict_of(m, word);
    return true;
}

/* Skips a text in triple quotes, if one starts here. */
static bool pass_long_text(Scan *scan)
{
    Str all = scan->source->text, left = {all.s + scan->at, all.n - scan->at};
    if (!str_starts(left, STR("\"\"\"")) && !str_starts(left, STR("'''")))
        return false;
    Str quotes = {left.s, 3};
    int64_t end = str_find((Str){left.s + 3, left.n - 3}, quotes);
    scan->at = end < 0 ? all.n : scan->at + 6 + (size_t)end;
    return true;
}

/* Skips to the end of the line, over texts in triple quotes. */
static void pass_line(Scan *scan)
{
    Str all = scan->source->text;
    while (scan->at < all.n && all.s[scan->at] != '\n')
        if (!pass_long_text(scan))
            scan->at++;
    if (scan->at < all.n)
        scan->at++;
}

static bool starts_line(Str text, Str words)
{
    for (Str left = text; left.n > 0;) {
        if (str_starts(left, words))
            return true;
        const char *end = memchr(left.s, '\n', left.n);
        size_t n = end ? (size_t)(end - left.s) + 1 : left.n;
        left = (Str){left.s + n, left.n - n};
    }
    return false;
}

bool pins_is_module(Str text)
{
    return starts_line(text, STR("PARAMETERS = {")) || starts_line(text, STR("import ")) ||
           starts_line(text, STR("from ")) || str_starts(text, STR("\"\"\""));
}

bool pins_module_read(PinsText *text, Scan *scan)
{
    PythonModule m = {.text = text, .scan = scan, .n_names = -1};
    Str all = scan->source->text;
    m.named = starts_line(all, STR("PARAMETERS = {"));
    while (scan->at < all.n) {
        size_t line = scan->at;
        while (scan->at < all.n && all.s[scan->at] == ' ')
            scan->at++;
        char c = scan->at < all.n ? all.s[scan->at] : '\n';
        if (c != '\n' && c != '#' && c != '\r' && !pass_long_text(scan) &&
            !read_statement(&m, scan->at - line))
            return false;
        pass_line(scan);
    }
    return true;
}
