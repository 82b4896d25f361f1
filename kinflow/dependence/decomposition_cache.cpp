// Finding, checking, writing and discarding files with decompositions.
#include "kinflow/dependence/decomposition_cache.h"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/array/tensor_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/hash.h"
#include "kinflow/core/random.h"

namespace kinflow {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kAnnouncedRows = 2000;
constexpr const char* kMiddle = ".eigen-";
constexpr const char* kEnd = ".safetensors";
constexpr std::size_t kHashDigits = 16;
constexpr const char* kFormat = "kinflow eigen 1";
/// More than the header of a file ever needs.
constexpr std::uintmax_t kHeaderBytes = 4096;
/// Room that the disk must have, for each byte of the file: a full disk disturbs
/// others.
constexpr double kRoomPerFile = 1.1;
/// A temporary file of that age was left by a program that was killed.
constexpr std::chrono::hours kUnfinished{24};

/// Errors that are rounding, for vectors of length 1 and relative to the largest
/// eigenvalue.
constexpr double kExact = 1e-10;
constexpr int kTestVectors = 2;

std::span<const double> numbers(const Array& tensor) {
  return {tensor.data_ptr<double>(), static_cast<std::size_t>(tensor.numel())};
}

/// The file of a matrix. The hash covers the number of values, and so that of the rows.
fs::path path_of(const Array& matrix, const DecompositionCache& cache) {
  return fs::path(cache.folder) / fmt::format("{}{}{:016x}{}", cache.stem, kMiddle,
                                              hash_of(numbers(matrix)), kEnd);
}

Array random_vector(std::int64_t length, Random& random) {
  const auto vector = normal_numbers({length}, random);
  return vector / vector.norm();
}

bool is_at_most(const Array& vector, double length) {
  // False for NaN.
  return vector.norm().item<double>() <= length;
}

/// Whether parts is G = Q D Q', as far as random vectors tell.
bool is_decomposition_of(const Array& matrix, const SpectralDecomposition& parts) {
  const std::int64_t n = matrix.size(0);
  const Array &basis = parts.eigenvectors, &values = parts.eigenvalues;
  if (!values.isfinite().all().item<bool>() || values[0].item<double>() < 0 ||
      !(values.diff() >= 0).all().item<bool>()) {
    return false;
  }
  const double largest = values[n - 1].item<double>();
  const Array taken_for_zero = (values == 0).to(nd::kDouble);
  Random random(hash_of(numbers(values)));
  for (int i = 0; i < kTestVectors; ++i) {
    const Array x = random_vector(n, random), y = random_vector(n, random);
    if (!is_at_most(nd::mv(basis.t(), nd::mv(basis, y)) - y, kExact)) return false;
    // The triangle that decompose_relationship() looks at.
    Array product = nd::empty({n}, nd::kDouble);
    cblas_dsymv(CblasRowMajor, CblasUpper, static_cast<int>(n), 1,
                matrix.data_ptr<double>(), static_cast<int>(n), x.data_ptr<double>(), 1,
                0, product.data_ptr<double>(), 1);
    const Array error = nd::mv(basis.t(), product) - values * nd::mv(basis.t(), x);
    const double rounding = kEigenvalueRounding * static_cast<double>(n) * largest;
    if (!is_at_most(error * (1 - taken_for_zero), kExact * largest) ||
        !is_at_most(error * taken_for_zero, rounding)) {
      return false;
    }
  }
  return true;
}

/// The content of a file; InputError where it is not a decomposition of the matrix.
SpectralDecomposition read_entry(const fs::path& file, const Array& matrix) {
  const std::string path = file.string();
  const std::int64_t n = matrix.size(0);
  const auto unsound = [&](const std::string& why) {
    throw InputError(path + ": expected the decomposition of a matrix, found " + why);
  };
  const auto expected = static_cast<std::uintmax_t>(8 * (n * n + n));
  const std::uintmax_t found = fs::file_size(file);
  if (found < expected || found > expected + kHeaderBytes) unsound("another size");
  auto [metadata, tensors] = load_tensors(path);
  if (metadata["format"] != kFormat) unsound("another format");
  SpectralDecomposition parts{
      .eigenvectors = expect_tensor(tensors, "eigenvectors", {n, n}, nd::kDouble, path),
      .eigenvalues = expect_tensor(tensors, "eigenvalues", {n}, nd::kDouble, path)};
  if (!is_decomposition_of(matrix, parts)) unsound("one of another matrix");
  return parts;
}

/// The matrix's decomposition from its file; undefined arrays where there is none that
/// is sound.
SpectralDecomposition find(const fs::path& file, const Array& matrix, Logger& logger) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {};
  try {
    auto parts = read_entry(file, matrix);
    fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
    logger.info(fmt::format("decomposition of {0} x {0} taken from {1}", matrix.size(0),
                            file.string()));
    return parts;
  } catch (const std::exception& error) {
    // Whatever is wrong with the file, the decomposition can be made without it.
    logger.warning(fmt::format("{}; decomposing again", error.what()));
    return {};
  }
}

/// Whether a name is STEM.eigen-HASH.safetensors, or begins so.
bool is_of_stem(const std::string& name, const std::string& stem, bool is_whole) {
  const std::string begin = stem + kMiddle;
  const std::size_t length = begin.size() + kHashDigits + std::string(kEnd).size();
  return name.starts_with(begin) && name.size() >= length &&
         name.find_first_not_of("0123456789abcdef", begin.size()) ==
             begin.size() + kHashDigits &&
         name.compare(begin.size() + kHashDigits, std::string(kEnd).size(), kEnd) ==
             0 &&
         (!is_whole || name.size() == length);
}

/// Removes the least recently used files above the number that is kept, but never the
/// newest, and what killed programs left.
void discard_old(const DecompositionCache& cache, const fs::path& newest) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code failed;
  for (fs::directory_iterator at(cache.folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    const std::string name = at->path().filename().string();
    std::error_code unknown;
    const auto time = at->last_write_time(unknown);
    if (unknown || !at->is_regular_file(unknown)) continue;
    if (is_of_stem(name, cache.stem, /*is_whole=*/true)) {
      if (at->path() != newest) files.emplace_back(time, at->path());
    } else if (is_of_stem(name, cache.stem, /*is_whole=*/false) &&
               name.ends_with(".tmp") &&
               fs::file_time_type::clock::now() - time > kUnfinished) {
      fs::remove(at->path(), unknown);
    }
  }
  std::sort(files.begin(), files.end(), std::greater<>());
  const auto others =
      static_cast<std::size_t>(std::max<std::int64_t>(cache.kept_files - 1, 0));
  for (std::size_t i = others; i < files.size(); ++i) {
    fs::remove(files[i].second, failed);
  }
}

void keep(const fs::path& file, const SpectralDecomposition& parts,
          const DecompositionCache& cache, Logger& logger) {
  const double bytes = 8.0 * static_cast<double>(parts.eigenvectors.numel());
  try {
    std::error_code unknown;
    const fs::space_info room = fs::space(cache.folder, unknown);
    // Some file systems say of everything that it is 0.
    if (!unknown && room.capacity > 0 &&
        static_cast<double>(room.available) < kRoomPerFile * bytes) {
      throw InputError(fmt::format("{}: expected room for {}, found {}", cache.folder,
                                   format_bytes(bytes),
                                   format_bytes(static_cast<double>(room.available))));
    }
    save_tensors(
        file.string(), {{"format", kFormat}},
        {{"eigenvectors", parts.eigenvectors}, {"eigenvalues", parts.eigenvalues}});
  } catch (const std::exception& error) {
    logger.info(fmt::format("the decomposition is not kept: {}", error.what()));
    return;
  }
  logger.info(
      fmt::format("decomposition kept in {} ({})", file.string(), format_bytes(bytes)));
  discard_old(cache, file);
}

/// Of a matrix on any device; the parts are on the CPU.
SpectralDecomposition decompose(const Array& matrix, Logger& logger) {
  const std::int64_t n = matrix.size(0);
  if (!matrix.is_cpu()) {
    if (n >= kAnnouncedRows) {
      logger.info(fmt::format("decomposing {0} x {0} on the GPU", n));
    }
    const auto parts = decompose_relationship(matrix);
    return {parts.eigenvectors.cpu(), parts.eigenvalues.cpu()};
  }
  if (n >= kAnnouncedRows) {
    require_decomposable(n);
    logger.info(fmt::format("decomposing {0} x {0}: about {1}, {2}", n,
                            format_bytes(decomposition_bytes(n)),
                            format_rough_duration(expected_decomposition_seconds(n))));
  }
  return decompose_relationship(matrix);
}

}  // namespace

DecompositionCache cache_beside(const std::string& matrix_file) {
  const fs::path path(matrix_file);
  const fs::path folder = path.parent_path();
  return {.folder = folder.empty() ? "." : folder.string(),
          .stem = path.filename().string()};
}

SpectralDecomposition decompose_cached(const Array& relationship,
                                       const DecompositionCache& cache,
                                       Logger& logger) {
  if (relationship.dim() != 2 || relationship.size(0) != relationship.size(1)) {
    return decompose_relationship(relationship);
  }
  const Array matrix = relationship.detach().to(nd::kCPU, nd::kDouble).contiguous();
  SpectralDecomposition parts;
  if (cache.folder.empty() || matrix.size(0) < cache.smallest_rows) {
    parts = decompose(relationship, logger);
  } else {
    const fs::path file = path_of(matrix, cache);
    parts = find(file, matrix, logger);
    if (!parts.eigenvectors.defined()) {
      parts = decompose(relationship, logger);
      keep(file, parts, cache, logger);
    }
  }
  return {parts.eigenvectors.to(relationship.device()),
          parts.eigenvalues.to(relationship.device())};
}

}  // namespace kinflow
