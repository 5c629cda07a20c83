#include "tui/state/prompt.h"

#include <stdio.h>

void prompt_open(Prompt *prompt, char kind)
{
    prompt->kind = kind;
    prompt->n = 0;
    prompt->recall = 0;
    prompt->tab_at = -1;
    prompt->text[0] = '\0';
}

void prompt_set(Prompt *prompt, const char *text)
{
    size_t n = strlen(text);

    prompt->n = (int)(n < PROMPT_MAX ? n : PROMPT_MAX - 1);
    memmove(prompt->text, text, (size_t)prompt->n);
    prompt->text[prompt->n] = '\0';
}

/* History holds commands and searches with their kind as the first character. */
static void remember(Prompt *prompt)
{
    if (prompt->n == 0)
        return;
    if (prompt->n_history == PROMPT_HISTORY) {
        memmove(prompt->history, prompt->history + 1,
                sizeof prompt->history[0] * (PROMPT_HISTORY - 1));
        prompt->n_history--;
    }
    snprintf(prompt->history[prompt->n_history++], PROMPT_MAX, "%c%.*s", prompt->kind,
             PROMPT_MAX - 2, prompt->text);
}

static void recall(Prompt *prompt, int by)
{
    int want = prompt->recall, seen = 0;

    if (want + by < 0)
        return;
    want += by;
    for (int i = prompt->n_history - 1; i >= 0 && want > 0; i--) {
        if (prompt->history[i][0] != prompt->kind || ++seen < want)
            continue;
        prompt_set(prompt, prompt->history[i] + 1);
        prompt->recall = want;
        return;
    }
    if (want == 0) {
        prompt->recall = 0;
        prompt_set(prompt, "");
    }
}

void prompt_keep_stem(Prompt *prompt)
{
    snprintf(prompt->stem, sizeof prompt->stem, "%.*s", prompt->n, prompt->text);
}

static void erase(Prompt *prompt, bool word)
{
    while (word && prompt->n > 0 && prompt->text[prompt->n - 1] == ' ')
        prompt->n--;
    if (!word && prompt->n > 0)
        prompt->n--;
    while (prompt->n > 0 && (((unsigned char)prompt->text[prompt->n] & 0xc0) == 0x80 ||
                             (word && prompt->text[prompt->n - 1] != ' ')))
        prompt->n--;
    prompt->text[prompt->n] = '\0';
}

/* Appends as much of the text as there is room for. */
static void prompt_append(Prompt *prompt, Str text)
{
    size_t room = (size_t)(PROMPT_MAX - 1 - prompt->n), n = text.n < room ? text.n : room;

    memcpy(prompt->text + prompt->n, text.s, n);
    prompt->n += (int)n;
    prompt->text[prompt->n] = '\0';
}

static void insert(Prompt *prompt, Key key)
{
    char bytes[4];
    size_t n = rune_format((uint32_t)key, bytes);

    if (prompt->n + (int)n < PROMPT_MAX)
        prompt_append(prompt, (Str){bytes, n});
}

PromptState prompt_key(Prompt *prompt, Key key)
{
    prompt->tab_at = -1;
    if (key == K_ENTER) {
        remember(prompt);
        prompt->kind = 0;
        return PROMPT_DONE;
    }
    if (key == K_ESC || key == key_ctrl('c') || (key == K_BACKSPACE && prompt->n == 0)) {
        prompt->kind = 0;
        return PROMPT_CANCELLED;
    }
    if (key == K_BACKSPACE || key == key_ctrl('w'))
        erase(prompt, key != K_BACKSPACE);
    else if (key == key_ctrl('u'))
        prompt_set(prompt, "");
    else if (key == K_UP || key == key_ctrl('p'))
        recall(prompt, 1);
    else if (key == K_DOWN || key == key_ctrl('n'))
        recall(prompt, -1);
    else if (key >= ' ' && key < K_NONE)
        insert(prompt, key);
    return PROMPT_OPEN;
}

void prompt_draw(const Prompt *prompt, Pen *pen)
{
    Str text = {prompt->text, (size_t)prompt->n};
    const char kind[] = {prompt->kind, '\0'}, *head = prompt->kind == 'f' ? "filter " : kind;
    int room = pen->area.w - 1 - (int)strlen(head), columns = text_columns(text);

    pen_puts(pen, ROLE_HEAD, head);
    pen_fit_tail(pen, ROLE_TEXT, text, columns < room ? columns : room);
    pen_cursor(pen);
}
