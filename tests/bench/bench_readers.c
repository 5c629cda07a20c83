/* bench_readers.c - how fast model files are read: ONNX's, programs of torch.export as large as
 * that of a model of 70B, 80 layers of 62 nodes with what torch writes beside each, and StableHLO
 * text of a training step, 20,000 lines. In time of the processor: a reader is one thread. */
#include "tests/bench/bench.h"

#include "core/model/onnx.h"
#include "core/peers/stablehlo/reader.h"
#include "core/peers/torch_export/reader.h"

#include <time.h>

enum { LAYERS = 80, NODES_OF_LAYER = 62, REPEATS = 5, LINES = 20000 };

static double processor_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static const char meta[] =
    "{\"dtype\": 13, \"sizes\": [{\"as_expr\": {\"expr_str\": \"Symbol('s72', positive=True, "
    "integer=True)\", \"hint\": {\"as_int\": 2}}}, {\"as_int\": 8192}], \"requires_grad\": false, "
    "\"device\": {\"type\": \"cpu\", \"index\": null}, \"strides\": [{\"as_int\": 8192}, "
    "{\"as_int\": 1}], \"storage_offset\": {\"as_int\": 0}, \"layout\": 7}";

/* Node i adds the two values before it, in a module of its layer. */
static void put_node(Buf *out, int i)
{
    int layer = i / NODES_OF_LAYER;
    buf_printf(out,
               "%s{\"target\": \"torch.ops.aten.add.Tensor\", \"inputs\": [{\"name\": \"self\", "
               "\"arg\": {\"as_tensor\": {\"name\": \"x%d\"}}, \"kind\": 1}, {\"name\": \"other\", "
               "\"arg\": {\"as_tensor\": {\"name\": \"x%d\"}}, \"kind\": 1}], \"outputs\": "
               "[{\"as_tensor\": {\"name\": \"x%d\"}}], \"metadata\": {\"nn_module_stack\": ",
               i > 0 ? ", " : "", i, i > 0 ? i - 1 : 0, i + 1);
    buf_printf(out,
               "\"L__self__,,transformers.LlamaForCausalLM;L__self__model,model,"
               "transformers.LlamaModel;L__self__model.layers.%d,model.layers.%d,"
               "transformers.models.llama.modeling_llama.LlamaDecoderLayer\", \"torch_fn\": "
               "\"add_%d;method_descriptor.add\"}, \"is_hop_single_tensor_return\": null, "
               "\"name\": \"x%d\"}",
               layer, layer, i, i + 1);
}

static Str program(Arena *arena)
{
    Buf out = buf_new(arena);
    int n = LAYERS * NODES_OF_LAYER;
    buf_puts(&out, "{\"graph_module\": {\"graph\": {\"inputs\": [{\"as_tensor\": {\"name\": "
                   "\"x0\"}}], \"outputs\": [{\"as_tensor\": {\"name\": ");
    buf_printf(&out, "\"x%d\"}}], \"nodes\": [", n);
    for (int i = 0; i < n; i++)
        put_node(&out, i);
    buf_puts(&out, "], \"tensor_values\": {");
    for (int i = 0; i <= n; i++)
        buf_printf(&out, "%s\"x%d\": %s", i > 0 ? ", " : "", i, meta);
    buf_printf(&out,
               "}}, \"signature\": {\"input_specs\": [{\"user_input\": {\"arg\": {\"as_tensor\": "
               "{\"name\": \"x0\"}}}}], \"output_specs\": [{\"user_output\": {\"arg\": "
               "{\"as_tensor\": {\"name\": \"x%d\"}}}}]}}, \"range_constraints\": {}, "
               "\"schema_version\": {\"major\": 8, \"minor\": 20}}",
               n);
    return buf_str(&out);
}

/* Lines as jax prints them, each with the place that it comes from. */
static Str module_text(Arena *arena)
{
    Buf out = buf_new(arena);
    buf_puts(&out, "module @jit_step {\n  func.func public @main(%0: tensor<64x64xf32>) -> "
                   "tensor<64x64xf32> {\n");
    for (int i = 1; i < LINES; i += 2) {
        buf_printf(&out,
                   "    %%%d = stablehlo.dot_general %%%d, %%%d, contracting_dims = [1] x [0], "
                   "precision = [DEFAULT, DEFAULT] : (tensor<64x64xf32>, tensor<64x64xf32>) -> "
                   "tensor<64x64xf32> loc(#loc%d)\n",
                   i, i - 1, i - 1, i / NODES_OF_LAYER);
        buf_printf(&out, "    %%%d = stablehlo.add %%%d, %%%d : tensor<64x64xf32> loc(#loc%d)\n",
                   i + 1, i, i - 1, i / NODES_OF_LAYER);
    }
    buf_printf(&out, "    return %%%d : tensor<64x64xf32>\n  }\n}\n", LINES);
    for (int i = 0; i <= LINES / NODES_OF_LAYER; i++)
        buf_printf(&out, "#loc%d = loc(\"jit(step)/transpose(jvp(h%d))/mlp/dot_general\")\n", i, i);
    return buf_str(&out);
}

typedef Graph *ReadFn(const ModelFile *file, Error *err);

static double read_ns(ReadFn *read, const char *path, Str text)
{
    Arena *arena = arena_new();
    DimBindings dims = {0};
    Findings notes = {0};
    ModelFile file = {.arena = arena, .path = path, .text = text, .dims = &dims};
    Error err = {0};
    file.notes = &notes;
    double start = processor_ns();
    must(read(&file, &err) != NULL, &err);
    double ns = processor_ns() - start;
    arena_free(arena);
    return ns;
}

static double read_onnx_ns(const char *path, int *n_nodes)
{
    Arena *arena = arena_new();
    FileMap map;
    Error err = {0};
    double start = processor_ns();
    Graph *graph = onnx_open(arena, path, &map, &err);
    must(graph != NULL, &err);
    double ns = processor_ns() - start;
    *n_nodes = graph->n_nodes;
    arena_free(arena);
    file_unmap(&map);
    return ns;
}

void bench_readers(void)
{
    Arena *arena = arena_new();
    Str text = program(arena), module = module_text(arena);
    double program_ns = 0, onnx_ns = 0, module_ns = 0;
    int n_nodes = 1;
    for (int i = 0; i < REPEATS; i++) {
        program_ns = least(program_ns, read_ns(torch_export_read, "bench.graph.json", text));
        module_ns = least(module_ns, read_ns(stablehlo_read, "bench.mlir", module));
        onnx_ns = least(onnx_ns, read_onnx_ns("samples/models/gpt2.onnx", &n_nodes));
    }
    figure("read.onnx", onnx_ns / 1e3 / n_nodes, "us/op");
    figure("read.torch_export", program_ns / 1e3 / (LAYERS * NODES_OF_LAYER), "us/op");
    figure("read.torch_export.speed", (double)text.n * 1e3 / program_ns, "MB/s");
    figure("read.torch_export.70b", program_ns / 1e6, "ms");
    figure("read.stablehlo", module_ns / 1e3 / LINES, "us/op");
    figure("read.stablehlo.speed", (double)module.n * 1e3 / module_ns, "MB/s");
    figure("read.stablehlo.step", module_ns / 1e6, "ms");
    arena_free(arena);
}
