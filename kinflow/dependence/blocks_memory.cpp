// The memory of blocks.

#include "kinflow/array/array.h"
#include "kinflow/dependence/blocks.h"

namespace kinflow {

/// Keeps the sums of every block; a batch changes them by what changed in its rows.
class Blocks::Memory final : public LatentMemory {
 public:
  explicit Memory(const Blocks& blocks)
      : LatentMemory(blocks.rows()), blocks_(blocks) {}

  void reset(const Array& latents) override {
    LatentMemory::reset(latents);
    const auto [latent_sums, squares] = blocks_.sums(latents_.to(nd::kDouble));
    set_in_place(sums_.latents, latent_sums);
    set_in_place(sums_.squares, squares);
  }

  void update(const Array& rows, const Array& latents) override {
    const Array before = exchange_rows(rows, latents);
    const Array after = latents_.index_select(1, rows).to(nd::kDouble);
    const Array change = after - before;
    const Array block = blocks_.block_of_row_.index_select(0, rows);
    sums_.latents.index_add_(1, block, change);
    sums_.squares.index_add_(1, block, (change * (after + before)).sum(2));
  }

  Array precision_rows(const Array& parameters, const Array& rows) const override {
    const Array block = blocks_.block_of_row_.index_select(0, rows);
    return Blocks::precision_rows(blocks_.terms(parameters, block),
                                  latents_.index_select(1, rows).to(nd::kDouble),
                                  sums_.latents.index_select(1, block));
  }

  Array parameter_gradient(const Array& parameters) const override {
    return blocks_.parameter_gradient(parameters, sums_);
  }

 private:
  const Blocks& blocks_;
  Sums sums_;
};

std::unique_ptr<LatentMemory> Blocks::make_memory() const {
  return std::make_unique<Memory>(*this);
}

}  // namespace kinflow
