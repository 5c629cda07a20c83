#include "core/propagate/rings.h"

/* A cut that a pin asks for in place of another one. */
typedef struct {
    int32_t of, dim;
    Cut cut;
} RingCut;

void rings_put(const Plan *plan, Propagated *out, int32_t first, int32_t end)
{
    const Decided *decided = plan->decided;
    if (decided->n_rings == 0)
        return;
    Arena *scratch = arena_new();
    Intern *known = intern_new(scratch);
    int n_cuts = out->n_cuts;
    const OpCut **cuts = arena_array(plan->arena, const OpCut *, n_cuts + decided->n_rings);
    if (n_cuts > 0)
        memcpy(cuts, out->cuts, sizeof *cuts * (size_t)n_cuts);
    for (int i = 0; i < decided->n_rings; i++) {
        const Decision *pin = decided->rings[i];
        int32_t of = pin->place < first || pin->place >= end ? -1 : out->cut[pin->place];
        if (of < 0 || !cut_is_whole(&cuts[of]->index[pin->dim]))
            continue;
        RingCut *key = arena_make(scratch, RingCut);
        key->of = of;
        key->dim = pin->dim;
        key->cut = *decision_cut(pin);
        int32_t id = intern_put(known, key, sizeof *key);
        if (n_cuts == out->n_cuts + id) {
            OpCut *cut = arena_make(plan->arena, OpCut);
            *cut = *cuts[of];
            cut->index[pin->dim] = key->cut;
            cuts[n_cuts++] = cut;
        }
        out->cut[pin->place] = out->n_cuts + id;
    }
    out->cuts = cuts;
    out->n_cuts = n_cuts;
    arena_free(scratch);
}
