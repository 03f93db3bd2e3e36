// The kernels of CG on the device (schur_solver.k.cxx), and its scalars, which are there too.
#pragma once
#include "box/warp.hpp"
#include "rrb/multigrid/march.hpp"
#include "rrb/cg/schur_solver.hpp"
#include <cmath>
#include <cstddef>

#ifdef TESSERA_HAVE_DEVICE

namespace tessera::rrb {

HD inline bool is_finite(double v) { return v - v == 0; }

struct State {
  double             rz, last_rz, qz, alpha, bb, threshold, relative, limit;
  double             kept; // x lacks this times the direction in p[0]
  int                its, max_its, begun, flexible, single;
  int                outcome; // Outcome
  unsigned long long loop;    // the conditional node's handle
  HD bool running() const { return outcome == (int)Outcome::running; }
  // Before the first iteration, bb is known; after p'q; after r'r. They return, or get, the norms.
  HD double start(const Limits &limits, bool continued, bool not_linear, bool in_single)
  {
    const double norm = sqrt(bb);
    its       = 0;
    kept      = 0;
    max_its           = limits.iterations;
    begun     = continued;
    flexible  = not_linear;
    single    = in_single;
    last_rz   = 0;
    relative  = limits.relative * norm;
    threshold = relative > limits.absolute ? relative : limits.absolute;
    limit     = limits.divergence * norm;
    outcome =
      (int)(!is_finite(norm)    ? Outcome::not_finite
            : norm <= threshold ? (norm <= limits.absolute ? Outcome::converged_absolute : Outcome::converged_relative)
            : max_its <= 0      ? Outcome::too_many
                                : Outcome::running);
    return norm;
  }
  HD void multiplied(double pq)
  {
    if (running()) {
      if (!(rz > 0))
        outcome = (int)(rz == 0  ? Outcome::zero_residual
                        : rz < 0 ? Outcome::indefinite_preconditioner
                                 : Outcome::not_finite);
      else if (!(pq > 0)) outcome = (int)(pq <= 0 ? Outcome::indefinite_matrix : Outcome::not_finite);
    }
    alpha   = running() ? rz / pq : 0;
    last_rz = rz;
    if (!is_finite(alpha)) outcome = (int)Outcome::not_finite, alpha = 0;
  }
  HD void stepped(double norm)
  {
    // r was too small for M
    if (outcome == (int)Outcome::zero_residual && single && norm > 0) outcome = (int)Outcome::indefinite_preconditioner;
    if (!running()) return;
    kept = its & 1 ? alpha : 0;
    ++its;
    if (!is_finite(norm)) outcome = (int)Outcome::not_finite;
    else if (norm <= threshold)
      outcome = (int)(norm <= relative ? Outcome::converged_relative : Outcome::converged_absolute);
    else if (norm >= limit) outcome = (int)Outcome::diverged;
    else if (its >= max_its) outcome = (int)Outcome::too_many;
  }
};

// What the host looks at when all is done, in its own memory: the state, and the first norms.
struct HostResults {
  static constexpr int few = 64;
  State  state;
  double norms[few];
};

// With b'b, at the end of the kernel that makes it.
struct Begin {
  State     *state;
  double    *norms;
  HostResults *shown;
  Limits     limits;
  bool       begun, flexible, single;
  double    *part; // several processes: this one's b'b, for the host
  MARCH void operator()(double bb) const
  {
    if (part) {
      *part = bb;
      return;
    }
    state->bb = bb;
    const double norm = state->start(limits, begun, flexible, single);
    norms[0] = norm, shown->norms[0] = norm;
    if (!state->running()) shown->state = *state;
  }
};

namespace {

struct Square { // b'b
  const double *b;
  Begin         begin;
  MARCH double  operator()(size_t i) const { return b[i] * b[i]; }
  MARCH void    finish(double s) const { begin(s); }
};

template <class T> struct Dot { // *sum = x'y
  const double *x;
  const T      *y;
  double       *sum;
  MARCH double operator()(size_t i) const { return x[i] * (double)y[i]; }
  MARCH void   finish(double s) const { *sum = s; }
};

template <class T> struct RemoveNull {
  const double *n, *c;
  T            *z;
  MARCH double  operator()(size_t i) const
  {
    if (n[i] != 0) z[i] = (T)((double)z[i] - *c * n[i]); // beside the grid z stays zero, whatever c is
    return 0;
  }
  MARCH void finish(double) const { }
};

// What the product reads.
template <int N, class T> struct Operands {
  SchurView<double> a;
  const T          *zo, *zc;
  const double     *po, *pc; // the last direction
  Box               whole;
  using C = Cells<N, double>;
  struct Row {
    Cells<N, T> zo, zc;
    C           po, pc, e0, e1, e2, e3, fox, foy, fcx, fcy, co, cc;
  };
  template <class A> MARCH void read(A &get, Row &k, int y) const
  {
    const ptrdiff_t r = clamp(y, whole.y0, whole.y1 - 1) * a.sy, b = clamp(y - 1, whole.y0, whole.y1 - 1) * a.sy;
    get(k.zo, zo + r), get(k.zc, zc + r), get(k.po, po + r), get(k.pc, pc + r);
    get(k.e0, a.e[0] + r), get(k.e1, a.e[1] + r), get(k.e2, a.e[2] + r), get(k.e3, a.e[3] + r);
    get(k.fox, a.fo[0] + r), get(k.foy, a.fo[1] + r), get(k.fcx, a.fc[0] + r), get(k.fcy, a.fc[1] + r);
    get(k.co, (const double *)a.co + b), get(k.cc, (const double *)a.cc + b);
  }
};

// p = z + beta p, q = S1 p, p'q
template <int N, class T> struct Multiply {
  using Row = typename Operands<N, T>::Row;
  static constexpr int blocks = 3;
  SchurView<double> a;
  const T          *zo, *zc;
  double           *p[2][2], *qo, *qc; // p[its & 1] is the last direction; quarters o and c
  State            *state;
  double           *part;                      // several processes: this one's p'q, for the host
  Box               o, c, own_o, own_c, whole; // where p is stored; where q is
  using C = Cells<N, double>;
  struct RowsBehind {
    C po[3], pc[3], e0[2], e1[2], e2[2], e3[2], fox[2], foy[3], fcx[2], fcy[3];
  };
  MARCH double operator()(Warp w, const March &m, int strip, int chunk) const
  {
    const Strip<N> s  = m.template strip<N>(w, strip, N, whole);
    const int      y0 = m.first(chunk), y1 = m.end(chunk);
    const int      now = state->its & 1;
    double *const  new_o = p[1 - now][0], *const new_c = p[1 - now][1];
    const Operands<N, T> operands{a, zo, zc, p[now][0], p[now][1], whole};
    const bool     first = !state->its; // the last direction is anything then
    C              beta;
    double         dot = 0;
    RowsBehind     k;
    for (int i = 0; i < N; ++i)
      beta.v[i] = Lanes<double>(first             ? 0
                                : state->flexible ? -state->alpha * state->qz / state->last_rz
                                                  : state->rz / state->last_rz);
    for_rows(operands, s, y0 - 1, y1 + 1, [&](const Row &in, int y) {
      const ptrdiff_t r = y * a.sy, b = r - a.sy;
      for (int d = 2; d; --d)
        k.po[d] = k.po[d - 1], k.pc[d] = k.pc[d - 1], k.foy[d] = k.foy[d - 1], k.fcy[d] = k.fcy[d - 1];
      k.e0[1] = k.e0[0], k.e1[1] = k.e1[0], k.e2[1] = k.e2[0], k.e3[1] = k.e3[0], k.fox[1] = k.fox[0],
      k.fcx[1] = k.fcx[0];
      k.po[0] = widen(in.zo), k.pc[0] = widen(in.zc);
      if (!first) k.po[0] = k.po[0] + beta * in.po, k.pc[0] = k.pc[0] + beta * in.pc;
      k.e0[0] = in.e0, k.e1[0] = in.e1, k.e2[0] = in.e2, k.e3[0] = in.e3, k.fox[0] = in.fox, k.foy[0] = in.foy,
      k.fcx[0] = in.fcx, k.fcy[0] = in.fcy;
      if (y >= y0 && y < y1) {
        if (y >= o.y0 && y < o.y1) s.store(new_o + r, k.po[0], o);
        if (y >= c.y0 && y < c.y1) s.store(new_c + r, k.pc[0], c);
      }
      // the product at row y - 1
      const C q0 = in.co * k.po[1] + k.e3[1] * k.pc[1] + k.e2[1] * west(w, k.pc[1]) + k.e1[1] * k.pc[2] +
                   k.e0[1] * west(w, k.pc[2]) + k.fox[1] * east(w, k.po[1]) + west(w, k.fox[1] * k.po[1]) +
                   k.foy[1] * k.po[0] + k.foy[2] * k.po[2];
      const C q3 = in.cc * k.pc[1] + k.e3[1] * k.po[1] + east(w, k.e2[1] * k.po[1]) + k.e1[0] * k.po[0] +
                   east(w, k.e0[0] * k.po[0]) + k.fcx[1] * east(w, k.pc[1]) + west(w, k.fcx[1] * k.pc[1]) +
                   k.fcy[1] * k.pc[0] + k.fcy[2] * k.pc[2];
      if (y > y0 && y > own_o.y0 && y - 1 < own_o.y1) {
        s.store(qo + b, q0, own_o);
        dot += s.sum(q0 * k.po[1], own_o);
      }
      if (y > y0 && y > own_c.y0 && y - 1 < own_c.y1) {
        s.store(qc + b, q3, own_c);
        dot += s.sum(q3 * k.pc[1], own_c);
      }
    });
    return dot;
  }
  MARCH void finish(double pq) const
  {
    if (part) *part = pq;
    else state->multiplied(pq);
  }
};

// Two values in a row.
template <class T> struct alignas(2 * sizeof(T)) Two {
  T                v[2];
  MARCH static Two load(const T *p, size_t i) { return reinterpret_cast<const Two *>(p)[i]; }
  MARCH void       store(T *p, size_t i) const { reinterpret_cast<Two *>(p)[i] = *this; }
};

// r -= alpha q, the residual for M, r'r and the test; x += alpha p in every other step, for two directions: 8 bytes
// fewer a node of S1.
template <class T> struct Update {
  const double *p0, *p1, *q; // p0 and p1 are the last direction in turn
  double       *x, *r, *norms;
  T            *to; // may be r
  State        *state;
  HostResults  *shown;
  double       *part; // several processes: this one's r'r, for the host
  MARCH double  operator()(size_t i) const // two values, which are read before the first is written
  {
    if (!state->running()) { // an iteration too many, or none is possible: all stays as it is
      const auto v = Two<double>::load(r, i);
      return v.v[0] * v.v[0] + v.v[1] * v.v[1];
    }
    const double   alpha = state->alpha, kept = state->kept;
    const int      its = state->its;
    const bool     late = its & 1, more = its || state->begun, apart = (const void *)to != (const void *)r;
    Two<double>    vr = Two<double>::load(r, i), vx, v0, v1;
    const auto     vq = Two<double>::load(q, i);
    Two<T>         single;
    double         s = 0;
    if (!late) v1 = Two<double>::load(p1, i);
    if (!late && more) vx = Two<double>::load(x, i);
    if (!late && its) v0 = Two<double>::load(p0, i);
    for (int k = 0; k < 2; ++k) {
      vr.v[k] -= alpha * vq.v[k];
      single.v[k] = (T)vr.v[k];
      s += vr.v[k] * vr.v[k];
    }
    if (!late) {
      for (int k = 0; k < 2; ++k) {
        double v = more ? vx.v[k] : 0;
        if (its) v += kept * v0.v[k];
        vx.v[k] = v + alpha * v1.v[k];
      }
      vx.store(x, i);
    }
    vr.store(r, i);
    if (apart) single.store(to, i);
    return s;
  }
  MARCH void finish(double rr) const
  {
    if (part) {
      *part = rr;
      return;
    }
    State &t = *state;
    const double norm = sqrt(rr);
    if (t.running()) {
      norms[t.its + 1] = norm;
      if (t.its + 1 < HostResults::few) shown->norms[t.its + 1] = norm;
    }
    t.stepped(norm);
    if (!t.running()) shown->state = t;
#ifdef __CUDACC__
    if (t.loop) cudaGraphSetConditional((cudaGraphConditionalHandle)t.loop, t.running());
#endif
  }
};

// What x lacks at the end.
struct Complete {
  const double *p0;
  double       *x;
  const State  *state;
  MARCH double  operator()(size_t i) const
  {
    if (state->kept != 0) x[i] += state->kept * p0[i];
    return 0;
  }
  MARCH void finish(double) const { }
};

} // namespace

constexpr size_t header = sizeof(State) / sizeof(double);
constexpr int    max_ahead = 16; // iterations that the graph has before its loop

struct SchurSolver::Parts {
  BlackField     p[2], q;
  Buffer<double> z64, rhs64, c; // z in double precision, r with ghost nodes; coefficient of a null space vector
  Buffer<double> memory; // state and norms
  Reduction      reduction, alone; // alone: of kernels that have no sum
  Layout         layout;
  Pinned         for_host;       // what kernels write to,
  HostResults   *shown = nullptr; // and what it holds
  double        *part = nullptr; // several processes' sums
  State         *state() { return (State *)memory.data(); }
  double        *norms() { return memory.data() + header; }
  const State   &fetch_state() // waits
  {
    device::copy_to_host(&shown->state, memory.data(), sizeof(State));
    return end();
  }
  const State   &end() // when the iteration has ended; waits
  {
    device::synchronize();
    if (device::failed() || Peers::lost()) shown->state.outcome = (int)Outcome::not_finite; // nobody iterates on
    return shown->state;
  }
#ifdef __CUDACC__
  cudaGraphExec_t graph = nullptr;
  cudaStream_t    capture = nullptr;
  uint64_t        fingerprint = 0;
  bool            whole = false; // the graph has the loop
  // and so many iterations before it; recording it anew costs more than a solve on small grids: solves in turn
  int             ahead = 4, changes = 3;
  // An iteration in the loop takes some microseconds more than the same kernels one after the other. Beyond what is
  // needed it takes all its time.
  void            took(int its)
  {
    const int wanted = std::min(its, max_ahead);
    if (!its || (its >= ahead && its <= 2 * ahead) || wanted == ahead || !changes) return;
    --changes, ahead = wanted;
  }
  void            forget() { fingerprint = 0; } // memory is new, even where its address is the old one
#else
  void            forget() { }
  void            took(int) { }
#endif
  template <class T> struct Fields { // of M, two planes each
    T      *z, *rhs;
    View<T> zv, rv;
  };
  template <class T> Fields<T> fields(Plan &plan, BlackField &r);
  void iterate(Plan &plan, std::vector<BlackField> &null, BlackField &r, BlackField &x);
  template <class M>
  void precondition(Plan &plan, M &method, std::vector<BlackField> &null, BlackField &r, double *rz);
  template <class T> void multiply(Plan &plan, BlackField &r, double *own);
  template <class T> void update(Plan &plan, BlackField &r, BlackField &x, double *own);
  void launch_each(Plan &plan, std::vector<BlackField> &null, BlackField &r, BlackField &x);
  void launch(Plan &plan, std::vector<BlackField> &null, BlackField &r, BlackField &x);
  template <class Check>
  void launch_graph(Plan &plan, std::vector<BlackField> &null, BlackField &r, BlackField &x, const Check &check);
  #ifdef __CUDACC__
  uint64_t addresses(Plan &plan, std::vector<BlackField> &null, BlackField &r, BlackField &x) const;
  template <class Check, class Record> void record_graph(const Check &check, const Record &record);
  template <class Check, class Record> void record_loop(cudaGraph_t g, cudaGraphConditionalHandle loop,
                                                        cudaGraph_t *same, const Check &check, const Record &record);
  #endif
  // Several processes whose devices do not reach each other, or whose cycle needs the host
  bool   driven(Plan &plan) const;
  double total(const Grid &grid);
  template <class M> void drive(Plan &plan, M &method, std::vector<BlackField> &null, BlackField &r, BlackField &x,
                                std::vector<double> &norms);
};

} // namespace tessera::rrb

#endif
