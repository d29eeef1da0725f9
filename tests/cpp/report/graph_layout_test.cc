#include "report/graph_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include "polystate/report/document.h"

namespace polystate::report {
namespace {

Graph graph_of(std::size_t nodes, std::vector<GraphEdge> edges) {
  Graph graph;
  graph.nodes.resize(nodes);
  graph.edges = std::move(edges);
  return graph;
}

GraphLayout lay_out(const Graph& graph) {
  return lay_out(graph, std::vector<double>(graph.nodes.size(), 100));
}

bool overlap(const NodeBox& a, const NodeBox& b) {
  return a.left < b.left + b.width && b.left < a.left + a.width && a.top < b.top + b.height &&
         b.top < a.top + a.height;
}

TEST(GraphLayout, AGraphWithoutNodesIsEmpty) {
  const GraphLayout layout = lay_out(graph_of(0, {}));
  EXPECT_TRUE(layout.nodes.empty());
  EXPECT_GT(layout.width, 0);
  EXPECT_GT(layout.height, 0);
}

TEST(GraphLayout, AChainStandsInOneColumn) {
  const GraphLayout layout = lay_out(graph_of(3, {{0, 1, ""}, {1, 2, ""}}));
  EXPECT_DOUBLE_EQ(layout.nodes[0].left, layout.nodes[2].left);
  EXPECT_LT(layout.nodes[0].top, layout.nodes[1].top);
  EXPECT_LT(layout.nodes[1].top, layout.nodes[2].top);
}

TEST(GraphLayout, AValueStandsAboveWhatUsesItFirst) {
  // 3 is only used by 2, the last of the chain 0, 1, 2.
  const Graph graph = graph_of(4, {{0, 1, ""}, {1, 3, ""}, {2, 3, ""}});
  const GraphLayout layout = lay_out(graph);
  EXPECT_DOUBLE_EQ(layout.nodes[2].top, layout.nodes[1].top);
}

TEST(GraphLayout, DrawnGraphsHaveNodesApartAndEdgesThatLeadDown) {
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same in every run
  for (int round = 0; round < 20; ++round) {
    const std::size_t count = 1 + random() % 60;
    Graph graph = graph_of(count, {});
    for (std::size_t i = 0; i < 2 * count; ++i) {
      const std::size_t a = random() % count;
      const std::size_t b = random() % count;
      if (a != b) graph.edges.push_back({std::min(a, b), std::max(a, b), ""});
    }
    const GraphLayout layout = lay_out(graph);
    ASSERT_EQ(layout.nodes.size(), count);
    ASSERT_EQ(layout.edges.size(), graph.edges.size());
    for (std::size_t a = 0; a < count; ++a) {
      EXPECT_GE(layout.nodes[a].left, 0);
      EXPECT_LE(layout.nodes[a].left + layout.nodes[a].width, layout.width);
      EXPECT_LE(layout.nodes[a].top + layout.nodes[a].height, layout.height);
      for (std::size_t b = a + 1; b < count; ++b)
        EXPECT_FALSE(overlap(layout.nodes[a], layout.nodes[b])) << a << " and " << b;
    }
    for (const EdgePath& path : layout.edges) {
      EXPECT_FALSE(path.is_back);
      for (std::size_t i = 1; i < path.points.size(); ++i)
        EXPECT_LT(path.points[i - 1].y, path.points[i].y);
    }
  }
}

TEST(GraphLayout, AnEdgeToAnEarlierNodeGoesBack) {
  const GraphLayout layout = lay_out(graph_of(2, {{0, 1, ""}, {1, 0, ""}, {1, 1, ""}}));
  ASSERT_EQ(layout.edges.size(), 2);  // none of a node to itself
  EXPECT_EQ(std::ranges::count(layout.edges, true, &EdgePath::is_back), 1);
  EXPECT_LT(layout.nodes[0].top, layout.nodes[1].top);
}

TEST(GraphLayout, EdgesFromOneNodeShareTheirWay) {
  // A chain of 1000 whose first node is used by all.
  constexpr std::size_t kCount = 1000;
  Graph graph = graph_of(kCount, {});
  for (std::size_t i = 1; i < kCount; ++i) {
    graph.edges.push_back({i - 1, i, ""});
    graph.edges.push_back({0, i, ""});
  }
  std::size_t points = 0;
  for (const EdgePath& path : lay_out(graph).edges) points += path.points.size();
  EXPECT_LT(points, 8 * kCount);
}

TEST(GraphLayout, ManyLongEdgesTakeNoQuadraticTime) {
  constexpr std::size_t kCount = 20000;
  Graph graph = graph_of(kCount, {});
  for (std::size_t i = 1; i < kCount; ++i) graph.edges.push_back({i - 1, i, ""});
  for (std::size_t i = 0; i < kCount / 2; ++i) graph.edges.push_back({i, kCount - 1 - i, ""});
  std::size_t points = 0;
  const GraphLayout layout = lay_out(graph);
  for (const EdgePath& path : layout.edges) points += path.points.size();
  EXPECT_LT(points, 200000);
}

}  // namespace
}  // namespace polystate::report
