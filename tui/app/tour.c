#include "tui/app/tour.h"

#include "tui/app/panes.h"

const char *const tour_model = "samples/models/gpt2.onnx", *const tour_mesh = "dp=2,tp=4",
                  *const tour_policy = "megatron";

const TourStep tour_steps[] = {
    {"This is GPT-2 on 8 devices, two groups of four, sharded as Megatron does. The row at the "
     "cursor stands for 12 layers with the same structure and sharding. The lines on the left are "
     "the values that are alive. Step down into the layer.",
     "jj", "attn"},
    {"8/dp,1024,768 Σtp: dim 0 is sharded by axis dp; Σtp means partial: each rank along tp holds "
     "a partial sum. AR tp, an all-reduce over tp, adds them up. Look at all reshards.",
     "5", "AR tp"},
    {"The most expensive one comes first, with its formula and the numbers in it; × says how often "
     "it happens. Which line of the policy asked for it?",
     "w", "megatron.lua:"},
    {"Read from the bottom: the pin in megatron.lua, then every op on the way. Every sharding has "
     "such a chain. Go back to the graph and find a weight by its name.",
     "1/h.3.mlp.c_fc.weight<Enter>", "768,3072/tp"},
    {"Its columns are sharded by tp: 768,3072/tp, so each rank holds a shard of 768,768. See which "
     "rank "
     "holds which part.",
     "3", "SLICES"},
    {"The same sharding as Paddle, DTensor, JAX and Shardy write it, and a picture of its slices: "
     "equal letters mean equal bytes. Why is it not also sharded by dp?",
     "Wd", "dp"},
    {"What stopped dp, and what would let it through. What if it were sharded another way? Each "
     "choice is planned before you decide. Look, and leave with Esc.",
     "1x<Esc>", "[1 Graph]"},
    {"Compare with another plan: d lists them, f narrows the list to fsdp, a policy shipped with "
     "the program, Enter chooses it.",
     "df<Enter>", "[7 Diff]"},
    {"Totals of both plans, every difference in program order, and the first decision that "
     "differs. Next: what is in memory at the peak, and what would lower it.",
     "6", "[6 Mem]"},
    {"The policy, line by line: what each line decided and what that costs. In the console below "
     "you can decide more; :write saves it.",
     "8", "[8 Policy]"},
    {"Training, in five steps. So far the plan covers only the forward pass. :train derives the "
     "rest of the step: the loss, the backward pass, the update by AdamW. Your pins and the policy "
     "stay.",
     "1:train auto<Enter>", "BWD ms"},
    {"A row has both passes now: ms forward, BWD ms for its backward ops. A square "
     "on the left marks what is kept for the backward pass. What is that, in bytes?",
     "gk", "AT THE PEAK"},
    {"By layer, the largest first; AGAIN is the time to recompute it. What would recomputation or "
     "ZeRO change? Each setting of the policy is planned. Look, and leave with Esc.",
     "x<Esc>", "KEPT OUTPUT OF"},
    {"Back to communication: each row now has its pass. Gradients are reduced in the update, once "
     "a step; the rest is paid for every micro-batch. f shows those of the update alone.",
     "5fpass:update<Enter>", "update   AR dp"},
    {"Last, a weight and its gradient: how each is sharded, where the gradient is reduced, and "
     "where the states of the optimizer are stored. gb goes from one to the other. F drops the "
     "filter.",
     "F1gg/h.3.mlp.c_fc.weight<Enter>3", "once a step"},
    {"The keys are at the bottom of each screen, and ? lists them all. q leaves. Now your own "
     "model: dimscope MODEL.onnx -m dp=2,tp=4 -p megatron.",
     "", ""},
    {NULL, NULL, NULL},
};

/* ---- keys ---- */

static Str keys_left(const TourStep *step, int n_typed)
{
    Str script = str_from(step->keys);
    Key key;

    while (n_typed-- > 0 && key_script_next(&script, &key))
        ;
    return script;
}

Str tour_rest(const Tour *tour)
{
    static const char leave[] = "<Esc>";
    enum { LEAVE = sizeof leave - 1 };
    Str rest = keys_left(&tour_steps[tour->step], tour->n_typed);

    if (rest.n > LEAVE && str_ends(rest, str_from(leave)))
        rest.n -= LEAVE;
    return rest;
}

void tour_key(Tour *tour, Key pressed)
{
    const TourStep *step = &tour_steps[tour->step];
    Key want;

    if (!tour->on)
        return;
    for (int from_start = 0; from_start < 2; from_start++) {
        Str rest = keys_left(step, tour->n_typed);
        if (key_script_next(&rest, &want) && want == pressed) {
            tour->n_typed++;
            if (rest.n == 0) {
                tour->step++;
                tour->n_typed = 0;
            }
            return;
        }
        tour->n_typed = 0;
    }
}

/* ---- text ---- */

static int count_lines(const TourStep *step, int columns)
{
    Str rest = str_from(step->text);
    int n = 0;

    for (; rest.n > 0; n++)
        text_take_line(&rest, columns);
    return n;
}

int tour_lines(const Tour *tour, int w, int h)
{
    if (!tour->on)
        return 0;
    int n = count_lines(&tour_steps[tour->step], w - 2) + 1;
    return h - n < LAYOUT_MIN_H ? 0 : n;
}

/* Typed words stand together, named keys apart: "/c_fc Enter 3", ":train auto Enter". */
static void draw_keys(const TourStep *step, int n_typed, Arena *scratch, Pen *pen)
{
    Str rest = str_from(step->keys);
    Key key;

    pen_puts(pen, ROLE_HEAD, *step->keys ? "  press " : "  the end");
    bool apart = false;
    for (int i = 0; key_script_next(&rest, &key); i++) {
        Buf name = buf_new(scratch);
        key_format(key, &name);
        bool named = name.n > 1 && key != ' ';
        pen_printf(pen, i < n_typed ? ROLE_DIM : ROLE_FOCUS,
                   (named || apart) && i > 0 ? " %s" : "%s", key == ' ' ? " " : name.s);
        apart = named;
    }
}

void tour_draw(const Tour *tour, Arena *scratch, Pen *pen)
{
    const TourStep *step = &tour_steps[tour->step];
    Str rest = str_from(step->text);
    int n = 0;

    while (tour_steps[n].text)
        n++;
    pen_printf(pen, ROLE_FOCUS, "══ tour %d of %d ══", tour->step + 1, n);
    draw_keys(step, tour->n_typed, scratch, pen);
    bool leaves = str_eq(tour_rest(tour), STR("<Esc>")); /* a menu takes the keys */
    pen_puts(pen, ROLE_DIM, *step->keys && !leaves ? "   C-n does it" : "");
    while (rest.n > 0) {
        pen_line(pen);
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_put(pen, ROLE_TEXT, text_take_line(&rest, pen->area.w - 2));
    }
}

void tour_format(Buf *out)
{
    enum { COLUMNS = 76 };

    buf_printf(out, "dimscope %s -m %s -p %s\n", tour_model, tour_mesh, tour_policy);
    for (const TourStep *step = tour_steps; step->text; step++) {
        Str rest = str_from(step->text);
        buf_printf(out, "\n%2d ", (int)(step - tour_steps) + 1);
        for (const char *indent = " "; rest.n > 0; indent = "    ") {
            Str line = text_take_line(&rest, COLUMNS);
            buf_printf(out, "%s%.*s\n", indent, STR_ARG(line));
        }
        if (*step->keys)
            buf_printf(out, "    > %s\n", step->keys);
    }
}
