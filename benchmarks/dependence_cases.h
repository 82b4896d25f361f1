// Dependence structures of any number of rows, to measure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {

/// The input of a structure is made first, and is no part of its set-up.
using MakeLaw = std::function<std::unique_ptr<Dependence>()>;

struct Structure {
  std::string name;
  std::vector<std::int64_t> sizes;
  std::function<MakeLaw(std::int64_t rows, Random& random)> prepare;
};

/// All structures, each with at least four numbers of rows.
std::vector<Structure> structures();

/// Independent standard normal numbers.
Array normal(nd::IntArrayRef shape, Random& random);
/// A relationship matrix [n, n] without structure.
Array full_rank_relationship(std::int64_t rows, Random& random);
/// Z Z'/m of standard normal markers with a frequency of their own in each of five
/// populations: four eigenvalues stand out.
inline constexpr std::int64_t kMarkers = 4000;
Array genetic_relationship(std::int64_t rows, Random& random);

}  // namespace kinflow
