/* Words about how an op can be partitioned: annotations, rules, strategies, templates. */
#include "tui/help/glossary.h"

#define OP_VIEW "Op view (2)"
#define NOTATIONS_LINE "Op view (2), line NOTATIONS"
#define RULE_LINE "Op view (2), line RULE"

const GlossaryTerm glossary_ops[] = {
    {"dimop|dimension-annotated operator|annotation", "nnScaler",
     "An operator that is described by an annotation of its dims, such as \"m k+, k+ n -> m n\". "
     "Shapes and possible partitions follow from the annotation.",
     "An annotation is read into an op space: its identifiers are the index dims. See 'dimscope "
     "help annotations' for the whole language.",
     "dimscope rule MatMul", "dimop       m k+, k+ n -> m n", NOTATIONS_LINE},
    {"identifier", "nnScaler",
     "A name in an annotation; dims with the same identifier have the same length. A number is an "
     "identifier too: a dim of that length, which is never sharded.",
     "An identifier is an index dim of the op: sharding it shards every operand that has it.",
     "dimscope rule Gemm", "INDEX DIM", "Op view (2), table INDEX"},
    {"reduction|reduce|+|^", "nnScaler",
     "The mark behind an identifier: nothing, + or ^. With nothing the dim can be sharded, with + "
     "it is summed over and leaves the output partial, with ^ it is never sharded.",
     "The role of an index dim: map, reduce or frozen.", "dimscope rule Softmax", "frozen",
     "Op view (2), column role"},
    {"hidden dim|hidden dimension|brackets", "nnScaler",
     "One of several identifiers in one dim, as h and t in \"(h t) k -> h t k\". Its size comes "
     "from the other operands or from an argument of the same name.",
     "The tensor dim is a product of index dims, the first one major; each can be sharded.",
     "dimscope rule Reshape", "a (b c), 2 -> (a b) c", RULE_LINE},
    {"star|*|dynamic dimension", "nnScaler",
     "The identifier * stands for any number of dims, the same ones in all operands that have it. "
     "\"* t -> a * t\" with two leading dims is \"b c t -> a b c t\".",
     "Expanded for the rank of the inputs; 'dimscope rule' shows the result.",
     "dimscope rule MatMul --shapes 2x3x4x5,5x6", "b0 b1 m k+, k+ n -> b0 b1 m n", RULE_LINE},
    {"question mark|?|non-tensor", "nnScaler",
     "An operand marked ? is no tensor, or is only ever replicated.",
     "The operand has no index dims: every rank gets all of it.", "dimscope help annotations", "?",
     "Op view (2), OPERANDS"},
    {"spatial partition", "nnScaler",
     "A partition along an identifier without a mark: every tensor with that identifier is "
     "sharded, all others are replicated.",
     "Sharding a map index dim.",
     "dimscope rule MatMul --shapes 8x16,16x4 -m tp=2 --in '[S(0)];[R]' --profile torch",
     "S(0),R -> S(0)", "Op view (2), role map"},
    {"value partition|numerical partition|numerically partitioned", "nnScaler",
     "A partition along an identifier with +: each rank computes an addend of the output, and the "
     "sum over the ranks is the result.",
     "Sharding a reduce index dim; the output is partial until an all-reduce or a reduce-scatter.",
     "dimscope plan samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron", "8/dp,1024,768 Σtp",
     "Graph view (1): Σtp behind a shape"},
    {"transform rule|transformation rule|TransformRule|transform_rules|D|V", "nnScaler",
     "What a partition does to each operand: D(i) shards dim i, R replicates, V splits the value "
     "into addends. \"D(1), D(0) -> V\" is the matmul that is split along k.",
     "The projections of an index dim onto the operands; eval's verb anno.partition prints a rule "
     "in nnScaler's words.",
     "echo '{\"do\":\"anno.partition\",\"annos\":[\"m k+, k+ n -> m n\"],\"inputs\":[{\"shape\":"
     "[8,16]},{\"shape\":[16,4]}],\"idx\":0,\"dim\":1,\"num\":2}' | dimscope eval",
     "\"inputs\":[\"D(1)\",\"D(0)\"],\"outputs\":[\"V\"]", OP_VIEW},
    {"register_op|custom operator", "nnScaler",
     "The function that registers a Python function as an operator with an annotation.",
     "register_op in a policy file adds an operator in one line of Lua, with a kernel if it is to "
     "be run and proven. samples/tutorial/3-operator.md builds one.",
     "dimscope help lua.register_op", "Adds an operator by its annotation",
     "Op view (2), line RULE: the file and line that registered it"},
    {"emit_fn|code_impl_pattern|input_gen_fn", "nnScaler",
     "Arguments of register_op: how code for the operator is generated, and which inputs its "
     "profiler uses.",
     "input_gen gives the values for runs, kernel computes the operator, and an export names the "
     "function by the operator's name.",
     "dimscope help lua.register_options", "kernel", OP_VIEW},
    {"inplace operator|in-place", "nnScaler",
     "An operator that changes its inputs. The graph is in single-assignment form, so such an "
     "operator must return every input that it changes.",
     "Each tensor is made once. register_op's inplace = {[0] = 0} says that output 0 is the new "
     "value of input 0.",
     "dimscope export samples/models/tiny-gpt.onnx -m tp=2 --csv --table tensors", "made_by",
     "Tensor view (3), MADE BY"},
    {"optional tensor", "nnScaler",
     "An input that may be absent. An annotation function returns one annotation with it and one "
     "without it.",
     "register_op takes a function of the inputs; an absent input is nil.",
     "dimscope rule LayerNormalization --shapes 8x16,16", "d^", OP_VIEW},
    {"SPMD rule|spmd|inference rule|register rule|PD_REGISTER_SPMD_RULE", "Paddle",
     "How an operator infers the dims_mappings of its outputs from its inputs, and the reverse.",
     "--trace shows a rule step by step; the propagator spmd applies them; register_rule in Lua "
     "adds one. See 'dimscope help rules'.",
     "dimscope rule MatMul --shapes 64x32,32x48 -m x=2,y=3 --in '[0,-1];[-1,1]' --trace",
     "letters: mk, kn -> mn", "Events view (ge) of a plan with --propagate spmd"},
    {"InferForward|infer_forward|MatmulInferSpmd|InferSpmd|forward rule", "Paddle",
     "The direction of a rule that infers outputs from inputs.", "dimscope rule OP --trace.",
     "dimscope rule Relu --shapes 64x36 -m '[[0,1],[2,3]]' --in '[0,-1]' --trace", "[0,-1]",
     "Why pane (w)"},
    {"InferBackward|infer_backward|MatmulInferSpmdReverse|InferSpmdReverse|reverse rule|"
     "backward rule",
     "Paddle", "The direction of a rule that infers inputs from outputs.",
     "dimscope rule OP --trace --backward; shapes of outputs follow an arrow, and --in gives "
     "their mappings.",
     "dimscope rule Add --shapes '96x24x48,96x24x48->96x24x48' -m '[[0,1,2],[3,4,5]]' --in "
     "'[0,1,-1]' --trace --backward",
     "add, backward", "Why pane (w)"},
    {"einsum notation|einsum|ShardingMergeForTensors|GetDimsMappingForAxes", "Paddle",
     "A letter for each dim, the same letter for dims that belong together: ij, jk -> ik. "
     "Mappings of the inputs are merged letter by letter, then read off for the output.",
     "The letters of --trace; merging is spmd.merge in Lua.",
     "dimscope rule MatMul --shapes 64x32,32x48 -m x=2,y=3 --in '[0,-1];[-1,1]' --trace",
     "m: x, n: y", NOTATIONS_LINE},
    {"DimTrans|DimsTrans|InferFromDimTrans|MakeReshapeDimTrans|transforms", "Paddle",
     "The way a dim of a reshaped output is made from dims of the input: Flatten, Split, "
     "Singleton or InputDim.",
     "The notation 'transforms' of an op, and the lines of --trace for reshaping ops.",
     "dimscope rule Reshape --shapes 6x12x24x48 --attr 'shape=[72,24,6,8]' -m a=2,b=3,c=2 --in "
     "'[0,-1,-1,1]' --trace",
     "Split(InputDim(3),", NOTATIONS_LINE},
    {"Flatten", "Paddle",
     "A DimTrans: the output dim consists of several input dims, the first one major.",
     "A tensor dim with several index dims, written (a b).",
     "dimscope rule Reshape --shapes 6x12 --attr 'shape=[72]' -m x=2 --in '[0,-1]' --trace",
     "Flatten(", NOTATIONS_LINE},
    {"Split", "Paddle",
     "A DimTrans: Split(InputDim(3), (6, 8), 1) is the second of the two dims of sizes 6 and 8 "
     "into which input dim 3 is split.",
     "An input dim with several index dims, written (d e). The ONNX operator Split is another "
     "thing: dimscope rule Split.",
     "dimscope rule Reshape --shapes 48 --attr 'shape=[6,8]' -m x=2 --in '[0]' --trace",
     "Split(InputDim(0),", NOTATIONS_LINE},
    {"Singleton", "Paddle", "A DimTrans: the output dim has size 1.",
     "A dim of size 1 has no index dim, so no axis shards it.",
     "dimscope rule Reshape --shapes 8 --attr 'shape=[1,8]' -m x=2 --in '[0]' --trace", "Singleton",
     NOTATIONS_LINE},
    {"InputDim", "Paddle", "A DimTrans: the output dim is the same as that dim of the input.",
     "An index dim that is alone in both.",
     "dimscope rule Reshape --shapes 4x6x8 --attr 'shape=[4,48]' -m x=2 --in '[0,-1,-1]' --trace",
     "InputDim(0)", NOTATIONS_LINE},
    {"rule-based|register_prop_rule|OutputSharding|prop rule", "PyTorch, veScale",
     "A way to register sharding propagation: a function of the inputs' placements as they are, "
     "which returns the placements of the outputs or refuses.",
     "register_strategy in Lua with {rule = function ..}; --profile rules shows its answer.",
     "dimscope help lua.register_strategy", "a rule that", OP_VIEW},
    {"strategy|strategy-based|OpStrategy|PlacementStrategy|register_op_strategy",
     "PyTorch, veScale",
     "One legal combination of placements of an op's inputs and outputs. A strategy-based "
     "operator lists all, and the one that is cheapest to reach is chosen.",
     "The rows of dimscope rule --profile; the propagator strategy chooses among them, "
     "register_strategy in Lua adds rows. See 'dimscope help strategies'.",
     "dimscope rule MatMul --shapes 12x8,8x16 -m tp=4 --in '[S(1)];[S(0)]' --profile torch",
     "S(1),S(0) -> P(sum)   0.000 us  chosen", "Why pane (w) with the propagator strategy"},
    {"sharding rule|OpShardingRule", "Shardy",
     "The factors of an op and the dims they belong to: ([i, k], [k, j])->([i, j]).",
     "The notation 'shardy' of an op.", "dimscope rule MatMul", "([i, k], [k, j])->([i, j])",
     NOTATIONS_LINE},
    {"factor", "Shardy",
     "A part of dims that is sharded alike in all operands of an op: pass-through, reduction, "
     "need-replication or permutation.",
     "An index dim of the op.",
     "echo '{\"do\":\"factor.rule\",\"op\":\"stablehlo.add\",\"inputs\":[{\"shape\":[2,4]},"
     "{\"shape\":[2,4]}],\"outputs\":[{\"shape\":[2,4]}]}' | dimscope eval",
     "\"type\":\"pass_through\"", NOTATIONS_LINE},
    {"op space|index space|index dim", "dimscope, Tapestry",
     "The space of the smallest units of work of an op; each tensor dim is a projection of it. "
     "An index dim is map, reduce or frozen.",
     "The one form into which annotations, templates and built-in operators are read.",
     "dimscope rule Conv", "INDEX DIM", "Op view (2), table INDEX"},
    {"metakernel|kernel|operation", "Tapestry",
     "The symbolic counterpart of a kernel: from shapes and parameters of inputs it derives shapes "
     "of outputs, the index space and the projections. A kernel is the name of external code, an "
     "operation is one use of it in a graph.",
     "A row of dimscope's operators, a template or a register_op: what 'dimscope rule' shows.",
     "dimscope rule tapestry::matmul", "tapestry::matmul  (template)", OP_VIEW},
    {"template|metakernel template", "Tapestry",
     "A text that describes a metakernel: patterns of input shapes, the index space, and a "
     "projection for each tensor.",
     "template \"NAME\" {..} in a policy file; scripts/ops/ has examples. See 'dimscope help "
     "templates'.",
     "dimscope rule tapestry::matmul_thread", "ipf = ", NOTATIONS_LINE},
    {"ipf|index projection function", "Tapestry",
     "A function from points of the index space to ranges of a tensor: an affine map and a "
     "window, as \"[..., 1, 0] :> [..., 1, $inner]\".",
     "A projection; the table OPERAND of dimscope rule shows it dim by dim.",
     "echo '{\"do\":\"template.expand\",\"text\":\"[1, 0, 1] :> [1, 6, 1]\",\"rank\":3,"
     "\"index_rank\":3}' | dimscope eval",
     "\"window\":[1,6,1]", NOTATIONS_LINE},
    {"projection|affine map|affineMap", "Tapestry",
     "The matrix and offset that take an index to the first element that it reads or writes.",
     "A projection onto a tensor dim: its index dims with steps, an offset and a window.",
     "echo '{\"do\":\"ipf.point\",\"ipf\":{\"projection\":[[1,0],[0,2],[1,2]],\"offset\":[4,5,6],"
     "\"window\":[1,1,1]},\"x\":[1,1]}' | dimscope eval",
     "\"start\":[5,7,9]", "Op view (2), OPERANDS"},
    {"range|ZRange", "Tapestry", "A box of integer points: it contains its start, not its end.",
     "The part of a tensor that a rank holds, and eval's verbs range.*.",
     "echo '{\"do\":\"range.split\",\"range\":{\"start\":[0,0],\"end\":[2,3]},\"dim\":1,"
     "\"chunks\":[2,1]}' | dimscope eval",
     "{\"start\":[0,2],\"end\":[2,3]}", "Tensor view (3), SLICES"},
    {"augmented row|augmented matrix|insertRow", "Tapestry",
     "A row of a projection written with its offset and window: \"1 0 | -1 | 1\".",
     "transform = \"insertRow\" in a template adds such a row; eval's verb ipf.rows reads and "
     "prints them.",
     "echo '{\"do\":\"ipf.rows\",\"rows\":[\"1 0 | -1 | 1\",\"0 2 | 0 | 2\"]}' | dimscope eval",
     "\"offset\":[-1,0]", NOTATIONS_LINE},
    {"shape pattern|pattern|ellipsis", "Tapestry",
     "A text that input shapes are matched with: \"[$batch..., $h, $w]\" binds $h and $w, and the "
     "rest to $batch.",
     "The field shape of a template.",
     "echo '{\"do\":\"template.match\",\"pattern\":\"[$batch..., $h, $w]\",\"shape\":[2,5,6]}' | "
     "dimscope eval",
     "\"batch\":[2]", NOTATIONS_LINE},
    {"halo|window", "dimscope, Tapestry",
     "Elements of the neighbour's part that an op reads too, as in a convolution.",
     "Column HALO of dimscope rule; neighbours exchange them before the op.", "dimscope rule Conv",
     "neighbours exchange", "Op view (2), OPERANDS"},
    {0},
};
