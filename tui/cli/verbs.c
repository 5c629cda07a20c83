#include "tui/cli/help.h"

#include <limits.h>

#define BATCH(name, args, help, group)                                                             \
    {                                                                                              \
        name, "", args, help, group, ACTION_BATCH, 0                                               \
    }

static const char explore_text[] =
    "Opens the explorer on a terminal; else, or when the output goes to a file,\n"
    "prints the plan as 'plan' does. MODEL is an ONNX file or a plan.json.";
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
    "Draws the plan. --dot is Graphviz text, --svg is laid out by the program dot.\n"
    "Kinds: overview has groups only, block one repeated layer in full.";
static const char run_text[] =
    "Runs the plan on threads of this machine, a rank each, and reports times.\n"
    "--verify compares every value on every rank with one device, and names the\n"
    "first that differs. Weights that are not there are drawn from --seed.\n"
    "--onnx-test runs the data sets of ONNX test folders and compares outputs.";
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
static const char help_text[] = "Shows this, a verb, or a topic.";

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
    {BATCH("export", "MODEL ... --dot|--svg [-o FILE]", "draw it", "plans"), VERB_EXPORT, 1, 1,
     cli_export, export_text},
    {BATCH("run", "MODEL ... [--verify] | --onnx-test DIR...", "run it on this machine", "plans"),
     VERB_RUN, 1, INT_MAX, cli_run, run_text},
    {BATCH("info", "MODEL [--values]", "say what a model is made of", "models"), VERB_INFO, 1, 1,
     cli_info, info_text},
    {BATCH("rule", "OP [--shapes LIST] | --list | --check", "show how an operator may be cut",
           "models"),
     VERB_RULE, 0, 1, cli_rule, rule_text},
    {BATCH("reshard", "SHAPE FROM TO -m MESH", "bring a tensor to another sharding", "models"),
     VERB_RESHARD, 3, 3, cli_reshard, reshard_text},
    {BATCH("eval", "", "answer JSON requests, a line each", "program"), VERB_EVAL, 0, 0, cli_eval,
     eval_text},
    {BATCH("help", "[VERB|TOPIC] | --man", "explain a verb or a topic", "program"), VERB_HELP, 0, 1,
     cli_help, help_text},
    {.run = NULL},
};

const Topic cli_topics[] = {
    {"mesh", "how the devices are named",
     "dp=2,tp=4           8 devices; the last axis varies fastest\n"
     "[[0,1],[2,3]]       devices by number, axes x0 and x1\n"
     "dp,tp=[[0,1],[2,3]] the same with names\n"
     "\n"
     "Devices 0 to 7 are a node when the machine has 8 to a node. --machine takes\n"
     "the name of a shipped machine, or a Lua file with its numbers: see\n"
     "dimscope help machine."},
    {"machine", "what a device can do, and how times follow",
     "--machine takes a shipped name, a100x8, b200x8, cpu, h100x8, h200x8 or pcie,\n"
     "or a Lua file that returns a table. Numbers are of one device, in bytes,\n"
     "operations and seconds, or microseconds where the name ends in _us. Fields in\n"
     "brackets may be left out.\n"
     "\n"
     "name, source          texts; source: where the numbers are from\n"
     "devices_per_node      devices that the inner link joins\n"
     "memory_bytes          what a device holds\n"
     "memory_bytes_per_s    what it reads and writes\n"
     "flops_per_s           {f32 = .., bf16 = ..}: matmuls, by element type\n"
     "[vector_flops_per_s]  the same of what is no matmul\n"
     "[matmul_share, memory_share, gather_share]  what of these is reached, 0 to 1\n"
     "launch_us             an op beside its work\n"
     "inside, between       the links in a node and between nodes:\n"
     "  name, latency_us, bytes_per_s     of a hop; one way\n"
     "  [shared_bytes_per_s]              what all devices of a node have together\n"
     "  [channels, channel_bytes_per_s]   as NCCL finds them; nccl needs them\n"
     "[nccl]                NCCL's own tuning numbers; h100x8.lua shows all of them\n"
     "\n"
     "An op takes launch_us + max(flops / (share * flops_per_s),\n"
     "                            bytes / (share * memory_bytes_per_s))\n"
     "matmul: ops that contract, attention, recurrences. vector: all others. gather:\n"
     "reads of its first operand as many bytes as it writes. view: takes no time.\n"
     "Tiles and waves that do not fill a device are not modelled.\n"
     "\n"
     "A collective takes, with nccl, the least over ring, tree, NVLS, NVLS tree and\n"
     "PAT with LL, LL128 and Simple; the Comm view has each one's formula:\n"
     "  base + hops + share * bytes / bandwidth\n"
     "share: 2(n-1)/n of an all-reduce ring, 2 of a tree, (n-1)/n of gather and\n"
     "scatter. A group with p ranks on each of several nodes has p times a device's\n"
     "part of the network, at most its inner link. All-to-all, permute and send go\n"
     "from rank to rank. A shared link is divided by the devices on the node.\n"
     "'(the most)' marks a limit of the table that the algorithm reaches first.\n"
     "Without nccl it is a ring on the slowest link of the group:\n"
     "  (n-1) * latency_us + (n-1)/n * bytes / bytes_per_s, all-reduce twice that\n"
     "\n"
     "step      compute + collectives: nothing overlaps; 'check --max-step' is of it\n"
     "overlap   the best case: two queues in program order; a collective starts when\n"
     "          its value is made, an op when what it reads has come\n"
     "exposed   what is left of the collectives then: overlap - compute\n"
     "moved     what one device sends, over all steps\n"
     "peak      the most that is alive on rank 0 while an op or a step for it runs:\n"
     "          parameters and inputs always, a value from its maker to its last\n"
     "          reader, a step's result beside its source; no scratch in an op\n"
     "init      while parameters are made, before the run: as parts at once, each\n"
     "          whole and then cut, or all whole before any is cut"},
    {"dims", "sizes that the model leaves free",
     "--dim batch=8,seq=1024 binds them; it may be given several times. A file\n"
     "MODEL.dims beside MODEL.onnx gives defaults. 'dimscope info MODEL' lists the\n"
     "names.\n"
     "\n"
     "A size that only the run tells, as how many places are not 0, goes by its\n"
     "op: NonZero_12.1. What depends on it is replicated, or planned for the size\n"
     "that --dim NonZero_12.1=100 gives: an assumption, which a note says."},
    {"notation", "how a sharding is written",
     "8/dp,1024,768/tp    dim 0 is cut by axis dp, dim 2 by tp, dim 1 is whole\n"
     "4096/dp.tp          one dim cut by two axes, the major one first\n"
     "(3)(768/tp)         blocks: each rank has its part of each of 3\n"
     "(12/tp)(64)         64 neighbours are never separated\n"
     "768/tp:(1)2         a part of an axis: the 2 major parts of tp\n"
     "Σtp                 partial: the ranks along tp hold addends; in ASCII +tp\n"
     "NonZero.1,64        sizes that are not known go by their names; ? has none\n"
     "\n"
     "h[0..11] ×12        a row that stands for 12 alike; in ASCII x12\n"
     "refine ↻8           a loop, which runs 8 times; ↻? only the run tells, or @8"},
    {"plan.json", "what a saved plan holds",
     "dimscope_plan  2, the version of the form; 1 is read too\n"
     "model          path of the model, from this file's folder; not needed for --pins\n"
     "model_hash     16 hex digits of its bytes; another model is a note\n"
     "dims           {\"batch\": 8}: elements of free dims; default: MODEL.dims\n"
     "mesh           \"dp=2,tp=4\"; default \"x=1\"\n"
     "machine        a shipped one's name, or a path; default \"h100x8\"\n"
     "policy         a name or path, or null; not run again, unless -p is given\n"
     "propagate      \"factor\" (default), \"spmd\" or \"strategy\"\n"
     "profile        the propagator's; default: its first\n"
     "no_redistribute  true: of strategy, what an op would have to move is an error\n"
     "decisions      in the order they were made\n"
     "derived        with --full: as in plan --json; it is not read\n"
     "\n"
     "A decision is one of these, with \"origin\" where it is not the user's own:\n"
     "{\"kind\": \"pin\", \"tensor\": NAME, \"dim\": 0, \"cut\": \"8/dp\"}  a dim of a tensor\n"
     "{\"kind\": \"pin\", \"op\": NAME, \"index\": \"k\", \"cut\": ..}     an index dim of an op\n"
     "  \"open\": further axes may cut it   \"store\": where it lies, not how it is used\n"
     "  \"priority\": 0 is felt first; all three may be left out\n"
     "{\"kind\": \"unpin\", ..}                    takes the pin of that dim away\n"
     "{\"kind\": \"replicated\", \"tensor\": NAME, \"axes\": [\"dp\"]}  cut no dim of it\n"
     "{\"kind\": \"unreduced\", \"tensor\": NAME, \"axes\": [\"tp\"]}   it stays partial over\n"
     "{\"kind\": \"tie\", \"tensor\": NAME, \"group\": \"g\"}          a group has one sharding\n"
     "{\"kind\": \"barrier\", \"tensor\": NAME, \"pass\": \"forward\"}  or backward, none\n"
     "{\"kind\": \"unmark\", \"tensor\": NAME}                     takes these four away\n"
     "\"origin\": {\"kind\": \"policy\", \"file\": PATH, \"line\": 14, \"text\": ..}\n"
     "\n"
     "What the model or the mesh has no longer is left out with a warning, and the\n"
     "rest is kept. A cut in one piece follows a dim of another size. Other fields\n"
     "are not read, which a note says, and not saved again."},
    {"operators", "what an operator is called, how it is written",
     "Softmax             ours: ONNX's names, domain::Name for other domains\n"
     "torch::softmax      torch's and veScale's; aten::, and a dot, do too\n"
     "nnscaler::softmax, paddle::softmax, stablehlo::dot\n"
     "softmax             ours, then nnscaler's, torch's, paddle's, stablehlo's\n"
     "\n"
     "If, Loop, Scan and a file's own functions are taken apart: their ops stand\n"
     "in a group of that name. LoopCarry, LoopSlice and LoopIndex are what an\n"
     "iteration finds, LoopResult and LoopStack what the loop gives.\n"
     "\n"
     "One op in five notations, as 'dimscope rule' and the Op view have it:\n"
     "dimop        b s k+, k+ n -> b s n   + summed, ^ never cut, (h t) two in one\n"
     "einsum       bsk,kn->bsn             1: a dim that is never cut\n"
     "transforms   [Flatten(InputDim(0), InputDim(1))]  output by input dims\n"
     "shardy       ([i, k], [k, j])->([i, j]) {i=8, j=16, k=32} reduction={k}\n"
     "template     a metakernel template in Lua, for these sizes\n"
     "What a notation has no word for stands below it, behind 'not said'."},
    {"policies", "what decides",
     "A policy is a Lua file with a function PAS(graph, resource) that pins dims:\n"
     "\n"
     "function PAS(graph, resource)\n"
     "    graph:shard(\"*.mlp.c_fc.weight\", {[1] = \"tp\"})\n"
     "    return graph\n"
     "end\n"
     "\n"
     "graph:shard(what, cuts)        what: a glob over names, a tensor, a list; cuts:\n"
     "                               {[0] = \"dp\", n = {axis = \"tp\", priority = 1}},\n"
     "                               axis interleave unit store open priority\n"
     "graph:pin, graph:unpin         of one name; nothing of that name is an error\n"
     "graph:replicated(what, axes)   {\"dp\"}: axes that cut no dim of the tensors\n"
     "graph:unreduced(what, axes)    axes that the tensors stay partial over\n"
     "graph:tie(name, what)          tensors of that group have one sharding\n"
     "graph:barrier(what, way)       axes pass only \"forward\", \"backward\", or \"none\"\n"
     "graph:partition, graph:replicate, graph:assign are nnScaler's\n"
     "\n"
     "Shipped: dp, tp, megatron, fsdp; -p megatron is short for the file's path."},
    {"propagators", "how axes spread from the pins",
     "--propagate factor     axes flow both ways between the dims of tensors and the\n"
     "                       index dims of ops until nothing changes\n"
     "  --profile explain    our order: each axis has a reason, each that stopped\n"
     "                       too; the default\n"
     "  --profile shardy, shardy-basic, shardy-basic-then-aggressive\n"
     "                       Shardy's rules, priorities and order of visits\n"
     "--propagate spmd       Paddle's completion of dims_mappings, over the program\n"
     "--propagate strategy   op by op in program order, as DTensor dispatches\n"
     "  --profile torch      the cheapest redistribution to a row of the operator\n"
     "  --profile vescale    only rows that need none: else an error with the fix\n"
     "\n"
     "diff --propagate factor,factor:shardy,spmd,strategy,strategy:vescale MODEL ..\n"
     "shows them side by side; why and why-not answer under each; 'dimscope rule OP'\n"
     "has an operator's rule under each: --trace for spmd, --profile for strategy."},
    {"json", "what --json answers",
     "One line; sizes are elements, times microseconds. A sharding is an object:\n"
     "{\"dims\": [[\"dp\"],[]], \"unreduced\": [\"tp\"], \"text\": \"8/dp,4 Σtp\"}. What a form\n"
     "has no word for is null; the text says all of it.\n"
     "\n"
     "plan     method profile mesh ops tensors reshards totals memory findings\n"
     "         ops: name path operator cuts {INDEX DIM: [axes]}\n"
     "         tensors: name dtype shape sharding dims_mapping partial placements\n"
     "                  local_shape (rank 0's) uneven\n"
     "         reshards: tensor uses from to us bound_us proven peak_bytes steps; a\n"
     "                   step: kind axes bytes (one rank's payload) wire_bytes\n"
     "                   (what it sends) us\n"
     "         totals: step_us compute_us comm_us overlap_us comm_bytes peak_bytes\n"
     "                 flops\n"
     "         findings: level code text hint file line\n"
     "why      tensor sharding chains: dim partial axis left_out steps: kind tensor\n"
     "         op dim text; a pin has its origin: file line text; reshards: from\n"
     "         to us bound_us proven peak_bytes steps runner_up, and of the first\n"
     "         reader: reader chains stops (dim axes stop text) summed\n"
     "why-not  tensor axis partial dims: dim size here other_dim stops: op path\n"
     "         operator tensor dim stop text hint ops_away beside from [lines]\n"
     "check    ok limits: name value limit ok; findings\n"
     "diff     same same_result sides request fork first_op totals; ops, tensors,\n"
     "         reshards, findings: n names sides\n"
     "reshard  shape dtype machine mesh from to us bound_us proven peak_bytes steps\n"
     "         runner_up planners; with --to-mesh to_mesh before crossing after ways\n"
     "run      ranks backend outputs median_us peak_bytes predicted_us ok ops\n"
     "info     ops host_ops nodes tensors params opset inputs outputs [values]\n"
     "\n"
     "What is in a loop has \"times\". Fields stay as they are; more may come."},
    {"exit", "exit codes",
     "0    fine\n"
     "1    an illegal plan, a failed check, a mismatch of --verify, a layout that\n"
     "     a rule refuses, plans that differ\n"
     "2    a wrong command line, or what is asked for is not on this machine\n"
     "3    input that cannot be read\n"
     "4    a policy that fails\n"
     "5    a run that failed\n"
     "130  interrupted"},
    {NULL, NULL, NULL},
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
