"""part_html.py BROWSER FOLDER NAME...: FOLDER/NAME.html as a real browser shows them."""
import json
import os
import re
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


def without_scripts(browser, path, name):
    browser.scripts(False)
    browser.open(path)
    said = browser.run("[document.querySelectorAll('main tbody tr').length,"
                       "document.querySelectorAll('button, input').length,"
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
    strokes = "JSON.stringify([...document.querySelectorAll('.to-n%d path, .from-n%d path')]" \
        ".map(p => getComputedStyle(p).stroke))"
    browser.size(2000, 4000)
    browser.open(path)
    box = next(i for i in range(100) if len(json.loads(browser.run(strokes % (i, i)))) > 1)
    place = json.loads(browser.run(
        "(() => {const r = document.querySelector('#n%d').getBoundingClientRect();"
        "return JSON.stringify([r.x + r.width / 2, r.y + r.height / 2])})()" % box))
    before = set(json.loads(browser.run(strokes % (box, box))))
    browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    after = set(json.loads(browser.run(strokes % (box, box))))
    told(len(after) == 2 and not before & after, "a drawing shows what a box reads and gives",
         (before, after))
    title = browser.run("document.querySelector('#n%d title').textContent" % box)
    told(not re.fullmatch(r"n\d+", title), "a box is told of by its own text", title)
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
            if name != "odd":
                finds(browser, name, "mlp")
                without_scripts(browser, path, name)
            on_paper(browser, path, name, folder)
        drawing(browser, folder + "/block.svg")
        told(asked <= {"file", "data", "about"}, "nothing is fetched from anywhere", asked)
    finally:
        browser.close()
    sys.exit(failed > 0)


main()
