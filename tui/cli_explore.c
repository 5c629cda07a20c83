#include "tui/cli.h"

int cli_explore(Cli *cli)
{
    return cli_plan(cli);
}
