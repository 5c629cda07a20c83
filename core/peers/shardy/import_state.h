/* import_state.h - a graph being imported; internal to import*.c. */
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

/* True when the op's name is among `names`, which are separated by spaces. */
static inline bool import_is_named(const FactorOp *op, const char *names)
{
    return str_has_word(str_from(names), str_from(op->op));
}

bool import_is_scalar(const Importer *importer, int value);
int import_place(const Importer *importer, int op); /* its position in the order; -1 if removed */
int import_n_uses(const Importer *importer, int value);

/* Add a value, and an op at a position of the order; return their numbers. */
int import_add_value(Importer *importer, FactorValue value);
int import_add_op(Importer *importer, FactorOp op, int place);
void import_remove(Importer *importer, int place);

/* Adds an op with the identity rule and `value` as input right after the producer of `value`;
 * returns its result. */
int import_add_identity(Importer *importer, FactorOpKind kind, const char *name, int value,
                        const TensorSharding *sharding);
/* Replaces all uses of a value except those by op `except`, which may be -1. */
void import_replace_uses(Importer *importer, int value, int by, int except);

/* Position right after the producer of a value and its region. */
int import_place_after(const Importer *importer, int value);

void import_state_results(Importer *importer, int op);

void import_split_constants(Importer *importer);
void import_constraints(Importer *importer);
bool import_groups(Importer *importer);

#endif
