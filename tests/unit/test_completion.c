/* Paddle's completion of whole programs: mappings tensor by tensor as Paddle 3.3.1 completes the
 * same programs, and plans made of them, executed. */
#include "tests/unit/planning.h"

#include "core/plan/spmd/completion.h"
#include "core/run/run.h"
#include "tests/unit/graph_text.h"

/* ---- what Paddle completes ---- */

typedef struct {
    const char *name, *net, *mesh;
    const char *marks; /* "in0=[0,-1] h=[-1,1]" */
    const char *want;  /* the same, after it */
} Case;

#define MLP                                                                                        \
    "m <- MatMul f32[8,16] f32[16,32]!; h <- Add m f32[32]!; g <- Swish h; "                       \
    "n <- MatMul g f32[32,16]!; y <- Add n f32[16]!"

static Case cases[] = {
    {"mlp, columns then rows", MLP, "x=2,y=2", "in0=[0,-1] in1=[-1,1] in3=[1,-1]",
     "in0=[0,-1] in1=[-1,1] in2=[1] in3=[1,-1] in4=[-1] m=[0,1] h=[0,1] g=[0,1] n=[0,-1] "
     "y=[0,-1]"},
    {"mlp, one axis wanted twice", MLP, "x=2", "in0=[0,-1] in1=[-1,0]",
     "in0=[0,-1] in1=[-1,0] in2=[0] in3=[0,-1] in4=[-1] m=[-1,0] h=[-1,0] g=[-1,0] n=[-1,-1] "
     "y=[-1,-1]"},
    {"mlp, a mark in the middle stops the batch", MLP, "x=2,y=2", "in0=[0,-1] h=[-1,1]",
     "in0=[0,-1] in1=[-1,1] in2=[1] in3=[1,-1] in4=[-1] m=[0,1] h=[0,1] g=[-1,1] n=[-1,-1] "
     "y=[-1,-1]"},
};

/* "name=[0,-1]": the name is cut off, its tensor found. */
static int32_t named(const Planning *p, Str *word)
{
    Str name = str_take(word, '=');
    int32_t tensor = graph_find_tensor(p->graph, name);
    if (tensor < 0)
        fail_msg("no tensor %.*s", STR_ARG(name));
    return tensor;
}

static void mark(const Planning *p, Completion *completion, Str word)
{
    SpmdAxes dim[DIMS_MAX] = {{0}};
    int32_t tensor = named(p, &word);
    int n = 0;
    for (Str list = {word.s + 1, word.n - 2}; list.n > 0; n++) {
        int64_t axis;
        assert_true(str_to_int(str_take(&list, ','), &axis));
        if (axis >= 0)
            spmd_axes_push(&dim[n], (int)axis);
    }
    assert_true(completion_mark_tensor(completion, tensor, dim, false));
}

static const char *mapping_text(const Planning *p, const Completion *completion, int32_t id)
{
    SpmdMapping mapping = completion_mapping(completion, id);
    Buf text = buf_new(p->arena);
    buf_putc(&text, '[');
    for (int d = 0; d < mapping.n_dims; d++) {
        buf_puts(&text, d ? "," : "");
        if (mapping.dim[d].n == 0)
            buf_puts(&text, "-1");
        for (int i = 0; i < mapping.dim[d].n; i++)
            buf_printf(&text, "%s%d", i ? "." : "", mapping.dim[d].axis[i]);
    }
    buf_putc(&text, ']');
    return text.s;
}

static Planning *planning_of_text(const char *text, const char *mesh)
{
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = graph_from_text(arena, text, 17);
    planning_infer(p, "", mesh);
    return p;
}

static void it_completes_as_paddle_does(void **state)
{
    const Case *c = *state;
    Planning *p = planning_of_text(c->net, c->mesh);
    Completion *completion = completion_new(p->arena, p->inferred, p->mesh, NULL);
    for (Str rest = str_from(c->marks); rest.n > 0;)
        mark(p, completion, str_take(&rest, ' '));
    completion_run(completion);
    Buf is = buf_new(p->arena);
    for (Str rest = str_from(c->want); rest.n > 0;) {
        Str word = str_take(&rest, ' '), mapping = word;
        int32_t id = completion_tensor(completion, named(p, &mapping));
        buf_printf(&is, "%s%.*s=%s", is.n ? " " : "", (int)(word.n - mapping.n - 1), word.s,
                   id < 0 ? "none" : mapping_text(p, completion, id));
    }
    assert_string_equal(is.s, c->want);
    planning_close(p);
}

int main(void)
{
    return run_rows("completion", cases, it_completes_as_paddle_does);
}
