"""facts.py - what `plan --train` counts against what papers and tools print, tests/training/facts.jsonl.

A line is a fact: `config`, `mesh`, `policy`, `set`, `dim` and `machine` make the command; `path` is a
place in the answer, or a sum of places; `over` divides by the answer of another command, `plus` is
added to the number; it must be `value` within the share `tol`. `source` says who printed it.
Facts with equal commands share a run. Ends with "N passed, N failed".
"""
import json, os, subprocess, sys, tempfile

DIMSCOPE = os.environ.get('DIMSCOPE', './dimscope')
folder = tempfile.TemporaryDirectory(prefix='dimscope_facts.')
answers = {}


def training(fact):
    """The "training" of the answer, or a text that says why there is none."""
    key = json.dumps([fact[k] for k in ('config', 'mesh', 'policy', 'set', 'dim', 'machine')])
    if key not in answers:
        path = os.path.join(folder.name, 'config.json')
        with open(path, 'w') as f:
            json.dump(fact['config'], f)
        args = [DIMSCOPE, 'plan', path, '-m', fact['mesh'], '-p', fact['policy'], '--train', '--json',
                '--machine', fact['machine']]
        for name, value in fact['set'].items():
            args += ['--set', f'{name}={str(value).lower() if isinstance(value, bool) else value}']
        args += ['--dim', ','.join(f'{name}={size}' for name, size in fact['dim'].items())]
        run = subprocess.run(args, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        answers[key] = json.loads(run.stdout) if run.returncode == 0 else run.stderr.strip()
    return answers[key]


def number(fact):
    answer = training(fact)
    if isinstance(answer, str):
        raise LookupError(answer)
    total = 0
    for place in fact['path'].split(' + '):
        at = answer
        for name in place.split('.'):
            at = at[name]
        total += at
    return total


passed = failed = 0
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'facts.jsonl')) as f:
    facts = [json.loads(line) for line in f]
for fact in facts:
    try:
        got = number(fact) / (number({**fact, **fact['over']}) if 'over' in fact else 1) + fact.get('plus', 0)
        good = abs(got - fact['value']) <= max(fact['tol'] * abs(fact['value']), fact.get('abs', 0))
        why = f'{got:.8g}, not {fact["value"]:.8g} {fact["unit"]}'
    except (LookupError, TypeError) as e:
        good, why = False, f'{type(e).__name__}: {e}'
    passed, failed = passed + good, failed + (not good)
    if not good:
        print(f'{fact["id"]}: {why} ({fact["source"]})')
print(f'{passed} passed, {failed} failed')
sys.exit(failed > 0)
