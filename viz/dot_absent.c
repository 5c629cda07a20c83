/* dot_absent.c - in place of dot.c where cgraph is not installed: drawings are refused by name. */
#include "viz/dot.h"

bool dot_is_here(void)
{
    return false;
}

bool dot_write(const Diagram *diagram, const Mesh *mesh, Buf *out, Error *err)
{
    (void)diagram, (void)mesh, (void)out;
    error_kind(err, ERROR_USAGE, "this dimscope was built without Graphviz (libcgraph)");
    error_hint(err, "install libgraphviz-dev and build it again");
    return false;
}
