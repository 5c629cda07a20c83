/* diagram.h - what a drawing shows, independent of Graphviz: boxes, frames around them, lines.
 *
 * Each kind of thing has its own shape as well as its own colour, so a grey print reads the same:
 *
 *     box    op; group of equal layers: a double border; outside of what is drawn: dashed;
 *            parameter: no fill; device: rounded; cause: a folded corner; table; a point where the
 *            line of a moved value branches to several readers
 *
 *     frame  stage: rounded and bold; group of devices: dashed; repeated block: double; plain
 *
 *     line   value that is not moved: thin and grey. Moved, by the kind of the first step that
 *            communicates: AR arrows both ways and bold, AG crow's foot, RS inverted arrow and
 *            dashed, A2A double, permute and sends dotted to a dot; width by bytes, colour by axis,
 *            and a label with both. Cause: open arrow. Only in A: dashed grey; only in B: bold.
 *            Index dim to a tensor dim that it indexes: no arrow, bold and coloured if an axis
 *            shards it
 *
 *     text   names of mesh axes have their colours, from the marks of the text
 *
 * A diagram is data: texts are unescaped, and each writer escapes them for its format.
 */
#ifndef VIZ_DIAGRAM_H
#define VIZ_DIAGRAM_H

#include "core/base/span.h"
#include "core/session/session.h"

/* ORDER DIAGRAM_KIND */
typedef enum {
    DIAGRAM_OVERVIEW,
    DIAGRAM_LAYER,
    DIAGRAM_BLOCK,
    DIAGRAM_NEIGHBOURHOOD,
    DIAGRAM_OP,
    DIAGRAM_SLICES,
    DIAGRAM_DEVICE,
    DIAGRAM_STAGE,
    DIAGRAM_SCHEDULE,
    DIAGRAM_MEMORY,
    DIAGRAM_STEP,
    DIAGRAM_FRONTIER,
    DIAGRAM_MESH,
    DIAGRAM_TORUS,
    DIAGRAM_COMM,
    DIAGRAM_RESHARD,
    DIAGRAM_WHY,
    DIAGRAM_DIFF,
    DIAGRAM_KIND_COUNT
} DiagramKind;

typedef struct {
    const char *name;    /* "neighbourhood" */
    const char *of;      /* the subject it needs besides the plan: "OP"; "" if none */
    const char *what;    /* for help: "an op and its neighbours" */
    const char *example; /* for help, after the kind: names from samples/models/gpt2.onnx */
} DiagramKindRow;

const DiagramKindRow *diagram_kind(DiagramKind kind);
bool diagram_kind_find(Str name, DiagramKind *out,
                       Error *err); /* On failure the hint lists the kinds. */

/* What a box or a line stands for, for programs that read the drawing; written as attributes of
 * DOT. Missing texts are NULL, missing numbers negative. Times and bytes are of one device. */
typedef struct {
    const char *op;       /* "Gemm"; "38 ops"; of a moved value "all_reduce" */
    const char *path;     /* of the module; of a value: its name */
    const char *first;    /* "Reshape_5": of ops that are not a whole module, the first one; NULL */
    const char *layer;    /* "3", "0-11": the numbers of the repeated layers that contain it */
    const char *sharding; /* of an op's result or of a value; if it is moved: "8/dp,768 +tp ->
                             8/dp,768" */
    const char *axes;     /* "dp tp": the axes that shard the op or the value, or over which it
                             is moved */
    const char *phase;    /* "forward backward" */
    const char *cause;    /* "megatron.lua:14": the pins behind it */
    int64_t bytes;        /* of the value; of a collective its payload */
    double us;
} DiagramFacts;

/* ---- boxes ---- */

typedef enum {
    CELL_PLAIN,
    CELL_HEAD,   /* head of a column or row: bold, filled like a group */
    CELL_MARKED, /* thick border: the subject of the drawing */
    CELL_FAINT,  /* in a neutral colour */
    CELL_LONG    /* a formula: may be longer before it is shortened */
} CellLook;

typedef struct {
    Text text; /* '\n' begins a line */
    CellLook look;
    int shade;        /* fill: number of a light tint, 0 for none; the text tells the same */
    int columns;      /* number of columns that it spans; 0: one */
    const char *port; /* the name by which lines end at this cell: letters, digits and _; NULL if
                         none do */
} DiagramCell;

typedef enum {
    BOX_OP,
    BOX_GROUP,
    BOX_OUTSIDE,
    BOX_PARAMETER,
    BOX_DEVICE,
    BOX_CAUSE,
    BOX_TABLE, /* cells with borders, none around all */
    BOX_POINT, /* a dot with a tooltip only, where a line branches */
    /* only in placed diagrams */
    BOX_TEXT,    /* a text alone */
    BOX_FILL,    /* only a colour, with a thin border */
    BOX_AREA,    /* only a colour, without a border */
    BOX_CIRCLE,  /* an operator on a line */
    BOX_CORNER,  /* nothing: where a line turns */
    BOX_OUTLINE, /* frames of stacked drawings: around boxes, without a fill */
    BOX_DASHES,
    BOX_DOUBLE,
    BOX_LOOK_COUNT
} BoxLook;

/* In points from the left and the top of the page. */
typedef struct {
    double x, y, w, h;
} DiagramPlace;

/* The width of a paper's column, 3.25 in, and of a placed drawing for a screen. */
enum { PAPER_COLUMN = 234, SCREEN_WIDTH = 504 };
/* Type sizes whose widths dot knows: it measures whole pixels, 96 per inch. */
#define PAPER_POINTS 7.5
#define SCREEN_POINTS 10.0

typedef struct {
    BoxLook look;
    const char *title;    /* "mlp.c_fc", "h[0..11] x12"; "": a table of cells only */
    const char *subtitle; /* "Gemm", "38 ops" */
    Text flow;            /* shardings: "8/dp,1024,768 -> 8/dp,1024,3072/tp" */
    const char *figures;  /* "0.12 ms  24.0 MiB"; for groups also "2 AR tp" */
    const char *why;      /* tooltip: the policy line that causes it; NULL: the title */
    const char *link;     /* "#op-12": a place in the report; NULL if none */
    int frame;            /* the frame around it, or -1 */
    int level;            /* boxes of one level are side by side; -1: placed by their lines */
    int n_columns;        /* of a table below those texts; 0 for none */
    int n_cells;
    const DiagramCell *cells;  /* row by row */
    bool marked;               /* thick border: the subject of the drawing */
    int side;                  /* in a diff: 0 if in both plans, else 'A' or 'B' */
    DiagramPlace place;        /* only in placed diagrams */
    const DiagramFacts *facts; /* NULL: none */
    const char *id;            /* set by diagram_name_all() */
    bool left;      /* the lines of a BOX_TEXT begin at its left end; else they are centred */
    int shade, ink; /* fill of a BOX_FILL or BOX_AREA: a tint as for a cell, or the axis whose
                       colour it has, -1 */
} DiagramBox;

/* ---- frames ---- */

typedef enum { FRAME_PLAIN, FRAME_STAGE, FRAME_DEVICES, FRAME_REPEATED } FrameLook;

typedef struct {
    FrameLook look;
    const char *title;
    const char *why; /* tooltip, or NULL */
    int parent;      /* frame around it, which comes earlier; -1 if none */
    char side;       /* position of its title: 'r', 'c'; else left */
    const char *id;  /* set by diagram_name_all() */
} DiagramFrame;

/* ---- lines ---- */

typedef enum {
    LINE_VALUE,
    LINE_MOVED,
    LINE_CAUSE,
    LINE_A,     /* only in the first plan */
    LINE_B,     /* only in the second */
    LINE_ORDER, /* invisible: only puts one box after the other */
    LINE_DIM    /* from an index dim to a tensor dim; axis: the first that shards it */
} LineLook;

typedef struct {
    int from, to;                    /* boxes */
    const char *from_port, *to_port; /* cells of the boxes, "d0"; ":n" or ":s" chooses the top or
                                        bottom side; NULL for the whole box */
    LineLook look;
    bool partial;    /* the value is partial: dashed, with the sum mark */
    bool loose;      /* does not affect which box is below which */
    bool open;       /* without an arrowhead */
    bool straight;   /* kept short and straight at the cost of other lines */
    StepKind kind;   /* of the moved value, like the next three */
    int axis;        /* first mesh axis it is moved over, or the axis of a cause; -1 if none */
    int64_t bytes;   /* payload of one rank */
    Text label;      /* "AR tp 12.0 MiB 0.101 ms", or "" */
    const char *why; /* tooltip: why it is moved; NULL if unknown */
    const char *link;
    const DiagramFacts *facts; /* NULL: none */
    const char *id;            /* set by diagram_name_all() */
} DiagramLine;

typedef struct {
    const char *title;
    Text caption;  /* caption below it: a sentence or a few lines; "" for none */
    bool sideways; /* drawn from left to right */
    int n_boxes, n_frames, n_lines;
    const DiagramBox *boxes;
    DiagramFrame *frames;
    const DiagramLine *lines;
    bool placed;       /* boxes have places; dot does not lay them out */
    double points;     /* size of the type; 0: the screen's */
    bool linked;       /* boxes and lines link to places in the page around the drawing */
    bool bare;         /* for paper: without title, caption and legend */
    const char *facts; /* lines of the legend: model, mesh, machine, policy, plan, version */
    const char
        *fold; /* smaller drawing to suggest if dot cannot lay this one out: "--kind overview" */
} Diagram;

/* ---- making ---- */

/* A box with the defaults of its look, for the caller to fill and add. */
DiagramBox diagram_box(BoxLook look, const char *title);

enum { DIAGRAM_HOPS_DEFAULT = 2 };

typedef struct {
    const Session *session;
    DiagramKind kind;
    const char *of;       /* op, tensor or axis by name; NULL: the kind chooses one if it can */
    int hops;             /* of a neighbourhood; 0: DIAGRAM_HOPS_DEFAULT */
    const Session *other; /* second plan of a diff; `session` is the first */
    double width;         /* width in points of the page for a placed drawing; 0: for a screen */
} DiagramRequest;

/* All texts live in the arena. Returns NULL with ERROR_USAGE if the subject is missing or unknown
 * (the hint has the nearest name), with ERROR_UNSUPPORTED if the plan has nothing of the kind (the
 * message tells what it has instead). */
Diagram *diagram_make(Arena *arena, const DiagramRequest *request, Error *err);

#endif
