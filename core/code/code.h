/* code.h - the plan as a file that its user runs next; one row per format.
 *
 * What a format cannot express of a sharding is written as a comment in the file and reported as a
 * note; it is never written as something else. Names are those of the model's parameters and
 * values; if a system uses another form of them, the file has both. Writers for other systems are
 * in their own rooms (core/base/peer.h). Drawings, reports and tables are rows of the same kind, in
 * viz/export.c.
 */
#ifndef CORE_CODE_CODE_H
#define CORE_CODE_CODE_H

#include "core/session/session.h"

typedef struct ExportRequest ExportRequest; /* viz/export.h */

/* Notes for the user about what the file cannot express. */
typedef struct {
    Arena *arena;
    Vec(const char *) at;
} ExportNotes;

void export_note(ExportNotes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef enum {
    EXPORT_DRAWING, /* accepts --kind */
    EXPORT_REPORT,  /* accepts a second plan to compare with */
    EXPORT_TABLES,  /* accepts --table */
    EXPORT_DATA,
    EXPORT_CODE /* selected by --to */
} ExportGroup;

/* Writes the plan of a session; appends to `out`. */
typedef bool CodeFn(const Session *session, Buf *out, ExportNotes *notes, Error *err);

/* Adds to the file of the model what a system can express of a training step, and to the comments
 * at the top what it cannot. */
typedef void StepCodeFn(const Session *model, const Session *step, Buf *top, Buf *file,
                        ExportNotes *notes);

typedef struct ExportFormat {
    const char *name; /* "svg": the option --svg, or the SYSTEM of --to */
    const char *what; /* one line for help */
    ExportGroup group;
    bool binary;        /* not text: not written to a terminal */
    const char *ending; /* of the names of such files */
    CodeFn *code;       /* NULL if `write` is set */
    bool (*write)(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err);
    StepCodeFn *step; /* NULL: the file is about the model only */
} ExportFormat;

/* The formats of this room, then those of the peers, all of kind EXPORT_CODE; NULL past the
 * last. */
const ExportFormat *code_format_at(int i);

CodeFn code_onnx; /* the model's own file with the plan in ONNX's annotations */
/* The sizes that the plan was made with but the model's file lacks, in the form of a MODEL.dims
 * file: "batch=8,seq=1024"; NULL if there are none. */
const char *code_onnx_dims(Arena *arena, const Session *session);
CodeFn code_jax, code_lua, code_megatron, code_deepspeed, code_torchtitan;
StepCodeFn code_jax_step;

#endif
