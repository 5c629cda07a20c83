/* keymap.h - which keys do what: the keys of the tables, overridden by the user's bindings.
 *
 * A binding is a sequence of up to KEY_SEQUENCE_MAX keys and an action. No sequence is the start of
 * another one, so pressed keys are never ambiguous. A user's binding replaces a binding of the
 * tables (*err says whose, for a warning); two bindings of the user never share a sequence.
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

/* A map with the keys of the tables. */
KeyMap *keymap_new(Arena *arena, const Action *const *tables, int n_tables);

/* Removes all keys of an action, before the user's bindings for it are added. */
void keymap_clear(KeyMap *map, const Action *action);

/* Adds blank-separated sequences. Returns false with *err if one is malformed, is already bound by
 * the user, or was taken from an action of the tables; the others are added. */
bool keymap_bind(KeyMap *map, const Action *action, Str keys, Error *err);

typedef enum { KEYS_NO, KEYS_PREFIX, KEYS_ACTION } KeysMatch;

/* Whether n pressed keys are nothing, the start of a sequence, or an action. */
KeysMatch keymap_match(const KeyMap *map, const Key *key, int n, const Action **action);

/* Keys as text; "" if the action has none. */
Str keymap_key(const KeyMap *map, Arena *arena, const Action *action);  /* the first */
Str keymap_keys(const KeyMap *map, Arena *arena, const Action *action); /* all, blanks between */

#endif
