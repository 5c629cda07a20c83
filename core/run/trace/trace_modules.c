#include "core/run/trace/trace_modules.h"

typedef struct {
    Arena *arena;
    TraceModules all;
    Vec(int) open; /* places in `all`, from the outermost on */
} Nest;

static bool is_inside(Str path, Str module)
{
    return str_starts(path, module) && (path.n == module.n || path.s[module.n] == '.');
}

/* Ends the modules that the path is not in. */
static void leave(Nest *nest, Str path, int last)
{
    while (nest->open.n > 0) {
        TraceModule *inmost = &nest->all.at[nest->open.at[nest->open.n - 1]];
        if (is_inside(path, inmost->path))
            return;
        inmost->last = last;
        nest->open.n--;
    }
}

/* Begins the modules of the path that are not open. */
static void enter(Nest *nest, Str path, int first)
{
    size_t open = 0;

    if (nest->open.n > 0)
        open = nest->all.at[nest->open.at[nest->open.n - 1]].path.n;
    for (size_t i = open + (open > 0); path.n > open && i <= path.n; i++) {
        if (i < path.n && path.s[i] != '.')
            continue;
        vec_push(nest->arena, &nest->open, nest->all.n);
        vec_push(nest->arena, &nest->all, ((TraceModule){first, first, {path.s, i}}));
    }
}

TraceModules trace_modules(Arena *arena, const Graph *graph, const int32_t *op, int n)
{
    Nest nest = {.arena = arena};
    int n_kept = 0;

    for (int i = 0; i < n; i++) {
        Str path = str_from(op_path(graph, op[i]));
        leave(&nest, path, i - 1);
        enter(&nest, path, i);
    }
    for (int i = 0; i < nest.open.n; i++)
        nest.all.at[nest.open.at[i]].last = n - 1;
    for (int i = 0; i < nest.all.n; i++)
        if (nest.all.at[i].last > nest.all.at[i].first)
            nest.all.at[n_kept++] = nest.all.at[i];
    nest.all.n = n_kept;
    return nest.all;
}
