/* keymap.h - which keys do what: the tables' own, and what the user binds instead.
 *
 * A binding is a sequence of up to KEY_SEQUENCE_MAX keys and an action. No sequence is another's
 * start, so what is pressed is never in doubt. A user's binding takes a sequence away from the
 * tables' (*err says whose it was, for a warning); two of the user's own never share one.
 */
#ifndef TUI_STATE_KEYMAP_H
#define TUI_STATE_KEYMAP_H

#include "core/base/vec.h"
#include "tui/state/act.h"

typedef struct {
    Key key[KEY_SEQUENCE_MAX];
    int n;
    const Action *action;
    bool users;
} KeyBinding;

typedef struct {
    Arena *arena;
    Vec(KeyBinding) at;
} KeyMap;

/* With what the tables say. */
KeyMap *keymap_new(Arena *arena, const Action *const *tables, int n_tables);

/* The action has no keys any more: what stands before its own bindings. */
void keymap_clear(KeyMap *map, const Action *action);

/* Adds blank-separated sequences. False with *err: one is not a sequence, is the user's already, or
 * was taken from the tables' action; all others are added. */
bool keymap_bind(KeyMap *map, const Action *action, Str keys, Error *err);

typedef enum { KEYS_NO, KEYS_PREFIX, KEYS_ACTION } KeysMatch;

/* What n pressed keys are: nothing, the start of a sequence, or an action. */
KeysMatch keymap_match(const KeyMap *map, const Key *key, int n, const Action **action);

/* Keys as text; "" if the action has none. */
Str keymap_key(const KeyMap *map, Arena *arena, const Action *action);  /* the first */
Str keymap_keys(const KeyMap *map, Arena *arena, const Action *action); /* all, blanks between */

#endif
