/* help.h - help and the manual page, from the tables of verbs, options, keys and topics. */
#ifndef TUI_CLI_HELP_H
#define TUI_CLI_HELP_H

#include "tui/cli/cli.h"

#define CLI_VERSION "0.1"

typedef struct {
    const char *name, *title;
    const char *text; /* lines of at most 84 columns, shown as they are */
} Topic;

extern const Topic cli_topics[]; /* ended by one without a name */

void help_usage(Buf *out);                  /* what `dimscope` alone says */
void help_overview(Buf *out);               /* verbs and topics */
void help_verb(const Verb *verb, Buf *out); /* what it does, its options */
bool help_topic(Str name, Buf *out);        /* false: there is none */
void help_man(Buf *out);                    /* a page for man(1), in roff */

#endif
