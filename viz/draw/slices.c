#include "viz/draw/draw.h"

bool draw_slices(Draw *draw, Error *err)
{
    (void)draw;
    return error_kind(err, ERROR_UNSUPPORTED, "nothing of the kind is drawn yet");
}
