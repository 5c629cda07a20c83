/* lua_types.c - the types of the scripting API by name, and the fields of plain tables.
 *
 * These rows only document tables that other files create or read; a test compares them.
 */
#include "scripts/lua_api.h"

const LuaEntry type_rows[] = {
    {"graph", NULL, "class",
     "The model, the first argument of PAS; g and graph in the console. It can be used only while "
     "PAS or a line of the console runs."},
    {"node", NULL, "class",
     "An op of the program, or a sub-node made by graph:partition. Two values for the same node "
     "compare equal."},
    {"tensor", NULL, "class",
     "A value of the graph, under the name by which it was found. Two values for the same tensor "
     "compare equal; tostring gives the label."},
    {"segment", NULL, "class",
     "Consecutive nodes in program order: a pipeline stage. Two values for the same segment "
     "compare equal."},
    {"ops", NULL, "node|segment|(node|segment)[]", "Nodes, segments, or a list of these."},
    {"node_filter", NULL, "class", "A filter for nodes: those that match all of its fields."},
    {"schedule_block", NULL, "class", "The forward or backward of one micro-batch on one stage."},
    {"op_plan", NULL, "class", "The plan that POLICY makes for one op."},
    {"pas_settings", NULL, "class", "nnScaler's settings of a pipeline, in pas_config."},
    {"algorithm", NULL, "class", "A way to partition a node, returned by node:algorithm(\"dim\")."},
    {"resource", NULL, "class",
     "The devices, the second argument of PAS; resource in the console."},
    {"mesh", NULL, "class",
     "A list of the axes, major first; also the size of each axis by name: mesh.tp is 4, or nil if "
     "there is no axis tp."},
    {"mesh_axis", NULL, "class", "One axis of the mesh."},
    {"axes", NULL, "string|string[]",
     "A mesh axis, a part of one such as \"tp:(1)2\", or a list of them, major first."},
    {"cut", NULL, "axes|cut_table", "How one dim is sharded: {} pins it as not sharded."},
    {"cut_table", NULL, "class",
     "A sharding of a dim with options: {axis = \"tp\", interleave = 3}. The axes may also be list "
     "elements: {\"dp\", \"tp\", open = true}."},
    {"dim", NULL, "integer|string",
     "A dim of a tensor, from 0, or from the end as -1; or the name of an index dim of the op that "
     "uses the tensor, which does not depend on how the exporter stored the weight."},
    {"cuts", NULL, "table<dim, cut>",
     "Shardings by dim: {[0] = \"dp\", n = {axis = \"tp\", interleave = 3}}."},
    {"what", NULL, "string|tensor|node",
     "A name or a pattern of names (* ? {a,b}), a tensor, or a node."},
    {"target", NULL, "string|tensor", "A name or a pattern of names (* ? {a,b}), or a tensor."},
    {"partition_table", NULL, "class",
     "Which dim of a node graph:partition partitions, and over what."},
    {"reshard", NULL, "class", "A value that the plan moves from one sharding to another."},
    {"weight_role", NULL, "class", "What a weight is for, in the list of graph:roles()."},
    {"plan_totals", NULL, "class", "What a plan costs, as graph:propose() returns it."},
    {"search_answer", NULL, "class", "What graph:search found and proved."},
    {"model", NULL, "class", "The graph under construction, the first argument of MODEL."},
    {"value", NULL, "class",
     "A tensor of a model under construction, used as input of ops. Two values for the same tensor "
     "compare equal; tostring gives its name."},
    {"part", NULL, "class",
     "An input of a kernel in Lua: the shard that this rank has. It can be used until the kernel "
     "returns."},
    {"register_options", NULL, "class", "The options of register_op."},
    {"cut_rule", NULL, "class",
     "One way to shard an operator, for the option rules of register_op."},
    {"op_part", NULL, "class",
     "An op as the functions cost and comm of register_op see it: rank 0's part. input_gen sees "
     "the whole op."},
    {"op_tensor", NULL, "class", "A tensor of an op_part."},
    {"op_collective", NULL, "class", "A collective inside an op."},
    {"input_values", NULL, "number|number[]|{lo: number, hi: number}",
     "One number for all elements, one per element, or random numbers in [lo, hi)."},
    {"rule_input", NULL, "class", "An operand as the annotation function of register_op sees it."},
    {"attrs", NULL, "table<string, any>",
     "Attributes of a node by name: numbers, strings, lists of these. Attributes that are tensors "
     "or graphs are left out."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry resource_fields[] = {
    {"ngpus", NULL, "integer", "The number of devices, as in nnScaler."},
    {"mesh", NULL, "mesh", "The mesh given with -m."},
    {"options", NULL, "table<string, number|boolean|string>",
     "The values of the options that the policy declares in OPTIONS, by name: --set NAME=VALUE, or "
     "the default."},
    {"trains", NULL, "boolean?", "In PAS: the graph is a training step."},
    {"notes", NULL, "boolean?",
     "In PAS: false if the plan is made for its figures alone, as what-ifs are: nobody reads what "
     "the policy prints."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry mesh_axis_fields[] = {
    {"name", NULL, "string", "The name of the axis: \"tp\"."},
    {"size", NULL, "integer", "The number of devices along it."},
    {NULL, NULL, NULL, NULL},
};

/* Any axis has its name here; these are those that shipped policies use. */
const LuaEntry mesh_fields[] = {
    {"[integer]", NULL, "mesh_axis", "The axes by position, from 1, major first."},
    {"dp", NULL, "integer?", "The size of the axis dp (data parallel), nil if there is none."},
    {"tp", NULL, "integer?", "The size of the axis tp (tensor parallel), nil if there is none."},
    {"pp", NULL, "integer?", "The size of the axis pp (pipeline parallel), nil if there is none."},
    {"cp", NULL, "integer?", "The size of the axis cp (context parallel), nil if there is none."},
    {"ep", NULL, "integer?", "The size of the axis ep (expert parallel), nil if there is none."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry cut_fields[] = {
    {"axis", NULL, "axes?", "The axes that shard the dim, major first."},
    {"interleave", NULL, "integer?",
     "The dim consists of that many equal parts, each of which is sharded: 3 for q, k and v in one "
     "weight. It must divide the dim."},
    {"unit", NULL, "integer?",
     "Groups of that many neighbouring elements stay together, such as those of a head. It must "
     "divide the dim."},
    {"blocks", NULL, "integer[]?",
     "The dim consists of blocks of these sizes, in elements, each of which is sharded. They must "
     "add up to the dim, and exclude interleave and unit."},
    {"sizes", NULL, "integer[]?",
     "The parts have these sizes, in elements, one for each position along the axes: {3, 3, 2}. "
     "They "
     "must add up to the dim, or to one of its interleaved parts, and be multiples of unit."},
    {"zigzag", NULL, "boolean?",
     "True: a rank has a part of the first half and the mirrored part of the second, so that a "
     "causal mask gives all ranks equal work. Twice the ranks must divide the dim."},
    {"ring", NULL, "boolean?",
     "Of an index dim such as t of Attention: its parts go around the ranks of the axis, and the "
     "op "
     "computes on one while the next is on its way. The axis may shard another dim of the op too."},
    {"store", NULL, "boolean|string|string[]?",
     "True: the sharding in which a parameter, its gradient and the optimizer's states of it are "
     "stored, not the one in which it is used. Or which of them: \"parameter\", \"gradient\", "
     "\"states\"; the others are stored as the parameter is."},
    {"keep", NULL, "boolean?",
     "True: what a collective gathers of the tensor, or of a view of it, is kept until the end of "
     "the "
     "training step. Else the backward pass gathers it again."},
    {"open", NULL, "boolean?", "True: more axes may shard the dim."},
    {"priority", NULL, "integer?",
     "Pins of priority 0, the default, propagate until nothing changes before those of priority 1 "
     "start, and so on; at most 1000."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry partition_fields[] = {
    {"idx", NULL, "integer", "The position of the operand, from 0; outputs follow the inputs."},
    {"dim", NULL, "integer", "The dim of the operand, from 0, or from the end as -1."},
    {"num", NULL, "integer?",
     "The number of parts: the size of one axis that is not yet used, or of several neighbouring "
     "axes together. It may be left out if axis is given."},
    {"axis", NULL, "axes?", "The axis, required if num fits several."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry reshard_fields[] = {
    {"tensor", NULL, "tensor", "The value that is resharded."},
    {"kind", NULL, "string", "Its steps, as the screens show them: \"AR tp\"."},
    {"ms", NULL, "number", "Milliseconds of all its steps, multiplied by times."},
    {"bytes", NULL, "integer", "The payload of one rank in all steps, once."},
    {"times", NULL, "number",
     "How often it runs: 1, or the number of iterations of the loop around it."},
    {NULL, NULL, NULL, NULL},
};

/* A library's own functions are not listed: they are Lua 5.4's. */
const LuaEntry standard_rows[] = {
    {"print", NULL, "(...: any)",
     "Prints the values, separated by tabs and at most 2000 bytes, as a note of the plan with its "
     "line; in the console it shows them."},
    {"pairs", NULL, "(t: table): function, table, nil",
     "As in Lua, but in order: numbers before strings. So a script does the same in every run."},
    {"setmetatable", NULL, "(t: table, metatable?: table): table", "As in Lua; __gc is refused."},
    {"xpcall", NULL, "(f: function, handler: function, ...: any): boolean, any",
     "As in Lua, but the handler runs after the error, so it sees no traceback."},
    {"string", NULL, "table",
     "Lua's library without dump. Patterns that could take too long are refused, such as those of "
     "more than 128 characters."},
    {"table", NULL, "table", "Lua's library. Lists with a __len metamethod are refused."},
    {"math", NULL, "table", "Lua's library. random returns the same numbers in every run."},
    {"utf8", NULL, "table", "Lua's library."},
    {"coroutine", NULL, "table",
     "Lua's library without close. io, os, debug, package, load, require and collectgarbage do not "
     "exist."},
    {"g", NULL, "graph", "In the console: the graph."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry defined_rows[] = {
    {"PAS", NULL, "(graph: graph, resource: resource): graph",
     "The policy: it makes its decisions and returns the graph. It runs when the model is opened "
     "and each time the file changes, and replaces the decisions of its last run. If it fails, "
     "nothing changes."},
    {"MODEL", NULL, "(model: model, config: table)",
     "A model file: it builds the graph. config is the object of a config.json, else the sizes "
     "that were given for free dims."},
    {"POLICY", NULL, "(graph: graph, resource: resource): (op_plan[]|(fun(): op_plan?)|graph)?",
     "A policy as one plan per op, called if the file has no PAS. It passes plans to "
     "coroutine.yield, or returns a list of them or a function that returns one after the other. "
     "An op without a plan is replicated, in the stage of the op before it. Refused: stages out of "
     "order, recompute groups that are not consecutive or span two stages, a partition that the op "
     "does not have."},
    {"OPTIONS", NULL, "{[1]: string, [2]: number|boolean|string, [3]: string}[]",
     "The options of the policy, each {name, default, help}: {{\"micro_batches\", 8, "
     "\"micro-batches "
     "a step\"}}. --set micro_batches=16 gives another value, of the same type; PAS reads "
     "resource.options.micro_batches."},
    {"SIZES", NULL, "(resource: resource): table<string, integer>",
     "Sizes of free dims that the policy asks for, such as {batch = 8}, called before the model is "
     "opened: shipped policies multiply the option micro_batch by the ranks that share the batch. "
     "A size that the user gives by --dim stays. When another mesh or setting changes a size, the "
     "explorer opens the model again."},
    {"pas_config", NULL, "pas_settings", "The pipeline settings of POLICY, a table in the file."},
    {NULL, NULL, NULL, NULL},
};

/* Set in lua_register.c. */
const LuaEntry register_globals[] = {
    {"register_op", NULL,
     "(annotation: string|string[]|(fun(inputs: rule_input?[], kwargs: attrs): string), options: "
     "register_options)",
     "Adds an operator by its annotation (nnScaler's dimop), as the built-in ones are defined. The "
     "annotation is a string, a list of which the first that fits is used, or a function that "
     "returns one for each combination of shapes and attributes. Call it at the top level of the "
     "file. Refused, with line and column: an annotation with a syntax error, a name that the file "
     "has already registered, an unknown option."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry register_fields[] = {
    {"name", NULL, "string",
     "The operator's name; \"domain::Name\" outside of ai.onnx. Only for register_op: template "
     "takes the name as its first argument."},
    {"kernel", NULL,
     "(string|{plugin: string, symbol: string}|fun(inputs: part[], kwargs: attrs): table)?",
     "What runs the operator: the name of a built-in operator; a function of a shared library, "
     "whose path is relative to this file and which needs --allow-native; or a function in Lua. "
     "That function returns the elements of this rank's shard of the output as a flat row-major "
     "list, or a list of such lists for several outputs. If a summed dim is sharded, it returns "
     "this rank's addend."},
    {"example", NULL, "string?", "Operands for rule --check: \"4x6,6x5\", then attributes."},
    {"flops_per_point", NULL, "number?",
     "Operations per point of the index space, 0 or more; default 2 if a dim is summed, else 1."},
    {"rules", NULL, "cut_rule[]?",
     "Cuts that are legal in addition to those of the annotation, like nnScaler's transform rules; "
     "each dim is cut by the first rule that names it."},
    {"cost", NULL, "(fun(node: op_part): {flops?: number, bytes?: number, us?: number})?",
     "The cost of rank 0's part: operations and bytes moved in memory, from which a time follows, "
     "or microseconds."},
    {"comm", NULL, "(op_collective[]|fun(node: op_part): op_collective[]?)?",
     "Collectives inside the op: their time is part of the op's time, and they count among the "
     "collectives of the plan. An op that has one in its sharding is planned but cannot run."},
    {"input_gen", NULL, "(fun(node: op_part): table<integer, input_values>)?",
     "By input, from 1, the values that a run uses if none are given; inputs that are left out are "
     "random."},
    {"kwargs", NULL, "table<string, integer>?",
     "Default values of arguments: {h = 8} where an op does not give h, for sizes in brackets and "
     "for the kernel."},
    {"python", NULL, "string?",
     "The Python function that the operator stands for, \"custom_ops.mm\": an export to nnScaler "
     "imports and registers it."},
    {"code_impl_pattern", NULL, "\"import\"|\"source\"?",
     "With python: whether code that nnScaler generates imports the function, the default, or has "
     "its source."},
    {"emit_fn", NULL, "string?",
     "With python: the Python function that writes the call in code that nnScaler generates, "
     "\"custom_ops.emit_mm\"."},
    {"independent", NULL, "integer[]?",
     "Outputs, from 0, that are '?' in the annotation and do not depend on inputs that may be "
     "sharded, as a constant does not: no warning is given."},
    {"inplace", NULL, "table<integer, integer>?",
     "{[output] = input}, both from 0: the output is the new value of the input. Refused if their "
     "shapes or layouts differ."},
    {"dtype", NULL, "(string|integer|(string|integer)[])?",
     "The element type of the outputs if the model does not declare it: \"f32\", the position of "
     "an input, from 0, or a list of these; default: that of input 0."},
    {"gradient", NULL,
     "(string|table|fun(model: model, x: (value|false)[], y: (value|false)[], dy: (value|false)[], "
     "kwargs: attrs): value?)?",
     "The derivative, for training. A function builds it of ops: x, y and dy are the inputs, the "
     "outputs and the gradients of the outputs (false where there is none), and it returns a "
     "gradient for each input, nil for one that the outputs do not vary with. A string names what "
     "makes each gradient and reads beside dy: \"0: contract(x1); 1: contract(x0)\", the product "
     "of these, summed over the index dims that the input lacks. A table gives a kernel of its "
     "own: "
     "{\"0 1: kernel(x0 x1)\", kernel = function(inputs, kwargs) .. end}; the kernel, in Lua or of "
     "a "
     "plugin, gets dy, then what the clause names, and returns the gradients. Without this option: "
     "that of the built-in operator that `kernel` names; that of a product, if dims of every input "
     "are summed. Check it by rule --check FILE --gradient."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry cut_rule_fields[] = {
    {"ins", NULL, "(string|integer[])[]",
     "The placement of each input: \"R\" replicated, \"D(0)\" or {0} sharded along dim 0, "
     "\"D(0,2)\" along both, \"D(-1)\" the last one, \"V\" partial: each shard has an addend. "
     "Beside "
     "inputs that are D, one that is V is added once, as a bias is."},
    {"outs", NULL, "(string|integer[])[]",
     "The same for the outputs; all sharded, or all partial."},
    {"kwargs", NULL,
     "(fun(kwargs: attrs, idx: integer, dim: integer, num: integer, i: integer): attrs)?",
     "Returns the arguments of part i of num, from 0, when dim `dim` of operand `idx` is sharded. "
     "Without it the arguments stay as they are."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry op_part_fields[] = {
    {"name", NULL, "string", "The operator's name."},
    {"path", NULL, "string", "The module of the op."},
    {"inputs", NULL, "op_tensor[]", "The inputs; nil for an absent one."},
    {"outputs", NULL, "op_tensor[]", "The outputs; nil for an absent one."},
    {"kwargs", NULL, "attrs", "The arguments of the part."},
    {"size", NULL, "table<string, integer>",
     "The number of elements of each index dim, by name, before sharding."},
    {"cut", NULL, "table<string, integer>",
     "The number of shards of each index dim, by name; 1 if it is not sharded."},
    {"axes", NULL, "table<string, string>",
     "The axes that shard each index dim, by name: \"dp.tp\"; \"\" if it is not sharded."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry op_tensor_fields[] = {
    {"shape", NULL, "integer[]", "The sizes of the shard."},
    {"whole", NULL, "integer[]", "The sizes of the whole tensor."},
    {"dtype", NULL, "string", "The element type: \"f32\"."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry op_collective_fields[] = {
    {"kind", NULL, "string",
     "all_gather, all_reduce, reduce_scatter, all_to_all, permute or send."},
    {"dim", NULL, "string?",
     "The collective runs over the axes that shard this index dim, and not at all if it is not "
     "sharded."},
    {"axis", NULL, "string?", "The collective runs over this mesh axis. Give either dim or axis."},
    {"bytes", NULL, "integer", "The payload of one rank."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry rule_input_fields[] = {
    {"is_tensor", NULL, "boolean", "Always true: an absent operand is nil."},
    {"shape", NULL, "integer[]?", "The sizes of the dims; nil if unknown."},
    {"dtype", NULL, "string?", "The element type: \"f32\"."},
    {NULL, NULL, NULL, NULL},
};
