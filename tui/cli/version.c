/* version.c - what `--version` prints: the version, and what this build can do on this machine. */
#include "core/base/version.h"

#include "core/base/peer.h"
#include "core/run/plugin.h"
#include "tui/cli/help.h"
#include "viz/dot.h"

/* Those built in, then those that were left out. */
static void say_systems(Buf *out)
{
    buf_puts(out, "  systems   ");
    for (const Peer *const *peer = built_peers; *peer; peer++)
        buf_printf(out, " %s", (*peer)->name);
    buf_puts(out, *built_peers ? "\n" : " none\n");
}

static void say_runners(Buf *out)
{
    PluginFile file;
    buf_puts(out, "  runners    host (threads)\n");
    for (int i = 0; plugin_file(i, &file); i++)
        buf_printf(out, "             %s%s%s\n", file.name,
                   file.installed ? "" : " is not installed: ", file.installed ? "" : file.needs);
}

void help_version(Buf *out)
{
    buf_puts(out, "dimscope " DIMSCOPE_VERSION "\n");
    say_systems(out);
    say_runners(out);
    buf_printf(out, "  drawings   %s\n",
               dot_is_here() ? "Graphviz; svg, pdf and png need its program dot"
                             : "none: built without Graphviz (libgraphviz-dev)");
}
