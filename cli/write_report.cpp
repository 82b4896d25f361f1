// A page at the end of a verb.
#include "write_report.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "kinflow/core/result_files.h"
#include "kinflow/pages/page.h"

namespace kinflow::cli {

void add_no_report(CLI::App& verb, bool& no_report) {
  verb.add_flag("--no-report", no_report, "Write no report page at the end");
}

std::string report_in(const std::string& directory) {
  return directory + (directory.ends_with('/') ? "" : "/") + kReportName;
}

void write_report(const std::string& path,
                  const std::function<nlohmann::json()>& make_document,
                  Console& console) {
  try {
    write_page(path, make_document());
    console.info("report: " + path);
  } catch (const std::exception& error) {
    console.warning(std::string("there is no report page: ") + error.what());
  }
}

}  // namespace kinflow::cli
