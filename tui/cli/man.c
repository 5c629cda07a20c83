/* man.c - the manual pages, in roff, from the tables that help is made from. */
#include "tui/cli/help.h"

#include "tui/cli/options.h"

/* Text that roff shows as it is. */
static void add_roff(Str text, Buf *out)
{
    bool begins = true;
    while (text.n > 0) {
        uint32_t rune = str_take_rune(&text);
        if (begins && (rune == '.' || rune == '\''))
            buf_puts(out, "\\&");
        if (rune >= 0x80)
            buf_printf(out, "\\[u%04X]", (unsigned)rune);
        else if (rune == '\\')
            buf_puts(out, "\\e");
        else if (rune == '-')
            buf_puts(out, "\\-");
        else
            buf_putc(out, (char)rune);
        begins = rune == '\n';
    }
    buf_putc(out, '\n');
}

/* A tagged paragraph: the tag in bold, then what it means. */
static void add_tagged(Str tag, const char *text, Buf *out)
{
    buf_puts(out, ".TP\n.B ");
    add_roff(tag, out);
    add_roff(str_from(text), out);
}

static void man_verbs(Buf *out)
{
    buf_puts(out, ".SH SYNOPSIS\n.nf\n");
    for (const Verb *verb = verbs; verb->run; verb++) {
        Buf synopsis = buf_new(out->arena);
        help_synopsis(verb, &synopsis);
        add_roff(buf_str(&synopsis), out);
    }
    buf_puts(out, ".fi\n.SH DESCRIPTION\n");
    add_roff(STR("dimscope explores how a model is sharded over a mesh of devices. It opens an\n"
                 "ONNX model, a mesh and a policy in Lua, infers every shape and propagates every\n"
                 "sharding, shows each collective with its cost and its cause, and runs the plan."),
             out);
    buf_puts(out, ".SH VERBS\n");
    for (const Verb *verb = verbs; verb->run; verb++) {
        Buf synopsis = buf_new(out->arena);
        help_synopsis(verb, &synopsis);
        add_tagged(buf_str(&synopsis), verb->text, out);
    }
}

static void man_options(Buf *out)
{
    buf_puts(out, ".SH OPTIONS\n");
    for (const Option *option = cli_options; option->name; option++) {
        Buf name = buf_new(out->arena);
        help_option(option, &name);
        add_tagged(buf_str(&name), option->help, out);
    }
}

/* Topics as sections: file formats are of the page in section 5. */
static void man_topics(bool formats, Buf *out)
{
    for (const Topic *topic = cli_topics; topic->name; topic++) {
        if (topic->is_format != formats)
            continue;
        buf_puts(out, ".SH ");
        for (const char *c = topic->title; *c; c++)
            buf_putc(out, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
        buf_puts(out, "\n.nf\n");
        Buf text = buf_new(out->arena);
        topic_write(topic, &text);
        add_roff(buf_str(&text), out);
        buf_puts(out, ".fi\n");
    }
}

static void see_also(const char *page, Buf *out)
{
    buf_printf(out, ".SH SEE ALSO\n.BR %s ,\n.BR dot (1)\n", page);
}

static void add_title(const char *section, const char *name, const char *of, Buf *out)
{
    buf_printf(out, ".TH DIMSCOPE %s \"\" \"dimscope " CLI_VERSION "\" \"%s\"\n", section, of);
    buf_printf(out, ".SH NAME\ndimscope \\- %s\n", name);
}

bool help_man(Str section, Buf *out)
{
    if (str_eq(section, STR("1"))) {
        add_title("1", "explore how a model is sharded", "User Commands", out);
        man_verbs(out);
        man_options(out);
        man_topics(false, out);
        see_also("dimscope (5)", out);
        return true;
    }
    if (!str_eq(section, STR("5")))
        return false;
    add_title("5", "files that dimscope reads and writes", "File Formats", out);
    buf_puts(out, ".SH DESCRIPTION\n");
    add_roff(STR("A model is an ONNX file; what is not of dimscope's own making is not described\n"
                 "here. Scripts in Lua see no file, no process and no network."),
             out);
    man_topics(true, out);
    see_also("dimscope (1)", out);
    return true;
}
