/* lend.h - reuses paths that another resharder has found, for plans with an equal mesh and machine.
 */
#ifndef CORE_RESHARD_LEND_H
#define CORE_RESHARD_LEND_H

#include "core/reshard/reshard.h"

/* From now on, paths that `lender` has already searched are taken from it, with the same results as
 * a search, if its mesh and machine fit; NULL ends this. The lender must live until then, and be
 * used by nobody else meanwhile: it is only read. */
void resharder_borrow(Resharder *resharder, const Resharder *lender);

/* Adds the paths of another resharder that fits, so both can be borrowed. */
void resharder_take(Resharder *resharder, const Resharder *from);

#endif
