#include "tree/smoother/clusters.hpp"
#include "exec/clusters.hpp"
#include "exec/gather.hpp"
#include "tree/smoother/blocks.hpp"
#include <algorithm>

namespace tessera::tree {

NamedBlocks join_named(const std::vector<NamedCoupling> &list, int max_size)
{
  std::vector<Named> all;
  for (const NamedCoupling &c : list) all.insert(all.end(), c.end, c.end + 2);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto number = [&](const Named &u) { return (int)(std::lower_bound(all.begin(), all.end(), u) - all.begin()); };
  WeightedPairs pairs;
  for (Buffer<int> *of : {&pairs.strength, &pairs.a, &pairs.b}) of->resize(list.size());
  for (size_t k = 0; k < list.size(); ++k) {
    pairs.strength.data()[k] = list[k].strength;
    pairs.a.data()[k]        = number(list[k].end[0]);
    pairs.b.data()[k]        = number(list[k].end[1]);
  }
  const Clusters of = join_strongest({}, pairs, (int)all.size(), max_size);
  NamedBlocks    blocks;
  blocks.begin.assign(of.begin.data(), of.begin.data() + of.begin.size());
  for (size_t k = 0; k < of.member.size(); ++k) blocks.member.push_back(all[(size_t)of.member.data()[k]].name);
  return blocks;
}

// next: of each process, how many of its unknowns others need
void SharedBlocks::add(const long long *of, int n, int rank, const std::map<long long, int> &columns,
                       std::vector<int> &next)
{
  const bool mine = std::any_of(of, of + n, [&](long long u) { return process_of(u) == rank; });
  for (int q = 0; q < n; ++q) {
    const int  process = process_of(of[q]), slot = next[(size_t)process]++;
    const bool own = process == rank;
    if (own) {
      needed.push_back((int)row.size());
      row.push_back(number_of(of[q]));
      block.push_back((int)begin.size() - 1);
      place.push_back(q);
    } else if (mine) {
      owner.push_back(process);
      index.push_back(slot);
    }
    if (!mine) continue;
    const auto found = own ? columns.end() : columns.find(of[q]);
    member.push_back(own ? number_of(of[q]) : -(int)owner.size());
    column.push_back(own ? member.back() : found == columns.end() ? -1 : found->second);
  }
  if (!mine) return;
  begin.push_back((int)member.size());
  at.push_back(at.back() + n * n);
}

void SharedBlocks::join(MPI_Comm comm, const std::vector<NamedCoupling> &couplings,
                        const std::map<long long, int> &columns)
{
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<int>  next((size_t)size);
  const NamedBlocks blocks = join_named(gather_from_all(comm, couplings).all, max_strong_block);
  for (size_t k = 0; k + 1 < blocks.begin.size(); ++k)
    add(blocks.member.data() + blocks.begin[k], blocks.begin[k + 1] - blocks.begin[k], rank, columns, next);
}

} // namespace tessera::tree
