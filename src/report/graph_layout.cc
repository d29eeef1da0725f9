#include "report/graph_layout.h"

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <utility>
#include <vector>

#include "polystate/report/document.h"

namespace polystate::report {
namespace {

constexpr double kMargin = 12;
constexpr double kRankGap = 28;
constexpr double kNodeGap = 16;
constexpr double kBendWidth = 2;
constexpr int kOrderSweeps = 8;
constexpr int kPlaceSweeps = 8;

// Edges that would need more bends, all together, are drawn straight.
constexpr std::size_t kMaxBends = 40000;

// A place in a rank: of a node, or a bend, which has no index among the nodes.
struct Vertex {
  std::size_t rank = 0;
  double width = kBendWidth;
  double x = 0;  // of its middle
  std::vector<std::size_t> above = {};
  std::vector<std::size_t> below = {};
};

// The neighbours of a vertex on one side.
using Side = std::vector<std::size_t> Vertex::*;

// One edge as a chain of vertices from rank to rank.
struct Chain {
  std::size_t edge;
  std::vector<std::size_t> vertices;
  bool is_direct;  // without bends
};

// The rank of each node: one below the lowest of those before it. Nodes without any come as low as
// what uses them lets them.
std::vector<std::size_t> rank_nodes(const Graph& graph) {
  const std::size_t count = graph.nodes.size();
  std::vector<std::vector<std::size_t>> after(count);
  std::vector<std::size_t> before(count, 0);
  for (const GraphEdge& edge : graph.edges) {
    if (edge.from >= edge.to) continue;  // goes back
    after[edge.from].push_back(edge.to);
    ++before[edge.to];
  }
  std::vector<std::size_t> ranks(count, 0);
  for (std::size_t node = 0; node < count; ++node) {
    for (const std::size_t next : after[node]) ranks[next] = std::max(ranks[next], ranks[node] + 1);
  }
  for (std::size_t node = count; node-- > 0;) {
    if (before[node] != 0 || after[node].empty()) continue;
    std::size_t lowest = ranks[after[node].front()];
    for (const std::size_t next : after[node]) lowest = std::min(lowest, ranks[next]);
    ranks[node] = lowest - 1;
  }
  return ranks;
}

class Layout {
 public:
  Layout(const Graph& graph, const std::vector<double>& widths) : graph_(graph) {
    const std::vector<std::size_t> ranks = rank_nodes(graph);
    for (std::size_t node = 0; node < graph.nodes.size(); ++node)
      add_vertex(ranks[node], widths[node]);
    add_chains();
  }

  GraphLayout result() && {
    order_ranks();
    place_vertices();
    return boxes_and_paths();
  }

 private:
  std::size_t add_vertex(std::size_t rank, double width) {
    if (rank >= ranks_.size()) ranks_.resize(rank + 1);
    ranks_[rank].push_back(vertices_.size());
    vertices_.push_back({.rank = rank, .width = width});
    return vertices_.size() - 1;
  }

  void connect(std::size_t upper, std::size_t lower) {
    vertices_[upper].below.push_back(lower);
    vertices_[lower].above.push_back(upper);
  }

  // Edges from one node pass the same bends, as far as they go.
  void add_chains() {
    std::vector<std::vector<std::size_t>> edges_from(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.edges.size(); ++i)
      edges_from[graph_.edges[i].from].push_back(i);
    std::size_t bends = 0;
    for (std::size_t node = 0; node < edges_from.size(); ++node) {
      std::vector<std::size_t> passed;  // a bend for each rank below the node's
      for (const std::size_t edge : edges_from[node]) {
        const std::size_t to = graph_.edges[edge].to;
        if (to == node) continue;
        const std::size_t from_rank = vertices_[node].rank;
        const std::size_t to_rank = vertices_[to].rank;
        const std::size_t needed = to_rank > from_rank ? to_rank - from_rank - 1 : 0;
        const std::size_t added = needed - std::min(needed, passed.size());
        const bool is_direct = to_rank <= from_rank || bends + added > kMaxBends;
        if (!is_direct) bends += added;
        add_chain(edge, is_direct, passed);
      }
    }
  }

  // `passed`: the bends below the edge's first node so far, one for each rank. The chain begins at
  // the last of them that the edge passes: what is above is another's.
  void add_chain(std::size_t edge, bool is_direct, std::vector<std::size_t>& passed) {
    const std::size_t from = graph_.edges[edge].from;
    const std::size_t to = graph_.edges[edge].to;
    Chain chain{.edge = edge, .vertices = {from}, .is_direct = is_direct};
    if (!is_direct) {
      const std::size_t first = vertices_[from].rank + 1;
      const std::size_t needed = vertices_[to].rank - first;
      const std::size_t shared = std::min(needed, passed.size());
      if (shared > 0) chain.vertices.front() = passed[shared - 1];
      for (std::size_t i = shared; i < needed; ++i) {
        passed.push_back(add_vertex(first + i, kBendWidth));
        connect(chain.vertices.back(), passed.back());
        chain.vertices.push_back(passed.back());
      }
      connect(chain.vertices.back(), to);
    }
    chain.vertices.push_back(to);
    chains_.push_back(std::move(chain));
  }

  // Orders each rank by the middle of the neighbours in the rank before, downwards and upwards in
  // turn. Vertices without neighbours stay where they are.
  void order_ranks() {
    std::vector<double> position(vertices_.size(), 0);
    const auto number = [&](const std::vector<std::size_t>& rank) {
      for (std::size_t i = 0; i < rank.size(); ++i) position[rank[i]] = static_cast<double>(i);
    };
    std::ranges::for_each(ranks_, number);
    const auto sort = [&](std::vector<std::size_t>& rank, Side side) {
      std::vector<std::pair<double, std::size_t>> keyed;
      keyed.reserve(rank.size());
      for (const std::size_t vertex : rank)
        keyed.emplace_back(mean_of(vertices_[vertex].*side, position, position[vertex]), vertex);
      std::ranges::stable_sort(keyed, {}, &std::pair<double, std::size_t>::first);
      for (std::size_t i = 0; i < rank.size(); ++i) rank[i] = keyed[i].second;
      number(rank);
    };
    for (int sweep = 0; sweep < kOrderSweeps; ++sweep) {
      for (auto& rank : ranks_) sort(rank, &Vertex::above);
      for (auto& rank : ranks_ | std::views::reverse) sort(rank, &Vertex::below);
    }
  }

  static double mean_of(const std::vector<std::size_t>& neighbours, const std::vector<double>& of,
                        double otherwise) {
    if (neighbours.empty()) return otherwise;
    double sum = 0;
    for (const std::size_t neighbour : neighbours) sum += of[neighbour];
    return sum / static_cast<double>(neighbours.size());
  }

  void place_vertices() {
    for (const auto& rank : ranks_) {
      double right = 0;
      for (const std::size_t vertex : rank) {
        vertices_[vertex].x = right + vertices_[vertex].width / 2;
        right += vertices_[vertex].width + kNodeGap;
      }
    }
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      for (const auto& rank : ranks_) place_rank(rank, &Vertex::above);
      for (const auto& rank : ranks_ | std::views::reverse) place_rank(rank, &Vertex::below);
    }
    for (const auto& rank : ranks_) place_rank(rank, &Vertex::above);
  }

  // Moves the vertices of a rank as near to the middle of their neighbours as their order and
  // widths let them: the least sum of squared distances, found by pooling neighbours that collide.
  void place_rank(const std::vector<std::size_t>& rank, Side side) {
    struct Pool {
      double sum;  // of where its vertices want to be, less the widths before them
      double count;
      std::size_t end;  // one after its last vertex
      [[nodiscard]] double place() const { return sum / count; }
    };
    std::vector<Pool> pools;
    std::vector<double> before;  // how far each vertex is from the first where all stand close
    double width = 0;
    for (std::size_t i = 0; i < rank.size(); ++i) {
      const Vertex& vertex = vertices_[rank[i]];
      if (i > 0) width += (vertices_[rank[i - 1]].width + vertex.width) / 2 + kNodeGap;
      before.push_back(width);
      pools.push_back({wanted_x(vertex, vertex.*side) - width, 1, i + 1});
      while (pools.size() > 1 && pools[pools.size() - 2].place() > pools.back().place()) {
        const Pool last = pools.back();
        pools.pop_back();
        pools.back() = {pools.back().sum + last.sum, pools.back().count + last.count, last.end};
      }
    }
    std::size_t i = 0;
    for (const Pool& pool : pools) {
      for (; i < pool.end; ++i) vertices_[rank[i]].x = pool.place() + before[i];
    }
  }

  [[nodiscard]] double wanted_x(const Vertex& vertex,
                                const std::vector<std::size_t>& neighbours) const {
    if (neighbours.empty()) return vertex.x;
    double sum = 0;
    for (const std::size_t neighbour : neighbours) sum += vertices_[neighbour].x;
    return sum / static_cast<double>(neighbours.size());
  }

  [[nodiscard]] double top_of(std::size_t rank) const {
    return kMargin + static_cast<double>(rank) * (kNodeHeight + kRankGap);
  }

  GraphLayout boxes_and_paths() {
    double left = 0;
    double right = 0;
    for (const Vertex& vertex : vertices_) {
      left = std::min(left, vertex.x - vertex.width / 2);
      right = std::max(right, vertex.x + vertex.width / 2);
    }
    for (Vertex& vertex : vertices_) vertex.x += kMargin - left;
    GraphLayout layout{
        .width = right - left + 2 * kMargin, .height = 2 * kMargin, .nodes = {}, .edges = {}};
    if (!ranks_.empty()) layout.height = top_of(ranks_.size() - 1) + kNodeHeight + kMargin;
    for (std::size_t node = 0; node < graph_.nodes.size(); ++node) {
      const Vertex& vertex = vertices_[node];
      layout.nodes.push_back({.left = vertex.x - vertex.width / 2,
                              .top = top_of(vertex.rank),
                              .width = vertex.width,
                              .height = kNodeHeight});
    }
    for (const Chain& chain : chains_) layout.edges.push_back(path_of(chain));
    return layout;
  }

  [[nodiscard]] EdgePath path_of(const Chain& chain) const {
    const Vertex& from = vertices_[chain.vertices.front()];
    const Vertex& to = vertices_[chain.vertices.back()];
    EdgePath path{.edge = chain.edge, .points = {}, .is_back = to.rank <= from.rank};
    path.points.push_back({from.x, top_of(from.rank) + kNodeHeight});
    for (std::size_t i = 1; i + 1 < chain.vertices.size(); ++i) {
      const Vertex& bend = vertices_[chain.vertices[i]];
      path.points.push_back({bend.x, top_of(bend.rank)});
      path.points.push_back({bend.x, top_of(bend.rank) + kNodeHeight});
    }
    path.points.push_back({to.x, top_of(to.rank)});
    return path;
  }

  const Graph& graph_;
  std::vector<Vertex> vertices_;  // the nodes, in their order, then the bends
  std::vector<std::vector<std::size_t>> ranks_;
  std::vector<Chain> chains_;
};

}  // namespace

GraphLayout lay_out(const Graph& graph, const std::vector<double>& widths) {
  return Layout(graph, widths).result();
}

}  // namespace polystate::report
