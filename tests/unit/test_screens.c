/* The explorer without a terminal: keys in, facts on the screen out. What people come to do, and
 * how few keys it may take (a typed word with its Enter counts as two). */
#include "tests/unit/unit.h"
#include "tests/unit/graph_text.h"

#include "scripts/hooks.h"
#include "tui/app/mouse.h"
#include "tui/views/view_policy.h"

#include <stdlib.h>
#include <unistd.h>

enum { FACTS_MAX = 8 };

typedef struct {
    const char *name;
    int w, h;
    const char *keys;
    int n_keys; /* the budget; -1: none */
    const char *facts[FACTS_MAX];
} ScreenRow;

static ScreenRow rows[] = {
    {"open: legal, fits, what it costs",
     80,
     24,
     "",
     0,
     {"gpt2", "dp=2,tp=4", "74.5 GiB ok", " ms, comm ", "legal"}},
    {"a layer once, with its rail",
     80,
     24,
     "",
     0,
     {"h[0..11] ×12", "├─●        ln_1", "●─╯        Add", "12 AR tp"}},
    {"the bottom line says the way on", 80, 24, "", 0, {"j move", "? help", "q quit"}},
    {"which axis cuts the weight of layer 3",
     80,
     24,
     "/h.3.mlp.c_fc.weight<Enter>",
     3,
     {"768,3072/tp", "LOCAL 768,768", "[-1,1]", "[R, S(1)]", "P(None,'tp')", "[{},{\"tp\"}]",
      "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"}},
    {"the same from the module's name",
     80,
     24,
     "/h.3.mlp.c_fc<Enter>",
     3,
     {"weight 768,3072/tp  local 768,768  [-1,1] [R, S(1)]", "h.3", "1/1"}},
    {"what others call an operator, and who can say it",
     80,
     24,
     "/h.3.mlp.c_fc/Gemm<Enter>2j",
     5,
     {" NAMES can be run", " NOTATIONS  dimop einsum ~transforms shardy"}},
    {"the op in another notation",
     80,
     24,
     "/h.3.mlp.c_fc/Gemm<Enter>2Gk",
     6,
     {"> shardy", "not said: input 2 is added once", "einsum       mk,kn,n->mn"}},
    {"the dearest collective",
     80,
     24,
     "5",
     1,
     {">   12 AR tp", "h.*.attn.c_proj.out", "12.0 MiB", "megatron.lua:", "= 81.2 us",
      "{d0 d1 d2 d3} {d4 d5 d6 d7}"}},
    {"and its cause", 80, 24, "5w", 2, {"partial over tp", "megatron.lua:", "{k = \"tp\"}"}},
    {"options of a collective, tried before they are asked for",
     80,
     24,
     "5",
     1,
     {"OPTIONS", "sum into dim 1 by tp", "−4.63 ms", "legal",
      "attn.c_proj/Gemm sums k, cut by tp"}},
    {"all that is known of a collective",
     160,
     50,
     "5",
     1,
     {"no path is cheaper; at least 34.6 us; next best RS tp+AG tp: 89.6 us",
      "18.0 MiB out of each", "implicit yes", "ops wait 0.975 ms of 0.975 ms",
      "placements [Shard(0), Partial(sum)]", "weight not cut by tp", "by axis tp", "EXPOSED"}},
    {"an option taken, and taken back",
     80,
     24,
     "5x1u",
     4,
     {"undone: step", "25 reshards: 1.95 ms"}},
    {"an option taken", 80, 24, "5x1", 3, {"sum into dim 1 by tp: step 15.8"}},
    {"rings of a collective, links, who sends to whom",
     80,
     24,
     "5:links<Enter>",
     -1,
     {"d0 ─▸ d1 ─▸ d2 ─▸ d3 ─▸ d0", "18.0 MiB out of each device", "tp                  3.4 GiB",
      "WHO SENDS TO WHOM", "d3  432.0"}},
    {"an index dim assigned to ranks",
     80,
     24,
     "/h.0.mlp.c_fc/Gemm<Enter>:assign m=tp<Enter>",
     -1,
     {"m to tp: step"}},
    {"an index dim that is not there",
     80,
     24,
     "/h.0.mlp.c_fc/Gemm<Enter>:assign q=tp<Enter>",
     -1,
     {"no index dim 'q'"}},
    {"a tensor kept whole over an axis",
     80,
     24,
     ":tensor transformer.h.3.mlp.c_fc.weight<Enter>:decide replicated tp<Enter>:journal<Enter>",
     -1,
     {"[Journal]", "graph:replicated(\"transformer.h.3.mlp.c_fc.weight\", {\"tp\"})"}},
    {"that taken back by a decision",
     80,
     24,
     ":tensor lm_head.weight<Enter>:decide barrier none<Enter>:undecide<Enter>:journal<Enter>",
     -1,
     {"graph:barrier(\"lm_head.weight\", \"none\")", "graph:unmark(\"lm_head.weight\")"}},
    {"what can be decided of a tensor",
     200,
     24,
     ":decide sharded<Enter>",
     -1,
     {"replicated AXES, unreduced AXES, barrier forward|backward|none, tie NAME"}},
    {"where undo stands", 80, 24, "ptu:journal<Enter>", -1, {"12 undone", "u and C-r stand here"}},
    {"reshards in program order", 80, 24, "5sp", 3, {"SL    ", "KIND"}},
    {"the columns of reshards",
     80,
     24,
     "5S",
     2,
     {"columns, where there is room", "exposed", "shown"}},
    {"reshards of two steps in full",
     80,
     24,
     "pt5",
     3,
     {"RS tp+PP dp.tp+AG dp", "3. all_gather dp"}},
    {"reshards that a pin asks for", 160, 50, ":mesh dp=8<Enter>5", -1, {"asked for by a pin (*)"}},
    {"where a partial value is reduced",
     80,
     24,
     "/h.0.attn.c_proj/Gemm<Enter>wgr",
     6,
     {"[5 Comm]", "SELECTED transformer.h.0.attn.c_proj.out"}},
    {"how it came, event by event",
     120,
     36,
     "/h.0.attn.c_proj/Gemm<Enter>ge",
     5,
     {"[Events]", "events, from the pins to the plan", "STEP", "map dims, forward", "reads",
      "makes"}},
    {"why not cut by an axis",
     80,
     24,
     "Wt",
     2,
     {"not cut by tp?", "never cuts d", "no pin leads tp to anything", "pin the dim by tp"}},
    {"what a rank holds, who else",
     80,
     24,
     "3:rank 5<Enter>",
     3,
     {"d5 (dp 1, tp 1) holds B [4:8,:,:] 12.0 MiB; the same on d4 d6 d7", "MADE BY", "DECIDED"}},
    {"devices of a collective",
     80,
     24,
     "54",
     2,
     {"[4 Mesh]", "A Σ1/4", "B Σ4/4", "all_reduce {d0 d1 d2 d3} {d4 d5 d6 d7}", "inside nodes",
      "AR {0}", "AR {1}"}},
    {"slices picked by hjkl",
     80,
     24,
     "/h.0.attn/MatMul<Enter>3jl",
     6,
     {"rows = dim 0   columns = dim 1", "F >d5<", "d5 (dp 1, tp 1) holds F [4:8,3:6,:,:]"}},
    {"another dim across",
     80,
     24,
     "/h.0.attn/MatMul<Enter>3<Lt><Lt>",
     -1,
     {"SLICES  rows = dim 0   columns = dim 1"}},
    {"a strided weight in pieces",
     80,
     24,
     "/h.0.attn.c_attn.weight<Enter>3",
     4,
     {"A'=", "PIECES  along dim 1  (3)(768/tp)  ABCDABCDABCD", "[R, IS(1,3)]",
      "gspmd          cannot say blocks of a dim", "DECIDED  dim 1 megatron.lua:"}},
    {"a partial tensor and its addends",
     80,
     24,
     "/h.0.attn.c_proj/Gemm<Enter>3l",
     5,
     {"AΣ", "▒▒▒", "addend 1 of 4; the others on d5 d6 d7", "last_tile_dims={unreduced}"}},
    {"tensors of the op to choose from", 80, 24, "4t1", 3, {"SHOW    8/dp,1024,768"}},
    {"the mesh turned", 80, 24, "4>", 2, {"│>d0<", "dp 0 "}},
    {"panels for a third axis",
     80,
     24,
     ":mesh pp=2,dp=2,tp=2<Enter>4",
     -1,
     {"pp 0", "pp 1", "dp 1", "A=", "LINKS   pp.dp.tp nvlink inside"}},
    {"a thousand devices, groups between nodes",
     80,
     24,
     ":mesh dp=64,tp=16<Enter>4",
     -1,
     {"tp 0..15", "rows", "│", "dp 0"}},
    {"a pin's price before it is set",
     80,
     24,
     "x",
     1,
     {"size 8", "as now", "STEP", "PEAK", "+1.31 ms", "graph:shard("}},
    {"a pin, and its effect", 80, 24, "pt", 2, {"pinned to tp: step", "8/tp,1024,768"}},
    {"taken back in one key", 80, 24, "ptu", 3, {"undone: step", "8/dp,1024,768", "24 AR tp"}},
    {"done again", 80, 24, "ptu<C-r>", 4, {"redone: step", "8/tp,1024,768"}},
    {"a pinned op leaves the fold",
     80,
     24,
     ":tensor transformer.h.3.mlp.c_fc.weight.1<Enter>pw1z3/h.3<Enter>",
     -1,
     {"h[0..2] ×3", "h.3 ≠", "h[4..11] ×8",
      "unlike h[0..2]: mlp.c_fc/Gemm given input 1 is 768,3072, there 768,3072/tp"}},
    {"alike in structure only: one row",
     80,
     24,
     ":tensor transformer.h.3.mlp.c_fc.weight.1<Enter>pw1z3/h.3<Enter>h",
     -1,
     {"h[0..11] ×12  (11+1)", "alike in structure, sharded differently"}},
    {"and opened to its classes",
     80,
     24,
     ":tensor transformer.h.3.mlp.c_fc.weight.1<Enter>pw1z3/h.3<Enter>h<Enter>",
     -1,
     {">▸         h[0..2] ×3", "~ h.3 ≠", "h[4..11] ×8"}},
    {"all matmuls whose output is partial",
     80,
     24,
     "fMatMul partial:tp<Enter>",
     3,
     {"24 of 486 ops  filter: MatMul partial:tp", "h[0..11] ×12", "attn         21 ops",
      ">●            Gemm       Gemm     8192/dp,768 Σtp", "mlp          14 ops"}},
    {"a filter is dropped",
     80,
     24,
     "fnorm<Enter>F",
     4,
     {"486 ops, 46 distinct", "├─●        ln_2"}},
    {"a filter stays through a change",
     80,
     24,
     "fnorm<Enter>:mesh dp=4<Enter>",
     -1,
     {"ops  filter: norm", "ln_f"}},
    {"a filter with a word that is none",
     80,
     24,
     "fopp:x<Enter>",
     -1,
     {"no key 'opp'", "did you mean 'op'"}},
    {"a filter of an axis that is none", 80, 24, "faxis:pp<Enter>", -1, {"no axis 'pp'", "dp"}},
    {"a filter that passes nothing",
     80,
     24,
     "fnorm partial:dp<Enter>",
     -1,
     {"no op is 'norm partial:dp'", "486 ops"}},
    {"Tab completes a filter", 80, 24, "fpart<Tab>t<Tab>", -1, {"filter partial:tp"}},
    {"a filter's choices", 80, 24, "fis:<Tab>", -1, {"reshard pinned uneven replicated changed"}},
    {"tag a row, step down",
     80,
     24,
     "<Space>",
     1,
     {"468 ops tagged", "486 ops, 468 tagged", "+ h["}},
    {"tag what is listed", 80, 24, "fpartial:tp<Enter>T", 4, {"ops tagged, T again"}},
    {"what is tagged is listed", 80, 24, "jj<Space>fis:tagged<Enter>", 6, {"filter: is:tagged"}},
    {"a pin on what is tagged", 80, 24, "fop:LayerNorm<Enter>TFp", -1, {"×25 tagged"}},
    {"no tagged op has the dim", 80, 24, "jjj<Space>gg/lm_head<Enter>p", -1, {"×1 tagged"}},
    {"layers one by one", 80, 24, ":set fold=off<Enter>", 2, {"h.0", "fold = off"}},
    {"boxes around an op",
     80,
     24,
     "/h.0.attn.c_proj/Gemm<Enter>Z",
     4,
     {"[Near]", "╔transformer.h.0.attn.c_proj/Gemm═", "╚ 8192/dp,768 Σtp ═", "AR tp", "2 hops"}},
    {"from box to box", 80, 24, "Zj", 2, {"╔transformer.h.1/Add═", "┌transformer.h.0/Add_1─"}},
    {"the boxes around that one", 80, 24, "Zj<Enter>", 3, {"╔transformer.h.1/Add═", "AR tp"}},
    {"one box where there is no room",
     40,
     10,
     "Z",
     1,
     {"╔transformer.h.0/Add_1═", "▸ transformer.h.1.ln_1"}},
    {"rows by their time", 80, 24, "stG", 3, {"by time", "●        lm_head", "Reshape_5"}},
    {"a column that cannot be sorted by", 80, 24, ":sort name<Enter>", -1, {"time, reshard"}},
    {"the whole graph in a line", 160, 50, "gg/lm_head<Enter>", -1, {" TIME ", "op 486 of 486"}},
    {"a mark, and back to it", 80, 24, "jjmaG'a", 7, {">│ ▸        attn"}},
    {"the last place", 80, 24, "gg/lm_head<Enter>''", -1, {">◇        input_ids"}},
    {"places to go back to", 80, 24, "2q5:jumps<Enter>", -1, {"places you came from", "Graph"}},
    {"the reader of a reshard", 80, 24, "/h.0.mlp.c_proj/Gemm<Enter>j%", -1, {"Add_1"}},
    {"columns are chosen", 80, 24, "S", 1, {"columns of the graph", "* output", "flops"}},
    {"a column more", 80, 24, ":columns params<Enter>", 2, {"PARAMS", "85.1M"}},
    {"a column that is none", 80, 24, ":columns flop<Enter>", -1, {"did you mean 'flops'"}},
    {"unpin says when there is none", 80, 24, "P", 1, {"is not pinned"}},
    {"fold all", 80, 24, "zM", 2, {"transformer", "485 ops"}},
    {"members of a fold", 80, 24, "<Enter>", 1, {"▸         h.0", "▸         h.9"}},
    {"an op's index dims",
     80,
     24,
     "/h.0.mlp.c_proj/Gemm<Enter>2",
     4,
     {"m k+, k+ n, n -> m n", "  k          3072  reduce  tp", "768  → output partial",
      "GFLOP a device"}},
    {"an op whole: rule, operands with local shapes, cost, why, what else",
     80,
     24,
     "/h.0.mlp.c_proj/Reshape_1<Enter>2j",
     5,
     {"built in, shape", "shape/axis", "local", "8/dp,1024,768 Σtp", "f32   4,1024,768", "▸ ",
      "TRIED RS tp+AG tp instead of AR tp: 89.6 us, not 81.2 us"}},
    {"w again: the next step of why",
     80,
     24,
     "/h.0.mlp.c_proj/Gemm<Enter>www",
     6,
     {"[Why]", ">   2 bwd  Add transformer.h.0"}},
    {"and to the op it goes through",
     80,
     24,
     "/h.0.mlp.c_proj/Gemm<Enter>www<Enter>",
     7,
     {"[2 Op]", " transformer.h.0/Add_1 Add"}},
    {"why its output is partial",
     80,
     24,
     "/h.0.mlp.c_proj/Gemm<Enter>2jjjjjj",
     -1,
     {">out Gemm out", "WHY is it partial?", "k+ cut by tp", "megatron.lua:"}},
    {"an op in a small window follows the cursor",
     40,
     10,
     "/h.0.mlp.c_proj/Gemm<Enter>2jjjjjj",
     -1,
     {"Gemm", ">out Gemm out", "8192/dp,768 Σtp"}},
    {"along a value and back",
     80,
     24,
     "/h.0.mlp.c_proj/Gemm<Enter>2gu<Backspace>",
     -1,
     {"transformer.h.0.mlp.c_proj/Gemm Gemm"}},
    {"several consumers are asked for", 80, 24, "gd", 2, {"read by", "1  transformer.h.1.ln_1"}},
    {"two plans: what differs first, what in total",
     80,
     24,
     "df",
     3,
     {"A megatron.lua     B fsdp", "step          15.8 ms", "149 AG", "verdict       B is worse",
      ">~ transformer.wte.weight", "50257/dp,768", "decision 3", "stored   fsdp.lua:31"}},
    {"the same side by side with reasons",
     160,
     50,
     ":diff fsdp<Enter>]c]c]c",
     -1,
     {"EFFECTS in B: 149 AG more, 24 AR less", "WHY it differs: transformer.wpe.weight",
      "back to its pin:", "AG dp 147.2 MiB", "×12", "│ A megatron.lua"}},
    {"what is alike, too", 80, 24, "df=", 3, {">= input_ids", "(shown: 27)"}},
    {"the plan before the last change",
     80,
     24,
     "pt:diff before<Enter>",
     -1,
     {"B before", "decision 75", "no more decisions: it has 74", "by you"}},
    {"a plan on another mesh",
     80,
     24,
     ":diff dp=4<Enter>",
     3,
     {"mesh          dp=2,tp=4          dp=4"}},
    {"a plan by another propagator",
     80,
     24,
     ":diff spmd<Enter>",
     3,
     {"propagate     factor             spmd", "histories are alike: 74"}},
    {"plans that are the same",
     80,
     24,
     ":diff megatron<Enter>",
     3,
     {"The plans are the same: 486 ops"}},
    {"the other way round", 80, 24, "dfs", -1, {"A fsdp", "B megatron.lua", "B is better"}},
    {"a plan that cannot be opened",
     80,
     24,
     ":diff zzz<Enter>",
     3,
     {"no 'zzz' among the policies", "[1 Graph]"}},
    {"Tab completes the plan", 80, 24, ":diff meg<Tab>", -1, {":diff megatron"}},
    {"no second plan", 80, 24, "7", 1, {"No second plan yet", "d        asks for one"}},
    {"a change of A is seen at once",
     80,
     24,
     ":diff megatron<Enter>1pt7",
     -1,
     {"48 AG", "decision 75"}},
    {"what would lower the peak, at what price",
     80,
     24,
     "6x",
     2,
     {"to lower the peak of 1.1 GiB", "lm_head.out dim 2 by tp", "−4.42 ms", "−699.4 MiB",
      "stored by tp", "graph:shard(\"logits\", {[2] = {\"tp\"}})"}},
    {"the best of them tried and taken back",
     80,
     24,
     "6x1u",
     4,
     {"undone: step 11.4→15.8 ms", "d0..d7 ×8", "785.3 MiB"}},
    {"what would make one value smaller",
     80,
     24,
     "6<Enter>jx1",
     -1,
     {"lm_head.out dim 2 by tp: step", "tp 3"}},
    {"help comes from the table",
     80,
     24,
     "?",
     1,
     {":down", "in Graph", ":right", "in program order"}},
    {"what each device needs, and what is alive then",
     80,
     24,
     "6",
     1,
     {"limit 74.5 GiB", "d0..d7 ×8", "P parameter 378.8 MiB", "OVER THE STEP",
      "^ the peak: lm_head", "at the peak of d0..d7 ×8: 1.1 GiB in 153 values", "lm_head.out",
      "785.3 MiB"}},
    {"the live set as a table",
     160,
     50,
     "6<Enter>jjjjjjl",
     -1,
     {"transformer.h[0..11]", "mlp.c_fc.weight", "768,3072/tp", "megatron.lua:", "BORN", "given",
      "INIT  378.8 MiB when parameters are made in parts", "COUNTS  parameters as stored"}},
    {"another moment of the step", 80, 24, "6<Lt>", 2, {"on d0..d7", "while transformer.h.11"}},
    {"live values without groups",
     100,
     30,
     "6cc",
     3,
     {"grouped by tensor", "mlp.c_fc.weight    12"}},
    {"from a live value to its tensor",
     80,
     24,
     "6<Enter>j<Enter>",
     -1,
     {"[3 Tensor]", "4,1024,50257"}},
    {"uneven devices need different amounts",
     80,
     24,
     ":mesh dp=3<Enter>:tensor input_ids.0<Enter>:pin dp<Enter>6",
     -1,
     {"d0 d1 ×2  dp 0..1", "d2  dp 2", "1020.6 MiB"}},
    {"help runs what it lists", 80, 24, "?/devices<Enter><Enter>", -1, {"[4 Mesh]"}},
    {"an unknown command", 80, 24, ":wyh<Enter>", -1, {"no command ':wyh'", "':why'"}},
    {"a command by its start", 80, 24, ":find<Enter>", -1, {"[Findings]", "no findings"}},
    {"another mesh", 80, 24, ":mesh dp=4<Enter>", -1, {"dp=4", "mesh dp=4: step"}},
    {"a mesh that is none", 80, 24, ":mesh dp=<Enter>", -1, {"--mesh", "dp=2,tp=4"}},
    {"a search that finds nothing", 80, 24, "/zzz<Enter>", -1, {"/zzz: no op, group or tensor"}},
    {"a pattern that is none", 80, 24, "/a(<Enter>", -1, {"/a(:"}},
    {"left alone, a search goes back", 80, 24, "/lm_head<Esc>", -1, {">▾         h[0..11] ×12"}},
    {"panes on a wide screen",
     160,
     50,
     "",
     0,
     {"═ Graph ═", "─ Op ─", "─ Tensor ─", "dims_mapping", "RULE"}},
    {"the next pane", 160, 50, "<Tab>", 1, {"─ Graph ─", "═ Op ═"}},
    {"one pane alone", 160, 50, "zz", 2, {"COST"}},
    {"reshards beside their devices",
     160,
     50,
     "5",
     1,
     {"═ Comm ═", "─ Selected ─", "─ On the mesh ─"}},
    {"the plan along time, before any run",
     80,
     24,
     "9",
     1,
     {"predicted 15.8 ms, not run yet; h100x8, reshards 12.4%", "one column = ", "▒ reshard",
      "OP, the dearest first", "not run yet"}},
    {"the next reshard of it", 80, 24, "9]r", 3, {"AR tp transformer.h.*.attn.c_proj.out"}},
    {"all of it, and one op alone", 80, 24, "9--------", -1, {" d0-7 ", "0 us  one column = 0.2"}},
    {"an op of it", 80, 24, "9k<Enter>", -1, {"[2 Op]"}},
    {"more devices than run here",
     80,
     24,
     ":mesh dp=64,tp=8<Enter>9",
     -1,
     {"cannot be run here: the mesh has 512 devices, a host runs 256"}},
    {"which lines of the policy did nothing",
     80,
     24,
     "8",
     1,
     {"megatron.lua  74 decisions of 5 lines hold, 11 decided nothing", "33    12  ",
      "    53     0  ", "LINE 25 decided     1 × input_ids  8/dp,1024"}},
    {"what a line decided, and what follows",
     80,
     24,
     "8jj",
     3,
     {"LINE 33 decided    12 × transformer.h.*.attn.c_proj.weight  768/tp,768",
      "causes   0.975 ms of reshards"}},
    {"and the way there", 80, 24, "8jj<Enter>", 4, {"[3 Tensor]", "h.0.attn.c_proj.weight"}},
    {"the plan without a line", 80, 24, "8jjx", 4, {"drop it: step 15.8→"}},
    {"dropped, and taken back",
     80,
     24,
     "8jjxxu",
     6,
     {"undone: step", "74 decisions of 5 lines hold"}},
    {"a dropped line did nothing, and who took it back",
     80,
     24,
     "8jxx",
     -1,
     {"1 did nothing !", ">!   32     0", "LINE 32: all 24 decisions of it were taken back",
      "line 32 dropped: step"}},
    {"all of its source", 80, 24, "8zagg", 5, {"Megatron-LM's plan", "line 1 decides nothing"}},
    {"its name is completed", 80, 24, ":policy fs<Tab><Enter>", -1, {"fsdp.lua  "}},
    {"another policy", 80, 24, ":policy fsdp<Enter>", -1, {"fsdp.lua  ", "policy run: step"}},
    {"no such policy", 80, 24, ":policy nope<Enter>", -1, {"nope"}},
    {"a line of Lua asks the plan",
     80,
     24,
     "i'lm_head.weight.1' .. 1<Enter>g:op('transformer.h.0.mlp.c_fc').out[1]<Enter>",
     -1,
     {"[8 Policy]", "> 'lm_head.weight.1' .. 1", "  lm_head.weight.11",
      "Gemm_output_0  f32 8192/dp,3072/tp", "Enter run  Tab complete"}},
    {"one that changes it is taken back",
     80,
     24,
     "ig:shard('lm_head.weight', {[1] = 'tp'})<Enter><Esc>u",
     -1,
     {"plan changed: 1 decision: step", "undone: step"}},
    {"what is wrong with one, and the next",
     80,
     24,
     ":lua g:shrad()<Enter>i<Up>1<Enter>",
     -1,
     {"! console:1: a graph has no 'shrad'; did you mean 'shard'?"}},
    {"an endless line ends",
     80,
     24,
     "iwhile true do end<Enter>1 + 1<Enter>",
     -1,
     {"! console:1: stopped after 50 million instructions", "  2"}},
    {"names are completed",
     80,
     24,
     "ig:sh<Tab>('lm_h<Tab>.w<Tab>', {n = 't<Tab>",
     -1,
     {"> g:shard('lm_head.weight', {n = 't", "tp  transformer"}},
    {"a line of Lua is written", 80, 24, ":write /dev/null<Enter>", -1, {"no pin was made here"}},
    {"ascii", 80, 24, "~", 1, {"+-*        ln_1", "*-'        Add", "h[0..11] x12", "+tp"}},
    {"ascii devices", 80, 24, "~54", 3, {"A +1/4", "+------", "|>d0<"}},
    {"row numbers", 80, 24, "#", 1, {" 11  │ ●       Flatten", " 19 >▾         h[0..11] ×12"}},
    {"a setting by name", 80, 24, ":set glyphs=ascii<Enter>", -1, {"glyphs = ascii", "+-*"}},
    {"a setting that is none", 80, 24, ":set dear=none<Enter>", -1, {"dear is 1 to 100"}},
    {"settings as a menu", 80, 24, "o4", 2, {"options", "numbers    on", "1  glyphs     auto"}},
    {"help begins with the view", 80, 24, "5?", 2, {"in Comm"}},
    {"a sharding in another notation",
     80,
     24,
     "/h.3.mlp.c_fc.weight<Enter>Y5",
     5,
     {"to copy: P(None,'tp')"}},
    {"the notations to choose from", 80, 24, "3Y", 2, {"dims_mapping   [0,-1,-1]", "[S(0), R]"}},
    {"a name copied", 80, 24, "y", 1, {"to copy: transformer.h.0/Add_1"}},
    {"a form that is none", 80, 24, ":copy-as dtensors<Enter>", -1, {"no form 'dtensors'"}},
    {"a view as a file: the kinds",
     80,
     24,
     "5E",
     2,
     {"export to gpt2-comm.*", "s  svg", "h  html", "m  md"}},
    {"a file of no kind", 80, 24, ":export plan.pdf<Enter>", -1, {"export as what?"}},
    {"a picture has no rows", 80, 24, "Z:export /tmp/x.csv<Enter>", -1, {" is a picture"}},
    {"an action by a few letters", 80, 24, "<C-p>", 1, {"actions", ":down", ":page-down"}},
    {"the nearest name first", 80, 24, "<C-p>find", 5, {"> find", ":findings"}},
    {"and it is done", 80, 24, "<C-p>findi<Enter>", -1, {"[Findings]"}},
    {"one that needs an argument is asked for it", 80, 24, "<C-p>mesh<Enter>", -1, {":mesh"}},
    {"by what it does", 80, 24, "<C-p>take the last<Enter>", -1, {"nothing to undo"}},
    {"the palette is left", 80, 24, "<C-p>xyz<Esc>", -1, {"j move", "q quit"}},
    {"a command completed", 80, 24, ":findin<Tab>", -1, {":findings"}},
    {"candidates are listed", 80, 24, ":pre<Tab><Tab>", -1, {":previous-", "previous-pane"}},
    {"an axis completed", 80, 24, ":why-not t<Tab>", -1, {":why-not tp"}},
    {"a setting's value completed", 80, 24, ":set glyphs=as<Tab>", -1, {":set glyphs=ascii"}},
    {"an op completed", 80, 24, ":op /lm_<Tab>", -1, {":op /lm_head/MatMul"}},
    {"a file completed",
     80,
     24,
     ":screen samples/models/gpt<Tab>",
     -1,
     {":screen samples/models/gpt2"}},
    {"a kind completed", 80, 24, ":export x.y ht<Tab>", -1, {":export x.y html"}},
    {"nothing to complete", 80, 24, ":rank zz<Tab>", -1, {"nothing begins so"}},
    {"a shell needs a terminal",
     120,
     24,
     ":shell echo %op '%%'<Enter>",
     -1,
     {"echo 'transformer.h.0/Add_1' '%'"}},
    {"the shell is asked for its command", 80, 24, "!", 1, {":shell"}},
    {"a command of a view", 80, 24, "?<C-d>:open<Enter>j", -1, {"q quit"}},
    {"errors so far, with their places",
     80,
     24,
     ":wyh<Enter>:rank 99<Enter>:wyh<Enter>]e",
     8,
     {"[Errors]", "ranks go from 0 to 7", "×2 ", "no command ':wyh' (did you mean ':why'?)",
      "error 2/2"}},
    {"no errors", 80, 24, ":errors<Enter>", 2, {"no errors so far"}},
    {"what a change of the plan changed",
     80,
     24,
     "/h.3.mlp.c_fc/Gemm<Enter>:pin dp.tp<Enter>gg]c",
     -1,
     {">│ ●     ~    Gemm "}},
    {"nothing has changed", 80, 24, "]c", 2, {"no op has changed"}},
    {"too small", 39, 9, "", 0, {"too small: 39x9"}},
    {"smallest", 40, 10, "", 0, {"h[0..11] ×12", "q quit"}},
    {"row by number", 80, 24, ":3<Enter>", -1, {">▾ │      transformer"}},
    {"q closes before it quits", 80, 24, "5q", 2, {"[1 Graph]"}},
    {"escape never quits", 80, 24, "<Esc>", 1, {"q quits"}},
};

static SessionHooks hooks;
static Scripts *scripts;
static Arena *shared;

static Session *open_gpt2(void)
{
    SessionOptions options = {.model = "samples/models/gpt2.onnx",
                              .mesh = "dp=2,tp=4",
                              .policy = "scripts/policies/megatron.lua"};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

/* A typed word with its Enter counts as two, the ':' before it is a part of it. */
static int count_keys(const char *keys)
{
    Str script = str_from(keys);
    bool typing = false;
    int n = 0;
    for (Key key, last = 0; key_script_next(&script, &key); last = key) {
        if (!typing && key != ':')
            n++;
        if (typing && key == K_ENTER)
            n += 2;
        if (key == K_ENTER || key == K_ESC)
            typing = false;
        else if (key == '/' || key == ':' || (key == 'f' && last != 'g'))
            typing = true;
    }
    return n;
}

static const char *screen_after(Arena *arena, Session *session, int w, int h, const char *keys)
{
    AppOptions options = {.width = w};
    App *app = app_new(session, &options, NULL, w, h);
    Buf text = buf_new(arena);
    app_type(app, str_from(keys));
    grid_format(app_draw(app), &text);
    app_free(app);
    return text.s;
}

static void screen_has(void **state)
{
    const ScreenRow *row = *state;
    Arena *arena = arena_new();
    Session *session = open_gpt2();
    const char *text = screen_after(arena, session, row->w, row->h, row->keys);
    for (int i = 0; i < FACTS_MAX && row->facts[i]; i++)
        if (!strstr(text, row->facts[i]))
            fail_msg("'%s' is not on the screen:\n%s", row->facts[i], text);
    if (row->n_keys >= 0)
        assert_in_range(count_keys(row->keys), 0, row->n_keys);
    session_close(session);
    arena_free(arena);
}

/* ---- every screen, at every size, in ASCII and not ---- */

static const char *const walks[] = {"",
                                    "2",
                                    "3",
                                    "4",
                                    "5",
                                    "w",
                                    "Wt",
                                    "gf",
                                    "?",
                                    "x",
                                    "zR",
                                    ":",
                                    "/",
                                    "fnorm<Enter>",
                                    "Z",
                                    "6",
                                    "df",
                                    "5x",
                                    "5:links<Enter>",
                                    "pt:journal<Enter>"};
static const int sizes[][2] = {{40, 10}, {60, 20}, {80, 24}, {131, 31}, {160, 50}, {300, 90}};

/* Screens stay in their lines, and ASCII ones are ASCII of the same columns. */
static void every_screen_fits_its_size(void **state)
{
    (void)state;
    Session *session = open_gpt2();
    for (size_t walk = 0; walk < COUNT_OF(walks); walk++) {
        for (size_t size = 0; size < COUNT_OF(sizes); size++) {
            Arena *arena = arena_new();
            int w = sizes[size][0], h = sizes[size][1], lines = 0;
            const char *keys = arena_printf(arena, "~%s", walks[walk]);
            const char *text = screen_after(arena, session, w, h, keys);
            for (const char *s = text; *s; lines++) {
                size_t n = strcspn(s, "\n");
                assert_true((int)n <= w);
                for (size_t i = 0; i < n; i++)
                    assert_true(s[i] >= 0x20 && s[i] < 0x7f);
                s += n + 1;
            }
            assert_int_equal(lines, h);
            arena_free(arena);
        }
    }
    session_close(session);
}

static void the_cursor_is_on_the_selected_row(void **state)
{
    (void)state;
    Session *session = open_gpt2();
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 80, 24);
    static const char *const views_with_rows[] = {"1jj", "2j", "3j", "5j", "w", "gfj", "?jj"};
    for (size_t i = 0; i < COUNT_OF(views_with_rows); i++) {
        app_type(app, str_from(views_with_rows[i]));
        const Grid *grid = app_draw(app);
        const Cell *row = grid->cells + grid->cursor_y * grid->w;
        assert_int_equal(row[0].rune, '>');
        assert_true(row[0].style & STYLE_SELECTED);
    }
    app_free(app);
    session_close(session);
}

/* ---- changes ---- */

static void pins_are_written_as_a_policy(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_gpt2();
    char folder[] = "/tmp/dimscope-screens-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *path = arena_printf(arena, "%s/kept.lua", folder);
    const char *keys =
        arena_printf(arena, ":tensor lm_head.weight.1<Enter>pt:write %s<Enter>", path);
    const char *text = screen_after(arena, session, 200, 24, keys);
    assert_non_null(strstr(text, "1 line to"));
    Source source;
    assert_true(file_read(arena, path, 1 << 16, &source, NULL));
    assert_true(str_find(source.text, STR("graph:shard(\"lm_head.weight\", {[1] = {\"tp\"}})")) >
                0);

    /* Another file is not written over; this one may be. */
    const char *other = arena_printf(arena, "%s/mine.lua", folder);
    assert_true(file_write(other, STR("-- mine\n"), NULL));
    keys = arena_printf(arena, ":write %s<Enter>", other);
    assert_non_null(strstr(screen_after(arena, session, 200, 24, keys), "stays as it is"));
    keys = arena_printf(arena, ":write %s<Enter>", path);
    assert_non_null(strstr(screen_after(arena, session, 200, 24, keys), "1 line to"));
    unlink(other);
    unlink(path);
    rmdir(folder);
    session_close(session);
    arena_free(arena);
}

/* What the view shows is in each file; the files are whole, and nothing else changed. */
static void a_view_is_exported_in_every_format(void **state)
{
    static const struct {
        const char *keys, *ending, *has;
    } files[] = {
        {"", "svg", "input_ids"},     {"", "html", "input_ids"}, {"", "txt", "lm_head"},
        {"", "ansi", "lm_head"},      {"?", "txt", ":quit"},     {"w", "csv", "\ntext"},
        {"w", "json", "\"rows\":[{"}, {"w", "md", "| --- |\n"},  {"zR", "txt", "c_proj"},
        {"4", "svg", "<svg"},         {"2", "html", "INDEX"},    {"w", "csv", "cut by dp"},
    };
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_gpt2();
    char folder[] = "/tmp/dimscope-export-XXXXXX";
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const char *path = arena_printf(arena, "%s/view.%s", folder, files[i].ending);
        const char *keys = arena_printf(arena, "%s:export %s<Enter>", files[i].keys, path);
        const char *before = screen_after(arena, session, 100, 24, files[i].keys);
        const char *after = screen_after(arena, session, 100, 24, keys);
        Source source;
        assert_non_null(strstr(after, "written"));
        assert_true(file_read(arena, path, 1 << 22, &source, NULL));
        const char *text = arena_printf(arena, "\n%s", source.text.s);
        if (!strstr(text, files[i].has))
            fail_msg("'%s' is not in %s:\n%s", files[i].has, files[i].ending, text);
        assert_memory_equal(before, after, strlen(before) / 2);
        unlink(path);
    }
    rmdir(folder);
    session_close(session);
    arena_free(arena);
}

/* What the mouse points to, at 160x50 unless it says otherwise; times in milliseconds. */
static void the_mouse_does_what_it_points_to(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_gpt2();
    App *app = app_new(session, &(AppOptions){0}, NULL, 160, 50);
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, 5, 8, 1000); /* a row of the graph */
    int64_t row = app->ui.row_at;
    assert_int_equal(row, app->ui.top[SHOW_GRAPH] + 8 - app->layout.pane[0].area.y - 1);
    app_draw(app);
    mouse_event(app, MOUSE_WHEEL_DOWN, 5, 8, 2000);
    assert_int_equal(app->ui.row_at, row + 3);
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, 120, 10, 3000); /* the pane of the op gets the focus */
    assert_int_equal(app->ui.at.show, SHOW_OP);
    app_draw(app);
    mouse_event(app, MOUSE_WHEEL_UP, 5, 8, 4000); /* the wheel is the pane's under it */
    assert_int_equal(app->ui.row_at, row);
    int w = app->layout.pane[0].frame.w;
    mouse_event(app, MOUSE_PRESS, w, 20, 5000); /* the border between them */
    mouse_event(app, MOUSE_DRAG, w - 20, 20, 5100);
    mouse_event(app, MOUSE_RELEASE, w - 20, 20, 5200);
    mouse_event(app, MOUSE_DRAG, w, 20, 5300); /* let go: nothing moves */
    app_draw(app);
    assert_in_range(app->layout.pane[0].frame.w, w - 22, w - 18);
    app_type(app, STR("Y"));
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, app->ui.menu.items.x + 3, app->ui.menu.items.y + 1, 6000);
    assert_false(app->ui.menu.open);
    assert_non_null(app->ui.copy_next);
    app->ui.copy_next = NULL;
    app_type(app, STR("Y"));
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, 159, 0, 7000); /* beside the menu: it closes */
    assert_false(app->ui.menu.open);
    app_type(app, STR("1"));
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, 5, 8, 8000);
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, 5, 8, 8100); /* twice: Enter */
    assert_int_equal(app->ui.at.show, SHOW_OP);
    app_free(app);
    session_close(session);
    arena_free(arena);
}

/* Decisions of every kind, written and run as a policy: the plan is the same. */
static void what_is_written_decides_the_same(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char folder[] = "/tmp/dimscope-screens-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *path = arena_printf(arena, "%s/kept.lua", folder);
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=2"};
    Session *made = session_open(&options, &hooks, &(Error){0});
    assert_non_null(made);
    const char *keys = arena_printf(
        arena,
        ":tensor input_ids.0<Enter>:pin dp<Enter>:tensor lm_head.weight.1<Enter>:pin dp.tp<Enter>"
        ":pin tp<Enter>/h.0.mlp.c_fc/Gemm<Enter>:assign n=tp<Enter>:assign k=whole<Enter>"
        ":op<Enter>P"
        ":tensor transformer.h.0.mlp.c_proj.weight.0<Enter>:pin tp<Enter>:unpin<Enter>"
        ":tensor transformer.h.1.mlp.c_fc.weight<Enter>:decide replicated tp<Enter>"
        ":decide barrier forward<Enter>:tensor transformer.h.1.mlp.c_fc.bias<Enter>"
        ":decide tie both<Enter>:decide unreduced dp<Enter>:undecide<Enter>5x1"
        ":write %s<Enter>",
        path);
    screen_after(arena, made, 120, 40, keys);
    assert_true(made->journal.n_done > 8);
    options.policy = path;
    Error err = {0};
    Session *run = session_open(&options, &hooks, &err);
    if (!run)
        fail_msg("%s:%d: %s", err.file, err.line, err.text);
    assert_memory_equal(&run->plan->totals, &made->plan->totals, sizeof run->plan->totals);
    assert_int_equal(run->plan->n_pins, made->plan->n_pins);
    assert_int_equal(run->plan->n_marks, made->plan->n_marks);
    session_close(run);
    session_close(made);
    unlink(path);
    rmdir(folder);
    arena_free(arena);
}

/* A line of the policy that the user has changed: at the end of its PAS the new one holds. */
static void an_edit_of_a_policy_goes_behind_it(void **state)
{
    (void)state;
    static const char shard[] =
        "graph:shard('*.mlp.c_fc.weight', {n = 'tp'}) graph:shard('input_ids', {[0] = 'dp'})";
    Arena *arena = arena_new();
    char folder[] = "/tmp/dimscope-screens-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *path = arena_printf(arena, "%s/kept.lua", folder);
    const char *policy = arena_printf(arena, "%s/mine.lua", folder);
    const char *text = arena_printf(arena, "function PAS(graph)\n%s\nreturn graph\nend\n", shard);
    assert_true(file_write(policy, str_from(text), NULL));
    SessionOptions options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=2", .policy = policy};
    Session *made = session_open(&options, &hooks, &(Error){0});
    assert_non_null(made);
    const char *keys = arena_printf(arena,
                                    ":tensor transformer.h.0.mlp.c_fc.weight.1<Enter>:pin whole"
                                    "<Enter>:pin dp<Enter>:write %s<Enter>",
                                    path);
    screen_after(arena, made, 120, 40, keys);
    Source source;
    assert_true(file_read(arena, path, 1 << 16, &source, NULL));
    int64_t from = str_find(source.text, STR("local g"));
    int64_t to = str_find(source.text, STR("    return graph"));
    assert_true(from > 0 && to > from);
    assert_true(str_find(source.text, STR("unpin(")) > 0);
    assert_true(str_find(source.text, STR("= {}")) < 0); /* it was replaced */
    text = arena_printf(arena, "function PAS(graph)\n%s\n%.*s\nreturn graph\nend\n", shard,
                        (int)(to - from), source.text.s + from);
    assert_true(file_write(policy, str_from(text), NULL));
    Error err = {0};
    Session *run = session_open(&options, &hooks, &err);
    if (!run)
        fail_msg("%s:%d: %s", err.file, err.line, err.text);
    assert_memory_equal(&run->plan->totals, &made->plan->totals, sizeof run->plan->totals);
    session_close(run);
    session_close(made);
    unlink(path);
    unlink(policy);
    rmdir(folder);
    arena_free(arena);
}

static void the_cursor_stays_on_its_op_through_a_new_plan(void **state)
{
    (void)state;
    Session *session = open_gpt2();
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 80, 24);
    app_type(app, STR("/h.0.mlp.c_fc/Gemm<Enter>"));
    int32_t op = app->ui.at.op;
    app_type(app, STR(":mesh tp=2,dp=2<Enter>"));
    assert_int_equal(app->ui.at.row.id, op);
    app_type(app, STR("ptu"));
    assert_int_equal(app->ui.at.row.id, op);
    app_free(app);
    session_close(session);
}

static void write_policy(const char *path, const char *body)
{
    Arena *arena = arena_new();
    Buf text = buf_new(arena);
    buf_printf(&text, "function PAS(graph, resource)\n%s\nreturn graph\nend\n", body);
    assert_true(file_write(path, buf_str(&text), NULL));
    arena_free(arena);
}

static void screen_says(App *app, const char *const *facts)
{
    Arena *arena = arena_new();
    Buf text = buf_new(arena);
    grid_format(app_draw(app), &text);
    for (; *facts; facts++)
        if (!strstr(text.s, *facts))
            fail_msg("'%s' is not on the screen:\n%s", *facts, text.s);
    arena_free(arena);
}

/* Edited in another window, run again: the same place, what a line did, where one fails. */
static void a_policy_is_edited_and_run_again(void **state)
{
    (void)state;
    char path[] = "/tmp/dimscope-policy-XXXXXX.lua";
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    write_policy(path, "  graph:shard('lm_head.weight', {[1] = 'tp'})");
    SessionOptions session_options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = "tp=2", .policy = path};
    Error err = {0};
    Session *session = session_open(&session_options, &hooks, &err);
    assert_non_null(session);
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 80, 24);
    app_type(app, STR("8"));
    screen_says(app, (const char *const[]){"1 decision of 1 line hold", ">     2     1", NULL});

    /* A pattern that matches nothing is marked, with the nearest name. */
    write_policy(path, "  graph:shard('lm_hed.weight', {[1] = 'tp'})");
    app_type(app, STR("r"));
    screen_says(app, (const char *const[]){"1 did nothing !", ">!    2     0",
                                           "matches no tensor; nearest: 'lm_head.weight'", NULL});

    /* A call that is refused: its place, what was legal, and the plan before it. */
    write_policy(path, "  graph:pin('lm_head.weight', {[2] = 'tp'})");
    app_type(app, STR("r"));
    screen_says(app, (const char *const[]){":2:3: 'lm_head.weight' has 2 dims, no dim 2",
                                           "dims count from 0", "e edits, r runs it again",
                                           ">!    2", NULL});
    Str place;
    int line = 0;
    assert_true(policy_place(&app->ui, &place, &line));
    assert_int_equal(line, 2);
    assert_true(str_eq(place, str_from(path)));

    write_policy(path, "  graph:pin('lm_head.weight', {[1] = 'tp'})");
    app_type(app, STR("r"));
    screen_says(app, (const char *const[]){"1 decision of 1 line hold", "policy run: step", NULL});
    assert_false(error_is_set(&app->ui.policy_failed));
    app_free(app);
    session_close(session);
    unlink(path);
}

static Session *open_tiny(void)
{
    SessionOptions options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=2", .policy = "megatron"};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static void a_run_says_whether_it_computes_the_same(void **state)
{
    (void)state;
    Session *session = open_tiny();
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 80, 24);
    assert_in_range(count_keys("9:run<Enter>"), 0, 3);
    app_type(app, STR("9:run<Enter>"));
    screen_says(app, (const char *const[]){
                         "PASS: largest error of an output ", "; 96 values equal on every rank",
                         "3 passes timed, seed 0", ", measured ", "OP, the farthest off first",
                         "CHANGE", " d0 ", "the same ops from", NULL});
    app_type(app, STR("19"));
    screen_says(app, (const char *const[]){"PASS", "OP, the farthest off first", NULL});
    app_resize(app, 160, 50);
    screen_says(app, (const char *const[]){"DEVICE    COMPUTE", "KIND", NULL});
    app_type(app, STR(":run fast repeat 1 seed 7<Enter>"));
    screen_says(app, (const char *const[]){"not checked", "1 pass timed, seed 7", NULL});
    app_type(app, STR(":run slowly<Enter>"));
    screen_says(app, (const char *const[]){":run does not know 'slowly'", NULL});
    app_type(app, STR("1pt9"));
    screen_says(app, (const char *const[]){"not run since the plan changed", NULL});
    app_free(app);
    session_close(session);
}

static void a_run_names_the_first_value_that_differs(void **state)
{
    (void)state;
    Session *session = open_tiny();
    Plan *plan = session->plan;
    int32_t summed = -1;
    for (int r = 0; r < plan->n_reshards && summed < 0; r++)
        if (sharding_partials(shardings_at(plan->shardings, plan->reshards[r].from)))
            summed = plan->reshards[r].tensor;
    assert_true(summed >= 0);
    Sharding whole = sharding_without_partial(plan_sharding(plan, summed));
    plan->made[summed] = plan->sharding[summed] = shardings_put(plan->shardings, &whole);
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 120, 30);
    app_type(app, STR("9:run<Enter>"));
    screen_says(app, (const char *const[]){"FAIL: the first value that differs is ", "made by ",
                                           "element [", " on one device; the largest is ", NULL});
    app_free(app);
    session_close(session);
}

static void a_failing_policy_leaves_the_last_plan(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char path[] = "/tmp/dimscope-policy-XXXXXX.lua";
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    assert_true(file_write(path, STR("function PAS(graph, resource) return graph end\n"), NULL));
    SessionOptions session_options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = "tp=2", .policy = path};
    Error err = {0};
    Session *session = session_open(&session_options, &hooks, &err);
    assert_non_null(session);
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 120, 24);
    app_draw(app);
    assert_true(file_write(path, STR("function PAS(graph, resource)\n  oops()\nend\n"), NULL));
    app_type(app, STR("r"));
    Buf text = buf_new(arena);
    grid_format(app_draw(app), &text);
    assert_non_null(strstr(text.s, ":2:"));
    assert_non_null(strstr(text.s, "oops"));
    assert_non_null(strstr(text.s, "legal"));
    app_free(app);
    session_close(session);
    unlink(path);
    arena_free(arena);
}

static Session *open_for_app(void *context, Progress *progress, Error *err)
{
    (void)context, (void)progress, (void)err;
    return open_gpt2();
}

static void a_script_without_a_terminal_writes_its_screen(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char path[] = "/tmp/dimscope-screen-XXXXXX";
    close(mkstemp(path));
    AppOptions options = {.width = 80, .height = 24, .script = "5", .screen = path};
    AppOpener opener = {.open = open_for_app, .model = "gpt2.onnx"};
    Error err = {0};
    Source source;
    assert_true(app_run(&opener, &options, &err));
    assert_true(file_read(arena, path, 1 << 16, &source, &err));
    assert_true(str_find(source.text, STR("[5 Comm]")) > 0);
    options.screen = "/nowhere/at/all";
    assert_false(app_run(&opener, &options, &err));
    assert_true(error_is_set(&err));
    unlink(path);
    arena_free(arena);
}

/* Keys and sizes at random: nothing breaks, and the way out always works. */
static void type_at_random(Session *session, int n_words)
{
    static const char *const words[] = {
        "j",   "k",      "l",      "h",           "<Enter>",    "gg",        "G",     "zR",
        "zM",  "z2",     "za",     "gd",          "gu",         "gr",        "1",     "2",
        "3",   "4",      "5",      "w",           "W",          "t",         "d",     "p",
        "P",   "x",      "u",      "f",           "is:reshard", "F",         " ",     "T",
        "S",   "m",      "'",      "%",           "?",          "q",         "<Esc>", "H",
        "L",   "/",      "c_fc",   "n",           "N",          "<Tab>",     "zz",    ":",
        "why", "rank 3", "]t",     "[t",          "]r",         "<Lt>",      ">",     "<Backspace>",
        "~",   "120",    "pin tp", "undo",        "<C-d>",      "mesh tp=2", "open",  "6",
        "7",   "c",      "=",      "diff before", "diff tp",
        "s", "assign n=tp", "decide replicated dp",
        "undecide", "journal", "links",
    };
    uint32_t random = 1;
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 80, 24);
    for (int i = 0; i < n_words; i++) {
        random = random * 1664525 + 1013904223;
        if (i % 50 == 0)
            app_resize(app, 1 + (int)(random >> 20) % 200, 1 + (int)(random >> 8) % 60);
        app_type(app, str_from(words[(random >> 10) % COUNT_OF(words)]));
        app->quit = false;
    }
    app_resize(app, 80, 24);
    app_type(app, STR("<Esc><Esc><Esc>Q"));
    assert_true(app->quit);
    app_free(app);
    session_close(session);
}

static void random_keys_do_no_harm(void **state)
{
    (void)state;
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx",
                              .mesh = "dp=2,tp=2",
                              .policy = "scripts/policies/megatron.lua"};
    Session *session = session_open(&options, &hooks, &(Error){0});
    assert_non_null(session);
    type_at_random(session, 1500);
}

/* No op in the program; an op without a rule, whose value has no shape; without operands. */
static void random_keys_do_no_harm_to_odd_models(void **state)
{
    (void)state;
    static const char *const models[] = {"y <- Shape f32[4]", "y <- Foo f32[4]; z <- Tanh y",
                                         "y <- RandomNormal shape=[4]; - <- Tanh y; z <- Tanh y",
                                         "y <- Tanh f32[]; z <- Tanh f32[0,4]"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        Arena *arena = arena_new();
        SessionOptions options = {.mesh = "dp=2,tp=2"};
        Session *session = session_open_graph(graph_from_text(arena, models[i], 17), &options,
                                              &hooks, &(Error){0});
        assert_non_null(session);
        type_at_random(session, 500);
        arena_free(arena);
    }
}

static int open_scripts(void **state)
{
    (void)state;
    shared = arena_new();
    scripts = scripts_new(shared, ".");
    hooks = scripts_hooks(scripts);
    return 0;
}

static int close_scripts(void **state)
{
    (void)state;
    scripts_free(scripts);
    arena_free(shared);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_screen_fits_its_size),
        cmocka_unit_test(the_cursor_is_on_the_selected_row),
        cmocka_unit_test(pins_are_written_as_a_policy),
        cmocka_unit_test(what_is_written_decides_the_same),
        cmocka_unit_test(an_edit_of_a_policy_goes_behind_it),
        cmocka_unit_test(a_view_is_exported_in_every_format),
        cmocka_unit_test(the_mouse_does_what_it_points_to),
        cmocka_unit_test(the_cursor_stays_on_its_op_through_a_new_plan),
        cmocka_unit_test(a_policy_is_edited_and_run_again),
        cmocka_unit_test(a_run_says_whether_it_computes_the_same),
        cmocka_unit_test(a_run_names_the_first_value_that_differs),
        cmocka_unit_test(a_failing_policy_leaves_the_last_plan),
        cmocka_unit_test(a_script_without_a_terminal_writes_its_screen),
        cmocka_unit_test(random_keys_do_no_harm),
        cmocka_unit_test(random_keys_do_no_harm_to_odd_models),
    };
    open_scripts(NULL);
    int failed = run_rows("screens", rows, screen_has);
    close_scripts(NULL);
    return failed + cmocka_run_group_tests_name("explorer", tests, open_scripts, close_scripts);
}
