// The tables of a study of faces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "studies/face_study.h"
#include "studies/image_method_score.h"

namespace kinflow {

/// A method that is finished for all seeds.
struct FinishedMethod {
  FaceMethod method;
  std::vector<ImageMethodScore> scores;  ///< by seed

  double mean(const std::function<double(const ImageMethodScore&)>& of) const;
  double valid_nll() const;
};

/// Who the test images of a seed show, and one image of each.
struct TestFaces {
  std::vector<std::int64_t> person, one_each;

  std::vector<double> indiv(const std::vector<double>& of_all) const;
};

struct FaceResults {
  std::vector<FinishedMethod> methods;
  std::vector<TestFaces> tests;  ///< by seed
  std::int64_t dimension;        ///< of an image

  bool is_repeated() const { return tests.size() > 1; }
  /// Mean NLL of every seed, of all images or of one of each person.
  std::vector<double> nlls(const FinishedMethod& of, bool indiv) const;
  /// The methods that answer the paper's: of the grid the value that validation
  /// chooses.
  std::vector<const FinishedMethod*> main_methods() const;
};

/// Mean NLLs and bits per dimension, with the paper's where images have its size.
std::string likelihood_table(const FaceResults& results);
/// Of the methods to the baseline: over seeds, or, where there is one, over its images.
/// Empty without a baseline.
std::string difference_table(const FaceResults& results);
/// Frechet distances, precision and recall of drawn images.
std::string distance_table(const FaceResults& results);
/// What the grid and joint training say of the correlations.
std::string learned_correlations(const FaceResults& results);
/// Adjusted flows below the baseline. Empty without one.
std::string claims_table(const FaceResults& results);

}  // namespace kinflow
