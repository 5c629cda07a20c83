/* Gradients where several elements tie, and of empty, duplicate and singular operands: what torch
 * gives there. A row is a request of `eval grad` and its gradients. */
#include "tests/unit/unit.h"

#include "core/base/json.h"
#include "core/prove/gradient_eval.h"

typedef struct {
    const char *name, *op, *attrs, *inputs, *cotangents, *gradients;
} Kink;

#define T(shape, data) "{\"shape\":[" shape "],\"dtype\":\"f64\",\"data\":[" data "]}"
#define I(shape, data) "{\"shape\":[" shape "],\"dtype\":\"i64\",\"data\":[" data "]}"
#define B(shape, data) "{\"shape\":[" shape "],\"dtype\":\"bf16\",\"data\":[" data "]}"

static Kink rows[] = {
    {"MaxPool takes the first of equal elements", "MaxPool", "\"kernel_shape\":[2]",
     T("1,1,4", "1,1,1,0"), T("1,1,3", "1,10,100"), "1 10 100 0"},
    {"GlobalMaxPool takes the first of equal elements", "GlobalMaxPool", "", T("1,1,3", "2,2,1"),
     T("1,1,1", "7"), "7 0 0"},
    {"TopK takes the first of equal elements", "TopK", "", T("4", "1,2,2,2") "," I("1", "2"),
     T("2", "1,10") ",null", "0 1 10 0;"},
    {"equal largest updates and data share", "ScatterElements", "\"reduction\":\"max\"",
     T("3", "1,5,2") "," I("3", "0,0,1") "," T("3", "1,1,4"), T("3", "3,10,100"),
     "1 10 100; ; 1 1 0"},
    {"a product with a zero", "ScatterElements", "\"reduction\":\"mul\"",
     T("2", "0,5") "," I("3", "0,0,1") "," T("3", "2,3,0"), T("2", "1,10"), "6 0; ; 0 0 50"},
    {"a product with two zeros", "ScatterElements", "\"reduction\":\"mul\"",
     T("1", "0") "," I("2", "0,0") "," T("2", "0,3"), T("1", "1"), "0; ; 0 0"},
    {"the last of several updates", "ScatterElements", "",
     T("2", "0,5") "," I("3", "0,-2,1") "," T("3", "2,3,0"), T("2", "1,10"), "0 0; ; 0 1 10"},
    {"rows read several times are added", "Gather", "",
     B("3,2", "1,2,2,4,5,6") "," I("3", "0,0,-1"), T("3,2", "1,2,3,4,5,6"), "4 6 0 0 5 6;"},
    {"no rows are read", "Gather", "", T("2,1", "1,2") "," I("0", ""), T("0,1", ""), "0 0;"},
    {"no images", "Conv", "", T("0,1,3", "") "," T("1,1,2", "1,2") "," T("1", "1"), T("0,1,2", ""),
     "; 0 0; 0"},
    {"convolutions of bf16 in groups", "Conv", "\"group\":2",
     B("1,2,3", "1,2,3,4,5,6") "," B("2,1,2", "1,2,3,4") "," B("2", "1,2"), T("1,2,2", "1,2,3,4"),
     "1 4 4 9 24 16; 5 8 32 39; 3 7"},
    {"the fill of a pad", "Pad", "", T("2", "1,2") "," I("2", "1,2") "," T("", "5"),
     T("5", "1,10,100,1000,10000"), "10 100; ; 11001"},
    {"the determinant of a singular matrix", "Det", "", T("2,2", "1,2,2,4"), T("", "1"),
     "4 -2 -2 1"},
};

static void put_numbers(const Json *tensor, Buf *out)
{
    const Json *data = json_get(tensor, "data");
    for (int i = 0; i < json_size(data); i++)
        buf_printf(out, i ? " %g" : "%g", json_real(json_at(data, i), 0));
}

static void test_kink(void **state)
{
    const Kink *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    Buf text = buf_new(arena);
    buf_printf(&text,
               "{\"op\":\"%s\",\"opset\":18,\"attrs\":{%s},\"inputs\":[%s],\"cotangents\":[%s]}",
               row->op, row->attrs, row->inputs, row->cotangents);
    const Source source = {.name = "request", .text = buf_str(&text)};
    Json *request = json_parse(&source, &err), *answer = json_object();
    if (!request || !eval_grad("grad", arena, request, answer, &err))
        fail_msg("%s", err.text);
    Buf got = buf_new(arena);
    const Json *grads = json_get(answer, "grads");
    for (int i = 0; i < json_size(grads); i++) {
        if (i > 0)
            buf_puts(&got,
                     i + 1 < json_size(grads) || !json_is_null(json_at(grads, i)) ? "; " : ";");
        put_numbers(json_at(grads, i), &got);
    }
    assert_string_equal(got.s ? got.s : "", row->gradients);
    json_free(request);
    json_free(answer);
    arena_free(arena);
}

int main(void)
{
    enum { N = sizeof rows / sizeof *rows };
    static struct CMUnitTest tests[N];
    for (int i = 0; i < N; i++)
        tests[i] = (struct CMUnitTest){rows[i].name, test_kink, NULL, NULL, &rows[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
