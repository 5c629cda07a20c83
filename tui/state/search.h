/* search.h - finding ops, groups and tensors by what people type.
 *
 * A pattern is an extended regular expression, case-blind while it has no capital; plain text is
 * found as it stands. It is looked for in paths of groups (the outermost that matches is the hit),
 * in names and operators of the ops outside such groups, and in the names of parameters and inputs
 * ("h.3.mlp.c_fc.weight"), which lead to the tensor. Hits are listed in outline order.
 */
#ifndef TUI_STATE_SEARCH_H
#define TUI_STATE_SEARCH_H

#include "core/base/progress.h"
#include "core/session/session.h"

typedef enum { HIT_INPUT, HIT_GROUP, HIT_OP, HIT_TENSOR } HitKind;

typedef struct {
    HitKind kind;
    int32_t id;    /* tensor, group or op */
    int32_t op;    /* a group's first op, a tensor's first reader; -1 for an input */
    int32_t place; /* in outline order; inputs come before, below 0 */
} Hit;

typedef struct Search Search;

typedef struct {
    Search *search; /* the last search, or NULL */
    Hit hit;        /* the last hit that was gone to */
    int waits;      /* 1, -1: go to the next or previous hit once all are counted; 0: no */
    char label[40]; /* "/c_fc 3/12" while the cursor is on a hit */
} Find;

/* NULL with *err when the pattern is no regular expression, or one that takes too much to run. */
Search *search_new(Str pattern, Error *err);
void search_free(Search *search);   /* NULL is allowed */
void search_forget(Search *search); /* groups are about to change: hits are looked for anew */

Str search_pattern(const Search *search);
bool search_matches(const Search *search, Str text);

/* All hits of the session, made once. */
int search_hits(Search *search, const Session *session, const Hit **hits);

/* Looks for all of them, on any thread that has the search for itself. False: it was stopped, and
 * none are known. */
bool search_count(Search *search, const Session *session, Progress *progress, Error *err);
bool search_is_counted(const Search *search);
void search_take(Search *search, Search *counted); /* the hits of another one of that pattern */

enum { SEARCH_NEAR_PLACES = 1 << 13 };

typedef enum { NEAR_FOUND, NEAR_NONE, NEAR_FARTHER } SearchNear;

/* What search_from() finds, without the others: *out; or there is none; or none within
 * SEARCH_NEAR_PLACES places or 50 ms: within a frame. */
SearchNear search_near(Search *search, const Session *session, int32_t place, int by, Hit *out);

/* The nearest hit after `place` (by 1) or before it (by -1), around the end; -1: there is none. */
int search_from(Search *search, const Session *session, int32_t place, int by);

#endif
