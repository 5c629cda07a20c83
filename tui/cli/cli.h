/* cli.h - one call of the program on the command line, from its options to its exit code.
 *
 * A verb reads its options, works, and leaves its answer in `out`; main.c writes it at the end.
 * Text goes through cli_write(), which makes it printable and, if the terminal has no UTF-8,
 * replaces it by ASCII of the same width. JSON goes out as it is. A failing verb sets `err` and
 * returns cli_fail(): the error in error_format()'s form on stderr, and the exit code of its kind.
 */
#ifndef TUI_CLI_CLI_H
#define TUI_CLI_CLI_H

#include "core/session/action.h"
#include "core/session/session.h"

/* Exit codes, which scripts rely on. */
enum {
    CLI_FINE = 0,
    CLI_ILLEGAL = 1, /* an illegal plan, a failed check or verification, an operand that a rule
                        refuses, plans that differ */
    CLI_USAGE = 2,   /* also if something needed is not on this machine */
    CLI_UNREADABLE = 3,
    CLI_SCRIPT = 4,
    CLI_RUN = 5,
    CLI_INTERRUPTED = 130
};

/* The texts of an option that may be repeated. */
typedef Vec(const char *) Texts;

/* The options given; texts are those of argv. */
typedef struct {
    const char *mesh, *policy, *machine, *pins, *propagate, *output, *color, *fuse, *train;
    const char *max_peak, *max_comm, *max_step, *max_grad_reduces, *against, *decode;
    const char *kind, *backend, *seed, *repeat, *warmup, *steps, *loss_csv, *trace_file, *stall,
        *weights, *shapes, *size, *script, *screen, *config;
    const char *hops, *width, *table, *to;
    const char *cuts, *grad_vectors, *inputs, *in, *profile, *dtype, *to_mesh, *seconds,
        *completion, *devices, *gap;
    const char *vectors, *actual, *slow, *joint;
    Texts dims, attrs, set;
    bool json, full, values, list, man, annotations, ascii, no_mouse, fresh, plain, verify,
        deterministic;
    bool draw_missing, frontier, unfold, price_pins, overlap;
    bool paper, dot, svg, pdf, png, html, md, csv, onnx;
    bool onnx_test, f64, trace, backward, exact, no_redistribute, check, gradient, allow_native;
    bool help, version;
} CliOptions;

typedef struct Verb Verb;
typedef struct DecodeAsked DecodeAsked; /* core/summary/decode.h */

typedef struct {
    Arena *arena; /* lives as long as the program */
    CliOptions options;
    const Verb *verb;
    int n_operands;
    const char *const *operand; /* not including the verb */
    const SessionHooks *hooks;
    bool ascii;
    Buf out;     /* what goes to stdout */
    bool raw;    /* for programs: written as it is */
    bool silent; /* another process of the run prints for all */
    Error err;
} Cli;

struct Verb {
    Action action;
    unsigned bit;         /* of Option.verbs */
    int n_min, n_max;     /* operands */
    int (*run)(Cli *cli); /* the exit code */
    const char *text;     /* what it does, for `help VERB`: lines of at most 78 columns */
};

/* Bits that say which verbs accept an option. */
enum {
    VERB_EXPLORE = 1 << 0,
    VERB_PLAN = 1 << 1,
    VERB_WHY = 1 << 2,
    VERB_WHY_NOT = 1 << 11,
    VERB_CHECK = 1 << 3,
    VERB_EXPORT = 1 << 4,
    VERB_RUN = 1 << 5,
    VERB_INFO = 1 << 6,
    VERB_RULE = 1 << 7,
    VERB_EVAL = 1 << 8,
    VERB_HELP = 1 << 9,
    VERB_DIFF = 1 << 10,
    VERB_RESHARD = 1 << 12,
    VERB_TOUR = 1 << 13,
    VERB_CALIBRATE = 1 << 14,
    VERB_SOLVE = 1 << 15,
    VERB_ESTIMATE = 1 << 16,
    VERB_SEARCH = 1 << 17,
    VERB_RANGES = 1 << 18,
    VERBS_ON_PLANS = VERB_EXPLORE | VERB_PLAN | VERB_WHY | VERB_WHY_NOT | VERB_RANGES | VERB_CHECK |
                     VERB_DIFF | VERB_EXPORT | VERB_RUN | VERB_ESTIMATE | VERB_SEARCH
};

extern const Verb verbs[]; /* ended by one without a run function; the first is the explorer's */
const Verb *verb_find(Str name);    /* NULL */
const char *verb_nearest(Str name); /* for hints; NULL when none is near */

/* Reads --decode, which must be given; false with cli->err. */
bool cli_decode_asked(Cli *cli, DecodeAsked *out);
/* Reads --seconds: a number above 0, or `without` if it is not given; false with cli->err. */
bool cli_seconds(Cli *cli, double without, double *out);
/* From here until cli_unwatch() the first C-c asks this work to stop, instead of ending the
 * program. Only one piece of work at a time. */
Progress *cli_watch(void);
void cli_unwatch(void);

int cli_fail(Cli *cli); /* prints cli->err; its exit code */
int cli_exit_code(ErrorKind kind);
bool cli_write(Cli *cli); /* writes cli->out to stdout and empties it; false if stdout is closed */
void cli_write_json(Cli *cli, Json *root); /* one line into cli->out; frees root */

bool cli_session_options(Cli *cli, SessionOptions *out); /* of operand 0; false with cli->err */
/* Opens a session on operand 0 with the options; NULL with cli->err. On a terminal it shows the
 * line of tui/state/jobs/progress_line.h if this takes more than a second. */
Session *cli_open(Cli *cli);
Session *cli_open_watched(Cli *cli, Progress *progress);
/* Returns the session if its propagator accepts the options given; else NULL with the error. */
Session *cli_checked(const Cli *cli, Session *session, Error *err);
Session *cli_open_model(Cli *cli); /* without a plan: free dims may stay unbound */

bool cli_read_dims(Cli *cli, DimBindings *dims); /* of every --dim */

/* ---- the verbs ---- */
int cli_explore(Cli *cli);
int cli_tour(Cli *cli); /* the explorer on a sample, with a guide */
int cli_plan(Cli *cli);
int cli_why(Cli *cli);
int cli_why_not(Cli *cli);
int cli_ranges(Cli *cli);
int cli_check(Cli *cli);
int cli_estimate(Cli *cli);
int cli_search(Cli *cli);
int cli_diff(Cli *cli);
/* diff --actual: compares the plan with what a job ran. */
int cli_diff_actual(Cli *cli);
/* diff --joint: compares the step derived from a model with the one in a file. */
int cli_diff_joint(Cli *cli);
int cli_export(Cli *cli);
int cli_run(Cli *cli);
int cli_calibrate(Cli *cli);
int cli_info(Cli *cli);
int cli_rule(Cli *cli);
int cli_reshard(Cli *cli);
int cli_solve(Cli *cli);
int cli_eval(Cli *cli);
int cli_help(Cli *cli);

#endif
