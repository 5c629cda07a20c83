#include "tui/screen/term.h"

#include "core/base/intern.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

enum {
    RESET_MAX = 256,
    FATAL_STACK_BYTES = 64 * 1024,
    ESC_DELAY_MS = 25,
    END_S = 3, /* what a signal that asks to end waits for */
    MOUSE_BYTES_MAX = 20,
    ARGV_MAX = 15
};

enum { CODE_SGR = KEY_MAX - 1 }; /* the start of a report of the mouse */

struct Term {
    SCREEN *screen;
    bool color;
    Theme theme;
    bool anew;      /* the next term_show() draws everything */
    bool sync;      /* it shows nothing between DEC 2026's two sequences */
    uint64_t shown; /* a hash of the last frame */
    bool mouse_on;
    int button, x, y; /* of the last report of the mouse */
    bool released;
};

/* What a signal handler may touch: prepared before any handler is set, then only read. */
static struct {
    char reset[RESET_MAX];
    size_t n_reset;
    struct termios modes;
    bool has_modes;
} restore;
/* A signal that asks to end, and a pipe that wakes who waits for a key. */
static volatile sig_atomic_t ending;
static int end_pipe[2] = {-1, -1};

static Term the_term;
static unsigned char fatal_stack[FATAL_STACK_BYTES];

static const int fatal_signals[] = {SIGHUP,  SIGINT,  SIGQUIT,   SIGTERM, SIGSEGV, SIGBUS,  SIGFPE,
                                    SIGABRT, SIGILL,  SIGTRAP,   SIGSYS,  SIGUSR1, SIGUSR2, SIGALRM,
                                    SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR};
enum { N_FATAL = sizeof fatal_signals / sizeof fatal_signals[0] };

bool term_is_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* Only async-signal-safe calls. Threads may fail together, as the ranks of a run do: one restores,
 * the others wait for the end. A fault in here goes straight to it. */
static void die_restored(int number)
{
    static atomic_int owner;
    int me = (int)gettid(), before = 0;

    if (!atomic_compare_exchange_strong(&owner, &before, me) && before != me)
        for (;;)
            pause();
    if (before == 0) {
        ssize_t unused = write(STDOUT_FILENO, restore.reset, restore.n_reset);
        (void)unused;
        if (restore.has_modes)
            tcsetattr(STDIN_FILENO, TCSANOW, &restore.modes);
    }
    if (number == SIGALRM && ending)
        number = ending; /* that was asked for, and did not happen in time */
    signal(number, SIG_DFL);
    raise(number);
}

/* The first time it only sets a flag and writes a byte; a second signal ends the program at once,
 * and so does time. */
static void ask_to_end(int number)
{
    int error = errno;

    if (ending) {
        signal(number, SIG_DFL);
        die_restored(number);
    }
    ending = number;
    alarm(END_S);
    ssize_t unused = write(end_pipe[1], "", 1);
    (void)unused;
    errno = error;
}

static bool open_end_pipe(void)
{
    if (end_pipe[0] >= 0)
        return true;
    if (pipe(end_pipe) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        fcntl(end_pipe[i], F_SETFD, FD_CLOEXEC);
        fcntl(end_pipe[i], F_SETFL, O_NONBLOCK);
    }
    return true;
}

/* Appends a terminfo string, without its padding, which needs more than write(). */
static void add_reset(const char *capability)
{
    const char *s = tigetstr(capability);

    if (!s || s == (const char *)-1)
        return;
    for (; *s && restore.n_reset < RESET_MAX; s++) {
        if (s[0] == '$' && s[1] == '<') {
            while (*s && *s != '>')
                s++;
            if (!*s)
                return;
            continue;
        }
        restore.reset[restore.n_reset++] = *s;
    }
}

static const char sync_begin[] = "\033[?2026h", sync_end[] = "\033[?2026l";

/* Terminals that show a frame at once, as terminfo's Sync says, or their name. */
static bool can_sync(void)
{
    static const char *const names[] = {"kitty",   "foot",    "alacritty", "wezterm",
                                        "contour", "ghostty", "mintty",    "iterm2"};
    const char *capability = tigetstr("Sync"), *name = getenv("TERM");

    if (capability && capability != (const char *)-1)
        return true;
    for (size_t i = 0; name && i < sizeof names / sizeof names[0]; i++)
        if (strstr(name, names[i]))
            return true;
    return false;
}

/* Between updates nothing of curses waits to be written. */
static void send_sync(const Term *term, const char *sequence)
{
    ssize_t unused = term->sync ? write(STDOUT_FILENO, sequence, sizeof sync_begin - 1) : 0;
    (void)unused;
}

static void prepare_restore(void)
{
    static const char mouse_off[] = "\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[?2004l";

    restore.has_modes = tcgetattr(STDIN_FILENO, &restore.modes) == 0;
    restore.n_reset = 0;
    if (can_sync()) {
        memcpy(restore.reset, sync_end, sizeof sync_end - 1);
        restore.n_reset = sizeof sync_end - 1;
    }
    if (tigetstr("kmous") && tigetstr("kmous") != (char *)-1) {
        memcpy(restore.reset + restore.n_reset, mouse_off, sizeof mouse_off - 1);
        restore.n_reset += sizeof mouse_off - 1;
    }
    add_reset("sgr0");
    add_reset("rmkx");
    add_reset("cnorm");
    add_reset("rmcup");
}

static void set_handlers(bool ours)
{
    stack_t stack = {.ss_sp = fatal_stack, .ss_size = sizeof fatal_stack};
    struct sigaction action = {.sa_handler = ours ? die_restored : SIG_DFL,
                               .sa_flags = ours ? SA_ONSTACK | SA_NODEFER : 0};

    sigaltstack(&stack, NULL);
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < N_FATAL; i++)
        sigaction(fatal_signals[i], &action, NULL);
    if (!ours || !open_end_pipe())
        return;
    action.sa_handler = ask_to_end;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static bool check_terminal(Error *err)
{
    const char *name = getenv("TERM");
    int answer;

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        error_kind(err, ERROR_USAGE, "the explorer needs a terminal on stdin and stdout");
        error_hint(err, "`dimscope plan` prints the same plan as text");
        return false;
    }
    if (!name || setupterm(name, STDOUT_FILENO, &answer) != OK || !tigetstr("cup") ||
        tigetstr("cup") == (char *)-1) {
        error_kind(err, ERROR_USAGE, "the terminal type '%s' cannot move its cursor",
                   name ? name : "");
        error_hint(err, "set TERM, or use `dimscope plan`, which prints the same plan as text");
        return false;
    }
    return true;
}

/* Some terminals set COLORFGBG to their foreground and background colours, as in "15;0". */
static bool background_is_light(void)
{
    const char *value = getenv("COLORFGBG");
    const char *last = value ? strrchr(value, ';') : NULL;
    int number = last ? atoi(last + 1) : 0;

    return number == 7 || number == 15;
}

static void start_colors(Term *term, ColorMode mode)
{
    const char *no_color = getenv("NO_COLOR");

    term->color =
        (mode == COLOR_MODE_ALWAYS || (mode == COLOR_MODE_AUTO && !(no_color && *no_color))) &&
        has_colors() && start_color() == OK && use_default_colors() == OK &&
        COLOR_PAIRS > ROLE_COUNT;
    theme_find(STR("default"), &term->theme);
}

void term_theme(Term *term, const Theme *theme, Background background)
{
    bool light =
        background == BACKGROUND_LIGHT || (background == BACKGROUND_AUTO && background_is_light());

    term->theme = *theme;
    term->anew = true;
    for (int role = 0; term->color && role < ROLE_COUNT; role++)
        init_extended_pair(role + 1, theme_colour(theme, (Role)role, COLORS, light), -1);
}

void term_mouse_on(Term *term, bool on)
{
    term->mouse_on = on && tigetstr("kmous") && tigetstr("kmous") != (char *)-1;
    mousemask(on ? BUTTON1_PRESSED : 0, NULL); /* ncurses takes it back when it stops */
    term->anew = true;
}

/* Terminals that are not in application mode send these forms too. */
static void define_arrows(void)
{
    static const struct {
        const char *bytes;
        int key;
    } forms[] = {
        {"\033[A", KEY_UP},   {"\033[B", KEY_DOWN}, {"\033[C", KEY_RIGHT}, {"\033[D", KEY_LEFT},
        {"\033OA", KEY_UP},   {"\033OB", KEY_DOWN}, {"\033OC", KEY_RIGHT}, {"\033OD", KEY_LEFT},
        {"\033[H", KEY_HOME}, {"\033[F", KEY_END},
    };

    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (key_defined(forms[i].bytes) == 0)
            define_key(forms[i].bytes, forms[i].key);
    define_key(NULL, KEY_MOUSE); /* ncurses puts it back on else, with its own reader */
    define_key("\033[<", CODE_SGR);
}

Term *term_open(ColorMode color, Error *err)
{
    Term *term = &the_term;

    if (!check_terminal(err))
        return NULL;
    prepare_restore();
    set_handlers(true);
    *term = (Term){.anew = true, .sync = can_sync()};
    /* Only ASCII is drawn then; but in other locales ncurses asks the terminal to repeat
     * characters, which many that call themselves xterm cannot. */
    if (!term_is_utf8())
        setlocale(LC_CTYPE, "C.UTF-8");
    term->screen = newterm(NULL, stdout, stdin);
    if (!term->screen) {
        set_handlers(false);
        error_kind(err, ERROR_USAGE, "the terminal type '%s' is unknown", getenv("TERM"));
        return NULL;
    }
    set_handlers(true); /* ncurses has set its own for INT and TERM */
    raw();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    define_arrows();
    if (!getenv("ESCDELAY"))
        set_escdelay(ESC_DELAY_MS);
    start_colors(term, color);
    mouseinterval(0);
    return term;
}

void term_drag(Term *term, bool on)
{
    if (term->mouse_on)
        term_send(term, on ? STR("\033[?1002h") : STR("\033[?1002l\033[?1000h"));
}

void term_end_soon(void)
{
    alarm(END_S);
}

void term_close(Term *term)
{
    if (!term || !term->screen)
        return;
    alarm(0);
    if (term->mouse_on)
        term_send(term, STR("\033[?1002l\033[?1006l"));
    endwin();
    delscreen(term->screen);
    term->screen = NULL;
    set_handlers(false);
}

void term_raise(void)
{
    if (ending)
        raise(ending);
}

void term_size(const Term *term, int *w, int *h)
{
    (void)term;
    getmaxyx(stdscr, *h, *w);
}

typedef struct {
    int curses;
    Key key;
} KeyPair;

static const KeyPair pairs[] = {
    {KEY_UP, K_UP},
    {KEY_DOWN, K_DOWN},
    {KEY_LEFT, K_LEFT},
    {KEY_RIGHT, K_RIGHT},
    {KEY_PPAGE, K_PGUP},
    {KEY_NPAGE, K_PGDN},
    {KEY_HOME, K_HOME},
    {KEY_END, K_END},
    {KEY_BTAB, K_BTAB},
    {KEY_ENTER, K_ENTER},
    {KEY_BACKSPACE, K_BACKSPACE},
    {KEY_DC, K_BACKSPACE},
    {KEY_RESIZE, K_RESIZE},
};

static Key from_curses(int code)
{
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i].curses == code)
            return pairs[i].key;
    if (code >= KEY_F(1) && code <= KEY_F(12))
        return K_F1 + (code - KEY_F(1));
    return K_NONE;
}

/* The code point that begins with this byte; its other bytes have come with it. Whatever is not
 * UTF-8 is dropped byte by byte: get_wch() would swallow the keys that follow it. */
static Key read_utf8(int first)
{
    int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    Key rune = first & (0x3f >> more);

    if (first < 0xc2 || first > 0xf4)
        return K_NONE;
    for (int i = 0; i < more; i++) {
        int byte = getch();
        if (byte == ERR || byte < 0x80 || byte > 0xbf) {
            if (byte != ERR)
                ungetch(byte);
            return K_NONE;
        }
        rune = rune << 6 | (byte & 0x3f);
    }
    return rune;
}

/* "0;37;2M", from 1; m: released. What is no report is dropped. */
static Key read_mouse(Term *term)
{
    int number[3] = {0}, n = 0, code = ERR;

    for (int i = 0; i < MOUSE_BYTES_MAX && n < 3; i++) {
        code = getch();
        if (code >= '0' && code <= '9' && number[n] < 10000)
            number[n] = number[n] * 10 + (code - '0');
        else if (code == ';' || code == 'M' || code == 'm')
            n++;
        else
            return K_NONE;
    }
    if (n < 3 || code == ';' || number[1] < 1 || number[2] < 1)
        return K_NONE;
    term->button = number[0];
    term->x = number[1] - 1;
    term->y = number[2] - 1;
    term->released = code == 'm';
    return K_MOUSE;
}

static Key read_key(Term *term)
{
    int code = getch();

    if (code == ERR)
        return K_NONE;
    if (code == '\n')
        return K_ENTER;
    if (code == 8)
        return K_BACKSPACE;
    if (code < 0x80)
        return code;
    if (code <= 0xff)
        return read_utf8(code);
    Key key = from_curses(code);
    if (key == K_RESIZE)
        term->shown = 0; /* curses may have blanked what the frame has */
    return code == CODE_SGR ? read_mouse(term) : key;
}

Key term_key(Term *term, int timeout_ms)
{
    struct pollfd wait[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = end_pipe[0], .events = POLLIN}};
    struct pollfd *input = &wait[0];

    if (ending)
        return K_EOF;
    Key key = read_key(term);
    if (key != K_NONE)
        return key;
    int ready = poll(wait, 2, timeout_ms);
    if (ending || (input->revents && !(input->revents & POLLIN)))
        return K_EOF;
    key = read_key(term); /* also after a signal: a resize is reported here */
    if (key != K_NONE || ready <= 0)
        return key;
    /* Readable, and yet no key: half of a sequence, or the other side is gone. */
    ready = poll(input, 1, 0);
    return ready > 0 && input->revents & (POLLHUP | POLLERR | POLLNVAL) ? K_EOF : K_NONE;
}

MouseKind term_mouse(Term *term, int *x, int *y)
{
    enum { MOVED = 32, WHEEL = 64 };

    *x = term->x;
    *y = term->y;
    if (term->button == WHEEL || term->button == WHEEL + 1)
        return term->button == WHEEL ? MOUSE_WHEEL_UP : MOUSE_WHEEL_DOWN;
    if (term->button == MOVED)
        return MOUSE_DRAG;
    if (term->button != 0)
        return MOUSE_OTHER;
    return term->released ? MOUSE_RELEASE : MOUSE_PRESS;
}

static attr_t attributes(const Theme *theme, Style style)
{
    unsigned marks = style | theme_marks(theme, style_role(style));
    attr_t attr = A_NORMAL;

    if (marks & STYLE_BOLD)
        attr |= A_BOLD;
    if (marks & STYLE_UNDERLINE)
        attr |= A_UNDERLINE;
    if (marks & STYLE_SELECTED)
        attr |= A_REVERSE;
    return attr;
}

/* Reversed, only what carries a meaning keeps its colour. */
static Role shown_role(Style style)
{
    Role role = style_role(style);
    bool plain = role == ROLE_DIM || role == ROLE_RAIL || role == ROLE_FRAME;

    return (style & STYLE_SELECTED) && plain ? ROLE_TEXT : role;
}

static void show_cell(const Term *term, const Cell *cell)
{
    wchar_t text[2] = {(wchar_t)cell->rune, 0};
    short pair = term->color ? (short)(shown_role(cell->style) + 1) : 0;
    cchar_t out;

    /* Where the C library has another idea of the width, or cannot write it, columns come first. */
    if (wcwidth(text[0]) != cell->width)
        text[0] = cell->rune >= 0x80 && cell->width == 1 ? L'?' : L' ';
    if (setcchar(&out, text, attributes(&term->theme, cell->style), pair, NULL) == OK)
        add_wch(&out);
}

static uint64_t frame_hash(const Grid *grid)
{
    int place[] = {grid->w, grid->h, grid->cursor_x, grid->cursor_y};
    uint64_t parts[] = {
        hash_bytes(place, sizeof place),
        hash_bytes(grid->cells, sizeof *grid->cells * (size_t)grid->w * (size_t)grid->h)};

    return hash_bytes(parts, sizeof parts);
}

void term_show(Term *term, const Grid *grid)
{
    int w, h;
    term_size(term, &w, &h);
    uint64_t frame = frame_hash(grid);

    if (frame == term->shown && !term->anew)
        return;
    term->shown = frame;
    erase();
    for (int y = 0; y < grid->h && y < h; y++) {
        for (int x = 0; x < grid->w && x < w; x++) {
            const Cell *cell = &grid->cells[y * grid->w + x];
            if (cell->width == 0 || (cell->rune == ' ' && cell->style == ROLE_TEXT))
                continue;
            move(y, x);
            show_cell(term, cell);
        }
    }
    move(grid->cursor_y < h ? grid->cursor_y : h - 1, grid->cursor_x < w ? grid->cursor_x : w - 1);
    if (term->anew && term->mouse_on)
        term_send(term, STR("\033[?1006h"));
    if (term->anew)
        clearok(curscr, TRUE);
    term->anew = false;
    wnoutrefresh(stdscr);
    send_sync(term, sync_begin);
    doupdate();
    send_sync(term, sync_end);
}

void term_redraw(Term *term)
{
    term->anew = true;
}

void term_suspend(Term *term)
{
    term->anew = true;
    kill(0, SIGTSTP);
}

void term_send(Term *term, Str bytes)
{
    (void)term;
    fwrite(bytes.s, 1, bytes.n, stdout);
    fflush(stdout);
}

static bool wait_for(pid_t child, const char *name, Error *err)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return error_set(err, "%s: %s", name, strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return error_set(err, "%s: cannot be started", name);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(err, "%s failed", name);
    return true;
}

/* In the child: the program in place of this one. */
static void become(const char *const *argv)
{
    char *own[ARGV_MAX + 1] = {0};

    for (int i = 0; i < N_FATAL; i++)
        signal(fatal_signals[i], SIG_DFL);
    for (int i = 0; i < ARGV_MAX && argv[i]; i++)
        own[i] = strdup(argv[i]);
    if (own[0])
        execvp(own[0], own);
    _exit(127);
}

bool term_run(Term *term, const char *const *argv, Error *err)
{
    def_prog_mode();
    endwin();
    pid_t child = fork();
    if (child == 0)
        become(argv);
    bool ok = child < 0 ? error_set(err, "%s: %s", argv[0], strerror(errno))
                        : wait_for(child, argv[0], err);
    reset_prog_mode();
    refresh();
    term->anew = true;
    return ok;
}
