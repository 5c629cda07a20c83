/* reader.h - reads torch.export's programs as graphs: archives (.pt2), and the program alone.
 *
 * Schema versions 5 to 8 (torch 2.5 to 2.15) are supported. Parameters, buffers and constants
 * become initializers under their own names, user inputs become inputs; values keep their names.
 * Symbolic sizes become free dims named after the first input that has them, "x.0", with the
 * example's sizes as defaults. Changes in place become new values. Weights are views of the mapped
 * archive, or copies if they are compressed or strided.
 *
 * Source of the schema: torch/_export/serde/schema.py.
 */
#ifndef CORE_PEERS_TORCH_EXPORT_READER_H
#define CORE_PEERS_TORCH_EXPORT_READER_H

#include "core/model/reader.h"

Graph *torch_export_read(const ModelFile *file, Error *err);

/* Whether a text is a program: a JSON object with "graph_module" near its start, or a zip file. */
bool torch_export_is(Str text);

#endif
