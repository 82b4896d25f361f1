// Lines are cut and read on several threads, block by block.
#include "kinflow/pages/gwas_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>

#include "kinflow/core/error.h"
#include "kinflow/core/input_file.h"
#include "kinflow/core/map_in_order.h"
#include "kinflow/data/unzipped_bytes.h"
#include "kinflow/pages/record_lookup.h"

namespace kinflow {
namespace {

constexpr std::size_t kBlockBytes = 4 << 20;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct Columns {
  std::size_t chromosome = 0, position = 0;
  std::size_t p = 0;
  bool is_log10 = false;
  std::size_t last = 0;  // of these

  static Columns of(const std::vector<std::string>& names, const std::string& path) {
    const auto find = [&](const std::string& name) {
      return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) -
                                      names.begin());
    };
    Columns columns{.chromosome = find("CHROM"), .position = find("POS")};
    columns.p = find("LOG10P");
    columns.is_log10 = columns.p < names.size();
    if (!columns.is_log10) columns.p = find("P");
    if (std::max({columns.chromosome, columns.position, columns.p}) >= names.size()) {
      throw InputError(path + ":1: expected the columns CHROM, POS and LOG10P or P");
    }
    columns.last = std::max({columns.chromosome, columns.position, columns.p});
    return columns;
  }
};

/// Whole lines of the file.
struct Block {
  std::string text;
  std::int64_t first_line = 0;
  double keep_from = 0;  // -log10 p of rows that are kept whole
};

struct Parsed {
  std::vector<ScannedVariant> variants;  // with chromosomes of `names`
  std::vector<std::string> names;
  std::vector<KeptVariant> kept;
  std::int64_t lines = 0;
};

[[noreturn]] void fail(const std::string& path, std::int64_t line,
                       const std::string& expected) {
  throw InputError(fmt::format("{}:{}: expected {}", path, line, expected));
}

Parsed parse(const Block& block, const Columns& columns, const std::string& path) {
  Parsed parsed;
  std::string_view rest = block.text;
  std::string_view name_before;
  std::uint16_t number_before = 0;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    auto line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto number = block.first_line + parsed.lines++;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    std::string_view chromosome, position, p;
    const char* at = line.data();
    const char* line_end = at + line.size();
    for (std::size_t c = 0; c <= columns.last; ++c) {
      if (at > line_end) fail(path, number, "as many cells as in the header");
      const auto* tab = static_cast<const char*>(
          std::memchr(at, '\t', static_cast<std::size_t>(line_end - at)));
      const auto* stop = tab == nullptr ? line_end : tab;
      const std::string_view cell(at, static_cast<std::size_t>(stop - at));
      if (c == columns.chromosome) chromosome = cell;
      if (c == columns.position) position = cell;
      if (c == columns.p) p = cell;
      at = stop + 1;
    }
    if (parsed.names.empty() || chromosome != name_before) {
      const auto known =
          std::find(parsed.names.begin(), parsed.names.end(), chromosome);
      number_before = static_cast<std::uint16_t>(known - parsed.names.begin());
      if (known == parsed.names.end()) parsed.names.emplace_back(chromosome);
      if (parsed.names.size() > 60'000) fail(path, number, "fewer chromosomes");
      name_before = chromosome;
    }
    double log10_p = cell_number(p);
    if (!columns.is_log10) log10_p = log10_p > 0 ? -std::log10(log10_p) : kUnknown;
    if (!(log10_p >= 0 && std::isfinite(log10_p))) log10_p = kUnknown;
    const double place = cell_number(position);
    if (!(place >= 0 && place < 2e9)) fail(path, number, "a position");
    parsed.variants.push_back({.position = static_cast<std::int32_t>(place),
                               .log10_p = static_cast<float>(log10_p),
                               .chromosome = number_before});
    if (log10_p >= block.keep_from) {
      parsed.kept.push_back({.chromosome = number_before,
                             .position = static_cast<std::int64_t>(place),
                             .log10_p = log10_p,
                             .line = std::string(line)});
    }
  }
  return parsed;
}

// Autosomes by number, then X, Y, XY, MT, then the rest in the order of the file.
std::vector<std::size_t> genome_order(const std::vector<std::string>& names) {
  const auto rank = [](const std::string& name) {
    int number = 0;
    const auto result = std::from_chars(name.data(), name.data() + name.size(), number);
    if (result.ec == std::errc() && result.ptr == name.data() + name.size()) {
      return number;
    }
    const std::vector<std::string> last = {"X", "Y", "XY", "MT"};
    const auto found = std::find(last.begin(), last.end(), name);
    return 1000 + static_cast<int>(found - last.begin());
  };
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return rank(names[a]) < rank(names[b]);
  });
  return order;
}

void keep_smallest(std::vector<KeptVariant>& kept) {
  if (kept.size() <= kKeptVariants) return;
  std::nth_element(
      kept.begin(), kept.begin() + kKeptVariants, kept.end(),
      [](const KeptVariant& a, const KeptVariant& b) { return a.log10_p > b.log10_p; });
  kept.resize(kKeptVariants);
}

}  // namespace

std::int64_t GwasScan::column(const std::string& name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  return found == columns.end() ? -1 : found - columns.begin();
}

std::vector<std::string> tab_cells(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == '\t') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

GwasScan scan_associations(const std::string& path, std::int64_t threads) {
  InputFile file(path);
  UnzippedBytes bytes([&](char* to, std::size_t count) { return file.read(to, count); },
                      path);
  GwasScan scan;
  std::string carried;
  std::int64_t line = 1;
  bool is_at_end = false;
  const auto read_more = [&] {
    const auto before = carried.size();
    carried.resize(before + kBlockBytes);
    const auto count = bytes.read(carried.data() + before, kBlockBytes);
    carried.resize(before + count);
    is_at_end = count == 0;
  };
  while (carried.find('\n') == std::string::npos && !is_at_end) read_more();
  const auto end = std::min(carried.find('\n'), carried.size());
  auto header = carried.substr(0, end);
  if (!header.empty() && header.back() == '\r') header.pop_back();
  scan.columns = tab_cells(header);
  carried.erase(0, std::min(end + 1, carried.size()));
  const auto columns = Columns::of(scan.columns, path);

  // What is not among the smallest so far need not be kept.
  std::atomic<double> keep_from = 0;
  std::map<std::string, std::uint16_t> number_of;
  const auto take = [&]() -> std::optional<Block> {
    while (!is_at_end && carried.rfind('\n') == std::string::npos) read_more();
    if (!is_at_end && carried.size() < kBlockBytes / 2) read_more();
    if (carried.empty()) return std::nullopt;
    const auto last = carried.rfind('\n');
    const auto stop = last == std::string::npos ? carried.size() : last + 1;
    Block block{.text = carried.substr(0, stop),
                .first_line = line + 1,
                .keep_from = keep_from};
    carried.erase(0, stop);
    line += std::count(block.text.begin(), block.text.end(), '\n');
    return block;
  };
  const auto give = [&](Parsed parsed) {
    std::vector<std::uint16_t> number;
    for (const auto& name : parsed.names) {
      const auto [known, is_new] =
          number_of.emplace(name, static_cast<std::uint16_t>(scan.chromosomes.size()));
      if (is_new) scan.chromosomes.push_back(name);
      number.push_back(known->second);
    }
    for (auto& variant : parsed.variants) {
      variant.chromosome = number[variant.chromosome];
      scan.tested += !std::isnan(variant.log10_p);
    }
    scan.variants.insert(scan.variants.end(), parsed.variants.begin(),
                         parsed.variants.end());
    for (auto& variant : parsed.kept) {
      variant.chromosome = number[variant.chromosome];
      scan.kept.push_back(std::move(variant));
    }
    if (scan.kept.size() > 3 * kKeptVariants) {
      keep_smallest(scan.kept);
      double least = scan.kept.front().log10_p;
      for (const auto& variant : scan.kept) least = std::min(least, variant.log10_p);
      keep_from = least;
    }
  };
  map_in_order(
      threads, take, [&](Block block) { return parse(block, columns, path); }, give);
  keep_smallest(scan.kept);
  if (scan.variants.empty()) throw InputError(path + ": expected variants, found none");

  const auto order = genome_order(scan.chromosomes);
  std::vector<std::uint16_t> place(order.size());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<std::uint16_t>(i);
    names.push_back(scan.chromosomes[order[i]]);
  }
  scan.chromosomes = std::move(names);
  for (auto& variant : scan.variants) variant.chromosome = place[variant.chromosome];
  for (auto& variant : scan.kept) variant.chromosome = place[variant.chromosome];
  std::sort(scan.kept.begin(), scan.kept.end(),
            [](const KeptVariant& a, const KeptVariant& b) {
              return std::tuple(-a.log10_p, a.chromosome, a.position) <
                     std::tuple(-b.log10_p, b.chromosome, b.position);
            });
  return scan;
}

}  // namespace kinflow
