// M = L D L' of repeated red-black factorisation, computed densely from the definition in the papers: choose the red nodes of a
// level, lump, eliminate, and go on; the exact factorisation of the remainder multiplies back to the remainder itself.
//   report 16-06: M. de Jong, C. Vuik, GPU implementation of the RRB-solver, Delft 2016, sections 2.1 to 2.4
#pragma once
#include "dense.hpp"

struct Reference {
  const Problem             &p;
  const tessera::rrb::Params params;
  Matrix                     S, M; // what is still to be eliminated, and L D L' so far
  std::vector<int>           level; // at which a node is eliminated, 0: in the remainder
  bool                       periodic_x, periodic_y;

  // Nodes count from 1 in the papers. Red at odd level k: (i + j) mod 2^((k+1)/2) = 2^((k-1)/2), at even k: j mod 2^(k/2) = 2^(k/2-1).
  static bool red(int k, int i, int j) { return k % 2 ? (i + j) % (1 << (k + 1) / 2) == 1 << (k - 1) / 2 : j % (1 << k / 2) == 1 << (k / 2 - 1); }

  // Down to one node in a direction, or two in a periodic one; an odd size is periodic no more.
  static int maximum_levels(int nx, int ny, bool px = false, bool py = false)
  {
    int l = 0;
    for (; nx > 1 && ny > 1 && !(px && nx == 2) && !(py && ny == 2); nx /= 2, ny /= 2, px = px && nx % 2 == 0, py = py && ny % 2 == 0) l += 2;
    return l;
  }

  Reference(const Problem &problem, const tessera::rrb::Params &prm, int levels) :
    p(problem), params(prm), S(problem.dense()), M(S.n), level((size_t)S.n), periodic_x(problem.periodic_x), periodic_y(problem.periodic_y)
  {
    levels = std::min(levels, maximum_levels(p.nx, p.ny, p.periodic_x, p.periodic_y));
    for (int k = 1; k <= levels; ++k) {
      std::vector<int> reds, blacks;
      for (int v = 0; v < S.n; ++v)
        if (!level[(size_t)v]) (red(k, v % p.nx + 1, v / p.nx + 1) ? reds : blacks).push_back(v);
      if (params.coarsening == tessera::rrb::Coarsening::rhombus) rhombus(k, reds, blacks);
      lump(reds);
      if (params.lump_all) lump(blacks);
      eliminate(k, reds, blacks);
      if (k % 2 == 0) {
        cut(blacks, p.nx >> k / 2, k / 2, periodic_x, true);
        cut(blacks, p.ny >> k / 2, k / 2, periodic_y, false);
      }
    }
    for (int i = 0; i < S.n; ++i)
      for (int j = 0; j < S.n; ++j)
        if (!level[(size_t)i] && !level[(size_t)j]) M(i, j) += S(i, j);
  }

  // (2.12), (2.13): couplings within the set go to the diagonals, times omega.
  void lump(const std::vector<int> &set)
  {
    for (int i : set)
      for (int j : set)
        if (i != j && S(i, j) != 0) {
          S(i, i) += params.omega * S(i, j);
          S(i, j) = 0;
        }
  }

  struct Eliminated {
    double           d;
    std::vector<int> nodes; // its neighbours,
    std::vector<double> a;  // and the couplings
  };
  std::vector<Eliminated> last; // the red nodes of the level before

  void eliminate(int k, const std::vector<int> &reds, const std::vector<int> &blacks)
  {
    last.clear();
    for (int r : reds) {
      Eliminated e;
      e.d = S(r, r);
      for (int b : blacks)
        if (S(b, r) != 0) {
          e.nodes.push_back(b);
          e.a.push_back(S(b, r));
        }
      M(r, r) += e.d; // the column of L is (1, a / d)
      for (size_t i = 0; i < e.a.size(); ++i) {
        M(e.nodes[i], r) += e.a[i];
        M(r, e.nodes[i]) += e.a[i];
        for (size_t j = 0; j < e.a.size(); ++j) {
          const double f = e.a[i] * e.a[j] / e.d;
          M(e.nodes[i], e.nodes[j]) += f;
          S(e.nodes[i], e.nodes[j]) -= f;
        }
      }
      level[(size_t)r] = k;
      last.push_back(e);
    }
  }

  // A periodic direction that becomes odd is cut: couplings over the seam go to the diagonals.
  void cut(const std::vector<int> &nodes, int n, int shift, bool &periodic, bool x)
  {
    if (!periodic || n % 2 == 0 || n == 1) return;
    periodic = false;
    for (int i : nodes)
      for (int j : nodes) {
        const int d = x ? i % p.nx - j % p.nx : i / p.nx - j / p.nx;
        if (std::abs(d) > (1 << shift) && S(i, j) != 0) {
          S(i, i) += S(i, j);
          S(i, j) = 0;
        }
      }
  }

  // k v v' with v = 1 at the kept nodes and -1 at r1 and r2 cancels the coupling -k of r1 and r2.
  static void add(Matrix &delta, double k, int r1, int r2, const std::vector<int> &kept)
  {
    std::vector<int> nodes = kept;
    nodes.push_back(r1);
    nodes.push_back(r2);
    for (int i : nodes)
      for (int j : nodes) delta(i, j) += ((i == r1 || i == r2) == (j == r1 || j == r2) ? k : -k);
  }

  void rhombus(int k, const std::vector<int> &reds, const std::vector<int> &blacks)
  {
    Matrix delta(S.n);
    if (k % 2) { // diagonal couplings of a straight 9-point operator: both other corners of the cell must be coupled to both ends
      for (int r1 : reds)
        for (int r2 : reds) {
          if (r2 <= r1 || !(S(r1, r2) < 0)) continue;
          const int p1 = r1 % p.nx + p.nx * (r2 / p.nx), p2 = r2 % p.nx + p.nx * (r1 / p.nx);
          if (S(r1, p1) * S(r1, p2) > 0 && S(r2, p1) * S(r2, p2) > 0) add(delta, -S(r1, r2), r1, r2, {p1, p2});
        }
    } else { // the coupling over a node of the level before; a missing kept node counts as zero where that node's row sum is positive
      std::vector<char> is_red((size_t)S.n);
      for (int r : reds) is_red[(size_t)r] = 1;
      for (const Eliminated &e : last) {
        std::vector<int>    ends, kept;
        std::vector<double> a;
        double              sum = e.d;
        for (size_t i = 0; i < e.a.size(); ++i) {
          sum += e.a[i];
          if (is_red[(size_t)e.nodes[i]]) {
            ends.push_back(e.nodes[i]);
            a.push_back(e.a[i]);
          } else kept.push_back(e.nodes[i]);
        }
        if (ends.size() == 2 && a[0] * a[1] > 0 && (kept.size() == 2 || sum > 0.05 * e.d)) add(delta, a[0] * a[1] / e.d, ends[0], ends[1], kept);
      }
    }
    (void)blacks;
    for (size_t i = 0; i < S.a.size(); ++i) {
      const double v = S.a[i] + delta.a[i];
      S.a[i]         = delta.a[i] != 0 && std::fabs(v) < 1e-14 * std::fabs(delta.a[i]) ? 0 : v;
    }
  }
};

inline std::string name(const Problem &p, const tessera::rrb::Params &q)
{
  return std::to_string(p.nx) + " x " + std::to_string(p.ny) + (p.nine ? " 9-point" : " 5-point") + (p.periodic_x ? " periodic x" : "") + (p.periodic_y ? " periodic y" : "") +
         (p.dead > 0 ? " mask" : "") + ", levels " + std::to_string(q.levels) + (q.coarsening == tessera::rrb::Coarsening::rhombus ? " rhombus" : "") + " omega " + std::to_string(q.omega) +
         (q.lump_all ? " all" : "") + ", grids " + std::to_string(q.grids) + (q.single ? " single" : "");
}
