#include "tui/views/about.h"

const char *const view_about[SHOW_COUNT] = {
    [SHOW_GRAPH] = "The model in program order, one row for an op or a group of ops (grouped by\n"
                   "module names). Layers with equal structure and sharding are one row xN; a\n"
                   "layer that differs has its own row. RAIL: values alive between rows; values\n"
                   "that all ops read, and parameters, have no lane. STG: pipeline stage.\n"
                   "OUTPUT: shape, each dim with the axes that shard it. us: compute time of\n"
                   "one rank; of a group the sum over all it holds, xN included. RESHARD: the\n"
                   "collectives on the value, and how often. Of a training step, BWD: time of the\n"
                   "backward ops that come of it; dW: of them those for weights' gradients; KEPT:\n"
                   "what the chosen rank keeps for them; BWD RESHARD: their collectives.",
    [SHOW_OP] = "One op as an index space: for each index dim its size, whether outputs have it\n"
                "(map) or the op sums over it (reduce), the axes that shard it, and what one\n"
                "rank computes. Sharding an index dim shards every operand that has it;\n"
                "sharding a reduce dim leaves the output partial. Then the operands with the\n"
                "ops that make or read them, the formula of its time, why its dims are\n"
                "sharded this way, and the op in five notations.",
    [SHOW_TENSOR] = "One tensor: its sharding in six notations, and which rank holds which part.\n"
                    "Equal letters are equal bytes: A= replicas, A S2/4 one of four addends, ~\n"
                    "uneven, ' several runs, . nothing. Two dims are drawn, < > choose them; the\n"
                    "others are as on the chosen rank, which hjkl move. Then the op that makes\n"
                    "it, the ops that read it, and with which reshards. Of a training step its\n"
                    "gradient stands beside it, gb goes there; and where that is reduced, and\n"
                    "where the states of a parameter are stored.",
    [SHOW_MESH] = "The devices as a grid of two axes, more axes as blocks of grids; what each\n"
                  "device holds of the shown tensor, the devices that hold the same part, and\n"
                  "the groups that communicate in the selected collective. Large meshes are\n"
                  "drawn with smaller cells, then with one cell for several devices (the screen\n"
                  "says so). The memory shown is that of the chosen rank.",
    [SHOW_COMM] = "Every reshard, the most expensive first; those that differ only by a number\n"
                  "in their names are one row. KIND: AR all-reduce, AG all-gather, RS\n"
                  "reduce-scatter, A2A all-to-all, PP permute, HX halo exchange (the borders of\n"
                  "the neighbours' parts), SC scan (what running sums before a part add up\n"
                  "to), RG ring (parts are sent on while an op computes), SL slice (moves\n"
                  "nothing), each with its axes. BYTES: input of one rank, of one turn.\n"
                  "EACH and TOTAL follow the machine's formula, shown below.\n"
                  "CAUSE: the policy line that decided the sharding which is undone here. Of a\n"
                  "training step, PASS: forward and backward happen for every micro-batch, the\n"
                  "update once; A STEP: the time of all of them.",
    [SHOW_MEM] = "The peak memory of each device by class of values; equal devices are one row.\n"
                 "Parameters and inputs are always live, a value from the op that makes it to\n"
                 "its last reader, a resharded copy from its step on; scratch inside ops is not\n"
                 "counted. Below are the live bytes over the program; of a training step over all\n"
                 "its micro-batches, by class, with the schedule's blocks. < > move in time; x\n"
                 "plans other settings of the policy.",
    [SHOW_DIFF] = "Two plans in program order: ~ differs, + only in B, - only in A, = equal.\n"
                  "Tensors and ops are matched by name, so models and meshes may differ.\n"
                  "Shardings are equal when the same axes shard in the same order, whatever\n"
                  "the sizes. Totals are of a whole step, with all its micro-batches; where\n"
                  "their number differs, compare tokens/s.",
    [SHOW_POLICY] = "The policy's lines that decide. HITS: decisions of the line in force; 0: it\n"
                    "had no effect. RESHARDS: time of the reshards that the line causes; one\n"
                    "that two lines cause counts for the nearer line; of a training step in all\n"
                    "its micro-batches.",
    [SHOW_RUN] = "The plan over time, one letter for each kind of op: predicted times, with a\n"
                 "line for each stage and one micro-batch on its way through them; after a run\n"
                 "a line for each device with measured times. Ranks run as threads of this\n"
                 "machine, so compare ops with each other, not with the target device. When a\n"
                 "value differs from one device, w says why, and what mends it.",
    [SHOW_COMM_DETAIL] =
        "The selected reshard: from which sharding to which, its steps, the groups\n"
        "that communicate, bytes, the formula of its time with numbers, its cause,\n"
        "the next best way, and other decisions with the price of each.",
    [SHOW_LINKS] = "Where communication happens: its groups on the mesh, the bytes over each kind\n"
                   "of link in a step, and who sends to whom.",
    [SHOW_LIVE] = "The values alive at that time, the largest first, by class, layer or tensor.",
    [SHOW_SAVED] =
        "What a training step keeps for its backward pass on the selected devices, by\n"
        "layer: bytes of one micro-batch, and of all that are in flight at the peak.\n"
        "AGAIN: what the ops that make it take, for all micro-batches of a step; making\n"
        "it again frees the bytes and costs that time, where what they read is there.",
    [SHOW_DIFF_TOTALS] = "Totals of both plans, and the decisions that only one of them makes.",
    [SHOW_FORK] = "The first decision that differs between the plans, and its effect on this row.",
    [SHOW_CONSOLE] =
        "Lua in the policy's state. The decisions of a line are one step of undo, and\n"
        ":write saves them as lines of a policy.",
    [SHOW_CHECK] = "Outputs compared with one device; of a training step its loss, the value that\n"
                   "differs most, and its blocks; for each kind of op predicted and measured time.",
    [SHOW_SCHEDULE] =
        "The pipeline: one row for each stage, or with c one for each set of devices\n"
        "that stages share. A block is the forward (-) or backward (=) pass of a stage\n"
        "over the micro-batch whose number it begins with; a dot is waiting. The blocks\n"
        "of the cursor's micro-batch are underlined. = draws steps with equal width. gu\n"
        "goes to the block that this one waits for, gd to one that waits for it. Of a\n"
        "training step a backward pass has the time of its own ops, shaded for that of\n"
        "the weights' gradients; without one it counts twice its forward pass, plus what\n"
        "is recomputed. STREAMS: how much of each column the stage's ops and collectives\n"
        "take, and why it waits; ops wait for these collectives. Below: the time of each\n"
        "stage and the most micro-batches it holds, the parts that a step's time goes to,\n"
        "and its most expensive reshards. See help schedules.",
    [SHOW_SEARCH] =
        "The search for the fastest plan within the memory of a device. Pins of the policy\n"
        "and yours hold, what they leave open is decided; the result is one step of undo.\n"
        "BOUND: no plan of those searched takes less; where the plan meets it, it is\n"
        "proven. The chart has time upwards and memory to the right, Y is the plan before\n"
        "the search; :search frontier finds the fastest plans for less and less memory, and\n"
        "Enter takes the one under the cursor. What pins and the limit cost, by a search\n"
        "without each, comes when nothing else runs; x does it at once. d compares with the\n"
        "plan without the search. After a pin, gs searches again, from what is known.\n"
        ":search devices=512 finds the mesh, the stages, micro-batches, the schedule and\n"
        "ZeRO together, for hybrid3d: below the best what one other choice costs, and why.\n"
        "A dot is a plan that was made. Enter opens the row, and u goes back; d compares it\n"
        "with the plan that is shown. Pins stand behind it: devices=512 tp=8 zero=1.",
    [SHOW_NEAR] = "The op and the ops up to two steps before and after it, as boxes.",
    [SHOW_WHY] = "The chain from here back to the decision that causes it, one op a step; or\n"
                 "what stopped an axis on its way, and what would let it through. First what is\n"
                 "wrong with the value, if anything is: x tries the plan without the line of the\n"
                 "policy that causes it.",
    [SHOW_FINDINGS] = "Problems of the plan (!) and notes about it (i).",
    [SHOW_EVENTS] = "Every step of propagation in order, from the pins to the finished plan.",
    [SHOW_ERRORS] = "The errors of this session with their places, the last one first.",
    [SHOW_HELP] = "All keys. Enter does what the row says.",
};
