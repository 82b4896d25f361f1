// The order of rows of many epochs, made on the device.
#pragma once

#include <cstdint>

namespace kinflow {

/// Random(seed, stream(Purpose::row_order, epoch)).permutation(rows) for `epochs`
/// epochs from `first_epoch` on, bit for bit, one thread an epoch.
/// @param order  [epochs, rows], device memory
/// @param cuda_stream  a cudaStream_t
void row_orders(std::uint64_t seed, std::int64_t first_epoch, std::int64_t epochs,
                std::int64_t rows, std::int64_t* order, void* cuda_stream);

}  // namespace kinflow
