/* system_pairs.h - reads another system's file of settings as pairs of name and value.
 *
 * Names are the system's own: "tensor-model-parallel-size", "zero_optimization.stage",
 * "parallelism.tensor_parallel_degree". A flag without a value has the value "".
 */
#ifndef CORE_SESSION_SYSTEM_PAIRS_H
#define CORE_SESSION_SYSTEM_PAIRS_H

#include "core/base/error.h"
#include "core/base/vec.h"

typedef struct {
    Str name, value;
    size_t at; /* of the name in the text */
} SystemPair;
typedef Vec(SystemPair) SystemPairs;

typedef enum {
    SETTINGS_MEGATRON,
    SETTINGS_DEEPSPEED,
    SETTINGS_TORCHTITAN,
    SETTINGS_KINDS
} SettingsKind;

SettingsKind system_of_text(Str text); /* SETTINGS_KINDS if it is none of them */

/* Reads all pairs in the order of the text, which they point into or are copied to the arena.
 * unsaid: the comments "Not said" of an export, and members of "not_said". */
bool system_pairs_read(Arena *arena, SettingsKind kind, const Source *source, SystemPairs *out,
                       SystemPairs *unsaid, Error *err);

#endif
