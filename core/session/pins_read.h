/* pins_read.h - what the readers of pins share (pins_text.h): tokens, the text's mesh, a value.
 *
 *     pins_scan.c    tokens of Python, JSON and MLIR
 *     pins_mesh.c    a mesh in any notation, and which of our axes its axes are
 *     pins_value.c   one sharding in any notation; pins_placed.c: in placements
 *     pins_names.c   the tensor that a name stands for
 *     pins_add.c    from a sharding to decisions
 *     pins_lack.c   what a text lacks of the plan it was exported from
 *     pins_dict.c    a dict, nested or not, and lists of names
 *     pins_model.c   those that the model's own file gives
 *     pins_module.c  a module of Python that makes dicts
 *     core/peers/shardy/pins.c    a module of MLIR
 *     pins_text.c    recognises the form of a text
 */
#ifndef CORE_SESSION_PINS_READ_H
#define CORE_SESSION_PINS_READ_H

#include "core/base/vec.h"
#include "core/session/pins_text.h"

enum { PINS_NEST_MAX = 64, PINS_AXES_MAX = 16 };

/* ---- tokens ---- */

char pins_peek(Scan *scan); /* after blanks and comments; '\0' at the end */
bool pins_accept(Scan *scan, char c);
bool pins_expect(Scan *scan, char c);
bool pins_accept_text(Scan *scan, const char *text);
Str pins_word(Scan *scan); /* a name with dots; "" if there is none */
Str pins_last(Str word);   /* after its last dot */
bool pins_at_string(Scan *scan);
bool pins_at_number(Scan *scan);
/* Reads a string without its quotes and escapes, which are Python's and JSON's, or MLIR's. */
bool pins_string(Arena *arena, Scan *scan, bool mlir, Str *out);
/* Skips to one of `ends`, or a closing bracket, outside of brackets and strings. */
bool pins_skip(Scan *scan, const char *ends);

/* ---- the mesh of the text ---- */

typedef struct {
    int n;
    Str name[PINS_AXES_MAX]; /* "" if the text gives none */
    int64_t size[PINS_AXES_MAX];
    int axis[PINS_AXES_MAX]; /* index of our axis; -1 if none, since it has one device */
} PinsMesh;

typedef struct PinsNames PinsNames;

typedef struct {
    Str name;
    int64_t value;
} PinsNumber;

/* A text of pins while it is read. */
typedef struct {
    Session *session;
    const Mesh *mesh; /* ours */
    Arena *scratch;
    const Source *source;
    Journal *journal;
    bool mlir;
    PinsMesh axes;  /* of the text, in its own numbering */
    bool has_mesh;  /* the text gives a mesh */
    Names *aliases; /* MLIR: "mesh" of @mesh, "loc1" of #loc1 */
    Vec(PinsMesh) meshes;
    bool fatal;      /* the error concerns the whole text */
    bool used;       /* the part being read says how parameters are used; the parts before it,
                        how they are stored */
    int32_t *pinned; /* per tensor: 1 + the index in the journal of its first pin; NULL: none yet */
    PinsNames *names;
    size_t line_at; /* `line` is counted up to this offset */
    int line;
    Vec(PinsNumber) numbers; /* variables of enclosing loops */
    int64_t n_compared;
    int n_read, n_kept, n_left, n_alike, n_turned, n_follow;
    const char *alike, *turned; /* the first matrix of each kind, in words */
    bool renamed;               /* the text's axes have other names, and this was reported */
    Error first;                /* why the first one was left out */
    int first_line;
} PinsText;

/* MLIR: what "@mesh" or "#loc1" stands for. */
void pins_put_alias(PinsText *text, char sign, Str name, const PinsMesh *mesh);
bool pins_mesh_read(PinsText *text, Scan *scan, int depth); /* any form of a mesh */
/* Sets the text's mesh; *mesh has its names, sizes and n. */
bool pins_mesh_use(PinsText *text, Scan *scan, const PinsMesh *mesh, size_t at);
/* Returns whether a word is the name of a mesh type: Mesh, DeviceMesh, ProcessMesh .. */
bool pins_is_mesh(Str word);
int pins_axis(const PinsText *text, Str name, Error *err); /* -1 with *err; -2 for an axis of one
                                                              device */

/* ---- a value ---- */

typedef struct {
    Shape shape; /* of the text's mesh, if it gives one */
    Sharding sharding;
    AtomSet replicated;
    uint32_t open, free; /* dims without a constraint (UNCONSTRAINED) */
    int priority[DIMS_MAX];
    bool none;    /* no sharding is given: None */
    bool shaped;  /* the text gives its shape */
    bool ours;    /* the order in which the model's file has the dims */
    bool placed;  /* in placements */
    bool coarser; /* coarser than in the plan that was exported: whole dims are not pinned */
} PinsValue;

/* Reads a value; out->shape is the tensor's on entry. ERROR_SYNTAX means that the text is
 * malformed. */
bool pins_value(PinsText *text, Scan *scan, PinsValue *out);

/* State while one value is read. */
typedef struct {
    PinsText *text;
    Scan *scan;
    PinsValue *out;
    AtomSet used; /* each axis may shard one dim, or be partial, once */
    int depth;
} PinsReader;

typedef struct {
    size_t at; /* their places in the text */
    int n;
    uint8_t atom[ATOMS_MAX];
} PinsAxes;

size_t pins_here(PinsReader *reader);
bool pins_fail_at(PinsReader *reader, size_t at); /* sets the place of the error; returns false */
/* Our axis for that axis number of the text; -2 if it has one device. */
bool pins_axis_of_number(PinsReader *reader, int64_t number, int *axis);
/* Appends the atoms of one of our axes, or nothing for -2. part: ":(1)2" may follow. */
bool pins_add_axis(PinsReader *reader, int axis, bool part, PinsAxes *axes);
/* Sets the axes of a dim. flat: the chunks are those of all axes together, as in Shardy and JAX. */
bool pins_set_dim(PinsReader *reader, int64_t dim, const PinsAxes *axes, bool flat);
bool pins_reduce(PinsReader *reader, Str name, size_t at, ReduceOp *out);
bool pins_is_placement(Str word);
/* Reads placements after "["; close '\0' reads a single one. joined: "(S(0)R)" needs no commas. */
bool pins_placements(PinsReader *reader, char close, bool joined, size_t at);

/* ---- names ---- */

typedef struct {
    int32_t tensor; /* -1 if none; -2 if several match */
    bool alike;     /* found under another form of its name */
} PinsFound;

PinsNames *pins_names_new(Arena *scratch, const Session *session);
PinsFound pins_find(PinsNames *names, Str name);
/* Returns whether the matrix of this name and the tensor are transposes of each other, as far as is
 * known. placed: it is written with placements. */
bool pins_is_turned(const Session *session, Str name, bool placed, int32_t tensor);

/* ---- the forms of a file ---- */

/* Adds pins for the sharding in [from, to) of the text, for the first of these names that the model
 * has. shape: the text's, or NULL. Returns false for an error that concerns the whole text. */
bool pins_add(PinsText *text, Scan *scan, const Str *names, int n, const Shape *shape, size_t from,
              size_t to);
void pins_summary(PinsText *text);
void pins_note(PinsText *text, Level level, const char *code, const char *says, const char *hint);

/* Checks that a text contains the whole plan it was exported from, as far as its comments say. If
 * not, this fails with ERROR_UNSUPPORTED; with a policy, which decides the rest, it is only a
 * finding. */
bool pins_check_whole(PinsText *text, Error *err);
/* Returns whether the comment beside the sharding in [from, to) says that it was finer. */
bool pins_is_coarser(const PinsText *text, size_t from, size_t to);

/* Checks a text that comes from a plan with stages. Pins do not say which devices ops run on, so
 * this fails with ERROR_UNSUPPORTED unless other decisions do. */
bool pins_need_stages(const PinsText *text, Scan *scan, size_t at);

/* Reads a whole {"wte": {"kernel": ..}} or OrderedDict(..). */
bool pins_dict_read(PinsText *text, Scan *scan);
bool pins_at_dict(const Scan *scan);
/* Reads a dict that a reader has built from the text, and moves the scan to its end; line numbers
 * are those of the built dict. */
bool pins_made_read(PinsText *text, Scan *scan, const Buf *made);
bool pins_lines_read(PinsText *text, Scan *scan);

/* Adds the shardings that the model's own file gives for its tensors: session->file_shardings. */
bool pins_model_read(Session *session, Journal *journal, Error *err);

bool pins_module_read(PinsText *text, Scan *scan);
bool pins_is_module(Str text);

/* A form of text that another system has (core/base/peer.h). */
typedef struct PinsForm {
    const char *name; /* "mlir" */
    bool (*is)(Str text);
    bool (*read)(PinsText *text, Scan *scan);
} PinsForm;

#endif
