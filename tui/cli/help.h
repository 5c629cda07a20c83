/* help.h - help, the manual pages and completion, from the tables of verbs, options, keys and
 * topics. */
#ifndef TUI_CLI_HELP_H
#define TUI_CLI_HELP_H

#include "tui/cli/options.h"

typedef struct {
    const char *name, *title;
    bool is_format;   /* of a file: it goes into section 5 of the manual */
    const char *text; /* lines of at most 84 columns, shown as they are; or */
    void (*write)(Buf *out);
} Topic;

extern const Topic cli_topics[]; /* ended by one without a name */

void help_usage(Buf *out);                     /* what `dimscope` alone says */
void help_overview(Buf *out);                  /* verbs and topics */
void help_verb(const Verb *verb, Buf *out);    /* what it does, its options */
bool help_topic(Cli *cli, Str name, Buf *out); /* false: there is none */
void topic_write(Cli *cli, const Topic *topic, Buf *out);
void help_keys(Buf *out); /* topics made from tables */
void help_views(Buf *out);
void help_config(Buf *out);
void help_drawings(Buf *out);                     /* kinds and marks, from viz/diagram.h */
void help_tables(Buf *out);                       /* columns, from viz/report/tables.h */
void help_synopsis(const Verb *verb, Buf *out);   /* "dimscope plan MODEL .." */
void help_option(const Option *option, Buf *out); /* "-m, --mesh MESH" */

/* The manual page of a section, "1", "5" or, of what scripts can call, "7", in roff. False: there
 * is none. */
bool help_man(Cli *cli, Str section, Buf *out);

/* Completion of the command line in a shell: bash, zsh or fish. False: for no other. */
bool help_completion(Cli *cli, Str shell, Buf *out);

/* What scripts can call: `help lua`, `help lua.NAME`, in text or JSON, or annotations for language
 * servers. The exit code. */
int help_lua(Cli *cli, Str name);

/* All rows as a file of annotations: valid Lua that nobody runs. */
void lua_annotate(const ScriptEntry *rows, Buf *out);

#endif
