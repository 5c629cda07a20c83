/* lua_types.c - the types that scripts meet, by name, and the fields of plain tables.
 *
 * Nothing here is set: push_resource() and the readers of options make and take these tables. A
 * test compares.
 */
#include "scripts/lua_api.h"

const LuaEntry type_rows[] = {
    {"graph", NULL, "class",
     "The model, as PAS gets it first; in the console g and graph. It is there only while PAS or a "
     "typed line runs."},
    {"node", NULL, "class",
     "An op of the program, or a part of one that graph:partition gave. Equal ones compare equal."},
    {"tensor", NULL, "class",
     "A value of the graph, under the name by which it was found. Equal ones compare equal; as a "
     "text it is its label."},
    {"segment", NULL, "class",
     "A run of nodes in program order: a pipeline stage. Equal ones compare equal."},
    {"ops", NULL, "node|segment|(node|segment)[]", "Nodes, segments, or a list of these."},
    {"node_filter", NULL, "class", "Which nodes are meant: those that match all its fields."},
    {"schedule_block", NULL, "class", "A stage's forward or backward of one micro-batch."},
    {"op_plan", NULL, "class", "What POLICY says of one op."},
    {"pas_settings", NULL, "class", "What nnScaler's pas_config says of a pipeline."},
    {"algorithm", NULL, "class", "A way to partition a node, as node:algorithm(\"dim\") gives it."},
    {"resource", NULL, "class", "The devices, as PAS gets them second; in the console resource."},
    {"mesh", NULL, "class",
     "The axes in order, major first, as a list; and each axis's size by its name: mesh.tp is 4, "
     "or nil where there is no axis tp."},
    {"mesh_axis", NULL, "class", "One axis of the mesh."},
    {"axes", NULL, "string|string[]",
     "An axis of the mesh, a part of one as \"tp:(1)2\", or a list of them, major first."},
    {"cut", NULL, "axes|cut_table", "How one dim is cut: {} pins it whole."},
    {"cut_table", NULL, "class",
     "A cut with more to say: {axis = \"tp\", interleave = 3}. Axes may also stand in it as a "
     "list: {\"dp\", \"tp\", open = true}."},
    {"dim", NULL, "integer|string",
     "A dim of a tensor, from 0, or from the end as -1; or the name of an index dim of the op that "
     "uses it, which is the same whatever the exporter did to the weight."},
    {"cuts", NULL, "table<dim, cut>",
     "Cuts by dim: {[0] = \"dp\", n = {axis = \"tp\", interleave = 3}}."},
    {"what", NULL, "string|tensor|node",
     "A name or a pattern of names (* ? {a,b}), a tensor, or a node."},
    {"target", NULL, "string|tensor", "A name or a pattern of names (* ? {a,b}), or a tensor."},
    {"partition_table", NULL, "class", "Which dim of a node graph:partition cuts, and by what."},
    {"reshard", NULL, "class", "A value that the plan moves from one sharding to another."},
    {"model", NULL, "class", "The graph that is being built, as MODEL gets it first."},
    {"value", NULL, "class",
     "A tensor of a model that is being built: an input of ops. Equal ones compare equal; as a "
     "text it is its name."},
    {"part", NULL, "class",
     "What a kernel in Lua gets for an input: the part of it that this rank holds. It is of use "
     "until the kernel returns."},
    {"register_options", NULL, "class", "What register_op takes beside the annotation."},
    {"cut_rule", NULL, "class", "One way to cut an operator, in register_op's rules."},
    {"op_part", NULL, "class",
     "An op as cost and comm of register_op see it: what rank 0 has of it. input_gen sees the "
     "whole."},
    {"op_tensor", NULL, "class", "A tensor of an op_part."},
    {"op_collective", NULL, "class", "A collective that an op has inside."},
    {"input_values", NULL, "number|number[]|{lo: number, hi: number}",
     "One number for all elements, one for each, or numbers of [lo, hi), drawn."},
    {"rule_input", NULL, "class", "An operand as the annotation function of register_op sees it."},
    {"attrs", NULL, "table<string, any>",
     "Attributes of a node by name: numbers, texts, lists of these. Those that are tensors or "
     "graphs are left out."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry resource_fields[] = {
    {"ngpus", NULL, "integer", "How many devices there are, as in nnScaler."},
    {"mesh", NULL, "mesh", "The mesh that was given with -m."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry mesh_axis_fields[] = {
    {"name", NULL, "string", "The name of the axis: \"tp\"."},
    {"size", NULL, "integer", "How many devices stand along it."},
    {NULL, NULL, NULL, NULL},
};

/* Any axis has its name here; these are those that shipped policies use. */
const LuaEntry mesh_fields[] = {
    {"[integer]", NULL, "mesh_axis", "The axes by their places, from 1, major first."},
    {"dp", NULL, "integer?", "The size of the axis dp (data parallel), nil where there is none."},
    {"tp", NULL, "integer?", "The size of the axis tp (tensor parallel), nil where there is none."},
    {"pp", NULL, "integer?",
     "The size of the axis pp (pipeline parallel), nil where there is none."},
    {"cp", NULL, "integer?",
     "The size of the axis cp (context parallel), nil where there is none."},
    {"ep", NULL, "integer?", "The size of the axis ep (expert parallel), nil where there is none."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry cut_fields[] = {
    {"axis", NULL, "axes?", "The axes that cut, major first."},
    {"interleave", NULL, "integer?",
     "The dim is that many equal parts, each of which is cut: q, k and v in one weight are 3. It "
     "must divide the dim."},
    {"unit", NULL, "integer?",
     "That many neighbours are never separated, as the elements of a head. It must divide the "
     "dim."},
    {"blocks", NULL, "integer[]?",
     "The dim is parts of these sizes, in elements, each of which is cut; they add up to it, and "
     "stand without interleave and unit."},
    {"store", NULL, "boolean?",
     "True: of a parameter, where it lies, without saying how it is used."},
    {"open", NULL, "boolean?", "True: further axes may cut the dim too."},
    {"priority", NULL, "integer?",
     "Pins of priority 0, the default, go as far as they go before those of 1 are felt, and so on; "
     "1000 at most."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry partition_fields[] = {
    {"idx", NULL, "integer", "Which operand, from 0; outputs follow the inputs."},
    {"dim", NULL, "integer", "Which dim of it, from 0, or from the end as -1."},
    {"num", NULL, "integer?",
     "Into how many parts: the size of one axis that is left, or of one run of neighbouring axes. "
     "May be left out where axis is given."},
    {"axis", NULL, "axes?", "The axis, needed where num could be several."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry reshard_fields[] = {
    {"tensor", NULL, "tensor", "The value that is moved."},
    {"kind", NULL, "string", "Its steps, as the screens have them: \"AR tp\"."},
    {"ms", NULL, "number", "Milliseconds of all its steps, times included."},
    {"bytes", NULL, "integer", "What one rank puts into its steps, once."},
    {"times", NULL, "number", "How often it is done: 1, or the turns of the loop that it is in."},
    {NULL, NULL, NULL, NULL},
};

/* A library's own functions are not listed: they are Lua 5.4's. */
const LuaEntry standard_rows[] = {
    {"print", NULL, "(...: any)",
     "What is printed becomes a note of the plan, with its line; in the console it is shown. "
     "Values are separated by tabs, 2000 bytes at most."},
    {"pairs", NULL, "(t: table): function, table, nil",
     "As in Lua, but keys come in order: numbers, then texts. A script gives the same in every "
     "run."},
    {"setmetatable", NULL, "(t: table, metatable?: table): table", "As in Lua; __gc is refused."},
    {"xpcall", NULL, "(f: function, handler: function, ...: any): boolean, any",
     "As in Lua, but the handler runs after the error, not in it: it sees no traceback."},
    {"string", NULL, "table",
     "Lua's library without dump. Patterns that could take too long are refused, as those of more "
     "than 128 characters."},
    {"table", NULL, "table", "Lua's library. Lists that count themselves are refused."},
    {"math", NULL, "table", "Lua's library. random gives the same numbers in every run."},
    {"utf8", NULL, "table", "Lua's library."},
    {"coroutine", NULL, "table",
     "Lua's library without close. There is no io, os, debug, package, load, require and "
     "collectgarbage."},
    {"g", NULL, "graph", "In the console: the graph."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry defined_rows[] = {
    {"PAS", NULL, "(graph: graph, resource: resource): graph",
     "The policy: it decides and returns the graph. It is called when the model is opened and each "
     "time the file is written; what it decided before is forgotten then. When it fails nothing is "
     "changed."},
    {"MODEL", NULL, "(model: model, config: table)",
     "A model file: it builds the graph. config is the object of a config.json, else "
     "the sizes that free dims have been given."},
    {"POLICY", NULL, "(graph: graph, resource: resource): (op_plan[]|(fun(): op_plan?)|graph)?",
     "A policy as plans of ops, called where there is no PAS: it yields them by coroutine.yield, "
     "returns a list of them, or a function that gives one after the other. An op without a plan "
     "is replicated, in the stage of the op before it. Refused: stages that do not follow each "
     "other, recompute groups that are not in a row or in two stages, a partition that the op "
     "does not have."},
    {"pas_config", NULL, "pas_settings", "The pipeline of POLICY, a table of the file."},
    {NULL, NULL, NULL, NULL},
};

/* Set in lua_register.c. */
const LuaEntry register_globals[] = {
    {"register_op", NULL,
     "(annotation: string|string[]|(fun(inputs: rule_input?[], kwargs: attrs): string), options: "
     "register_options)",
     "Adds an operator by its annotation, nnScaler's dimop, as built-in ones are: one text, "
     "candidates of which the first that fits counts, or a function that answers one for each "
     "combination of shapes and attributes. It stands at the top level of the file. Refused, with "
     "line and column: an annotation that does not read; a name that the file has registered "
     "already; an option that is none."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry register_fields[] = {
    {"name", NULL, "string",
     "What the node's operator is called; \"domain::Name\" outside of ai.onnx. Of register_op "
     "alone: a template has its name in front."},
    {"kernel", NULL,
     "(string|{plugin: string, symbol: string}|fun(inputs: part[], kwargs: attrs): table)?",
     "What runs it: the built-in operator of that name, a function of a shared library, which is "
     "loaded under --allow-native only, its path seen from this file, or a function in Lua. That "
     "returns the elements of this rank's part of the output, row-major, as a flat list; with "
     "several outputs a list of such. Where a summed dim is cut it returns this rank's addend."},
    {"example", NULL, "string?",
     "Operands on which rule --check proves it: \"4x6,6x5\", attributes behind them."},
    {"flops_per_point", NULL, "number?",
     "Operations for each point of the index space, 0 or more; where it is not given 2 if "
     "something is summed, else 1."},
    {"rules", NULL, "cut_rule[]?",
     "Cuts that are legal beside those of the annotation, as nnScaler's transform rules; what an "
     "earlier one cuts is not cut by a later one."},
    {"cost", NULL, "(fun(node: op_part): {flops?: number, bytes?: number, us?: number})?",
     "What rank 0's part costs: operations and bytes of memory that it moves, from which a time "
     "follows, or microseconds."},
    {"comm", NULL, "(op_collective[]|fun(node: op_part): op_collective[]?)?",
     "Collectives inside the op: their time is added to the op's, and they are counted among the "
     "plan's. An op that has any under its cut is planned, and not run."},
    {"input_gen", NULL, "(fun(node: op_part): table<integer, input_values>)?",
     "By input, from 1, what a run gives it when nobody gives anything; what is left out is drawn "
     "as ever."},
    {"inplace", NULL, "table<integer, integer>?",
     "{[output] = input}, both from 0: the output is the new value of the input. Refused where "
     "shapes differ, or they are laid out otherwise."},
    {"dtype", NULL, "(string|integer|(string|integer)[])?",
     "The element type of the outputs where the model does not say it: \"f32\", the number of an "
     "input, from 0, or a list of these; without it that of input 0."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry cut_rule_fields[] = {
    {"ins", NULL, "(string|integer[])[]",
     "What becomes of each input: \"R\" whole, \"D(0)\" or {0} cut along dim 0, \"D(0,2)\" along "
     "both, \"V\" a value of which each shard has an addend."},
    {"outs", NULL, "(string|integer[])[]", "The same of the outputs; all cut, or all addends."},
    {"kwargs", NULL,
     "(fun(kwargs: attrs, idx: integer, dim: integer, num: integer, i: integer): attrs)?",
     "The arguments of part i of num, from 0, when dim `dim` of operand `idx` is cut. Without it "
     "they stay as they are."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry op_part_fields[] = {
    {"name", NULL, "string", "The operator's name."},
    {"path", NULL, "string", "The module that it is of."},
    {"inputs", NULL, "op_tensor[]", "The inputs; nil for one that is left out."},
    {"outputs", NULL, "op_tensor[]", "The outputs; nil for one that is left out."},
    {"kwargs", NULL, "attrs", "The arguments of the part."},
    {"size", NULL, "table<string, integer>",
     "Of each index dim, by its name, the elements of the whole."},
    {"cut", NULL, "table<string, integer>",
     "Of each index dim how many parts it has, 1 where it is whole."},
    {"axes", NULL, "table<string, string>",
     "Of each index dim the axes that cut it, \"dp.tp\"; \"\" where it is whole."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry op_tensor_fields[] = {
    {"shape", NULL, "integer[]", "The sizes of the part."},
    {"whole", NULL, "integer[]", "The sizes of the tensor."},
    {"dtype", NULL, "string", "The element type: \"f32\"."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry op_collective_fields[] = {
    {"kind", NULL, "string",
     "all_gather, all_reduce, reduce_scatter, all_to_all, permute or send."},
    {"dim", NULL, "string?", "Over the axes that cut this index dim; it is none where none does."},
    {"axis", NULL, "string?", "Over this axis of the mesh. Either dim or axis is given."},
    {"bytes", NULL, "integer", "The payload of one rank."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry rule_input_fields[] = {
    {"is_tensor", NULL, "boolean", "True: an operand that is left out is nil."},
    {"shape", NULL, "integer[]?", "The sizes of the dims; nil where they are not known."},
    {"dtype", NULL, "string?", "The element type: \"f32\"."},
    {NULL, NULL, NULL, NULL},
};
