#include "core/model/reader.h"

static bool has_ending(Str path, const char *endings)
{
    for (Str rest = str_from(endings); rest.n > 0;) {
        Str ending = str_take(&rest, ' ');
        if (ending.n > 0 && str_ends(path, ending))
            return true;
    }
    return false;
}

const ModelReader *model_reader_find(const ModelReader *table, Str path, Str text)
{
    for (const ModelReader *row = table; row && row->name; row++)
        if (has_ending(path, row->endings))
            return row;
    for (const ModelReader *row = table; row && row->name; row++)
        if (row->is && row->is(text))
            return row;
    return NULL;
}
