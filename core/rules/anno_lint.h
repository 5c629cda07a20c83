/* anno_lint.h - annotations that are well formed and lose data without saying so.
 *
 *     a b -> a            b is neither summed nor kept: sharding it would give a part of the result
 *     a b+ -> a b+        a summed identifier in an output
 *     a b -> a, ?         how sharding a or b shards `?` is unknown
 *     a b : /c -> a b     c, over which the gradient needs no sum, is in no tensor
 *     a a -> a            a part of both dims at once is a part of the diagonal
 *     a -> a n            notes: n must be a keyword argument;
 *     (h t) -> h t        nnScaler freezes t, for the bracket's sake
 *
 * Such a dim is never sharded here (anno_opspace()), so a plan stays correct; but the author of the
 * annotation meant something else, and other systems would shard it.
 */
#ifndef CORE_RULES_ANNO_LINT_H
#define CORE_RULES_ANNO_LINT_H

#include "core/space/anno.h"
#include "core/rules/registry.h"

typedef struct {
    TextPlace place; /* in the annotation, line and character from 1 */
    Level level;
    const char *code; /* "lossy-annotation" */
    const char *text; /* "output 0 lacks b, which input 0 has: ..." */
    const char *hint;
} AnnoLint;

enum { ANNO_LINTS_MAX = 16 };

/* Lints an annotation; text is what anno was parsed from. independent: bit o where output o is said
 * not to depend on sharded inputs. Returns how many lints there are; the first ANNO_LINTS_MAX are
 * in out. */
int anno_lint(Arena *arena, Str text, const Anno *anno, uint32_t independent,
              AnnoLint out[ANNO_LINTS_MAX]);

/* Lints the annotations that a user registered for an operator and adds findings at their line and
 * column of the file. Annotations made by a function are not linted. */
void anno_lint_operator(Arena *arena, const Operator *row, Findings *out);

#endif
