#include "tui/views/about.h"

const char *const view_about[SHOW_COUNT] = {
    [SHOW_GRAPH] = "The model in program order, one row for an op or a group of ops (grouped by\n"
                   "module names). Layers with equal structure and sharding are one row xN; a\n"
                   "layer that differs has its own row. RAIL: values alive between rows; values\n"
                   "that all ops read, and parameters, have no lane. STG: pipeline stage.\n"
                   "OUTPUT: shape, each dim with the axes that shard it. us, ms: time of one\n"
                   "rank; of a group the sum over all it holds, xN included. RESHARD: the\n"
                   "collectives on the value, and how often. With a training step, BWD: time of\n"
                   "the backward ops of the row; dW: the part for weight gradients; KEPT: bytes\n"
                   "that the chosen rank keeps for them; BWD RESHARD: their collectives.",
    [SHOW_OP] = "One op as an index space: for each index dim its size, whether outputs have\n"
                "it (map) or the op sums over it (reduce), the axes that shard it, and what\n"
                "one rank computes. Sharding an index dim shards every operand that has it;\n"
                "sharding a reduce dim leaves the output partial. Then the operands with the\n"
                "ops that produce or read them, the formula of its time, why its dims are\n"
                "sharded this way, and the op in five notations.",
    [SHOW_TENSOR] = "One tensor: its sharding in six notations, and which rank holds which part.\n"
                    "Equal letters are equal bytes: A= replicas, A S2/4 one of four partial sums,\n"
                    "~ uneven, ' several runs, . nothing. Two dims are drawn, < > choose them;\n"
                    "the others are those of the chosen rank, which hjkl move. Then the op that\n"
                    "produces it, the ops that read it, and the reshards in between. With a\n"
                    "training step, its gradient is shown beside it (gb goes there), where that\n"
                    "is reduced, and where the states of a parameter are stored.",
    [SHOW_MESH] = "The devices as a grid of two axes, further axes as blocks of grids; what\n"
                  "each device holds of the shown tensor, the devices that hold the same part,\n"
                  "and the groups that communicate in the selected collective. Large meshes are\n"
                  "drawn with smaller cells, then with one cell for several devices (the screen\n"
                  "says so). The memory shown is that of the chosen rank.",
    [SHOW_COMM] = "Every reshard, the most expensive first; those that differ only by a number\n"
                  "in their names are one row. KIND: AR all-reduce, AG all-gather, RS\n"
                  "reduce-scatter, A2A all-to-all, PP permute, HX halo exchange (the borders of\n"
                  "the neighbours' shards), SC scan (the running sum of the shards before\n"
                  "each), RG ring (shards are sent on while an op computes), SL slice (moves\n"
                  "nothing), each with its axes. BYTES: input of one rank, each time. EACH and\n"
                  "TOTAL follow the machine's formula, shown below. CAUSE: the policy line that\n"
                  "decided the sharding which is undone here. In a training step, PASS: forward\n"
                  "and backward happen for every micro-batch, the update once; A STEP: the time\n"
                  "of all of them.",
    [SHOW_MEM] = "The peak memory of each device by class of values; equal devices are one\n"
                 "row. Parameters and inputs are always live, a value from the op that\n"
                 "produces it to its last reader, a resharded copy from its step on; scratch\n"
                 "inside ops is not counted. Below are the live bytes over the program, in a\n"
                 "training step over all its micro-batches, by class, with the schedule's\n"
                 "blocks. < > move in time; x tries other settings of the policy.",
    [SHOW_DIFF] = "Two plans in program order: ~ differs, + only in B, - only in A, = equal.\n"
                  "Tensors and ops are matched by name, so models and meshes may differ.\n"
                  "Shardings are equal when the same axes shard in the same order, whatever the\n"
                  "sizes. Totals are for a whole step, with all its micro-batches; where their\n"
                  "number differs, compare tokens/s.",
    [SHOW_POLICY] = "The policy's lines that decide. HITS: decisions of the line that hold; 0: it\n"
                    "had no effect. RESHARDS: time of the reshards that the line causes; a\n"
                    "reshard with two causes counts for the nearer line; in a training step for\n"
                    "all its micro-batches.",
    [SHOW_RUN] = "The plan over time, one letter for each kind of op: predicted times, with a\n"
                 "line for each stage and one micro-batch on its way through them; after a run\n"
                 "a line for each device with measured times. Ranks run as threads of this\n"
                 "machine, so compare ops with each other, not with the target device. When a\n"
                 "value differs from the one-device run, w says why, and how to fix it.",
    [SHOW_COMM_DETAIL] =
        "The selected reshard: its two shardings, its steps, the groups that\n"
        "communicate, bytes, the formula of its time with numbers, its cause, the\n"
        "next best way, and other decisions with the price of each.",
    [SHOW_LINKS] = "Where communication happens: its groups on the mesh, the bytes over each\n"
                   "kind of link in a step, and who sends to whom.",
    [SHOW_LIVE] = "The values alive at that time, the largest first, by class, layer or tensor.",
    [SHOW_SAVED] = "What a training step keeps for its backward pass on the selected devices, by\n"
                   "layer: bytes of one micro-batch, and of all that are in flight at the peak.\n"
                   "AGAIN: the time to recompute it, for all micro-batches of a step.\n"
                   "Recomputing frees the bytes and costs that time, if the inputs are still in\n"
                   "memory.",
    [SHOW_TRY] =
        "Other settings of the policy, one a row: recomputation, ZeRO, schedules, sizes of\n"
        "a micro-batch. Each is planned, and its step and peak stand beside what they\n"
        "are now. Enter plans with the setting, u goes back.",
    [SHOW_DIFF_TOTALS] = "Totals of both plans, and the decisions that only one of them makes.",
    [SHOW_FORK] = "The first decision that differs between the plans, and its effect on this\n"
                  "row.",
    [SHOW_CONSOLE] = "Lua in the policy's state. The decisions of a line are undone together, and\n"
                     ":write saves them as lines of a policy.",
    [SHOW_CHECK] = "Outputs compared with one device; for a training step its loss, the value\n"
                   "that differs most, and its blocks; predicted and measured time of each kind\n"
                   "of op.",
    [SHOW_SCHEDULE] =
        "The pipeline: one row for each stage, or with c one for each set of devices\n"
        "that stages share. A block is the forward (-) or backward (=) pass of a\n"
        "stage over the micro-batch whose number it begins with; a dot is waiting.\n"
        "The blocks of the cursor's micro-batch are underlined. = draws steps with\n"
        "equal width. gu goes to the block that this one waits for, gd to one that\n"
        "waits for it. In a training step a backward block has the time of its own\n"
        "ops, shaded for those of weight gradients; without a step it counts twice\n"
        "its forward pass, plus what is recomputed. STREAMS: how much of each column\n"
        "the stage's ops and collectives take, and why it waits; ops wait for exposed\n"
        "collectives. Below: time of each stage and its most micro-batches in flight,\n"
        "the parts of the step's time, and its most expensive reshards. See help\n"
        "schedules.",
    [SHOW_SEARCH] = "The search for the fastest plan within the memory of a device. The policy's\n"
                    "pins and yours hold; the search decides the rest; u undoes the whole result.\n"
                    "BOUND: none of the searched plans takes less; a plan that meets the bound is\n"
                    "proven. The chart has time upwards and memory to the right, Y is the plan\n"
                    "before the search; :search frontier finds the fastest plans for less and\n"
                    "less memory, and Enter chooses the one under the cursor. What each pin and\n"
                    "the limit cost is found by a search without it, when nothing else runs, or\n"
                    "at once with x. d compares with the plan without the search. After a new\n"
                    "pin, gs searches again and reuses the last search. :search devices=512 finds\n"
                    "the mesh, the stages, micro-batches, the schedule and ZeRO together, for the\n"
                    "policy hybrid3d; below the best it shows what one other choice would cost,\n"
                    "and why. A dot is a plan that was made. Enter opens the row, and u goes\n"
                    "back; d compares it with the plan on the screen. Fixed choices follow it:\n"
                    "devices=512 tp=8 zero=1.",
    [SHOW_NEAR] = "The op and the ops up to two steps before and after it, as boxes.",
    [SHOW_WHY] = "The chain from here back to the decision that causes it, one op a line; or\n"
                 "what stopped an axis, and what would let it through. If a run found the\n"
                 "value wrong, that comes first: x tries the plan without the line of the\n"
                 "policy that causes it.",
    [SHOW_FINDINGS] = "Problems of the plan (!) and notes about it (i).",
    [SHOW_EVENTS] = "Every step of propagation in order, from the pins to the finished plan.",
    [SHOW_ERRORS] = "The errors of this session with their file and line, the newest first.",
    [SHOW_JOURNAL] =
        "Your decisions in the order they were made, as lines of Lua. u takes back the\n"
        "last one, C-r makes it again.",
    [SHOW_HELP] = "All keys. Enter runs the action of the row.",
};
