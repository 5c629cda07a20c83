/* fuzz_filter.c - any text as a filter, as a pattern to search for, and as something to complete:
 * an error, or the same answer twice. */
#include "tests/fuzz/tiny_gpt.h"

#include "tui/state/filter.h"
#include "tui/state/search.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Session *session;
static Comm *comm;
static uint8_t *tagged;

static void open_once(void)
{
    session = open_tiny_gpt();
    comm = comm_new(session);
    tagged = arena_array(session->model_arena, uint8_t, session->graph->n_ops);
    tagged[session->inferred->program[3]] = 1;
}

static int count(Filter *filter)
{
    int n = 0;
    for (int i = 0; i < session->inferred->n_program; i++)
        n += filter_op(filter, session->inferred->program[i]);
    for (int32_t r = 0; r < session->plan->moved->n_reshards; r++)
        n += filter_reshard(filter, r);
    for (int i = 0; i < session->graph->n_inputs; i++)
        n += filter_input(filter, session->graph->inputs[i]);
    return n;
}

static void try_filter(const FilterSource *source, Str text)
{
    Error err = {0};
    Filter *filter = filter_new(source, text, &err);
    if ((filter == NULL) != error_is_set(&err))
        wrong("a filter that is neither there nor refused");
    if (filter && count(filter) != count(filter))
        wrong("a filter that answers in two ways");
    filter_free(filter);
}

static void try_search(Str text)
{
    Error err = {0};
    Search *search = search_new(text, &err);
    const Hit *hits;
    if ((search == NULL) != error_is_set(&err))
        wrong("a search that is neither there nor refused");
    if (!search)
        return;
    Hit near;
    SearchNear how = search_near(search, session, 0, 1, &near);
    int n = search_hits(search, session, &hits);
    for (int i = 1; i < n; i++)
        if (hits[i].place < hits[i - 1].place)
            wrong("hits that are not in order");
    int from = search_from(search, session, 0, 1);
    if ((from < 0) != (n == 0))
        wrong("a hit that is not found");
    if (how == NEAR_FOUND ? from < 0 || hits[from].place != near.place : how == NEAR_NONE && n > 0)
        wrong("the nearest hit is another one");
    search_free(search);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ChangedOps unchanged;
    if (!session)
        open_once();
    FilterSource source = {session, comm, tagged, &unchanged};
    Arena *arena = arena_new();
    Str text = {arena_str(arena, (Str){(const char *)data, size}), size};
    Buf completed = buf_new(arena), choices = buf_new(arena);
    try_filter(&source, text);
    filter_complete(&source, text, &completed, &choices);
    try_search(text);
    arena_free(arena);
    return 0;
}
