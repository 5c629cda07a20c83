#include "core/search/memo.h"

#include "core/plan/stage.h"

#define BYTES_MOST ((size_t)1 << 29) /* more is not kept for the next search */

SearchMemo *search_memo_new(void)
{
    Arena *root = arena_new();
    SearchMemo *memo = arena_make(root, SearchMemo);
    memo->root = root;
    return memo;
}

void search_memo_free(SearchMemo *memo)
{
    if (!memo)
        return;
    arena_free(memo->arena);
    arena_free(memo->prices_arena);
    arena_free(memo->root);
}

/* What the program computes, as far as costs depend on it. */
static uint64_t program_hash(const Inferred *inferred)
{
    uint64_t hash = (uint64_t)inferred->n_program;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        const GraphOp *at = &inferred->graph->ops[op];
        uint64_t key[] = {hash, (uint64_t)op, (uint64_t)at->op_type, (uint64_t)at->attrs,
                          (uint64_t)inferred->space[op]};
        hash = hash_bytes(key, sizeof key);
    }
    for (int s = 0; s < inferred->n_spaces; s++) {
        int64_t key[2 + X_MAX] = {(int64_t)hash, (int64_t)inferred->spaces[s]->flops};
        for (int j = 0; j < inferred->spaces[s]->n_index; j++)
            key[2 + j] = inferred->spaces[s]->index[j].size;
        hash = hash_bytes(key, sizeof key);
    }
    return hash;
}

static void begin_model(SearchMemo *memo)
{
    arena_free(memo->arena);
    Arena *arena = arena_new();
    *memo = (SearchMemo){.root = memo->root,
                         .prices_arena = memo->prices_arena,
                         .prices = memo->prices,
                         .arena = arena,
                         .sets = intern_new(arena),
                         .pins = intern_new(arena),
                         .layouts = intern_new(arena),
                         .costs = intern_new(arena),
                         .values = intern_new(arena),
                         .lefts = intern_new(arena)};
}

void search_memo_begin(SearchMemo *memo, const Session *session)
{
    uint64_t program = program_hash(session->inferred);
    AtomSet fixed = stages_atoms(session->plan);
    bool same_prices =
        memo->prices && prices_are_of(memo->prices, session->mesh, session->machine, fixed);
    if (!same_prices) {
        arena_free(memo->prices_arena);
        memo->prices_arena = arena_new();
        memo->prices = prices_new(memo->prices_arena, session->mesh, session->machine, fixed);
    }
    if (!same_prices || memo->inferred != session->inferred || memo->program != program ||
        arena_bytes(memo->arena) > BYTES_MOST)
        begin_model(memo);
    memo->inferred = session->inferred;
    memo->program = program;
}
