/* The parser of MLIR text: values and their types, errors with their places, and modules of jax
 * whose values are known from jaxlib's own parser (tests/stablehlo/NAME.values.tsv). */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/peers/stablehlo/eval.h"
#include "core/peers/stablehlo/tree.h"

typedef struct {
    const char *name, *text;
    const char *want; /* "DEPTH NAME OP TYPE; ..", or the error line */
} Row;

#define MAIN(body) "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n" body "\n}\n"

static Row rows[] = {
    {"add", MAIN("%0 = stablehlo.add %x, %x : tensor<2xf32>\nreturn %0 : tensor<2xf32>"),
     "0 %x arg tensor<2xf32>; 0 %0 stablehlo.add tensor<2xf32>"},
    {"generic",
     MAIN("%0 = \"stablehlo.tanh\"(%x) {a = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>\n"
          "\"func.return\"(%0) : (tensor<2xf32>) -> ()"),
     "0 %x arg tensor<2xf32>; 0 %0 stablehlo.tanh tensor<2xf32>"},
    {"pack",
     MAIN("%0:2 = \"a.b\"(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<i1>)\n"
          "return %0#0 : tensor<2xf32>"),
     "0 %x arg tensor<2xf32>; 0 %0#0 a.b tensor<2xf32>; 0 %0#1 a.b tensor<i1>"},
    {"names of a region end with it",
     MAIN(
         "%0 = \"a.b\"(%x) ({\n^bb0(%y: tensor<f32>):\n  %1 = a.c %y : tensor<f32>\n  a.return\n}) "
         ": (tensor<2xf32>) -> tensor<2xf32>\n%1 = a.d %0 : tensor<2xf32>\nreturn %1 : "
         "tensor<2xf32>"),
     "0 %x arg tensor<2xf32>; 0 %0 a.b tensor<2xf32>; 1 %y arg tensor<f32>; 1 %1 a.c tensor<f32>; "
     "0 %1 a.d tensor<2xf32>"},
    {"an op of an unknown dialect is passed over",
     MAIN(
         "%0 = odd.op<4> %x [1:2] with {a = #odd<\"}\">, b} -> 3 x = [[1], \"]\"] : tensor<2xf32>\n"
         "return %0 : tensor<2xf32>"),
     "0 %x arg tensor<2xf32>; 0 %0 odd.op tensor<2xf32>"},
    {"brackets in texts count for nothing",
     MAIN("%0 = odd.op %x {a = \"}>])\", b = dense<[1, 2]> : tensor<2xi32>} : tensor<2xf32>\n"
          "return %0 : tensor<2xf32>"),
     "0 %x arg tensor<2xf32>; 0 %0 odd.op tensor<2xf32>"},
    {"a reducer that the text leaves out",
     MAIN("%c = stablehlo.constant dense<0.0> : tensor<f32>\n%0 = stablehlo.reduce(%x init: %c) "
          "applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> "
          "tensor<f32>\nreturn %x : tensor<2xf32>"),
     "0 %x arg tensor<2xf32>; 0 %c stablehlo.constant tensor<f32>; 0 %0 stablehlo.reduce "
     "tensor<f32>; 1 %arg0 arg tensor<f32>; 1 %arg1 arg tensor<f32>; 1 %1 stablehlo.add "
     "tensor<f32>"},
    {"while",
     MAIN("%0:2 = stablehlo.while(%i = %x, %j = %x) : tensor<2xf32>, tensor<2xf32>\ncond {\n  %1 = "
          "a.c %i : tensor<i1>\n  stablehlo.return %1 : tensor<i1>\n} do {\n  stablehlo.return %i, "
          "%j : tensor<2xf32>, tensor<2xf32>\n}\nreturn %0#1 : tensor<2xf32>"),
     "0 %x arg tensor<2xf32>; 0 %0#0 stablehlo.while tensor<2xf32>; 0 %0#1 stablehlo.while "
     "tensor<2xf32>; 1 %i arg tensor<2xf32>; 1 %j arg tensor<2xf32>; 1 %1 a.c tensor<i1>; 1 %i arg "
     "tensor<2xf32>; 1 %j arg tensor<2xf32>"},
    {"aliases stand behind the module too",
     "module @m {\n" MAIN("return %x : tensor<2xf32> loc(#loc1)") "} loc(#loc)\n#loc = "
                                                                  "loc(unknown)\n#loc1 = "
                                                                  "loc(\"a\"(#loc))\n",
     "0 %x arg tensor<2xf32>"},
    {"unknown size", MAIN("%0 = a.b %x : tensor<?x4xbf16>\nreturn %x : tensor<2xf32>"),
     "0 %x arg tensor<2xf32>; 0 %0 a.b tensor<?x4xbf16>"},
    /* errors */
    {"not defined", MAIN("return %y : tensor<2xf32>"),
     "m:2:8: error: '%y' is not defined before it is used"},
    {"no such result", MAIN("return %x#1 : tensor<2xf32>"), "m:2:8: error: '%x' has no result 1"},
    {"truncated", "module @m {\n  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n",
     "m:2:55: error: this region is not closed"},
    {"truncated type", "func.func @main(%x: tensor<2x",
     "m:1:27: error: this bracket is not closed"},
    {"truncated text", MAIN("%0 = a.b %x {c = \"d} : tensor<2xf32>"),
     "m:2:18: error: this text does not end"},
    {"a bracket too many", MAIN("return %x : tensor<2xf32>") "}",
     "m:4:1: error: this bracket closes nothing"},
    {"results without types", MAIN("%0:2 = \"a.b\"(%x) : (tensor<2xf32>) -> tensor<2xf32>"),
     "m:2:8: error: this op has 2 results and the types of 1"},
    {"a size that is too large", "func.func @main(%x: tensor<99999999999999999999xf32>)",
     "m:1:28: error: a size of this type is too large"},
    {"too many dims", "func.func @main(%x: tensor<1x1x1x1x1x1x1x1x1x1x1xf32>)",
     "m:1:28: error: this type has more than 10 dims"},
    {"two functions of one name",
     MAIN("return %x : tensor<2xf32>") MAIN("return %x : tensor<2xf32>"),
     "m:4:12: error: there are two functions '@main'"},
    {"several blocks", MAIN("cf.br ^bb1\n^bb1:\nreturn %x : tensor<2xf32>"),
     "m:2:7: error: '^' is not expected here"},
    {"a NUL", "module @m {}\n", ""},
};

static void put_values(const Json *answer, Buf *out)
{
    const Json *values = json_get(answer, "values");
    for (int i = 0; i < json_size(values); i++) {
        const Json *row = json_at(values, i);
        buf_printf(out, "%s%d", i ? "; " : "", (int)json_int(json_at(row, 1), -1));
        for (int k = 2; k < 5; k++) {
            Str text = json_str(json_at(row, k), "");
            buf_printf(out, " %.*s", STR_ARG(text));
        }
    }
}

static void the_text_has_these_values(void **state)
{
    const Row *row = *state;
    Arena *arena = arena_new();
    Json *request = json_object(), *answer = json_object();
    Error err = {0};
    Buf got = buf_new(arena);
    json_set_str(request, "text", row->text);
    if (eval_mlir_values("mlir.values", arena, request, answer, &err))
        put_values(answer, &got);
    else
        buf_printf(&got, "m:%d:%d: error: %s", err.line, err.column, err.text);
    assert_string_equal(got.s, row->want);
    json_free(request);
    json_free(answer);
    arena_free(arena);
}

/* ---- modules of jax ---- */

static Row modules[] = {
    {"jax_mlp", "", ""},       {"jax_cond", "", ""},          {"jax_const", "", ""},
    {"jax_ops", "", ""},       {"jax_mlp_dynamic", "", ""},   {"jax_embed_xent", "", ""},
    {"jax_moe", "", ""},       {"jax_conv", "", ""},          {"jax_scan", "", ""},
    {"hand_sdy", "", ""},      {"jax_sdy_shard_map", "", ""}, {"jax_sdy_mlp", "", ""},
    {"jax_gspmd_mlp", "", ""},
};

/* Row i as a line of the table. */
static const char *line_of(Arena *arena, const Json *values, int i)
{
    Buf out = buf_new(arena);
    for (int k = 0; k < 5; k++) {
        const Json *cell = json_at(json_at(values, i), k);
        Str text = k == 1 ? str_from(arena_printf(arena, "%d", (int)json_int(cell, -1)))
                          : json_str(cell, "");
        buf_printf(&out, "%s%.*s", k ? "\t" : "", STR_ARG(text));
    }
    return out.s;
}

static void every_value_is_that_of_jaxlib(void **state)
{
    const Row *row = *state;
    Arena *arena = arena_new();
    Json *request = json_object(), *answer = json_object();
    Error err = {0};
    Source table;
    const char *stem = arena_printf(arena, "tests/stablehlo/%s", row->name);
    json_set_str(request, "file", arena_printf(arena, "%s.stablehlo.mlir", stem));
    assert_true(
        file_read(arena, arena_printf(arena, "%s.values.tsv", stem), 1 << 20, &table, &err));
    assert_true(eval_mlir_values("mlir.values", arena, request, answer, &err));
    const Json *values = json_get(answer, "values");
    str_take(&table.text, '\n');
    for (int i = 0; i < json_size(values); i++) {
        Str line = str_take(&table.text, '\n');
        assert_string_equal(line_of(arena, values, i), arena_str(arena, line));
    }
    assert_int_equal(table.text.n, 0);
    assert_true(json_size(values) > 0);
    json_free(request);
    json_free(answer);
    arena_free(arena);
}

/* ---- long constants ---- */

enum { CONSTANT_BYTES = 20 << 20 };

/* A module that ends within a constant of so many bytes; the error of reading it. */
static Error read_constant(Arena *arena, Progress *progress)
{
    static const char head[] = "func.func @main() {\n%0 = stablehlo.constant dense<\"0x";
    size_t n = sizeof head - 1;
    char *text = arena_alloc(arena, n + CONSTANT_BYTES);
    memcpy(text, head, n);
    memset(text + n, '3', CONSTANT_BYTES);
    Source source = {"m", {text, n + CONSTANT_BYTES}};
    Error err = {0};
    assert_null(mlir_parse(arena, &source, progress, &err));
    return err;
}

static void a_long_constant_is_progress(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Progress progress = {.stage = NULL};
    Error err = read_constant(arena, &progress);
    assert_string_equal(err.text, "this bracket is not closed");
    assert_int_equal(err.line, 2);
    assert_true(atomic_load(&progress.done) > CONSTANT_BYTES / 2);
    arena_free(arena);
}

static void a_stop_is_heard_within_a_long_constant(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Progress progress = {.stage = NULL};
    progress_stop(&progress);
    Error err = read_constant(arena, &progress);
    assert_int_equal(err.kind, ERROR_CANCELLED);
    assert_true(atomic_load(&progress.done) < CONSTANT_BYTES / 2);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_constant_is_progress),
        cmocka_unit_test(a_stop_is_heard_within_a_long_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("text", rows, the_text_has_these_values) +
           run_rows("module", modules, every_value_is_that_of_jaxlib);
}
