// Latents are drawn under the law of the dependence and mapped back to data.
#include "kinflow/evaluate/sample.h"

#include <ATen/ATen.h>

#include <cmath>

#include "kinflow/dependence/per_latent.h"
#include "kinflow/evaluate/likelihood.h"

namespace kinflow {
namespace {

// The number of a member, by logarithms of the members' weights [K]. A single one needs
// no random number.
std::int64_t pick_member(const at::Tensor& log_weights, Random& random) {
  const auto last = log_weights.size(0) - 1;
  if (last == 0) return 0;
  double left = random.uniform();
  std::int64_t member = 0;
  while (member < last) {
    left -= std::exp(log_weights[member].item<double>());
    if (left < 0) break;
    ++member;
  }
  return member;
}

// Where the laws are of blocks, whose members are picked one by one; null elsewhere,
// and for a single member.
const Blocks* picked_blocks(const RowLaws& laws) {
  return laws.size() > 1 ? blocks_of(*laws.front().law) : nullptr;
}

// Rows whose blocks have members of their own, picked by log-weights [K, B].
// @param draw  latents [n, p] of all rows under a member, by its number
// @param first  the rows from this one on are wanted
template <typename Draw>
at::Tensor rows_by_block(const Model& model, const Blocks& blocks,
                         const at::Tensor& log_weights, std::int64_t first,
                         const at::Tensor& context, Random& random, const Draw& draw) {
  std::vector<std::int64_t> picked;
  for (std::int64_t block = 0; block < blocks.block_count(); ++block) {
    picked.push_back(pick_member(log_weights.select(1, block), random));
  }
  const auto source =
      at::tensor(picked, at::kLong).index_select(0, blocks.block_of_row());
  auto latents = at::empty(
      {blocks.rows(), static_cast<std::int64_t>(model.columns.size())}, at::kDouble);
  std::vector<Model> members;
  for (std::int64_t member = 0; member < model.members(); ++member) {
    members.push_back(model.member(member));
    const auto rows = source.eq(member).nonzero().select(1, 0);
    if (rows.numel() == 0) continue;
    latents.index_copy_(0, rows, draw(member).index_select(0, rows));
  }
  return data_of_members(members, source.slice(0, first), latents.slice(0, first),
                         context);
}

}  // namespace

at::Tensor sample_dependent(const Model& model, const RowLaws& laws,
                            const at::Tensor& context, Random& random) {
  const auto members = static_cast<double>(laws.size());
  const auto columns = std::ssize(model.columns);
  if (const auto* blocks = picked_blocks(laws)) {
    return rows_by_block(model, *blocks,
                         at::full({model.members(), blocks->block_count()},
                                  -std::log(members), at::kDouble),
                         0, context, random, [&](std::int64_t member) {
                           const auto& own = laws[static_cast<std::size_t>(member)];
                           return own.law->sample(own.parameters, columns, random);
                         });
  }
  const auto member =
      pick_member(at::full({model.members()}, -std::log(members), at::kDouble), random);
  const auto& own = laws[static_cast<std::size_t>(member)];
  return model.member(member).from_latent(
      own.law->sample(own.parameters, columns, random), context);
}

at::Tensor sample_given(const Model& model, const TableRows& observed,
                        const RowLaws& laws, const RowLaws* observed_laws,
                        const at::Tensor& context, Random& random) {
  const auto seen = model.member_latents(observed.data, observed.context);
  if (const auto* blocks = picked_blocks(laws)) {
    const auto first = at::arange(observed.data.size(0), at::kLong);
    return rows_by_block(model, *blocks, member_log_weights_by_block(seen, laws),
                         first.size(0), context, random, [&](std::int64_t member) {
                           const auto& own = laws[static_cast<std::size_t>(member)];
                           return own.law->sample_given(own.parameters, first,
                                                        seen.latents[member], random);
                         });
  }
  const auto member =
      pick_member(member_log_weights(seen, laws, observed_laws), random);
  const auto& own = laws[static_cast<std::size_t>(member)];
  const auto known = observed.data.size(0);
  const auto latents = own.law->sample_given(
      own.parameters, at::arange(known, at::kLong), seen.latents[member], random);
  return model.member(member).from_latent(
      latents.narrow(0, known, own.law->rows() - known), context);
}

at::Tensor data_of_members(const std::vector<Model>& members, const at::Tensor& source,
                           const at::Tensor& latents, const at::Tensor& context) {
  if (members.size() == 1) return members.front().from_latent(latents, context);
  auto data = at::empty_like(latents);
  for (std::size_t member = 0; member < members.size(); ++member) {
    const auto rows =
        source.eq(static_cast<std::int64_t>(member)).nonzero().select(1, 0);
    if (rows.numel() == 0) continue;
    data.index_copy_(0, rows,
                     members[member].from_latent(
                         latents.index_select(0, rows),
                         context.defined() ? context.index_select(0, rows) : context));
  }
  return data;
}

}  // namespace kinflow
