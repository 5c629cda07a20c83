#include "tui/cli/help.h"

#include <limits.h>

#define BATCH(name, args, help, group)                                                             \
    {                                                                                              \
        name, "", args, help, group, ACTION_BATCH, 0                                               \
    }

static const char explore_text[] =
    "Opens the explorer on a terminal; else, or when the output goes to a file,\n"
    "prints the plan as 'plan' does. MODEL is an ONNX file, a config.json of Hugging\n"
    "Face, a Lua file that builds one, or a plan.json: see help models.";
static const char plan_text[] =
    "Makes the plan of a model on a mesh and prints it: every op with the sharding\n"
    "of its output, parameters, collectives, findings, totals. Equal layers are one\n"
    "row; what is in a loop counts as often as it runs. -o saves the plan instead:\n"
    "its decisions, from which all else follows.";
static const char why_text[] =
    "Says why a tensor is sharded as it is: for each axis on each dim the chain of\n"
    "ops back to the line of the policy that pinned it. TENSOR is a name, or the\n"
    "PATH of a module with .weight, .bias, .in or .out; .DIM is a dim's number.";
static const char why_not_text[] =
    "Says why an axis does not cut a tensor: for each dim the nearest places that\n"
    "have the axis, the op at which it stopped on the way from there, what the op\n"
    "says, what would let it through, and how the axis came so far.";
static const char check_text[] =
    "Prints the findings, and the limits that were given. The exit code is 1 when\n"
    "the plan is illegal or over a limit.";
static const char diff_text[] =
    "Compares two plans, or one model under several methods: what was asked, the\n"
    "first decision that differs, totals, the ops, tensors, reshards and findings\n"
    "that differ, by name, equal layers in one row, and why the first op is cut\n"
    "otherwise. The exit code is 1 when there are differences.";
static const char export_text[] =
    "Writes the plan for somebody else, in one of these formats:\n"
    "\n"
    "--dot --svg --pdf --png  a drawing, by --kind: help drawings; all but --dot need the\n"
    "                         program dot. WHAT: the op or tensor that it is of\n"
    "--html --md              a report: totals, findings, collectives, memory, layers;\n"
    "                         WHAT: a second plan, and what it does otherwise\n"
    "--csv --json             the plan as tables, --table NAME: help tables; without it\n"
    "                         all, as one JSON object, or for --csv a FOLDER/ of files\n"
    "--trace                  a step along time, for Perfetto (ui.perfetto.dev); 'run\n"
    "                         --trace FILE' has beside it what was measured\n"
    "--onnx                   the model with the plan in it, as ONNX says where things run\n"
    "--to SYSTEM              what to run next: dtensor (PyTorch), jax, shardy, paddle,\n"
    "                         nnscaler, or lua, a policy that pins it all\n"
    "\n"
    "What a format cannot say is a note beside the file. A file is written whole or not\n"
    "at all; equal plans give equal bytes.";
static const char run_text[] =
    "Runs the plan, a rank a thread of this host, a process or a GPU (--backend), in\n"
    "a child that is watched, and reports times beside the predicted ones.\n"
    "--verify compares every value on every rank with one device, and names the\n"
    "first that differs. Weights that are not there are drawn from --seed.\n"
    "What cannot be run is refused before anything runs: operators without a kernel\n"
    "(rule --list), texts, images to be decoded.\n"
    "--onnx-test runs the data sets of ONNX test folders and compares outputs;\n"
    "with --cuts all on one device, then again under every cut: each op by itself,\n"
    "each index dim of it that may be cut by each axis of -m and by each two, and\n"
    "each two of its dims by an axis each. Of ops with equal operators, attributes\n"
    "and shapes the first is cut. The first cut that fails is printed as the line\n"
    "of a policy that makes it.";
static const char calibrate_text[] =
    "Runs products, element-wise ops, lookups and collectives of many sizes, or the\n"
    "ops of MODEL, and fits a machine file to the times: launch, rates, shares, a\n"
    "hop and a link. Without -m there are as many ranks as cores. With -o it writes\n"
    "the file and says how far predictions were off, and are now; --machine FILE\n"
    "then plans with it. help machine has the fields, --backend what is measured.";
static const char info_text[] =
    "Says what a model is made of. Free dims may stay free: they go by their names,\n"
    "as do sizes that only the run tells.";
static const char rule_text[] =
    "Shows an operator on inputs of the given shapes: its index dims and what\n"
    "follows when one is cut, where each operand is read (halo: read again by a\n"
    "neighbour), and the op in five notations, each with what it does not say.\n"
    "Without --shapes: what other systems call it, its attributes, and the same for\n"
    "a small example. OP is our name or theirs; help operators has the forms.\n"
    "  --list     every operator, its names, who can say it, whether it can be run\n"
    "  --trace    what Paddle's dims_mapping rule answers for operands that lie as\n"
    "             --in says on the mesh -m, and how it comes to that\n"
    "  --profile  what torch or veScale choose for them, and at what price\n"
    "  --check    prove on simulated ranks: its index space, with --trace its\n"
    "             dims_mapping rule, with --profile its strategy; without OP all\n"
    "             that can be proven, of FILE.lua what that registers";
static const char reshard_text[] =
    "Brings a tensor from one sharding to another: the steps, what each moves and\n"
    "how long it takes, the next best way, the least that any must take; and what\n"
    "torch's two planners and veScale do, priced alike, with 'wrong data' where\n"
    "running their steps gives other elements.\n"
    "SHAPE is 4096x768, FROM and TO in any view: 4096/dp,768; [S(0),R]; P('dp',None);\n"
    "[0,-1]; [{\"dp\"},{}]. With --to-mesh TO lies on other devices: reshards on both\n"
    "sides and the messages between, device by device.";
static const char eval_text[] =
    "Answers questions of other tools: one JSON request a line on standard input,\n"
    "one JSON answer a line. Verbs: anno.*, template.*, ipf.*, range.*, layout,\n"
    "factor.rule, factor.propagate, factor.origins, strategy, redistribute, spmd.*,\n"
    "rvd.reshard, reshard.insert, reshard.collectives.";
static const char tour_text[] =
    "Opens the explorer on a sample, GPT-2 cut as Megatron does, with a box that\n"
    "says what to look for and what to press next; C-n presses it for you. Without\n"
    "a terminal it prints the steps.";
static const char help_text[] =
    "Shows this, a verb, a topic, or what scripts can call: lua, lua.NAME.";

const Verb verbs[] = {
    {BATCH("", "MODEL [-m MESH] [-p POLICY]", "open the explorer", "explore"), VERB_EXPLORE, 1, 1,
     cli_explore, explore_text},
    {BATCH("plan", "MODEL -m MESH [-p POLICY]", "print the plan, or save it", "plans"), VERB_PLAN,
     1, 1, cli_plan, plan_text},
    {BATCH("why", "MODEL ... TENSOR[.DIM]", "say why a tensor is sharded so", "plans"), VERB_WHY, 2,
     2, cli_why, why_text},
    {BATCH("why-not", "MODEL ... TENSOR[.DIM] AXIS", "say what keeps an axis from it", "plans"),
     VERB_WHY_NOT, 3, 3, cli_why_not, why_not_text},
    {BATCH("check", "MODEL ... [--max-peak 74GiB]", "fail if illegal or over a limit", "plans"),
     VERB_CHECK, 1, 1, cli_check, check_text},
    {BATCH("diff", "A.json B.json | --propagate A,B MODEL ...", "compare plans", "plans"),
     VERB_DIFF, 1, 2, cli_diff, diff_text},
    {BATCH("export", "MODEL ... --svg|--html|--to SYSTEM|.. [WHAT] [-o FILE]",
           "draw it, report it, write it as code", "plans"),
     VERB_EXPORT, 1, 2, cli_export, export_text},
    {BATCH("run", "MODEL ... [--verify] | --onnx-test DIR...", "run it on this machine", "plans"),
     VERB_RUN, 1, INT_MAX, cli_run, run_text},
    {BATCH("calibrate", "[MODEL] [-m MESH] [-o FILE.lua]", "find out what this machine can do",
           "models"),
     VERB_CALIBRATE, 0, 1, cli_calibrate, calibrate_text},
    {BATCH("info", "MODEL [--values]", "say what a model is made of", "models"), VERB_INFO, 1, 1,
     cli_info, info_text},
    {BATCH("rule", "OP [--shapes LIST] | --list | --check", "show how an operator may be cut",
           "models"),
     VERB_RULE, 0, 1, cli_rule, rule_text},
    {BATCH("reshard", "SHAPE FROM TO -m MESH", "bring a tensor to another sharding", "models"),
     VERB_RESHARD, 3, 3, cli_reshard, reshard_text},
    {BATCH("tour", "", "five minutes with a sample", "program"), VERB_TOUR, 0, 0, cli_tour,
     tour_text},
    {BATCH("eval", "", "answer JSON requests, a line each", "program"), VERB_EVAL, 0, 0, cli_eval,
     eval_text},
    {BATCH("help", "[VERB|TOPIC|lua.NAME] | --man [5|7] | --completion SHELL",
           "explain a verb or a topic", "program"),
     VERB_HELP, 0, 1, cli_help, help_text},
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
    const char *nearest = NULL;
    int least = 3;
    for (const Verb *verb = verbs + 1; verb->run; verb++) {
        int distance = str_distance(name, str_from(verb->action.name));
        if (distance < least) {
            least = distance;
            nearest = verb->action.name;
        }
    }
    return nearest;
}
