#include "tui/state/comm_table.h"

#include "tui/state/jobs/job.h"

static bool passes(const void *filter, int32_t reshard)
{
    return filter_reshard(filter, reshard);
}

Comm *comm_arranged(Ui *ui)
{
    Comm *comm = ui->comm;
    const char *text = ui->listing.filter ? filter_text(ui->listing.filter) : NULL;

    if (comm->n_rows < 0 && !job_at_once(ui)) {
        ui->comm_asked = true;
        return comm;
    }
    comm_table(comm, NULL);
    bool same = text && comm->kept_by ? strcmp(text, comm->kept_by) == 0 : text == comm->kept_by;
    if (comm->sort != ui->comm_sort || comm->reversed != ui->comm_reversed || !same)
        comm_arrange(comm, ui->comm_sort, ui->comm_reversed, text, passes, ui->listing.filter);
    if (ui->at.reshard >= comm->n_rows)
        ui->at.reshard = comm->n_rows > 0 ? comm->n_rows - 1 : 0;
    return comm;
}

const char comm_waiting[] = "counting reshards ..";

static bool table_work(void *context, Progress *progress, Error *err)
{
    Comm *made = context;

    return comm_table(made, progress) || progress_goes_on(progress, err);
}

static void table_done(Ui *ui, void *context, bool ok, const Error *err)
{
    Comm *made = context;
    Arena *arena = made->arena; /* it lives there */

    (void)err;
    if (!ok || ui->comm->n_rows >= 0) {
        arena_free(arena);
        return;
    }
    comm_take_table(ui->comm, made);
    if (ui->at.show == SHOW_COMM)
        ui->views[SHOW_COMM]->act(ui, ACT_SHOW_COMM);
}

void comm_follow(Ui *ui)
{
    if (ui->comm->n_rows >= 0 || job_at_once(ui) || job_runs(ui))
        return;
    Arena *arena = arena_new();
    Comm *made = arena_make(arena, Comm);
    *made = *ui->comm;
    made->arena = arena;
    job_follow(ui, "reshards", table_work, table_done, made, arena);
}
