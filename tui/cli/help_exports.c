/* help_exports.c - help on drawings and tables, from the tables that make them. */
#include "tui/cli/help.h"

#include "tui/screen/text.h"
#include "viz/report/tables.h"

static const char drawings_head[] =
    "Behind a kind: what it is a drawing of, in brackets where it can choose by itself.\n"
    "Examples stand behind\n"
    "    dimscope export samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron --svg -o a.svg\n"
    "\n";

static const char drawings_tail[] =
    "\n"
    "One thing looks one way, so that a grey print reads the same:\n"
    "\n"
    "box    op: its name and operator, what it reads -> makes, time, bytes on a device;\n"
    "       double border: equal layers, xN; dashed: what comes from outside; rounded:\n"
    "       a device; slanted corner: a cause; thick border: what it is about, or the most\n"
    "frame  bold and rounded: a stage; dashed: a group of devices; double: a layer\n"
    "line   thin and grey: a value that is not moved; else by what moves it:\n"
    "       AR bold, arrows both ways; AG crow's foot; RS dashed, inverted arrow;\n"
    "       A2A double; PP and permutes dotted. Its width is by bytes, its colour by\n"
    "       the axis; dashed with a sum mark: the value is partial\n"
    "       of diff: dashed and grey is only in A, bold only in B\n"
    "legend axes, marks and units, the mesh, the plan's hash, the version\n"
    "\n"
    "In SVG a box says under the pointer why it is so, with the policy's line. What is\n"
    "too large for dot is refused, and the error names the kind that fits. --dot writes\n"
    "any size. Without the program dot, -o a.svg writes a.svg.gv, and says so.\n";

void help_drawings(Buf *out)
{
    enum { WHAT_AT = 24 };

    buf_puts(out, drawings_head);
    for (int i = 0; i < DIAGRAM_KIND_COUNT; i++) {
        const DiagramKindRow *kind = diagram_kind((DiagramKind)i);
        Str term = str_from(arena_printf(out->arena, "%s %s", kind->name, kind->of));
        text_put_pair(term, WHAT_AT, kind->what, out);
        buf_blanks(out, WHAT_AT);
        buf_printf(out, "--kind %s%s%s\n", kind->name, *kind->example ? " " : "", kind->example);
    }
    buf_puts(out, drawings_tail);
}

static const char tables_head[] =
    "dimscope export MODEL ... --csv --table NAME [-o FILE]     one of them\n"
    "                          --csv -o FOLDER/                 a file each\n"
    "                          --json [--table NAME]            as data, all or one\n"
    "\n"
    "A column of times or bytes ends in its unit; what is not known is empty, in JSON\n"
    "null. Shardings are as in 8/dp,1024,768; shapes as in [8,1024,768]. A row is\n"
    "\n";

static const char tables_tail[] =
    "\n"
    "JSON of one: {\"schema\":\"dimscope.sheet\", \"version\":1, \"view\":NAME, \"columns\":[..],\n"
    "\"rows\":[{..}]}; of all: {\"schema\":\"dimscope.tables\", \"version\":1, \"plan\":HASH,\n"
    "\"tables\":{NAME:{\"columns\", \"rows\"}}}. Equal plans give equal bytes.\n";

void help_tables(Buf *out)
{
    enum { WHAT_AT = 14 };

    buf_puts(out, tables_head);
    for (const PlanTable *const *table = plan_tables; *table; table++) {
        Buf columns = buf_new(out->arena);
        for (const SheetColumn *column = (*table)->columns; column->name; column++)
            buf_printf(&columns, "%s%s", columns.n > 0 ? ", " : "", column->name);
        text_put_pair(str_from((*table)->name), WHAT_AT, (*table)->what, out);
        text_put_pair(STR(""), WHAT_AT, columns.s, out);
    }
    buf_puts(out, tables_tail);
}
