#include "tui/cli/help.h"

#include "core/base/nearest.h"

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
    "what is inside a loop counts as often as the loop runs. -o saves the plan\n"
    "instead: its decisions, from which the rest follows.";
static const char why_text[] =
    "Explains why a tensor is sharded as it is: for each axis on each dim, the chain\n"
    "of ops back to the line of the policy that pinned it. TENSOR is a name, or the\n"
    "PATH of a module with .weight, .bias, .in or .out; .DIM is the number of a dim.";
static const char why_not_text[] =
    "Explains why an axis does not shard a tensor: for each dim, the nearest places\n"
    "that have the axis, the op where it stopped on the way, the reason, what would\n"
    "let it through, and how the axis came that far.";
static const char ranges_text[] =
    "Shows what each rank touches of every operand of the op that makes TENSOR: the\n"
    "range of each dim that its part of the op's index dims projects to (in\n"
    "parentheses the elements, where a stride leaves some out), how many elements\n"
    "that is, how many the rank holds for the op, and what of these is waste. Ranks\n"
    "that touch the same are one row.";
static const char check_text[] =
    "Prints the findings and compares the plan with the given limits. The exit code\n"
    "is 1 if the plan is illegal or over a limit.";
static const char estimate_text[] =
    "Says of a training step whether it fits into memory, how long it takes and what\n"
    "takes the time, in parts that add up to the step: compute, collectives by axis,\n"
    "waits for other stages, the update. Then it plans other settings of the policy,\n"
    "one by one, and names the three that help most: what is made again, ZeRO,\n"
    "sequence parallelism, overlap, schedules, the size of micro-batches at as many\n"
    "samples a step. Without -p it takes hybrid3d, without --train adamw. --against prints what\n"
    "published formulas say of a config.json in the same configuration (Megatron-LM,\n"
    "DeepSpeed, Calculon, llm-analysis, EleutherAI's cookbook), and what each leaves\n"
    "out. With --decode it is of inference: tokens a second, the time to the first\n"
    "by a prefill of the context, the cache of keys and values, how step and memory\n"
    "grow with it, the largest context and batch that fit. The exit code is 1 if the\n"
    "step does not fit or the plan is illegal.";
static const char search_text[] =
    "Searches the plan of least time whose memory is within a limit, and proves it:\n"
    "with -m on that mesh, what policy and pins leave open, under the policy's stages\n"
    "and schedule if it has some; with --devices N whole configurations of a training\n"
    "step under hybrid3d: mesh and order of its axes, layers of stages, micro-batches,\n"
    "schedule, what is made again, ZeRO, sequence parallelism. -m pp=4,tp=8 --train\n"
    "without a policy searches all of these but the mesh. --set global_batch=N gives\n"
    "the samples of a step, --set tp=8 or --set zero=1 pins what is searched, -o FILE\n"
    "saves a plan.json, or FILE.lua a policy. '4 x 2' is four micro-batches of two\n"
    "samples on each rank. Every time and peak is a plan's; '>=' is a lower bound of\n"
    "one that was not made. C-c stops with the best so far. The exit code is 1 if\n"
    "nothing fits.";
static const char diff_text[] =
    "Compares two plans, or one model under several propagators or settings: their\n"
    "requests, the first decision that differs, totals, the ops, tensors, reshards and\n"
    "findings that differ, by name, equal layers in one row, and why the first op is\n"
    "sharded differently. An option that is set several times has a value for each side:\n"
    "--set schedule=1f1b --set schedule=zb1p. The exit code is 1 if the plans differ.\n"
    "With --actual one plan is compared with what a job of it ran, as one rank saw it:\n"
    "a trace of torch.profiler (Kineto's JSON, also .gz), or a dump of NCCL's flight\n"
    "recorder (JSON, or its pickle, of which nothing is run). Collectives are matched\n"
    "within a kind and group of ranks by their bytes, in order; what fully_shard or a\n"
    "bucket moves together is one for several parameters. Missing, unplanned, slow and\n"
    "unfinished ones are named with what they move and why. The exit code is 1 if one is\n"
    "missing or unplanned.\n"
    "With --joint the step that --train derives of a model is compared with one that a\n"
    "file holds: gradients of parameters by name, ops and FLOPs by phase, collectives by\n"
    "pass, kind and axes, under one policy. Phases of the file: help models. The exit code\n"
    "is 1 if a gradient is on one side alone or has another shape, or if collectives\n"
    "differ in number.";
static const char export_text[] =
    "Writes the plan for other people and programs, in one of these formats;\n"
    "without an option, the one that the name of FILE ends in (x.svg):\n"
    "\n"
    "--dot --svg --pdf --png  a drawing, by --kind: help drawings. WHAT: the op or tensor\n"
    "                         to draw. All but --dot need the program dot\n"
    "--html --md              a report: totals, findings, collectives, memory, layers.\n"
    "                         WHAT: a second plan to compare with\n"
    "--csv --json             the plan as tables; --table NAME selects one: help tables.\n"
    "                         Without it all: one JSON object, or for --csv a FOLDER/\n"
    "--trace                  a step over time, for Perfetto (ui.perfetto.dev); 'run\n"
    "                         --trace FILE' adds the measured times\n"
    "--onnx                   the model with the plan as ONNX's multi-device annotations\n"
    "--to SYSTEM              code to run, or the settings that come nearest: help systems\n"
    "\n"
    "A note says what a format cannot express. A file is written whole or not at all;\n"
    "equal plans give equal bytes.";
static const char run_text[] =
    "Runs the plan in a watched child process and reports measured times beside the\n"
    "predicted ones. A rank is a thread of this host, a process or a GPU (--backend).\n"
    "--verify runs each whole op on the inputs that the ranks hold and compares every\n"
    "element on every rank: it may differ by what rounding explains for that op. The\n"
    "first wrong value is named. FAIL, and NOT PROVEN where an output has no finite\n"
    "element, exit with 1. Weights that neither the model nor --weights has are drawn\n"
    "from --seed; beside --weights only with --draw-missing.\n"
    "A plan that cannot run is refused before anything runs: operators without a\n"
    "kernel (rule --list), strings, image decoding.\n"
    "--onnx-test runs the data sets of ONNX test folders and compares the outputs.\n"
    "--vectors does so with one folder of numpy's files: in_N.npy is what the N-th input\n"
    "of MODEL gets, out_N.npy what its N-th output has to be; sizes of free dims are\n"
    "those of the files.\n"
    "--grad-vectors compares the gradients of float inputs and initializers with those\n"
    "of a folder; the loss is the sum of the outputs times their cotangents there.\n"
    "With --cuts all these run on one device, then again under every cut: each op\n"
    "by itself, each index dim that can be sharded by each axis of -m and by each two\n"
    "axes, and each two of its dims by one axis each. Of ops with equal operator,\n"
    "attributes and shapes only the first is tested. A failing cut is printed as the\n"
    "line of a policy that makes it.";
static const char calibrate_text[] =
    "Runs matmuls, element-wise ops, lookups and collectives of many sizes, or the\n"
    "ops of MODEL, and fits a machine file to the times: launch time, rates, shares,\n"
    "latency and bandwidth of the link. Without -m there are as many ranks as cores.\n"
    "With -o it writes the file and says how far predictions were off before and are\n"
    "off now; --machine FILE then plans with it. help machine explains the fields,\n"
    "--backend chooses what is measured.\n"
    "With --train a training step is run too, that of MODEL or of small decoders, and\n"
    "the file gets tables of measured times: of each operator of the step, forward,\n"
    "backward and update, by its sizes (products by batch, m, n, k), and of each\n"
    "collective by bytes. They stand before the formulas. With -o and without MODEL a\n"
    "step that no table is from then runs beside its prediction.";
static const char info_text[] =
    "Says what a model consists of. Free dims may stay free: they are shown by name,\n"
    "like sizes that depend on the data.";
static const char rule_text[] =
    "Shows an operator on inputs of the given shapes: its index dims and what\n"
    "sharding each of them does, the part that a rank reads of each operand (halo:\n"
    "elements that the neighbour reads too), and the op in five notations, each with\n"
    "what it cannot express. Without --shapes: the names in other systems, the\n"
    "attributes, and the same for a small example. OP is our name or theirs: help\n"
    "operators.\n"
    "  --list     every operator, its names, the notations that express it, and\n"
    "             whether it can run\n"
    "  --trace    the answer of Paddle's dims_mapping rule, step by step, for inputs\n"
    "             sharded over the mesh -m as --in says\n"
    "  --profile  what torch or veScale choose for these inputs, and at what price\n"
    "  --check    prove the rule on simulated ranks: the index space; with --trace the\n"
    "             dims_mapping rule, with --profile the strategies. Without OP it\n"
    "             proves all operators with a kernel and lists the others, with FILE.lua\n"
    "             those the file registers. The exit code is 1 if one is not proven";
static const char reshard_text[] =
    "Brings a tensor from one sharding to another: the steps, what each sends and how\n"
    "long it takes, the second best way, and a lower bound; beside it what torch's\n"
    "two planners and veScale do, priced alike, with 'wrong data' where their steps\n"
    "give other elements.\n"
    "SHAPE is 4096x768. FROM and TO may be written as 4096/dp,768; [S(0),R];\n"
    "P('dp',None); [0,-1]; [{\"dp\"},{}]. With --to-mesh TO is on other devices:\n"
    "reshards on both sides and the messages between them, device by device.";
static const char solve_text[] =
    "Chooses one of the given choices at every node so that the costs of nodes and\n"
    "edges add up to the least, and the usages alive at any time stay within a limit.\n"
    "FILE is JSON, gzipped or not, as in the IOPDDL contest: {\"problem\": {\"nodes\":\n"
    "{\"intervals\": [[0, 2], ..], \"costs\": [[5, 7], ..], \"usages\": [[1, 0], ..]},\n"
    "\"edges\": {\"nodes\": [[0, 1], ..], \"costs\": [[0, 3, 3, 0], ..]}, \"usage_limit\":\n"
    "9}}; the costs of an edge are listed row by row, a row for each choice of its\n"
    "first node. The answer has a lower bound of every choice's cost, and says\n"
    "'proven' if no choice costs less. C-c stops with the best choice so far. The\n"
    "exit code is 1 if there is no choice; then it says which limit cannot be met.";
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
    "Without operand it lists verbs and topics.";

const Verb verbs[] = {
    {BATCH("", "MODEL [-m MESH] [-p POLICY]", "open the explorer", "explore"), VERB_EXPLORE, 1, 1,
     cli_explore, explore_text},
    {BATCH("plan", "MODEL -m MESH [-p POLICY]", "print the plan, or save it", "plans"), VERB_PLAN,
     1, 1, cli_plan, plan_text},
    {BATCH("why", "MODEL ... TENSOR[.DIM]", "explain the sharding of a tensor", "plans"), VERB_WHY,
     2, 2, cli_why, why_text},
    {BATCH("why-not", "MODEL ... TENSOR[.DIM] AXIS", "explain why it lacks an axis", "plans"),
     VERB_WHY_NOT, 3, 3, cli_why_not, why_not_text},
    {BATCH("ranges", "MODEL ... TENSOR", "what each rank reads and holds", "plans"), VERB_RANGES, 2,
     2, cli_ranges, ranges_text},
    {BATCH("check", "MODEL ... [--max-peak 74GiB]", "fail if illegal or over a limit", "plans"),
     VERB_CHECK, 1, 1, cli_check, check_text},
    {BATCH("estimate", "MODEL -m MESH [--set NAME=VALUE]",
           "does a training step fit, what takes time", "plans"),
     VERB_ESTIMATE, 1, 1, cli_estimate, estimate_text},
    {BATCH("search", "MODEL -m MESH | --devices N [--max-peak 75GiB]",
           "the fastest plan that fits, with a proof", "plans"),
     VERB_SEARCH, 1, 1, cli_search, search_text},
    {BATCH("diff",
           "A.json B.json | --propagate A,B MODEL .. | PLAN --actual TRACE | MODEL --joint FILE",
           "compare plans", "plans"),
     VERB_DIFF, 1, 2, cli_diff, diff_text},
    {BATCH("export", "MODEL ... --svg|--html|--to SYSTEM|.. [WHAT] [-o FILE]",
           "write a drawing, report or code", "plans"),
     VERB_EXPORT, 1, 2, cli_export, export_text},
    {BATCH("run", "MODEL ... [--verify] | --onnx-test DIR... | MODEL --vectors|--grad-vectors DIR",
           "run it on this machine", "plans"),
     VERB_RUN, 1, INT_MAX, cli_run, run_text},
    {BATCH("calibrate", "[MODEL] [-m MESH] [--train] [-o FILE.lua]", "measure this machine",
           "models"),
     VERB_CALIBRATE, 0, 1, cli_calibrate, calibrate_text},
    {BATCH("info", "MODEL [--values]", "list what a model consists of", "models"), VERB_INFO, 1, 1,
     cli_info, info_text},
    {BATCH("rule", "OP [--shapes LIST] | --list | --check", "show how an op can be sharded",
           "models"),
     VERB_RULE, 0, 1, cli_rule, rule_text},
    {BATCH("reshard", "SHAPE FROM TO -m MESH", "the steps between two shardings", "models"),
     VERB_RESHARD, 3, 3, cli_reshard, reshard_text},
    {BATCH("solve", "FILE [--seconds N]", "the cheapest choices under a limit", "models"),
     VERB_SOLVE, 1, 1, cli_solve, solve_text},
    {BATCH("tour", "", "five minutes with a sample", "program"), VERB_TOUR, 0, 0, cli_tour,
     tour_text},
    {BATCH("eval", "", "answer JSON requests, a line each", "program"), VERB_EVAL, 0, 0, cli_eval,
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
    Nearest nearest = {name, 3, NULL};
    for (const Verb *verb = verbs + 1; verb->run; verb++)
        nearest_try(&nearest, verb->action.name);
    return nearest.name;
}
