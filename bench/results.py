"""What the benchmarks leave in bench/results/NAME.json, from which bench/report fills tables and draws plots.

A file is one run of one command: commit, date, machine, compiler, petsc, command and samples, a list of dictionaries.
A sample has what was run (as `problem` and `solver`), what was counted (`iterations`), and raw times in seconds as
lists, in the order in which they were taken. `error` in place of times says why there are none.
"""

import datetime, json, os, re, shlex, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
FOLDER = os.path.abspath(os.environ.get('TESSERA_RESULTS') or os.path.join(HERE, 'results'))
COMMON = ['commit', 'date', 'machine', 'compiler', 'petsc', 'command', 'samples']

# What bench/remake runs for each file: the whole, and something tiny that only shows that it works.
COMMANDS = {
    'real': ('bench/real --rounds 2', 'bench/real --rounds 1 --quick'),
    'auxamg': ('bench/auxamg_run --repeat 2 --nodes 60000', 'bench/auxamg_run --repeat 1 --nodes 1500'),
    'zoo': (
        'bench/zoo --nodes 10000 --seed 11 --repeat 5 --limit 30 --processor',
        'bench/zoo --nodes 500 --seed 11 --kinds delaunay2,bar3',
    ),
    'hard': ('bench/run hard --sizes 511 --rounds 1', 'bench/run hard --sizes 63 --rounds 1 --repeat 1'),
    'hard-smooth': (
        'bench/run hard --sizes 511 --rounds 1 --rhs paper',
        'bench/run hard --sizes 63 --rounds 1 --repeat 1 --rhs paper',
    ),
    'vipmg': ('bench/vipmg 8 3', 'bench/vipmg 4 1'),
    'densegs': (
        'bench/run-densegs --no-device --sizes 500,1000,2000,4000 --sweeps 20',
        'bench/run-densegs --no-device --sizes 100,200 --sweeps 4',
    ),
}
# What a machine with a GPU runs, in the folder of `make pack-tests`.
DEVICE = {'gpu': 'bench/run gpu', 'densegs-gpu': 'bench/run-densegs --sizes 500,1000,2000,4000'}


# What PETSc's log reads, in processor seconds.
CLOCK = '''#include <time.h>
double MPI_Wtime(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
'''


def processor_clock(folder):
    """The environment in which programs count processor seconds, for a computer that others use too."""
    library = os.path.join(folder, 'clock.so')
    if subprocess.run(['cc', '-shared', '-fPIC', '-x', 'c', '-', '-o', library], input=CLOCK, text=True).returncode:
        sys.exit('cc does not make a shared library')
    return {'LD_PRELOAD': library}


def said(*command):
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=TOP)
        return run.stdout.strip()
    except OSError:
        return ''


def commit():
    """The commit that was measured; with a plus sign where the library's sources differ from it."""
    changed = said('git', 'status', '--porcelain', '--', 'src', 'include')
    return said('git', 'rev-parse', '--short=10', 'HEAD') + ('+' if changed else '')


def made():
    """Commit, compiler and petsc, where tools/pack-tests made library and programs on another machine."""
    packed = os.path.join(TOP, 'made.json')
    return json.load(open(packed)) if os.path.exists(packed) else {}


def machine():
    """Processor, cores and system, and the GPU where the options ask for one."""
    model = re.search(r'^model name\s*:\s*(.*)$', open('/proc/cpuinfo').read(), re.M)
    system = re.search(r'^PRETTY_NAME="(.*)"$', open('/etc/os-release').read(), re.M)
    parts = [model.group(1).strip() if model else 'unknown processor', '%d cores' % (os.cpu_count() or 1)]
    if made() or any('cuda' in word or 'gpu' in word for word in sys.argv[1:]):
        parts.append(said('nvidia-smi', '--query-gpu=name', '--format=csv,noheader').split('\n')[0])
    return ', '.join(parts + ([system.group(1)] if system else []))


def write(path, petsc, samples):
    """petsc: the version, a text."""
    command = ' '.join(['bench/' + os.path.basename(sys.argv[0])] + [shlex.quote(a) for a in sys.argv[1:]])
    record = {
        'commit': commit(),
        'date': datetime.date.today().isoformat(),
        'machine': machine(),
        'petsc': petsc,
        'compiler': said('c++', '--version').split('\n')[0],
        'command': command,
        'samples': samples,
        **made(),
    }
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, 'w') as file:
        file.write('{\n')
        file.write(''.join(' %s: %s,\n' % (json.dumps(key), json.dumps(record[key])) for key in COMMON[:-1]))
        file.write(
            ' "samples": [\n' + ',\n'.join('  ' + json.dumps(s) for s in samples).replace(TOP + '/', '') + '\n ]\n}\n'
        )
    print('wrote ' + os.path.relpath(path, TOP))


def read(name):
    return json.load(open(os.path.join(FOLDER, name + '.json')))
