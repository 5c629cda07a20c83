#include "core/model/finding.h"

const char *level_name(Level level)
{
    switch (level) {
    case LEVEL_NOTE:
        return "note";
    case LEVEL_WARNING:
        return "warning";
    case LEVEL_ERROR:
        return "error";
    }
    return "";
}
