/* reader.h - kinds of model files: a row each, found by a file's name and by what it begins with.
 *
 * ONNX is what every other file is taken for. Peers bring the other kinds (core/base/peer.h).
 */
#ifndef CORE_MODEL_READER_H
#define CORE_MODEL_READER_H

#include "core/base/progress.h"
#include "core/model/finding.h"
#include "core/model/graph.h"

/* Shardings that a file gives its tensors: views of its text, which the session reads as pins. */
typedef struct {
    const char *tensor;
    size_t from, to; /* places in the text: "#sdy.sharding<@mesh, [{"dp"}, {}]>" */
} FileSharding;
typedef struct {
    Str name;  /* "mesh" */
    size_t at; /* of "<["dp"=2]>" */
} FileMesh;
typedef struct FileShardings {
    const char *mesh; /* the first mesh, as --mesh has it; NULL: there is none */
    Vec(FileMesh) meshes;
    Vec(FileSharding) shardings;
} FileShardings;

struct Registry;

/* A file that is being opened. */
typedef struct {
    Arena *arena; /* of the model */
    const char *path;
    Str text;           /* the whole file, mapped as long as the graph is used */
    Progress *progress; /* NULL if nobody waits */
    DimBindings *dims;  /* for sizes of free dims that the file gives: those of the user win */
    Findings *notes;    /* for what the reader has to say */
    FileShardings *shardings;        /* for those it gives; NULL: nobody asks */
    const struct Registry *registry; /* of operators, those of a policy too; NULL: nobody has one */
} ModelFile;

/* A table of these ends with a row without a name. */
typedef struct ModelReader {
    const char *name;    /* "torch.export" */
    const char *endings; /* of names of such files, with blanks between: ".pt2 .graph.json" */
    /* Whether a file with another ending is one, by its text. NULL: endings alone tell. */
    bool (*is)(Str text);
    /* NULL with ERROR_UNREADABLE and the place on anything missing, truncated or hostile. */
    Graph *(*read)(const ModelFile *file, Error *err);
} ModelReader;

/* The ending of the path among those, blanks between; "" if it has none of them. */
Str model_file_ending(const char *endings, Str path);

/* The row of those tables whose endings the path has, else the first whose `is` holds; NULL if
 * there is none. Cheap on a file that none of them reads. */
const ModelReader *model_reader_find(const ModelReader *table, Str path, Str text);

#endif
