/* completion.h - dims_mappings of a whole program from those of a few tensors, as Paddle completes
 * a static program: forward and backward sweeps over tensors and ops until nothing changes.
 *
 * A tensor has a mapping, and so has every operand of every op. They meet in two places:
 *
 *     tensor    forward: with its maker's result; backward: with the operands of all its readers
 *     op        takes what its inputs (backward: its outputs) are, then asks its rule, forward and
 *               backward both; what the two say of an operand is put together
 *
 * Put together means compatible(): dim by dim, no axes yield to axes, equal ones stay; where two
 * differ, or a tensor's axis would split two dims, nothing changes at all. So whoever comes first
 * keeps it. A mark stops its tensor, or operand, from taking anything; a rule's answer is taken all
 * the same. What loops carry, one tensor before and one after an iteration, is put together after
 * each sweep. At the end every tensor is as its maker's result, marks too: who reads it otherwise
 * must reshard.
 *
 * Some answers upstream takes back, having no kernel for an op split so: a product split by k and
 * by n, a sum over split dims unless over all, a softmax along a split dim. The op then stays as it
 * was before the visit. A rule that refuses stops upstream; here the op keeps what it has.
 *
 * Dims split by several axes are for marks that do so: without one, of a rule's lists the largest
 * axis is taken, as upstream does.
 *
 * An operand that a rule narrows takes the axis again in the next sweep, for ever; upstream then
 * stops after 500 double sweeps. Here it ends when a double sweep ends as the one before did, which
 * gives the same. Partial is what forward rules say of outputs; nothing reads a partial value.
 *
 * Constants do not take part: every rank has its part of them. Nor do ops that nobody can cut.
 * Source: PaddlePaddle 3.3.1, distributed/auto_parallel/static/completion.py.
 */
#ifndef CORE_PEERS_PADDLE_COMPLETION_H
#define CORE_PEERS_PADDLE_COMPLETION_H

#include "core/propagate/engine.h"
#include "core/peers/paddle/op_answer.h"

enum { COMPLETION_STEPS_MAX = 500 };

/* Passes of the log. */
enum { COMPLETION_SWEEP, COMPLETION_MAKERS };

typedef struct Completion Completion;

/* Nothing is marked. rules may be NULL: those built in only. */
Completion *completion_new(Arena *arena, const Inferred *inferred, const Mesh *mesh,
                           const SpmdRules *rules);

/* Marks a tensor, with one list of axes a dim. open: it may still take more. False: the axes are no
 * mapping of it, or it takes no part. */
bool completion_mark_tensor(Completion *completion, int32_t tensor, const SpmdAxes *dim, bool open);
/* The same of an operand of an op (inputs, then outputs). */
bool completion_mark_operand(Completion *completion, int32_t op, int operand, const SpmdAxes *dim);

/* Told of the run to come; when it says stop the run ends early. */
void completion_watch(Completion *completion, Progress *progress);
void completion_run(Completion *completion);

/* ---- after it ---- */
int completion_steps(const Completion *completion); /* double sweeps */
bool completion_settled(const Completion *completion);

int32_t completion_tensor(const Completion *completion, int32_t tensor); /* id; -1: no part in it */
int32_t completion_operand(const Completion *completion, int32_t op, int operand);
/* As the tensor was before it became what its maker makes. */
int32_t completion_wanted(const Completion *completion, int32_t tensor);
SpmdMapping completion_mapping(const Completion *completion, int32_t id);

/* Axes, as bits, over which the op's outputs are partial. */
unsigned completion_partial(const Completion *completion, int32_t op);

const SpmdOpCall *completion_call(const Completion *completion, int32_t op); /* NULL: no part */
/* What the rule as upstream has it said when it would not answer, in the last double sweep; NULL:
 * it answered. */
const char *completion_refusal(const Completion *completion, int32_t op);
/* Upstream cannot split the op as its rule said, so it stayed as it was before; likewise. */
bool completion_is_rejected(const Completion *completion, int32_t op);

/* What happened, in order. An event is about a tensor, which became mapping `after` by an operand
 * of op; or about an op (tensor -1), whose operands became state `after`. Marks are events of
 * PASS_SET.
 */
typedef struct {
    const FlowEvent *event;
    const FlowTurn *turn;
    int n_events, n_turns;
} CompletionLog;

CompletionLog completion_log(const Completion *completion);
const int32_t *completion_state(const Completion *completion, int32_t state); /* mappings */

#endif
