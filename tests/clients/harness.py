"""What tests/clients/run and tests/errors/run share: find PETSc, build programs against it, run them, print TAP.

Environment
  PETSC_DIR, PETSC_ARCH  the PETSc to build and run with (default: pkg-config PETSc)
  TESSERA_LIB            path of libtessera.so (default: what `make -s print-lib` says)
  TESSERA_BUILD          folder for programs and result files (default: build/clients-<hash of the PETSc>)
  TESSERA_PREBUILT       folder with programs and headers that another machine has built (tools/pack-tests); no PETSc is needed then
  PETSC_TUTORIALS        folder that holds ksp/, snes/, ... with PETSc's tutorials (default: found beside PETSc)
  FILTER                 regular expression on the text of the tests; several words separated by blanks are alternatives
  TESSERA_JOBS           programs run at the same time (default 2)
"""
import array, concurrent.futures, hashlib, math, os, re, shlex, shutil, signal, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


# ---------------------------------------------------------------- PETSc

class Petsc:
    """The PETSc given by PETSC_DIR/PETSC_ARCH, as its own makefile variables describe it."""

    def __init__(self, directory=None, arch=None):
        self.prebuilt = os.environ.get('TESSERA_PREBUILT')
        self.dir = self.prebuilt or directory or os.environ.get('PETSC_DIR') or out(['pkg-config', '--variable=prefix', 'PETSc'])
        self.arch = os.environ.get('PETSC_ARCH', '') if arch is None else arch
        conf = os.path.join(self.dir, 'lib/petsc/conf/variables')
        if self.prebuilt:
            self.arch, self.var = '', {}
        elif not self.dir or not os.path.exists(conf):
            sys.exit('Bail out! no PETSc: set PETSC_DIR (and PETSC_ARCH), or install petsc-dev')
        else:
            self.read_variables(conf)
        header = ''
        for d in (self.dir, os.path.join(self.dir, self.arch)):
            for f in ('petscversion.h', 'petscconf.h'):
                if os.path.exists(os.path.join(d, 'include', f)):
                    header += open(os.path.join(d, 'include', f)).read()
        self.header = header
        number = lambda w: int(re.search(r'#define PETSC_VERSION_%s\s+(\d+)' % w, header).group(1))
        self.version = (number('MAJOR'), number('MINOR'), number('SUBMINOR'))
        self.bits = 64 if self.has('PETSC_USE_64BIT_INDICES') else 32
        self.key = hashlib.sha1(('%s %s %s' % (os.path.realpath(self.dir), self.arch, self.version)).encode()).hexdigest()[:10]

    def has(self, name):
        """Does petscconf.h define it as 1?"""
        return bool(re.search(r'#define %s\s+1' % name, self.header))

    def read_variables(self, conf):
        names = 'CC CXX CC_FLAGS CFLAGS CPPFLAGS PETSC_CC_INCLUDES CC_LINKER_FLAGS PETSC_LIB_DIR PETSC_LIB_BASIC MPIEXEC'.split()
        text = 'PETSC_DIR=%s\nPETSC_ARCH=%s\ninclude %s\nall:\n' % (self.dir, self.arch, conf)
        text += ''.join('\t@echo \'%s=$(%s)\'\n' % (n, n) for n in names)
        env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL', 'PETSC_ARCH', 'PETSC_DIR', 'CC', 'CXX')}
        got = subprocess.run(['make', '-s', '-f', '-'], input=text, stdout=subprocess.PIPE, text=True, env=env).stdout
        self.var = dict(line.split('=', 1) for line in got.splitlines() if '=' in line)

    def tutorials(self):
        """Folders that may hold ksp/ksp/tutorials and so on: the source tree, or Debian's examples package."""
        v = '%d.%d' % self.version[:2]
        for d in (os.environ.get('PETSC_TUTORIALS', ''), os.path.join(self.dir, 'src'), os.path.join(self.dir, 'share/petsc/examples/src'),
                  '/usr/share/petsc/%s/share/petsc/examples/src' % v):
            if d and os.path.exists(os.path.join(d, 'ksp/ksp/tutorials/ex50.c')):
                return d
        return None


SCRATCH = tempfile.TemporaryDirectory()  # programs run here: some tutorials leave files behind

def out(command, **kw):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **kw).stdout.strip()
    except OSError:
        return ''


def tessera():
    """The plugin to test, or None."""
    lib = os.environ.get('TESSERA_LIB') or out(['make', '-s', '--no-print-directory', '-C', ROOT, 'print-lib'])
    return os.path.abspath(lib) if lib and os.path.exists(lib) else None


def build_dir(petsc):
    d = os.environ.get('TESSERA_BUILD') or os.path.join(ROOT, 'build', 'clients-' + petsc.key)
    os.makedirs(d, exist_ok=True)
    return os.path.abspath(d)


COMPILING = {}  # a lock for each program: two tests may ask for the same one at a time


def compile_program(petsc, source, target):
    """Build one C program when its source or the PETSc changed. Returns '' or the compiler's complaint."""
    with COMPILING.setdefault(target, threading.Lock()):
        return compile_locked(petsc, source, target)


def compile_locked(petsc, source, target):
    if petsc.prebuilt:
        there = os.path.join(petsc.prebuilt, 'bin', os.path.basename(target))
        if not os.path.exists(there):
            return there + ' is missing'
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target):
            os.symlink(there, target)
        return ''
    v = petsc.var
    text = open(source, 'rb').read()
    command = ' '.join([v['CC'], v.get('CC_FLAGS', ''), v.get('CFLAGS', ''), v.get('PETSC_CC_INCLUDES', ''), v.get('CPPFLAGS', ''), '-w',
                        '-I' + shlex.quote(os.path.dirname(source)), shlex.quote(source), '-o', shlex.quote(target + '.new'),
                        v.get('CC_LINKER_FLAGS', ''), '-L%s -Wl,-rpath,%s' % (v['PETSC_LIB_DIR'], v['PETSC_LIB_DIR']), v['PETSC_LIB_BASIC'], '-lm'])
    stamp = hashlib.sha1(text + command.encode()).hexdigest()
    if os.path.exists(target) and os.path.exists(target + '.stamp') and open(target + '.stamp').read() == stamp:
        return ''
    os.makedirs(os.path.dirname(target), exist_ok=True)
    r = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if r.returncode:
        return command + '\n' + r.stdout
    os.replace(target + '.new', target)
    open(target + '.stamp', 'w').write(stamp)
    return ''


# ---------------------------------------------------------------- running

class Result:
    def __init__(self, command, rc, text, seconds, timed_out):
        self.command, self.rc, self.text, self.seconds, self.timed_out = command, rc, text, seconds, timed_out

    def crashed(self):
        """A sentence if the program hung, was killed or died of a signal; '' if it ended by itself, with or without an error."""
        if self.timed_out:
            return 'did not end within its time limit (hang?)'
        bad = re.search(r'Caught signal number \d+ \S+|[Ss]egmentation (?:fault|[Vv]iolation)|exited on signal \d+[^\n]*|'
                        r'terminate called[^\n]*|double free[^\n]*|free\(\): invalid[^\n]*|malloc\(\):[^\n]*|'
                        r'MPI_ERR_\w+|stack smashing[^\n]*|Assertion [^\n]*failed', self.text)
        if bad:
            return 'crashed: ' + bad.group(0)
        if self.rc < 0 or self.rc >= 128 + 1 and self.rc <= 128 + 31:
            return 'ended by signal (exit status %d)' % self.rc
        return ''


def environment():
    env = dict(os.environ)
    for name in ('PETSC_OPTIONS', 'PETSC_OPTIONS_YAML', 'MAKEFLAGS', 'MFLAGS', 'MAKELEVEL'):
        env.pop(name, None)
    env.update(OMP_NUM_THREADS=env.get('OMP_NUM_THREADS', '1'), OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
               OMPI_MCA_mpi_yield_when_idle='1', OMPI_MCA_hwloc_base_binding_policy='none', OMPI_MCA_rmaps_base_oversubscribe='1',
               OMPI_MCA_btl_vader_single_copy_mechanism='none')
    return env


def execute(command, limit=600, **environment):
    """(exit status, output); what does not end is ended, with all that it has started. A folder of its own for MPI's sessions, as in run()."""
    folder = tempfile.mkdtemp(prefix='t')
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, env=dict(os.environ, TMPDIR=folder, **environment), start_new_session=True)
    try:
        text, _ = p.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        text = p.communicate()[0] + '\nended after %d s' % limit
    shutil.rmtree(folder, ignore_errors=True)
    return p.returncode, text


def device_usable(cuda):
    """A device for a build with CUDA (cuda: '1'), or the emulated one."""
    return cuda == 'emulate' or (cuda == '1' and shutil.which('nvidia-smi') and subprocess.run(['nvidia-smi', '-L'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0)


def run(petsc, argv, ranks=1, limit=120, cwd=None, env=None):
    """Run a program on some ranks; stdout and stderr together, the whole process group ended at the limit."""
    if ranks > 1:
        argv = shlex.split(petsc.var.get('MPIEXEC') or 'mpiexec') + ['-n', str(ranks)] + argv
    e = environment()
    e['TMPDIR'] = folder = tempfile.mkdtemp(prefix='t') # MPI's sessions: programs that share a folder disturb each other now and then
    e.update(env or {})
    t = time.time()
    p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=cwd or SCRATCH.name, env=e, start_new_session=True)
    timed_out = False
    try:
        data, _ = p.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(p.pid, signal.SIGTERM)
        try:
            data, _ = p.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            data, _ = p.communicate()
    shutil.rmtree(folder, ignore_errors=True)
    shown = ' '.join(shlex.quote(a) for a in argv)
    if env:
        shown = ' '.join('%s=%s' % (k, shlex.quote(v)) for k, v in env.items()) + ' ' + shown
    return Result(shown, p.returncode, data.decode(errors='replace'), time.time() - t, timed_out)


# ---------------------------------------------------------------- reading what PETSc prints

def reasons(text, kind='Linear'):
    """[(reason, iterations)] of every `-ksp_converged_reason` or `-snes_converged_reason` line."""
    p = r'^ *%s .*?(?:solve|SOLVE) (?:converged|did not converge) due to (\w+) iterations (\d+)' % kind
    return [(m.group(1), int(m.group(2))) for m in re.finditer(p, text, re.M)]


def true_residuals(text):
    """[[relative residuals]] that -ksp_monitor_true_residual printed, a list for every solve."""
    r = []
    for m in re.finditer(r'^ *(\d+) KSP \w+ resid norm \S+ true resid norm \S+ \|\|r\(i\)\|\|/\|\|b\|\| (\S+)', text, re.M):
        if int(m.group(1)) == 0 or not r:
            r.append([])
        r[-1].append(float(m.group(2)))
    return r


def residuals(text):
    """[[residual norms]] that -ksp_monitor or -ksp_monitor_true_residual printed, a list for every solve."""
    r = []
    for m in re.finditer(r'^ *(\d+) KSP (?:\w+ resid|Residual) norm (\S+)', text, re.M):
        if int(m.group(1)) == 0 or not r:
            r.append([])
        r[-1].append(float(m.group(2)))
    return r


def apart(one, other, more=0, rounding=1e-3):
    """'' if two runs of the same Krylov method, of which the residuals are given, differ in rounding alone, and by `more` iterations; else a sentence.

    Rounding errors grow with the loss of orthogonality, which goes with the convergence of the outermost Ritz values and not with that of
    the residual (Paige 1971). From then on a run is one of exact arithmetic for a matrix with clusters in the place of its eigenvalues
    (Greenbaum 1989): it keeps its rate, but is a little early or late. 200 right-hand sides that differ by 2e-16 in random signs gave
    CG residuals that differ by 1e-4 after 23 iterations (ex50 127x100, -pc_rrb_coarsening lump), and runs that are apart by 0.4 iterations
    after 35 (rhombus) and by 0.5, 0.9 and 1.3 after 45, 110 and 130 (lump, all), never by more than one in 80. So up to 25 iterations
    the residuals are the same but for `rounding` and 1e-12 of the first, the error of a product; later both come as low within one
    iteration in 50 of each other."""
    error = 1e-12 * max(one[0], other[0])
    for a, b in ((one, other), (other, one)):
        for k, r in enumerate(a):
            late, factor = (0, 1 + rounding) if k <= 25 else (math.ceil(k / 50), 1.25)
            least = min(b[:k + late + more + 1])
            if least > factor * r + error and len(b) > k + late + more:
                return 'after %d iterations a residual of %g, in the other run %g after %d' % (k, r, least, k + late + more)
    longest = max(len(one), len(other)) - 1
    if abs(len(one) - len(other)) > 1 + more + (longest > 25) * math.ceil(longest / 50):
        return '%d iterations, in the other run %d' % (len(one) - 1, len(other) - 1)
    return ''


def unused_options(text):
    """Names that -options_left calls unused; None if it said nothing at all."""
    names = re.findall(r'Option left: name:(\S+)', text)
    return names if names or 'no unused options' in text else None


def read_vec(path, bits=32):
    """A vector of doubles in PETSc's binary format (big endian): class id, length, values."""
    data = open(path, 'rb').read()
    head = array.array('i' if bits == 32 else 'q')
    w = head.itemsize
    head.frombytes(data[:2 * w])
    head.byteswap()
    if head[0] != 1211214:
        raise ValueError('%s: not a PETSc vector (class id %d)' % (path, head[0]))
    v = array.array('d')
    v.frombytes(data[2 * w:2 * w + 8 * head[1]])
    v.byteswap()
    return v


def write_mat(path, n, rows, bits=32):
    """A sparse matrix in PETSc's binary format; rows: list of [(column, value)]."""
    ints = array.array('i' if bits == 32 else 'q', [1211216, n, n, sum(map(len, rows))] + [len(r) for r in rows] + [c for r in rows for c, _ in r])
    vals = array.array('d', [v for r in rows for _, v in r])
    ints.byteswap()
    vals.byteswap()
    with open(path, 'wb') as f:
        f.write(ints.tobytes() + vals.tobytes())


def write_vec(path, values, bits=32):
    ints = array.array('i' if bits == 32 else 'q', [1211214, len(values)])
    vals = array.array('d', values)
    ints.byteswap()
    vals.byteswap()
    with open(path, 'wb') as f:
        f.write(ints.tobytes() + vals.tobytes())


def difference(x, y, free_constant=False):
    """Largest |x - y| over largest |y|; of the parts orthogonal to the constants where those are free."""
    if len(x) != len(y):
        return math.inf
    mx, my = (math.fsum(x) / len(x), math.fsum(y) / len(y)) if free_constant else (0.0, 0.0)
    top = max(abs(b - my) for b in y)
    d = max(abs((a - mx) - (b - my)) for a, b in zip(x, y))
    return d / top if d == d else math.inf


# ---------------------------------------------------------------- TAP

class Tap:
    """Prints numbered results in the order of the table while several programs run at the same time."""

    def __init__(self):
        words = os.environ.get('FILTER', '').split()
        self.filter = [re.compile(w) for w in words]
        self.n = self.bad = self.skipped = 0
        self.start = time.time()

    def wanted(self, text):
        return not self.filter or any(w.search(text) for w in self.filter)

    def line(self, ok, text, why=(), skip=None):
        self.n += 1
        self.bad += 0 if ok else 1
        self.skipped += 1 if skip else 0
        print('%s %d - %s%s' % ('ok' if ok else 'not ok', self.n, text.replace('#', '\\#'), ' # SKIP ' + skip if skip else ''))
        if not ok:
            for w in why:
                for row in str(w).splitlines() or ['']:
                    print('# ' + row)
        sys.stdout.flush()

    def each(self, jobs, work):
        """work(job) -> [(ok, text, why, skip)]; an exception in it is a failure of that job, not the end of the run."""
        def safe(job):
            try:
                return work(job)
            except Exception as e:  # noqa: a broken job must still be reported
                return [(False, str(getattr(job, 'name', job)), ['%s: %s' % (type(e).__name__, e)], None)]
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get('TESSERA_JOBS', '2'))) as pool:
            for rows in pool.map(safe, jobs):
                for row in rows:
                    self.line(*row)

    def end(self):
        print('1..%d' % self.n)
        print('# %d failed, %d skipped, %.0f s' % (self.bad, self.skipped, time.time() - self.start))
        return 1 if self.bad else 0


def tail(text, lines=12):
    """The part of an output that explains a failure: PETSc's error lines if there are any, else the end."""
    errors = [l for l in text.splitlines() if re.search(r'PETSC ERROR: (?!-----|See https|Petsc Release|Configure|#\d|.*(by root|named|Option left))', l)]
    return (errors or text.rstrip().splitlines())[:lines] if errors else text.rstrip().splitlines()[-lines:]
