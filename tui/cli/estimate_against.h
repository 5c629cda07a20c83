/* estimate_against.h - compares a training step with published formulas: as text and JSON. */
#ifndef TUI_CLI_ESTIMATE_AGAINST_H
#define TUI_CLI_ESTIMATE_AGAINST_H

#include "core/base/json.h"
#include "core/summary/published.h"

typedef struct {
    int n; /* 0: nothing was requested */
    const Published **with;
    PublishedSizes sizes;
    PublishedNumbers ours;
} Against;

/* Reads "megatron,deepspeed" or "all"; NULL requests nothing. In the arena. Returns false with
 * ERROR_USAGE for an unknown name, and if the model is no config.json. */
bool against_read(Arena *arena, const char *names, const Session *session, const TrainingCost *cost,
                  Against *out, Error *err);

void against_text(Arena *scratch, const Against *against, Buf *out); /* nothing if n is 0 */
Json *against_json(Arena *scratch, const Against *against);

#endif
