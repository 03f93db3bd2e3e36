// The blocks of PC auxamg's smoother: which unknowns belong together, and the inverses, on a host and on a device.
#include "auxamg_case.hpp"
#include "tree/clusters.hpp"
#include <algorithm>
#include <climits>

using namespace tessera;
using namespace tessera::tree;

namespace {

StrongCoupling coupling(int strength, int a, int b)
{
  return {strength, a, b};
}
using Lists = std::vector<std::vector<int>>;
Lists lists(const Blocks<int> &blocks)
{
  Lists to;
  for (size_t k = 0; k < blocks.size(); ++k)
    to.emplace_back(blocks.member.begin() + blocks.begin[k], blocks.member.begin() + blocks.begin[k + 1]);
  return to;
}

} // namespace

TEST(auxamg_blocks, strongest_first)
{
  // a chain 0 - 1 - 2 - 3 - 4 whose couplings 1 - 2 and 3 - 4 are the strongest
  const std::vector<StrongCoupling> chain = {coupling(10, 0, 1), coupling(30, 1, 2), coupling(10, 2, 3),
                                             coupling(20, 3, 4)};
  EXPECT_EQ(lists(join_strongly(chain, 5, 2)), (Lists{
                                          {1, 2},
                                          {3, 4}
  }));
  EXPECT_EQ(lists(join_strongly(chain, 5, 3)), (Lists{
                                          {0, 1, 2},
                                          {3, 4 }
  }));
  EXPECT_EQ(lists(join_strongly(chain, 5, 5)), (Lists{
                                          {0, 1, 2, 3, 4}
  }));
  EXPECT_EQ(lists(join_strongly(chain, 5, 1)), Lists{});
  EXPECT_EQ(lists(join_strongly({}, 5, 16)), Lists{});
}

TEST(auxamg_blocks, any_order_and_both_directions)
{
  std::mt19937                random(7);
  std::vector<StrongCoupling> list;
  for (int k = 0; k < 400; ++k) {
    const int a = (int)(random() % 300), b = (int)(random() % 300);
    if (a != b) list.push_back(coupling((int)(random() % 8), a, b));
  }
  const Lists expected = lists(join_strongly(list, 300, max_in_strong_block));
  size_t       members  = 0;
  for (const auto &block : expected) {
    EXPECT_GE(block.size(), 2u);
    EXPECT_LE(block.size(), (size_t)max_in_strong_block);
    members += block.size();
  }
  EXPECT_GT(members, 100u);
  for (size_t k = 0, n = list.size(); k < n; ++k) {
    StrongCoupling back = list[k];
    std::swap(back.a, back.b);
    list.push_back(back);
  }
  std::shuffle(list.begin(), list.end(), random);
  EXPECT_EQ(lists(join_strongly(list, 300, max_in_strong_block)), expected);
}

TEST(auxamg_blocks, inverses)
{
  std::mt19937                           random(3);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int n = 1; n <= max_in_strong_block; ++n) {
    std::vector<double> root((size_t)(n * n)), a(root.size()), inverse;
    for (double &v : root) v = unit(random);
    for (int k = 0; k < n; ++k)
      for (int q = 0; q < n; ++q) {
        a[(size_t)(k * n + q)] = k == q ? 0.1 : 0;
        for (int m = 0; m < n; ++m) a[(size_t)(k * n + q)] += root[(size_t)(k * n + m)] * root[(size_t)(q * n + m)];
      }
    inverse = a;
    invert_block<max_in_strong_block>(inverse.data(), n, dead_pivot<double>);
    for (int k = 0; k < n; ++k)
      for (int q = 0; q < n; ++q) {
        double sum = 0;
        for (int m = 0; m < n; ++m) sum += inverse[(size_t)(k * n + m)] * a[(size_t)(m * n + q)];
        EXPECT_NEAR(sum, k == q, 1e-9);
      }
  }
  double singular[] = {1, -1, -1, 1}; // one of the two is left out
  invert_block<max_in_strong_block>(singular, 2, dead_pivot<double>);
  EXPECT_EQ(singular[0], 1);
  EXPECT_EQ(singular[1], 0);
  EXPECT_EQ(singular[2], 0);
  EXPECT_EQ(singular[3], 0);
}
