/* lend.h - paths that another resharder has found, for plans of one mesh and machine. */
#ifndef CORE_RESHARD_LEND_H
#define CORE_RESHARD_LEND_H

#include "core/reshard/reshard.h"

/* From now on paths come from `lender` where it has searched them, with the same results as a
 * search; NULL ends it. The lender must be of the same mesh and machine, live until then, and be
 * used by nobody else meanwhile: it is only read. */
void resharder_borrow(Resharder *resharder, const Resharder *lender);

/* Adds the paths of another resharder of the same mesh and machine, so both can be borrowed. */
void resharder_take(Resharder *resharder, const Resharder *from);

#endif
