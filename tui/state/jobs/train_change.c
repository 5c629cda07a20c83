#include "tui/state/jobs/train_change.h"

#include "tui/state/pins.h"

typedef struct {
    const char *before, *after;
    int pins_before, pins_after; /* made here */
} TrainStep;

enum { STEPS_MAX = 32 };

typedef struct TrainSteps {
    TrainStep step[STEPS_MAX];
    int n, done; /* steps [done, n) were undone */
} TrainSteps;

const char *train_asked(const Session *session)
{
    return session->train_given ? session->train_given : "";
}

static const TrainStep *step_at(const Ui *ui, int by)
{
    return &ui->train_steps->step[by < 0 ? ui->train_steps->done - 1 : ui->train_steps->done];
}

/* The pins must be those of then: steps of undo are taken in their order. */
bool train_change_can(const Ui *ui, int by)
{
    const TrainSteps *steps = ui->train_steps;
    if (!steps || (by < 0 ? steps->done == 0 : steps->done == steps->n))
        return false;
    const TrainStep *step = step_at(ui, by);
    return strcmp(by < 0 ? step->after : step->before, train_asked(ui->session)) == 0 &&
           pins_made_here(ui->session) == (by < 0 ? step->pins_after : step->pins_before) &&
           (by < 0 || pins_of_step(&ui->session->journal, 1) == 0);
}

const char *train_change_to(const Ui *ui, int by)
{
    return by < 0 ? step_at(ui, by)->before : step_at(ui, by)->after;
}

static void add_step(Ui *ui, const Session *next)
{
    TrainSteps *steps = ui->train_steps;
    if (steps->done == STEPS_MAX)
        memmove(steps->step, steps->step + 1, sizeof steps->step[0] * (size_t)--steps->done);
    steps->step[steps->done++] =
        (TrainStep){.before = arena_str(ui->arena, str_from(train_asked(ui->session))),
                    .after = arena_str(ui->arena, str_from(train_asked(next))),
                    .pins_before = pins_made_here(ui->session),
                    .pins_after = pins_made_here(next)};
    steps->n = steps->done;
}

void train_change_note(Ui *ui, const Session *next, int by)
{
    if (!ui->train_steps)
        ui->train_steps = arena_make(ui->arena, TrainSteps);
    TrainSteps *steps = ui->train_steps;
    if (by == 0)
        add_step(ui, next);
    else if (by < 0)
        steps->step[--steps->done].pins_before = pins_made_here(next);
    else
        steps->step[steps->done++].pins_after = pins_made_here(next);
}

void train_changes_keep(const Ui *from, Ui *to)
{
    if (!from->train_steps)
        return;
    to->train_steps = arena_make(to->arena, TrainSteps);
    *to->train_steps = *from->train_steps;
    for (int i = 0; i < to->train_steps->n; i++) {
        TrainStep *step = &to->train_steps->step[i];
        step->before = arena_str(to->arena, str_from(step->before));
        step->after = arena_str(to->arena, str_from(step->after));
    }
}
