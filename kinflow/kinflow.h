// The public face of kinflow: fits, models, held-out likelihood, draws, and the
// dependence of rows. Headers that this one does not reach are internal, are not
// installed, and change without notice.
#pragma once

// IWYU pragma: begin_exports
#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/core/random.h"
#include "kinflow/core/version.h"
#include "kinflow/data/simulate.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/evaluate/likelihood.h"
#include "kinflow/evaluate/row_law.h"
#include "kinflow/evaluate/sample.h"
#include "kinflow/fit/fit.h"
#include "kinflow/fit/table_rows.h"
#include "kinflow/model/model.h"
// IWYU pragma: end_exports
