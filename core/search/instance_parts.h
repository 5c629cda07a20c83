/* instance_parts.h - private to the files that make instances: instance.c, instance_nodes.c,
 * instance_ops.c, instance_reads.c, instance_values.c, instance_demands.c, instance_moves.c,
 * instance_parameters.c.
 */
#ifndef CORE_SEARCH_INSTANCE_PARTS_H
#define CORE_SEARCH_INSTANCE_PARTS_H

#include "core/base/intern.h"
#include "core/cost/cost.h"
#include "core/search/instance.h"
#include "core/solve/clock.h"

/* In place of an operand: the atoms by which the op is cut, not a sharding. Added to an input: as
 * it is read with the borders of the neighbours' parts; and where as few bytes are read as the cut
 * allows, however the value lies. */
enum { USED = -1, WITH_HALOS = 1 << 28, LEAST_READ = 1 << 29 }; /* more than operands of any op */

/* Sets of sets of parts, as bits: partial values are followed over at most so many axes, or parts
 * of axes over which some cut leaves a value partial. */
enum { PASS_PARTS_MAX = 6 };
typedef uint64_t PartSets;

typedef struct {
    Instance *to;
    const InstanceOptions *options;
    Arena *scratch;
    SolveClock clock;   /* when it stops: what is made then is not whole */
    AtomSet barred;     /* they tell devices of stages apart, and shard nothing */
    int32_t *n_readers; /* per tensor: operands of program ops that are it */
    AtomSet part[PASS_PARTS_MAX];
    int n_parts;
    PartSets *partial; /* per tensor: over which sets of parts it may be partial */
    Intern *summed;    /* (sharding, atoms): with those atoms partial */
    Vec(int32_t) sum_at;
    Vec(int64_t) local;     /* per sharding: elements on rank 0, plus 1; 0: not known */
    const Machine *machine; /* asked about last, and its number among the prices */
    int32_t machine_id;
} Making;

/* What tells an op of a node from the others through which partial values may pass. */
static inline int32_t making_slot(const Inferred *inferred, int32_t op)
{
    bool again = inferred->graph->phase && inferred->graph->phase[op] == PHASE_AGAIN;
    return inferred->space[op] << 1 | again;
}

/* False with ERROR_CANCELLED once its time is over. */
static inline bool making_goes_on(Making *m, Error *err)
{
    return !solve_stopped(&m->clock) || error_kind(err, ERROR_CANCELLED, "stopped");
}

/* An operand of an op that reads the value. */
typedef struct {
    int32_t node, space, operand, phase, slot; /* slot: making_slot(), or -1: nothing passes */
    int32_t linear, leaf, sum;
} InstanceRead;

enum { READ_WORDS = sizeof(InstanceRead) / sizeof(int32_t) };

/* A value, and where it is from: what equal layers share. */
typedef struct {
    int32_t tensor; /* the first of those alike */
    int32_t node, space, operand, slot, how;
    int32_t pins; /* how it is pinned, a number in the memo */
    int n_reads;
    const InstanceRead *reads;
    int32_t machine; /* on which it is moved: a number of the prices */
    double repeat;   /* how often it is made: in a loop, more than once */
    MoveWeights at;  /* as in PlacedTable, by when it is moved */
    bool joins;      /* the least is that of moves joined with others */
    bool gradient;   /* of a parameter */
} Carried;

/* How what an op makes becomes what readers find. */
enum { AS_MADE, REDUCED, AS_STORED, PINNED };

/* A move that a reader asks for. */
typedef struct {
    int32_t target, other, phase; /* other: the cheaper of the two is made; -1: there is none.
                                     phase 0: one move serves all */
    int time;                     /* when it is made if it serves this reader alone */
} Demand;

enum { DEMANDS_MAX = 16 };

typedef struct {
    int n;
    Demand at[DEMANDS_MAX];
    bool forbidden;
} Demands;

/* Choices of a node that are alike to a value. */
typedef struct {
    int n;
    int32_t *of;    /* per choice: its class */
    int32_t *first; /* per class: a choice */
    bool *left;     /* per class: whether a choice of it may matter */
} ChoiceClasses;

/* The reads of one node, and its choices by what they need. */
typedef struct {
    int32_t node, role;
    int n;
    const InstanceRead **read;
    ChoiceClasses classes;
} MoveReader;

int32_t making_with_sums(Making *m, int32_t sharding, AtomSet atoms);
int64_t making_local(Making *m, int32_t sharding); /* elements on rank 0 */

int32_t making_add_node(Making *m, SearchNode node);
void making_begin_costs(Making *m, SearchNode *node); /* all 0 */

/* The pin of how a dim of a value is used; NULL. What runs again is pinned as what it is a copy of
 * (core/propagate/step_cuts.c). */
const Decision *making_use_pin(const Making *m, int32_t tensor, int dim);

/* A number that equally pinned tensors share; 0: no pin says how it lies or is used. */
int32_t making_pins_of(const Making *m, Intern *pins, int32_t tensor);
/* On which machine of the prices an op runs; of several kinds where its devices are. */
int32_t making_machine(Making *m, int32_t op);
/* Whether an op may pass on that input partial, whatever the cuts are. */
bool making_may_pass(const Making *m, int32_t op, int operand, bool *leaf);

/* instance_nodes.c: nodes for ops of the forward pass and for sums of gradients. False with *err.
 */
bool making_op_nodes(Making *m, Error *err);
void making_sum_nodes(Making *m);
/* instance_parameters.c */
void making_tensor_nodes(Making *m);
/* instance_reads.c: how ops read values, as core/plan/edges.c has it. Of an input of windows or of
 * a part of a dim that depends on how the value lies. */
bool making_reads_as_it_lies(const OpSpace *space, int operand);
bool making_reads_parts(const OpSpace *space, int operand);
/* Changes an operand as a cut has it to one of the above; how is WITH_HALOS or LEAST_READ. */
void making_read_less(const OpSpace *space, const OpCut *cut, int operand, const Mesh *mesh,
                      int how, Sharding *as);
/* The operand as it is read of a value that lies as `has`. *other: the whole of a dim instead, if a
 * plan takes the cheaper of the two; -1: it does not. */
int32_t making_read_as(Making *m, const InstanceRead *read, int32_t has, int32_t choice,
                       int32_t *other);
/* instance_ops.c: op times where each operand is read as LEAST_READ has it */
void making_op_costs(Making *m);
/* The same of one choice with an operand that is read so; operand -1: none. The pricer is made when
 * all shardings are known. */
double making_op_us(Making *m, const OpPricer *pricer, int32_t op, int32_t choice, int operand,
                    int32_t as);
/* instance_demands.c: a value as its op makes it under a choice, and as readers find it. */
void making_found_as(Making *m, const Carried *value, int32_t choice, int32_t *made, int32_t *has);
/* What a choice of a reader asks for where it finds the value so. */
Demands making_demands(Making *m, const Carried *value, const MoveReader *reader, int32_t has,
                       int32_t choice);
/* Whether the reader's needs are what the parameter was taken to be used as. alone: it is the only
 * reader; then the parameter is whole only if its own needs differ. */
bool making_agrees(Making *m, const Carried *value, const MoveReader *reader, bool alone,
                   int32_t made, int32_t choice);
/* Choices of the maker by how the value is found; the readers, by node, with theirs by what they
 * need; every choice for itself. `first` and `left` are scratch. */
ChoiceClasses making_found_classes(Making *m, const Carried *value);
MoveReader *making_readers(Making *m, const Carried *value, const int32_t *nodes, int *n);
ChoiceClasses making_each(Making *m, int32_t n);
/* instance_moves.c: in the memo; nodes: by role. joined: moves as parts of larger ones (prices.h).
 * Not whole if the clock stopped it. */
const ValueTables *making_tables(Making *m, const Carried *value, const int32_t *nodes,
                                 bool joined);
/* instance_values.c: whether what readers pay to have the value is known; else it is as they need
 * it. */
bool making_is_carried(const Making *m, int32_t tensor);
bool making_costs(Making *m, Error *err);

#endif
