#include "tui/cli/options.h"

#include "core/base/nearest.h"

#include <getopt.h>
#include <limits.h>
#include <stddef.h>

#define OPTION(name, key, kind, field, arg, verbs, help)                                           \
    {                                                                                              \
        name, key, kind, offsetof(CliOptions, field), arg, help, verbs, NULL                       \
    }
#define FLAG(name, key, field, verbs, help) OPTION(name, key, OPTION_FLAG, field, "", verbs, help)
#define TEXT(name, key, field, arg, verbs, help)                                                   \
    OPTION(name, key, OPTION_TEXT, field, arg, verbs, help)
#define LIST(name, field, arg, verbs, help) OPTION(name, 0, OPTION_LIST, field, arg, verbs, help)

const Option cli_options[] = {
    TEXT("mesh", 'm', mesh, "MESH", UINT_MAX, "the devices: dp=2,tp=4 or [[0,1],[2,3]]"),
    TEXT("policy", 'p', policy, "FILE", VERBS_ON_PLANS | VERB_INFO | VERB_RULE | VERB_CALIBRATE,
         "a Lua policy: a path, or the name of a shipped one"),
    LIST("set", set, "NAME=VALUE", VERBS_ON_PLANS | VERB_CALIBRATE,
         "set an option of the policy: help policies lists them"),
    LIST("dim", dims, "K=V,...", UINT_MAX, "sizes of free dims: batch=8,seq=1024"),
    TEXT("fuse", 0, fuse, "NAME,...", VERBS_ON_PLANS | VERB_INFO,
         "fuse attention that is written as plain ops, tied weights, or sequences into their "
         "tensors: attention, tied, sequences"),
    {"train", 0, OPTION_TEXT, offsetof(CliOptions, train), "[SPEC]",
     "the whole training step: auto, or adamw,clip=1.0,loss=NAME: help train",
     VERBS_ON_PLANS | VERB_CALIBRATE, "auto"},
    TEXT("decode", 0, decode, "K=V,...", VERBS_ON_PLANS & ~VERB_SEARCH,
         "an inference step: batch=8,context=4096 is one new token for 8 sequences, each with a KV "
         "cache of 4096 tokens; block=16 (for estimate): the cache has whole blocks of 16 tokens"),
    TEXT("machine", 0, machine, "NAME|FILE", UINT_MAX, "the numbers of a device (default h100x8)"),
    TEXT("pins", 0, pins, "FILE", VERBS_ON_PLANS,
         "more decisions: a plan file, or shardings that other systems print"),
    TEXT("propagate", 0, propagate, "NAME", VERBS_ON_PLANS,
         "how axes spread: help propagators; for diff a list: factor,factor:shardy,spmd"),
    FLAG("overlap", 0, overlap, VERBS_ON_PLANS & ~(VERB_DIFF | VERB_SEARCH),
         "compute matmuls in parts while their operands or sums go around a ring, where that is "
         "faster"),
    FLAG("json", 0, json,
         VERB_PLAN | VERB_WHY | VERB_WHY_NOT | VERB_RANGES | VERB_CHECK | VERB_DIFF | VERB_RUN |
             VERB_INFO | VERB_RULE | VERB_RESHARD | VERB_SOLVE | VERB_HELP | VERB_ESTIMATE |
             VERB_SEARCH,
         "print JSON, one line"),
    FLAG("json", 0, json, VERB_EXPORT, "with export: the tables of the plan as data"),
    TEXT("output", 'o', output, "FILE", VERB_PLAN | VERB_EXPORT | VERB_CALIBRATE | VERB_SEARCH,
         "write to this file instead of the terminal"),
    FLAG("full", 0, full, VERB_PLAN, "with -o: also save the derived columns"),
    FLAG("values", 0, values, VERB_INFO, "every value with its dtype and shape"),
    TEXT("max-peak", 0, max_peak, "BYTES", VERB_CHECK | VERB_RESHARD | VERB_SEARCH,
         "limit on the memory per device: 74GiB; for reshard, on the tensor between steps"),
    TEXT("max-comm", 0, max_comm, "PERCENT", VERB_CHECK,
         "limit on the share of the step spent in collectives: 20%"),
    TEXT("max-step", 0, max_step, "TIME", VERB_CHECK, "limit on the step time: 5ms"),
    TEXT("max-grad-reduces", 0, max_grad_reduces, "N", VERB_CHECK,
         "with --train: limit on the number of collectives a step that reduce parameter gradients"),
    TEXT("against", 0, against, "NAME,...", VERB_ESTIMATE,
         "compare with published formulas, and say why they differ: megatron, deepspeed, calculon, "
         "llm-analysis, cookbook or all"),
    FLAG("dot", 0, dot, VERB_EXPORT, "a Graphviz drawing"),
    FLAG("svg", 0, svg, VERB_EXPORT, "the drawing as SVG, laid out by the program dot"),
    FLAG("pdf", 0, pdf, VERB_EXPORT, "the drawing as PDF"),
    FLAG("png", 0, png, VERB_EXPORT, "the drawing as PNG"),
    TEXT("kind", 0, kind, "KIND", VERB_EXPORT,
         "what to draw: overview (default), block, neighbourhood, ..: see help drawings"),
    FLAG("paper", 0, paper, VERB_EXPORT,
         "make the drawing fit a column of a paper: 7 pt type, no title, no legend"),
    TEXT("width", 0, width, "LENGTH", VERB_EXPORT,
         "--paper for another width: 7in, 17.8cm, 503pt (3.25in)"),
    TEXT("hops", 0, hops, "N", VERB_EXPORT,
         "with --kind neighbourhood: how many ops away from the op (2)"),
    FLAG("html", 0, html, VERB_EXPORT, "a report in one file, for a browser"),
    FLAG("md", 0, md, VERB_EXPORT, "a report in Markdown, for a review"),
    FLAG("csv", 0, csv, VERB_EXPORT, "a table of the plan, or all tables with -o FOLDER/"),
    TEXT("table", 0, table, "NAME", VERB_EXPORT,
         "with --csv or --json: ops, tensors, reshards, ..: see help tables"),
    FLAG("trace", 0, trace, VERB_EXPORT, "a step over time, in Chrome's JSON for Perfetto"),
    FLAG("onnx", 0, onnx, VERB_EXPORT,
         "the model with the plan as ONNX's multi-device annotations"),
    TEXT("to", 0, to, "SYSTEM", VERB_EXPORT,
         "the plan as code or settings of another system: see help systems"),
    TEXT("backend", 0, backend, "NAME", VERB_RUN | VERB_CALIBRATE,
         "where to run: host (default), mpi under mpirun, cuda, or auto: cuda if available"),
    TEXT("stall", 0, stall, "S", VERB_RUN | VERB_CALIBRATE,
         "end a run that makes no progress for S seconds longer than an op may take (3)"),
    FLAG("verify", 0, verify, VERB_RUN, "compare every value with the op on one device"),
    FLAG("deterministic", 0, deterministic, VERB_RUN | VERB_CALIBRATE,
         "use plain loops in a fixed order: bitwise equal results every time"),
    TEXT("seed", 0, seed, "N", VERB_RUN | VERB_CALIBRATE, "seed of random inputs and weights (0)"),
    TEXT("inputs", 0, inputs, "FOLDER", VERB_RUN,
         "folder with input_0.pb, ..; they also set the free dims"),
    TEXT("weights", 0, weights, "PATH", VERB_RUN | VERB_CALIBRATE,
         "a .safetensors file or a folder of them: weights by name; the rest from the model"),
    FLAG("draw-missing", 0, draw_missing, VERB_RUN | VERB_CALIBRATE,
         "with --weights: use random values for missing weights instead of failing"),
    TEXT("repeat", 0, repeat, "N", VERB_RUN | VERB_CALIBRATE,
         "number of timed runs; their median is reported (1)"),
    TEXT("warmup", 0, warmup, "N", VERB_RUN | VERB_CALIBRATE,
         "runs before the timed ones (1 with --repeat, else 0)"),
    TEXT("steps", 0, steps, "N", VERB_RUN,
         "with --train: number of training steps, each continues from the last (1)"),
    TEXT("steps", 0, steps, "N", VERB_DIFF,
         "with --actual: number of equal steps in the file; the last one is compared (1)"),
    TEXT("actual", 0, actual, "TRACE", VERB_DIFF,
         "what a job ran: a trace of torch.profiler, or a dump of NCCL's flight recorder"),
    TEXT("joint", 0, joint, "FILE", VERB_DIFF,
         "a file with the training step of the model: a joint graph, or a jitted step"),
    TEXT("slow", 0, slow, "TIMES", VERB_DIFF,
         "with --actual: a collective is slow from so many times its predicted time (2)"),
    TEXT("loss-csv", 0, loss_csv, "FILE", VERB_RUN,
         "with --train: write the loss of each step; with --verify also that of one device"),
    TEXT("trace", 0, trace_file, "FILE", VERB_RUN,
         "write what each rank did when, in Chrome's JSON for Perfetto"),
    FLAG("onnx-test", 0, onnx_test, VERB_RUN,
         "the operands are folders of ONNX test data, with the model in or beside them"),
    FLAG("f64", 0, f64, VERB_RUN,
         "compute an f32 model in f64 (inputs, parameters, states), for exact comparisons"),
    TEXT("grad-vectors", 0, grad_vectors, "DIR", VERB_RUN,
         "compare the gradients of the model with those of a folder NAME.grad"),
    TEXT("vectors", 0, vectors, "DIR", VERB_RUN,
         "compare the outputs with those of a folder: in_N.npy, out_N.npy (or input_N.pb ..)"),
    TEXT("cuts", 0, cuts, "all", VERB_RUN,
         "with --onnx-test, --vectors or --grad-vectors: run on one device, then with each op "
         "sharded in every way by the axes of -m"),
    TEXT("shapes", 0, shapes, "LIST", VERB_RULE,
         "shapes of the inputs: 4x8,8x16:i64; 'scalar'; - for an absent input, =[2,3] for values"),
    LIST("attr", attrs, "K=V", VERB_RULE, "attributes: axis=1, perm=[1,0]"),
    FLAG("list", 0, list, VERB_RULE, "all operators"),
    TEXT("in", 0, in, "LIST", VERB_RULE,
         "shardings of the inputs, with ';' between: '[-1,0];[0,-1]', '[S(0)];[R]'"),
    FLAG("trace", 0, trace, VERB_RULE, "show the steps of the dims_mapping rule"),
    FLAG("backward", 0, backward, VERB_RULE, "with --trace: infer the inputs from the outputs"),
    FLAG("exact", 0, exact, VERB_RULE, "with --trace: also reproduce the deviations of Paddle"),
    TEXT("profile", 0, profile, "NAME", VERB_RULE | VERBS_ON_PLANS,
         "profile of the propagator: shardy, torch, vescale, ..; for rule: torch, vescale, rules"),
    FLAG("no-redistribute", 0, no_redistribute, VERB_RULE | VERBS_ON_PLANS,
         "with --profile torch: fail if an op needs a redistribution, and name the fix"),
    FLAG("allow-native", 0, allow_native, VERB_RULE | VERBS_ON_PLANS | VERB_CALIBRATE,
         "load kernels that a policy names in shared libraries: native code with all your "
         "permissions"),
    FLAG("check", 0, check, VERB_RULE,
         "prove the rule: run every sharding on simulated ranks and compare with one device"),
    FLAG("gradient", 0, gradient, VERB_RULE,
         "the op spaces of the gradient; with --check: prove it by finite differences, then every "
         "sharding"),
    TEXT("dtype", 0, dtype, "NAME", VERB_RESHARD, "element type of the tensor (f32)"),
    TEXT("dtype", 0, dtype, "NAME", VERBS_ON_PLANS | VERB_INFO | VERB_CALIBRATE,
         "element type of the parameters, for a .lua model or a config.json (bf16)"),
    TEXT("to-mesh", 0, to_mesh, "MESH", VERB_RESHARD, "the mesh of TO, if it has other devices"),
    TEXT("devices", 0, devices, "N", VERB_SEARCH, "also search the mesh: all meshes of N devices"),
    FLAG("frontier", 0, frontier, VERB_SEARCH,
         "the fastest plans (with --devices: configurations) for less and less memory"),
    TEXT("gap", 0, gap, "PERCENT", VERB_SEARCH,
         "stop when no plan can be faster by more than this (0%)"),
    FLAG("unfold", 0, unfold, VERB_SEARCH, "with -m: let equal layers be sharded differently"),
    FLAG("price-pins", 0, price_pins, VERB_SEARCH,
         "what each pin costs, by a search without it; with -m the limit too"),
    FLAG("csv", 0, csv, VERB_SEARCH, "with --frontier: print CSV"),
    TEXT("seconds", 0, seconds, "N", VERB_SOLVE | VERB_SEARCH,
         "stop after this many seconds, with the best choice so far and a bound (60)"),
    FLAG("man", 0, man, VERB_HELP,
         "print the manual page in roff; 5: file formats, 7: scripts, or glossary"),
    FLAG("annotations", 0, annotations, VERB_HELP,
         "with lua: type annotations of what scripts can call, for language servers"),
    TEXT("completion", 0, completion, "SHELL", VERB_HELP,
         "print command line completion for bash, zsh or fish"),
    FLAG("ascii", 0, ascii, UINT_MAX, "print ASCII only"),
    TEXT("color", 0, color, "WHEN", VERB_EXPLORE | VERB_TOUR,
         "auto, always or never; auto respects NO_COLOR"),
    TEXT("config", 0, config, "FILE", VERB_EXPLORE | VERB_TOUR,
         "file of settings, theme and keys; none: the defaults (see help config); a FILE.json is "
         "the config of a .lua model"),
    TEXT("config", 0, config, "FILE.json",
         (VERBS_ON_PLANS | VERB_INFO | VERB_CALIBRATE) & ~VERB_EXPLORE,
         "the config that a .lua model gets, as MODEL(model, config)"),
    FLAG("fresh", 0, fresh, VERB_EXPLORE, "do not restore the last session"),
    FLAG("plain", 0, plain, VERB_EXPLORE,
         "print line by line, for screen readers and terminals that cannot move a cursor"),
    FLAG("no-mouse", 0, no_mouse, VERB_EXPLORE | VERB_TOUR, "leave the mouse to the terminal"),
    TEXT("size", 0, size, "COLSxROWS", VERB_EXPLORE | VERB_TOUR,
         "size of the screen without a terminal"),
    TEXT("script", 0, script, "KEYS", VERB_EXPLORE | VERB_TOUR, "keys to press: jjw<Enter>"),
    TEXT("screen", 0, screen, "FILE", VERB_EXPLORE | VERB_TOUR,
         "write the last screen to this file and quit"),
    FLAG("help", 'h', help, UINT_MAX, "print help on the verb"),
    FLAG("version", 'V', version, UINT_MAX, "print the version"),
    {0},
};

enum { OPTIONS_MAX = sizeof cli_options / sizeof *cli_options, FIRST_CODE = 256 };

/* Several options may share a name, as --trace: false for one that is another verb's. */
static bool is_for_verb(const Option *option, unsigned verb)
{
    for (const Option *other = cli_options; other->name; other++)
        if (other != option && strcmp(other->name, option->name) == 0 && other->verbs & verb)
            return false;
    return true;
}

/* The bit of the first word that names a verb, else the explorer's. */
static unsigned verb_bit(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const Verb *verb = verb_find(str_from(argv[i]));
        if (verb)
            return verb->bit;
    }
    return VERB_EXPLORE;
}

/* getopt's two views of the table; a long option's code is FIRST_CODE + its row. */
static void make_getopt(unsigned verb, char *keys, struct option *longs)
{
    *keys++ = ':'; /* so that a missing argument is not reported as an unknown option */
    for (int i = 0; cli_options[i].name; i++) {
        const Option *option = &cli_options[i];
        bool has_arg = option->kind != OPTION_FLAG;
        if (!is_for_verb(option, verb))
            continue;
        *longs++ = (struct option){option->name, has_arg ? required_argument : no_argument, NULL,
                                   FIRST_CODE + i};
        if (!option->key)
            continue;
        *keys++ = option->key;
        if (has_arg)
            *keys++ = ':';
    }
    *keys = '\0';
}

static const Option *option_of(int code)
{
    if (code >= FIRST_CODE)
        return &cli_options[code - FIRST_CODE];
    for (const Option *option = cli_options; option->name; option++)
        if (code != 0 && option->key == code)
            return option;
    return NULL;
}

static void set_option(Cli *cli, const Option *option, const char *arg)
{
    char *place = (char *)&cli->options + option->at;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)place = true;
        break;
    case OPTION_TEXT:
        *(const char **)(void *)place = arg;
        break;
    case OPTION_LIST:
        vec_push(cli->arena, (Texts *)(void *)place, arg);
        break;
    }
}

static bool unknown_option(Cli *cli, const char *given)
{
    error_kind(&cli->err, ERROR_USAGE, "there is no option '%s'", given);
    Str name = str_from(given);
    while (name.n > 0 && name.s[0] == '-')
        name = (Str){name.s + 1, name.n - 1};
    Nearest nearest = nearest_to(name, 3);
    for (const Option *option = cli_options; option->name; option++)
        nearest_try(&nearest, option->name);
    return error_hint(&cli->err, "%s%s", nearest.name ? "did you mean --" : "see dimscope help",
                      nearest.name ? nearest.name : "");
}

/* Sets the error for the option that getopt refused and has moved past. */
static bool bad_option(Cli *cli, int code, char *const *argv)
{
    const Option *option = option_of(optopt);
    if (code == ':' && option) {
        error_kind(&cli->err, ERROR_USAGE, "option --%s needs an argument", option->name);
        return error_hint(&cli->err, "--%s %s: %s", option->name, option->arg, option->help);
    }
    if (option)
        return error_kind(&cli->err, ERROR_USAGE, "option --%s takes no argument", option->name);
    return unknown_option(cli, optopt ? arena_printf(cli->arena, "-%c", optopt) : argv[optind - 1]);
}

/* Splits the verb from the operands, and refuses options of other verbs. */
static bool read_verb(Cli *cli, const Option *const *given, int n_given, int n, char **operand)
{
    const Verb *verb = n > 0 ? verb_find(str_from(operand[0])) : NULL;
    cli->verb = verb ? verb : &verbs[0];
    cli->n_operands = verb ? n - 1 : n;
    cli->operand = (const char *const *)(verb ? operand + 1 : operand);
    for (int i = 0; i < n_given; i++) {
        if (given[i]->verbs & cli->verb->bit)
            continue;
        error_kind(&cli->err, ERROR_USAGE, "'%s' takes no option --%s",
                   verb ? verb->action.name : "dimscope MODEL", given[i]->name);
        return error_hint(&cli->err, "see dimscope help%s%s", verb ? " " : "",
                          verb ? verb->action.name : "");
    }
    return true;
}

/* Writes the argument of options that stand alone: "--train" becomes "--train=auto". */
static void complete_options(Cli *cli, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        bool alone = i + 1 == argc || argv[i + 1][0] == '-';
        for (const Option *option = cli_options; alone && option->name; option++) {
            if (!option->alone || strncmp(argv[i], "--", 2) != 0 ||
                strcmp(argv[i] + 2, option->name) != 0)
                continue;
            Buf text = buf_new(cli->arena);
            buf_printf(&text, "--%s=%s", option->name, option->alone);
            argv[i] = text.s;
            break;
        }
    }
}

bool cli_parse(Cli *cli, int argc, char **argv)
{
    complete_options(cli, argc, argv);
    char keys[2 * OPTIONS_MAX + 2];
    struct option longs[OPTIONS_MAX] = {0};
    make_getopt(verb_bit(argc, argv), keys, longs);
    Vec(const Option *) given = {0}; /* a word may have several */
    int code;
    opterr = 0;
    while ((code = getopt_long(argc, argv, keys, longs, NULL)) != -1) {
        const Option *option = option_of(code);
        if (!option) /* '?' or ':' */
            return bad_option(cli, code, argv);
        vec_push(cli->arena, &given, option);
        set_option(cli, option, optarg);
    }
    return read_verb(cli, given.at, given.n, argc - optind, argv + optind);
}
