#include "core/base/names.h"

#include "core/base/intern.h"

#include <assert.h>
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

struct Names {
    Arena *arena;
    char **block;
    uint32_t n_blocks, block_room;
    size_t at, end; /* the room left in the last block, in bytes from its start */
    uint32_t *place;
    uint32_t n, room;
    /* The table by text: ids; beside it eight bits of the text's hash, 0 for a free slot, so that a
     * wrong slot is passed by without touching the id or the text. */
    uint32_t *slot;
    uint8_t *tag;
    uint32_t n_slots; /* at most three quarters are taken */
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

static Str text_at(const Names *names, int32_t id)
{
    assert(0 <= id && (uint32_t)id < names->n);
    uint32_t place = names->place[id];
    return record_text(names->block[place >> AT_BITS] +
                       (size_t)UNIT * (place & ((1u << AT_BITS) - 1)));
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
    names->at = 0;
    names->end = size < BLOCK_LAST_BYTES ? size : BLOCK_LAST_BYTES;
}

/* Keeps a copy of the text and returns its place. */
static uint32_t add_record(Names *names, Str text)
{
    assert(text.n < UINT32_MAX);
    uint32_t length = (uint32_t)text.n;
    size_t head = length < LENGTH_LONG ? 1 : 1 + sizeof length;
    size_t n_bytes = head + text.n + 1;
    if (names->n_blocks == 0 || n_bytes > names->end - names->at)
        add_block(names, n_bytes);
    uint32_t place = (names->n_blocks - 1) << AT_BITS | (uint32_t)(names->at / UNIT);
    char *record = names->block[names->n_blocks - 1] + names->at;
    *record = (char)(head == 1 ? length : LENGTH_LONG);
    if (head > 1)
        memcpy(record + 1, &length, sizeof length);
    if (text.n > 0)
        memcpy(record + head, text.s, text.n);
    names->at += (n_bytes + UNIT - 1) / UNIT * UNIT;
    names->at = names->at < names->end ? names->at : names->end;
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

void names_reserve(Names *names, int n)
{
    uint32_t room = n > ROOM_FIRST ? (uint32_t)n : ROOM_FIRST;
    if (room <= names->room)
        return;
    uint32_t *place = arena_array(names->arena, uint32_t, room);
    if (names->n > 0)
        memcpy(place, names->place, names->n * sizeof *place);
    arena_release(names->arena, names->place);
    arena_release(names->arena, names->slot);
    arena_release(names->arena, names->tag);
    names->place = place;
    names->room = room;
    names->n_slots = room / 3 * 4 + 4;
    names->slot = arena_array(names->arena, uint32_t, names->n_slots);
    names->tag = arena_array(names->arena, uint8_t, names->n_slots);
    for (uint32_t id = 0; id < names->n; id++) {
        Str text = text_at(names, (int32_t)id);
        uint64_t hash = hash_bytes(text.s, text.n);
        put_slot(names, free_slot(names, hash), hash, id);
    }
}

/* The id, or -1 and the slot where it would be. */
static int32_t find(const Names *names, Str text, uint64_t hash, uint32_t *slot)
{
    uint8_t tag = tag_of(hash);
    for (*slot = slot_of(names, hash); names->tag[*slot] != 0; *slot = next_slot(names, *slot)) {
        if (names->tag[*slot] != tag)
            continue;
        int32_t id = (int32_t)names->slot[*slot];
        if (str_eq(text_at(names, id), text))
            return id;
    }
    return -1;
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
    copy->at = copy->end = 0;
    return copy;
}

int32_t names_intern(Names *names, Str text)
{
    uint64_t hash = hash_bytes(text.s, text.n);
    uint32_t slot;
    int32_t known = find(names, text, hash, &slot);
    if (known >= 0)
        return known;
    if (names->n == names->room) {
        names_reserve(names, (int)(names->room + names->room / 2));
        slot = free_slot(names, hash);
    }
    uint32_t id = names->n++;
    names->place[id] = add_record(names, text);
    put_slot(names, slot, hash, id);
    return (int32_t)id;
}

int32_t names_intern_with(Names *names, int32_t stem, Str end)
{
    enum { SHORT = 256 };
    char joined[SHORT];
    Str text = text_at(names, stem);
    if (text.n + end.n >= SHORT) /* and a NUL */
        return names_intern(names, str_from(arena_join(names->arena, text.s, end.s)));
    memcpy(joined, text.s, text.n);
    memcpy(joined + text.n, end.s, end.n);
    return names_intern(names, (Str){joined, text.n + end.n});
}

int32_t names_find(const Names *names, Str text)
{
    uint32_t slot;
    return find(names, text, hash_bytes(text.s, text.n), &slot);
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
