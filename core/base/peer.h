/* peer.h - what another system (Shardy, Paddle, torch, nnScaler, Tapestry) adds to the program.
 *
 * A peer is a room of its own, core/peers/NAME, which can be left out of the build: `make
 * PEERS="shardy paddle"`. The rooms below know no peer by name; each reads the tables of its own
 * kind from `built_peers`. A table is ended by a row without a name; NULL: the peer adds nothing
 * there.
 */
#ifndef CORE_BASE_PEER_H
#define CORE_BASE_PEER_H

struct Arena;

typedef struct Peer {
    const char *name;                            /* "paddle" */
    const struct Propagator *const *propagators; /* core/plan/propagator.h; ended by NULL */
    const struct Operator *operators;            /* core/rules/registry.h */
    const struct Notation *notations;  /* core/rules/notation.h: ways to print an op space */
    const struct EvalVerb *eval_verbs; /* core/base/eval.h */
    const struct Planner *planners;    /* core/reshard/compare.h: ways to make a reshard */
    const struct PinsForm *pins;       /* core/session/pins_read.h: texts with shardings */
    const struct RuleReport *reports;  /* core/prove/rule_report.h: of one op, for `rule` */
    const struct ExportFormat *code;   /* core/code/code.h: the plan as the system's program */
    const struct ModelReader *readers; /* core/model/reader.h: kinds of model files */
    /* Creates the store for what policies register with the system; it is kept in the RuleBook.
     * NULL if they cannot register anything. */
    void *(*rules_new)(struct Arena *arena);
    int (*n_rules)(const void *rules); /* how many are registered */
} Peer;

/* The peers that are built in, ended by NULL: core/peers/peers.c. */
extern const Peer *const built_peers[];

/* What every peer offers, built in or not, so that an error can name what this program was built
 * without. The table ends with a row without a name. */
typedef struct {
    const char *name;
    const char *propagators; /* "strategy:torch strategy:vescale"; "" if it has none */
    const char *endings;     /* of model files that it reads, ".pt2 .graph.json"; NULL: of none */
    const char *exports;     /* names of its ExportFormats, "dtensor vescale"; "" if it has none */
} KnownPeer;
extern const KnownPeer known_peers[];

#endif
