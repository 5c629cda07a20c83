/* Pins from the text of other systems: what they print is read as what they mean. */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/session/pins_text.h"
#include "core/session/make.h"
#include "scripts/hooks.h"
#include "viz/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
    Error err;
} Opened;

static Opened open_with(const char *model, const char *mesh, const char *policy, const char *pins)
{
    Opened opened = {.arena = arena_new()};
    opened.scripts = scripts_new(opened.arena, ".");
    SessionHooks hooks = scripts_hooks(opened.scripts);
    SessionOptions options = {.mesh = mesh, .policy = policy, .pins = pins};
    options.model = arena_printf(opened.arena, "samples/models/%s", model);
    opened.session = session_open(&options, &hooks, &opened.err);
    return opened;
}

static void close_it(Opened *opened)
{
    if (opened->session)
        session_close(opened->session);
    scripts_free(opened->scripts);
    arena_free(opened->arena);
}

static Opened tiny(void)
{
    Opened opened = open_with("tiny-gpt.onnx", "dp=2,tp=4", NULL, NULL);
    assert_non_null(opened.session);
    return opened;
}

/* Reads a text; the decisions are in *journal. */
static bool read_text(Session *session, Str text, Journal *journal, Error *err)
{
    Source source = {"pins.txt", text};
    *journal = (Journal){0};
    *err = (Error){0};
    session->notes = (Findings){0};
    return pins_text_read(session, &source, journal, err);
}

/* "h.0.mlp.c_fc.weight 0 64/dp open p1 @3\n": a line a decision, names without "transformer.". */
static const char *decisions_text(const Opened *opened, const Journal *journal)
{
    const Session *session = opened->session;
    Buf out = buf_new(opened->arena);
    for (int i = 0; i < journal->n_done; i++) {
        const Decision *it = &journal->decisions.at[i];
        Str name = str_from(naming_label(session->naming, it->place));
        if (str_starts(name, STR("transformer.")))
            name = (Str){name.s + 12, name.n - 12};
        assert_int_equal(it->origin.kind, ORIGIN_POLICY);
        assert_string_equal(it->origin.file, "pins.txt");
        buf_printf(&out, "%.*s ", STR_ARG(name));
        if (it->kind == PIN_TENSOR_DIM) {
            buf_printf(&out, "%d ", it->dim);
            cut_format(it->cut, session->mesh, &out);
        } else {
            buf_puts(&out, it->kind == PIN_UNREDUCED ? "unreduced " : "replicated ");
            mesh_format_set(session->mesh, it->axes, ".", &out);
        }
        buf_puts(&out, it->open ? " open" : "");
        if (it->priority)
            buf_printf(&out, " p%d", it->priority);
        buf_printf(&out, " @%d\n", it->origin.line);
    }
    return out.n ? out.s : "";
}

static const char *notes_text(const Opened *opened)
{
    const Findings *notes = &opened->session->notes;
    Buf out = buf_new(opened->arena);
    for (int i = 0; i < notes->n; i++)
        buf_printf(&out, "%s:%d %s [%s]\n", notes->at[i].code, notes->at[i].line, notes->at[i].text,
                   notes->at[i].hint ? notes->at[i].hint : "");
    return out.n ? out.s : "";
}

/* ---- what is read ---- */

typedef struct {
    const char *name, *text, *want, *notes; /* notes: a part of them; NULL: there are none */
} ReadRow;

/* transformer.h.0.mlp.c_fc.weight is 64,256; its bias 256; wte 256,64. What is said to be printed
 * was: by torch 2.15, jax 0.10.2, paddlepaddle 3.3.1. */
#define FC "transformer.h.0.mlp.c_fc.weight"
#define BIAS "transformer.h.0.mlp.c_fc.bias"
#define DTENSOR                                                                                    \
    "DTensor(local_tensor=tensor([[0., 0., 0., 0.]]), device_mesh=DeviceMesh((dp=2, tp=4), "       \
    "'cpu', stride=(4, 1)), placements=(Shard(dim=0), Replicate()))"
#define NAMED                                                                                      \
    "NamedSharding(mesh=Mesh('dp': 2, 'tp': 4, axis_types=(Explicit, Explicit)), "                 \
    "spec=P('dp', 'tp'), memory_kind=device)"

static ReadRow read_rows[] = {
    {"torch: a dict of lists",
     "{\"" FC "\": [Shard(0), Replicate()], '" BIAS "': [Replicate(), "
     "Shard(0)],}",
     "h.0.mlp.c_fc.weight 0 64/dp @1\nh.0.mlp.c_fc.weight 1 256 @1\n"
     "h.0.mlp.c_fc.bias 0 256/tp @1\n",
     NULL},
    {"torch: print(dtensor.placements)", FC ": (Shard(dim=0), Shard(dim=1))",
     "h.0.mlp.c_fc.weight 0 64/dp @1\nh.0.mlp.c_fc.weight 1 256/tp @1\n", NULL},
    {"torch: print(name, dtensor.placements)", "\n" FC " (Replicate(), Shard(dim=1))\n",
     "h.0.mlp.c_fc.weight 0 64 @2\nh.0.mlp.c_fc.weight 1 256/tp @2\n", NULL},
    {"torch: print([str(p) ..])", FC " ['S(0)', 'R']\n" BIAS ": [S(0), R]",
     "h.0.mlp.c_fc.bias 0 256/dp @2\n", "sharding-dropped:1"},
    {"torch: a DTensor", FC " = " DTENSOR,
     "h.0.mlp.c_fc.weight 0 64/dp @1\nh.0.mlp.c_fc.weight 1 256 @1\n", NULL},
    {"torch: print(state_dict)",
     "OrderedDict([('" FC "', " DTENSOR "), ('" BIAS "', " DTENSOR ")])",
     "h.0.mlp.c_fc.weight 0 64/dp @1\nh.0.mlp.c_fc.weight 1 256 @1\n"
     "h.0.mlp.c_fc.bias 0 256/dp @1\n",
     NULL},
    {"torch: print(dtensor._spec)", FC " Spec(f32[64, 256](S(0)S(1)))",
     "h.0.mlp.c_fc.weight 0 64/dp @1\nh.0.mlp.c_fc.weight 1 256/tp @1\n", NULL},
    {"torch: a spec of the transpose", FC " Spec(f32[256, 64](S(0)S(1)))",
     "h.0.mlp.c_fc.weight 0 64/tp @1\nh.0.mlp.c_fc.weight 1 256/dp @1\n", "transposed"},
    {"torch: strided, by both names",
     FC ": [Replicate(), _StridedShard(dim=1, sf=4)]\n" FC
        ": [Replicate(), _StridedShard(1, split_factor=4)]",
     "h.0.mlp.c_fc.weight 0 64 @1\nh.0.mlp.c_fc.weight 1 (4)(64/tp) @1\n"
     "h.0.mlp.c_fc.weight 0 64 @2\nh.0.mlp.c_fc.weight 1 (4)(64/tp) @2\n",
     NULL},
    {"torch: a negative dim, and both axes on one", FC ": [Shard(-1), Shard(1)]",
     "h.0.mlp.c_fc.weight 0 64 @1\nh.0.mlp.c_fc.weight 1 256/dp.tp @1\n", NULL},
    {"torch: partial", FC ": [Partial(), Shard(0)]\n" BIAS ": [Replicate(), Partial(\"sum\")]\n",
     "h.0.mlp.c_fc.weight 0 64/tp @1\nh.0.mlp.c_fc.weight 1 256 @1\n"
     "h.0.mlp.c_fc.weight unreduced dp @1\nh.0.mlp.c_fc.bias 0 256 @2\n"
     "h.0.mlp.c_fc.bias unreduced tp @2\n",
     NULL},
    {"torch: with their module", FC ": [torch.distributed.tensor.Shard(0), dt.Replicate()]",
     "h.0.mlp.c_fc.weight 0 64/dp @1\nh.0.mlp.c_fc.weight 1 256 @1\n", NULL},
    {"torch: a mesh whose axes stand otherwise",
     "mesh: DeviceMesh((tp=4, dp=2), 'cpu', stride=(2, 1))\n" FC ": [Shard(0), Shard(0)]",
     "h.0.mlp.c_fc.weight 0 64/tp.dp @2\nh.0.mlp.c_fc.weight 1 256 @2\n", NULL},
    {"torch: a mesh of fewer axes", "DeviceMesh((tp=4), 'cpu', stride=(1,))\n" BIAS ": [Shard(0)]",
     "h.0.mlp.c_fc.bias 0 256/tp @2\n", NULL},
    {"torch: a mesh of other names",
     "DeviceMesh((a=2, b=4), 'cpu')\n" BIAS ": [Shard(0), Shard(0)]",
     "h.0.mlp.c_fc.bias 0 256/dp.tp @2\n", "axes-renamed"},
    {"comments and blank lines", "# first\n\n" BIAS ": [R, R]  # none\n\n",
     "h.0.mlp.c_fc.bias 0 256 @3\n", NULL},

    {"jax: nested, as it is written",
     "{'params': {'h_0': {'mlp': {'c_fc': {'kernel': PartitionSpec('dp', None)}}}}}",
     "h.0.mlp.c_fc.weight 0 64/dp @1\nh.0.mlp.c_fc.weight 1 256 @1\n", "name-alike"},
    {"jax: nested, as it is printed",
     "{'params': {'h_0': {'mlp': {'c_fc': {'kernel': " NAMED "}}}}}",
     "h.0.mlp.c_fc.weight 0 64/dp @1\nh.0.mlp.c_fc.weight 1 256/tp @1\n", "name-alike"},
    {"jax: a leaf with its path", "['params']['h_0']['mlp']['c_fc']['kernel'] P('dp', None)",
     "h.0.mlp.c_fc.weight 0 64/dp @1\nh.0.mlp.c_fc.weight 1 256 @1\n", "name-alike"},
    {"jax: keys that are tuples", "{('params', 'h_0', 'mlp', 'c_fc', 'bias'): P('tp')}",
     "h.0.mlp.c_fc.bias 0 256/tp @1\n", "name-alike"},
    {"jax: paths",
     "{\"params/transformer/h/0/mlp/c_fc/bias\": jax.sharding.PartitionSpec(('dp',"
     " 'tp'),)}",
     "h.0.mlp.c_fc.bias 0 256/dp.tp @1\n", "name-alike"},
    {"jax: dims that are not named are whole", FC ": P()\n" BIAS ": P(None)",
     "h.0.mlp.c_fc.weight 0 64 @1\nh.0.mlp.c_fc.weight 1 256 @1\n"
     "h.0.mlp.c_fc.bias 0 256 @2\n",
     NULL},
    {"jax: unconstrained is no pin",
     FC ": P(UNCONSTRAINED, 'tp')\n" FC ": PartitionSpec(PartitionSpec.UNCONSTRAINED, ('tp',))",
     "h.0.mlp.c_fc.weight 1 256/tp @1\nh.0.mlp.c_fc.weight 1 256/tp @2\n", NULL},
    {"jax: unreduced", FC ": P(None, unreduced={'tp'})",
     "h.0.mlp.c_fc.weight 0 64 @1\nh.0.mlp.c_fc.weight 1 256 @1\n"
     "h.0.mlp.c_fc.weight unreduced tp @1\n",
     NULL},
    {"jax: a struct",
     "{'" FC "': ShapeDtypeStruct(shape=(64, 256), dtype=float32, sharding=" NAMED ")}",
     "h.0.mlp.c_fc.weight 0 64/dp @1\nh.0.mlp.c_fc.weight 1 256/tp @1\n", NULL},
    {"jax: tuples and None", "{'" FC "': ('tp', None), '" BIAS "': None}",
     "h.0.mlp.c_fc.weight 0 64/tp @1\nh.0.mlp.c_fc.weight 1 256 @1\n", NULL},
    {"jax: lists of JSON", "{\"" FC "\": [[\"dp\", \"tp\"], null]}",
     "h.0.mlp.c_fc.weight 0 64/dp.tp @1\nh.0.mlp.c_fc.weight 1 256 @1\n", NULL},
    {"jax: wrapped", "FrozenDict({'" BIAS "': Partitioned(value=P('tp'))})",
     "h.0.mlp.c_fc.bias 0 256/tp @1\n", NULL},

    {"shardy: a list", FC ": [{\"dp\"}, {\"tp\":(1)2}]",
     "h.0.mlp.c_fc.weight 0 64/dp @1\nh.0.mlp.c_fc.weight 1 256/tp:(1)2 @1\n", NULL},
    {"shardy: open dims and priorities", FC ": [{?}p2, {\"tp\", ?}p1]",
     "h.0.mlp.c_fc.weight 0 64 open p2 @1\nh.0.mlp.c_fc.weight 1 256/tp open p1 @1\n", NULL},
    {"shardy: replicated and unreduced",
     FC ": <@mesh, [{}, {}], replicated={\"dp\"}, unreduced={\"tp\"}>",
     "h.0.mlp.c_fc.weight 0 64 @1\nh.0.mlp.c_fc.weight 1 256 @1\n"
     "h.0.mlp.c_fc.weight unreduced tp @1\nh.0.mlp.c_fc.weight replicated dp @1\n",
     NULL},
    {"shardy: an attribute", "{\"" FC "\": #sdy.sharding<@mesh, [{}, {\"dp\",\"tp\"}]>}",
     "h.0.mlp.c_fc.weight 0 64 @1\nh.0.mlp.c_fc.weight 1 256/dp.tp @1\n", NULL},
    {"shardy: a module of jax, with locations",
     "#loc1 = loc(\"params['transformer.h.0.mlp.c_fc.weight']\")\n"
     "module @jit_f attributes {mhlo.num_partitions = 8 : i32} {\n"
     "  sdy.mesh @mesh = <[\"dp\"=2, \"tp\"=4]> {stablehlo.mesh = {axes = [{name = \"dp\", size = "
     "2 "
     ": i64}, {name = \"tp\", size = 4 : i64}]}} loc(#loc)\n"
     "  func.func public @main(%arg0: tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, "
     "{\"tp\"}]>} loc(#loc1), %arg1: tensor<256xf32> {sdy.sharding = #sdy.sharding<@mesh, "
     "[{\"dp\"}]>} loc(\"" BIAS "\")) -> (tensor<8x32xf32> {jax.result_info = \"result\"}) {\n"
     "    %0 = stablehlo.add %arg1, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, "
     "[{\"dp\"}]>]>} : tensor<8xf32> loc(#loc12)\n"
     "    %1 = sdy.sharding_constraint %0 <@mesh, [{?}, {}]> : tensor<256x64xf32> "
     "loc(\"transformer.wte.weight\")\n"
     "    return %1 : tensor<8x32xf32> loc(#loc11)\n"
     "  } loc(#loc)\n} loc(#loc)\n#loc = loc(unknown)\n#loc3 = loc(\"/tmp/x.py\":20:6 to :24)\n",
     "h.0.mlp.c_fc.weight 0 64 @4\nh.0.mlp.c_fc.weight 1 256/tp @4\n"
     "h.0.mlp.c_fc.bias 0 256/dp @4\nwte.weight 0 256 open @6\nwte.weight 1 64 @6\n",
     "shardings-follow"},

    {"shardy: what a function gives has no name",
     "module {\n  sdy.mesh @mesh = <[\"dp\"=2, \"tp\"=4]>\n"
     "  func.func public @main(%arg0: tensor<256xf32> {sdy.sharding = #sdy.sharding<@mesh, "
     "[{\"tp\"}]>} loc(\"" BIAS "\")) -> (tensor<256xf32> {sdy.sharding = #sdy.sharding<@mesh, "
     "[{\"dp\"}]>}) {\n",
     "h.0.mlp.c_fc.bias 0 256/tp @3\n", "shardings-follow"},

    {"jax: a comment of the user's own", "{\"" BIAS "\": P(None),  # sharded less: by nothing\n}",
     "h.0.mlp.c_fc.bias 0 256 @1\n", NULL},

    {"paddle: dims_mapping", "{\"" FC "\": [-1, 1], \"" BIAS "\": [0]}",
     "h.0.mlp.c_fc.weight 0 64 @1\nh.0.mlp.c_fc.weight 1 256/tp @1\n"
     "h.0.mlp.c_fc.bias 0 256/dp @1\n",
     NULL},
    {"paddle: several axes", "{\"" FC "\": [[0, 1], -1],\n\"" BIAS "\": [[1]]}",
     "h.0.mlp.c_fc.weight 0 64/dp.tp @1\nh.0.mlp.c_fc.weight 1 256 @1\n"
     "h.0.mlp.c_fc.bias 0 256/tp @2\n",
     NULL},
    {"paddle: with its mesh, in another order",
     "{\"process_mesh\": {\"shape\": [4, 2], \"dim_names\": [\"tp\", \"dp\"]}, \"tensors\": {\"" FC
     "\": {\"dims_mapping\": [0, -1], \"partial\": [1]}}}",
     "h.0.mlp.c_fc.weight 0 64/tp @1\nh.0.mlp.c_fc.weight 1 256 @1\n"
     "h.0.mlp.c_fc.weight unreduced dp @1\n",
     NULL},
    {"paddle: what it calls a weight", "{\"h_0.mlp.c_fc.w_0\": [0, -1], \"h_0.mlp.c_fc.b_0\": [1]}",
     "h.0.mlp.c_fc.weight 0 64/dp @1\nh.0.mlp.c_fc.weight 1 256 @1\n"
     "h.0.mlp.c_fc.bias 0 256/tp @1\n",
     "name-alike"},
    {"paddle: printed placements",
     BIAS ": [Shard(dim=0), Partial(reduce_type=SUM)]\n" BIAS
          ": \"[Replicate(), Shard(dim=0, shard_order=0)]\"",
     "h.0.mlp.c_fc.bias 0 256/dp @1\nh.0.mlp.c_fc.bias unreduced tp @1\n"
     "h.0.mlp.c_fc.bias 0 256/tp @2\n",
     NULL},
    {"paddle: an order of its own",
     BIAS ": [Shard(dim=0, shard_order=1), Shard(dim=0, "
          "shard_order=0)]",
     "h.0.mlp.c_fc.bias 0 256/tp.dp @1\n", NULL},
    {"paddle: split_factor", FC ": [Replicate(), Shard(dim=1, split_factor=4)]",
     "h.0.mlp.c_fc.weight 0 64 @1\nh.0.mlp.c_fc.weight 1 (4)(64/tp) @1\n", NULL},
    {"paddle: print(dist_attr)",
     FC " {process_mesh: {shape: [2,4], process_ids: [0,1,2,3,4,5,6,7], dim_names: [dp,tp]}, "
        "dim_mappings: [[0,1] [] ], batch_dim: 0, chunk_id: 0, skip_check_mesh: 0, dynamic_dims: "
        "[0,0], annotated: [], partial: [], split_factor: .}",
     "h.0.mlp.c_fc.weight 0 64/dp.tp @1\nh.0.mlp.c_fc.weight 1 256 @1\n", NULL},
    {"paddle: print(tensor)",
     FC
     ": Tensor(shape=[64, 256], dtype=float32, place=Place(cpu), stop_gradient=True, "
     "process_mesh={shape: [2,4], process_ids: [0,1,2,3,4,5,6,7], dim_names: [dp,tp]}, "
     "placements=[Shard(dim=0), Replicate()], GlobalDenseTensor=\n       [[0., 0.],\n [0., 0.]])",
     "h.0.mlp.c_fc.weight 0 64/dp @1\nh.0.mlp.c_fc.weight 1 256 @1\n", NULL},

    {"a module of Python with loops",
     "\"\"\"A plan: {\n\"\"\"\nimport torch\n\nR = Replicate()\nMESH_SHAPE = (2, 4)\n"
     "MESH_DIM_NAMES = (\"dp\", \"tp\")\nPLACED_DIMS = (\"tp\",)\nPARAMETERS = {\n"
     "    \"transformer.wte.weight\": ((256, 64), (R,)),  # 256,64\n}\nfor i in range(1, 2):\n"
     "    PARAMETERS |= {\n        f\"transformer.h.{i}.mlp.c_fc.bias\": ((256,), (Shard(0),)),\n"
     "    }\nOTHER = {\"no\": 1}\n\ndef f(mesh):\n    x = {\n        1: 2}\n    return '''}'''\n",
     "wte.weight 0 256 @10\nwte.weight 1 64 @10\nh.1.mlp.c_fc.bias 0 256/tp @14\n", NULL},
    {"a module without our names", "import x\nspecs = {\n    '" BIAS "': P('dp'),\n}\n",
     "h.0.mlp.c_fc.bias 0 256/dp @3\n", NULL},

    {"wrapped modules",
     "_orig_mod.module." FC ": [R, R]\n"
     "model._fsdp_wrapped_module.transformer.h.0.mlp.c_fc.bias: [R, R]",
     "h.0.mlp.c_fc.weight 0 64 @1\nh.0.mlp.c_fc.weight 1 256 @1\nh.0.mlp.c_fc.bias 0 256 @2\n",
     "2 names are each matched"},
    {"a name without its model", "h.0.mlp.c_fc.bias: [R, R]", "h.0.mlp.c_fc.bias 0 256 @1\n",
     "'h.0.mlp.c_fc.bias' is 'transformer.h.0.mlp.c_fc.bias'"},
    {"torch's Linear, which the exporter turned", "lm_head.weight: [Replicate(), Shard(0)]",
     "lm_head.weight 0 64 @1\nlm_head.weight 1 256/tp @1\n", "transposed"},

    {"left out: a name", BIAS ": [R, R]\ntransformer.wpe.weigth: [R, R]",
     "h.0.mlp.c_fc.bias 0 256 @1\n",
     "sharding-dropped:2 the sharding of 'transformer.wpe.weigth' "
     "is left out: no tensor is named 'transformer.wpe.weigth' [did you mean "
     "'transformer.wpe.weight'?]"},
    {"left out: a name that several have", BIAS ": [R, R]\nmlp.c_fc.weight: [R, R]",
     "h.0.mlp.c_fc.bias 0 256 @1\n", "several tensors"},
    {"left out: a rank", BIAS ": [0]\n" FC ": [0]", "h.0.mlp.c_fc.bias 0 256/dp @1\n",
     "the tensor has 2 dims"},
    {"left out: a dim", BIAS ": [R, R]\n" FC ": [R, Shard(2)]", "h.0.mlp.c_fc.bias 0 256 @1\n",
     "there is no dim 2 in a tensor of 2 dims"},
    {"left out: an axis", BIAS ": [R, R]\n" FC ": P('ddp')", "h.0.mlp.c_fc.bias 0 256 @1\n",
     "this mesh has no axis 'ddp' [did you mean 'dp'?]"},
    {"left out: an axis by number", BIAS ": [0]\n" FC ": [0, 2]", "h.0.mlp.c_fc.bias 0 256/dp @1\n",
     "there is no axis 2 in a mesh of 2 axes"},
    {"left out: an axis twice", BIAS ": [0]\n" FC ": P('dp', 'dp')",
     "h.0.mlp.c_fc.bias 0 256/dp @1\n", "axis 'dp' is used twice"},
    {"left out: a count", BIAS ": [R, R]\n" FC ": [R, R, R]", "h.0.mlp.c_fc.bias 0 256 @1\n",
     "3 placements for the 2 axes of the mesh dp=2,tp=4"},
    {"left out: a shape", BIAS ": [R, R]\n" FC " Spec(f32[64, 64](RR))",
     "h.0.mlp.c_fc.bias 0 256 @1\n", "it is 64,64 in the text and 64,256 in the model"},
    {"left out: what no digits say", BIAS ": [R, R]\n" FC ": [R, _StridedShard(1, 7)]",
     "h.0.mlp.c_fc.bias 0 256 @1\n", "sharding-dropped:2"},
};

static void a_text_is_read(void **state)
{
    const ReadRow *row = *state;
    Opened opened = tiny();
    Journal journal;
    Error err;
    if (!read_text(opened.session, str_from(row->text), &journal, &err))
        fail_msg("line %d:%d: %s", err.line, err.column, err.text);
    assert_string_equal(decisions_text(&opened, &journal), row->want);
    const char *notes = notes_text(&opened);
    if (row->notes ? !strstr(notes, row->notes) : notes[0] != '\0')
        fail_msg("notes: %s", notes);
    close_it(&opened);
}

/* ---- what is no such text ---- */

typedef struct {
    const char *name, *text;
    int line, column; /* 0: of none */
    const char *want;
} BadRow;

static BadRow bad_rows[] = {
    {"nothing", "", 0, 0, "the text contains no sharding"},
    {"comments only", "# nothing\n", 0, 0, "the text contains no sharding"},
    {"prose", "hello world\n", 1, 7, "this is not a sharding"},
    {"a name alone", "\nwte\n", 2, 1, "expected a line \"name: sharding\""},
    {"a number", "{\"wte\": 3}", 1, 9, "this is not a sharding"},
    {"a word that is no placement", "{\n  \"" BIAS "\": [Sharp(0), Replicate()]}", 2, 37,
     "'Sharp' is not a placement"},
    {"no comma", BIAS ": [Shard(0) Replicate()]", 1, 42, "expected ']'"},
    {"a bracket that stays open", "{\"" BIAS "\": [Shard(0), R}", 1, 47, "expected ']'"},
    {"a dict that stays open", "{\"" BIAS "\": [R, R], ", 1, 43, "expected the name"},
    {"a text that stays open", "{\"" BIAS ": [R, R]}", 1, 2, "a string has no closing quote"},
    {"no dim", BIAS ": [Shard(), R]", 1, 33, "Shard needs a dim"},
    {"no reduction", BIAS ": [Partial(\"no\"), R]", 1, 41, "'no' is not a reduction"},
    {"an axis without quotes", BIAS ": P(dp)", 1, 34, "'dp' is neither an axis in quotes nor None"},
    {"a tail", BIAS ": P('dp') x", 1, 40, "expected the end"},
    {"another mesh of the same names", "mesh: DeviceMesh((dp=2, tp=2), 'cpu')\n" BIAS ": [R, R]", 1,
     17, "the text is for the mesh dp=2,tp=2, but this mesh is dp=2,tp=4"},
    {"another mesh of sdy", "sdy.mesh @mesh = <[\"dp\"=2, \"tp\"=8]>\n" BIAS ": [{\"dp\"}]", 1, 18,
     "the text is for the mesh dp=2,tp=8"},
    {"another mesh in a sharding",
     BIAS ": NamedSharding(mesh=Mesh('dp': 4, 'tp': 2), spec=P('dp'))", 1, 55, "dp=4,tp=2"},
    {"nothing fits", "w: [R, R]\nv: [R, R]\n", 1, 0,
     "none of its 2 shardings fits the model; the first one: no tensor is named 'w'"},
    {"shardy: coarser than the plan it was exported from",
     "module {\n  sdy.mesh @mesh = <[\"dp\"=2, \"tp\"=4]>\n"
     "  func.func public @main(\n      // sharded less than (3)(256/tp), which sdy cannot express\n"
     "      %arg0: tensor<256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>} loc(\"" BIAS
     "\")) {\n",
     4, 0,
     "1 sharding of the text is coarser than in the plan it was exported from: " BIAS
     " was (3)(256/tp)"},
    {"jax: coarser than the plan it was exported from",
     "{\"" BIAS "\": P(None),  # (4)(64/tp): sharded less\n}", 1, 0, BIAS " was (4)(64/tp)"},
    {"pins of activations that the plan has",
     "# x\n# Pins of activations are not in this file: Add out, Mul out and 3 more\n" BIAS
     ": [R, R]\n",
     2, 0, "the text lacks pins of activations that the plan has: Add out, Mul out and 3 more"},
    {"a loop that never ends",
     "PARAMETERS = {}\nfor i in range(1000000000):\n    PARAMETERS |= {f\"{i}\": [R]}\n", 2, 27,
     "a loop of more than"},
};

static void a_bad_text_is_an_error(void **state)
{
    const BadRow *row = *state;
    Opened opened = tiny();
    Journal journal;
    Error err;
    assert_false(read_text(opened.session, str_from(row->text), &journal, &err));
    if (err.line != row->line || err.column != row->column || !strstr(err.text, row->want))
        fail_msg("%d:%d: %s", err.line, err.column, err.text);
    assert_int_equal(err.kind, ERROR_UNREADABLE);
    assert_string_equal(err.file, "pins.txt");
    assert_true(err.hint[0]);
    assert_int_equal(opened.session->notes.n, 0);
    close_it(&opened);
}

/* Brackets in brackets end in an error, in every form. */
static void deep_texts_are_refused(void **state)
{
    (void)state;
    static const char *const opens[] = {"{\"a\":",
                                        "[",
                                        "(",
                                        "w: [",
                                        "w: P(",
                                        "{\"w\": {",
                                        "<",
                                        "OrderedDict([('a', ",
                                        "w: DTensor(placements="};
    enum { DEEP = 200000 };
    Opened opened = tiny();
    for (size_t i = 0; i < COUNT_OF(opens); i++) {
        Buf text = buf_new(opened.arena);
        for (int n = 0; n < DEEP; n++)
            buf_puts(&text, opens[i]);
        Journal journal;
        Error err;
        assert_false(read_text(opened.session, buf_str(&text), &journal, &err));
    }
    close_it(&opened);
}

/* 10 MB, each line of another name: a matter of a second or two, and a thousand warnings. */
static void a_large_text_is_read(void **state)
{
    (void)state;
    Opened opened = tiny();
    Buf text = buf_new(opened.arena);
    for (int i = 0; text.n < 10000000; i++)
        buf_printf(&text, "some.module.%d.weight: [Shard(0), Replicate()]\n", i);
    buf_puts(&text, BIAS ": [R, Shard(0)]\n");
    Journal journal;
    Error err;
    assert_true(read_text(opened.session, buf_str(&text), &journal, &err));
    assert_int_equal(journal.n_done, 1);
    assert_int_equal(opened.session->notes.n, 1001);
    assert_non_null(strstr(opened.session->notes.at[1000].text, "more shardings are left out"));
    close_it(&opened);
}

/* ---- there and back ---- */

static const char *const models[] = {"gpt2.onnx",     "gpt2-dynamo.onnx", "llama-tiny.onnx",
                                     "tiny-gpt.onnx", "tiny-conv.onnx",   "resnet50.onnx",
                                     "vit_b_16.onnx", "mixtral-8x7b.json"};
static const char *const policies[] = {
    "dp", "tp", "fsdp", "tests/policies/megatron.lua", "megatron_sp", "hybrid3d", "expert"};
static const ShardingView views[] = {VIEW_PLACEMENTS, VIEW_PLACEMENTS_LONG, VIEW_PARTITION_SPEC,
                                     VIEW_SHARDY, VIEW_DIMS_MAPPING};

/* The parameters whose shardings that view says, as one dict. */
static int write_all(const Session *session, ShardingView view, bool *written, Buf *out)
{
    int n = 0;
    buf_puts(out, "{");
    for (int32_t t = 0; t < session->graph->n_tensors; t++) {
        Buf value = buf_new(out->arena);
        written[t] =
            tensor_is_parameter(session->inferred, t) && session->plan->moved->sharding[t] >= 0 &&
            sharding_format(plan_sharding(session->plan, t), session->mesh, view, &value, NULL);
        if (!written[t])
            continue;
        buf_printf(out, "%s\"%s\": %s", n++ ? ",\n" : "", tensor_name(session->graph, t), value.s);
    }
    buf_puts(out, "}\n");
    return n;
}

/* Each dim is decided as it is, and the plan of these decisions has it so. */
static void check_back(Session *session, const Journal *journal, const bool *written)
{
    int n_dims = 0;
    for (int i = 0; i < journal->n_done; i++) {
        const Decision *it = &journal->decisions.at[i];
        assert_int_equal(it->kind, PIN_TENSOR_DIM);
        assert_true(written[it->place]);
        assert_true(cut_equal(it->cut, &plan_sharding(session->plan, it->place)->dim[it->dim]));
    }
    for (int32_t t = 0; t < session->graph->n_tensors; t++)
        n_dims += written[t] ? (int)plan_sharding(session->plan, t)->n_dims : 0;
    assert_int_equal(journal->n_done, n_dims);
    PlanRequest request = session_request(session, journal);
    request.propagation = NULL;
    request.before = NULL;
    Plan *plan = plan_make(&request, NULL);
    assert_non_null(plan);
    for (int32_t t = 0; t < session->graph->n_tensors; t++)
        if (written[t])
            assert_true(sharding_equal(plan_sharding(plan, t), plan_sharding(session->plan, t)));
    plan_free(plan);
}

static void every_notation_reads_back(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT_OF(models); m++)
        for (size_t p = 0; p < COUNT_OF(policies); p++) {
            const char *mesh = strcmp(policies[p], "hybrid3d") == 0 ? "pp=2,dp=2,tp=2"
                               : strcmp(policies[p], "expert") == 0 ? "dp=2,ep=2"
                                                                    : "dp=2,tp=2";
            Opened opened = open_with(models[m], mesh, policies[p], NULL);
            if (strstr(opened.err.text, "found no two matmuls")) {
                close_it(&opened);
                continue;
            }
            assert_non_null(opened.session);
            bool *written = arena_array(opened.arena, bool, opened.session->graph->n_tensors);
            for (size_t v = 0; v < COUNT_OF(views); v++) {
                Buf text = buf_new(opened.arena);
                Journal journal;
                Error err;
                if (write_all(opened.session, views[v], written, &text) == 0)
                    continue;
                if (!read_text(opened.session, buf_str(&text), &journal, &err))
                    fail_msg("%s %s %s: %d:%d %s", models[m], policies[p],
                             sharding_view_name(views[v]), err.line, err.column, err.text);
                check_back(opened.session, &journal, written);
            }
            close_it(&opened);
        }
}

/* The modules that are exported, read back: what the system says exactly is as it was. */
static void exports_read_back(void **state)
{
    (void)state;
    static const struct {
        const char *system;
        ShardingView view;
    } systems[] = {{"dtensor", VIEW_PLACEMENTS},
                   {"dtensor-exact", VIEW_PLACEMENTS},
                   {"jax", VIEW_PARTITION_SPEC},
                   {"shardy", VIEW_SHARDY},
                   {"paddle", VIEW_PLACEMENTS}};
    static const char *const names[] = {"gpt2.onnx", "llama-tiny.onnx", "resnet50.onnx"};
    for (size_t m = 0; m < COUNT_OF(names); m++)
        for (size_t s = 0; s < COUNT_OF(systems); s++) {
            Opened opened = open_with(names[m], "dp=2,tp=4", "tests/policies/megatron.lua", NULL);
            Session *session = opened.session;
            ExportRequest request = {.drawing = {.session = session}};
            ExportNotes notes = {.arena = opened.arena};
            Buf text = buf_new(opened.arena), scratch = buf_new(opened.arena);
            Journal journal;
            Error err = {0};
            assert_true(export_write(export_format_find(str_from(systems[s].system), true),
                                     &request, &text, &notes, &err));
            if (!read_text(session, buf_str(&text), &journal, &err))
                fail_msg("%s: %d:%d %s", systems[s].system, err.line, err.column, err.text);
            PlanRequest planned = session_request(session, &journal);
            Plan *plan = plan_make(&planned, NULL);
            int n = 0;
            for (int32_t t = 0; t < session->graph->n_tensors; t++)
                if (tensor_is_parameter(session->inferred, t) &&
                    session->plan->moved->sharding[t] >= 0 &&
                    sharding_format(plan_sharding(session->plan, t), session->mesh, systems[s].view,
                                    &scratch, NULL)) {
                    if (!sharding_equal(plan_sharding(plan, t), plan_sharding(session->plan, t)))
                        fail_msg("%s %s: %s", names[m], systems[s].system,
                                 tensor_name(session->graph, t));
                    n++;
                }
            assert_true(n > 10);
            plan_free(plan);
            close_it(&opened);
        }
}

/* ---- in a session ---- */

static const char *write_file(const Opened *opened, const char *text)
{
    char path[] = "/tmp/dimscope_pins_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    assert_true(file_write(path, str_from(text), NULL));
    return arena_str(opened->arena, str_from(path));
}

static const char *cut_of(const Opened *opened, const char *tensor, int dim)
{
    int32_t t = naming_find(opened->session->naming, str_from(tensor), NULL);
    Buf out = buf_new(opened->arena);
    assert_true(t >= 0);
    cut_format(&plan_sharding(opened->session->plan, t)->dim[dim], opened->session->mesh, &out);
    return out.s;
}

/* They stay when the policy is run again, also on another mesh. */
static void pins_outlive_the_policy(void **state)
{
    (void)state;
    Opened first = tiny();
    const char *path = write_file(&first, FC ": P('dp', None)\n");
    Opened opened = open_with("tiny-gpt.onnx", "dp=2,tp=4", "tests/policies/megatron.lua", path);
    assert_non_null(opened.session);
    assert_string_equal(cut_of(&opened, FC, 0), "64/dp");
    assert_true(session_rerun_policy(opened.session, &opened.err));
    assert_string_equal(cut_of(&opened, FC, 0), "64/dp");
    assert_true(session_set_mesh(opened.session, "dp=4,tp=2", &opened.err));
    assert_string_equal(cut_of(&opened, FC, 0), "64/dp");
    assert_true(session_set_mesh(opened.session, "a=4,tp=2", &opened.err));
    assert_string_equal(cut_of(&opened, FC, 1), "256/tp");
    bool said = false;
    for (int i = 0; i < opened.session->notes.n; i++)
        said |= strcmp(opened.session->notes.at[i].code, "pins-gone") == 0;
    assert_true(said);
    unlink(path);
    close_it(&opened);
    close_it(&first);
}

/* With a policy, what an export could not express is the policy's. */
static void a_coarser_text_adds_to_a_policy(void **state)
{
    (void)state;
    Opened first = tiny();
    const char *path = write_file(&first, "{\"" FC "\": P('dp', None),  # 64/dp,(4)(64/tp): "
                                          "sharded less\n}");
    Opened opened = open_with("tiny-gpt.onnx", "dp=2,tp=4", "tests/policies/megatron.lua", path);
    assert_non_null(opened.session);
    assert_string_equal(cut_of(&opened, FC, 0), "64/dp");
    assert_string_equal(cut_of(&opened, FC, 1), "256/tp");
    assert_non_null(strstr(notes_text(&opened), "sharded-less"));
    Opened alone = open_with("tiny-gpt.onnx", "dp=2,tp=4", NULL, path);
    assert_null(alone.session);
    assert_non_null(strstr(alone.err.text, FC " was 64/dp,(4)(64/tp)"));
    unlink(path);
    close_it(&opened);
    close_it(&alone);
    close_it(&first);
}

/* A plan file still is one; and one of another model is no silent nothing. */
static void plan_files_are_pins_too(void **state)
{
    (void)state;
    Opened first = tiny();
    const char *good = write_file(&first, "{\"dimscope_plan\": 2, \"decisions\": [{\"kind\": "
                                          "\"pin\", \"tensor\": \"" FC "\", \"dim\": 0, \"cut\": "
                                          "\"64/tp\"}]}");
    const char *other = write_file(&first, "{\"dimscope_plan\": 2, \"decisions\": [{\"kind\": "
                                           "\"pin\", \"tensor\": \"conv1\", \"dim\": 0, \"cut\": "
                                           "\"64/tp\"}]}");
    Opened opened = open_with("tiny-gpt.onnx", "dp=2,tp=4", NULL, good);
    assert_non_null(opened.session);
    assert_string_equal(cut_of(&opened, FC, 0), "64/tp");
    Opened wrong = open_with("tiny-gpt.onnx", "dp=2,tp=4", NULL, other);
    assert_null(wrong.session);
    assert_string_equal(wrong.err.text, "none of its 1 decisions fits the model");
    assert_int_equal(wrong.err.kind, ERROR_UNREADABLE);
    assert_non_null(strstr(wrong.err.hint, "no tensor is named 'conv1'"));
    unlink(good);
    unlink(other);
    close_it(&opened);
    close_it(&wrong);
    close_it(&first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_texts_are_refused),
        cmocka_unit_test(a_large_text_is_read),
        cmocka_unit_test(every_notation_reads_back),
        cmocka_unit_test(exports_read_back),
        cmocka_unit_test(pins_outlive_the_policy),
        cmocka_unit_test(a_coarser_text_adds_to_a_policy),
        cmocka_unit_test(plan_files_are_pins_too),
    };
    return run_rows("read", read_rows, a_text_is_read) +
           run_rows("bad", bad_rows, a_bad_text_is_an_error) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
