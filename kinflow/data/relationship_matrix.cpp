// Reading and checking relationship matrices.
#include "kinflow/data/relationship_matrix.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/data/read_relationship.h"

namespace kinflow {
namespace {

std::vector<double> checked(RelationshipFile file, std::int64_t expected_rows) {
  if (file.rows != expected_rows) {
    throw InputError(
        fmt::format("{}: expected a {} x {} matrix, one row for each row of the table, "
                    "found {} x {}",
                    file.source, expected_rows, expected_rows, file.rows, file.rows));
  }
  make_symmetric(file);
  return to_dense(std::move(file));
}

}  // namespace

std::vector<double> parse_relationship_matrix(std::string_view bytes,
                                              const std::string& source,
                                              std::int64_t expected_rows) {
  return checked(parse_relationship(bytes, source), expected_rows);
}

std::vector<double> read_relationship_matrix(const std::string& path,
                                             std::int64_t expected_rows) {
  return checked(read_relationship(path, {.drop_unlisted_parents = true}),
                 expected_rows);
}

std::vector<double> subset(std::span<const double> matrix,
                           const std::vector<std::int64_t>& rows) {
  const auto n = static_cast<std::size_t>(
      std::llround(std::sqrt(static_cast<double>(matrix.size()))));
  std::vector<double> result;
  result.reserve(rows.size() * rows.size());
  for (const std::int64_t i : rows) {
    for (const std::int64_t j : rows) {
      result.push_back(
          matrix[static_cast<std::size_t>(i) * n + static_cast<std::size_t>(j)]);
    }
  }
  return result;
}

}  // namespace kinflow
