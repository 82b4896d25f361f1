// Latents are drawn under the law of the dependence and mapped back to data.
#include "kinflow/evaluate/sample.h"

#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/dependence/per_latent.h"
#include "kinflow/evaluate/likelihood.h"

namespace kinflow {
namespace {

// The number of a member, by logarithms of the members' weights [K]. A single one needs
// no random number.
std::int64_t pick_member(const Array& log_weights, Random& random) {
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
Array rows_by_block(const Model& model, const Blocks& blocks, const Array& log_weights,
                    std::int64_t first, const Array& context, Random& random,
                    const Draw& draw) {
  std::vector<std::int64_t> picked;
  for (std::int64_t block = 0; block < blocks.block_count(); ++block) {
    picked.push_back(pick_member(log_weights.select(1, block), random));
  }
  const auto source =
      nd::tensor(picked, nd::kLong).index_select(0, blocks.block_of_row());
  auto latents = nd::empty(
      {blocks.rows(), static_cast<std::int64_t>(model.columns.size())}, nd::kDouble);
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

Array sample_dependent(const Model& model, const RowLaws& laws, const Array& context,
                       Random& random) {
  const auto members = static_cast<double>(laws.size());
  const auto columns = std::ssize(model.columns);
  if (const auto* blocks = picked_blocks(laws)) {
    return rows_by_block(model, *blocks,
                         nd::full({model.members(), blocks->block_count()},
                                  -std::log(members), nd::kDouble),
                         0, context, random, [&](std::int64_t member) {
                           const auto& own = laws[static_cast<std::size_t>(member)];
                           return own.law->sample(own.parameters, columns, random);
                         });
  }
  const auto member =
      pick_member(nd::full({model.members()}, -std::log(members), nd::kDouble), random);
  const auto& own = laws[static_cast<std::size_t>(member)];
  return model.member(member).from_latent(
      own.law->sample(own.parameters, columns, random), context);
}

Array sample_given(const Model& model, const TableRows& observed, const RowLaws& laws,
                   const RowLaws* observed_laws, const Array& context, Random& random) {
  const auto seen = model.member_latents(observed.data, observed.context);
  if (const auto* blocks = picked_blocks(laws)) {
    const auto first = nd::arange(observed.data.size(0), nd::kLong);
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
      own.parameters, nd::arange(known, nd::kLong), seen.latents[member], random);
  return model.member(member).from_latent(
      latents.narrow(0, known, own.law->rows() - known), context);
}

Array data_of_members(const std::vector<Model>& members, const Array& source,
                      const Array& latents, const Array& context) {
  if (members.size() == 1) return members.front().from_latent(latents, context);
  auto data = nd::empty_like(latents);
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
