// Fuzzes the specifications of sweeps: any text ends in an InputError of one line, at
// the latest because the table that it names does not exist.
#include <CLI/App.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

#include "cli/commands.h"
#include "fuzzed.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kinflow;
  static const fuzzed::Folder folder;
  static cli::Console console;
  const auto specification = folder.write("f.json", fuzzed::Input(data, size).rest());
  const auto out = folder.path("out");
  fuzzed::answer_or_input_error([&] {
    CLI::App app;
    cli::add_sweep(app, console);
    app.parse(std::vector<std::string>{out, "--out", specification, "sweep"});
    fuzzed::require(false);
  });
  fuzzed::require(!std::filesystem::exists(out));
  return 0;
}
