#include "viz/diagram.h"

#include "core/base/version.h"
#include "core/session/planfile.h"
#include "viz/draw/facts.h"
#include "viz/ids.h"

#include <inttypes.h>

/* ORDER DIAGRAM_KIND */
static const struct {
    DiagramKindRow row;
    bool (*draw)(Draw *draw, Error *err);
} kinds[] = {
    {{"overview", "", "groups only, equal layers as one xN", ""}, draw_overview},
    {{"layer", "[OP]", "one repeated layer as papers draw it, weights striped", "--paper"},
     draw_layer},
    {{"block", "[OP]", "one repeated layer in full", ""}, draw_block},
    {{"neighbourhood", "OP", "an op and its neighbours within --hops hops",
      "transformer.h.0.mlp.c_fc --hops 2"},
     draw_neighbourhood},
    {{"op", "OP", "an op's index dims, and the tensor dims they index",
      "transformer.h.0.attn.c_attn"},
     draw_index_space},
    {{"slices", "TENSOR|OP", "tables of the shard that each device holds",
      "transformer.h.0.attn.c_attn.weight"},
     draw_slices},
    {{"device", "[DEVICE]", "what each group of equal devices holds and runs", ""}, draw_devices},
    {{"stage", "", "pipeline stages and the transfers between them",
      "-m pp=2,dp=2,tp=2 -p hybrid3d"},
     draw_stages},
    {{"schedule", "", "the micro-batches of a step along time, drawn to scale",
      "-m pp=2,dp=2,tp=2 -p hybrid3d"},
     draw_schedule},
    {{"memory", "[OPTION=V,..]", "what fills each group of equal devices at its peak",
      "zero=0,1,2,3 --train -m pp=2,dp=4 -p hybrid3d"},
     draw_memory},
    {{"step", "", "what fills a device along a step, by class", "--train"}, draw_step_memory},
    {{"frontier", "FILE", "time against memory, as found by search --frontier --json -o FILE",
      "frontier.json"},
     draw_frontier},
    {{"mesh", "[AXIS]", "devices, mesh axes and the groups of a collective", "tp"}, draw_mesh},
    {{"torus", "", "devices and links, each mesh axis a ring that wraps around",
      "-m dp=4,tp=4 --machine tpu_v5p"},
     draw_torus},
    {{"comm", "", "devices and collectives, without ops", ""}, draw_comm},
    {{"reshard", "[TENSOR]", "the steps of one reshard, and each rank's shard between them",
      "transformer.h.0.mlp.c_proj.out"},
     draw_reshard},
    {{"why", "TENSOR[.DIM]", "why each axis shards it, back to a policy line",
      "transformer.h.0.mlp.c_proj.weight.0"},
     draw_why},
    {{"diff", "B", "where another plan differs", "plan.json"}, draw_diff},
};

const DiagramKindRow *diagram_kind(DiagramKind kind)
{
    return &kinds[kind].row;
}

bool diagram_kind_find(Str name, DiagramKind *out, Error *err)
{
    Arena *scratch = arena_new();
    Buf names = buf_new(scratch);
    bool found = false;
    for (int kind = 0; kind < DIAGRAM_KIND_COUNT; kind++) {
        buf_printf(&names, "%s%s", kind > 0 ? ", " : "", kinds[kind].row.name);
        if (!str_eq(name, str_from(kinds[kind].row.name)))
            continue;
        *out = (DiagramKind)kind;
        found = true;
    }
    if (!found) {
        error_kind(err, ERROR_USAGE, "unknown kind of drawing '%.*s'", STR_ARG(name));
        error_hint(err, "--kind must be one of: %s", names.s);
    }
    arena_free(scratch);
    return found;
}

static const char *policy_of(const Session *session)
{
    return session->options.policy ? path_base(session->options.policy) : "none";
}

/* other: the second plan; NULL if there is none. */
static const char *facts_of(Arena *arena, const Session *session, const Session *other)
{
    Buf text = buf_new(arena);
    const Session *plans[] = {session, other};

    for (int i = 0; i < (other ? 2 : 1); i++) {
        const Session *plan = plans[i];
        const char *side = !other ? "" : i == 0 ? "A: " : "B: ";
        buf_printf(&text, "%smodel    %s%s\nmesh     %s", i > 0 ? "\n" : "", side,
                   path_base(plan->graph->file), side);
        mesh_format(plan->mesh, &text);
        buf_printf(&text, "\nmachine  %s%s\npolicy   %s%s\nplan     %s%016" PRIx64, side,
                   plan->machine->name, side, policy_of(plan), side, planfile_hash(plan));
    }
    buf_printf(&text, "\ndimscope %s", DIMSCOPE_VERSION);
    return text.s;
}

Diagram *diagram_make(Arena *arena, const DiagramRequest *request, Error *err)
{
    const Session *session = request->session;
    const Graph *graph = session->graph;
    Draw draw = {.arena = arena, .request = request, .session = session};

    draw.plan = session->plan;
    draw.graph = graph;
    draw.groups = session->groups;
    draw.diagram = arena_make(arena, Diagram);
    draw.diagram->title = path_base(graph->file);
    draw.diagram->fold = "--kind overview";
    draw.box_of = arena_array(arena, int32_t, graph->n_ops + 1);
    draw.outside = arena_array(arena, int32_t, graph->n_tensors + 1);
    draw.pairs = intern_new(arena);
    draw.reshards = reshard_index(arena, session->plan);
    for (int i = 0; i < graph->n_ops; i++)
        draw.box_of[i] = -1;
    if (!kinds[request->kind].draw(&draw, err))
        return NULL;
    draw_facts(&draw);
    draw.diagram->boxes = draw.boxes.at;
    draw.diagram->n_boxes = draw.boxes.n;
    draw.diagram->frames = draw.frames.at;
    draw.diagram->n_frames = draw.frames.n;
    draw.diagram->lines = draw.lines.at;
    draw.diagram->n_lines = draw.lines.n;
    diagram_name_all(arena, draw.diagram);
    draw.diagram->facts =
        facts_of(arena, session, request->kind == DIAGRAM_DIFF ? request->other : NULL);
    return draw.diagram;
}

DiagramBox diagram_box(BoxLook look, const char *title)
{
    return (DiagramBox){.look = look,
                        .title = title,
                        .subtitle = "",
                        .flow = text_from(""),
                        .figures = "",
                        .frame = -1,
                        .level = -1,
                        .ink = -1};
}
