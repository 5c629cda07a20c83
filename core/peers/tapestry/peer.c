/* peer.c - the room of Tapestry: metakernel templates as a notation and as verbs of eval. */
#include "core/peers/peers.h"

#include "core/peers/tapestry/eval_template.h"
#include "core/rules/notation.h"

/* Prints the template. Returns whether it expresses every cut; what it cannot say about partial
 * values does not count. */
static bool print_template(const OpSpace *space, Buf *out, Buf *lost)
{
    OpSpace plain = *space;
    Buf unused = buf_new(out->arena), beside = buf_new(out->arena);
    int n = space->n_inputs + space->n_outputs;
    plain.operand = arena_array(out->arena, Operand, n);
    for (int i = 0; i < n; i++) {
        plain.operand[i] = space->operand[i];
        plain.operand[i].linear = LINEAR_NO;
        plain.operand[i].once = false;
    }
    return template_print(space, out, lost) || template_print(&plain, &unused, &beside);
}

static const Notation notations[] = {{"template", 'm', print_template}, {0}};

static const EvalVerb eval_verbs[] = {
    {"template.", eval_template},
    {"ipf.", eval_ipf},
    {"range.", eval_range},
    {0},
};

const Peer peer_tapestry = {
    .name = "tapestry",
    .notations = notations,
    .eval_verbs = eval_verbs,
};
