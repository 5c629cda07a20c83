/* complex.c - complex numbers of torch as pairs of real ones.
 *
 * A complex tensor is a tensor of floats with one dim more, the last, of size 2: the real and the
 * imaginary parts, as ONNX's DFT has them. Its term keeps torch's type and rank, so that rows count
 * dims as torch does. What moves elements or adds them does so with the parts; products, quotients
 * and the like are written out.
 */
#include "core/peers/torch_export/shapes.h"

#include <string.h>

Dtype dtype_of_parts(Dtype dtype)
{
    return dtype == DT_C64 ? DT_F32 : dtype == DT_C128 ? DT_F64 : dtype;
}

static Dtype dtype_of_pair(Dtype part)
{
    return part == DT_F64 ? DT_C128 : DT_C64;
}

ExportTerm complex_parts(ExportTerm x)
{
    x.dtype = (uint8_t)dtype_of_parts((Dtype)x.dtype);
    x.rank++;
    x.meta = -1;
    return x;
}

ExportTerm complex_of_parts(ExportTerm parts)
{
    parts.dtype = (uint8_t)dtype_of_pair((Dtype)parts.dtype);
    parts.rank = (uint8_t)(parts.rank > 0 ? parts.rank - 1 : 0);
    parts.meta = -1;
    return parts;
}

ExportTerm complex_part(Call *c, ExportTerm x, int which)
{
    Attr attr = attr_int(c->e, "axis", x.rank);
    ExportTerm in[] = {complex_parts(x), emit_scalar_int(c->e, which)};
    ExportTerm out = emit(c, "Gather", in, 2, &attr, 1);
    out.rank = x.rank;
    return out;
}

ExportTerm complex_of(Call *c, ExportTerm real, ExportTerm imag)
{
    ExportTerm parts[] = {unsqueeze(c, real, real.rank), unsqueeze(c, imag, imag.rank)};
    return complex_of_parts(concat(c, parts, 2, real.rank));
}

ExportTerm complex_conj(Call *c, ExportTerm x)
{
    if (!term_is_complex(x))
        return x;
    ExportTerm turned = complex_parts(emit_pair(c, 1, -1, (Dtype)x.dtype));
    return complex_of_parts(emit2(c, "Mul", complex_parts(x), turned));
}

/* A real tensor or number with zeros as imaginary parts. */
static ExportTerm widened(Call *c, ExportTerm x, Dtype to)
{
    int64_t pads[2 * (DIMS_MAX + 1)] = {0};
    Dtype part = dtype_of_parts(to);
    int n = x.rank + 1;
    x = emit_cast(c, x, part);
    pads[2 * n - 1] = 1;
    ExportTerm in[] = {unsqueeze(c, x, x.rank), emit_ints(c->e, pads, 2 * n)};
    return complex_of_parts(emit(c, "Pad", in, 2, NULL, 0));
}

ExportTerm complex_cast(Call *c, ExportTerm x, Dtype to)
{
    if (!term_is_complex(x))
        return widened(c, x, to);
    bool stays = to == DT_C64 || to == DT_C128;
    return stays ? complex_of_parts(emit_cast(c, complex_parts(x), dtype_of_parts(to)))
                 : emit_cast(c, complex_part(c, x, 0), to);
}

/* ---- operators ---- */

/* An op of ours with a complex operand. */
typedef struct {
    Call *c;
    const char *op;
    const ExportTerm *in;
    int n;
    const Attr *attrs;
    int n_attrs;
    Dtype dtype; /* C64 or C128 */
} ComplexOp;

/* A real operand, as one that is multiplied with both parts. */
static ExportTerm beside_parts(const ComplexOp *o, ExportTerm x)
{
    if (x.kind == TERM_NUMBER)
        return x;
    x = emit_cast(o->c, x, dtype_of_parts(o->dtype));
    return unsqueeze(o->c, x, x.rank);
}

static ExportTerm part_of(const ComplexOp *o, int input, int which)
{
    return complex_part(o->c, o->in[input], which);
}

static ExportTerm length_of(Call *c, ExportTerm x)
{
    int64_t last = x.rank;
    return fold_dims(c, "ReduceL2", complex_parts(x), &last, 1, false);
}

/* re * re - im * im and re * im + im * re, of products or of matrix products. */
static ExportTerm multiply(const ComplexOp *o)
{
    Call *c = o->c;
    ExportTerm p[2][2], made[4];
    for (int i = 0; i < 4; i++)
        p[i / 2][i % 2] = part_of(o, i / 2, i % 2);
    for (int i = 0; i < 4; i++)
        made[i] = emit2(c, o->op, p[0][i / 2], p[1][i % 2]);
    return complex_of(c, emit2(c, "Sub", made[0], made[3]), emit2(c, "Add", made[1], made[2]));
}

static ExportTerm make_mul(const ComplexOp *o)
{
    ExportTerm a = o->in[0], b = o->in[1];
    if (term_is_complex(a) && term_is_complex(b))
        return multiply(o);
    ExportTerm x = term_is_complex(a) ? a : b, real = term_is_complex(a) ? b : a;
    return complex_of_parts(emit2(o->c, "Mul", complex_parts(x), beside_parts(o, real)));
}

static ExportTerm make_matmul(const ComplexOp *o)
{
    ExportTerm made[2];
    bool left = term_is_complex(o->in[0]);
    if (left && term_is_complex(o->in[1]))
        return multiply(o);
    for (int i = 0; i < 2; i++)
        made[i] = left ? emit2(o->c, "MatMul", part_of(o, 0, i), o->in[1])
                       : emit2(o->c, "MatMul", o->in[0], part_of(o, 1, i));
    return complex_of(o->c, made[0], made[1]);
}

/* By a complex number: times its conjugate over the square of its length. */
static ExportTerm make_div(const ComplexOp *o)
{
    Call *c = o->c;
    ExportTerm a = o->in[0], b = o->in[1];
    if (!term_is_complex(b))
        return complex_of_parts(emit2(c, "Div", complex_parts(a), beside_parts(o, b)));
    ExportTerm squares = emit2(c, "Mul", complex_parts(b), complex_parts(b));
    int64_t last = b.rank;
    ExportTerm square = fold_dims(c, "ReduceSum", squares, &last, 1, true);
    ExportTerm top = emit2(c, "Mul", a, complex_conj(c, b));
    return complex_of_parts(emit2(c, "Div", complex_parts(top), square));
}

static ExportTerm make_reciprocal(const ComplexOp *o)
{
    return emit2(o->c, "Div", term_int(1), o->in[0]);
}

static ExportTerm make_abs(const ComplexOp *o)
{
    return length_of(o->c, o->in[0]);
}

/* Of length 1; zero of zero. */
static ExportTerm make_sign(const ComplexOp *o)
{
    Call *c = o->c;
    ExportTerm length = length_of(c, o->in[0]);
    ExportTerm safe = emit(
        c, "Where", (ExportTerm[]){emit2(c, "Equal", length, term_int(0)), term_int(1), length}, 3,
        NULL, 0);
    return emit2(c, "Div", o->in[0], safe);
}

static ExportTerm make_exp(const ComplexOp *o)
{
    Call *c = o->c;
    ExportTerm length = emit1(c, "Exp", part_of(o, 0, 0)), angle = part_of(o, 0, 1);
    return complex_of(c, emit2(c, "Mul", length, emit1(c, "Cos", angle)),
                      emit2(c, "Mul", length, emit1(c, "Sin", angle)));
}

static ExportTerm make_log(const ComplexOp *o)
{
    Call *c = o->c;
    return complex_of(c, emit1(c, "Log", length_of(c, o->in[0])),
                      emit2(c, "Atan2", part_of(o, 0, 1), part_of(o, 0, 0)));
}

/* Whole powers only. */
static ExportTerm make_pow(const ComplexOp *o)
{
    ExportTerm x = o->in[0], power = o->in[1], out = x;
    bool whole = term_is_complex(x) && power.kind == TERM_NUMBER && power.i >= 1 && power.i <= 8 &&
                 !((double)power.i < power.f) && !((double)power.i > power.f);
    if (!whole)
        call_fail(o->c, "complex numbers are raised to whole powers from 1 to 8 only");
    for (int64_t i = 1; whole && i < power.i; i++)
        out = emit2(o->c, "Mul", out, x);
    return out;
}

static ExportTerm make_equal(const ComplexOp *o)
{
    Call *c = o->c;
    ExportTerm both = emit2(c, "Equal", complex_parts(emit_cast(c, o->in[0], o->dtype)),
                            complex_parts(emit_cast(c, o->in[1], o->dtype)));
    int64_t last = both.rank - 1;
    ExportTerm out = fold_dims(c, "ReduceMin", emit_cast(c, both, DT_I32), &last, 1, false);
    return emit_cast(c, out, DT_BOOL);
}

static ExportTerm make_where(const ComplexOp *o)
{
    Call *c = o->c;
    ExportTerm in[] = {unsqueeze(c, o->in[0], o->in[0].rank),
                       complex_parts(emit_cast(c, o->in[1], o->dtype)),
                       complex_parts(emit_cast(c, o->in[2], o->dtype))};
    return complex_of_parts(emit(c, "Where", in, 3, NULL, 0));
}

static ExportTerm make_transpose(const ComplexOp *o)
{
    int64_t perm[DIMS_MAX + 1];
    int rank = o->in[0].rank;
    for (int d = 0; d <= rank; d++)
        perm[d] = d < o->attrs[0].n && d < rank ? o->attrs[0].ints[d] : d;
    Attr attr = attr_ints(o->c->e, "perm", perm, rank + 1);
    ExportTerm in = complex_parts(o->in[0]);
    return complex_of_parts(emit(o->c, "Transpose", &in, 1, &attr, 1));
}

/* Reshape and Expand: the parts keep their dim. */
static ExportTerm make_sized(const ComplexOp *o)
{
    Call *c = o->c;
    ExportTerm sizes[] = {o->in[1], emit_ints(c->e, (int64_t[]){2}, 1)};
    ExportTerm in[] = {complex_parts(o->in[0]), concat(c, sizes, 2, 0)};
    return complex_of_parts(emit(c, o->op, in, 2, o->attrs, o->n_attrs));
}

/* A size, or all but that of the parts. */
static ExportTerm make_shape(const ComplexOp *o)
{
    Attr attr = attr_int(o->c->e, "end", -1);
    ExportTerm in = complex_parts(o->in[0]);
    return o->n_attrs > 0 ? emit(o->c, "Shape", &in, 1, o->attrs, o->n_attrs)
                          : emit(o->c, "Shape", &in, 1, &attr, 1);
}

/* Over the dims that the call names, counted from 0 on; over all but the parts'. */
static ExportTerm make_reduced(const ComplexOp *o)
{
    Call *c = o->c;
    int64_t dims[DIMS_MAX];
    int rank = o->in[0].rank, n = call_ints(c, "dim", dims, DIMS_MAX);
    for (int i = 0; i < n; i++)
        dims[i] += dims[i] < 0 ? rank : 0;
    for (int d = 0; n <= 0 && d < rank; d++)
        dims[d] = d;
    ExportTerm in[] = {complex_parts(o->in[0]), emit_ints(c->e, dims, n > 0 ? n : rank)};
    return complex_of_parts(emit(c, o->op, in, 2, o->attrs, o->n_attrs));
}

/* BOTH: all operands become complex, and the op is on their parts. MOVES: the first is complex,
 * others say what is moved where, by dims counted from 0 on. */
typedef enum { FUNCTION, BOTH, MOVES } ComplexKind;
static const struct {
    const char *op;
    ComplexKind kind;
    ExportTerm (*make)(const ComplexOp *o);
} operators[] = {
    {"Add", BOTH, NULL},
    {"Sub", BOTH, NULL},
    {"Neg", BOTH, NULL},
    {"Identity", BOTH, NULL},
    {"Concat", BOTH, NULL},
    {"Unsqueeze", MOVES, NULL},
    {"Squeeze", MOVES, NULL},
    {"Slice", MOVES, NULL},
    {"Gather", MOVES, NULL},
    {"Split", MOVES, NULL},
    {"Mul", FUNCTION, make_mul},
    {"MatMul", FUNCTION, make_matmul},
    {"Div", FUNCTION, make_div},
    {"Reciprocal", FUNCTION, make_reciprocal},
    {"Abs", FUNCTION, make_abs},
    {"Sign", FUNCTION, make_sign},
    {"Exp", FUNCTION, make_exp},
    {"Log", FUNCTION, make_log},
    {"Pow", FUNCTION, make_pow},
    {"Equal", FUNCTION, make_equal},
    {"Where", FUNCTION, make_where},
    {"Transpose", FUNCTION, make_transpose},
    {"Reshape", FUNCTION, make_sized},
    {"Expand", FUNCTION, make_sized},
    {"Shape", FUNCTION, make_shape},
    {"ReduceSum", FUNCTION, make_reduced},
    {"ReduceMean", FUNCTION, make_reduced},
};

static int operator_row(const char *op)
{
    int n = sizeof operators / sizeof *operators;
    for (int i = 0; i < n; i++)
        if (strcmp(operators[i].op, op) == 0)
            return i;
    return -1;
}

/* The op on the parts of the operands. */
static void emit_parts(const ComplexOp *o, bool all, ExportTerm *out, int n_out)
{
    ExportTerm *in = arena_array(o->c->e->scratch, ExportTerm, o->n);
    for (int i = 0; i < o->n; i++) {
        in[i] = all ? emit_cast(o->c, o->in[i], o->dtype) : o->in[i];
        in[i] = term_is_complex(in[i]) ? complex_parts(in[i]) : in[i];
    }
    emit_many(o->c, o->op, in, o->n, o->attrs, o->n_attrs, out, n_out);
    for (int i = 0; i < n_out; i++)
        out[i] = complex_of_parts(out[i]);
}

void emit_complex(Call *c, const char *op, const ExportTerm *inputs, int n, const Attr *attrs,
                  int n_attrs, ExportTerm *out, int n_out)
{
    int row = operator_row(op);
    for (int i = 0; i < n_out; i++)
        out[i] = no_term();
    if (row < 0) {
        call_fail(c, "%s of complex numbers is not known", op);
        return;
    }
    ComplexOp o = {c, op, inputs, n, attrs, n_attrs, DT_C64};
    for (int i = 0; i < n; i++)
        if (inputs[i].dtype == DT_C128)
            o.dtype = DT_C128;
    if (operators[row].make)
        out[0] = operators[row].make(&o);
    else
        emit_parts(&o, operators[row].kind == BOTH, out, n_out);
}
