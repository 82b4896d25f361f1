// Pieces of tables through the flow, in order.
#include "kinflow/evaluate/stream.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/one_thread.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/log.h"
#include "kinflow/core/map_in_order.h"
#include "kinflow/core/random.h"
#include "kinflow/data/table_reader.h"
#include "kinflow/data/text_lines.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/evaluate/output_rows.h"
#include "kinflow/evaluate/sample.h"
#include "kinflow/evaluate/scale_of_rows.h"
#include "kinflow/evaluate/stream_progress.h"

namespace kinflow {
namespace {

// Enough rows for the flow to be fast, few enough for every thread to hold a piece.
constexpr std::int64_t kMostRowsAtOnce = 1 << 14;
constexpr std::int64_t kMostCellsAtOnce = 1 << 19;

std::int64_t rows_at_once(const StreamOptions& options, std::size_t columns) {
  if (options.rows_at_once > 0) return options.rows_at_once;
  return std::clamp(kMostCellsAtOnce / static_cast<std::int64_t>(columns),
                    std::int64_t{1}, kMostRowsAtOnce);
}

void check_not_stopped(const StreamOptions& options, const std::string& job) {
  if (options.stop != nullptr && *options.stop) {
    throw Interrupted(job + ": interrupted, nothing was written");
  }
}

// Latents [n, p] of draws, and the members of the model that they come from [n].
struct DrawnRows {
  Array latents = {};
  Array source = {};
};

// A piece of a table, and how far the file is read with it.
struct Piece {
  Table table;
  double megabytes_done = 0;
  DrawnRows drawn = {};  // for its rows, where that is the work
};

// What became of a piece.
struct Computed {
  std::string formatted = {};    // for the output
  std::string pheno_lines = {};  // for a file of phenotypes
  PhenotypeRows phenotypes = {};
  Array log_density = {};                // of its rows, where that was the work
  std::vector<ColumnBeside> scale = {};  // of its columns, beside the model's
  std::int64_t rows = 0;                 // that were left
  std::int64_t dropped_rows = 0;
  double megabytes_done = 0;
};

// The pieces of a table in order, with the count of their rows.
class TableStream {
 public:
  TableStream(const std::string& path, const std::string& job,
              const StreamOptions& options, Logger& logger)
      : reader_(path), job_(job), options_(options), progress_(job, logger) {}

  const Table& header() const { return reader_.header(); }
  std::int64_t rows() const { return rows_; }
  std::int64_t dropped_rows() const { return dropped_rows_; }
  void report_dropped_rows(Logger& logger) const {
    if (dropped_rows_ == 0) return;
    logger.info(fmt::format("{}: {} with missing values left out", header().source(),
                            counted(dropped_rows_, "row")));
  }

  // Calls give(work(piece)) for every piece. `prepare` sees them in order before.
  template <typename Prepare, typename Work, typename Give>
  void run(const Prepare& prepare, const Work& work, const Give& give) {
    const OneThreadEach guard;
    map_in_order(
        options_.threads,
        [&] {
          auto piece = next();
          if (piece) prepare(*piece);
          return piece;
        },
        [&](Piece piece) {
          Computed computed = work(piece);
          computed.megabytes_done = piece.megabytes_done;
          return computed;
        },
        [&](const Computed& computed) {
          give(computed);
          count(computed);
        });
    progress_.end(rows_so_far());
    if (rows_ == 0) fail_without_rows(header().source());
  }

 private:
  static double megabytes(std::uint64_t bytes) {
    return static_cast<double>(bytes) / 1e6;
  }

  std::optional<Piece> next() {
    check_not_stopped(options_, job_);
    auto table = reader_.next(rows_at_once(options_, header().names().size()));
    if (!table) return std::nullopt;
    return Piece{.table = std::move(*table),
                 .megabytes_done = megabytes(reader_.bytes_done())};
  }

  void count(const Computed& computed) {
    rows_ += computed.rows;
    dropped_rows_ += computed.dropped_rows;
    progress_.report(computed.megabytes_done, megabytes(reader_.bytes_in_all()), "MB",
                     rows_so_far());
  }

  std::string rows_so_far() const { return counted(rows_, "row"); }

  TableReader reader_;
  std::string job_;
  const StreamOptions& options_;
  StreamProgress progress_;
  std::int64_t rows_ = 0, dropped_rows_ = 0;
};

std::span<const double> numbers_of(const Array& contiguous) {
  return {contiguous.data_ptr<double>(), static_cast<std::size_t>(contiguous.numel())};
}

std::vector<std::span<const std::string>> cells_of(
    const std::vector<TextColumn>& columns) {
  std::vector<std::span<const std::string>> cells;
  for (const auto& column : columns) cells.emplace_back(column.cells);
  return cells;
}

std::vector<std::string> numbered_names(const std::string& prefix, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= count; ++i) names.push_back(prefix + std::to_string(i));
  return names;
}

// The columns of ids, by their usual names where none are asked for.
std::vector<std::string> id_columns(const Table& header,
                                    const std::vector<std::string>& asked) {
  if (!asked.empty()) {
    if (asked.size() > 2) {
      throw InputError(
          fmt::format("--id: expected a column of individuals, or two of families and "
                      "individuals, found {}",
                      asked.size()));
    }
    for (const auto& name : asked) header.column_index(name);
    return asked;
  }
  std::optional<std::string> family, individual;
  for (const auto& name : header.names()) {
    const std::string plain = lower_case(name);
    if (plain == "fid" || plain == "#fid") family = name;
    if (plain == "iid" || plain == "#iid") individual = name;
  }
  if (!individual) {
    throw InputError(fmt::format(
        "{}: expected the columns FID and IID, or IID, for phenotypes, found {}; --id "
        "names others",
        header.source(),
        in_quotes(fmt::format("{}", fmt::join(header.names(), ", ")))));
  }
  return family ? std::vector{*family, *individual} : std::vector{*individual};
}

PhenotypeRows phenotype_rows(const Table& table, TableRows& rows,
                             const Array& latents) {
  PhenotypeRows result{
      .source = table.source(), .ids = std::move(rows.ids), .lines = {}, .values = {}};
  for (const auto row : rows.kept_rows) result.lines.push_back(table.line_of_row(row));
  const auto values = numbers_of(latents);
  result.values.assign(values.begin(), values.end());
  return result;
}

void check_finite(const Array& result, const Table& table, const TableRows& rows) {
  const auto bad = nd::isfinite(result).all(1).logical_not();
  if (!bad.any().item<bool>()) return;
  const auto first = bad.to(nd::kLong).argmax().item<std::int64_t>();
  const auto row = rows.kept_rows[static_cast<std::size_t>(first)];
  throw NumericalError(fmt::format(
      "{}:{}: the transformed row is not finite: is it far outside the training data?",
      table.source(), table.line_of_row(row)));
}

void warn_of_scale(const ScaleOfRows& scale, const std::string& source,
                   Logger& logger) {
  for (const auto& warning : scale.warnings(source)) logger.warning(warning);
}

// The independent draws of a seed: one sequence, however it is cut.
class Draws {
 public:
  Draws(const Model& model, std::uint64_t seed)
      : columns_(std::ssize(model.columns)),
        latents_(seed, stream(Purpose::draws)),
        sources_(seed, stream(Purpose::draws, kSourceStream)),
        members_(model.row_members()) {}

  DrawnRows next(std::int64_t rows) {
    DrawnRows drawn{.latents = Independent(rows).sample(nd::empty({0}, nd::kDouble),
                                                        columns_, latents_),
                    .source = nd::zeros({rows}, nd::kLong)};
    const auto members = static_cast<std::int64_t>(members_.size());
    auto* source = drawn.source.data_ptr<std::int64_t>();
    for (std::int64_t i = 0; members > 1 && i < rows; ++i) {
      source[i] = sources_.below(members);
    }
    return drawn;
  }

  // Draws mapped to data, which must be finite.
  Array data(const DrawnRows& drawn, const Array& context) const {
    const auto result =
        data_of_members(members_, drawn.source, drawn.latents, context).contiguous();
    if (!nd::isfinite(result).all().item<bool>()) {
      throw NumericalError("sample: a drawn row is not finite");
    }
    return result;
  }

 private:
  // Latents are the same for any number of members.
  static constexpr std::int64_t kSourceStream = 1;

  std::int64_t columns_;
  Random latents_, sources_;
  std::vector<Model> members_;
};

const auto kNothingToPrepare = [](const Piece&) {};

void draw_for_table(const Model& model, const DrawRequest& request,
                    const StreamOptions& options, Draws& draws, Logger& logger) {
  TableStream stream(request.table, "sample", options, logger);
  std::vector<std::string> shown = request.id;
  for (const auto& name : model.context_columns) {
    if (std::find(shown.begin(), shown.end(), name) == shown.end()) {
      shown.push_back(name);
    }
  }
  const ColumnChoice choice{.context = model.context_columns,
                            .context_levels = model.context_levels,
                            .id = request.id,
                            .minus_nine = minus_nine_for(model, request.minus_nine)};
  TableWriter writer(request.out, model.columns, shown);
  ScaleOfRows scale(model);
  stream.run([&](Piece& piece) { piece.drawn = draws.next(piece.table.rows()); },
             [&](const Piece& piece) {
               const auto rows = read_rows(piece.table, choice);
               const auto data = draws.data(piece.drawn, rows.context);
               const auto text = copied_columns(piece.table, shown, false);
               return Computed{
                   .formatted = writer.format(numbers_of(data), cells_of(text)),
                   .scale = scale.compare(rows),
                   .rows = data.size(0)};
             },
             [&](const Computed& computed) {
               writer.append(computed.formatted);
               scale.add(computed.scale);
             });
  writer.finish();
  warn_of_scale(scale, request.table, logger);
}

void draw_rows(const Model& model, const DrawRequest& request,
               const StreamOptions& options, Draws& draws, Logger& logger) {
  const OneThreadEach guard;
  TableWriter writer(request.out, model.columns);
  StreamProgress progress("sample", logger);
  const std::int64_t most = rows_at_once(options, model.columns.size());
  std::int64_t taken = 0, given = 0;
  map_in_order(
      options.threads,
      [&]() -> std::optional<DrawnRows> {
        check_not_stopped(options, "sample");
        const std::int64_t rows = std::min(most, request.rows - taken);
        if (rows == 0) return std::nullopt;
        taken += rows;
        return draws.next(rows);
      },
      [&](const DrawnRows& drawn) {
        return Computed{.formatted = writer.format(numbers_of(draws.data(drawn, {}))),
                        .rows = drawn.latents.size(0)};
      },
      [&](const Computed& computed) {
        writer.append(computed.formatted);
        given += computed.rows;
        progress.report(static_cast<double>(given), static_cast<double>(request.rows),
                        "row", "");
      });
  progress.end("");
  writer.finish();
}

}  // namespace

void transform_table(const Model& mixture, const TransformRequest& request,
                     const StreamOptions& options, Logger& logger) {
  const Model model = mixture.single();
  if (mixture.map) {
    logger.info("latents are those of the flow that was trained on all rows");
  } else if (mixture.members() > 1) {
    logger.info(fmt::format("latents are those of the best of the model's {} members",
                            mixture.members()));
  }
  const auto latent_names = numbered_names("u", model.columns.size());
  const auto& output_names = request.inverse ? model.columns : latent_names;
  ColumnChoice choice{.columns = !request.inverse ? model.columns
                                 : table_format(request.table) == TableFormat::npy
                                     ? numbered_names("x", model.columns.size())
                                     : latent_names,
                      .context = model.context_columns,
                      .context_levels = model.context_levels,
                      .drop_missing = request.drop_missing,
                      .may_drop_all = true,
                      .minus_nine = minus_nine_for(model, request.minus_nine)};
  if (!request.inverse) choice.bounds = model.bounds();
  // The way back needs the context.
  auto kept = model.context_columns;
  kept.insert(kept.end(), request.keep.begin(), request.keep.end());

  TableStream stream(request.table, "transform", options, logger);
  std::optional<TableWriter> writer;
  if (!request.out.empty()) {
    check_copies(stream.header(), kept, output_names);
    writer.emplace(request.out, output_names, kept);
  }
  std::optional<PhenotypeFiles> phenotypes;
  if (!request.pheno_out.empty()) {
    if (request.inverse) {
      throw InputError("--pheno-out: expected a map to latents, found --inverse");
    }
    choice.id = id_columns(stream.header(), request.id);
    phenotypes.emplace(
        PhenotypeFilesRequest{.prefix = request.pheno_out,
                              .names = numbered_names("z", model.columns.size()),
                              .gemma = request.gemma});
  }
  ScaleOfRows scale(model);
  stream.run(
      kNothingToPrepare,
      [&](const Piece& piece) {
        auto rows = read_rows(piece.table, choice);
        const std::int64_t count = rows.data.size(0);
        Computed computed{.rows = count, .dropped_rows = rows.table_rows - count};
        if (!request.inverse) computed.scale = scale.compare(rows);
        auto result = nd::empty({0, rows.data.size(1)}, nd::kDouble);
        if (count > 0) {
          result = (request.inverse ? model.from_latent(rows.data, rows.context)
                                    : model.to_latent(rows.data, rows.context).latents)
                       .contiguous();
          check_finite(result, piece.table, rows);
        }
        if (writer) {
          computed.formatted = writer->format(
              numbers_of(in_places_of_table(result, rows)),
              cells_of(copied_columns(piece.table, kept, request.drop_missing)));
        }
        if (phenotypes) {
          computed.phenotypes = phenotype_rows(piece.table, rows, result);
          computed.pheno_lines = phenotypes->format(computed.phenotypes);
        }
        return computed;
      },
      [&](const Computed& computed) {
        scale.add(computed.scale);
        if (writer) writer->append(computed.formatted);
        if (phenotypes) phenotypes->append(computed.phenotypes, computed.pheno_lines);
      });
  if (phenotypes) phenotypes->finish();
  if (writer) writer->finish();
  if (phenotypes && request.gemma) logger.info(phenotypes->note());
  warn_of_scale(scale, request.table, logger);
  stream.report_dropped_rows(logger);
}

Likelihood score_table(const Model& model, const ScoreRequest& request,
                       const StreamOptions& options, Logger& logger) {
  auto choice = request.columns;
  choice.may_drop_all = true;
  const std::vector<std::string> output_names = {"log_density_nats"};
  TableStream stream(request.table, "evaluate", options, logger);
  std::optional<TableWriter> writer;
  if (!request.out.empty()) {
    check_copies(stream.header(), request.keep, output_names);
    writer.emplace(request.out, output_names, request.keep);
  }
  RunningMean mean;
  ScaleOfRows scale(model);
  stream.run(
      kNothingToPrepare,
      [&](const Piece& piece) {
        const auto rows = read_rows(piece.table, choice);
        const std::int64_t count = rows.data.size(0);
        Computed computed{.log_density = nd::empty({0}, nd::kDouble),
                          .scale = scale.compare(rows),
                          .rows = count,
                          .dropped_rows = rows.table_rows - count};
        if (count > 0) {
          computed.log_density =
              model.row_log_density(rows.data, rows.context).contiguous();
          check_finite_density(computed.log_density, rows);
        }
        if (writer) {
          const auto scores =
              in_places_of_table(computed.log_density.unsqueeze(1), rows);
          computed.formatted = writer->format(
              numbers_of(scores),
              cells_of(copied_columns(piece.table, request.keep, choice.drop_missing)));
        }
        return computed;
      },
      [&](const Computed& computed) {
        mean.add(computed.log_density);
        scale.add(computed.scale);
        if (writer) writer->append(computed.formatted);
      });
  if (writer) writer->finish();
  warn_of_scale(scale, request.table, logger);
  stream.report_dropped_rows(logger);
  auto likelihood =
      likelihood_of(mean, static_cast<std::int64_t>(model.columns.size()));
  likelihood.rows_left_out = stream.dropped_rows();
  return likelihood;
}

void draw_table(const Model& model, const DrawRequest& request,
                const StreamOptions& options, Logger& logger) {
  Draws draws(model, request.seed);
  if (request.table.empty()) {
    draw_rows(model, request, options, draws, logger);
  } else {
    draw_for_table(model, request, options, draws, logger);
  }
}

}  // namespace kinflow
