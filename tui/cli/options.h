/* options.h - the table of options, from which getopt, help and the manual page are generated. */
#ifndef TUI_CLI_OPTIONS_H
#define TUI_CLI_OPTIONS_H

#include "tui/cli/cli.h"

typedef enum { OPTION_FLAG, OPTION_TEXT, OPTION_LIST } OptionKind;

typedef struct {
    const char *name;
    char key; /* 'm' for -m; '\0' if there is only a long form */
    OptionKind kind;
    size_t at;       /* offset in CliOptions: bool, const char * or Texts */
    const char *arg; /* "MESH"; "" for a flag */
    const char *help;
    unsigned verbs;
    const char *alone; /* the argument assumed if none follows; NULL: one is required */
} Option;

extern const Option cli_options[]; /* the last row has no name */

/* Fills options, verb and operands; permutes argv. Options may be anywhere before "--". Fails with
 * ERROR_USAGE if an option is unknown, lacks its argument or belongs to another verb. */
bool cli_parse(Cli *cli, int argc, char **argv);

#endif
