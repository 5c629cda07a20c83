/* filter_state.h - a parsed filter; private to filter.c, which parses it, and filter_match.c, which
 * evaluates it. Only these two include it.
 */
#ifndef TUI_STATE_FILTER_STATE_H
#define TUI_STATE_FILTER_STATE_H

#include "tui/state/filter.h"

enum { CHOICES_MAX = 8 };

/* ORDER FILTER_KEY */
typedef enum {
    KEY_WORD,
    KEY_NAME,
    KEY_OP,
    KEY_DTYPE,
    KEY_SHAPE,
    KEY_AXIS,
    KEY_PARTIAL,
    KEY_KIND,
    KEY_IS,
    KEY_PASS,
    KEY_MS,
    KEY_US,
    KEY_COMM,
    KEY_MIB,
    KEY_COUNT
} FilterKey;

/* ORDER FILTER_STATE */
typedef enum {
    IS_RESHARD,
    IS_PINNED,
    IS_UNEVEN,
    IS_REPLICATED,
    IS_CHANGED,
    IS_TAGGED,
    IS_COUNT
} Is;

/* One alternative of a term. */
typedef struct {
    Str text;
    bool blind;  /* no capitals */
    bool matmul; /* the word is "matmul" */
    int number;  /* index of a dtype, of a kind of step or of a state */
    AtomSet atoms;
    Shape shape;
} Choice;

typedef enum { MORE, MORE_EQUAL, LESS, LESS_EQUAL, EQUAL } FilterCompare;

/* memo: 0 unknown, 1 no, 2 yes; by name, by OpCut and by sharding. */
typedef struct {
    FilterKey key;
    bool not ;
    FilterCompare compare;
    double limit;
    int n;
    Choice value[CHOICES_MAX];
    uint8_t *by_name, *by_cut, *by_sharding;
} FilterTerm;

struct Filter {
    Arena *arena;
    const FilterSource *source;
    const char *text;
    uint8_t *pinned; /* per op; NULL if not needed */
    Vec(FilterTerm) terms;
};

#endif
