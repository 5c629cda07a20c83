#include "tui/cli/cli.h"

#include "core/base/units.h"
#include "core/fuse/fuse.h"
#include "core/plan/plan_findings.h"
#include "core/propagate/propagators.h"
#include "core/search/overlap.h"
#include "core/summary/decode.h"
#include "tui/screen/style.h"
#include "tui/cli/text_fold.h"
#include "tui/state/jobs/progress_line.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- errors ---- */

/* What is not here is something unreadable: exit code 3. */
static const uint8_t exit_codes[ERROR_KIND_COUNT] = {
    [ERROR_UNBOUND] = CLI_USAGE,
    [ERROR_UNKNOWN_OP] = CLI_USAGE,
    [ERROR_UNSUPPORTED] = CLI_USAGE,
    [ERROR_USAGE] = CLI_USAGE,
    [ERROR_SCRIPT] = CLI_SCRIPT,
    [ERROR_RUN] = CLI_RUN,
    [ERROR_CANCELLED] = CLI_INTERRUPTED,
    [ERROR_CONFLICT] = CLI_ILLEGAL,
    [ERROR_NEEDS_RESHARD] = CLI_ILLEGAL,
    [ERROR_PARTIAL] = CLI_ILLEGAL, /* a layout that a rule refuses */
};

int cli_exit_code(ErrorKind kind)
{
    return exit_codes[kind] ? exit_codes[kind] : CLI_UNREADABLE;
}

/* ---- work that may take long ---- */

/* A handler of signals has no other way to it. */
static Progress watched;
static struct sigaction unwatched;

static void stop(int signal_number)
{
    (void)signal_number;
    progress_stop(&watched);
}

Progress *cli_watch(void)
{
    struct sigaction action = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, &unwatched);
    return &watched;
}

void cli_unwatch(void)
{
    sigaction(SIGINT, &unwatched, NULL);
}

bool cli_seconds(Cli *cli, double without, double *out)
{
    const char *text = cli->options.seconds;
    *out = without;
    if (!text)
        return true;
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    if (end != text && *end == '\0' && errno == 0 && *out > 0 && *out < 1e9)
        return true;
    error_kind(&cli->err, ERROR_USAGE, "--seconds cannot be '%s'", text);
    return error_hint(&cli->err, "give a number above 0, for example --seconds 10");
}

bool cli_decode_asked(Cli *cli, DecodeAsked *out)
{
    return decode_parse(cli->arena, &(Source){"--decode", str_from(cli->options.decode)}, out,
                        &cli->err);
}

/* ---- output ---- */

static void add_ascii(Str text, Buf *out)
{
    while (text.n > 0) {
        uint32_t rune = str_take_rune(&text);
        buf_putc(out, rune < 0x80 ? (char)rune : style_ascii(rune));
    }
}

int cli_fail(Cli *cli)
{
    Buf text = buf_new(cli->arena), safe = buf_new(cli->arena);
    error_format(&cli->err, &text);
    if (cli->ascii)
        add_ascii(buf_str(&text), &safe);
    else
        buf_add(&safe, buf_str(&text));
    fflush(stdout);
    if (!cli->silent)
        fwrite(safe.s, 1, safe.n, stderr);
    return cli_exit_code(cli->err.kind);
}

/* Of the terminal that the answer goes to; 0: it goes elsewhere, where lines are not folded. */
static int terminal_columns(void)
{
    struct winsize size = {0};
    bool known = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    return known ? size.ws_col : 0;
}

/* Text as this terminal may be sent it: names of files and models can hold anything. */
static Str safe_text(const Cli *cli, Arena *arena)
{
    Buf safe = buf_new(arena);
    int columns = terminal_columns();
    for (Str rest = buf_str(&cli->out); rest.n > 0;) {
        int64_t end = str_find(rest, STR("\n"));
        size_t n = end < 0 ? rest.n : (size_t)end;
        Buf line = buf_new(arena), shown = buf_new(arena);
        text_printable((Str){rest.s, n}, &line);
        if (cli->ascii)
            add_ascii(buf_str(&line), &shown);
        else
            shown = line;
        if (columns > 0)
            text_fold(buf_str(&shown), columns, &safe);
        else
            buf_add(&safe, buf_str(&shown));
        if (end >= 0)
            buf_putc(&safe, '\n');
        n += end >= 0;
        rest = (Str){rest.s + n, rest.n - n};
    }
    return buf_str(&safe);
}

bool cli_write(Cli *cli)
{
    Arena *scratch = arena_new();
    Str text = cli->raw ? buf_str(&cli->out) : safe_text(cli, scratch);
    bool ok = fwrite(text.s, 1, text.n, stdout) == text.n && fflush(stdout) == 0;
    if (!ok && errno != EPIPE)
        error_kind(&cli->err, ERROR_UNREADABLE, "cannot write the answer: %s", strerror(errno));
    arena_free(scratch);
    cli->out = buf_new(cli->arena);
    return ok;
}

void cli_write_json(Cli *cli, Json *root)
{
    cli->raw = true;
    json_write(root, &cli->out);
    buf_putc(&cli->out, '\n');
    json_free(root);
}

/* ---- the session ---- */

bool cli_read_dims(Cli *cli, DimBindings *dims)
{
    for (int i = 0; i < cli->options.dims.n; i++) {
        Source source = {.name = "--dim", .text = str_from(cli->options.dims.at[i])};
        if (dims_parse(cli->arena, &source, dims, &cli->err))
            continue;
        cli->err.kind = ERROR_USAGE;
        return false;
    }
    return true;
}

/* With --decode the session is on a step of inference. */
static bool add_decode(Cli *cli, SessionOptions *out)
{
    DecodeAsked asked;
    if (!cli->options.decode)
        return true;
    if (cli->options.train)
        return error_kind(&cli->err, ERROR_USAGE,
                          "--decode plans inference and --train plans training; give one of them");
    return cli_decode_asked(cli, &asked) &&
           decode_options(cli->arena, out, cli->hooks, asked, out, &cli->err);
}

bool cli_session_options(Cli *cli, SessionOptions *out)
{
    const CliOptions *options = &cli->options;
    *out = (SessionOptions){.model = cli->operand[0], .mesh = options->mesh};
    out->policy = options->policy;
    out->machine = options->machine;
    out->pins = options->pins;
    out->dtype = options->dtype;
    out->f64 = options->f64;
    if (options->config && str_ends(str_from(options->config), STR(".json")))
        out->config = options->config;
    else if (options->config && !(cli->verb->bit & (VERB_EXPLORE | VERB_TOUR)))
        return error_kind(&cli->err, ERROR_USAGE,
                          "the config of a model must be a .json file, not '%s'", options->config);
    out->propagator_given = options->propagate || options->profile;
    out->no_redistribute = options->no_redistribute;
    out->allow_native = options->allow_native;
    out->train = options->train;
    if (options->fuse && !fusions_parse(str_from(options->fuse), &out->fuse, &cli->err))
        return false;
    Str propagator = str_from(options->propagate ? options->propagate : "factor");
    Str profile = str_from(options->profile ? options->profile : "");
    for (int i = 0; i < options->set.n; i++)
        if (!policy_settings_with(cli->arena, &out->settings, str_from(options->set.at[i]),
                                  &out->settings, &cli->err))
            return false;
    return propagator_find(propagator, profile, &out->propagator, &cli->err) &&
           cli_read_dims(cli, &out->dims) && add_decode(cli, out);
}

Session *cli_open(Cli *cli)
{
    enum { SHOWN_AFTER_MS = 1000 };
    if (cli->silent || !isatty(STDERR_FILENO))
        return cli_open_watched(cli, NULL);
    Progress *progress = arena_make(cli->arena, Progress);
    ProgressLineShown *shown =
        progress_line_begin(cli->arena, progress, STDERR_FILENO, SHOWN_AFTER_MS);
    Session *session = cli_open_watched(cli, progress);
    progress_line_end(shown);
    return session;
}

/* "4 of 6 groups of matmuls are computed in parts: step 187 ms for 225 ms" */
static void note_overlap(Session *session, const OverlapResult *found)
{
    Buf text = buf_new(session->plan->arena);
    if (found->n_tried == 0)
        buf_puts(
            &text,
            "no all-gather ends at a matmul and no reduce-scatter begins at one, so that none is "
            "computed in parts");
    else
        buf_printf(&text, "%d of %d groups of matmuls are computed in parts", found->n_kept,
                   found->n_tried);
    if (found->n_kept > 0) {
        buf_puts(&text, ": step ");
        units_format_us(found->after_us, &text);
        buf_puts(&text, " for ");
        units_format_us(found->before_us, &text);
    }
    plan_find(session->plan, LEVEL_NOTE, "overlap", -1, -1, "", "%s", text.s);
}

/* Adds the decisions that let products hide what is moved for them. */
static Session *overlapped(Cli *cli, Session *session, Progress *progress)
{
    OverlapResult found;
    if (!session || !cli->options.overlap)
        return session;
    if (overlap_find(cli->arena, session, progress, &found, &cli->err) &&
        (found.n == 0 || session_apply(session, found.decisions, found.n, &cli->err))) {
        note_overlap(session, &found);
        return session;
    }
    session_close(session);
    return NULL;
}

Session *cli_open_watched(Cli *cli, Progress *progress)
{
    SessionOptions options;
    Session *session = NULL;
    if (cli_session_options(cli, &options)) {
        options.progress = progress;
        session = overlapped(cli, session_open(&options, cli->hooks, &cli->err), progress);
    }
    return cli_checked(cli, session, &cli->err);
}

Session *cli_checked(const Cli *cli, Session *session, Error *err)
{
    if (session && cli->options.decode && !decode_has_cache(session)) {
        error_kind(err, ERROR_USAGE, "%s has no KV cache, so it cannot be decoded",
                   session->options.model);
        error_hint(err, "--decode needs a decoder that is built from a config.json");
        session_close(session);
        return NULL;
    }
    if (!session || !cli->options.no_redistribute || session->options.propagator->may_refuse)
        return session;
    error_kind(err, ERROR_USAGE, "--no-redistribute needs --propagate strategy, not %s",
               session->options.propagator->name);
    error_hint(err, "add --propagate strategy; factor and spmd always redistribute");
    session_close(session);
    return NULL;
}

Session *cli_open_model(Cli *cli)
{
    SessionOptions options;
    return cli_session_options(cli, &options) ? session_open_model(&options, cli->hooks, &cli->err)
                                              : NULL;
}
