#include "tui/cli/estimate_decode.h"

#include "core/base/table.h"
#include "core/base/units.h"
#include "core/cost/step_parts.h"
#include "tui/cli/estimate_parts.h"

/* ---- as text ---- */

static void put_count(double count, const char *after, Buf *out)
{
    units_format_count((int64_t)(count + .5), out);
    buf_puts(out, after);
}

/* "1 token", "16 tokens" */
static void put_things(int64_t n, const char *thing, const char *after, Buf *out)
{
    units_format_count(n, out);
    buf_printf(out, " %s%s%s", thing, n == 1 ? "" : "s", after);
}

static void put_rates(const Session *session, const DecodePage *page, Buf *out)
{
    const DecodeStep *step = &page->step, *prefill = &page->prefill;
    buf_puts(out, "decode   ");
    units_format_us(step->step_us, out);
    buf_puts(out, " a step of ");
    put_things(step->micro_batches * step->asked.batch * step->asked.seq, "token", ": ", out);
    put_count(step->tokens_per_s, " tokens/s, ", out);
    put_count(step->tokens_per_s / (double)session->mesh->n_devices, " a device\n", out);
    if (step->asked.context == 0)
        return;
    buf_puts(out, "prefill  ");
    if (prefill->failed) {
        buf_printf(out, "cannot be planned: %s\n", prefill->failed);
        return;
    }
    units_format_us(prefill->step_us, out);
    buf_puts(out, " to the first token, of ");
    put_things(prefill->asked.seq, "token", " a sequence: ", out);
    put_count(prefill->tokens_per_s, " tokens/s; peak ", out);
    units_format_bytes(prefill->peak_bytes, out);
    buf_puts(out, prefill->fits ? "\n" : ", which does not fit\n");
}

static void put_head(const Session *session, const DecodePage *page, Buf *out)
{
    const DecodeStep *step = &page->step;
    int64_t room = session->machine->memory_bytes, peak = step->peak_bytes;
    buf_printf(out, "%s: ", path_base(session->options.model));
    put_things(step->asked.batch, "sequence", " behind ", out);
    put_things(step->asked.context, "token", " each, on ", out);
    put_things(session->mesh->n_devices, "device", " of ", out);
    buf_printf(out, "%s\nmemory   ", session->machine->name);
    units_format_bytes_pair(peak, room, " of ", out);
    buf_puts(out, " on the fullest device: ");
    units_format_bytes(step->fits ? room - peak : peak - room, out);
    buf_puts(out, step->fits ? " free\ncache    " : " too much\ncache    ");
    units_format_bytes(step->cache_bytes, out);
    buf_puts(out, " on it, ");
    units_format_bytes(step->whole_cache_bytes, out);
    buf_puts(out, " in all");
    if (step->asked.block > 1) {
        buf_puts(out, "; ");
        units_format_bytes(step->unused_bytes, out);
        buf_puts(out, " more on it are unused, in blocks of ");
        put_things(step->asked.block, "token", "", out);
    }
    buf_putc(out, '\n');
    put_rates(session, page, out);
    buf_putc(out, '\n');
}

static void put_growth(Arena *arena, const DecodePage *page, Buf *out)
{
    static const TableColumn columns[] = {
        {"AS THE CACHE GROWS", -99}, {"CACHE", -99}, {"PEAK", -99}, {"STEP", -99},
        {"TOKENS/S", -99},           {"", 0}};
    Table *table = table_new(arena, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < page->n_growth; i++) {
        const DecodeStep *at = &page->growth[i];
        Buf cell[5];
        for (int k = 0; k < 5; k++)
            cell[k] = buf_new(arena);
        units_format_count(at->asked.context, &cell[0]);
        if (!at->failed) {
            units_format_bytes(at->cache_bytes, &cell[1]);
            units_format_bytes(at->peak_bytes, &cell[2]);
            units_format_us(at->step_us, &cell[3]);
            units_format_count((int64_t)(at->tokens_per_s + .5), &cell[4]);
        }
        for (int k = 0; k < 5; k++)
            table_cell(table, buf_str(&cell[k]));
        table_cell(table, str_from(at->failed ? at->failed : at->fits ? "fits" : "does not fit"));
    }
    table_format(table, "", out);
}

static void put_most(const char *what, int64_t most, const char *beside, int64_t n, Buf *out)
{
    buf_printf(out, "%s ", what);
    if (most == DECODE_NO_LIMIT)
        buf_puts(out, "any that was tried");
    else if (most < 0)
        buf_puts(out, "none");
    else
        units_format_count(most, out);
    buf_printf(out, " with a %s of ", beside);
    units_format_count(n, out);
}

static void put_limits(const DecodePage *page, Buf *out)
{
    put_most("the largest context that fits:", page->most_context, "batch", page->step.asked.batch,
             out);
    buf_putc(out, '\n');
    put_most("the largest batch that fits:", page->most_batch, "context", page->step.asked.context,
             out);
    buf_putc(out, '\n');
}

/* ---- as JSON ---- */

static Json *step_json(const DecodeStep *step, int64_t n_devices)
{
    Json *out = json_object();
    json_set_int(out, "batch", step->asked.batch);
    json_set_int(out, "context", step->asked.context);
    json_set_int(out, "seq", step->asked.seq);
    json_set_int(out, "block", step->asked.block);
    if (step->failed) {
        json_set_str(out, "failed", step->failed);
        return out;
    }
    json_set_int(out, "micro_batches", step->micro_batches);
    json_set_real(out, "step_us", step->step_us);
    json_set_real(out, "tokens_per_s", step->tokens_per_s);
    json_set_real(out, "tokens_per_s_device", step->tokens_per_s / (double)n_devices);
    json_set_int(out, "peak_bytes", step->peak_bytes);
    json_set_int(out, "cache_bytes", step->cache_bytes);
    json_set_int(out, "unused_bytes", step->unused_bytes);
    json_set_int(out, "whole_cache_bytes", step->whole_cache_bytes);
    json_set_bool(out, "legal", step->legal);
    json_set_bool(out, "fits", step->fits);
    return out;
}

/* null: there is no limit among what was tried. */
static Json *most_json(int64_t most)
{
    return most == DECODE_NO_LIMIT ? json_null() : json_from_int(most < 0 ? 0 : most);
}

static Json *page_json(Cli *cli, const Session *session, const DecodePage *page,
                       const StepParts *parts)
{
    int64_t n = session->mesh->n_devices;
    Json *out = json_object(), *growth = json_array();
    for (int i = 0; i < page->n_growth; i++)
        json_add(growth, step_json(&page->growth[i], n));
    json_set_bool(out, "legal", page->step.legal);
    json_set_bool(out, "fits", page->step.fits);
    json_set_int(out, "memory_bytes", session->machine->memory_bytes);
    json_set(out, "decode", step_json(&page->step, n));
    if (page->step.asked.context > 0)
        json_set(out, "prefill", step_json(&page->prefill, n));
    json_set(out, "parts", estimate_parts_json(cli->arena, session->mesh, parts));
    json_set(out, "growth", growth);
    json_set(out, "findings", estimate_parts_findings_json(cli->arena, session->plan));
    json_set(out, "most_context", most_json(page->most_context));
    json_set(out, "most_batch", most_json(page->most_batch));
    return out;
}

int estimate_decode(Cli *cli, const Session *session, DecodeAsked asked)
{
    DecodePage page;
    if (!decode_page(cli->arena, session, asked, NULL, &page, &cli->err))
        return cli_fail(cli);
    StepParts parts = step_parts(cli->arena, session->plan);
    if (cli->options.json) {
        cli_write_json(cli, page_json(cli, session, &page, &parts));
    } else {
        put_head(session, &page, &cli->out);
        estimate_parts_findings(cli->arena, session->plan, &cli->out);
        estimate_parts_text(cli->arena, session->mesh, &parts, &cli->out);
        buf_putc(&cli->out, '\n');
        put_growth(cli->arena, &page, &cli->out);
        put_limits(&page, &cli->out);
    }
    return page.step.legal && page.step.fits ? CLI_FINE : CLI_ILLEGAL;
}
