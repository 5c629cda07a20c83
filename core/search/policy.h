/* policy.h - what a search decided, as a policy that people read, change and run again. */
#ifndef CORE_SEARCH_POLICY_H
#define CORE_SEARCH_POLICY_H

#include "core/search/search.h"

/* Lua with a PAS function: the session's own decisions, then those of the result; equal ones of
 * equal layers are one line with a pattern. Run on the same model and mesh it makes the same plan.
 */
void search_policy(const Session *session, const SearchResult *result, Buf *out);

/* The decisions of the result alone, each line behind `indent`, with its price as a comment. */
void search_decisions(const Session *session, const SearchResult *result, const char *indent,
                      Buf *out);

#endif
