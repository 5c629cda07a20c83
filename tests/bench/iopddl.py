#!/usr/bin/env python3
"""iopddl.py - `dimscope solve` on the problems of the IOPDDL contest, beside the winner and toulbar2.

    iopddl.py FOLDER [SHARE]

FOLDER has the contest's files (github.com/google/iopddl, benchmarks/), gzipped or not; those that are
not there are left out. Each is solved within the contest's limit, on one core where the contest had
eight, or within SHARE of that. Answers are checked here: choices, limits, cost. Prints figures as
`make bench` does:

    solve.iopddl.A.ratio      cost over that of the winner, team 1 of iopddl_final_results.csv
                              (github.com/ti2-group/iopddl_experiments)
    solve.iopddl.A.gap        of the cost above its own lower bound
    solve.iopddl.G.toulbar2   cost over that of toulbar2 in the same time, both without the limit,
                              which Debian's toulbar2 cannot read; of small problems, if it is
                              installed; 0: it found nothing
    solve.iopddl.ratio        geometric mean of all ratios
"""
import gzip, json, math, os, re, shutil, subprocess, sys, tempfile

# seconds, the winner's cost
PUBLISHED = {
    "A": (60, 6569457676), "B": (60, 532843), "C": (60, 84102445260), "D": (60, 313613524736),
    "E": (60, 338965335230), "F": (120, 364364563561), "G": (120, 217039), "H": (120, 527715404257),
    "I": (120, 583706456444), "J": (120, 1360981630371), "K": (180, 2274276676), "L": (180, 1970993742),
    "M": (180, 49928460991), "N": (180, 202739586553), "O": (180, 222880199765), "P": (240, 662197407330),
    "Q": (240, 527715368061), "R": (240, 371899551572), "S": (240, 1534613444), "T": (240, 682895254913),
    "U": (300, 2569342178), "V": (300, 2213404), "X": (300, 280461191177), "Y": (300, 621176568278),
}
SMALL = 1000  # nodes of a problem that toulbar2 gets


def figure(name, value, unit):
    print(f"solve.iopddl.{name} {value:.6g} {unit}", flush=True)


def find(folder, name):
    for end in (f"{name}.json", f"asplos-2025-iopddl-{name}.json", f"asplos-2025-iopddl-{name}.json.gz"):
        if os.path.exists(os.path.join(folder, end)):
            return os.path.join(folder, end)
    return None


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path) as file:
        return json.load(file)["problem"]


def cost_of(problem, choice):
    """None if the limit is passed."""
    nodes, change = problem["nodes"], {}
    for (first, last), usage, chosen in zip(nodes["intervals"], nodes["usages"], choice):
        if first < last:
            change[first] = change.get(first, 0) + usage[chosen]
            change[last] = change.get(last, 0) - usage[chosen]
    alive = 0
    for time in sorted(change):
        alive += change[time]
        if alive > problem.get("usage_limit", math.inf):
            return None
    total = sum(cost[chosen] for cost, chosen in zip(nodes["costs"], choice))
    for (a, b), cost in zip(problem["edges"]["nodes"], problem["edges"]["costs"]):
        total += cost[choice[a] * len(nodes["costs"][b]) + choice[b]]
    return total


def as_wcsp(problem, most, out):
    """The format of toulbar2, without the limit."""
    nodes, edges = problem["nodes"], problem["edges"]
    sizes = [len(costs) for costs in nodes["costs"]]
    out.write(f"iopddl {len(sizes)} {max(sizes)} {len(sizes) + len(edges['nodes'])} {most}\n")
    out.write(" ".join(map(str, sizes)) + "\n")
    for n, costs in enumerate(nodes["costs"]):
        out.write(f"1 {n} 0 {len(costs)}\n" + "".join(f"{v} {min(c, most)}\n" for v, c in enumerate(costs)))
    for (a, b), costs in zip(edges["nodes"], edges["costs"]):
        some = [(i // sizes[b], i % sizes[b], min(c, most)) for i, c in enumerate(costs) if c]
        out.write(f"2 {a} {b} 0 {len(some)}\n" + "".join(f"{i} {j} {c}\n" for i, j, c in some))


def dimscope(path, seconds):
    command = ["./dimscope", "solve", path, "--json", "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout)


def beside_toulbar2(problem, seconds):
    """Cost over that of toulbar2, both without the limit; 0: it found nothing."""
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = os.path.join(folder, "problem.wcsp"), os.path.join(folder, "problem.json")
        with open(theirs, "w") as out:
            as_wcsp(problem, 10**15, out)
        with open(ours, "w") as out:
            free = {key: value for key, value in problem.items() if key != "usage_limit"}
            json.dump({"problem": free}, out)
        done = subprocess.run(["toulbar2", theirs, f"-timer={seconds}"], capture_output=True, text=True)
        found = re.findall(r"New solution: (\d+)", done.stdout)
        return dimscope(ours, seconds)["objective"] / int(found[-1]) if found else 0


def solve(name, path, seconds):
    """Cost over the winner's."""
    answer, problem = dimscope(path, seconds), read(path)
    cost = cost_of(problem, answer["solution"])
    if cost is None or abs(cost - answer["objective"]) > 1e-9 * cost:
        sys.exit(f"iopddl.py: {name}: the answer says {answer['objective']}, its choices cost {cost}")
    figure(f"{name}.ratio", cost / PUBLISHED[name][1], "x")
    figure(f"{name}.gap", 100 * (1 - answer["bound"] / cost), "%")
    if shutil.which("toulbar2") and len(problem["nodes"]["costs"]) < SMALL:
        figure(f"{name}.toulbar2", beside_toulbar2(problem, seconds), "x")
    return cost / PUBLISHED[name][1]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    share = float(sys.argv[2]) if len(sys.argv) > 2 else 1
    ratios = []
    for name, (seconds, _) in PUBLISHED.items():
        path = find(sys.argv[1], name)
        if path:
            ratios.append(solve(name, path, max(1, round(seconds * share))))
    if ratios:
        figure("problems", len(ratios), "problems")
        figure("ratio", math.exp(sum(map(math.log, ratios)) / len(ratios)), "x")


main()
