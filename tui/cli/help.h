/* help.h - help, manual pages and completion, made from the tables of verbs, options and topics. */
#ifndef TUI_CLI_HELP_H
#define TUI_CLI_HELP_H

#include "tui/cli/options.h"

typedef struct {
    const char *name, *title;
    bool is_format;   /* a file format: documented in section 5 of the manual */
    const char *text; /* lines of at most 84 columns; NULL if `write` makes the text */
    void (*write)(Buf *out);
} Topic;

extern const Topic cli_topics[]; /* the last one has no name */

/* Languages that dimscope reads: topics_languages.c. */
extern const char topic_annotations[], topic_templates[], topic_shardings[], topic_rules[],
    topic_strategies[], topic_requests[], topic_pins[];

void help_version(Buf *out);                /* the version, and what this build can do */
void help_usage(Buf *out);                  /* printed by `dimscope` without operands */
void help_overview(Buf *out);               /* verbs and topics */
void help_verb(const Verb *verb, Buf *out); /* what it does, its options */
void topic_write(Cli *cli, const Topic *topic, Buf *out);
void help_keys(Buf *out); /* these topics are generated from tables */
void help_views(Buf *out);
void help_config(Buf *out);
void help_propagators(Buf *out);                  /* core/propagate/propagators.h */
void help_drawings(Buf *out);                     /* kinds and marks, from viz/diagram.h */
void help_systems(Buf *out);                      /* of export --to, from viz/export.h */
void help_tables(Buf *out);                       /* columns, from viz/report/tables.h */
void help_synopsis(const Verb *verb, Buf *out);   /* "dimscope plan MODEL .." */
void help_option(const Option *option, Buf *out); /* "-m, --mesh MESH" */

/* The manual page "1", "5", "7" (script functions) or "glossary" in roff; false for others. */
bool help_man(Cli *cli, Str section, Buf *out);

/* The completion script of bash, zsh or fish; false for another shell. */
bool help_completion(Cli *cli, Str shell, Buf *out);

/* `help lua`, `help lua.NAME`: script functions, as text, JSON or annotations for language servers.
 * Returns the exit code. */
int help_lua(Cli *cli, Str name);

/* All rows as a file of annotations in valid Lua. */
void lua_annotate(const ScriptEntry *rows, Buf *out);

#endif
