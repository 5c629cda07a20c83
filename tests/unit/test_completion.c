/* Paddle's completion of whole programs: mappings tensor by tensor as Paddle 3.3.1 completes the
 * same programs, and plans made of them, executed. */
#include "core/peers/propagators.h"
#include "tests/unit/planning.h"

#include "core/explain/events.h"
#include "core/explain/reason.h"
#include "core/peers/paddle/completion.h"
#include "core/rules/example.h"
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
#define ATTENTION(chosen)                                                                          \
    "q <- MatMul f32[4,8,16] f32[16,16]!; qr <- Reshape q i64[4]{4,8,4,4}; "                       \
    "qt <- Transpose qr perm=[0,2,1,3]; k <- MatMul in0 f32[16,16]!; "                             \
    "kr <- Reshape k i64[4]{4,8,4,4}; kt <- Transpose kr perm=[0,2,1,3]; "                         \
    "v <- MatMul in0 f32[16,16]!; vr <- Reshape v i64[4]{4,8,4,4}; "                               \
    "vt <- Transpose vr perm=[0,2,1,3]; kk <- Transpose kt perm=[0,1,3,2]; s <- MatMul qt kk; "    \
    "p <- " chosen " s; o <- MatMul p vt; ot <- Transpose o perm=[0,2,1,3]; "                      \
    "or <- Reshape ot i64[3]{4,8,16}; y <- MatMul or f32[16,16]!"
#define EMBEDDING                                                                                  \
    "e <- Gather f32[32,16]! i64[4,8] axis=0; "                                                    \
    "n <- LayerNormalization e f32[16]! f32[16]! axis=-1; y <- MatMul n f32[16,32]!"
#define RESIDUAL "a <- MatMul f32[4,8,16] f32[16,16]!; y <- Add a in0"
#define VIEWS                                                                                      \
    "a <- Reshape f32[4,8,16] i64[2]{32,16}; b <- MatMul a f32[16,24]!; "                          \
    "c <- Reshape b i64[3]{4,8,24}; d e f <- Split c axis=2; g <- Add d e; y <- Concat g f axis=2"
#define BROADCAST                                                                                  \
    "a <- ReduceSum f32[4,8,16] i64[1]{1} keepdims=0; b <- Unsqueeze a i64[1]{1}; c <- Swish b; "  \
    "y <- Mul in0 c"
#define TIED                                                                                       \
    "e <- Gather f32[32,16]! i64[4,8] axis=0; u <- Transpose in0 perm=[1,0]; y <- MatMul e u"

static Case cases[] = {
    {"mlp megatron", MLP, "x=2,y=2", "in0=[0,-1] in1=[-1,1] in3=[1,-1]",
     "in0=[0,-1] in1=[-1,1] in2=[1] in3=[1,-1] in4=[-1] m=[0,1] h=[0,1] g=[0,1] n=[0,-1] y=[0,-1]"},
    {"mlp conflict", MLP, "x=2", "in0=[0,-1] in1=[-1,0]",
     "in0=[0,-1] in1=[-1,0] in2=[0] in3=[0,-1] in4=[-1] m=[-1,0] h=[-1,0] g=[-1,0] n=[-1,-1] "
     "y=[-1,-1]"},
    {"mlp marked middle", MLP, "x=2", "h=[-1,0]",
     "in0=[-1,-1] in1=[-1,0] in2=[0] in3=[0,-1] in4=[-1] m=[-1,0] h=[-1,0] g=[-1,0] n=[-1,-1] "
     "y=[-1,-1]"},
    {"mlp marked middle 2", MLP, "x=2,y=2", "in0=[0,-1] h=[-1,1]",
     "in0=[0,-1] in1=[-1,1] in2=[1] in3=[1,-1] in4=[-1] m=[0,1] h=[0,1] g=[-1,1] n=[-1,-1] "
     "y=[-1,-1]"},
    {"attn heads", ATTENTION("Swish"), "x=2,y=2",
     "in0=[0,-1,-1] in1=[-1,1] in3=[-1,1] in5=[-1,1] in8=[1,-1]",
     "in0=[0,-1,-1] in1=[-1,1] in3=[-1,1] in5=[-1,1] in8=[1,-1] q=[0,-1,1] qr=[0,-1,1,-1] "
     "qt=[0,1,-1,-1] k=[0,-1,1] kr=[0,-1,1,-1] kt=[0,1,-1,-1] v=[0,-1,1] vr=[0,-1,1,-1] "
     "vt=[0,1,-1,-1] kk=[0,1,-1,-1] s=[0,1,-1,-1] p=[0,1,-1,-1] o=[0,1,-1,-1] ot=[0,-1,1,-1] "
     "or=[0,-1,1] y=[0,-1,-1]"},
    {"attn one", ATTENTION("Swish"), "x=2,y=2", "in0=[0,-1,-1] in1=[-1,1]",
     "in0=[0,-1,-1] in1=[-1,1] in3=[-1,1] in5=[-1,1] in8=[1,-1] q=[0,-1,1] qr=[0,-1,1,-1] "
     "qt=[0,1,-1,-1] k=[0,-1,1] kr=[0,-1,1,-1] kt=[0,1,-1,-1] v=[0,-1,1] vr=[0,-1,1,-1] "
     "vt=[0,1,-1,-1] kk=[0,1,-1,-1] s=[0,1,-1,-1] p=[0,1,-1,-1] o=[0,1,-1,-1] ot=[0,-1,1,-1] "
     "or=[0,-1,1] y=[0,-1,-1]"},
    {"attn softmax", ATTENTION("Softmax"), "x=2,y=2",
     "in0=[0,-1,-1] in1=[-1,1] in3=[-1,1] in5=[-1,1] in8=[1,-1]",
     "in0=[0,-1,-1] in1=[-1,1] in3=[-1,1] in5=[-1,1] in8=[1,-1] q=[0,-1,1] qr=[0,-1,1,-1] "
     "qt=[0,1,-1,-1] k=[0,-1,1] kr=[0,-1,1,-1] kt=[0,1,-1,-1] v=[0,-1,1] vr=[0,-1,1,-1] "
     "vt=[0,1,-1,-1] kk=[0,1,-1,-1] s=[0,1,-1,-1] p=[0,1,-1,-1] o=[0,1,-1,-1] ot=[0,-1,1,-1] "
     "or=[0,-1,1] y=[0,-1,-1]"},
    {"attn softmax one", ATTENTION("Softmax"), "x=2,y=2", "in0=[0,-1,-1] in1=[-1,1]",
     "in0=[0,-1,-1] in1=[-1,1] in3=[-1,1] in5=[-1,1] in8=[1,-1] q=[0,-1,1] qr=[0,-1,1,-1] "
     "qt=[0,1,-1,-1] k=[0,-1,1] kr=[0,-1,1,-1] kt=[0,1,-1,-1] v=[0,-1,1] vr=[0,-1,1,-1] "
     "vt=[0,1,-1,-1] kk=[0,1,-1,-1] s=[0,1,-1,-1] p=[0,1,-1,-1] o=[0,1,-1,-1] ot=[0,-1,1,-1] "
     "or=[0,-1,1] y=[0,-1,-1]"},
    {"tied", TIED, "x=2,y=2", "in1=[0,-1] in0=[1,-1]",
     "in1=[0,-1] in0=[1,-1] e=[0,-1,-1] u=[-1,1] y=[0,-1,1]"},
    {"tied2", TIED, "x=2,y=2", "in1=[0,-1] y=[-1,-1,1]",
     "in1=[0,-1] in0=[1,-1] e=[0,-1,-1] u=[-1,1] y=[0,-1,1]"},
    {"attn seq", ATTENTION("Swish"), "x=2", "in0=[-1,0,-1]",
     "in0=[-1,0,-1] in1=[-1,-1] in3=[-1,-1] in5=[-1,-1] in8=[-1,-1] q=[-1,0,-1] qr=[-1,0,-1,-1] "
     "qt=[-1,-1,0,-1] k=[-1,0,-1] kr=[-1,0,-1,-1] kt=[-1,-1,0,-1] v=[-1,0,-1] vr=[-1,0,-1,-1] "
     "vt=[-1,-1,0,-1] kk=[-1,-1,-1,0] s=[-1,-1,0,-1] p=[-1,-1,0,-1] o=[-1,-1,0,-1] ot=[-1,0,-1,-1] "
     "or=[-1,0,-1] y=[-1,0,-1]"},
    {"emb dp", EMBEDDING, "x=2,y=2", "in1=[0,-1]",
     "in1=[0,-1] in0=[-1,-1] in2=[-1] in3=[-1] e=[0,-1,-1] n=[0,-1,-1] in4=[-1,-1] y=[0,-1,-1]"},
    {"emb vocab", EMBEDDING, "x=2,y=2", "in1=[0,-1] in0=[1,-1]",
     "in1=[0,-1] in0=[1,-1] in2=[-1] in3=[-1] e=[0,-1,-1] n=[0,-1,-1] in4=[-1,-1] y=[0,-1,-1]"},
    {"emb width", EMBEDDING, "x=2,y=2", "in1=[0,-1] in0=[-1,1]",
     "in1=[0,-1] in0=[-1,1] in2=[-1] in3=[-1] e=[0,-1,1] n=[0,-1,-1] in4=[-1,-1] y=[0,-1,-1]"},
    {"resid", RESIDUAL, "x=2,y=2", "in0=[0,-1,-1] in1=[-1,1]",
     "in0=[0,-1,-1] in1=[-1,1] a=[0,-1,1] y=[0,-1,1]"},
    {"resid2", RESIDUAL, "x=2,y=2", "in0=[0,-1,1] in1=[1,-1]",
     "in0=[0,-1,1] in1=[1,-1] a=[0,-1,-1] y=[0,-1,1]"},
    {"views", VIEWS, "x=2,y=2", "in0=[0,-1,-1] in2=[-1,1]",
     "in0=[0,-1,-1] a=[0,-1] in2=[-1,1] b=[0,1] c=[0,-1,1] d=[0,-1,-1] e=[0,-1,-1] f=[0,-1,-1] "
     "g=[0,-1,-1] y=[0,-1,-1]"},
    {"views2", VIEWS, "x=2,y=2", "in0=[0,1,-1]",
     "in0=[0,1,-1] a=[0,-1] in2=[-1,-1] b=[0,-1] c=[0,-1,-1] d=[0,-1,-1] e=[0,-1,-1] f=[0,-1,-1] "
     "g=[0,-1,-1] y=[0,-1,-1]"},
    {"misc", BROADCAST, "x=2,y=2", "in0=[0,1,-1]",
     "in0=[0,1,-1] a=[0,-1] b=[0,-1,-1] c=[0,-1,-1] y=[0,1,-1]"},
    {"concat marked along its axis",
     "t2 t3 <- Split f32[8,4,8] axis=0; t4 <- Concat t2 t3 axis=0; t5 <- MatMul t3 f32[8,16]!; t6 "
     "<- Reshape t3 i64[1]{128}; t7 <- Concat t3 t2 axis=0; t8 <- Unsqueeze t3 i64[1]{1}; t9 <- "
     "MatMul in0 f32[8,8]!",
     "x=2", "t2=[0,-1,-1] in4=[0,-1]",
     "in0=[-1,-1,0] t2=[-1,-1,0] t3=[-1,-1,0] t4=[-1,0,-1] in1=[-1,-1] t5=[-1,0,-1] t6=[-1] "
     "t7=[-1,0,-1] t8=[-1,-1,0,-1] in4=[0,-1] t9=[-1,-1,-1]"},
    {"k and n of a product by one axis",
     "t1 <- MatMul f32[4,4,16] f32[16,12]!; t2 <- Unsqueeze in0 i64[1]{2}; t3 <- MatMul t2 "
     "f32[16,16]!; t4 <- Mul t3 t2; t6 <- Reshape in0 i64[2]{16,16}; t8 <- Add t2 f32[16]!",
     "x=2,y=4", "in5=[1] in1=[-1,-1]",
     "in0=[-1,-1,1] in1=[-1,-1] t1=[-1,-1,-1] t2=[-1,-1,-1,1] in3=[1,-1] t3=[-1,-1,-1,-1] "
     "t4=[-1,-1,-1,1] t6=[-1,1] in5=[1] t8=[-1,-1,-1,1]"},
    {"two axes on a dim that is merged",
     "t1 t2 <- Split f32[8,4,8] axis=0; t3 <- Reshape in0 i64[2]{32,8}; t4 <- ReduceSum in0 "
     "i64[1]{2} keepdims=0; t5 <- Reshape t1 i64[4]{2,2,4,8}; t6 <- MatMul t5 f32[8,16]!",
     "x=2,y=2", "t5=[-1,0,1,-1] t1=[1,-1,-1] in0=[0,1,-1] in4=[1,0]",
     "in0=[0,1,-1] t1=[-1,1,-1] t2=[-1,1,-1] t3=[0,-1] t4=[0,1] t5=[1,-1,-1,-1] in4=[1,0] "
     "t6=[-1,0,1,-1]"},
    {"k and n of a product by two axes",
     "t1 <- LayerNormalization f32[4,4,16] f32[16]! f32[16]! axis=-1; t2 <- Mul t1 in0; t3 <- "
     "ReduceSum t2 i64[1]{0} keepdims=0; t4 <- MatMul t1 f32[16,8]!; t5 <- Add t1 t3",
     "x=2,y=2", "in4=[0,1] t1=[-1,-1,1] in2=[0]",
     "in0=[-1,-1,1] in1=[-1] in2=[0] t1=[-1,-1,-1] t2=[-1,-1,1] t3=[-1,1] in4=[0,1] t4=[-1,-1,-1] "
     "t5=[-1,-1,1]"},
    {"one tensor twice",
     "t1 <- Transpose f32[8,6,8] perm=[1,0,2]; t2 <- MatMul t1 t1; t3 <- Softmax t1 axis=-1; t4 <- "
     "ReduceSum t2 i64[1]{2} keepdims=0; t5 <- Concat t3 t1 axis=2",
     "x=2", "t2=[-1,-1,-1]",
     "in0=[-1,-1,-1] t1=[-1,-1,-1] t2=[-1,-1,-1] t3=[-1,-1,-1] t4=[-1,-1] t5=[-1,-1,-1]"},
    {"sums",
     "t1 <- Gather f32[32,16]! i64[4,4] axis=0; t2 <- Add f32[4,4,16] f32[16]!; t3 <- ReduceSum "
     "in2 i64[1]{0} keepdims=1; t4 <- Reshape in2 i64[4]{4,4,4,4}",
     "x=2,y=2", "in2=[0,1,-1] in0=[-1,0] in3=[-1] in1=[-1,1]",
     "in0=[-1,0] in1=[-1,1] t1=[-1,1,0] in2=[0,1,-1] in3=[-1] t2=[0,1,-1] t3=[-1,-1,-1] "
     "t4=[0,1,-1,-1]"},
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

/* Where Paddle completes otherwise, on purpose: its completer has older code for these operators.
 */
typedef struct {
    const char *name, *net, *mesh, *marks;
    const char *want;   /* ours */
    const char *paddle; /* the same tensor as Paddle completes it */
} Deviation;

static Deviation deviations[] = {
    {"exp has a rule: all its dims pass, not the batch alone",
     "t2 <- Swish f32[4,6,8]; t3 <- Exp in0", "x=2,y=2", "in0=[-1,0,-1]", "t3=[-1,0,-1]",
     "t3=[-1,-1,-1]"},
    {"mean has a rule",
     "t1 t2 <- Split f32[4,6,8] axis=0; t3 <- Swish t2; t4 <- ReduceMean t3 axes=[0] keepdims=1",
     "x=2,y=2", "in0=[-1,0,-1] t2=[1,0,-1] t3=[-1,1,0]", "t4=[-1,1,0]", "t4=[-1,-1,-1]"},
    {"a softmax along dim 0 is not split there, batch or not",
     "t1 <- Softmax f32[4,8,16] axis=0; t3 t4 <- Split t1 axis=0", "x=2,y=2",
     "t1=[0,-1,-1] in0=[-1,-1,-1]", "t1=[-1,-1,-1]", "t1=[0,-1,-1]"},
};

static void it_deviates_as_said(void **state)
{
    const Deviation *d = *state;
    Case as_wanted = {d->name, d->net, d->mesh, d->marks, d->want};
    void *same = &as_wanted;
    it_completes_as_paddle_does(&same);
    assert_string_not_equal(d->want, d->paddle);
}

/* ---- plans made of it ---- */

typedef struct {
    const char *tensor;
    int dim;
    const char *axes;
    int64_t interleave;
} Pin;

typedef struct {
    const char *name, *net, *mesh;
    Pin pins[4];
    int priority;     /* of the pins */
    const char *code; /* of a finding there must be */
    const char *text; /* in it */
} PlanCase;

static PlanCase plan_cases[] = {
    {"no mapping is interleaved",
     MLP,
     "dp=2,tp=2",
     {{"in0", 0, "dp", 1}, {"in1", 1, "tp", 2}},
     0,
     "spmd-mark",
     "in1 dim 1"},
    {"no mapping is by a part of an axis",
     MLP,
     "tp=4",
     {{"in1", 1, "tp:(1)2", 1}},
     0,
     "spmd-mark",
     "in1 dim 1"},
    {"a mark that does not divide",
     "y <- Relu f32[7,16]",
     "dp=2",
     {{"in0", 0, "dp", 1}},
     0,
     "spmd-mark",
     "here it is applied"},
    {"a constant that nothing shards takes no part",
     "y <- Reshape f32[2,2] i64[1]{4}; z <- Swish in0; s <- Shape in0",
     "dp=2",
     {{"s", 0, "dp", 1}},
     0,
     "spmd-mark",
     "completion leaves out ops that cannot be sharded"},
    {"marks have no priority", MLP, "dp=2", {{"in0", 0, "dp", 1}}, 1, "spmd-decision", "priority"},
    {"a mark that its maker overrules",
     MLP,
     "dp=2,tp=2",
     {{"in0", 0, "dp", 1}, {"h", 1, "tp", 1}},
     0,
     "spmd-overruled",
     "h is marked 8,32/tp but produced as 8/dp,32/tp by add"},
    {"an operator without a rule",
     "y <- IsNaN f32[8,16]",
     "dp=2",
     {{"in0", 0, "dp", 1}},
     0,
     "spmd-no-rule",
     "IsNaN"},
    {"a rule that refuses",
     EMBEDDING,
     "x=2",
     {{"in0", 0, "x", 1}, {"in1", 0, "x", 1}},
     0,
     "spmd-refused",
     "embedding refuses"},
    {"a product by k and n",
     RESIDUAL,
     "x=2,y=2",
     {{"in1", 0, "x", 1}, {"in1", 1, "y", 1}},
     0,
     "spmd-rejected",
     "matmul_v2"},
    {"a batch that is none",
     "y <- CumProd f32[8,16] i64[]{0}",
     "dp=2",
     {{"in0", 0, "dp", 1}},
     0,
     "spmd-lost",
     "splits dim 0 of input 0"},
};

static void run_it(Planning *p)
{
    RunOptions options = {.verify = true, .seed = 7, .repeat = 1};
    RunReport report;
    Error err = {0};
    if (!run_plan(p->arena, p->plan, &options, &report, &err))
        planning_fail(&err);
    assert_true(report.ok);
    assert_true(report.n_values_checked > 0);
}

static const Finding *finding_of(const Plan *plan, const char *code)
{
    for (int i = 0; i < plan->findings.n; i++)
        if (strcmp(plan->findings.at[i].code, code) == 0)
            return &plan->findings.at[i];
    fail_msg("no finding %s", code);
    return NULL;
}

static void what_is_lost_is_found_and_computes_the_same(void **state)
{
    const PlanCase *c = *state;
    Planning *p = planning_of_text(c->net, c->mesh);
    p->propagator = &propagator_spmd;
    for (int i = 0; i < 4 && c->pins[i].tensor; i++) {
        const Pin *pin = &c->pins[i];
        planning_pin(p, pin->tensor, pin->dim, pin->axes, pin->interleave, false);
        p->journal.decisions.at[i].priority = c->priority;
    }
    const Finding *finding = finding_of(planning_make(p), c->code);
    if (!strstr(finding->text, c->text))
        fail_msg("'%s' does not say '%s'", finding->text, c->text);
    run_it(p);
    planning_close(p);
}

/* Megatron's columns and rows on both layers of a sample. */
typedef struct {
    const char *name, *model, *mesh;
    const char *columns, *rows; /* parameters of a layer, with blanks between */
    const char *inputs;
    const char *collectives;
} ModelCase;

static ModelCase model_cases[] = {
    {"tiny-gpt, mlp by columns and rows", "tiny-gpt", "dp=2,tp=2",
     "transformer.h.%d.mlp.c_fc.weight", "transformer.h.%d.mlp.c_proj.weight",
     "input_ids attention_mask", "all_reduce tp 2 x 8192"},
    {"llama-tiny, all but k and v", "llama-tiny", "dp=2,tp=2",
     "model.layers.%d.mlp.gate_proj.weight model.layers.%d.mlp.up_proj.weight",
     "model.layers.%d.mlp.down_proj.weight", "input_ids attention_mask", "all_reduce tp 2 x 16384"},
};

static void pin_layers(Planning *p, const char *names, int dim)
{
    for (Str rest = str_from(names); rest.n > 0;) {
        Str name = str_take(&rest, ' ');
        int64_t at = str_find(name, STR("%d"));
        for (int layer = 0; layer < 2; layer++)
            planning_pin(
                p,
                arena_printf(p->arena, "%.*s%d%s", (int)at, name.s, layer,
                             arena_str(p->arena, (Str){name.s + at + 2, name.n - (size_t)at - 2})),
                dim, "tp", 1, false);
    }
}

static void models_compute_what_one_device_does(void **state)
{
    const ModelCase *c = *state;
    Planning *p = planning_open(c->model, "batch=4,seq=16", c->mesh);
    p->propagator = &propagator_spmd;
    for (Str rest = str_from(c->inputs); rest.n > 0;)
        planning_pin(p, arena_str(p->arena, str_take(&rest, ' ')), 0, "dp", 1, false);
    pin_layers(p, c->columns, 1);
    pin_layers(p, c->rows, 0);
    planning_make(p);
    assert_string_equal(planning_collectives(p), c->collectives);
    run_it(p);
    planning_close(p);
}

/* Every axis on a value that an op makes has a chain to a pin, and its first step is one. */
static void every_axis_has_its_reason(void **state)
{
    const ModelCase *c = *state;
    Planning *p = planning_open(c->model, "batch=4,seq=16", c->mesh);
    p->propagator = &propagator_spmd;
    planning_pin(p, "input_ids", 0, "dp", 1, false);
    pin_layers(p, c->columns, 1);
    const Plan *plan = planning_make(p);
    int n_chains = 0;
    for (int32_t t = 0; t < p->graph->n_tensors; t++) {
        if (p->graph->tensors[t].maker < 0 || plan->moved->sharding[t] < 0)
            continue;
        const Sharding *sharding = plan_sharding(plan, t);
        for (int d = 0; d < sharding->n_dims; d++) {
            ReasonChain *chain;
            if (cut_is_whole(&sharding->dim[d]))
                continue;
            if (why_tensor_dim(p->arena, plan, t, d, &chain) == 0)
                fail_msg("%s dim %d has no reason", tensor_name(p->graph, t), d);
            assert_int_equal(chain[0].step[0].kind, REASON_PIN);
            n_chains++;
        }
    }
    assert_true(n_chains > 20);
    planning_close(p);
}

/* The events end where the plan is, each tensor and each op. */
static void events_lead_to_the_plan(void **state)
{
    const ModelCase *c = *state;
    Planning *p = planning_open(c->model, "batch=4,seq=16", c->mesh);
    p->propagator = &propagator_spmd;
    planning_pin(p, "input_ids", 0, "dp", 1, false);
    pin_layers(p, c->columns, 1);
    const Plan *plan = planning_make(p);
    const PlanEvent *event = plan_events(p->arena, plan);
    int n = plan_n_events(plan);
    int32_t *flow = arena_array(p->arena, int32_t, p->graph->n_tensors);
    const OpCut **cut = arena_array(p->arena, const OpCut *, p->graph->n_ops);
    assert_true(n > 20);
    assert_int_equal(event[0].op, -1); /* a pin */
    for (int i = 0; i < n; i++) {
        Buf text = buf_new(p->arena);
        plan_event_format(plan, &event[i], &text);
        assert_true(text.n > 0);
        if (event[i].tensor >= 0)
            flow[event[i].tensor] = event[i].to + 1;
        else
            cut[event[i].op] = event[i].cut[1];
    }
    for (int32_t t = 0; t < p->graph->n_tensors; t++)
        assert_true(flow[t] == 0 || flow[t] - 1 == plan_reached(plan, t));
    for (int32_t op = 0; op < p->graph->n_ops; op++)
        assert_true(!cut[op] || cut[op] == plan_cut(plan, op));
    planning_close(p);
}

static int run_pinned(Planning *p, int32_t tensor, int dim)
{
    RunOptions options = {.verify = true, .seed = 7, .repeat = 1};
    RunReport report;
    Error err = {0};
    uint8_t atom[] = {0};
    Decision pin = {.kind = PIN_TENSOR_DIM, .place = tensor, .dim = dim};
    Cut cut = cut_by(inferred_shape(p->inferred, tensor)->dim[dim], atom, 1, p->mesh);
    pin.cut = &cut;
    pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    p->journal.n_done = 0;
    journal_add(&p->journal, p->arena, &pin);
    planning_make(p);
    if (!run_plan(p->arena, p->plan, &options, &report, &err))
        return 0;
    if (report.verdict == RUN_FAIL) /* drawn operands may be outside the domain: all NaN */
        fail_msg("%s, %s dim %d: differs", op_operator(p->graph, 0), tensor_name(p->graph, tensor),
                 dim);
    return 1;
}

static int run_example(const char *name, const char *example)
{
    Arena *arena = arena_new();
    Planning *p = arena_make(arena, Planning);
    Error err = {0};
    int n = 0;
    p->arena = arena;
    p->propagator = &propagator_spmd;
    p->graph = example_graph(arena, name, example, &err);
    if (!p->graph)
        planning_fail(&err);
    planning_infer(p, "", "x=2");
    for (int i = 0; i < p->graph->ops[0].n_inputs; i++) {
        int32_t t = op_inputs(p->graph, 0)[i];
        const Shape *shape = t < 0 ? NULL : inferred_shape(p->inferred, t);
        for (int d = 0; shape && d < shape->n_dims && !inferred_is_host(p->inferred, 0); d++)
            if (!inferred_value(p->inferred, t))
                n += run_pinned(p, t, d);
    }
    planning_close(p);
    return n;
}

/* Every small call of every operator: each dim of each input pinned, alone, is planned, and run
 * where there is a kernel. */
static void every_operator_computes_the_same(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    int n_run = 0;
    for (int i = 0; i < registry_count(registry); i++) {
        const char *name = registry_at(registry, i)->name;
        for (const char *e = example_next(name, NULL); e; e = example_next(name, e))
            n_run += run_example(name, e);
    }
    assert_true(n_run > 500);
    arena_free(arena);
}

/* A product by rows is partial, and nothing behind it is. */
static void a_product_by_rows_is_partial(void **state)
{
    (void)state;
    Planning *p = planning_of_text(MLP, "x=2,y=2");
    Completion *completion = completion_new(p->arena, p->inferred, p->mesh, NULL);
    mark(p, completion, STR("in1=[-1,1]"));
    completion_run(completion);
    for (int i = 0; i < p->inferred->n_program; i++) {
        int32_t op = p->inferred->program[i], out = op_outputs(p->graph, op)[0];
        bool rows = strcmp(tensor_name(p->graph, out), "n") == 0;
        assert_int_equal(completion_partial(completion, op), rows ? 1u << 1 : 0);
    }
    planning_close(p);
}

/* Marks of lists: two axes on one dim pass where rules know lists. */
static void two_axes_on_a_dim_pass(void **state)
{
    (void)state;
    Planning *p = planning_of_text(MLP, "x=2,y=2");
    Completion *completion = completion_new(p->arena, p->inferred, p->mesh, NULL);
    SpmdAxes both[2] = {{2, {0, 1}}, {0}};
    int32_t x = graph_find_tensor(p->graph, STR("in0"));
    assert_true(completion_mark_tensor(completion, x, both, false));
    SpmdAxes twice[2] = {{1, {0}}, {1, {0}}};
    assert_false(completion_mark_tensor(completion, x, twice, false));
    completion_run(completion);
    int32_t g = completion_tensor(completion, graph_find_tensor(p->graph, STR("m")));
    assert_string_equal(mapping_text(p, completion, g), "[0.1,-1]");
    planning_close(p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(two_axes_on_a_dim_pass),
                                              cmocka_unit_test(a_product_by_rows_is_partial),
                                              cmocka_unit_test(every_operator_computes_the_same)};
    return run_rows("completion", cases, it_completes_as_paddle_does) +
           run_rows("deviations", deviations, it_deviates_as_said) +
           run_rows("findings", plan_cases, what_is_lost_is_found_and_computes_the_same) +
           run_rows("models", model_cases, models_compute_what_one_device_does) +
           run_rows("reasons", model_cases, every_axis_has_its_reason) +
           run_rows("events", model_cases, events_lead_to_the_plan) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
