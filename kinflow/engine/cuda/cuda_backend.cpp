// State of trainings in arrays on a GPU, handed to the fused CUDA kernels.
#include "kinflow/engine/cuda/cuda_backend.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/core/cuda_memory.h"
#include "kinflow/dependence/block_replica.h"
#include "kinflow/dependence/per_latent.h"
#include "kinflow/engine/cuda/epoch_cuda.h"
#include "kinflow/engine/cuda/recorded_pass.h"
#include "kinflow/engine/cuda/row_order_cuda.h"
#include "kinflow/engine/images/image_kernels.h"
#include "kinflow/engine/images/image_kernels_cuda.h"
#include "kinflow/engine/repeated_work.h"
#include "kinflow/flow/cuda/fused_cuda.h"

namespace kinflow {
namespace {

// That of the calling thread, so that several can train at once.
void* current_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }
// Epochs whose order of rows is made at once, one thread each.
constexpr std::int64_t kOrdersAtOnce = 32;

bool takes(const Flow& flow) {
  return flow.values().scalar_type() == nd::kFloat &&
         FusedFlowCuda::fits(make_plan(flow.options())) && cuda_kernels_run();
}

Array contiguous(const Array& tensor) {
  return tensor.defined() ? tensor.contiguous() : tensor;
}

const float* numbers(const Array& tensor) {
  return tensor.defined() ? tensor.data_ptr<float>() : nullptr;
}

class CudaPass final : public BatchPass {
 public:
  CudaPass(const Flow& flow, const Array& data, const Array& context)
      : flow_(flow),
        kernels_(make_plan(flow.options())),
        data_(data.contiguous()),
        context_(contiguous(context)) {}

  LatentResult to_latent(const Array& rows) override {
    rows_ = rows.contiguous();
    const std::int64_t count = rows_.size(0), replicas = flow_.replicas();
    LatentResult result{
        .latents = nd::empty({replicas, count, data_.size(1)}, data_.options()),
        .log_abs_det = nd::empty({replicas, count}, data_.options())};
    const auto bytes =
        static_cast<std::int64_t>(kernels_.workspace_bytes(count, replicas));
    if (!workspace_.defined() || workspace_.size(0) < bytes) {
      workspace_ = nd::empty({bytes}, data_.options().dtype(nd::kByte));
    }
    kernels_.to_latent(batch(), replicas, flow_.values().data_ptr<float>(),
                       result.latents.data_ptr<float>(),
                       result.log_abs_det.data_ptr<float>(), workspace_.data_ptr(),
                       current_stream());
    return result;
  }

  Array gradient(const Array& latent_slopes, double log_abs_det_slope) override {
    auto slopes = latent_slopes.clone(nd::MemoryFormat::Contiguous);
    auto result = nd::empty_like(flow_.values());
    kernels_.backward(batch(), flow_.replicas(), flow_.values().data_ptr<float>(),
                      slopes.data_ptr<float>(), static_cast<float>(log_abs_det_slope),
                      workspace_.data_ptr(), result.data_ptr<float>(),
                      current_stream());
    return result;
  }

  bool is_repeatable() const override { return true; }

 private:
  FusedFlowCuda::Batch batch() const {
    return {.count = rows_.size(0),
            .index = rows_.data_ptr<std::int64_t>(),
            .rows = {.count = data_.size(0),
                     .data = numbers(data_),
                     .context = numbers(context_)}};
  }

  const Flow& flow_;
  FusedFlowCuda kernels_;
  Array data_, context_, rows_, workspace_;
};

class CudaTraining final : public ReplicaTraining {
 public:
  CudaTraining(TrainingState& state, const Dependence& dependence, const Blocks* blocks,
               const Array& data, const Array& context,
               const std::vector<TrainOptions>& options)
      : state_(state), data_(data.contiguous()), context_(contiguous(context)) {
    setup_ = {.plan = make_plan(state.flow.options()), .rows = data.size(0)};
    if (blocks != nullptr) {
      const BlockArrays arrays(*blocks);
      setup_.blocks = {.block_of_row = arrays.block_of_row,
                       .sizes = {},
                       .parameter_of_block = arrays.parameter_of_block,
                       .parameters = arrays.parameters};
      for (const double others : arrays.other_rows) {
        setup_.blocks.sizes.push_back(static_cast<std::int64_t>(others) + 1);
      }
    }
    const auto column = [&](nd::ScalarType type, const auto& of) {
      std::vector<double> values;
      for (const auto& replica : options) {
        values.push_back(static_cast<double>(of(replica)));
      }
      return nd::tensor(values, nd::kDouble).to(data_.device(), type);
    };
    const auto choice = [&](const TrainOptions& replica) {
      return estimator_choice(replica, dependence);
    };
    weight_decay_ = column(nd::kFloat, [](const auto& o) { return o.weight_decay; });
    rate_ = column(nd::kDouble, [](const auto& o) { return o.dependence_rate; });
    prior_ = column(nd::kDouble, [](const auto& o) { return o.prior; });
    has_memory_ =
        column(nd::kBool, [&](const auto& o) { return choice(o).needs_memory; });
    share_ = column(nd::kDouble, [&](const auto& o) { return choice(o).memory_share; });
    moves_ =
        column(nd::kBool, [&](const auto& o) { return choice(o).moves_parameters; });
    any_memory_ = has_memory_.any().item<bool>();
  }

  Array run_epoch(const EpochPlan& plan) override {
    const auto device = data_.device();
    if (!epochs_) {
      setup_.batch_bounds = plan.bounds;
      epochs_.emplace(setup_);
    }
    const auto active = nd::tensor(plan.active, nd::kByte).to(device, nd::kBool);
    const auto rates = nd::tensor(plan.rates, nd::kDouble).to(device, nd::kFloat);
    const auto factors =
        nd::tensor(plan.rate_factors, nd::kDouble).to(device, nd::kFloat);
    auto nll = nd::full({static_cast<std::int64_t>(plan.active.size()), 1},
                        std::numeric_limits<double>::quiet_NaN(),
                        data_.options().dtype(nd::kDouble));
    auto& optimizer = state_.flow_optimizer;
    auto& dependence = state_.dependence_optimizer;
    const bool has_blocks = setup_.blocks.parameters > 0;
    const auto of_blocks = [&](const Array& tensor) {
      return has_blocks ? tensor.data_ptr<double>() : nullptr;
    };
    epochs_->run({.data = numbers(data_),
                  .context = numbers(context_),
                  .order = order_of(plan),
                  .rate_factor = numbers(factors)},
                 {.count = nll.size(0),
                  .active = active.data_ptr<bool>(),
                  .values = state_.flow.values().data_ptr<float>(),
                  .first_moment = optimizer.first_moment.data_ptr<float>(),
                  .infinity_norm = optimizer.infinity_norm.data_ptr<float>(),
                  .steps = optimizer.steps.data_ptr<std::int64_t>(),
                  .decay_mask = numbers(state_.flow.decay_mask()),
                  .learning_rate = numbers(rates),
                  .weight_decay = numbers(weight_decay_),
                  .has_memory = any_memory_ ? has_memory_.data_ptr<bool>() : nullptr,
                  .memory_share = share_.data_ptr<double>(),
                  .moves_dependence = moves_.data_ptr<bool>(),
                  .dependence_rate = rate_.data_ptr<double>(),
                  .prior = prior_.data_ptr<double>(),
                  .unconstrained = of_blocks(state_.unconstrained),
                  .dependence_moment = of_blocks(dependence.first_moment),
                  .dependence_norm = of_blocks(dependence.infinity_norm),
                  .dependence_steps =
                      has_blocks ? dependence.steps.data_ptr<std::int64_t>() : nullptr,
                  .memory = memory_.defined() ? memory_.data_ptr<float>() : nullptr,
                  .train_nll = nll.data_ptr<double>(),
                  .skipped = state_.skipped.data_ptr<std::int64_t>()},
                 current_stream());
    return nll.masked_fill(active.logical_not().unsqueeze(1),
                           std::numeric_limits<double>::quiet_NaN());
  }

  void reset_memory(const Array& latents) override {
    if (any_memory_) memory_ = latents.detach().clone(nd::MemoryFormat::Contiguous);
  }
  const Array& memory() const override { return memory_; }

 private:
  const std::int64_t* order_of(const EpochPlan& plan) {
    if (!orders_.defined() || plan.epoch < first_order_ ||
        plan.epoch >= first_order_ + orders_.size(0)) {
      first_order_ = plan.epoch;
      orders_ =
          nd::empty({kOrdersAtOnce, setup_.rows}, data_.options().dtype(nd::kLong));
      row_orders(plan.seed, first_order_, kOrdersAtOnce, setup_.rows,
                 orders_.data_ptr<std::int64_t>(), current_stream());
    }
    return orders_.data_ptr<std::int64_t>() + (plan.epoch - first_order_) * setup_.rows;
  }

  TrainingState& state_;
  Array data_, context_;
  EpochSetup setup_;
  std::optional<EpochCuda> epochs_;
  Array weight_decay_, rate_, prior_, has_memory_, share_, moves_;  // [R]
  bool any_memory_ = false;
  Array memory_;
  Array orders_;  // [kOrdersAtOnce, n]
  std::int64_t first_order_ = 0;
};

/// Memory that LibTorch takes on a stream until end() comes from a pool of its own,
/// which lives as long as this.
class RecordingPool {
 public:
  explicit RecordingPool(const c10::cuda::CUDAStream& stream)
      : device_(stream.device_index()), pool_(at::cuda::graph_pool_handle()) {
    c10::cuda::CUDACachingAllocator::beginAllocateToPool(
        device_, pool_,
        [own = stream.stream()](cudaStream_t asking) { return asking == own; });
  }
  RecordingPool(const RecordingPool&) = delete;
  RecordingPool& operator=(const RecordingPool&) = delete;
  ~RecordingPool() {
    end();
    c10::cuda::CUDACachingAllocator::releasePool(device_, pool_);
  }
  void end() {
    if (std::exchange(is_taken_from_, false)) {
      c10::cuda::CUDACachingAllocator::endAllocateToPool(device_, pool_);
    }
  }

 private:
  c10::DeviceIndex device_;
  at::cuda::MempoolId_t pool_;
  bool is_taken_from_ = true;
};

/// LibTorch's own CUDAGraph registers the random generator, which threads would share.
class RecordedWork final : public RepeatedWork {
 public:
  explicit RecordedWork(std::function<void()> work) : work_(std::move(work)) {}
  RecordedWork(const RecordedWork&) = delete;
  RecordedWork& operator=(const RecordedWork&) = delete;
  ~RecordedWork() override { forget(); }

  void run() override {
    const auto stream = c10::cuda::getCurrentCUDAStream();
    const bool can_record =
        stream != c10::cuda::getDefaultCUDAStream(stream.device_index());
    // In the first run libraries make their workspaces, which a recording must not.
    if (!can_record || runs_++ == 0) return work_();
    if (graph_ == nullptr || stream != *stream_) record(stream);
    check_cuda(cudaGraphLaunch(graph_, stream), "launching recorded work");
  }

 private:
  void record(const c10::cuda::CUDAStream& stream) {
    forget();
    const std::shared_lock nobody_waits(recording_mutex());
    stream_ = stream;
    // Memory that the recorded kernels use is theirs as long as the recording lives.
    pool_ = std::make_unique<RecordingPool>(stream);
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
               "recording work");
    cudaGraph_t recorded = nullptr;
    try {
      work_();
    } catch (...) {
      cudaStreamEndCapture(stream, &recorded);
      if (recorded != nullptr) cudaGraphDestroy(recorded);
      pool_.reset();
      throw;
    }
    check_cuda(cudaStreamEndCapture(stream, &recorded), "recording work");
    pool_->end();
    const auto status = cudaGraphInstantiate(&graph_, recorded, 0);
    cudaGraphDestroy(recorded);
    check_cuda(status, "preparing recorded work");
  }

  void forget() {
    if (graph_ != nullptr) {
      cudaStreamSynchronize(*stream_);
      cudaGraphExecDestroy(std::exchange(graph_, nullptr));
    }
    pool_.reset();
  }

  std::function<void()> work_;
  std::int64_t runs_ = 0;
  std::optional<c10::cuda::CUDAStream> stream_;
  std::unique_ptr<RecordingPool> pool_;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace

std::unique_ptr<BatchPass> make_device_pass(const Flow& flow, const Array& data,
                                            const Array& context, Engine engine) {
  if (engine == Engine::steps || !takes(flow)) {
    return make_recorded_pass(flow, data, context);
  }
  return std::make_unique<CudaPass>(flow, data, context);
}

std::unique_ptr<ReplicaTraining> make_cuda_training(
    TrainingState& state, const Dependence& dependence, const Blocks* blocks,
    const Array& data, const Array& context, const std::vector<TrainOptions>& options) {
  // The kernels know correlations that all latents share.
  if (!takes(state.flow) ||
      dynamic_cast<const FoldedLatents*>(&dependence) != nullptr) {
    return nullptr;
  }
  // Its memory is not LibTorch's, which may hold all that is free.
  keeper_of_free_memory() = &give_back_device_memory;
  return std::make_unique<CudaTraining>(state, dependence, blocks, data, context,
                                        options);
}

void dequantize_by_cuda(const Array& pixels, std::int64_t bits, const Array& rows,
                        const PixelNoise& noise, const Array& images) {
  launch_dequantize({.from = pixel_source(pixels, bits, noise),
                     .rows = rows.data_ptr<std::int64_t>(),
                     .images = rows.size(0),
                     .round = noise.round.data_ptr<std::int64_t>(),
                     .result = images.data_ptr<float>()},
                    current_stream());
}

void adamax_by_cuda(Adamax& optimizer, Array& values, const Array& gradient,
                    const FlatStep& step, const Array& rate, const Array& factor,
                    const Array& sound) {
  launch_adamax({.values = values.data_ptr<float>(),
                 .first_moment = optimizer.first_moment.data_ptr<float>(),
                 .infinity_norm = optimizer.infinity_norm.data_ptr<float>(),
                 .gradient = gradient.data_ptr<float>(),
                 .count = values.numel(),
                 .decaying = step.decaying,
                 .weight_decay = static_cast<float>(step.weight_decay),
                 .rate = rate.data_ptr<double>(),
                 .factor = factor.data_ptr<double>(),
                 .sound = sound.data_ptr<bool>(),
                 .steps = optimizer.steps.data_ptr<std::int64_t>()},
                current_stream());
}

void give_back_device_memory() {
  // While work is recorded, LibTorch must not free anything.
  const std::lock_guard nothing_is_recorded(recording_mutex());
  c10::cuda::CUDACachingAllocator::emptyCache();
}

std::unique_ptr<RepeatedWork> make_repeated_work(std::function<void()> work) {
  return std::make_unique<RecordedWork>(std::move(work));
}

}  // namespace kinflow
