/* listing.h - which rows of the outline are shown, and which are tagged.
 *
 * A filter (filter.h) shows only ops that pass, in the groups around them; it is kept when the plan
 * changes, until the user drops it. Tags are on ops and stay until removed; a row is tagged if all
 * ops that it stands for are.
 */
#ifndef TUI_STATE_LISTING_H
#define TUI_STATE_LISTING_H

#include "tui/state/filter.h"
#include "tui/state/outline.h"

typedef struct Ui Ui;

typedef struct {
    FilterSource source;
    Filter *filter;      /* the filter of the outline; NULL: show everything */
    Arena *arena;        /* of `pass` */
    const int32_t *pass; /* per place in groups->order: the number of ops before it that pass */
    const char *again;   /* the filter's text while there are no groups; in the frame's arena */
    uint8_t *tagged;     /* per op */
    int n_taggable, n_tagged;
} Listing;

/* Returns false with *err, and keeps the old filter, if the text is malformed or nothing passes. */
bool listing_filter(Ui *ui, Str text, Error *err);
void listing_drop(Ui *ui);

/* Call them before and after a change of the groups; a filter that passes nothing any more is
 * dropped. */
void listing_detach(Ui *ui);
void listing_renew(Ui *ui);

void listing_tag_row(Ui *ui); /* adds or removes the tag, and moves down */
void listing_tag_all(Ui *ui); /* tags all shown ops, or untags them if all are tagged */
bool listing_row_tagged(const Ui *ui, const OutlineRow *row);
int listing_tagged(const Ui *ui, int32_t **ops); /* in outline order, in the frame's arena */

#endif
