// What a finished fit says about its dependence, with its uncertainty.
#pragma once

#include "kinflow/array/array.h"
#include "kinflow/dependence/inference.h"
#include "kinflow/fit/fit.h"
#include "kinflow/fit/fitted_dependence.h"
#include "kinflow/model/model.h"

namespace kinflow {

/// The most likely dependence parameters [k] of latents [n, p]: validation stops a
/// training where its own may still lag behind, and stages come seldom. A grid keeps
/// its own, and an unstructured dependence has too many to search.
/// @param trained  [k], where the search begins
Array likely_parameters(const FittedDependence& fitted, const FitRequest& request,
                        const Array& latents, const Array& trained, Logger& logger,
                        const InferenceOptions& options = {});

/// Adds to the model's record what latents [n, p] and [n] of the law's rows say of its
/// parameters: the log-likelihood, and for every parameter its most likely value given
/// the flow, standard error and 95% interval; a profile interval and the test of
/// independence where there are some. Numbers that do not exist are null, and where
/// there is nothing the record says why. docs/formats.md lists the keys.
/// @param parameters  [k], learned, of the law
void add_inference(const FittedDependence& fitted, const Array& parameters,
                   const LatentResult& latents, Model& model, Logger& logger);

}  // namespace kinflow
