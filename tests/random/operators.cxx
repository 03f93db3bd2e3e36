// Operators of random cases: on grids, on clouds of nodes, dense; and what spoils them.
#include "random.hpp"
#include <algorithm>

double Hash(long seed, long a, long b)
{
  Draw d(seed * 1000003 + a * 7919 + b * 104729);
  return d.number();
}

std::vector<long double> Operator::times(const std::vector<double> &x, bool transposed, bool magnitudes) const
{
  std::vector<long double> y(n, 0);
  for (int i = 0; i < n; ++i)
    for (auto &e : row[i]) {
      const long double p = (long double)e.second * x[transposed ? i : e.first];
      y[transposed ? e.first : i] += magnitudes ? std::fabs(p) : p;
    }
  return y;
}

double Operator::entry(int i, int j) const
{
  for (auto &e : row[i])
    if (e.first == j) return e.second;
  return 0;
}

Grid DrawGrid(Case &c, int dim, int most)
{
  Grid g;
  g.dim = dim;
  g.box = c.draw.chance(0.4);
  for (int d = 0; d < dim; ++d) {
    g.n[d]        = c.draw.chance(0.2) ? c.draw.between(1, 4) : c.draw.between(3, most);
    g.periodic[d] = c.draw.chance(0.15) && g.n[d] > 2;
  }
  // processes that find a node each along their direction
  std::vector<std::vector<int>> ways;
  for (int x = 1; x <= c.size; ++x)
    for (int y = 1; y <= c.size; ++y)
      for (int z = 1; z <= c.size; ++z)
        if (x * y * z == c.size && x <= g.n[0] && y <= g.n[1] && z <= g.n[2]) ways.push_back({x, y, z});
  if (ways.empty()) {
    g.n[0] = std::max(g.n[0], c.size);
    ways.push_back({c.size, 1, 1});
  }
  const auto &w = ways[c.draw.below((int)ways.size())];
  for (int d = 0; d < 3; ++d) g.processes[d] = w[d];
  c.say("%d x %d x %d%s%s%s%s on %d x %d x %d processes", g.n[0], g.n[1], g.n[2], g.box ? " box" : "",
        g.periodic[0] ? " px" : "", g.periodic[1] ? " py" : "", g.periodic[2] ? " pz" : "", w[0], w[1], w[2]);
  return g;
}

// Conductances over some decades, Dirichlet or Neumann sides, reaction; Dirichlet rows, one-sided or not.
Operator GridOperator(Case &c, const Grid &g)
{
  Operator     a;
  const int    kind = c.draw.below(5), sides = c.draw.below(3);
  const double decades  = c.draw.chance(0.5) ? 0 : c.draw.number() * c.draw.of({2, 4, 8});
  const double reaction = c.draw.chance(0.5) ? 0 : std::pow(10, -6 * c.draw.number());
  const double fixed    = c.draw.chance(0.7) ? 0 : 0.3 * c.draw.number();
  const bool   onesided = c.draw.chance(0.3), nine = g.box && c.draw.chance(0.7);
  const long   seed = c.draw.below(1 << 30);
  a.n               = g.n[0] * g.n[1] * g.n[2];
  a.decades         = decades;
  a.reaction        = reaction;
  a.row.resize(a.n);
  auto coefficient = [&](const int *i, const int *j) {
    const long p = i[0] + 1000l * i[1] + 1000000l * i[2], q = j[0] + 1000l * j[1] + 1000000l * j[2];
    const int  d = i[0] != j[0] ? 0 : i[1] != j[1] ? 1 : 2;
    double     u = 0.5;
    if (kind == 1) u = Hash(seed, std::min(p, q), std::max(p, q)); // each edge
    if (kind == 2) u = d ? 0 : 1;                                  // anisotropy
    if (kind == 3)
      u = (i[0] / 3 + i[1] / 3 + i[2] / 3) % 2 != (j[0] / 3 + j[1] / 3 + j[2] / 3) % 2
          ? 0.1
          : (i[0] / 3 + i[1] / 3 + i[2] / 3) % 2;         // blocks
    if (kind == 4) u = Hash(seed, std::min(p, q) / 4, 5); // strips
    return std::pow(10, decades * (u - 0.5));
  };
  auto is_fixed = [&](int k) { return fixed > 0 && Hash(seed, k, -3) < fixed; };
  bool tied     = reaction > 0;
  int  i[3];
  for (i[2] = 0; i[2] < g.n[2]; ++i[2])
    for (i[1] = 0; i[1] < g.n[1]; ++i[1])
      for (i[0] = 0; i[0] < g.n[0]; ++i[0]) {
        const int me       = i[0] + g.n[0] * (i[1] + g.n[1] * i[2]);
        double    diagonal = reaction;
        if (is_fixed(me)) {
          a.row[me].push_back({me, 2});
          tied = true;
          continue;
        }
        for (int o = 0; o < 27; ++o) {
          const int step[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};
          int       j[3], far = 0, outside = 0, there = 0;
          for (int d = 0; d < 3; ++d) {
            j[d] = i[d] + step[d];
            far += step[d] != 0;
            if (d >= g.dim && step[d]) outside = 2;
            if (j[d] < 0 || j[d] >= g.n[d]) {
              if (g.periodic[d]) j[d] = (j[d] + g.n[d]) % g.n[d];
              else outside = outside ? outside : 1;
            }
          }
          if (!far || (far > 1 && !nine) || outside == 2) continue;
          if (outside) {
            if (far == 1 && (sides == 0 || (sides == 1 && step[0]))) diagonal += coefficient(i, i), tied = true;
            continue;
          }
          there          = j[0] + g.n[0] * (j[1] + g.n[1] * j[2]);
          const double w = coefficient(i, j) * (far > 1 ? 0.25 : 1);
          diagonal += w;
          if (is_fixed(there) && !onesided) continue;
          a.row[me].push_back({there, -w});
        }
        a.row[me].push_back({me, diagonal > 0 ? diagonal : 1});
      }
  a.singular  = !tied; // or has parts that nothing ties: such problems are known by their small pivots, below
  a.symmetric = !(onesided && fixed > 0);
  if (fixed > 0 && reaction == 0) a.singular = true; // fixed nodes may cut off others
  if (a.n > 1 && decades > 5) a.definite = false;    // but for rounding
  c.say("kind %d over %.1f decades, sides %d, reaction %.1e, fixed %.2f%s%s", kind, decades, sides, reaction, fixed,
        onesided ? " one-sided" : "", nine ? ", all neighbors" : "");
  return a;
}

Operator DenseOperator(Case &c, int n)
{
  Operator   a;
  const int  kind = c.draw.below(3);
  const long seed = c.draw.below(1 << 30);
  a.n             = n;
  a.row.resize(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double v = kind == 0 ? (i == j ? 2. : 0.) + 1. / (1 + std::abs(i - j))
                           : (Hash(seed, std::min(i, j), std::max(i, j)) - 0.5);
      if (kind == 1 && i == j) v = 0.6 * n + 1;
      if (kind == 2) { // B'B + 1
        v = i == j;
        for (int k = 0; k < n; ++k) v += (Hash(seed, k, i) - 0.5) * (Hash(seed, k, j) - 0.5);
      }
      a.row[i].push_back({j, v});
    }
  c.say("dense %d, kind %d", n, kind);
  return a;
}

// Nodes at random places; each is tied to its nearest ones.
Operator CloudOperator(Case &c, int nodes, int dim, int bs, std::vector<double> &x)
{
  Operator     a;
  const long   seed     = c.draw.below(1 << 30);
  const double decades  = c.draw.chance(0.6) ? 0 : 4 * c.draw.number(),
               reaction = c.draw.chance(0.4) ? 0 : std::pow(10, -6 * c.draw.number());
  const int shape = c.draw.below(5), near = 2 * dim;
  x.resize((size_t)nodes * dim);
  for (int p = 0; p < nodes; ++p)
    for (int d = 0; d < dim; ++d) {
      double t = Hash(seed, p, d);
      if (shape == 1) t = std::pow(t, 6);        // graded
      if (shape == 2) t = std::floor(5 * t) / 5; // several at one place
      if (shape == 3) t = 1e6 + 1e-3 * t;        // far from the origin
      if (shape == 4 && d) t *= 1e-6;            // flat
      x[(size_t)p * dim + d] = t;
    }
  a.n       = nodes * bs;
  a.decades  = decades;
  a.reaction = reaction;
  a.row.resize(a.n);
  std::vector<std::vector<double>> w(nodes, std::vector<double>(nodes, 0));
  for (int p = 0; p < nodes; ++p) {
    std::vector<std::pair<double, int>> far;
    for (int q = 0; q < nodes; ++q) {
      double s = 0;
      for (int d = 0; d < dim; ++d) s += std::pow(x[(size_t)p * dim + d] - x[(size_t)q * dim + d], 2);
      if (q != p) far.push_back({s, q});
    }
    std::sort(far.begin(), far.end());
    for (int k = 0; k < std::min(near, (int)far.size()); ++k) {
      const int q = far[k].second;
      w[p][q] = w[q][p] = std::pow(10, decades * (Hash(seed, std::min(p, q), std::max(p, q)) - 0.5));
    }
  }
  const bool tied = reaction > 0 || c.draw.chance(0.8);
  for (int p = 0; p < nodes; ++p)
    for (int k = 0; k < bs; ++k) {
      double diagonal = reaction + (tied && p % 7 == 0 ? 1 : 0);
      for (int q = 0; q < nodes; ++q)
        if (w[p][q] > 0) {
          diagonal += w[p][q];
          a.row[p * bs + k].push_back({q * bs + k, -w[p][q]});
        }
      for (int l = 0; l < bs; ++l)
        if (l != k) a.row[p * bs + k].push_back({p * bs + l, 0.01 * reaction});
      a.row[p * bs + k].push_back({p * bs + k, diagonal > 0 ? diagonal : 1});
    }
  a.singular = reaction == 0; // the cloud may have parts that are not tied
  c.say("cloud of %d nodes in %dD, bs %d, shape %d, %.1f decades, reaction %.1e", nodes, dim, bs, shape, decades,
        reaction);
  return a;
}

void Spoil(Case &c, Operator &a)
{
  if (!a.n) return;
  const int what = c.draw.chance(0.7) ? 0 : c.draw.between(1, 8), i = c.draw.below(a.n),
            k = c.draw.below((int)a.row[i].size());
  auto &e     = a.row[i][k];
  auto  scale = [&](double f) {
    for (auto &r : a.row)
      for (auto &v : r) v.second *= f;
  };
  switch (what) {
  case 1:
    e.second = c.draw.of({(double)NAN, (double)INFINITY, -(double)INFINITY});
    a.finite = false;
    c.say("entry %d %d is %g", i, e.first, e.second);
    break;
  case 2:
    e.second *= c.draw.of({1 + 1e-9, 1.001, 3., 0.});
    a.symmetric = a.definite = false;
    c.say("entry %d %d changed", i, e.first);
    break;
  case 3:
    for (auto &v : a.row[i])
      if (v.first == i) v.second *= -1;
    a.definite = false;
    c.say("pivot %d negative", i);
    break;
  case 4: {
    const double f = c.draw.of({1e-100, 1e100, 1e-20, 1e20});
    scale(f);
    a.scaled = true;
    c.say("times %g", f);
    break;
  }
  case 5: {
    const double f = c.draw.of({1e-290, 1e290, 1e-160, 1e160});
    scale(f);
    a.extreme  = true;
    a.definite = false;
    c.say("times %g", f);
    break;
  }
  case 6:
    for (auto &v : a.row[i])
      if (v.first == i) v.second = 0;
    a.definite = false;
    c.say("pivot %d zero", i);
    break;
  case 7:
    for (auto &r : a.row)
      for (auto &v : r) v.second = 0;
    a.definite = false;
    a.singular = true;
    c.say("all zero");
    break;
  case 8: {
    const double f = -1;
    scale(f);
    a.definite = false;
    c.say("negative definite");
    break;
  }
  default:
    break;
  }
}

PetscErrorCode MakeDM(Case &c, const Grid &g, int dof, DM *da)
{
  DMBoundaryType b[3];
  PetscFunctionBeginUser;
  for (int d = 0; d < 3; ++d) b[d] = g.periodic[d] ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  const auto s = g.box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR;
  if (g.dim == 1) PetscCall(DMDACreate1d(c.comm, b[0], g.n[0], dof, 1, NULL, da));
  else if (g.dim == 2)
    PetscCall(
      DMDACreate2d(c.comm, b[0], b[1], s, g.n[0], g.n[1], g.processes[0], g.processes[1], dof, 1, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(c.comm, b[0], b[1], b[2], s, g.n[0], g.n[1], g.n[2], g.processes[0], g.processes[1],
                           g.processes[2], dof, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ToPetsc(DM da, Operator &a)
{
  AO                    ao;
  std::vector<PetscInt> to(a.n);
  PetscFunctionBeginUser;
  for (int i = 0; i < a.n; ++i) to[i] = i;
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOApplicationToPetsc(ao, a.n, to.data()));
  auto rows = a.row;
  for (int i = 0; i < a.n; ++i) {
    for (auto &e : rows[i]) e.first = (int)to[e.first];
    a.row[to[i]] = rows[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Fill(const Operator &a, int bs, Mat A)
{
  PetscInt  first, last;
  PetscBool upper;
  PetscFunctionBeginUser;
  (void)bs;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &upper, MATSEQSBAIJ, MATMPISBAIJ, ""));
  for (PetscInt i = first; i < last; ++i) // one by one: a pair of nodes may be coupled twice, across a period of two
    for (auto &e : a.row[i])
      if (!upper || e.first >= i) PetscCall(MatSetValue(A, i, e.first, e.second, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int Share(Case &c, int n)
{
  std::vector<int> share(c.size, 0);
  const int        way = c.draw.below(3);
  for (int r = 0, left = n; r < c.size; ++r) {
    share[r] = r == c.size - 1 ? left
             : way == 0        ? n / c.size
             : way == 1        ? c.draw.between(0, left)
                               : std::min(left, r ? n : 0);
    left -= share[r];
  }
  return share[c.rank];
}

PetscErrorCode MakeMat(Case &c, const Operator &a, int bs, const char *type, int local, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreate(c.comm, A));
  PetscCall(MatSetSizes(*A, local, local, a.n, a.n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(Fill(a, bs, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode FillVec(Case &, Vec x, const std::function<double(int)> &f)
{
  PetscInt     first, last;
  PetscScalar *v;
  PetscFunctionBeginUser;
  PetscCall(VecGetOwnershipRange(x, &first, &last));
  PetscCall(VecGetArray(x, &v));
  for (PetscInt i = first; i < last; ++i) v[i - first] = f((int)i);
  PetscCall(VecRestoreArray(x, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}
