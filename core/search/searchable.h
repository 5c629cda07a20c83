/* searchable.h - which sessions a search of plans on a mesh takes. */
#ifndef CORE_SEARCH_SEARCHABLE_H
#define CORE_SEARCH_SEARCHABLE_H

#include "core/session/session.h"

/* Returns false with ERROR_UNSUPPORTED in *err for ops on parts of the mesh without a schedule,
 * whose time nothing tells, and for a propagator that the pins of a search are not for. */
bool search_takes(const Session *session, Error *err);

#endif
