// kinflow report: one page that shows a run, a sweep, a study or an association study.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "kinflow/array/device.h"
#include "kinflow/core/result_files.h"
#include "kinflow/pages/model/report_page.h"
#include "kinflow/pages/page.h"
#include "kinflow/pages/page_figures.h"
#include "options.h"

namespace kinflow::cli {

void add_report(CLI::App& app, Console& /*console*/) {
  struct Given {
    std::vector<std::string> runs;
    std::string out, svg, png;
    std::int64_t threads = 0;
    bool overwrite = false;
  };
  auto given = std::make_shared<Given>();
  auto* verb =
      app.add_subcommand("report", "Show runs in one page that opens from disk");
  verb->add_option("runs", given->runs,
                   "Run folders, a sweep, a study, a demo, or the prefix of a gwas")
      ->required()
      ->expected(1, 20);
  verb->add_option("--out", given->out, "Page to write, an .html file")->required();
  verb->add_option("--svg", given->svg, "Folder for the pictures as SVG files");
  verb->add_option("--png", given->png, "Folder for the pictures as PNG files");
  add_threads(*verb, given->threads);
  add_overwrite(*verb, given->overwrite);
  verb->callback([given] {
    require_no_result({given->out}, given->overwrite);
    set_threads(given->threads);
    const auto document = report_page(given->runs, given->threads);
    const auto figures = page_figures(document);
    for (const auto& [folder, ending, option] :
         {std::tuple{given->svg, ".svg", "--svg"},
          std::tuple{given->png, ".png", "--png"}}) {
      if (folder.empty()) continue;
      require_no_result(figure_paths(figures, folder, ending), given->overwrite,
                        option);
      write_figures(figures, folder, ending);
    }
    write_page(given->out, document);
    fmt::print("{}\n", given->out);
  });
}

}  // namespace kinflow::cli
