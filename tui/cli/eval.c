#include "tui/cli/cli.h"

#include "core/base/eval.h"
#include "core/layout/runs.h"
#include "core/plan/schedule_eval.h"
#include "core/prove/gradient_eval.h"
#include "core/prove/optimizer_eval.h"
#include "core/prove/steps_eval.h"
#include "scripts/lua_api.h"

#include <stdio.h>
#include <stdlib.h>

static const EvalVerb own_verbs[] = {
    {"layout", eval_layout},
    {"grad", eval_grad},
    {"grad.graph", eval_grad_graph},
    {"optimizer.step", eval_optimizer_step},
    {"train.steps", eval_train_steps},
    {"lr.schedule", eval_lr_schedule},
    {"schedule", eval_schedule},
    {"schedule.bubble", eval_schedule_bubble},
    {0},
};

/* Those that run Lua come first: template.apply is one of template.* too. */
static const EvalVerb *find_verb(Str name)
{
    const EvalVerb *found = eval_verb_in(own_verbs, name);
    if (!found)
        found = lua_eval_verb(name);
    return found ? found : eval_verb_of_peers(name);
}

/* False with *err: the answer is then an error. */
static bool answer_request(Arena *arena, const Json *request, Json *answer, Error *err)
{
    const Json *verb = json_get(request, "do");
    Str name = json_str(verb, "");
    if (!json_is_object(request) || !json_is_string(verb))
        return error_set(err, "a request must be an object with a text \"do\"");
    const EvalVerb *row = find_verb(name);
    if (row)
        return row->answer(arena_str(arena, name), arena, request, answer, err);
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

/* One answer per line, flushed at once: the caller may wait for it before the next request. */
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
