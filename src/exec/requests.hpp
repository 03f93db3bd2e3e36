// Items in the memory of a space, each for one of the processes, which answers it.
#pragma once
#include "exec/buffer.hpp"
#include "exec/exec.hpp"
#include "exec/messages.hpp"
#include <algorithm>
#include <vector>

namespace tessera {

// The items are one or several runs, one after the other, each in the order of the processes that its items are for.
// Those for this process stay where they are; the others go by messages, and answers come back to their places.
class Requests {
public:
  // begins[k][r]: where the items for process r begin in run k, in ascending order, and the end of the run. Collective.
  Requests(const Exec &exec, MPI_Comm comm, std::vector<std::vector<int>> begins) :
    exec_(exec), rank_(rank_of(comm)), begins_(std::move(begins)), messages_(comm, counts_of(begins_, rank_))
  {
  }
  static int rank_of(MPI_Comm comm)
  {
    int rank;
    MPI_Comm_rank(comm, &rank);
    return rank;
  }
  int        received() const { return messages_.from_begins.back(); }
  int        first(size_t run) const { return begins_[run][(size_t)rank_]; } // of those for this process
  int        own(size_t run) const { return begins_[run][(size_t)rank_ + 1] - first(run); }
  const std::vector<int> &from_begins() const { return messages_.from_begins; } // of what comes from each process
  // What others have for this process, `width` numbers of each item. Collective.
  template <class V> Buffer<V> send(const Buffer<V> &items, int width = 1) const
  {
    const std::vector<V> others = take_out(items, width);
    std::vector<V>       list;
    list.reserve(others.size());
    each_part([&](size_t at, size_t n) {
      list.insert(list.end(), others.begin() + (ptrdiff_t)(at * (size_t)width),
                  others.begin() + (ptrdiff_t)((at + n) * (size_t)width));
    });
    return copy_to(exec_.space, messages_.send(list, width));
  }
  // Answers to what came go to the places of the items. Collective.
  template <class V> void answer(const Buffer<V> &to, Buffer<V> &items, int width = 1) const
  {
    std::vector<V> list(to.size());
    copy(to.data(), to.space(), list.data(), Space::host, list.size());
    list = messages_.answer(list, width);
    std::vector<V> others(list.size());
    size_t         from = 0;
    each_part([&](size_t at, size_t n) {
      std::copy_n(list.begin() + (ptrdiff_t)from, n * (size_t)width, others.begin() + (ptrdiff_t)(at * (size_t)width));
      from += n * (size_t)width;
    });
    each_piece([&](size_t item, size_t at, size_t n) {
      copy(others.data() + at * (size_t)width, Space::host, items.data() + item * (size_t)width, items.space(),
           n * (size_t)width);
    });
    if (items.space() == Space::cuda) device::keep(std::make_shared<std::vector<V>>(std::move(others)));
  }
  // Sends the items and has all of them answered: f(n, items, answers) is called for n of other processes and, run by
  // run, for this process's own. Collective.
  template <class V, class W, class F>
  void ask(const Buffer<V> &items, int width, Buffer<W> &answers, int answer_width, const F &f) const
  {
    const Buffer<V> got = send(items, width);
    Buffer<W>       of_others;
    of_others.resize_unset(Extent{(size_t)received() * (size_t)answer_width, exec_.space});
    f(received(), got.data(), of_others.data());
    for (size_t run = 0; run < begins_.size(); ++run)
      f(own(run), items.data() + (ptrdiff_t)first(run) * width, answers.data() + (ptrdiff_t)first(run) * answer_width);
    answer(of_others, answers, answer_width);
  }

private:
  static std::vector<int> counts_of(const std::vector<std::vector<int>> &begins, int rank)
  {
    std::vector<int> counts(begins[0].size() - 1);
    for (const std::vector<int> &run : begins)
      for (size_t r = 0; r < counts.size(); ++r)
        if ((int)r != rank) counts[r] += run[r + 1] - run[r];
    return counts;
  }
  // f(item, at, n): so many items are for others; they follow each other at the places `at` on the host.
  template <class F> void each_piece(const F &f) const
  {
    size_t at = 0;
    for (const std::vector<int> &run : begins_)
      for (const size_t end : {(size_t)rank_, run.size() - 1}) {
        const int from = end == (size_t)rank_ ? run[0] : run[(size_t)rank_ + 1], n = run[end] - from;
        f((size_t)from, at, (size_t)n);
        at += (size_t)n;
      }
  }
  // f(at, n): the places on the host of what is for each process, run by run
  template <class F> void each_part(const F &f) const
  {
    for (size_t r = 0; r + 1 < begins_[0].size(); ++r) {
      size_t before = 0;
      for (const std::vector<int> &run : begins_) {
        const int own = run[(size_t)rank_ + 1] - run[(size_t)rank_], n = run[r + 1] - run[r];
        if ((int)r != rank_) f(before + (size_t)(run[r] - run[0] - ((int)r > rank_ ? own : 0)), (size_t)n);
        before += (size_t)(run.back() - run[0] - own);
      }
    }
  }
  template <class V> std::vector<V> take_out(const Buffer<V> &items, int width) const
  {
    size_t all = 0;
    each_piece([&](size_t, size_t, size_t n) { all += n; });
    std::vector<V> others(all * (size_t)width);
    each_piece([&](size_t item, size_t at, size_t n) {
      copy(items.data() + item * (size_t)width, items.space(), others.data() + at * (size_t)width, Space::host,
           n * (size_t)width);
    });
    return others;
  }
  const Exec                   &exec_;
  int                           rank_;
  std::vector<std::vector<int>> begins_;
  Messages                      messages_;
};

} // namespace tessera
