// Runs of each method.
#include "studies/methods.h"

namespace kinflow {
namespace {

constexpr std::int64_t kMixture = 4;

// Appendix B of the paper.
const std::vector<double> kLearningRates = {0.001, 0.003, 0.01, 0.03};
const std::vector<double> kWeightDecays = {0.001, 0.01, 0.1};
const std::vector<double> kRhoStarts = {0.01, 0.1, 0.25, 0.5};
const std::vector<double> kLambdaStarts = {0.99, 0.9, 0.75, 0.5};
constexpr std::int64_t kStages = 5;
constexpr std::int64_t kStageEpochs = 25;
// What --quick keeps of them.
const std::vector<double> kQuickWeightDecays = {0.01};

FitRequest common_request(const MethodSettings& settings) {
  FitRequest request;
  request.data.dependence = settings.dependence;
  request.flow = settings.flow;
  request.device = settings.device;
  request.threads = settings.threads;
  request.inference = false;
  request.train.seed = settings.seed;
  return request;
}

FitRequest paper_request(const MethodSettings& settings, Schedule schedule) {
  auto request = common_request(settings);
  request.bound = settings.paper_bound;
  request.standardize = false;
  request.calibrate = false;
  auto& dependence = request.data.dependence;
  if (kind_of(dependence) == DependenceKind::blocks && !dependence.correlation) {
    dependence.correlation = BlockCorrelation::per_block;
  }
  dependence.per_latent = false;
  request.train.schedule = schedule;
  request.train.estimator = Estimator::pairs;
  request.train.patience = kManySteps;
  request.train.dependence_rate = 1;
  request.train.prior = 0;
  request.replicas.count = 1;
  return request;
}

// One run for each learning rate, weight decay and start.
Method paper_sweep(const std::string& name, const MethodSettings& settings,
                   FitRequest request, const std::vector<double>& starts) {
  Method method{.name = name, .runs = {}, .keeps_trained = true};
  const auto rates = settings.quick ? std::vector<double>{settings.quick_learning_rate}
                                    : kLearningRates;
  for (const double rate : rates) {
    for (const double decay : settings.quick ? kQuickWeightDecays : kWeightDecays) {
      for (const double start : starts) {
        request.replicas.learning_rates = {rate};
        request.replicas.weight_decays = {decay};
        request.replicas.starts = {start};
        method.runs.push_back(with_defaults(request));
      }
    }
  }
  return method;
}

std::vector<double> starts_for(const MethodSettings& settings) {
  auto starts = kind_of(settings.dependence) == DependenceKind::blocks ? kRhoStarts
                                                                       : kLambdaStarts;
  if (settings.quick) starts = {starts[1], starts[3]};
  return starts;
}

FitRequest default_request(const MethodSettings& settings,
                           std::optional<Estimator> estimator = {}) {
  auto request = common_request(settings);
  const auto own = request.train;
  request.train = default_train_options(settings.dependence, estimator);
  request.train.seed = own.seed;
  return with_defaults(request);
}

// As typed at a shell, without --valid.
FitRequest one_table_request(const MethodSettings& settings, std::int64_t folds) {
  auto request = common_request(settings);
  const auto seed = request.train.seed;
  request.train = default_train_options(settings.dependence);
  request.train.seed = request.flow.permutation_seed = seed;
  request.data.folds = folds;
  request.vary_flow = true;
  request.normal_scores = ScoresUse::choose;
  return with_defaults(request);
}

}  // namespace

Method paper_baseline(const MethodSettings& settings) {
  return paper_sweep(method_name::kBaseline, settings,
                     paper_request(settings, Schedule::baseline), {0.5});
}

Method paper_grid(const MethodSettings& settings) {
  auto method = paper_sweep(method_name::kGrid, settings,
                            paper_request(settings, Schedule::grid), {0.5});
  method.calibrated_name = method_name::kGridCalibrated;
  return method;
}

Method paper_joint(const MethodSettings& settings) {
  return paper_sweep(method_name::kJoint, settings,
                     paper_request(settings, Schedule::joint), starts_for(settings));
}

Method paper_alternating(const MethodSettings& settings) {
  auto request = paper_request(settings, Schedule::alternating);
  request.train.epochs = kStages * kStageEpochs;
  request.train.stage_epochs = kStageEpochs;
  return paper_sweep(method_name::kAlternating, settings, request,
                     starts_for(settings));
}

Method one_training(const MethodSettings& settings, Estimator estimator) {
  auto request = default_request(settings, estimator);
  request.replicas.count = 1;
  return {.name = estimator == Estimator::memory ? method_name::kOneMemory
                                                 : method_name::kOneHybrid,
          .runs = {request}};
}

Method default_fit(const MethodSettings& settings) {
  return {.name = method_name::kDefault,
          .runs = {default_request(settings)},
          .mixture_name = method_name::kEnsemble,
          .mixture = kMixture};
}

Method uncalibrated_fit(const MethodSettings& settings) {
  auto request = default_request(settings);
  request.calibrate = false;
  return {.name = method_name::kUncalibrated, .runs = {request}};
}

Method independent_fit(const MethodSettings& settings) {
  auto independent = settings;
  independent.dependence = {};
  return {.name = method_name::kIndependentRows,
          .runs = {default_request(independent)}};
}

Method cross_fit(const MethodSettings& settings) {
  return {.name = method_name::kCrossFitted,
          .runs = {one_table_request(settings, 0)},
          .one_table = true};
}

Method held_out_fit(const MethodSettings& settings) {
  return {.name = method_name::kHeldOut,
          .runs = {one_table_request(settings, 1)},
          .one_table = true};
}

Method ordinary_fit(const MethodSettings& settings) {
  auto independent = settings;
  independent.dependence = {};
  return {.name = method_name::kOrdinary,
          .runs = {one_table_request(independent, 0)},
          .one_table = true};
}

}  // namespace kinflow
