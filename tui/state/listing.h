/* listing.h - which rows of the outline are listed, and which are tagged.
 *
 * A filter (filter.h) leaves only the ops that pass, in the groups around them; it stays through
 * changes of the plan until it is dropped. Tags are on ops, and stay until they are taken away; a
 * row is tagged when all ops that it stands for are.
 */
#ifndef TUI_STATE_LISTING_H
#define TUI_STATE_LISTING_H

#include "tui/state/filter.h"
#include "tui/state/outline.h"

typedef struct Ui Ui;

typedef struct {
    FilterSource source;
    Filter *filter;      /* what the outline lists; NULL: all */
    Arena *arena;        /* of `pass` */
    const int32_t *pass; /* per place in groups->order: how many before it pass */
    const char *again;   /* the filter's text while there are no groups; in the frame's arena */
    uint8_t *tagged;     /* per op */
    int n_taggable, n_tagged;
} Listing;

/* False with *err, and the old filter stays: it cannot be read, or nothing passes. */
bool listing_filter(Ui *ui, Str text, Error *err);
void listing_drop(Ui *ui);

/* Around a change of the groups; a filter that passes nothing any more is dropped. */
void listing_detach(Ui *ui);
void listing_renew(Ui *ui);

void listing_tag_row(Ui *ui); /* or takes the tag away, and steps down */
void listing_tag_all(Ui *ui); /* all ops that are listed; none when all of them are tagged */
bool listing_row_tagged(const Ui *ui, const OutlineRow *row);
int listing_tagged(const Ui *ui, int32_t **ops); /* in outline order, in the frame's arena */

#endif
