#include "tui/state/list.h"

#include <inttypes.h>

bool list_move(int64_t *at, int64_t n, int page, ActId act)
{
    int64_t to = *at;

    if (page < 1)
        page = 1;
    if (act == ACT_DOWN)
        to++;
    else if (act == ACT_UP)
        to--;
    else if (act == ACT_PAGE_DOWN)
        to += page;
    else if (act == ACT_PAGE_UP)
        to -= page;
    else if (act == ACT_HALF_DOWN)
        to += (page + 1) / 2;
    else if (act == ACT_HALF_UP)
        to -= (page + 1) / 2;
    else if (act == ACT_TOP)
        to = 0;
    else if (act == ACT_BOTTOM)
        to = n - 1;
    else
        return false;
    *at = to >= n ? n - 1 : to;
    if (*at < 0)
        *at = 0;
    return true;
}

int64_t list_scroll(int64_t top, int64_t at, int64_t n, int h)
{
    if (at < top)
        top = at;
    if (at >= top + h)
        top = at - h + 1;
    if (top > n - h)
        top = n - h;
    return top < 0 ? 0 : top;
}

Str list_range(Arena *arena, int64_t top, int height, int64_t n)
{
    int64_t end = top + height < n ? top + height : n;

    if (n <= height || height <= 0)
        return STR("");
    return str_from(arena_printf(arena, "%" PRId64 "-%" PRId64 "/%" PRId64, top + 1, end, n));
}

int64_t list_cursor(List *list, int64_t n)
{
    list->at = list->at >= n ? n - 1 : list->at;
    list->at = list->at < 0 ? 0 : list->at;
    return list->at;
}

void list_show(List *list, int64_t at, int64_t n, int h)
{
    list->n = n;
    list->height = h;
    list->top = list_scroll(list->top, at, n, h);
}
