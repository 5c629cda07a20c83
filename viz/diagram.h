/* diagram.h - what a drawing shows, before any Graphviz: boxes, frames around them, lines.
 *
 * One meaning each, told by form as well as by colour, so that a grey print reads the same:
 *
 *     box    op; group of equal layers: a double border; from outside: dashed; parameter: no
 *            ground; device: rounded; cause: a folded corner; table; a point where a moved value
 *            goes to several readers
 *
 *     frame  stage: rounded and bold; group of devices: dashed; repeated block: double; plain
 *
 *     line   value that is not moved: thin and grey. Moved, by the kind of the first step that
 *            communicates: AR arrows both ways and bold, AG crow's foot, RS inverted arrow and
 *            dashed, A2A double, permute and sends dotted to a dot; width by bytes, colour by axis,
 *            and both in words. Cause: open arrow. Only in A: dashed grey; only in B: bold. Index
 *            dim to the dim it lands in: no arrow, bold and coloured where an axis cuts it
 *
 *     text   names of mesh axes are in their colours, as the marks of the text say
 *
 * A diagram is data: all texts are as people name things, and whoever writes it escapes them.
 */
#ifndef VIZ_DIAGRAM_H
#define VIZ_DIAGRAM_H

#include "core/base/span.h"
#include "core/session/session.h"

/* ORDER DIAGRAM_KIND */
typedef enum {
    DIAGRAM_OVERVIEW,
    DIAGRAM_BLOCK,
    DIAGRAM_NEIGHBOURHOOD,
    DIAGRAM_OP,
    DIAGRAM_SLICES,
    DIAGRAM_DEVICE,
    DIAGRAM_STAGE,
    DIAGRAM_MESH,
    DIAGRAM_COMM,
    DIAGRAM_RESHARD,
    DIAGRAM_WHY,
    DIAGRAM_DIFF,
    DIAGRAM_KIND_COUNT
} DiagramKind;

typedef struct {
    const char *name;    /* "neighbourhood" */
    const char *of;      /* what it is of, besides the plan: "OP"; "" */
    const char *what;    /* for help: "an op and what is around it" */
    const char *example; /* in help, behind the kind: names of samples/models/gpt2.onnx */
} DiagramKindRow;

const DiagramKindRow *diagram_kind(DiagramKind kind);
bool diagram_kind_find(Str name, DiagramKind *out, Error *err); /* the hint lists them */

/* ---- boxes ---- */

typedef enum {
    CELL_PLAIN,
    CELL_HEAD,   /* of a column or row: bold on the ground of groups */
    CELL_MARKED, /* with a thick border: what the drawing is about */
    CELL_FAINT,  /* in the neutral colour */
    CELL_LONG    /* a formula: cut later than others */
} CellLook;

typedef struct {
    Text text; /* '\n' begins a line */
    CellLook look;
    int shade;        /* ground: 0 none, else one of the light tints, by number; text tells too */
    int columns;      /* it stands in so many; 0: one */
    const char *port; /* where lines can end: letters, digits and _; NULL */
} DiagramCell;

typedef enum {
    BOX_OP,
    BOX_GROUP,
    BOX_OUTSIDE,
    BOX_PARAMETER,
    BOX_DEVICE,
    BOX_CAUSE,
    BOX_TABLE, /* no border of its own: its cells have some */
    BOX_POINT  /* a dot without texts but `why`: several lines go on from it */
} BoxLook;

typedef struct {
    BoxLook look;
    const char *title;    /* "mlp.c_fc", "h[0..11] x12"; "" of a table: it has cells alone */
    const char *operator; /* "Gemm", "38 ops" */
    Text flow;            /* shardings: "8/dp,1024,768 -> 8/dp,1024,3072/tp" */
    const char *figures;  /* "0.12 ms  24.0 MiB"; for groups also "2 AR tp" */
    const char *why;      /* tooltip: the policy line it goes back to; NULL: the title */
    const char *link;     /* "#op-12": of the report; NULL */
    int frame;            /* that it stands in; -1 */
    int level;            /* boxes of one level stand beside each other; -1: as lines ask */
    int n_columns;        /* of a table below those texts; 0: none */
    int n_cells;
    const DiagramCell *cells; /* row by row */
    bool marked;              /* what the drawing is about: a thick border */
    int side;                 /* of diff: 0 in both, 'A' or 'B' */
} DiagramBox;

/* ---- frames ---- */

typedef enum { FRAME_PLAIN, FRAME_STAGE, FRAME_DEVICES, FRAME_REPEATED } FrameLook;

typedef struct {
    FrameLook look;
    const char *title;
    const char *why; /* tooltip; NULL */
    int parent;      /* frame around it, an earlier one; -1 */
} DiagramFrame;

/* ---- lines ---- */

typedef enum {
    LINE_VALUE,
    LINE_MOVED,
    LINE_CAUSE,
    LINE_A,     /* only in the first plan */
    LINE_B,     /* only in the second */
    LINE_ORDER, /* not seen: what is behind what */
    LINE_DIM    /* an index dim lands in a dim of a tensor; axis: the first that cuts it there */
} LineLook;

typedef struct {
    int from, to;                    /* boxes */
    const char *from_port, *to_port; /* of their cells, "d0"; ":n" or ":s" after it says at which
                                        side; NULL */
    LineLook look;
    bool partial;    /* the value is partial on the way: dashed, with the sum mark */
    bool loose;      /* does not say what is below what */
    bool straight;   /* short and straight before others */
    StepKind kind;   /* of what is moved; next three too */
    int axis;        /* the first mesh axis it is moved over; of a cause: which axis; -1 */
    int64_t bytes;   /* payload of a rank */
    Text label;      /* "AR tp 12.0 MiB 0.101 ms"; "" */
    const char *why; /* tooltip: the cause of what is moved; NULL */
    const char *link;
} DiagramLine;

typedef struct {
    const char *title;
    Text says;     /* below it: what it comes to, in a sentence or some lines; "" */
    bool sideways; /* from left to right */
    int n_boxes, n_frames, n_lines;
    const DiagramBox *boxes;
    const DiagramFrame *frames;
    const DiagramLine *lines;
    const char *facts; /* lines of the legend: model, mesh, machine, policy, plan, version */
    const char *fold;  /* what to ask instead where this is too large for dot: "--kind overview" */
} Diagram;

/* ---- making ---- */

enum { DIAGRAM_HOPS_DEFAULT = 2 };

typedef struct {
    const Session *session;
    DiagramKind kind;
    const char
        *of;  /* op, tensor or axis, as people name it; NULL: the kind chooses, where it can */
    int hops; /* of neighbourhood; 0: DIAGRAM_HOPS_DEFAULT */
    const Session *other; /* of diff: B; session is A */
} DiagramRequest;

/* All texts live in the arena. NULL: ERROR_USAGE, what it is of is missing or not there, with the
 * nearest name; ERROR_UNSUPPORTED, there is nothing of the kind, with what there is instead. */
Diagram *diagram_make(Arena *arena, const DiagramRequest *request, Error *err);

#endif
