/* lowering_free.c - where slots are freed.
 *
 * A slot belongs to the innermost region with all its uses. It is freed there after the last use,
 * or after the inner region of the last use, since that may be skipped or repeated. A loop ends at
 * NEXT or continues at BACK: slots live across NEXT are freed on both paths, and results of the
 * last iteration before the next one makes them.
 */
#include "core/run/lowering.h"

typedef struct {
    Lowering *l;
    int at;                /* the instruction that is looked at */
    int32_t *home;         /* per slot: region, -1: not used */
    int *last;             /* per slot: instruction */
    int32_t *first, *next; /* per instruction: first slot freed after it; per slot: the next one */
} Frees;

static void see(LowerSeeSlot *fn, void *context, int32_t slot, bool fills)
{
    if (slot >= 0)
        fn(context, slot, fills);
}

void lower_each_slot(const Lowering *l, const Instr *instr, LowerSeeSlot *fn, void *context)
{
    see(fn, context, instr->from, false);
    if (instr->kind == INSTR_OP) {
        const GraphOp *op = &l->graph->ops[instr->op];
        for (int i = 0; i < op->n_inputs + op->n_outputs; i++)
            see(fn, context, l->out->operand[op->input + i], i >= op->n_inputs);
    }
    if (instr->kind == INSTR_LOOP || instr->kind == INSTR_NEXT) {
        const ProgramLoop *loop = &l->out->loops[instr->body];
        see(fn, context, loop->counted, false);
        see(fn, context, instr->kind == INSTR_LOOP ? loop->begins : loop->goes_on, false);
    }
    if (instr->kind == INSTR_BACK) {
        const ProgramLoop *loop = &l->out->loops[instr->body];
        for (int m = loop->first_move; m < loop->first_move + loop->n_moves; m++) {
            see(fn, context, l->moves.at[m].from, false);
            see(fn, context, l->moves.at[m].to, true);
        }
    }
    see(fn, context, instr->slot, true);
}

static void find_home(void *context, int32_t slot, bool fills)
{
    Frees *f = context;
    (void)fills;
    int32_t region = f->l->instr_region.at[f->at];
    if (f->home[slot] < 0)
        f->home[slot] = region;
    while (!lower_is_inside(f->l, region, f->home[slot]))
        f->home[slot] = f->l->regions.at[f->home[slot]].parent;
}

static void find_last(void *context, int32_t slot, bool fills)
{
    Frees *f = context;
    (void)fills;
    int at = f->at;
    int32_t region = f->l->instr_region.at[at];
    while (region != f->home[slot]) {
        at = f->l->regions.at[region].end - 1;
        region = f->l->regions.at[region].parent;
    }
    if (at > f->last[slot])
        f->last[slot] = at;
}

static bool is_moved(const Frees *f, const Instr *back, int32_t slot)
{
    const ProgramLoop *loop = &f->l->out->loops[back->body];
    for (int m = loop->first_move; m < loop->first_move + loop->n_moves; m++)
        if (f->l->moves.at[m].from == slot)
            return true;
    return false;
}

/* Frees the slot on both paths from a NEXT: before BACK, and at the end of the loop. */
static void cross_next(Frees *f, int32_t slot)
{
    const Region *region = &f->l->regions.at[f->home[slot]];
    if (region->next < 0 || f->last[slot] < region->next)
        return;
    if (f->last[slot] < region->back)
        f->last[slot] = region->back;
}

static void find_places(Frees *f)
{
    Lowering *l = f->l;
    int n = l->instrs.n;
    for (int s = 0; s < l->slots.n; s++)
        f->home[s] = -1;
    for (f->at = 0; f->at < n; f->at++)
        lower_each_slot(l, &l->instrs.at[f->at], find_home, f);
    for (f->at = 0; f->at < n; f->at++)
        lower_each_slot(l, &l->instrs.at[f->at], find_last, f);
    for (int s = 0; s < l->slots.n; s++)
        if (f->home[s] >= 0)
            cross_next(f, s);
    for (int i = 0; i < l->graph->n_outputs; i++)
        f->last[l->out->output[i]] = n; /* kept */
    for (int i = 0; i < l->out->n_carried; i++)
        f->last[l->out->carried[i].from] = n;
    for (int i = 0; i < l->out->n_once; i++)
        f->last[l->instrs.at[i].slot] = n;
}

static void list_by_last(Frees *f)
{
    Lowering *l = f->l;
    f->first = arena_array(l->arena, int32_t, l->instrs.n + 1);
    f->next = arena_array(l->arena, int32_t, l->slots.n);
    for (int i = 0; i <= l->instrs.n; i++)
        f->first[i] = -1;
    for (int s = l->slots.n - 1; s >= 0; s--) {
        if (f->home[s] < 0)
            continue;
        f->next[s] = f->first[f->last[s]];
        f->first[f->last[s]] = s;
    }
}

static Instr free_of(int32_t slot)
{
    return (Instr){
        .kind = INSTR_FREE, .slot = slot, .from = -1, .op = -1, .reshard = -1, .body = -1};
}

/* Whether a value of an iteration may be read after the loop; the next iteration replaces it. */
static bool lives_across(const Frees *f, int back, int32_t slot)
{
    const Lowering *l = f->l;
    return f->home[slot] >= 0 && l->regions.at[l->slot_region.at[slot]].back == back &&
           f->last[slot] >= back && !is_moved(f, &l->instrs.at[back], slot);
}

void lower_frees(Lowering *l)
{
    Frees f = {.l = l};
    Vec(Instr) list = {0};
    int n = l->instrs.n;
    int32_t *place = arena_array(l->arena, int32_t, n + 1);
    f.home = arena_array(l->arena, int32_t, l->slots.n);
    f.last = arena_array(l->arena, int, l->slots.n);
    find_places(&f);
    list_by_last(&f);
    for (int i = 0; i < n; i++) {
        for (int32_t s = 0; l->instrs.at[i].kind == INSTR_BACK && s < l->slots.n; s++)
            if (lives_across(&f, i, s))
                vec_push(l->arena, &list, free_of(s));
        place[i] = list.n;
        vec_push(l->arena, &list, l->instrs.at[i]);
        for (int32_t s = f.first[i]; s >= 0; s = f.next[s])
            vec_push(l->arena, &list, free_of(s));
    }
    for (int i = 0; i < list.n; i++) {
        Instr *instr = &list.at[i];
        if (instr->kind == INSTR_BACK)
            instr->target = place[instr->target];
        else if (instr->kind >= INSTR_BRANCH && instr->kind != INSTR_COLLECT)
            instr->target = place[instr->target - 1] + 1;
    }
    l->out->instrs = list.at;
    l->out->n_instrs = list.n;
}
