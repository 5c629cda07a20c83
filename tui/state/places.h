/* places.h - places to come back to: marks by letter, the list of jumps, and places as text.
 *
 *     Graph op /transformer/h.0/attn/Add
 *     Tensor tensor h.0.mlp.c_fc.weight
 *     Graph group transformer.h.0
 *
 * The text names a view and what is selected there; it outlives plans and sessions.
 */
#ifndef TUI_STATE_PLACES_H
#define TUI_STATE_PLACES_H

#include "tui/state/ui.h"

bool places_set(Ui *ui, char letter, Error *err);
bool places_go(Ui *ui, char letter, Error *err); /* a letter, or ' for the last place */
void places_menu(Ui *ui);                        /* the last jumps, to choose one */

void place_format(const Ui *ui, const Place *place, Buf *out);
bool place_read(const Ui *ui, Str text, Place *place); /* false: nothing of that name */

#endif
