/* fuzz_args.c - any words as a command line: a verb with its options and operands, or an error of
 * usage. Blanks and control bytes end a word. */
#include "tui/cli/options.h"

#include <getopt.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS_MAX = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena *arena = arena_new();
    char *words[WORDS_MAX + 1] = {0};
    int n = 1;
    Buf word = buf_new(arena);
    words[0] = arena_alloc(arena, 9);
    memcpy(words[0], "dimscope", 9);
    for (size_t i = 0; i <= size && n < WORDS_MAX; i++) {
        if (i < size && data[i] >= 0x21) {
            buf_putc(&word, (char)data[i]);
            continue;
        }
        words[n] = arena_alloc(arena, word.n + 1);
        memcpy(words[n++], word.s, word.n + 1);
        word.n = 0;
        word.s[0] = '\0';
    }
    optind = 0; /* so that getopt begins anew */
    Cli cli = {.arena = arena, .out = buf_new(arena)};
    if (cli_parse(&cli, n, words)) {
        if (!cli.verb || cli.n_operands < 0 || cli.n_operands >= n)
            abort();
    } else if (!error_is_set(&cli.err)) {
        abort();
    }
    arena_free(arena);
    return 0;
}
