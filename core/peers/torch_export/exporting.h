/* exporting.h - what the files of the reader of torch.export share; private to this room.
 *
 * A program is read node by node. A value of the program is a tensor, or a size: a whole number
 * that is known, or a host tensor i64[1]. Each operator has a row (rows.h) that says how its call
 * becomes ops of ours; an operator without a row keeps its name and arguments, and its results have
 * the shapes of the file.
 */
#ifndef CORE_PEERS_TORCH_EXPORT_EXPORTING_H
#define CORE_PEERS_TORCH_EXPORT_EXPORTING_H

#include "core/base/json_view.h"
#include "core/model/builder.h"
#include "core/model/reader.h"
#include "core/peers/torch_export/symbols.h"
#include "core/base/zip.h"

/* A value while ops are made from a call. */
typedef enum { TERM_NONE, TERM_TENSOR, TERM_NUMBER } TermKind;
typedef struct {
    uint8_t kind;   /* TermKind */
    uint8_t dtype;  /* Dtype of a tensor; of a number DT_I64, DT_F32 or DT_BOOL */
    uint8_t rank;   /* of a tensor, as far as it matters: 0 or more */
    int32_t tensor; /* of the graph */
    int32_t meta;   /* place of its TensorMeta in the program; -1 */
    int64_t i;      /* of a number that is whole */
    double f;       /* the same, and of one that is not */
} ExportTerm;

/* A value of the program by its name. */
typedef struct {
    Str name;
    ExportTerm term;
    int32_t meta; /* place of its TensorMeta; -1 */
    bool defined; /* it is an input, or a node before made it */
    bool size;    /* a number, or a host tensor i64[1] */
    bool stale;   /* what it is a view of has been changed in place behind its back */
    int32_t base; /* the value that it is a view of; -1 */
    int32_t view; /* place of the node that made the view; -1 */
} ExportValue;

/* A graph of the program: the program's own, or one that a node runs. */
typedef struct ExportScope {
    struct ExportScope *outer;
    int32_t graph; /* place in the program */
    Str prefix;    /* of its values' names: "true_graph_0."; "" of the program's own */
    Intern *names;
    Vec(ExportValue) values; /* by id of the name */
} ExportScope;

typedef Vec(ExportTerm) Terms;

typedef struct {
    Arena *arena, *scratch;
    const ModelFile *file;
    const JsonView *json;
    GraphBuilder *builder;
    Graph *graph;
    Symbols symbols;
    ExportScope *scope;
    Intern *constant_keys; /* of constants made; the next by id */
    Vec(int32_t) constants;
    Intern *row_keys; /* of operators met; the next by id */
    Vec(const struct TorchRow *) rows;
    int n_bodies;             /* ops of a branch or a loop are not shared with those outside */
    Vec(int32_t) other_names; /* names id, tensor, .. */
    Vec(uint8_t) phases; /* per names id of an op: 1 + Phase, as the file says; 0: it does not */
    Vec(Str) changed;    /* names of what the program changes in place, as a running mean */
    Vec(Finding) findings;
    int n_nodes;
    Error *err;
} Export;

enum { CALL_ARGS_MAX = 24, CALL_OUTPUTS_MAX = 64 };

/* One call of an operator: a node of the program. */
typedef struct {
    Export *e;
    int32_t node;   /* place in the program */
    Str name, path; /* "linear_1", "model.layers.0.mlp" */
    Str op;         /* "add", without its overload; with its library, "mylib.add", if not aten's */
    Str overload;   /* "Tensor"; "default" */
    int n_args;
    const char *arg[CALL_ARGS_MAX]; /* names by the row's schema */
    int32_t place[CALL_ARGS_MAX];   /* of their values in the program; -1: not given, or None */
    const char *fallback[CALL_ARGS_MAX]; /* what it is then; "" for none */
    int32_t first_op;                    /* of those that it becomes */
    ExportTerm *capture; /* not NULL: the first result goes here, and nothing is named */
    int n_results;       /* that call_results() was given, and the first of them */
    ExportTerm first_result;
    int n_made; /* ops made so far */
    bool unfit; /* call_fail() was asked to say why the row does not do */
} Call;

/* ---- values (values.c) ---- */

void export_enter(Export *e, ExportScope *scope, int32_t graph, Str prefix);
void export_leave(Export *e);
/* The value of that name, also of an outer graph; NULL with an error. */
ExportValue *export_value(Export *e, int32_t place, Str name);
ExportValue *export_define(Export *e, Str name, ExportTerm term, bool size);
/* The TensorMeta of a value of the present graph: -1 if it is no tensor. */
int32_t export_meta(const Export *e, Str name);
Dtype export_dtype(int64_t number); /* of the schema's ScalarType; DT_NONE */
/* A dim of a TensorMeta: its size, or -1 if it is symbolic. */
int64_t meta_dim(const Export *e, int32_t meta, int dim);
int meta_rank(const Export *e, int32_t meta);
Dtype meta_dtype(const Export *e, int32_t meta);
bool meta_trains(const Export *e,
                 int32_t meta); /* of a parameter: not if it requires no gradient */
/* Dims as they are declared in the graph: known sizes, or free dims by expressions. False with an
 * error: too many, or one cannot be read. */
bool meta_declare(Export *e, int32_t meta, DeclaredDim dims[DIMS_MAX], int *n);
/* A name in the file for a tensor that has another name in the graph. */
void export_also(Export *e, Str name, int32_t tensor);
bool export_fail(Export *e, int32_t place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool export_failed(const Export *e);

/* ---- ops (emit.c) ---- */

static inline ExportTerm no_term(void)
{
    return (ExportTerm){.kind = TERM_NONE, .tensor = -1, .meta = -1};
}
static inline bool term_is(ExportTerm t)
{
    return t.kind != TERM_NONE;
}
ExportTerm term_number(double value);
ExportTerm term_int(int64_t value);
ExportTerm term_tensor(int32_t tensor, Dtype dtype, int rank);

Attr attr_int(Export *e, const char *name, int64_t value);
Attr attr_float(Export *e, const char *name, double value);
Attr attr_text(Export *e, const char *name, Str value);
Attr attr_ints(Export *e, const char *name, const int64_t *values, int n);

/* Adds an op below the call's path. Numbers become constants of the type that torch promotes them
 * to, where the operator computes element by element; elsewhere of the type of the first tensor.
 * The results' dtype is that of the first input unless the operator says otherwise. */
ExportTerm emit(Call *c, const char *op, const ExportTerm *inputs, int n, const Attr *attrs,
                int n_attrs);
void emit_many(Call *c, const char *op, const ExportTerm *inputs, int n, const Attr *attrs,
               int n_attrs, ExportTerm *out, int n_out);
static inline ExportTerm emit1(Call *c, const char *op, ExportTerm a)
{
    return emit(c, op, &a, 1, NULL, 0);
}
static inline ExportTerm emit2(Call *c, const char *op, ExportTerm a, ExportTerm b)
{
    return emit(c, op, (ExportTerm[]){a, b}, 2, NULL, 0);
}
ExportTerm emit_cast(Call *c, ExportTerm x,
                     Dtype to); /* itself if it has the type, or to is DT_NONE */
ExportTerm emit_constant(Call *c, ExportTerm number, Dtype dtype); /* a scalar */
ExportTerm emit_ints(Export *e, const int64_t *values, int n);     /* i64[n] */
ExportTerm emit_scalar_int(Export *e, int64_t value);              /* i64 scalar */
ExportTerm emit_sizes(Call *c, const Terms *sizes); /* i64[n] of numbers and tensors i64[1] */
ExportTerm emit_as_scalar(Call *c, ExportTerm size,
                          Dtype dtype); /* a number or i64[1] as a scalar */
ExportTerm emit_filled(Call *c, ExportTerm shape, ExportTerm value, Dtype dtype, int rank);
/* The type in which torch computes on these together. */
Dtype terms_promoted(const ExportTerm *terms, int n);

/* ---- arguments (call.c) ---- */

/* Binds the node's arguments to a schema: names with blanks between, "dim=-1 keepdim=False", `=`
 * alone for None. False with an error: an argument that it does not have. */
bool call_bind(Call *c, const char *schema);
int32_t call_place(const Call *c, const char *arg); /* -1: not given, or None */
bool call_given(const Call *c, const char *arg);
ExportTerm call_term(Call *c, const char *arg); /* tensor, size or number; TERM_NONE without one */
ExportTerm call_tensor(Call *c, const char *arg);      /* a tensor; an error if it is none */
void call_terms(Call *c, const char *arg, Terms *out); /* a list of tensors, or of sizes */
int64_t call_int(Call *c, const char *arg); /* a number that is known; an error otherwise */
double call_float(Call *c, const char *arg);
bool call_bool(Call *c, const char *arg);
Str call_text(Call *c, const char *arg);
Dtype call_dtype(Call *c, const char *arg); /* DT_NONE: not given */
/* A list of known whole numbers, or one of them; n is -1 after an error. */
int call_ints(Call *c, const char *arg, int64_t *out, int most);
int64_t call_axis(Call *c, const char *arg, int rank); /* a dim from 0 on */
/* Says why the row of the operator does not do for this call: it is kept whole then, as one without
 * a row is. Returns false. */
bool call_fail(Call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- results ---- */

/* The type that the file gives the node's first output; DT_NONE if it is no tensor. */
Dtype call_result_dtype(const Call *c);
int32_t call_result_meta(const Call *c, int i); /* of output i; -1 */

/* The tensor has the type and the shape of a TensorMeta; nothing for -1. */
void call_declare(Call *c, int32_t tensor, int32_t meta);

/* Gives the outputs of the node these values, in order; casts them to the file's types. */
void call_results(Call *c, const ExportTerm *results, int n);

#endif
