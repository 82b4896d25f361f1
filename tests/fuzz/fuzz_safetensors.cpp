// Fuzzes the reader of model files: any bytes give tensors that fill the data or an
// InputError of one line.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "fuzzed.h"
#include "kinflow/data/safetensors.h"

using kinflow::fuzzed::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  return kinflow::fuzzed::answer_or_input_error([&] {
    const kinflow::SafeTensors read = kinflow::parse_safetensors(bytes, "f");
    std::size_t filled = 0;
    std::set<std::string> names;
    for (const kinflow::SafeTensor& tensor : read.tensors) {
      std::int64_t expected = kinflow::safetensor_element_bytes(tensor.dtype);
      for (const std::int64_t extent : tensor.shape) {
        require(extent >= 0);
        if (extent == 0) expected = 0;
        if (expected > 0) expected *= extent;
      }
      require(static_cast<std::size_t>(expected) == tensor.data.size());
      require(names.insert(tensor.name).second);
      filled += tensor.data.size();
    }
    require(filled == read.storage->size());
  });
}
