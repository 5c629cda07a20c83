-- context.lua: context parallelism: the sequence is cut everywhere; keys and values move.
--
-- When: sequences are long, so that activations and the scores of attention fill the memory.
-- What: the residual stream is cut by cp along the sequence wherever a norm reads it, and all that
--     works on one place at a time follows. Attention needs keys and values of all places: these two
--     are gathered in each layer, before an Expand repeats them for the query heads where there is
--     one. Queries, scores and outputs stay in parts. The weights are whole.
--     style=gather, as Llama 3 was trained: a device holds all keys and values of a layer at once,
--     and does not begin before all have come. style=ring (Liu et al.): parts of keys and values go
--     around from device to device, the same bytes on the wire, while attention computes on the one
--     that is there; the backward pass sends them around once more, and their gradients with them.
--     style=ulysses (Jacobs et al.): two all-to-alls give each device some heads at all places. The
--     last two need attention in one op (--fuse attention).
--     A causal mask leaves later parts more to do; with zigzag each device has an early and a late part.
-- Cost: ./dimscope plan samples/models/gpt2.onnx -m dp=2,cp=4 -p context
--     24 all_gather; step 12.6 ms, moved 216.0 MiB, peak 819.0 MiB
-- Axes: dp, cp. One may be missing, with a note; others of the mesh are not used, with a note.
-- Paper: Liu et al. 2023, Ring Attention, arXiv 2310.01889; Jacobs et al. 2023, DeepSpeed Ulysses,
--     arXiv 2309.14509; Grattafiori et al. 2024, The Llama 3 Herd
--     of Models, arXiv 2407.21783.

local common = include "lib/common"
local roles = include "lib/roles"
local zero = include "lib/zero"

OPTIONS = common.options{
    {"style", "gather", "how attention gets keys and values of all places: gather, ring or ulysses"},
    {"zigzag", false, "deal an early and a late part of the sequence to each device"},
    zero.options(0)
}

local function batch_axes(resource) return zero.batch_axes(resource, {"cp"}) end

SIZES = common.sizes(batch_axes)

function PAS(graph, resource)
    local batch = batch_axes(resource)
    common.use_axes("context.lua", resource, {
        {"dp", "the batch stays whole"},
        {"cp", "the sequence stays whole"},
    }, zero.axes(resource))
    common.cut_batch(graph, batch)
    if resource.mesh.cp then roles.cut_cache(graph, "cp") end
    local cut = resource.options.zigzag and {axis = "cp", zigzag = true} or "cp"
    if resource.mesh.cp and roles.cut_sequence(graph, cut) then
        roles.gather_few_heads(graph)
        roles.attend(graph, "cp", resource.mesh.cp, resource.options.style, resource.options.zigzag)
    end
    zero.store(graph, resource, nil, {"cp"})
    common.schedule(graph, resource)
    common.recompute(graph, resource)
    return graph
end
