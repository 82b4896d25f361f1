// Relationship matrices given as files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinflow {

/// Reads a relationship matrix G in any format of read_relationship(), rows in the
/// order of the file. Returns [n x n], row-major, exactly symmetric.
///
/// Throws InputError unless G is n x n for the expected n, finite, with a positive
/// diagonal and symmetric as make_symmetric() wants it. Whether G is positive
/// semidefinite is not checked.
std::vector<double> read_relationship_matrix(const std::string& path,
                                             std::int64_t expected_rows);

/// The same for bytes in memory; `source` stands for the file in messages, and its
/// ending tells the format.
std::vector<double> parse_relationship_matrix(std::string_view bytes,
                                              const std::string& source,
                                              std::int64_t expected_rows);

/// Rows and columns of a square row-major matrix, in the given order.
std::vector<double> subset(std::span<const double> matrix,
                           const std::vector<std::int64_t>& rows);

}  // namespace kinflow
