#include "tui/cli/cli.h"

#include "core/reshard/eval_reshard.h"
#include "core/peers/nnscaler/eval_rvd.h"
#include "core/layout/runs.h"
#include "core/peers/shardy/eval_insert.h"
#include "core/peers/torch/eval_redistribute.h"
#include "core/peers/shardy/eval_shardy.h"
#include "core/peers/torch/eval_strategy.h"
#include "core/peers/paddle/eval_spmd.h"
#include "core/peers/nnscaler/eval_anno.h"
#include "core/peers/shardy/eval_factor.h"
#include "core/peers/tapestry/eval_template.h"
#include "scripts/lua_template.h"

#include <stdio.h>
#include <stdlib.h>

typedef bool EvalFn(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err);

static bool answer_layout(const char *verb, Arena *arena, const Json *request, Json *answer,
                          Error *err)
{
    (void)verb;
    return eval_layout(arena, request, answer, err);
}

static bool answer_strategy(const char *verb, Arena *arena, const Json *request, Json *answer,
                            Error *err)
{
    (void)verb;
    return eval_strategy(arena, request, answer, err);
}

static bool answer_redistribute(const char *verb, Arena *arena, const Json *request, Json *answer,
                                Error *err)
{
    (void)verb;
    return eval_redistribute(arena, request, answer, err);
}

static bool answer_rvd(const char *verb, Arena *arena, const Json *request, Json *answer,
                       Error *err)
{
    (void)verb;
    return eval_rvd(arena, request, answer, err);
}

static bool answer_reshard(const char *verb, Arena *arena, const Json *request, Json *answer,
                           Error *err)
{
    (void)verb;
    return eval_reshard(arena, request, answer, err);
}

/* A verb, or with a dot at the end what a family of verbs begins with; the first row that fits. */
static const struct {
    const char *verb;
    EvalFn *answer;
} eval_verbs[] = {
    {"anno.", eval_anno},
    {"layout", answer_layout},
    {"factor.rule", eval_factor_rule},
    {"factor.propagate", eval_factor_propagate},
    {"factor.origins", eval_factor_origins},
    {"template.apply", template_answer},
    {"template.", eval_template},
    {"ipf.", eval_ipf},
    {"range.", eval_range},
    {"strategy", answer_strategy},
    {"redistribute", answer_redistribute},
    {"rvd.reshard", answer_rvd},
    {"reshard.collectives", answer_reshard},
    {"spmd.", eval_spmd},
    {"reshard.insert", eval_insert},
};

/* False with *err: the answer is then an error. */
static bool answer_request(Arena *arena, const Json *request, Json *answer, Error *err)
{
    const Json *verb = json_get(request, "do");
    Str name = json_str(verb, "");
    if (!json_is_object(request) || !json_is_string(verb))
        return error_set(err, "a request is an object with a text \"do\"");
    for (size_t i = 0; i < sizeof eval_verbs / sizeof *eval_verbs; i++) {
        Str row = str_from(eval_verbs[i].verb);
        if (row.s[row.n - 1] == '.' ? str_starts(name, row) : str_eq(name, row))
            return eval_verbs[i].answer(arena_str(arena, name), arena, request, answer, err);
    }
    return error_kind(err, ERROR_UNSUPPORTED, "there is no verb '%.*s'", STR_ARG(name));
}

static Json *error_json(const Error *err)
{
    Json *out = json_object();
    json_set_str(out, "kind", error_kind_name(err->kind));
    json_set_str(out, "text", err->text);
    return out;
}

/* {"id":..,<fields>}: id first, whatever the verb fills. */
static Json *answer_line(Arena *arena, Str line)
{
    Source source = {.name = "stdin", .text = line};
    Error err = {0};
    Json *request = json_parse(&source, &err), *out = json_object();
    const Json *id = json_get(request, "id");
    json_set(out, "id", id ? json_copy(id) : json_null());
    if (!request || !answer_request(arena, request, out, &err)) {
        json_free(out);
        out = json_object();
        json_set(out, "id", id ? json_copy(id) : json_null());
        json_set(out, "error", error_json(&err));
    }
    json_free(request);
    return out;
}

/* One answer a line, at once: who asks may wait for it before the next request. */
int cli_eval(Cli *cli)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    cli->raw = true;
    while ((n = getline(&line, &room, stdin)) >= 0) {
        while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
            n--;
        Arena *arena = arena_new();
        cli->out = buf_new(arena);
        cli_write_json(cli, answer_line(arena, (Str){line, (size_t)n}));
        bool read = cli_write(cli);
        arena_free(arena);
        if (!read)
            break;
    }
    free(line);
    return error_is_set(&cli->err) ? cli_fail(cli) : CLI_FINE;
}
