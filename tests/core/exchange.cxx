// Values of ghosts on a random graph of nodes and processes, and sums over processes: through the host, and on devices
// also directly, which gives the same bits.
// ranks: 1 2 3 4
#include "dense.hpp"
#include "exec/exchange.hpp"
#include "unit.hpp"
#include <random>

using namespace tessera;

static Space space() { return unit_cuda() ? Space::cuda : Space::host; }

static int rank()
{
  int r;
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  return r;
}

// Own nodes, and ghosts of others in any order, some of them of several processes. The last process has none of either
// where `lonely`.
struct Case {
  int              own = 0;
  std::vector<int> owner, index;
  Exchange         exchange;
  explicit Case(bool lonely)
  {
    std::mt19937     random(7 + (unsigned)rank());
    const int        with = ranks() - (lonely && ranks() > 1);
    const auto       owns = [&](int r) { return r < with ? 11 + 5 * r : 0; };
    std::vector<int> names;
    own = owns(rank());
    for (int r = 0; r < with && rank() < with; ++r)
      for (int p = 0; r != rank() && p < owns(r); ++p)
        if (random() % 3) names.push_back(1000 * r + p);
    std::shuffle(names.begin(), names.end(), random);
    for (int name : names) owner.push_back(name / 1000), index.push_back(name % 1000);
    exchange = Exchange({space()}, Comm(MPI_COMM_WORLD), own, owner, index);
  }
  // Joined where devices write into each other's memory.
  std::shared_ptr<Peers> join(size_t node)
  {
    auto peers = Peers::open({space()}, MPI_COMM_WORLD, exchange.direct_bytes(node));
    if (peers) exchange.join(peers, node);
    return peers;
  }
};

template <class T> static T value(int process, int node, int k, int time)
{
  return (T)((process * 37 + node * 11 + k * 5 + time) % 120);
}

template <class T> static void passes(Case &c, int width, int time)
{
  const size_t n = (c.own + c.owner.size()) * (size_t)width;
  Buffer<T>    host(n), v(Extent{n, space()});
  for (size_t e = 0; e < n; ++e) host.data()[e] = (int)e < c.own * width ? value<T>(rank(), (int)e / width, (int)e % width, time) : (T)121;
  copy(host, v);
  c.exchange.forward(v.data(), width);
  copy(v, host);
  for (size_t g = 0; g < c.owner.size(); ++g)
    for (int k = 0; k < width; ++k)
      ASSERT_EQ(host.data()[(size_t)(c.own + (int)g) * width + k], value<T>(c.owner[g], c.index[g], k, time)) << "ghost " << g << ", number " << k << " of " << width;
}

// What all processes have for a node, added up by its owner.
template <class T> static std::vector<T> sums(Case &c, int width)
{
  const size_t n = (c.own + c.owner.size()) * (size_t)width;
  Buffer<T>    host(n), v(Extent{n, space()});
  for (size_t e = 0; e < n; ++e) host.data()[e] = (T)(1 / (1. + (double)e + 100 * rank()));
  copy(host, v);
  c.exchange.add_back(v.data(), width);
  copy(v, host);
  return std::vector<T>(host.data(), host.data() + c.own * width);
}

static void all_types(Case &c)
{
  for (int time = 0; time < 3; ++time) // messages have two places
    for (int width : {1, 2, 5, 17}) {
      passes<double>(c, width, time);
      passes<float>(c, width, time);
      passes<int>(c, width, time);
      passes<unsigned char>(c, width, time);
    }
}

TEST(Exchange, GhostsAreThoseOfTheirOwners)
{
  for (bool lonely : {false, true}) {
    Case c(lonely);
    all_types(c);
    for (size_t node : {(size_t)8, (size_t)16}) {
      const auto peers = c.join(node);
      EXPECT_EQ(c.exchange.direct(), peers || c.exchange.empty());
      all_types(c);
      c.exchange.leave();
    }
    all_types(c);
  }
}

TEST(Exchange, SumsAreTheSameBitsDirectly)
{
  for (bool lonely : {false, true})
    for (int width : {1, 3}) {
      Case       c(lonely);
      const auto in_double = sums<double>(c, width);
      const auto in_single = sums<float>(c, width);
      const auto peers     = c.join(8);
      EXPECT_EQ(sums<double>(c, width), in_double);
      EXPECT_EQ(sums<float>(c, width), in_single);
    }
}

TEST(DirectSum, IsThatOfAllProcesses)
{
  constexpr int n     = 1000;
  const auto    peers = Peers::open({space()}, MPI_COMM_WORLD, DirectSum::bytes(ranks(), n * sizeof(double)));
  if (!peers) GTEST_SKIP() << "no devices that write into each other's memory";
  DirectSum sum;
  EXPECT_FALSE(sum.fits(8));
  sum.join(peers, Comm(MPI_COMM_WORLD), n * sizeof(double));
  EXPECT_TRUE(sum.fits(n * sizeof(double)));
  for (int time = 0; time < 3; ++time) {
    Buffer<double> host(n), v(Extent{n, space()});
    for (int p = 0; p < n; ++p) host.data()[p] = (1 + rank()) * (p + time);
    copy(host, v);
    sum.sum(v.data(), n);
    copy(v, host);
    for (int p = 0; p < n; ++p) ASSERT_EQ(host.data()[p], ranks() * (ranks() + 1) / 2 * (p + time));
  }
}

// Regions end in any order, and room comes back: 20 MB of 64 six times.
TEST(Peers, RoomComesBack)
{
  std::shared_ptr<Peers> two[2];
  two[0] = Peers::open({space()}, MPI_COMM_WORLD, 20 << 20);
  if (!two[0]) GTEST_SKIP() << "no devices that write into each other's memory";
  for (int k = 1; k < 7; ++k) {
    two[k % 2] = Peers::open({space()}, MPI_COMM_WORLD, 20 << 20);
    ASSERT_TRUE(two[k % 2]) << k;
  }
}
