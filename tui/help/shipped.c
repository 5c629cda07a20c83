#include "tui/help/shipped.h"

#include "core/base/file.h"

#include <ctype.h>

/* The end of the first sentence: a full stop before a capital, so not "et al. 2019", or the end. */
static size_t sentence_end(Str text)
{
    for (size_t i = 0; i + 2 < text.n; i++)
        if (text.s[i] == '.' && text.s[i + 1] == ' ' && isupper((unsigned char)text.s[i + 2]))
            return i + 1;
    return text.n;
}

const char *shipped_about(const SessionHooks *hooks, Arena *arena, const char *kind, Str name)
{
    enum { SCRIPT_BYTES_MAX = 4 << 20 };
    const char *path = hooks->shipped_file(hooks->context, kind, arena_str(arena, name));
    Source source;
    if (!path || !file_read(arena, path, SCRIPT_BYTES_MAX, &source, NULL))
        return "";
    Buf text = buf_new(arena);
    for (Str rest = source.text; str_starts(rest, STR("-- "));) {
        Str line = str_take(&rest, '\n');
        buf_printf(&text, "%s%.*s", text.n > 0 ? " " : "", (int)line.n - 3, line.s + 3);
    }
    int64_t colon = str_find(buf_str(&text), STR(": "));
    Str about = {text.s + colon + 2, text.n - (size_t)colon - 2};
    return colon < 0 ? "" : arena_str(arena, (Str){about.s, sentence_end(about)});
}
