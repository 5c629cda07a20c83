#include "viz/ids.h"

#include "core/base/vec.h"

#include <ctype.h>

enum { ID_MAX = 120 };

typedef struct {
    Arena *arena;
    Intern *taken;
    Vec(int) next; /* per id: the number of the next that begins so */
} Ids;

/* Returns false if another has it. */
static bool take(Ids *ids, const char *id, int32_t *number)
{
    *number = intern_put(ids->taken, id, strlen(id));
    if (*number < ids->next.n)
        return false;
    vec_push(ids->arena, &ids->next, 2);
    return true;
}

/* The name, with a number behind it from the second of that name on. */
static const char *take_next(Ids *ids, const char *name)
{
    const char *own = name;
    int32_t base, number;

    if (take(ids, name, &base))
        return name;
    do {
        own = arena_printf(ids->arena, "%s-%d", name, ids->next.at[base]++);
    } while (!take(ids, own, &number));
    return own;
}

/* The id for a text: what of its characters may be in one. */
static const char *id_of(Ids *ids, const char *prefix, Str text)
{
    Buf id = buf_new(ids->arena);

    buf_puts(&id, prefix);
    for (size_t i = 0; i < text.n && id.n < ID_MAX; i++) {
        unsigned char c = (unsigned char)text.s[i];
        bool plain = c < 0x80 && (isalnum(c) || c == '.' || c == '_');
        if (plain || (id.n > 0 && id.s[id.n - 1] != '-'))
            buf_putc(&id, plain ? (char)c : '-');
    }
    while (id.n > 0 && id.s[id.n - 1] == '-')
        buf_cut(&id, id.n - 1);
    if (id.n == 0 || !isalpha((unsigned char)id.s[0]))
        return id_of(ids, "n-", id.n == 0 ? STR("box") : buf_str(&id));
    return take_next(ids, id.s);
}

static const char *const looks[BOX_LOOK_COUNT] = {
    [BOX_POINT] = "moved", [BOX_TEXT] = "text",     [BOX_FILL] = "bar",     [BOX_AREA] = "area",
    [BOX_CORNER] = "turn", [BOX_OUTLINE] = "frame", [BOX_DASHES] = "frame", [BOX_DOUBLE] = "frame",
};

static const char *box_id(Ids *ids, const DiagramBox *box)
{
    const DiagramFacts *facts = box->facts;
    Buf text = buf_new(ids->arena);

    if (facts && facts->path)
        buf_puts(&text, facts->path);
    else if (*box->title)
        buf_puts(&text, box->title);
    else if (box->n_cells > 0)
        buf_add(&text, box->cells[0].text.str);
    if (box->look == BOX_POINT || text.n == 0)
        buf_printf(&text, " %s", looks[box->look] ? looks[box->look] : "box");
    else if (facts && facts->first)
        buf_printf(&text, " %s", facts->first);
    else if (facts && facts->op && isalpha((unsigned char)*facts->op))
        buf_printf(&text, " %s", facts->op);
    return id_of(ids, "", buf_str(&text));
}

void diagram_name_all(Arena *arena, Diagram *diagram)
{
    static const char *const reserved[] = {"plan",  "legend",  "node",     "edge",
                                           "graph", "digraph", "subgraph", "strict"};
    Ids ids = {.arena = arena, .taken = intern_new(arena)};
    int32_t number;
    DiagramBox *box = arena_array(arena, DiagramBox, diagram->n_boxes + 1);
    DiagramLine *line = arena_array(arena, DiagramLine, diagram->n_lines + 1);

    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        take(&ids, reserved[i], &number);
    for (int i = 0; i < diagram->n_boxes; i++) {
        box[i] = diagram->boxes[i];
        box[i].id = box_id(&ids, &box[i]);
    }
    for (int i = 0; i < diagram->n_frames; i++)
        diagram->frames[i].id = id_of(&ids, "frame-", str_from(diagram->frames[i].title));
    for (int i = 0; i < diagram->n_lines; i++) {
        line[i] = diagram->lines[i];
        line[i].id = take_next(
            &ids, arena_printf(arena, "%s--%s", box[line[i].from].id, box[line[i].to].id));
    }
    diagram->boxes = box;
    diagram->lines = line;
}

Intern *diagram_ids(Arena *arena, const Diagram *diagram)
{
    Intern *ids = intern_new(arena);

    for (int i = 0; i < diagram->n_boxes; i++)
        intern_put(ids, diagram->boxes[i].id, strlen(diagram->boxes[i].id));
    for (int i = 0; i < diagram->n_frames; i++)
        intern_put(ids, diagram->frames[i].id, strlen(diagram->frames[i].id));
    for (int i = 0; i < diagram->n_lines; i++)
        intern_put(ids, diagram->lines[i].id, strlen(diagram->lines[i].id));
    return ids;
}
