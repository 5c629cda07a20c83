/* Templates as texts: what is wrong with a text or a call, those of a policy file, exports. */
#include "tests/unit/template_call.h"

#include "core/peers/tapestry/eval_template.h"
#include "scripts/peers/tapestry.h"

/* ---- errors ---- */

typedef struct {
    const char *name, *request; /* with ' for " */
    const char *want;           /* the code and some words, each to be found in the text */
    ErrorKind kind;
} Refusal;

#define APPLY(fields, rest)                                                                        \
    "{'do':'template.apply','template':\"template [[t]] {" fields "}\"," rest "}"
#define EVAL(text) "{'do':'template.eval','text':'" text "','vars':{'n':3,'s':[3,4,5],'t':'f32'}}"
#define MATCH(pattern, shape) "{'do':'template.match','pattern':'" pattern "','shape':" shape "}"
#define ONE "inputs = {{[[x]], shape = [[ [$n] ]]}}, index = [[ [$n] ]], outputs = {{[[y]]}}"
#define X3 "'inputs':{'x':[{'shape':[3]}]}"

static Refusal refusals[] = {
    {"lex", EVAL("$n & 1"), "E_LEX '&' column 4", ERROR_SYNTAX},
    {"syntax", EVAL("($n + )"), "E_SYNTAX value column 7", ERROR_SYNTAX},
    {"rest", EVAL("1 2"), "E_SYNTAX end column 3", ERROR_SYNTAX},
    {"deep", EVAL("((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((("), "E_LIMIT",
     ERROR_UNSUPPORTED},
    {"field", APPLY(ONE ", indx = 1", X3), "E_EXTRA indx", ERROR_INVALID},
    {"slot field", APPLY("inputs = {{[[x]], shap = [[ [$n] ]]}}, index = [[ [] ]]", X3),
     "E_EXTRA shap", ERROR_INVALID},
    {"function", APPLY("inputs = {{[[x]], shape = function() end}}", X3), "E_SYNTAX function shape",
     ERROR_SYNTAX},
    {"duplicate", MATCH("[$a, $a]", "[2,2]"), "E_DUP a", ERROR_DUPLICATE},
    {"ellipsis", MATCH("[$a..., $b...]", "[2]"), "E_ELLIPSIS a b", ERROR_ELLIPSIS},
    {"index name", MATCH("[$i, $b[$i]]", "[2,2]"), "E_INDEX_NAME i", ERROR_DUPLICATE},
    {"index group", MATCH("[$g=($a, $b[$i])]", "[2,2]"), "E_INDEX_GROUP b", ERROR_INVALID},
    {"index mix",
     APPLY("inputs = {{[[x]], shape = [==[ [$n[$i]] ]==]}, {[[w]], shape = [[ [$n] ]]}}, "
           "index = [[ [] ]], outputs = {{[[y]]}}",
           X3),
     "E_INDEX_MIX n", ERROR_INVALID},
    {"missing", APPLY(ONE, "'inputs':{}"), "E_MISSING x", ERROR_UNBOUND},
    {"missing param", APPLY("params = {a = [[int]]}, " ONE, X3), "E_MISSING a", ERROR_UNBOUND},
    {"extra slot", APPLY(ONE, "'inputs':{'x':[{'shape':[3]}],'z':[]}"), "E_EXTRA z", ERROR_INVALID},
    {"extra param", APPLY(ONE, X3 ",'attrs':{'a':1}"), "E_EXTRA a", ERROR_INVALID},
    {"rank", MATCH("[$a, $b]", "[2]"), "E_RANK 1 2", ERROR_RANK},
    {"literal", MATCH("[$a, 4]", "[2,3]"), "E_LITERAL 3 4", ERROR_CONFLICT},
    {"conflict",
     APPLY("inputs = {{[[x]], shape = [[ [$n] ]]}, {[[w]], shape = [[ [$n] ]]}}, "
           "index = [[ [] ]], outputs = {{[[y]]}}",
           "'inputs':{'x':[{'shape':[3]}],'w':[{'shape':[4]}]}"),
     "E_CONFLICT n 3 x[0] 4 w[0]", ERROR_CONFLICT},
    {"count",
     APPLY("inputs = {{[[x]], shape = [==[ [$n[$i]] ]==]}, {[[w]], shape = [==[ [$m[$i]] ]==]}}, "
           "index = [[ [] ]], outputs = {{[[y]]}}",
           "'inputs':{'x':[{'shape':[3]}],'w':[{'shape':[4]},{'shape':[4]}]}"),
     "E_COUNT i 1 2", ERROR_CONFLICT},
    {"dtype",
     APPLY("inputs = {{[[x]], shape = [[ [$n] ]], dtype = [[int64]]}}, index = [[ [$n] ]], "
           "outputs = {{[[y]]}}",
           X3),
     "E_DTYPE x[0] f32 i64", ERROR_DTYPE},
    {"enum",
     APPLY("constraints = {t = {enum = {[[int8]]}}}, inputs = {{[[x]], shape = [[ [$n] ]], "
           "dtype = [[$t]]}}, index = [[ [$n] ]], outputs = {{[[y]]}}",
           X3),
     "E_ENUM t f32", ERROR_DTYPE},
    {"axis", APPLY("params = {a = [[axis of x]]}, " ONE, X3 ",'attrs':{'a':1}"), "E_AXIS a 1",
     ERROR_OUT_OF_RANGE},
    {"perm", APPLY("params = {a = [[perm of x]]}, " ONE, X3 ",'attrs':{'a':[1]}"), "E_PERM [1]",
     ERROR_INVALID},
    {"require", APPLY("require = {[[$n * 2 < 5]]}, " ONE, X3), "E_REQUIRE 6 5", ERROR_INVALID},
    {"unbound", EVAL("$x"), "E_UNBOUND x", ERROR_UNBOUND},
    {"no function", EVAL("cos($n)"), "E_UNBOUND cos", ERROR_UNBOUND},
    {"cycle", APPLY("params = {a = [[int = $b]], b = [[int = $a]]}, " ONE, X3), "E_MISSING a",
     ERROR_UNBOUND},
    {"type", EVAL("$s + 1"), "E_TYPE list", ERROR_INVALID},
    {"text", EVAL("$t * 2"), "E_TYPE text", ERROR_INVALID},
    {"division", EVAL("$n / ($n - 3)"), "E_DIV0", ERROR_OUT_OF_RANGE},
    {"power", EVAL("2 ^ ($n - 4)"), "E_POW", ERROR_OUT_OF_RANGE},
    {"overflow", EVAL("3 ^ 40 * 3 ^ 5"), "E_OVERFLOW", ERROR_OUT_OF_RANGE},
    {"long number", EVAL("99999999999999999999"), "E_OVERFLOW", ERROR_OUT_OF_RANGE},
    {"slice", EVAL("$s[1:4]"), "E_SLICE 4 3", ERROR_OUT_OF_RANGE},
    {"computed minus", EVAL("$s[$n - 4]"), "E_SLICE -1", ERROR_OUT_OF_RANGE},
    {"context", EVAL("1..."), "E_CONTEXT", ERROR_UNBOUND},
    {"coordinate", EVAL("@n"), "E_CONTEXT", ERROR_UNBOUND},
    {"fill", "{'do':'template.expand','text':'[1..., 1...]','rank':2,'index_rank':2}", "E_FILL",
     ERROR_ELLIPSIS},
    {"spread", "{'do':'template.expand','text':'[@[0]...]','rank':2,'index_rank':2}", "E_SPREAD",
     ERROR_INVALID},
    {"coord", "{'do':'template.expand','text':'[@x]','rank':1,'index_rank':1}", "E_COORD x",
     ERROR_UNBOUND},
    {"affine", "{'do':'template.expand','text':'[@[0] * @[1]]','rank':1,'index_rank':2}",
     "E_AFFINE", ERROR_UNSUPPORTED},
    {"map rank", "{'do':'template.expand','text':'[@[0]]','rank':2,'index_rank':2}", "E_RANK 1 2",
     ERROR_RANK},
    {"diagonal rank", "{'do':'template.expand','text':'[1, 1]','rank':2,'index_rank':3}",
     "E_RANK 2 3", ERROR_RANK},
    {"broadcast", EVAL("broadcast([2], [3])"), "E_BROADCAST 2 3", ERROR_CONFLICT},
    {"window", "{'do':'template.expand','text':'[0 :+ -1]','rank':1,'index_rank':0}", "E_SHAPE",
     ERROR_OUT_OF_RANGE},
    {"long list", EVAL("ones(5000)"), "E_LIMIT", ERROR_UNSUPPORTED},
    {"work", EVAL("[iota(4000)..., iota(4000)...]"), "E_LIMIT", ERROR_UNSUPPORTED},
    {"range",
     APPLY("inputs = {{[[x]], shape = [[ [$n] ]], ipf = [[ [@n + 1] ]]}}, index = [[ [$n] ]], "
           "outputs = {{[[y]]}}",
           X3),
     "E_RANGE 1 4 3", ERROR_OUT_OF_RANGE},
    {"cover",
     APPLY("inputs = {{[[x]], shape = [[ [$n] ]]}}, index = [[ [$n] ]], "
           "outputs = {{[[y]], shape = [[ [$n + 1] ]]}}",
           X3),
     "E_COVER 0 3 4", ERROR_INVALID},
    {"gaps",
     APPLY("inputs = {{[[x]], shape = [[ [$n] ]]}}, index = [[ [$n] ]], "
           "outputs = {{[[y]], shape = [[ [5] ]], ipf = [[ [@n * 2] ]]}}",
           X3),
     "E_COVER gaps", ERROR_INVALID},
    {"overlap",
     APPLY("inputs = {{[[x]], shape = [[ [$n] ]], ipf = [[ [@n] ]]}}, index = [[ [$n] ]], "
           "outputs = {{[[y]], shape = [[ [] ]], ipf = [[ R[] ]]}}",
           X3),
     "E_OVERLAP n", ERROR_INVALID},
    {"split",
     APPLY("inputs = {{[[x]], shape = [[ [6] ]], ipf = [[ [@g * 2 + @r] ]]}}, "
           "index = [[ [$g=3, $r=2] ]], outputs = {{[[y]], shape = [[ [6] ]], "
           "ipf = [[ [@g * 2 + @r] ]]}}",
           "'inputs':{'x':[{'shape':[6]}]},'split':{'r':1}"),
     "E_SPLIT r 2g g", ERROR_FROZEN},
    {"index dims",
     APPLY("inputs = {}, index = [[ [ones(17)...] ]], outputs = {{[[y]]}}", "'inputs':{}"),
     "E_LIMIT 16", ERROR_UNSUPPORTED},
    {"dims", APPLY("inputs = {}, index = [[ [ones(11)...] ]], outputs = {{[[y]]}}", "'inputs':{}"),
     "E_LIMIT 10", ERROR_UNSUPPORTED},
    {"monoid", APPLY("reduce = {mean = [[ [] ]]}, " ONE, X3), "E_EXTRA mean", ERROR_INVALID},
    {"no template", "{'do':'template.apply','template':'x = 1','inputs':{}}", "no template",
     ERROR_SYNTAX},
    {"no Lua", "{'do':'template.apply','template':'template {','inputs':{}}", "expected",
     ERROR_SYNTAX},
};

static Json *parse_request(Arena *arena, const char *text)
{
    Buf json = buf_new(arena);
    bool quoted = false;
    for (; *text; text++) {
        quoted = *text == '"' ? !quoted : quoted;
        buf_putc(&json, *text == '\'' && !quoted ? '"' : *text);
    }
    Source source = {"request", buf_str(&json)};
    Error err = {0};
    Json *request = json_parse(&source, &err);
    if (!request)
        fail_msg("%s: %s", err.text, json.s);
    return request;
}

static bool answer(Arena *arena, const Json *request, Json *out, Error *err)
{
    const char *verb = arena_str(arena, json_str(json_get(request, "do"), ""));
    if (strcmp(verb, "template.apply") == 0)
        return lua_eval_verb(str_from(verb))->answer(verb, arena, request, out, err);
    return eval_template(verb, arena, request, out, err);
}

static void refuses(void **state)
{
    const Refusal *row = *state;
    Arena *arena = arena_new();
    Json *request = parse_request(arena, row->request), *out = json_object();
    Error err = {0};
    if (answer(arena, request, out, &err))
        fail_msg("it is answered");
    for (Str rest = str_from(row->want); rest.n > 0;) {
        int64_t blank = str_find(rest, STR(" "));
        Str word = blank < 0 ? rest : (Str){rest.s, (size_t)blank};
        if (str_find(str_from(err.text), word) < 0)
            fail_msg("no '%.*s' in: %s", STR_ARG(word), err.text);
        rest = blank < 0 ? (Str){0} : (Str){word.s + word.n + 1, rest.n - word.n - 1};
    }
    assert_string_equal(error_kind_name(err.kind), error_kind_name(row->kind));
    json_free(request);
    json_free(out);
    arena_free(arena);
}

/* ---- templates of a policy file ---- */

static void a_policy_defines_operators(void **state)
{
    (void)state;
    Fixture fixture = fixture_new();
    Error err = {0};
    SessionHooks hooks = scripts_hooks(fixture.scripts);
    assert_true(hooks.prepare(hooks.context, NULL, "tests/lua/template.lua", &fixture.rules, &err));
    const Call call = {"my::row_sums", "3x4", NULL, 0};
    Buf text = buf_new(fixture.arena);
    opspace_format(space_of(&fixture, &call), &text);
    assert_string_equal(text.s, "rows n+ -> rows");
    assert_false(
        hooks.prepare(hooks.context, NULL, "tests/lua/template.lua", &fixture.rules, &err));
    assert_non_null(strstr(err.text, "'my::row_sums' is registered already"));
    fixture_free(&fixture);
}

static void a_bias_beside_a_sum_is_noted(void **state)
{
    (void)state;
    Fixture fixture = fixture_new();
    SessionHooks hooks = scripts_hooks(fixture.scripts);
    assert_true(hooks.prepare(hooks.context, NULL, "tests/lua/template.lua", &fixture.rules, NULL));
    const Call call = {"my::row_sums", "3x4,3", NULL, 0};
    Json *lints = template_lints(fixture.arena, space_of(&fixture, &call));
    assert_int_equal(json_size(lints), 1);
    assert_true(str_find(json_str(json_at(lints, 0), ""), STR("input 1 does not follow")) == 0);
    json_free(lints);
    fixture_free(&fixture);
}

/* The operator's export: its texts, and the matrix of each operand. */
static void exports_matrices(void **state)
{
    (void)state;
    Fixture fixture = fixture_new();
    const Call call = {"tapestry::softmax", "2x3", "axis=1", 0};
    const Operator *row = registry_find(fixture.rules.registry, STR("tapestry::softmax"));
    Json *json = template_json(fixture.arena, row->data->data, space_of(&fixture, &call));
    Buf text = buf_new(fixture.arena);
    json_write(json_get(json_get(json, "resolved"), "operands"), &text);
    assert_string_equal(text.s,
                        "[{\"slot\":\"x\",\"k\":0,\"output\":false,\"shape\":[2,3],\"clip\":false,"
                        "\"ipf\":{\"affineMap\":{\"projection\":[[1],[0]],\"offset\":[0,0]},"
                        "\"shape\":[1,3]}},"
                        "{\"slot\":\"y\",\"k\":0,\"output\":true,\"shape\":[2,3],\"clip\":false,"
                        "\"ipf\":{\"affineMap\":{\"projection\":[[1],[0]],\"offset\":[0,0]},"
                        "\"shape\":[1,3]}}]");
    assert_int_equal(json_size(json_get(json_get(json, "template"), "inputs")), 1);
    json_free(json);
    fixture_free(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_defines_operators),
        cmocka_unit_test(a_bias_beside_a_sum_is_noted),
        cmocka_unit_test(exports_matrices),
    };
    return cmocka_run_group_tests_name("operators", tests, NULL, NULL) +
           run_rows("refuses", refusals, refuses);
}
