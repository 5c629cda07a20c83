/* help_propagators.c - help on propagators and their profiles, from their table. */
#include "tui/cli/help.h"

#include "core/base/text.h"
#include "core/propagate/propagators.h"

enum { MEANING_AT = 26 };

void help_propagators(Buf *out)
{
    const Propagator *it;
    const char *before = "";
    for (int i = 0; (it = propagator_at(i)); i++) {
        if (strcmp(it->name, before) != 0)
            buf_printf(out, "--propagate %s%s\n", it->name, i == 0 ? ", the default" : "");
        before = it->name;
        const char *term = arena_printf(out->arena, "  --profile %s", it->profile);
        text_put_pair(str_from(term), MEANING_AT, it->about, out);
    }
    buf_puts(out, "\n"
                  "The first profile of a propagator is its default. 'diff --propagate\n"
                  "factor,factor:shardy MODEL ..' compares plans of several; why and why-not work\n"
                  "with each; 'dimscope rule OP' shows the rule of an operator: --trace for spmd,\n"
                  "--profile for strategy.");
}
