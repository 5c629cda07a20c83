"""drawings.py - how readable drawings are at the width of a column and of a page: pages, smallest type,
share of empty tiles, labels that lines cross; every kind of a few plans. `python3 tests/exports/drawings.py`
prints the measures; with SHEET.html [PROGRAM] it writes a page of all pictures as wide as printed,
beside those of another build of the program."""
import html
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

COLUMN, PAGE, HEIGHT = 234, 486, 648  # points: a column, the width and the height of a page
TILE, ADVANCE = 18, 0.603  # points; the width of a character of the font in ems
DIMSCOPE = os.environ.get("DIMSCOPE", "./dimscope")
GPT2 = ["samples/models/gpt2.onnx", "-m", "dp=2,tp=4", "-p", "megatron"]
PLANS = {
    "gpt2": (GPT2, "transformer.h.0.attn.c_attn", "transformer.h.0.attn.c_attn.weight"),
    "llama step": (["samples/models/llama-3-8b.json", "-m", "pp=2,dp=2,tp=4", "-p", "hybrid3d", "--train"],
                   "model.layers.0.mlp.up_proj", "model.layers.0.mlp.up_proj.weight"),
    "mixtral step": (["samples/models/mixtral-8x7b.json", "-m", "dp=2,ep=4", "-p", "expert", "--train"],
                     "model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.q_proj.weight"),
    "resnet step": (["samples/models/resnet50.onnx", "-m", "dp=8", "-p", "fsdp", "--train"],
                    "/layer1/layer1.0/conv1/Conv", "fc.weight"),
}
KINDS = {"overview": None, "layer": None, "block": None, "neighbourhood": "op", "op": "op", "slices": "tensor",
         "device": None, "stage": None, "schedule": None, "memory": None, "step": None, "mesh": None, "torus": None,
         "comm": None, "reshard": None, "why": "tensor"}
LONG = "overview", "layer", "block", "device", "comm"  # more than one column, in one of the plans
EMPTY_MOST, WIDE_MOST, CROSSED_MOST = 0.45, 0.5, 0.1
HOLLOW_MOST = {"torus": 0.5}  # its rings have nothing in them


def numbers(text):
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", text or "")]


def tag(element):
    return element.tag.rsplit("}", 1)[-1]


def curve(points):
    """Points along a path of cubic curves."""
    out = points[:1]
    for i in range(0, len(points) - 3, 3):
        p = points[i:i + 4]
        for step in range(1, 13):
            t, s = step / 12, 1 - step / 12
            weights = s ** 3, 3 * s * s * t, 3 * s * t * t, t ** 3
            out.append(tuple(sum(w * q[c] for w, q in zip(weights, p)) for c in (0, 1)))
    return out


class Picture:
    """Texts and shapes of an SVG that dot wrote: rectangles (x0, y0, x1, y1), and curves."""

    def __init__(self, svg):
        root = xml.fromstring(svg)
        self.width, self.height = numbers(root.get("width"))[0], numbers(root.get("height"))[0]
        graph = next(e for e in root.iter() if e.get("class") == "graph")
        shift = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", graph.get("transform"))
        self.dx, self.dy = float(shift[1]), float(shift[2])
        self.texts, self.labels, self.boxes, self.lines = [], [], [], []
        for group in graph.iter():
            if tag(group) != "g" or group is graph:
                continue
            kind = (group.get("class") or "").split(" ")[0]
            alone = kind == "node" and not any(tag(e) in ("polygon", "ellipse") for e in group.iter())
            lines = [line for line in (self.line(e) for e in group.iter()) if line] if kind == "edge" else []
            self.lines += lines
            for e in group.iter():
                if tag(e) == "text" and kind in ("node", "edge", "cluster"):
                    rect = self.text(e)
                    self.texts.append((rect, float(e.get("font-size"))))
                    self.labels += [(rect, lines)] if kind == "edge" or alone else []
                elif tag(e) in ("polygon", "ellipse") and kind == "node" and e.get("fill") != "none":
                    self.boxes.append(self.shape(e))

    def text(self, e):
        size, n = float(e.get("font-size")), len("".join(e.itertext()))
        x, y, w = float(e.get("x")) + self.dx, float(e.get("y")) + self.dy, ADVANCE * float(e.get("font-size")) * n
        x -= {"middle": w / 2, "end": w}.get(e.get("text-anchor"), 0)
        return x, y - 0.75 * size, x + w, y + 0.2 * size

    def shape(self, e):
        if tag(e) == "ellipse":
            x, y, w, h = (float(e.get(name)) for name in ("cx", "cy", "rx", "ry"))
            return x - w + self.dx, y - h + self.dy, x + w + self.dx, y + h + self.dy
        at = numbers(e.get("points"))
        return (min(at[::2]) + self.dx, min(at[1::2]) + self.dy, max(at[::2]) + self.dx, max(at[1::2]) + self.dy)

    def line(self, e):
        if tag(e) != "path" or e.get("stroke") in ("none", "transparent"):
            return None
        at = numbers(e.get("d"))
        return curve([(x + self.dx, y + self.dy) for x, y in zip(at[::2], at[1::2])])

    def smallest(self):
        return min(size for _, size in self.texts)

    def empty(self):
        """The share of tiles in which nothing is drawn."""
        columns, rows = max(1, math.ceil(self.width / TILE)), max(1, math.ceil(self.height / TILE))
        used = set()
        for x0, y0, x1, y1 in self.boxes + [rect for rect, _ in self.texts]:
            for i in range(max(0, int(x0 // TILE)), min(columns, int(x1 // TILE) + 1)):
                used |= {(i, j) for j in range(max(0, int(y0 // TILE)), min(rows, int(y1 // TILE) + 1))}
        for line in self.lines:
            used |= {(int(x // TILE), int(y // TILE)) for x, y in line}
        return 1 - len([1 for i, j in used if 0 <= i < columns and 0 <= j < rows]) / (columns * rows)

    def crossed(self):
        """The labels of lines that another line goes through, and how many labels there are."""
        def hit(rect, line):
            x0, y0, x1, y1 = rect
            return any(x0 + 1 < x < x1 - 1 and y0 + 1 < y < y1 - 1 for x, y in line)
        n = sum(any(hit(rect, line) for line in self.lines if line not in own) for rect, own in self.labels)
        return n, len(self.labels)


def drawn(call):
    """The pages that the program writes, and how it ended; one that knows no --width writes without."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*call, "-o", f"{folder}/p.svg"], capture_output=True)
        if b"--width" in done.stderr and done.returncode:
            return drawn([word for word in call if not word.startswith("--width=")])
        files = sorted(os.listdir(folder), key=lambda name: (len(name), name))
        return [pathlib.Path(folder, name).read_text() for name in files], done


def pictures():
    """Each kind of each plan: its name, the width it is for, its pages; how it ended, with the reason
    where the plan has none."""
    for plan, (args, op, tensor) in PLANS.items():
        for kind, of in KINDS.items():
            for width in (COLUMN, PAGE) if kind in LONG else (COLUMN,):
                call = [DIMSCOPE, "export", *args, f"--width={width}pt", "--kind", kind]
                pages, done = drawn(call + ([op] if of == "op" else [tensor] if of else []))
                yield f"{plan}, {kind}" + (", a page" if width == PAGE else ""), width, pages, done


def measure(check):
    for name, width, pages, done in pictures():
        if not pages:
            check(f"{name}: refused in words", done.returncode == 2 and b"error:" in done.stderr, done.stderr)
            continue
        check(f"{name}: says how many pages", (b"pages of at most" in done.stderr) == (len(pages) > 1), done.stderr)
        read = [Picture(page) for page in pages]
        check(f"{name}: fits the width", all(p.width <= width + 3 for p in read), [p.width for p in read])
        check(f"{name}: fits the height", all(p.height <= HEIGHT + 36 for p in read), [p.height for p in read])
        check(f"{name}: type of 7 pt or more", min(p.smallest() for p in read) >= 7)
        most = HOLLOW_MOST.get(name.split(", ")[1], EMPTY_MOST if width == COLUMN else WIDE_MOST)
        area = sum(p.width * p.height for p in read)
        empty = sum(p.empty() * p.width * p.height for p in read) / area
        check(f"{name}: at most {most:.0%} is empty", empty <= most, empty)
        crossed, labels = (sum(n) for n in zip(*(p.crossed() for p in read)))
        check(f"{name}: lines do not cross labels", crossed <= CROSSED_MOST * labels + 1, (crossed, labels))


def sheet(path, programs):
    """A page with every picture in its own size, side by side for each program: before and after."""
    global DIMSCOPE
    rows = {}
    for DIMSCOPE in programs:
        for name, width, pages, done in pictures():
            svgs = [f'<span style="--w:{width + 2}pt">{svg[svg.index("<svg"):]}</span>' for svg in pages] or [f"<pre>{html.escape(done.stderr.decode())}</pre>"]
            rows.setdefault(name, []).append(" ".join(svgs))
    with open(path, "w") as out:
        out.write("<!DOCTYPE html><meta charset=utf-8><title>every kind in a column</title><style>body{font:12px sans-serif}"
                  "td{vertical-align:top;padding:6px;border:1px solid #ccc}td div{max-height:9.5in;overflow:auto}svg{max-width:var(--w);height:auto}</style><table>")
        for name, svgs in rows.items():
            out.write(f"<tr><td>{name}</td>" + "".join(f"<td><div>{svg}</div></td>" for svg in svgs) + "</tr>\n")
        out.write("</table>\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:  # SHEET.html [PROGRAM-BEFORE]
        sys.exit(sheet(sys.argv[1], [*sys.argv[2:], DIMSCOPE]))
    for name, _, pages, _ in pictures():
        for number, picture in enumerate(map(Picture, pages), 1):
            crossed, labels = picture.crossed()
            print(f"{name:28} {number:2} of {len(pages)} {picture.width / 72:5.2f} in wide {picture.height / 72:6.2f} high  "
                  f"{picture.smallest():.1f} pt  {picture.empty():4.0%} empty  {crossed} of {labels} labels crossed")
    sys.exit()
