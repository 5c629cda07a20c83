/* Gradients through branches and loops, worked out by hand. A row is a request of `eval
 * grad.graph`: inputs a, b (of two elements), the nodes that make y, and the gradients of a and b
 * for the cotangent 1, 10 of y. */
#include "tests/unit/unit.h"

#include "core/base/json.h"
#include "core/prove/gradient_eval.h"

typedef struct {
    const char *name, *a, *b, *nodes, *want;
} Row;

#define NODE(op, inputs, outputs, attrs)                                                           \
    "{\"op\":\"" op "\",\"inputs\":[" inputs "],\"outputs\":[" outputs "],\"attrs\":{" attrs "}}"
#define BODY(inputs, nodes, outputs)                                                               \
    "{\"inputs\":[" inputs "],\"nodes\":[" nodes "],\"outputs\":[" outputs "]}"
#define IF(condition, then, other)                                                                 \
    NODE("If", condition, "\"y\"", "\"then_branch\":" then ",\"else_branch\":" other)
/* c: whether the sum of a is greater than the constant zero */
#define CONDITION                                                                                  \
    NODE("ReduceSum", "\"a\"", "\"s\"", "\"keepdims\":0")                                          \
    "," NODE("Greater", "\"s\",\"zero\"", "\"c\"", "")
#define A_TIMES_B BODY("", NODE("Mul", "\"a\",\"b\"", "\"t\"", ""), "\"t\"")
#define ROOT_OF_A BODY("", NODE("Sqrt", "\"a\"", "\"t\"", ""), "\"t\"")
#define SQUARE BODY("", NODE("Mul", "\"b\",\"b\"", "\"t\"", ""), "\"t\"")
/* A branch whose result is a tensor from outside of it. */
#define SAME BODY("", "", "\"b\"")
#define INNER                                                                                      \
    BODY("",                                                                                       \
         NODE("Mul", "\"a\",\"a\"", "\"u\"",                                                       \
              "") "," IF("\"c\"", A_TIMES_B, SQUARE) "," NODE("Add", "\"u\",\"y\"", "\"v\"", ""),  \
         "\"v\"")
/* h -> h b, as often as `trips` says */
#define LOOP(trips, body) NODE("Loop", "\"" trips "\",\"true\",\"a\"", "\"y\"", "\"body\":" body)
#define BY_B                                                                                       \
    BODY("\"i\",\"go\",\"h\"",                                                                     \
         NODE("Mul", "\"h\",\"b\"", "\"h2\"", "") "," NODE("Identity", "\"go\"", "\"go2\"", ""),   \
         "\"go2\",\"h2\"")
/* h -> h b in iteration 0, h + b in others */
#define BRANCH_IN_LOOP                                                                             \
    BODY("\"i\",\"go\",\"h\"",                                                                     \
         NODE("Less", "\"i\",\"one\"", "\"first\"", "") "," NODE(                                  \
             "If", "\"first\"", "\"h2\"",                                                          \
             "\"then_branch\":" BODY("", NODE("Mul", "\"h\",\"b\"", "\"t\"", ""),                  \
                                     "\"t\"") ","                                                  \
                                              "\"else_branch\":" BODY(                             \
                                                  "", NODE("Add", "\"h\",\"b\"", "\"t\"", ""),     \
                                                  "\"t\"")) "," NODE("Identity", "\"go\"",         \
                                                                     "\"go2\"", ""),               \
         "\"go2\",\"h2\"")
/* Two times: the whole inner loop. */
#define LOOP_IN_LOOP                                                                               \
    BODY("\"i\",\"go\",\"h\"",                                                                     \
         NODE("Loop", "\"two\",\"true\",\"h\"", "\"h2\"",                                          \
              "\"body\":" BY_B) "," NODE("Identity", "\"go\"", "\"go2\"", ""),                     \
         "\"go2\",\"h2\"")
#define SCAN(attrs)                                                                                \
    NODE("Scan", "\"zero\",\"a\"", "\"last\",\"y\"",                                               \
         "\"num_scan_inputs\":1" attrs                                                             \
         ",\"body\":" BODY("\"h\",\"x\"",                                                          \
                           NODE("Mul", "\"h\",\"half\"", "\"u\"",                                  \
                                "") "," NODE("Add", "\"u\",\"x\"", "\"h2\"",                       \
                                             "") "," NODE("Identity", "\"h2\"", "\"out\"", ""),    \
                           "\"h2\",\"out\""))

/* The sequence of a's elements, of dims or scalars. */
#define PARTS_OF_A NODE("SplitToSequence", "\"a\"", "\"s\"", "\"axis\":0")
#define SCALARS_OF_A NODE("SplitToSequence", "\"a\"", "\"s\"", "\"axis\":0,\"keepdims\":0")
#define AT(place, out) NODE("SequenceAt", "\"s\",\"" place "\"", "\"" out "\"", "")
#define TIMES_B(x) NODE("Mul", "\"" x "\",\"b\"", "\"y\"", "")
#define COLLECT_A                                                                                  \
    BODY("\"i\",\"go\",\"q\"",                                                                     \
         NODE("Gather", "\"a\",\"i\"", "\"e\"",                                                    \
              "") "," NODE("SequenceInsert", "\"q\",\"e\"", "\"q2\"",                              \
                           "") "," NODE("Identity", "\"go\"", "\"go2\"", ""),                      \
         "\"go2\",\"q2\"")
/* A position that is known only when a is. */
#define PLACE_OF_A                                                                                 \
    NODE("ReduceSum", "\"a\"", "\"sum\"", "\"keepdims\":0")                                        \
    "," NODE("Cast", "\"sum\"", "\"n\"", "\"to\":7")

static Row rows[] = {
    {"the branch that is taken", "1,2", "3,4", CONDITION "," IF("\"c\"", A_TIMES_B, SQUARE),
     "3 40; 1 20"},
    {"the other branch", "-1,-2", "3,4", CONDITION "," IF("\"c\"", A_TIMES_B, SQUARE), "0 0; 6 80"},
    {"a branch that is not taken leaves no NaN", "-1,-2", "3,4",
     CONDITION "," IF("\"c\"", ROOT_OF_A, SQUARE), "0 0; 6 80"},
    {"a result from outside of the branch", "1,2", "3,4",
     CONDITION "," IF("\"c\"", SAME, A_TIMES_B), "0 0; 1 10"},
    {"the branch beside it", "-1,-2", "3,4", CONDITION "," IF("\"c\"", SAME, A_TIMES_B),
     "3 40; -1 -20"},
    {"a branch in a branch", "1,2", "3,4",
     CONDITION
     "," NODE("If", "\"c\"", "\"y\"", "\"then_branch\":" INNER ",\"else_branch\":" SQUARE),
     "5 80; 1 20"},
    {"a condition known before the run", "-1,-2", "3,4", IF("\"true\"", A_TIMES_B, SQUARE),
     "3 40; -1 -20"},
    {"a loop", "1,2", "3,4", LOOP("two", BY_B), "9 160; 6 160"},
    {"no iterations", "1,2", "3,4", LOOP("none", BY_B), "1 10; "},
    {"a branch in a loop", "1,2", "3,4", LOOP("two", BRANCH_IN_LOOP), "3 40; 2 30"},
    {"a loop in a loop", "1,2", "3,4", LOOP("two", LOOP_IN_LOOP), "81 2560; 108 5120"},
    {"a scan", "1,2", "3,4", SCAN(""), "6 10; "},
    {"a scan backwards", "1,2", "3,4", SCAN(",\"scan_input_directions\":[1]"), "10 6; "},
    {"iterations that values count", "1,2", "3,4",
     NODE("ReduceSum", "\"a\"", "\"s\"", "\"keepdims\":0") "," NODE("Cast", "\"s\"", "\"n\"",
                                                                    "\"to\":7") "," LOOP("n", BY_B),
     "a loop runs as often as values say"},
    {"the row of padding has no gradient", "1,2", "3,4",
     NODE("Gather", "\"a\",\"none\"", "\"p\"", "\"axis\":0,\"padding_idx\":1") "," NODE(
         "Gather", "\"a\",\"one\"", "\"q\"",
         "\"axis\":0,\"padding_idx\":1") "," NODE("Add", "\"p\",\"q\"", "\"r\"",
                                                  "") "," TIMES_B("r"),
     "43 0; 3 30"},
    {"elements of a sequence", "1,2", "3,4",
     PARTS_OF_A
     "," AT("one", "p") "," AT("none", "q") "," NODE("Mul", "\"p\",\"q\"", "\"m\"", "") "," NODE(
         "SequenceConstruct", "\"m\",\"q\"", "\"r\"",
         "") "," NODE("ConcatFromSequence", "\"r\"", "\"z\"", "\"axis\":0") "," TIMES_B("z"),
     "46 3; 2 10"},
    {"a sequence that changes, stacked", "1,2", "3,4",
     SCALARS_OF_A "," NODE("ReduceSum", "\"b\"", "\"e\"", "\"keepdims\":0") "," NODE(
         "SequenceInsert", "\"s\",\"e\",\"none\"", "\"s2\"",
         "") "," NODE("SequenceErase", "\"s2\"", "\"s3\"",
                      "") "," NODE("ConcatFromSequence", "\"s3\"", "\"z\"",
                                   "\"axis\":0,\"new_axis\":1") "," TIMES_B("z"),
     "40 0; 10 13"},
    {"a sequence that a loop collects", "1,2", "3,4",
     NODE("SequenceEmpty", "", "\"s0\"", "\"dtype\":11") "," NODE(
         "Loop", "\"two\",\"true\",\"s0\"", "\"s\"",
         "\"body\":" COLLECT_A) "," NODE("ConcatFromSequence", "\"s\"", "\"z\"",
                                         "\"axis\":0,\"new_axis\":1") "," TIMES_B("z"),
     "3 40; 1 20"},
    {"the length of a sequence", "1,2", "3,4",
     PARTS_OF_A "," NODE("SequenceLength", "\"s\"", "\"n\"", "") "," NODE(
         "Cast", "\"n\"", "\"f\"", "\"to\":11") "," NODE("Mul", "\"a\",\"f\"", "\"y\"", ""),
     "2 20; "},
    {"a position that values say", "0,1", "3,4",
     PARTS_OF_A "," PLACE_OF_A "," AT("n", "p") "," TIMES_B("p"),
     "op 'SequenceAt_3' (SequenceAt) has no derivative: gradients pass a sequence only if its "
     "length and all positions are known before the run, and no branch or loop is left"},
};

static void put_numbers(const Json *tensor, Buf *out)
{
    const Json *data = json_get(tensor, "data");
    for (int i = 0; i < json_size(data); i++)
        buf_printf(out, i ? " %g" : "%g", json_real(json_at(data, i), 0));
}

static void test_row(void **state)
{
    const Row *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    Buf text = buf_new(arena), got = buf_new(arena);
    buf_printf(
        &text,
        "{\"opset\":20,\"inputs\":{"
        "\"a\":{\"shape\":[2],\"dtype\":\"f64\",\"data\":[%s]},"
        "\"b\":{\"shape\":[2],\"dtype\":\"f64\",\"data\":[%s]}},\"constants\":{"
        "\"zero\":{\"shape\":[],\"dtype\":\"f64\",\"data\":[0]},"
        "\"half\":{\"shape\":[],\"dtype\":\"f64\",\"data\":[0.5]},"
        "\"none\":{\"shape\":[],\"dtype\":\"i64\",\"data\":[0]},"
        "\"one\":{\"shape\":[],\"dtype\":\"i64\",\"data\":[1]},"
        "\"two\":{\"shape\":[],\"dtype\":\"i64\",\"data\":[2]},"
        "\"true\":{\"shape\":[],\"dtype\":\"bool\",\"data\":[true]}},"
        "\"nodes\":[%s],\"outputs\":[\"y\"],\"cotangents\":[{\"shape\":[2],\"data\":[1,10]}]}",
        row->a, row->b, row->nodes);
    const Source source = {.name = "request", .text = buf_str(&text)};
    Json *request = json_parse(&source, &err), *answer = json_object();
    if (!request)
        fail_msg("%s", err.text);
    if (eval_grad_graph("grad.graph", arena, request, answer, &err)) {
        const Json *grads = json_get(answer, "grads");
        put_numbers(json_get(grads, "a"), &got);
        buf_puts(&got, "; ");
        put_numbers(json_get(grads, "b"), &got);
    } else {
        buf_puts(&got, err.text);
    }
    assert_string_equal(got.s, row->want);
    json_free(request);
    json_free(answer);
    arena_free(arena);
}

int main(void)
{
    enum { N = sizeof rows / sizeof *rows };
    static struct CMUnitTest tests[N];
    for (int i = 0; i < N; i++)
        tests[i] = (struct CMUnitTest){rows[i].name, test_row, NULL, NULL, &rows[i]};
    return cmocka_run_group_tests_name("gradient_control", tests, NULL, NULL);
}
