
#include "core/base/nearest.h"
#include "core/session/action.h"
#include "tui/cli/cli.h"

#include <limits.h>

#define BATCH(name, args, help, group)                                                             \
    {                                                                                              \
        name, "", args, help, group, ACTION_BATCH, 0                                               \
    }

static const char explore_text[] =
    "Opens the explorer on a terminal. Without a terminal, or when the output goes to\n"
    "a file, prints the plan as 'plan' does. MODEL is an ONNX file, a config.json of\n"
    "Hugging Face, a Lua file that builds a model, or a plan.json: see help models.";
static const char plan_text[] =
    "Plans a model on a mesh and prints the plan: each op with the sharding of its\n"
    "output, parameters, collectives, findings, totals. Equal layers are one row;\n"
    "the body of a loop counts as often as the loop runs. With -o it saves the plan\n"
    "instead, as its decisions; everything else is derived from them.";
static const char why_text[] =
    "Explains why a tensor is sharded as it is: for each axis on each dim, the chain\n"
    "of ops back to the line of the policy that pinned it. TENSOR is a name, or the\n"
    "PATH of a module with .weight, .bias, .in or .out; .DIM is the number of a dim.";
static const char why_not_text[] =
    "Explains why an axis does not shard a tensor: for each dim, the nearest places\n"
    "that have the axis, the op where it stopped on the way, the reason, what would\n"
    "let it through, and how the axis came that far.";
static const char ranges_text[] =
    "Shows what each rank reads of every operand of the op that produces TENSOR: the\n"
    "range of each dim that its shard of the op's index dims projects to (the exact\n"
    "elements in parentheses if a stride skips some), how many elements that is, how\n"
    "many the rank holds for the op, and how many of those it does not use. Ranks that\n"
    "read the same elements are one row.";
static const char check_text[] =
    "Prints the findings and compares the plan with the given limits. The exit code\n"
    "is 1 if the plan is illegal or over a limit.";
static const char estimate_text[] =
    "Answers for a training step: does it fit into memory, how long does it take, and\n"
    "what takes the time? The parts add up to the step: compute, collectives by axis,\n"
    "waiting for other stages, the update. Then it plans other settings of the policy,\n"
    "one by one, and names the three that help most: recomputation, ZeRO, sequence\n"
    "parallelism, overlap, schedules, the size of micro-batches for the same samples a\n"
    "step. The default policy is hybrid3d, the default step adamw. --against prints what\n"
    "published formulas say about a config.json in the same configuration (Megatron-LM,\n"
    "DeepSpeed, Calculon, llm-analysis, EleutherAI's cookbook), and what each leaves\n"
    "out. --decode estimates inference instead: tokens a second, the time to the first\n"
    "token (a prefill of the context), the KV cache, how step and memory grow with it,\n"
    "and the largest context and batch that fit. The exit code is 1 if the step does\n"
    "not fit or the plan is illegal.";
static const char search_text[] =
    "Searches for the fastest plan whose memory stays within a limit, and proves it.\n"
    "With -m it searches on that mesh what policy and pins leave open, under the\n"
    "policy's stages and schedule if it has some. With --devices N it searches whole\n"
    "configurations of a training step under the policy hybrid3d: the mesh and the\n"
    "order of its axes, layers of each stage, micro-batches, schedule, recomputation,\n"
    "ZeRO, sequence parallelism. -m pp=4,tp=8 --train without a policy searches all of\n"
    "these except the mesh. --set global_batch=N sets the samples of a step, --set tp=8\n"
    "or --set zero=1 fixes a choice, -o FILE saves a plan.json, or FILE.lua a policy.\n"
    "'4 x 2' means four micro-batches of two samples on each rank. Times and peaks are\n"
    "those of finished plans; '>=' marks a lower bound of a plan that was not made. C-c\n"
    "stops with the best plan so far. The exit code is 1 if nothing fits.";
static const char diff_text[] =
    "Compares two plans, or one model under several propagators or settings: their\n"
    "requests, the first decision that differs, totals, the ops, tensors, reshards and\n"
    "findings that differ (by name, equal layers in one row), and why the first op is\n"
    "sharded differently. Give an option once for each side to compare its values:\n"
    "--set schedule=1f1b --set schedule=zb1p. The exit code is 1 if the plans differ.\n"
    "--actual compares one plan with what a job ran, as one rank saw it: a trace of\n"
    "torch.profiler (Kineto's JSON, also .gz), or a dump of NCCL's flight recorder\n"
    "(JSON, or its pickle, which is read without running any of its code). Collectives\n"
    "of the same kind and ranks are matched by their bytes, in order; what fully_shard\n"
    "or a bucket sends together is one collective for several parameters. Missing,\n"
    "unplanned, slow and unfinished collectives are listed with the values they move\n"
    "and the reason. The exit code is 1 if one is missing or unplanned.\n"
    "--joint compares the training step that --train derives from a model with one\n"
    "that a file holds: gradients of parameters by name, ops and FLOPs by phase,\n"
    "collectives by pass, kind and axes, under one policy. How phases of the file are\n"
    "found: help models. The exit code is 1 if a gradient is missing on one side or has\n"
    "another shape, or if the numbers of collectives differ.";
static const char export_text[] =
    "Writes the plan for other people and programs, in one of these formats. Without\n"
    "an option, the ending of FILE chooses the format (x.svg):\n"
    "\n"
    "  --dot --svg --pdf --png  a drawing, by --kind: help drawings. WHAT: the op or tensor\n"
    "                           to draw. All but --dot need the program dot\n"
    "  --html --md              a report: totals, findings, collectives, memory, layers.\n"
    "                           WHAT: a second plan to compare with\n"
    "  --csv --json             the plan as tables; --table NAME selects one: help tables.\n"
    "                           Without it all: one JSON object, or for --csv a FOLDER/\n"
    "  --trace                  a step over time, for Perfetto (ui.perfetto.dev); 'run\n"
    "                           --trace FILE' adds the measured times\n"
    "  --onnx                   the model with the plan as ONNX's multi-device annotations\n"
    "  --to SYSTEM              code, or the nearest settings, of a system: help systems\n"
    "\n"
    "A note says what a format cannot express. A file is written whole or not at all;\n"
    "equal plans give equal bytes.";
static const char run_text[] =
    "Runs the plan in a watched child process and reports measured times beside the\n"
    "predicted ones. A rank is a thread of this host, a process or a GPU (--backend).\n"
    "--verify also runs each whole op on the inputs that the ranks hold, and compares\n"
    "every element on every rank; differences may be as large as rounding in that op\n"
    "explains. It names the first wrong value. The exit code is 1 for FAIL, and for NOT\n"
    "PROVEN, when an output has no finite element. Weights that are neither in the model\n"
    "nor in --weights are random, from --seed; with --weights only if --draw-missing\n"
    "is given. A plan that cannot run is refused before anything runs: operators\n"
    "without a kernel (rule --list), strings, image decoding.\n"
    "--onnx-test runs the data sets of ONNX test folders and compares the outputs.\n"
    "--vectors does this for a folder of NumPy files: in_N.npy is the N-th input of\n"
    "MODEL, out_N.npy the expected N-th output; the files set the sizes of free dims.\n"
    "--grad-vectors compares the gradients of float inputs and initializers with those\n"
    "in a folder; the loss is the sum of the outputs times the cotangents given there.\n"
    "With --cuts all of these run on one device, then once for each way to shard an op:\n"
    "each index dim that can be sharded, by each axis of -m and by each two axes, and\n"
    "each two of its dims by one axis each. Of ops with equal operator, attributes and\n"
    "shapes only the first is tested. A sharding that fails is printed as the line of\n"
    "a policy that makes it.";
static const char calibrate_text[] =
    "Runs matmuls, element-wise ops, lookups and collectives of many sizes, or the\n"
    "ops of MODEL, and fits a machine file to the times: launch time, rates, shares,\n"
    "latency and bandwidth of the link. Without -m there are as many ranks as cores.\n"
    "With -o it writes the file and says how far predictions were off before, and how\n"
    "far they are off with it; --machine FILE then plans with it. help machine explains\n"
    "the fields, --backend chooses what is measured.\n"
    "--train also runs a training step, of MODEL or of small decoders, and adds tables\n"
    "of measured times to the file: of each operator of the step, forward, backward and\n"
    "update, by size (matmuls by batch, m, n, k), and of each collective by bytes. The\n"
    "tables take precedence over the formulas. With -o and without MODEL, a step that\n"
    "is not in the tables then runs beside its prediction.";
static const char info_text[] =
    "Lists the contents of a model: inputs, outputs, parameters, ops. Free dims need no\n"
    "size: they are shown by name, like sizes that depend on the data.";
static const char rule_text[] =
    "Shows an operator on inputs of the given shapes: its index dims and what\n"
    "sharding each of them does, the part of each operand that a rank reads (halo:\n"
    "elements that the neighbour also reads), and the op in five notations, each with\n"
    "what it cannot express. Without --shapes: the names in other systems, the\n"
    "attributes, and the same for a small example. OP is a name of dimscope or of\n"
    "another system: help operators.\n"
    "  --list     every operator, its names, the notations that express it, and\n"
    "             whether it can run\n"
    "  --trace    the answer of Paddle's dims_mapping rule, step by step, for inputs\n"
    "             sharded over the mesh -m as --in says\n"
    "  --profile  what torch or veScale chooses for these inputs, and its cost\n"
    "  --check    prove the rule on simulated ranks: the index space; with --trace the\n"
    "             dims_mapping rule, with --profile the strategies. Without OP it\n"
    "             proves all operators with a kernel and lists the others, with FILE.lua\n"
    "             those the file registers. The exit code is 1 if one is not proven";
static const char reshard_text[] =
    "Finds the steps that bring a tensor from one sharding to another: what each step\n"
    "sends and how long it takes, the second best way, and a lower bound. Beside them,\n"
    "at the same prices, it shows what torch's two planners and veScale do, with\n"
    "'wrong data' if their steps give other elements.\n"
    "SHAPE is 4096x768. FROM and TO may be written as 4096/dp,768; [S(0),R];\n"
    "P('dp',None); [0,-1]; [{\"dp\"},{}]. With --to-mesh, TO is on other devices:\n"
    "reshards on both sides and the messages between them, device by device.";
static const char solve_text[] =
    "Picks one of the given choices at every node so that the sum of the costs of\n"
    "nodes and edges is smallest and the usages alive at any time stay within a limit.\n"
    "FILE is JSON, gzipped or not, as in the IOPDDL contest: {\"problem\": {\"nodes\":\n"
    "{\"intervals\": [[0, 2], ..], \"costs\": [[5, 7], ..], \"usages\": [[1, 0], ..]},\n"
    "\"edges\": {\"nodes\": [[0, 1], ..], \"costs\": [[0, 3, 3, 0], ..]}, \"usage_limit\":\n"
    "9}}; the costs of an edge are listed row by row, one row for each choice of its\n"
    "first node. The answer has a lower bound of the cost, and says 'proven' if no\n"
    "choice costs less. C-c stops with the best choice so far. The exit code is 1 if\n"
    "no choice satisfies the limit; the answer then names the limit.";
static const char eval_text[] =
    "Answers questions of other tools: one JSON request a line on standard input,\n"
    "one JSON answer a line. Verbs: anno.*, template.*, ipf.*, range.*, layout,\n"
    "factor.rule, factor.propagate, factor.origins, strategy, redistribute, spmd.*,\n"
    "rvd.reshard, reshard.insert, reshard.collectives, plan.solve.";
static const char tour_text[] =
    "Opens the explorer on a sample, GPT-2 sharded like Megatron-LM, with a box that\n"
    "says what to look at and what to press next; C-n presses it for you. Without a\n"
    "terminal it prints the steps.";
static const char help_text[] =
    "Explains a verb, a topic, a word of nnScaler, Paddle, PyTorch, veScale, Shardy,\n"
    "JAX or Tapestry (glossary lists them), or what scripts can call: lua, lua.NAME.\n"
    "Without an operand it lists verbs and topics.";

const Verb verbs[] = {
    {BATCH("", "MODEL [-m MESH] [-p POLICY]", "open the explorer", "explore"), VERB_EXPLORE, 1, 1,
     cli_explore, explore_text},
    {BATCH("plan", "MODEL -m MESH [-p POLICY]", "print the plan, or save it", "plans"), VERB_PLAN,
     1, 1, cli_plan, plan_text},
    {BATCH("why", "MODEL ... TENSOR[.DIM]", "explain the sharding of a tensor", "plans"), VERB_WHY,
     2, 2, cli_why, why_text},
    {BATCH("why-not", "MODEL ... TENSOR[.DIM] AXIS", "explain why an axis does not shard it",
           "plans"),
     VERB_WHY_NOT, 3, 3, cli_why_not, why_not_text},
    {BATCH("ranges", "MODEL ... TENSOR", "what each rank reads and holds", "plans"), VERB_RANGES, 2,
     2, cli_ranges, ranges_text},
    {BATCH("check", "MODEL ... [--max-peak 74GiB]", "fail if the plan is illegal or over a limit",
           "plans"),
     VERB_CHECK, 1, 1, cli_check, check_text},
    {BATCH("estimate", "MODEL -m MESH [--set NAME=VALUE]",
           "whether a training step fits, and what takes time", "plans"),
     VERB_ESTIMATE, 1, 1, cli_estimate, estimate_text},
    {BATCH("search", "MODEL -m MESH | --devices N [--max-peak 75GiB]",
           "find the fastest plan that fits, with a proof", "plans"),
     VERB_SEARCH, 1, 1, cli_search, search_text},
    {BATCH("diff",
           "A.json B.json | --propagate A,B MODEL .. | PLAN --actual TRACE | MODEL --joint FILE",
           "compare plans", "plans"),
     VERB_DIFF, 1, 2, cli_diff, diff_text},
    {BATCH("export", "MODEL ... --svg|--html|--to SYSTEM|.. [WHAT] [-o FILE]",
           "write a drawing, report or code", "plans"),
     VERB_EXPORT, 1, 2, cli_export, export_text},
    {BATCH("run", "MODEL ... [--verify] | --onnx-test DIR... | MODEL --vectors|--grad-vectors DIR",
           "run the plan on this machine", "plans"),
     VERB_RUN, 1, INT_MAX, cli_run, run_text},
    {BATCH("calibrate", "[MODEL] [-m MESH] [--train] [-o FILE.lua]", "measure this machine",
           "models"),
     VERB_CALIBRATE, 0, 1, cli_calibrate, calibrate_text},
    {BATCH("info", "MODEL [--values]", "list the contents of a model", "models"), VERB_INFO, 1, 1,
     cli_info, info_text},
    {BATCH("rule", "OP [--shapes LIST] | --list | --check", "show how an op can be sharded",
           "models"),
     VERB_RULE, 0, 1, cli_rule, rule_text},
    {BATCH("reshard", "SHAPE FROM TO -m MESH", "find the steps between two shardings", "models"),
     VERB_RESHARD, 3, 3, cli_reshard, reshard_text},
    {BATCH("solve", "FILE [--seconds N]", "find the cheapest choices under a limit", "models"),
     VERB_SOLVE, 1, 1, cli_solve, solve_text},
    {BATCH("tour", "", "take a five-minute tour of a sample", "program"), VERB_TOUR, 0, 0, cli_tour,
     tour_text},
    {BATCH("eval", "", "answer JSON requests, one a line", "program"), VERB_EVAL, 0, 0, cli_eval,
     eval_text},
    {BATCH("help", "[VERB|TOPIC|WORD|lua.NAME] | --man [5|7|glossary] | --completion SHELL",
           "explain a verb, a topic or a word", "program"),
     VERB_HELP, 0, INT_MAX, cli_help, help_text},
    {.run = NULL},
};

const Verb *verb_find(Str name)
{
    for (const Verb *verb = verbs + 1; verb->run; verb++)
        if (str_eq(name, str_from(verb->action.name)))
            return verb;
    return NULL;
}

const char *verb_nearest(Str name)
{
    Nearest nearest = nearest_to(name, 3);
    for (const Verb *verb = verbs + 1; verb->run; verb++)
        nearest_try(&nearest, verb->action.name);
    return nearest.name;
}
