"""part_html.py BROWSER FOLDER NAME...: FOLDER/NAME.html as a real browser shows them."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser

failed = 0


def told(ok, what, why=""):
    global failed
    failed += not ok
    print("ok " + what if ok else "not ok %s: %s" % (what, str(why)[:400]))


# Texts whose contrast with what is behind them is below 4.5 (3 where they are large).
FAINT = """(() => {
  const rgb = s => (s.match(/[\\d.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = c.map(v => { v /= 255;
      return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c.slice(0, 3); }
    return [255, 255, 255]; };
  const bad = new Set();
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('svg') || e.closest('script') || !e.offsetParent) continue;
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const style = getComputedStyle(e), a = light(rgb(style.color).slice(0, 3)),
          b = light(behind(e)), size = parseFloat(style.fontSize);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < (size >= 18.66 && style.fontWeight >= 600 ? 3 : 4.5))
      bad.add(e.tagName + '.' + e.className + ' ' + ratio.toFixed(2));
  }
  return [...bad].join(', ');
})()"""

# What sticks out of the page to the right and does not scroll in a box of its own.
WIDE = """(() => {
  const out = [];
  for (const e of document.querySelectorAll('main *'))
    if (e.getBoundingClientRect().right > innerWidth + 1 &&
        !e.closest('.wide, .drawing, pre, caption'))
      out.push(e.tagName + '.' + e.className);
  return document.documentElement.scrollWidth > innerWidth ? 'it scrolls; ' + out : out.join(' ');
})()"""

# Tables that scroll in their box, with the columns that are chosen.
SCROLLS = """(() => {
  const out = [];
  for (const e of document.querySelectorAll('details'))
    e.open = true;
  for (const e of document.querySelectorAll('main table')) {
    const box = e.closest('.wide') || e.parentElement;
    if (e.offsetParent && box.scrollWidth > box.clientWidth)
      out.push(e.id + ' by ' + (box.scrollWidth - box.clientWidth));
  }
  return out.join(', ');
})()"""

COLUMN = """(n => [...document.querySelectorAll('#ops-table tbody tr')].map(r => r.cells[n]).map(
    c => c.dataset.n === undefined ? c.textContent : +c.dataset.n))(%d)"""


def looks(browser, path, name):
    for scheme in ("light", "dark"):
        browser.size(1280, 900)
        browser.scheme(scheme)
        browser.open(path)
        told(not browser.complaints(), "%s, %s: the console is silent" % (name, scheme),
             browser.complaints())
        faint = browser.run(FAINT)
        told(faint == "", "%s, %s: every text stands out" % (name, scheme), faint)
    dark = browser.run("getComputedStyle(document.body).backgroundColor")
    told(dark != "rgb(255, 255, 255)", name + ": dark where the screen is", dark)
    browser.size(390, 844, phone=True)
    browser.open(path)
    wide = browser.run(WIDE)
    told(wide == "", name + ": a phone is wide enough", wide)
    for width in (800, 1006, 1280):
        browser.size(width, 900)
        browser.open(path)
        scrolls = browser.run(SCROLLS)
        told(scrolls == "", "%s: %d px are enough for its tables" % (name, width), scrolls)
    browser.size(1280, 900)
    browser.scheme("light")


def sorts(browser, name):
    click = "document.querySelectorAll('#ops-table thead button')[%d].click()"
    was = browser.run(COLUMN % 0)
    browser.run(click % 7)
    times = browser.run(COLUMN % 7)
    told(times == sorted(times, reverse=True) and len(times) == len(was),
         name + ": a head sorts its numbers", times[:20])
    told(browser.run("document.querySelectorAll('#ops-table thead th')[7]"
                     ".getAttribute('aria-sort')") == "descending", name + ": and says so")
    browser.run(click % 0)
    names = [n.strip().lower() for n in browser.run(COLUMN % 0)]
    told(names == sorted(names), name + ": and its texts", names[:20])
    browser.run(click % 0)
    browser.run(click % 0)
    told(browser.run(COLUMN % 0) == was, name + ": the third time it is as it was")


def finds(browser, name, word):
    rows = browser.run("(w => { const box = document.getElementById('find'); box.value = w;"
                       "box.dispatchEvent(new Event('input'));"
                       "return [...document.querySelectorAll('main tbody tr')].map("
                       "r => [r.textContent.toLowerCase().includes(w), r.offsetHeight > 0]) })"
                       "(%r)" % word)
    told(all(has == seen for has, seen in rows) and any(has for has, _ in rows),
         name + ": the box lists rows with " + word)
    browser.run("(() => { const box = document.getElementById('find'); box.value = '';"
                "box.dispatchEvent(new Event('input')); })()")


def links(browser, name):
    answer = browser.run("""(async () => {
      const bad = [];
      const all = [...document.querySelectorAll('.drawing a')].filter(
          a => (a.getAttribute('href') || a.getAttribute('xlink:href')));
      for (const a of all) {
        a.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}));
        await new Promise(done => setTimeout(done, 30));
        const lit = document.querySelectorAll('tr.lit');
        const box = lit.length === 1 ? lit[0].getBoundingClientRect() : null;
        if (!box || box.bottom < 0 || box.top > innerHeight)
          bad.push(a.getAttribute('href') || a.getAttribute('xlink:href'));
      }
      return [all.length, bad.join(' ')];
    })()""")
    told(answer[0] > 0 and answer[1] == "", name + ": boxes of drawings lead to rows that are seen",
         answer)


# Fills and lines of drawings that stay as they are on white where the screen is dark.
PALE = """(() => {
  const bad = new Set(), same = (a, b) => { const s = document.createElement('i').style;
    s.color = a; document.body.style.outlineColor = a;
    return getComputedStyle(document.body).outlineColor === b; };
  for (const e of document.querySelectorAll('.drawing svg *'))
    for (const name of ['fill', 'stroke']) {
      const own = e.getAttribute(name);
      if (own && own !== 'none' && own !== 'transparent' && same(own, getComputedStyle(e)[name]))
        bad.add(name + ' ' + own); }
  return [...bad].join(', ');
})()"""

# Tables of which a part is not seen.
CUT = """[...document.querySelectorAll('.wide')].filter(w => w.scrollWidth > w.clientWidth + 1)
  .map(w => w.querySelector('table').id + ' ' + w.scrollWidth).join(', ')"""


def fits(browser, path, name):
    browser.size(1280, 900)
    browser.open(path)
    room = browser.run("document.querySelector('.wide').clientWidth")
    told(room == 1006, name + ": tables have 1006 px", room)
    cut = browser.run(CUT)
    told(cut == "", name + ": tables fit where there are 1006 px", cut)
    browser.size(1006, 900)
    cut = browser.run(CUT)
    told(cut == "", name + ": tables fit in a window of 1006 px", cut)
    browser.size(1280, 900)
    columns = "[...document.querySelectorAll('#ops-table thead th')].map(h => h.offsetWidth > 0)"
    told(False in browser.run(columns), name + ": some columns are left out")
    browser.run("document.getElementById('ops-table-all').click()")
    told(False not in browser.run(columns), name + ": all are there on demand")
    browser.size(2400, 900)
    browser.open(path)
    told(False not in browser.run(columns), name + ": and where there is room")
    browser.size(1280, 900)


def pictures(browser, path, name):
    """Pictures are moved, brought nearer and folded; dark where the screen is."""
    browser.scheme("dark")
    browser.open(path)
    pale = browser.run(PALE)
    told(pale == "", name + ": pictures are dark where the screen is", pale)
    browser.scheme("light")
    browser.open(path)
    view = "document.querySelector('#drawing-overview svg').getAttribute('viewBox').split(' ').map(Number)"
    press = "document.querySelectorAll('#drawing-overview .tools button')[%d].click()"
    was = browser.run(view)
    browser.run(press % 0)
    near = browser.run(view)
    told(near[2] < 0.8 * was[2] and near[3] < 0.8 * was[3], name + ": a picture is brought nearer", near)
    browser.run("scrollTo(0, document.querySelector('#drawing-overview').offsetTop)")
    place = browser.run("(r => [r.x + r.width / 2, r.y + Math.min(r.height, 300) / 2])"
                        "(document.querySelector('#drawing-overview svg').getBoundingClientRect())")
    for kind, x, y in ("mousePressed", 0, 0), ("mouseMoved", 30, 20), ("mouseMoved", 60, 40), ("mouseReleased", 60, 40):
        browser.send("Input.dispatchMouseEvent", type=kind, x=place[0] + x, y=place[1] + y, button="left",
                     buttons=0 if kind == "mouseReleased" else 1, clickCount=1)
    moved = browser.run(view)
    told(moved[0] < near[0] and moved[1] < near[1] and moved[2:] == near[2:], name + ": and moved", (near, moved))
    browser.run(press % 2)
    told(browser.run(view) == was, name + ": and whole again", browser.run(view))
    seen = "(q => [...document.querySelectorAll('#drawing-block ' + q)].filter(n => n.style.display !== 'none').length)"
    fold = "document.querySelectorAll('#drawing-block .cluster [role=button]')[%d].dispatchEvent(new MouseEvent('click'))"
    high = "document.querySelector('#drawing-block svg').getBoundingClientRect().height"
    texts = "[...document.querySelectorAll('#drawing-block .cluster [role=button]')].map(t => t.textContent)"
    at = [text.lstrip("\u25B8\u25BE ") for text in browser.run(texts)].index("mlp")
    before = [browser.run(seen + "('.node')"), browser.run(seen + "('.edge')"), browser.run(high)]
    browser.run(fold % at)
    after = [browser.run(seen + "('.node')"), browser.run(seen + "('.edge')"), browser.run(high)]
    told(all(a < b for a, b in zip(after, before)), name + ": a frame folds, and the picture is less high", (before, after))
    told(browser.run(texts)[at] == "\u25B8 mlp", name + ": and says so", browser.run(texts))
    browser.run(fold % at)
    again = [browser.run(seen + "('.node')"), browser.run(seen + "('.edge')"), browser.run(high)]
    told(again == before, name + ": and opens", (before, again))
    told(not browser.complaints(), name + ": the console is silent", browser.complaints())


def without_scripts(browser, path, name):
    browser.scripts(False)
    browser.open(path)
    said = browser.run("[document.querySelectorAll('main tbody tr').length,"
                       "document.querySelectorAll('button, input:not(.all)').length,"
                       "[...document.querySelectorAll('main tbody tr')].every("
                       "r => r.closest('details') || r.offsetHeight > 0)]")
    told(said[0] > 20 and said[1] == 0 and said[2], name + ": all rows are there without scripts",
         said)
    browser.scripts(True)


def on_paper(browser, path, name, folder):
    browser.open(path)
    pdf = browser.pdf()
    told(pdf[:5] == b"%PDF-" and b"%%EOF" in pdf[-32:], name + ": it prints", len(pdf))
    if not shutil.which("pdftotext"):
        return
    with open(folder + "/page.pdf", "wb") as f:
        f.write(pdf)
    text = subprocess.run(["pdftotext", folder + "/page.pdf", "-"], capture_output=True,
                          check=True).stdout.decode()
    told("nothing overlaps" in text and "Find rows" not in text,
         name + ": on paper what is folded is open, and there is no box to type in")


def drawing(browser, path):
    """A box under the pointer has the lines into it in one colour, those out of it in another."""
    box = "transformer.h.0.attn.c_attn-Gemm"
    strokes = "JSON.stringify([...document.querySelectorAll('.to-%s path, .from-%s path')]" \
        ".map(p => getComputedStyle(p).stroke))" % ((box.replace(".", "\\\\."),) * 2)
    browser.size(2000, 4000)
    browser.open(path)
    place = json.loads(browser.run(
        "(() => {const r = document.getElementById('%s').getBoundingClientRect();"
        "return JSON.stringify([r.x + r.width / 2, r.y + r.height / 2])})()" % box))
    before = set(json.loads(browser.run(strokes)))
    browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    after = set(json.loads(browser.run(strokes)))
    told(len(after) == 2 and not before & after, "a drawing shows what a box reads and gives",
         (before, after))
    title = browser.run("document.getElementById('%s').querySelector('title').textContent" % box)
    told(title != box, "a box is told of by its own text", title)
    told(not browser.complaints(), "nothing is wrong in a drawing", browser.complaints())


def main():
    program, folder = sys.argv[1:3]
    browser = Browser(program, folder + "/profile", seconds=300)
    try:
        browser.send("Network.enable")
        asked = set()
        for name in sys.argv[3:]:
            path = "%s/%s.html" % (folder, name)
            looks(browser, path, name)
            browser.open(path)
            asked |= {e["params"]["request"]["url"].split(":")[0] for e in browser.events
                      if e.get("method") == "Network.requestWillBeSent"}
            sorts(browser, name)
            links(browser, name)
            if name in ("gpt2", "stages"):
                fits(browser, path, name)
                pictures(browser, path, name)
            if name != "odd":
                finds(browser, name, "moe" if name == "experts" else "mlp")
                without_scripts(browser, path, name)
            on_paper(browser, path, name, folder)
        drawing(browser, folder + "/block.svg")
        told(asked <= {"file", "data", "about"}, "nothing is fetched from anywhere", asked)
    finally:
        browser.close()
    sys.exit(failed > 0)


main()
