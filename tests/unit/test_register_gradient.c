/* Gradients of registered operators: what is derived, given as clauses, as a function that builds
 * ops, as a kernel. Each is compared with differences and run under every sharding; wrong ones are
 * found. */
#include "tests/unit/opened_op.h"

#include "core/prove/gradient_check.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const char *title, *operands, *attrs, *script;
    const char *want; /* NULL: proven; else a part of what is wrong, or of the error */
} GradientRow;

#define PRODUCT                                                                                    \
    "function(i) local a, b, y = i[1], i[2], {}\n"                                                 \
    "for m = 0, a.shape[1] - 1 do for n = 0, b.shape[2] - 1 do local s = 0\n"                      \
    "for k = 0, a.shape[2] - 1 do s = s + a:get(m, k) * b:get(k, n) end\n"                         \
    "y[#y + 1] = s end end return y end"
#define EACH(expression)                                                                           \
    "function(i) local y = {}\n"                                                                   \
    "for r = 0, i[1].shape[1] - 1 do for c = 0, i[1].shape[2] - 1 do\n"                            \
    "local x, z = i[1]:get(r, c), i[2] and i[2]:get(r, c)\n"                                       \
    "y[#y + 1] = " expression " end end return y end"
#define MATMUL "register_op('m k+, k+ n -> m n', {name = 'my::op', kernel = "
#define UNARY "register_op('a b -> a b', {name = 'my::op', kernel = " EACH("x ^ 3") ", gradient = "
#define BINARY                                                                                     \
    "register_op('a b, a b -> a b', {name = 'my::op', kernel = " EACH("x * z") ", gradient = "

static GradientRow rows[] = {
    {"of the operator whose kernel runs it", "4x6:f64,6x5:f64", NULL, MATMUL "'MatMul'})", NULL},
    {"with an attribute of that operator", "4x6:f64,6x5:f64", "alpha=0.5", MATMUL "'Gemm'})", NULL},
    {"element by element", "4x6:f64", NULL,
     "register_op('a b -> a b', {name = 'my::op', kernel = 'Tanh'})", NULL},
    {"of a product with sums over all inputs", "4x6:f64,6x5:f64", NULL, MATMUL PRODUCT "})", NULL},
    {"of what is no product", "4x6:f64,6x5:f64", NULL,
     "register_op('m k+, k+ n -> m n', {name = 'my::op', kernel = function(i)\n"
     "local a, b, y = i[1], i[2], {}\n"
     "for m = 0, a.shape[1] - 1 do for n = 0, b.shape[2] - 1 do local s = 0\n"
     "for k = 0, a.shape[2] - 1 do s = s + (a:get(m, k) - b:get(k, n)) ^ 2 end\n"
     "y[#y + 1] = s end end return y end})",
     "by differences"},
    {"clauses", "4x6:f64,4x6:f64", NULL, BINARY "'0: contract(x1); 1: contract(x0)'})", NULL},
    {"wrong clauses", "4x6:f64,4x6:f64", NULL, BINARY "'0: contract(x1); 1: contract(x1)'})",
     "by differences"},
    {"a function", "4x6:f64", NULL,
     UNARY "function(m, x, y, dy)\n"
           "return m:op('Mul', {dy[1], m:op('Mul', {3, m:op('Mul', {x[1], x[1]})})}) end})",
     NULL},
    {"a function that reads the output", "4x6:f64", NULL,
     UNARY "function(m, x, y, dy)\n"
           "return m:op('Mul', {dy[1], m:op('Div', {m:op('Mul', {3, y[1]}), x[1]})}) end})",
     NULL},
    {"a wrong function", "4x6:f64", NULL, UNARY "function(m, x, y, dy) return dy[1] end})",
     "by differences"},
    {"a function that sums over rows", "4x6:f64,6:f64", NULL,
     "register_op('a b, b -> a b', {name = 'my::op', kernel = 'Mul', gradient =\n"
     "function(m, x, y, dy) return m:op('Mul', {dy[1], x[2]}),\n"
     "m:op('ReduceSum', {m:op('Mul', {dy[1], x[1]})}, {axes = {0}, keepdims = 0}) end})",
     NULL},
    {"a function with a constant list", "4x6:f64", NULL,
     "register_op('a b -> (a b)', {name = 'my::op', kernel = 'Reshape', gradient =\n"
     "function(m, x, y, dy) return m:op('Reshape', {dy[1], {4, 6}}) end})",
     NULL},
    {"of another shape", "4x6:f64", NULL,
     UNARY "function(m, x, y, dy) return m:op('Transpose', {dy[1]}, {perm = {1, 0}}) end})",
     "what it returns for input 0 is 6,4 f64, and the input is 4,6 f64"},
    {"of a number", "4x6:f64", NULL, UNARY "function() return 3 end})",
     "a gradient must be a value, not number"},
    {"more than inputs", "4x6:f64", NULL, UNARY "function(m, x, y, dy) return dy[1], dy[1] end})",
     "it returns 2 gradients of 1 inputs"},
    {"an error in it", "4x6:f64", NULL, UNARY "function() error('no way') end})", "no way"},
    {"a kernel", "4x6:f64", NULL, UNARY "{'0: kernel(x0)', kernel = " EACH("3 * x * z ^ 2") "}})",
     NULL},
    {"a wrong kernel", "4x6:f64", NULL, UNARY "{'0: kernel(x0)', kernel = " EACH("x * z") "}})",
     "by differences"},
    {"of a template that is a product", "4x6:f64,6x5:f64", NULL,
     "template 'my::op' {inputs = {{'x', shape = '[$m, $k]', ipf = '[@m, @k]'},\n"
     "{'w', shape = '[$k, $n]', ipf = '[@k, @n]'}}, index = '[$m, $n]',\n"
     "outputs = {{'y', shape = '[$m, $n]', ipf = '[@m, @n]'}}, reduce = {sum = '[$k]'}, kernel = "
     "'MatMul'}",
     NULL},
};

/* want: as in GradientRow. Closes the session. */
static void must_prove(Opened *opened, const char *want)
{
    must_open(opened);
    GradientProof proof;
    Error err = {0};
    const Session *session = opened->session;
    bool ran = gradient_check(opened->arena, session->graph, session->rules.registry, 1, NULL,
                              &proof, &err);
    const char *wrong = !ran ? err.text : proof.proof.ok ? NULL : proof.proof.text;
    if (!wrong != !want || (wrong && !strstr(wrong, want)))
        fail_msg("%s", wrong ? wrong : "it is proven");
    assert_true(wrong || proof.n_elements > 0);
    close_op(opened);
}

static void test_gradient(void **state)
{
    const GradientRow *row = *state;
    Opened opened = open_op(row->operands, row->attrs, "tp=2", row->script);
    must_prove(&opened, row->want);
}

/* ---- in C ---- */

static Opened open_native(const char *library, const char *symbol, bool allowed)
{
    char script[600];
    snprintf(script, sizeof script,
             "register_op('a b -> a b', {name = 'my::op', kernel = " EACH(
                 "x ^ 3") ",\n"
                          "gradient = {'0: kernel(x0)', kernel = {plugin = '%s', symbol = '%s'}}})",
             library, symbol);
    return open_allowing("4x6:f64", NULL, "tp=2", script, allowed);
}

static void gradient_kernels_in_c_are_proven(void **state)
{
    static const struct {
        const char *symbol, *want;
        bool allowed;
    } kernels[] = {
        {"cube_gradient", NULL, true},
        {"wrong_gradient", "by differences", true},
        {"cube_gradient", "its kernel is native code in '", false},
    };
    char library[64], command[200];
    (void)state;
    snprintf(library, sizeof library, "/tmp/test_register_gradient_%d.so", (int)getpid());
    snprintf(command, sizeof command, "cc -shared -fPIC -I core/run -o %s tests/native/cube.c",
             library);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < COUNT_OF(kernels); i++) {
        Opened opened = open_native(library, kernels[i].symbol, kernels[i].allowed);
        must_prove(&opened, kernels[i].want);
    }
    Opened missing = open_native(library, "nothing", true);
    assert_null(missing.session);
    assert_non_null(strstr(missing.err.text, "has no function 'nothing'"));
    close_op(&missing);
    unlink(library);
}

int main(void)
{
    enum { N = sizeof rows / sizeof *rows };
    struct CMUnitTest tests[N + 1] = {[N] = cmocka_unit_test(gradient_kernels_in_c_are_proven)};
    for (int i = 0; i < N; i++)
        tests[i] = (struct CMUnitTest){rows[i].title, test_gradient, NULL, NULL, &rows[i]};
    return _cmocka_run_group_tests("gradients of registered operators", tests, N + 1, NULL, NULL);
}
