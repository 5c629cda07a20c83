#include "core/session/system_pairs.h"

#include "core/base/json.h"

typedef struct {
    Arena *arena;
    const Source *source;
    SystemPairs *out, *unsaid;
    Error *err;
} PairReader;

static bool contains(Str text, const char *part)
{
    return str_find(text, str_from(part)) >= 0;
}

SettingsKind system_of_text(Str text)
{
    Str trimmed = str_trim(text);
    if (str_starts(trimmed, STR("{")))
        return contains(text, "\"zero_optimization\"") ||
                       contains(text, "\"train_micro_batch_size_per_gpu\"") ||
                       contains(text, "\"train_batch_size\"")
                   ? SETTINGS_DEEPSPEED
                   : SETTINGS_KINDS;
    if (contains(text, "--tensor-model-parallel-size") || contains(text, "--micro-batch-size") ||
        contains(text, "--pipeline-model-parallel-size"))
        return SETTINGS_MEGATRON;
    if (contains(text, "[parallelism]") || contains(text, "tensor_parallel_degree") ||
        contains(text, "data_parallel_shard_degree"))
        return SETTINGS_TORCHTITAN;
    return SETTINGS_KINDS;
}

static void put_pair(PairReader *r, Str name, Str value, size_t at)
{
    SystemPair pair = {name, value, at};
    vec_push(r->arena, r->out, pair);
}

static size_t place_of(const PairReader *r, Str part)
{
    return (size_t)(part.s - r->source->text.s);
}

/* "# Not said: the schedule": of an export. */
static void read_comment(PairReader *r, Str comment)
{
    Str head = STR("# Not said: ");
    SystemPair pair = {{NULL, 0}, {comment.s + head.n, comment.n - head.n}, place_of(r, comment)};
    if (str_starts(comment, head))
        vec_push(r->arena, r->unsaid, pair);
}

/* ---- flags: of a file of arguments, or of a shell script ---- */

/* Quotes too: what they hold is read as if they were not there. */
static bool is_blank(char c)
{
    return c && strchr(" \t\n\r()\"'\\;", c);
}

/* The next word of *rest; comments are skipped. "": no more. */
static Str take_word(PairReader *r, Str *rest)
{
    size_t n = 0;
    while (rest->n > 0 && (is_blank(rest->s[0]) || rest->s[0] == '#')) {
        if (rest->s[0] == '#')
            read_comment(r, str_trim(str_take(rest, '\n')));
        else
            *rest = (Str){rest->s + 1, rest->n - 1};
    }
    while (n < rest->n && !is_blank(rest->s[n]))
        n++;
    Str word = {rest->s, n};
    *rest = (Str){rest->s + n, rest->n - n};
    return word;
}

static size_t name_length(Str text)
{
    size_t n = 0;
    while (n < text.n &&
           (is_digit(text.s[n]) || text.s[n] == '_' || (text.s[n] >= 'A' && text.s[n] <= 'Z') ||
            (text.s[n] >= 'a' && text.s[n] <= 'z')))
        n++;
    return n;
}

/* The value of $NAME, ${NAME} or ${NAME:-4} from earlier NAME=4; false: it has none. */
static bool find_variable(const SystemPairs *variables, Str word, Str *out)
{
    bool braced = word.n > 1 && word.s[1] == '{';
    Str name = {word.s + (braced ? 2 : 1), word.n - (braced ? 2 : 1)};
    Str rest = name;
    name.n = name_length(name);
    rest = (Str){rest.s + name.n, rest.n - name.n};
    for (int i = variables->n - 1; i >= 0; i--)
        if (str_eq(variables->at[i].name, name)) {
            *out = variables->at[i].value;
            return true;
        }
    if (!str_starts(rest, STR(":-")) || !str_ends(rest, STR("}")))
        return false;
    *out = (Str){rest.s + 2, rest.n - 3};
    return true;
}

/* Replaces a variable by its value. Others than those of the file stay as they are: only a flag
 * that is used is refused (system_settings.c). */
static Str plain_value(const SystemPairs *variables, Str word)
{
    enum { DEPTH_MAX = 8 };
    for (int i = 0; i < DEPTH_MAX && str_starts(word, STR("$")); i++)
        if (!find_variable(variables, word, &word))
            break;
    return word;
}

static bool at_quote(Str text)
{
    return text.n > 0 && (text.s[0] == '"' || text.s[0] == '\'');
}

static bool read_flags(PairReader *r)
{
    SystemPairs variables = {0};
    Str rest = r->source->text;
    for (Str word; (word = take_word(r, &rest)).n > 0;) {
        Str value = word, name = str_take(&value, '=');
        bool has_value = name.n < word.n;
        if (!str_starts(word, STR("--"))) {
            bool quoted = value.n == 0 && at_quote(rest);
            Str ahead = rest, next = quoted ? take_word(r, &ahead) : value;
            SystemPair variable = {name, next, 0};
            if (has_value && name.n > 0 && name_length(name) == name.n &&
                !str_starts(next, STR("--")))
                vec_push(r->arena, &variables, variable);
            continue;
        }
        Str ahead = rest, next = take_word(r, &ahead);
        if (!has_value && next.n > 0 && !str_starts(next, STR("--"))) {
            value = next;
            rest = ahead;
        }
        put_pair(r, (Str){name.s + 2, name.n - 2}, plain_value(&variables, value),
                 place_of(r, name));
    }
    return true;
}

/* ---- JSON ---- */

enum { NEST_MAX = 16 };

static void put_member(PairReader *r, Str name, const Json *value)
{
    Buf text = buf_new(r->arena);
    const char *last = name.s + name.n;
    while (last > name.s && last[-1] != '.')
        last--;
    Buf quoted = buf_new(r->arena);
    buf_printf(&quoted, "\"%s\"", last);
    int64_t at = str_find(r->source->text, buf_str(&quoted));
    if (json_is_string(value))
        buf_add(&text, json_str(value, ""));
    else
        json_write(value, &text);
    put_pair(r, name, buf_str(&text), at < 0 ? 0 : (size_t)at);
}

static void read_members(PairReader *r, const Json *object, const char *before, int depth)
{
    for (const char *key = NULL; (key = json_key_after(object, key));) {
        const Json *value = json_get(object, key);
        const char *name = arena_printf(r->arena, "%s%s", before, key);
        if (!json_is_object(value))
            put_member(r, str_from(name), value);
        else if (depth < NEST_MAX)
            read_members(r, value, arena_printf(r->arena, "%s.", name), depth + 1);
    }
}

static bool read_json(PairReader *r)
{
    Json *root = json_parse(r->source, r->err);
    if (!root)
        return false;
    read_members(r, root, "", 0);
    const Json *list = json_get(json_get(root, "dimscope"), "not_said");
    for (int i = 0; i < json_size(list); i++) {
        const char *copy = arena_str(r->arena, json_str(json_at(list, i), ""));
        SystemPair pair = {{NULL, 0}, str_from(copy), 0};
        vec_push(r->arena, r->unsaid, pair);
    }
    json_free(root);
    return true;
}

/* ---- TOML, and arguments and dicts of Python ---- */

/* Brackets that a line opens and does not close. */
static int open_brackets(Str line)
{
    int depth = 0;
    for (size_t i = 0; i < line.n; i++)
        depth += line.s[i] == '[' || line.s[i] == '('   ? 1
                 : line.s[i] == ']' || line.s[i] == ')' ? -1
                                                        : 0;
    return depth;
}

static Str without(Str text, char first, char last)
{
    if (text.n > 0 && text.s[0] == first)
        text = (Str){text.s + 1, text.n - 1};
    if (text.n > 0 && text.s[text.n - 1] == last)
        text.n--;
    return text;
}

/* `name = value`, `name=value,` or `"name": value,`; a list may go on over lines. */
static void read_line(PairReader *r, Str section, Str line, Str *rest)
{
    bool quoted = str_starts(line, STR("\""));
    Str value = quoted ? (Str){line.s + 1, line.n - 1} : line;
    Str name = str_trim(str_take(&value, quoted ? '"' : '='));
    value = str_trim(value);
    if (quoted)
        value = str_trim(without(value, ':', '\0'));
    if (name.n == 0 || name_length(name) != name.n || value.n == 0)
        return;
    if (value.s[0] == '[')
        while (open_brackets(value) > 0 && rest->n > 0) {
            Str more = str_take(rest, '\n');
            value.n = (size_t)(more.s + more.n - value.s);
        }
    int64_t comment = value.s[0] == '[' ? -1 : str_find(value, STR(" #"));
    value.n = comment >= 0 ? (size_t)comment : value.n;
    value = without(without(str_trim(without(str_trim(value), '\0', ',')), '"', '"'), '\'', '\'');
    size_t at = place_of(r, name);
    if (section.n > 0)
        name = str_from(arena_printf(r->arena, "%.*s.%.*s", STR_ARG(section), STR_ARG(name)));
    put_pair(r, name, value, at);
}

static bool read_lines(PairReader *r)
{
    Str rest = r->source->text, section = {"", 0};
    while (rest.n > 0) {
        Str line = str_trim(str_take(&rest, '\n'));
        if (str_starts(line, STR("#")))
            read_comment(r, line);
        else if (str_starts(line, STR("[")) && str_ends(line, STR("]")))
            section = without(line, '[', ']');
        else
            read_line(r, section, line, &rest);
    }
    return true;
}

bool system_pairs_read(Arena *arena, SettingsKind kind, const Source *source, SystemPairs *out,
                       SystemPairs *unsaid, Error *err)
{
    static bool (*const readers[SETTINGS_KINDS])(PairReader *) = {
        [SETTINGS_MEGATRON] = read_flags,
        [SETTINGS_DEEPSPEED] = read_json,
        [SETTINGS_TORCHTITAN] = read_lines,
    };
    PairReader reader = {arena, source, out, unsaid, err};
    return readers[kind](&reader);
}
