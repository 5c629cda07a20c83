/* reader.h - StableHLO text as a model: the graph of its main function.
 *
 * Functions are inlined where they are called. A value is named as the text has it, "%12", with
 * what it is inside of before it: "%3/%0" of a function called as %3, "%0/do/%14" of a loop.
 * Arguments have the names of their locations, "p.h.0.qkv", else "%arg0".
 */
#ifndef CORE_PEERS_STABLEHLO_READER_H
#define CORE_PEERS_STABLEHLO_READER_H

#include "core/model/reader.h"

Graph *stablehlo_read(const ModelFile *file, Error *err);

extern const ModelReader stablehlo_readers[];

#endif
