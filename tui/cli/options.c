#include "tui/cli/options.h"

#include <getopt.h>
#include <limits.h>
#include <stddef.h>

#define AT(field) offsetof(CliOptions, field)

const Option cli_options[] = {
    {"mesh", 'm', OPTION_TEXT, AT(mesh), "MESH", "the devices: dp=2,tp=4 or [[0,1],[2,3]]",
     UINT_MAX},
    {"policy", 'p', OPTION_TEXT, AT(policy), "FILE",
     "a Lua policy: a path, or a shipped one's name",
     VERBS_ON_PLANS | VERB_INFO | VERB_RULE | VERB_CALIBRATE},
    {"dim", 0, OPTION_LIST, AT(dims), "K=V,...", "sizes of free dims: batch=8,seq=1024", UINT_MAX},
    {"machine", 0, OPTION_TEXT, AT(machine), "NAME|FILE", "what a device can do (default h100x8)",
     UINT_MAX},
    {"pins", 0, OPTION_TEXT, AT(pins), "FILE",
     "further decisions: a plan file, or what other systems print", VERBS_ON_PLANS},
    {"propagate", 0, OPTION_TEXT, AT(propagate), "NAME",
     "the propagator: factor, spmd, strategy; of diff a list: factor,factor:shardy,spmd",
     VERBS_ON_PLANS},
    {"json", 0, OPTION_FLAG, AT(json), "", "answer in JSON, one line",
     VERB_PLAN | VERB_WHY | VERB_WHY_NOT | VERB_CHECK | VERB_DIFF | VERB_RUN | VERB_INFO |
         VERB_RULE | VERB_RESHARD | VERB_HELP},
    {"json", 0, OPTION_FLAG, AT(json), "", "tables of the plan as data", VERB_EXPORT},
    {"output", 'o', OPTION_TEXT, AT(output), "FILE", "write there instead of on the terminal",
     VERB_PLAN | VERB_EXPORT | VERB_CALIBRATE},
    {"full", 0, OPTION_FLAG, AT(full), "", "with -o: the derived columns too", VERB_PLAN},
    {"values", 0, OPTION_FLAG, AT(values), "", "every value with its dtype and shape", VERB_INFO},
    {"max-peak", 0, OPTION_TEXT, AT(max_peak), "BYTES",
     "most memory of a device: 74GiB; of reshard: of the tensor, on the way",
     VERB_CHECK | VERB_RESHARD},
    {"max-comm", 0, OPTION_TEXT, AT(max_comm), "PERCENT", "most of the step in collectives: 20%",
     VERB_CHECK},
    {"max-step", 0, OPTION_TEXT, AT(max_step), "TIME", "longest step: 5ms", VERB_CHECK},
    {"dot", 0, OPTION_FLAG, AT(dot), "", "a Graphviz drawing", VERB_EXPORT},
    {"svg", 0, OPTION_FLAG, AT(svg), "", "the same laid out by the program dot", VERB_EXPORT},
    {"pdf", 0, OPTION_FLAG, AT(pdf), "", "the same on a page", VERB_EXPORT},
    {"png", 0, OPTION_FLAG, AT(png), "", "the same as pixels", VERB_EXPORT},
    {"kind", 0, OPTION_TEXT, AT(kind), "KIND",
     "what is drawn: overview (default), block, neighbourhood, ..: see help drawings", VERB_EXPORT},
    {"hops", 0, OPTION_TEXT, AT(hops), "N", "of a neighbourhood: how far around the op (2)",
     VERB_EXPORT},
    {"html", 0, OPTION_FLAG, AT(html), "", "a report in one file, for a browser", VERB_EXPORT},
    {"md", 0, OPTION_FLAG, AT(md), "", "a report to paste into a review", VERB_EXPORT},
    {"csv", 0, OPTION_FLAG, AT(csv), "", "a table of the plan, or with -o FOLDER/ all",
     VERB_EXPORT},
    {"table", 0, OPTION_TEXT, AT(table), "NAME",
     "of --csv, --json: ops, tensors, reshards, ..: see help tables", VERB_EXPORT},
    {"trace", 0, OPTION_FLAG, AT(trace), "", "a step along time, as Chrome's JSON for Perfetto",
     VERB_EXPORT},
    {"onnx", 0, OPTION_FLAG, AT(onnx), "", "the model with the plan as ONNX's own annotations",
     VERB_EXPORT},
    {"to", 0, OPTION_TEXT, AT(to), "SYSTEM",
     "the plan as code: dtensor, jax, shardy, paddle, nnscaler or lua", VERB_EXPORT},
    {"backend", 0, OPTION_TEXT, AT(backend), "NAME",
     "what runs it: host (default), mpi under mpirun, cuda, or auto: cuda where it can",
     VERB_RUN | VERB_CALIBRATE},
    {"stall", 0, OPTION_TEXT, AT(stall), "S",
     "ends a run in which nothing happens for so long, beside what an op may take (3)",
     VERB_RUN | VERB_CALIBRATE},
    {"verify", 0, OPTION_FLAG, AT(verify), "", "compare every value with one device", VERB_RUN},
    {"deterministic", 0, OPTION_FLAG, AT(deterministic), "",
     "plain loops in a fixed order: the same bits every time", VERB_RUN | VERB_CALIBRATE},
    {"seed", 0, OPTION_TEXT, AT(seed), "N", "of inputs and weights that are not given (0)",
     VERB_RUN | VERB_CALIBRATE},
    {"inputs", 0, OPTION_TEXT, AT(inputs), "FOLDER",
     "input_0.pb, .. of the model: free dims are as there; what only data decide is found out",
     VERB_RUN},
    {"weights", 0, OPTION_TEXT, AT(weights), "PATH",
     "a .safetensors file, or a folder of them: weights by name; others as the model has them",
     VERB_RUN | VERB_CALIBRATE},
    {"repeat", 0, OPTION_TEXT, AT(repeat), "N", "runs to take the median of (1)",
     VERB_RUN | VERB_CALIBRATE},
    {"warmup", 0, OPTION_TEXT, AT(warmup), "N",
     "runs before those that are timed (1 with --repeat, else 0)", VERB_RUN | VERB_CALIBRATE},
    {"trace", 0, OPTION_TEXT, AT(trace_file), "FILE",
     "write when each rank did what there, as Chrome's JSON for Perfetto", VERB_RUN},
    {"onnx-test", 0, OPTION_FLAG, AT(onnx_test), "",
     "operands are folders of ONNX test data, with the model in or beside them", VERB_RUN},
    {"cuts", 0, OPTION_TEXT, AT(cuts), "all",
     "with --onnx-test: on one device, then under each cut of each op by the axes of -m", VERB_RUN},
    {"shapes", 0, OPTION_TEXT, AT(shapes), "LIST",
     "of the inputs: 4x8,8x16:i64; 'scalar', - for none, =[2,3] for values", VERB_RULE},
    {"attr", 0, OPTION_LIST, AT(attrs), "K=V", "an attribute: axis=1, perm=[1,0]", VERB_RULE},
    {"list", 0, OPTION_FLAG, AT(list), "", "all operators", VERB_RULE},
    {"in", 0, OPTION_TEXT, AT(in), "LIST",
     "how the inputs lie on the mesh, with ';' between: '[-1,0];[0,-1]', '[S(0)];[R]'", VERB_RULE},
    {"trace", 0, OPTION_FLAG, AT(trace), "", "how the dims_mapping rule comes to its answer",
     VERB_RULE},
    {"backward", 0, OPTION_FLAG, AT(backward), "", "with --trace: from the outputs to the inputs",
     VERB_RULE},
    {"exact", 0, OPTION_FLAG, AT(exact), "", "with --trace: Paddle's oddities too", VERB_RULE},
    {"profile", 0, OPTION_TEXT, AT(profile), "NAME",
     "the propagator's: shardy, torch, vescale, ..; of rule: torch, vescale, rules",
     VERB_RULE | VERBS_ON_PLANS},
    {"no-redistribute", 0, OPTION_FLAG, AT(no_redistribute), "",
     "with --profile torch: refuse where an input must move, and name the fix",
     VERB_RULE | VERBS_ON_PLANS},
    {"allow-native", 0, OPTION_FLAG, AT(allow_native), "",
     "load kernels that a policy names in shared libraries: native code with all your rights",
     VERB_RULE | VERBS_ON_PLANS | VERB_CALIBRATE},
    {"check", 0, OPTION_FLAG, AT(check), "",
     "prove the rule: every cut on simulated ranks against one device", VERB_RULE},
    {"dtype", 0, OPTION_TEXT, AT(dtype), "NAME", "element type of the tensor (f32)", VERB_RESHARD},
    {"to-mesh", 0, OPTION_TEXT, AT(to_mesh), "MESH",
     "the devices TO lies on, where they are others", VERB_RESHARD},
    {"man", 0, OPTION_FLAG, AT(man), "", "the manual page in roff; with 5: of files, 7: of scripts",
     VERB_HELP},
    {"annotations", 0, OPTION_FLAG, AT(annotations), "",
     "of lua: a file for language servers, which then know what scripts can call", VERB_HELP},
    {"completion", 0, OPTION_TEXT, AT(completion), "SHELL",
     "completion of the command line in bash, zsh or fish", VERB_HELP},
    {"ascii", 0, OPTION_FLAG, AT(ascii), "", "no character beyond ASCII", UINT_MAX},
    {"color", 0, OPTION_TEXT, AT(color), "WHEN", "auto, always or never; auto respects NO_COLOR",
     VERB_EXPLORE | VERB_TOUR},
    {"config", 0, OPTION_TEXT, AT(config), "FILE",
     "settings, theme and keys; none: as shipped (default: help config)", VERB_EXPLORE | VERB_TOUR},
    {"fresh", 0, OPTION_FLAG, AT(fresh), "", "do not begin where the last session ended",
     VERB_EXPLORE},
    {"plain", 0, OPTION_FLAG, AT(plain), "",
     "line by line, for screen readers and terminals that cannot place a cursor", VERB_EXPLORE},
    {"no-mouse", 0, OPTION_FLAG, AT(no_mouse), "", "leave the mouse to the terminal",
     VERB_EXPLORE | VERB_TOUR},
    {"size", 0, OPTION_TEXT, AT(size), "COLSxROWS", "of a screen that is not a terminal",
     VERB_EXPLORE | VERB_TOUR},
    {"script", 0, OPTION_TEXT, AT(script), "KEYS", "keys to press: jjw<Enter>",
     VERB_EXPLORE | VERB_TOUR},
    {"screen", 0, OPTION_TEXT, AT(screen), "FILE", "write the last screen there and end",
     VERB_EXPLORE | VERB_TOUR},
    {"help", 'h', OPTION_FLAG, AT(help), "", "help on the verb", UINT_MAX},
    {"version", 'V', OPTION_FLAG, AT(version), "", "the version", UINT_MAX},
    {0},
};

enum { OPTIONS_MAX = sizeof cli_options / sizeof *cli_options, FIRST_CODE = 256 };

/* Of options that are called alike, `trace`, the verb's own. */
static bool is_meant(const Option *option, unsigned verb)
{
    for (const Option *other = cli_options; other->name; other++)
        if (other != option && strcmp(other->name, option->name) == 0 && other->verbs & verb)
            return false;
    return true;
}

/* The bit of the first word that is a verb; that of the explorer where there is none. */
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
    *keys++ = ':'; /* a missing argument is told from an unknown option */
    for (int i = 0; cli_options[i].name; i++) {
        const Option *option = &cli_options[i];
        bool has_arg = option->kind != OPTION_FLAG;
        if (!is_meant(option, verb))
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
    const Option *nearest = NULL;
    int least = 3;
    for (const Option *option = cli_options; option->name; option++)
        if (str_distance(name, str_from(option->name)) < least) {
            least = str_distance(name, str_from(option->name));
            nearest = option;
        }
    error_hint(&cli->err, "%s%s", nearest ? "did you mean --" : "see dimscope help",
               nearest ? nearest->name : "");
    return false;
}

/* What was wrong with an option: getopt has moved past it. */
static bool bad_option(Cli *cli, int code, char *const *argv)
{
    const Option *option = option_of(optopt);
    if (code == ':' && option) {
        error_kind(&cli->err, ERROR_USAGE, "option --%s needs an argument", option->name);
        error_hint(&cli->err, "--%s %s: %s", option->name, option->arg, option->help);
        return false;
    }
    if (option)
        return error_kind(&cli->err, ERROR_USAGE, "option --%s takes no argument", option->name);
    return unknown_option(cli, optopt ? arena_printf(cli->arena, "-%c", optopt) : argv[optind - 1]);
}

/* The first operand is the verb when it is one; then the options must be its own. */
static bool take_verb(Cli *cli, const Option *const *given, int n_given, int n, char **operand)
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
        error_hint(&cli->err, "see dimscope help%s%s", verb ? " " : "",
                   verb ? verb->action.name : "");
        return false;
    }
    return true;
}

bool cli_parse(Cli *cli, int argc, char **argv)
{
    char keys[2 * OPTIONS_MAX + 2];
    struct option longs[OPTIONS_MAX] = {0};
    make_getopt(verb_bit(argc, argv), keys, longs);
    const Option **given = arena_array(cli->arena, const Option *, argc + 1);
    int n_given = 0, code;
    opterr = 0;
    while ((code = getopt_long(argc, argv, keys, longs, NULL)) != -1) {
        const Option *option = option_of(code);
        if (!option) /* '?' or ':' */
            return bad_option(cli, code, argv);
        given[n_given++] = option;
        set_option(cli, option, optarg);
    }
    return take_verb(cli, given, n_given, argc - optind, argv + optind);
}
