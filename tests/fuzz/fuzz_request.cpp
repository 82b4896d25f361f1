// Fuzzes the requests that run folders keep: any changes of a good one give a request
// that is written and read again without loss, or an InputError of one line.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "fuzzed.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/fit/fit.h"
#include "kinflow/fit/images/image_fit.h"

namespace {

using namespace kinflow;
using fuzzed::require;

/// Reads a good request with some members in the place of its own.
template <typename Request, typename Read>
void check(const Request& good, const nlohmann::json& changes, const Read& read) {
  auto json = to_json(good);
  json.merge_patch(changes);
  const auto kept = to_json(read(json, "f"));
  require(to_json(read(kept, "f")) == kept);
}

}  // namespace

/// The first byte chooses between rows of tables and images; the rest are members of
/// the JSON, null for those that are taken away.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzed::Input input(data, size);
  const bool of_images = input.choice() & 1;
  return fuzzed::answer_or_input_error([&] {
    const auto changes = parse_json(input.rest(), "f");
    if (of_images) {
      check(ImageFitRequest(), changes, image_fit_request_from);
    } else {
      check(FitRequest(), changes, fit_request_from);
    }
  });
}
