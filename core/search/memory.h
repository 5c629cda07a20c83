/* memory.h - the limit of memory in a search: what a device holds at a moment, by choice.
 *
 * A moment is the peak of some plan. What is alive there is mostly the same in every plan: values
 * between maker and last reader, parameters and states as they are stored. How many bytes each has
 * follows from the choice of its node. What the choices do not tell, buffers of moves and copies,
 * is `rest`: what that plan has of it.
 *
 * A gradient lies as its maker's choice says until it is reduced, then as its parameter's says.
 * Plans are looked for as if it lay as it is made, which most of them come near to; a proof may
 * only count what it takes at least.
 */
#ifndef CORE_SEARCH_MEMORY_H
#define CORE_SEARCH_MEMORY_H

#include "core/search/instance.h"

typedef struct {
    int place;              /* in the program */
    double **amount;        /* [nodes]: bytes by choice, about; NULL: none */
    double **least;         /* likewise: no plan with these choices holds less */
    double modelled, total; /* bytes of the plan it was made from: by its choices; all */
} MemoryPoint;

/* The moment at which the plan needs most; it may be that of another instance of the session. */
MemoryPoint memory_point(Arena *arena, Instance *instance, const Plan *plan);

#endif
