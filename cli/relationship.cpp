// kinflow relationship: check relationship matrices and convert them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/input_file.h"
#include "kinflow/data/check_relationship.h"
#include "kinflow/data/read_relationship.h"
#include "kinflow/data/write_relationship.h"
#include "kinflow/report/text_table.h"
#include "options.h"

namespace kinflow::cli {
namespace {

constexpr std::size_t kShownTwins = 10;

// What both verbs read.
struct RelationshipGiven {
  std::string file, ids, format, out;
  std::optional<double> threshold;
  bool rescale = false, listed_only = false, json = false, overwrite = false;
};

RelationshipFile read(const RelationshipGiven& given, const CLI::App& verb) {
  RelationshipOptions options{
      .ids = given.ids, .format = {}, .drop_unlisted_parents = given.listed_only};
  if (!given.format.empty()) {
    options.format = chosen(relationship_format_names(), given.format);
  }
  const std::vector<EffectRule<RelationshipFormat>> rules = {
      // Text may turn out to be a pedigree.
      {{"--listed-only"}, "a pedigree", [](const RelationshipFormat& format) {
         const bool may_be_pedigree = format == RelationshipFormat::pedigree ||
                                      format == RelationshipFormat::text;
         return may_be_pedigree ? "" : "the format " + name_of(format);
       }}};
  check_effects(verb, rules, find_relationship(given.file, options).format);
  return read_relationship(given.file, options);
}

void add_input_options(CLI::App& verb, RelationshipGiven& given) {
  verb.add_option("file", given.file,
                  "Relationship matrix or pedigree, or GCTA's prefix")
      ->required();
  verb.add_option("--ids", given.ids,
                  "Ids of the rows, one a line (default: the file beside the matrix)");
  add_choice(verb, "--format", given.format, relationship_format_names(),
             "Format of the file (default: by its name)");
  verb.add_flag("--listed-only", given.listed_only,
                "Pedigrees: leave out parents that have no line of their own");
}

std::string id_of(const RelationshipFile& file, std::int64_t row) {
  if (file.ids.empty()) return std::to_string(row + 1);
  const auto& id = file.ids[static_cast<std::size_t>(row)];
  return id.family.empty() ? id.individual : id.family + " " + id.individual;
}

void print_json(const RelationshipFile& file, const RelationshipCheck& check) {
  nlohmann::json json = {{"file", file.source},
                         {"rows", check.rows},
                         {"sparse", check.is_sparse},
                         {"ids", check.has_ids},
                         {"related_pairs", check.related_pairs},
                         {"mean_diagonal", check.mean_diagonal},
                         {"smallest_diagonal", check.smallest_diagonal},
                         {"largest_diagonal", check.largest_diagonal},
                         {"symmetric", check.is_symmetric},
                         {"twin_count", check.twin_count},
                         {"twins", nlohmann::json::array()},
                         {"components", check.components},
                         {"largest_component", check.largest_component},
                         {"giant_component", check.has_giant_component},
                         {"definiteness", name_of(check.definiteness)},
                         {"indefinite_rows", nlohmann::json::array()},
                         {"errors", check.errors},
                         {"warnings", check.warnings}};
  for (const auto& pair : check.twins) {
    json["twins"].push_back({{"first", id_of(file, pair.row)},
                             {"second", id_of(file, pair.column)},
                             {"correlation", pair.correlation}});
  }
  for (const auto row : check.indefinite_rows) {
    json["indefinite_rows"].push_back(id_of(file, row));
  }
  // A path need not be UTF-8.
  fmt::print("{}\n",
             json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_text(const RelationshipFile& file, const RelationshipCheck& check) {
  TextTable table({{"", Align::kLeft}, {"", Align::kLeft}});
  table.add_row({"rows", fmt::format("{}, {}, {} ids", check.rows,
                                     check.is_sparse ? "sparse" : "dense",
                                     check.has_ids ? "with" : "without")});
  const double pairs =
      0.5 * static_cast<double>(check.rows) * static_cast<double>(check.rows - 1);
  table.add_row(
      {"related pairs",
       fmt::format(
           "{} ({:.4g}%)", check.related_pairs,
           pairs > 0 ? 100 * static_cast<double>(check.related_pairs) / pairs : 0)});
  table.add_row({"diagonal",
                 fmt::format("mean {:.6g}, from {:.6g} to {:.6g}", check.mean_diagonal,
                             check.smallest_diagonal, check.largest_diagonal)});
  table.add_row({"symmetric", check.is_symmetric ? "yes" : "no"});
  table.add_row({"components", fmt::format("{}, the largest of {}", check.components,
                                           counted(check.largest_component, "row"))});
  table.add_row({"definiteness", name_of(check.definiteness)});
  table.add_row({"duplicates and twins", std::to_string(check.twin_count)});
  fmt::print("{}", table.plain());
  if (check.twins.empty()) return;
  TextTable twins({{"first", Align::kLeft}, {"second", Align::kLeft}, {"correlation"}});
  for (std::size_t i = 0; i < std::min(kShownTwins, check.twins.size()); ++i) {
    const auto& pair = check.twins[i];
    twins.add_row({id_of(file, pair.row), id_of(file, pair.column),
                   fmt::format("{:.4f}", pair.correlation)});
  }
  fmt::print("\n{}", twins.plain());
}

bool holds_ids(const std::string& path, const std::vector<SampleId>& ids) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) &&
         read_whole_file(path) == sample_id_lines(ids);
}

void add_check(CLI::App& parent, Console& console) {
  auto given = std::make_shared<RelationshipGiven>();
  auto* verb = parent.add_subcommand("check", "Check symmetry, scale, definiteness");
  add_input_options(*verb, *given);
  verb->add_flag("--json", given->json, "Print JSON");
  verb->callback([given, verb, &console] {
    const auto file = read(*given, *verb);
    const auto check = check_relationship(file);
    given->json ? print_json(file, check) : print_text(file, check);
    for (const auto& warning : check.warnings) {
      console.warning(file.source + ": " + warning);
    }
    if (!check.errors.empty()) {
      throw InputError(file.source + ": " + check.errors.front());
    }
  });
}

/// Makes room for a matrix. Its ids may be those of another one beside it.
void replace_result(const RelationshipGiven& given, const RelationshipFile& file) {
  auto earlier = files_of_relationship(given.out);
  std::erase_if(earlier, [&](const std::string& path) {
    return path == ids_path_for(given.out, relationship_format(given.out)) &&
           holds_ids(path, file.ids);
  });
  require_no_result(earlier, given.overwrite);
  // Ids that stay behind would be taken for those of the new matrix.
  if (file.ids.empty()) {
    std::erase(earlier, given.out);
    remove_result(earlier);
  }
}

void add_convert(CLI::App& parent, Console& console) {
  auto given = std::make_shared<RelationshipGiven>();
  auto* verb = parent.add_subcommand("convert", "Write a matrix in another format");
  add_input_options(*verb, *given);
  verb->add_option("--sparsify", given->threshold,
                   "Set entries with a smaller absolute value to 0")
      ->check(number_in(0, 1e300));
  verb->add_flag("--rescale", given->rescale, "Divide by the mean diagonal");
  verb->add_option("--out", given->out, "File to write; its ending tells the format")
      ->required();
  add_overwrite(*verb, given->overwrite);
  verb->callback([given, verb, &console] {
    auto file = read(*given, *verb);
    make_symmetric(file);
    if (given->rescale) {
      const double factor = rescale_to_unit_diagonal(file);
      console.info(fmt::format("{}: rescaled by {:.6g}", file.source, factor));
    }
    if (given->threshold) file = sparsify(file, *given->threshold);
    replace_result(*given, file);
    for (const auto& path : write_relationship(given->out, file)) {
      console.info(path + ": written");
    }
    if (!given->threshold) return;
    const auto check = check_relationship(file);
    for (const auto& problem : check.errors) {
      console.warning(given->out + ": " + problem);
    }
  });
}

}  // namespace

void add_relationship(CLI::App& app, Console& console) {
  auto* verb =
      app.add_subcommand("relationship", "Check and convert relationship matrices");
  verb->require_subcommand(1);
  add_check(*verb, console);
  add_convert(*verb, console);
}

}  // namespace kinflow::cli
