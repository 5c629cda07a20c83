/* The explorer line by line: typed lines in, plain lines out. */
#include "tests/unit/unit.h"

#include "scripts/hooks.h"
#include "tui/app/plain.h"

#include <stdlib.h>

static SessionHooks hooks;

typedef struct {
    const char *name, *lines;
    const char *has, *has_not; /* has_not: NULL for nothing */
} PlainRow;

static PlainRow rows[] = {
    {"the view, and a prompt", "", "dimscope> ", "\x1b"},
    {"what it is of", "", "tiny-gpt", NULL},
    {"by key", "5\n", "Comm: model", NULL},
    {"its parts, too", "5\n", "-- Selected ", "\n\n"},
    {"totals of two plans", "diff fsdp\n", "verdict ", NULL},
    {"by name", "comm\n", "Comm: model", NULL},
    {"by command", ":comm\n", "Comm: model", NULL},
    {"by the start of a name", "findi\n", "Findings: model", NULL},
    {"several keys", "gg5\n", "Comm: model", NULL},
    {"a search", "/lm_head\n", ">", NULL},
    {"a move prints a row", "gg\nj\n", "dimscope> >", NULL},
    {"an error", ":wyh\n", "no command ':wyh'", NULL},
    {"a command with its argument", "rank 1\n", "dimscope> ", "no command"},
    {"a menu is listed", "Y\n", "copy as\n  1  ours", NULL},
    {"with what its columns are", "x\n", "     DECIDE\tSTEP\tCOMM\tPEAK", NULL},
    {"and chosen from", "Y\n2\n", "to copy: [", NULL},
    {"an empty line prints again", "\n", "Graph: model", NULL},
    {"q leaves a view before it quits", "5\nq\nq\n5\n", "Graph: model", "dimscope> dimscope> "},
    {"quit", "quit\n5\n", "dimscope> ", "Comm: model"},
    {"no new line at the end", "quit", "dimscope> ", NULL},
    {"control bytes", "\x1b[2J\x01\n", "dimscope> ", "\x1b"},
    {"the palette", ":palette\nfindings\n", "Findings: model", NULL},
};

static void line_prints(void **state)
{
    const PlainRow *row = *state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx",
                              .mesh = "dp=2,tp=2",
                              .policy = "scripts/policies/megatron.lua"};
    Session *session = session_open(&options, &hooks, &(Error){0});
    assert_non_null(session);
    char *text = NULL;
    size_t n = 0;
    FILE *in = tmpfile(), *out = open_memstream(&text, &n);
    fputs(row->lines, in);
    rewind(in);
    plain_run(session, &(AppOptions){0}, in, out);
    fclose(in);
    fclose(out);
    if (!strstr(text, row->has))
        fail_msg("'%s' is not printed:\n%s", row->has, text);
    if (row->has_not && strstr(text, row->has_not))
        fail_msg("'%s' is printed:\n%s", row->has_not, text);
    free(text);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

int main(void)
{
    return run_rows("plain", rows, line_prints);
}
