/* action.h - a row of a table of actions: something a user can do by key, by `:` command or on the
 * command line.
 *
 * Each layer owns a const table of rows; main.c joins them. Keys, help, `:` commands, CLI verbs and
 * the man page come from that join, so nothing is described twice.
 */
#ifndef CORE_SESSION_ACTION_H
#define CORE_SESSION_ACTION_H

#include <stdbool.h>

typedef enum { ACTION_EXPLORER = 1, ACTION_BATCH = 2 } ActionWhere;

typedef struct {
    const char *name;  /* "why": the `:` command or CLI verb */
    const char *keys;  /* "w", "gg", "C-d", "Enter": space-separated; "" for none */
    const char *args;  /* "TENSOR[.DIM]" for help; "" if it takes none */
    const char *help;  /* one line, present tense */
    const char *group; /* heading in help: "move", "plan" */
    unsigned where;    /* ActionWhere bits */
    int id;            /* what the owner's dispatcher switches on */
} Action;

#endif
