#include "tui/state/messages.h"

#include "core/base/file.h"
#include "tui/state/ui.h"

#include <stdio.h>

static void __attribute__((format(printf, 3, 0)))
put(Ui *ui, bool is_error, const char *format, va_list args)
{
    vsnprintf(ui->messages.text, sizeof ui->messages.text, format, args);
    ui->messages.is_error = is_error;
}

void ui_say(Ui *ui, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(ui, false, format, args);
    va_end(args);
}

void ui_fail(Ui *ui, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(ui, true, format, args);
    va_end(args);
}

/* A full list drops its oldest. */
static void keep_error(Messages *messages, const Error *err, const char *text)
{
    ErrorNote note = {.line = err->line, .times = 1, .can_edit = file_exists(err->file)};
    int at = 0;

    snprintf(note.file, sizeof note.file, "%s", err->file);
    snprintf(note.text, sizeof note.text, "%s", text);
    while (at < messages->n_errors && (messages->error[at].line != note.line ||
                                       strcmp(messages->error[at].file, note.file) != 0 ||
                                       strcmp(messages->error[at].text, note.text) != 0))
        at++;
    if (at < messages->n_errors)
        note.times += messages->error[at].times;
    else if (messages->n_errors < ERRORS_MAX)
        messages->n_errors++;
    else
        at = 0;
    memmove(messages->error + at, messages->error + at + 1,
            sizeof note * (size_t)(messages->n_errors - 1 - at));
    messages->error[messages->n_errors - 1] = note;
}

void ui_error(Ui *ui, const Error *err)
{
    Buf place = buf_new(ui->frame), text = buf_new(ui->frame);

    if (err->file[0])
        buf_printf(&place, "%s:", err->file);
    if (err->file[0] && err->line > 0)
        buf_printf(&place, "%d:", err->line);
    buf_puts(&text, err->text);
    if (err->hint[0])
        buf_printf(&text, " (%s)", err->hint);
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] == '\n' || text.s[i] == '\t')
            text.s[i] = ' ';
    ui_fail(ui, "%s%s%s", place.n ? place.s : "", place.n ? " " : "", text.s);
    keep_error(&ui->messages, err, text.s);
}
