// The memory of blocks.
#include <ATen/ATen.h>

#include "kinflow/dependence/blocks.h"

namespace kinflow {

/// Keeps the sums of every block; a batch changes them by what changed in its rows.
class Blocks::Memory final : public LatentMemory {
 public:
  explicit Memory(const Blocks& blocks)
      : LatentMemory(blocks.rows()), blocks_(blocks) {}

  void reset(const at::Tensor& latents) override {
    LatentMemory::reset(latents);
    const auto [latent_sums, squares] = blocks_.sums(latents_.to(at::kDouble));
    set_in_place(sums_.latents, latent_sums);
    set_in_place(sums_.squares, squares);
  }

  void update(const at::Tensor& rows, const at::Tensor& latents) override {
    const at::Tensor before = exchange_rows(rows, latents);
    const at::Tensor after = latents_.index_select(1, rows).to(at::kDouble);
    const at::Tensor change = after - before;
    const at::Tensor block = blocks_.block_of_row_.index_select(0, rows);
    sums_.latents.index_add_(1, block, change);
    sums_.squares.index_add_(1, block, (change * (after + before)).sum(2));
  }

  at::Tensor precision_rows(const at::Tensor& parameters,
                            const at::Tensor& rows) const override {
    const at::Tensor block = blocks_.block_of_row_.index_select(0, rows);
    return Blocks::precision_rows(blocks_.terms(parameters, block),
                                  latents_.index_select(1, rows).to(at::kDouble),
                                  sums_.latents.index_select(1, block));
  }

  at::Tensor parameter_gradient(const at::Tensor& parameters) const override {
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
