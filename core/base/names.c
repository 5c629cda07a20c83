#include "core/base/names_more.h"

#include "core/base/arena_child.h"
#include "core/base/intern.h"
#include "core/base/vec.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

/* A text is a record in a block: its length, the text, a NUL. Short lengths take a byte, others
 * LENGTH_LONG and four more. The place of a record is its block's number and where it begins there,
 * in units of UNIT bytes. Blocks double from the first size to the last; a longer text has a block
 * of its own. */
enum {
    UNIT = 4,
    AT_BITS = 20,
    BLOCKS_MAX = 1 << (32 - AT_BITS),
    BLOCK_FIRST_BYTES = 1 << 10,
    BLOCK_LAST_BYTES = UNIT << AT_BITS,
    LENGTH_LONG = 255,
    ROOM_FIRST = 32
};

/* Texts of names that are a stem with an affix, and which name has which: made when somebody asks,
 * by any thread. */
enum { LATE_PAGE = 256, SHORT_TEXT = 256 };
typedef struct {
    pthread_mutex_t lock;
    Arena *arena;
    const char ***page; /* by id / LATE_PAGE: records; NULL: none is made yet */
    uint32_t n_pages;
    uint32_t *slot;                    /* ids; 0 for a free slot */
    uint32_t n_slots, n_indexed, next; /* the names before `next` are in the slots */
} NamesLate;

enum { ENDS_MAX = 256, ENDS_KNOWN = 64, END_BITS = 16, ALL_ENDS = (1 << END_BITS) - 1 };

/* A text is one thing: split at its last '~' it is a stem and an end; one without '~' may be a head
 * and a stem. So a head is put before no stem that has a '~'.
 *
 * A text with a '~' may be a stem and an end, too. What of the kind is kept as a text of its own is
 * in `marked`; by a hash of what is before its last '~' in `filter`. */
enum { FILTER_WORDS = 16, FILTER_BITS = FILTER_WORDS * 64 };

struct Names {
    Arena *arena;
    char **block;
    uint32_t n_blocks, block_room;
    size_t block_at, block_end; /* the room left in the last block, in bytes from its start */
    uint32_t *place;            /* of a name with an affix: the id of its stem */
    uint32_t n, room;
    /* Per name, NULL as long as no name has an affix: the number of its end or head, 0 for a text
     * of its own; by the number of an affix, the last bit for all others, whether it may be the
     * stem of a name. */
    uint8_t *end;
    uint16_t *ends_of;
    Str *ends; /* by number, from 1 */
    int n_ends;
    bool before[ENDS_MAX];         /* by number: it is a head, which stands before its stem */
    bool taken[ENDS_MAX];          /* of a head: some text of its own begins with it */
    uint8_t known_end[ENDS_KNOWN]; /* by a hash of the end: the last such number */
    NamesLate *late;
    Vec(int32_t) marked;
    uint64_t filter[FILTER_WORDS];
    uint64_t deep;                /* by a hash of "~m": some text of its own is like "T~m~next" */
    uint64_t begun[FILTER_WORDS]; /* by a hash of its first bytes: some text of its own has them */
    /* The table by text: ids; beside it eight bits of the text's hash, 0 for a free slot, so that a
     * wrong slot is passed by without touching the id or the text. */
    uint32_t *slot;
    uint8_t *tag;
    uint32_t n_slots;         /* at most three quarters are taken */
    uint32_t n_own, own_room; /* names in the table */
};

/* ---- records ---- */

static Str record_text(const char *record)
{
    size_t n = (unsigned char)*record++;
    if (n == LENGTH_LONG) {
        uint32_t length;
        memcpy(&length, record, sizeof length);
        n = length;
        record += sizeof length;
    }
    return (Str){record, n};
}

static bool has_end(const Names *names, int32_t id)
{
    return names->end && names->end[id] != 0;
}

/* Of a text of its own. */
static Str own_text(const Names *names, int32_t id)
{
    uint32_t place = names->place[id];
    return record_text(names->block[place >> AT_BITS] +
                       (size_t)UNIT * (place & ((1u << AT_BITS) - 1)));
}

/* How many bytes the length takes before such a text. */
static size_t head_bytes(size_t n)
{
    return n < LENGTH_LONG ? 1 : 1 + sizeof(uint32_t);
}

static void put_head(char *record, size_t n)
{
    assert(n < UINT32_MAX);
    uint32_t length = (uint32_t)n;
    *record = (char)(n < LENGTH_LONG ? length : LENGTH_LONG);
    if (n >= LENGTH_LONG)
        memcpy(record + 1, &length, sizeof length);
}

static void add_block(Names *names, size_t n_bytes)
{
    if (names->n_blocks == names->block_room) {
        uint32_t room = names->block_room ? 2 * names->block_room : 4;
        char **block = arena_array(names->arena, char *, room);
        if (names->n_blocks > 0)
            memcpy(block, names->block, names->n_blocks * sizeof *block);
        names->block = block;
        names->block_room = room;
    }
    assert(names->n_blocks < BLOCKS_MAX);
    size_t size = BLOCK_FIRST_BYTES;
    for (uint32_t i = 0; i < names->n_blocks && size < BLOCK_LAST_BYTES; i++)
        size *= 2;
    size = n_bytes > size ? n_bytes : size;
    names->block[names->n_blocks++] = arena_alloc(names->arena, size);
    names->block_at = 0;
    names->block_end = size < BLOCK_LAST_BYTES ? size : BLOCK_LAST_BYTES;
}

/* Keeps a copy of the text and returns its place. */
static uint32_t add_record(Names *names, Str text)
{
    size_t head = head_bytes(text.n);
    size_t n_bytes = head + text.n + 1;
    if (names->n_blocks == 0 || n_bytes > names->block_end - names->block_at)
        add_block(names, n_bytes);
    uint32_t place = (names->n_blocks - 1) << AT_BITS | (uint32_t)(names->block_at / UNIT);
    char *record = names->block[names->n_blocks - 1] + names->block_at;
    put_head(record, text.n);
    if (text.n > 0)
        memcpy(record + head, text.s, text.n);
    names->block_at += (n_bytes + UNIT - 1) / UNIT * UNIT;
    names->block_at = names->block_at < names->block_end ? names->block_at : names->block_end;
    return place;
}

/* ---- the table ---- */

static uint8_t tag_of(uint64_t hash)
{
    return (uint8_t)((hash & 0xff) != 0 ? hash & 0xff : 1);
}

static uint32_t slot_of(const Names *names, uint64_t hash)
{
    return (uint32_t)((hash >> 32) * names->n_slots >> 32);
}

static uint32_t next_slot(const Names *names, uint32_t slot)
{
    return slot + 1 < names->n_slots ? slot + 1 : 0;
}

static uint32_t free_slot(const Names *names, uint64_t hash)
{
    uint32_t slot = slot_of(names, hash);
    while (names->tag[slot] != 0)
        slot = next_slot(names, slot);
    return slot;
}

static void put_slot(Names *names, uint32_t slot, uint64_t hash, uint32_t id)
{
    names->slot[slot] = id;
    names->tag[slot] = tag_of(hash);
}

/* Room for so many names, with ends or without. */
static void reserve_places(Names *names, uint32_t room)
{
    if (room <= names->room)
        return;
    uint32_t *place = arena_array(names->arena, uint32_t, room);
    if (names->n > 0)
        memcpy(place, names->place, names->n * sizeof *place);
    arena_release(names->arena, names->place);
    names->place = place;
    names->room = room;
    if (!names->end)
        return;
    uint8_t *end = arena_array(names->arena, uint8_t, room);
    uint16_t *ends_of = arena_array(names->arena, uint16_t, room);
    memcpy(end, names->end, names->n * sizeof *end);
    memcpy(ends_of, names->ends_of, names->n * sizeof *ends_of);
    arena_release(names->arena, names->end);
    arena_release(names->arena, names->ends_of);
    names->end = end;
    names->ends_of = ends_of;
}

static void reserve_slots(Names *names, uint32_t room)
{
    if (room <= names->own_room)
        return;
    arena_release(names->arena, names->slot);
    arena_release(names->arena, names->tag);
    names->own_room = room;
    names->n_slots = room / 3 * 4 + 4;
    names->slot = arena_array(names->arena, uint32_t, names->n_slots);
    names->tag = arena_array(names->arena, uint8_t, names->n_slots);
    for (uint32_t id = 0; id < names->n; id++) {
        if (has_end(names, (int32_t)id))
            continue;
        Str text = own_text(names, (int32_t)id);
        uint64_t hash = hash_bytes(text.s, text.n);
        put_slot(names, free_slot(names, hash), hash, id);
    }
}

void names_reserve(Names *names, int n)
{
    uint32_t room = n > ROOM_FIRST ? (uint32_t)n : ROOM_FIRST;
    reserve_places(names, room);
    reserve_slots(names, room);
}

void names_reserve_more(Names *names, int n)
{
    reserve_places(names, names->n + (n > 0 ? (uint32_t)n : 0));
}

/* The id, or -1 and the slot where it would be. */
static int32_t find(const Names *names, Str text, uint64_t hash, uint32_t *slot)
{
    uint8_t tag = tag_of(hash);
    for (*slot = slot_of(names, hash); names->tag[*slot] != 0; *slot = next_slot(names, *slot)) {
        if (names->tag[*slot] != tag)
            continue;
        int32_t id = (int32_t)names->slot[*slot];
        if (str_eq(own_text(names, id), text))
            return id;
    }
    return -1;
}

/* ---- names with ends ---- */

static uint64_t hash_pair(uint32_t stem, uint8_t end)
{
    const uint32_t pair[2] = {stem, end};
    return hash_bytes(pair, sizeof pair);
}

/* The place in `begun` of a text with at least so many bytes; 0: it is shorter. */
static uint32_t begin_place(Str text)
{
    uint32_t first;
    if (text.n < sizeof first)
        return 0;
    memcpy(&first, text.s, sizeof first);
    return 1 + first % (FILTER_BITS - 1);
}

/* The slot of the name with that stem and end, or the free one where it would be. */
static uint32_t late_slot(const Names *names, uint32_t stem, uint8_t end)
{
    const NamesLate *late = names->late;
    uint32_t slot = (uint32_t)((hash_pair(stem, end) >> 32) * late->n_slots >> 32);
    for (; late->slot[slot] != 0; slot = slot + 1 < late->n_slots ? slot + 1 : 0) {
        uint32_t id = late->slot[slot];
        if (names->place[id] == stem && names->end[id] == end)
            break;
    }
    return slot;
}

static void index_one(const Names *names, uint32_t id)
{
    NamesLate *late = names->late;
    if (names->end[id] == 0)
        return;
    late->slot[late_slot(names, names->place[id], names->end[id])] = id;
    late->n_indexed++;
}

/* Puts the names that came since the last time into the index. */
static void index_names(const Names *names)
{
    NamesLate *late = names->late;
    uint32_t n = names->n - names->n_own;
    if (n + n / 2 > late->n_slots || late->n_slots == 0) {
        arena_release(late->arena, late->slot);
        late->n_slots = 2 * n + ROOM_FIRST;
        late->slot = arena_array(late->arena, uint32_t, late->n_slots);
        late->n_indexed = late->next = 0;
    }
    for (; late->next < names->n; late->next++)
        index_one(names, late->next);
}

static int32_t find_pair(const Names *names, int32_t stem, uint8_t end)
{
    pthread_mutex_lock(&names->late->lock);
    index_names(names);
    uint32_t id = names->late->slot[late_slot(names, (uint32_t)stem, end)];
    pthread_mutex_unlock(&names->late->lock);
    return id != 0 ? (int32_t)id : -1;
}

/* The place in `known_end` for an end. */
static int known_place(Str end)
{
    size_t middle = end.n / 2;
    return ((unsigned char)end.s[middle] * 7 + (unsigned char)end.s[end.n - 1] + (int)end.n) %
           ENDS_KNOWN;
}

/* Ends are short: a call takes longer than the comparison. */
static bool is_same_end(Str a, Str b)
{
    size_t i = 0;
    while (i < a.n && i < b.n && a.s[i] == b.s[i])
        i++;
    return i == a.n && i == b.n;
}

/* The number of the end; 0: it has none. */
static uint8_t find_end(const Names *names, Str end)
{
    if (end.n == 0 || !names->late)
        return 0;
    uint8_t known = names->known_end[known_place(end)];
    if (known != 0 && is_same_end(names->ends[known], end))
        return known;
    for (int i = 1; i <= names->n_ends; i++)
        if (!names->before[i] && str_eq(names->ends[i], end))
            return (uint8_t)i;
    return 0;
}

static uint16_t end_bit(uint8_t end)
{
    return (uint16_t)(1U << (end < END_BITS ? end - 1 : END_BITS - 1));
}

/* The place of the last '~', or text.n. */
static size_t last_tilde(Str text)
{
    const char *at = text.n > 0 ? memrchr(text.s, '~', text.n) : NULL;
    return at ? (size_t)(at - text.s) : text.n;
}

static int32_t find_with_head(const Names *names, Str text)
{
    for (int i = 1; i <= names->n_ends; i++) {
        Str head = names->ends[i];
        if (!names->before[i] || !str_starts(text, head))
            continue;
        int32_t stem = names_find(names, (Str){text.s + head.n, text.n - head.n});
        if (stem >= 0 && (names->ends_of[stem] & end_bit((uint8_t)i)))
            return find_pair(names, stem, (uint8_t)i);
    }
    return -1;
}

/* A text that is no text of its own. */
static int32_t find_with_affix(const Names *names, Str text)
{
    size_t at = last_tilde(text);
    if (at == text.n)
        return find_with_head(names, text);
    uint8_t end = find_end(names, (Str){text.s + at, text.n - at});
    int32_t stem = end != 0 ? names_find(names, (Str){text.s, at}) : -1;
    return stem >= 0 && (names->ends_of[stem] & end_bit(end)) ? find_pair(names, stem, end) : -1;
}

static uint64_t deep_bit(Str end)
{
    return UINT64_C(1) << hash_bytes(end.s, end.n) % 64;
}

static void late_new(Names *names)
{
    NamesLate *late = arena_make(names->arena, NamesLate);
    pthread_mutex_init(&late->lock, NULL);
    late->arena = arena_child(names->arena);
    names->late = late;
}

/* The stem that the text has beside its end may get that end again. */
static void mark_stem(Names *names, Str text)
{
    Str stem = {text.s, last_tilde(text)};
    uint64_t bit = hash_bytes(stem.s, stem.n) % FILTER_BITS;
    int32_t known = names_find(names, stem);
    size_t before = last_tilde(stem);
    names->filter[bit / 64] |= UINT64_C(1) << bit % 64;
    if (before < stem.n)
        names->deep |= deep_bit((Str){stem.s + before, stem.n - before});
    if (known >= 0 && names->ends_of)
        names->ends_of[known] = ALL_ENDS;
}

/* Of a new text of its own. */
static void note_text(Names *names, Str text, uint64_t hash, int32_t id)
{
    uint64_t bit = hash % FILTER_BITS, begin = begin_place(text);
    names->begun[begin / 64] |= UINT64_C(1) << begin % 64;
    if (names->ends_of && names->filter[bit / 64] >> bit % 64 & 1)
        names->ends_of[id] = ALL_ENDS;
    for (int i = 1; i <= names->n_ends; i++)
        if (names->before[i] && str_starts(text, names->ends[i]))
            names->taken[i] = true;
    if (last_tilde(text) == text.n)
        return;
    vec_push(names->arena, &names->marked, id);
    mark_stem(names, text);
}

static void start_ends(Names *names)
{
    late_new(names);
    names->ends = arena_array(names->arena, Str, ENDS_MAX);
    names->end = arena_array(names->arena, uint8_t, names->room);
    names->ends_of = arena_array(names->arena, uint16_t, names->room);
    for (int i = 0; i < names->marked.n; i++)
        mark_stem(names, own_text(names, names->marked.at[i]));
}

/* Returns its number; 0: there are too many. */
static uint8_t add_affix(Names *names, Str text)
{
    if (!names->late)
        start_ends(names);
    if (names->n_ends + 1 >= ENDS_MAX)
        return 0;
    names->ends[++names->n_ends] = (Str){arena_str(names->arena, text), text.n};
    return (uint8_t)names->n_ends;
}

/* The number of an end like "~grad"; 0: a name with that end has a text of its own. */
static uint8_t number_of_end(Names *names, Str end)
{
    uint8_t known = find_end(names, end);
    if (known != 0)
        return known;
    if (end.n == 0 || end.s[0] != '~' || last_tilde(end) != 0)
        return 0;
    known = add_affix(names, end);
    names->known_end[known_place(end)] = known;
    return known;
}

static bool is_head_of_own(const Names *names, Str head)
{
    uint32_t begin = begin_place(head);
    if (begin != 0 && !(names->begun[begin / 64] >> begin % 64 & 1))
        return false;
    for (uint32_t id = 0; id < names->n; id++)
        if (!has_end(names, (int32_t)id) && str_starts(own_text(names, (int32_t)id), head))
            return true;
    return false;
}

/* The number of a head like "backward."; 0: a name with that head has a text of its own. */
static uint8_t number_of_head(Names *names, Str head)
{
    bool fits = last_tilde(head) == head.n;
    for (int i = 1; i <= names->n_ends; i++) {
        if (names->before[i] && str_eq(names->ends[i], head))
            return (uint8_t)i;
        if (names->before[i] &&
            (str_starts(head, names->ends[i]) || str_starts(names->ends[i], head)))
            fits = false; /* a text would have two heads */
    }
    uint8_t number = fits ? add_affix(names, head) : 0;
    if (number == 0)
        return 0;
    names->before[number] = true;
    names->taken[number] = is_head_of_own(names, head);
    return number;
}

/* The text with its length before it, made at the first time; the lock is held. */
static const char *late_record(const Names *names, int32_t id)
{
    NamesLate *late = names->late;
    uint32_t at = (uint32_t)id / LATE_PAGE;
    if (at >= late->n_pages) {
        const char ***page = arena_array(late->arena, const char **, names->n / LATE_PAGE + 1);
        if (late->n_pages > 0)
            memcpy(page, late->page, late->n_pages * sizeof *page);
        late->page = page;
        late->n_pages = names->n / LATE_PAGE + 1;
    }
    if (!late->page[at])
        late->page[at] = arena_array(late->arena, const char *, LATE_PAGE);
    const char **record = &late->page[at][id % LATE_PAGE], *known = *record;
    if (known)
        return known;
    int32_t stem = (int32_t)names->place[id];
    Str first =
        has_end(names, stem) ? record_text(late_record(names, stem)) : own_text(names, stem);
    Str end = names->ends[names->end[id]];
    if (names->before[names->end[id]]) {
        Str stem_text = first;
        first = end;
        end = stem_text;
    }
    size_t n = first.n + end.n, head = head_bytes(n);
    char *made = arena_alloc(late->arena, head + n + 1);
    put_head(made, n);
    memcpy(made + head, first.s, first.n);
    memcpy(made + head + first.n, end.s, end.n);
    return *record = made;
}

static Str text_at(const Names *names, int32_t id)
{
    assert(0 <= id && (uint32_t)id < names->n);
    if (!has_end(names, id))
        return own_text(names, id);
    pthread_mutex_lock(&names->late->lock);
    const char *record = late_record(names, id);
    pthread_mutex_unlock(&names->late->lock);
    return record_text(record);
}

/* ---- asking ---- */

Names *names_new(Arena *arena)
{
    Names *names = arena_make(arena, Names);
    names->arena = arena;
    names_reserve(names, ROOM_FIRST);
    int32_t empty = names_intern(names, STR(""));
    assert(empty == 0);
    (void)empty;
    return names;
}

/* Records do not change, so both have the same blocks; new records go into blocks of their own. */
Names *names_copy(Arena *arena, const Names *names)
{
    Names *copy = arena_make(arena, Names);
    *copy = *names;
    copy->arena = arena;
    copy->block = arena_array(arena, char *, names->block_room);
    copy->place = arena_array(arena, uint32_t, names->room);
    copy->slot = arena_array(arena, uint32_t, names->n_slots);
    copy->tag = arena_array(arena, uint8_t, names->n_slots);
    memcpy(copy->block, names->block, names->n_blocks * sizeof *names->block);
    memcpy(copy->place, names->place, names->n * sizeof *names->place);
    memcpy(copy->slot, names->slot, names->n_slots * sizeof *names->slot);
    memcpy(copy->tag, names->tag, names->n_slots * sizeof *names->tag);
    copy->block_at = copy->block_end = 0;
    copy->marked.at = NULL;
    copy->marked.n = copy->marked.room = 0;
    for (int i = 0; i < names->marked.n; i++)
        vec_push(arena, &copy->marked, names->marked.at[i]);
    if (names->late) {
        late_new(copy);
        copy->ends = arena_array(arena, Str, ENDS_MAX);
        copy->end = arena_array(arena, uint8_t, names->room);
        copy->ends_of = arena_array(arena, uint16_t, names->room);
        memcpy(copy->ends, names->ends, ENDS_MAX * sizeof *names->ends);
        memcpy(copy->end, names->end, names->n * sizeof *names->end);
        memcpy(copy->ends_of, names->ends_of, names->n * sizeof *names->ends_of);
    }
    return copy;
}

static void grow_places(Names *names)
{
    if (names->n == names->room)
        reserve_places(names, names->room + names->room / 2);
}

int32_t names_intern(Names *names, Str text)
{
    uint64_t hash = hash_bytes(text.s, text.n);
    uint32_t slot;
    int32_t known = find(names, text, hash, &slot);
    if (known < 0 && names->late)
        known = find_with_affix(names, text);
    if (known >= 0)
        return known;
    grow_places(names);
    if (names->n_own == names->own_room) {
        reserve_slots(names, names->own_room + names->own_room / 2);
        slot = free_slot(names, hash);
    }
    uint32_t id = names->n++;
    names->n_own++;
    names->place[id] = add_record(names, text);
    put_slot(names, slot, hash, id);
    note_text(names, text, hash, (int32_t)id);
    return (int32_t)id;
}

/* Both texts, one after the other: in `shorter` if there is room for it, else in the arena. */
static Str join(Arena *arena, Str first, Str second, char shorter[SHORT_TEXT])
{
    size_t n = first.n + second.n;
    char *joined = n < SHORT_TEXT ? shorter : arena_alloc(arena, n + 1);
    memcpy(joined, first.s, first.n);
    memcpy(joined + first.n, second.s, second.n);
    return (Str){joined, n};
}

static int32_t intern_joined(Names *names, Str first, Str second)
{
    char shorter[SHORT_TEXT];
    return names_intern(names, join(names->arena, first, second, shorter));
}

/* Whether there may be such a name already. */
static bool may_have(const Names *names, int32_t stem, uint8_t end)
{
    return (names->ends_of[stem] & end_bit(end)) || names->taken[end] ||
           (names->deep != 0 && has_end(names, stem) &&
            (names->deep & deep_bit(names->ends[names->end[stem]])));
}

/* The name with that stem and affix, or with their text; -1. */
static int32_t find_joined(Names *names, int32_t stem, uint8_t end)
{
    int32_t known = find_pair(names, stem, end);
    if (known >= 0)
        return known;
    char shorter[SHORT_TEXT];
    uint32_t slot;
    Str own = text_at(names, stem), affix = names->ends[end];
    Str text = names->before[end] ? join(names->arena, affix, own, shorter)
                                  : join(names->arena, own, affix, shorter);
    return find(names, text, hash_bytes(text.s, text.n), &slot);
}

/* The name of a stem with the affix of that number. */
static int32_t intern_pair(Names *names, int32_t stem, uint8_t number)
{
    int32_t known = may_have(names, stem, number) ? find_joined(names, stem, number) : -1;
    if (known >= 0)
        return known;
    grow_places(names);
    uint32_t id = names->n++;
    names->place[id] = (uint32_t)stem;
    names->end[id] = number;
    names->ends_of[stem] |= end_bit(number);
    names->ends_of[id] = names->taken[number] ? ALL_ENDS : 0;
    return (int32_t)id;
}

int32_t names_intern_with(Names *names, int32_t stem, Str end)
{
    if (end.n == 0)
        return stem;
    uint8_t number = number_of_end(names, end);
    return number == 0 ? intern_joined(names, text_at(names, stem), end)
                       : intern_pair(names, stem, number);
}

int32_t names_intern_after(Names *names, Str head, int32_t stem)
{
    if (head.n == 0)
        return stem;
    Str text = text_at(names, stem);
    uint8_t number = last_tilde(text) == text.n ? number_of_head(names, head) : 0;
    return number == 0 ? intern_joined(names, head, text) : intern_pair(names, stem, number);
}

int32_t names_find(const Names *names, Str text)
{
    uint32_t slot;
    int32_t known = find(names, text, hash_bytes(text.s, text.n), &slot);
    return known >= 0 || !names->late ? known : find_with_affix(names, text);
}

const char *names_text(const Names *names, int32_t id)
{
    return text_at(names, id).s;
}

Str names_str(const Names *names, int32_t id)
{
    return text_at(names, id);
}

int32_t names_count(const Names *names)
{
    return (int32_t)names->n;
}
