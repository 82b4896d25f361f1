// Relationship matrices given as files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinflow {

/// Reads a relationship matrix G: .npy, or text without a header, numbers separated by
/// blanks, tabs or commas. Returns [n x n], row-major, exactly symmetric.
///
/// Throws InputError unless G is n x n, finite, with a positive diagonal and symmetric:
/// G_ij and G_ji may differ by 1e-6 of the largest of |G_ij|, |G_ji| and
/// sqrt(G_ii G_jj), and are then replaced by their mean. Whether G is positive
/// semidefinite is not checked.
std::vector<double> read_relationship_matrix(const std::string& path,
                                             std::int64_t expected_rows);

/// The same for bytes in memory; `source` stands for the file in messages, and its
/// ending tells .npy from text.
std::vector<double> parse_relationship_matrix(std::string_view bytes,
                                              const std::string& source,
                                              std::int64_t expected_rows);

/// Rows and columns of a square row-major matrix, in the given order.
std::vector<double> subset(std::span<const double> matrix,
                           const std::vector<std::int64_t>& rows);

}  // namespace kinflow
