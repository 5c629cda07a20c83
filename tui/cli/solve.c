/* solve.c - `dimscope solve`: the best choice of a problem given as numbers. */
#include "tui/cli/cli.h"

#include "core/base/file.h"
#include "core/base/zip.h"
#include "core/solve/read.h"
#include "core/solve/solve.h"

#include <inttypes.h>
#include <math.h>

#define SECONDS_DEFAULT 60.0

static bool read_problem(Cli *cli, const char *path, SolveProblem *out)
{
    FileMap map;
    if (!file_map(path, &map, &cli->err))
        return false;
    Source source = {path, map.text};
    bool whole = !gzip_is(map.text) || gzip_read(cli->arena, &source, &source.text, &cli->err);
    Json *root = whole ? json_parse(&source, &cli->err) : NULL;
    bool read = root && solve_problem_read(cli->arena, root, out, &cli->err);
    if (!read) {
        cli->err.kind = ERROR_UNREADABLE;
        error_in_file(&cli->err, path);
    }
    json_free(root);
    file_unmap(&map);
    return read;
}

static Json *answer_json(const SolveAnswer *answer, int32_t n_nodes)
{
    Json *out = json_object();
    if (answer->outcome == SOLVE_INFEASIBLE) {
        json_set_bool(out, "infeasible", true);
        json_set_str(out, "why", answer->why);
        return out;
    }
    json_set_real(out, "objective", answer->objective);
    json_set_real(out, "bound", answer->bound);
    json_set_bool(out, "proven", answer->proven);
    Json *solution = answer->outcome == SOLVE_CHOICE ? json_array() : json_null();
    for (int32_t n = 0; answer->outcome == SOLVE_CHOICE && n < n_nodes; n++)
        json_add(solution, json_from_int(answer->choice[n]));
    json_set(out, "solution", solution);
    json_set_int(out, "branches", answer->n_branches);
    return out;
}

static void write_answer(const SolveProblem *problem, const SolveAnswer *answer, Buf *out)
{
    buf_printf(out, "%" PRId32 " nodes, %" PRId32 " edges\n", problem->n_nodes, problem->n_edges);
    if (answer->outcome == SOLVE_INFEASIBLE) {
        buf_printf(out, "infeasible: %s\n", answer->why);
        return;
    }
    if (answer->outcome == SOLVE_UNKNOWN)
        buf_puts(out, "no choice was found\n");
    else
        buf_printf(out, "cost   %.15g%s\n", answer->objective,
                   answer->proven ? ", proven: no choice costs less" : "");
    buf_printf(out, "bound  %.15g\n", answer->bound);
    if (answer->outcome == SOLVE_CHOICE && !answer->proven)
        buf_printf(out, "gap    %.3g%%\n",
                   100 * (answer->objective - answer->bound) / fmax(answer->objective, 1e-300));
    if (answer->outcome != SOLVE_CHOICE)
        return;
    buf_puts(out, "choice");
    for (int32_t n = 0; n < problem->n_nodes; n++)
        buf_printf(out, "%s%" PRId32, n % 20 == 0 && n > 0 ? "\n       " : " ", answer->choice[n]);
    buf_putc(out, '\n');
}

int cli_solve(Cli *cli)
{
    SolveProblem problem;
    SolveAnswer answer;
    SolveOptions options = {0};
    if (!cli_seconds(cli, SECONDS_DEFAULT, &options.seconds) ||
        !read_problem(cli, cli->operand[0], &problem))
        return cli_fail(cli);
    options.progress = cli_watch();
    bool solved = solve(cli->arena, &problem, &options, &answer, &cli->err);
    cli_unwatch();
    if (!solved)
        return cli_fail(cli);
    if (cli->options.json)
        cli_write_json(cli, answer_json(&answer, problem.n_nodes));
    else
        write_answer(&problem, &answer, &cli->out);
    if (progress_stopped(options.progress))
        return CLI_INTERRUPTED;
    return answer.outcome == SOLVE_CHOICE ? CLI_FINE : CLI_ILLEGAL;
}
