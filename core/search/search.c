#include "core/search/search.h"

bool search_plan(Arena *arena, const SearchRequest *request, SearchResult *result, Error *err)
{
    (void)arena, (void)request;
    *result = (SearchResult){.outcome = SEARCH_UNKNOWN};
    return error_kind(err, ERROR_UNSUPPORTED, "the search of plans on a mesh is not built yet");
}
