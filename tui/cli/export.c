/* export.c - `dimscope export`: the plan as a drawing, a report, tables, a trace, or code. */
#include "tui/cli/cli.h"

#include "core/base/peer.h"
#include "tui/cli/plan_text.h"
#include "viz/export.h"
#include "viz/paper.h"

#include <stdio.h>
#include <unistd.h>

/* The format that the name of the file to write asks for: "x.svg"; NULL if none does. */
static const ExportFormat *format_of_file(const char *path)
{
    const char *end = path ? strrchr(path_base(path), '.') : NULL;

    if (!end)
        return NULL;
    return export_format_find(str_from(strcmp(end, ".gv") == 0 ? "dot" : end + 1), false);
}

static bool refuse_system(const Cli *cli, const char *to, Error *err)
{
    for (const KnownPeer *peer = known_peers; peer->name; peer++)
        if (str_has_word(str_from(peer->exports), str_from(to))) {
            error_kind(err, ERROR_USAGE, "this dimscope was built without the export to %s", to);
            return error_hint(err, "build it with %s in make's PEERS", peer->name);
        }
    error_kind(err, ERROR_USAGE, "there is no system '%s' to export to", to);
    return error_hint(err, "--to must be one of: %s",
                      export_format_names(cli->arena, true, "", ", "));
}

/* Which of the formats' options is given: one, or none if the name of the file says it. */
static const ExportFormat *choose(Cli *cli)
{
    const CliOptions *o = &cli->options;
    const bool given[] = {o->dot, o->svg, o->pdf,  o->png,   o->html,
                          o->md,  o->csv, o->json, o->trace, o->onnx}; /* ORDER EXPORT_FORMAT */
    const ExportFormat *chosen = o->to ? export_format_find(str_from(o->to), true) : NULL;
    int n = o->to != NULL;

    if (o->to && !chosen) {
        refuse_system(cli, o->to, &cli->err);
        return NULL;
    }
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i]) {
            chosen = export_format_at((int)i);
            n++;
        }
    if (n == 0 && (chosen = format_of_file(o->output)))
        return chosen;
    if (n == 1)
        return chosen;
    error_kind(&cli->err, ERROR_USAGE,
               n == 0 ? "export needs a format" : "export writes only one format at a time");
    error_hint(&cli->err, "%s, or --to SYSTEM", export_format_names(cli->arena, false, "--", " "));
    return NULL;
}

static bool refuse(Cli *cli, const char *option, const char *of)
{
    error_kind(&cli->err, ERROR_USAGE, "%s can only be used with %s", option, of);
    return error_hint(&cli->err, "leave it out; see dimscope help export");
}

/* What has no bearing on the format is refused rather than passed over. */
static bool options_bear(Cli *cli, const ExportFormat *format, DiagramKind kind, const char *second)
{
    const CliOptions *o = &cli->options;
    const DiagramKindRow *row = diagram_kind(kind);
    bool draws = format->group == EXPORT_DRAWING;

    if (o->kind && !draws)
        return refuse(cli, "--kind", "drawings (--dot --svg --pdf --png)");
    if ((o->paper || o->width) && !draws)
        return refuse(cli, o->paper ? "--paper" : "--width", "drawings (--dot --svg --pdf --png)");
    if (o->hops && (!draws || kind != DIAGRAM_NEIGHBOURHOOD))
        return refuse(cli, "--hops", "--kind neighbourhood");
    if (o->table && format->group != EXPORT_TABLES)
        return refuse(cli, "--table", "--csv and --json");
    if (second && draws && !*row->of) {
        error_kind(&cli->err, ERROR_USAGE, "--kind %s draws the whole plan, not '%s'", row->name,
                   second);
        return error_hint(
            &cli->err,
            "dimscope help drawings lists the kinds that draw an op, a tensor or a second plan");
    }
    if (!second || draws || format->group == EXPORT_REPORT)
        return true;
    return error_kind(&cli->err, ERROR_USAGE, "--%s%s needs one model",
                      format->group == EXPORT_CODE ? "to " : "", format->name);
}

/* The plan that a model's is compared with: one that was saved says itself what it is of and who
 * decided; the options are the model's. */
static Session *open_other(Cli *cli, const Session *session, const char *operand)
{
    Cli other = *cli;
    CliOptions *o = &other.options;

    other.operand = &operand;
    if (!session->plan_file && session_opens_plan(operand)) {
        o->mesh = o->policy = o->pins = o->propagate = o->profile = NULL;
        o->no_redistribute = false;
        o->dims.n = 0;
    }
    Session *opened = cli_open(&other);
    cli->err = other.err;
    return opened;
}

/* The second operand: what a drawing is of, or the plan it is compared with. */
static bool read_request(Cli *cli, const ExportFormat *format, ExportRequest *request)
{
    const CliOptions *o = &cli->options;
    const char *second = cli->n_operands > 1 ? cli->operand[1] : NULL;
    int64_t hops = 0;

    request->table = o->table;
    request->drawing.kind = DIAGRAM_OVERVIEW;
    if (o->kind && !diagram_kind_find(str_from(o->kind), &request->drawing.kind, &cli->err))
        return false;
    if (o->hops && (!str_to_int(str_from(o->hops), &hops) || hops < 1 || hops > 1000000))
        return error_kind(&cli->err, ERROR_USAGE, "--hops must be a number from 1 on, not '%s'",
                          o->hops);
    if (!options_bear(cli, format, request->drawing.kind, second))
        return false;
    request->drawing.hops = (int)hops;
    request->paper = o->paper ? PAPER_COLUMN : 0;
    if (o->width && !paper_parse_length(str_from(o->width), &request->paper, &cli->err))
        return false;
    if (format->group == EXPORT_DRAWING && request->drawing.kind != DIAGRAM_DIFF)
        request->drawing.of = second;
    else if (second)
        request->drawing.other = open_other(cli, request->drawing.session, second);
    return !second || request->drawing.of || request->drawing.other;
}

static void say_notes(const ExportNotes *notes)
{
    for (int i = 0; i < notes->at.n; i++) {
        Buf note = buf_new(notes->arena);
        text_printable(str_from(notes->at.at[i]), &note);
        fprintf(stderr, "note: %s\n", note.s);
    }
}

/* Beside the export, which may be printed. */
static void say_unheeded(Cli *cli, const Plan *plan)
{
    Buf text = buf_new(cli->arena), shown = buf_new(cli->arena);
    Findings findings = plan_text_unheeded(cli->arena, plan);
    plan_text_findings(&findings, &text);
    text_printable_lines(buf_str(&text), &shown);
    fputs(shown.s, stderr);
}

static bool goes_out(Cli *cli, const ExportFormat *format)
{
    if (cli->options.output || !format->binary || !isatty(STDOUT_FILENO))
        return true;
    error_kind(&cli->err, ERROR_USAGE, "--%s cannot be printed on a terminal", format->name);
    return error_hint(&cli->err, "write it to a file with -o FILE");
}

static bool write_export(Cli *cli, const ExportFormat *format, const ExportRequest *request)
{
    ExportNotes notes = {.arena = cli->arena};
    bool ok = cli->options.output
                  ? export_file(request, format, cli->options.output, &notes, &cli->err)
                  : export_write(format, request, &cli->out, &notes, &cli->err);

    if (!ok)
        cli->out.n = 0;
    say_notes(&notes);
    return ok;
}

int cli_export(Cli *cli)
{
    ExportRequest request = {0};
    const ExportFormat *format = choose(cli);
    Session *session = format && goes_out(cli, format) ? cli_open(cli) : NULL;

    cli->raw = true;
    request.drawing.session = session;
    bool ok = session && read_request(cli, format, &request) && write_export(cli, format, &request);
    if (session)
        say_unheeded(cli, session->plan);
    if (request.drawing.other) {
        union {
            const Session *shown;
            Session *own;
        } other = {request.drawing.other};
        session_close(other.own);
    }
    if (session)
        session_close(session);
    return ok ? CLI_FINE : cli_fail(cli);
}
