// kinflow sample: draw rows from a model.
#include "kinflow/evaluate/sample.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "commands.h"
#include "image_commands.h"
#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/data/table.h"
#include "kinflow/data/write_table.h"
#include "kinflow/evaluate/scale_of_rows.h"
#include "kinflow/evaluate/stream.h"
#include "options.h"

namespace kinflow::cli {
namespace {

struct SampleGiven {
  std::string run, given, rows_of, out;
  DependenceGiven dependence;
  std::vector<std::int64_t> block_sizes;
  std::optional<std::int64_t> rows;
  std::vector<double> parameter;
  std::uint64_t seed = 0;
  std::optional<MinusNine> minus_nine;
  std::int64_t threads = 1;
  bool overwrite = false;
  SampleImagesGiven images;
};

// Rows that are to be drawn: how many, what tells their dependence, and the columns
// that the output shows beside the drawn ones.
struct NewRows {
  TableRows rows;  // data is empty, [n, 0]
  std::vector<TextColumn> text = {};
};

NewRows plain_rows(std::int64_t count) {
  NewRows fresh;
  fresh.rows.data = nd::empty({count, 0}, nd::kDouble);
  fresh.rows.table_rows = count;
  for (std::int64_t i = 0; i < count; ++i) fresh.rows.kept_rows.push_back(i);
  return fresh;
}

NewRows labelled_rows(std::vector<std::string> labels, const std::string& column) {
  auto fresh = plain_rows(static_cast<std::int64_t>(labels.size()));
  fresh.text = {{column, labels}};
  fresh.rows.labels = std::move(labels);
  return fresh;
}

NewRows rows_of_table(const SampleGiven& given, const DependenceRequest& request,
                      const Model& model) {
  const auto table = read_table(given.rows_of);
  NewRows fresh{.rows = read_rows(
                    table, {.context = model.context_columns,
                            .context_levels = model.context_levels,
                            .group = request.group,
                            .time = request.time,
                            .id = request.id,
                            .minus_nine = minus_nine_for(model, given.minus_nine)})};
  auto shown = request.id;
  for (const auto& column : {request.group, request.time}) {
    if (!column.empty()) shown.push_back(column);
  }
  shown.insert(shown.end(), model.context_columns.begin(), model.context_columns.end());
  for (const auto& name : shown) {
    const bool is_there =
        std::any_of(fresh.text.begin(), fresh.text.end(),
                    [&](const TextColumn& column) { return column.name == name; });
    if (!is_there) fresh.text.push_back({name, labels(table, name)});
  }
  return fresh;
}

// The sizes in turn until there are as many rows as asked for; the last block is cut.
std::vector<std::int64_t> sizes_for(const SampleGiven& given) {
  if (!given.rows) return given.block_sizes;
  std::vector<std::int64_t> sizes;
  std::int64_t left = *given.rows;
  for (std::size_t i = 0; left > 0; i = (i + 1) % given.block_sizes.size()) {
    sizes.push_back(std::min(left, given.block_sizes[i]));
    left -= sizes.back();
  }
  return sizes;
}

// New blocks, labelled new1, new2, ...
std::vector<std::string> labels_of_new_blocks(const std::vector<std::int64_t>& sizes) {
  std::vector<std::string> labels;
  for (std::size_t block = 0; block < sizes.size(); ++block) {
    labels.insert(labels.end(), static_cast<std::size_t>(sizes[block]),
                  "new" + std::to_string(block + 1));
  }
  return labels;
}

std::vector<std::string> repeat_each(const std::vector<std::string>& labels,
                                     std::int64_t times) {
  std::vector<std::string> repeated;
  for (const auto& label : labels) {
    repeated.insert(repeated.end(), static_cast<std::size_t>(times), label);
  }
  return repeated;
}

std::int64_t needed_rows(const SampleGiven& given) {
  if (given.rows) return *given.rows;
  throw InputError("sample: expected --rows N or --for TABLE, found neither");
}

// Without ids the rows to draw are those that follow the observed ones in the file, or
// in the training table.
std::int64_t rows_that_follow(const SampleGiven& given,
                              const DependenceRequest& request, const Model& model,
                              const TableRows* observed) {
  if (!request.unstructured) return needed_rows(given);
  const auto all = model.dependence.unstructured_rows();
  const auto known = observed == nullptr ? 0 : observed->data.size(0);
  if (known < all) return all - known;
  throw InputError(fmt::format(
      "{}: expected fewer rows than the {} of the unstructured dependence, found {}",
      given.given, all, known));
}

void check_no_context(const Model& model) {
  if (model.context_columns.empty()) return;
  throw InputError(
      "sample: expected --for TABLE, one row to draw for each of its rows, since the "
      "model has context columns");
}

NewRows rows_to_draw(const SampleGiven& given, const DependenceRequest& request,
                     const Model& model, const TableRows* observed) {
  if (!given.rows_of.empty()) return rows_of_table(given, request, model);
  check_no_context(model);
  if (!given.block_sizes.empty()) {
    return labelled_rows(labels_of_new_blocks(sizes_for(given)), request.group);
  }
  const auto kind = kind_of(request);
  if (kind == DependenceKind::blocks && observed != nullptr) {
    return labelled_rows(
        repeat_each(number_blocks(observed->labels).label_of_block, needed_rows(given)),
        request.group);
  }
  const bool by_position =
      kind == DependenceKind::unstructured ||
      (kind == DependenceKind::relationship && request.relationship_by_position);
  if (!by_position) {
    throw InputError(
        "sample: expected --for TABLE with the groups, ids or times of the rows to "
        "draw");
  }
  return plain_rows(rows_that_follow(given, request, model, observed));
}

// What was typed, and the model that it is for.
struct SampleChoice {
  const SampleGiven& typed;
  const Model& model;

  bool is_dependent() const {
    return typed.dependence.any_or_time() || !typed.block_sizes.empty() ||
           !typed.given.empty();
  }
};

const std::vector<EffectRule<SampleChoice>>& sample_rules() {
  using Choice = SampleChoice;
  static const std::vector<EffectRule<Choice>> rules = {
      {{"--parameter"},
       "a dependence, --block-sizes or --given",
       [](const Choice& c) { return c.is_dependent() ? "" : "none"; }},
      {{"--rows"},
       "no --for, whose rows count,",
       [](const Choice& c) -> std::string {
         return c.typed.rows_of.empty() ? "" : "--for " + c.typed.rows_of;
       }},
      {{"--rows"},
       "no --unstructured, which draws the training rows,",
       [](const Choice& c) {
         return c.typed.dependence.request.unstructured ? "--unstructured" : "";
       }},
      {{"--for"},
       "a dependence, or a model with context columns,",
       [](const Choice& c) {
         const bool has_context = !c.model.context_columns.empty();
         return c.is_dependent() || has_context ? "" : "neither";
       }},
      {{"--block-sizes"},
       "no --for",
       [](const Choice& c) -> std::string {
         return c.typed.rows_of.empty() ? "" : "--for " + c.typed.rows_of;
       }},
      {{"--block-sizes"},
       "no --given",
       [](const Choice& c) -> std::string {
         return c.typed.given.empty() ? "" : "--given " + c.typed.given;
       }},
      {{"--id"}, "--for TABLE or a relationship", [](const Choice& c) {
         const auto& request = c.typed.dependence.request;
         const bool is_used = !c.typed.rows_of.empty() ||
                              !request.relationships.empty() ||
                              !request.components.empty();
         return is_used ? "" : "neither";
       }}};
  return rules;
}

// What was said of the dependence, or what follows from the model.
DependenceRequest request_of(const SampleGiven& given, const Model& model) {
  auto request = given.dependence.resolve();
  const bool is_said = given.dependence.any_or_time();
  if (!is_said && !given.given.empty() && model.dependence.column.empty()) {
    throw InputError(
        "--given: expected a dependence, such as --group COLUMN or --relationship "
        "FILE, found none");
  }
  if (!is_said && (!given.given.empty() || !given.block_sizes.empty())) {
    request.group = model.dependence.column.empty() ? "group" : model.dependence.column;
  }
  if (kind_of(request) == DependenceKind::independent && request.time.empty()) {
    return request;
  }
  return model.dependence.request_for_new_rows(request, given.parameter);
}

// Counts the rows that the observed ones say nothing about.
void report_unmatched_rows(const SampleGiven& given, const RowRelations& relations,
                           std::int64_t observed, Console& console) {
  const auto found =
      find_unmatched_rows(relations, observed, given.given,
                          given.rows_of.empty() ? "the rows to draw" : given.rows_of);
  if (found.rows > 0) {
    console.info(
        fmt::format("{} of {} depend on no row of {}", found.rows,
                    counted(relations.rows - observed, "row to draw", "rows to draw"),
                    given.given));
  }
  if (found.observed > 0) {
    console.info(fmt::format("{}: no row to draw depends on {} of {}", given.given,
                             found.observed, counted(observed, "row")));
  }
}

struct Drawn {
  Array data;
  std::vector<TextColumn> text;
};

Drawn draw(const SampleGiven& given, const DependenceRequest& request,
           const Model& model, Console& console) {
  Random random(given.seed, stream(Purpose::draws));
  TableRows observed;
  if (!given.given.empty()) {
    auto columns = columns_for(model, request);
    columns.minus_nine = minus_nine_for(model, given.minus_nine);
    observed = read_rows(given.given, columns);
    warn_of_scale(model, observed, given.given, console);
  }
  const auto* known = given.given.empty() ? nullptr : &observed;
  auto fresh = rows_to_draw(given, request, model, known);
  if (!given.rows_of.empty()) {
    warn_of_scale(model, fresh.rows, given.rows_of, console);
  }
  const auto& context = fresh.rows.context;
  Drawn drawn{.data = {}, .text = std::move(fresh.text)};
  auto all = fresh.rows;
  std::string source = given.rows_of.empty() ? "the rows to draw" : given.rows_of;
  if (known != nullptr) {
    auto described = observed;
    described.data = nd::empty({observed.data.size(0), 0}, nd::kDouble);
    all = append_rows(described, fresh.rows);
    source = given.given + " and " + source;
  }
  auto relations = read_relations(request, all, source,
                                  minus_nine_for(model, given.minus_nine).meaning);
  if (known != nullptr)
    report_unmatched_rows(given, relations, known->data.size(0), console);
  // They say which member the observed rows speak for.
  std::optional<RowLaws> observed_laws;
  if (known != nullptr && model.members() > 1) {
    observed_laws = make_first_row_laws(
        model, request, relations, observed.data.size(0), given.parameter, console);
  }
  const auto laws =
      make_row_laws(model, request, std::move(relations), given.parameter, console);
  drawn.data =
      known == nullptr
          ? sample_dependent(model, laws, context, random)
          : sample_given(model, observed, laws,
                         observed_laws ? &*observed_laws : nullptr, context, random);
  return drawn;
}

void draw_independent(const SampleGiven& given, const DependenceRequest& request,
                      const Model& model, Console& console) {
  if (given.rows_of.empty()) check_no_context(model);
  draw_table(model,
             {.rows = given.rows_of.empty() ? needed_rows(given) : 0,
              .table = given.rows_of,
              .id = request.id,
              .out = given.out,
              .seed = given.seed,
              .minus_nine = given.minus_nine},
             {.threads = given.threads, .stop = &stop_requested()}, console);
}

void run(SampleGiven given, const std::string& model_path, const CLI::App& verb,
         Console& console) {
  find_names(given.rows_of.empty() ? given.given : given.rows_of,
             {&given.dependence.request.id});
  if (given.out.empty())
    throw InputError("sample: expected --out FILE, found none (see --help)");
  table_format(given.out);
  auto inputs = input_files(given.dependence.resolve());
  inputs.insert(inputs.end(), {given.given, given.rows_of});
  check_not_an_input(given.out, inputs);
  require_no_result({given.out}, given.overwrite);
  const auto model = load_model(model_path, nd::kCPU, nd::kDouble);
  check_effects(verb, sample_rules(), {given, model});
  check_effects(verb, dependence_rules(), given.dependence.resolve());
  const auto request = request_of(given, model);
  if (kind_of(request) == DependenceKind::independent) {
    draw_independent(given, request, model, console);
    return;
  }
  const auto drawn = draw(given, request, model, console);
  const auto data = drawn.data.contiguous();
  if (!nd::isfinite(data).all().item<bool>()) {
    throw NumericalError(given.run + ": a drawn row is not finite");
  }
  write_table(given.out, model.columns,
              {data.data_ptr<double>(), static_cast<std::size_t>(data.numel())},
              drawn.text);
}

void run_images(const SampleGiven& given, const std::string& model, Console& console) {
  auto images = given.images;
  images.model = model;
  images.known = given.given;
  images.out = given.out;
  images.overwrite = given.overwrite;
  images.count = given.rows;
  images.parameter = given.parameter;
  images.seed = given.seed;
  sample_images(images, console);
}

}  // namespace

void add_sample(CLI::App& app, Console& console) {
  auto given = std::make_shared<SampleGiven>();
  auto* verb = app.add_subcommand("sample", "Draw rows or images from a model");
  verb->add_option("run", given->run, "Run folder or model file")->required();
  verb->add_option("--rows,--n", given->rows,
                   "Rows or images to draw; with --given, of every block or in all")
      ->check(integer_in(1, 1'000'000'000));
  verb->add_option(
      "--for", given->rows_of,
      "Table with a row for each row to draw: its group, id, time and context columns");
  verb->add_option("--given", given->given,
                   "Observed rows or images: draw further ones that depend on them");
  add_list(*verb, "--block-sizes", given->block_sizes,
           "Draw correlated rows in blocks of these sizes, comma-separated, repeated "
           "until --rows")
      ->check(integer_in(1, 1'000'000'000));
  add_dependence_options(*verb, given->dependence);
  add_parameter(*verb, given->parameter);
  add_minus_nine(*verb, given->minus_nine,
                 "What -9 stands for (default: as in the training of the model)");
  add_seed(*verb, given->seed, "Seed of the draws");
  add_threads(*verb, given->threads);
  verb->add_option("--out", given->out,
                   "Table to write: .csv, .tsv or .npy; images: a folder or .npy");
  add_overwrite(*verb, given->overwrite);
  mark_table_options(*verb, {"--rows", "--given", "--parameter", "--seed", "--threads",
                             "--out", "--overwrite"});
  add_sample_images_options(*verb, given->images);
  verb->callback([given, verb, &console] {
    set_threads(given->threads);
    call_by_model_kind(
        *verb, given->run,
        [&](const std::string& model) { run(*given, model, *verb, console); },
        [&](const std::string& model) {
          check_sample_images_options(*verb, given->images, given->given);
          run_images(*given, model, console);
        });
  });
}

}  // namespace kinflow::cli
