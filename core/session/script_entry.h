/* script_entry.h - a function or value that scripts can use: for help, completion and annotations.
 *
 * Scripts make the rows (scripts/lua_api.h has their language) and faces get them through
 * SessionHooks.rows, since neither includes the other.
 */
#ifndef CORE_SESSION_SCRIPT_ENTRY_H
#define CORE_SESSION_SCRIPT_ENTRY_H

/* ORDER SCRIPT KIND */
typedef enum {
    SCRIPT_GLOBAL,
    SCRIPT_METHOD,
    SCRIPT_FIELD,
    SCRIPT_TYPE,
    SCRIPT_STANDARD, /* Lua's own, if it differs, and what only the console has */
    SCRIPT_DEFINED   /* what a script defines and dimscope calls */
} ScriptKind;

typedef struct {
    ScriptKind kind;
    const char *of;   /* the type of a method or field; for a global the table it is in, or "" */
    const char *name; /* NULL: after the last row */
    const char *use, *help;
} ScriptEntry;

#endif
