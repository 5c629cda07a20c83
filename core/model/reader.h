/* reader.h - kinds of model files: one row per kind, recognised by the file's name or its first
 * bytes.
 *
 * Every other file is read as ONNX. Peers bring the other kinds (core/base/peer.h).
 */
#ifndef CORE_MODEL_READER_H
#define CORE_MODEL_READER_H

#include "core/base/progress.h"
#include "core/model/finding.h"
#include "core/model/graph.h"

/* Shardings that a file gives for its tensors: views of its text, which the session reads as pins.
 */
typedef struct {
    const char *tensor;
    size_t from, to; /* places in the text: "#sdy.sharding<@mesh, [{"dp"}, {}]>" */
} FileSharding;
typedef struct {
    Str name;  /* "mesh" */
    size_t at; /* of "<["dp"=2]>" */
} FileMesh;
typedef struct FileShardings {
    const char *mesh; /* the first mesh, in the form of --mesh; NULL if there is none */
    Vec(FileMesh) meshes;
    Vec(FileSharding) shardings;
} FileShardings;

struct Registry;

/* A file that is being opened. */
typedef struct {
    Arena *arena; /* of the model */
    const char *path;
    Str text;                 /* the whole file, mapped as long as the graph is used */
    Progress *progress;       /* NULL if nobody watches */
    DimBindings *dims;        /* for sizes of free dims that the file gives; those of the user take
                                 precedence */
    Findings *notes;          /* for what the reader reports */
    FileShardings *shardings; /* for the shardings of the file; NULL: not wanted */
    const struct Registry *registry; /* of operators, including those of a policy; NULL: there is
                                        none */
} ModelFile;

/* A table of these ends with a row without a name. */
typedef struct ModelReader {
    const char *name;    /* "torch.export" */
    const char *endings; /* of names of such files, with blanks between: ".pt2 .graph.json" */
    /* Whether a file with another ending is of this kind, judged by its text. NULL: only the ending
     * decides. */
    bool (*is)(Str text);
    /* Returns NULL with ERROR_UNREADABLE and the place if the file is missing, truncated or
     * hostile. */
    Graph *(*read)(const ModelFile *file, Error *err);
} ModelReader;

/* The one of those endings, separated by blanks, that the path has; "" if it has none of them. */
Str model_file_ending(const char *endings, Str path);

/* The row, in those tables, that has the path's ending, else the first row whose `is` accepts the
 * text; NULL if there is none. Cheap on a file that none of them reads. */
const ModelReader *model_reader_find(const ModelReader *table, Str path, Str text);

#endif
