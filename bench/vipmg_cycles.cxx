// Times of multigrid with bounds without PETSc around it: setup, full multigrid and cycles to a reduction of 1e-8 of the obstacle
// problem of a ball (-2,2)^2 from max(0, obstacle), and of the dam of Brandt and Cryer; of the ball, too, where the membrane is a thousand times as
// stiff along x as along y in its left half, and the reverse in the right one, which takes sweeps by lines. `make vipmg-cycles` builds it and
// prints where it is.
//
//   vipmg_cycles host|cuda ball|dam|layers n [v|f] [repetitions]
#include "vipmg/linear_problem.hpp"
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace tessera;
using namespace tessera::vipmg;

static double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

static double ball(double r)
{
  const double r0 = 0.9, p0 = std::sqrt(1 - r0 * r0);
  return r <= r0 ? std::sqrt(1 - r * r) : p0 - r0 / p0 * (r - r0);
}

int main(int argc, char **argv)
{
  if (argc < 4) return printf("vipmg_cycles host|cuda ball|dam|layers n [v|f] [repetitions]\n"), 1;
  MPI_Init(&argc, &argv);
  const bool there = !strcmp(argv[1], "cuda"), dam = !strcmp(argv[2], "dam"), layers = !strcmp(argv[2], "layers");
  const int  n = atoi(argv[3]), repeat = argc > 5 ? atoi(argv[5]) : 3;
  const int  size[3] = {n, dam ? (n - 1) * 3 / 2 + 1 : n, 1}, m = size[1];
  const bool periodic[3] = {false, false, false};
  Box3       all;
  for (int d = 0; d < 3; ++d) all.hi[d] = size[d];
  {
    Plan          plan;
    BoxProblem problem(plan);
    plan.exec.space   = there ? Space::cuda : Space::host;
    plan.params.cycle = argc > 4 && argv[4][0] == 'v' ? Cycle::v : Cycle::f;
    create(plan, MPI_COMM_WORLD, 2, size, periodic, {all}, false);
    Level       &l = plan.levels[0];
    const size_t plane = l.layout.size(), nodes = (size_t)n * (size_t)m;
    const double x0 = dam ? 0 : -2, width = dam ? 16 : 4, hx = width / (n - 1), hy = (dam ? 24. : 4.) / (m - 1), cx = hy / hx, cy = hx / hy;
    const auto   edge = [&](int i, int j) { return i == 0 || j == 0 || i == n - 1 || j == m - 1; };
    const auto   data = [&](int i, int j) {
      const double x = x0 + i * hx, y = x0 + j * hy, r = std::hypot(x, y);
      if (!dam) return -0.680259411891719 * std::log(r) + 0.471519893402112;
      if (i == 0) return 0.5 * (24 - y) * (24 - y);
      if (i == n - 1) return y <= 4 ? 0.5 * (4 - y) * (4 - y) : 0.;
      if (j == m - 1) return 0.;
      return 288 - (576 - 16) * x / 32;
    };
    {
      Buffer<double>  a(5 * plane);
      Buffer<uint8_t> free(plane);
      Buffer<double>  field[4];
      for (Buffer<double> &f : field) f.resize(nodes); // F, X, XL, XU
      for (int j = 0; j < m; ++j)
        for (int i = 0; i < n; ++i) {
          const ptrdiff_t e = l.layout.at(i, j, 0), q = i + (ptrdiff_t)n * j;
          double         *c = a.data() + e;
          const bool      d = edge(i, j);
          free.data()[e]    = !d;
          const double    along_y = layers && i < n / 2 ? 1e-3 * cy : cy, before = layers && i > n / 2 ? 1e-3 * cx : cx, behind = layers && i >= n / 2 ? 1e-3 * cx : cx;
          c[0]              = d ? 1 : before + behind + 2 * along_y;
          const auto at = [&](int i2, int j2) { return dam ? 0 : std::fmax(0., ball(std::hypot(x0 + i2 * hx, x0 + j2 * hy))); }; // the start
          const auto couple = [&](int k, int i2, int j2, double w, double &f) {
            if (edge(i2, j2)) f -= w * data(i2, j2);
            else c[(size_t)k * plane] = -w, f -= w * at(i2, j2);
          };
          double     f  = dam ? hx * hy : 0;
          if (d) f = at(i, j) - data(i, j);
          else f += c[0] * at(i, j), couple(1, i - 1, j, before, f), couple(2, i + 1, j, behind, f), couple(3, i, j - 1, along_y, f), couple(4, i, j + 1, along_y, f);
          field[0].data()[q] = f;
          field[1].data()[q] = at(i, j);
          field[2].data()[q] = d ? -INFINITY : dam ? 0 : ball(std::hypot(x0 + i * hx, x0 + j * hy));
          field[3].data()[q] = INFINITY;
        }
      Buffer<double> there_[4];
      for (int k = 0; k < 4; ++k) {
        there_[k].resize(Extent{nodes, plan.exec.space});
        copy(field[k], there_[k]);
      }
      copy(a.data(), Space::host, l.A.a.data(), l.A.a.space(), a.size());
      copy(free.data(), Space::host, l.free.data(), l.free.space(), free.size());
      problem.load(there_[0].data(), there_[1].data(), there_[2].data(), there_[3].data());
      if (there) device::synchronize();
    }
    const auto wait = [&] {
      if (there) device::synchronize();
      return seconds();
    };
    double t = wait();
    build(plan);
    const double first = wait() - t;
    t                  = wait();
    build(plan);
    printf("%s %s %d x %d, %zu grids, %.2f GB; setup %.4f s, again %.4f s\n", argv[1], argv[2], n, m, plan.levels.size(), plan.bytes() * 1e-9, first, wait() - t);
    for (int k = 0; k < repeat; ++k) {
      l.x.zero();
      problem.forget();
      problem.restart();
      // the norm of the start between the bounds
      smooth(plan, l, l.A, l.x.data(), l.b.data(), {true, false}, 0);
      const double f0 = std::sqrt(measure(plan, l).inactive);
      double       begin = wait(), last = 1;
      problem.full_multigrid();
      const double fmg   = wait() - begin;
      bool         climb = true;
      printf("full multigrid %.4f s;", fmg);
      int cycles = 0;
      while (cycles < 20) {
        const double c = seconds();
        const Measure q   = problem.cycle(climb, true);
        const double  now = std::sqrt(q.inactive) / f0;
        ++cycles;
        printf(" %.1e (%.4f s%s)", now, seconds() - c, climb ? "" : ", newton");
        climb = q.changed > 1e-5 * (double)nodes || now > 0.5 * last;
        last  = now;
        if (now < 1e-8) {
          printf("; %d cycles, active %.0f", cycles, q.lower);
          break;
        }
      }
      printf("; %.4f s in all\n", wait() - begin);
    }
  }
  MPI_Finalize();
  return 0;
}
