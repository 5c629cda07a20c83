/* rows_make.c - torch's operators that make a tensor of numbers. */
#include "core/peers/torch_export/shapes.h"

/* The type is that of the file: torch takes it from its arguments, or its default. */
static void fill(Call *c, ExportTerm value)
{
    Terms sizes = {0};
    call_terms(c, "size", &sizes);
    ExportTerm out = emit_filled(c, emit_sizes(c, &sizes), value, call_result_dtype(c), sizes.n);
    call_results(c, &out, 1);
}

static void make_full(Call *c)
{
    ExportTerm value = call_term(c, "fill_value");
    if (value.kind == TERM_NUMBER) {
        fill(c, value);
        return;
    }
    Terms sizes = {0};
    call_terms(c, "size", &sizes);
    value = emit_as_scalar(c, value, call_result_dtype(c));
    ExportTerm out = expand(c, value, emit_sizes(c, &sizes), sizes.n);
    call_results(c, &out, 1);
}

/* What torch leaves as it is found is zero here. */
static void make_zeros(Call *c)
{
    fill(c, term_int(0));
}

static void make_ones(Call *c)
{
    fill(c, term_int(1));
}

static void fill_like(Call *c, ExportTerm value)
{
    ExportTerm x = call_tensor(c, "self");
    Dtype dtype = call_result_dtype(c);
    ExportTerm shape = emit1(c, "Shape", x);
    ExportTerm out = value.kind == TERM_TENSOR
                         ? expand(c, emit_cast(c, value, dtype), shape, x.rank)
                         : emit_filled(c, shape, value, dtype, x.rank);
    call_results(c, &out, 1);
}

static void make_full_like(Call *c)
{
    fill_like(c, call_term(c, call_given(c, "fill_value") ? "fill_value" : "value"));
}

static void make_zeros_like(Call *c)
{
    fill_like(c, term_int(0));
}

static void make_ones_like(Call *c)
{
    fill_like(c, term_int(1));
}

static void make_scalar_tensor(Call *c)
{
    ExportTerm value = call_term(c, "s");
    ExportTerm out = emit_as_scalar(c, value, call_result_dtype(c));
    call_results(c, &out, 1);
}

static void make_arange(Call *c)
{
    ExportTerm start = call_term(c, "start"), step = call_term(c, "step");
    ExportTerm out = range(c, term_is(start) ? start : term_int(0), call_term(c, "end"),
                           term_is(step) ? step : term_int(1), call_result_dtype(c));
    call_results(c, &out, 1);
}

/* start + i * (end - start) / (steps - 1) */
static void make_linspace(Call *c)
{
    Dtype dtype = call_result_dtype(c);
    int64_t steps = call_int(c, "steps");
    double start = call_float(c, "start"), end = call_float(c, "end");
    double step = steps > 1 ? (end - start) / (double)(steps - 1) : 0;
    ExportTerm line = range(c, term_int(0), term_int(steps), term_int(1), dtype);
    ExportTerm out = emit2(c, "Add", emit2(c, "Mul", line, term_number(step)), term_number(start));
    call_results(c, &out, 1);
}

/* A base to the powers of a line. */
static void make_logspace(Call *c)
{
    Dtype dtype = call_result_dtype(c), real = dtype_is_float(dtype) ? dtype : DT_F32;
    int64_t steps = call_int(c, "steps");
    double start = call_float(c, "start"), end = call_float(c, "end");
    double step = steps > 1 ? (end - start) / (double)(steps - 1) : 0;
    ExportTerm line = range(c, term_int(0), term_int(steps), term_int(1), real);
    ExportTerm power =
        emit2(c, "Add", emit2(c, "Mul", line, term_number(step)), term_number(start));
    ExportTerm out = emit2(c, "Pow", emit_constant(c, call_term(c, "base"), real), power);
    call_results(c, &out, 1);
}

static void make_eye(Call *c)
{
    Terms sizes = {0};
    Attr attr = attr_int(c->e, "dtype", dtype_to_onnx(call_result_dtype(c)));
    ExportTerm n = call_term(c, "n"), m = call_term(c, "m");
    add_size(c, &sizes, n);
    add_size(c, &sizes, term_is(m) ? m : n);
    ExportTerm shape = emit_filled(c, emit_sizes(c, &sizes), term_int(0), call_result_dtype(c), 2);
    ExportTerm out = emit(c, "EyeLike", &shape, 1, &attr, 1);
    call_results(c, &out, 1);
}

const TorchRow rows_make[] = {
    {"full", "size fill_value dtype=", NULL, make_full},
    {"zeros empty empty_strided", "size dtype=", NULL, make_zeros},
    {"empty_permuted", "size physical_layout dtype=", NULL, make_zeros},
    {"ones", "size dtype=", NULL, make_ones},
    {"new_full", "self size fill_value dtype=", NULL, make_full},
    {"new_zeros new_empty new_empty_strided", "self size dtype=", NULL, make_zeros},
    {"new_ones", "self size dtype=", NULL, make_ones},
    {"full_like", "self fill_value dtype=", NULL, make_full_like},
    {"fill", "self value", NULL, make_full_like},
    {"zeros_like empty_like", "self dtype=", NULL, make_zeros_like},
    {"zero", "self", NULL, make_zeros_like},
    {"ones_like", "self dtype=", NULL, make_ones_like},
    {"scalar_tensor", "s dtype=", NULL, make_scalar_tensor},
    {"arange.start_step", "start end step=1 dtype=", NULL, make_arange},
    {"arange.start", "start end dtype=", NULL, make_arange},
    {"arange", "end dtype=", NULL, make_arange},
    {"linspace", "start end steps dtype=", NULL, make_linspace},
    {"logspace", "start end steps base=10 dtype=", NULL, make_logspace},
    {"eye.m", "n m dtype=", NULL, make_eye},
    {"eye", "n dtype=", NULL, make_eye},
    {0},
};
