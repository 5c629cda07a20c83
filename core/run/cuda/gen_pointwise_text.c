/* gen_pointwise_text.c - the CUDA text of a chain of elementwise ops. */
#include "core/run/cuda/gen_pointwise.h"

#include <ctype.h>

const char *chain_name(const Chain *chain)
{
    Buf name = buf_new(chain->build->arena);
    for (int s = 0; s < chain->n_steps && s < 4; s++)
        buf_printf(&name, "%s_", chain->step[s].row->id);
    if (chain->n_steps > 4)
        buf_printf(&name, "%d_", chain->n_steps);
    buf_puts(&name, dtype_name(chain->made[chain->n_made - 1].local->dtype));
    for (size_t i = 0; i < name.n; i++)
        name.s[i] = (char)tolower((unsigned char)name.s[i]);
    return name.s;
}

static void put_functions(const Chain *chain, Buf *text)
{
    for (int s = 0; s < chain->n_steps; s++) {
        const PointStep *step = &chain->step[s];
        const char *class = number_name(step->class);
        bool seen = false;
        for (int e = 0; e < s; e++)
            seen |= chain->step[e].row == step->row && chain->step[e].class == step->class;
        if (seen)
            continue;
        const char *names[] = {"x, T y, T z, T w", "d, T a, T b, T c"};
        buf_printf(text,
                   "#define T c_%s\nDEVICE T %s_%s(T %s, T p, T q)\n{\n    return (T)(%s);\n}\n"
                   "#undef T\n",
                   class, step->row->id, class, names[is_derivative(step->row)],
                   step->class == NUMBER_I64 ? step->row->of_ints : step->row->of_floats);
    }
}

static void put_arguments(const Chain *chain, KernelText *k)
{
    Buf *text = &k->text;
    buf_puts(text, "typedef struct {\n");
    for (int r = 0; r < chain->n_reads; r++) {
        buf_printf(text, "    const t_%s *x%d;\n", dtype_name(chain->read[r].local->dtype), r);
        ARGS_PLACES(k, chain->read[r].place);
    }
    for (int m = 0; m < chain->n_made; m++)
        if (chain->written[m]) {
            buf_printf(text, "    t_%s *y%d;\n", dtype_name(chain->made[m].local->dtype), m);
            ARGS_PLACES(k, chain->made[m].place);
        }
    buf_puts(text, "    i64 n;\n");
    ARGS_I64(k, shape_elements(&chain->frame) / chain->vector);
    for (int d = 1; d < chain->n_dims; d++) {
        buf_printf(text, "    i64 size%d;\n", d);
        ARGS_I64(k, d == chain->n_dims - 1 ? chain->size[d] / chain->vector : chain->size[d]);
    }
    for (int r = 0; r < chain->n_reads; r++)
        for (int d = 0; d < chain->n_dims; d++) {
            buf_printf(text, "    i64 s%d_%d;\n", r, d);
            ARGS_I64(k, chain->read[r].stride[d]);
        }
    for (int s = 0; s < chain->n_steps; s++)
        for (int p = 0; p < 2; p++) {
            buf_printf(text, "    double p%d_%d;\n", s, p);
            arg_f64(k, chain->step[s].param[p]);
        }
    buf_puts(text, "} Args;\n");
}

/* Loads of a thread: vectors, or one element shared by the lanes. */
static void put_loads(const Chain *chain, Buf *text, const char *index)
{
    int last = chain->n_dims - 1;
    if (last > 0)
        buf_printf(text, "        %s rest = i;\n", index);
    for (int d = last; d > 0; d--)
        buf_printf(text,
                   "        %s i%d = rest %% (%s)a.size%d;\n"
                   "        rest /= (%s)a.size%d;\n",
                   index, d, index, d, index, d);
    buf_printf(text, "        %s i0 = %s;\n", index, last > 0 ? "rest" : "i");
    for (int r = 0; r < chain->n_reads; r++) {
        const PointRead *read = &chain->read[r];
        const char *type = dtype_name(read->local->dtype);
        buf_printf(text, "        const t_%s *at%d = a.x%d", type, r, r);
        for (int d = 0; d < chain->n_dims; d++)
            if (read->stride[d] != 0)
                buf_printf(text, " + i%d * (%s)(%sa.s%d_%d)", d, index, d == last ? "V * " : "", r,
                           d);
        buf_puts(text, ";\n");
        if (read->stride[last] == 1)
            buf_printf(text, "        V_%s x%d = *(const V_%s *)at%d;\n", type, r, type, r);
    }
}

static void put_param(Buf *text, Number class, int step, int param)
{
    buf_printf(text, "(c_%s)%s(a.p%d_%d)", number_name(class),
               class == NUMBER_I64 ? "int_of_double" : "", step, param);
}

static void put_element(const Chain *chain, Buf *text, From from, const PointStep *step, int param)
{
    const char *class = number_name(step->class);
    int last = chain->n_dims - 1;
    if (from.kind == NO_VALUE) {
        put_param(text, step->class, (int)(step - chain->step), param);
    } else if (from.kind == OF_READ) {
        const PointRead *read = &chain->read[from.at];
        const char *type = dtype_name(read->local->dtype);
        if (read->stride[last] == 1)
            buf_printf(text, "load_%s_%s(x%d.e[k])", type, class, from.at);
        else if (read->stride[last] == 0)
            buf_printf(text, "load_%s_%s(*at%d)", type, class, from.at);
        else
            buf_printf(text, "load_%s_%s(at%d[k * a.s%d_%d])", type, class, from.at, from.at, last);
    } else {
        const PointStep *made = &chain->step[from.at];
        bool kept = made->class == step->class &&
                    (dtype_is_float(made->dtype) || dtype_is_number(made->dtype));
        if (kept && strcmp(made->row->id, "CAST") != 0)
            buf_printf(text, "v%d", from.at);
        else
            buf_printf(text, "load_%s_%s(store_%s_%s(v%d))", dtype_name(made->dtype), class,
                       dtype_name(made->dtype), number_name(made->class), from.at);
    }
}

static void put_steps(const Chain *chain, Buf *text)
{
    for (int s = 0; s < chain->n_steps; s++) {
        const PointStep *step = &chain->step[s];
        const char *class = number_name(step->class);
        buf_printf(text, "            c_%s v%d = %s_%s(", class, s, step->row->id, class);
        int first = is_derivative(step->row) ? 2 : 1; /* the operand that p stands in for */
        for (int k = 0; k < OPERANDS; k++) {
            if (step->from[k].kind == NO_VALUE && (step->row->n_inputs <= k || k < first))
                buf_printf(text, "0");
            else
                put_element(chain, text, step->from[k], step, k - first);
            buf_puts(text, ", ");
        }
        put_param(text, step->class, s, 0);
        buf_puts(text, ", ");
        put_param(text, step->class, s, 1);
        buf_puts(text, ");\n");
    }
    for (int m = 0; m < chain->n_made; m++)
        if (chain->written[m])
            buf_printf(text, "            y%d.e[k] = store_%s_%s(v%d);\n", m,
                       dtype_name(chain->made[m].local->dtype),
                       number_name(chain->step[chain->made[m].step].class), chain->made[m].step);
}

void put_vector_type(Buf *text, Dtype dtype, int vector)
{
    int bytes = vector * (int)element_bytes(dtype);
    const char *name = dtype_name(dtype);
    if (element_bytes(dtype) < 4 && bytes >= 4)
        buf_printf(text, "typedef union ALIGNED(%d) {\n    u32 w[%d];\n", bytes, bytes / 4);
    else
        buf_printf(text, "typedef struct ALIGNED(%d) {\n", bytes);
    buf_printf(text, "    t_%s e[V];\n} V_%s;\n", name, name);
}

static void put_vector_types(const Chain *chain, Buf *text)
{
    uint64_t seen = 0;
    for (int i = 0; i < chain->n_reads + chain->n_made; i++) {
        Dtype dtype = i < chain->n_reads ? chain->read[i].local->dtype
                                         : chain->made[i - chain->n_reads].local->dtype;
        if (seen >> dtype & 1)
            continue;
        seen |= UINT64_C(1) << dtype;
        put_vector_type(text, dtype, chain->vector);
    }
}

void put_chain(const Chain *chain, KernelText *k)
{
    Buf *text = &k->text;
    int64_t most = shape_elements(&chain->frame);
    for (int r = 0; r < chain->n_reads; r++) {
        int64_t n = shape_elements(&chain->read[r].local->shape);
        most = n > most ? n : most;
    }
    const char *index = index_type(most);
    buf_printf(text, "enum { V = %d };\n", chain->vector);
    put_vector_types(chain, text);
    bool differentiates = false;
    const char *special = "";
    for (int s = 0; s < chain->n_steps; s++) {
        const PointRow *row = chain->step[s].row;
        differentiates |= is_derivative(row);
        special = *special ? special : special_functions(row->of_floats);
    }
    buf_puts(text, special);
    if (differentiates)
        buf_puts(text, derivative_functions);
    put_functions(chain, text);
    put_arguments(chain, k);
    buf_printf(text,
               "KERNEL(%d, NAME, Args)\n{\n"
               "    %s step = gridDim.x * (%s)%d;\n"
               "    for (%s i = blockIdx.x * (%s)%d + threadIdx.x; i < (%s)a.n; i += step) {\n",
               DEVICE_THREADS, index, index, DEVICE_THREADS, index, index, DEVICE_THREADS, index);
    put_loads(chain, text, index);
    for (int m = 0; m < chain->n_made; m++)
        if (chain->written[m])
            buf_printf(text, "        V_%s y%d;\n", dtype_name(chain->made[m].local->dtype), m);
    buf_puts(text, "        UNROLL\n        for (int k = 0; k < V; k++) {\n");
    put_steps(chain, text);
    buf_puts(text, "        }\n");
    for (int m = 0; m < chain->n_made; m++)
        if (chain->written[m])
            buf_printf(text, "        *(V_%s *)(a.y%d + i * V) = y%d;\n",
                       dtype_name(chain->made[m].local->dtype), m, m);
    buf_puts(text, "    }\n}\n");
}
