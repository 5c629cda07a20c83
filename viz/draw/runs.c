#include "viz/draw/runs.h"

typedef struct {
    const Draw *draw;
    const bool *member;
    Vec(RunItem) items;
} RunBuilder;

typedef enum { NONE, SOME, ALL } Share;

/* Whether all, some or none of order[first..first+n) are members. */
static Share share_of(const RunBuilder *builder, int32_t first, int32_t n)
{
    int32_t found = 0;

    for (int32_t i = first; i < first + n; i++)
        found += builder->member[builder->draw->groups->order[i]];
    return found == 0 ? NONE : found == n ? ALL : SOME;
}

static void add_item(RunBuilder *builder, int32_t group, int32_t first, int32_t n, int repeats)
{
    const Draw *draw = builder->draw;
    RunItem item = {.group = group, .first = first, .n = n, .repeats = repeats};

    if (group >= 0) {
        Buf title = buf_new(draw->arena);
        group_format_fold(draw->groups, group, repeats, 0, &title);
        if (repeats > 1)
            buf_printf(&title, " \xc3\x97%d", repeats);
        item.title = title.s;
        item.layer = draw->groups->groups[draw->groups->groups[group].alike].alike_n > 1;
    } else {
        Str name = str_from(op_path_or_name(draw->graph, draw->groups->order[first]));
        item.title = arena_str(draw->arena, name);
    }
    vec_push(draw->arena, &builder->items, item);
}

/* Ops of a group outside its children, as runs of members. */
static void add_direct(RunBuilder *builder, int32_t first, int32_t n)
{
    for (int32_t i = first, run; i < first + n; i += run + 1) {
        run = 0;
        while (i + run < first + n && builder->member[builder->draw->groups->order[i + run]])
            run++;
        if (run > 0)
            add_item(builder, -1, i, run, 1);
    }
}

/* Counts consecutive members of the fold, from c on, all of whose ops are there; at least c
 * itself. */
static int run_of_fold(const RunBuilder *builder, int32_t c)
{
    const Group *groups = builder->draw->groups->groups;
    int n = 1;

    for (int32_t next = groups[c].next; next >= 0 && groups[next].fold == groups[c].fold;
         next = groups[next].next) {
        if (share_of(builder, groups[next].first, groups[next].n) != ALL)
            break;
        n++;
    }
    return n;
}

static void add_group(RunBuilder *builder, int32_t group)
{
    const Group *groups = builder->draw->groups->groups;
    int32_t at = groups[group].first, end = at + groups[group].n;

    for (int32_t c = groups[group].child; c >= 0; c = groups[c].next) {
        add_direct(builder, at, groups[c].first - at);
        at = groups[c].first + groups[c].n;
        Share share = share_of(builder, groups[c].first, groups[c].n);
        if (share == NONE)
            continue;
        bool folded = groups[groups[c].fold].fold_n > 1;
        if (share == SOME || (!folded && groups_have_fold(builder->draw->groups, c))) {
            add_group(builder, c);
            continue;
        }
        int run = folded ? run_of_fold(builder, c) : 1;
        add_item(builder, c, groups[c].first, groups[c].n, run);
        for (int i = 1; i < run; i++)
            c = groups[c].next;
        at = groups[c].first + groups[c].n;
    }
    add_direct(builder, at, end - at);
}

RunList runs_of(const Draw *draw, const bool *member)
{
    RunBuilder builder = {.draw = draw, .member = member};

    add_group(&builder, 0);
    return (RunList){.n = builder.items.n, .at = builder.items.at};
}

bool runs_alike(const Draw *draw, const RunList *a, const RunList *b)
{
    const Group *groups = draw->groups->groups;

    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++) {
        const RunItem *p = &a->at[i], *q = &b->at[i];
        if (p->n != q->n || p->repeats != q->repeats || p->group < 0 || q->group < 0 ||
            groups[p->group].alike != groups[q->group].alike)
            return false;
    }
    return true;
}

/* Lists consecutive items that are not layers; groups come first, since they have better names. */
static void format_singles(const RunList *runs, int from, int to, Buf *out)
{
    enum { NAMED = 2 };
    int n_groups = 0, named = 0;

    for (int i = from; i < to; i++)
        n_groups += runs->at[i].group >= 0;
    for (int i = from; i < to && named < NAMED; i++) {
        if (n_groups > 0 && runs->at[i].group < 0)
            continue;
        buf_printf(out, "%s%s", named > 0 ? ", " : "", runs->at[i].title);
        named++;
    }
    int rest = (n_groups > 0 ? n_groups : to - from) - named;
    if (rest > 0)
        buf_printf(out, " and %d more", rest);
}

void runs_format(const RunList *runs, int from, int to, Buf *out)
{
    for (int i = from, end; i < to; i = end) {
        end = i + 1;
        while (end < to && !runs->at[i].layer && !runs->at[end].layer)
            end++;
        if (i > from)
            buf_putc(out, '\n');
        if (runs->at[i].layer)
            buf_puts(out, runs->at[i].title);
        else
            format_singles(runs, i, end, out);
    }
}
