#include "tui/views/about.h"

const char *const view_about[SHOW_COUNT] = {
    [SHOW_GRAPH] = "The model in program order, a row an op or a group of ops by the names of\n"
                   "their modules. Equal layers are one row xN: equal in structure and\n"
                   "sharding; one that differs is a row of its own. RAIL: values alive between\n"
                   "rows; what everybody reads, and parameters, have no lane. STG: its stage.\n"
                   "OUTPUT: its shape, after a dim the axes that cut it. us: compute of one\n"
                   "rank; a group's is the sum of what is in it, all of xN. RESHARD: what\n"
                   "moves the value, and how often.",
    [SHOW_OP] = "One op as an index space: each index dim, its size, whether operands share\n"
                "it (map) or it is summed (reduce), the axes that cut it, and what is left\n"
                "to a rank. Cutting one cuts every operand that has it; cutting a reduce\n"
                "dim leaves the output partial. Operands with who makes or reads them; the\n"
                "formula of its time; why its dims are cut; the op in five notations.",
    [SHOW_TENSOR] = "One tensor: its sharding in six notations, and who holds which part. Equal\n"
                    "letters are equal bytes: A= replicas, A S2/4 one of four addends, ~\n"
                    "uneven, ' several runs, . nothing. Two dims are drawn, < > choose them;\n"
                    "the others are as on the chosen rank, which hjkl move. Who makes it, who\n"
                    "reads it, and how.",
    [SHOW_MESH] = "The devices as a grid of two axes, further axes as blocks of it; what each\n"
                  "holds of the tensor shown, with whom it shares that, and the groups that\n"
                  "talk when the selected collective runs. Large meshes are drawn with\n"
                  "smaller cells, then with a cell for several devices, which is said. A\n"
                  "device's memory is that of the rank.",
    [SHOW_COMM] = "Every reshard, the dearest first; those alike but for a number in their\n"
                  "names are one row. KIND: AR all-reduce, AG all-gather, RS reduce-scatter,\n"
                  "A2A all-to-all, PP permute, SL slice (moves nothing), and their axes.\n"
                  "BYTES: what a rank puts in. EACH and TOTAL follow the formula of the\n"
                  "machine that stands below. CAUSE: the policy's line that the moved cut\n"
                  "goes back to.",
    [SHOW_MEM] = "What each device needs at most while the plan runs, by class; equal\n"
                 "devices are one row. Parameters and inputs are there always, a value from\n"
                 "its maker to its last reader, a moved copy from its step on; nothing is\n"
                 "counted inside an op. Below it the bytes alive over the program; < > move\n"
                 "in time.",
    [SHOW_DIFF] = "Two plans in program order: ~ differs, + only in B, - only in A, = the\n"
                  "same. Things are matched by name, so models and meshes may differ. A cut\n"
                  "counts as the axes and the order they cut in, not as the size of the dim.",
    [SHOW_POLICY] = "The policy's lines that decide. HITS: decisions of the line that hold; 0\n"
                    "decided nothing. RESHARDS: time of those whose chain goes back to the\n"
                    "line; one that goes back to two lines counts for the nearer.",
    [SHOW_RUN] = "The plan along time, a letter an operator's kind: predicted, of a plan with\n"
                 "stages a line for each part of the mesh and one micro-batch on its way\n"
                 "through them; once it was run a line a device, as measured. Ranks are\n"
                 "threads of this machine: the times are its own, the differences between\n"
                 "ops are what is to be looked at.",
    [SHOW_COMM_DETAIL] =
        "The selected reshard: from what to what, its steps, the groups that\n"
        "exchange, bytes, the formula of its time with the numbers in it, its\n"
        "cause, the next best way, and what could be decided instead, each planned\n"
        "to say its price.",
    [SHOW_LINKS] = "Where it happens: the groups on the mesh, bytes over each kind of link in\n"
                   "a step, who sends to whom.",
    [SHOW_LIVE] = "What is alive at that time, the largest first, by class, layer or tensor.",
    [SHOW_DIFF_TOTALS] = "Both plans in sums, what each decides that the other does not.",
    [SHOW_FORK] = "The first decision in which the plans part, and what follows for this row.",
    [SHOW_CONSOLE] = "Lua in the state of the policy. What a line decides is one step of undo,\n"
                     "and :write keeps it as lines of a policy.",
    [SHOW_CHECK] = "Outputs against one device, and per kind of op what was predicted and\n"
                   "measured.",
    [SHOW_SCHEDULE] =
        "The pipeline: a row a stage, or with c a row for the devices that stages\n"
        "share; a block is a stage's forward (-) or backward (=) of the micro-batch\n"
        "whose number it begins with, a dot is waiting. The blocks of the cursor's\n"
        "micro-batch are underlined. = gives steps one width. gu goes to what a block\n"
        "begins after, gd to what needs it. A backward counts twice its forward, and\n"
        "what is computed again once more: there is no backward graph. Below, what each\n"
        "stage takes, and how many micro-batches it holds at most. See help schedules.",
    [SHOW_NEAR] = "The op between those two steps before and behind it, as boxes.",
    [SHOW_WHY] = "The chain from here back to the decision that it follows from, a step an\n"
                 "op; or what stopped an axis on its way, and what would let it through.",
    [SHOW_FINDINGS] = "What is wrong with the plan (!) and what is worth knowing (i).",
    [SHOW_EVENTS] = "Everything propagation did, in order, from the pins to the plan.",
    [SHOW_ERRORS] = "Errors of this session with their places, the last one first.",
    [SHOW_HELP] = "All keys. Enter does what the row says.",
};
