// Fuzzes the check of zip archives: any bytes pass or give an InputError of one line.
#include <cstdint>

#include "fuzzed.h"
#include "kinflow/core/zip_archive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kinflow;
  static const fuzzed::Folder folder;
  const auto path = folder.write("f.pt", fuzzed::Input(data, size).rest());
  return fuzzed::answer_or_input_error([&] { check_zip_archive(path); });
}
