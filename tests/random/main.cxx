static char help[] =
  "Random cases of every type of Tessera: shapes, operators, options, values, misuse. Load the library with -dll_append.\n\
  -family <linear, bounds, misuse> : which (default linear)\n\
  -seed s -count c     : cases s, ..., s + c - 1\n\
  -manifest <file>     : petsc-plugin.yaml, whose options are drawn from\n\
  -device              : on the device\n\
  -have_cuda           : the library has a device\n\
  -limit s             : seconds that a case may take (30)\n\
  -leaks               : memory of PETSc and of the heap, by repetition\n\
  -verbose             : each case\n\n";

/*
  A line `case N: text` is what is wrong with one; the last line counts. A case that crashes or hangs ends the program, after such
  a line. Nothing else is printed: what the library prints goes to /dev/null.
*/
#include "random.hpp"
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <malloc.h>
#include <unistd.h>

static long  current = -1;
static Case *running = nullptr;
static char  message[1024];
static int   report     = 1; // the standard output that this program began with
static int   world      = 0;
static char  family[32] = "linear";

// Errors are caught: the first text of each is kept.
static PetscErrorCode Keep(MPI_Comm, int, const char *, const char *, PetscErrorCode n, PetscErrorType type,
                           const char *text, void *)
{
  if (type == PETSC_ERROR_INITIAL && !message[0] && text && *text) snprintf(message, sizeof(message), "%s", text);
  return n;
}
void ForgetErrors()
{
  message[0] = 0;
}
const char *FirstError()
{
  return message;
}

static void Ended(int signal)
{
  const char *name = signal == SIGALRM ? "did not end (a hang?)"
                   : signal == SIGSEGV ? "crashed: segmentation violation"
                   : signal == SIGFPE  ? "crashed: floating-point exception"
                   : signal == SIGBUS  ? "crashed: bus error"
                                       : "crashed: abort";
  char        line[4096];
  const int   n = PetscMin(snprintf(line, sizeof(line), "case %ld: %s, process %d\n    %s\n", current, name, world,
                                  running ? running->text.c_str() : ""),
                           (int)sizeof(line) - 1);
  if (write(report, line, n)) _exit(100);
  _exit(100);
}

static PetscErrorCode Report(const char *format, ...) __attribute__((format(printf, 1, 2)));
static PetscErrorCode Report(const char *format, ...)
{
  char    line[4096];
  va_list a;
  PetscFunctionBeginUser;
  va_start(a, format);
  const int n = vsnprintf(line, sizeof(line), format, a);
  va_end(a);
  if (!world)
    PetscCheck(write(report, line, PetscMin(n, (int)sizeof(line) - 1)) > 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE,
               "Cannot report");
  PetscFunctionReturn(PETSC_SUCCESS);
}

void Case::say(const char *format, ...)
{
  char    line[512];
  va_list a;
  va_start(a, format);
  vsnprintf(line, sizeof(line), format, a);
  va_end(a);
  if (!text.empty()) text += "; ";
  text += line;
}

void Case::fail(const char *format, ...)
{
  char    line[1024];
  va_list a;
  va_start(a, format);
  vsnprintf(line, sizeof(line), format, a);
  va_end(a);
  wrong.push_back(line);
}

bool Case::good(const char *call, PetscErrorCode ierr)
{
  int mine[2] = {ierr != 0, ierr && message[0] ? 1 : 0}, all[2] = {0, 0};
  MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, comm);
  if (all[0] && all[0] < size) fail("%s: an error on %d of %d processes: %s", call, all[0], size, message);
  if (all[0] && !all[1]) fail("%s: an error without a text, code %d", call, (int)ierr);
  if (all[0]) errors = true, say("%s: error %d, %.200s", call, (int)ierr, message);
  ForgetErrors();
  return !all[0];
}

PetscErrorCode Case::option(const std::string &key, const std::string &value)
{
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsSetValue(NULL, key.c_str(), value.c_str()));
  say("%s %s", key.c_str(), value.c_str());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static std::string Value(Case &c, const Option &o, bool hostile)
{
  auto of = [&](std::initializer_list<const char *> l) {
    const std::string v = c.draw.of(l);
    return v == "default" ? o.initial : v;
  };
  if (o.type == "enum") return hostile ? "nonsense" : o.choices[c.draw.below((int)o.choices.size())];
  if (o.type == "bool") return hostile ? "perhaps" : of({"0", "1"});
  if (o.type == "int")
    return !hostile                                     ? of({"default", "0", "1", "2", "3", "5", "10"})
         : o.key.find("_sweeps") != std::string::npos ? of({"-1", "-7", "2147483647", "x"}) // a million of them is work
                                                      : of({"-1", "-7", "1000000", "2147483647", "x"});
  if (o.type == "real")
    return hostile ? of({"-1", "0", "2", "1e300", "nan", "inf", "x"})
                   : of({"default", "0.5", "0.9", "1", "1.2", "1.5"});
  if (o.type == "int,int")
    return hostile ? of({"-1,2", "1000000,1000000", "3", "x"}) : of({"0,0", "1,1", "1,2", "2,0", "0,2", "3,3"});
  if (o.type == "int,int,int")
    return hostile ? of({"-1,2,3", "1000000,1000000,2", "3", "1,2,3,4", "x"}) : of({"0,0", "1,1", "0,0,0", "2,3,4"});
  return hostile ? "/nonexistent" : o.initial;
}

// Half of the cases keep the defaults; the others draw some options of a type, and a few hostile values.
PetscErrorCode Case::options(const std::string &owner, std::initializer_list<const char *> without)
{
  const bool defaults = draw.chance(0.4);
  PetscFunctionBeginUser;
  for (auto &o : settings.options) {
    if (o.owner != owner) continue;
    bool skip = false;
    for (auto w : without) skip |= o.key.find(w) != std::string::npos;
    if (o.key.find("_backend") != std::string::npos) {
      const bool refused = !settings.have_cuda && draw.chance(0.02); // a message
      if (refused) plain = false;
      const bool alone = owner == "PC densegs" || owner == "SNES vipgs" || owner == "Tao vipgs"; // on a device one process
      if ((settings.device && !(alone && size > 1)) || refused) PetscCall(option(o.key, "cuda"));
      continue;
    }
    if (skip || defaults || o.type == "string" || !draw.chance(0.3)) continue;
    const bool bad = draw.chance(0.03);
    plain          = false;
    hostile |= bad;
    PetscCall(option(o.key, Value(*this, o, bad)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool Case::plugin_option(const std::string &key, const std::string &owner) const
{
  for (auto &o : settings.options)
    if (o.owner == owner && o.key == key) return true;
  return false;
}

PetscErrorCode Case::whole(Vec x, std::vector<double> &values)
{
  VecScatter         all;
  Vec                y;
  PetscInt           n;
  const PetscScalar *v;
  PetscFunctionBeginUser;
  PetscCall(VecScatterCreateToAll(x, &all, &y));
  PetscCall(VecScatterBegin(all, x, y, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(all, x, y, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetSize(y, &n));
  PetscCall(VecGetArrayRead(y, &v));
  values.assign(v, v + n);
  PetscCall(VecRestoreArrayRead(y, &v));
  PetscCall(VecScatterDestroy(&all));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// petsc-plugin.yaml has one option a line.
static PetscErrorCode ReadManifest(const char *file, Settings &s)
{
  std::ifstream in(file);
  std::string   line, kind, owner;
  PetscFunctionBeginUser;
  auto field = [&](const char *name) {
    const size_t at = line.find(std::string(name) + ": ");
    if (at == std::string::npos) return std::string();
    const size_t b = at + strlen(name) + 2;
    return line[b] == '[' ? line.substr(b + 1, line.find(']', b) - b - 1)
         : line[b] == '"' ? line.substr(b + 1, line.find('"', b + 1) - b - 1)
                          : line.substr(b, line.find_first_of(",}", b) - b);
  };
  while (std::getline(in, line)) {
    if (line.compare(0, 11, "  - class: ") == 0) kind = line.substr(11);
    if (line.compare(0, 10, "    type: ") == 0) owner = kind + " " + line.substr(10);
    if (line.find("- {key: ") == std::string::npos) continue;
    Option      o{owner, field("key"), field("type"), field("default"), {}};
    std::string list = field("choices");
    for (size_t a = 0; !list.empty() && a < list.size();) {
      const size_t e = std::min(list.find(", ", a), list.size());
      o.choices.push_back(list.substr(a, e - a));
      a = e + 2;
    }
    s.options.push_back(o);
  }
  PetscCheck(s.options.size() > 20, PETSC_COMM_WORLD, PETSC_ERR_FILE_READ, "%s has no options", file);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// One case; memory: what PETSc has kept.
static PetscErrorCode Run(Case &c, PetscLogDouble *memory)
{
  PetscLogDouble before, after;
  PetscFunctionBeginUser;
  c.comm = PETSC_COMM_WORLD;
  PetscCallMPI(MPI_Comm_rank(c.comm, &c.rank));
  PetscCallMPI(MPI_Comm_size(c.comm, &c.size));
  PetscCall(PetscMallocGetCurrentUsage(&before));
  PetscCall(PetscOptionsCreate(&c.database));
  PetscCall(PetscOptionsPush(c.database));
  ForgetErrors();
  running = &c;
  PetscCall(PetscPushErrorHandler(Keep, NULL));
  const std::string f    = family;
  PetscErrorCode    ierr = f == "linear" ? LinearCase(c) : f == "bounds" ? BoundsCase(c) : MisuseCase(c);
  PetscCall(PetscPopErrorHandler());
  running = nullptr;
  if (ierr) c.fail("the case itself: error %d, %s", (int)ierr, message), c.errors = true;
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&c.database));
  PetscCall(PetscMallocGetCurrentUsage(&after));
  *memory = after - before;
  PetscFunctionReturn(PETSC_SUCCESS);
}

// A case without errors again and again: does the memory grow by the same each time?
static PetscErrorCode Leaks(long seed, const Settings &s, Case &c, PetscLogDouble first)
{
  enum {
    TIMES = 8
  };
  PetscLogDouble kept[TIMES], heap[TIMES + 1];
  PetscFunctionBeginUser;
  if (c.errors) PetscFunctionReturn(PETSC_SUCCESS); // PETSc's functions keep what they had begun
  if (first == 0 && seed % 40) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < TIMES; ++k) {
    Case d(seed, s);
    heap[k] = (PetscLogDouble)mallinfo2().uordblks;
    PetscCall(Run(d, &kept[k]));
  }
  heap[TIMES]               = (PetscLogDouble)mallinfo2().uordblks;
  const PetscLogDouble each = heap[TIMES] - heap[TIMES - 1];
  if (kept[TIMES - 1] > 0 && kept[TIMES - 1] == kept[TIMES - 2])
    c.fail("PETSc's memory grows by %g bytes each time", kept[TIMES - 1]);
  if (c.size == 1 && each > 0 && heap[TIMES - 1] - heap[TIMES - 2] == each &&
      heap[TIMES - 2] - heap[TIMES - 3] == each)
    c.fail("the heap grows by %g bytes each time", each);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Settings  s;
  char      manifest[PETSC_MAX_PATH_LEN] = "petsc-plugin.yaml";
  PetscInt  seed = 0, count = 100, limit = 30;
  PetscBool device = PETSC_FALSE, verbose = PETSC_FALSE, leaks = PETSC_FALSE, cuda = PETSC_FALSE;
  long      failures = 0;

  report = dup(1);
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-family", family, sizeof(family), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-manifest", manifest, sizeof(manifest), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-limit", &limit, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-device", &device, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-have_cuda", &cuda, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-leaks", &leaks, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &world));
  PetscCall(ReadManifest(manifest, s));
  s.device    = device;
  s.have_cuda = (bool)(cuda || device);
  s.verbose   = verbose;
  PetscCall(PetscPopSignalHandler());
  for (int n : {SIGALRM, SIGSEGV, SIGFPE, SIGBUS, SIGABRT}) signal(n, Ended);
  PetscCheck(freopen("/dev/null", "w", stdout), PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "/dev/null");
  for (long k = seed; k < seed + count; ++k) {
    Case           c(k, s);
    PetscLogDouble memory;
    current = k;
    alarm((unsigned)limit);
    PetscCall(Run(c, &memory));
    if (leaks) PetscCall(Leaks(k, s, c, memory));
    if (verbose) PetscCall(Report("%ld: %s\n", k, c.text.c_str()));
    for (auto &w : c.wrong) PetscCall(Report("case %ld: %s\n", k, w.c_str()));
    if (!c.wrong.empty()) {
      ++failures;
      PetscCall(Report("    %s\n", c.text.c_str()));
    }
  }
  alarm(0);
  PetscCall(Report("%" PetscInt_FMT " cases, %ld wrong\n", count, failures));
  PetscCall(PetscFinalize());
  return 0;
}
