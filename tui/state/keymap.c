#include "tui/state/keymap.h"

/* The next word of a blank-separated list; empty at the end. */
static Str next_word(Str *list)
{
    *list = str_trim(*list);
    return str_take(list, ' ');
}

static bool read_sequence(Str written, const Action *action, KeyBinding *out)
{
    *out = (KeyBinding){.action = action};
    while (written.n > 0) {
        if (out->n == KEY_SEQUENCE_MAX)
            return false;
        out->key[out->n++] = key_read(&written);
    }
    return out->n > 0;
}

KeyMap *keymap_new(Arena *arena, const Action *const *tables, int n_tables)
{
    KeyMap *map = arena_make(arena, KeyMap);

    map->arena = arena;
    for (int t = 0; t < n_tables; t++) {
        for (const Action *row = tables[t]; row->name; row++) {
            Str keys = str_from(row->keys);
            KeyBinding binding;
            for (Str word = next_word(&keys); word.n > 0; word = next_word(&keys))
                if (read_sequence(word, row, &binding))
                    vec_push(arena, &map->at, binding);
        }
    }
    return map;
}

void keymap_clear(KeyMap *map, const Action *action)
{
    int kept = 0;

    for (int i = 0; i < map->at.n; i++)
        if (map->at.at[i].action != action)
            map->at.at[kept++] = map->at.at[i];
    map->at.n = kept;
}

static bool starts_with(const KeyBinding *binding, const Key *key, int n)
{
    return n <= binding->n && memcmp(binding->key, key, sizeof *key * (size_t)n) == 0;
}

static bool share(const KeyBinding *a, const KeyBinding *b)
{
    return a->n < b->n ? starts_with(b, a->key, a->n) : starts_with(a, b->key, b->n);
}

/* Drops bindings of the tables that share keys with this one; false when one is the user's. */
static bool make_room(KeyMap *map, const KeyBinding *binding, Str word, Error *err)
{
    for (int i = 0; i < map->at.n; i++)
        if (map->at.at[i].users && share(&map->at.at[i], binding))
            return error_set(err, "'%.*s' is already bound to %s", STR_ARG(word),
                             map->at.at[i].action->name);
    int kept = 0;
    for (int i = 0; i < map->at.n; i++) {
        if (share(&map->at.at[i], binding))
            error_set(err, "'%.*s' is now %s, no longer %s", STR_ARG(word), binding->action->name,
                      map->at.at[i].action->name);
        else
            map->at.at[kept++] = map->at.at[i];
    }
    map->at.n = kept;
    return true;
}

bool keymap_bind(KeyMap *map, const Action *action, Str keys, Error *err)
{
    Error own = {0};

    for (Str word = next_word(&keys); word.n > 0; word = next_word(&keys)) {
        KeyBinding binding;
        if (!read_sequence(word, action, &binding)) {
            error_set(&own, "'%.*s' has more than %d keys", STR_ARG(word), KEY_SEQUENCE_MAX);
            continue;
        }
        binding.users = true;
        if (make_room(map, &binding, word, &own))
            vec_push(map->arena, &map->at, binding);
    }
    return !error_is_set(&own) || (*err = own, false);
}

KeysMatch keymap_match(const KeyMap *map, const Key *key, int n, const Action **action)
{
    KeysMatch match = KEYS_NO;

    for (int i = 0; i < map->at.n; i++) {
        const KeyBinding *binding = &map->at.at[i];
        if (!starts_with(binding, key, n))
            continue;
        match = KEYS_PREFIX;
        if (binding->n == n) {
            *action = binding->action;
            return KEYS_ACTION;
        }
    }
    return match;
}

static void add_keys(const KeyMap *map, const Action *action, int most, Buf *out)
{
    for (int i = 0; i < map->at.n && most > 0; i++) {
        const KeyBinding *binding = &map->at.at[i];
        if (binding->action != action)
            continue;
        if (out->n > 0)
            buf_putc(out, ' ');
        for (int k = 0; k < binding->n; k++)
            key_format(binding->key[k], out);
        most--;
    }
}

Str keymap_key(const KeyMap *map, Arena *arena, const Action *action)
{
    Buf out = buf_new(arena);

    add_keys(map, action, 1, &out);
    return buf_str(&out);
}

Str keymap_keys(const KeyMap *map, Arena *arena, const Action *action)
{
    Buf out = buf_new(arena);

    add_keys(map, action, map->at.n, &out);
    return buf_str(&out);
}
