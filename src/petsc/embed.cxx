#include "petsc/embed.hpp"
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace tessera {

namespace {

constexpr int max_landmarks = 24, max_dim = 3, sweeps = 3;
// a second direction with less than this share of the first one's variance is none;
constexpr double thin           = 0.003;
// nor is a third one with less than these of the second and first one's: distances along couplings bend a plane
constexpr double flat = 0.5, low = 0.05;

struct Links {
  std::vector<int> start, to; // both ways, without the diagonal
  explicit Links(const Pattern &p)
  {
    const int n = p.rows();
    start.assign((size_t)n + 1, 0);
    const auto each = [&](const auto &f) {
      for (int i = 0; i < n; ++i)
        for (int e = p.start[(size_t)i]; e < p.start[(size_t)i + 1]; ++e)
          if (p.column[(size_t)e] != i) f(i, p.column[(size_t)e]), f(p.column[(size_t)e], i);
    };
    each([&](int i, int) { ++start[(size_t)i + 1]; });
    std::partial_sum(start.begin(), start.end(), start.begin());
    to.resize((size_t)start.back());
    std::vector<int> at(start.begin(), start.end() - 1);
    each([&](int i, int j) { to[(size_t)at[(size_t)i]++] = j; });
  }
};

// Distances from one row; the rows that it reaches, the farthest one last.
void reach(const Links &g, int from, std::vector<int> &distance, std::vector<int> &order)
{
  order.assign(1, from);
  distance[(size_t)from] = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    const int i = order[k];
    for (int e = g.start[(size_t)i]; e < g.start[(size_t)i + 1]; ++e)
      if (distance[(size_t)g.to[(size_t)e]] < 0)
        distance[(size_t)g.to[(size_t)e]] = distance[(size_t)i] + 1, order.push_back(g.to[(size_t)e]);
  }
}

// Eigenvectors of a symmetric matrix by Jacobi's rotations, in the columns of v; the matrix becomes diagonal.
void eigenvectors(int n, std::vector<double> &a, std::vector<double> &v)
{
  v.assign((size_t)(n * n), 0);
  for (int i = 0; i < n; ++i) v[(size_t)(i * n + i)] = 1;
  const auto rotate = [&](double &p, double &q, double c, double s) {
    const double t = c * p - s * q;
    q = s * p + c * q, p = t;
  };
  for (int sweep = 0; sweep < 12; ++sweep)
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        const double off = a[(size_t)(p * n + q)];
        if (off == 0) continue;
        const double theta = (a[(size_t)(q * n + q)] - a[(size_t)(p * n + p)]) / (2 * off),
                     t     = (theta < 0 ? -1 : 1) / (std::fabs(theta) + std::sqrt(theta * theta + 1)),
                     c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < n; ++k) rotate(a[(size_t)(k * n + p)], a[(size_t)(k * n + q)], c, s);
        for (int k = 0; k < n; ++k) rotate(a[(size_t)(p * n + k)], a[(size_t)(q * n + k)], c, s);
        for (int k = 0; k < n; ++k) rotate(v[(size_t)(k * n + p)], v[(size_t)(k * n + q)], c, s);
      }
}

// The points of one part; returns how many dimensions it has.
int lay_out(const Links &g, const std::vector<int> &part, std::vector<int> &distance,
            std::vector<std::array<double, max_dim>> &x)
{
  const int                     m = std::min(max_landmarks, (int)part.size());
  std::vector<std::vector<int>> from;
  std::vector<int>              landmarks = {part.back()}, order, nearest((size_t)part.size(), 1 << 30);
  for (int l = 0; l < m; ++l) { // the next one is the farthest from those before
    for (int i : part) distance[(size_t)i] = -1;
    reach(g, landmarks.back(), distance, order);
    from.emplace_back();
    size_t far = 0;
    for (size_t k = 0; k < part.size(); ++k) {
      from.back().push_back(distance[(size_t)part[k]]);
      nearest[k] = std::min(nearest[k], from.back().back());
      if (nearest[k] > nearest[far]) far = k;
    }
    landmarks.push_back(part[far]);
  }
  std::vector<double> mean((size_t)m, 0), b((size_t)(m * m)), v;
  double              all = 0;
  std::vector<int>    place((size_t)m);
  for (size_t p = 0; p < part.size(); ++p)
    for (int l = 0; l < m; ++l)
      if (part[p] == landmarks[(size_t)l]) place[(size_t)l] = (int)p;
  for (int k = 0; k < m; ++k)
    for (int l = 0; l < m; ++l) {
      const double d = from[(size_t)k][(size_t)place[(size_t)l]];
      b[(size_t)(k * m + l)] = d * d;
      mean[(size_t)l] += d * d / m;
    }
  for (double d : mean) all += d / m;
  for (int k = 0; k < m; ++k)
    for (int l = 0; l < m; ++l)
      b[(size_t)(k * m + l)] = -0.5 * (b[(size_t)(k * m + l)] - mean[(size_t)k] - mean[(size_t)l] + all);
  eigenvectors(m, b, v);
  std::vector<int> largest((size_t)m);
  std::iota(largest.begin(), largest.end(), 0);
  const auto value = [&](int k) { return b[(size_t)(k * m + k)]; };
  std::sort(largest.begin(), largest.end(), [&](int k, int l) { return value(k) > value(l); });
  int dim = 0;
  for (double least = 0; dim < std::min(max_dim, m) && value(largest[(size_t)dim]) > least; ++dim)
    least = dim ? std::max(flat * value(largest[1]), low * value(largest[0])) : thin * value(largest[0]);
  for (size_t p = 0; p < part.size(); ++p)
    for (int q = 0; q < max_dim; ++q) {
      double       sum = 0;
      const int    k   = q < dim ? largest[(size_t)q] : 0;
      for (int l = 0; q < dim && l < m; ++l) {
        const double d = from[(size_t)l][p];
        sum += v[(size_t)(l * m + k)] * (d * d - mean[(size_t)l]);
      }
      x[(size_t)part[p]][(size_t)q] = q < dim ? -0.5 * sum / std::sqrt(value(k)) : 0;
    }
  // Distances are whole numbers: means with the neighbours tell apart what they do not.
  for (int s = 0; s < sweeps; ++s)
    for (int i : part) {
      std::array<double, max_dim>  sum   = {};
      const int                    first = g.start[(size_t)i], last = g.start[(size_t)i + 1];
      for (int e = first; e < last; ++e)
        for (size_t q = 0; q < max_dim; ++q) sum[q] += x[(size_t)g.to[(size_t)e]][q];
      for (size_t q = 0; q < max_dim && last > first; ++q)
        x[(size_t)i][q] = 0.5 * (x[(size_t)i][q] + sum[q] / (last - first));
    }
  return std::max(dim, 1);
}

} // namespace

void coordinates_of_graph(const Pattern &pattern, int *dim, std::vector<double> &x)
{
  const Links                               g(pattern);
  const int                                 n = pattern.rows();
  std::vector<int>                          distance((size_t)n, -1), part;
  std::vector<std::array<double, max_dim>>  points((size_t)n);
  double                                    right = 0;
  *dim = 1;
  for (int i = 0; i < n; ++i) {
    if (distance[(size_t)i] >= 0) continue;
    reach(g, i, distance, part);
    points[(size_t)i] = {};
    if (part.size() > 1) *dim = std::max(*dim, lay_out(g, part, distance, points));
    double low = points[(size_t)i][0], high = low;
    for (int p : part) low = std::min(low, points[(size_t)p][0]), high = std::max(high, points[(size_t)p][0]);
    for (int p : part) points[(size_t)p][0] += right - low;
    right += high - low + 1;
  }
  x.clear();
  for (const auto &p : points) x.insert(x.end(), p.begin(), p.begin() + *dim);
}

} // namespace tessera
