/* whole_ask.h - an op of a model, its operands as they lie, asked: which row is taken.
 *
 * The operators that the op is (whole.h) are asked one after another. After a refusal it can be
 * asked how the program would go on once the fix is made.
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

/* By our operands; NULL: no tensor, or not read as one. */
typedef struct {
    const Placement **input, **output; /* [operand][axis]; inputs as they are fed */
    bool view_made;                    /* strided shards of the outputs are */
    bool composed;                     /* of several operators: only the first is fed as `input` */
    OpChoice choice;                   /* of several: their sum, the next best with one otherwise */
} WholeReply;

/* False with what strategy_answer() refuses. The reply is made in the arena. */
bool whole_ask(Arena *arena, const WholeQuestion *question, WholeReply *out, Error *err);

/* As torch moves inputs; where it would refuse too, with inputs replicated on an axis, from the
 * last one on, and at last on all. False: refused all the same. */
bool whole_ask_fixed(Arena *arena, const WholeQuestion *question, WholeReply *out);

#endif
