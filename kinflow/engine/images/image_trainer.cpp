// Steps of the training of image flows, and densities of images.
#include "kinflow/engine/images/image_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <stdexcept>

#include "kinflow/array/array.h"
#include "kinflow/array/device_stream.h"
#include "kinflow/core/error.h"
#include "kinflow/dependence/batch_estimator.h"
#include "kinflow/engine/adamax.h"
#include "kinflow/engine/images/image_kernels.h"
#include "kinflow/engine/images/image_latents.h"
#include "kinflow/engine/repeated_work.h"
#include "kinflow/flow/glow/glow_pass.h"

namespace kinflow {
namespace {

// The learning rate grows from 0 in so many steps, and becomes kRateDecay of itself at
// kRateStages equal parts of the training.
constexpr std::int64_t kWarmUpSteps = 100;
constexpr double kRateDecay = 0.9;
constexpr std::int64_t kRateStages = 32;
// Weight of a new gradient in the usual length of gradients.
constexpr double kNormWeight = 0.02;
// The random subset of images that ActNorm starts from; comparisons of images count
// theirs from 0.
constexpr std::int64_t kInitialSubset = std::int64_t{1} << 40;
// Images whose densities are computed at once.
constexpr std::int64_t kEvaluationChunk = 256;
// The noise of evaluations has its own rounds.
constexpr std::int64_t kEvaluationRound = -1;

Array number(std::int64_t value, nd::Device device) {
  return nd::full({1}, value, nd::TensorOptions(nd::kLong).device(device));
}

Array real(double value, nd::Device device) {
  return nd::full({1}, value, nd::TensorOptions(nd::kDouble).device(device));
}

// -log of a standard normal density of latents, less their log-determinants, [b].
Array negative_log_density(const LatentResult& result) {
  const auto latents = result.latents.to(nd::kDouble);
  const double constant =
      0.5 * std::log(2 * std::numbers::pi) * static_cast<double>(latents.size(1));
  return 0.5 * latents.square().sum(1) + constant - result.log_abs_det.to(nd::kDouble);
}

// What turns the density of centred numbers into that of pixels: p bits log 2.
double pixel_nats(const GlowFlow& flow, std::int64_t bits) {
  return static_cast<double>(dimension(flow.options())) * static_cast<double>(bits) *
         std::numbers::ln2;
}

}  // namespace

class ImageTrainer::Impl {
 public:
  Impl(const ImageRows& rows, const GlowOptions& glow, const ImageTrainOptions& options,
       nd::Device device)
      : options_(options),
        device_(device),
        bits_(rows.bits),
        pixels_(rows.pixels.to(device).contiguous()),
        flow_(glow, options.seed, nd::kFloat, device),
        optimizer_(flow_.values().unsqueeze(0)),
        noise_{.seed = options.seed,
               .round = number(0, device),
               .mirrors = options.mirror},
        mean_weights_(nd::ones({pixels_.size(0), 1}, real(0, device).options())),
        mean_sum_(nd::zeros({dimension(glow)}, real(0, device).options())),
        mean_weight_(real(0, device)) {
    check(rows, glow);
    if (options.schedule != Schedule::baseline && rows.person.defined()) {
      set_dependence(rows.person.to(device));
    }
    pass_ = std::make_unique<GlowPass>(
        flow_, options.batch_size,
        GlowPassOptions{
            .arithmetic =
                options.precision == ImagePrecision::mixed ? nd::kBFloat16 : nd::kFloat,
            .keep = options.recompute ? GlowPassOptions::Keep::inputs
                                      : GlowPassOptions::Keep::activations});
    order_ = nd::zeros({pixels_.size(0)}, number(0, device).options());
    rates_ = nd::zeros({steps_per_epoch()}, real(0, device).options());
    batch_ = number(0, device);
    places_ = nd::arange(options.batch_size, batch_.options());
    initialize();
    if (!device.is_cpu()) {
      repeated_ = make_repeated_work([this] { take_step(); });
    }
    wait_for_stream(device);
  }

  std::int64_t steps_per_epoch() const { return pixels_.size(0) / options_.batch_size; }
  std::int64_t total_steps() const { return options_.epochs * steps_per_epoch(); }

  ImageProgress run(std::int64_t steps) {
    const DeviceStream stream(stream_);
    nll_sum_.zero_();
    std::int64_t taken = 0;
    for (; taken < steps && steps_done_ < total_steps(); ++taken, ++steps_done_) {
      if (steps_done_ % steps_per_epoch() == 0) begin_epoch();
      if (repeated_) {
        repeated_->run();
      } else {
        take_step();
      }
      if ((steps_done_ + 1) % steps_per_epoch() == 0) end_epoch();
    }
    wait_for_stream(device_);
    const auto skipped = skipped_.item<std::int64_t>();
    const std::int64_t counted = taken - (skipped - skipped_before_);
    skipped_before_ = skipped;
    return {.steps_done = steps_done_,
            .train_nll_nats = nll_sum_.item<double>() / static_cast<double>(counted) +
                              pixel_nats(flow_, bits_),
            .taken = counted,
            .gradient_norm = last_norm_.item<double>(),
            .skipped = skipped,
            .mean_correlation = law_ ? correlations().mean().item<double>() : 0.0};
  }

  const GlowFlow& flow() const { return flow_; }
  std::int64_t steps_done() const { return steps_done_; }

  Array correlations() const {
    if (!law_) return nd::empty({0}, nd::kDouble);
    const auto people = correlated_blocks();
    if (grouped_) return typical_correlations().mean().expand({people.size(0)});
    const auto& parameter = blocks_of(*law_)->parameter_of_block();
    return parameters()[0].index_select(0, parameter.index_select(0, people)).cpu();
  }

  Array correlated_people() const {
    if (!law_) return nd::empty({0}, nd::kLong);
    return blocks_of(*law_)->labels().index_select(0, correlated_blocks()).cpu();
  }

  Array latent_correlations() const {
    return grouped_ ? parameters()[0].cpu() : nd::empty({0}, nd::kDouble);
  }

  Array typical_correlations() const {
    if (!law_) return nd::empty({0}, nd::kDouble);
    if (grouped_) return grouped_->interpreted(parameters())[0].cpu();
    return correlations().mean().view({1});
  }

  NamedTensors state() const {
    NamedTensors state;
    for (const auto& [name, tensor] : parts()) state[name] = tensor.cpu().clone();
    state["steps_done"] = number(steps_done_, nd::kCPU);
    return state;
  }

  void restore(const NamedTensors& state, const std::string& source) {
    if (state.count("latents") > 0 && estimator_ && !estimator_->latents().defined()) {
      estimator_->reset(
          nd::zeros({1, pixels_.size(0), dimension(flow_.options())}, nd::kFloat)
              .to(device_));
    }
    std::vector<Array> fixed;
    for (const auto& [name, tensor] : parts()) {
      tensor.copy_(
          expect_tensor(state, name, tensor.sizes(), tensor.scalar_type(), source));
      if (name.rfind("fixed", 0) == 0) fixed.push_back(tensor);
    }
    flow_.set_fixed(fixed);
    steps_done_ =
        expect_tensor(state, "steps_done", {1}, nd::kLong, source).item<std::int64_t>();
    if (steps_done_ < 0 || steps_done_ > total_steps() ||
        steps_done_ % steps_per_epoch() != 0) {
      throw InputError(fmt::format(
          "{}: expected a number of finished steps that is a multiple of {} up to {}, "
          "found {}",
          source, steps_per_epoch(), total_steps(), steps_done_));
    }
    skipped_before_ = skipped_.item<std::int64_t>();
    has_latents_ = state.count("latents") > 0;
    wait_for_stream(device_);
  }

 private:
  void check(const ImageRows& rows, const GlowOptions& glow) const {
    if (pixels_.size(0) < options_.batch_size) {
      throw InputError(
          fmt::format("images: expected at least as many images as a batch has ({}), "
                      "found {}",
                      options_.batch_size, pixels_.size(0)));
    }
    const std::vector<std::int64_t> shape = {glow.channels, glow.height, glow.width};
    if (rows.pixels.scalar_type() != nd::kByte || rows.pixels.dim() != 4 ||
        rows.pixels.sizes().slice(1).vec() != shape) {
      throw std::logic_error("[ImageTrainer] expected pixels in the shape of the flow");
    }
  }

  void set_dependence(const Array& person) {
    law_ = make_image_law(person, options_.correlation, flow_.options());
    if (law_->parameter_count() == 0) {
      law_.reset();
      return;
    }
    grouped_ = dynamic_cast<const GroupedLatents*>(law_.get());
    if (grouped_) {
      const auto groups = grouped_->groups().count();
      mean_weights_ = mean_weights_.repeat({1, groups});
      mean_weight_ = mean_weight_.repeat({groups});
    }
    unconstrained_ = law_->to_unconstrained(nd::full(
        {1, law_->parameter_count()}, options_.start, real(0, device_).options()));
    dependence_optimizer_ = std::make_unique<Adamax>(unconstrained_);
    const bool remembers = options_.estimator == Estimator::memory;
    estimator_ = law_->make_estimator(
        {{.needs_memory = remembers,
          .memory_share = remembers ? 1.0 : 0.0,
          .moves_parameters = options_.schedule == Schedule::joint}},
        nd::kFloat);
  }

  Array parameters() const { return law_->from_unconstrained(unconstrained_); }

  // The people with several images.
  Array correlated_blocks() const {
    return (blocks_of(*law_)->sizes() > 1).nonzero().flatten();
  }

  void initialize() {
    const auto count = std::min(images_at_once(flow_.options()), pixels_.size(0));
    Random random(options_.seed, stream(Purpose::subsets, kInitialSubset));
    auto rows = random.permutation(pixels_.size(0));
    rows.resize(static_cast<std::size_t>(count));
    flow_.initialize(
        dequantize(pixels_, bits_, nd::tensor(rows, nd::kLong).to(device_), noise_));
  }

  // The latents of all images, for a memory at its start.
  void remember_all() {
    const std::int64_t count = pixels_.size(0), batch = options_.batch_size;
    const auto latents =
        nd::empty({1, count, dimension(flow_.options())}, flow_.values().options());
    for (std::int64_t first = 0; first < count; first += batch) {
      const std::int64_t begin = std::min(first, count - batch);
      latents[0]
          .narrow(0, begin, batch)
          .copy_(pass_->to_latent(dequantize(pixels_, bits_, places_ + begin, noise_))
                     .latents);
    }
    estimator_->reset(nd::nan_to_num(latents, 0, 0, 0));
  }

  double rate_of(std::int64_t step) const {
    const auto decays = kRateStages * step / total_steps();
    const double warm_up = std::min(1.0, static_cast<double>(step + 1) / kWarmUpSteps);
    return options_.learning_rate * warm_up *
           std::pow(kRateDecay, static_cast<double>(decays));
  }

  void begin_epoch() {
    const std::int64_t epoch = steps_done_ / steps_per_epoch();
    Random random(options_.seed, stream(Purpose::row_order, epoch));
    order_.copy_(nd::tensor(random.permutation(pixels_.size(0)), nd::kLong));
    std::vector<double> rates;
    for (std::int64_t i = 0; i < steps_per_epoch(); ++i) {
      rates.push_back(rate_of(steps_done_ + i));
    }
    rates_.copy_(nd::tensor(rates, nd::kDouble));
    batch_.zero_();
    mean_sum_.zero_();
    mean_weight_.zero_();
    noise_.round.fill_(epoch + 1);
    set_mean_weights();
    if (!estimator_ || options_.estimator != Estimator::memory) return;
    // Sums of latents are made anew from them, so that they are a function of the
    // state.
    if (has_latents_) {
      estimator_->reset(estimator_->latents().clone());
    } else {
      remember_all();
    }
    has_latents_ = true;
  }

  // C^-1 1: the most likely mean of latents U is 1' C^-1 U / 1' C^-1 1.
  void set_mean_weights() {
    if (!law_) return;
    mean_weights_.copy_((grouped_ ? grouped_->worth_by_group(parameters())
                                  : law_->row_worth_by_latent(parameters()))[0]);
  }

  // Weights of all latents [., 1], or of their groups [., G], to multiply latents with.
  Array of_latents(const Array& weights) const {
    return grouped_ ? grouped_->to_columns(weights) : weights;
  }

  // Gives the latents their most likely mean by those of the epoch. Steps alone come to
  // it slowly: images of one person tell hardly more of the mean than one of them,
  // while they tell as much as ever about everything else.
  void end_epoch() {
    // Without a sound step there is nothing to go by.
    const auto change = mean_sum_ / of_latents(nd::where(mean_weight_ > 0, mean_weight_,
                                                         nd::ones_like(mean_weight_)));
    flow_.latent_mean().add_(change);
    if (has_latents_) estimator_->latents().sub_(change);
  }

  void take_step() {
    const auto rows = order_.index_select(0, batch_ * options_.batch_size + places_);
    const auto rate = rates_.index_select(0, batch_);
    batch_ += 1;
    const auto result = pass_->to_latent(dequantize(pixels_, bits_, rows, noise_));
    const auto latents = nd::nan_to_num(result.latents, 0, 0, 0);
    Array natural;
    auto precision_rows = result.latents;
    if (estimator_) {
      natural = parameters();
      precision_rows =
          estimator_->precision_rows(natural, rows, latents.unsqueeze(0))[0].to(
              nd::kFloat);
    }
    const double per_image = 1 / static_cast<double>(options_.batch_size);
    const auto& gradient = pass_->backward(precision_rows * per_image, -per_image);
    const auto sound = step_flow(gradient, rate);
    if (estimator_ && options_.schedule == Schedule::joint) {
      step_dependence(natural, rate, sound);
    }
    const auto nll = negative_log_density(result).mean().view({1});
    nll_sum_.add_(nd::where(sound, nll, nd::zeros_like(nll)));
    const auto weights = mean_weights_.index_select(0, rows);
    const auto sum = (of_latents(weights) * latents.to(nd::kDouble)).sum(0);
    mean_sum_.add_(nd::where(sound, sum, nd::zeros_like(sum)));
    mean_weight_.add_(weights.sum(0) * sound);
  }

  Array step_flow(const Array& gradient, const Array& rate) {
    const auto norm = gradient.norm().to(nd::kDouble).view({1});
    const auto sound = nd::isfinite(norm);
    const auto usual = nd::where(usual_norm_ > 0, usual_norm_, norm);
    const auto most = options_.clip * usual;
    const auto length = norm.clamp_min(std::numeric_limits<double>::min());
    take_flat_step(optimizer_, flow_.values(), gradient,
                   {.weight_decay = options_.weight_decay,
                    .decaying = flow_.layout().mixing.front().offset},
                   rate, nd::minimum(nd::ones_like(norm), most / length), sound);
    const auto updated = nd::lerp(usual, nd::minimum(norm, most), kNormWeight);
    usual_norm_.copy_(nd::where(sound, updated, usual_norm_));
    skipped_.add_(sound.logical_not());
    last_norm_.copy_(norm);
    return sound;
  }

  void step_dependence(const Array& parameters, const Array& rate, const Array& sound) {
    const auto gradient = estimator_->parameter_gradient(parameters);
    const auto per_image =
        (law_->unconstrained_gradient(parameters, gradient) +
         options_.prior * law_->unconstrained_prior_gradient(parameters)) /
        static_cast<double>(pixels_.size(0));
    dependence_optimizer_->step(
        unconstrained_, per_image, (rate * options_.dependence_rate).view({1, 1}), {},
        nd::isfinite(per_image).all(1, true).logical_and(sound));
  }

  // The arrays of the state, by name; those of `fixed` are copies.
  NamedTensors parts() const {
    NamedTensors parts{{"values", flow_.values()},
                       {"latent_mean", flow_.latent_mean()},
                       {"first_moment", optimizer_.first_moment},
                       {"infinity_norm", optimizer_.infinity_norm},
                       {"optimizer_steps", optimizer_.steps},
                       {"usual_norm", usual_norm_},
                       {"skipped", skipped_}};
    const auto fixed = flow_.fixed();
    for (std::size_t scale = 0; scale < fixed.size(); ++scale) {
      parts[fmt::format("fixed{}", scale)] = fixed[scale];
    }
    if (!law_) return parts;
    parts["unconstrained"] = unconstrained_;
    parts["dependence_first_moment"] = dependence_optimizer_->first_moment;
    parts["dependence_infinity_norm"] = dependence_optimizer_->infinity_norm;
    parts["dependence_steps"] = dependence_optimizer_->steps;
    if (estimator_->latents().defined()) parts["latents"] = estimator_->latents();
    return parts;
  }

  ImageTrainOptions options_;
  nd::Device device_;
  std::int64_t bits_;
  Array pixels_;
  GlowFlow flow_;
  Adamax optimizer_;
  PixelNoise noise_;
  Array mean_weights_;            // [n, 1] or [n, G], of all images
  Array mean_sum_, mean_weight_;  // [p], [1] or [G]: of the epoch so far
  std::unique_ptr<GlowPass> pass_;
  std::unique_ptr<Dependence> law_;          // null: images are independent
  const GroupedLatents* grouped_ = nullptr;  // the law, where it is one
  std::unique_ptr<BatchEstimator> estimator_;
  std::unique_ptr<Adamax> dependence_optimizer_;
  Array unconstrained_;       // [1, k]
  bool has_latents_ = false;  // whether the memory has been filled
  std::optional<DeviceQueue> stream_ = take_device_stream(device_);
  std::unique_ptr<RepeatedWork> repeated_;
  std::int64_t steps_done_ = 0, skipped_before_ = 0;

  // Read or written by the steps on the device. Of the epoch: order of rows, learning
  // rates, the next batch.
  Array order_, rates_, batch_, places_;
  Array usual_norm_ = real(0, device_), last_norm_ = real(0, device_),
        nll_sum_ = real(0, device_);
  Array skipped_ = number(0, device_);
};

ImageTrainer::ImageTrainer(const ImageRows& rows, const GlowOptions& flow,
                           const ImageTrainOptions& options, nd::Device device)
    : impl_(std::make_unique<Impl>(rows, flow, options, device)) {}
ImageTrainer::~ImageTrainer() = default;

std::int64_t ImageTrainer::steps_per_epoch() const { return impl_->steps_per_epoch(); }
std::int64_t ImageTrainer::total_steps() const { return impl_->total_steps(); }
std::int64_t ImageTrainer::steps_done() const { return impl_->steps_done(); }
ImageProgress ImageTrainer::run(std::int64_t steps) { return impl_->run(steps); }
const GlowFlow& ImageTrainer::flow() const { return impl_->flow(); }
Array ImageTrainer::correlations() const { return impl_->correlations(); }
Array ImageTrainer::correlated_people() const { return impl_->correlated_people(); }
Array ImageTrainer::latent_correlations() const { return impl_->latent_correlations(); }
Array ImageTrainer::typical_correlations() const {
  return impl_->typical_correlations();
}
NamedTensors ImageTrainer::state() const { return impl_->state(); }
void ImageTrainer::restore(const NamedTensors& state, const std::string& source) {
  impl_->restore(state, source);
}

namespace {

// Calls work(first, latents) for parts of the images.
template <typename Work>
void for_latents(const GlowFlow& flow, const ImageRows& rows, std::uint64_t seed,
                 const Work& work) {
  const auto device = flow.values().device();
  const PixelNoise noise{.seed = seed, .round = number(kEvaluationRound, device)};
  const auto pixels = rows.pixels.to(device).contiguous();
  const std::int64_t count = pixels.size(0);
  for (std::int64_t first = 0; first < count; first += kEvaluationChunk) {
    const auto part = nd::arange(first, std::min(first + kEvaluationChunk, count),
                                 noise.round.options());
    work(first, flow.to_latent(dequantize(pixels, rows.bits, part, noise)));
  }
}

}  // namespace

Array image_nll(const GlowFlow& flow, const ImageRows& rows, std::uint64_t seed) {
  const auto all = nd::empty({rows.pixels.size(0)}, nd::kDouble);
  for_latents(flow, rows, seed, [&](std::int64_t first, const LatentResult& result) {
    const auto nll = negative_log_density(result).cpu() + pixel_nats(flow, rows.bits);
    all.narrow(0, first, nll.size(0)).copy_(nll);
  });
  return all;
}

Array image_latents(const GlowFlow& flow, const ImageRows& rows, std::uint64_t seed) {
  const auto all = nd::empty({rows.pixels.size(0), dimension(flow.options())},
                             flow.values().scalar_type());
  for_latents(flow, rows, seed, [&](std::int64_t first, const LatentResult& result) {
    all.narrow(0, first, result.latents.size(0)).copy_(result.latents);
  });
  return all;
}

Array pixels_from_latents(const GlowFlow& flow, const Array& latents,
                          std::int64_t bits) {
  const auto levels = static_cast<double>(std::int64_t{1} << bits);
  const auto images = flow.from_latent(latents.to(flow.values()));
  return ((images + 0.5) * levels)
      .floor()
      .nan_to_num(0, levels - 1, 0)
      .clamp(0, levels - 1)
      .to(nd::kByte)
      .cpu();
}

}  // namespace kinflow
