// Labels of components that several processes have parts of: the largest one of a component goes to all its nodes.
#pragma once
#include "tree/setup.hpp"
#include "exec/each.hpp"
#include "exec/sets.hpp"
#include <climits>

namespace tessera::tree {

// First labels: of an own node INT_MAX minus its number among all processes' nodes, so that the first node of a
// component has the largest; of a ghost zero.
struct FirstLabels {
  int     own, offset, corners;
  int    *label;
  HD int  of(int k) const { return k / corners < own ? INT_MAX - offset - k / corners : 0; }
  HD void operator()(int k) const { label[k] = of(k); }
};
// place(k): where the label of item k stands, at its root.
template <class Place> struct LabelsOfNodes {
  Place      place;
  const int *label;
  int       *of;
  HD void    operator()(int k) const { of[k] = label[place(k)]; }
};
struct PlaceOfRoot {
  const int *parent;
  HD int     operator()(ptrdiff_t k) const { return parent[k]; }
};
// From ghosts to the components that they are in
template <class Place> struct TakeLabels {
  Place      place;
  const int *of;
  ptrdiff_t  first; // of ghosts
  int       *label;
  HD double  operator()(int k) const
  {
    int *const mine = label + place(first + k);
    const bool more = of[first + k] > *mine; // threads of several ghosts of a component may count it
    raise_to(mine, of[first + k]);
    return more;
  }
};
// Takes what other processes have for the items of ghosts, `width` of each node. *changes is more than zero if labels
// have grown.
template <class T, class Place>
void take_labels_of_others(const Exec &exec, Level<T> &level, int width, const Place &place, Buffer<int> &label,
                           Buffer<int> &of, double *changes)
{
  for_each(exec, level.n * width, LabelsOfNodes<Place>{place, label.data(), of.data()});
  level.exchange.forward(of.data(), width);
  sum_each(exec, level.ghosts * width,
           TakeLabels<Place>{place, of.data(), (ptrdiff_t)level.n * width, label.data()}, changes);
}

} // namespace tessera::tree
