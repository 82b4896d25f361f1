// Inputs and structures.
#include "dependence_cases.h"

#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/families.h"
#include "kinflow/dependence/gaussian_time.h"
#include "kinflow/dependence/iterative_relationship.h"
#include "kinflow/dependence/markov_time.h"
#include "kinflow/dependence/relationship.h"
#include "kinflow/dependence/relationship_matrices.h"
#include "kinflow/dependence/relationship_sum.h"
#include "kinflow/dependence/unstructured.h"

namespace kinflow {
namespace {

constexpr std::int64_t kRank = 40;

/// Families of four siblings; `alike` ones have the same relationships.
CompressedRows siblings(std::int64_t rows, bool alike, Random& random) {
  CompressedRows result;
  result.row_starts.push_back(0);
  for (std::int64_t first = 0; first < rows; first += 4) {
    const double related = alike ? 0.5 : random.uniform(0.3, 0.7);
    for (std::int64_t i = first; i < first + 4; ++i) {
      for (std::int64_t j = first; j < first + 4; ++j) {
        result.columns.push_back(j);
        result.values.push_back(i == j ? 1 : related);
      }
      result.row_starts.push_back(static_cast<std::int64_t>(result.columns.size()));
    }
  }
  return result;
}

/// Rows on a square grid, related to their neighbours: one connected component.
CompressedRows grid(std::int64_t rows) {
  const auto width = static_cast<std::int64_t>(std::sqrt(static_cast<double>(rows)));
  CompressedRows result;
  result.row_starts.push_back(0);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (const std::int64_t step :
         {-width, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, width}) {
      const std::int64_t j = i + step;
      const bool is_inside = j >= 0 && j < rows;
      // The last of a line has no neighbour in the next one.
      const bool is_break = std::abs(step) == 1 && i / width != j / width;
      if (!is_inside || is_break) continue;
      result.columns.push_back(j);
      result.values.push_back(step == 0 ? 1 : 0.22);
    }
    result.row_starts.push_back(static_cast<std::int64_t>(result.columns.size()));
  }
  return result;
}

}  // namespace

Array normal(nd::IntArrayRef shape, Random& random) {
  Array result = nd::empty(shape, nd::kDouble);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data_ptr<double>()[i] = random.normal();
  }
  return result;
}

Array full_rank_relationship(std::int64_t rows, Random& random) {
  const Array factor = normal({rows, rows}, random);
  return nd::mm(factor, factor.t()) / static_cast<double>(rows);
}

Array genetic_relationship(std::int64_t rows, Random& random) {
  const Array population = nd::arange(rows, nd::kLong).remainder(5);
  Array scores = normal({rows, kMarkers}, random);
  scores += 0.3 * normal({5, kMarkers}, random).index_select(0, population);
  scores -= scores.mean(0, /*keepdim=*/true);
  return nd::mm(scores, scores.t()).div_(static_cast<double>(kMarkers));
}

std::vector<Structure> structures() {
  const std::vector<std::int64_t> large = {10000, 50000, 200000, 1000000};
  return {
      {"blocks of 5", large,
       [](std::int64_t rows, Random&) -> MakeLaw {
         const Array labels = nd::arange(rows, nd::kLong).floor_divide(5);
         return [=] { return std::make_unique<Blocks>(labels); };
       }},
      {"dense",
       {500, 1000, 2000, 5000},
       [](std::int64_t rows, Random& random) -> MakeLaw {
         const Array matrix = full_rank_relationship(rows, random);
         return [=] { return std::make_unique<Relationship>(matrix); };
       }},
      {"low rank, k = 40",
       {10000, 50000, 200000, 500000},
       [](std::int64_t rows, Random& random) -> MakeLaw {
         const Array components = normal({rows, kRank}, random);
         return [=] {
           return std::make_unique<Relationship>(
               decompose_factor(principal_component_factor(components)));
         };
       }},
      {"families of 4, alike", large,
       [](std::int64_t rows, Random& random) -> MakeLaw {
         return [matrix = siblings(rows, true, random)] {
           return std::make_unique<Families>(matrix);
         };
       }},
      {"families of 4, different", large,
       [](std::int64_t rows, Random& random) -> MakeLaw {
         return [matrix = siblings(rows, false, random)] {
           return std::make_unique<Families>(matrix);
         };
       }},
      {"iterative, dense",
       {2000, 4000, 8000, 16000},
       [](std::int64_t rows, Random& random) -> MakeLaw {
         const Array matrix = genetic_relationship(rows, random);
         return [=] {
           return std::make_unique<IterativeRelationship>(
               std::make_shared<DenseRelationshipOperator>(matrix));
         };
       }},
      {"iterative, sparse grid",
       {10000, 50000, 200000, 1000000},
       [](std::int64_t rows, Random&) -> MakeLaw {
         return [matrix = grid(rows)] {
           return std::make_unique<IterativeRelationship>(
               std::make_shared<SparseRelationshipOperator>(matrix));
         };
       }},
      {"Markov time", large,
       [](std::int64_t rows, Random& random) -> MakeLaw {
         const Array gaps = normal({rows}, random).abs();
         return
             [times = gaps.cumsum(0)] { return std::make_unique<MarkovTime>(times); };
       }},
      {"Gaussian time",
       {250, 500, 1000, 2000},
       [](std::int64_t rows, Random& random) -> MakeLaw {
         const Array gaps = normal({rows}, random).abs();
         return
             [times = gaps.cumsum(0)] { return std::make_unique<GaussianTime>(times); };
       }},
      {"sum of families and blocks", large,
       [](std::int64_t rows, Random&) -> MakeLaw {
         const Array order = nd::arange(rows, nd::kLong);
         const std::vector<SumPart> parts = {block_rows(order.floor_divide(4)),
                                             block_rows(order.floor_divide(8))};
         return [=] { return std::make_unique<RelationshipSum>(parts); };
       }},
      {"sum of 2, dense",
       {250, 500, 1000, 2000},
       [](std::int64_t rows, Random& random) -> MakeLaw {
         const std::vector<SumPart> parts = {
             full_rank_relationship(rows, random),
             block_rows(nd::arange(rows, nd::kLong).floor_divide(5))};
         return [=] { return std::make_unique<RelationshipSum>(parts); };
       }},
      {"unstructured",
       {50, 100, 200, 400},
       [](std::int64_t rows, Random&) -> MakeLaw {
         return [=] { return std::make_unique<Unstructured>(rows); };
       }},
  };
}

}  // namespace kinflow
