/* published_differs.c - why what a calculator says differs from the plan: a row a reason, with what
 * has to hold of the sizes for it to count. */
#include "core/summary/published.h"

#include <math.h>

enum {
    TENSOR = 1 << 0, /* tp > 1 */
    STAGES = 1 << 1,
    CUT = 1 << 2,    /* by tp or by stages */
    UNEVEN = 1 << 3, /* stages of different numbers of layers */
    FEW = 1 << 4,    /* micro-batches, fewer than stages */
    TURNS = 1 << 5,  /* several stages a device */
    NO_ZERO_2 = 1 << 6,
    ZERO_2 = 1 << 7,
    ZERO_3 = 1 << 8,
    GATED = 1 << 9,
    GROUPED = 1 << 10,
    FLASH = 1 << 11,
    EAGER = 1 << 12,
    ALL_KEPT = 1 << 13,
    FULL = 1 << 14,
    WHOLE_SEQUENCE = 1 << 15, /* between sharded matmuls */
    NO_DROPOUT = 1 << 16,
    UNTIED = 1 << 17,
    EXPERTS = 1 << 18,
    CONTEXT = 1 << 19,
    SHORT_GRADIENTS = 1 << 20,
    SHARDED_SEQUENCE = 1 << 21,
    NOT_SELECTIVE = 1 << 22,
    NO_ZERO = 1 << 23,
    COPIES = 1 << 24 /* of each stage there are two */
};

static unsigned holds(const PublishedSizes *n)
{
    bool partly = n->selective || n->full;
    return (n->t > 1 ? TENSOR : 0u) | (n->p > 1 ? STAGES : 0u) | (n->t * n->p > 1 ? CUT : 0u) |
           (fmod(n->layers, n->p) > 0 ? UNEVEN : 0u) | (n->micro_batches < n->p ? FEW : 0u) |
           (n->v > 1 ? TURNS : 0u) | (n->zero < 2 ? NO_ZERO_2 : ZERO_2) |
           (n->zero == 3 ? ZERO_3 : 0u) | (n->gated ? GATED : 0u) |
           (n->kv_heads < n->heads ? GROUPED : 0u) | (n->flash ? FLASH : EAGER) |
           (partly ? 0u : ALL_KEPT) | (n->full ? FULL : 0u) |
           (n->sequence_parallel ? SHARDED_SEQUENCE : WHOLE_SEQUENCE) |
           (n->drops ? 0u : NO_DROPOUT) | (n->tied ? 0u : UNTIED) |
           (n->experts > 0 ? EXPERTS : 0u) | (n->c > 1 ? CONTEXT : 0u) |
           (n->short_gradients ? SHORT_GRADIENTS : 0u) | (n->selective ? 0u : NOT_SELECTIVE) |
           (n->zero == 0 ? NO_ZERO : 0u) | (n->two_copies ? COPIES : 0u);
}

/* needs: bits that all have to hold; 0: it always does. */
typedef struct {
    const char *name;
    PublishedPart part;
    unsigned needs;
    const char *why;
} Reason;

static const Reason reasons[] = {
    {"megatron", PUBLISHED_STATES, UNEVEN, "layers / pp: stages are not even here"},
    {"megatron", PUBLISHED_STATES, COPIES, "knows one copy of each stage"},
    {"megatron", PUBLISHED_STATES, ZERO_2, "knows ZeRO-1 alone"},
    {"megatron", PUBLISHED_STATES, SHORT_GRADIENTS, "gradients are of 32 bits always"},
    {"megatron", PUBLISHED_STATES, EXPERTS, "experts are not divided by ep"},
    {"megatron", PUBLISHED_ACTIVATION, SHARDED_SEQUENCE | NOT_SELECTIVE | TENSOR,
     "knows sequence parallelism with selective recomputation alone"},
    {"megatron", PUBLISHED_ACTIVATION, FULL, "does not know full recomputation"},
    {"megatron", PUBLISHED_ACTIVATION, EAGER | ALL_KEPT,
     "leaves out the scores of attention and their softmax, 5as/h"},
    {"megatron", PUBLISHED_ACTIVATION, GATED, "an MLP of one matmul up: the gate is left out"},
    {"megatron", PUBLISHED_ACTIVATION, GROUPED, "keys and values as wide as queries"},
    {"megatron", PUBLISHED_ACTIVATION, NO_DROPOUT,
     "counts masks of dropout, which drops nothing here"},
    {"megatron", PUBLISHED_ACTIVATION, FLASH | ALL_KEPT | WHOLE_SEQUENCE,
     "adds a margin of 5 % and assumes 4h of the MLP"},
    {"megatron", PUBLISHED_ACTIVATION, CONTEXT, "is not divided by cp"},
    {"megatron", PUBLISHED_ACTIVATION, EXPERTS, "one dense MLP a layer"},
    {"deepspeed", PUBLISHED_STATES, NO_ZERO_2,
     "has no formula below ZeRO-2; this is the one of ZeRO-2"},
    {"deepspeed", PUBLISHED_STATES, CUT, "tp and pp do not shard what every device holds"},
    {"deepspeed", PUBLISHED_STATES, 0, "4 bytes held and 16 shared, where ZeRO has 2 and 14"},
    {"deepspeed", PUBLISHED_TOTAL, 0, "has no activations"},
    {"calculon", PUBLISHED_PARAMETER, COPIES, "knows one copy of each stage"},
    {"calculon", PUBLISHED_PARAMETER, 0, "leaves out embedding and head"},
    {"calculon", PUBLISHED_PARAMETER, GATED, "an MLP of two matmuls: the gate is left out"},
    {"calculon", PUBLISHED_PARAMETER, GROUPED, "keys and values as wide as queries"},
    {"calculon", PUBLISHED_PARAMETER, UNEVEN, "rounds layers / pp up"},
    {"calculon", PUBLISHED_PARAMETER, EXPERTS, "one dense MLP a layer"},
    {"calculon", PUBLISHED_PARAMETER, ZERO_3, "does not know ZeRO-3"},
    {"calculon", PUBLISHED_GRADIENT, 0, "gradients of one block in 32 bits, of the others in 16"},
    {"calculon", PUBLISHED_OPTIMIZER, 0, "blocks alone, as of the parameters"},
    {"calculon", PUBLISHED_ACTIVATION, FLASH | ALL_KEPT,
     "does not know fused attention: the scores are kept, 5as/h"},
    {"calculon", PUBLISHED_ACTIVATION, 0, "the block at work once more; no embedding, no logits"},
    {"calculon", PUBLISHED_ACTIVATION, NO_DROPOUT,
     "counts masks of dropout, which drops nothing here"},
    {"calculon", PUBLISHED_ACTIVATION, GATED, "the gate is left out"},
    {"calculon", PUBLISHED_ACTIVATION, CONTEXT, "is not divided by cp"},
    {"llm-analysis", PUBLISHED_PARAMETER, COPIES, "knows one copy of each stage"},
    {"llm-analysis", PUBLISHED_PARAMETER, UNEVEN, "rounds layers / pp down"},
    {"llm-analysis", PUBLISHED_PARAMETER, UNTIED, "one embedding, also where the head is another"},
    {"llm-analysis", PUBLISHED_PARAMETER, STAGES, "the last norm, which is on the last stage"},
    {"llm-analysis", PUBLISHED_GRADIENT, SHORT_GRADIENTS, "gradients are of 32 bits always"},
    {"llm-analysis", PUBLISHED_GRADIENT, COPIES, "knows one copy of each stage"},
    {"llm-analysis", PUBLISHED_OPTIMIZER, COPIES, "knows one copy of each stage"},
    {"llm-analysis", PUBLISHED_GRADIENT, UNTIED, "as of the parameters"},
    {"llm-analysis", PUBLISHED_OPTIMIZER, UNTIED, "as of the parameters"},
    {"llm-analysis", PUBLISHED_ACTIVATION, 0, "inputs of norms are kept once more, in 32 bits"},
    {"llm-analysis", PUBLISHED_ACTIVATION, NO_DROPOUT,
     "counts a mask of dropout, which drops nothing here"},
    {"llm-analysis", PUBLISHED_ACTIVATION, GATED, "the gate is left out"},
    {"llm-analysis", PUBLISHED_ACTIVATION, FULL | TENSOR,
     "what full recomputation keeps is divided by tp"},
    {"llm-analysis", PUBLISHED_ACTIVATION, STAGES, "logits, which are on the last stage"},
    {"llm-analysis", PUBLISHED_ACTIVATION, FEW,
     "all micro-batches that a full pipeline has in flight"},
    {"llm-analysis", PUBLISHED_ACTIVATION, TURNS,
     "what interleaved stages keep beyond that is left out"},
    {"llm-analysis", PUBLISHED_ACTIVATION, CONTEXT, "is not divided by cp"},
    {"llm-analysis", PUBLISHED_TIME, 0, "matmuls at the peak of the device: no collectives"},
    {"llm-analysis", PUBLISHED_TIME, STAGES, "no bubble"},
    {"cookbook", PUBLISHED_PARAMETER, ZERO_3 | CUT, "ZeRO-3 divides by tp and pp a second time"},
    {"cookbook", PUBLISHED_PARAMETER, COPIES, "knows one copy of each stage"},
    {"cookbook", PUBLISHED_PARAMETER, STAGES, "embedding and head are spread over all stages"},
    {"cookbook", PUBLISHED_PARAMETER, 0,
     "has learned positions, and eight vectors of norms a layer"},
    {"cookbook", PUBLISHED_GRADIENT, CUT, "is divided by neither tp nor pp"},
    {"cookbook", PUBLISHED_OPTIMIZER, NO_ZERO | CUT, "is divided by neither tp nor pp"},
    {"cookbook", PUBLISHED_OPTIMIZER, 0, "as of the parameters"},
    {"cookbook", PUBLISHED_ACTIVATION, TENSOR, "is not divided by tp"},
    {"cookbook", PUBLISHED_ACTIVATION, FLASH | ALL_KEPT, "the scores of attention are kept, 5as/h"},
    {"cookbook", PUBLISHED_ACTIVATION, FULL, "full recomputation keeps all but the scores"},
    {"cookbook", PUBLISHED_ACTIVATION, GATED, "34 sbh of an MLP of 4h without a gate"},
    {"cookbook", PUBLISHED_ACTIVATION, TURNS, "what interleaved stages keep beyond is left out"},
    {"cookbook", PUBLISHED_ACTIVATION, CONTEXT, "is not divided by cp"},
};

void published_differs(const Published *published, PublishedPart part, const PublishedSizes *n,
                       Buf *out)
{
    unsigned of = holds(n);
    const char *semicolon = "";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        const Reason *it = &reasons[i];
        if (it->part != part || (it->needs & of) != it->needs ||
            strcmp(it->name, published->name) != 0)
            continue;
        buf_printf(out, "%s%s", semicolon, it->why);
        semicolon = "; ";
    }
}
