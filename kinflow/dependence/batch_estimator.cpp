// The estimator that serves every structure.
#include "kinflow/dependence/batch_estimator.h"

#include "kinflow/array/array.h"

namespace kinflow {
namespace {

class ComposedEstimator final : public BatchEstimator {
 public:
  ComposedEstimator(const Dependence& dependence,
                    const std::vector<EstimatorChoice>& choices)
      : dependence_(dependence), choices_(choices), needs_(choices) {
    if (needs_.memory) memory_ = dependence.make_memory();
    for (const auto& choice : choices) has_pairs_rows_ |= choice.memory_share < 1;
  }

  void reset(const Array& latents) override {
    if (memory_) memory_->reset(latents);
  }

  const Array& latents() const override { return memory_ ? memory_->latents() : none_; }

  Array precision_rows(const Array& parameters, const Array& rows,
                       const Array& latents) override {
    rows_ = rows;
    batch_ = latents;
    if (!memory_) return dependence_.pairs_rows(parameters, rows, latents);
    memory_->update(rows, latents);
    const auto remembered = memory_->precision_rows(parameters, rows);
    if (!has_pairs_rows_) return remembered;
    if (!memory_shares_.defined()) {
      memory_shares_ =
          numbers_of(choices_, remembered.device(), [](const EstimatorChoice& choice) {
            return choice.memory_share;
          }).view({-1, 1, 1});
    }
    return nd::lerp(dependence_.pairs_rows(parameters, rows, latents), remembered,
                    memory_shares_);
  }

  Array parameter_gradient(const Array& parameters) override {
    if (!memory_) {
      return dependence_.pairs_parameter_gradient(parameters, rows_, batch_);
    }
    const auto remembered = memory_->parameter_gradient(parameters);
    if (!needs_.pairs_gradient) return remembered;
    if (!remembers_.defined()) {
      remembers_ =
          numbers_of(choices_, remembered.device(),
                     [](const EstimatorChoice& choice) { return choice.needs_memory; })
              .unsqueeze(1)
              .gt(0);
    }
    return nd::where(remembers_, remembered,
                     dependence_.pairs_parameter_gradient(parameters, rows_, batch_));
  }

 private:
  const Dependence& dependence_;
  std::vector<EstimatorChoice> choices_;
  EstimatorNeeds needs_;
  bool has_pairs_rows_ = false;
  std::unique_ptr<LatentMemory> memory_;  // null: no replica needs it
  Array none_;
  Array memory_shares_;  // [R, 1, 1]
  Array remembers_;      // [R, 1] bool
  Array rows_, batch_;   // the last ones
};

}  // namespace

BatchEstimator::~BatchEstimator() = default;

EstimatorNeeds::EstimatorNeeds(const std::vector<EstimatorChoice>& choices) {
  for (const auto& choice : choices) {
    memory |= choice.needs_memory;
    pairs_gradient |= choice.moves_parameters && !choice.needs_memory;
    pairs |= choice.memory_share < 1 || pairs_gradient;
  }
}

std::unique_ptr<BatchEstimator> make_composed_estimator(
    const Dependence& dependence, const std::vector<EstimatorChoice>& choices) {
  return std::make_unique<ComposedEstimator>(dependence, choices);
}

std::unique_ptr<BatchEstimator> Dependence::make_estimator(
    const std::vector<EstimatorChoice>& choices, nd::ScalarType /*type*/) const {
  return make_composed_estimator(*this, choices);
}

}  // namespace kinflow
