#include "core/run/blocks.h"

#include "core/cost/gradient_reduces.h"
#include "core/cost/pipeline.h"
#include "core/cost/ring.h"
#include "core/plan/stage.h"
#include "core/run/program.h"

/* ORDER RUN_PASS */
static const char *const pass_names[] = {"F", "B", "I", "W", "update"};

const char *run_pass_name(RunPass pass)
{
    return pass_names[pass];
}

bool run_step_sends(const Step *step)
{
    return step->kind == STEP_SEND || step->kind == STEP_BROADCAST;
}

typedef struct {
    const Plan *plan;
    const Program *program;
    bool split; /* the schedule has the gradients of weights apart */
    int n_stages;
} StageBlocks;

static bool is_split(const Plan *plan)
{
    const Schedule *table = plan_schedule(plan);
    for (int b = 0; table && b < table->n_blocks; b++)
        if (table->block[b].pass == BLOCK_WEIGHT)
            return true;
    return false;
}

static RunPass pass_of(const StageBlocks *blocks, int32_t op)
{
    Phase phase = (Phase)blocks->plan->inferred->graph->phase[op];
    if (op_runs_once(blocks->plan, op))
        return RUN_UPDATE;
    if (phase == PHASE_FORWARD)
        return RUN_FORWARD;
    if (!blocks->split)
        return RUN_BACKWARD;
    return phase == PHASE_BACKWARD && op_makes_weights(blocks->plan, op) ? RUN_WEIGHT : RUN_INPUT;
}

/* The op whose block an instruction is in; -1: none. */
static int32_t op_of(const StageBlocks *blocks, const Instr *instr)
{
    const Plan *plan = blocks->plan;
    if (instr->kind == INSTR_OP)
        return instr->op;
    if (instr->kind != INSTR_STEP)
        return -1;
    const Reshard *reshard = &plan->moved->reshards[instr->reshard];
    int32_t reader = reshard->n_uses > 0 ? plan->moved->reshard_uses[reshard->use] : -1;
    bool added_later = blocks->program->n_views > 1 &&
                       instr->view < program_last_view(blocks->program) && reader >= 0 &&
                       op_runs_once(plan, reader);
    return reader < 0 || added_later ? plan->inferred->graph->tensors[reshard->tensor].maker
                                     : reader;
}

/* The stage whose devices, and no others, do the op; -1: there is none. */
static int stage_alone(const Plan *plan, int32_t op)
{
    const Stages *stages = plan->decided->stages;
    int stage = stages ? stage_of(plan, op) : 0;
    bool alone = !stages || (stage >= 0 && stages->at[stage].devices == plan_devices(plan, op));
    return alone ? stage : -1;
}

/* Its place among all blocks that there can be; -1: in none. */
static int place_of(const StageBlocks *blocks, const Instr *instr)
{
    int32_t op = op_of(blocks, instr);
    int stage = op < 0 ? -1 : stage_alone(blocks->plan, op);
    if (stage < 0)
        return -1;
    bool added_up =
        blocks->program->n_views > 1 && instr->view == program_last_view(blocks->program);
    RunPass pass = added_up ? RUN_UPDATE : pass_of(blocks, op);
    int view = pass == RUN_UPDATE ? 0 : instr->view;
    return (view * blocks->n_stages + stage) * N_RUN_PASSES + (int)pass;
}

static double predicted_us(const Plan *plan, const Instr *instr)
{
    if (instr->kind == INSTR_OP)
        return plan->priced->op_us[instr->op];
    if (run_step_sends(instr->step))
        return 0;
    const Reshard *reshard = &plan->moved->reshards[instr->reshard];
    double hidden = instr->step->kind == STEP_RING ? ring_hidden_us(plan, reshard) : 0;
    return instr->step->us - hidden;
}

static ProgramBlock block_at(const StageBlocks *blocks, int place)
{
    RunPass pass = (RunPass)(place % N_RUN_PASSES);
    int rest = place / N_RUN_PASSES;
    return (ProgramBlock){.pass = pass,
                          .stage = rest % blocks->n_stages,
                          .micro_batch = pass == RUN_UPDATE ? -1 : rest / blocks->n_stages};
}

void program_blocks(Arena *arena, const Plan *plan, Program *program)
{
    const Stages *stages = plan->decided->stages;
    StageBlocks blocks = {plan, program, is_split(plan), stages ? stages->n : 1};
    if (!plan->inferred->graph->next_of)
        return;
    Arena *scratch = arena_new();
    int32_t *number =
        arena_array(scratch, int32_t, program->n_views * blocks.n_stages * N_RUN_PASSES);
    Vec(ProgramBlock) list = {0};
    program->block_of = arena_array(arena, int32_t, program->n_instrs);
    for (int i = 0; i < program->n_instrs; i++) {
        const Instr *instr = &program->instrs[i];
        int place = i < program->n_once ? -1 : place_of(&blocks, instr);
        program->block_of[i] = -1;
        if (place < 0)
            continue;
        if (number[place] == 0) {
            vec_push(arena, &list, block_at(&blocks, place));
            number[place] = list.n;
        }
        program->block_of[i] = number[place] - 1;
        list.at[number[place] - 1].predicted_us += predicted_us(plan, instr);
    }
    program->blocks = list.at;
    program->n_blocks = list.n;
    arena_free(scratch);
}
