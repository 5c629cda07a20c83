/* whole_ask.h - applies strategies to an op of the model with the current placements of its
 * operands.
 *
 * The torch operators of the op (whole.h) are answered one after another. After a refusal,
 * whole_ask_fixed() tells how the program continues once the fix is made.
 */
#ifndef CORE_PEERS_TORCH_WHOLE_ASK_H
#define CORE_PEERS_TORCH_WHOLE_ASK_H

#include "core/plan/plan.h"
#include "core/peers/torch/lay.h"
#include "core/peers/torch/whole.h"

typedef struct {
    const Inferred *inferred;
    const Strategies *strategies;
    Lays *lays;
    const WholeCall *call;
    int32_t op;
    const int32_t *given; /* lays of the op's inputs; LAY_NONE */
    StrategyProfile profile;
    bool no_redistribute;
} WholeQuestion;

/* By our operands; NULL for what is no tensor in torch. */
typedef struct {
    const Placement **input, **output; /* [operand][axis]; inputs as needed */
    bool view_made;                    /* strided shards of the outputs come from a view */
    bool composed;                     /* several operators: `input` is that of the first use */
    OpChoice choice; /* for several operators the sum; the next best differs in one */
} WholeReply;

/* Fails like strategy_answer(). The reply is in the arena. */
bool whole_ask(Arena *arena, const WholeQuestion *question, WholeReply *out, Error *err);

/* Answers with redistribution allowed; if still refused, with inputs replicated on one axis, from
 * the last, and finally on all. Returns false if always refused. */
bool whole_ask_fixed(Arena *arena, const WholeQuestion *question, WholeReply *out);

#endif
