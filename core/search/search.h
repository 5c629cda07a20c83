/* search.h - the plan of least cost on a mesh: which axes shard which index dims, with a proof.
 *
 *     SearchResult result;
 *     SearchRequest request = {.session = session, .max_peak_bytes = 75LL << 30};
 *     if (!search_plan(arena, &request, &result, &err)) ..
 *     session_apply(session, result.decisions, result.n_decisions, &err);
 *
 * The decisions of the session hold: its policy's and its user's pins are constraints, and what
 * they leave open is searched. Those of an earlier search do not. The result is a list of decisions
 * of origin ORIGIN_SEARCH, of which the first take those of an earlier search away; with them added
 * to the session's journal, plan_make() makes the plan whose cost is reported. Never worse than the
 * plan of the decisions that hold, if that one is legal and within the limit.
 *
 * It may run on a thread of its own while the session stays as it is.
 *
 * What is minimised is plan_step_us() of core/cost/pipeline.h. Without a schedule that is the sum
 * of ops and collectives, one behind the other. Under a schedule the stages and the order of their
 * blocks are given, and each stage's time counts as often as the longest path of blocks has it
 * (stage_weights.h). That sum differs from the step by what schedule_parts.h says, so each answer
 * is planned, and the best is the one whose plan takes least. The bound is one for plans' steps: it
 * counts sends and traffic of parameters at the least that they take, so that a gap may remain.
 */
#ifndef CORE_SEARCH_SEARCH_H
#define CORE_SEARCH_SEARCH_H

#include "core/base/progress.h"
#include "core/search/memo.h"
#include "core/search/schedule_parts.h"
#include "core/session/session.h"

/* Called whenever the best plan or the bound changed; costs in microseconds. */
typedef void SearchReport(void *context, double cost_us, double bound_us);

typedef struct {
    const Session *session; /* model, mesh, machine, decisions; only read */
    const bool *lifted;     /* [journal.n_done]: decisions that do not hold; NULL: all do */
    const bool *holes;      /* [ops of the graph]: ops that are searched, with the parameters and
                               inputs that they read; all others stay as in the session's plan.
                               NULL: all */
    int64_t max_peak_bytes; /* of a device; 0: no limit */
    double seconds;         /* 0: as long as it takes */
    double gap;             /* ends when the bound is within this share of the best; 0: at the
                               proof */
    bool unfold;            /* equal layers may be sharded differently; where a limit is felt, to a
                               gap of 0.1% within what the limit tells */
    bool price_choices;     /* fill `by_op`, where no limit of memory is felt */
    bool price_later;       /* keep what search_price_choices() needs, which is many times what is
                               returned */
    int64_t together_most;  /* as of InstanceOptions (instance.h), at first; 0: TOGETHER_MOST */
    SearchMemo *memo;       /* of earlier searches, kept for this one; may be NULL */
    Progress *progress;     /* its stop flag ends the search with the best so far; may be NULL */
    SearchReport *report;   /* may be NULL */
    void *context;
} SearchRequest;

typedef enum {
    SEARCH_PLAN,       /* decisions, cost */
    SEARCH_INFEASIBLE, /* no plan obeys all pins and limits: `conflict` */
    SEARCH_UNKNOWN     /* no plan within the limit was found, nor that there is none */
} SearchOutcome;

/* An op that decisions are about, and what another choice would cost. */
typedef struct {
    int32_t op;     /* the first of those that are sharded alike; -1: it is about .. */
    int32_t tensor; /* .. how an input or parameter is stored or given, else -1 */
    int n_ops;      /* all of them: those of equal layers */
    double next_us; /* the best plan in which it is cut otherwise takes at least so much more;
                       INFINITY: there is none */
} SearchDecision;

typedef struct {
    SearchOutcome outcome;
    const Decision *decisions; /* [n_decisions], to be added to the session's journal */
    int n_decisions, n_lifted; /* n_lifted: those that take an earlier search away, the first */
    double cost_us;            /* of the plan, its totals.step_us */
    double sum_us;             /* of the plan, its ops and moves one behind the other, all stages */
    ScheduleParts parts; /* of cost_us. Of a plan without a schedule model_us is what the search
                        adds up (core/search/instance.h), sum_us if it models all of the plan */
    double bound_us;     /* no plan in the search's space has a smaller cost_us, as far as
                            core/search/instance.h models it */
    bool proven; /* cost_us meets the bound: not where the plan has moves that the model prices
                    higher */
    int64_t peak_bytes; /* of the plan, on the device that needs most */
    double before_us;   /* of the plan of the decisions that hold alone */
    int64_t before_bytes;
    double build_seconds, solve_seconds, seconds; /* the instance, the solver, everything */
    int n_nodes, n_edges;
    int64_t n_choices;
    int n_folded;                /* layers tied to the first of their fold; 0: none */
    const SearchDecision *by_op; /* [n_by_op]: in program order */
    int n_by_op;
    const int32_t *price_of; /* [n_decisions]: in by_op, or -1; NULL: nothing is priced */
    bool coarse;             /* so many choices that they were not all priced in time: those of
                                whole axes alone, without moves that readers share; no bound */
    int64_t smallest_bytes;  /* the least peak of the plans tried; 0: none was */
    bool time_over; /* of SEARCH_UNKNOWN: its time was over, or that of the solver; false: plans
               need what the choices do not tell, buffers of moves, so that neither a plan
               nor a proof was found */
    const char *conflict;          /* of SEARCH_INFEASIBLE: what cannot be met, in words */
    struct SearchPricing *pricing; /* private, of price_later; NULL: there is nothing to price */
} SearchResult;

/* Fills by_op and price_of of a result of search_plan() whose arena still lives: each decision
 * about a cut, a parameter, an input or a sum against the best plan in which that is otherwise. In
 * the arena. It takes at most 5 s, and ends early if the progress is stopped: what is not known
 * then, or within a second, has no price. Nothing where a limit of memory is felt, or the result is
 * not proven. */
void search_price_choices(Arena *arena, SearchResult *result, Progress *progress);

/* "otherwise at least +14.6 ms", "otherwise no plan" */
void search_put_price(const SearchDecision *price, Buf *out);

/* Everything in *result is in the arena. Pins that no plan keeps are findings of the session's
 * plan, and are left out; every op has a choice, if only to be whole. Returns false with *err if
 * the model cannot be searched: ops on parts of the mesh without a schedule, another propagator. */
bool search_plan(Arena *arena, const SearchRequest *request, SearchResult *result, Error *err);

#endif
