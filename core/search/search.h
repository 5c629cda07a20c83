/* search.h - the plan of least cost on a mesh: which axes shard which index dims, with a proof.
 *
 *     SearchResult result;
 *     SearchRequest request = {.session = session, .max_peak_bytes = 75LL << 30};
 *     if (!search_plan(arena, &request, &result, &err)) ..
 *     session_apply(session, result.decisions, result.n_decisions, &err);
 *
 * The decisions of the session hold: its policy's and its user's pins are constraints, and what
 * they leave open is searched. The result is a list of decisions of origin ORIGIN_SEARCH; with
 * them added to the session's journal, plan_make() makes the plan whose cost is reported. Never
 * worse than the session's own plan, if that one is legal and within the limit.
 */
#ifndef CORE_SEARCH_SEARCH_H
#define CORE_SEARCH_SEARCH_H

#include "core/base/progress.h"
#include "core/session/session.h"

/* Called whenever the best plan or the bound changed; costs in microseconds. */
typedef void SearchReport(void *context, double cost_us, double bound_us);

typedef struct {
    const Session *session; /* model, mesh, machine, decisions; only read */
    int64_t max_peak_bytes; /* of a device; 0: no limit */
    double seconds;         /* 0: as long as it takes */
    bool unfold;            /* equal layers may be sharded differently */
    bool price_choices;     /* fill SearchDecision.next_us */
    bool price_pins;        /* fill SearchResult.pins */
    const Decision *seed;   /* decisions of a plan to begin with, or NULL; .. */
    int n_seed;             /* .. they are no constraints */
    Progress *progress;     /* its stop flag ends the search with the best so far; may be NULL */
    SearchReport *report;   /* may be NULL */
    void *context;
} SearchRequest;

typedef enum {
    SEARCH_PLAN,       /* decisions, cost */
    SEARCH_INFEASIBLE, /* no plan obeys all pins and limits: `conflict` */
    SEARCH_UNKNOWN     /* stopped before a plan within the limit was found */
} SearchOutcome;

/* What one node of the search decided, and for how many places. */
typedef struct {
    int32_t op;       /* the first op that it is about */
    int n_ops;        /* all ops that are sharded with it, those of equal layers too */
    OpCut cut;        /* of the first op */
    double next_us;   /* at least this much more if another choice is taken; NAN: not asked for;
                         INFINITY: there is no other */
    const char *next; /* that other choice in words; NULL */
} SearchDecision;

/* A pin or a limit and what it costs. */
typedef struct {
    int32_t decision; /* in the session's journal; -1: the limit of memory */
    double price_us;  /* cost with it minus cost without it */
} SearchPrice;

typedef struct {
    SearchOutcome outcome;
    const Decision *decisions; /* [n_decisions], to be added to the session's journal */
    int n_decisions;
    double cost_us;     /* of the plan, as plan_step_us() of core/cost/pipeline.h has it */
    double model_us;    /* of the same plan as the search adds it up (core/search/instance.h) */
    double bound_us;    /* no plan in the search's space has a smaller model_us */
    bool proven;        /* model_us meets the bound */
    int64_t peak_bytes; /* of the plan, on the device that needs most */
    double build_seconds, solve_seconds, seconds; /* the instance, the solver, everything */
    int n_nodes, n_edges;
    int64_t n_choices;
    int n_folded;                  /* layers tied to the first of their fold; 0: none */
    const char *seed;              /* "megatron": the plan is a shipped policy's, which no found one
                                      beats; NULL */
    const SearchDecision *by_node; /* [n_by_node], those with more than one choice */
    int n_by_node;
    const SearchPrice *pins; /* [n_pins] */
    int n_pins;
    const char *conflict; /* of SEARCH_INFEASIBLE: the smallest set that cannot be met, in words */
} SearchResult;

/* Everything in *result is in the arena. Returns false with *err if the model cannot be searched:
 * stages in the plan, an op without a legal choice (named). */
bool search_plan(Arena *arena, const SearchRequest *request, SearchResult *result, Error *err);

#endif
