// Options that would do nothing beside the others that are given: every verb refuses
// them, and names both.
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_binary.h"

namespace kinflow::cli {
namespace {

using nlohmann::json;

/// An option that is idle, beside what makes it so.
struct Idle {
  Arguments options;
  Arguments named;
};

void expect_refused(const Arguments& command, const std::vector<Idle>& cases) {
  const TemporaryFolder folder;
  for (const auto& [options, named] : cases) {
    expect_refusal(folder, command + options, named);
  }
}

Arguments fit_to(const TemporaryFolder& folder) {
  return {"fit", SharedFiles::get().blocks + "/train.csv", "--out", folder.path("run")};
}

TEST(IdleOptions, OfAFitAreRefused) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto valid = files.blocks + "/valid.csv";
  expect_refused(
      fit_to(folder) + Arguments{"--group", "group"},
      {{{"--flow", "affine", "--bins", "4"},
        {"--bins:", "--flow spline", "--flow affine"}},
       {{"--flow", "affine", "--bound", "3"}, {"--bound:", "--flow affine"}},
       {{"--flow", "auto", "--layers", "2"}, {"--flow:", "beside --layers", "auto"}},
       {{"--flow", "auto", "--valid", valid}, {"--flow:", "auto beside --valid"}},
       {{"--flow", "auto", "--schedule", "grid"}, {"--flow:", "--schedule grid"}},
       {{"--flow", "auto", "--replicas", "1"}, {"--flow:", "one replica"}},
       {{"--permutation", "alternating"}, {"--permutation:", "flows of all kinds"}},
       {{"--valid", valid, "--valid-fraction", "0.2"}, {"--valid-fraction:", valid}},
       {{"--valid", valid, "--split-by", "rows"}, {"--split-by:", "--valid"}},
       {{"--no-calibrate"}, {"--no-calibrate:", "--valid"}},
       {{"--time", "x1"}, {"--time:", "--time-kernel", "--split-by time"}},
       {{"--grid", "0.2"}, {"--grid:", "--schedule grid", "--schedule joint"}},
       {{"--stage-epochs", "2"}, {"--stage-epochs:", "--schedule alternating"}},
       {{"--memory-share", "0.5"}, {"--memory-share:", "--estimator memory"}},
       {{"--schedule", "grid", "--start", "0.2"}, {"--start:", "--schedule grid"}},
       {{"--schedule", "grid", "--prior", "2"}, {"--prior:", "--schedule grid"}},
       {{"--schedule", "grid", "--correlation", "shared"},
        {"--correlation:", "--schedule grid"}},
       {{"--schedule", "alternating", "--dependence-rate", "2"},
        {"--dependence-rate:", "--schedule alternating"}},
       {{"--schedule", "baseline", "--estimator", "pairs"},
        {"--estimator:", "--schedule baseline"}},
       {{"--sparsify", "0.1"}, {"--sparsify:", "--relationship"}},
       {{"--solver", "spectral"}, {"--solver:", "--relationship"}},
       {{"--cache", "none"}, {"--cache:", "--relationship"}},
       {{"--relationship-scale", "none"}, {"--relationship-scale:", "--relationship"}},
       {{"--id", "x1"}, {"--id:", "--relationship"}},
       {{"--time-decay", "1"}, {"--time-decay:", "--time-kernel"}}});
  // Values that no replica takes.
  expect_refused(
      fit_to(folder) + Arguments{"--group", "group"},
      {{{"--replicas", "1", "--learning-rate", "0.01,0.03"},
        {"--learning-rate: expected --replicas 2 or more", "found 1"}},
       {{"--replicas", "2", "--learning-rate", "0.01", "--weight-decay", "0,1,2"},
        {"--weight-decay: expected --replicas 5 or more", "found 2"}},
       {{"--replicas", "4", "--flow", "affine", "--start", "0.2,0.4"},
        {"--start: expected --replicas 9 or more", "found 4"}},
       {{"--schedule", "grid", "--weight-decay", "0,1"},
        {"--weight-decay: expected --replicas 3 or more", "found 1"}}});
  expect_refused(fit_to(folder) + Arguments{"--independent"},
                 {{{"--schedule", "joint"}, {"--schedule:", "--independent"}},
                  {{"--estimator", "memory"}, {"--estimator:", "--independent"}},
                  {{"--start", "0.3"}, {"--start:", "--independent"}},
                  {{"--prior", "0"}, {"--prior:", "--independent"}},
                  {{"--dependence-rate", "3"}, {"--dependence-rate:", "--independent"}},
                  {{"--correlation", "shared"}, {"--correlation:", "--group"}}});
  const auto matrix = files.relatives + "/relationship.npy";
  expect_refused(
      {"fit", files.relatives + "/train.csv", "--out", folder.path("run"),
       "--relationship", matrix, "--id", "id"},
      {{{"--solver", "iterative", "--cache", "none"},
        {"--cache:", "--solver iterative"}},
       {{"--sparsify", "0.1", "--cache", "none"}, {"--cache:", "--sparsify"}},
       {{"--correlation", "shared"}, {"--correlation:", "--group"}}});
}

TEST(IdleOptions, OfEvaluateSampleAndTransformAreRefused) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto test = files.blocks + "/test.csv";
  expect_refused({"evaluate", files.blocks_run, test},
                 {{{"--keep", "x1"}, {"--keep:", "--out"}},
                  {{"--id", "x1"}, {"--id:", "--relationship"}},
                  {{"--sparsify", "0.1"}, {"--sparsify:", "--relationship"}},
                  {{"--time-decay", "1"}, {"--time-decay:", "--time"}},
                  {{"--time-kernel", "gaussian"}, {"--time-kernel:", "--time"}}});
  expect_refused(
      {"sample", files.blocks_run, "--out", folder.path("s.csv")},
      {{{"--rows", "3", "--parameter", "0.5"}, {"--parameter:", "--given"}},
       {{"--rows", "3", "--for", test, "--group", "group"},
        {"--rows:", "--for " + test}},
       {{"--block-sizes", "2", "--for", test, "--group", "group"},
        {"--block-sizes:", "--for " + test}},
       {{"--block-sizes", "2", "--given", test}, {"--block-sizes:", "--given " + test}},
       {{"--rows", "3", "--id", "x1"}, {"--id:", "--for"}},
       {{"--rows", "3", "--cache", "none"}, {"--cache:", "--relationship"}},
       {{"--for", test}, {"--for:", "context"}}});
  expect_refused({"transform", files.blocks_run, test, "--pheno-out", folder.path("p")},
                 {{{"--keep", "x1"}, {"--keep:", "--out"}}});
  expect_refused({"transform", files.blocks_run, test, "--out", folder.path("u.csv")},
                 {{{"--gemma", "x.fam"}, {"--gemma:", "--pheno-out"}},
                  {{"--id", "x1"}, {"--id:", "--pheno-out"}}});
}

TEST(IdleOptions, OfSimulateAndRelationshipAreRefused) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const Arguments simulate = {"simulate", "--out", folder.path("data")};
  expect_refused(simulate,
                 {{{"--lambda", "0.3"},
                   {"--lambda:", "--dependence relationship", "--dependence blocks"}},
                  {{"--cohort", "--rows", "50"}, {"--rows:", "--cohort"}},
                  {{"--cohort", "--images"}, {"--images:", "--cohort"}},
                  {{"--people", "50"}, {"--people:", "--cohort"}},
                  {{"--side", "8"}, {"--side:", "--images"}},
                  {{"--images", "--shape", "abs"}, {"--shape:", "--images"}},
                  {{"--cohort", "--relatives", "0", "--families", "trio"},
                   {"--families:", "--relatives 0"}},
                  {{"--cohort", "--populations", "1", "--fst", "0.1"},
                   {"--fst:", "--populations 1"}},
                  {{"--cohort", "--traits", "1", "--curvature", "1"},
                   {"--curvature:", "--traits 1"}},
                  {{"--cohort", "--loci", "0", "--locus-share", "0.1"},
                   {"--locus-share:", "--loci 0"}}});
  expect_refused({"relationship", "check", files.relatives + "/relationship.npy"},
                 {{{"--listed-only"}, {"--listed-only:", "a pedigree", "npy"}}});
}

TEST(IdleOptions, OfGwasAreRefused) {
  const TemporaryFolder folder;
  const Arguments gwas = {"gwas",  "--bfile",       "b", "--pheno", "p",
                          "--out", folder.path("o")};
  for (const std::string transform : {"rank-normal", "none"}) {
    const auto named = "--transform " + transform;
    expect_refused(
        gwas + Arguments{"--transform", transform},
        {{{"--hidden", "8"}, {"--hidden:", "--transform flow", named}},
         {{"--epochs", "8"}, {"--epochs:", named}},
         {{"--device", "cpu"}, {"--device:", named}},
         {{"--flow-input", "raw"}, {"--flow-input:", named}},
         {{"--covar", "c", "--covar-use", "context"}, {"--covar-use:", named}},
         {{"--seed", "3"}, {"--seed:", named}}});
  }
  expect_refused(
      gwas,
      {{{"--covar-use", "context"}, {"--covar-use:", "--covar"}},
       {{"--covar-name", "age"}, {"--covar-name:", "--covar"}},
       {{"--prune-kb", "10"}, {"--prune-kb:", "--prune-r2"}},
       {{"--relationship-ids", "i"}, {"--relationship-ids:", "--grm"}},
       {{"--grm", "g", "--kind", "centered"}, {"--kind:", "--grm"}},
       {{"--relationship", "g.txt", "--kind", "centered"},
        {"--kind:", "--relationship"}},
       {{"--grm", "g", "--relationship", "k.txt"}, {"--relationship:", "--grm"}},
       {{"--relationship", "k.txt", "--loco"}, {"--loco:", "--relationship k.txt"}},
       {{"--flow", "affine", "--bins", "4"}, {"--bins:", "--flow affine"}},
       {{"--schedule", "baseline", "--start", "0.4"},
        {"--start:", "--schedule baseline"}}});
}

class SweepOptions : public testing::Test {
 protected:
  Arguments with(const json& fixed, const json& grid, const json& cases = {}) {
    const auto& files = SharedFiles::get();
    json specification = {{"fixed",
                           {{"table", files.blocks + "/train.csv"},
                            {"group", "group"},
                            {"hidden", 8},
                            {"epochs", 2},
                            {"batch-size", 64}}},
                          {"grid", grid}};
    specification["fixed"].update(fixed);
    if (!cases.is_null()) specification["cases"] = cases;
    std::ofstream(folder.path("spec.json")) << specification.dump();
    return {"sweep",     folder.path("spec.json"),
            "--out",     folder.path("sweep"),
            "--threads", "1"};
  }
  const TemporaryFolder folder;
};

TEST_F(SweepOptions, OptionsThatAreIdleInSomeRunsAreFine) {
  run_well(with({{"memory-share", 0.5}, {"bins", 4}},
                {{"estimator", {"memory", "hybrid"}}, {"flow", {"spline", "affine"}}}));
}

TEST_F(SweepOptions, OptionsThatAreIdleInAllRunsAreRefused) {
  expect_refusal(folder,
                 with({{"memory-share", 0.5}}, {{"estimator", {"memory", "pairs"}}}),
                 {"spec.json", "--memory-share:", "--estimator hybrid"});
  expect_refusal(folder, with({{"flow", "affine"}}, {{"bins", {4, 8}}}),
                 {"--bins:", "--flow affine"});
  expect_refusal(folder, with({{"learning-rate", {0.01, 0.03}}}, {{"seed", {1, 2}}}),
                 {"--learning-rate: expected --replicas 2 or more"});
}

TEST_F(SweepOptions, AnOptionIsFixedOrVaries) {
  expect_refusal(folder, with({{"seed", 1}}, {{"seed", {1, 2}}}),
                 {"'seed'", "fixed", "the grid"});
  expect_refusal(folder,
                 with({{"seed", 1}}, {{"layers", {1, 2}}},
                      {{{"seed", 2}, {"prior", 0}}, {{"seed", 3}, {"prior", 1}}}),
                 {"'seed'", "fixed", "all cases"});
  // In some cases only, what is fixed is for the others.
  run_well(with({{"seed", 1}}, {{"layers", {1}}}, {{{"seed", 2}}, {{"prior", 0}}}));
}

}  // namespace
}  // namespace kinflow::cli
