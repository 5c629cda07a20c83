/* search.h - finds ops, groups and tensors by text.
 *
 * A pattern is an extended regular expression; upper and lower case are equal unless it has a
 * capital letter; plain text matches itself. It is matched against paths of groups (the outermost
 * match is the hit), names and operators of ops outside such groups, and names of parameters and
 * inputs ("h.3.mlp.c_fc.weight"), which lead to the tensor. Hits are listed in outline order.
 */
#ifndef TUI_STATE_SEARCH_H
#define TUI_STATE_SEARCH_H

#include "core/base/progress.h"
#include "core/session/session.h"

typedef enum { HIT_INPUT, HIT_GROUP, HIT_OP, HIT_TENSOR } HitKind;

typedef struct {
    HitKind kind;
    int32_t id;    /* id of a tensor, group or op */
    int32_t op;    /* a group's first op, a tensor's first reader; -1 for an input */
    int32_t place; /* in outline order; inputs come before, as negative numbers */
} Hit;

typedef struct Search Search;

typedef struct {
    Search *search; /* the last search, or NULL */
    Hit hit;        /* the last hit that was visited */
    int waits;      /* 1, -1: go to the next or previous hit once all are counted; 0: no */
    char label[40]; /* "/c_fc 3/12" while the cursor is on a hit */
} Find;

/* Returns NULL with *err if the pattern is no regular expression, or takes too much time to match.
 */
Search *search_new(Str pattern, Error *err);
void search_free(Search *search);   /* NULL is allowed */
void search_forget(Search *search); /* call it before groups change: hits will be searched again */

Str search_pattern(const Search *search);
bool search_matches(const Search *search, Str text);

/* All hits of the session, made once. */
int search_hits(Search *search, const Session *session, const Hit **hits);

/* Finds all hits, on any thread that has the search for itself. Returns false if it was stopped;
 * then none are known. */
bool search_count(Search *search, const Session *session, Progress *progress, Error *err);
bool search_is_counted(const Search *search);
/* Moves the hits of another search of the same pattern. */
void search_take(Search *search, Search *counted);

enum { SEARCH_NEAR_PLACES = 1 << 13 };

typedef enum { NEAR_FOUND, NEAR_NONE, NEAR_FARTHER } SearchNear;

/* Like search_from(), without finding all hits: *out, or none at all, or none within
 * SEARCH_NEAR_PLACES places or 50 ms, that is within a frame. */
SearchNear search_near(Search *search, const Session *session, int32_t place, int by, Hit *out);

/* The nearest hit after `place` (by 1) or before it (by -1), wrapping around; -1: there is none. */
int search_from(Search *search, const Session *session, int32_t place, int by);

#endif
