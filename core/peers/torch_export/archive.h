/* archive.h - the files of a torch.export archive: the program, and where weights and constants
 * are.
 *
 *     T/models/model.json                         the program; T is what the file was called once
 *     T/data/weights/model_weights_config.json    {"config": {name: {path_name, tensor_meta, ..}}}
 *     T/data/weights/weight_3                     the bytes of a storage
 *     T/data/constants/..                         the same of constants and of other buffers
 *
 * Older archives (until torch 2.7) are flat, with serialized_exported_program.json and weights in
 * pickles, which are not read. A NAME.graph.json is the program alone.
 */
#ifndef CORE_PEERS_TORCH_EXPORT_ARCHIVE_H
#define CORE_PEERS_TORCH_EXPORT_ARCHIVE_H

#include "core/base/json_view.h"
#include "core/base/zip.h"
#include "core/model/reader.h"

enum { ARCHIVE_WEIGHTS, ARCHIVE_CONSTANTS, ARCHIVE_KINDS };

typedef struct {
    Arena *arena; /* of the model: inflated members are kept */
    Source source, text[1 + ARCHIVE_KINDS];
    Zip zip;
    bool zipped, pickled; /* weights are in pickles */
    Str folder;           /* "T/" */
    JsonView program;
    JsonView config[ARCHIVE_KINDS]; /* n is 0: there is none */
} Archive;

bool archive_open(const ModelFile *file, Arena *scratch, Archive *out, Error *err);

/* Where a tensor of a config is. */
typedef struct {
    int kind;       /* which config; -1: none */
    int32_t entry;  /* its index there */
    Str storage;    /* "weight_3" */
    uint64_t bytes; /* size of the storage; 0: the archive has no weights */
} ArchiveEntry;

ArchiveEntry archive_find(const Archive *archive, Str name);

/* The elements of an entry, row-major: a view of the file if they are stored so, else a copy.
 * Absent if the archive has no bytes. Returns false with *err if the file lacks what the entry
 * says. */
bool archive_data(Archive *archive, const ArchiveEntry *entry, Dtype dtype, const Shape *shape,
                  TensorData *out, Error *err);

#endif
