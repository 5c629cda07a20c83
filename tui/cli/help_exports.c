/* help_exports.c - help on drawings, systems and tables, made from the tables of each. */
#include "tui/cli/help.h"

#include "core/base/text.h"
#include "viz/export.h"
#include "viz/report/tables.h"

static const char drawings_head[] =
    "After each kind: its operand (in brackets if it is optional), what it draws, and an\nexample "
    "to append to\n"
    "    dimscope export samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron --svg -o a.svg\n"
    "\n";

static const char drawings_tail[] =
    "\n"
    "Shapes and lines carry the meaning, so a drawing also reads without colours:\n"
    "\n"
    "box    op: name and operator, inputs -> outputs, time, bytes on a device;\n"
    "       double border: equal layers, xN; dashed: comes from outside the drawing;\n"
    "       rounded: a device; slanted corner: a cause; thick border: the subject of the\n"
    "       drawing, or the largest value\n"
    "frame  bold and rounded: a stage; dashed: a group of devices; double: a layer\n"
    "line   thin and grey: a value that is not resharded; else by collective:\n"
    "       AR bold, arrows both ways; AG crow's foot; RS dashed, inverted arrow;\n"
    "       A2A double; PP and permutes dotted; HX (halo exchange) dots at both ends;\n"
    "       RG (ring) double with dots; SC (scan of running sums) dashed. The width shows bytes, "
    "the colour the axis;\n"
    "       dashed with a sum mark: the value is partial\n"
    "       in diff: dashed and grey is only in A, bold only in B\n"
    "legend axes, marks and units, the mesh, the plan's hash, the version\n"
    "\n"
    "On paper: --paper is for a column of 3.25in, --width 7in for another width. Type is 7\n"
    "pt or more in that width; what is too wide is folded and stacked, not scaled. What is\n"
    "higher than 9in goes on in columns side by side where --width allows it, and in further\n"
    "files: -o step.pdf also writes step-2.pdf, and a note says how many pages. Title, caption\n"
    "and legend are not in the picture but in notes on stderr. LaTeX takes the files as they\n"
    "are: \\includegraphics{step.pdf}.\n"
    "\n"
    "As data: in --dot, boxes and lines have what they stand for as attributes: op, path,\n"
    "layer, sharding, axes, bytes, us, phase, cause. Their ids come from paths, a box of several\n"
    "ops has that of the first: what two plans of a model both draw has one id. gvpr, which\n"
    "comes with Graphviz, reads them:\n"
    "\n"
    "$ dimscope export samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron --kind block -o a.gv\n"
    "\n"
    "$ gvpr 'E[op != \"\"] {print(op, \" \", axes, \" \", bytes, \" \", path)}' a.gv\n"
    "all_reduce tp 12582912 transformer.h.0.attn.c_proj.out\n"
    "all_reduce tp 12582912 transformer.h.0.mlp.c_proj.out\n"
    "\n"
    "$ gvpr 'BEGIN {double t} E[op != \"\"] {t = t + us} END {print(t, \" us\")}' a.gv\n"
    "162.458 us\n"
    "\n"
    "$ gvpr 'N[(double)us > 100] {print(path, \" \", cause)}' a.gv\n"
    "transformer.h.0.mlp.c_fc megatron.lua:41 megatron.lua:23\n"
    "transformer.h.0.mlp.c_proj megatron.lua:41 megatron.lua:24\n"
    "\n"
    "$ dimscope export samples/models/gpt2.onnx -m dp=2,tp=4 -p megatron --train -o step.gv\n"
    "\n"
    "$ gvpr 'BEGIN {double t} N[phase == \"backward\"] {t = t + us} END {print(t, \" us\")}' "
    "step.gv\n"
    "23428.8 us\n"
    "\n"
    "$ gvpr -c 'N[axes == \"dp\"] {fillcolor = \"gray80\"}' a.gv | dot -Tsvg -o b.svg\n"
    "\n"
    "In SVG, pointing at a box shows why it is sharded so, with the policy's line. A\n"
    "drawing too large for dot is refused with an error that names a kind that fits;\n"
    "--dot writes any size. Without the program dot, -o a.svg writes a.svg.gv and says\n"
    "so.\n";

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

static const char systems_head[] =
    "dimscope export MODEL ... --to SYSTEM [-o FILE]. Each, with the ending of its files:\n"
    "\n";

static const char systems_tail[] =
    "\nNotes on stderr list what a system cannot express. With --train the file also has "
    "the\nsystem's settings for a training step. --pins FILE reads most of them back: help pins.\n";

void help_systems(Buf *out)
{
    enum { WHAT_AT = 24 };

    buf_puts(out, systems_head);
    for (int i = 0; export_format_at(i); i++) {
        const ExportFormat *format = export_format_at(i);
        if (format->group == EXPORT_CODE)
            text_put_pair(
                str_from(arena_printf(out->arena, "%-14s .%s", format->name, format->ending)),
                WHAT_AT, format->what, out);
    }
    buf_puts(out, systems_tail);
}

static const char tables_head[] =
    "dimscope export MODEL ... --csv --table NAME [-o FILE]     one of them\n"
    "                          --csv -o FOLDER/                 a file each\n"
    "                          --json [--table NAME]            as data, all or one\n"
    "\n"
    "Names of columns with times or bytes end in the unit. An unknown value is empty, in\n"
    "JSON null. A sharding is written 8/dp,1024,768, a shape [8,1024,768]. A row is\n"
    "\n";

static const char tables_tail[] =
    "\n"
    "JSON of one table: {\"schema\":\"dimscope.sheet\", \"version\":1, \"view\":NAME,\n"
    "\"columns\":[..], \"rows\":[{..}]}; of all: {\"schema\":\"dimscope.tables\",\n"
    "\"version\":1, \"plan\":HASH, \"tables\":{NAME:{\"columns\", \"rows\"}}}. Equal plans give "
    "equal bytes.\n";

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
