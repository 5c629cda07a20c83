/* What stages take, the lanes of devices they meet on, and schedules that do not fit. */
#include "tests/unit/planning.h"
#include "tests/unit/random.h"

#include "core/plan/stage.h"
#include "core/cost/pipeline.h"

#include <math.h>

static void assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-9 * (1 + fabs(b)))
        fail_msg("%.12g, not %.12g", a, b);
}

static int32_t op_at(const Planning *p, int place)
{
    return p->inferred->program[place];
}

static void decide(Planning *p, Decision decision)
{
    decision.dim = -1;
    decision.origin = (Origin){.kind = ORIGIN_POLICY, .file = "test.lua", .line = 7, .text = ""};
    journal_add(&p->journal, p->arena, &decision);
}

static SubMesh part_of(const Planning *p, const char *text)
{
    Source source = {"devices", str_from(text)};
    SubMesh sub;
    assert_true(submesh_parse(p->mesh, &source, &sub, NULL));
    return sub;
}

/* Ops in n equal runs, each a stage on its devices. */
static void stage_on(Planning *p, int n, const SubMesh *devices)
{
    int n_ops = p->inferred->n_program;
    for (int s = 0; s < n; s++) {
        int first = n_ops * s / n, last = n_ops * (s + 1) / n - 1;
        decide(p, (Decision){.kind = PIN_STAGE, .place = op_at(p, first)});
        for (int i = first; i <= last; i++)
            decide(p, (Decision){.kind = PIN_DEVICES,
                                 .place = op_at(p, i),
                                 .last = op_at(p, i),
                                 .devices = devices[s]});
    }
}

static void schedule(Planning *p, const char *name, int n_micro_batches)
{
    decide(p, (Decision){.kind = PIN_SCHEDULE, .schedule = name, .number = n_micro_batches});
}

static Planning *two_stages(void)
{
    Planning *p = planning_open("tiny-gpt", "batch=2,seq=16", "pp=2,tp=2");
    stage_on(p, 2, (SubMesh[]){part_of(p, "pp=0"), part_of(p, "pp=1")});
    return p;
}

static const Finding *finding_of(const Plan *plan, const char *code)
{
    for (int i = 0; i < plan->findings.n; i++)
        if (strcmp(plan->findings.at[i].code, code) == 0)
            return &plan->findings.at[i];
    return NULL;
}

/* ---- times ---- */

static void sums_what_a_stage_does(void **state)
{
    (void)state;
    Planning *p = two_stages();
    schedule(p, "1f1b", 4);
    const Plan *plan = planning_make(p);
    const Stages *stages = plan->decided->stages;
    double us[2] = {0};
    for (int i = 0; i < p->inferred->n_program; i++)
        us[stages->of_op[op_at(p, i)]] += plan->priced->op_us[op_at(p, i)];
    for (int s = 0; s < 2; s++) {
        assert_near(plan->priced->pipeline->stage[s].compute_us, us[s]);
        assert_near(stage_backward_us(&plan->priced->pipeline->stage[s]),
                    2 * stage_forward_us(&plan->priced->pipeline->stage[s]));
    }
    double all = 0;
    for (int s = 0; s < 2; s++)
        all += stage_forward_us(&plan->priced->pipeline->stage[s]) +
               plan->priced->pipeline->stage[s].receive_us;
    assert_near(all, plan->priced->totals.step_us);
    assert_near(plan_step_us(plan), plan_schedule(plan)->us);
    assert_true(plan_schedule(plan)->us > 3 * plan->priced->totals.step_us);
    assert_near(plan->priced->pipeline->even_idle, 1.0 / 5);
    assert_int_equal(plan_schedule(plan)->in_flight[0], 2);
    planning_close(p);
}

/* Without a schedule: one micro-batch, forward, as the plan's own step. */
static void goes_through_once(void **state)
{
    (void)state;
    Planning *p = two_stages();
    const Plan *plan = planning_make(p);
    assert_false(plan_schedule(plan)->trains);
    assert_near(plan_schedule(plan)->us, plan->priced->totals.step_us);
    planning_close(p);
}

static void is_the_step_without_stages(void **state)
{
    (void)state;
    Planning *p = planning_open("tiny-gpt", "batch=2,seq=16", "tp=2");
    const Plan *plan = planning_make(p);
    assert_null(plan->decided->stages);
    assert_near(plan_step_us(plan), plan->priced->totals.step_us);
    planning_close(p);
}

static void computes_again(void **state)
{
    (void)state;
    Planning *p = two_stages();
    int half = p->inferred->n_program / 2;
    schedule(p, "1f1b", 4);
    decide(p, (Decision){.kind = PIN_RECOMPUTE, .place = op_at(p, 0), .last = op_at(p, half - 1)});
    const StagePrice *stage = planning_make(p)->priced->pipeline->stage;
    assert_near(stage_backward_us(&stage[0]), 3 * stage_forward_us(&stage[0]));
    assert_near(stage[1].again_us, 0);
    planning_close(p);
}

/* ---- lanes ---- */

static bool runs_on(const Lanes *lanes, int stage, int lane)
{
    for (int32_t i = lanes->first[stage]; i < lanes->first[stage + 1]; i++)
        if (lanes->lane[i] == lane)
            return true;
    return false;
}

/* Per position which stages run there; positions with equal sets, none empty, are one lane. */
static void assert_lanes(const Planning *p, const Stages *stages)
{
    const Lanes *lanes = p->plan->priced->pipeline->lanes;
    int n_devices[64] = {0};
    for (int64_t position = 0; position < p->mesh->n_devices; position++) {
        int found = -1, n_found = 0;
        bool used = false;
        for (int s = 0; s < stages->n; s++)
            used |=
                submesh_has(p->mesh, p->plan->decided->submeshes[stages->at[s].devices], position);
        for (int lane = 0; lane < lanes->n; lane++) {
            bool same = true;
            for (int s = 0; s < stages->n; s++)
                same &= runs_on(lanes, s, lane) ==
                        submesh_has(p->mesh, p->plan->decided->submeshes[stages->at[s].devices],
                                    position);
            n_found += same;
            found = same ? lane : found;
        }
        assert_int_equal(n_found, used);
        if (used)
            n_devices[found]++;
    }
    for (int lane = 0; lane < lanes->n; lane++)
        assert_int_equal(lanes->n_devices[lane], n_devices[lane]);
}

static void splits_devices_into_lanes(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        Planning *p = planning_open("tiny-gpt", "batch=2,seq=16", "pp=4,dp=2,tp=2");
        SubMesh devices[6];
        int n = 2 + pick(5);
        for (int s = 0; s < n; s++) {
            devices[s].fixed = (AtomSet)pick(1 << p->mesh->n_atoms);
            int64_t position = pick((int)p->mesh->n_devices);
            devices[s].first = 0;
            for (int a = 0; a < p->mesh->n_atoms; a++)
                if (devices[s].fixed >> a & 1)
                    devices[s].first +=
                        (int32_t)(mesh_atom_coord(p->mesh, a, position) * p->mesh->atoms[a].stride);
        }
        stage_on(p, n, devices);
        const Plan *plan = planning_make(p);
        assert_int_equal(plan->decided->stages->n, n);
        assert_lanes(p, plan->decided->stages);
        planning_close(p);
    }
}

/* ---- findings ---- */

static void refuses_a_schedule(void **state)
{
    (void)state;
    Planning *p = planning_open("tiny-gpt", "batch=2,seq=16", "pp=2,tp=2");
    SubMesh a = part_of(p, "pp=0"), b = part_of(p, "pp=1");
    stage_on(p, 4, (SubMesh[]){a, b, a, b});
    schedule(p, "1f1b", 4);
    const Plan *plan = planning_make(p);
    const Finding *finding = finding_of(plan, "schedule");
    assert_non_null(finding);
    assert_int_equal(finding->level, LEVEL_ERROR);
    assert_string_equal(finding->text, "1f1b: stages 0 and 2 share devices");
    assert_string_equal(
        finding->hint,
        "these stages take turns: 1f1b_interleaved, looped_bfs, interleaved_zero_bubble");
    assert_string_equal(finding->file, "test.lua");
    assert_int_equal(finding->line, 7);
    assert_false(plan_is_legal(plan));
    assert_null(plan_schedule(plan));
    assert_near(plan_step_us(plan), plan->priced->totals.step_us);
    schedule(p, "1f1b_interleaved", 4);
    plan = planning_make(p);
    assert_null(finding_of(plan, "schedule"));
    assert_near(plan->priced->pipeline->even_idle, 1.0 / (2 * 4 + 1));
    planning_close(p);
}

static void tells_of_unbalanced_stages(void **state)
{
    (void)state;
    Planning *p = planning_open("tiny-gpt", "batch=2,seq=16", "pp=2,tp=2");
    int n = p->inferred->n_program;
    decide(p, (Decision){.kind = PIN_DEVICES,
                         .place = op_at(p, 0),
                         .last = op_at(p, 1),
                         .devices = part_of(p, "pp=0")});
    decide(p, (Decision){.kind = PIN_DEVICES,
                         .place = op_at(p, 2),
                         .last = op_at(p, n - 1),
                         .devices = part_of(p, "pp=1")});
    schedule(p, "1f1b", 4);
    const Finding *finding = finding_of(planning_make(p), "unbalanced");
    assert_non_null(finding);
    assert_int_equal(finding->level, LEVEL_NOTE);
    assert_non_null(strstr(finding->text, "stage 1 takes "));
    planning_close(p);
}

/* ---- text ---- */

static void explains_itself(void **state)
{
    (void)state;
    Planning *p = two_stages();
    schedule(p, "gpipe", 4);
    Buf text = buf_new(p->arena), other = buf_new(p->arena);
    pipeline_explain(planning_make(p), &text);
    assert_non_null(strstr(text.s, "gpipe, 4 micro-batches on 2 stages: "));
    assert_non_null(strstr(text.s, "equally long would have 20.0% = (n-1)/(m+n-1)"));
    schedule(p, "chimera_direct", 4);
    pipeline_explain(planning_make(p), &other);
    assert_string_equal(other.s, "no schedule, 4 micro-batches on 2 stages: it does not fit them, "
                                 "see the findings");
    planning_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_what_a_stage_does),     cmocka_unit_test(goes_through_once),
        cmocka_unit_test(is_the_step_without_stages), cmocka_unit_test(computes_again),
        cmocka_unit_test(splits_devices_into_lanes),  cmocka_unit_test(refuses_a_schedule),
        cmocka_unit_test(tells_of_unbalanced_stages), cmocka_unit_test(explains_itself),
    };
    return cmocka_run_group_tests_name("stage_time", tests, NULL, NULL);
}
