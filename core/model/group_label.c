#include "core/model/group.h"

Str group_relative(const char *path, const char *base)
{
    Str text = str_from(path), head = str_from(base);

    if (head.n > 0 && text.n > head.n + 1 && str_starts(text, head) && text.s[head.n] == '.')
        return (Str){text.s + head.n + 1, text.n - head.n - 1};
    return text;
}

size_t group_differing_number(Str a, Str b, Str *first, Str *last)
{
    size_t at = 0;

    while (at < a.n && at < b.n && a.s[at] == b.s[at])
        at++;
    while (at > 0 && is_digit(a.s[at - 1]))
        at--;
    *first = (Str){a.s + at, 0};
    *last = (Str){b.s + at, 0};
    while (at + first->n < a.n && is_digit(first->s[first->n]))
        first->n++;
    while (at + last->n < b.n && is_digit(last->s[last->n]))
        last->n++;
    return at;
}

void group_format_fold(const Groups *groups, int32_t head, int fold_n, int32_t base, Buf *out)
{
    const Group *all = groups->groups;
    const Group *last = &all[groups_member(groups, head, fold_n > 1 ? fold_n - 1 : 0)];
    const char *prefix = group_prefix(groups, base);
    Str name = group_relative(all[head].path, prefix), from, to;

    if (fold_n > 1 && all[head].cycle && *all[head].cycle) {
        size_t n = name.n - strlen(all[head].name);
        buf_printf(out, "%.*s[%s]", (int)(n > 0 ? n - 1 : 0), name.s, all[head].cycle);
        return;
    }
    size_t at = group_differing_number(name, group_relative(last->path, prefix), &from, &to);
    if (fold_n < 2 || all[head].cycle || from.n == 0 || to.n == 0) {
        buf_add(out, name);
        return;
    }
    bool bracketed = at > 0 && name.s[at - 1] == '[';
    bool dotted = at > 0 && name.s[at - 1] == '.';
    buf_add(out, (Str){name.s, at - dotted});
    buf_printf(out, "%s%.*s..%.*s%s", bracketed ? "" : "[", STR_ARG(from), STR_ARG(to),
               bracketed ? "" : "]");
    buf_add(out, (Str){name.s + at + from.n, name.n - at - from.n});
}
