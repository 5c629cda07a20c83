/* reader.h - reads StableHLO text as a model: the graph of its main function.
 *
 * Functions are inlined where they are called. A value is named as in the text, "%12", after the
 * names of what contains it: "%3/%0" in a function called as %3, "%0/do/%14" in a loop. Arguments
 * are named after their locations, "p.h.0.qkv", else "%arg0".
 */
#ifndef CORE_PEERS_STABLEHLO_READER_H
#define CORE_PEERS_STABLEHLO_READER_H

#include "core/model/reader.h"

Graph *stablehlo_read(const ModelFile *file, Error *err);

extern const ModelReader stablehlo_readers[];

#endif
