/* import_state.h - a graph being imported; for import*.c. */
#ifndef CORE_PEERS_SHARDY_IMPORT_STATE_H
#define CORE_PEERS_SHARDY_IMPORT_STATE_H

#include "core/peers/shardy/import.h"

typedef struct {
    Arena *arena;
    ImportedGraph *out;
    FactorGraph *graph;
    Error *err;
} Importer;

static inline FactorValue *import_value(const Importer *importer, int value)
{
    return &importer->graph->values.at[value];
}

static inline FactorOp *import_op(const Importer *importer, int op)
{
    return &importer->graph->ops.at[op];
}

bool import_is_scalar(const Importer *importer, int value);
int import_place(const Importer *importer, int op); /* in the order; -1: it was taken out */
int import_n_uses(const Importer *importer, int value);

/* A value like another, and an op at a place of the order; numbers. */
int import_add_value(Importer *importer, FactorValue value);
int import_add_op(Importer *importer, FactorOp op, int place);
void import_remove(Importer *importer, int place);

/* An op with an input and an output, of which the rule is the identity, right behind what makes
 * `value`; what it makes. */
int import_add_identity(Importer *importer, FactorOpKind kind, const char *name, int value,
                        const TensorSharding *sharding);
/* All uses of a value but those of one op, which may be -1. */
void import_replace_uses(Importer *importer, int value, int by, int except);

/* Where an op that stands right behind what makes a value goes; behind the region of that op. */
int import_place_after(const Importer *importer, int value);

void import_state_results(Importer *importer, int op);

void import_split_constants(Importer *importer);
void import_constraints(Importer *importer);
bool import_groups(Importer *importer);

#endif
