// Fuzzes the reader of model files: any bytes give tensors that fill the data or an
// InputError of one line.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "kinflow/core/error.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/data/safetensors.h"

namespace {

void require(bool claim) {
  if (!claim) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
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
  } catch (const kinflow::InputError& error) {
    require(kinflow::is_printable_utf8(error.what()));
  }
  return 0;
}
