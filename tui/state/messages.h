/* messages.h - the message line, and the list of errors that it has shown. */
#ifndef TUI_STATE_MESSAGES_H
#define TUI_STATE_MESSAGES_H

#include "core/base/error.h"

typedef struct Ui Ui;

enum { MESSAGE_MAX = 512, ERRORS_MAX = 100 };

/* An error that was shown. An error that occurs again is counted and becomes the newest. */
typedef struct {
    char file[400], text[MESSAGE_MAX]; /* file "": without a place */
    int line, times;
    bool can_edit; /* the file exists */
} ErrorNote;

typedef struct {
    char text[MESSAGE_MAX]; /* "": none */
    bool is_error;
    ErrorNote error[ERRORS_MAX]; /* oldest first */
    int n_errors;
} Messages;

void ui_say(Ui *ui, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ui_fail(Ui *ui, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Shows "file:line: what (hint)" and adds it to the list of errors. */
void ui_error(Ui *ui, const Error *err);

#endif
