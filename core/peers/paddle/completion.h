/* completion.h - completes the dims_mappings of a program from those of a few tensors, as Paddle
 * does for static programs: forward and backward sweeps over tensors and ops until nothing changes.
 *
 * Every tensor has a mapping, and so has every operand of every op. They are combined in two
 * places:
 *
 *     tensor    forward: with the result of its producer; backward: with the operands of all
 * readers op        gets the mappings of its inputs (backward: its outputs), then applies its
 * forward and               backward rules and combines their answers for each operand
 *
 * Mappings are combined dim by dim as in Paddle's compatible(): a dim without axes gets those of
 * the other mapping, equal axes stay. If two dims differ, or an axis would split two dims of a
 * tensor, nothing changes, so the first mapping wins. A marked tensor or operand keeps its mapping,
 * except that a rule's answer replaces it. The two tensors that a loop carries, before and after an
 * iteration, are combined after each sweep. At the end every tensor, marked ones too, gets the
 * mapping of its producer's result; readers that need another one must reshard.
 *
 * Paddle discards some answers because it has no kernel for them: a product split by both k and n,
 * a sum over some split dims, a softmax along a split dim. The op then keeps its mappings from
 * before the visit. A rule that refuses stops Paddle's completion; here the op keeps its mappings.
 *
 * Several axes on a dim are used only if a mark does so; otherwise the largest axis of a rule's
 * list is used, as in Paddle.
 *
 * An operand from which a rule removes an axis gets it back in the next sweep, endlessly; Paddle
 * stops after 500 double sweeps. Here completion ends when a double sweep ends like the one before,
 * which gives the same result. Outputs are partial as forward rules answer; nothing reads a partial
 * value.
 *
 * Constants that have no mark are left out, because every rank has them, and so are ops that cannot
 * be sharded.
 * Source: PaddlePaddle 3.3.1, distributed/auto_parallel/static/completion.py.
 */
#ifndef CORE_PEERS_PADDLE_COMPLETION_H
#define CORE_PEERS_PADDLE_COMPLETION_H

#include "core/peers/paddle/mapping.h"
#include "core/propagate/engine.h"
#include "core/peers/paddle/op_answer.h"

enum { COMPLETION_STEPS_MAX = 500 };

/* Passes of the log. */
enum { COMPLETION_SWEEP, COMPLETION_MAKERS };

typedef struct Completion Completion;

/* Makes a completion without marks. rules may be NULL: built-in rules only. */
Completion *completion_new(Arena *arena, const Inferred *inferred, const Mesh *mesh,
                           const SpmdRules *rules);

/* Marks a tensor with one list of axes a dim. open: it may still get more axes. Returns false if
 * the axes are not a valid mapping or the tensor is left out. */
bool completion_mark_tensor(Completion *completion, int32_t tensor, const SpmdAxes *dim, bool open);
/* Marks an operand of an op (inputs, then outputs) in the same way. */
bool completion_mark_operand(Completion *completion, int32_t op, int operand, const SpmdAxes *dim);

/* Sets the progress of the next run, which may cancel it. */
void completion_watch(Completion *completion, Progress *progress);
void completion_run(Completion *completion);

/* ---- results ---- */
int completion_steps(const Completion *completion); /* double sweeps */
bool completion_settled(const Completion *completion);

int32_t completion_tensor(const Completion *completion, int32_t tensor); /* id; -1 if left out */
int32_t completion_operand(const Completion *completion, int32_t op, int operand);
/* The mapping of the tensor before it became that of its producer's result. */
int32_t completion_before_makers(const Completion *completion, int32_t tensor);
SpmdMapping completion_mapping(const Completion *completion, int32_t id);

/* Axes, as bits, over which the op's outputs are partial. */
unsigned completion_partial(const Completion *completion, int32_t op);

const SpmdOpCall *completion_call(const Completion *completion, int32_t op); /* NULL if left out */
/* Message of Paddle's rule when it refused in the last double sweep, or NULL. */
const char *completion_refusal(const Completion *completion, int32_t op);
/* True if Paddle discarded the answer of the op's rule in the last double sweep. */
bool completion_is_rejected(const Completion *completion, int32_t op);

/* The events in order. Either a tensor got mapping `after` from an operand of op, or (tensor -1)
 * the operands of an op became state `after`. Marks are events of PASS_SET.
 */
typedef struct {
    const FlowEvent *event;
    const FlowTurn *turn;
    int n_events, n_turns;
} CompletionLog;

CompletionLog completion_log(const Completion *completion);
const int32_t *completion_state(const Completion *completion, int32_t state); /* mappings */

#endif
