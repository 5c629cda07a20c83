/* exporting.h - shared by the files of torch.export's reader; private to this room.
 *
 * A program is read node by node. A value of the program is a tensor or a size; a size is a known
 * whole number or a host tensor i64[1]. Each operator has a row (rows.h) that says which of our ops
 * a call becomes; an operator without a row keeps its name and arguments, and its results have the
 * shapes given in the file.
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
    uint8_t rank;   /* of a tensor, as far as needed: 0 or more */
    int32_t tensor; /* of the graph */
    int32_t meta;   /* index of its TensorMeta in the program; -1 */
    int64_t i;      /* of a number that is whole */
    double f;       /* the same value, or one that is not whole */
} ExportTerm;

/* A value of the program by its name. */
typedef struct {
    Str name;
    ExportTerm term;
    int32_t meta; /* place of its TensorMeta; -1 */
    bool defined; /* it is an input, or an earlier node has made it */
    bool size;    /* a number, or a host tensor i64[1] */
    bool stale;   /* a view whose base was changed in place after the view was made */
    int32_t base; /* the value of which it is a view; -1 */
    int32_t view; /* index of the node that made the view; -1 */
} ExportValue;

/* A graph of the program: the program's own, or one that a node runs. */
typedef struct ExportScope {
    struct ExportScope *outer;
    int32_t graph; /* index in the program */
    Str prefix;    /* of the names of its values: "true_graph_0."; "" for the program's own graph */
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
    Intern *constant_keys; /* keys of constants made so far; the next field by id */
    Vec(int32_t) constants;
    Intern *row_keys; /* keys of operators met so far; the next field by id */
    Vec(const struct TorchRow *) rows;
    int n_bodies;             /* depth of branches and loops, whose constants are not shared with
                                 the outside */
    Vec(int32_t) other_names; /* names id, tensor, .. */
    Vec(uint8_t) phases; /* per names id of an op: 1 + Phase according to the file; 0: unknown */
    /* Names of values that the program changes in place, such as a running mean. */
    Vec(Str) changed;
    Vec(Finding) findings;
    int n_nodes;
    Error *err;
} Export;

enum { CALL_ARGS_MAX = 24, CALL_OUTPUTS_MAX = 64 };

/* One call of an operator: a node of the program. */
typedef struct {
    Export *e;
    int32_t node;   /* index in the program */
    Str name, path; /* "linear_1", "model.layers.0.mlp" */
    Str op;         /* "add", without its overload; with its library, "mylib.add", if not aten's */
    Str overload;   /* "Tensor"; "default" */
    int n_args;
    const char *arg[CALL_ARGS_MAX]; /* names by the row's schema */
    int32_t place[CALL_ARGS_MAX];   /* indices of their values in the program; -1: not given, or
                                       None */
    const char *fallback[CALL_ARGS_MAX]; /* the default; "" for none */
    int32_t first_op;                    /* the first of the ops that it becomes */
    ExportTerm *capture; /* if not NULL, the first result is stored here, and nothing is named */
    int n_results;       /* number of results given to call_results(), and the first of them */
    ExportTerm first_result;
    int n_made; /* ops made so far */
    bool unfit; /* set by call_fail(): the row does not support this call */
} Call;

/* ---- values (values.c) ---- */

void export_enter(Export *e, ExportScope *scope, int32_t graph, Str prefix);
void export_leave(Export *e);
/* The value of that name, also in an outer graph; NULL with an error. */
ExportValue *export_value(Export *e, int32_t place, Str name);
ExportValue *export_define(Export *e, Str name, ExportTerm term, bool size);
/* The TensorMeta of a value of the current graph; -1 if it is no tensor. */
int32_t export_meta(const Export *e, Str name);
Dtype export_dtype(int64_t number); /* of the schema's ScalarType; DT_NONE */
/* A dim of a TensorMeta: its size, or -1 if it is symbolic. */
int64_t meta_dim(const Export *e, int32_t meta, int dim);
int meta_rank(const Export *e, int32_t meta);
Dtype meta_dtype(const Export *e, int32_t meta);
bool meta_trains(const Export *e,
                 int32_t meta); /* of a parameter: not if it requires no gradient */
/* The type and dims for a declaration in the graph: known sizes, or free dims by expressions.
 * Complex numbers have a last dim of their parts. Returns false with an error if there are too many
 * dims, or one cannot be read. */
bool meta_declare(Export *e, int32_t meta, Dtype *dtype, DeclaredDim dims[DIMS_MAX], int *n);
/* Records a name of the file for a tensor that has another name in the graph. */
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

/* Adds an op under the call's path. Numbers become constants: for element-wise operators of the
 * type to which torch promotes them, for others of the type of the first tensor. The results' dtype
 * is that of the first input unless the operator says otherwise. */
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
                     Dtype to);               /* itself if it has the type, or to is DT_NONE */
ExportTerm emit_float(Call *c, ExportTerm x); /* f32; itself if it has floats or complex numbers */
ExportTerm emit_constant(Call *c, ExportTerm number, Dtype dtype);    /* a scalar */
ExportTerm emit_pair(Call *c, double real, double imag, Dtype dtype); /* a complex scalar */
ExportTerm emit_ints(Export *e, const int64_t *values, int n);        /* i64[n] */
ExportTerm emit_scalar_int(Export *e, int64_t value);                 /* i64 scalar */
/* i64[n] made from numbers and tensors i64[1]. */
ExportTerm emit_sizes(Call *c, const Terms *sizes);
ExportTerm emit_as_scalar(Call *c, ExportTerm size,
                          Dtype dtype); /* a number or i64[1] as a scalar */
ExportTerm emit_filled(Call *c, ExportTerm shape, ExportTerm value, Dtype dtype, int rank);
/* The type in which torch computes with these operands. */
Dtype terms_promoted(const ExportTerm *terms, int n);

/* ---- complex numbers (complex.c) ---- */

/* The term has torch's type and rank; its tensor has a last dim of 2 besides, of floats. */
static inline bool term_is_complex(ExportTerm t)
{
    return t.kind == TERM_TENSOR && (t.dtype == DT_C64 || t.dtype == DT_C128);
}
Dtype dtype_of_parts(Dtype dtype);             /* F32 of C64, F64 of C128, else itself */
ExportTerm complex_parts(ExportTerm x);        /* the tensor, as one of real numbers */
ExportTerm complex_of_parts(ExportTerm parts); /* the other way round */
ExportTerm complex_part(Call *c, ExportTerm x, int which);        /* 0: real, 1: imaginary */
ExportTerm complex_of(Call *c, ExportTerm real, ExportTerm imag); /* of one shape */
ExportTerm complex_conj(Call *c, ExportTerm x);                   /* a real one is its own */
/* From complex to real numbers, of which the real parts stay, or the other way round. */
ExportTerm complex_cast(Call *c, ExportTerm x, Dtype to);
/* emit_many() where an operand is complex; call_fail() where the operator is not known of those. */
void emit_complex(Call *c, const char *op, const ExportTerm *inputs, int n, const Attr *attrs,
                  int n_attrs, ExportTerm *out, int n_out);

/* ---- arguments (call.c) ---- */

/* Binds the node's arguments to a schema: names separated by blanks, "dim=-1 keepdim=False", `=`
 * alone for None. Returns false with an error if the node has an argument that the schema lacks. */
bool call_bind(Call *c, const char *schema);
int32_t call_place(const Call *c, const char *arg); /* -1: not given, or None */
bool call_given(const Call *c, const char *arg);
ExportTerm call_term(Call *c, const char *arg); /* tensor, size or number; TERM_NONE without one */
ExportTerm call_tensor(Call *c, const char *arg);      /* a tensor; an error if it is none */
void call_terms(Call *c, const char *arg, Terms *out); /* a list of tensors, or of sizes */
int64_t call_int(Call *c, const char *arg);            /* a known number; else an error */
double call_float(Call *c, const char *arg);
bool call_bool(Call *c, const char *arg);
Str call_text(Call *c, const char *arg);
Dtype call_dtype(Call *c, const char *arg); /* DT_NONE: not given */
/* A list of known whole numbers, or a single one; returns -1 after an error. */
int call_ints(Call *c, const char *arg, int64_t *out, int most);
int64_t call_axis(Call *c, const char *arg, int rank); /* a dim from 0 on */
/* Says why the operator's row does not support this call: the op is then kept whole, as without a
 * row. Returns false. */
bool call_fail(Call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- results ---- */

/* The type that the file gives for the node's first output; DT_NONE if that is no tensor. */
Dtype call_result_dtype(const Call *c);
int32_t call_result_meta(const Call *c, int i); /* of output i; -1 */

/* Declares the tensor with the type and shape of a TensorMeta; does nothing for -1. */
void call_declare(Call *c, int32_t tensor, int32_t meta);

/* Sets the values of the node's outputs, in order; casts them to the file's types. */
void call_results(Call *c, const ExportTerm *results, int n);

#endif
