// The cycle on the algebraic levels: a sweep of Gauss-Seidel forwards before the next level and one backwards after
// it. From zero the former needs the entries before the diagonal alone, the residual after it those behind it: a
// matrix is read twice.
#include "rrb/algebraic/algebraic.hpp"
#include <algorithm>

namespace tessera::rrb {

size_t AlgebraicLevel::bytes() const
{
  size_t sum = a.bytes() + inverse.bytes() + more.bytes() + strong.bytes() + p.bytes() + x.bytes() + b.bytes() +
               (distribution ? distribution->bytes() : 0);
  for (const Buffer<int> *f : {&i, &j, &diagonal, &coarse, &pi, &pj, &ri, &rj, &rp}) sum += f->bytes();
  return sum;
}

size_t Algebraic::bytes() const
{
  size_t sum = last_.bytes();
  for (const AlgebraicLevel &l : levels_) sum += l.bytes();
  return sum;
}

int Algebraic::below() const
{
  int number = 0;
  for (size_t k = 1; k < levels_.size(); ++k) number += !levels_[k].gathered();
  return number;
}

const AlgebraicLevel &Algebraic::below(int number) const
{
  size_t k = 0;
  while (number > 0) number -= !levels_[++k].gathered();
  return levels_[k];
}

double Algebraic::entries() const
{
  double sum = 0;
  for (size_t k = 1; k < levels_.size(); ++k)
    if (!levels_[k].gathered()) sum += levels_[k].entries;
  return sum;
}

// A matrix entry or weight is 12 B and is read twice; rows and vectors take about 60.
double Algebraic::bytes_moved() const
{
  double sum = 2 * (double)last_.bytes();
  for (const AlgebraicLevel &l : levels_) sum += 24 * l.weights + (l.gathered() ? 0 : 60 * l.nodes);
  sum += 24 * entries() - 44 * levels_[0].nodes; // the finest level's rows are not read, but for their weights
  return sum;
}

void Algebraic::restrict_rows(int begin, int end)
{
  const AlgebraicLevel &l = levels_[0];
  AlgebraicLevel       &next = levels_[1];
  const int *const      pi = l.pi.data(), *const pj = l.pj.data();
  const double *const   p = l.p.data(), *const b = l.b.data();
  double *const         to = next.b.data();
  if (!begin) next.b.zero();
  for (int r = begin; r < end; ++r)
    for (int q = pi[r]; q < pi[r + 1]; ++q) to[pj[q]] += p[q] * b[r];
}

void Algebraic::forwards(AlgebraicLevel &l) const // from zero
{
  const int *const    i = l.i.data(), *const j = l.j.data(), *const middle = l.diagonal.data();
  const double *const a = l.a.data(), *const b = l.b.data();
  double *const       x = l.x.data();
  for (int r = 0; r < l.n; ++r) {
    double s = b[r];
    for (int e = i[r]; e < middle[r]; ++e) s -= a[e] * x[j[e]];
    x[r] = s * l.inverse.data()[r];
  }
}

void Algebraic::backwards(AlgebraicLevel &l) const
{
  const int *const    i = l.i.data(), *const j = l.j.data();
  const double *const a = l.a.data(), *const b = l.b.data();
  double *const       x = l.x.data();
  for (int r = l.n - 1; r >= 0; --r) {
    double s = b[r];
    for (int e = i[r]; e < i[r + 1]; ++e) s -= a[e] * x[j[e]];
    x[r] += s * l.inverse.data()[r];
  }
}

// Right-hand sides of ghosts are parts of their owners'; the solution is right there, too.
void Algebraic::cycle(size_t k)
{
  AlgebraicLevel &l = levels_[k];
  double *const   x = l.x.data(), *const b = l.b.data();
  const auto reduce = [&] {
    if (l.distribution) l.distribution->ghosts.forward(x, 1);
  };
  if (l.distribution) l.distribution->ghosts.add_back(b, 1);
  if (l.gathered()) {
    const AlgebraicDistribution &s = *l.distribution;
    MPI_Allgatherv(b, l.n, MPI_DOUBLE, levels_[k + 1].b.data(), s.nodes.data(), s.first_node.data(), MPI_DOUBLE,
                   s.comm);
    cycle(k + 1);
    const double *const all = levels_[k + 1].x.data();
    for (int v = 0; v < l.n + l.ghosts(); ++v) x[v] = all[s.first_node[(size_t)s.process(v)] + s.owner_number(v)];
    return;
  }
  if (k + 1 == levels_.size() && !loose_) {
    std::copy(b, b + l.n, x);
    return last_.solve(x);
  }
  forwards(l);
  reduce();
  if (k + 1 < levels_.size()) {
    AlgebraicLevel     &next = levels_[k + 1];
    const int *const    i = l.i.data(), *const j = l.j.data(), *const middle = l.diagonal.data();
    const int *const    pi = l.pi.data(), *const pj = l.pj.data();
    const double *const a = l.a.data(), *const p = l.p.data(), *const more = l.distribution ? l.more.data() : nullptr;
    double *const       to = next.b.data();
    next.b.zero();
    for (int r = 0; r < l.n; ++r) { // the residual, where it is not zero
      double s = more ? more[r] * x[r] : 0;
      for (int e = middle[r] + 1; e < i[r + 1]; ++e) s -= a[e] * x[j[e]];
      for (int q = pi[r]; q < pi[r + 1]; ++q) to[pj[q]] += p[q] * s;
    }
    cycle(k + 1);
    const double *const from = next.x.data();
    for (int r = 0; r < l.n; ++r) {
      double s = 0;
      for (int q = pi[r]; q < pi[r + 1]; ++q) s += p[q] * from[pj[q]];
      x[r] += s;
    }
    reduce();
  }
  backwards(l);
  reduce();
}

} // namespace tessera::rrb
