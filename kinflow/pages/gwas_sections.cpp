// Thinning of millions of p-values: the top variants and peaks stay whole.
#include "kinflow/pages/gwas_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "kinflow/genetics/inflation.h"
#include "kinflow/pages/packed_numbers.h"
#include "kinflow/pages/record_lookup.h"

namespace kinflow {
namespace {

constexpr std::size_t kMostLoci = 30;
constexpr std::size_t kRegionVariants = 400;
constexpr std::size_t kNamedVariants = 24;
constexpr std::int64_t kBesideLocus = 250'000;
constexpr std::uint32_t kGenomeCells = 1400;

/// Where chromosomes stand in the picture.
struct Genome {
  std::vector<double> start, length;
  double span = 0;

  explicit Genome(const GwasScan& scan)
      : start(scan.chromosomes.size(), 0), length(scan.chromosomes.size(), 1) {
    for (const auto& variant : scan.variants) {
      auto& longest = length[variant.chromosome];
      longest = std::max(longest, static_cast<double>(variant.position));
    }
    double all = 0;
    for (const double one : length) all += one;
    for (std::size_t i = 0; i < start.size(); ++i) {
      start[i] = span;
      span += length[i] + 0.004 * all;
    }
  }
};

// The taken cells of a grid, as pairs of column and row.
std::vector<std::uint8_t> cells_of(const GwasScan& scan, const Genome& genome,
                                   double width, double height, double most) {
  const auto rows = static_cast<std::uint32_t>(std::ceil(most / height)) + 1;
  std::vector<bool> is_taken(static_cast<std::size_t>(kGenomeCells + 1) * rows, false);
  std::vector<std::uint8_t> bytes;
  for (const auto& variant : scan.variants) {
    if (std::isnan(variant.log10_p)) continue;
    const double place = genome.start[variant.chromosome] + variant.position;
    const auto column =
        std::min(static_cast<std::uint32_t>(place / width), kGenomeCells);
    const auto row =
        std::min(static_cast<std::uint32_t>(variant.log10_p / height), rows - 1);
    auto taken = is_taken[static_cast<std::size_t>(column) * rows + row];
    if (taken || static_cast<double>(variant.log10_p) > most) continue;
    taken = true;
    for (const auto number : {column, row}) {
      bytes.push_back(static_cast<std::uint8_t>(number & 255));
      bytes.push_back(static_cast<std::uint8_t>(number >> 8));
    }
  }
  return bytes;
}

/// A place in the genome whose region is shown.
struct Peak {
  std::uint16_t chromosome = 0;
  std::int64_t position = 0, start = 0, end = 0;
  double log10_p = 0;
  std::string id;
  std::int64_t members = 0;
};

std::vector<Peak> peaks_of_loci(const GwasScan& scan, const LociTable& loci) {
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(
        std::find(loci.columns.begin(), loci.columns.end(), name) -
        loci.columns.begin());
  };
  const auto id = column("ID"), chromosome = column("CHROM"), position = column("POS"),
             start = column("START"), end = column("END"), log10_p = column("LOG10P"),
             p = column("P"), total = column("TOTAL");
  std::vector<Peak> peaks;
  for (const auto& row : loci.rows) {
    const auto cell = [&](std::size_t c) {
      return c < row.size() ? row[c] : std::string();
    };
    const auto known =
        std::find(scan.chromosomes.begin(), scan.chromosomes.end(), cell(chromosome));
    if (known == scan.chromosomes.end()) continue;
    const auto whole = [&](std::size_t c, double otherwise) {
      const double value = cell_number(cell(c));
      return static_cast<std::int64_t>(std::abs(value) < 1e15 ? value : otherwise);
    };
    Peak peak{
        .chromosome = static_cast<std::uint16_t>(known - scan.chromosomes.begin()),
        .position = whole(position, 0),
        .log10_p = cell_number(cell(log10_p)),
        .id = cell(id),
        .members = whole(total, 0)};
    if (std::isnan(peak.log10_p)) peak.log10_p = -std::log10(cell_number(cell(p)));
    peak.start = whole(start, static_cast<double>(peak.position));
    peak.end = whole(end, static_cast<double>(peak.position));
    peaks.push_back(peak);
  }
  return peaks;
}

// The highest variants that are far from each other.
std::vector<Peak> highest_peaks(const GwasScan& scan) {
  constexpr std::size_t kPeaks = 5;
  const auto id = scan.column("ID");
  std::vector<Peak> peaks;
  for (const auto& variant : scan.kept) {
    const bool is_near = std::any_of(peaks.begin(), peaks.end(), [&](const Peak& peak) {
      return peak.chromosome == variant.chromosome &&
             std::abs(peak.position - variant.position) < 2 * kBesideLocus;
    });
    if (is_near) continue;
    const auto cells = tab_cells(variant.line);
    peaks.push_back({.chromosome = variant.chromosome,
                     .position = variant.position,
                     .start = variant.position,
                     .end = variant.position,
                     .log10_p = variant.log10_p,
                     .id = id >= 0 && id < std::ssize(cells)
                               ? cells[static_cast<std::size_t>(id)]
                               : "variant"});
    if (peaks.size() == kPeaks) break;
  }
  return peaks;
}

std::vector<std::string> traits_of(const GwasScan& scan) {
  std::vector<std::string> traits;
  for (const auto& name : scan.columns) {
    if (name.rfind("BETA_", 0) == 0) traits.push_back(name.substr(5));
  }
  return traits;
}

// A variant with its effects, from its line.
nlohmann::json named_variant(const GwasScan& scan, const KeptVariant& variant,
                             const std::vector<std::string>& traits) {
  const auto cells = tab_cells(variant.line);
  const auto text = [&](const std::string& name) {
    const auto place = scan.column(name);
    return place >= 0 && place < std::ssize(cells)
               ? cells[static_cast<std::size_t>(place)]
               : std::string();
  };
  auto effects = nlohmann::json::array(), errors = effects;
  for (const auto& trait : traits) {
    effects.push_back(rounded(cell_number(text("BETA_" + trait)), 4));
    errors.push_back(rounded(cell_number(text("SE_" + trait)), 3));
  }
  return {{"position", variant.position},
          {"log10_p", rounded(variant.log10_p)},
          {"id", text("ID")},
          {"a1", text("A1")},
          {"frequency", rounded(cell_number(text("A1_FREQ")), 3)},
          {"effects", effects},
          {"errors", errors}};
}

nlohmann::json region_of(const GwasScan& scan, const Peak& peak,
                         const std::vector<std::string>& traits) {
  const auto start = std::max<std::int64_t>(0, peak.start - kBesideLocus),
             end = peak.end + kBesideLocus;
  std::vector<const ScannedVariant*> inside;
  for (const auto& variant : scan.variants) {
    if (variant.chromosome == peak.chromosome && variant.position >= start &&
        variant.position <= end && !std::isnan(variant.log10_p)) {
      inside.push_back(&variant);
    }
  }
  std::stable_sort(inside.begin(), inside.end(), [](const auto* a, const auto* b) {
    return a->log10_p > b->log10_p;
  });
  if (inside.size() > kRegionVariants) inside.resize(kRegionVariants);
  std::vector<double> positions, values;
  for (const auto* variant : inside) {
    positions.push_back(variant->position);
    values.push_back(variant->log10_p);
  }
  auto named = nlohmann::json::array();
  for (const auto& variant : scan.kept) {
    if (variant.chromosome != peak.chromosome || variant.position < start ||
        variant.position > end) {
      continue;
    }
    named.push_back(named_variant(scan, variant, traits));
    if (named.size() == kNamedVariants) break;
  }
  if (named.empty()) return {};
  return {{"chromosome", peak.chromosome},
          {"position", peak.position},
          {"start", start},
          {"end", end},
          {"log10_p", peak.log10_p},
          {"id", peak.id},
          {"positions", packed(positions)},
          {"values", packed(values)},
          {"variants", named}};
}

}  // namespace

nlohmann::json manhattan_section(const GwasScan& scan, const LociTable& loci,
                                 double threshold) {
  const Genome genome(scan);
  auto chromosomes = nlohmann::json::array();
  for (std::size_t i = 0; i < scan.chromosomes.size(); ++i) {
    chromosomes.push_back({{"name", scan.chromosomes[i]},
                           {"start", genome.start[i]},
                           {"length", genome.length[i]}});
  }
  const auto traits = traits_of(scan);
  const auto id = scan.column("ID");
  auto top = nlohmann::json::array();
  for (const auto& variant : scan.kept) {
    if (top.size() == kTopVariants) break;
    const auto cells = tab_cells(variant.line);
    top.push_back(
        {{"chromosome", variant.chromosome},
         {"position", variant.position},
         {"log10_p", rounded(variant.log10_p)},
         {"id", id >= 0 && id < std::ssize(cells) ? cells[static_cast<std::size_t>(id)]
                                                  : ""}});
  }
  // Everything below the variants that stand there by themselves.
  const double most = top.empty() ? 1 : top.back()["log10_p"].get<double>() + 0.05;
  double width = genome.span / kGenomeCells, height = std::max(0.05, most / 400);
  auto cells = cells_of(scan, genome, width, height, most);
  while (cells.size() > 4 * kMostCells) {
    height *= 1.4;
    cells = cells_of(scan, genome, width, height, most);
  }
  const bool has_loci = !loci.rows.empty();
  auto peaks = has_loci ? peaks_of_loci(scan, loci) : highest_peaks(scan);
  const auto in_all = peaks.size();
  if (peaks.size() > kMostLoci) peaks.resize(kMostLoci);
  auto regions = nlohmann::json::array(), rows = nlohmann::json::array();
  for (const auto& peak : peaks) {
    auto region = region_of(scan, peak, traits);
    if (region.is_null()) continue;
    rows.push_back({regions.size() + 1, peak.id, scan.chromosomes[peak.chromosome],
                    peak.position, p_in_prose(peak.log10_p), rounded(peak.log10_p)});
    if (has_loci) rows.back().push_back(peak.members);
    regions.push_back(std::move(region));
  }
  std::string caption = fmt::format(
      "{} variants. The {} with the smallest p-values are drawn one by one; of the "
      "others every spot that has one is filled.",
      with_commas(static_cast<double>(scan.tested)),
      with_commas(static_cast<double>(top.size())));
  if (in_all > kMostLoci) {
    caption += fmt::format(" Regions of the first {} of {} loci.", kMostLoci, in_all);
  }
  auto columns = nlohmann::json::array({{{"name", "no."}},
                                        {{"name", "variant"}, {"text", true}},
                                        {{"name", "chromosome"}, {"text", true}},
                                        {{"name", "position"}, {"digits", 12}},
                                        {{"name", "p"}, {"text", true}},
                                        {{"name", "\u2212log\u2081\u2080 p"}}});
  if (has_loci) columns.push_back({{"name", "further variants"}});
  return {{"type", "manhattan"},
          {"title", "Along the genome"},
          {"short", "Genome"},
          {"lead",
           has_loci ? "Every variant by its place and its p-value. Orange points stand "
                      "for loci: press one to open its region."
                    : "Every variant by its place and its p-value. No locus passes the "
                      "threshold; the highest peaks can be opened."},
          {"chromosomes", chromosomes},
          {"top", top},
          {"cells", packed_bytes(cells)},
          {"cell_width", width},
          {"cell_height", height},
          {"threshold", threshold},
          {"threshold_log10", -std::log10(threshold)},
          {"tested", scan.tested},
          {"traits", traits},
          {"loci", regions},
          {"loci_title", has_loci ? "Loci" : "The highest peaks"},
          {"loci_columns", columns},
          {"loci_rows", rows},
          {"caption", caption}};
}

nlohmann::json quantile_panel(const GwasScan& scan, const std::string& title,
                              std::size_t traits, double& inflation) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(scan.tested));
  for (const auto& variant : scan.variants) {
    if (!std::isnan(variant.log10_p)) values.push_back(variant.log10_p);
  }
  if (values.empty()) return {};
  inflation =
      genomic_inflation(values, static_cast<double>(std::max<std::size_t>(traits, 1)));
  const auto count = static_cast<double>(values.size());
  auto expected = nlohmann::json::array(), observed = expected, low = expected,
       high = expected;
  // Ranks from the smallest p-value, denser towards it.
  std::set<std::size_t> ranks;
  for (std::size_t i = 1; i <= std::min<std::size_t>(60, values.size()); ++i) {
    ranks.insert(i);
  }
  for (double rank = 60; rank < count; rank *= 1.05) {
    ranks.insert(static_cast<std::size_t>(rank));
  }
  const auto last = *ranks.rbegin();
  const auto head = std::min<std::size_t>(last, values.size());
  if (head < values.size()) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(head),
                     values.end(), std::greater<>());
  }
  std::sort(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(head),
            std::greater<>());
  for (const auto rank : ranks) {
    const double r = static_cast<double>(rank);
    const double share = (r - 0.5) / count;
    // The rank-th smallest of uniform numbers is Beta(r, n + 1 - r); for the band its
    // logarithm is taken as normal.
    const double error = std::sqrt((1 - share) / r);
    expected.push_back(rounded(-std::log10(share)));
    observed.push_back(rounded(values[rank - 1]));
    low.push_back(
        rounded(std::max(0.0, -std::log10(share) - 1.96 * error / std::log(10))));
    high.push_back(rounded(-std::log10(share) + 1.96 * error / std::log(10)));
  }
  return {{"title", title},
          {"subtitle", std::isfinite(inflation)
                           ? fmt::format("inflation \u03bb {:.3f}", inflation)
                           : ""},
          {"expected", expected},
          {"observed", observed},
          {"low", low},
          {"high", high}};
}

}  // namespace kinflow
