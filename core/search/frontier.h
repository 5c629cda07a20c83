/* frontier.h - time against memory on a mesh: the fastest plans for less and less memory. */
#ifndef CORE_SEARCH_FRONTIER_H
#define CORE_SEARCH_FRONTIER_H

#include "core/search/search.h"

enum { FRONTIER_POINTS_MAX = 40 };

typedef struct {
    int n;
    SearchResult *point; /* [n]: each is the best with a thirtieth less memory than the one before,
                            as far as its own bound says */
    bool smallest;       /* it is proven that no plan needs a thirtieth less than the last */
    bool stopped;        /* it ended before a smaller plan was found, when its time was over or: */
    bool cancelled;      /* the progress was stopped */
} SearchFrontier;

/* From the request's limit down, each point as by search_plan(). All of it takes request->seconds
 * (0: as long as it takes), and one point at most a twelfth of that, or a second. Returns false
 * with *err; what was found before the progress was stopped is kept. */
bool search_frontier(Arena *arena, const SearchRequest *request, SearchFrontier *out, Error *err);

#endif
