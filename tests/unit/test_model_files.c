/* Model files: graphs made by Lua, and what is said of files that make none. */
#include "tests/unit/model_text.h"

/* "MatMul x w -> y [4,16]" for each op, in program order; or the error. */
static const char *text_of(const OpenedText *o)
{
    Buf out = buf_new(o->arena);
    if (!o->session) {
        buf_printf(&out, "%d:%d: %s: %s", o->err.line, o->err.column, error_kind_name(o->err.kind),
                   o->err.text);
        if (o->err.hint[0] != '\0')
            buf_printf(&out, " [%s]", o->err.hint);
        return out.s;
    }
    const Graph *graph = o->session->graph;
    for (int32_t op = 0; op < graph->n_ops; op++) {
        if (strcmp(op_operator(graph, op), "Constant") == 0)
            continue;
        buf_puts(&out, op_operator(graph, op));
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t t = op_inputs(graph, op)[i];
            buf_printf(&out, " %s", t < 0 ? "-" : tensor_name(graph, t));
        }
        buf_puts(&out, " ->");
        for (int i = 0; i < graph->ops[op].n_outputs; i++) {
            int32_t t = op_outputs(graph, op)[i];
            const Shape *shape = inferred_shape(o->session->inferred, t);
            buf_printf(&out, " %s [", tensor_name(graph, t));
            if (shape)
                shape_format(shape, &out);
            buf_puts(&out, "]");
        }
        buf_puts(&out, "\n");
    }
    return out.s;
}

typedef struct {
    const char *name, *text, *want;
} ModelRow;

static void builds(void **state)
{
    const ModelRow *row = *state;
    OpenedText o = model_text_open(row->text, "", NULL, NULL);
    const char *text = text_of(&o);
    if (strncmp(text, row->want, strlen(row->want)) != 0)
        fail_msg("%s\nwanted\n%s", text, row->want);
    model_text_close(&o);
}

#define IN_MODEL(body) "function MODEL(model, config)\n" body "\nend\n"
#define X "local x = model:input('x', 'f32', {'batch', 8})\nmodel:dims{batch = 4}\n"

static ModelRow graphs[] = {
    {"an op, its attributes, free dims by default",
     IN_MODEL(X "model:output(model:op('Softmax', {x}, {axis = 0}), 'y')"),
     "Softmax x -> y [4,8]\n"},
    {"each op pays for itself: more instructions than a script may spend without ops",
     IN_MODEL(X "for i = 1, 100000 do\nx = model:op('Relu', {x})\nfor j = 1, 450 do end\nend\n"
                "model:output(x)"),
     "Relu x -> Relu [4,8]\nRelu Relu -> Relu_1 [4,8]\n"},
    {"one value is a list of one", IN_MODEL(X "model:output(model:op('Relu', x))"),
     "Relu x -> Relu [4,8]\n"},
    {"an output under its own name, and another one",
     IN_MODEL(X "local y = model:op('Relu', {x})\nmodel:output(y, 'Relu')\nmodel:output(y, 'y')"),
     "Relu x -> y [4,8]\n"},
    {"modules nest, and name ops and parameters",
     IN_MODEL(X "local y = model:module('h', function()\n"
                "  return model:module('0', function()\n"
                "    return model:op('MatMul', {x, model:param('weight', {8, 2})})\n"
                "  end)\nend)\nmodel:output(model:op('Add', {y, model:param('b', {2})}))"),
     "MatMul x h.0.weight -> h.0/MatMul [4,2]\nAdd h.0/MatMul b -> Add [4,2]\n"},
    {"equal names are numbered",
     IN_MODEL(X "model:output(model:op('Relu', {model:op('Relu', {model:op('Relu', {x})})}))"),
     "Relu x -> Relu [4,8]\nRelu Relu -> Relu_1 [4,8]\nRelu Relu_1 -> Relu_2 [4,8]\n"},
    {"several outputs",
     IN_MODEL(X "local a, b = model:op('Split', {x}, {axis = 1, num_outputs = 2}, 2)\n"
                "model:output(model:op('Sub', {a, b}))"),
     "Split x -> Split#0 [4,4] Split#1 [4,4]\nSub Split#0 Split#1 -> Sub [4,4]\n"},
    {"lists and numbers are constants, equal ones one",
     IN_MODEL(X "x = model:op('Reshape', {x, {0, 2, 4}})\nx = model:op('Mul', {x, 0.5})\n"
                "x = model:op('Mul', {x, 0.5})\nmodel:output(x, 'y')"),
     "Reshape x i64:0,2,4 -> Reshape [4,2,4]\nMul Reshape f32:0.5 -> Mul [4,2,4]\n"
     "Mul Mul f32:0.5 -> y [4,2,4]\n"},
    {"an absent operand in the middle",
     IN_MODEL(X "model:output(model:op('Clip', {x, nil, model:constant('c', 'f32', {}, {6})}))"),
     "Clip x - c -> Clip [4,8]\n"},
    {"a module that fails leaves its path",
     IN_MODEL(X "pcall(model.module, model, 'bad', function() error('no') end)\n"
                "model:output(model:op('Relu', {x}))"),
     "Relu x -> Relu [4,8]\n"},
    {"a module gives what its function gives",
     IN_MODEL(X "local a, b = model:module('m', function() return 1, 2 end)\n"
                "model:output(model:op('Reshape', {x, {0, a, b, 4}}))"),
     "Reshape x i64:0,1,2,4 -> Reshape [4,1,2,4]\n"},
    {"any domain", IN_MODEL(X "model:output(model:op('com.microsoft::Gelu', {x}))"),
     "com.microsoft::Gelu x -> com.microsoft::Gelu [4,8]\n"},
    {"layers that are shipped",
     IN_MODEL(X "local layers = include 'lib/layers'\n"
                "model:output(layers.linear(model, 'fc', x, 8, 3, {bias = true}))"),
     "Transpose fc.weight -> fc/Transpose [8,3]\nMatMul x fc/Transpose -> fc/MatMul [4,3]\n"
     "Add fc/MatMul fc.bias -> fc/Add [4,3]\n"},
};

#define LLAMA_SIZES                                                                                \
    "\"model_type\": \"llama\", \"num_attention_heads\": 4,\n\"hidden_size\": 8, "                 \
    "\"intermediate_size\": 8,\n\"num_hidden_layers\": 1, \"vocab_size\": 8"

static ModelRow refusals[] = {
    {"no MODEL", "local x = 1", "0:0: script: a model file must define a function MODEL"},
    {"syntax", "function MODEL(model\nend", "2:1: script: ')' expected near 'end'"},
    {"no output", IN_MODEL(X), "0:0: script: the model has no output [model:output(value"},
    {"no such operator", IN_MODEL(X "model:op('Reul', {x})"),
     "4:1: script: there is no operator 'Reul'"},
    {"an input that is none",
     IN_MODEL(X "model:module('a.b', function()\n  return model:op('Add', {x, true})\nend)"),
     "5:3: script: Add in 'a.b': its input 1 is boolean; called from line 4 in MODEL [an input "
     "must be a value, a list of integers, a number, or false if it is absent]"},
    {"too many inputs", IN_MODEL(X "model:op('Add', {x, x, x})"),
     "4:1: script: Add has 3 inputs, but takes 2"},
    {"too few inputs", IN_MODEL(X "model:op('Add', {x})"),
     "4:1: script: Add has 1 input, but takes 2"},
    {"an input that may not be absent", IN_MODEL(X "model:op('Add', {false, x})"),
     "4:1: script: Add: its input 0 is absent, but required"},
    {"no list of inputs", IN_MODEL(X "model:op('Relu')"),
     "4:1: script: Relu: its inputs must be a list of values, not nil"},
    {"an attribute that is none", IN_MODEL(X "model:op('Softmax', {x}, {axis = print})"),
     "4:1: script: Softmax: its attribute 'axis' is function"},
    {"a mixed list", IN_MODEL(X "model:op('Transpose', {x}, {perm = {1, 'a'}})"),
     "4:1: script: Transpose: its attribute 'perm' is table"},
    {"too many outputs", IN_MODEL(X "model:op('Relu', {x}, nil, 2)"),
     "4:1: script: Relu has at most 1 output, but '2' are requested"},
    {"a name twice", IN_MODEL(X "model:param('w', {2})\nmodel:param('w', {2})"),
     "5:1: script: there is a value 'w' already"},
    {"an output's name that is taken", IN_MODEL(X "model:output(model:op('Relu', {x}), 'x')"),
     "4:1: script: the value 'Relu' cannot become the output 'x'"},
    {"an input under another name", IN_MODEL(X "model:output(x, 'y')"),
     "4:1: script: the value 'x' cannot become the output 'y' [only outputs of ops"},
    {"a type that is none", IN_MODEL("model:input('x', 'f33', {2})"),
     "2:1: script: input 'x': its type must be the name of one, not 'f33'"},
    {"a size that is none", IN_MODEL("model:param('w', {2, 1.5})"),
     "2:1: script: parameter 'w': dim 1 is '1.5'"},
    {"a free dim of a parameter", IN_MODEL("model:param('w', {'batch'})"),
     "2:1: script: parameter 'w': dim 0 is 'batch'"},
    {"too large", IN_MODEL("model:param('w', {1 << 40, 1 << 40})"), "2:1: script: parameter 'w': "},
    {"elements that do not fit", IN_MODEL("model:constant('c', 'i64', {2, 2}, {1, 2, 3})"),
     "2:1: script: constant 'c' has 4 elements, but its list has 3"},
    {"an element that is none", IN_MODEL("model:constant('c', 'i64', {2}, {1, 0.5})"),
     "2:1: script: constant 'c': its element 1 is '0.5', not a valid i64"},
    {"a method that is none", IN_MODEL("model:parm('w', {2})"),
     "2:1: script: a model has no 'parm' [did you mean 'param'?]"},
    {"a file that is not shipped", IN_MODEL("include '../../etc/passwd'"),
     "2:1: script: include needs the name of a file below the folder of "
     "the policy, or of a shipped one, not '../../etc/passwd'"},
    {"a file that is not there", IN_MODEL("include 'lib/none'"),
     "2:1: script: there is no 'lib/none' among the models"},
    {"a model kept for later", "local kept\n" IN_MODEL("kept = model\nerror('over')"),
     "4:1: script: over"},
    {"endless", IN_MODEL(X "while true do x = model:op('Relu', {x}) end"),
     "4:1: script: a script builds models of at most 1048576 ops [does a loop not end"},
    {"endless between ops", IN_MODEL(X "while true do local y = 1 end"),
     "4:1: script: stopped after 50 million instructions"},
    {"endless nesting", IN_MODEL("local function f() model:module('m', f) end\nf()"),
     "2:1: script: calls or brackets nest too deep"},
    {"a type of model that nobody builds", "{\"model_type\": \"gpt5\"}",
     "1:2: unreadable: there is no builder for models of type 'gpt5' ["},
    {"a language model that nobody builds",
     "{\"model_type\": \"seeing\", \"text_config\": {\"model_type\": \"gpt5\"}}",
     "1:2: unreadable: there is no builder for models of type 'seeing', nor for their text_config, "
     "of type 'gpt5' ["},
    {"a size that the language model lacks",
     "{\"model_type\": \"seeing\",\n\"text_config\": {\"model_type\": \"llama\"}}",
     "2:1: unreadable: \"text_config.num_attention_heads\" is not in the config, but the model "
     "needs "
     "it"},
    {"a type of model that is a path", "{\"model_type\": \"../policies/dp\"}",
     "1:2: unreadable: there is no builder for models of type '../policies/dp'"},
    {"a type of model that is no text", "{\"model_type\": 5}",
     "0:0: unreadable: not the config of a model: \"model_type\" is not a string"},
    {"neither config nor plan", "{\"hidden_size\": 5}",
     "0:0: unreadable: is not a dimscope plan: it has no \"dimscope_plan\" [a model's config.json "
     "has a \"model_type\"]"},
    {"a size that the config lacks", "{\n\"model_type\": \"llama\"}",
     "0:0: unreadable: \"num_attention_heads\" is not in the config, but the model needs it"},
    {"a size of the config that is none",
     "{\"model_type\": \"llama\",\n \"num_attention_heads\": \"many\"}",
     "2:2: unreadable: \"num_attention_heads\" is 'many' [it must be an integer, 1 or more]"},
    {"a number that is none", "{" LLAMA_SIZES ",\n\"rope_theta\": {}}",
     "4:1: unreadable: \"rope_theta\" is a list or an object [it must be a number]"},
    {"a field of a field that is missing",
     "{" LLAMA_SIZES ",\n\"rope_scaling\": {\"rope_type\": \"llama3\"}}",
     "4:1: unreadable: \"rope_scaling.original_max_position_embeddings\" is not in the config, but "
     "the model needs it [it must be a number]"},
    {"a flag that is none", "{" LLAMA_SIZES ",\n\"tie_word_embeddings\": 1}",
     "4:1: unreadable: \"tie_word_embeddings\" is '1' [it must be true or false]"},
    {"an activation that is not known", "{" LLAMA_SIZES ",\n\"hidden_act\": \"silly\"}",
     "4:15: unreadable: \"silly\" is no activation that is known [known: gelu "},
    {"a list of sizes that is none",
     "{\"model_type\": \"swin\", \"embed_dim\": 8, \"window_size\": 7,\n\"num_heads\": [2, 0.5]}",
     "2:1: unreadable: \"num_heads\" is a list or an object [it must be a list of integers"},
    {"heads that do not divide the width",
     "{\"model_type\": \"gpt2\", \"n_embd\": 10, \"n_layer\": 1, \"vocab_size\": 8,\n\"n_head\": "
     "3}",
     "2:1: unreadable: \"n_head\" is 3, which does not divide 10"},
    {"heads that do not share evenly",
     "{\"model_type\": \"llama\", \"num_attention_heads\": 4, \"num_key_value_heads\": 3,\n"
     "\"hidden_size\": 8, \"intermediate_size\": 8, \"num_hidden_layers\": 1, \"vocab_size\": 8}",
     "1:51: unreadable: \"num_key_value_heads\" is 3, which 4 heads cannot share evenly"},
};

static void sizes_come_from_all_places(void **state)
{
    (void)state;
    static const char text[] =
        IN_MODEL("model:dims{a = 2, b = 3}\n"
                 "local x = model:input('x', 'f32', {'a', 'b', config.a or 1, model:dim('b')})\n"
                 "model:output(model:op('Relu', {x}), 'y')");
    OpenedText o = model_text_open(text, "", NULL, NULL);
    assert_string_equal(text_of(&o), "Relu x -> y [2,3,1,3]\n");
    model_text_close(&o);
    o = model_text_open(text, "a=5", NULL, NULL);
    assert_string_equal(text_of(&o), "Relu x -> y [5,3,5,3]\n");
    model_text_close(&o);
}

static void findings_have_the_line_of_their_op(void **state)
{
    (void)state;
    OpenedText o = model_text_open(IN_MODEL(X "model:output(model:op('Reshape',\n{x, {0, 3}}))"),
                                   "", NULL, NULL);
    const Findings *findings = &o.session->inferred->findings;
    assert_int_equal(findings->n, 1);
    assert_string_equal(findings->at[0].code, "rule-refused");
    assert_string_equal(findings->at[0].file, o.path);
    assert_int_equal(findings->at[0].line, 4);
    model_text_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_come_from_all_places),
                                       cmocka_unit_test(findings_have_the_line_of_their_op)};
    return run_rows("graphs", graphs, builds) + run_rows("refusals", refusals, builds) +
           cmocka_run_group_tests_name("sizes", tests, NULL, NULL);
}
