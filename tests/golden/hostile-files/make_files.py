#!/usr/bin/env python3
"""Writes the files of this case: python3 make_files.py (no packages needed)."""
import json
import sys

sys.path.insert(0, "../errors")
sys.dont_write_bytecode = True
from make_models import field, model, node, value  # noqa: E402


def save(name, data):
    with open(name, "wb") as out:
        out.write(data if isinstance(data, bytes) else data.encode())


def attribute(name, tensor):
    return field(5, field(1, name) + field(20, 4) + field(5, tensor))


policy = "function PAS(graph, resource)\n%s\n  return graph\nend\n"
save("mark.lua", "\ufeff" + policy % '  graph:shard("x", {[1] = "tp"})')
save("windows.lua", (policy % '  graph:shard("x", {[1] = "pp"})').replace("\n", "\r\n"))
save("shell.lua", "#!/usr/bin/env lua\n" + policy % '  graph:shard("x", {[2] = "tp"})')
save("bytecode.lua", b"\x1bLua\x54\x00\x19\x93\r\n\x1a\n")
save("handler.lua", policy % "  local function forever() while true do end end\n"
     "  while true do xpcall(forever, forever) end")
save("close.lua", policy % "  local function forever() while true do end end\n"
     "  coroutine.wrap(function()\n"
     "    local x <close> = setmetatable({}, {__close = forever})\n    forever()\n  end)()")
save("nothing.lua", policy % '  local nothing = (""):rep(1 << 62)\n  table.move({}, 1, 1 << 62, 2)')
save("types.lua", policy % "  graph:shard(print, {[0] = 3})")
save("notes.lua", policy % '  while true do graph:shard(("z"):rep(10000), {[0] = "tp"}) end')

plain = {"dimscope_plan": 1, "model": "../errors/plain.onnx", "dims": {"batch": 8}, "mesh": "tp=4",
         "decisions": [{"kind": "pin", "tensor": "x", "dim": 1, "cut": "12/tp"}]}


def plan(name, **changed):
    save(name + ".json", json.dumps({**plain, **changed}))


pin = plain["decisions"][0]
plan("mesh", mesh="tp=4,dp")
plan("version", dimscope_plan=7)
plan("dims", dims={"batch": -8})
plan("pins", decisions=[{**pin, "cut": "(2)(5/tp)"}, {**pin, "dim": 9}, {**pin, "tensor": "y2"}, 3,
                        {**pin, "cut": "12/tp.tp"}, {"kind": "pin", "op": "Relu_h", "index": "q"}])
plan("twice", decisions=[pin, {**pin, "dim": 0, "cut": "8/tp"}])
save("deep.json", "[" * 100000)

X, Y = value("x", [2, 4]), value("y", [2, 4])
two = field(1, 2) + field(2, 1) + field(9, bytes(8))
save("two-outputs.onnx",
     model([node("Constant", [], ["a", "b"]) + attribute("value", two), node("Relu", ["x"], ["y"])],
           [X], [Y]))
save("no-output.onnx", model([b"".join([field(1, "x"), field(4, "Concat")]),
                              node("Relu", ["x"], ["y"])], [X], [Y]))
save("empty-parts.onnx", model([node("Flatten", ["x"], ["h"]), node("Relu", ["h"], ["y"])],
                               [value("x", [0, 3, 4])], [value("y", [0, 12])]))
save("names.onnx", model([node("Relu", ["x\x1b[31m\n"], ["y"])], [value("x\x1b[31m\n", [2, 4])], [Y]))
