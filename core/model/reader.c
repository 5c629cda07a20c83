#include "core/model/reader.h"

Str model_file_ending(const char *endings, Str path)
{
    for (Str rest = str_from(endings); rest.n > 0;) {
        Str ending = str_take(&rest, ' ');
        if (ending.n > 0 && str_ends(path, ending))
            return ending;
    }
    return STR("");
}

const ModelReader *model_reader_find(const ModelReader *table, Str path, Str text)
{
    for (const ModelReader *row = table; row && row->name; row++)
        if (model_file_ending(row->endings, path).n > 0)
            return row;
    for (const ModelReader *row = table; row && row->name; row++)
        if (row->is && row->is(text))
            return row;
    return NULL;
}
