/* options.h - the options: one table that getopt, help and the man page are made from. */
#ifndef TUI_CLI_OPTIONS_H
#define TUI_CLI_OPTIONS_H

#include "tui/cli/cli.h"

typedef enum { OPTION_FLAG, OPTION_TEXT, OPTION_LIST } OptionKind;

typedef struct {
    const char *name;
    char key; /* "-m"; '\0': only the long form */
    OptionKind kind;
    size_t at;       /* offset in CliOptions: bool, const char * or Texts */
    const char *arg; /* "MESH"; "" for a flag */
    const char *help;
    unsigned verbs;
} Option;

extern const Option cli_options[]; /* ended by a row without a name */

/* Fills options, verb and operands. Options may stand anywhere before "--". ERROR_USAGE: unknown,
 * without its argument, or one that the verb does not take. argv is permuted. */
bool cli_parse(Cli *cli, int argc, char **argv);

#endif
