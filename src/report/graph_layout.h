#pragma once

#include <cstddef>
#include <vector>

#include "polystate/report/document.h"

namespace polystate::report {

struct Point {
  double x = 0;
  double y = 0;
};

struct NodeBox {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
};

// An edge from the lower side of a node through points between the ranks to the upper side of
// another; from a bend of another edge of that node, where they share the way to it. `is_back`: it
// leads upwards or stays on its rank, and has no points between.
struct EdgePath {
  std::size_t edge = 0;  // its index
  std::vector<Point> points;
  bool is_back = false;
};

struct GraphLayout {
  double width = 0;
  double height = 0;
  std::vector<NodeBox> nodes;
  std::vector<EdgePath> edges;  // an edge of a node to itself has none
};

// Lays a graph out from top to bottom, in ranks, as K. Sugiyama, S. Tagawa and M. Toda do ("Methods
// for Visual Understanding of Hierarchical System Structures", 1981): every edge leads to a lower
// rank; where it passes ranks, a bend in each keeps it apart from their nodes; a node stands near
// the middle of its neighbours. Takes time about linear in the nodes, edges and bends.
//
// `widths` are those of the nodes.
GraphLayout lay_out(const Graph& graph, const std::vector<double>& widths);

// The height of every node.
inline constexpr double kNodeHeight = 36;

}  // namespace polystate::report
