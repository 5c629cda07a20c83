#include "core/fuse/for_gradients.h"

#include "core/fuse/sequences.h"
#include "core/fuse/unroll.h"

/* In this order: sequences are taken apart in graphs without loops. */
static bool (*const rewrites[])(const Inferred *inferred, Graph **graph,
                                Error *err) = {unroll_loops, take_sequences_apart};

bool rewrite_for_gradients(Graph **graph, Inferred **inferred, const DimBindings *bindings,
                           const GivenValues *given, Progress *progress, Error *err)
{
    const Registry *registry = (*inferred)->registry;
    Arena *arena = (*inferred)->arena;
    for (size_t i = 0; i < sizeof rewrites / sizeof *rewrites; i++) {
        Graph *rewritten;
        if (!rewrites[i](*inferred, &rewritten, err))
            return false;
        if (!rewritten)
            continue;
        *graph = rewritten;
        *inferred =
            infer_watched(arena, rewritten, registry, bindings, given, false, progress, err);
        if (!*inferred)
            return false;
    }
    return true;
}
