// Gauss-Seidel sweeps with a dense matrix, exact in their order whatever runs side by side (Courtecuisse and Allard,
// HPCC 2009).
//
// One sweep takes the rows i in an order and sets x_i := clip(x_i - omega (A x + q)_i / a_ii, lower_i, upper_i) with
// the newest x. Without bounds it is SOR for A x + q = 0, with bounds the projected method for the linear
// complementarity problem w = A x + q.
#pragma once
#include "exec/buffer.hpp"
#include "exec/exec.hpp"
#include <vector>

namespace tessera::densegs {

// Rows of a panel: some vectors of doubles. Kernels rely on it: two rows for each lane of a warp, masks of 64 bits,
// four threads for each row, and two tiles of doubles in a block's shared memory.
constexpr int height = 64;

// What is done side by side (section III of the paper). All but relaxed give the iterates of sequential up to rounding.
enum class Strategy {
  sequential,
  row,     // III.A: the products of one row
  column,  // III.B: the products with one unknown
  block,   // III.C: the products with a panel of unknowns, a barrier between panels
  graph,   // III.D: panels, each as far as the unknowns it needs are there
  graph2,  // IV.A: the same, and waiting is used for the next panel
  relaxed, // IV.A: nobody waits
};
enum class Order { forward, backward, symmetric, random };

struct Params {
  Strategy strategy = Strategy::graph2;
  Order    order    = Order::forward;
  double   omega    = 1;
  bool     single   = false; // the matrix is kept in single precision; vectors and sums are in double
};

// Row-panels of `rows` rows, each by columns: entry (i, j) is at (i / rows * stride + j) * rows + i % rows. Padding
// is zero.
struct Panels {
  int            n = 0, rows = height, count = 0, stride = 0; // unknowns, rows of a panel, panels, columns of a panel
  Buffer<double> a;
  Buffer<float>  s;       // in place of a where the precision is single
  Buffer<double> inverse; // 1 / a_ii, zero in the padding: its x stays
  int            padded() const { return stride; } // of vectors
  bool           single() const { return !s.empty(); }
  size_t         bytes() const { return a.bytes() + s.bytes() + inverse.bytes(); }
};

struct Plan {
  Exec   exec;
  Params params;
  Panels panels;
  // work: sums over the unknowns before and after each row in the order, vectors of the padded length
  Buffer<double> before, after, x, q, lower, upper;
  // device: places where panels meet, the order of sweeps, what they report
  // and inverses of the panels' triangles, alone and times the tile before each
  Buffer<double>     slots, report, triangles, keys;
  Buffer<int>        order, position;
  unsigned long long epoch = 0, stamp = 1; // the sweeps of all calls, and the matrices, are numbered
  int                kept_order = -1;      // the inverses belong to
  double             kept_omega = 0;
  // looks at what another block of threads has not done yet, before a wait is in vain: some seconds
  unsigned           patience   = 1u << 22;
  size_t             bytes() const
  {
    return panels.bytes() + before.bytes() + after.bytes() + x.bytes() + q.bytes() + lower.bytes() + upper.bytes() +
           slots.bytes() + report.bytes() + triangles.bytes() + keys.bytes() + order.bytes() + position.bytes();
  }
};

// What a matrix was found to be.
struct Check {
  int    bad_row = -1, bad_column = -1; // an entry that is no finite number
  int    zero_diagonal = -1;            // the first row whose diagonal entry is zero
  double asymmetry = 0;                 // largest |a_ij - a_ji| over the largest |a_ij|
  double largest = 0;                   // |a_ij|
};

void  create(Plan &plan, int n, const Params &params);
// From a matrix by columns with leading dimension lda, which lies on the host or where the plan runs.
void  fill(Plan &plan, const double *a, ptrdiff_t lda, Space where);
Check check(Plan &plan, const double *a, ptrdiff_t lda, Space where);

// to := factor * from, padded with zeros; vectors of n values lie where the plan runs.
void load(Plan &plan, const double *from, double factor, Buffer<double> &to);
void store(Plan &plan, double *to); // to := x

// The sweeps to be made.
struct Request {
  const double *q = nullptr, *lower = nullptr, *upper = nullptr; // padded; no bounds: plain Gauss-Seidel
  double       *x         = nullptr;
  int           sweeps    = 1;     // at most, a symmetric one being two
  // the number of the first one: it decides where in a symmetric or random order to begin
  int           first     = 0;
  bool          zero      = false; // x is zero
  double        tolerance = -1;    // ends when a sweep's sum of |change of x_i| is not larger
  double       *change    = nullptr; // that sum for every sweep, on the host; device: filled at the end
  // after a request of as many sweeps at whose end nobody has looked: what that one met is kept for await_end()
  bool refresh = false;
};
// Returns the number of sweeps made. On the device it waits only where something is asked back.
int  sweep(Plan &plan, const Request &request);
// After requests of so many sweeps that asked for nothing: throws where blocks of a device waited in vain for each
// other. Waits.
void await_end(const Plan &plan, int sweeps);
// w := A x + q
void residual(Plan &plan, const double *q, const double *x, double *w);

// The order of a sweep: position k has panel outer[k]; inside a panel every row r has inner[0..rows).
struct Sequence {
  std::vector<int> outer, position, inner;
  bool             reversed = false; // of the sweep before
};
void sequence(const Panels &panels, Order order, int number, Sequence &s);
Panels shape_of_rows(int n); // for the order of n rows one by one, where there are no panels

// On the host; host.cxx. stale: relaxed sweeps see the other panels' x of the sweep before, the worst that can happen
// to them.
int   sweep_host(Plan &plan, const Request &request, bool stale = false);
void  residual_host(const Plan &plan, const double *q, const double *x, double *w);
void  fill_host(Plan &plan, const double *a, ptrdiff_t lda);
Check check_host(const double *a, int n, ptrdiff_t lda);
// On the device; device.k.cxx.
int   sweep_device(Plan &plan, const Request &request);
void  residual_device(Plan &plan, const double *q, const double *x, double *w);
void  fill_device(Plan &plan, const double *a, ptrdiff_t lda);
Check check_device(const double *a, int n, ptrdiff_t lda);
// Sweeps with a launch for every row or unknown; rows.k.cxx.
int   sweep_launches(Plan &plan, const Request &request);

// Contacts with friction on the device, blocks of 2 or 3 unknowns; contacts.k.cxx. Panels hold whole contacts:
// unknown i is at i / used * height + i % used, used = height / block * block. A plan of contact_panels() * height
// unknowns; orders but random.
int  contact_panels(int n, int block);
bool contacts_fit(int n, int block); // one panel for each processor of the device
void fill_contacts(Plan &plan, const double *a, ptrdiff_t lda, int n, int block);
// x, q and mu by panels, on the device; mu at the first row of each contact, -1 where there is none. false: a contact
// has no solution.
bool sweep_contacts(Plan &plan, int block, const double *mu, const double *q, double *x, int first, int sweeps);

} // namespace tessera::densegs
