#include "core/session/pins_read.h"

enum { NAMED_MOST = 3 };

/* What a text lacks of the plan that it was exported from, as comments in it say. */
typedef struct {
    int n_coarser;  /* shardings */
    Buf coarser;    /* "W was 768,(3)(768/tp)", at most NAMED_MOST of them */
    Str unpinned;   /* "A, B and 4 more": activations that the plan pins; or empty */
    int first_line; /* of these comments */
} Lacking;

/* What stands between two texts in a line; empty unless both are in it. */
static Str between(Str line, const char *open, const char *close)
{
    int64_t from = str_find(line, str_from(open));
    if (from < 0)
        return STR("");
    size_t skipped = (size_t)from + strlen(open);
    Str rest = {line.s + skipped, line.n - skipped};
    int64_t to = str_find(rest, str_from(close));
    return to < 0 ? STR("") : (Str){rest.s, (size_t)to};
}

static void add_coarser(Lacking *lacking, Str name, Str whole)
{
    Buf *out = &lacking->coarser;
    if (lacking->n_coarser++ >= NAMED_MOST)
        return;
    buf_puts(out, lacking->n_coarser > 1 ? "; " : "");
    text_printable(name.n > 0 ? name : STR("a tensor"), out);
    buf_puts(out, " was ");
    text_printable(whole, out);
}

/* next: the text after the line, which in MLIR begins with the value that the comment is about. */
static bool look_at_line(Lacking *lacking, Str line, Str next)
{
    int64_t at = str_find(line, STR(PINS_UNPINNED));
    if (str_starts(line, STR(PINS_LESS_MLIR))) {
        Str value = str_take(&next, '\n');
        add_coarser(lacking, between(value, "loc(\"", "\""),
                    between(line, "less than ", ", which"));
    } else if (str_ends(line, STR(PINS_LESS_PYTHON))) {
        add_coarser(lacking, between(line, "\"", "\""), between(line, "# ", PINS_LESS_PYTHON));
    } else if (at >= 0 && (line.s[0] == '#' || line.s[0] == '/')) {
        size_t skipped = (size_t)at + strlen(PINS_UNPINNED);
        lacking->unpinned = (Str){line.s + skipped, line.n - skipped};
    } else {
        return false;
    }
    return true;
}

static Lacking find_lacking(const PinsText *text)
{
    Lacking lacking = {.coarser = buf_new(text->scratch)};
    Str rest = text->source->text;
    for (int line = 1; rest.n > 0; line++) {
        Str it = str_trim(str_take(&rest, '\n'));
        if (look_at_line(&lacking, it, rest) && lacking.first_line == 0)
            lacking.first_line = line;
    }
    return lacking;
}

/* "2 shardings of the text are coarser than in the plan it was exported from: W was
 * 768,(3)(768/tp); V was 96,(3)(96/tp)" */
static const char *lacking_text(const Lacking *lacking, Arena *arena)
{
    Buf out = buf_new(arena);
    int n = lacking->n_coarser;
    if (n > 0)
        buf_printf(
            &out, "%d sharding%s of the text %s coarser than in the plan it was exported from: ", n,
            n > 1 ? "s" : "", n > 1 ? "are" : "is");
    buf_puts(&out, lacking->coarser.s);
    if (n > NAMED_MOST)
        buf_puts(&out, "; ..");
    if (lacking->unpinned.n > 0) {
        buf_puts(&out, n > 0 ? ". It" : "the text");
        buf_puts(&out, " lacks pins of activations that the plan has: ");
        text_printable(lacking->unpinned, &out);
    }
    return out.s;
}

bool pins_check_whole(PinsText *text, Error *err)
{
    Lacking lacking = find_lacking(text);
    if (lacking.first_line == 0)
        return true;
    const char *says = lacking_text(&lacking, text->scratch);
    if (text->session->options.policy) {
        pins_note(text, LEVEL_WARNING, "sharded-less", says,
                  "the policy decides what the text leaves out");
        return true;
    }
    error_kind(err, ERROR_UNSUPPORTED, "%s", says);
    error_hint(err, "also give the policy (-p FILE), or use a plan file (-o), which holds the "
                    "whole plan. To plan only what the text says, delete these comments from it");
    err->line = lacking.first_line;
    return false;
}

/* The line that ends before `at`, which is moved to its beginning. */
static Str line_before(Str all, size_t *at)
{
    size_t end = *at;
    while (*at > 0 && all.s[*at - 1] != '\n')
        --*at;
    return str_trim((Str){all.s + *at, end - *at});
}

bool pins_is_coarser(const PinsText *text, size_t from, size_t to)
{
    Str all = text->source->text, after = {all.s + to, all.n - to};
    if (!text->mlir)
        return str_ends(str_trim(str_take(&after, '\n')), STR(PINS_LESS_PYTHON));
    line_before(all, &from);
    if (from == 0)
        return false;
    from--;
    return str_starts(line_before(all, &from), STR(PINS_LESS_MLIR));
}
