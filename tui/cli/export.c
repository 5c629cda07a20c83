#include "tui/cli/cli.h"

#include "viz/export.h"

static bool choose(Cli *cli, ExportFormat *format, DiagramKind *kind)
{
    const CliOptions *options = &cli->options;
    if (options->dot == options->svg) {
        error_kind(&cli->err, ERROR_USAGE, "export needs --dot or --svg, one of them");
        return false;
    }
    *format = options->dot ? EXPORT_DOT : EXPORT_SVG;
    const char *name = options->kind ? options->kind : diagram_kind_name(DIAGRAM_OVERVIEW);
    if (export_kind_from_name(str_from(name), kind))
        return true;
    Buf kinds = buf_new(cli->arena);
    for (int k = 0; k < DIAGRAM_KIND_COUNT; k++)
        buf_printf(&kinds, "%s%s", k > 0 ? ", " : "", diagram_kind_name((DiagramKind)k));
    error_kind(&cli->err, ERROR_USAGE, "there is no kind of drawing '%s'", name);
    error_hint(&cli->err, "--kind is one of: %s", kinds.s);
    return false;
}

int cli_export(Cli *cli)
{
    ExportFormat format;
    DiagramKind kind;
    if (!choose(cli, &format, &kind))
        return cli_fail(cli);
    Session *session = cli_open(cli);
    if (!session)
        return cli_fail(cli);
    cli->raw = true;
    bool ok = cli->options.output
                  ? export_file(session, kind, format, cli->options.output, &cli->err)
                  : export_drawing(session, kind, format, &cli->out, &cli->err);
    session_close(session);
    return ok ? CLI_FINE : cli_fail(cli);
}
