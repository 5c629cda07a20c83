#include "core/base/intern.h"

#include <assert.h>
#include <string.h>

typedef struct {
    const void *key; /* n_bytes, then a NUL, so that texts may be printed */
    size_t n_bytes;
} InternEntry;

/* A slot keeps the hash beside the id, so that a wrong slot is passed by without touching the key.
 * `id` is one more than the entry's index: 0 is a free slot. */
typedef struct {
    uint32_t hash;
    int32_t id;
} InternSlot;

struct Intern {
    Arena *arena;
    InternEntry *entries;
    InternSlot *slots;
    uint32_t n_entries, room; /* room: of entries */
    uint32_t n_slots;         /* a power of two; at most three quarters are taken */
};

enum { ROOM_FIRST = 32, SLOTS_FIRST = 64, ROOM_LAST = 1 << 30 };

/* Multiply and fold: the 128-bit product of two 64-bit words, high half over low half, as in
 * Wang Yi's wyhash. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 Wide;
    Wide product = (Wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load8(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static uint64_t load4(const unsigned char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static const uint64_t odd_a = 0x9E3779B97F4A7C15u, odd_b = 0xD6E8FEB86659FD93u;

uint64_t hash_bytes(const void *bytes, size_t n_bytes)
{
    const unsigned char *at = bytes;
    uint64_t hash = odd_a ^ n_bytes;
    size_t n = n_bytes;
    for (; n > 16; n -= 16, at += 16)
        hash = fold(load8(at) ^ odd_b, load8(at + 8) ^ hash);

    uint64_t head = 0, tail = 0; /* the last 16 bytes or fewer; the two words may overlap */
    if (n >= 8) {
        head = load8(at);
        tail = load8(at + n - 8);
    } else if (n >= 4) {
        head = load4(at);
        tail = load4(at + n - 4);
    } else if (n > 0) {
        head = (uint64_t)at[0] << 16 | (uint64_t)at[n / 2] << 8 | at[n - 1];
    }
    return fold(fold(head ^ odd_b, tail ^ hash), odd_a);
}

static uint64_t fold_pair(const unsigned char *at, uint64_t hash)
{
    return fold(load8(at) ^ odd_b, load8(at + 8) ^ hash);
}

/* Long keys in four lanes, whose products do not wait for each other. */
static uint32_t key_hash(const void *key, size_t n_bytes)
{
    enum { STRIDE = 64 };
    if (n_bytes < 2 * STRIDE)
        return (uint32_t)hash_bytes(key, n_bytes);
    const unsigned char *at = key;
    uint64_t a = odd_a, b = odd_b, c = ~odd_a, d = ~odd_b;
    size_t n = n_bytes;
    for (; n > STRIDE; n -= STRIDE, at += STRIDE) {
        a = fold_pair(at, a);
        b = fold_pair(at + 16, b);
        c = fold_pair(at + 32, c);
        d = fold_pair(at + 48, d);
    }
    return (uint32_t)(fold(a ^ odd_b, b) ^ fold(c ^ odd_b, d) ^ hash_bytes(at, n));
}

static void grow_entries(Intern *intern)
{
    uint32_t room = intern->room + intern->room / 2;
    assert(room < ROOM_LAST);
    InternEntry *entries = arena_array(intern->arena, InternEntry, room);
    memcpy(entries, intern->entries, intern->n_entries * sizeof *entries);
    arena_release(intern->arena, intern->entries);
    intern->entries = entries;
    intern->room = room;
}

static void grow_slots(Intern *intern)
{
    uint32_t n_slots = 2 * intern->n_slots, mask = n_slots - 1;
    InternSlot *slots = arena_array(intern->arena, InternSlot, n_slots);
    for (uint32_t old = 0; old < intern->n_slots; old++) {
        if (intern->slots[old].id == 0)
            continue;
        uint32_t i = intern->slots[old].hash & mask;
        while (slots[i].id != 0)
            i = (i + 1) & mask;
        slots[i] = intern->slots[old];
    }
    arena_release(intern->arena, intern->slots);
    intern->slots = slots;
    intern->n_slots = n_slots;
}

Intern *intern_new(Arena *arena)
{
    Intern *intern = arena_make(arena, Intern);
    intern->arena = arena;
    intern->entries = arena_array(arena, InternEntry, ROOM_FIRST);
    intern->room = ROOM_FIRST;
    intern->slots = arena_array(arena, InternSlot, SLOTS_FIRST);
    intern->n_slots = SLOTS_FIRST;
    return intern;
}

/* The slot of the key, or the free slot where it belongs. */
static InternSlot *find_slot(const Intern *intern, const void *key, size_t n_bytes, uint32_t hash)
{
    uint32_t mask = intern->n_slots - 1;
    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        InternSlot *slot = &intern->slots[i];
        if (slot->id == 0)
            return slot;
        if (slot->hash != hash)
            continue;
        const InternEntry *entry = &intern->entries[slot->id - 1];
        if (entry->n_bytes == n_bytes && (n_bytes == 0 || memcmp(entry->key, key, n_bytes) == 0))
            return slot;
    }
}

int32_t intern_put(Intern *intern, const void *key, size_t n_bytes)
{
    uint32_t hash = key_hash(key, n_bytes);
    InternSlot *slot = find_slot(intern, key, n_bytes, hash);
    if (slot->id != 0)
        return slot->id - 1;

    char *copy = arena_alloc(intern->arena, n_bytes + 1);
    if (n_bytes > 0)
        memcpy(copy, key, n_bytes);
    int32_t id = (int32_t)intern->n_entries++;
    intern->entries[id] = (InternEntry){copy, n_bytes};
    *slot = (InternSlot){hash, id + 1};
    if (intern->n_entries == intern->room)
        grow_entries(intern);
    if (intern->n_entries >= intern->n_slots / 4 * 3)
        grow_slots(intern);
    return id;
}

int32_t intern_find(const Intern *intern, const void *key, size_t n_bytes)
{
    return find_slot(intern, key, n_bytes, key_hash(key, n_bytes))->id - 1;
}

const void *intern_key(const Intern *intern, int32_t id, size_t *n_bytes)
{
    assert(0 <= id && id < intern_count(intern));
    if (n_bytes)
        *n_bytes = intern->entries[id].n_bytes;
    return intern->entries[id].key;
}

int32_t intern_count(const Intern *intern)
{
    return (int32_t)intern->n_entries;
}
