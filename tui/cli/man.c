/* man.c - the manual pages in roff, made from the same tables as help. */
#include "tui/cli/help.h"

#include "core/base/version.h"
#include "tui/help/glossary.h"
#include "tui/help/lua_help.h"
#include "tui/cli/options.h"

#include <ctype.h>

/* Escapes text for roff. */
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
    add_roff(
        STR("dimscope explores how a model is sharded over a mesh of devices. It opens a\n"
            "model (ONNX, a config.json of Hugging Face, or built by Lua), a mesh and a policy\n"
            "in Lua. It infers every shape, propagates every sharding, shows each collective\n"
            "with its cost and its cause, and runs the plan."),
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

/* Topics as sections: file formats in section 5, the others in section 1. */
static void man_topics(Cli *cli, bool formats, Buf *out)
{
    for (const Topic *topic = cli_topics; topic->name; topic++) {
        if (topic->is_format != formats)
            continue;
        buf_puts(out, ".SH ");
        for (const char *c = topic->title; *c; c++)
            buf_putc(out, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
        buf_puts(out, "\n.nf\n");
        Buf text = buf_new(out->arena);
        topic_write(cli, topic, &text);
        add_roff(buf_str(&text), out);
        buf_puts(out, ".fi\n");
    }
}

static void see_also(const char *page, Buf *out)
{
    buf_printf(out, ".SH SEE ALSO\n.BR %s ,\n.BR dot (1)\n", page);
}

/* page: the suffix of the program's name, "" or "-lua". */
static void add_title(const char *page, const char *section, const char *name, const char *of,
                      Buf *out)
{
    buf_puts(out, ".TH DIMSCOPE");
    for (const char *c = page; *c; c++)
        buf_putc(out, (char)toupper((unsigned char)*c));
    buf_printf(out, " %s \"\" \"dimscope " DIMSCOPE_VERSION "\" \"%s\"\n", section, of);
    buf_printf(out, ".SH NAME\ndimscope%s \\- %s\n", page, name);
}

static void man_row(const ScriptEntry *row, Buf *out)
{
    Buf use = buf_new(out->arena);
    lua_row_use(row, &use);
    add_tagged(buf_str(&use), row->help, out);
}

/* Functions first, then each type with its fields and methods. */
static void man_lua(const ScriptEntry *rows, Buf *out)
{
    buf_puts(out, ".SH DESCRIPTION\n");
    add_roff(
        STR("Policies, operators and machines are files in Lua 5.4. They run in a sandbox\n"
            "without files, processes and network. Types are written in the notation of Lua\n"
            "language servers. Operands, dims, axes and devices count from 0; elements of Lua\n"
            "lists count from 1."),
        out);
    buf_puts(out, ".SH FUNCTIONS\n");
    for (const ScriptEntry *row = rows; row->name; row++)
        if (row->kind != SCRIPT_METHOD && row->kind != SCRIPT_FIELD && row->kind != SCRIPT_TYPE)
            man_row(row, out);
    buf_puts(out, ".SH TYPES\n");
    for (const ScriptEntry *type = rows; type->name; type++) {
        if (type->kind != SCRIPT_TYPE)
            continue;
        buf_printf(out, ".SS %s\n", type->name);
        add_roff(str_from(type->help), out);
        for (const ScriptEntry *row = rows; row->name; row++)
            if (row->kind != SCRIPT_GLOBAL && strcmp(row->of, type->name) == 0)
                man_row(row, out);
    }
}

static void man_glossary(Buf *out)
{
    const GlossaryTerm *term;
    buf_puts(out, ".SH WORDS\n");
    for (int i = 0; (term = glossary_at(i)); i++) {
        Buf text = buf_new(out->arena);
        glossary_write(term, &text);
        Str rest = buf_str(&text), title = str_take(&rest, '\n');
        buf_puts(out, ".SS ");
        add_roff(title, out);
        buf_puts(out, ".nf\n");
        add_roff(rest, out);
        buf_puts(out, ".fi\n");
    }
}

bool help_man(Cli *cli, Str section, Buf *out)
{
    if (str_eq(section, STR("glossary"))) {
        add_title("-glossary", "7", "words of other systems, and what shows them", "Miscellaneous",
                  out);
        man_glossary(out);
        see_also("dimscope (1) ,\n.BR dimscope-lua (7)", out);
        return true;
    }
    if (str_eq(section, STR("7"))) {
        add_title("-lua", "7", "what scripts can call", "Miscellaneous", out);
        man_lua(cli->hooks->rows(cli->hooks->context, cli->arena), out);
        see_also("dimscope (1)", out);
        return true;
    }
    if (str_eq(section, STR("1"))) {
        add_title("", "1", "explore how a model is sharded", "User Commands", out);
        man_verbs(out);
        man_options(out);
        man_topics(cli, false, out);
        see_also("dimscope (5) ,\n.BR dimscope-lua (7) ,\n.BR dimscope-glossary (7)", out);
        return true;
    }
    if (!str_eq(section, STR("5")))
        return false;
    add_title("", "5", "files that dimscope reads and writes", "File Formats", out);
    buf_puts(out, ".SH DESCRIPTION\n");
    add_roff(STR("The file formats of dimscope. ONNX files and the fields of a config.json are\n"
                 "described by their own projects. Scripts in Lua run in a sandbox without files,\n"
                 "processes and network."),
             out);
    man_topics(cli, true, out);
    see_also("dimscope (1)", out);
    return true;
}
