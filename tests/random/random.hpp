// Random cases: what a case is, how it draws, what it is checked against. Every process draws the same numbers from the seed.
#pragma once
#include <petsctao.h>
#include <petscdmda.h>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#if PETSC_VERSION_LT(3, 19, 0) && !defined(PETSC_SUCCESS)
  #define PETSC_SUCCESS ((PetscErrorCode)0)
#endif

struct Draw {
  uint64_t state;
  explicit Draw(long seed) : state(0x9E3779B97F4A7C15ull * (uint64_t)(seed + 1)) { number(); }
  uint64_t bits()
  {
    uint64_t z = (state += 0x9E3779B97F4A7C15ull); // splitmix64
    z          = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z          = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  double number() { return (double)(bits() >> 11) / 9007199254740992.; }
  int    below(int n) { return (int)(number() * n); }
  int    between(int a, int b) { return a + below(b - a + 1); }
  bool   chance(double p) { return number() < p; }
  template <class T>
  T of(std::initializer_list<T> l)
  {
    return l.begin()[below((int)l.size())];
  }
  const char *of(std::initializer_list<const char *> l) { return l.begin()[below((int)l.size())]; }
};

// An option of petsc-plugin.yaml.
struct Option {
  std::string              owner; // class and type: "PC rrb"
  std::string              key, type, initial;
  std::vector<std::string> choices;
};

// What the whole run is told.
struct Settings {
  std::vector<Option> options;
  bool                device = false, verbose = false;
  bool                have_cuda = false; // the library has a device
};

// A matrix by rows, the same on every process, numbered as the vectors are. Everything is checked against it, in long double.
struct Operator {
  int                                              n = 0;
  std::vector<std::vector<std::pair<int, double>>> row;
  bool finite = true, symmetric = true, definite = true, singular = false, scaled = false,
       extreme   = false; // scaled by 1e20; extreme: squares overflow
  double decades = 0, reaction = 0; // of its coefficients; what is added to the diagonal

  std::vector<long double> times(const std::vector<double> &x, bool transposed, bool magnitudes) const;
  double                   entry(int i, int j) const;
};

struct Case {
  MPI_Comm                 comm = MPI_COMM_NULL;
  int                      rank = 0, size = 1;
  long                     seed;
  Draw                     draw;
  const Settings          &settings;
  std::string              text;                                          // what it is
  std::vector<std::string> wrong;                                         // what is wrong with the library
  bool                     errors = false, hostile = false, plain = true; // plain: default options
  PetscOptions             database = nullptr;

  Case(long seed_, const Settings &s) : seed(seed_), draw(seed_), settings(s) { }
  void say(const char *format, ...) __attribute__((format(printf, 2, 3)));
  void fail(const char *format, ...) __attribute__((format(printf, 2, 3)));
  // Did the call succeed? An error on some processes alone is a failure, and so is one without a text.
  bool           good(const char *call, PetscErrorCode ierr);
  PetscErrorCode option(const std::string &key, const std::string &value);
  PetscErrorCode options(const std::string &owner, std::initializer_list<const char *> without = {});
  PetscErrorCode whole(Vec x, std::vector<double> &values); // the entries of a vector, on every process
  bool           plugin_option(const std::string &key, const std::string &owner) const;
};

// Collectors of the text of an error: main.cxx
void        ForgetErrors();
const char *FirstError();

// operators.cxx
struct Grid {
  int  dim, n[3] = {1, 1, 1}, processes[3] = {1, 1, 1};
  bool periodic[3] = {false, false, false}, box;
};
Grid           DrawGrid(Case &c, int dim, int most);
Operator       GridOperator(Case &c, const Grid &g);
Operator       DenseOperator(Case &c, int n);
Operator       CloudOperator(Case &c, int nodes, int dim, int bs, std::vector<double> &coordinates);
void           Spoil(Case &c, Operator &a); // makes it asymmetric, indefinite, not finite, huge or tiny now and then
PetscErrorCode MakeDM(Case &c, const Grid &g, int dof, DM *da);
PetscErrorCode ToPetsc(DM da, Operator &a);            // from the grid's order into that of the DMDA's vectors
PetscErrorCode Fill(const Operator &a, int bs, Mat A); // and assembles
PetscErrorCode MakeMat(Case &c, const Operator &a, int bs, const char *type, int local, Mat *A);
PetscErrorCode FillVec(Case &c, Vec x, const std::function<double(int)> &f);
double         Hash(long seed, long a, long b);
int            Share(Case &c, int n); // how many of n blocks this process gets, of all that are distributed at random

// families
PetscErrorCode LinearCase(Case &c);
PetscErrorCode BoundsCase(Case &c);
PetscErrorCode MisuseCase(Case &c);
