// The files of a study as one page.
#include "kinflow/pages/gwas_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "kinflow/core/error.h"
#include "kinflow/data/delimited_lines.h"
#include "kinflow/pages/gwas_sections.h"
#include "kinflow/pages/packed_numbers.h"
#include "kinflow/pages/record_lookup.h"
#include "kinflow/pages/run_record.h"

namespace kinflow {
namespace {

constexpr double kUsualThreshold = 5e-8;

std::optional<std::string> tests_of(const std::string& prefix) {
  std::error_code ignored;
  for (const auto* ending : {".assoc.tsv", ".assoc.tsv.gz"}) {
    if (std::filesystem::exists(prefix + ending, ignored)) return prefix + ending;
  }
  return std::nullopt;
}

LociTable read_loci(const std::string& path) {
  std::error_code ignored;
  LociTable loci;
  if (!std::filesystem::exists(path, ignored)) return loci;
  DelimitedLines lines(path);
  loci.columns = lines.header();
  while (lines.next()) loci.rows.push_back(lines.cells());
  return loci;
}

/// What the study's log says of how it was run.
struct StudyLog {
  std::string version;
  std::vector<std::string> options;  // "--bfile cohort"
  std::vector<std::string> warnings;
  double threshold = kUsualThreshold;
  std::string people, time;
};

// A line that a program wrote may be cut off, or somebody else's.
StudyLog read_log(const std::string& path) {
  StudyLog log;
  std::ifstream file(path);
  bool are_options = false;
  for (std::string line; std::getline(file, line) && line.size() < 100'000;) {
    if (log.version.empty() && line.rfind("kinflow ", 0) == 0) log.version = line;
    if (line == "Options in effect:") {
      are_options = true;
    } else if (are_options && line.rfind("  ", 0) == 0) {
      log.options.push_back(line.substr(2));
      if (line.rfind("  --p1 ", 0) == 0) {
        const double p1 = cell_number(line.substr(7));
        if (p1 > 0 && p1 <= 1) log.threshold = p1;
      }
    } else {
      are_options = false;
    }
    if (line.rfind("Warning: ", 0) == 0) log.warnings.push_back(line.substr(9));
    if (line.find(" to test") != std::string::npos) log.people = line;
    if (line.rfind("End time: ", 0) == 0) log.time = line.substr(10);
  }
  return log;
}

std::vector<double> numbers_in(const std::string& cell) {
  std::vector<double> numbers;
  std::string one;
  for (const char c : cell + ";") {
    if (c != ';') {
      one += c;
      continue;
    }
    numbers.push_back(cell_number(one));
    one.clear();
  }
  return numbers;
}

/// Covariances of the traits, from lower triangles.
struct NullModelRow {
  std::vector<std::string> traits;
  std::vector<double> vg, ve, heritability;
  bool has_converged = true;
};

// The first joint model of the table; with `single` alone, none.
std::optional<NullModelRow> read_null_model(const std::string& path,
                                            bool& all_converged) {
  std::error_code ignored;
  std::optional<NullModelRow> found;
  if (!std::filesystem::exists(path, ignored)) return found;
  DelimitedLines lines(path);
  const auto column = [&](const std::string& name) {
    const auto& header = lines.header();
    const auto place = std::find(header.begin(), header.end(), name);
    if (place == header.end()) lines.fail("expected a column " + name);
    return static_cast<std::size_t>(place - header.begin());
  };
  const auto traits = column("TRAITS"), vg = column("VG"), ve = column("VE"),
             converged = column("CONVERGED");
  // Studies of earlier versions have no heritabilities.
  const auto& names = lines.header();
  const auto h2 = std::find(names.begin(), names.end(), "H2") - names.begin();
  const bool has_h2 = h2 < std::ssize(names);
  while (lines.next()) {
    const auto& cells = lines.cells();
    all_converged = all_converged && cells[converged] == "yes";
    if (found) continue;
    NullModelRow row{.traits = {},
                     .vg = numbers_in(cells[vg]),
                     .ve = numbers_in(cells[ve]),
                     .heritability = {},
                     .has_converged = cells[converged] == "yes"};
    if (has_h2) row.heritability = numbers_in(cells[static_cast<std::size_t>(h2)]);
    std::string name;
    for (const char c : cells[traits] + ";") {
      if (c != ';') {
        name += c;
        continue;
      }
      row.traits.push_back(name);
      name.clear();
    }
    const auto entries = row.traits.size() * (row.traits.size() + 1) / 2;
    if (row.vg.size() == entries && row.ve.size() == entries &&
        (!has_h2 || row.heritability.size() == row.traits.size())) {
      found = std::move(row);
    }
  }
  return found;
}

nlohmann::json null_model_section(const NullModelRow& row) {
  const auto count = row.traits.size();
  const auto entry = [](const std::vector<double>& triangle, std::size_t i,
                        std::size_t j) {
    const auto a = std::max(i, j), b = std::min(i, j);
    return triangle[a * (a + 1) / 2 + b];
  };
  auto shares = nlohmann::json::array(), genetic = shares, rest = shares;
  for (std::size_t i = 0; i < count; ++i) {
    if (!row.heritability.empty()) {
      shares.push_back(rounded(std::clamp(row.heritability[i], 0.0, 1.0), 4));
    }
    auto genetic_row = nlohmann::json::array(), rest_row = genetic_row;
    for (std::size_t j = 0; j < count; ++j) {
      const auto correlation = [&](const std::vector<double>& v) {
        const double size = std::sqrt(entry(v, i, i) * entry(v, j, j));
        return rounded(
            size > 0 ? std::clamp(entry(v, i, j) / size, -1.0, 1.0) : std::nan(""), 3);
      };
      genetic_row.push_back(correlation(row.vg));
      rest_row.push_back(correlation(row.ve));
    }
    genetic.push_back(genetic_row);
    rest.push_back(rest_row);
  }
  return {{"type", "null_model"},
          {"title", "The null model"},
          {"lead",
           "How the traits vary before any variant is looked at: with the "
           "relationship, and without it."},
          {"traits", row.traits},
          {"shares", shares},
          {"genetic", genetic},
          {"rest", rest},
          {"share_title", "Heritability"},
          {"share_note", "of the traits as they are tested"},
          {"caption",
           "Point estimates by maximum likelihood; correlations of traits of "
           "low heritability are uncertain."}};
}

/// One way of testing, and its files.
struct Method {
  std::string prefix, title;
};

class GwasPage {
 public:
  GwasPage(std::string prefix, std::int64_t threads)
      : prefix_(std::move(prefix)),
        threads_(threads),
        log_(read_log(prefix_ + ".log")),
        document_(empty_document("kinflow \u00b7 gwas", last_name(prefix_))) {}

  nlohmann::json make() {
    add_tests({prefix_, "All traits together"}, true);
    if (tests_of(prefix_ + ".single")) {
      add_tests({prefix_ + ".single", "Each trait by itself"}, false);
    }
    if (!panels_.empty()) {
      document_["sections"].push_back(
          {{"type", "quantiles"},
           {"title", "Are the p-values what chance gives?"},
           {"short", "Quantiles"},
           {"lead",
            "Without any association the points lie on the line. Points above it "
            "at the right are associations; above it everywhere, inflation."},
           {"methods", panels_},
           {"caption",
            "The band holds 95% of independent tests at each point. Variants "
            "in linkage disequilibrium are no independent tests. A p-value times a "
            "number is cut at 1, so such points begin below the line."}});
    }
    add_null_model();
    add_provenance();
    return std::move(document_);
  }

 private:
  void add_watch(const std::string& level, const std::string& text) {
    document_["watch"].push_back(watch_line(level, text));
  }

  void add_tests(const Method& method, bool is_main) {
    const auto path = tests_of(method.prefix);
    if (!path) {
      add_watch("missing", method.prefix +
                               ".assoc.tsv is not there: the tests are not "
                               "known.");
      return;
    }
    try {
      add_scan(method, scan_associations(*path, threads_), is_main);
    } catch (const std::exception& error) {
      add_watch("missing", std::string("The tests cannot be read: ") + error.what());
    }
  }

  void add_scan(const Method& method, const GwasScan& scan, bool is_main) {
    LociTable loci;
    try {
      loci = read_loci(method.prefix + ".loci.tsv");
    } catch (const InputError& error) {
      add_watch("missing", std::string("The loci cannot be read: ") + error.what());
    }
    const auto traits = static_cast<std::size_t>(
        std::count_if(scan.columns.begin(), scan.columns.end(),
                      [](const auto& name) { return name.rfind("BETA_", 0) == 0; }));
    double inflation = std::nan("");
    auto panel = quantile_panel(scan, method.title, is_main ? traits : 1, inflation);
    if (!is_main && !panel.is_null()) {
      // The smallest p-value of several traits, times their number, is not uniform.
      panel["subtitle"] = "the smallest p-value of the traits, times their number";
    }
    if (!panel.is_null()) panels_.push_back(std::move(panel));
    auto section = manhattan_section(scan, loci, log_.threshold);
    if (!is_main) {
      section["title"] = "Along the genome: each trait by itself";
      section["short"] = "Single traits";
    }
    document_["sections"].push_back(std::move(section));
    if (is_main) add_words(scan, loci, traits, inflation);
  }

  void add_words(const GwasScan& scan, const LociTable& loci, std::size_t traits,
                 double inflation) {
    auto& facts = document_["facts"];
    const auto tested = with_commas(static_cast<double>(scan.tested));
    facts.push_back(
        fact("variants tested", tested,
             fmt::format("for {} trait{} together", traits, traits == 1 ? "" : "s")));
    facts.push_back(fact("loci", with_commas(static_cast<double>(loci.rows.size())),
                         "with p up to " + p_in_prose(-std::log10(log_.threshold))));
    if (!scan.kept.empty()) {
      facts.push_back(
          fact("smallest p", p_in_prose(scan.kept.front().log10_p), "of all variants"));
    }
    if (std::isfinite(inflation)) {
      facts.push_back(
          fact("inflation", fmt::format("{:.3f}", inflation),
               "median test statistic over that of chance; 1 without any association"));
    }
    std::vector<std::string> names;
    for (const auto& name : scan.columns) {
      if (name.rfind("BETA_", 0) == 0) names.push_back(name.substr(5));
    }
    document_["subtitle"] = log_.people;
    auto& words = document_["words"];
    words.push_back(words_under(
        "What was tested",
        {fmt::format(
            "{} variants, each for an association with {}{}, in a linear mixed "
            "model that knows who is related to whom.",
            tested, listed(names), traits > 1 ? " at once" : "")}));
    words.push_back(words_under(
        "What was found",
        {loci.rows.empty() ? fmt::format("No variant reaches the threshold of p = {}.",
                                         p_in_prose(-std::log10(log_.threshold)))
                           : fmt::format("{} with p-values up to {}.",
                                         loci.rows.size() == 1
                                             ? std::string("One locus")
                                             : fmt::format("{} loci", loci.rows.size()),
                                         p_in_prose(-std::log10(log_.threshold)))}));
    if (inflation > 1.1) {
      add_watch(
          "warn",
          fmt::format("p-values are smaller than chance gives throughout (inflation "
                      "{:.2f}): many small effects, or relatedness and structure "
                      "that the model does not know.",
                      inflation));
    } else if (inflation < 0.95) {
      add_watch("warn", fmt::format("p-values are larger than chance gives (inflation "
                                    "{:.2f}): the tests lose power.",
                                    inflation));
    }
  }

  void add_null_model() {
    bool all_converged = true;
    try {
      if (const auto row = read_null_model(prefix_ + ".null.tsv", all_converged)) {
        document_["sections"].push_back(null_model_section(*row));
        std::vector<double> shares =
            document_["sections"].back()["shares"].get<std::vector<double>>();
        const auto [low, high] = std::minmax_element(shares.begin(), shares.end());
        document_["words"].push_back(words_under(
            "How the traits are inherited",
            {shares.size() == 1
                 ? fmt::format("{:.0f}% of the variance goes with the relationship of "
                               "the people.",
                               100 * *low)
                 : fmt::format("Between {:.0f}% and {:.0f}% of the variance of a trait "
                               "goes with the relationship of the people.",
                               100 * *low, 100 * *high)}));
      } else {
        add_watch("missing", last_name(prefix_) +
                                 ".null.tsv is not there: the null "
                                 "model is not known.");
      }
    } catch (const std::exception& error) {
      add_watch("missing",
                std::string("The null model cannot be read: ") + error.what());
    }
    if (!all_converged) {
      add_watch("warn",
                "A null model has not converged: p-values that rest on it are "
                "not to be trusted.");
    }
  }

  void add_provenance() {
    for (const auto& warning : log_.warnings) add_watch("warn", warning);
    auto& rows = document_["provenance"];
    rows.push_back({"files", prefix_});
    if (!log_.version.empty()) rows.push_back({"made by", log_.version});
    if (!log_.time.empty()) rows.push_back({"finished", log_.time});
    if (log_.options.empty()) {
      add_watch("missing",
                last_name(prefix_) + ".log is not there or says no options.");
      return;
    }
    std::string command = "kinflow gwas";
    for (const auto& option : log_.options) command += " " + option;
    document_["commands"] = {command};
  }

  std::string prefix_;
  std::int64_t threads_;
  StudyLog log_;
  nlohmann::json document_;
  nlohmann::json panels_ = nlohmann::json::array();
};

}  // namespace

bool is_gwas(const std::string& prefix) {
  std::error_code ignored;
  return tests_of(prefix) || tests_of(prefix + ".single") ||
         std::filesystem::exists(prefix + ".loci.tsv", ignored) ||
         std::filesystem::exists(prefix + ".null.tsv", ignored);
}

nlohmann::json gwas_page(const std::string& prefix, std::int64_t threads) {
  return GwasPage(prefix, threads).make();
}

}  // namespace kinflow
