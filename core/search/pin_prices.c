#include "core/search/pin_prices.h"

#include "core/base/units.h"
#include "core/summary/label.h"

typedef struct {
    const SearchRequest *request;
    const Journal *journal;
    bool *lifted; /* [journal->n_done] */
    bool limit;   /* the limit holds */
    Error *err;
} Lifter;

static bool same_pin(const Decision *a, const Decision *b)
{
    return a->origin.kind == b->origin.kind && a->origin.line == b->origin.line &&
           str_eq(str_from(a->origin.file ? a->origin.file : ""),
                  str_from(b->origin.file ? b->origin.file : "")) &&
           (a->origin.line > 0 || str_eq(str_from(a->origin.text), str_from(b->origin.text)));
}

static bool is_pin(const Decision *decision)
{
    return decision->origin.kind != ORIGIN_SEARCH && decision_pins_dim(decision->kind);
}

/* The pins of the session, each with the first of its decisions; the limit last. */
static void list_pins(Arena *arena, const SearchRequest *request, PinPrices *out)
{
    const Journal *journal = &request->session->journal;
    Vec(PinPrice) found = {0};
    *out = (PinPrices){0};
    for (int i = 0; i < journal->n_done; i++) {
        const Decision *decision = &journal->decisions.at[i];
        int at = 0;
        if (!is_pin(decision) || (request->lifted && request->lifted[i]))
            continue;
        while (at < found.n && !same_pin(&journal->decisions.at[found.at[at].first], decision))
            at++;
        if (at == found.n)
            vec_push(arena, &found, ((PinPrice){.first = i}));
        assert(found.at);
        found.at[at].n++;
    }
    if (request->max_peak_bytes > 0)
        vec_push(arena, &found, ((PinPrice){.limit = true}));
    out->pin = found.at;
    out->n = found.n;
}

static void lift(Lifter *l, const PinPrice *pin, bool lifted)
{
    if (pin->limit) {
        l->limit = !lifted;
        return;
    }
    const Decision *first = &l->journal->decisions.at[pin->first];
    for (int i = pin->first; i < l->journal->n_done; i++)
        if (is_pin(&l->journal->decisions.at[i]) && same_pin(first, &l->journal->decisions.at[i]))
            l->lifted[i] = lifted;
}

/* The best plan under what is not lifted. */
static bool search_now(const Lifter *l, PinPrice *out)
{
    Arena *arena = arena_new();
    SearchRequest request = *l->request;
    SearchResult result;
    request.lifted = l->lifted;
    request.max_peak_bytes = l->limit ? request.max_peak_bytes : 0;
    request.price_choices = false;
    request.report = NULL;
    bool ok =
        search_plan(arena, &request, &result, l->err) && progress_goes_on(request.progress, l->err);
    if (ok) {
        out->outcome = result.outcome;
        out->cost_us = result.cost_us;
        out->bound_us = result.bound_us;
        out->peak_bytes = result.peak_bytes;
        out->proven = result.proven;
    }
    arena_free(arena);
    return ok;
}

static Lifter lifter_new(Arena *arena, const SearchRequest *request, Error *err)
{
    const Journal *journal = &request->session->journal;
    Lifter l = {request, journal, arena_array(arena, bool, journal->n_done),
                request->max_peak_bytes > 0, err};
    for (int i = 0; request->lifted && i < journal->n_done; i++)
        l.lifted[i] = request->lifted[i];
    return l;
}

static void step(const Lifter *l, int done)
{
    if (l->request->progress)
        atomic_store(&l->request->progress->done, done);
}

static bool price_pins(Arena *arena, const SearchRequest *request, PinPrices *out, Error *err)
{
    Lifter l = lifter_new(arena, request, err);
    list_pins(arena, request, out);
    progress_stage(request->progress, "searching without each pin", out->n + 1);
    for (int i = 0; i < out->n; i++) {
        lift(&l, &out->pin[i], true);
        if (!search_now(&l, &out->pin[i]))
            return false;
        lift(&l, &out->pin[i], false);
        step(&l, i + 1);
    }
    int n_pins = out->n - (request->max_peak_bytes > 0);
    for (int i = 0; i < n_pins; i++)
        lift(&l, &out->pin[i], true);
    out->all.n = n_pins > 1 ? n_pins : 0;
    return n_pins < 2 || search_now(&l, &out->all);
}

static bool find_conflict(Arena *arena, const SearchRequest *request, PinPrices *out, Error *err)
{
    Lifter l = lifter_new(arena, request, err);
    PinPrice tried;
    list_pins(arena, request, out);
    progress_stage(request->progress, "looking for what conflicts", 2 * out->n);
    for (int i = 0; i < out->n; i++) { /* a pin stays lifted if there is still no plan */
        lift(&l, &out->pin[i], true);
        if (!search_now(&l, &tried))
            return false;
        out->pin[i].conflict = tried.outcome != SEARCH_INFEASIBLE;
        if (out->pin[i].conflict)
            lift(&l, &out->pin[i], false);
        step(&l, i + 1);
    }
    l = lifter_new(arena, request, err);
    for (int i = 0; i < out->n; i++) {
        if (!out->pin[i].conflict)
            continue;
        lift(&l, &out->pin[i], true);
        if (!search_now(&l, &out->pin[i]))
            return false;
        lift(&l, &out->pin[i], false);
        step(&l, out->n + i + 1);
    }
    return true;
}

typedef bool PinQuestion(Arena *arena, const SearchRequest *request, PinPrices *out, Error *err);

/* The searches of one question share what choices cost. */
static bool ask(PinQuestion *question, Arena *arena, const SearchRequest *request, PinPrices *out,
                Error *err)
{
    SearchRequest with = *request;
    SearchMemo *own = request->memo ? NULL : search_memo_new();
    if (own)
        with.memo = own;
    bool ok = question(arena, &with, out, err);
    search_memo_free(own);
    return ok;
}

bool search_price_pins(Arena *arena, const SearchRequest *request, PinPrices *out, Error *err)
{
    return ask(price_pins, arena, request, out, err);
}

bool search_conflict(Arena *arena, const SearchRequest *request, PinPrices *out, Error *err)
{
    return ask(find_conflict, arena, request, out, err);
}

void pin_price_put(const SearchRequest *request, const PinPrice *price, Buf *out)
{
    if (price->limit) {
        buf_puts(out, "the limit of ");
        units_format_bytes(request->max_peak_bytes, out);
        buf_puts(out, " a device");
        return;
    }
    const Origin *origin = &request->session->journal.decisions.at[price->first].origin;
    label_origin(request->session->mesh, origin, out);
    if (price->n > 1)
        buf_printf(out, " and %d more", price->n - 1);
}
