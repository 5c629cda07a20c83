#include "tui/state/lua_typed.h"

#include <ctype.h>

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_mark(char c)
{
    return c == '"' || c == '\'';
}

/* ---- forward: what is open ---- */

static bool open_bracket(LuaTyped *out, Str typed, size_t at)
{
    if (out->depth == BRACKETS_MAX)
        return false;
    out->bracket[out->depth++] = (LuaBracket){.open = typed.s[at],
                                              .at = at,
                                              .item_at = at + 1,
                                              .callee = lua_typed_value((Str){typed.s, at})};
    return true;
}

/* The place behind the text that begins at a mark; 0: it does not end. */
static size_t skip_text(Str typed, size_t at)
{
    for (size_t i = at + 1; i < typed.n; i++) {
        if (typed.s[i] == '\\')
            i++;
        else if (typed.s[i] == typed.s[at])
            return i + 1;
    }
    return 0;
}

bool lua_typed_read(Str typed, LuaTyped *out)
{
    *out = (LuaTyped){0};
    for (size_t i = 0; i < typed.n; i++) {
        char c = typed.s[i];
        if (is_mark(c)) {
            size_t behind = skip_text(typed, i);
            out->in_text = behind == 0;
            out->text_at = i + 1;
            if (out->in_text)
                return true;
            i = behind - 1;
        } else if (c == '-' && i + 1 < typed.n && typed.s[i + 1] == '-') {
            out->in_comment = true;
            return true;
        } else if (c == '(' || c == '{' || c == '[') {
            if (!open_bracket(out, typed, i))
                return false;
        } else if (c == ')' || c == '}' || c == ']') {
            if (out->depth-- == 0)
                return false;
        } else if ((c == ',' || c == ';') && out->depth > 0) {
            out->bracket[out->depth - 1].item++;
            out->bracket[out->depth - 1].item_at = i + 1;
        }
    }
    return true;
}

/* ---- backward: what stands before the end ---- */

/* Where the bracket or text begins that ends before `end`; `end` when it does not begin. */
static size_t back_over(Str typed, size_t end)
{
    int depth = 0;
    for (size_t i = end; i > 0; i--) {
        char c = typed.s[i - 1];
        if (is_mark(c)) {
            for (i--; i > 0 && typed.s[i - 1] != c; i--)
                ;
            if (i == 0)
                return end;
        }
        depth += (c == ')' || c == ']') - (c == '(' || c == '[');
        if (depth == 0)
            return i - 1;
    }
    return end;
}

Str lua_typed_word(Str typed)
{
    size_t at = typed.n;
    while (at > 0 && in_name(typed.s[at - 1]))
        at--;
    return (Str){typed.s + at, typed.n - at};
}

Str lua_typed_value(Str typed)
{
    size_t end = typed.n;
    while (end > 0 && typed.s[end - 1] == ' ')
        end--;
    size_t at = end;
    while (at > 0) {
        char c = typed.s[at - 1];
        size_t before = c == ')' || c == ']' ? back_over(typed, at) : at - 1;
        bool part = c == ')' || c == ']' ? before < at : in_name(c) || c == '.' || c == ':';
        if (!part)
            break;
        at = before;
    }
    return (Str){typed.s + at, end - at};
}

/* ---- types ---- */

static const ScriptEntry *find_row(const ScriptEntry *rows, Str of, Str name)
{
    for (const ScriptEntry *row = rows; row->name; row++)
        if (str_eq(str_from(row->of), of) && str_eq(str_from(row->name), name) &&
            row->kind != SCRIPT_TYPE)
            return row;
    return NULL;
}

/* Behind a bracket and what is in it, or a text. */
static size_t skip_part(Str text, size_t at)
{
    int depth = 0;
    for (size_t i = at; i < text.n; i++) {
        char c = text.s[i];
        if (is_mark(c)) {
            i = skip_text(text, i);
            if (i == 0)
                return text.n;
            i--;
        }
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        if (depth == 0)
            return i + 1;
    }
    return text.n;
}

size_t lua_typed_head(Str type)
{
    size_t n = 0;
    while (n < type.n && in_name(type.s[n]))
        n++;
    return n;
}

/* Its first choice: "tensor[]" of "(tensor|false)[]", "node" of "node?". */
static Str plain_type(Str type)
{
    type = str_trim(type);
    if (str_starts(type, STR("(")) && str_ends(type, STR(")[]"))) {
        Str inner = plain_type((Str){type.s + 1, type.n - 4});
        return str_eq(inner, STR("tensor")) ? STR("tensor[]") : inner;
    }
    size_t n = lua_typed_head(type);
    if (str_starts((Str){type.s + n, type.n - n}, STR("[]")))
        n += 2;
    return (Str){type.s, n};
}

/* Whether the row is a function. */
static bool lua_typed_is_called(const ScriptEntry *row)
{
    Str use = str_from(row->use);
    size_t behind = str_starts(use, STR("(")) ? skip_part(use, 0) : 0;
    return behind > 0 && (behind == use.n || use.s[behind] == ':');
}

static Str result_type(const ScriptEntry *row)
{
    Str use = str_from(row->use);
    if (!lua_typed_is_called(row))
        return plain_type(use);
    size_t behind = skip_part(use, 0);
    if (behind == use.n)
        return (Str){0};
    return plain_type((Str){use.s + behind + 1, use.n - behind - 1});
}

static Str take_name(Str *rest)
{
    size_t n = lua_typed_head(*rest);
    Str name = {rest->s, n};
    *rest = (Str){rest->s + n, rest->n - n};
    return name;
}

static Str element_type(Str type)
{
    return str_ends(type, STR("[]")) ? (Str){type.s, type.n - 2} : (Str){0};
}

/* The type of a name by itself. */
static Str root_type(const ScriptEntry *rows, Str name, const ScriptEntry **row)
{
    *row = NULL;
    if (str_eq(name, STR("g")) || str_eq(name, STR("graph")))
        return STR("graph");
    for (const ScriptEntry *it = rows; it->name; it++)
        if (str_eq(str_from(it->of), name))
            return str_from(it->of);
    *row = find_row(rows, STR(""), name);
    return *row ? result_type(*row) : (Str){0};
}

/* The row that the value ends with, and its type. */
static const ScriptEntry *follow(const ScriptEntry *rows, Str value, Str *type)
{
    const ScriptEntry *row;
    *type = root_type(rows, take_name(&value), &row);
    while (value.n > 0 && (type->n > 0 || row)) {
        char c = value.s[0];
        if (c == '.' || c == ':') {
            value = (Str){value.s + 1, value.n - 1};
            row = find_row(rows, *type, take_name(&value));
            *type = row ? result_type(row) : (Str){0};
            continue;
        }
        size_t n = skip_part(value, 0);
        value = (Str){value.s + n, value.n - n};
        if (c == '[')
            *type = element_type(*type);
        row = NULL;
    }
    return row;
}

Str lua_typed_type(const ScriptEntry *rows, Str value)
{
    Str type;
    follow(rows, value, &type);
    return type;
}

const ScriptEntry *lua_typed_callee(const ScriptEntry *rows, Str callee)
{
    Str type;
    return callee.n > 0 ? follow(rows, callee, &type) : NULL;
}

bool lua_typed_parameter(const ScriptEntry *row, int n, Str *name, Str *type)
{
    Str use = str_from(row->use);
    if (!lua_typed_is_called(row))
        return false;
    size_t end = skip_part(use, 0) - 1, at = 1;
    for (int i = 0; at < end; i++) {
        size_t to = at;
        for (int angles = 0; to < end && (angles > 0 || use.s[to] != ',');) {
            angles += (use.s[to] == '<') - (use.s[to] == '>');
            to = strchr("({[\"", use.s[to]) ? skip_part(use, to) : to + 1;
        }
        *type = (Str){use.s + at, to - at};
        *name = str_trim(str_take(type, ':'));
        if (str_ends(*name, STR("?")))
            name->n--;
        *type = str_trim(*type);
        if (i == n)
            return true;
        at = to + 1;
    }
    return false;
}

Str lua_typed_first_text(Str typed, size_t at)
{
    while (at < typed.n && (typed.s[at] == ' ' || typed.s[at] == '{'))
        at++;
    if (at >= typed.n || !is_mark(typed.s[at]))
        return (Str){0};
    size_t behind = skip_text(typed, at);
    return behind == 0 ? (Str){0} : (Str){typed.s + at + 1, behind - at - 2};
}

/* ---- lines that can stand elsewhere ---- */

/* Names that are there for every function; what ends it or answers is not among them. */
static const char common_names[] =
    "and break do else elseif end false for function goto if in local nil not or repeat then true "
    "until while assert error ipairs math next pairs pcall print select string table tonumber "
    "tostring type utf8 g graph resource";

/* The name is made in this line: "local x", "for x", "for k, x", or a parameter of a function. */
static bool is_made(Str line, Str name)
{
    bool making = false;
    for (size_t at = 0; at < line.n; at++) {
        Str rest = {line.s + at, line.n - at};
        Str word = {rest.s, lua_typed_head(rest)};
        if (making && str_eq(word, name))
            return true;
        if (word.n > 0)
            making = making ? !str_eq(word, STR("in"))
                            : str_eq(word, STR("local")) || str_eq(word, STR("for")) ||
                                  str_eq(word, STR("function"));
        else if (is_mark(rest.s[0]))
            at = skip_text(line, at) > 0 ? skip_text(line, at) - 1 : line.n;
        else if (rest.s[0] == '=' || rest.s[0] == ')' || rest.s[0] == ';')
            making = false;
        at += word.n > 0 ? word.n - 1 : 0;
    }
    return false;
}

/* A field, a method, or a key of a table: no name that has to be there. */
static bool is_member(Str line, size_t at, size_t n, int depth)
{
    char before = 0;
    size_t behind = at + n;
    for (size_t i = at; i > 0 && before == 0; i--)
        before = line.s[i - 1] == ' ' ? 0 : line.s[i - 1];
    while (behind < line.n && line.s[behind] == ' ')
        behind++;
    bool set = behind < line.n && line.s[behind] == '=' &&
               (behind + 1 == line.n || line.s[behind + 1] != '=');
    return before == '.' || before == ':' || (set && depth > 0 && (before == '{' || before == ','));
}

bool lua_typed_stands_alone(Str line)
{
    int depth = 0;
    line = str_trim(line);
    if (line.n == 0 || (!isalpha((unsigned char)line.s[0]) && line.s[0] != '_'))
        return false;
    bool local = str_starts(line, STR("local ")) || str_starts(line, STR("for "));
    for (size_t at = 0; at < line.n; at++) {
        char c = line.s[at];
        Str word = {line.s + at, lua_typed_head((Str){line.s + at, line.n - at})};
        depth += (c == '(' || c == '{' || c == '[') - (c == ')' || c == '}' || c == ']');
        if (is_mark(c))
            at = skip_text(line, at) > 0 ? skip_text(line, at) - 1 : line.n;
        else if (c == '-' && at + 1 < line.n && line.s[at + 1] == '-')
            return true;
        else if (c == ',' && depth == 0 && !local)
            return false; /* values, not a statement */
        if (word.n == 0)
            continue;
        bool number = isdigit((unsigned char)c);
        if (!number && !is_member(line, at, word.n, depth) &&
            !str_has_word(str_from(common_names), word) && !is_made(line, word))
            return false;
        at += word.n - 1;
    }
    return true;
}
